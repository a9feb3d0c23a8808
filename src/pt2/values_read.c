// SPDX-License-Identifier: Apache-2.0
// JSON of the export schema -> values. Every complaint tells the place in the text.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pt2/values.h"

ig_status ig_pt2_fail(const ig_pt2_in *in, const ig_json *at, ig_status st, const char *fmt, ...) {
  if (in->c->status != IG_OK) return in->c->status;
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; at && i < at->at && i < in->text.n; i++) {
    bool newline = in->text.at[i] == '\n';
    line += newline;
    column = newline ? 1 : column + 1;
  }
  return ig_fail(in->c, st, "%s: line %zu column %zu: %s", in->file, line, column, text);
}

const ig_json *ig_pt2_get(const ig_pt2_in *in, const ig_json *object, const char *key,
                          ig_json_kind kind) {
  if (!object || in->c->status != IG_OK) return NULL;
  const ig_json *v = ig_json_find(object, key);
  if (v && v->kind == kind) return v;
  if (v || object->kind == IG_JSON_OBJECT) {
    (void)ig_pt2_fail(in, v ? v : object, IG_SYNTAX, "'%s' is %s, expected %s", key,
                      v ? ig_json_kind_text(v->kind) : "missing", ig_json_kind_text(kind));
  } else {
    (void)ig_pt2_fail(in, object, IG_SYNTAX, "found %s, expected an object with '%s'",
                      ig_json_kind_text(object->kind), key);
  }
  return NULL;
}

static bool is_plain(const ig_json *v) {
  return !memchr(v->text, 0, v->n);
}

// Names go into C strings.
static const char *plain_text(const ig_pt2_in *in, const ig_json *v) {
  if (!v) return NULL;
  if (v->kind == IG_JSON_STRING && is_plain(v)) return v->text;
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "found %s, expected a string without zero characters",
                    ig_json_kind_text(v->kind));
  return NULL;
}

const char *ig_pt2_get_text(const ig_pt2_in *in, const ig_json *object, const char *key) {
  return plain_text(in, ig_pt2_get(in, object, key, IG_JSON_STRING));
}

int64_t ig_pt2_get_int(const ig_pt2_in *in, const ig_json *object, const char *key) {
  const ig_json *v = ig_pt2_get(in, object, key, IG_JSON_INT);
  return v ? v->i : 0;
}

const ig_json_member *ig_pt2_union(const ig_pt2_in *in, const ig_json *v) {
  if (!v || in->c->status != IG_OK) return NULL;
  if (v->kind == IG_JSON_OBJECT && v->n == 1) return &v->members[0];
  (void)ig_pt2_fail(
      in, v, IG_SYNTAX, "found %s, expected an object with exactly one member",
      v->kind == IG_JSON_OBJECT ? "another number of members" : ig_json_kind_text(v->kind));
  return NULL;
}

static ig_status wrong(const ig_pt2_in *in, const ig_json *v, const char *expected) {
  return ig_pt2_fail(in, v, IG_SYNTAX, "found %s, expected %s", ig_json_kind_text(v->kind),
                     expected);
}

// ---- sizes and metadata

ig_int ig_pt2_get_size(const ig_pt2_in *in, const ig_json *v) {
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m) return ig_const(0);
  if (strcmp(m->key, "as_int") == 0 && m->value.kind == IG_JSON_INT) return ig_const(m->value.i);
  if (strcmp(m->key, "as_expr") == 0) {
    const char *text = ig_pt2_get_text(in, &m->value, "expr_str");
    if (text) {
      (void)ig_pt2_fail(in, v, IG_UNSUPPORTED,
                        "symbolic size %.100s: programs with dynamic shapes are not read yet",
                        text);
    }
    return ig_const(0);
  }
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "found '%.50s', expected a size (as_int)", m->key);
  return ig_const(0);
}

static bool get_device(const ig_pt2_in *in, const ig_json *v, ig_device *out) {
  const char *type = ig_pt2_get_text(in, v, "type");
  const ig_json *index = v ? ig_json_find(v, "index") : NULL;
  if (!type) return false;
  if (!ig_device_parse(type, out)) {
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "unknown device '%.50s'", type);
    return false;
  }
  if (index && index->kind == IG_JSON_INT) {
    if (index->i < 0 || index->i > 127) {
      (void)ig_pt2_fail(in, index, IG_SYNTAX, "device index %lld is out of range",
                        (long long)index->i);
      return false;
    }
    out->index = (int16_t)index->i;
  }
  return true;
}

static bool get_dims(const ig_pt2_in *in, const ig_json *v, const char *key, ig_int *dims, int *n) {
  const ig_json *list = ig_pt2_get(in, v, key, IG_JSON_ARRAY);
  if (!list) return false;
  if (list->n > IG_MAX_DIM) {
    (void)ig_pt2_fail(in, list, IG_SYNTAX, "a tensor of %zu dimensions, at most %d are supported",
                      list->n, IG_MAX_DIM);
    return false;
  }
  *n = (int)list->n;
  for (int i = 0; i < *n; i++) {
    dims[i] = ig_pt2_get_size(in, &list->items[i]);
    if (in->c->status == IG_OK && dims[i].value < 0) {
      (void)ig_pt2_fail(in, &list->items[i], IG_SYNTAX, "'%s' holds the negative number %lld", key,
                        (long long)dims[i].value);
    }
  }
  return in->c->status == IG_OK;
}

bool ig_pt2_get_tensor_meta(const ig_pt2_in *in, const ig_json *v, ig_meta *out, bool *grad) {
  ig_dtype dtype = ig_pt2_dtype_find(ig_pt2_get_int(in, v, "dtype"));
  if (in->c->status == IG_OK && dtype == IG_DTYPE_COUNT) {
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "dtype number %lld is not supported",
                      (long long)ig_pt2_get_int(in, v, "dtype"));
  }
  ig_device device = ig_device_cpu();
  (void)get_device(in, ig_pt2_get(in, v, "device", IG_JSON_OBJECT), &device);
  const ig_json *wants_grad = ig_pt2_get(in, v, "requires_grad", IG_JSON_BOOL);
  int64_t layout = ig_pt2_get_int(in, v, "layout");
  if (in->c->status == IG_OK && ig_pt2_layout_find(layout) != IG_STRIDED) {
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "layout %lld: only strided tensors are supported",
                      (long long)layout);
  }
  ig_meta_init(out, dtype, device);
  int nstrides = 0;
  out->strided = true;
  bool ok = get_dims(in, v, "sizes", out->size, &out->ndim) &&
            get_dims(in, v, "strides", out->stride, &nstrides);
  out->offset =
      ig_pt2_get_size(in, ok ? ig_pt2_get(in, v, "storage_offset", IG_JSON_OBJECT) : NULL);
  if (ok && nstrides != out->ndim) {
    (void)ig_pt2_fail(in, v, IG_SYNTAX, "%d sizes and %d strides", out->ndim, nstrides);
  }
  if (in->c->status == IG_OK && out->offset.value < 0) {
    (void)ig_pt2_fail(in, v, IG_SYNTAX, "negative storage offset");
  }
  *grad = wants_grad && wants_grad->b;
  return in->c->status == IG_OK;
}

// ---- arguments

// What was defined under a name.
static ig_value get_defined(const ig_pt2_in *in, const ig_json *at, const char *name,
                            ig_kind kind) {
  const ig_map_value *v = name ? ig_map_find(in->names, name) : NULL;
  const ig_value *found = v ? v->ptr : NULL;
  if (found && found->kind == kind) return *found;
  if (name) {
    (void)ig_pt2_fail(in, at, IG_SYNTAX, "%s called '%.100s' was defined before",
                      kind == IG_KIND_TENSOR ? "no tensor" : "no number", name);
  }
  return ig_none();
}

static double get_float(const ig_pt2_in *in, const ig_json *v) {
  if (v->kind == IG_JSON_FLOAT) return v->f;
  if (v->kind == IG_JSON_INT) return (double)v->i;
  if (v->kind == IG_JSON_STRING) {
    if (strcmp(v->text, "NaN") == 0) return NAN;
    if (strcmp(v->text, "Infinity") == 0) return HUGE_VAL;
    if (strcmp(v->text, "-Infinity") == 0) return -HUGE_VAL;
  }
  (void)wrong(in, v, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
  return 0;
}

static ig_value get_tensor(const ig_pt2_in *in, const ig_json *v) {
  return get_defined(in, v, ig_pt2_get_text(in, v, "name"), IG_KIND_TENSOR);
}

static ig_value get_int(const ig_pt2_in *in, const ig_json *v) {
  if (v->kind != IG_JSON_INT) (void)wrong(in, v, "an integer that fits 64 bits");
  return ig_of_i64(v->kind == IG_JSON_INT ? v->i : 0);
}

static ig_value get_float_value(const ig_pt2_in *in, const ig_json *v) {
  return ig_of_f64(get_float(in, v));
}

static ig_value get_bool(const ig_pt2_in *in, const ig_json *v) {
  if (v->kind != IG_JSON_BOOL) (void)wrong(in, v, "a bool");
  return ig_of_bool(v->kind == IG_JSON_BOOL && v->b);
}

static ig_value get_string(const ig_pt2_in *in, const ig_json *v) {
  const char *text = plain_text(in, v);
  return ig_of_str(text ? text : "");
}

static ig_value get_none(const ig_pt2_in *in, const ig_json *v) {
  (void)in;
  (void)v;
  return ig_none();
}

// as_name | as_int, as_float or as_bool
static ig_value get_symbolic(const ig_pt2_in *in, const ig_json *v) {
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m) return ig_none();
  if (strcmp(m->key, "as_int") == 0) return get_int(in, &m->value);
  if (strcmp(m->key, "as_float") == 0) return get_float_value(in, &m->value);
  if (strcmp(m->key, "as_bool") == 0) return get_bool(in, &m->value);
  if (strcmp(m->key, "as_name") == 0) {
    return get_defined(in, v, plain_text(in, &m->value), IG_KIND_INT);
  }
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "found '%.50s', expected as_name or a number", m->key);
  return ig_none();
}

static ig_value get_optional_tensor(const ig_pt2_in *in, const ig_json *v) {
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m || strcmp(m->key, "as_none") == 0) return ig_none();
  if (strcmp(m->key, "as_tensor") == 0) return get_tensor(in, &m->value);
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "found '%.50s', expected as_tensor or as_none", m->key);
  return ig_none();
}

static ig_value get_dtype(const ig_pt2_in *in, const ig_json *v) {
  ig_dtype d = v->kind == IG_JSON_INT ? ig_pt2_dtype_find(v->i) : IG_DTYPE_COUNT;
  if (d == IG_DTYPE_COUNT)
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "this number of a dtype is not supported");
  return ig_of_dtype(d);
}

static ig_value get_layout(const ig_pt2_in *in, const ig_json *v) {
  ig_layout l = v->kind == IG_JSON_INT ? ig_pt2_layout_find(v->i) : IG_LAYOUT_COUNT;
  if (l == IG_LAYOUT_COUNT)
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "this number of a layout is not supported");
  return (ig_value){.kind = IG_KIND_LAYOUT, .layout = l};
}

static ig_value get_memory_format(const ig_pt2_in *in, const ig_json *v) {
  ig_memory_format f =
      v->kind == IG_JSON_INT ? ig_pt2_memory_format_find(v->i) : IG_MEMORY_FORMAT_COUNT;
  if (f == IG_MEMORY_FORMAT_COUNT) {
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "this number of a memory format is not supported");
  }
  return ig_of_memory_format(f);
}

static ig_value get_device_value(const ig_pt2_in *in, const ig_json *v) {
  ig_device d = ig_device_cpu();
  (void)get_device(in, v, &d);
  return ig_of_device(d);
}

static ig_value get_complex(const ig_pt2_in *in, const ig_json *v) {
  const ig_json *re = ig_json_find(v, "real");
  const ig_json *im = ig_json_find(v, "imag");
  if (re && im) return ig_of_complex(get_float(in, re), get_float(in, im));
  (void)wrong(in, v, "an object with 'real' and 'imag'");
  return ig_none();
}

typedef ig_value item_fn(const ig_pt2_in *in, const ig_json *v);

static ig_value get_ints(const ig_pt2_in *in, const ig_json *v) {
  ig_int *at = ig_arena_push(in->arena, (v->n + 1) * sizeof *at);
  if (!at) (void)ig_fail(in->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; at && i < v->n; i++) at[i] = get_int(in, &v->items[i]).i;
  return ig_of_ints(at, at ? v->n : 0);
}

static ig_value get_list(const ig_pt2_in *in, const ig_json *v, item_fn *item) {
  ig_value *at = ig_arena_push(in->arena, (v->n + 1) * sizeof *at);
  if (!at) (void)ig_fail(in->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; at && i < v->n; i++) at[i] = item(in, &v->items[i]);
  return ig_of_list(at, at ? v->n : 0);
}

ig_value ig_pt2_get_argument(const ig_pt2_in *in, const ig_json *v) {
  static const struct {
    const char *key;
    item_fn *item;
    bool list;
  } kinds[] = {
      {"as_none", get_none, false},
      {"as_tensor", get_tensor, false},
      {"as_int", get_int, false},
      {"as_float", get_float_value, false},
      {"as_bool", get_bool, false},
      {"as_string", get_string, false},
      {"as_complex", get_complex, false},
      {"as_sym_int", get_symbolic, false},
      {"as_sym_float", get_symbolic, false},
      {"as_sym_bool", get_symbolic, false},
      {"as_scalar_type", get_dtype, false},
      {"as_layout", get_layout, false},
      {"as_memory_format", get_memory_format, false},
      {"as_device", get_device_value, false},
      {"as_optional_tensor", get_optional_tensor, false},
      {"as_tensors", get_tensor, true},
      {"as_optional_tensors", get_optional_tensor, true},
      {"as_floats", get_float_value, true},
      {"as_bools", get_bool, true},
      {"as_strings", get_string, true},
      {"as_sym_ints", get_symbolic, true},
      {"as_sym_floats", get_symbolic, true},
      {"as_sym_bools", get_symbolic, true},
  };
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m) return ig_none();
  bool ints = strcmp(m->key, "as_ints") == 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!ints && strcmp(m->key, kinds[i].key) != 0) continue;
    if (!ints && !kinds[i].list) return kinds[i].item(in, &m->value);
    if (m->value.kind != IG_JSON_ARRAY) {
      (void)wrong(in, &m->value, "an array");
      return ig_none();
    }
    return ints ? get_ints(in, &m->value) : get_list(in, &m->value, kinds[i].item);
  }
  (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "arguments of kind '%.50s' are not supported", m->key);
  return ig_none();
}
