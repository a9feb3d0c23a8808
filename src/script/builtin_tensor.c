// SPDX-License-Identifier: Apache-2.0
// Attributes of tensors, devices, modes.
#include "ingot/grad.h"
#include "op/formula.h"
#include "op/random.h"
#include "script/builtin.h"
#include "script/numbers.h"

static ig_tensor *self_of(const ig_sbuiltin_call *k) {
  return k->in[0].tensor;
}

static ig_int dim_of(const ig_sbuiltin_call *k, bool stride) {
  const ig_tensor *t = self_of(k);
  int64_t dim = ig_sb_i64(k, 1);
  if (dim < -t->ndim || dim >= t->ndim) {
    ig_fail_text(k->c, IG_BAD_INDEX,
                 "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                 -t->ndim, t->ndim - 1, (long long)dim);
    return ig_const(0);
  }
  if (dim < 0) dim += t->ndim;
  return (stride ? ig_strides(t) : ig_sizes(t))[dim];
}

static void put_ints(const ig_sbuiltin_call *k, const ig_int *at, int n) {
  ig_sobj_seq *s = ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, (size_t)n);
  for (int i = 0; s && i < n; i++) s->at[i] = ig_of_int(at[i]);
  ig_sb_object(k, s);
}

IG_BUILTIN(tensor_dtype) {
  ig_sb_int(k, ig_script_of_dtype(self_of(k)->dtype));
}
IG_BUILTIN(tensor_device) {
  k->out[0] = ig_of_device(self_of(k)->device);
}
IG_BUILTIN(tensor_layout) {
  ig_sb_int(k, ig_script_of_layout(IG_STRIDED));
}

#define ON_DEVICE(name, kind)                                   \
  IG_BUILTIN(name) {                                            \
    ig_sb_bool(k, self_of(k)->device.type == IG_DEVICE_##kind); \
  }
ON_DEVICE(tensor_is_cpu, CPU)
ON_DEVICE(tensor_is_cuda, CUDA)
ON_DEVICE(tensor_is_xpu, XPU)
ON_DEVICE(tensor_is_xla, XLA)
ON_DEVICE(tensor_is_mps, MPS)
ON_DEVICE(tensor_is_mtia, MTIA)
ON_DEVICE(tensor_is_meta, META)

IG_BUILTIN(tensor_is_quantized) {
  ig_sb_bool(k, self_of(k)->quantizer != NULL);
}
IG_BUILTIN(tensor_false) {
  ig_sb_bool(k, false);
}
IG_BUILTIN(tensor_is_sparse) {
  ig_sb_bool(k, false);
}
IG_BUILTIN(false) {
  ig_sb_bool(k, false);
}
IG_BUILTIN(true) {
  ig_sb_bool(k, true);
}

IG_BUILTIN(tensor_requires_grad) {
  ig_sb_bool(k, self_of(k)->requires_grad);
}
IG_BUILTIN(tensor_grad) {
  ig_sb_tensor(k, ig_tensor_grad(self_of(k)));
}
IG_BUILTIN(tensor_data) {
  ig_sb_tensor(k, ig_tensor_get_data(k->c, self_of(k)));
}
IG_BUILTIN(tensor_is_leaf) {
  ig_sb_bool(k, ig_tensor_is_leaf(k->c, self_of(k)));
}
IG_BUILTIN(tensor_retains_grad) {
  ig_sb_bool(k, ig_tensor_retains_grad(self_of(k)));
}
IG_BUILTIN(tensor_retain_grad) {
  ig_tensor_retain_grad(k->c, self_of(k));
}
IG_BUILTIN(tensor_require_grad) {
  ig_tensor_set_requires_grad(k->c, self_of(k), ig_sb_truth(k->c, k->in[1]));
  ig_sb_tensor(k, self_of(k));
}

IG_BUILTIN(tensor_itemsize) {
  ig_sb_int(k, (int64_t)ig_dtype_size(self_of(k)->dtype));
}
IG_BUILTIN(tensor_numel) {
  k->out[0] = ig_of_int(ig_numel_of(k->c, self_of(k)));
}
IG_BUILTIN(tensor_nbytes) {
  ig_int n = ig_numel_of(k->c, self_of(k));
  int64_t size = (int64_t)ig_dtype_size(self_of(k)->dtype);
  k->out[0] = ig_of_int(ig_size_mul(k->c, n, ig_const(size)));
}
IG_BUILTIN(tensor_name) {
  k->out[0] = ig_none();
}
IG_BUILTIN(tensor_dim) {
  ig_sb_int(k, self_of(k)->ndim);
}
IG_BUILTIN(tensor_size) {
  put_ints(k, ig_sizes(self_of(k)), self_of(k)->ndim);
}
IG_BUILTIN(tensor_size_at) {
  k->out[0] = ig_of_int(dim_of(k, false));
}
IG_BUILTIN(tensor_stride) {
  put_ints(k, ig_strides(self_of(k)), self_of(k)->ndim);
}
IG_BUILTIN(tensor_stride_at) {
  k->out[0] = ig_of_int(dim_of(k, true));
}
IG_BUILTIN(tensor_storage_offset) {
  k->out[0] = ig_of_int(self_of(k)->offset);
}
IG_BUILTIN(tensor_get_device) {
  ig_device d = self_of(k)->device;
  ig_sb_int(k, d.type == IG_DEVICE_CPU ? -1 : d.index < 0 ? 0 : d.index);
}

IG_BUILTIN(tensor_is_contiguous) {
  ig_memory_format f = k->n_in > 1 ? ig_script_memory_format(ig_sb_i64(k, 1)) : IG_CONTIGUOUS;
  ig_sb_bool(k, f == IG_CONTIGUOUS ? ig_tensor_is_contiguous(k->c, self_of(k))
                                   : ig_tensor_has_format(k->c, self_of(k), f));
}
IG_BUILTIN(tensor_is_dense) {
  ig_sb_bool(k, ig_tensor_is_dense_permuted(self_of(k)));
}

IG_BUILTIN(tensor_len) {
  if (self_of(k)->ndim == 0) {
    IG_SCRIPT_FAIL(k, "len() of a 0-d tensor");
  } else {
    k->out[0] = ig_of_int(ig_sizes(self_of(k))[0]);
  }
}

// ---- conversions

// device and dtype: None or a value of the script.
static void to(const ig_sbuiltin_call *k, ig_value device, ig_value dtype, size_t flags) {
  ig_dtype d = dtype.kind == IG_KIND_NONE ? self_of(k)->dtype : ig_script_dtype(dtype.i.value);
  ig_device on = device.kind == IG_KIND_NONE ? self_of(k)->device : device.device;
  if (d == IG_DTYPE_COUNT) {
    IG_SCRIPT_FAIL(k, "to(): dtype number %lld is not known", (long long)dtype.i.value);
    return;
  }
  const ig_value args[] = {k->in[0],     ig_of_device(on), ig_of_dtype(d),
                           k->in[flags], k->in[flags + 1], ig_none()};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(k->c, IG_ID_TO_DEVICE, args, 6, outs);
  ig_sb_tensor(k, ig_value_tensor(&outs[0]));
}

IG_BUILTIN(tensor_to_device) {
  to(k, k->in[1], k->in[2], 3);
}
IG_BUILTIN(tensor_to_dtype) {
  to(k, ig_none(), k->in[1], 2);
}
IG_BUILTIN(tensor_to_other) {
  to(k, ig_none(), ig_none(), 1);
}

static void move(const ig_sbuiltin_call *k, ig_device_type type) {
  const ig_value on = ig_of_device((ig_device){(int16_t)type, -1});
  const ig_value dtype = ig_of_dtype(self_of(k)->dtype);
  ig_sb_tensor(k, ig_to_device(k->c, self_of(k), on, dtype));
}
IG_BUILTIN(tensor_cpu) {
  move(k, IG_DEVICE_CPU);
}
IG_BUILTIN(tensor_cuda) {
  move(k, IG_DEVICE_CUDA);
}

IG_BUILTIN(tensor_copy) {
  ig_tensor *from =
      k->in[1].kind == IG_KIND_TENSOR ? k->in[1].tensor : ig_scalar_tensor(k->c, k->in[1]);
  ig_sb_tensor(k, from ? ig_copy_(k->c, self_of(k), from) : NULL);
}

IG_BUILTIN(dequantize) {
  ig_sb_pass(k);
}

// ---- devices

IG_BUILTIN(device_of) {
  const char *name = ig_sb_str_at(k, 0)->text;
  ig_device d = {0};
  if (!ig_device_parse(name, &d)) {
    IG_SCRIPT_FAIL(k, "Invalid device string: '%s'", name);
    return;
  }
  if (k->n_in > 1) d.index = (int16_t)ig_sb_i64(k, 1);
  k->out[0] = ig_of_device(d);
}
IG_BUILTIN(device_type) {
  const char *name = ig_device_type_text(k->in[0].device);
  size_t n = 0;
  while (name[n]) n++;
  ig_sb_text(k, name, n);
}
IG_BUILTIN(device_index) {
  int index = k->in[0].device.index;
  k->out[0] = index < 0 ? ig_none() : ig_of_i64(index);
}

// ---- modes

IG_BUILTIN(is_grad_enabled) {
  ig_sb_bool(k, ig_grad_is_enabled(k->c));
}
IG_BUILTIN(set_grad_enabled) {
  (void)ig_grad_set_enabled(k->c, ig_sb_truth(k->c, k->in[0]));
}
IG_BUILTIN(is_autocast_enabled) {
  ig_sb_bool(k, k->c->mode->autocasts);
}

IG_BUILTIN(manual_seed) {
  ig_generator *g = ig_generator_default(k->c);
  if (g) ig_generator_seed(g, (uint64_t)ig_sb_i64(k, 0));
}

IG_BUILTIN(cpu_capability) {
  ig_sb_text(k, "DEFAULT", 7);
}

// The sizes to which two lists of sizes broadcast.
IG_BUILTIN(infer_size) {
  const ig_sobj_seq *a = ig_sb_seq_at(k, 0);
  const ig_sobj_seq *b = ig_sb_seq_at(k, 1);
  size_t n = a->n > b->n ? a->n : b->n;
  ig_sobj_seq *s = ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, n);
  for (size_t i = 0; s && i < n; i++) {
    if ((i < a->n && a->at[a->n - 1 - i].kind != IG_KIND_INT) ||
        (i < b->n && b->at[b->n - 1 - i].kind != IG_KIND_INT)) {
      IG_SCRIPT_FAIL(k, "expected sizes in the list");
      break;
    }
    ig_int x = i < a->n ? a->at[a->n - 1 - i].i : ig_const(1);
    ig_int y = i < b->n ? b->at[b->n - 1 - i].i : ig_const(1);
    bool one = ig_int_eq_i64(k->c, x, 1);
    if (!one && !ig_int_eq_i64(k->c, y, 1) && !ig_int_eq(k->c, x, y)) {
      IG_SCRIPT_FAIL(k,
                     "The size of tensor a (%s) must match the size of tensor b (%s) at "
                     "non-singleton dimension %zu",
                     ig_int_text(k->c, x), ig_int_text(k->c, y), n - 1 - i);
    }
    s->at[n - 1 - i] = ig_of_int(one ? y : x);
  }
  ig_sb_object(k, s);
}

// ---- torch.nn.init

static void without_grad(const ig_sbuiltin_call *k, unsigned id, size_t n) {
  ig_mode_scope mode = ig_mode_push_grad(k->c, false);
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(k->c, id, k->in, n, outs);
  ig_sb_tensor(k, ig_value_tensor(&outs[0]));
  ig_mode_pop(k->c, &mode);
}

IG_BUILTIN(no_grad_zero) {
  without_grad(k, IG_ID_ZERO_, 1);
}
IG_BUILTIN(no_grad_fill) {
  without_grad(k, IG_ID_FILL__SCALAR, 2);
}
IG_BUILTIN(no_grad_normal) {
  without_grad(k, IG_ID_NORMAL_, 4);
}
IG_BUILTIN(no_grad_uniform) {
  without_grad(k, IG_ID_UNIFORM_, 4);
}

// ---- forms in place

static void in_place(const ig_sbuiltin_call *k, unsigned id) {
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(k->c, id, k->in, k->n_in, outs);
  ig_tensor *from = ig_value_tensor(&outs[0]);
  ig_sb_tensor(k, from ? ig_copy_(k->c, self_of(k), from) : NULL);
}

IG_BUILTIN(dropout_in_place) {
  in_place(k, IG_ID_DROPOUT);
}
IG_BUILTIN(alpha_dropout_in_place) {
  in_place(k, IG_ID_ALPHA_DROPOUT);
}
IG_BUILTIN(feature_dropout_in_place) {
  in_place(k, IG_ID_FEATURE_DROPOUT);
}
IG_BUILTIN(feature_alpha_dropout_in_place) {
  in_place(k, IG_ID_FEATURE_ALPHA_DROPOUT);
}
