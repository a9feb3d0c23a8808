// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of ai.onnx.ml.
#ifndef ONNX_OPS_ML_H_
#define ONNX_OPS_ML_H_

#include "onnx_read/reader.h"

// NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT over the last dimension.
ig_tensor *ig_rd_post_transform(ig_rd *r, ig_tensor *t, const char *how);
// Outputs 0 and 1 of a classifier: labels and scores [n, classes]. binary: one score for two
// classes.
void ig_rd_classify(ig_rd *r, ig_tensor *scores, const char *post, bool binary);

#endif
