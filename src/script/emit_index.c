// SPDX-License-Identifier: Apache-2.0
// Subscripts: reading, assigning, augmented assignment.
#include <string.h>

#include "script/emitter.h"

static bool is_tensor(const ig_svalue *v) {
  return v->type->kind == IG_STYPE_TENSOR;
}

// The subscripts of x[a, b] as a list.
static size_t subscripts(const ig_tree *t, const ig_tree *const **at) {
  const ig_tree *index = t->at[1];
  if (index->kind == IG_TREE_TUPLE && index->n > 0) {
    *at = (const ig_tree *const *)index->at;
    return index->n;
  }
  *at = (const ig_tree *const *)&t->at[1];
  return 1;
}

// ---- slices

static ig_svalue *bound(ig_emitter *e, ig_srange where, const ig_tree *t) {
  return t ? ig_emit_expr(e, t, NULL) : ig_emit_none(e, where);
}

static bool constant_bound(ig_emitter *e, const ig_tree *t, int64_t *out, bool *given) {
  *given = t && t->kind != IG_TREE_NONE;
  if (!*given) return true;
  const ig_svalue *v = ig_emit_expr(e, t, NULL);
  const ig_value *known = v ? ig_emit_constant_of(v) : NULL;
  if (!v) return false;
  if (!known || known->kind != IG_KIND_INT) {
    ig_emit_error(e, t->range, "tuple slice indices must be integer constants");
    return false;
  }
  *out = known->i.value;
  return true;
}

// First index and number of the elements that a slice of n takes.
static size_t slice_range(int64_t n, bool has_start, int64_t start, bool has_stop, int64_t stop,
                          int64_t step, int64_t *first) {
  int64_t low = step < 0 ? -1 : 0;
  int64_t high = step < 0 ? n - 1 : n;
  int64_t from = has_start ? (start < 0 ? start + n : start) : step < 0 ? high : low;
  int64_t to = has_stop ? (stop < 0 ? stop + n : stop) : step < 0 ? low : high;
  from = from < low ? low : from > high ? high : from;
  to = to < low ? low : to > high ? high : to;
  *first = from;
  int64_t span = step < 0 ? from - to : to - from;
  int64_t size = step < 0 ? -step : step;
  return span <= 0 ? 0 : (size_t)((span + size - 1) / size);
}

static ig_svalue *slice_tuple(ig_emitter *e, ig_srange where, ig_svalue *v, const ig_tree *slice) {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  bool has_start = false;
  bool has_stop = false;
  bool has_step = false;
  if (!constant_bound(e, slice->at[0], &start, &has_start) ||
      !constant_bound(e, slice->at[1], &stop, &has_stop) ||
      !constant_bound(e, slice->at[2], &step, &has_step)) {
    return NULL;
  }
  if (step == 0 || step == INT64_MIN) {
    ig_emit_error(e, where, "slice step cannot be zero");
    return NULL;
  }
  int64_t first = 0;
  size_t n = slice_range((int64_t)v->type->n, has_start, start, has_stop, stop, step, &first);
  ig_svalue **at = ig_emit_array(e, n, sizeof(ig_svalue *));
  for (size_t i = 0; at && i < n; i++) {
    int64_t index = first + (int64_t)i * step;
    ig_svalue *in[] = {v, ig_emit_int(e, where, index)};
    at[i] = ig_emit_value(e, "prim::TupleIndex", where, in, 2, v->type->at[index]);
    if (!at[i]) return NULL;
  }
  return at ? ig_emit_tuple(e, where, at, n) : NULL;
}

static ig_svalue *slice(ig_emitter *e, ig_srange where, ig_svalue *v, ig_svalue *dim,
                        const ig_tree *t) {
  if (v->type->kind == IG_STYPE_TUPLE) return slice_tuple(e, where, v, t);
  ig_svalue *in[5];
  size_t n = 0;
  in[n++] = v;
  if (dim) in[n++] = dim;
  ig_svalue *start = bound(e, where, t->at[0]);
  ig_svalue *stop = start ? bound(e, where, t->at[1]) : NULL;
  if (!stop) return NULL;
  in[n++] = start;
  in[n++] = stop;
  in[n++] = t->at[2] ? ig_emit_expr(e, t->at[2], NULL) : ig_emit_int(e, where, 1);
  return ig_emit_op(e, where, "aten::slice", in, n);
}

// ---- tensors

typedef struct indexing {
  ig_emitter *e;
  ig_srange where;
  const ig_tree *const *at;
  size_t n;
  int64_t *dims;
  ig_svalue **values;   // NULL: a slice or an ellipsis
  ig_svalue *sliced;    // integers and slices applied
  ig_svalue **tensors;  // per dimension of that; NULL: none
  size_t n_tensors;
} indexing;

static ig_svalue *as_index(indexing *x, ig_svalue *v) {
  if (v->type->kind != IG_STYPE_LIST) return v;
  ig_emitter *e = x->e;
  ig_value dtype = {.kind = IG_KIND_DTYPE, .dtype = IG_I64};
  ig_sactual at[] = {
      {.range = x->where, .value = v},
      {.name = "dtype",
       .range = x->where,
       .value = ig_emit_constant(e, (ig_srange){0}, dtype, NULL)},
  };
  return at[1].value ? ig_emit_builtin(e, x->where, "aten::tensor", &(ig_sactuals){at, 1, 1}, NULL)
                     : NULL;
}

// Counts the dimension of one subscript; false after an error.
static bool place(indexing *x, size_t i, int64_t *dim, bool reverse) {
  const ig_tree *t = x->at[i];
  x->dims[i] = *dim;
  int64_t step = reverse ? -1 : 1;
  if (t->kind == IG_TREE_SLICE) {
    *dim += step;
    return true;
  }
  ig_svalue *v = ig_emit_expr(x->e, t, NULL);
  if (v) v = as_index(x, v);
  if (!v) return false;
  x->values[i] = v;
  const ig_stype *type = v->type;
  if (type->kind == IG_STYPE_NONE) {
    if (!reverse) *dim += 1;
    return true;
  }
  if (type->kind == IG_STYPE_INT) {
    if (reverse) *dim -= 1;
    return true;
  }
  bool tensor = type->kind == IG_STYPE_TENSOR ||
                (type->kind == IG_STYPE_OPTIONAL && type->at[0]->kind == IG_STYPE_TENSOR);
  if (tensor && !reverse) {
    *dim += 1;
    return true;
  }
  if (tensor) {
    ig_emit_error(x->e, x->where,
                  "Ellipses followed by tensor indexing is currently not supported");
  } else {
    ig_emit_error(x->e, x->where,
                  "Unsupported operation: indexing tensor with unsupported index type '%s'. Only "
                  "ints, slices, lists and tensors are supported",
                  ig_emit_repr(x->e, type));
  }
  return false;
}

static bool place_all(indexing *x) {
  size_t i = 0;
  int64_t dim = 0;
  for (; i < x->n && x->at[i]->kind != IG_TREE_ELLIPSIS; i++) {
    if (!place(x, i, &dim, false)) return false;
  }
  int64_t back = -1;
  for (size_t k = x->n; i < x->n && k-- > i + 1;) {
    if (x->at[k]->kind == IG_TREE_ELLIPSIS) {
      ig_emit_error(x->e, x->where, "An index can only have a single ellipsis ('...')");
      return false;
    }
    if (!place(x, k, &back, true)) return false;
  }
  return true;
}

static bool apply(indexing *x, size_t i) {
  ig_emitter *e = x->e;
  ig_svalue *v = x->values[i];
  if (!v && x->at[i]->kind == IG_TREE_ELLIPSIS) return true;
  if (!v) {
    x->sliced = slice(e, x->where, x->sliced, ig_emit_int(e, x->where, x->dims[i]), x->at[i]);
    return x->sliced != NULL;
  }
  if (v->type->kind == IG_STYPE_NONE) {
    ig_svalue *in[] = {x->sliced, ig_emit_int(e, x->where, x->dims[i])};
    x->sliced = ig_emit_op(e, x->where, "aten::unsqueeze", in, 2);
    return x->sliced != NULL;
  }
  if (v->type->kind == IG_STYPE_INT) {
    ig_svalue *in[] = {x->sliced, ig_emit_int(e, x->where, x->dims[i]), v};
    x->sliced = ig_emit_op(e, x->where, "aten::select", in, 3);
    return x->sliced != NULL;
  }
  x->tensors[x->dims[i]] = v;
  x->n_tensors = (size_t)x->dims[i] + 1;
  return true;
}

static bool index_tensor(indexing *x, ig_emitter *e, const ig_tree *t, ig_svalue *v) {
  *x = (indexing){.e = e, .where = t->range, .sliced = v};
  x->n = subscripts(t, &x->at);
  x->dims = ig_emit_array(e, x->n, sizeof *x->dims);
  x->values = ig_emit_array(e, x->n, sizeof(ig_svalue *));
  x->tensors = ig_emit_array(e, x->n + 1, sizeof(ig_svalue *));
  if (!x->dims || !x->values || !x->tensors || !place_all(x)) return false;
  for (size_t i = 0; i < x->n; i++) {
    if (!apply(x, i)) return false;
  }
  for (size_t i = 0; i < x->n_tensors; i++) {
    if (!x->tensors[i] && !(x->tensors[i] = ig_emit_none(e, (ig_srange){0}))) return false;
  }
  return true;
}

static ig_svalue *index_list(indexing *x) {
  const ig_stype *tensor = ig_emit_plain(x->e, IG_STYPE_TENSOR);
  const ig_stype *item = tensor ? ig_stype_optional(&x->e->u->types, tensor) : NULL;
  return ig_emit_list(x->e, (ig_srange){0}, item, x->tensors, x->n_tensors);
}

static ig_svalue *read_index(indexing *x) {
  if (!x->n_tensors) return x->sliced;
  ig_svalue *in[] = {x->sliced, index_list(x)};
  return in[1] ? ig_emit_op(x->e, x->where, "aten::index", in, 2) : NULL;
}

// ---- tuples and containers

static bool tuple_position(ig_emitter *e, ig_srange where, const ig_stype *type, int64_t i,
                           size_t *out) {
  int64_t n = (int64_t)type->n;
  if (i < -n || i >= n) {
    ig_emit_error(e, where, "Tuple index out of range. Tuple is length %lld and index is %lld",
                  (long long)n, (long long)i);
    return false;
  }
  *out = (size_t)(i < 0 ? i + n : i);
  return true;
}

static ig_svalue *index_tuple(ig_emitter *e, ig_srange where, ig_svalue *v, ig_svalue *i) {
  if (i->type->kind != IG_STYPE_INT) {
    ig_emit_error(e, where, "tuple index must be an integer");
    return NULL;
  }
  const ig_stype *type = v->type;
  const ig_value *known = ig_emit_constant_of(i);
  const ig_stype *item = NULL;
  if (known) {
    size_t at = 0;
    if (!tuple_position(e, where, type, known->i.value, &at)) return NULL;
    item = type->at[at];
  } else {
    bool equal = type->n > 0;
    for (size_t k = 1; k < type->n; k++) equal &= type->at[k] == type->at[0];
    if (!equal) {
      ig_emit_error(e, where,
                    "Cannot index into a %s with a non-integer literal because we cannot resolve "
                    "the output type",
                    ig_emit_repr(e, type));
      return NULL;
    }
    item = type->at[0];
  }
  ig_svalue *in[] = {v, i};
  return ig_emit_value(e, "prim::TupleIndex", where, in, 2, item);
}

static bool slice_items(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_tree *t,
                        ig_sugar *out) {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  bool has[3];
  if (!constant_bound(e, t->at[0], &start, &has[0]) ||
      !constant_bound(e, t->at[1], &stop, &has[1]) ||
      !constant_bound(e, t->at[2], &step, &has[2])) {
    return false;
  }
  if (step == 0 || step == INT64_MIN) {
    ig_emit_error(e, where, "slice step cannot be zero");
    return false;
  }
  int64_t first = 0;
  size_t n = slice_range((int64_t)s->items.n, has[0], start, has[1], stop, step, &first);
  ig_sugar *at = ig_emit_array(e, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) at[i] = s->items.at[first + (int64_t)i * step];
  *out = (ig_sugar){.kind = IG_SUGAR_TUPLE, .items = {.at = at, .n = n}};
  return at != NULL;
}

static const char not_literal[] =
    "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential "
    "indexing is only supported with integer literals. For example, 'i = 4; self.layers[i](x)' "
    "will fail because i is not a literal. Enumeration is supported, e.g. 'for index, v in "
    "enumerate(self): out = v(inp)'";

static bool index_items(ig_emitter *e, const ig_tree *t, const ig_sugar *s, const ig_stype *hint,
                        ig_sugar *out) {
  ig_srange where = t->range;
  if (t->at[1]->kind == IG_TREE_SLICE) return slice_items(e, where, s, t->at[1], out);
  ig_svalue *i = ig_emit_expr(e, t->at[1], NULL);
  const ig_value *known = i ? ig_emit_constant_of(i) : NULL;
  if (!i) return false;
  if (s->kind == IG_SUGAR_DICT && known && known->kind == IG_KIND_STR) {
    for (size_t k = 0; k < s->items.n; k++) {
      if (strcmp(s->items.keys[k], known->str) != 0) continue;
      *out = s->items.at[k];
      return true;
    }
    ig_emit_error(e, where, "Key Error, %s", known->str);
    return false;
  }
  if (s->kind == IG_SUGAR_TUPLE && known && known->kind == IG_KIND_INT) {
    int64_t n = (int64_t)s->items.n;
    int64_t at = known->i.value < 0 ? known->i.value + n : known->i.value;
    if (at < 0 || at >= n) {
      ig_emit_error(e, where, "Index %lld out of range of length %lld", (long long)known->i.value,
                    (long long)n);
      return false;
    }
    *out = s->items.at[at];
    return true;
  }
  // A run-time index gives something of an interface that all of them have.
  if (hint && hint->kind == IG_STYPE_INTERFACE && s->items.module) {
    ig_svalue *in[] = {s->items.module, i};
    return ig_sugar_give(out, ig_emit_value(e, "prim::ModuleContainerIndex", where, in, 2, hint));
  }
  ig_emit_error(e, where, "%s",
                s->kind == IG_SUGAR_DICT
                    ? "Unable to extract string literal index. ModuleDict indexing "
                      "is only supported with string literals. For example, 'i = "
                      "\"a\"; self.layers[i](x)' will fail because i is not a "
                      "literal. Enumeration of ModuleDict is supported, e.g. 'for "
                      "k, v in self.items(): out = v(inp)'"
                    : not_literal);
  return false;
}

// ---- reading

static bool index_value(ig_emitter *e, const ig_tree *t, ig_svalue *v, ig_sugar *out) {
  const ig_tree *i = t->at[1];
  if (is_tensor(v)) {
    indexing x;
    return index_tensor(&x, e, t, v) && ig_sugar_give(out, read_index(&x));
  }
  if (i->kind == IG_TREE_TUPLE) {
    ig_emit_error(
        e, t->range,
        "Unsupported operation: attempted to use multidimensional indexing on unsupported "
        "type '%s'",
        ig_emit_repr(e, v->type));
    return false;
  }
  if (i->kind == IG_TREE_SLICE) return ig_sugar_give(out, slice(e, t->range, v, NULL, i));
  ig_svalue *index = ig_emit_expr(e, i, NULL);
  if (!index) return false;
  if (v->type->kind == IG_STYPE_TUPLE)
    return ig_sugar_give(out, index_tuple(e, t->range, v, index));
  ig_stype_kind kind = v->type->kind;
  if (kind == IG_STYPE_LIST || kind == IG_STYPE_DICT || kind == IG_STYPE_STR) {
    ig_svalue *in[] = {v, index};
    return ig_sugar_give(out, ig_emit_op(e, t->range, "aten::__getitem__", in, 2));
  }
  if (kind == IG_STYPE_CLASS) {
    ig_sugar self = ig_sugar_value(v);
    ig_sugar method;
    ig_sactual at[] = {{.range = t->range, .value = index}};
    return ig_emit_attr(e, t->range, &self, "__getitem__", &method) &&
           ig_emit_call(e, t->range, &method, &(ig_sactuals){at, 1, 0}, 1, out);
  }
  ig_emit_error(e, t->range, "'%s' object is not subscriptable", ig_emit_repr(e, v->type));
  return false;
}

bool ig_emit_subscript(ig_emitter *e, const ig_tree *t, const ig_stype *hint, ig_sugar *out) {
  ig_sugar s;
  if (!ig_emit_sugar(e, t->at[0], 1, NULL, &s)) return false;
  if (s.kind == IG_SUGAR_VALUE && ig_emit_container(s.value) != IG_SCONTAINER_NONE) {
    ig_sugar all;
    if (!ig_emit_children(e, t->range, s.value, &all)) return false;
    return index_items(e, t, &all, hint, out);
  }
  if (s.kind == IG_SUGAR_TUPLE || s.kind == IG_SUGAR_DICT) return index_items(e, t, &s, hint, out);
  if (s.kind == IG_SUGAR_CLASS && s.type->kind == IG_STYPE_ENUM) {
    ig_svalue *key = ig_emit_expr(e, t->at[1], NULL);
    const ig_value *known = key ? ig_emit_constant_of(key) : NULL;
    if (known && known->kind == IG_KIND_STR) return ig_emit_attr(e, t->range, &s, known->str, out);
  }
  ig_svalue *v = ig_emit_as_value(e, t->at[0]->range, &s);
  return v && index_value(e, t, v, out);
}

// ---- writing

// A number becomes a tensor of the dtype and device of what it is written to.
static ig_svalue *as_tensor(ig_emitter *e, ig_srange where, ig_svalue *v, ig_svalue *like) {
  switch (v->type->kind) {
    case IG_STYPE_INT:
    case IG_STYPE_FLOAT:
    case IG_STYPE_BOOL:
    case IG_STYPE_COMPLEX:
    case IG_STYPE_NUMBER:
      break;
    default:
      return v;
  }
  ig_sactual at[] = {
      {.range = where, .value = v},
      {.name = "dtype", .value = ig_emit_op(e, (ig_srange){0}, "prim::dtype", &like, 1)},
      {.name = "device", .value = ig_emit_op(e, (ig_srange){0}, "prim::device", &like, 1)},
  };
  return at[1].value && at[2].value
             ? ig_emit_builtin(e, (ig_srange){0}, "aten::tensor", &(ig_sactuals){at, 1, 2}, NULL)
             : NULL;
}

static bool set_item(ig_emitter *e, ig_srange where, ig_svalue *v, ig_svalue *index,
                     ig_svalue *value) {
  ig_svalue *in[] = {v, index, value};
  if (v->type->kind != IG_STYPE_CLASS) return ig_emit_op(e, where, "aten::_set_item", in, 3);
  ig_sugar self = ig_sugar_value(v);
  ig_sugar method;
  ig_sugar out;
  ig_sactual at[] = {{.range = where, .value = index}, {.range = where, .value = value}};
  return index && value && ig_emit_attr(e, where, &self, "__setitem__", &method) &&
         ig_emit_call(e, where, &method, &(ig_sactuals){at, 2, 0}, 1, &out);
}

static bool can_be_assigned(ig_emitter *e, const ig_tree *target, const ig_svalue *v) {
  ig_tree_kind kind = target->at[1]->kind;
  if (kind == IG_TREE_SLICE || kind == IG_TREE_TUPLE) {
    ig_srange where = target->range;
    where.end = target->at[1]->range.end;
    ig_emit_error(e, where,
                  "Sliced expression not yet supported for subscripted assignment. File a bug if "
                  "you want this");
    return false;
  }
  if (v->type->kind != IG_STYPE_TUPLE) return true;
  ig_emit_error(e, target->range, "%s does not support subscripted assignment",
                ig_emit_repr(e, v->type));
  return false;
}

bool ig_emit_assign_subscript(ig_emitter *e, const ig_tree *target, ig_srange where,
                              ig_svalue *value) {
  ig_svalue *v = ig_emit_expr(e, target->at[0], NULL);
  if (!v || !value) return false;
  if (is_tensor(v)) {
    indexing x;
    if (!index_tensor(&x, e, target, v)) return false;
    value = as_tensor(e, where, value, x.sliced);
    if (!value) return false;
    if (!x.n_tensors) {
      ig_svalue *in[] = {x.sliced, value};
      return ig_emit_op(e, where, "aten::copy_", in, 2) != NULL;
    }
    ig_svalue *in[] = {x.sliced, index_list(&x), value};
    return in[1] && ig_emit_op(e, where, "aten::index_put_", in, 3) != NULL;
  }
  if (!can_be_assigned(e, target, v)) return false;
  ig_svalue *index = ig_emit_expr(e, target->at[1], NULL);
  return index && set_item(e, where, v, index, value);
}

bool ig_emit_augment_subscript(ig_emitter *e, const ig_tree *t) {
  const ig_tree *target = t->at[0];
  ig_svalue *v = ig_emit_expr(e, target->at[0], NULL);
  if (!v) return false;
  if (is_tensor(v)) {
    indexing x;
    if (!index_tensor(&x, e, target, v)) return false;
    ig_svalue *old = read_index(&x);
    ig_svalue *value = old ? ig_emit_expr(e, t->at[1], NULL) : NULL;
    ig_svalue *made = value ? ig_emit_augment(e, t, old, value) : NULL;
    if (!made) return false;
    if (!x.n_tensors) return true;
    ig_svalue *in[] = {x.sliced, index_list(&x), made};
    return in[1] && ig_emit_op(e, t->range, "aten::index_put_", in, 3) != NULL;
  }
  if (!can_be_assigned(e, target, v)) return false;
  ig_svalue *index = ig_emit_expr(e, target->at[1], NULL);
  if (!index) return false;
  ig_svalue *in[] = {v, index};
  ig_svalue *old = ig_emit_op(e, target->range, "aten::__getitem__", in, 2);
  ig_svalue *value = old ? ig_emit_expr(e, t->at[1], NULL) : NULL;
  ig_svalue *made = value ? ig_emit_augment(e, t, old, value) : NULL;
  return made && set_item(e, t->range, v, index, made);
}
