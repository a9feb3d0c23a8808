// SPDX-License-Identifier: Apache-2.0
// Control flow: cond is If, while_loop is Loop, map and scan are Scan. Operands of a branch are
// read where they are, outside; what a body carries are its inputs.
#include "onnx/writer.h"

void ig_onnx_put_hop(ig_onnx *x, const ig_node *n) {
  ig_onnx_refuse(x, n, "this control flow cannot be written as ONNX");
}
