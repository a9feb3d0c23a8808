// SPDX-License-Identifier: Apache-2.0
// Products over chosen dimensions, made of mm and bmm: tensordot, einsum, inner, bilinear, chains
// and powers of matrices. The steps follow PyTorch, because exported programs contain them.
#include <ctype.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

// 0 * self without reading it, so that NaN and infinity in it do not matter: its gradient is zero.
// Only needed for differentiation; a program has no such call.
static ig_tensor *with_zero_gradient(ig_ctx *c, ig_tensor *self, ig_tensor *out) {
  if (!out || !self->requires_grad || ig_is_fake(self)) return out;
  ig_tensor *everywhere =
      ig_ones_like_with(c, self, ig_of_dtype(IG_BOOL), ig_none(), ig_none(), ig_none(), ig_none());
  ig_tensor *zero = ig_where_scalarself(c, everywhere, ig_of_i64(0), self);
  return ig_add_tensor(c, out, zero);
}

// beta * self + alpha * product, without steps that do nothing
static ig_tensor *blend(ig_ctx *c, const ig_value *self, ig_tensor *prod, const ig_value *beta,
                        const ig_value *alpha) {
  if (!ig_value_is(alpha, 1)) prod = ig_mul_value(c, prod, alpha);
  if (ig_value_is(beta, 0)) {
    ig_value sizes = ig_sizes_of(prod);
    ig_tensor *same = ig_expand(c, self->tensor, sizes);
    return same ? with_zero_gradient(c, self->tensor, prod) : NULL;
  }
  ig_tensor *base = self->tensor;
  ig_dtype dtype = base->dtype;
  if (!ig_value_is(beta, 1)) base = ig_mul_value(c, base, beta);
  return ig_cast(c, ig_add_tensor(c, base, prod), dtype);
}
static bool fits(ig_ctx *c, const ig_tensor *self, const ig_tensor *prod) {
  if (!prod) return false;
  int lead = prod->ndim - self->ndim;
  bool ok = lead >= 0;
  for (int d = 0; ok && d < self->ndim; d++) {
    ok = ig_int_eq_i64(c, ig_sizes(self)[d], 1) ||
         ig_int_eq(c, ig_sizes(self)[d], ig_sizes(prod)[d + lead]);
  }
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "The expanded size of the tensor must match the existing size: target sizes: %s, "
                 "tensor sizes: %s",
                 ig_sizes_text(c, ig_sizes(prod), (size_t)prod->ndim),
                 ig_sizes_text(c, ig_sizes(self), (size_t)self->ndim));
  }
  return ok;
}
static bool alike(ig_ctx *c, const ig_value *args, int n) {
  for (int i = 1; i < n; i++) {
    if (args[i].tensor->dtype == args[0].tensor->dtype) continue;
    ig_fail_text(c, IG_RUNTIME, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                 ig_dtype_title(args[0].tensor->dtype), ig_dtype_title(args[i].tensor->dtype));
    return false;
  }
  return true;
}
static ig_tensor *addmv_decompose(ig_ctx *c, const ig_value *args) {
  if (args[1].tensor->ndim != 2 || args[2].tensor->ndim != 1 || args[0].tensor->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME, "vector + matrix @ vector expected, got %d, %d, %d",
                 args[0].tensor->ndim, args[1].tensor->ndim, args[2].tensor->ndim);
    return NULL;
  }
  if (!alike(c, args, 3)) return NULL;
  ig_tensor *prod = ig_mv(c, args[1].tensor, args[2].tensor);
  return fits(c, args[0].tensor, prod) ? blend(c, &args[0], prod, &args[3], &args[4]) : NULL;
}
static ig_tensor *addbmm_decompose(ig_ctx *c, const ig_value *args) {
  ig_int first = ig_const(0);
  if (args[1].tensor->ndim != 3 || args[2].tensor->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME, "%s must be a 3D tensor",
                 args[1].tensor->ndim != 3 ? "batch1" : "batch2");
    return NULL;
  }
  if (!alike(c, args, 3)) return NULL;
  ig_tensor *prod = ig_bmm(c, args[1].tensor, args[2].tensor);
  prod = ig_sum_dim_intlist_with(c, prod, ig_of_ints(&first, 1), false,
                                 ig_of_dtype(args[0].tensor->dtype));
  return fits(c, args[0].tensor, prod) ? blend(c, &args[0], prod, &args[3], &args[4]) : NULL;
}
static bool vectors(ig_ctx *c, const ig_tensor *a, const ig_tensor *b, const char *name) {
  if (a->ndim == 1 && b->ndim == 1) return true;
  ig_fail_text(c, IG_RUNTIME, "%s: Expected 1-D argument vec%d, but got %d-D", name,
               a->ndim == 1 ? 2 : 1, a->ndim == 1 ? b->ndim : a->ndim);
  return false;
}
static ig_tensor *addr_decompose(ig_ctx *c, const ig_value *args) {
  if (!vectors(c, args[1].tensor, args[2].tensor, "addr")) return NULL;
  ig_int sizes[] = {ig_sizes(args[1].tensor)[0], ig_sizes(args[2].tensor)[0]};
  ig_tensor *self = ig_expand(c, args[0].tensor, ig_of_ints(sizes, 2));
  if (!self) return NULL;
  ig_tensor *base = ig_value_is(&args[3], 0) ? NULL : ig_mul_value(c, self, &args[3]);
  ig_tensor *prod = ig_outer(c, args[1].tensor, args[2].tensor);
  prod = ig_mul_value(c, prod, &args[4]);
  if (!prod) return NULL;
  if (base) return ig_add_tensor(c, base, prod);
  // What is not added still takes part in the result's dtype.
  return with_zero_gradient(c, self, ig_cast(c, prod, ig_dtype_promote(self->dtype, prod->dtype)));
}
static ig_tensor *ger_decompose(ig_ctx *c, const ig_value *args) {
  return ig_outer(c, args[0].tensor, args[1].tensor);
}

// ---- tensordot ----

static bool contracted(ig_ctx *c, const ig_tensor *t, const ig_value *dims, bool *set) {
  for (int d = 0; d < t->ndim || d == 0; d++) set[d] = false;
  if (t->ndim == 0 && dims->ints.n) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as %lld but tensor has no dimensions",
                 (long long)dims->ints.at[0].value);  // concrete: a dimension's number
    return false;
  }
  for (size_t i = 0; i < dims->ints.n; i++) {
    int d = ig_wrap_dim(c, ig_int_specialize(c, dims->ints.at[i]), t->ndim);
    if (c->status != IG_OK) return false;
    if (set[d]) {
      ig_fail_text(c, IG_RUNTIME, "dim %d appears multiple times in the list of dims", d);
      return false;
    }
    set[d] = true;
  }
  return true;
}
// Free dimensions to the outside, in order; contracted ones inside. `first`: free ones lead.
static ig_tensor *matrix(ig_ctx *c, ig_tensor *t, const bool *set, const ig_value *dims, bool first,
                         ig_int inner, ig_int *sizes, size_t *n) {
  ig_int order[IG_MAX_DIM];
  ig_int outer = ig_const(1);
  size_t at = first ? 0 : dims->ints.n;
  for (int d = 0; d < t->ndim; d++) {
    if (set[d]) continue;
    order[at++] = ig_const(d);
    outer = ig_int_mul(c, outer, ig_sizes(t)[d]);
    sizes[(*n)++] = ig_sizes(t)[d];
  }
  size_t from = first ? at : 0;
  for (size_t i = 0; i < dims->ints.n; i++) order[from + i] = dims->ints.at[i];
  ig_tensor *p = ig_permute(c, t, ig_of_ints(order, (size_t)t->ndim));
  ig_int shape[] = {first ? outer : inner, first ? inner : outer};
  return ig_reshape(c, p, ig_of_ints(shape, 2));
}
static ig_tensor *tensordot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  const ig_value *da = &args[2];
  const ig_value *db = &args[3];
  bool in_a[IG_MAX_DIM];
  bool in_b[IG_MAX_DIM];
  if (da->ints.n != db->ints.n) {
    ig_fail_text(c, IG_RUNTIME, "both dimension lists should have same length");
    return NULL;
  }
  if (a->dtype != b->dtype) {
    ig_fail_text(c, IG_RUNTIME, "both inputs should have same dtype");
    return NULL;
  }
  if (!contracted(c, a, da, in_a) || !contracted(c, b, db, in_b)) return NULL;
  ig_int inner = ig_const(1);
  for (size_t i = 0; i < da->ints.n; i++) {
    int x = ig_wrap_dim(c, da->ints.at[i].value, a->ndim);  // concrete: a dimension
    int y = ig_wrap_dim(c, db->ints.at[i].value, b->ndim);  // concrete: a dimension
    ig_int s = ig_sizes(a)[x];
    ig_int t = ig_sizes(b)[y];
    ig_int one = da->ints.at[i];
    if (ig_int_eq_i64(c, t, 1) && !ig_int_eq_i64(c, s, 1)) {
      a = ig_sum_dim_intlist_with(c, a, ig_of_ints(&one, 1), true, ig_of_dtype(a->dtype));
    } else if (ig_int_eq_i64(c, s, 1) && !ig_int_eq_i64(c, t, 1)) {
      one = db->ints.at[i];
      b = ig_sum_dim_intlist_with(c, b, ig_of_ints(&one, 1), true, ig_of_dtype(b->dtype));
    } else if (!ig_int_eq(c, s, t)) {
      ig_fail_text(
          c, IG_RUNTIME,
          "contracted dimensions need to match, but first has size %s in dim %d and second "
          "has size %s in dim %d",
          ig_int_text(c, s), x, ig_int_text(c, t), y);
      return NULL;
    } else {
      inner = ig_int_mul(c, inner, s);
    }
  }
  if (c->status != IG_OK) return NULL;
  ig_int sizes[2 * IG_MAX_DIM];
  size_t n = 0;
  a = matrix(c, a, in_a, da, true, inner, sizes, &n);
  b = matrix(c, b, in_b, db, false, inner, sizes, &n);
  return ig_reshape(c, ig_mm(c, a, b), ig_of_ints(sizes, n));
}
static ig_tensor *inner_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  if (a->ndim == 0 || b->ndim == 0) return ig_mul_tensor(c, a, b);
  ig_int x = ig_sizes(a)[a->ndim - 1];
  ig_int y = ig_sizes(b)[b->ndim - 1];
  if (!ig_int_eq(c, x, y)) {
    ig_fail_text(
        c, IG_RUNTIME,
        "inner() the last dimension must match on both input tensors but got shapes %s and "
        "%s",
        ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim),
        ig_sizes_text(c, ig_sizes(b), (size_t)b->ndim));
    return NULL;
  }
  ig_int last = ig_const(-1);
  return ig_tensordot(c, a, b, ig_of_ints(&last, 1), ig_of_ints(&last, 1));
}

// ---- einsum ----

enum { ELLIPSIS = 52, LABELS = 53 };

typedef struct equation {
  ig_ctx *c;
  size_t n;                          // operands
  unsigned char at[32][IG_MAX_DIM];  // labels of each
  size_t len[32];
  unsigned char out[2 * IG_MAX_DIM];
  size_t nout;
  int count[LABELS];  // how often a label occurs among the operands
  int place[LABELS];  // of its dimension after the permutation
  int rest;           // dimensions that the dots stand for
  int outs;           // dimensions of the result
  int total;
} equation;

static bool refuse(ig_ctx *c, const char *fmt, const char *what) {
  ig_fail_text(c, IG_RUNTIME, fmt, what);
  return false;
}
static int label_of(char ch) {
  return isupper((unsigned char)ch) ? ch - 'A' : islower((unsigned char)ch) ? ch - 'a' + 26 : -1;
}
// One list of labels up to ',', '-' or the end.
static const char *read_labels(ig_ctx *c, const char *p, unsigned char *to, size_t *n, size_t cap) {
  *n = 0;
  for (; *p && *p != ',' && *p != '-'; p++) {
    if (*p == ' ') continue;
    int label = label_of(*p);
    if (label < 0 && strncmp(p, "...", 3) == 0) {
      label = ELLIPSIS;
      p += 2;
    }
    if (label < 0 || *n == cap) {
      (void)refuse(c,
                   "einsum(): invalid subscript given in the equation, subscripts must be in "
                   "[a-zA-Z] or '...': %s",
                   p);
      return p;
    }
    to[(*n)++] = (unsigned char)label;
  }
  return p;
}
static bool read_equation(equation *e, const char *text) {
  ig_ctx *c = e->c;
  const char *p = text;
  size_t k = 0;
  for (;; p++) {
    if (k == e->n || k == 32) {
      return refuse(c, "einsum(): more subscripts than operands in \"%s\"", text);
    }
    p = read_labels(c, p, e->at[k], &e->len[k], IG_MAX_DIM);
    if (c->status != IG_OK) return false;
    for (size_t i = 0; i < e->len[k]; i++) e->count[e->at[k][i]]++;
    k++;
    if (*p != ',') break;
  }
  if (k != e->n) return refuse(c, "einsum(): fewer subscripts than operands in \"%s\"", text);
  if (*p != '-') {
    // Without "->": labels that occur once, in alphabetical order, behind the dots.
    if (e->count[ELLIPSIS]) e->out[e->nout++] = ELLIPSIS;
    for (int l = 0; l < ELLIPSIS; l++) {
      if (e->count[l] == 1) e->out[e->nout++] = (unsigned char)l;
    }
    return true;
  }
  if (p[1] != '>') return refuse(c, "einsum(): expected '->' in \"%s\"", text);
  (void)read_labels(c, p + 2, e->out, &e->nout, IG_MAX_DIM);
  for (size_t i = 0; i < e->nout && c->status == IG_OK; i++) {
    if (!e->count[e->out[i]]) {
      return refuse(c,
                    "einsum(): output subscript does not appear in the equation for any input "
                    "operand: \"%s\"",
                    text);
    }
  }
  return c->status == IG_OK;
}
static bool place_labels(equation *e, const ig_value *ops) {
  for (size_t k = 0; k < e->n; k++) {
    int ndim = ops[k].tensor->ndim;
    int labels = (int)e->len[k];
    bool dots = memchr(e->at[k], ELLIPSIS, e->len[k]) != NULL;
    if (dots ? ndim < labels - 1 : ndim != labels) {
      ig_fail_text(e->c, IG_RUNTIME,
                   "einsum(): the number of subscripts in the equation (%d) does not match the "
                   "number of dimensions (%d) for operand %zu and no ellipsis was given",
                   labels, ndim, k);
      return false;
    }
    if (dots && ndim - labels + 1 > e->rest) e->rest = ndim - labels + 1;
  }
  for (int l = 0; l < LABELS; l++) e->place[l] = -1;
  for (size_t i = 0; i < e->nout; i++) {
    int l = e->out[i];
    if (e->place[l] >= 0) {
      return refuse(e->c, "einsum(): output subscript appears more than once in the output%s", "");
    }
    e->place[l] = e->total;
    e->total += l == ELLIPSIS ? e->rest : 1;
  }
  e->outs = e->total;
  for (int l = 0; l < LABELS; l++) {
    if (!e->count[l] || e->place[l] >= 0) continue;
    e->place[l] = e->total;
    e->total += l == ELLIPSIS ? e->rest : 1;
  }
  return e->total <= IG_MAX_DIM;
}
// An operand with one dimension per label of the equation, in the order of places.
static ig_tensor *spread(equation *e, ig_tensor *t, size_t k) {
  ig_ctx *c = e->c;
  int order[IG_MAX_DIM];
  int dim_of[LABELS];
  int j = 0;
  int given = t->ndim - (int)e->len[k] + 1;
  for (int d = 0; d < e->total; d++) order[d] = -1;
  for (int l = 0; l < LABELS; l++) dim_of[l] = -1;
  for (size_t i = 0; i < e->len[k]; i++) {
    int l = e->at[k][i];
    if (l == ELLIPSIS) {
      for (int m = given; m < e->rest; m++) t = ig_unsqueeze(c, t, ig_const(j));
      for (int m = 0; m < e->rest; m++) order[e->place[l] + m] = j++;
    } else if (dim_of[l] >= 0) {
      t = ig_diagonal_with(c, t, ig_const(0), ig_const(dim_of[l]), ig_const(j));
      t = ig_movedim_int(c, t, ig_const(-1), ig_const(dim_of[l]));
    } else {
      dim_of[l] = j;
      order[e->place[l]] = j++;
    }
  }
  ig_int dims[IG_MAX_DIM];
  for (int d = 0; d < e->total; d++) {
    if (order[d] < 0) {
      t = ig_unsqueeze(c, t, ig_const(j));
      order[d] = j++;
    }
    dims[d] = ig_const(order[d]);
  }
  return ig_permute(c, t, ig_of_ints(dims, (size_t)e->total));
}

typedef struct dims {
  int at[IG_MAX_DIM];
  size_t n;
  ig_int size;
} dims;
static void add_dim(ig_ctx *c, dims *l, int d, ig_int size) {
  l->at[l->n++] = d;
  l->size = ig_size_mul(c, l->size, size);
}
static ig_tensor *permuted(ig_ctx *c, ig_tensor *t, const dims *const *lists, size_t n) {
  ig_int order[IG_MAX_DIM];
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t d = 0; d < lists[i]->n; d++) order[k++] = ig_const(lists[i]->at[d]);
  }
  return ig_permute(c, t, ig_of_ints(order, k));
}
// Product of two operands of the same rank, summed over `sum`, which stays as sizes 1.
static ig_tensor *sumproduct_pair(ig_ctx *c, ig_tensor *a, ig_tensor *b, const bool *in_sum) {
  dims both = {.size = ig_const(1)};
  dims left = both;
  dims right = both;
  dims sum = both;
  for (int d = 0; d < a->ndim; d++) {
    bool sa = !ig_int_eq_i64(c, ig_sizes(a)[d], 1);
    bool sb = !ig_int_eq_i64(c, ig_sizes(b)[d], 1);
    if (in_sum[d]) {
      add_dim(c, &sum, d, ig_sizes(a)[d]);
    } else if (sa && sb) {
      add_dim(c, &both, d, ig_sizes(a)[d]);
    } else if (sa) {
      add_dim(c, &left, d, ig_sizes(a)[d]);
    } else {
      add_dim(c, &right, d, ig_sizes(b)[d]);
    }
  }
  const dims *const out[] = {&both, &left, &sum, &right};
  for (size_t i = 0; i < 4; i++) ig_size_show_sum(c, out[i]->size);
  ig_int sizes[IG_MAX_DIM];
  ig_int back[IG_MAX_DIM];
  size_t k = 0;
  for (size_t i = 0; i < 4; i++) {
    for (size_t d = 0; d < out[i]->n; d++) {
      int dim = out[i]->at[d];
      sizes[k] = i == 2 ? ig_const(1) : ig_sizes(i == 3 ? b : a)[dim];
      back[dim] = ig_const((int64_t)k++);
    }
  }
  a = permuted(c, a, (const dims *const[]){&both, &left, &sum, &right}, 4);
  a = ig_reshape(c, a, ig_of_ints((ig_int[]){both.size, left.size, sum.size}, 3));
  b = permuted(c, b, (const dims *const[]){&both, &sum, &right, &left}, 4);
  b = ig_reshape(c, b, ig_of_ints((ig_int[]){both.size, sum.size, right.size}, 3));
  ig_tensor *prod = ig_bmm(c, a, b);
  prod = ig_view(c, prod, ig_of_ints(sizes, k));
  return ig_permute(c, prod, ig_of_ints(back, k));
}
static ig_tensor *sum_list(ig_ctx *c, ig_tensor *t, const bool *set, int n) {
  ig_int list[IG_MAX_DIM];
  size_t k = 0;
  for (int d = 0; d < n; d++) {
    if (set[d]) list[k++] = ig_const(d);
  }
  return k ? ig_sum_dim_intlist_with(c, t, ig_of_ints(list, k), true, ig_none()) : t;
}
// Which dimensions can be summed in this step: with both, in a alone, in b alone.
static ig_tensor *contract_pair(equation *e, ig_tensor *a, ig_tensor *b, int *uses) {
  ig_ctx *c = e->c;
  bool with_both[IG_MAX_DIM] = {false};
  bool in_a[IG_MAX_DIM] = {false};
  bool in_b[IG_MAX_DIM] = {false};
  bool any = false;
  for (int d = e->outs; d < e->total; d++) {
    bool sa = !ig_int_eq_i64(c, ig_sizes(a)[d], 1);
    bool sb = !ig_int_eq_i64(c, ig_sizes(b)[d], 1);
    if (sa && sb) {
      if (--uses[d] == 1) {
        any = with_both[d] = true;
        uses[d] = 0;
      }
    } else if (uses[d] == 1 && (sa || sb)) {
      (sa ? in_a : in_b)[d] = true;
      uses[d] = 0;
    }
  }
  a = sum_list(c, a, in_a, e->total);
  b = sum_list(c, b, in_b, e->total);
  if (!a || !b) return NULL;
  return any ? sumproduct_pair(c, a, b, with_both) : ig_mul_tensor(c, a, b);
}
static bool sizes_agree(equation *e, ig_value *ops) {
  for (int d = 0; d < e->total; d++) {
    ig_int seen = ig_const(1);
    for (size_t k = 0; k < e->n; k++) {
      ig_int s = ig_sizes(ops[k].tensor)[d];
      if (ig_int_eq_i64(e->c, s, 1)) continue;
      if (ig_int_eq_i64(e->c, seen, 1)) {
        seen = s;
      } else if (!ig_int_eq(e->c, seen, s)) {
        ig_fail_text(
            e->c, IG_RUNTIME,
            "einsum(): subscript has size %s for operand %zu which does not broadcast with "
            "previously seen size %s",
            ig_int_text(e->c, s), k, ig_int_text(e->c, seen));
        return false;
      }
    }
  }
  return e->c->status == IG_OK;
}
static ig_tensor *finish(equation *e, ig_tensor *t) {
  ig_ctx *c = e->c;
  ig_int list[IG_MAX_DIM];
  if (e->total == e->outs || !t) return t;
  if (e->n > 1) return ig_view(c, t, ig_of_ints(ig_sizes(t), (size_t)e->outs));
  for (int d = e->outs; d < e->total; d++) list[d - e->outs] = ig_const(d);
  return ig_sum_dim_intlist(c, t, ig_of_ints(list, (size_t)(e->total - e->outs)));
}
static ig_tensor *einsum_decompose(ig_ctx *c, const ig_value *args) {
  equation *e = ig_scope_push(c, sizeof *e);
  ig_value ops[32] = {{.kind = IG_KIND_NONE}};
  if (!e) return NULL;
  *e = (equation){.c = c, .n = args[1].kind == IG_KIND_LIST ? args[1].list.n : 0};
  if (e->n == 0) {
    ig_fail_text(c, IG_RUNTIME, "einsum(): must provide at least one operand");
    return NULL;
  }
  if (!read_equation(e, args[0].str) || !place_labels(e, args[1].list.at)) return NULL;
  int uses[IG_MAX_DIM] = {0};
  for (size_t k = 0; k < e->n; k++) {
    ops[k] = ig_of_tensor(spread(e, args[1].list.at[k].tensor, k));
    if (c->status != IG_OK || !ops[k].tensor) return NULL;
    for (int d = 0; d < e->total; d++) {
      uses[d] += !ig_int_eq_i64(c, ig_sizes(ops[k].tensor)[d], 1);
    }
  }
  if (!sizes_agree(e, ops)) return NULL;
  ig_tensor *t = ops[0].tensor;
  for (size_t k = 1; k < e->n && t; k++) t = contract_pair(e, t, ops[k].tensor, uses);
  return finish(e, t);
}

// ---- bilinear, cross, chains ----

// i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim
static ig_tensor *trilinear_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *t[3];
  for (int k = 0; k < 3; k++) {
    t[k] = args[k].tensor;
    const ig_value *at = &args[3 + k];
    for (size_t i = 0; i < at->ints.n; i++) t[k] = ig_unsqueeze(c, t[k], at->ints.at[i]);
  }
  ig_tensor *prod = ig_mul_tensor(c, ig_mul_tensor(c, t[0], t[1]), t[2]);
  if (!prod || args[6].ints.n == 0) return prod;
  return ig_sum_dim_intlist_with(c, prod, args[6], false, ig_of_dtype(prod->dtype));
}
static ig_tensor *flat_rows(ig_ctx *c, ig_tensor *x) {
  ig_int sizes[] = {ig_const(-1), ig_sizes(x)[x->ndim - 1]};
  return ig_reshape(c, x, ig_of_ints(sizes, 2));
}
// sum over i, j of a[n, i] * w[o, i, j] * b[n, j], as products: over i for all o and j, then over
// j.
static ig_tensor *bilinear_products(ig_ctx *c, ig_tensor *a, ig_tensor *w, ig_tensor *b) {
  const ig_int *s = ig_sizes(w);
  ig_int order[] = {ig_const(1), ig_const(0), ig_const(2)};
  ig_int flat[] = {s[1], ig_size_mul(c, s[0], s[2])};
  ig_int apart[] = {ig_const(-1), s[0], s[2]};
  ig_tensor *t = ig_reshape(c, ig_permute(c, w, ig_of_ints(order, 3)), ig_of_ints(flat, 2));
  t = ig_reshape(c, ig_mm(c, a, t), ig_of_ints(apart, 3));
  return ig_squeeze_dim(c, ig_bmm(c, t, ig_unsqueeze(c, b, ig_const(2))), ig_const(2));
}
static ig_tensor *bilinear_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *w = args[2].tensor;
  if (x->ndim != y->ndim || x->ndim == 0 || w->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "bilinear(): input dimensions do not match: got %d and %d, weight has %d", x->ndim,
                 y->ndim, w->ndim);
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  int n = x->ndim;
  for (int d = 0; d < n - 1; d++) {
    sizes[d] = ig_sizes(x)[d];
    if (ig_int_eq(c, sizes[d], ig_sizes(y)[d])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "bilinear(): input batch dimensions do not match at dim %d: got %s and %s", d,
                 ig_int_text(c, sizes[d]), ig_int_text(c, ig_sizes(y)[d]));
    return NULL;
  }
  for (int k = 0; k < 2; k++) {
    ig_int have = ig_sizes(k ? y : x)[n - 1];
    if (ig_int_eq(c, have, ig_sizes(w)[1 + k])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "bilinear(): input%d size does not match weight size: got %s but expected %s",
                 k + 1, ig_int_text(c, have), ig_int_text(c, ig_sizes(w)[1 + k]));
    return NULL;
  }
  sizes[n - 1] = ig_sizes(w)[0];
  ig_tensor *a = flat_rows(c, x);
  ig_tensor *b = flat_rows(c, y);
  ig_int e1[] = {ig_const(1), ig_const(3)};
  ig_int e2[] = {ig_const(0)};
  ig_int e3[] = {ig_const(1), ig_const(2)};
  ig_int sum[] = {ig_const(2), ig_const(3)};
  bool plain = ig_unwatched(c, args, 3) && x->dtype == w->dtype && y->dtype == w->dtype &&
               ig_dtype_is_float(w->dtype) && ig_tensor_numel(w) && ig_tensor_numel(x);
  ig_tensor *out = plain ? bilinear_products(c, a, w, b)
                         : ig__trilinear(c, a, w, b, ig_of_ints(e1, 2), ig_of_ints(e2, 1),
                                         ig_of_ints(e3, 2), ig_of_ints(sum, 2));
  out = ig_reshape(c, out, ig_of_ints(sizes, (size_t)n));
  return args[3].kind == IG_KIND_TENSOR ? ig_add_tensor(c, out, args[3].tensor) : out;
}

static ig_tensor *turned(ig_ctx *c, ig_tensor *x, ig_tensor *idx, int64_t by, ig_int dim) {
  ig_value step = ig_of_i64(by);
  ig_tensor *at = ig_remainder_scalar(c, ig_add_value(c, idx, &step), ig_of_i64(3));
  return ig_index_select(c, x, dim, at);
}
static ig_tensor *linalg_cross_decompose(ig_ctx *c, const ig_value *args) {
  ig_value both[] = {args[0], args[1]};
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_meta m;
  if (x->ndim != y->ndim) {
    ig_fail_text(c, IG_RUNTIME, "linalg.cross: inputs must have the same number of dimensions.");
    return NULL;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (x->ndim == 0 || !ig_int_eq_i64(c, ig_sizes(x)[dim], 3) ||
      !ig_int_eq_i64(c, ig_sizes(y)[dim], 3)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.cross: inputs dimension %lld must have length 3. Got %s and %s",
                 (long long)args[2].i.value,  // concrete: a dimension's number
                 x->ndim ? ig_int_text(c, ig_sizes(x)[dim]) : "1",
                 y->ndim ? ig_int_text(c, ig_sizes(y)[dim]) : "1");
    return NULL;
  }
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  ig_broadcast(c, both, 2, &m);
  if (c->status != IG_OK) return NULL;
  ig_value sizes = ig_of_ints(m.size, (size_t)m.ndim);
  for (int d = 0; d < m.ndim; d++) {
    if (!ig_int_eq(c, ig_sizes(x)[d], m.size[d])) x = ig_expand(c, x, sizes);
    if (!ig_int_eq(c, ig_sizes(y)[d], m.size[d])) y = ig_expand(c, y, sizes);
  }
  ig_tensor *idx = ig_arange_with(c, ig_of_i64(3), ig_none(), ig_none(), ig_of_device(x->device),
                                  ig_of_bool(false));
  ig_int at = ig_const(dim);
  ig_tensor *a = turned(c, x, idx, 1, at);
  ig_tensor *first = ig_mul_tensor(c, a, turned(c, y, idx, 2, at));
  ig_tensor *b = turned(c, x, idx, 2, at);
  ig_tensor *second = ig_mul_tensor(c, b, turned(c, y, idx, 1, at));
  return ig_sub_tensor(c, first, second);
}
static ig_tensor *cross_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t dim = -1;
  if (args[2].kind != IG_KIND_NONE) {
    dim = ig_value_i64(c, &args[2]);
  } else {
    for (int d = 0; d < x->ndim && dim < 0; d++) {
      if (ig_int_eq_i64(c, ig_sizes(x)[d], 3)) dim = d;
    }
    if (dim < 0) {
      ig_fail_text(c, IG_RUNTIME, "no dimension of size 3 in input");
      return NULL;
    }
  }
  return ig_linalg_cross_with(c, x, args[1].tensor, ig_const(dim));
}

// The cheapest order of a chain of products. concrete: costs decide, not shapes; hints serve.
enum { CHAIN = 64 };
static ig_tensor *chain(ig_ctx *c, ig_tensor *const *m, int (*split)[CHAIN], int i, int j) {
  if (i == j) return m[i];
  int k = split[i][j];
  ig_tensor *a = chain(c, m, split, i, k);
  ig_tensor *b = chain(c, m, split, k + 1, j);
  return ig_mm(c, a, b);
}
static ig_tensor *chain_of(ig_ctx *c, ig_tensor *const *m, int n) {
  int(*split)[CHAIN] = ig_scope_push(c, sizeof(int[CHAIN][CHAIN]));
  double(*cost)[CHAIN] = ig_scope_push(c, sizeof(double[CHAIN][CHAIN]));
  double p[CHAIN + 1];
  if (!split || !cost) return NULL;
  for (int i = 0; i < n; i++) p[i] = (double)ig_sizes(m[i])[0].value;  // concrete: cost by hints
  p[n] = (double)ig_sizes(m[n - 1])[1].value;                          // concrete: the same
  for (int i = 0; i < n; i++) cost[i][i] = 0;
  for (int len = 1; len < n; len++) {
    for (int i = 0; i + len < n; i++) {
      int j = i + len;
      cost[i][j] = -1;
      for (int k = i; k < j; k++) {
        double q = cost[i][k] + cost[k + 1][j] + p[i] * p[k + 1] * p[j + 1];
        if (cost[i][j] >= 0 && q >= cost[i][j]) continue;
        cost[i][j] = q;
        split[i][j] = k;
      }
    }
  }
  return chain(c, m, split, 0, n - 1);
}
static ig_tensor *multi_dot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *m[CHAIN] = {NULL};
  int n = args[0].kind == IG_KIND_LIST ? (int)args[0].list.n : 0;
  if (n < 2 || n > CHAIN) {
    ig_fail_text(c, IG_RUNTIME, "multi_dot(): expected at least 2 tensors but got %d", n);
    return NULL;
  }
  for (int i = 0; i < n; i++) m[i] = args[0].list.at[i].tensor;
  ig_int sizes[2];
  size_t k = 0;
  bool row = m[0]->ndim == 1;
  bool col = m[n - 1]->ndim == 1;
  for (int i = 0; i < n; i++) {
    bool end = i == 0 || i == n - 1;
    if (m[i]->ndim == 2 || (end && m[i]->ndim == 1)) continue;
    ig_fail_text(c, IG_RUNTIME, "multi_dot(): tensor %d must be 2D but got %dD", i, m[i]->ndim);
    return NULL;
  }
  if (!row) sizes[k++] = ig_sizes(m[0])[0];
  if (!col) sizes[k++] = ig_sizes(m[n - 1])[1];
  if (row) m[0] = ig_unsqueeze(c, m[0], ig_const(0));
  if (col) m[n - 1] = ig_unsqueeze(c, m[n - 1], ig_const(-1));
  if (c->status != IG_OK) return NULL;
  for (int i = 1; i < n; i++) {
    if (ig_int_eq(c, ig_sizes(m[i - 1])[1], ig_sizes(m[i])[0])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "multi_dot(): tensors %d and %d with shapes %s and %s cannot be multiplied", i - 1,
                 i, ig_sizes_text(c, ig_sizes(m[i - 1]), 2), ig_sizes_text(c, ig_sizes(m[i]), 2));
    return NULL;
  }
  ig_tensor *out = chain_of(c, m, n);
  return ig_view(c, out, ig_of_ints(sizes, k));
}
static ig_tensor *chain_matmul_decompose(ig_ctx *c, const ig_value *args) {
  size_t n = args[0].kind == IG_KIND_LIST ? args[0].list.n : 0;
  for (size_t i = 0; i < n; i++) {
    if (args[0].list.at[i].tensor->ndim == 2) continue;
    ig_fail_text(c, IG_RUNTIME, "Tensor dimension is %d, expected 2 instead.",
                 args[0].list.at[i].tensor->ndim);
    return NULL;
  }
  if (n == 0) {
    ig_fail_text(c, IG_RUNTIME, "chain_matmul(): Expected one or more matrices");
    return NULL;
  }
  return n == 1 ? ig_clone(c, args[0].list.at[0].tensor) : ig_linalg_multi_dot(c, args[0]);
}

// Powers by squaring, in the order of PyTorch.
static ig_tensor *matrix_power_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t power = ig_value_i64(c, &args[1]);
  uint64_t n = power < 0 ? 0 - (uint64_t)power : (uint64_t)power;
  if (x->ndim < 2 || !ig_int_eq(c, ig_sizes(x)[x->ndim - 1], ig_sizes(x)[x->ndim - 2])) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_power: A must be batches of square matrices, but got %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  if (n == 0) {
    ig_tensor *eye = ig_eye_with(c, ig_sizes(x)[x->ndim - 1], ig_of_dtype(x->dtype), ig_none(),
                                 ig_of_device(x->device), ig_none());
    return ig_clone(c, ig_expand(c, eye, ig_sizes_of(x)));
  }
  if (power < 0) x = ig_linalg_inv(c, x);
  if (n == 1) return power == 1 ? ig_clone(c, x) : x;
  if (n == 2) return ig_matmul(c, x, x);
  if (n == 3) {
    ig_tensor *square = ig_matmul(c, x, x);
    return ig_matmul(c, square, x);
  }
  ig_tensor *z = NULL;
  ig_tensor *out = NULL;
  for (; n > 0 && c->status == IG_OK; n /= 2) {
    z = z ? ig_matmul(c, z, z) : x;
    if (n % 2) out = out ? ig_matmul(c, out, z) : z;
  }
  return out;
}
static ig_tensor *kron_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  int n = a->ndim > b->ndim ? a->ndim : b->ndim;
  ig_int sa[IG_MAX_DIM];
  ig_int sb[IG_MAX_DIM];
  ig_int so[IG_MAX_DIM];
  if (2 * n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "kron: found %d dimensions", n);
    return NULL;
  }
  for (int d = 0; d < n; d++) {
    ig_int x = d < n - a->ndim ? ig_const(1) : ig_sizes(a)[d - (n - a->ndim)];
    ig_int y = d < n - b->ndim ? ig_const(1) : ig_sizes(b)[d - (n - b->ndim)];
    sa[2 * d] = x;
    sa[2 * d + 1] = ig_const(1);
    sb[2 * d] = ig_const(1);
    sb[2 * d + 1] = y;
    so[d] = ig_int_mul(c, x, y);
  }
  a = ig__unsafe_view(c, ig_contiguous(c, a), ig_of_ints(sa, (size_t)(2 * n)));
  b = ig__unsafe_view(c, ig_contiguous(c, b), ig_of_ints(sb, (size_t)(2 * n)));
  return ig__unsafe_view(c, ig_mul_tensor(c, a, b), ig_of_ints(so, (size_t)n));
}

IG_OP(addmv) = {
    .schema =
        "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar "
        "alpha=1) -> Tensor",
    .decompose = addmv_decompose,
    .samples = "f32[3], f32[3,4], f32[4] | f32[3], f32[3,4], f32[4], beta=2, alpha=0.5",
    .waive = "values: integers with fractional factors",
};
IG_OP(addbmm) = {
    .schema =
        "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
        "Scalar alpha=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = addbmm_decompose,
    .samples =
        "f32[3,5], f32[2,3,4], f32[2,4,5] | f32[3,5], f32[2,3,4], f32[2,4,5], "
        "beta=0.5, alpha=2",
    .waive = "values: integers with fractional factors",
};
IG_OP(addr) = {
    .schema =
        "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar "
        "alpha=1) -> Tensor",
    .decompose = addr_decompose,
    .samples =
        "f32[3,4], f32[3], f32[4] | f32[3,4], f32[3], f32[4], beta=0.5, alpha=2 | "
        "f32[3,4]:special, f32[3], f32[4], beta=0",
    .waive = "values: bool operands are added as numbers",
};
IG_OP(ger) = {
    .schema = "aten::ger(Tensor self, Tensor vec2) -> Tensor",
    .decompose = ger_decompose,
    .samples = "f32[3], f32[4]",
};
IG_OP(tensordot) = {
    .schema =
        "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) "
        "-> Tensor",
    .decompose = tensordot_decompose,
    .samples =
        "f32[2,3], f32[4,2], [0], [1] | f32[2,3,4], f32[3,4,5], [1,2], [0,1] | f32[3], "
        "f32[2], [], []",
};
IG_OP(inner) = {
    .schema = "aten::inner(Tensor self, Tensor other) -> Tensor",
    .decompose = inner_decompose,
    .samples = "f32[3], f32[3] | f32[2,3], f32[4,3] | f32[], f32[2]",
};
IG_OP(einsum) = {
    .schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    .decompose = einsum_decompose,
    .samples =
        "'ij,jk->ik', (f32[2,3], f32[3,4]) | 'bij,bjk->bik', (f32[2,3,4], f32[2,4,2]) "
        "| 'i,j', (f32[2], f32[3]) | 'ii->i', (f32[3,3]) | '...ij->...ji', "
        "(f32[2,3,4]) | 'ij,kj,j->ik', (f32[2,3], f32[4,3], f32[3]) | 'ij->', "
        "(f32[2,3])",
};
IG_OP(_trilinear) = {
    .schema =
        "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] "
        "expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
    .decompose = trilinear_decompose,
    .samples = "f32[2,3], f32[5,3,4], f32[2,4], [1,3], [0], [1,2], [2,3]",
};
IG_OP(bilinear) = {
    .schema =
        "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? "
        "bias=None) -> Tensor",
    .decompose = bilinear_decompose,
    .samples = "f32[2,3], f32[2,4], f32[5,3,4] | f32[2,3], f32[2,4], f32[5,3,4], f32[5]",
};
IG_OP(linalg_cross) = {
    .schema = "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    .decompose = linalg_cross_decompose,
    .samples = "f32[2,3], f32[2,3] | f32[3,4], f32[3,4], dim=0",
};
IG_OP(cross) = {
    .schema = "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    .decompose = cross_decompose,
    .samples = "f32[2,3], f32[2,3] | f32[3,4], f32[3,4], 0",
};
IG_OP(linalg_multi_dot) = {
    .schema = "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor",
    .decompose = multi_dot_decompose,
    .samples = "(f32[2,3], f32[3,4], f32[4,2]) | (f32[3], f32[3,4], f32[4])",
};
IG_OP(chain_matmul) = {
    .schema = "aten::chain_matmul(Tensor[] matrices) -> Tensor",
    .decompose = chain_matmul_decompose,
    .samples = "(f32[2,3], f32[3,4], f32[4,2]) | (f32[2,3])",
};
IG_OP(linalg_matrix_power) = {
    .schema = "aten::linalg_matrix_power(Tensor self, int n) -> Tensor",
    .decompose = matrix_power_decompose,
    .samples = "f32[2,2], 3 | f32[2,3,3], 2 | f32[2,2], 5",
};
IG_OP(matrix_power) = {
    .schema = "aten::matrix_power(Tensor self, int n) -> Tensor",
    .decompose = matrix_power_decompose,
    .samples = "f32[2,2], 3 | f32[2,3,3], 2",
};
IG_OP(kron) = {
    .schema = "aten::kron(Tensor self, Tensor other) -> Tensor",
    .decompose = kron_decompose,
    .samples = "f32[2,3], f32[3,2] | f32[2], f32[2,3]",
};
