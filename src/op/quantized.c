// SPDX-License-Identifier: Apache-2.0
#include "op/quantized.h"

#include <stdio.h>
#include <string.h>

#include "op/call.h"
#include "op/formula.h"
#include "op/native.h"
#include "op/refuse.h"
#include "sym/env.h"
#include "tensor/copy.h"

void ig_refuse_backend(ig_ctx *c, const char *name, const char *backend) {
  ig_fail_text(c, IG_UNSUPPORTED,
               "Could not run '%s' with arguments from the '%s' backend. This could be because the "
               "operator doesn't exist for this backend, or was omitted during the "
               "selective/custom build process (if using custom build). If you are a Facebook "
               "employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for "
               "possible resolutions. '%s' is only available for these backends: [%s].",
               name, backend, name, strcmp(backend, "CPU") == 0 ? "QuantizedCPU" : "CPU, Meta");
}

// "aten::add.Tensor"; PyTorch's structured operators are refused under the name of their out form.
static void refuse(ig_ctx *c, const ig_op *op) {
  const ig_op *named = op->out && op->facts & IG_FACT_STRUCTURED ? op->out : op;
  const ig_schema *s = &named->schema;
  ig_str text = ig_str_make(c->alloc);
  ig_str_add(&text, "%s::%s", s->ns, s->name);
  if (strcmp(s->overload, "default") != 0) ig_str_add(&text, ".%s", s->overload);
  ig_refuse_backend(c, text.at ? text.at : s->name, "QuantizedCPU");
  ig_str_free(&text);
}

bool ig_check_quantized(ig_ctx *c, const ig_op *op, const ig_tensor *t) {
  if (t && t->quantizer) return true;
  char text[128];
  (void)snprintf(text, sizeof text, "%s::%s", op->schema.ns, op->schema.name);
  ig_refuse_backend(c, text, "CPU");
  return false;
}

ig_tensor *ig_quantize_with(ig_ctx *c, ig_tensor *x, ig_dtype dtype, double scale, int64_t zero) {
  return ig_quantize_per_tensor(c, x, scale, ig_const(zero), ig_of_dtype(dtype));
}

ig_tensor *ig_quantize_as(ig_ctx *c, ig_tensor *x, ig_dtype dtype, const ig_quantizer *q) {
  if (ig_quantizer_is_uniform(q)) return ig_quantize_with(c, x, dtype, q->scale, q->zero_point);
  return ig_quantize_per_channel(c, x, q->scales, q->zero_points, ig_const(q->axis),
                                 ig_of_dtype(dtype));
}

double ig_scale_of(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_FLOAT) return ig_float_guard(c, v);
  return v->kind == IG_KIND_INT ? (double)ig_int_guard(c, v->i) : ig_value_f64(v);
}

ig_tensor *ig_dequantized(ig_ctx *c, ig_tensor *t) {
  return t && t->quantizer ? ig_dequantize_self(c, t) : t;
}

static const ig_tensor *first_in(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor->quantizer ? v->tensor : NULL;
  for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n; k++) {
    const ig_value *item = &v->list.at[k];
    if (item->kind == IG_KIND_TENSOR && item->tensor->quantizer) return item->tensor;
  }
  return NULL;
}
static const ig_tensor *first_quantized(const ig_op *op, const ig_value *args) {
  const ig_tensor *t = NULL;
  for (size_t i = 0; !t && i < op->schema.nargs; i++) t = first_in(&args[i]);
  return t;
}

typedef ig_tensor *map_fn(ig_ctx *c, ig_tensor *t);

// The arguments with every quantized tensor replaced; false after an error.
static bool map_args(ig_ctx *c, const ig_op *op, const ig_value *args, map_fn *fn, ig_value *room) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    room[i] = args[i];
    if (!first_in(&args[i])) continue;
    if (args[i].kind == IG_KIND_TENSOR) {
      room[i] = ig_of_tensor(fn(c, args[i].tensor));
      continue;
    }
    ig_value *list = ig_scope_array(c, args[i].list.n, sizeof *list);
    if (!list) return false;
    for (size_t k = 0; k < args[i].list.n; k++) {
      list[k] = args[i].list.at[k];
      bool quantized = list[k].kind == IG_KIND_TENSOR && list[k].tensor->quantizer;
      if (quantized) list[k] = ig_of_tensor(fn(c, list[k].tensor));
    }
    room[i].list.at = list;
  }
  return c->status == IG_OK;
}

static void call_mapped(ig_ctx *c, const ig_op *op, const ig_value *args, map_fn *fn,
                        ig_value *outs) {
  ig_value room[IG_MAX_ARGS] = {args[0]};
  if (map_args(c, op, args, fn, room)) ig_call(c, op, room, outs);
}

// Results whose elements are the operand's integers are quantized like it.
static void call_same(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *like,
                      ig_value *outs) {
  call_mapped(c, op, args, ig_tensor_integers, outs);
  ig_dtype carrier = ig_dtype_carrier(like->dtype);
  for (size_t i = 0; i < op->schema.nrets && c->status == IG_OK; i++) {
    if (outs[i].kind != IG_KIND_TENSOR || outs[i].tensor->dtype != carrier) continue;
    outs[i] = ig_of_tensor(
        ig_tensor_quantized(c, outs[i].tensor, like->dtype, (ig_quantizer *)like->quantizer));
  }
}

// The distances of the integers from their zero point, which are exact.
static ig_tensor *centred(ig_ctx *c, ig_tensor *t) {
  ig_tensor *ints = ig_tensor_integers(c, t);
  ig_quantizer *q = ig_quantizer_make(c, 1, t->quantizer->zero_point);
  return ig_dequantize_self(c, ig_tensor_quantized(c, ints, t->dtype, q));
}

static void call_float(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *like,
                       ig_value *outs) {
  const ig_quantizer *q = like->quantizer;
  double levels = like->dtype == IG_QI32 ? 0x1p32 : 256;
  int64_t low = like->dtype == IG_QI8 ? -128 : 0;
  bool unscaled = op->def->quantized == IG_QUANT_UNSCALED && ig_quantizer_is_uniform(q);
  call_mapped(c, op, args, unscaled ? centred : ig_dequantized, outs);
  ig_tensor *x = c->status == IG_OK ? ig_value_tensor(&outs[0]) : NULL;
  if (!x) return;
  if (unscaled) {
    x = ig_quantize_with(c, x, like->dtype, 1, q->zero_point);
    ig_tensor *ints = ig_tensor_integers(c, x);
    outs[0] = ig_of_tensor(ig_tensor_quantized(c, ints, like->dtype, (ig_quantizer *)q));
    return;
  }
  switch (op->def->quantized) {
    case IG_QUANT_UNIT:
      x = ig_quantize_with(c, x, like->dtype, 1 / levels, low);
      break;
    case IG_QUANT_SIGNED:
      x = ig_quantize_with(c, x, like->dtype, 2 / levels, like->dtype == IG_QU8 ? 128 : 0);
      break;
    default:
      x = ig_quantize_as(c, x, like->dtype, q);
  }
  outs[0] = ig_of_tensor(x);
}

// In-place and out forms: the functional form, then its integers.
static void call_into(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_value given[IG_MAX_ARGS];
  ig_value made[IG_MAX_RETURNS];
  bool inplace = op->form == IG_FORM_INPLACE;
  size_t to = op->schema.nargs;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    given[i] = args[i];
    if (to == op->schema.nargs && op->schema.args[i].written) to = i;
  }
  if (to == op->schema.nargs || args[to].kind != IG_KIND_TENSOR ||
      op->base->schema.nargs + (inplace ? 0 : 1) != op->schema.nargs) {
    refuse(c, op);
    return;
  }
  ig_call(c, op->base, given, made);
  if (c->status == IG_OK && made[0].kind == IG_KIND_TENSOR) {
    (void)ig_copy_(c, args[to].tensor, made[0].tensor);
  }
  if (c->status == IG_OK) outs[0] = args[to];
}

// Views share the integers; one scale holds for any part of them, many scales only where the
// record says which channel is where.
static void call_view(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *like,
                      ig_value *outs) {
  ig_tensor *self = ig_value_tensor(&args[0]);
  if (self != like) {
    refuse(c, op);
    return;
  }
  if (!ig_quantizer_is_uniform(like->quantizer) && !op->def->channels) {
    ig_fail_text(c, IG_RUNTIME, "Setting strides is possible only on uniformly quantized tensor");
    return;
  }
  ig_dispatch(c, op, args, outs);
  ig_tensor *out = ig_value_tensor(&outs[0]);
  if (out && !out->quantizer) refuse(c, op);  // the integers under another dtype
  if (ig_quantizer_is_uniform(like->quantizer) || c->status != IG_OK) return;
  if (!out) return;
  // Under fake mode a view of real memory is real, and so are its scales.
  ig_mode_scope mode =
      ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE, {.fake = c->mode->fake && ig_is_fake(out)}});
  ig_quantizer *q = op->def->channels(c, args, out);
  ig_mode_pop(c, &mode);
  if (q && out != self) ig_tensor_set_quantizer(out, q);
}

static void by_rule(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_op_def *d = op->def;
  const ig_tensor *like = first_quantized(op, args);
  if (d->quantized == IG_QUANT_OWN || op->user) {
    ig_dispatch(c, op, args, outs);
  } else if (d->on_quantized && op->form == IG_FORM_PLAIN) {
    d->on_quantized(c, args, outs);
  } else if (d->inplace_quantized && op->form == IG_FORM_INPLACE) {
    d->inplace_quantized(c, args, outs);
  } else if (d->view) {
    call_view(c, op, args, like, outs);
  } else if (d->quantized == IG_QUANT_REFUSE && !d->on_quantized) {
    // PyTorch's own compositions are as good as their parts.
    if (op->composite && op->facts & IG_FACT_IMPLICIT && op->form == IG_FORM_PLAIN) {
      ig_dispatch(c, op, args, outs);
    } else {
      refuse(c, op);
    }
  } else if (op->base) {
    call_into(c, op, args, outs);
  } else if (d->quantized == IG_QUANT_SAME) {
    call_same(c, op, args, like, outs);
  } else if (d->quantized == IG_QUANT_PLAIN) {
    call_mapped(c, op, args, ig_dequantized, outs);
  } else {
    call_float(c, op, args, like, outs);
  }
}

// ---- in a program: integers, and quantized_decomposed operators around what is computed

static void range_of(ig_dtype d, ig_value *range) {
  range[0] = ig_of_i64(d == IG_QU8 ? 0 : d == IG_QI8 ? -128 : INT32_MIN);
  range[1] = ig_of_i64(d == IG_QU8 ? 255 : d == IG_QI8 ? 127 : INT32_MAX);
  range[2] = ig_of_dtype(ig_dtype_carrier(d));
}

// self, scale, zero_point, dtype
static ig_tensor *record_quantize(ig_ctx *c, const ig_value *a) {
  if (!ig_dtype_is_quantized(a[3].dtype)) {
    ig_fail_text(c, IG_RUNTIME, "ScalarType %s is not supported in new_qtensor.",
                 ig_dtype_title(a[3].dtype));
    return NULL;
  }
  double scale = ig_scale_of(c, &a[1]);
  if (c->status != IG_OK) return NULL;
  ig_value given[6] = {a[0], ig_of_f64(scale), a[2]};
  range_of(a[3].dtype, &given[3]);
  ig_tensor *ints = ig_call_id(c, IG_ID_QUANTIZED_DECOMPOSED__QUANTIZE_PER_TENSOR, given, 6);
  ig_quantizer *q = ig_quantizer_make(c, scale, ig_value_i64(c, &a[2]));
  return ig_tensor_quantized(c, ints, a[3].dtype, q);
}

static ig_tensor *record_dequantize(ig_ctx *c, ig_tensor *t) {
  const ig_quantizer *q = t->quantizer;
  ig_value ints = ig_of_tensor(ig_tensor_integers(c, t));
  if (ig_quantizer_is_uniform(q)) {
    ig_value given[6] = {ints, ig_of_f64(q->scale), ig_of_i64(q->zero_point)};
    range_of(t->dtype, &given[3]);
    return ig_call_id(c, IG_ID_QUANTIZED_DECOMPOSED__DEQUANTIZE_PER_TENSOR, given, 6);
  }
  ig_tensor *scales = ig_cast(c, q->scales, IG_F32);
  ig_value given[7] = {ints, ig_of_tensor(scales), ig_of_tensor(q->zero_points),
                       ig_of_i64(q->axis)};
  range_of(t->dtype, &given[4]);
  return ig_call_id(c, IG_ID_QUANTIZED_DECOMPOSED__DEQUANTIZE_PER_CHANNEL, given, 7);
}

static bool has_native(const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_value *v = &args[i];
    if (v->kind == IG_KIND_LIST && v->list.n) v = &v->list.at[0];
    if (v->kind == IG_KIND_NATIVE) return true;
  }
  return false;
}

static void by_capture(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_op_def *d = op->def;
  const ig_tensor *like = first_quantized(op, args);
  bool own = d->quantized == IG_QUANT_OWN;
  if (op->number == IG_ID_QUANTIZE_PER_TENSOR && !like) {
    outs[0] = ig_of_tensor(record_quantize(c, args));
  } else if (!like && !has_native(op, args)) {
    ig_dispatch(c, op, args, outs);
  } else if (op->number == IG_ID_DEQUANTIZE_SELF) {
    outs[0] = ig_of_tensor(record_dequantize(c, args[0].tensor));
  } else if (op->number == IG_ID_INT_REPR) {
    outs[0] = ig_of_tensor(ig_tensor_integers(c, args[0].tensor));
  } else if (own && d->fake) {
    d->fake(c, op, args, outs);
  } else if (own && ig_op_has_lowering(op)) {
    ig_op_lower(c, op, args, outs);
  } else if (own) {
    ig_fail_text(c, IG_UNSUPPORTED, "%s cannot be captured: a program has no quantized tensors",
                 op->target);
  } else if (d->view) {
    call_same(c, op, args, like, outs);
  } else {
    by_rule(c, op, args, outs);
  }
}

void ig_call_quantized(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_rewrite *r = c->mode->rewrite;
  bool capture = c->mode->capture != NULL;
  if (!capture && r && r->eager && r->fn(c, op, args, outs, r->user)) return;
  if (c->status != IG_OK) return;
  ig_scope s = ig_scope_open(c);
  (capture ? by_capture : by_rule)(c, op, args, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
}
