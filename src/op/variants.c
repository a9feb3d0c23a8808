// SPDX-License-Identifier: Apache-2.0
// In-place and out forms. Both are the functional operator plus a destination; if the kernel can
// write there directly, no memory is allocated.
#include <string.h>

#include "op/call.h"
#include "op/formula.h"
#include "op/prepare.h"
#include "op/refuse.h"
#include "op/tape.h"
#include "tensor/copy.h"
#include "tensor/geometry.h"

bool ig_check_writable(ig_ctx *c, const ig_tensor *to) {
  if (!ig_is_fake(to) && ig_tensor_has_internal_overlap(to)) {
    ig_fail_text(c, IG_RUNTIME,
                 "unsupported operation: more than one element of the written-to tensor refers to "
                 "a single memory location. Please clone() the tensor before performing the "
                 "operation.");
    return false;
  }
  return true;
}

static bool check_dtype(ig_ctx *c, ig_dtype from, ig_dtype to) {
  if (ig_dtype_can_cast(from, to)) return true;
  ig_fail_text(c, IG_RUNTIME, "result type %s can't be cast to the desired output type %s",
               ig_dtype_title(from), ig_dtype_title(to));
  return false;
}

static bool same_shape(ig_ctx *c, const ig_tensor *to, const ig_int *sizes, int ndim) {
  if (to->ndim != ndim) return false;
  for (int d = 0; d < ndim; d++) {
    if (!ig_int_eq(c, ig_sizes(to)[d], sizes[d])) return false;
  }
  return true;
}

static const char *shape_text(ig_ctx *c, const ig_int *sizes, int ndim, ig_str *s) {
  *s = ig_str_make(c->alloc);
  for (int d = 0; d < ndim; d++) ig_str_add(s, "%s%s", d ? ", " : "", ig_int_text(c, sizes[d]));
  return s->at ? s->at : "";
}

static void wrong_shape(ig_ctx *c, const ig_tensor *to, const ig_int *sizes, int ndim) {
  ig_str a;
  ig_str b;
  ig_fail_text(c, IG_RUNTIME, "output with shape [%s] doesn't match the broadcast shape [%s]",
               shape_text(c, ig_sizes(to), to->ndim, &a), shape_text(c, sizes, ndim, &b));
  ig_str_free(&a);
  ig_str_free(&b);
}

// Does some operand overlap `to` in a way that would break a tile?
static ig_overlap worst_overlap(const ig_op *op, const ig_value *args, const ig_tensor *to) {
  ig_overlap worst = IG_OVERLAP_NONE;
  for (size_t i = 0; i < op->operands; i++) {
    if (args[i].kind != IG_KIND_TENSOR) continue;
    ig_overlap o = ig_tensor_overlap(to, args[i].tensor);
    if (o > worst) worst = o;
  }
  return worst;
}

// Directly into `to`: its shape must be the broadcast one, and the result must be castable to its
// dtype.
static void pointwise_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to) {
  ig_meta m;
  ig_meta_init(&m, to->dtype, to->device);
  op->def->shape(c, op, args, &m);
  if (c->status != IG_OK) return;
  if (!same_shape(c, to, m.size, m.ndim)) {
    wrong_shape(c, to, m.size, m.ndim);
    return;
  }
  if (!check_dtype(c, m.dtype, to->dtype) || !ig_check_writable(c, to) || ig_is_fake(to) ||
      c->mode->fake) {
    return;
  }
  if (worst_overlap(op, args, to) == IG_OVERLAP_PARTIAL) {
    ig_fail_text(c, IG_RUNTIME,
                 "unsupported operation: some elements of the input tensor and the written-to "
                 "tensor refer to a single memory location. Please clone() the tensor before "
                 "performing the operation.");
    return;
  }
  ig_pointwise_run(c, op, args, to);
}

// Computes the functional result separately, then copies it.
static void copy_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to) {
  ig_value results[IG_MAX_RETURNS];
  ig_call(c, op, args, results);
  if (c->status != IG_OK || results[0].kind != IG_KIND_TENSOR) return;
  ig_tensor *from = results[0].tensor;
  if (!same_shape(c, to, ig_sizes(from), from->ndim)) {
    wrong_shape(c, to, ig_sizes(from), from->ndim);
    return;
  }
  if (!check_dtype(c, from->dtype, to->dtype) || !ig_check_writable(c, to)) return;
  if (!ig_is_fake(to) && !ig_is_fake(from)) ig_tensor_copy(to, from);
}

// unsqueeze_, t_, detach_ ...: self becomes a view of itself.
static void view_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *self) {
  ig_meta m;
  ig_meta_init(&m, self->dtype, self->device);
  op->def->shape(c, op, args, &m);
  if (c->status == IG_OK) (void)ig_tensor_reshape_inplace(c, self, &m);
}

static void alias_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *self) {
  ig_meta m;
  ig_meta_init(&m, self->dtype, self->device);
  op->def->shape(c, op, args, &m);
  if (c->status != IG_OK) return;
  if (!same_shape(c, self, m.size, m.ndim)) {
    wrong_shape(c, self, m.size, m.ndim);
    return;
  }
  if (!ig_check_writable(c, self) || ig_is_fake(self) || c->mode->fake) return;
  ig_value out = ig_of_tensor(self);
  ig_compute(c, op, args, &out);
}

static bool refuse_fake(ig_ctx *c, const ig_tensor *to, const ig_tensor *from) {
  if (to->device.type == from->device.type) {
    ig_fail_text(
        c, IG_RUNTIME,
        "a tensor with elements cannot be written from a fake one, which has none: make it "
        "fake as well");
    return false;
  }
  ig_fail_text(c, IG_RUNTIME,
               "Expected all tensors to be on the same device, but found at least two devices, "
               "%s and %s!",
               ig_device_type_text(to->device), ig_device_type_text(from->device));
  return false;
}

// Fake operands have no elements to copy.
static bool check_bytes(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *to) {
  if (c->mode->fake || ig_is_fake(to)) return true;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    bool list = args[i].kind == IG_KIND_LIST && op->has_tensor_list;
    size_t n = list ? args[i].list.n : 1;
    for (size_t k = 0; k < n; k++) {
      const ig_value *v = list ? &args[i].list.at[k] : &args[i];
      if (v->kind == IG_KIND_TENSOR && ig_is_fake(v->tensor)) return refuse_fake(c, to, v->tensor);
    }
  }
  return true;
}

// The inner call must not be recorded on the tape: the in-place form is.
static void compute_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to) {
  if (!check_bytes(c, op, args, to)) return;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_scope s = ig_scope_open(c);
  if (op->pointwise) {
    pointwise_into(c, op, args, to);
  } else if (op->def->view) {
    view_into(c, op, args, to);
  } else if (op->def->alias_out && ig_op_has_kernel(op)) {
    alias_into(c, op, args, to);
  } else {
    copy_into(c, op, args, to);
  }
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
}

// A gradient is needed, and only the parts of the operator have one: they are recorded, and so is
// the write.
static bool is_taped_by_parts(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  const ig_op_def *d = op->base->def;
  if (d->vjp || d->view || d->not_differentiable || ig_tape_refuses(c, op)) return false;
  return ig_op_has_decomposition(op->base) && ig_tape_wanted(c, op, args);
}
void ig_write_parts(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to) {
  if (!check_bytes(c, op, args, to)) return;
  ig_scope s = ig_scope_open(c);
  ig_value results[IG_MAX_RETURNS] = {{0}};
  ig_value given[IG_MAX_ARGS];
  memcpy(given, args, op->schema.nargs * sizeof *args);
  given[0] = ig_of_tensor(ig_clone(c, to));  // the rules of the parts would read overwritten data
  if (c->status == IG_OK) ig_call(c, op, given, results);
  ig_tensor *from = c->status == IG_OK ? ig_value_tensor(&results[0]) : NULL;
  if (from && !same_shape(c, to, ig_sizes(from), from->ndim)) {
    wrong_shape(c, to, ig_sizes(from), from->ndim);
  } else if (from && check_dtype(c, from->dtype, to->dtype)) {
    (void)ig_copy_(c, to, from);
  }
  ig_scope_close(c, s);
}

void ig_run_inplace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (!ig_tape_may_write(c, op, self)) return;
  if (is_taped_by_parts(c, op, args)) {
    ig_mode_scope mode;
    ig_tape_entry *group = ig_tape_group_open(c, op, args, &mode);
    ig_write_parts(c, op->base, args, self);
    ig_tape_group_close(c, group, &mode);
    if (c->status == IG_OK) outs[0] = args[0];
    return;
  }
  ig_tape_entry *e = ig_tape_open(c, op, args);
  if (c->status != IG_OK) return;
  compute_into(c, op->base, args, self);
  if (c->status == IG_OK) {
    if (!op->def->view) ig_tensor_bump(self);
    outs[0] = args[0];
  }
  ig_tape_close(c, e, op, args, outs);
}

// An out tensor of another shape is resized, as PyTorch does (it warns when it was not empty).
static bool fit_out(ig_ctx *c, ig_tensor *to, const ig_tensor *from) {
  if (same_shape(c, to, ig_sizes(from), from->ndim)) return true;
  ig_meta m;
  ig_meta_of(from, &m);
  m.dtype = to->dtype;
  m.offset = to->offset;
  ig_meta_contiguous(c, &m);
  int64_t bytes = 0;
  return ig_geometry_admit(c, &m, NULL, ig_is_fake(to), &bytes) &&
         ig_storage_reserve(c, to->storage, (size_t)bytes) && ig_tensor_reshape_inplace(c, to, &m);
}

static bool check_device(ig_ctx *c, const ig_tensor *to, const ig_tensor *from) {
  if (to->device.type == from->device.type) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Attempting to copy from device %s to device %s, but cross-device copies are not "
               "allowed!",
               ig_device_type_text(from->device), ig_device_type_text(to->device));
  return false;
}

// A result may be a view of an operand (conj_physical of real numbers), and that of the memory
// which is written: then it is copied before.
static void copy_result(ig_ctx *c, ig_tensor *to, const ig_tensor *from) {
  if (to->storage != from->storage || ig_tensor_overlap(to, from) == IG_OVERLAP_SAME) {
    ig_tensor_copy(to, from);
    return;
  }
  ig_meta m;
  ig_meta_of(from, &m);
  m.offset = ig_const(0);
  ig_meta_contiguous(c, &m);
  ig_scope s = ig_scope_open(c);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) {
    ig_tensor_copy(copy, from);
    ig_tensor_copy(to, copy);
  }
  ig_scope_close(c, s);
}

static bool write_out(ig_ctx *c, ig_tensor *to, const ig_tensor *from) {
  if (!from || !check_device(c, to, from) || !check_dtype(c, from->dtype, to->dtype)) return false;
  // It would get memory that nothing is written to.
  if (!c->mode->fake && !ig_is_fake(to) && ig_is_fake(from)) return refuse_fake(c, to, from);
  if (!fit_out(c, to, from)) return false;
  if (!ig_check_writable(c, to)) return false;
  if (!ig_is_fake(to) && !ig_is_fake(from)) copy_result(c, to, from);
  ig_tensor_bump(to);
  return c->status == IG_OK;
}

// out is a list of tensors, one per element of the result; nothing is returned.
static void write_list(ig_ctx *c, const ig_op *op, const ig_value *out, const ig_value *result) {
  size_t n = result->kind == IG_KIND_LIST ? result->list.n : 0;
  if (c->status != IG_OK) return;
  if (out->kind != IG_KIND_LIST || out->list.n != n) {
    ig_fail_text(c, IG_RUNTIME, "%s(): expected a list of %zu tensors as out", op->schema.name, n);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    ig_tensor *to = ig_value_tensor(&out->list.at[i]);
    if (!to || !write_out(c, to, ig_value_tensor(&result->list.at[i]))) return;
  }
}

// Arguments of the functional form. A factory's out form has no options: they are those of the
// tensor.
void ig_out_args(const ig_op *op, const ig_value *args, ig_value *to) {
  const ig_schema *from = &op->schema;
  const ig_schema *plain = &op->base->schema;
  const ig_tensor *out = ig_value_tensor(&args[from->nargs - 1]);
  for (size_t i = 0, next = 0; i < plain->nargs; i++) {
    const ig_arg *a = &plain->args[i];
    if (next < from->nargs && strcmp(a->name, from->args[next].name) == 0) {
      to[i] = args[next++];
    } else {
      to[i] = a->def;
      if (out && a->type == IG_TYPE_DTYPE) to[i] = ig_of_dtype(out->dtype);
      if (out && a->type == IG_TYPE_DEVICE) to[i] = ig_of_device(out->device);
    }
  }
}

// Tries to let a pointwise kernel write to `to` itself. Whatever needs care (another shape, shared
// memory, fake operands) is left to the long way; so is another dtype, because the result is
// rounded to its own dtype before it is converted.
static bool out_straight(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to) {
  if (!op->pointwise || ig_op_has_kernel(op) || op->def->fake || c->mode->fake || ig_is_fake(to))
    return false;
  if (to->device.type != IG_DEVICE_CPU) return false;
  const ig_tensor *first = NULL;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_tensor *t = ig_value_tensor(&args[i]);
    if (!t) continue;
    if (ig_is_fake(t) || t->device.type != IG_DEVICE_CPU) return false;
    if (!first) first = t;
  }
  if (!first || ig_tensor_has_internal_overlap(to)) return false;
  ig_meta m;
  ig_meta_init(&m, first->dtype, first->device);
  op->def->shape(c, op, args, &m);
  if (c->status != IG_OK) return true;
  if (!same_shape(c, to, m.size, m.ndim) || m.dtype != to->dtype) return false;
  if (worst_overlap(op, args, to) == IG_OVERLAP_PARTIAL) return false;
  ig_pointwise_run(c, op, args, to);
  ig_tensor_bump(to);
  return true;
}

void ig_run_out(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_schema *s = &op->schema;
  size_t first = s->nargs - s->nrets;  // the mutated arguments come last, one per return
  ig_value results[IG_MAX_RETURNS];
  for (size_t i = first; i < s->nargs; i++) {
    if (args[i].kind != IG_KIND_TENSOR) {
      (void)IG_FAIL_ARG(c, op, i, IG_BAD_TYPE, "%s", "expected a Tensor");
      return;
    }
  }
  if (ig_tape_wanted(c, op, args)) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s(): functions with out=... arguments don't support automatic differentiation, "
                 "but one of the arguments requires grad.",
                 s->name);
    return;
  }
  ig_scope scope = ig_scope_open(c);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_value plain[IG_MAX_ARGS];
  ig_out_args(op, args, plain);
  bool written = s->nrets == 1 && out_straight(c, op->base, plain, args[first].tensor);
  if (!written) ig_call(c, op->base, plain, results);
  ig_mode_pop(c, &mode);
  for (size_t i = 0; i < s->nrets && c->status == IG_OK && !written; i++) {
    if (!write_out(c, args[first + i].tensor, ig_value_tensor(&results[i]))) break;
  }
  if (s->nrets == 0) write_list(c, op, &args[s->nargs - 1], &results[0]);
  ig_scope_close(c, scope);
  for (size_t i = 0; i < s->nrets && c->status == IG_OK; i++) outs[i] = args[first + i];
}
