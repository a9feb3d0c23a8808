// SPDX-License-Identifier: Apache-2.0
// The .debug_pkl beside a source of an archive: which place of the original source each piece of
// the printed text comes from.
#ifndef TS_DEBUG_H_
#define TS_DEBUG_H_

#include "script/code_print.h"
#include "ts/pickler.h"

// Writes the pickle to p, which is new. False after an error.
bool ig_ts_debug_write(ig_ts_pickler *p, const ig_sprint_text *text);

#endif
