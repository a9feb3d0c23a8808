// SPDX-License-Identifier: Apache-2.0
// Texts of types and attributes, for lists of calls and views.
#ifndef MODEL_TEXT_H_
#define MODEL_TEXT_H_

#include "base/str.h"
#include "ingot/tensor.h"

// The type of a value, "float32[s0, 4]", of a list all of them; nothing for other values.
void ig_steps_type(ig_str *s, const ig_value *v);
// The value of an attribute of an ONNX node; a long one by its checksum.
struct ig_om_attr;
void ig_steps_attr(ig_str *s, const struct ig_om_attr *a);

#endif
