// SPDX-License-Identifier: Apache-2.0
// Tensors as scripts show them: their elements in the form of the C++ library, and their types.
#ifndef SCRIPT_TENSOR_TEXT_H_
#define SCRIPT_TENSOR_TEXT_H_

#include "base/str.h"
#include "ingot/tensor.h"
#include "script/type.h"

// What `print` writes: the elements, then `[ CPUFloatType{2,3} ]`. Only the type of a tensor
// without data.
void ig_tensor_print(ig_str *s, const ig_tensor *t);
// In a constant of a graph: `{2}`, the elements on one line, or `<Tensor>` when there are many.
void ig_tensor_print_constant(ig_str *s, const ig_tensor *t);

// The type of a traced value: `Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)`.
const ig_stype *ig_stype_of_tensor(ig_stypes *types, const ig_tensor *t);

#endif
