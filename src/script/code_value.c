// SPDX-License-Identifier: Apache-2.0
// Values as Python expressions. Tensors, objects and texts beyond ASCII stand in the table of
// constants and are written as CONSTANTS.c0.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script/code_printer.h"

bool ig_stype_is_evident(const ig_stype *element) {
  switch (element->kind) {
    case IG_STYPE_UNION:
    case IG_STYPE_OPTIONAL:
    case IG_STYPE_NUMBER:
    case IG_STYPE_INTERFACE:
    case IG_STYPE_ANY:
      return false;
    default:
      return true;
  }
}

bool ig_name_is_identifier(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (!*name || !strchr(letters, *name)) return false;
  while (*name && (strchr(letters, *name) || (*name >= '0' && *name <= '9'))) name++;
  return !*name;
}

static const char *text_of(ig_value v, size_t *n) {
  if (v.kind == IG_KIND_STR) {
    *n = strlen(v.str);
    return v.str;
  }
  if (!ig_sobj_is(v, IG_SOBJ_STR)) return NULL;
  const ig_sobj_str *s = v.object;
  *n = s->n;
  return s->text;
}

static size_t count(ig_value v, const ig_value **at) {
  *at = NULL;
  if (v.kind == IG_KIND_LIST) {
    *at = v.list.at;
    return v.list.n;
  }
  if (!ig_sobj_is(v, IG_SOBJ_LIST) && !ig_sobj_is(v, IG_SOBJ_TUPLE)) return 0;
  const ig_sobj_seq *s = v.object;
  *at = s->at;
  return s->n;
}

// Is it a text that is not plain ASCII, or a container of such texts?
static bool has_foreign_text(ig_value v) {
  size_t n = 0;
  const char *text = text_of(v, &n);
  for (size_t i = 0; text && i < n; i++) {
    if ((unsigned char)text[i] > 0x7f) return true;
  }
  const ig_value *at = NULL;
  n = count(v, &at);
  for (size_t i = 0; i < n; i++) {
    if (has_foreign_text(at[i])) return true;
  }
  return false;
}

// Must it stand in the table? Of a container with tensors, those do, and the container is written
// out.
static bool is_foreign(ig_value v) {
  if (v.kind == IG_KIND_TENSOR || v.kind == IG_KIND_NATIVE) return true;
  return ig_sobj_is(v, IG_SOBJ_INSTANCE) || has_foreign_text(v);
}

static bool same_tensor(const ig_tensor *a, const ig_tensor *b) {
  if (a == b) return true;
  int ndim = ig_tensor_ndim(a);
  if (ig_tensor_dtype(a) != ig_tensor_dtype(b) || ndim != ig_tensor_ndim(b)) return false;
  for (int i = 0; i < ndim; i++) {
    if (ig_tensor_size(a, i).value != ig_tensor_size(b, i).value) return false;
  }
  bool dense = ig_tensor_is_dense(a) && ig_tensor_is_dense(b);
  const void *left = ig_tensor_data(a);
  const void *right = ig_tensor_data(b);
  size_t bytes = ig_mem_mul((size_t)ig_tensor_numel(a), ig_dtype_size(ig_tensor_dtype(a)));
  return dense && left && right && memcmp(left, right, bytes) == 0;
}

// Equal tensors stand in the table once.
static bool add_constant(ig_ctx *c, ig_value v, ig_sprint_refs *r, ig_str *out) {
  size_t i = 0;
  for (; i < r->constants.n; i++) {
    ig_value old = r->constants.at[i];
    bool tensors = v.kind == IG_KIND_TENSOR && old.kind == IG_KIND_TENSOR;
    if (tensors && same_tensor(v.tensor, old.tensor)) break;
  }
  if (i == r->constants.n && !ig_vec_push(c->alloc, &r->constants, v)) {
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  ig_str_add(out, "CONSTANTS.c%zu", i);
  return true;
}

static void add_float(ig_str *s, double f) {
  if (isfinite(f) && fabs(f) < 1e10 && f == floor(f)) {
    ig_str_add(s, "%.0f.", f);
  } else {
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", f);
    ig_str_add(s, "%s", text);
  }
}

// As C++ prints a signed character that is not printable: the digits of a negative one stand below
// '0'. The reader of archives knows.
static void add_string(ig_str *s, const char *text, size_t n) {
  ig_str_add(s, "\"");
  for (size_t i = 0; i < n; i++) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"'";
    static const char to[] = "abfnrtv\\\"'";
    const char *known = text[i] ? strchr(from, text[i]) : NULL;
    if (known) {
      ig_str_add(s, "\\%c", to[known - from]);
    } else if (text[i] < 0x20 || text[i] == 0x7f) {
      ig_str_add(s, "\\%c%c%c", '0' + text[i] / 64, '0' + text[i] / 8 % 8, '0' + text[i] % 8);
    } else {
      ig_str_add(s, "%c", text[i]);
    }
  }
  ig_str_add(s, "\"");
}

static const ig_stype *item_type(const ig_stype *type, size_t i) {
  if (!type || type->n == 0) return NULL;
  if (type->kind == IG_STYPE_OPTIONAL) return item_type(type->at[0], i);
  return i < type->n ? type->at[i] : type->at[type->n - 1];
}

static const ig_stype *bare(const ig_stype *type) {
  return type && type->kind == IG_STYPE_OPTIONAL ? type->at[0] : type;
}

static bool add_items(ig_ctx *c, const ig_stype *type, const ig_value *at, size_t n,
                      ig_sprint_refs *r, ig_str *out) {
  for (size_t i = 0; i < n; i++) {
    if (i) ig_str_add(out, ", ");
    if (!ig_sprint_value(c, item_type(type, i), at[i], r, out)) return false;
  }
  return true;
}

static bool add_dict(ig_ctx *c, const ig_stype *type, const ig_value *at, size_t n,
                     ig_sprint_refs *r, ig_str *out) {
  ig_str_add(out, "{");
  for (size_t i = 0; i + 1 < n; i += 2) {
    if (i) ig_str_add(out, ", ");
    if (!ig_sprint_value(c, item_type(type, 0), at[i], r, out)) return false;
    ig_str_add(out, ": ");
    if (!ig_sprint_value(c, item_type(type, 1), at[i + 1], r, out)) return false;
  }
  ig_str_add(out, "}");
  return true;
}

static bool add_container(ig_ctx *c, const ig_stype *type, ig_value v, ig_sprint_refs *r,
                          ig_str *out) {
  const ig_value *at = NULL;
  size_t n = count(v, &at);
  type = bare(type);
  bool tuple = ig_sobj_is(v, IG_SOBJ_TUPLE) || (v.kind == IG_KIND_LIST && v.seq == IG_SEQ_TUPLE);
  if (tuple) {
    if (type && type->names) ig_stype_print_annotation(out, type);
    ig_str_add(out, "(");
    bool ok = add_items(c, type, at, n, r, out);
    ig_str_add(out, n == 1 ? ",)" : ")");
    return ok;
  }
  bool dict = v.kind == IG_KIND_LIST && v.seq == IG_SEQ_DICT;
  bool evident = n > 0;
  for (size_t i = 0; type && i < type->n; i++) evident &= ig_stype_is_evident(type->at[i]);
  if (!evident && type) {
    ig_str_add(out, "annotate(");
    ig_stype_print_annotation(out, type);
    ig_str_add(out, ", ");
  }
  bool ok = false;
  if (dict) {
    ok = add_dict(c, type, at, n, r, out);
  } else {
    ig_str_add(out, "[");
    ok = add_items(c, type, at, n, r, out);
    ig_str_add(out, "]");
  }
  if (!evident && type) ig_str_add(out, ")");
  return ok;
}

static bool add_object(ig_ctx *c, const ig_stype *type, ig_value v, ig_sprint_refs *r,
                       ig_str *out) {
  if (ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE)) {
    return add_container(c, type, v, r, out);
  }
  if (ig_sobj_is(v, IG_SOBJ_ENUM)) {
    const ig_sobj_enum *e = v.object;
    if (!ig_sprint_refs_need(r, (ig_sprint_need){.type = e->declaration->type})) return false;
    ig_str_add(out, "%s.%s", e->declaration->type->name,
               e->declaration->members.at[e->member].name);
    return true;
  }
  return ig_fail(c, IG_UNSUPPORTED, "a constant of type %s cannot be written as source",
                 type ? type->text : "unknown") == IG_OK;
}

static void add_complex(ig_str *s, double re, double im) {
  add_float(s, re);
  if (!signbit(im)) ig_str_add(s, "+");
  add_float(s, im);
  ig_str_add(s, "j");
}

static void add_device(ig_str *s, ig_device d) {
  ig_str_add(s, "torch.device(\"%s", ig_device_type_text(d));
  if (d.index >= 0) ig_str_add(s, ":%d", (int)d.index);
  ig_str_add(s, "\")");
}

bool ig_sprint_value(ig_ctx *c, const ig_stype *type, ig_value v, ig_sprint_refs *r, ig_str *out) {
  if (is_foreign(v)) return add_constant(c, v, r, out);
  size_t n = 0;
  const char *text = text_of(v, &n);
  if (text) {
    bool device = type && type->kind == IG_STYPE_DEVICE;  // of a graph that was read
    if (device) ig_str_add(out, "torch.device(");
    add_string(out, text, n);
    if (device) ig_str_add(out, ")");
    return true;
  }
  switch (v.kind) {
    case IG_KIND_NONE:
      ig_str_add(out, "None");
      return true;
    case IG_KIND_BOOL:
      ig_str_add(out, v.b ? "True" : "False");
      return true;
    case IG_KIND_INT:
      ig_str_add(out, "%lld", (long long)v.i.value);
      return true;
    case IG_KIND_FLOAT:
      add_float(out, v.f);
      return true;
    case IG_KIND_COMPLEX:
      add_complex(out, v.z.re, v.z.im);
      return true;
    case IG_KIND_DEVICE:
      add_device(out, v.device);
      return true;
    case IG_KIND_LIST:
      return add_container(c, type, v, r, out);
    default:
      return add_object(c, type, v, r, out);
  }
}
