// SPDX-License-Identifier: Apache-2.0
// One routine for all small floats: a type is its bits, its bias and its
// special codes. Encoding searches no table: the value is scaled so that one
// unit is one step of its binade, and rounded.
#include "onnx_read/float8.h"

#include <math.h>
#include <string.h>

#include "onnx/proto_model.h"

typedef struct format {
  int exponent;  // bits
  int mantissa;  // bits
  int bias;
  uint8_t max;        // code of the largest finite number
  uint8_t inf;        // code of infinity, 0: none
  uint8_t nan;        // code of NaN, 0: none
  bool signless_nan;  // the code of negative zero is NaN
} format;

static const format formats[IG_OM_ELEM_COUNT] = {
    [IG_OM_F8E4M3FN] = {4, 3, 7, 0x7e, 0, 0x7f, false},
    [IG_OM_F8E4M3FNUZ] = {4, 3, 8, 0x7f, 0, 0x80, true},
    [IG_OM_F8E5M2] = {5, 2, 15, 0x7b, 0x7c, 0x7f, false},
    [IG_OM_F8E5M2FNUZ] = {5, 2, 16, 0x7f, 0, 0x80, true},
    [IG_OM_F4E2M1] = {2, 1, 1, 0x7, 0, 0, false},
};

bool ig_is_small_float(int elem) {
  return elem == IG_OM_F8E8M0 || (elem >= 0 && elem < IG_OM_ELEM_COUNT && formats[elem].exponent);
}

static float decode(const format *f, uint8_t x) {
  int sign = 1 << (f->exponent + f->mantissa);
  uint8_t magnitude = (uint8_t)(x & (sign - 1));
  if (f->signless_nan && x == sign) return NAN;
  if (!f->signless_nan && f->nan && !f->inf && magnitude == f->nan) return NAN;
  if (f->inf && magnitude > f->inf) return NAN;
  float s = x & sign ? -1.0F : 1.0F;
  if (f->inf && magnitude == f->inf) return s * INFINITY;
  int e = magnitude >> f->mantissa;
  int m = magnitude & ((1 << f->mantissa) - 1);
  if (e == 0) return s * ldexpf((float)m, 1 - f->bias - f->mantissa);
  return s * ldexpf((float)(m + (1 << f->mantissa)), e - f->bias - f->mantissa);
}

float ig_small_to_f32(int elem, uint8_t x) {
  if (elem == IG_OM_F8E8M0) return x == 0xff ? NAN : ldexpf(1, x - 127);
  return decode(&formats[elem], x);
}

static uint8_t too_large(const format *f, uint8_t sign, bool saturate) {
  if (saturate || (!f->inf && !f->nan)) return (uint8_t)(sign | f->max);
  if (f->inf) return (uint8_t)(sign | f->inf);
  return f->signless_nan ? f->nan : (uint8_t)(sign | f->nan);
}

uint8_t ig_small_from_f32(int elem, float x, bool saturate) {
  if (elem == IG_OM_F8E8M0) return ig_e8m0_from_f32(x, saturate, "nearest");
  const format *f = &formats[elem];
  uint8_t sign = (uint8_t)(signbit(x) ? 1 << (f->exponent + f->mantissa) : 0);
  if (isnan(x)) {  // 4 bits have no NaN: negative zero, as the reference has it
    if (!f->nan) return 8;
    return (uint8_t)(f->signless_nan ? f->nan : sign | f->nan);
  }
  float a = fabsf(x);
  if (isinf(x)) return too_large(f, sign, saturate);
  int e = 0;
  (void)frexpf(a, &e);  // a in [2^(e-1), 2^e)
  int unit = (e - 1 < 1 - f->bias ? 1 - f->bias : e - 1) - f->mantissa;
  float steps = rintf(ldexpf(a, -unit));
  float rounded = ldexpf(steps, unit);
  if (rounded > decode(f, f->max)) return too_large(f, sign, saturate);
  if (rounded == 0) return f->signless_nan ? 0 : sign;
  int re = 0;
  (void)frexpf(rounded, &re);
  int biased = re - 1 + f->bias;
  int code = biased <= 0 ? (int)ldexpf(rounded, f->bias - 1 + f->mantissa)
                         : biased << f->mantissa |
                               ((int)ldexpf(rounded, f->mantissa - (re - 1)) - (1 << f->mantissa));
  return (uint8_t)(sign | (uint8_t)code);
}

uint8_t ig_e8m0_from_f32(float x, bool saturate, const char *round_mode) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return 0xff;
  if (isinf(x)) return saturate ? 0xfe : 0xff;
  uint32_t exponent = bits >> 23 & 0xff;
  uint32_t mantissa = bits & 0x7fffff;
  bool up = false;
  if (strcmp(round_mode, "up") == 0) {
    // A denormal up to 2^-127 stays there.
    up = exponent == 0 ? mantissa > 0x400000 : mantissa > 0;
  } else if (strcmp(round_mode, "nearest") == 0) {
    bool half = mantissa & 0x400000;
    bool rest = mantissa & 0x3fffff;
    up = exponent == 0 ? half && rest : half && (rest || exponent > 0);
  }
  if (up) exponent++;
  if (exponent > 0xfe) return saturate ? 0xfe : 0xff;
  return (uint8_t)exponent;
}
