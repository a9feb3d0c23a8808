// SPDX-License-Identifier: Apache-2.0
// dtypes, layouts and memory formats are integers in scripts and archives.
#ifndef SCRIPT_NUMBERS_H_
#define SCRIPT_NUMBERS_H_

#include "ingot/tensor.h"

// The number of a dtype; -1: it has none.
int64_t ig_script_of_dtype(ig_dtype d);
ig_dtype ig_script_dtype(int64_t number);  // IG_DTYPE_COUNT: none has this number
int64_t ig_script_of_layout(ig_layout l);
ig_layout ig_script_layout(int64_t number);  // IG_LAYOUT_COUNT
int64_t ig_script_of_memory_format(ig_memory_format f);
ig_memory_format ig_script_memory_format(int64_t number);  // IG_MEMORY_FORMAT_COUNT

#endif
