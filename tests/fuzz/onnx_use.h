// SPDX-License-Identifier: Apache-2.0
// An ONNX model, used in every way: parsed, run on zeros, captured, checked, its shapes inferred,
// converted to another opset, within small budgets.
#ifndef TESTS_FUZZ_ONNX_USE_H_
#define TESTS_FUZZ_ONNX_USE_H_

#include "base/ctx.h"

void fuzz_onnx_use(ig_ctx *c, const uint8_t *data, size_t n, int opset);

#endif
