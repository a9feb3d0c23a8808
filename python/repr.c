// SPDX-License-Identifier: Apache-2.0
// repr(tensor), exactly as in PyTorch: one width for all elements, scientific form when the
// magnitudes differ by more than 1000, the middle omitted beyond `threshold` elements, lines broken
// at `linewidth`, suffixes for device, dtype and gradient.
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "ingot/aten.h"
#include "ingot/grad.h"
#include "py.h"
#include "tensor/number.h"
#include "tensor/quantizer.h"

static struct {
  int precision;
  double threshold;  // inf: never summarise
  int64_t edgeitems;
  int64_t linewidth;
  int sci_mode;  // -1: chosen by the values
} opts = {4, 1000, 3, 80, -1};

// How the elements of one tensor (or the parts of complex ones) are written.
typedef struct format {
  bool is_float;
  bool int_mode;
  bool sci;
  size_t width;
  bool any;  // some finite value that is not zero was seen
  double min;
  double max;
} format;

typedef struct printer {
  const ig_tensor *t;
  ig_str *s;
  bool summarize;
  bool complex;
  bool measuring;  // second pass over the values: widths
  format re;
  format im;
} printer;

static size_t digits(char *text, size_t cap, const format *f, double x) {
  int n = 0;
  if (isnan(x) || isinf(x)) {
    n = snprintf(text, cap, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
  } else if (f->sci) {
    n = snprintf(text, cap, "%.*e", opts.precision, x);
  } else if (f->int_mode) {
    n = snprintf(text, cap, "%.0f.", x);
  } else {
    n = snprintf(text, cap, "%.*f", opts.precision, x);
  }
  return (size_t)n < cap ? (size_t)n : cap - 1;
}

enum { TEXT = 512 };

static size_t element_text(char *text, ig_value v, ig_dtype d, const char *at) {
  int n = 0;
  if (v.kind == IG_KIND_BOOL) {
    n = snprintf(text, TEXT, "%s", v.b ? "True" : "False");
  } else if (d == IG_U64) {
    uint64_t u = 0;
    memcpy(&u, at, sizeof u);
    n = snprintf(text, TEXT, "%llu", (unsigned long long)u);
  } else {
    n = snprintf(text, TEXT, "%lld", (long long)v.i.value);
  }
  return (size_t)n;
}

static void look(format *f, double x) {
  if (!isfinite(x) || x == 0) return;
  double a = fabs(x);
  if (!f->any || a < f->min) f->min = a;
  if (!f->any || a > f->max) f->max = a;
  f->any = true;
  if (x != ceil(x)) f->int_mode = false;
}

static void widen(format *f, double x) {
  char text[TEXT];
  if (!isfinite(x) || x == 0) return;
  size_t n = digits(text, sizeof text, f, x);
  if (n > f->width) f->width = n;
}

static void measure(printer *p, const char *at) {
  ig_value v = ig_element_load(at, p->t->dtype);
  if (p->complex) {
    if (p->measuring) {
      widen(&p->re, v.z.re);
      widen(&p->im, v.z.im);
    } else {
      look(&p->re, v.z.re);
      look(&p->im, v.z.im);
    }
  } else if (!p->re.is_float) {
    char text[TEXT];
    size_t n = element_text(text, v, p->t->dtype, at);
    if (n > p->re.width) p->re.width = n;
  } else if (p->measuring) {
    widen(&p->re, v.f);
  } else {
    look(&p->re, v.f);
  }
}

// Where the left-out middle of a dimension begins and ends.
static void middle(const printer *p, int64_t n, int64_t *from, int64_t *to) {
  *from = *to = n;
  if (p->summarize && n > 2 * opts.edgeitems) {
    *from = opts.edgeitems;
    *to = n - opts.edgeitems;
  }
}

static void survey(printer *p, const char *at, int dim) {
  if (dim == p->t->ndim) {
    measure(p, at);
    return;
  }
  int64_t n = ig_sizes(p->t)[dim].value;
  int64_t step = ig_strides(p->t)[dim].value * (int64_t)ig_dtype_size(p->t->dtype);
  int64_t from = 0;
  int64_t to = 0;
  middle(p, n, &from, &to);
  for (int64_t i = 0; i < n; i++) {
    if (i == from) i = to;
    // admitted: the geometry of the tensor bounds it, here and below
    if (i < n) survey(p, at + i * step, dim + 1);
  }
}

static void decide(format *f) {
  if (!f->any) return;
  f->sci = opts.sci_mode >= 0 ? opts.sci_mode == 1
                              : f->max / f->min > 1000.0 || f->max > 1.0e8 || f->min < 1.0e-4;
}

static void pad(ig_str *s, size_t n) {
  for (; n > 0; n--) ig_str_add(s, " ");
}

static void part(ig_str *s, const format *f, double x, bool left) {
  char text[TEXT];
  size_t n = digits(text, sizeof text, f, x);
  if (left && n < f->width) pad(s, f->width - n);
  ig_str_add(s, "%s", text);
}

static void element(const printer *p, const char *at) {
  ig_value v = ig_element_load(at, p->t->dtype);
  if (p->complex) {
    part(p->s, &p->re, v.z.re, true);
    char text[TEXT];
    (void)digits(text, sizeof text, &p->im, v.z.im);
    if (text[0] != '-') ig_str_add(p->s, "+");
    part(p->s, &p->im, v.z.im, false);
    ig_str_add(p->s, "j");
  } else if (p->re.is_float) {
    part(p->s, &p->re, v.f, true);
  } else {
    char text[TEXT];
    size_t n = element_text(text, v, p->t->dtype, at);
    if (n < p->re.width) pad(p->s, p->re.width - n);
    ig_str_add(p->s, "%s", text);
  }
}

// The innermost dimension, broken into lines.
static void row(const printer *p, const char *at, int dim, size_t indent) {
  int64_t n = ig_sizes(p->t)[dim].value;
  int64_t step = ig_strides(p->t)[dim].value * (int64_t)ig_dtype_size(p->t->dtype);
  int64_t length = (int64_t)p->re.width + 2 + (p->complex ? (int64_t)p->im.width + 1 : 0);
  int64_t per_line = (opts.linewidth - (int64_t)indent) / length;
  if (opts.linewidth < (int64_t)indent || per_line < 1) per_line = 1;
  int64_t from = 0;
  int64_t to = 0;
  int64_t shown = 0;
  middle(p, n, &from, &to);
  ig_str_add(p->s, "[");
  for (int64_t i = 0; i < n; i++, shown++) {
    if (shown > 0 && shown % per_line == 0) {
      ig_str_add(p->s, ",\n");
      pad(p->s, indent + 1);
    } else if (shown > 0) {
      ig_str_add(p->s, ", ");
    }
    if (i == from) {
      ig_str_add(p->s, opts.edgeitems ? " ..." : "...");
      i = to - 1;
    } else {
      element(p, at + i * step);  // admitted: see survey
    }
  }
  ig_str_add(p->s, "]");
}

static void block(const printer *p, const char *at, int dim, size_t indent) {
  int left = p->t->ndim - dim;
  if (left == 0) {
    element(p, at);
    return;
  }
  if (left == 1) {
    row(p, at, dim, indent);
    return;
  }
  int64_t n = ig_sizes(p->t)[dim].value;
  int64_t step = ig_strides(p->t)[dim].value * (int64_t)ig_dtype_size(p->t->dtype);
  int64_t from = 0;
  int64_t to = 0;
  middle(p, n, &from, &to);
  ig_str_add(p->s, "[");
  for (int64_t i = 0; i < n; i++) {
    if (i > 0) {
      ig_str_add(p->s, ",");
      for (int k = 1; k < left; k++) ig_str_add(p->s, "\n");
      pad(p->s, indent + 1);
    }
    if (i == from) {
      ig_str_add(p->s, "...");
      i = to - 1;
    } else {
      block(p, at + i * step, dim + 1, indent + 1);  // admitted: see survey
    }
  }
  ig_str_add(p->s, "]");
}

static void contents(ig_str *s, const ig_tensor *t, size_t indent) {
  int64_t n = ig_tensor_numel(t);
  if (n == 0) {
    ig_str_add(s, "[]");
    return;
  }
  printer p = {.t = t,
               .s = s,
               .summarize = (double)n > opts.threshold,
               .complex = ig_dtype_is_complex(t->dtype),
               .re = {.is_float = ig_dtype_is_float(t->dtype), .int_mode = true, .width = 1},
               .im = {.is_float = true, .int_mode = true, .width = 1}};
  p.re.is_float |= p.complex;
  const char *at = ig_tensor_data(t);
  survey(&p, at, 0);
  if (p.re.is_float) {
    decide(&p.re);
    decide(&p.im);
    p.measuring = true;
    survey(&p, at, 0);
  }
  block(&p, at, 0, indent);
}

// ---- suffixes ----

typedef struct suffixes {
  ig_str *s;
  size_t indent;
  size_t line;  // length of the last line
} suffixes;

static void add_suffix(suffixes *x, const char *text) {
  size_t n = strlen(text);
  if ((int64_t)(x->line + n + 2) > opts.linewidth) {
    ig_str_add(x->s, ",\n");
    pad(x->s, x->indent);
    ig_str_add(x->s, "%s", text);
    x->line = x->indent + n;
  } else {
    ig_str_add(x->s, ", %s", text);
    x->line += n + 2;
  }
}

static void size_suffix(ig_ctx *c, suffixes *x, const ig_tensor *t) {
  ig_str s = ig_str_make(c->alloc);
  ig_str_add(&s, "size=(");
  for (int d = 0; d < t->ndim; d++) {
    ig_str_add(&s, "%s", d ? ", " : "");
    ig_str_int(&s, ig_sizes(t)[d]);
  }
  ig_str_add(&s, t->ndim == 1 ? ",)" : ")");
  if (s.at) add_suffix(x, s.at);
  ig_str_free(&s);
}

static void text_suffix(ig_ctx *c, suffixes *x, const char *name, PyObject *text) {
  ig_str s = ig_str_make(c->alloc);
  const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
  if (utf8) ig_str_add(&s, "%s=%s", name, utf8);
  if (s.at) add_suffix(x, s.at);
  ig_str_free(&s);
  PyErr_Clear();
  Py_XDECREF(text);
}

static PyObject *tensor_text(ig_ctx *c, ig_tensor *t) {
  PyObject *o = py_from_tensor(c, t);
  PyObject *text = o ? py_tensor_repr(o) : NULL;
  Py_XDECREF(o);
  return text;
}

static void quantizer_suffixes(ig_ctx *c, suffixes *x, const ig_tensor *t) {
  const ig_quantizer *q = t->quantizer;
  char text[80];
  size_suffix(c, x, t);
  (void)snprintf(text, sizeof text, "dtype=torch.%s", ig_dtype_text(t->dtype));
  add_suffix(x, text);
  (void)snprintf(text, sizeof text, "quantization_scheme=torch.%s",
                 ig_quant_scheme_text(q->scheme));
  add_suffix(x, text);
  if (!ig_quantizer_is_uniform(q)) {
    text_suffix(c, x, "scale", tensor_text(c, q->scales));
    text_suffix(c, x, "zero_point", tensor_text(c, q->zero_points));
    (void)snprintf(text, sizeof text, "axis=%d", q->axis);
    add_suffix(x, text);
    return;
  }
  PyObject *scale = PyFloat_FromDouble(q->scale);
  text_suffix(c, x, "scale", scale ? PyObject_Repr(scale) : NULL);
  Py_XDECREF(scale);
  (void)snprintf(text, sizeof text, "zero_point=%lld", (long long)q->zero_point);
  add_suffix(x, text);
}

static void add_suffixes(ig_ctx *c, suffixes *x, ig_tensor *t) {
  char text[256];
  ig_dtype def = ig_ctx_default_dtype(c);
  ig_dtype def_complex = def == IG_F64 ? IG_C128 : IG_C64;
  bool usual =
      t->dtype == def || t->dtype == def_complex || t->dtype == IG_I64 || t->dtype == IG_BOOL;
  bool hollow = ig_is_fake(t);
  bool empty = !hollow && ig_tensor_numel(t) == 0;
  if (t->device.type != IG_DEVICE_CPU) {
    int n = snprintf(text, sizeof text, "device='%s", ig_device_type_text(t->device));
    if (t->device.index >= 0) {
      n += snprintf(text + n, sizeof text - (size_t)n, ":%d", t->device.index);
    }
    (void)snprintf(text + n, sizeof text - (size_t)n, "'");
    add_suffix(x, text);
  }
  if (hollow || (empty && t->ndim != 1) || (!empty && !opts.edgeitems)) size_suffix(c, x, t);
  if (hollow || empty ? t->dtype != def : !usual) {
    (void)snprintf(text, sizeof text, "dtype=torch.%s", ig_dtype_text(t->dtype));
    add_suffix(x, text);
  }
  ig_grad_fn *f = ig_tensor_grad_fn(c, t, NULL);
  if (c->status != IG_OK) {
    ig_ctx_clear(c);
    add_suffix(x, "grad_fn=<Invalid>");
  } else if (f) {
    char name[128];
    (void)snprintf(text, sizeof text, "grad_fn=<%s>", ig_grad_fn_name(f, name, sizeof name));
    add_suffix(x, text);
  } else if (t->requires_grad) {
    add_suffix(x, "requires_grad=True");
  }
}

static const char *class_name(PyObject *self) {
  const char *name = strrchr(Py_TYPE(self)->tp_name, '.');
  name = name ? name + 1 : Py_TYPE(self)->tp_name;
  bool plain = Py_IS_TYPE(self, py_tensor_type) || strcmp(name, "Parameter") == 0;
  if (!plain) return name;
  const ig_tensor *t = py_tensor_of(self);
  return ig_is_fake(t) && t->device.type != IG_DEVICE_META ? "FakeTensor" : "tensor";
}

PyObject *py_tensor_repr(PyObject *self) {
  if (!py_read(py_ctx(), py_tensor_of(self))) return NULL;
  ig_ctx *c = py_ctx();
  ig_tensor *t = py_tensor_of(self);
  ig_str s = ig_str_make(c->alloc);
  const char *name = class_name(self);
  size_t indent = strlen(name) + 1;
  ig_str_add(&s, "%s(", name);
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *shown = t;
  if (t->quantizer && !ig_is_fake(t)) {
    // What is printed is data, also in a fake mode or a capture.
    enum { OFF = IG_MODE_CAPTURE | IG_MODE_REWRITE | IG_MODE_SYM | IG_MODE_FAKE | IG_MODE_NO_GRAD };
    ig_mode_scope off = ig_mode_push(c, &(ig_mode_change){OFF, {.no_grad = true}});
    shown = ig_dequantize_self(c, t);
    ig_mode_pop(c, &off);
  }
  if (!shown) {
    ig_scope_close(c, scope);
    ig_str_free(&s);
    return py_raise(c);
  }
  if (ig_is_fake(t)) {
    ig_str_add(&s, "...");
  } else {
    contents(&s, shown, indent);
  }
  ig_scope_close(c, scope);
  const char *newline = s.at ? strrchr(s.at, '\n') : NULL;
  // PyTorch's count: without a newline, the length of the text plus two.
  size_t line = newline ? s.n - (size_t)(newline - s.at) + 1 : s.n + 2;
  suffixes x = {&s, indent, line};
  if (t->quantizer) {
    quantizer_suffixes(c, &x, t);
  } else {
    add_suffixes(c, &x, t);
  }
  ig_str_add(&s, ")");
  PyObject *out = s.failed ? PyErr_NoMemory() : PyUnicode_FromStringAndSize(s.at, (Py_ssize_t)s.n);
  ig_str_free(&s);
  return out;
}

// ---- options ----

static bool set_profile(const char *name) {
  if (strcmp(name, "default") == 0 || strcmp(name, "full") == 0) {
    opts.precision = 4;
    opts.edgeitems = 3;
    opts.threshold = name[0] == 'f' ? HUGE_VAL : 1000;
  } else if (strcmp(name, "short") == 0) {
    opts.precision = 2;
    opts.edgeitems = 2;
    opts.threshold = 1000;
  } else {
    return false;
  }
  opts.linewidth = 80;
  return true;
}

static bool set_int(PyObject *o, int64_t lo, int64_t hi, int64_t *out) {
  if (!o || o == Py_None) return true;
  long long i = PyLong_AsLongLong(o);
  if (i == -1 && PyErr_Occurred()) return false;
  *out = i < lo ? lo : i > hi ? hi : i;
  return true;
}

static PyObject *set_printoptions(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"precision", "threshold", "edgeitems", "linewidth",
                         "profile",   "sci_mode",  NULL};
  (void)module;
  PyObject *precision = NULL;
  PyObject *threshold = NULL;
  PyObject *edgeitems = NULL;
  PyObject *linewidth = NULL;
  const char *profile = NULL;
  PyObject *sci = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOzO:set_printoptions", keys, &precision,
                                   &threshold, &edgeitems, &linewidth, &profile, &sci)) {
    return NULL;
  }
  if (profile) (void)set_profile(profile);
  int64_t digits_wanted = opts.precision;
  if (!set_int(precision, 0, 200, &digits_wanted) ||
      !set_int(edgeitems, 0, INT32_MAX, &opts.edgeitems) ||
      !set_int(linewidth, 1, INT32_MAX, &opts.linewidth)) {
    return NULL;
  }
  opts.precision = (int)digits_wanted;
  if (threshold && threshold != Py_None) {
    double x = PyFloat_AsDouble(threshold);
    if (x == -1 && PyErr_Occurred()) return NULL;
    opts.threshold = x;
  }
  int on = sci == Py_None ? -1 : PyObject_IsTrue(sci);
  if (on < 0 && sci != Py_None) return NULL;
  opts.sci_mode = on;
  Py_RETURN_NONE;
}

static PyObject *get_printoptions(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *sci = opts.sci_mode < 0 ? Py_None : opts.sci_mode ? Py_True : Py_False;
  return Py_BuildValue("{s:i,s:d,s:L,s:L,s:O}", "precision", opts.precision, "threshold",
                       opts.threshold, "edgeitems", (long long)opts.edgeitems, "linewidth",
                       (long long)opts.linewidth, "sci_mode", sci);
}

PyMethodDef py_repr_functions[] = {
    {"set_printoptions", (PyCFunction)(void (*)(void))set_printoptions,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"get_printoptions", get_printoptions, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
