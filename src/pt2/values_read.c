// SPDX-License-Identifier: Apache-2.0
// JSON of the export schema -> values. Every error has the position in the text.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "op/op.h"
#include "pt2/values.h"

ig_status ig_pt2_fail(const ig_pt2_in *in, const ig_json *at, ig_cause why, const char *fmt, ...) {
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
  why = ig_cause_or(why, why == IG_UNSUPPORTED ? IG_E_PT2_UNSUPPORTED : IG_E_PT2);
  return ig_fail(in->c, why, "%s: line %zu column %zu: %s", in->file, line, column, text);
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

// Schemas 1 and 2 write all members of a union, null except one.
static const ig_json_member *only_member(const ig_pt2_in *in, const ig_json *v) {
  const ig_json_member *found = NULL;
  if (v->n == 1) return &v->members[0];
  for (size_t i = 0; in->major && in->major <= 2 && i < v->n; i++) {
    if (v->members[i].value.kind == IG_JSON_NULL) continue;
    if (found) return NULL;
    found = &v->members[i];
  }
  return found;
}

const ig_json_member *ig_pt2_union(const ig_pt2_in *in, const ig_json *v) {
  if (!v || in->c->status != IG_OK) return NULL;
  const ig_json_member *m = v->kind == IG_JSON_OBJECT ? only_member(in, v) : NULL;
  if (m) return m;
  (void)ig_pt2_fail(
      in, v, IG_SYNTAX, "found %s, expected an object with exactly one member",
      v->kind == IG_JSON_OBJECT ? "another number of members" : ig_json_kind_text(v->kind));
  return NULL;
}

bool ig_pt2_name_is_plain(const char *s) {
  size_t n = 0;
  for (; s[n]; n++) {
    bool letter = (s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_';
    bool digit = s[n] >= '0' && s[n] <= '9';
    if (!letter && !(digit && n) && (unsigned char)s[n] < 0x80) return false;
  }
  return n > 0 && n < 1000;
}

static ig_status wrong(const ig_pt2_in *in, const ig_json *v, const char *expected) {
  return ig_pt2_fail(in, v, IG_SYNTAX, "found %s, expected %s", ig_json_kind_text(v->kind),
                     expected);
}

// Infinities and NaN are strings; older writers used the non-standard form of Python's json.
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

// ---- sizes and metadata

const char *ig_pt2_expr_text(const ig_json *v) {
  if (v->kind == IG_JSON_OBJECT) v = ig_json_find(v, "expr_str");
  return v && v->kind == IG_JSON_STRING && is_plain(v) ? v->text : NULL;
}

// The same texts occur repeatedly.
static const ig_expr *get_expr(const ig_pt2_in *in, const ig_json *v) {
  const char *text = ig_pt2_expr_text(v);
  if (!text || !in->exprs) {
    (void)ig_pt2_fail(in, v, IG_SYNTAX,
                      text ? "a symbolic number has no place here" : "no text of an expression");
    return NULL;
  }
  ig_map_value *known = ig_map_put(in->exprs, text);
  if (!known) (void)ig_fail(in->c, IG_NOMEM, "out of memory");
  if (!known || known->ptr) return known ? known->ptr : NULL;
  const ig_expr *e = ig_expr_parse(in->c, text);
  if (!e) {
    ig_note(in->c, "in %s, byte %zu: '%.200s'", in->file, v->at, text);
    return NULL;
  }
  ig_map_find(in->exprs, text)->ptr = (void *)e;
  return e;
}

ig_value ig_pt2_get_number(const ig_pt2_in *in, const ig_json *v) {
  static const struct {
    const char *key;
    ig_json_kind kind;
  } plain[] = {{"as_int", IG_JSON_INT}, {"as_bool", IG_JSON_BOOL}, {"as_float", IG_JSON_FLOAT}};
  ig_value out = ig_none();
  if (v && v->kind == IG_JSON_INT) return ig_of_i64(v->i);  // schema 1: storage offsets
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m) return out;
  if (strcmp(m->key, "as_expr") == 0) {
    const ig_expr *e = get_expr(in, &m->value);
    if (e) ig_value_of_expr(e, &out);
    return out;
  }
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strcmp(m->key, plain[i].key) != 0) continue;
    if (plain[i].kind == IG_JSON_FLOAT) return ig_of_f64(get_float(in, &m->value));
    if (m->value.kind != plain[i].kind) break;
    return plain[i].kind == IG_JSON_INT ? ig_of_i64(m->value.i) : ig_of_bool(m->value.b);
  }
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "found '%.50s', expected as_expr or a number", m->key);
  return out;
}

ig_int ig_pt2_get_size(const ig_pt2_in *in, const ig_json *v) {
  ig_value i = ig_pt2_get_number(in, v);
  if (i.kind == IG_KIND_INT) return i.i;
  if (in->c->status == IG_OK) (void)wrong(in, v, "an integer, maybe symbolic");
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
    if (in->c->status == IG_OK && !dims[i].expr && dims[i].value < 0) {
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
  const ig_json *offset = ok ? ig_json_find(v, "storage_offset") : NULL;
  out->offset = offset ? ig_pt2_get_size(in, offset) : ig_const(0);
  if (ok && nstrides != out->ndim) {
    (void)ig_pt2_fail(in, v, IG_SYNTAX, "%d sizes and %d strides", out->ndim, nstrides);
  }
  if (in->c->status == IG_OK && !out->offset.expr && out->offset.value < 0) {
    (void)ig_pt2_fail(in, v, IG_SYNTAX, "negative storage offset");
  }
  *grad = wants_grad && wants_grad->b;
  return in->c->status == IG_OK;
}

// ---- arguments

// What was defined under a name: a node whose value is a tensor, or a number.
static ig_value get_defined(const ig_pt2_in *in, const ig_json *at, const char *name, bool tensor) {
  const ig_map_value *v = name && in->names ? ig_map_find(in->names, name) : NULL;
  ig_node *found = v ? v->ptr : NULL;
  ig_kind kind = found ? found->val.kind : IG_KIND_NONE;
  bool number = kind == IG_KIND_INT || kind == IG_KIND_FLOAT || kind == IG_KIND_BOOL;
  if (found && (tensor ? kind == IG_KIND_TENSOR || kind == IG_KIND_NONE : number))
    return ig_of_node(found);
  if (name) {
    (void)ig_pt2_fail(in, at, IG_SYNTAX, "%s called '%.100s' was defined before",
                      tensor ? "no tensor" : "no number", name);
  }
  return ig_none();
}

static ig_value get_tensor(const ig_pt2_in *in, const ig_json *v) {
  // A plain string in the optional tensors of schemas 1 and 2.
  const char *name = v->kind == IG_JSON_STRING ? plain_text(in, v) : ig_pt2_get_text(in, v, "name");
  return get_defined(in, v, name, true);
}

// PyTorch 2.5 wrote constants that are bools as integers: {"as_int": true}.
static ig_value get_int(const ig_pt2_in *in, const ig_json *v) {
  if (v->kind == IG_JSON_BOOL) return ig_of_bool(v->b);
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
    return get_defined(in, v, plain_text(in, &m->value), false);
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

// "torch.ops.mylib.foo.default"
static ig_value get_operator(const ig_pt2_in *in, const ig_json *v) {
  static const char prefix[] = "torch.ops.";
  const char *text = plain_text(in, v);
  bool plain = text && strncmp(text, prefix, strlen(prefix)) == 0;
  const ig_op *op = plain ? ig_op_find(in->c, text + strlen(prefix)) : NULL;
  if (op) return ig_of_op(op);
  if (text)
    (void)ig_pt2_fail(in, v, IG_UNSUPPORTED,
                      "operator '%.100s' is not known: a custom operator must be registered before "
                      "the program is loaded",
                      text);
  return ig_none();
}

static ig_value get_object(const ig_pt2_in *in, const ig_json *v) {
  const char *name = ig_pt2_get_text(in, v, "name");
  const ig_map_value *found = name && in->names ? ig_map_find(in->names, name) : NULL;
  if (found && found->ptr) return ig_of_node(found->ptr);
  if (name) (void)ig_pt2_fail(in, v, IG_SYNTAX, "no object called '%.100s' is an input", name);
  return ig_none();
}

static ig_value get_graph(const ig_pt2_in *in, const ig_json *v) {
  if (in->sub) return in->sub(in->user, v);
  (void)ig_pt2_fail(in, v, IG_SYNTAX, "a sub-graph has no place here");
  return ig_none();
}

// {"key": Argument}: alternating keys and values.
static ig_value get_map(const ig_pt2_in *in, const ig_json *v) {
  if (v->kind != IG_JSON_OBJECT) (void)wrong(in, v, "an object");
  size_t n = v->kind == IG_JSON_OBJECT ? v->n : 0;
  ig_value *at = ig_arena_array(in->arena, ig_mem_mul(2, n + 1), sizeof *at);
  if (!at) (void)ig_fail(in->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; at && i < n; i++) {
    at[2 * i] = ig_of_str(v->members[i].key);
    at[2 * i + 1] = ig_pt2_get_argument(in, &v->members[i].value);
  }
  ig_value out = ig_of_list(at, at ? 2 * n : 0);
  out.seq = IG_SEQ_DICT;
  return out;
}

typedef ig_value item_fn(const ig_pt2_in *in, const ig_json *v);

static ig_value get_list(const ig_pt2_in *in, const ig_json *v, item_fn *item, int depth) {
  if (depth == 0) return item(in, v);
  if (v->kind != IG_JSON_ARRAY) {
    (void)wrong(in, v, "an array");
    return ig_none();
  }
  ig_value *at = ig_arena_array(in->arena, v->n + 1, sizeof *at);
  if (!at) (void)ig_fail(in->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; at && i < v->n; i++) at[i] = get_list(in, &v->items[i], item, depth - 1);
  return ig_of_list(at, at ? v->n : 0);
}

ig_value ig_pt2_get_argument(const ig_pt2_in *in, const ig_json *v) {
  static const struct {
    const char *key;
    item_fn *item;
    int depth;  // of lists around it
  } kinds[] = {
      {"as_none", get_none, 0},
      {"as_tensor", get_tensor, 0},
      {"as_int", get_int, 0},
      {"as_float", get_float_value, 0},
      {"as_bool", get_bool, 0},
      {"as_string", get_string, 0},
      {"as_complex", get_complex, 0},
      {"as_sym_int", get_symbolic, 0},
      {"as_sym_float", get_symbolic, 0},
      {"as_sym_bool", get_symbolic, 0},
      {"as_scalar_type", get_dtype, 0},
      {"as_layout", get_layout, 0},
      {"as_memory_format", get_memory_format, 0},
      {"as_device", get_device_value, 0},
      {"as_optional_tensor", get_optional_tensor, 0},
      {"as_operator", get_operator, 0},
      {"as_custom_obj", get_object, 0},
      {"as_graph", get_graph, 0},
      {"as_string_to_argument", get_map, 0},
      {"as_ints", get_int, 1},
      {"as_tensors", get_tensor, 1},
      {"as_optional_tensors", get_optional_tensor, 1},
      {"as_floats", get_float_value, 1},
      {"as_bools", get_bool, 1},
      {"as_strings", get_string, 1},
      {"as_sym_ints", get_symbolic, 1},
      {"as_sym_floats", get_symbolic, 1},
      {"as_sym_bools", get_symbolic, 1},
      {"as_nested_tensors", get_tensor, 2},
      {"as_int_lists", get_int, 2},
      {"as_float_lists", get_float_value, 2},
      {"as_arguments", ig_pt2_get_argument, 1},  // ours: see ig_pt2_put_argument
  };
  const ig_json_member *m = ig_pt2_union(in, v);
  if (!m) return ig_none();
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(m->key, kinds[i].key) == 0)
      return get_list(in, &m->value, kinds[i].item, kinds[i].depth);
  }
  (void)ig_pt2_fail(in, v, IG_UNSUPPORTED, "arguments of kind '%.50s' are not supported", m->key);
  return ig_none();
}
