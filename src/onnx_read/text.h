// SPDX-License-Identifier: Apache-2.0
// Texts of ONNX models for people.
#ifndef ONNX_READ_TEXT_H_
#define ONNX_READ_TEXT_H_

#include "base/str.h"
#include "onnx/proto_model.h"

// "float32[batch, 3]", "seq(int64[?])"; nothing where the type is not known.
void ig_om_put_type(ig_str *s, const ig_om_type *t);

#endif
