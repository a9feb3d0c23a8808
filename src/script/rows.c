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
  return !s->piece.expr && s->piece.value == 0;
}

void ig_srows_learn(ig_ctx *c, ig_value list, ig_srows_like *like) {
  const ig_sobj_seq *s = list.object;
  if (ig_srows_is(list)) {
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
    } else {
      ig_dtype dtype = v->kind == IG_KIND_INT ? IG_I64 : v->kind == IG_KIND_BOOL ? IG_BOOL : IG_F64;
      ig_meta_init(&like->meta, dtype, ig_device_cpu());
    }
    like->known = true;
  }
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
  if (ig_srows_is(list)) return is_stacked(s) ? s->rows : pieces_stacked(c, s);
  if (s->n == 0 && like && like->known) return none_of(c, like);
  ig_value *at = ig_scope_array(c, s->n + 1, sizeof *at);
  for (size_t i = 0; at && i < s->n; i++) at[i] = ig_of_tensor(as_tensor(c, s->at[i]));
  return at && c->status == IG_OK ? ig_stack(c, ig_of_list(at, s->n)) : NULL;
}

// ---- lists

void ig_srows_become(ig_sobj_seq *s, ig_tensor *stacked) {
  if (!stacked) return;
  (void)ig_tensor_retain(stacked);
  while (s->n) ig_svalue_release(s->at[--s->n]);
  if (s->rows) ig_tensor_release(s->rows);
  s->head.kind = IG_SOBJ_ROWS;
  s->rows = stacked;
  s->dim = 0;
  s->piece = ig_const(0);
}

ig_sobj_seq *ig_srows_make(ig_ctx *c, const ig_stype *type, ig_tensor *stacked) {
  ig_sobj_seq *s = stacked ? ig_sobj_seq_make(c, IG_SOBJ_LIST, type, NULL, 0) : NULL;
  if (s) ig_srows_become(s, stacked);
  return s;
}

static ig_int length_of(ig_ctx *c, const ig_sobj_seq *s) {
  ig_int n = ig_sizes(s->rows)[s->dim];
  if (is_stacked(s)) return n;
  ig_int up = ig_int_add(c, n, ig_int_sub(c, s->piece, ig_const(1)));
  return ig_int_floordiv(c, up, s->piece);
}

static ig_value range_of(ig_ctx *c, ig_tensor *t, int64_t dim, ig_value start, ig_value end) {
  return ig_of_tensor(ig_slice_tensor_with(c, t, ig_const(dim), start, end, ig_const(1)));
}

ig_value ig_srows_item(ig_ctx *c, const ig_sobj_seq *s, ig_int index) {
  ig_value v;
  if (is_stacked(s)) {
    // By a tensor: an index that only the running program knows is not compared with the length.
    ig_value at = ig_of_int(index);
    ig_tensor *i = as_tensor(c, at);
    ig_tensor *one = i ? ig_reshape(c, i, ig_of_ints((ig_int[]){ig_const(1)}, 1)) : NULL;
    one = one ? ig_index_select(c, s->rows, ig_const(0), one) : NULL;
    v = ig_of_tensor(one ? ig_squeeze_dim(c, one, ig_const(0)) : NULL);
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

static ig_tensor *joined(ig_ctx *c, ig_value *parts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!parts[i].tensor) return NULL;
  }
  return ig_cat_with(c, ig_of_list(parts, n), ig_const(0));
}

static ig_value as_row(ig_ctx *c, ig_value v) {
  ig_tensor *t = as_tensor(c, v);
  return ig_of_tensor(t ? ig_unsqueeze(c, t, ig_const(0)) : NULL);
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

static void rows_append(const ig_sbuiltin_call *k) {
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
  ig_tensor_release(s->rows);
  s->rows = NULL;
  s->head.kind = IG_SOBJ_LIST;
}

// Both lists in one tensor. NULL after an error.
static ig_tensor *both(const ig_sbuiltin_call *k) {
  ig_srows_like like = {0};
  ig_srows_learn(k->c, k->in[0], &like);
  if (!like.known) ig_srows_learn(k->c, k->in[1], &like);
  ig_value parts[2] = {ig_of_tensor(ig_srows_stacked(k->c, k->in[0], &like))};
  parts[1] = ig_of_tensor(ig_srows_stacked(k->c, k->in[1], &like));
  return k->c->status == IG_OK ? joined(k->c, parts, 2) : NULL;
}

static void rows_extend(const ig_sbuiltin_call *k) {
  ig_srows_become(self_of(k), both(k));
}

static void rows_add_inplace(const ig_sbuiltin_call *k) {
  ig_srows_become(self_of(k), both(k));
  give_self(k);
}

static void put_rows(const ig_sbuiltin_call *k, ig_tensor *stacked) {
  const ig_stype *type = ig_sb_type(k, 0);
  ig_sb_object(k, ig_srows_make(k->c, type ? type : self_of(k)->head.type, stacked));
}

static void rows_add(const ig_sbuiltin_call *k) {
  put_rows(k, both(k));
}

static void rows_copy(const ig_sbuiltin_call *k) {
  put_rows(k, ig_srows_stacked(k->c, k->in[0], NULL));
}

static void rows_slice(const ig_sbuiltin_call *k) {
  ig_tensor *all = ig_srows_stacked(k->c, k->in[0], NULL);
  if (!all) return;
  put_rows(k, ig_slice_tensor_with(k->c, all, ig_const(0), k->in[1], k->in[2], k->in[3].i));
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
