// SPDX-License-Identifier: Apache-2.0
#include "op/prepare.h"

#include "base/blocks.h"
#include "op/shape.h"

// Memory of the context for the runs of eager calls; more than this goes back after a call.
enum { KEPT = 64 << 20 };

static void prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                    ig_prep *p) {
  p->need = ig_need_make(true);
  p->packed_size = 0;
  p->packed = NULL;
  if (op->def->prepare) op->def->prepare(c, op, args, outs, p);
  if (op->pointwise && !ig_op_has_kernel(op)) {
    ig_pointwise_prepare(c, op, args, outs[0].tensor, p);
  }
}

void ig_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                ig_prep *p) {
  p->packs = false;
  prepare(c, op, args, outs, p);
}

void ig_prepare_packing(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p) {
  p->packs = op->def->pack != NULL;
  prepare(c, op, args, outs, p);
}

void ig_prepared_pack(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args,
                      void *to) {
  ig_exec x = {.c = c, .op = op, .args = args, .state = p->state};
  op->def->pack(&x, to);
}

static void run(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args, ig_value *outs,
                void *memory) {
  ig_exec x = {c, op, args, outs, p->state, memory, p->packed};
  if (op->def->run) {
    op->def->run(&x);
  } else if (op->def->kernel) {
    op->def->kernel(c, op, args, outs);
  } else {
    ig_pointwise_execute(&x);
  }
}

void ig_prepared_run(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args,
                     ig_value *outs, void *memory) {
  ig_workspace w;
  ig_workspace_enter(&w, &p->need, memory);
  run(c, op, p, args, outs, memory);
  ig_workspace_leave(&w);
}

static char *aligned(void *p) {
  return (char *)p + (64 - (uintptr_t)p % 64) % 64;
}

// At least so many bytes; the context keeps them. Contents need not survive.
static void *memory_of(ig_ctx *c, size_t bytes) {
  size_t size = ig_mem_add(bytes, 64);
  if (c->work && size <= c->work_size) return aligned(c->work);
  ig_block_free(c->alloc, c->work, c->work_size);
  c->work = NULL;
  size = ig_mem_add(size, 4095) / 4096 * 4096;
  c->work_size = 0;
  c->work = size < IG_SIZE_NONE ? ig_block_new(c->alloc, size) : NULL;
  if (!c->work) {
    (void)ig_fail(c, IG_NOMEM, "out of memory: %zu bytes of working memory", bytes);
    return NULL;
  }
  c->work_size = size;
  return aligned(c->work);
}

void ig_prepare_and_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_prep p;
  p.need = ig_need_make(false);
  p.packs = false;
  p.packed = NULL;
  op->def->prepare(c, op, args, outs, &p);
  if (c->status != IG_OK) return;
  if (!p.need.pieces) {
    run(c, op, &p, args, outs, NULL);
    return;
  }
  void *memory = memory_of(c, p.need.pieces);
  if (!memory) return;
  // Nobody else gets this memory while the run has it.
  void *held = c->work;
  size_t size = c->work_size;
  c->work = NULL;
  c->work_size = 0;
  run(c, op, &p, args, outs, memory);
  ig_block_free(c->alloc, c->work, c->work_size);
  if (size > KEPT) ig_block_free(c->alloc, held, size);
  c->work = size > KEPT ? NULL : held;
  c->work_size = size > KEPT ? 0 : size;
}

void ig_compute(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (op->def->kernel) {
    op->def->kernel(c, op, args, outs);
  } else if (op->def->run) {
    ig_prepare_and_run(c, op, args, outs);
  } else {
    ig_pointwise_run(c, op, args, outs[0].tensor);
  }
}
