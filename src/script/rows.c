// SPDX-License-Identifier: Apache-2.0
#include "script/rows.h"

#include "ingot/aten.h"
#include "op/call.h"
#include "script/builtin.h"
#include "script/form.h"
#include "sym/env.h"

bool ig_srows_takes(const ig_stype *list) {
  if (!list || list->kind != IG_STYPE_LIST) return false;
  ig_stype_kind kind = list->at[0]->kind;
  return kind == IG_STYPE_TENSOR || kind == IG_STYPE_INT || kind == IG_STYPE_FLOAT ||
         kind == IG_STYPE_BOOL;
}

// ---- elements

static ig_tensor *as_tensor(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_TENSOR) return v.tensor;
  ig_dtype dtype = v.kind == IG_KIND_INT ? IG_I64 : v.kind == IG_KIND_BOOL ? IG_BOOL : IG_F64;
  if (v.kind == IG_KIND_INT || v.kind == IG_KIND_BOOL || v.kind == IG_KIND_FLOAT) {
    return ig_scalar_tensor_with(c, v, ig_of_dtype(dtype), ig_none(), ig_none(), ig_none());
  }
  ig_fail_text(c, IG_UNSUPPORTED,
               "a list whose length depends on data or on dynamic sizes has an element that is no "
               "tensor or number");
  return NULL;
}

static void refuse_pieces(ig_ctx *c) {
  ig_fail_text(c, IG_UNSUPPORTED,
               "the pieces that a tensor with a dynamic size is split into may have different "
               "sizes: they can be read, joined again and returned, but not changed as a list");
}

// A list of pieces of one element each is the tensor with that dimension in front.
static ig_tensor *pieces_stacked(ig_ctx *c, const ig_sobj_seq *s) {
  if (s->piece.expr || s->piece.value > 1) {
    refuse_pieces(c);
    return NULL;
  }
  ig_tensor *front = ig_movedim_int(c, s->rows, ig_const(s->dim), ig_const(0));
  return front ? ig_unsqueeze(c, front, ig_const(s->dim + 1)) : NULL;
}

static bool is_stacked(const ig_sobj_seq *s) {
  return !s->lengths && !s->piece.expr && s->piece.value == 0;
}

static bool is_equal(ig_ctx *c, ig_int a, ig_int b) {
  if (!a.expr && !b.expr) return a.value == b.value;  // concrete: both are constants
  if (a.expr && a.expr == b.expr) return true;
  const ig_value sides[] = {ig_of_int(a), ig_of_int(b)};
  ig_value holds = ig_none();
  bool answer = false;
  ig_sym_apply(c, IG_EXPR_EQ, sides, 2, &holds);
  return holds.kind == IG_KIND_BOOL && ig_bool_known(c, &holds, &answer) && answer;
}

// Do the elements of a list differ in their size along d? A size that stands in the data may be
// that of one round of a loop.
static bool differs_along(ig_ctx *c, const ig_sobj_seq *s, int d) {
  ig_int first = ig_sizes(s->at[0].tensor)[d];
  bool differs = first.expr && !first.expr->backed;
  for (size_t i = 1; i < s->n && !differs; i++)
    differs = !is_equal(c, first, ig_sizes(s->at[i].tensor)[d]);
  return differs;
}

// Elements that are tensors of one number of dimensions, and differ in one size only.
static void learn_ragged(ig_ctx *c, const ig_sobj_seq *s, ig_srows_like *like) {
  int found = -1;
  for (size_t i = 0; i < s->n; i++) {
    if (s->at[i].kind != IG_KIND_TENSOR || s->at[i].tensor->ndim != like->meta.ndim) return;
  }
  for (int d = 0; d < like->meta.ndim; d++) {
    if (!differs_along(c, s, d)) continue;
    if (found >= 0) return;
    found = d;
  }
  like->ragged = found >= 0;
  if (!like->ragged) return;
  like->dim = found;
  like->meta.size[found] = ig_const(0);
}

static void learn_joined(ig_ctx *c, const ig_sobj_seq *s, ig_srows_like *like) {
  ig_meta_init(&like->meta, s->rows->dtype, s->rows->device);
  for (int d = 0; d < s->rows->ndim; d++) ig_meta_push_dim(c, &like->meta, ig_sizes(s->rows)[d]);
  like->meta.size[s->dim] = ig_const(0);
  like->ragged = like->known = true;
  like->dim = s->dim;
}

void ig_srows_learn(ig_ctx *c, ig_value list, ig_srows_like *like) {
  const ig_sobj_seq *s = list.object;
  if (ig_srows_is(list) && s->lengths) {
    learn_joined(c, s, like);
  } else if (ig_srows_is(list)) {
    ig_scope scope = ig_scope_open(c);
    const ig_tensor *t = is_stacked(s) ? s->rows : pieces_stacked(c, s);
    if (t) ig_meta_init(&like->meta, t->dtype, t->device);
    for (int d = 1; t && d < t->ndim; d++) ig_meta_push_dim(c, &like->meta, ig_sizes(t)[d]);
    like->known = t != NULL;
    ig_scope_close(c, scope);
  } else if (s->n) {
    const ig_value *v = &s->at[0];
    if (v->kind == IG_KIND_TENSOR) {
      ig_meta_init(&like->meta, v->tensor->dtype, v->tensor->device);
      for (int d = 0; d < v->tensor->ndim; d++) {
        ig_meta_push_dim(c, &like->meta, ig_sizes(v->tensor)[d]);
      }
      learn_ragged(c, s, like);
    } else {
      ig_dtype dtype = v->kind == IG_KIND_INT ? IG_I64 : v->kind == IG_KIND_BOOL ? IG_BOOL : IG_F64;
      ig_meta_init(&like->meta, dtype, ig_device_cpu());
    }
    like->known = true;
  }
}

void ig_srows_learn_more(ig_ctx *c, ig_value list, ig_srows_like *like) {
  ig_srows_like found = {0};
  ig_srows_learn(c, list, &found);
  if (!like->known || found.ragged) *like = found;
}

static ig_tensor *none_of(ig_ctx *c, const ig_srows_like *like) {
  ig_int sizes[IG_MAX_DIM + 1];
  sizes[0] = ig_const(0);
  for (int d = 0; d < like->meta.ndim; d++) sizes[d + 1] = like->meta.size[d];
  return ig_zeros_with(c, ig_of_ints(sizes, (size_t)like->meta.ndim + 1),
                       ig_of_dtype(like->meta.dtype), ig_none(), ig_none(), ig_none());
}

ig_tensor *ig_srows_stacked(ig_ctx *c, ig_value list, const ig_srows_like *like) {
  const ig_sobj_seq *s = list.object;
  if (ig_srows_is(list) && s->lengths) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "the elements of a list of dynamic length have different sizes: they can be read, "
                 "joined again and returned, and others can be added behind them");
    return NULL;
  }
  if (ig_srows_is(list)) return is_stacked(s) ? s->rows : pieces_stacked(c, s);
  if (s->n == 0 && like && like->known) return none_of(c, like);
  ig_value *at = ig_scope_array(c, s->n + 1, sizeof *at);
  for (size_t i = 0; at && i < s->n; i++) at[i] = ig_of_tensor(as_tensor(c, s->at[i]));
  return at && c->status == IG_OK ? ig_stack(c, ig_of_list(at, s->n)) : NULL;
}

static ig_tensor *joined_along(ig_ctx *c, ig_value *parts, size_t n, int dim) {
  for (size_t i = 0; i < n; i++) {
    if (!parts[i].tensor) return NULL;
  }
  return ig_cat_with(c, ig_of_list(parts, n), ig_const(dim));
}

static ig_tensor *joined(ig_ctx *c, ig_value *parts, size_t n) {
  return joined_along(c, parts, n, 0);
}

static ig_value as_row(ig_ctx *c, ig_value v) {
  ig_tensor *t = as_tensor(c, v);
  return ig_of_tensor(t ? ig_unsqueeze(c, t, ig_const(0)) : NULL);
}

// ---- elements of different sizes

typedef struct ragged {
  ig_tensor *joined;
  ig_tensor *lengths;
} ragged;

// Elements of one shape, as if their sizes differed.
static ragged ragged_of_stacked(ig_ctx *c, ig_tensor *stacked, int dim) {
  ig_int n = ig_sizes(stacked)[0];
  ig_int each = ig_sizes(stacked)[dim + 1];
  ig_int sizes[IG_MAX_DIM];
  ig_tensor *moved = dim ? ig_movedim_int(c, stacked, ig_const(0), ig_const(dim)) : stacked;
  ig_tensor *own = moved ? ig_clone_with(c, moved, ig_of_memory_format(IG_CONTIGUOUS)) : NULL;
  for (int d = 0; own && d + 1 < own->ndim; d++) {
    sizes[d] = d == dim ? ig_int_mul(c, n, each) : ig_sizes(own)[d < dim ? d : d + 1];
  }
  ragged r = {0};
  if (own) r.joined = ig__unsafe_view(c, own, ig_of_ints(sizes, (size_t)own->ndim - 1));
  if (r.joined)
    r.lengths = ig_full_with(c, ig_of_ints(&n, 1), ig_of_int(each), ig_of_dtype(IG_I64), ig_none(),
                             ig_none(), ig_none());
  return r;
}

static void refuse_elements(ig_ctx *c) {
  ig_fail_text(c, IG_UNSUPPORTED,
               "the elements of a list of dynamic length differ in more than one size");
}

// The elements of a list of either kind, as those of `like` are.
static ragged ragged_of(ig_ctx *c, ig_value list, const ig_srows_like *like) {
  const ig_sobj_seq *s = list.object;
  if (ig_srows_is(list) && s->lengths && s->dim != like->dim) {
    refuse_elements(c);
    return (ragged){0};
  }
  if (ig_srows_is(list) && s->lengths) return (ragged){s->rows, s->lengths};
  if (ig_srows_is(list)) {
    ig_tensor *stacked = ig_srows_stacked(c, list, NULL);
    return stacked ? ragged_of_stacked(c, stacked, like->dim) : (ragged){0};
  }
  ig_value *parts = ig_scope_array(c, s->n + 1, sizeof *parts);
  ig_value *lengths = ig_scope_array(c, s->n + 1, sizeof *lengths);
  if (!parts || !lengths) return (ragged){0};
  for (size_t i = 0; i < s->n; i++) {
    const ig_tensor *t = s->at[i].kind == IG_KIND_TENSOR ? s->at[i].tensor : NULL;
    if (!t || t->ndim <= like->dim) {
      refuse_elements(c);
      return (ragged){0};
    }
    parts[i] = s->at[i];
    lengths[i] = as_row(c, ig_of_int(ig_sizes(t)[like->dim]));
  }
  ragged r = {0};
  if (s->n) {
    r.joined = joined_along(c, parts, s->n, like->dim);
    r.lengths = joined(c, lengths, s->n);
    return r;
  }
  ig_int none = ig_const(0);
  ig_value sizes = ig_of_ints(like->meta.size, (size_t)like->meta.ndim);
  ig_value dtype = ig_of_dtype(like->meta.dtype);
  r.joined = ig_zeros_with(c, sizes, dtype, ig_none(), ig_none(), ig_none());
  r.lengths =
      ig_zeros_with(c, ig_of_ints(&none, 1), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
  return r;
}

// ---- lists

static void drop_elements(ig_sobj_seq *s) {
  while (s->n) ig_svalue_release(s->at[--s->n]);
  if (s->rows) ig_tensor_release(s->rows);
  if (s->lengths) ig_tensor_release(s->lengths);
  s->rows = s->lengths = NULL;
}

void ig_srows_become(ig_sobj_seq *s, ig_tensor *stacked) {
  if (!stacked) return;
  (void)ig_tensor_retain(stacked);
  drop_elements(s);
  s->head.kind = IG_SOBJ_ROWS;
  s->rows = stacked;
  s->dim = 0;
  s->piece = ig_const(0);
}

void ig_srows_join(ig_sobj_seq *s, int dim, ig_tensor *joined, ig_tensor *lengths) {
  if (!joined || !lengths) return;
  (void)ig_tensor_retain(lengths);
  ig_srows_become(s, joined);
  s->dim = dim;
  s->lengths = lengths;
}

ig_sobj_seq *ig_srows_make(ig_ctx *c, const ig_stype *type, ig_tensor *stacked) {
  ig_sobj_seq *s = stacked ? ig_sobj_seq_make(c, IG_SOBJ_LIST, type, NULL, 0) : NULL;
  if (s) ig_srows_become(s, stacked);
  return s;
}

void ig_srows_settle(ig_ctx *c, ig_sobj_seq *s, const ig_srows_like *like) {
  if (like->known && like->ragged) {
    ragged r = ragged_of(c, ig_of_sobj(s), like);
    ig_srows_join(s, like->dim, r.joined, r.lengths);
  } else {
    ig_srows_become(s, ig_srows_stacked(c, ig_of_sobj(s), like));
  }
}

ig_sobj_seq *ig_srows_of(ig_ctx *c, ig_value list, const ig_srows_like *like) {
  const ig_sobj_seq *s = list.object;
  ig_sobj_seq *made = ig_sobj_seq_make(c, IG_SOBJ_LIST, s->head.type, NULL, 0);
  if (made && like->known && like->ragged) {
    ragged r = ragged_of(c, list, like);
    ig_srows_join(made, like->dim, r.joined, r.lengths);
  } else if (made) {
    ig_srows_become(made, ig_srows_stacked(c, list, like));
  }
  if (!made || c->status == IG_OK) return made;
  ig_svalue_release(ig_of_sobj(made));
  return NULL;
}

size_t ig_srows_tensors(ig_ctx *c, ig_value list, ig_tensor **tensors) {
  const ig_sobj_seq *s = list.object;
  tensors[0] = s->lengths ? s->rows : ig_srows_stacked(c, list, NULL);
  tensors[1] = s->lengths;
  return s->lengths ? 2 : 1;
}

ig_sobj_seq *ig_srows_from(ig_ctx *c, const ig_sobj_seq *like, ig_tensor *const *tensors) {
  if (!like->lengths) return ig_srows_make(c, like->head.type, tensors[0]);
  ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_LIST, like->head.type, NULL, 0);
  if (s) ig_srows_join(s, like->dim, tensors[0], tensors[1]);
  return s;
}

static ig_int length_of(ig_ctx *c, const ig_sobj_seq *s) {
  if (s->lengths) return ig_sizes(s->lengths)[0];
  ig_int n = ig_sizes(s->rows)[s->dim];
  if (is_stacked(s)) return n;
  ig_int up = ig_int_add(c, n, ig_int_sub(c, s->piece, ig_const(1)));
  return ig_int_floordiv(c, up, s->piece);
}

static ig_value range_of(ig_ctx *c, ig_tensor *t, int64_t dim, ig_value start, ig_value end) {
  return ig_of_tensor(ig_slice_tensor_with(c, t, ig_const(dim), start, end, ig_const(1)));
}

// By a tensor: an index that only the running program knows is not compared with the length.
static ig_tensor *taken(ig_ctx *c, ig_tensor *from, ig_int index) {
  ig_value at = ig_of_int(index);
  ig_tensor *i = as_tensor(c, at);
  ig_tensor *one = i ? ig_reshape(c, i, ig_of_ints((ig_int[]){ig_const(1)}, 1)) : NULL;
  one = one ? ig_index_select(c, from, ig_const(0), one) : NULL;
  return one ? ig_squeeze_dim(c, one, ig_const(0)) : NULL;
}

static void believe(ig_ctx *c, ig_expr_kind relation, ig_int a, ig_int b) {
  const ig_value sides[] = {ig_of_int(a), ig_of_int(b)};
  ig_value holds = ig_none();
  if (c->status == IG_OK) ig_sym_apply(c, relation, sides, 2, &holds);
  if (holds.kind == IG_KIND_BOOL) ig_sym_believe(c, &holds);
}

// Where the element at `index` begins among the joined ones, and how long it is.
static bool place_of(ig_ctx *c, const ig_sobj_seq *s, ig_int index, ig_int *start, ig_int *n) {
  ig_tensor *ends = ig_cumsum(c, s->lengths, ig_const(0));
  ig_tensor *end = ends ? taken(c, ends, index) : NULL;
  ig_tensor *length = end ? taken(c, s->lengths, index) : NULL;
  ig_tensor *begin = length ? ig_sub_tensor(c, end, length) : NULL;
  if (!begin) return false;
  *start = ig_sb_element(c, begin).i;
  *n = ig_sb_element(c, length).i;
  believe(c, IG_EXPR_GE, *start, ig_const(0));
  ig_sym_constrain(c, *n, 0, INT64_MAX, true);
  believe(c, IG_EXPR_LE, *start, ig_sizes(s->rows)[s->dim]);
  believe(c, IG_EXPR_LE, ig_int_add(c, *start, *n), ig_sizes(s->rows)[s->dim]);
  return c->status == IG_OK;
}

ig_value ig_srows_item(ig_ctx *c, const ig_sobj_seq *s, ig_int index) {
  ig_value v;
  if (is_stacked(s)) {
    v = ig_of_tensor(taken(c, s->rows, index));
  } else if (s->lengths) {
    ig_int start = ig_const(0);
    ig_int n = ig_const(0);
    if (!place_of(c, s, index, &start, &n)) return ig_none();
    ig_int end = ig_int_add(c, start, n);
    v = range_of(c, s->rows, s->dim, ig_of_int(start), ig_of_int(end));
  } else {
    if (!index.expr && index.value < 0) index = ig_int_add(c, length_of(c, s), index);
    ig_int start = ig_int_mul(c, index, s->piece);
    ig_int end = ig_int_add(c, start, s->piece);
    v = range_of(c, s->rows, s->dim, ig_of_int(start), ig_of_int(end));
  }
  if (!v.tensor || c->status != IG_OK) return ig_none();
  bool tensor = !s->head.type || s->head.type->at[0]->kind == IG_STYPE_TENSOR;
  if (!tensor) return ig_sb_element(c, v.tensor);
  ig_svalue_retain(v);
  return v;
}

// ---- built-ins

static ig_sobj_seq *self_of(const ig_sbuiltin_call *k) {
  return ig_sb_seq_at(k, 0);
}

// The rows before and after position `at`, `skip` of them left out, with `row` (NULL: none) between
// them.
static void replace(const ig_sbuiltin_call *k, ig_value at, int64_t skip, const ig_value *row) {
  ig_ctx *c = k->c;
  ig_tensor *all = ig_srows_stacked(c, k->in[0], NULL);
  if (!all) return;
  ig_value parts[3];
  size_t n = 0;
  parts[n++] = range_of(c, all, 0, ig_none(), at);
  if (row) parts[n++] = as_row(c, *row);
  bool last = !at.i.expr && at.i.value == -skip && skip;
  ig_value rest = ig_of_int(ig_int_add(c, at.i, ig_const(skip)));
  if (!last) parts[n++] = range_of(c, all, 0, rest, ig_none());
  ig_srows_become(self_of(k), joined(c, parts, n));
}

static void give_self(const ig_sbuiltin_call *k) {
  if (k->c->status != IG_OK || !k->node || !k->node->n_out) return;
  ig_svalue_retain(k->in[0]);
  k->out[0] = k->in[0];
}

static void rows_len(const ig_sbuiltin_call *k) {
  k->out[0] = ig_of_int(length_of(k->c, self_of(k)));
}

static void rows_item(const ig_sbuiltin_call *k) {
  k->out[0] = ig_srows_item(k->c, self_of(k), k->in[1].i);
}

// The one size in which a tensor differs from the elements of a stacked list; -1: in none, or in
// several. Sizes of the inputs that may be equal are taken to be.
static int difference(ig_ctx *c, const ig_tensor *stacked, const ig_tensor *t) {
  int found = -1;
  for (int d = 0; d < t->ndim && t->ndim == stacked->ndim - 1; d++) {
    ig_int a = ig_sizes(stacked)[d + 1];
    ig_int b = ig_sizes(t)[d];
    bool inputs = (a.expr || b.expr) && (!a.expr || a.expr->backed) && (!b.expr || b.expr->backed);
    if (inputs || is_equal(c, a, b)) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

static void rows_append(const ig_sbuiltin_call *k) {
  ig_sobj_seq *self = self_of(k);
  const ig_tensor *t = k->in[1].kind == IG_KIND_TENSOR ? k->in[1].tensor : NULL;
  int differs = t && is_stacked(self) ? difference(k->c, self->rows, t) : -1;
  if (differs >= 0) {
    ragged r = ragged_of_stacked(k->c, self->rows, differs);
    ig_srows_join(self, differs, r.joined, r.lengths);
  }
  if (self->lengths && t && self->dim < t->ndim) {
    ig_value parts[2] = {ig_of_tensor(self->rows), k->in[1]};
    ig_tensor *rows = joined_along(k->c, parts, 2, self->dim);
    ig_value lengths[2] = {ig_of_tensor(self->lengths)};
    lengths[1] = as_row(k->c, ig_of_int(ig_sizes(t)[self->dim]));
    ig_srows_join(self, self->dim, rows, joined(k->c, lengths, 2));
    give_self(k);
    return;
  }
  ig_tensor *all = ig_srows_stacked(k->c, k->in[0], NULL);
  ig_value parts[2] = {ig_of_tensor(all)};
  parts[1] = as_row(k->c, k->in[1]);
  ig_srows_become(self_of(k), joined(k->c, parts, 2));
  give_self(k);
}

static void rows_insert(const ig_sbuiltin_call *k) {
  replace(k, k->in[1], 0, &k->in[2]);
}

static void rows_set(const ig_sbuiltin_call *k) {
  replace(k, k->in[1], 1, &k->in[2]);
  give_self(k);
}

static void rows_pop(const ig_sbuiltin_call *k) {
  if (self_of(k)->piece.value > 1) {
    refuse_pieces(k->c);
    return;
  }
  k->out[0] = ig_srows_item(k->c, self_of(k), k->in[1].i);
  replace(k, k->in[1], 1, NULL);
}

static void rows_delete(const ig_sbuiltin_call *k) {
  replace(k, k->in[1], 1, NULL);
}

static void rows_clear(const ig_sbuiltin_call *k) {
  ig_sobj_seq *s = self_of(k);
  drop_elements(s);
  s->head.kind = IG_SOBJ_LIST;
}

static ig_srows_like like_of_both(const ig_sbuiltin_call *k) {
  ig_srows_like like = {0};
  ig_srows_like other = {0};
  ig_srows_learn(k->c, k->in[0], &like);
  ig_srows_learn(k->c, k->in[1], &other);
  return like.known && (like.ragged || !other.ragged) ? like : other;
}

// The elements of both lists go to one of them.
static void put_both(const ig_sbuiltin_call *k, ig_sobj_seq *to) {
  ig_ctx *c = k->c;
  ig_srows_like like = like_of_both(k);
  ig_value parts[2];
  if (!like.ragged) {
    for (size_t i = 0; i < 2; i++) parts[i] = ig_of_tensor(ig_srows_stacked(c, k->in[i], &like));
    if (c->status == IG_OK) ig_srows_become(to, joined(c, parts, 2));
    return;
  }
  ig_value lengths[2];
  for (size_t i = 0; i < 2; i++) {
    ragged r = ragged_of(c, k->in[i], &like);
    parts[i] = ig_of_tensor(r.joined);
    lengths[i] = ig_of_tensor(r.lengths);
  }
  ig_tensor *rows = joined_along(c, parts, 2, like.dim);
  ig_tensor *all = rows ? joined(c, lengths, 2) : NULL;
  if (c->status == IG_OK) ig_srows_join(to, like.dim, rows, all);
}

static void rows_extend(const ig_sbuiltin_call *k) {
  put_both(k, self_of(k));
}

static void rows_add_inplace(const ig_sbuiltin_call *k) {
  put_both(k, self_of(k));
  give_self(k);
}

static void put_rows(const ig_sbuiltin_call *k, ig_tensor *stacked) {
  const ig_stype *type = ig_sb_type(k, 0);
  ig_sb_object(k, ig_srows_make(k->c, type ? type : self_of(k)->head.type, stacked));
}

static void rows_add(const ig_sbuiltin_call *k) {
  const ig_stype *type = ig_sb_type(k, 0);
  ig_sobj_seq *made =
      ig_sobj_seq_make(k->c, IG_SOBJ_LIST, type ? type : self_of(k)->head.type, NULL, 0);
  if (made) put_both(k, made);
  ig_sb_object(k, made);
}

static void rows_copy(const ig_sbuiltin_call *k) {
  ig_srows_like like = {0};
  ig_srows_learn(k->c, k->in[0], &like);
  ig_sb_object(k, ig_srows_of(k->c, k->in[0], &like));
}

static void rows_slice(const ig_sbuiltin_call *k) {
  ig_tensor *all = ig_srows_stacked(k->c, k->in[0], NULL);
  ig_int step = k->in[3].i;
  bool back = !step.expr && step.value < 0 && step.value > INT64_MIN;
  bool whole = k->in[1].kind == IG_KIND_NONE && k->in[2].kind == IG_KIND_NONE;
  if (back && !whole) {
    ig_fail_text(
        k->c, IG_UNSUPPORTED,
        "a slice of a list whose length depends on data or on dynamic sizes goes backwards "
        "from end to end only");
    return;
  }
  if (back) step = ig_const(-step.value);
  if (all && back) all = ig_flip(k->c, all, ig_of_ints((ig_int[]){ig_const(0)}, 1));
  if (!all) return;
  put_rows(k, ig_slice_tensor_with(k->c, all, ig_const(0), k->in[1], k->in[2], step));
}

static void rows_reverse(const ig_sbuiltin_call *k) {
  ig_tensor *all = ig_srows_stacked(k->c, k->in[0], NULL);
  if (!all) return;
  ig_srows_become(self_of(k), ig_flip(k->c, all, ig_of_ints((ig_int[]){ig_const(0)}, 1)));
}

ig_sbuiltin_fn *ig_srows_builtin(ig_sbuiltin_fn *run) {
  static const struct {
    ig_sbuiltin_fn *run;
    ig_sbuiltin_fn *rows;
  } table[] = {
      {ig_sb_list_len, rows_len},
      {ig_sb_list_item, rows_item},
      {ig_sb_list_append, rows_append},
      {ig_sb_list_insert, rows_insert},
      {ig_sb_list_set, rows_set},
      {ig_sb_list_pop, rows_pop},
      {ig_sb_list_delete, rows_delete},
      {ig_sb_list_clear, rows_clear},
      {ig_sb_list_extend, rows_extend},
      {ig_sb_list_add_inplace, rows_add_inplace},
      {ig_sb_list_add, rows_add},
      {ig_sb_list_copy, rows_copy},
      {ig_sb_tensor_make, ig_sb_tensor_make},
      {ig_sb_tensor_as, ig_sb_tensor_as},
      {ig_sb_list_slice, rows_slice},
      {ig_sb_list_reverse, rows_reverse},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].run == run) return table[i].rows;
  }
  return NULL;
}

// ---- operators

static int64_t from_end(int64_t dim, int64_t n) {
  return dim < 0 ? dim + n : dim;
}

static ig_tensor *cat_rows(ig_ctx *c, ig_value list, int64_t dim) {
  const ig_sobj_seq *s = list.object;
  if (s->lengths && from_end(dim, s->rows->ndim) != s->dim) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "the elements of a list of dynamic length have different sizes along dimension "
                 "%d: they can be joined along that one only",
                 s->dim);
    return NULL;
  }
  if (!is_stacked(s) && from_end(dim, s->rows->ndim) == s->dim) return ig_clone(c, s->rows);
  ig_tensor *all = ig_srows_stacked(c, list, NULL);
  if (!all) return NULL;
  if (all->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "zero-dimensional tensor (at position 0) cannot be concatenated");
    return NULL;
  }
  int64_t at = from_end(dim, all->ndim - 1);
  ig_tensor *moved = at ? ig_movedim_int(c, all, ig_const(0), ig_const(at)) : all;
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; moved && d + 1 < all->ndim; d++) {
    sizes[d] = ig_sizes(moved)[d < at ? d : d + 1];
    if (d == at) sizes[d] = ig_int_mul(c, ig_sizes(moved)[d], sizes[d]);
  }
  // Of a copy, whose layout is known: which views reshaping could give depends on the sizes.
  ig_tensor *own = moved ? ig_clone_with(c, moved, ig_of_memory_format(IG_CONTIGUOUS)) : NULL;
  return own ? ig__unsafe_view(c, own, ig_of_ints(sizes, (size_t)all->ndim - 1)) : NULL;
}

static ig_tensor *stack_rows(ig_ctx *c, ig_value list, int64_t dim) {
  ig_tensor *all = ig_srows_stacked(c, list, NULL);
  int64_t at = all ? from_end(dim, all->ndim) : 0;
  ig_tensor *moved = all && at ? ig_movedim_int(c, all, ig_const(0), ig_const(at)) : all;
  return moved ? ig_clone(c, moved) : NULL;
}

bool ig_srows_call(ig_ctx *c, const ig_sinsn *i, const ig_value *args, ig_value *out) {
  static const struct {
    unsigned id;
    ig_tensor *(*join)(ig_ctx *c, ig_value list, int64_t dim);
  } table[] = {
      {IG_ID_CAT, cat_rows},
      {IG_ID_CONCAT, cat_rows},
      {IG_ID_CONCATENATE, cat_rows},
      {IG_ID_STACK, stack_rows},
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    if (i->op->number != table[k].id) continue;
    ig_tensor *t = table[k].join(c, args[0], args[1].i.value);
    *out = ig_of_tensor(t);
    return t != NULL;
  }
  ig_fail_text(c, IG_UNSUPPORTED,
               "%s: a list whose length depends on data or on dynamic sizes cannot be its operand",
               i->op->target);
  return false;
}

// ---- lists of parts

// Does the script do anything but take the list apart?
static bool needs_length(const ig_sblock *b, const ig_svalue *list) {
  for (size_t k = 0; k < b->n_out; k++) {
    if (b->out[k] == list) return true;
  }
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t k = 0; k < n->n_in; k++) {
      if (n->in[k] == list && n->form != IG_SFORM_LIST_UNPACK) return true;
    }
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (needs_length(n->blocks[k], list)) return true;
    }
  }
  return false;
}

typedef enum parts { NO_PARTS, ROWS, PIECES, COUNT } parts;

static parts parts_of(const ig_op *op) {
  static const struct {
    unsigned id;
    parts how;
  } table[] = {
      {IG_ID_UNBIND_INT, ROWS}, {IG_ID_SPLIT_TENSOR, PIECES}, {IG_ID_UNSAFE_SPLIT_TENSOR, PIECES},
      {IG_ID_CHUNK, COUNT},     {IG_ID_UNSAFE_CHUNK, COUNT},
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    if (op->number == table[k].id) return table[k].how;
  }
  return NO_PARTS;
}

// chunk: the script states how many pieces there are, at most. As in PyTorch's exporter, there are
// as many.
static ig_value counted(ig_ctx *c, ig_sobj_seq *pieces, const ig_stype *type, ig_int n) {
  ig_int up = ig_int_add(c, ig_sizes(pieces->rows)[pieces->dim], ig_int_sub(c, n, ig_const(1)));
  pieces->piece = ig_int_floordiv(c, up, n);
  size_t count = n.value > 0 ? (size_t)n.value : 0;  // concrete: a list of the script has a length
  ig_sobj_seq *list = ig_sobj_seq_make(c, IG_SOBJ_LIST, type, NULL, count);
  for (size_t k = 0; list && k < count; k++) {
    list->at[k] = ig_srows_item(c, pieces, ig_const((int64_t)k));
  }
  ig_svalue_release(ig_of_sobj(pieces));
  return list ? ig_of_sobj(list) : ig_none();
}

bool ig_srows_split(ig_ctx *c, const ig_sinsn *i, const ig_value *args, ig_value *out) {
  if (!c->mode->capture || !ig_env_records_choices(c)) return false;
  parts how = parts_of(i->op);
  if (how == NO_PARTS || i->n_out != 1 || args[0].kind != IG_KIND_TENSOR) return false;
  ig_tensor *x = args[0].tensor;
  int64_t dim = from_end(args[how == ROWS ? 1 : 2].i.value, x->ndim);
  if (dim < 0 || dim >= x->ndim || !ig_sizes(x)[dim].expr) return false;
  if (!needs_length(i->node->owner, i->node->out[0])) return false;
  if (how == ROWS) x = dim ? ig_movedim_int(c, x, ig_const(dim), ig_const(0)) : x;
  const ig_stype *type = i->node->out[0]->type;
  ig_sobj_seq *s = ig_srows_make(c, type, x);
  if (!s) return true;
  if (how != ROWS) {
    s->dim = (int)dim;
    s->piece = args[1].i;
  }
  *out = ig_of_sobj(s);
  if (how == COUNT) *out = counted(c, s, type, args[1].i);
  return true;
}
