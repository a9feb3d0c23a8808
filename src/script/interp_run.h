// SPDX-License-Identifier: Apache-2.0
// A script that is running: its frames and their registers, for the files of the interpreter.
#ifndef SCRIPT_INTERP_RUN_H_
#define SCRIPT_INTERP_RUN_H_

#include "script/code.h"

typedef struct ig_sframe {
  const ig_scode *code;
  ig_value *registers;
  size_t next;     // instruction
  size_t entered;  // `with` objects before this frame
} ig_sframe;

typedef struct ig_srun {
  ig_ctx *c;
  IG_VEC(ig_sframe) frames;
  IG_VEC(ig_value) entered;  // objects of open `with` statements, retained
  size_t max_depth;
} ig_srun;

static inline ig_sframe *ig_srun_top(ig_srun *r) {
  return &r->frames.at[r->frames.n - 1];
}

static inline ig_value ig_sframe_read(const ig_sframe *f, ig_soperand at) {
  return at >= 0 ? f->registers[at] : f->code->constants[~at];
}

// Takes over the reference.
static inline void ig_sframe_write(ig_sframe *f, uint32_t at, ig_value v) {
  ig_value old = f->registers[at];
  f->registers[at] = v;
  if (old.kind == IG_KIND_TENSOR || old.kind == IG_KIND_OBJECT || old.kind == IG_KIND_NATIVE) {
    ig_svalue_release(old);
  }
}

// False after an error.
IG_MUST_USE bool ig_srun_push(ig_srun *r, const ig_scode *code);
// Until the outermost frame returns, or reaches the instruction `end` (SIZE_MAX: none).
void ig_srun_execute(ig_srun *r, size_t end, ig_value *outs);
// Releases everything; the run itself belongs to the caller.
void ig_srun_close(ig_srun *r);

#endif
