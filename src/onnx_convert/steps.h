// SPDX-License-Identifier: Apache-2.0
// Steps of Resize, which changed in most of its versions.
#ifndef ONNX_CONVERT_STEPS_H_
#define ONNX_CONVERT_STEPS_H_

#include "onnx_convert/convert.h"

ig_cv_step ig_cv_resize_up;  // 10 to 11
ig_cv_step ig_cv_resize_down_11;
ig_cv_step ig_cv_resize_down_13;
ig_cv_step ig_cv_resize_down_18;
ig_cv_step ig_cv_resize_down_19;

#endif
