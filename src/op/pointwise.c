// SPDX-License-Identifier: Apache-2.0
// Driver: walks the operands in the order of the result's memory and calls the operator's tile on
// dense rows. An operand that is dense in the compute dtype is used in place; any other is
// gathered, converted or repeated into a buffer that stays in the L1 cache.
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "op/formula.h"
#include "op/shape.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { BLOCK = 1024, GRAIN = 32768, STREAM = 2048 };

ig_tile_fn *ig_op_tile(const ig_op *op, ig_dtype dtype, ig_dtype *works_in) {
  ig_tile_fn *const *tile = op->def->tile;
  *works_in = dtype;
  if (tile[dtype] || dtype == IG_BOOL) return tile[dtype];
  if (dtype == IG_F16 || dtype == IG_BF16) *works_in = IG_F32;
  if (dtype == IG_C64) *works_in = IG_C128;
  if (ig_dtype_is_integral(dtype)) {
    bool small = ig_dtype_size(dtype) < 4;  // 32 bits hold its values, at half the cost
    *works_in = small && tile[IG_I32] ? IG_I32 : IG_I64;
  }
  return tile[*works_in];
}

typedef struct operand {
  ig_dtype dtype;  // of its memory
  ig_dtype works_in;
  size_t size;       // bytes of an element in memory
  size_t work_size;  // bytes of an element in the buffer
  bool number;       // the buffer contains it from the start
} operand;

typedef struct plan {
  ig_tile_fn *tile;
  ig_tile_args proto;
  size_t n;  // operands, without the result
  ig_dtype out_dtype;
  ig_dtype out_works_in;
  size_t out_size;
  size_t out_work_size;
  bool stream;  // memory is slower than the intermediate caches
  operand in[IG_MAX_OPERANDS];
  ig_value numbers[IG_MAX_OPERANDS];
} plan;

// n elements of one operand as a dense block in the working dtype.
static const void *dense(const operand *o, const char *at, int64_t stride, size_t n, void *buffer,
                         void *staging) {
  bool converts = o->dtype != o->works_in;
  if (stride == (int64_t)o->size && !converts) return at;
  const char *from = at;
  if (stride == 0) {
    ig_convert(buffer, o->works_in, at, o->dtype, 1);
    char *to = buffer;
    for (size_t done = 1; done < n;) {
      size_t step = done < n - done ? done : n - done;
      memcpy(to + done * o->work_size, to, step * o->work_size);
      done += step;
    }
    return buffer;
  }
  if (stride != (int64_t)o->size) {
    char *to = converts ? staging : buffer;
    switch (o->size) {
#define GATHER(bytes)                                                                       \
  case bytes:                                                                               \
    for (size_t i = 0; i < n; i++) memcpy(to + i * bytes, at + (int64_t)i * stride, bytes); \
    break;
      GATHER(1)
      GATHER(2)
      GATHER(4)
      GATHER(8)
      GATHER(16)
#undef GATHER
      default:
        break;
    }
    from = to;
  }
  if (converts) ig_convert(buffer, o->works_in, from, o->dtype, n);
  return buffer;
}

static void store(const plan *p, char *at, int64_t stride, size_t n, const char *result,
                  void *staging) {
  const char *from = result;
  bool contiguous = stride == (int64_t)p->out_size;
  if (p->out_dtype != p->out_works_in) {
    void *to = contiguous ? (void *)at : staging;
    ig_convert(to, p->out_dtype, result, p->out_works_in, n);
    if (contiguous) return;
    from = staging;
  }
  for (size_t i = 0; i < n; i++) {
    memcpy(at + (int64_t)i * stride, from + i * p->out_size, p->out_size);
  }
}

// Operands that are used in place, as a whole.
static void row_in_place(const plan *p, char *const *at, int64_t count) {
  ig_tile_args t;
  for (size_t i = 0; i < p->n; i++) t.in[i] = at[i + 1];
  t.n = (size_t)count;
  t.out = at[0];
  t.args = p->proto.args;
  t.op = p->proto.op;
  t.dtype = p->proto.dtype;
  t.zero_divisor = p->proto.zero_divisor;
  p->tile(&t);
}

// The same for results written with non-temporal stores: in chunks small enough to alternate with
// reading.
static void row_streamed(const plan *p, char *const *at, int64_t count) {
  double result[STREAM / sizeof(double)];
  ig_tile_args t = p->proto;
  char *to = at[0];
  size_t left = (size_t)count;
  t.n = STREAM / p->out_size;
  t.out = result;
  for (size_t i = 0; i < p->n; i++) t.in[i] = at[i + 1];
  while (left > 0) {
    if (t.n > left) t.n = left;
    p->tile(&t);
    ig_mem_stream(to, result, t.n * p->out_size);
    to += t.n * p->out_size;
    for (size_t i = 0; i < p->n; i++) t.in[i] = (const char *)t.in[i] + t.n * p->in[i].size;
    left -= t.n;
  }
  ig_mem_stream_end();
}

static void row_in_blocks(const plan *p, char *const *at, const int64_t *stride, int64_t count,
                          bool direct) {
  double buffers[IG_MAX_OPERANDS][2 * BLOCK];
  double staging[2 * BLOCK];
  double result[2 * BLOCK];
  ig_tile_args t = p->proto;
  bool filled[IG_MAX_OPERANDS] = {false};
  for (int64_t start = 0; start < count; start += BLOCK) {
    size_t n = (size_t)(count - start < BLOCK ? count - start : BLOCK);
    for (size_t i = 0; i < p->n; i++) {
      const operand *o = &p->in[i];
      bool repeated = o->number || stride[i + 1] == 0;
      if (repeated && filled[i]) continue;
      if (o->number) {
        ig_fill(buffers[i], o->works_in, n, &p->numbers[i]);
        t.in[i] = buffers[i];
      } else {
        const char *from = at[i + 1] + start * stride[i + 1];
        t.in[i] = dense(o, from, stride[i + 1], n, buffers[i], staging);
      }
      filled[i] = repeated;  // the first block is the longest
    }
    t.n = n;
    char *to = at[0] + start * stride[0];
    t.out = direct ? (void *)to : result;
    p->tile(&t);
    if (!direct) store(p, to, stride[0], n, (const char *)result, staging);
  }
}

static void row(void *user, char *const *at, const int64_t *stride, int64_t count) {
  const plan *p = user;
  bool direct = stride[0] == (int64_t)p->out_size && p->out_dtype == p->out_works_in;
  bool whole = direct;
  for (size_t i = 0; whole && i < p->n; i++) {
    const operand *o = &p->in[i];
    whole = !o->number && stride[i + 1] == (int64_t)o->size && o->dtype == o->works_in;
  }
  if (whole)
    (p->stream ? row_streamed : row_in_place)(p, at, count);
  else
    row_in_blocks(p, at, stride, count, direct);
}

static bool make_plan(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *out,
                      plan *p) {
  ig_dtype dtype = ig_computing_dtype(c, op, args);
  ig_dtype works_in = dtype;
  p->tile = ig_op_tile(op, dtype, &works_in);
  if (!p->tile) {
    ig_fail_text(c, IG_UNSUPPORTED, "\"%s\" not implemented for '%s'", op->target,
                 ig_dtype_text(dtype));
    return false;
  }
  bool compares = op->def->shape == ig_shape_compare;
  p->n = op->operands;
  p->stream = false;
  p->out_dtype = out->dtype;
  p->out_works_in = compares ? IG_BOOL : works_in;
  p->out_size = ig_dtype_size(p->out_dtype);
  p->out_work_size = ig_dtype_size(p->out_works_in);
  p->proto.args = args;
  p->proto.op = op;
  p->proto.dtype = works_in;
  for (size_t i = 0; i < p->n; i++) {
    operand *o = &p->in[i];
    o->number = args[i].kind != IG_KIND_TENSOR;
    o->works_in = i < op->def->masks ? IG_BOOL : works_in;
    o->dtype = o->number ? o->works_in : args[i].tensor->dtype;
    o->size = ig_dtype_size(o->dtype);
    o->work_size = ig_dtype_size(o->works_in);
    if (!o->number) continue;
    p->numbers[i] = args[i];
    if (compares && dtype != works_in && ig_value_is_number(&args[i])) {
      double rounded[2];  // a comparison sees the number rounded to the element type
      ig_element_store(rounded, dtype, &args[i]);
      p->numbers[i] = ig_element_load(rounded, dtype);
    }
  }
  return true;
}

// The same sizes, and the same strides where they matter.
static bool same_layout(const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++) {
    int64_t size = ig_sizes(a)[d].value;
    if (size != ig_sizes(b)[d].value) return false;
    if (size != 1 && ig_strides(a)[d].value != ig_strides(b)[d].value) return false;
  }
  return true;
}

// One dense row without a walk: the frequent case, and the one whose overhead counts.
static bool run_dense(plan *p, const ig_value *args, ig_tensor *out) {
  char *at[IG_MAX_OPERANDS + 1] = {NULL};
  int64_t stride[IG_MAX_OPERANDS + 1] = {0};
  int64_t numel = ig_tensor_numel(out);
  if (numel > GRAIN || !ig_tensor_is_dense(out)) return false;
  at[0] = ig_tensor_data(out);
  stride[0] = (int64_t)p->out_size;
  for (size_t i = 0; i < p->n; i++) {
    if (p->in[i].number) continue;
    const ig_tensor *t = args[i].tensor;
    at[i + 1] = ig_tensor_data(t);
    if (same_layout(t, out))
      stride[i + 1] = (int64_t)p->in[i].size;
    else if (ig_tensor_numel(t) != 1)
      return false;
  }
  if (numel) row(p, at, stride, numel);
  return true;
}

// True if operands and result do not fit into the last-level cache, and the result is only written.
static bool should_stream(const plan *p, const ig_value *args, const ig_tensor *out) {
  size_t bytes = (size_t)ig_tensor_numel(out) * p->out_size;
  for (size_t i = 0; i < p->n; i++) {
    const ig_tensor *t = ig_value_tensor(&args[i]);
    if (!t) continue;
    if (t->storage == out->storage) return false;
    bytes += (size_t)ig_tensor_numel(t) * p->in[i].size;
  }
  return bytes > ig_cpu_l3();
}

static void run_walk(plan *p, const ig_value *args, ig_tensor *out) {
  ig_walk w;
  p->stream = should_stream(p, args, out);
  ig_tensor *operands[IG_MAX_OPERANDS + 1] = {out};
  for (size_t i = 0; i < p->n; i++) operands[i + 1] = ig_value_tensor(&args[i]);
  ig_walk_make(&w, out, operands, (int)p->n + 1);
  ig_walk_run(&w, GRAIN, row, p);
}

static void run_plan(ig_ctx *c, plan *p, const ig_value *args, ig_tensor *out) {
  atomic_bool zero_divisor = false;
  p->proto.zero_divisor = &zero_divisor;
  if (!run_dense(p, args, out)) run_walk(p, args, out);
  p->proto.zero_divisor = NULL;
  if (atomic_load_explicit(&zero_divisor, memory_order_relaxed)) {
    ig_fail_text(c, IG_RUNTIME, "ZeroDivisionError");
  }
}

void ig_pointwise_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *out) {
  plan p;
  if (make_plan(c, op, args, out, &p)) run_plan(c, &p, args, out);
}

void ig_pointwise_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *out,
                          ig_prep *p) {
  IG_STATE(plan, state, p);
  (void)make_plan(c, op, args, out, state);
}

void ig_pointwise_execute(const ig_exec *x) {
  plan p = *(const plan *)x->state;
  p.proto.args = x->args;
  run_plan(x->c, &p, x->args, x->outs[0].tensor);
}
