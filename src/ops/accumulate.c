// SPDX-License-Identifier: Apache-2.0
#include "ops/accumulate.h"

#include <string.h>

#include "tensor/number.h"

#define LOOP(type, expr)                                                  \
  for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) { \
    type a;                                                               \
    type b;                                                               \
    memcpy(&a, to, sizeof a);                                             \
    memcpy(&b, from, sizeof b);                                           \
    a = (type)(expr);                                                     \
    memcpy(to, &a, sizeof a);                                             \
  }
#define SIGNATURE char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n

// A separate dense form lets the compiler vectorize.
#define NUMBERS(name, type, op)                                           \
  static void add_##name(SIGNATURE) {                                     \
    if (to_stride == (int64_t)sizeof(type) && from_stride == to_stride) { \
      type *x = (type *)(void *)to;                                       \
      const type *y = (const type *)(const void *)from;                   \
      for (int64_t i = 0; i < n; i++) x[i] = (type)(x[i] + y[i]);         \
      return;                                                             \
    }                                                                     \
    LOOP(type, a + b)                                                     \
  }                                                                       \
  static void multiply_##name(SIGNATURE) {                                \
    LOOP(type, op)                                                        \
  }

// Integers wrap: the arithmetic is unsigned, where overflow is defined.
NUMBERS(u8, uint8_t, a *b)
NUMBERS(u16, uint16_t, (uint32_t)a *b)
NUMBERS(u32, uint32_t, a *b)
NUMBERS(u64, uint64_t, a *b)
NUMBERS(f32, float, a *b)
NUMBERS(f64, double, a *b)

// Any byte but 0 is true.
static void add_bool(SIGNATURE) {
  LOOP(uint8_t, a || b)
}

static void multiply_bool(SIGNATURE) {
  LOOP(uint8_t, a && b)
}

static void add_f16(SIGNATURE) {
  LOOP(uint16_t, ig_f32_to_f16(ig_f16_to_f32(a) + ig_f16_to_f32(b)))
}

static void multiply_f16(SIGNATURE) {
  LOOP(uint16_t, ig_f32_to_f16(ig_f16_to_f32(a) * ig_f16_to_f32(b)))
}

static void add_bf16(SIGNATURE) {
  LOOP(uint16_t, ig_f32_to_bf16(ig_bf16_to_f32(a) + ig_bf16_to_f32(b)))
}

static void multiply_bf16(SIGNATURE){
    LOOP(uint16_t, ig_f32_to_bf16(ig_bf16_to_f32(a) * ig_bf16_to_f32(b)))}
#define COMPLEX(name, type)                                                 \
  static void add_##name(SIGNATURE) {                                       \
    for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) { \
      type a;                                                               \
      type b;                                                               \
      memcpy(&a, to, sizeof a);                                             \
      memcpy(&b, from, sizeof b);                                           \
      a = (type){a.re + b.re, a.im + b.im};                                 \
      memcpy(to, &a, sizeof a);                                             \
    }                                                                       \
  }                                                                         \
  static void multiply_##name(SIGNATURE) {                                  \
    for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) { \
      type a;                                                               \
      type b;                                                               \
      memcpy(&a, to, sizeof a);                                             \
      memcpy(&b, from, sizeof b);                                           \
      a = (type){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};     \
      memcpy(to, &a, sizeof a);                                             \
    }                                                                       \
  }

COMPLEX(c64, ig_c64) COMPLEX(c128, ig_c128)

#define TABLE(verb)                                                                               \
  {                                                                                               \
    [IG_BOOL] = verb##_bool, [IG_U8] = verb##_u8, [IG_I8] = verb##_u8, [IG_I16] = verb##_u16,     \
    [IG_U16] = verb##_u16, [IG_I32] = verb##_u32, [IG_U32] = verb##_u32, [IG_I64] = verb##_u64,   \
    [IG_U64] = verb##_u64, [IG_F16] = verb##_f16, [IG_BF16] = verb##_bf16, [IG_F32] = verb##_f32, \
    [IG_F64] = verb##_f64, [IG_C64] = verb##_c64, [IG_C128] = verb##_c128                         \
  }

    ig_accumulate_fn *ig_accumulate_add(ig_dtype dtype) {
  static ig_accumulate_fn *const table[IG_DTYPE_COUNT] = TABLE(add);
  return table[dtype];
}

ig_accumulate_fn *ig_accumulate_multiply(ig_dtype dtype) {
  static ig_accumulate_fn *const table[IG_DTYPE_COUNT] = TABLE(multiply);
  return table[dtype];
}

#define MOVE(bytes)                                                                            \
  static void move_##bytes(SIGNATURE) {                                                        \
    if (to_stride == bytes && from_stride == bytes) {                                          \
      memcpy(to, from, (size_t)n *bytes);                                                      \
      return;                                                                                  \
    }                                                                                          \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, bytes); \
  }

MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)
MOVE(16)

ig_accumulate_fn *ig_accumulate_move(size_t size) {
  switch (size) {
    case 1:
      return move_1;
    case 2:
      return move_2;
    case 4:
      return move_4;
    case 8:
      return move_8;
    default:
      return move_16;
  }
}
