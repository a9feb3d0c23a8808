// SPDX-License-Identifier: Apache-2.0
// Codes of errors: IG_SYNTAX | IG_E_ZIP instead of IG_SYNTAX lets users ask for an explanation
// (ingot explain IG0103). A code names what users have to understand or do, not a line of source:
// all damaged zip archives share one. The explanations are in explain_table.c.
//
// Numbers are never reused; the hundreds are: 1 files that are refused, 2 exports, 3 writing ONNX,
// 4 running models, 5 limits and the system.
#ifndef BASE_CAUSE_H_
#define BASE_CAUSE_H_

#include "base/cause.h"
#include "base/ctx.h"

#define IG_CAUSE_LIST(X)  \
  X(101, NOT_A_MODEL)     \
  X(102, OTHER_LOADER)    \
  X(103, ZIP)             \
  X(104, CHECKSUM)        \
  X(105, ZIP_FEATURE)     \
  X(106, JSON)            \
  X(107, PICKLE)          \
  X(108, PICKLE_CLASS)    \
  X(109, PROTOBUF)        \
  X(110, PT2)             \
  X(111, PT2_UNSUPPORTED) \
  X(112, SAFETENSORS)     \
  X(113, NPY)             \
  X(114, ONNX_MODEL)      \
  X(115, ONNX_EXTERNAL)   \
  X(116, ONNX_OPERATOR)   \
  X(117, ONNX_NODE)       \
  X(118, READER_LIMIT)    \
  X(119, PROGRAM)         \
  X(120, COMPILED)        \
  X(121, SCRIPT_ARCHIVE)  \
  X(122, INGOT_FILE)      \
  X(201, DIMS)            \
  X(202, DATA_DEPENDENT)  \
  X(203, OUTPUT_DATA)     \
  X(204, OUTPUT_SHAPE)    \
  X(205, BRANCHES)        \
  X(206, DIM_EXAMPLE)     \
  X(207, PT2_WRITING)     \
  X(301, ONNX_CALL)       \
  X(302, ONNX_OPSET)      \
  X(303, ONNX_NAMES)      \
  X(304, ONNX_CONVERSION) \
  X(401, INPUT_MISSING)   \
  X(402, INPUT_UNKNOWN)   \
  X(403, INPUT_TYPE)      \
  X(404, INPUT_SIZE)      \
  X(405, NO_PROGRAM)      \
  X(406, PROGRAM_INPUT)   \
  X(501, OUT_OF_MEMORY)   \
  X(502, MEMORY_LIMIT)    \
  X(503, WORK_LIMIT)      \
  X(504, TIME_LIMIT)      \
  X(505, FILE_ACCESS)

enum {
#define X(number, name) IG_E_##name = (number) << IG_CAUSE_SHIFT,
  IG_CAUSE_LIST(X)
#undef X
};

// The places of the explanations in their table.
enum {
#define X(number, name) IG_CAUSE_AT_##name,
  IG_CAUSE_LIST(X)
#undef X
      IG_CAUSE_COUNT
};

// For functions that report the errors of one reader: `code`, unless the caller knows better.
static inline ig_cause ig_cause_or(ig_cause why, ig_cause code) {
  return why == (ig_cause)ig_cause_status(why) ? why | code : why;
}

#endif
