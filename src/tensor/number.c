// SPDX-License-Identifier: Apache-2.0
// Conversion between element types. Every pair goes through one inner loop that the compiler
// vectorizes: a reader per source type, a writer per target type.
#include "tensor/number.h"

#include <math.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/reduce_elem.h"

static float f8_to_f32(uint8_t x, int mantissa, int bias) {
  int m = x & ((1 << mantissa) - 1);
  int e = (x & 0x7f) >> mantissa;
  float scale = (float)(1 << mantissa);
  float f = e ? ldexpf(1 + (float)m / scale, e - bias) : ldexpf((float)m / scale, 1 - bias);
  return x & 0x80 ? -f : f;
}

float ig_f8e4m3fn_to_f32(uint8_t x) {
  return (x & 0x7f) == 0x7f ? (x & 0x80 ? -NAN : NAN) : f8_to_f32(x, 3, 7);
}

float ig_f8e5m2_to_f32(uint8_t x) {
  int magnitude = x & 0x7f;
  if (magnitude == 0x7c) return x & 0x80 ? -INFINITY : INFINITY;
  if (magnitude > 0x7c) return NAN;
  return f8_to_f32(x, 2, 15);
}

// Nearest even among the codes 0 .. top of a small format; codes grow with their values.
static int nearest_code(float f, int mantissa, int bias, int top) {
  int e = 0;
  if (f == 0) return 0;
  (void)frexpf(f, &e);
  e = e - 1 < 1 - bias ? 1 - bias
                       : e - 1;  // exponent of the unit in the last place, times 2^mantissa
  float scaled = ldexpf(f, mantissa - e);  // integer part counts units
  float whole = nearbyintf(scaled);
  // Codes of this binade begin at (e + bias - 1) << mantissa when the leading bit is part of
  // `whole`.
  int code = (int)whole + ((e + bias - 1) << mantissa);
  return code > top ? top + 1 : code;
}

uint8_t ig_f32_to_f8e4m3fn(float f) {
  uint8_t sign = signbit(f) ? 0x80 : 0;
  f = fabsf(f);
  if (!(f < 480.0F)) return (uint8_t)(sign | 0x7f);  // NaN, and what has no finite neighbour
  int code = nearest_code(f, 3, 7, 0x7e);
  return (uint8_t)(sign | (code > 0x7e ? 0x7f : code));
}

uint8_t ig_f32_to_f8e5m2(float f) {
  uint8_t sign = signbit(f) ? 0x80 : 0;
  f = fabsf(f);
  if (isnan(f)) return (uint8_t)(sign | 0x7f);
  if (!(f < 65536.0F)) return (uint8_t)(sign | 0x7c);
  int code = nearest_code(f, 2, 15, 0x7b);
  return (uint8_t)(sign | (code > 0x7b ? 0x7c : code));
}

// Float to integer as x86 does it: out of range gives the smallest integer, no undefined behaviour.
static inline int64_t to_i64(double f) {
  return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
}
static inline uint64_t to_u64(double f) {
  return f >= 0x1p63 && f < 0x1p64 ? (uint64_t)f : (uint64_t)to_i64(f);
}

// Frequent pairs are compiled for several instruction sets. Source kinds: integers keep their type,
// real floats become float or double.
#define LOAD_PLAIN(x) (x)
#define LOAD_BOOL(x) ((x) != 0)  // external memory may contain bytes other than 0 and 1
#define LOAD_BF16(x) ig_bf16_to_f32(x)
#define LOAD_F16(x) ig_f16_get(x)
#define LOAD_F8A(x) ig_f8e4m3fn_to_f32(x)
#define LOAD_F8B(x) ig_f8e5m2_to_f32(x)
#define LOAD_RE(x) (x).re

#define LOOP(attr, name, source, target, load, store)           \
  attr static void name(void *dst, const void *src, size_t n) { \
    const source *s = src;                                      \
    target *d = dst;                                            \
    for (size_t i = 0; i < n; i++) d[i] = store(load(s[i]));    \
  }

// Targets of real sources. F is a float or double expression, I an integer one.
#define F_BOOL(f) ((f) != 0)
#define F_F32(f) ((float)(f))
#define F_F64(f) ((double)(f))
#define F_BF16(f) ig_f32_to_bf16((float)(f))
#define F_F16(f) ig_f16_put((float)(f))  // without branches
#define F_F8A(f) ig_f32_to_f8e4m3fn((float)(f))
#define F_F8B(f) ig_f32_to_f8e5m2((float)(f))
#define F_C64(f) ((ig_c64){(float)(f), 0})
#define F_C128(f) ((ig_c128){(double)(f), 0})
#define F_I8(f) ((int8_t)to_i64((double)(f)))
#define F_I16(f) ((int16_t)to_i64((double)(f)))
#define F_I32(f) ((int32_t)to_i64((double)(f)))
#define F_I64(f) to_i64((double)(f))
#define F_U8(f) ((uint8_t)to_i64((double)(f)))
#define F_U16(f) ((uint16_t)to_i64((double)(f)))
#define F_U32(f) ((uint32_t)to_i64((double)(f)))
#define F_U64(f) to_u64((double)(f))
#define I_I8(i) ((int8_t)(i))
#define I_I16(i) ((int16_t)(i))
#define I_I32(i) ((int32_t)(i))
#define I_I64(i) ((int64_t)(i))
#define I_U8(i) ((uint8_t)(i))
#define I_U16(i) ((uint16_t)(i))
#define I_U32(i) ((uint32_t)(i))
#define I_U64(i) ((uint64_t)(i))

// To an integer: if a whole block is in range of `wide`, the plain conversion, which is vectorized;
// otherwise to_i64.
#define TO_INT(attr, name, source, target, load, real, wide, limit)                         \
  attr static void name(void *dst, const void *src, size_t n) {                             \
    target *d = dst;                                                                        \
    for (const source *s = src; n > 0;) {                                                   \
      size_t m = n < 256 ? n : 256;                                                         \
      int beyond = 0;                                                                       \
      for (size_t i = 0; i < m; i++) {                                                      \
        real v = (real)(load(s[i]));                                                        \
        beyond |= !(v < (real)(limit) && v > -(real)(limit));                               \
      }                                                                                     \
      for (size_t i = 0; i < m && !beyond; i++) d[i] = (target)(wide)(load(s[i]));          \
      for (size_t i = 0; i < m && beyond; i++) d[i] = (target)to_i64((double)(load(s[i]))); \
      s += m;                                                                               \
      d += m;                                                                               \
      n -= m;                                                                               \
    }                                                                                       \
  }

#define RARE(tag, source, load, K)                   \
  LOOP(, tag##_i8, source, int8_t, load, K##_I8)     \
  LOOP(, tag##_i16, source, int16_t, load, K##_I16)  \
  LOOP(, tag##_u16, source, uint16_t, load, K##_U16) \
  LOOP(, tag##_u32, source, uint32_t, load, K##_U32) \
  LOOP(, tag##_u64, source, uint64_t, load, K##_U64) \
  LOOP(, tag##_c64, source, ig_c64, load, F_C64)     \
  LOOP(, tag##_c128, source, ig_c128, load, F_C128)  \
  LOOP(, tag##_f8a, source, uint8_t, load, F_F8A)    \
  LOOP(, tag##_f8b, source, uint8_t, load, F_F8B)

#define ROW(attr, tag, source, load, K)                 \
  RARE(tag, source, load, K)                            \
  LOOP(attr, tag##_bool, source, bool, load, F_BOOL)    \
  LOOP(attr, tag##_i32, source, int32_t, load, K##_I32) \
  LOOP(attr, tag##_i64, source, int64_t, load, K##_I64) \
  LOOP(attr, tag##_f32, source, float, load, F_F32)     \
  LOOP(, tag##_u8, source, uint8_t, load, K##_U8)       \
  LOOP(, tag##_f16, source, uint16_t, load, F_F16)      \
  LOOP(, tag##_bf16, source, uint16_t, load, F_BF16)    \
  LOOP(, tag##_f64, source, double, load, F_F64)

#define REAL_ROW(attr, tag, source, load, real)                         \
  RARE(tag, source, load, F)                                            \
  LOOP(attr, tag##_bool, source, bool, load, F_BOOL)                    \
  LOOP(, tag##_f16, source, uint16_t, load, F_F16)                      \
  LOOP(attr, tag##_bf16, source, uint16_t, load, F_BF16)                \
  LOOP(attr, tag##_f32, source, float, load, F_F32)                     \
  LOOP(attr, tag##_f64, source, double, load, F_F64)                    \
  TO_INT(, tag##_u8, source, uint8_t, load, real, int32_t, 0x1p31)      \
  TO_INT(attr, tag##_i32, source, int32_t, load, real, int32_t, 0x1p31) \
  TO_INT(, tag##_i64, source, int64_t, load, real, int64_t, 0x1p63)

ROW(IG_CLONES_NARROW, truth, uint8_t, LOAD_BOOL, I)  // not `bool`, which may be a macro
ROW(IG_CLONES_NARROW, u8, uint8_t, LOAD_PLAIN, I)
ROW(, i8, int8_t, LOAD_PLAIN, I)
ROW(, i16, int16_t, LOAD_PLAIN, I)
ROW(IG_CLONES_NARROW, i32, int32_t, LOAD_PLAIN, I)
ROW(IG_CLONES_NARROW, i64, int64_t, LOAD_PLAIN, I)
ROW(, u16, uint16_t, LOAD_PLAIN, I)
ROW(, u32, uint32_t, LOAD_PLAIN, I)
ROW(, u64, uint64_t, LOAD_PLAIN, I)
REAL_ROW(, f16, uint16_t, LOAD_F16, float)
REAL_ROW(IG_CLONES_NARROW, bf16, uint16_t, LOAD_BF16, float)
REAL_ROW(IG_CLONES_NARROW, f32, float, LOAD_PLAIN, float)
REAL_ROW(IG_CLONES_NARROW, f64, double, LOAD_PLAIN, double)
ROW(, c64, ig_c64, LOAD_RE, F)
ROW(, c128, ig_c128, LOAD_RE, F)
ROW(, f8a, uint8_t, LOAD_F8A, F)
ROW(, f8b, uint8_t, LOAD_F8B, F)

// Complex to complex keeps the imaginary part, complex to bool looks at both.
#define C64_OF(z) ((ig_c64){(float)(z).re, (float)(z).im})
#define C128_OF(z) ((ig_c128){(double)(z).re, (double)(z).im})
#define BOOL_OF(z) ((z).re != 0 || (z).im != 0)
LOOP(, wide_c64_c128, ig_c64, ig_c128, LOAD_PLAIN, C128_OF)
LOOP(, wide_c128_c64, ig_c128, ig_c64, LOAD_PLAIN, C64_OF)
LOOP(, wide_c64_bool, ig_c64, bool, LOAD_PLAIN, BOOL_OF)
LOOP(, wide_c128_bool, ig_c128, bool, LOAD_PLAIN, BOOL_OF)

typedef void convert_fn(void *dst, const void *src, size_t n);

#define CELLS(tag)                                                                                 \
  {                                                                                                \
    [IG_BOOL] = tag##_bool, [IG_U8] = tag##_u8, [IG_I8] = tag##_i8, [IG_I16] = tag##_i16,          \
    [IG_I32] = tag##_i32, [IG_I64] = tag##_i64, [IG_U16] = tag##_u16, [IG_U32] = tag##_u32,        \
    [IG_U64] = tag##_u64, [IG_F16] = tag##_f16, [IG_BF16] = tag##_bf16, [IG_F32] = tag##_f32,      \
    [IG_F64] = tag##_f64, [IG_C64] = tag##_c64, [IG_C128] = tag##_c128, [IG_F8E4M3FN] = tag##_f8a, \
    [IG_F8E5M2] = tag##_f8b,                                                                       \
  }

static convert_fn *const table[IG_DTYPE_COUNT][IG_DTYPE_COUNT] = {
    [IG_BOOL] = CELLS(truth),   [IG_U8] = CELLS(u8),      [IG_I8] = CELLS(i8),
    [IG_I16] = CELLS(i16),      [IG_I32] = CELLS(i32),    [IG_I64] = CELLS(i64),
    [IG_U16] = CELLS(u16),      [IG_U32] = CELLS(u32),    [IG_U64] = CELLS(u64),
    [IG_F16] = CELLS(f16),      [IG_BF16] = CELLS(bf16),  [IG_F32] = CELLS(f32),
    [IG_F64] = CELLS(f64),      [IG_C64] = CELLS(c64),    [IG_C128] = CELLS(c128),
    [IG_F8E4M3FN] = CELLS(f8a), [IG_F8E5M2] = CELLS(f8b),
};

void ig_convert(void *dst, ig_dtype to, const void *src, ig_dtype from, size_t n) {
  // The integers of quantized elements: what they stand for is known to their tensor alone.
  from = ig_dtype_carrier(from);
  to = ig_dtype_carrier(to);
  if (to == from) {
    if (n) ig_mem_copy(dst, src, n * ig_dtype_size(to));
    return;
  }
  convert_fn *fn = table[from][to];
  if (from == IG_C64 && to == IG_C128) fn = wide_c64_c128;
  if (from == IG_C128 && to == IG_C64) fn = wide_c128_c64;
  if (from == IG_C64 && to == IG_BOOL) fn = wide_c64_bool;
  if (from == IG_C128 && to == IG_BOOL) fn = wide_c128_bool;
  if (from == IG_F16 && to == IG_F32) {
    ig_elem_widen(IG_ELEM_F16, src, dst, (int64_t)n);
  } else if (from == IG_F32 && to == IG_F16) {
    ig_elem_narrow(IG_ELEM_F16, src, dst, (int64_t)n);
  } else {
    fn(dst, src, n);
  }
}

void ig_element_store(void *at, ig_dtype dtype, const ig_value *number) {
  switch (number->kind) {
    case IG_KIND_INT:
      ig_convert(at, dtype, &number->i.value, IG_I64, 1);
      break;
    case IG_KIND_BOOL:
      ig_convert(at, dtype, &number->b, IG_BOOL, 1);
      break;
    case IG_KIND_COMPLEX:
      ig_convert(at, dtype, &number->z, IG_C128, 1);
      break;
    default:
      ig_convert(at, dtype, &number->f, IG_F64, 1);
      break;
  }
}

ig_value ig_element_load(const void *at, ig_dtype dtype) {
  if (dtype == IG_BOOL) return ig_of_bool(*(const unsigned char *)at != 0);
  if (ig_dtype_is_integral(ig_dtype_carrier(dtype))) {
    int64_t i = 0;
    ig_convert(&i, IG_I64, at, dtype, 1);
    return ig_of_i64(i);
  }
  ig_c128 z = {0, 0};
  ig_convert(&z, IG_C128, at, dtype, 1);
  return ig_dtype_is_complex(dtype) ? ig_of_complex(z.re, z.im) : ig_of_f64(z.re);
}

void ig_fill(void *dst, ig_dtype dtype, size_t n, const ig_value *number) {
  if (n == 0) return;
  size_t size = ig_dtype_size(dtype);
  char *at = dst;
  ig_element_store(at, dtype, number);
  for (size_t done = 1; done < n;) {  // double what is there; stay within the L2 cache
    size_t step = done < n - done ? done : n - done;
    if (step * size > 65536) step = 65536 / size;
    memcpy(at + done * size, at, step * size);
    done += step;
  }
}
