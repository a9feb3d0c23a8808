// SPDX-License-Identifier: Apache-2.0
#include "script/tensor_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/refuse.h"
#include "op/tape.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

enum { LINE = 80, CONSTANT_LIMIT = 10 };

// ---- elements

// The elements in row-major order; complex numbers are shown by their parts.
typedef struct reader {
  const ig_tensor *t;
  int64_t index[IG_MAX_DIM];
} reader;

static ig_value element(const ig_tensor *t, const int64_t *index) {
  int64_t at = t->offset.value;
  for (int d = 0; d < t->ndim; d++) at += index[d] * ig_strides(t)[d].value;
  const char *data = t->storage->data;
  return ig_element_load(data + ig_mem_mul((size_t)at, ig_dtype_size(t->dtype)), t->dtype);
}

static double number(ig_value v) {
  switch (v.kind) {
    case IG_KIND_INT:
      return (double)v.i.value;
    case IG_KIND_BOOL:
      return v.b;
    case IG_KIND_FLOAT:
      return v.f;
    default:
      return v.z.re;
  }
}

static int64_t size_of(const ig_tensor *t, int d) {
  return ig_sizes(t)[d].value;
}

// How all numbers of a row or matrix are written.
typedef struct format {
  int width;
  char style;  // 'g' 'e' 'f' of printf
  int digits;
  double scale;
} format;

typedef struct extent {
  bool whole;  // all finite numbers are integers
  bool any;    // there is a finite one
  double least;
  double most;
} extent;

static void extend(extent *e, double v) {
  if (!isfinite(v)) return;
  if (v != ceil(v)) e->whole = false;
  // After the first number, negative ones do not count as the largest: so PyTorch prints.
  if (!e->any || v > e->most) e->most = fabs(v);
  if (!e->any || fabs(v) < e->least) e->least = fabs(v);
  e->any = true;
}

static double digits_of(double v) {
  return v != 0 ? floor(log10(v)) + 1 : 1;
}

static format choose(const extent *e) {
  double least = e->any ? digits_of(e->least) : 1;
  double most = e->any ? digits_of(e->most) : 1;
  if (e->whole) {
    if (most > 9) return (format){.width = 11, .style = 'e', .digits = 4, .scale = 1};
    return (format){.width = (int)most + 1, .style = 'g', .digits = 6, .scale = 1};
  }
  if (most - least > 4) {
    bool wide = fabs(most) > 99 || fabs(least) > 99;
    return (format){.width = wide ? 12 : 11, .style = 'e', .digits = 4, .scale = 1};
  }
  if (most > 5 || most < 0) {
    return (format){.width = 7, .style = 'f', .digits = 4, .scale = pow(10, most - 1)};
  }
  return (format){.width = most == 0 ? 7 : (int)most + 6, .style = 'f', .digits = 4, .scale = 1};
}

static void add_number(ig_str *s, const format *f, double v) {
  v /= f->scale;
  if (isnan(v)) {
    ig_str_add(s, "%*s", f->width, "nan");
  } else if (f->style == 'e') {
    ig_str_add(s, "%*.*e", f->width, f->digits, v);
  } else if (f->style == 'f') {
    ig_str_add(s, "%*.*f", f->width, f->digits, v);
  } else {
    ig_str_add(s, "%*.*g", f->width, f->digits, v);
  }
}

static void add_scale(ig_str *s, double scale) {
  ig_str_add(s, "%g *\n", scale);
}

// ---- shapes

static void add_vector(ig_str *s, reader *r) {
  extent e = {.whole = true};
  int64_t n = size_of(r->t, 0);
  for (r->index[0] = 0; r->index[0] < n; r->index[0]++) extend(&e, number(element(r->t, r->index)));
  format f = choose(&e);
  if (f.scale != 1) add_scale(s, f.scale);
  for (r->index[0] = 0; r->index[0] < n; r->index[0]++) {
    add_number(s, &f, number(element(r->t, r->index)));
    ig_str_add(s, "\n");
  }
}

// The last two dimensions; the others stand in the index.
static void add_columns(ig_str *s, reader *r, const format *f, int64_t from, int64_t to,
                        int indent) {
  int row = r->t->ndim - 2;
  int64_t rows = size_of(r->t, row);
  for (int64_t i = 0; i < rows; i++) {
    r->index[row] = i;
    for (int64_t k = from; k < to; k++) {
      r->index[row + 1] = k;
      add_number(s, f, number(element(r->t, r->index)));
      ig_str_add(s, k + 1 < to ? " " : "\n");
    }
    if (i + 1 == rows) continue;
    ig_str_add(s, "%*s", indent, "");
    if (f->scale != 1) ig_str_add(s, " ");
  }
}

static format matrix_format(reader *r) {
  extent e = {.whole = true};
  int row = r->t->ndim - 2;
  for (int64_t i = 0; i < size_of(r->t, row); i++) {
    r->index[row] = i;
    for (int64_t k = 0; k < size_of(r->t, row + 1); k++) {
      r->index[row + 1] = k;
      extend(&e, number(element(r->t, r->index)));
    }
  }
  return choose(&e);
}

static void add_matrix(ig_str *s, reader *r, int indent) {
  format f = matrix_format(r);
  int64_t columns = size_of(r->t, r->t->ndim - 1);
  int64_t per_line = (LINE - indent) / (f.width + 1);
  ig_str_add(s, "%*s", indent, "");
  for (int64_t from = 0, to = 0; from < columns; from = to) {
    to = columns - from <= per_line ? columns : from + per_line;
    if (per_line < columns) {
      ig_str_add(s, "%sColumns %lld to %lld", from ? "\n" : "", (long long)from + 1, (long long)to);
      ig_str_add(s, "%*s", indent, "");
    }
    if (f.scale != 1) {
      add_scale(s, f.scale);
      ig_str_add(s, "%*s", indent, "");
    }
    add_columns(s, r, &f, from, to, indent);
  }
}

// Matrix by matrix; the first dimension counts fastest.
static void add_matrices(ig_str *s, reader *r) {
  int outer = r->t->ndim - 2;
  for (bool first = true;; first = false) {
    ig_str_add(s, "%s(", first ? "" : "\n");
    for (int d = 0; d < outer; d++) ig_str_add(s, "%lld,", (long long)r->index[d] + 1);
    ig_str_add(s, ".,.) = \n");
    add_matrix(s, r, 1);
    int d = 0;
    while (d < outer && ++r->index[d] == size_of(r->t, d)) r->index[d++] = 0;
    if (d == outer) return;
  }
}

static bool is_empty(const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    if (size_of(t, d) == 0) return true;
  }
  return false;
}

void ig_tensor_print(ig_str *s, const ig_tensor *t) {
  reader r = {.t = t};
  static const format plain = {.style = 'g', .digits = 6, .scale = 1};
  bool data = !ig_is_fake(t) && t->storage->data && !is_empty(t) && !ig_tensor_is_symbolic(t);
  if (data && t->ndim == 0) {
    add_number(s, &plain, number(element(t, r.index)));
    ig_str_add(s, "\n");
  }
  if (data && t->ndim == 1) add_vector(s, &r);
  if (data && t->ndim == 2) add_matrix(s, &r, 0);
  if (data && t->ndim > 2) add_matrices(s, &r);
  const char *device = t->device.type == IG_DEVICE_CPU ? "CPU" : "Meta";
  ig_str_add(s, "[ %s%sType{", device, ig_dtype_title(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    ig_str_add(s, "%s%lld", d ? "," : "", (long long)size_of(t, d));
  }
  ig_str_add(s, "} ]");
}

static void add_only(ig_str *s, ig_value v) {
  if (v.kind == IG_KIND_INT) ig_str_add(s, "{%lld}", (long long)v.i.value);
  if (v.kind == IG_KIND_BOOL) ig_str_add(s, "{%d}", v.b);
  if (v.kind == IG_KIND_FLOAT) ig_str_add(s, "{%g}", v.f);
  if (v.kind == IG_KIND_COMPLEX) ig_str_add(s, "{(%g,%g)}", v.z.re, v.z.im);
}

void ig_tensor_print_constant(ig_str *s, const ig_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim && n <= CONSTANT_LIMIT; d++) n *= size_of(t, d);
  bool data = !ig_is_fake(t) && t->storage->data;
  if (n == 1 && data) {
    int64_t index[IG_MAX_DIM] = {0};
    add_only(s, element(t, index));
  } else if (n <= CONSTANT_LIMIT && data) {
    size_t from = s->n;
    ig_tensor_print(s, t);
    for (size_t i = from; i < s->n; i++) {
      if (s->at[i] == '\n') s->at[i] = ' ';
    }
  } else {
    ig_str_add(s, "<Tensor>");
  }
}

// ---- types

const ig_stype *ig_stype_of_tensor(ig_stypes *types, const ig_tensor *t) {
  int64_t sizes[IG_MAX_DIM];
  int64_t strides[IG_MAX_DIM];
  char device[32];
  for (int d = 0; d < t->ndim; d++) {
    sizes[d] = size_of(t, d);
    strides[d] = ig_strides(t)[d].value;
  }
  const char *kind = ig_device_type_text(t->device);
  if (t->device.index < 0) (void)snprintf(device, sizeof device, "%s", kind);
  if (t->device.index >= 0) (void)snprintf(device, sizeof device, "%s:%d", kind, t->device.index);
  return ig_stype_traced(types, &(ig_stensor){.dtype = (int)t->dtype,
                                              .ndim = t->ndim,
                                              .sizes = sizes,
                                              .strides = strides,
                                              .requires_grad = ig_tape_requires_grad(t),
                                              .device = device});
}
