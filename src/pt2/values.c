// SPDX-License-Identifier: Apache-2.0
// Numbers of the export schema, and values as JSON.
#include "pt2/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "op/op.h"

// ScalarType of the schema; these are not PyTorch's internal numbers.
static const uint8_t dtype_numbers[IG_DTYPE_COUNT] = {
    [IG_BOOL] = 12,     [IG_U8] = 1,      [IG_I8] = 2,   [IG_I16] = 3,  [IG_I32] = 4,
    [IG_I64] = 5,       [IG_U16] = 28,    [IG_U32] = 34, [IG_U64] = 35, [IG_F16] = 6,
    [IG_BF16] = 13,     [IG_F32] = 7,     [IG_F64] = 8,  [IG_C64] = 10, [IG_C128] = 11,
    [IG_F8E4M3FN] = 29, [IG_F8E5M2] = 30,
};

// Order of ig_layout and ig_memory_format.
static const uint8_t layout_numbers[IG_LAYOUT_COUNT] = {[IG_STRIDED] = 7, [IG_SPARSE_COO] = 1};
static const uint8_t format_numbers[IG_MEMORY_FORMAT_COUNT] = {
    [IG_CONTIGUOUS] = 1, [IG_PRESERVE] = 4, [IG_CHANNELS_LAST] = 2, [IG_CHANNELS_LAST_3D] = 3};

const char *const ig_pt2_meta_keys[IG_META_KEY_COUNT] = {[IG_META_SOURCE_FN] = "source_fn_stack",
                                                         [IG_META_TORCH_FN] = "torch_fn",
                                                         [IG_META_CUSTOM] = "custom"};

// Position of `number` in a table, or n; 0 stands for what the schema does not have.
static size_t find_number(const uint8_t *table, size_t n, int64_t number) {
  size_t i = number ? 0 : n;
  while (i < n && table[i] != number) i++;
  return i;
}

ig_dtype ig_pt2_dtype_find(int64_t number) {
  if (number == 14) return IG_U16;
  return (ig_dtype)find_number(dtype_numbers, IG_DTYPE_COUNT, number);
}

ig_layout ig_pt2_layout_find(int64_t number) {
  return (ig_layout)find_number(layout_numbers, IG_LAYOUT_COUNT, number);
}

ig_memory_format ig_pt2_memory_format_find(int64_t number) {
  return (ig_memory_format)find_number(format_numbers, IG_MEMORY_FORMAT_COUNT, number);
}

const char *ig_pt2_object_class(const ig_node *n) {
  return n->val.kind == IG_KIND_STR ? n->val.str : "";
}

// ---- writing

static void open_union(ig_pt2_out *o, const char *key) {
  ig_json_open(o->w, '{');
  ig_json_key(o->w, key);
}

static void close_union(ig_pt2_out *o) {
  ig_json_close(o->w, '}');
}

static void put_int(ig_pt2_out *o, const char *key, int64_t i) {
  open_union(o, key);
  ig_json_int(o->w, i);
  close_union(o);
}

static void put_text(ig_pt2_out *o, const char *key, const char *text) {
  open_union(o, key);
  ig_json_str(o->w, text);
  close_union(o);
}

static void put_bool(ig_pt2_out *o, const char *key, bool b) {
  open_union(o, key);
  ig_json_bool(o->w, b);
  close_union(o);
}

// The schema of 2.5 ends with bfloat16: its reader knows no later number.
enum { LAST_DTYPE_OF_2_5 = 13 };

static int64_t dtype_number(const ig_pt2_out *o, ig_dtype d) {
  if (!dtype_numbers[d]) {
    (void)ig_fail(o->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "a program with values of dtype %s cannot be saved: the format has no number for "
                  "this dtype",
                  ig_dtype_text(d));
  }
  if (o->infix && dtype_numbers[d] > LAST_DTYPE_OF_2_5) {
    (void)ig_fail(o->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "PyTorch 2.5 cannot read programs with values of dtype %s: save it in a newer "
                  "layout",
                  ig_dtype_text(d));
  }
  return dtype_numbers[d];
}

static void put_none(ig_pt2_out *o) {
  if (!o->old_none) {
    put_bool(o, "as_none", true);
    return;
  }
  open_union(o, "as_none");
  ig_json_open(o->w, '[');
  ig_json_close(o->w, ']');
  close_union(o);
}

// JSON has no infinities: the schema writes them as strings. Older releases wrote them as Python
// prints them, and their readers accept nothing else.
static void put_float(ig_pt2_out *o, double f) {
  if (o->old_floats || isfinite(f)) {
    ig_json_float(o->w, f);
  } else {
    ig_json_str(o->w, isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
  }
}

void ig_pt2_put_named(ig_pt2_out *o, const char *union_key, const char *name) {
  open_union(o, union_key);
  put_text(o, "name", name);
  close_union(o);
}

// {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 4}}
static void put_expr(ig_pt2_out *o, const ig_expr *e, const ig_value *hint) {
  ig_str text = ig_str_make(o->c->alloc);
  if (o->infix) {
    ig_str_expr(&text, e);
  } else {
    ig_str_srepr(&text, e);
  }
  open_union(o, "as_expr");
  ig_json_open(o->w, '{');
  ig_json_key(o->w, "expr_str");
  ig_json_str(o->w, text.failed ? "" : text.at);
  ig_json_key(o->w, "hint");
  if (!e->hinted) {
    ig_json_null(o->w);
  } else if (hint->kind == IG_KIND_INT) {
    put_int(o, "as_int", hint->i.value);
  } else if (hint->kind == IG_KIND_BOOL) {
    put_bool(o, "as_bool", hint->b);
  } else {
    open_union(o, "as_float");
    put_float(o, hint->f);
    close_union(o);
  }
  ig_json_close(o->w, '}');
  close_union(o);
  if (text.failed) (void)ig_fail(o->c, IG_NOMEM, "out of memory");
  ig_str_free(&text);
}

void ig_pt2_put_number(ig_pt2_out *o, const ig_value *v) {
  if (v->kind == IG_KIND_INT && v->i.expr) {
    put_expr(o, v->i.expr, v);
  } else if (v->kind == IG_KIND_BOOL && v->b_expr) {
    put_expr(o, v->b_expr, v);
  } else if (v->kind == IG_KIND_FLOAT && v->f_expr) {
    put_expr(o, v->f_expr, v);
  } else if (v->kind == IG_KIND_INT) {
    put_int(o, "as_int", v->i.value);
  } else if (v->kind == IG_KIND_BOOL) {
    put_bool(o, "as_bool", v->b);
  } else {
    open_union(o, "as_float");
    put_float(o, v->f);
    close_union(o);
  }
}

static void put_size(ig_pt2_out *o, ig_int i) {
  ig_value v = ig_of_int(i);
  ig_pt2_put_number(o, &v);
}

static void put_sizes(ig_pt2_out *o, const char *key, const ig_int *at, int n) {
  ig_json_key(o->w, key);
  ig_json_open(o->w, '[');
  for (int i = 0; i < n; i++) put_size(o, at[i]);
  ig_json_close(o->w, ']');
}

static void put_device(ig_pt2_out *o, ig_device d) {
  ig_json_open(o->w, '{');
  ig_json_key(o->w, "type");
  ig_json_str(o->w, ig_device_type_text(d));
  ig_json_key(o->w, "index");
  if (d.index < 0) ig_json_null(o->w);
  if (d.index >= 0) ig_json_int(o->w, d.index);
  ig_json_close(o->w, '}');
}

void ig_pt2_put_tensor_meta(ig_pt2_out *o, const ig_tensor *t, bool requires_grad) {
  ig_json_open(o->w, '{');
  ig_json_key(o->w, "dtype");
  ig_json_int(o->w, dtype_number(o, t->dtype));
  put_sizes(o, "sizes", ig_sizes(t), t->ndim);
  ig_json_key(o->w, "requires_grad");
  ig_json_bool(o->w, requires_grad);
  ig_json_key(o->w, "device");
  put_device(o, t->device);
  put_sizes(o, "strides", ig_strides(t), t->ndim);
  ig_json_key(o->w, "storage_offset");
  put_size(o, t->offset);
  ig_json_key(o->w, "layout");
  ig_json_int(o->w, layout_numbers[IG_STRIDED]);
  ig_json_close(o->w, '}');
}

static void put_object(ig_pt2_out *o, const ig_node *n) {
  open_union(o, "as_custom_obj");
  ig_json_open(o->w, '{');
  ig_json_key(o->w, "name");
  ig_json_str(o->w, o->name(o->user, n));
  ig_json_key(o->w, "class_fqn");
  ig_json_str(o->w, ig_pt2_object_class(n));
  ig_json_close(o->w, '}');
  close_union(o);
}

static void put_node(ig_pt2_out *o, const ig_node *n) {
  const char *name = o->name(o->user, n);
  if (n->sub && o->graph) {
    open_union(o, "as_graph");
    o->graph(o->user, n);
    close_union(o);
    return;
  }
  if (ig_node_is_placeholder(n) && n->role == IG_INPUT_OBJECT) {
    put_object(o, n);
    return;
  }
  const char *key = NULL;
  switch (n->val.kind) {
    case IG_KIND_TENSOR:
      ig_pt2_put_named(o, "as_tensor", name);
      return;
    case IG_KIND_INT:
      key = "as_sym_int";
      break;
    case IG_KIND_FLOAT:
      key = "as_sym_float";
      break;
    case IG_KIND_BOOL:
      key = "as_sym_bool";
      break;
    case IG_KIND_NONE:
      put_none(o);
      return;
    default:
      (void)ig_fail(o->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "node '%s' is used whole, and is neither tensor nor number", n->name);
      return;
  }
  open_union(o, key);
  put_text(o, "as_name", name);
  close_union(o);
}

static void put_complex(ig_pt2_out *o, ig_c128 z) {
  open_union(o, "as_complex");
  ig_json_open(o->w, '{');
  ig_json_key(o->w, "real");
  put_float(o, z.re);
  ig_json_key(o->w, "imag");
  put_float(o, z.im);
  ig_json_close(o->w, '}');
  close_union(o);
}

// ---- lists

// The kind of a list element; nodes are replaced by their values.
static ig_kind element_kind(const ig_value *v) {
  return v->kind == IG_KIND_NODE ? v->node->val.kind : v->kind;
}

static const char *empty_list_key(const ig_arg *type) {
  switch (type ? type->type : IG_TYPE_TENSOR) {
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return "as_ints";
    case IG_TYPE_FLOAT:
      return "as_floats";
    case IG_TYPE_BOOL:
      return "as_bools";
    case IG_TYPE_STR:
      return "as_strings";
    default:
      return "as_tensors";
  }
}

typedef struct list_facts {
  bool kinds[IG_KIND_COUNT];
  size_t distinct;
  bool nodes;
} list_facts;

static list_facts look_at_list(const ig_value *v) {
  list_facts f = {0};
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *e = &v->list.at[i];
    ig_kind kind = element_kind(e);
    f.distinct += !f.kinds[kind];
    f.kinds[kind] = true;
    f.nodes = f.nodes || e->kind == IG_KIND_NODE;
  }
  return f;
}

// A list of lists of one kind.
static const char *nested_key(const ig_value *v) {
  list_facts all = {0};
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *inner = &v->list.at[i];
    if (inner->kind != IG_KIND_LIST || inner->seq > IG_SEQ_TUPLE) return NULL;
    list_facts f = look_at_list(inner);
    for (int k = 0; k < IG_KIND_COUNT; k++) {
      all.distinct += f.kinds[k] && !all.kinds[k];
      all.kinds[k] = all.kinds[k] || f.kinds[k];
    }
    all.nodes = all.nodes || f.nodes;
  }
  if (all.distinct != 1) return NULL;
  if (all.kinds[IG_KIND_TENSOR]) return "as_nested_tensors";
  if (all.kinds[IG_KIND_INT] && !all.nodes) return "as_int_lists";
  if (all.kinds[IG_KIND_FLOAT] && !all.nodes) return "as_float_lists";
  return NULL;
}

static const char *list_key(const ig_value *v, const ig_arg *type) {
  static const struct {
    ig_kind kind;
    const char *plain;
    const char *symbolic;
  } keys[] = {{IG_KIND_INT, "as_ints", "as_sym_ints"},
              {IG_KIND_FLOAT, "as_floats", "as_sym_floats"},
              {IG_KIND_BOOL, "as_bools", "as_sym_bools"},
              {IG_KIND_STR, "as_strings", NULL}};
  list_facts f = look_at_list(v);
  if (f.distinct == 0) return empty_list_key(type);
  if (f.kinds[IG_KIND_TENSOR] && f.distinct == 1) return "as_tensors";
  if (f.kinds[IG_KIND_TENSOR] && f.kinds[IG_KIND_NONE] && f.distinct == 2)
    return "as_optional_tensors";
  if (f.kinds[IG_KIND_NONE] && f.distinct == 1) return "as_optional_tensors";
  if (f.kinds[IG_KIND_LIST]) return nested_key(v);
  for (size_t i = 0; i < sizeof keys / sizeof *keys && f.distinct == 1; i++) {
    if (f.kinds[keys[i].kind]) return f.nodes ? keys[i].symbolic : keys[i].plain;
  }
  return NULL;
}

static void put_element(ig_pt2_out *o, const ig_value *e, const char *key) {
  bool optional = strcmp(key, "as_optional_tensors") == 0;
  bool symbolic = strncmp(key, "as_sym_", 7) == 0;
  if (e->kind == IG_KIND_LIST) {
    ig_json_open(o->w, '[');
    for (size_t i = 0; i < e->list.n; i++) put_element(o, &e->list.at[i], key);
    ig_json_close(o->w, ']');
  } else if (e->kind == IG_KIND_NODE && optional) {
    ig_pt2_put_named(o, "as_tensor", o->name(o->user, e->node));
  } else if (e->kind == IG_KIND_NODE) {
    put_text(o, symbolic ? "as_name" : "name", o->name(o->user, e->node));
  } else if (e->kind == IG_KIND_NONE) {
    put_none(o);
  } else if (symbolic) {
    ig_pt2_put_number(o, e);
  } else if (e->kind == IG_KIND_INT) {
    ig_json_int(o->w, e->i.value);
  } else if (e->kind == IG_KIND_FLOAT) {
    put_float(o, e->f);
  } else if (e->kind == IG_KIND_BOOL) {
    ig_json_bool(o->w, e->b);
  } else {
    ig_json_str(o->w, e->str);
  }
}

static void put_map(ig_pt2_out *o, const ig_value *v) {
  open_union(o, "as_string_to_argument");
  ig_json_open(o->w, '{');
  for (size_t i = 0; i + 1 < v->list.n; i += 2) {
    if (v->list.at[i].kind != IG_KIND_STR) {
      (void)ig_fail(o->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "a dictionary whose keys are no strings");
      break;
    }
    ig_json_key(o->w, v->list.at[i].str);
    ig_pt2_put_argument(o, &v->list.at[i + 1], NULL);
  }
  ig_json_close(o->w, '}');
  close_union(o);
}

static void put_list(ig_pt2_out *o, const ig_value *v, const ig_arg *type) {
  if (v->seq == IG_SEQ_DICT) {
    put_map(o, v);
    return;
  }
  const char *key = list_key(v, type);
  open_union(o, key ? key : "as_arguments");
  ig_json_open(o->w, '[');
  for (size_t i = 0; i < v->list.n; i++) {
    if (key) {
      put_element(o, &v->list.at[i], key);
    } else {
      ig_pt2_put_argument(o, &v->list.at[i], NULL);
    }
  }
  ig_json_close(o->w, ']');
  close_union(o);
}

static void put_operator(ig_pt2_out *o, const ig_op *op) {
  char text[256];
  (void)snprintf(text, sizeof text, "torch.ops.%s", op->target);
  put_text(o, "as_operator", text);
}

void ig_pt2_put_argument(ig_pt2_out *o, const ig_value *v, const ig_arg *type) {
  switch (v->kind) {
    case IG_KIND_NONE:
      put_none(o);
      break;
    case IG_KIND_NODE:
      put_node(o, v->node);
      break;
    case IG_KIND_INT:
      put_int(o, "as_int", v->i.value);
      break;
    case IG_KIND_FLOAT:
      open_union(o, "as_float");
      put_float(o, v->f);
      close_union(o);
      break;
    case IG_KIND_BOOL:
      put_bool(o, "as_bool", v->b);
      break;
    case IG_KIND_COMPLEX:
      put_complex(o, v->z);
      break;
    case IG_KIND_STR:
      put_text(o, "as_string", v->str);
      break;
    case IG_KIND_DTYPE:
      put_int(o, "as_scalar_type", dtype_number(o, v->dtype));
      break;
    case IG_KIND_LAYOUT:
      put_int(o, "as_layout", layout_numbers[v->layout]);
      break;
    case IG_KIND_MEMORY_FORMAT:
      put_int(o, "as_memory_format", format_numbers[v->memory_format]);
      break;
    case IG_KIND_DEVICE:
      open_union(o, "as_device");
      put_device(o, v->device);
      close_union(o);
      break;
    case IG_KIND_OP:
      put_operator(o, v->op);
      break;
    case IG_KIND_LIST:
      put_list(o, v, type);
      break;
    default:
      (void)ig_fail(o->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "argument '%s': the export schema has no such value", type ? type->name : "");
  }
}
