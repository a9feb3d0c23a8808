// SPDX-License-Identifier: Apache-2.0
// Steps with their own files: Resize, which changed in most of its versions, and large composite
// operators.
#ifndef ONNX_CONVERT_STEPS_H_
#define ONNX_CONVERT_STEPS_H_

#include "onnx_convert/convert.h"

ig_cv_step ig_cv_resize_up;  // 10 to 11
ig_cv_step ig_cv_resize_down_11;
ig_cv_step ig_cv_resize_down_13;
ig_cv_step ig_cv_resize_down_18;
ig_cv_step ig_cv_resize_down_19;

ig_cv_step ig_cv_attention_down;
ig_cv_step ig_cv_rotary_down;
ig_cv_step ig_cv_col2im_down;
ig_cv_step ig_cv_scan_up;  // 8 to 9
ig_cv_step ig_cv_scan_down;

// Reading and writing by index (indices.c).
ig_cv_step ig_cv_gather_nd_down;
ig_cv_step ig_cv_scatter_nd_down;
ig_cv_step ig_cv_gather_elements_down;

#endif
