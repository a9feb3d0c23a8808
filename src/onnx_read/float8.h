// SPDX-License-Identifier: Apache-2.0
// The small floats of ONNX, 8 and 4 bits wide, to and from float32.
#ifndef ONNX_READ_FLOAT8_H_
#define ONNX_READ_FLOAT8_H_

#include <stdbool.h>
#include <stdint.h>

// elem: one of IG_OM_F8..., IG_OM_F4E2M1.
float ig_small_to_f32(int elem, uint8_t x);
// Nearest, ties to even. saturate: values that are too large become the largest; otherwise infinity
// or NaN, depending on the type.
uint8_t ig_small_from_f32(int elem, float x, bool saturate);
// E8M0 only: the rounding of the scale, "up", "down" or "nearest".
uint8_t ig_e8m0_from_f32(float x, bool saturate, const char *round_mode);
bool ig_is_small_float(int elem);

#endif
