// SPDX-License-Identifier: Apache-2.0
#include "onnx_read/reader.h"
const ig_rd_row ig_rd_rows_string[] = {{NULL, 0, NULL}};
const ig_rd_row ig_rd_rows_ml[] = {{NULL, 0, NULL}};
const ig_rd_row ig_rd_rows_tree[] = {{NULL, 0, NULL}};
