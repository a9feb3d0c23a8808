// SPDX-License-Identifier: Apache-2.0
// Complex numbers: parts, construction, conjugates, angles. There is no lazy conjugation, so conj
// returns values, not a view.
#include "op/refuse.h"
#include "ops/dense.h"
#define TILE_CLONES IG_CLONES_NARROW
#include "ops/tile.h"
#include "tensor/copy.h"

static ig_tensor *part(ig_ctx *c, ig_tensor *x, int which) {
  ig_tensor *pairs = ig_view_as_real(c, x);
  return ig_select_int(c, pairs, ig_const(x->ndim), ig_const(which));
}
static ig_tensor *real_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  return ig_dtype_is_complex(x->dtype) ? part(c, x, 0) : x;
}
static ig_tensor *imag_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) return part(c, x, 1);
  ig_fail_text(c, IG_RUNTIME, "imag is not implemented for tensors with non-complex dtypes.");
  return NULL;
}

static ig_tensor *conj_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  return ig_dtype_is_complex(x->dtype) ? ig__conj(c, x) : x;
}
static void conj_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_op *values = ig_op_find(c, "aten::_conj_physical");
  if (ig_dtype_is_complex(args[0].tensor->dtype)) {
    ig_pointwise_run(c, values, args, outs[0].tensor);
  } else {
    ig_tensor_copy(outs[0].tensor, args[0].tensor);
  }
}
static void conj_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_conj_of(c, v->grad);
}

static bool halves_of(ig_ctx *c, const ig_value *args, const char *name, ig_meta *out) {
  ig_dtype a = args[0].tensor->dtype;
  ig_dtype b = args[1].tensor->dtype;
  if (a != IG_F16 && a != IG_F32 && a != IG_F64) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                 ig_dtype_title(a), ig_dtype_title(b));
    return false;
  }
  if (a != b) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected object of scalar type %s but got scalar type %s for second argument",
                 ig_dtype_title(a), ig_dtype_title(b));
    return false;
  }
  if (a == IG_F16) {
    ig_refuse_dtype(c, name, a);
    return false;
  }
  out->dtype = a == IG_F64 ? IG_C128 : IG_C64;
  return true;
}
static void complex_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (c->status == IG_OK) (void)halves_of(c, args, op->schema.name, out);
}
static void complex_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(out);
  ig_scope s = ig_scope_open(c);
  ig_value sizes = ig_sizes_of(out);
  ig_tensor *first = ig_expand(c, ig_tensor_alias(c, args[0].tensor), sizes);
  ig_tensor *second = ig_expand(c, ig_tensor_alias(c, args[1].tensor), sizes);
  double *a = first ? ig_dense_read(c, first, IG_F64) : NULL;
  double *b = second ? ig_dense_read(c, second, IG_F64) : NULL;
  ig_c128 *z = ig_dense_room(c, n, IG_C128);
  for (size_t i = 0; a && b && z && i < n; i++) {
    z[i] = op->def->variant ? (ig_c128){a[i] * cos(b[i]), a[i] * sin(b[i])} : (ig_c128){a[i], b[i]};
  }
  ig_dense_write(c, out, IG_C128, z);
  ig_scope_close(c, s);
}
static void complex_vjp(ig_ctx *c, const ig_vjp *v) {
  for (size_t i = 0; i < 2; i++) {
    if (!IG_WANTED(v, i)) continue;
    ig_tensor *g = part(c, v->grad, (int)i);
    IG_GRAD(v, i) = ig_sum_to(c, g, &v->args[i]);
  }
}
// out = r e^(i t): dr is the component of g along out, dt the orthogonal component.
static void polar_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *turned = ig_mul_tensor(c, ig_conj_physical(c, v->grad), v->out);
  if (IG_WANTED(v, 0)) {
    ig_tensor *sign = ig_sgn(c, v->out);
    ig_tensor *along = ig_mul_tensor(c, ig_conj_physical(c, v->grad), sign);
    along = part(c, along, 0);
    IG_GRAD(v, 0) = ig_sum_to(c, along, &v->args[0]);
  }
  if (IG_WANTED(v, 1)) {
    ig_tensor *across = ig_neg(c, part(c, turned, 1));
    IG_GRAD(v, 1) = ig_sum_to(c, across, &v->args[1]);
  }
}

static void angle_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  out->dtype = ig_to_real(ig_to_float(c, out->dtype));
}
static void angle_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  size_t n = (size_t)ig_tensor_numel(x);
  ig_scope s = ig_scope_open(c);
  bool z = ig_dtype_is_complex(x->dtype);
  const ig_c128 *in = ig_dense_read(c, x, IG_C128);
  double *o = ig_dense_room(c, n, IG_F64);
  for (size_t i = 0; in && o && i < n; i++) {
    double flat = in[i].re < 0 ? 3.14159265358979323846 : in[i].re != in[i].re ? NAN : 0;
    o[i] = z ? atan2(in[i].im, in[i].re) : flat;
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, o);
  ig_scope_close(c, s);
}
// d angle = Im(conj(z) dz) / |z|^2; the angle of real numbers is constant.
static void angle_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  if (!ig_dtype_is_complex(x->dtype)) {
    IG_GRAD(v, 0) = ig_zeros_of(c, x);
    return;
  }
  ig_tensor *size = ig_abs(c, x);
  size = ig_mul_tensor(c, size, size);
  ig_tensor *g = ig_div_tensor(c, v->grad, size);
  g = ig_masked_fill_scalar(c, g, ig_eq_scalar(c, size, ig_of_i64(0)), ig_of_i64(0));
  ig_value turn = ig_of_complex(0, 1);
  IG_GRAD(v, 0) = ig_mul_tensor(c, g, ig_mul_value(c, x, &turn));
}

// A real number where the imaginary part is 0.
static ig_tensor *isreal_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) return ig_eq_scalar(c, ig_imag(c, x), ig_of_i64(0));
  return ig_ones_like_with(c, x, ig_of_dtype(IG_BOOL), ig_none(), ig_none(), ig_none(), ig_none());
}
static ig_tensor *vdot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  if (!ig_dtype_is_complex(x->dtype)) return ig_dot(c, x, y);
  if (x->ndim != 1 || y->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "1D tensors expected, but got %dD and %dD tensors", x->ndim,
                 y->ndim);
    return NULL;
  }
  if (!ig_int_eq(c, ig_sizes(x)[0], ig_sizes(y)[0])) {
    ig_fail_text(c, IG_RUNTIME,
                 "inconsistent tensor size, expected tensor [%s] and src [%s] to have the same "
                 "number of elements, but got %s and %s elements respectively",
                 ig_int_text(c, ig_sizes(x)[0]), ig_int_text(c, ig_sizes(y)[0]),
                 ig_int_text(c, ig_sizes(x)[0]), ig_int_text(c, ig_sizes(y)[0]));
    return NULL;
  }
  return ig_sum(c, ig_mul_tensor(c, ig__conj_physical(c, x), y));
}

static void frexp_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (!ig_dtype_is_float(args[0].tensor->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "torch.frexp() only supports floating-point dtypes");
    return;
  }
  ig_shape_like(c, op, args, &out[0]);
  ig_shape_like(c, op, args, &out[1]);
  out[1].dtype = IG_I32;
}
static void frexp_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  size_t n = (size_t)ig_tensor_numel(args[0].tensor);
  ig_scope s = ig_scope_open(c);
  double *x = ig_dense_read(c, args[0].tensor, IG_F64);
  int32_t *e = ig_dense_room(c, n, IG_I32);
  for (size_t i = 0; x && e && i < n; i++) {
    int power = 0;
    x[i] = frexp(x[i], &power);
    e[i] = isfinite(x[i]) ? power : 0;
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_dense_write(c, outs[1].tensor, IG_I32, e);
  ig_scope_close(c, s);
}
static void frexp_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  ig_tensor *scale = ig_pow_scalar(c, ig_of_f64(2), v->outs[1].tensor);
  IG_GRAD(v, 0) = ig_cast(c, ig_div_tensor(c, v->grads[0], scale), v->grads[0]->dtype);
}

IG_OP(real) = {
    .schema = "aten::real(Tensor(a) self) -> Tensor(a)",
    .decompose = real_decompose,
    .samples = "c64[3] | f32[3] | c128[2,3]",
};
IG_OP(imag) = {
    .schema = "aten::imag(Tensor(a) self) -> Tensor(a)",
    .decompose = imag_decompose,
    .samples = "c64[3] | c128[2,3]",
};
IG_OP(_conj) = {
    .schema = "aten::_conj(Tensor(a) self) -> Tensor(a)",
    .shape = ig_shape_pointwise,
    .kernel = conj_kernel,
    .takes_no_memory = true,
    .vjp = conj_vjp,
    .keep = "",
    .samples = "c64[3] | c128[2,2].T",
};
IG_OP(conj) = {
    .schema = "aten::conj(Tensor(a) self) -> Tensor(a)",
    .decompose = conj_decompose,
    .samples = "c64[3] | f32[3]",
};
IG_OP(complex) = {
    .schema = "aten::complex(Tensor real, Tensor imag) -> Tensor",
    .shape = complex_shape,
    .kernel = complex_kernel,
    .vjp = complex_vjp,
    .keep = "",
    .samples = "f32[3,5], f32[5] | f64[3], f64[3]",
};
IG_OP(polar) = {
    .schema = "aten::polar(Tensor abs, Tensor angle) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = complex_shape,
    .kernel = complex_kernel,
    .vjp = polar_vjp,
    .variant = 1,
    .samples = "f32[3,5]:+, f32[3,5] | f64[3]:+, f64[3]",
};
IG_OP(angle) = {
    .schema = "aten::angle(Tensor self) -> Tensor",
    .shape = angle_shape,
    .kernel = angle_kernel,
    .vjp = angle_vjp,
    .keep = "self",
    .samples = "f32[3,5] | c64[3] | i64[3]",
};
IG_OP(isreal) = {
    .schema = "aten::isreal(Tensor self) -> Tensor",
    .decompose = isreal_decompose,
    .samples = "f32[3] | c64[3]",
};
IG_OP(vdot) = {
    .schema = "aten::vdot(Tensor self, Tensor other) -> Tensor",
    .decompose = vdot_decompose,
    .samples = "f32[3], f32[3] | c64[3], c64[3]",
};
IG_OP(frexp_tensor) = {
    .schema = "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    .shape = frexp_shape,
    .kernel = frexp_kernel,
    .vjp = frexp_vjp,
    .diff_results = 1,
    .keep = "result1",
    .samples = "f32[3,5] | f64[3]",
};
