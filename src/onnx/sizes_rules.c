// SPDX-License-Identifier: Apache-2.0
// The rules of the TorchScript exporter's shape inference, one per ONNX operator: how the sizes of
// the results follow from those of the operands. A size that is no sum or product of numbers is not
// known afterwards; vectors of sizes are followed from Shape to Reshape.
#include <string.h>

#include "ingot/aten.h"
#include "onnx/sizes.h"

static const ig_onnx_extent unknown = {.kind = IG_ONNX_UNKNOWN};

static ig_onnx_extent number(int64_t n) {
  return (ig_onnx_extent){IG_ONNX_NUMBER, n, NULL};
}

static bool is_number(ig_onnx_extent d) {
  return d.kind == IG_ONNX_NUMBER;
}

static bool is_one(ig_onnx_extent d) {
  return is_number(d) && d.n == 1;
}

static bool same(ig_onnx_extent a, ig_onnx_extent b) {
  if (a.kind != b.kind) return false;
  if (a.kind == IG_ONNX_UNKNOWN) return a.n && a.n == b.n;
  return is_number(a) ? a.n == b.n : strcmp(a.name, b.name) == 0;
}

static bool all_numbers(const ig_onnx_extents *d) {
  for (size_t i = 0; i < d->n; i++)
    if (!is_number(d->at[i])) return false;
  return true;
}

// ---- operands and attributes

static const ig_onnx_inferred *operand(const ig_onnx_inference *f, size_t i) {
  return ig_onnx_inferred_of(f->x, ig_onnx_input_of(f->n, i));
}

static bool has_operand(const ig_onnx_inference *f, size_t i) {
  const char *name = ig_onnx_input_of(f->n, i);
  return name && name[0];
}

static const ig_onnx_attr *attr(const ig_onnx_inference *f, const char *name) {
  for (size_t i = 0; f->n->attrs[i].name; i++)
    if (strcmp(f->n->attrs[i].name, name) == 0) return &f->n->attrs[i];
  return NULL;
}

static int64_t int_attr(const ig_onnx_inference *f, const char *name, int64_t otherwise) {
  const ig_onnx_attr *a = attr(f, name);
  return a ? a->i : otherwise;
}

// Numbers that are an operand or an attribute, by the opset. False: neither is known.
static bool numbers(const ig_onnx_inference *f, size_t i, const char *name, ig_onnx_extents *out) {
  const ig_onnx_inferred *v = has_operand(f, i) ? operand(f, i) : NULL;
  out->n = 0;
  if (v && v->content && all_numbers(v->content)) {
    out->n = v->content->n;
    memcpy(out->at, v->content->at, out->n * sizeof *out->at);
    return true;
  }
  const ig_onnx_attr *a = has_operand(f, i) || !name ? NULL : attr(f, name);
  if (!a || a->n > IG_MAX_DIM) return false;
  out->n = a->n;
  for (size_t k = 0; k < a->n; k++) out->at[k] = number(a->ints[k]);
  return true;
}

static bool axis_in(int64_t axis, size_t ndim, size_t *out) {
  if (axis < 0) axis += (int64_t)ndim;
  *out = (size_t)axis;
  return axis >= 0 && (size_t)axis < ndim;
}

static void copy_sizes(ig_onnx_inference *f, const ig_onnx_extents *from) {
  f->sizes.n = from->n;
  memcpy(f->sizes.at, from->at, from->n * sizeof *from->at);
}

static void copy_content(ig_onnx_inference *f, const ig_onnx_extents *from) {
  f->has_content = from != NULL;
  if (!from) return;
  f->content.n = from->n;
  memcpy(f->content.at, from->at, from->n * sizeof *from->at);
}

static bool all_unknown(ig_onnx_inference *f, size_t n) {
  if (n > IG_MAX_DIM) return false;
  f->sizes.n = n;
  for (size_t i = 0; i < n; i++) f->sizes.at[i] = unknown;
  return true;
}

// The length of a vector operand.
static bool length_of(const ig_onnx_inference *f, size_t i, size_t *out) {
  const ig_onnx_inferred *v = operand(f, i);
  if (!v || v->sizes->n != 1 || !is_number(v->sizes->at[0]) || v->sizes->at[0].n < 0) return false;
  *out = (size_t)v->sizes->at[0].n;
  return true;
}

// ---- elementwise

static bool like_first(ig_onnx_inference *f) {
  copy_sizes(f, f->in);
  copy_content(f, operand(f, 0)->content);
  return true;
}

static bool like_first_only(ig_onnx_inference *f) {
  copy_sizes(f, f->in);
  return true;
}

// An axis of operands that are broadcast. plain: as the standard says, by which 1 gives way and a
// number decides; the exporter's own rule for pairs knows only numbers and equal names.
static ig_onnx_extent spread(ig_onnx_extent a, ig_onnx_extent b, bool plain) {
  if (same(a, b)) return a;
  bool both = is_number(a) && is_number(b);
  if ((plain || both) && is_one(a)) return b;
  if ((plain || both) && is_one(b)) return a;
  if (plain && is_number(a)) return a;
  return plain && is_number(b) ? b : unknown;
}

static bool spread_sizes(ig_onnx_extents *to, const ig_onnx_extents *from, size_t tail,
                         bool plain) {
  size_t n = to->n > from->n ? to->n : from->n;
  ig_onnx_extents out = {.n = n};
  for (size_t i = tail; i < n; i++) {
    ig_onnx_extent *at = &out.at[n - 1 - i];
    if (i >= to->n || i >= from->n) {
      *at = i < to->n ? to->at[to->n - 1 - i] : from->at[from->n - 1 - i];
    } else {
      *at = spread(to->at[to->n - 1 - i], from->at[from->n - 1 - i], plain);
    }
  }
  to->n = n;
  memcpy(to->at, out.at, n * sizeof *out.at);
  return true;
}

static bool broadcast_all(ig_onnx_inference *f, bool plain) {
  copy_sizes(f, f->in);
  for (size_t i = 1; has_operand(f, i); i++) {
    const ig_onnx_inferred *v = operand(f, i);
    if (!v) return false;
    (void)spread_sizes(&f->sizes, v->sizes, 0, plain);
  }
  return true;
}

static bool pair(ig_onnx_inference *f) {
  return broadcast_all(f, false);
}

static bool broadcast(ig_onnx_inference *f) {
  return broadcast_all(f, true);
}

// ---- sizes as values

static bool shape(ig_onnx_inference *f) {
  if (attr(f, "start") || attr(f, "end")) return false;
  f->sizes.n = 1;
  f->sizes.at[0] = number((int64_t)f->in->n);
  copy_content(f, f->in);
  f->whole = true;
  return true;
}

// Whether a call lists sizes one by one: the exporter reads each of them from a tensor of its own.
static bool lists_sizes(const ig_node *n) {
  for (size_t i = 0; n && i < n->npos + n->nkw; i++) {
    const ig_value *v = &n->args[i];
    for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n; k++)
      if (v->list.at[k].kind == IG_KIND_NODE && v->list.at[k].node->val.kind == IG_KIND_INT)
        return true;
  }
  return false;
}

static bool constant_of_shape(ig_onnx_inference *f) {
  const ig_onnx_inferred *v = operand(f, 0);
  bool whole = v->whole && !lists_sizes(f->x->node);
  if (v->content && (whole || all_numbers(v->content))) {
    copy_sizes(f, v->content);
    return true;
  }
  size_t n = 0;
  return length_of(f, 0, &n) && all_unknown(f, n);
}

static bool expand(ig_onnx_inference *f) {
  const ig_onnx_inferred *v = operand(f, 1);
  if (v && v->content && all_numbers(v->content) && all_numbers(f->in)) {
    copy_sizes(f, v->content);
    return spread_sizes(&f->sizes, f->in, 0, true);
  }
  size_t n = 0;
  return length_of(f, 1, &n) && all_unknown(f, n > f->in->n ? n : f->in->n);
}

// How often a named size occurs.
static size_t occurrences(const ig_onnx_extents *d, const char *name) {
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++)
    n += d->at[i].kind == IG_ONNX_NAMED && strcmp(d->at[i].name, name) == 0;
  return n;
}

// Whether the same named sizes occur in both.
static bool same_names(const ig_onnx_extents *a, const ig_onnx_extents *b) {
  for (size_t i = 0; i < a->n; i++) {
    if (a->at[i].kind == IG_ONNX_UNKNOWN) return false;
    if (a->at[i].kind == IG_ONNX_NAMED &&
        occurrences(a, a->at[i].name) != occurrences(b, a->at[i].name))
      return false;
  }
  return true;
}

// The product of the numbers; -1, which stands for another size, does not count.
static bool times(const ig_onnx_extents *d, int64_t *out) {
  *out = 1;
  for (size_t i = 0; i < d->n; i++) {
    if (!is_number(d->at[i]) || d->at[i].n == -1) continue;
    if (__builtin_mul_overflow(*out, d->at[i].n, out)) return false;
  }
  return true;
}

// The size that -1 stands for.
static bool fill_rest(ig_onnx_extents *sizes, const ig_onnx_extents *in) {
  int64_t total = 0;
  int64_t rest = 0;
  if (!same_names(in, sizes) || !same_names(sizes, in)) return false;
  if (!times(in, &total) || !times(sizes, &rest) || rest <= 0) return false;
  for (size_t i = 0; i < sizes->n; i++)
    if (is_number(sizes->at[i]) && sizes->at[i].n == -1) sizes->at[i].n = total / rest;
  return true;
}

static bool reshape(ig_onnx_inference *f) {
  const ig_onnx_inferred *v = operand(f, 1);
  size_t n = 0;
  if (!v || !length_of(f, 1, &n)) return false;
  if (!v->content) return all_unknown(f, n);
  copy_sizes(f, v->content);
  bool rest = false;
  for (size_t i = 0; i < n; i++) {
    ig_onnx_extent *d = &f->sizes.at[i];
    if (d->kind == IG_ONNX_UNKNOWN) return all_unknown(f, n);
    if (is_number(*d) && d->n == 0 && i < f->in->n) *d = f->in->at[i];
    rest = rest || (is_number(*d) && d->n == -1);
  }
  if (!rest) return true;
  return fill_rest(&f->sizes, f->in) || all_unknown(f, n);
}

static ig_onnx_extent product(const ig_onnx_extents *d, size_t from, size_t to) {
  int64_t n = 1;
  if (to == from + 1) return d->at[from];
  for (size_t i = from; i < to; i++)
    if (!is_number(d->at[i]) || __builtin_mul_overflow(n, d->at[i].n, &n)) return unknown;
  return number(n);
}

static bool flatten(ig_onnx_inference *f) {
  int64_t axis = int_attr(f, "axis", 1);
  size_t at = (size_t)(axis < 0 ? axis + (int64_t)f->in->n : axis);
  if (at > f->in->n) return false;
  f->sizes.n = 2;
  f->sizes.at[0] = product(f->in, 0, at);
  f->sizes.at[1] = product(f->in, at, f->in->n);
  return true;
}

// ---- parts

static bool gather(ig_onnx_inference *f) {
  const ig_onnx_inferred *index = operand(f, 1);
  size_t axis = 0;
  if (!index || !axis_in(int_attr(f, "axis", 0), f->in->n, &axis)) return false;
  size_t n = f->in->n - 1 + index->sizes->n;
  if (n > IG_MAX_DIM) return false;
  f->sizes.n = n;
  for (size_t i = 0; i < axis; i++) f->sizes.at[i] = f->in->at[i];
  for (size_t i = 0; i < index->sizes->n; i++) f->sizes.at[axis + i] = index->sizes->at[i];
  for (size_t i = axis + 1; i < f->in->n; i++) f->sizes.at[i - 1 + index->sizes->n] = f->in->at[i];
  const ig_onnx_extents *from = operand(f, 0)->content;
  if (!from || !index->content || !all_numbers(index->content)) return true;
  f->has_content = true;
  f->content.n = index->content->n;
  for (size_t i = 0; i < index->content->n; i++) {
    size_t at = 0;
    bool in = axis_in(index->content->at[i].n, from->n, &at);
    f->content.at[i] = in ? from->at[at] : unknown;
  }
  return true;
}

// A place in a dimension of n elements, which may count from its end, between two bounds.
static int64_t clamped(int64_t i, int64_t n, int64_t least, int64_t most) {
  if (i < 0) i = i < -n ? least : i + n;
  return i < least ? least : i > most ? most : i;
}

typedef struct taken {
  int64_t first;
  int64_t step;
  int64_t count;  // negative: not known
} taken;

// What slice i takes of n elements.
static taken taken_of(const ig_onnx_extents *from, const ig_onnx_extents *to,
                      const ig_onnx_extents *by, size_t i, int64_t n) {
  taken t = {.step = i < by->n ? by->at[i].n : 1, .count = -1};
  if (i >= from->n || i >= to->n || t.step == 0 || t.step == INT64_MIN) return t;
  bool down = t.step < 0;  // to the element after `to`
  t.first = down ? clamped(from->at[i].n, n, 0, n - 1) : clamped(from->at[i].n, n, 0, n);
  int64_t end = down ? clamped(to->at[i].n, n, -1, n - 1) : clamped(to->at[i].n, n, 0, n);
  int64_t length = down ? t.first - end : end - t.first;
  t.count = length <= 0 ? 0 : (length - 1) / (down ? -t.step : t.step) + 1;
  return t;
}

static bool slice(ig_onnx_inference *f) {
  ig_onnx_extents from;
  ig_onnx_extents to;
  ig_onnx_extents axes;
  ig_onnx_extents by;
  bool known = numbers(f, 1, "starts", &from);
  known = numbers(f, 2, "ends", &to) && known;
  known = (numbers(f, 4, "steps", &by) || !has_operand(f, 4)) && known;
  if (!numbers(f, 3, "axes", &axes)) return false;
  copy_sizes(f, f->in);
  for (size_t i = 0; i < axes.n; i++) {
    size_t axis = 0;
    if (!axis_in(axes.at[i].n, f->in->n, &axis)) return false;
    ig_onnx_extent *d = &f->sizes.at[axis];
    int64_t n = known && is_number(*d) ? taken_of(&from, &to, &by, i, d->n).count : -1;
    *d = n < 0 ? unknown : number(n);
  }
  const ig_onnx_extents *content = operand(f, 0)->content;
  if (!known || !content || axes.n != 1) return true;
  taken t = taken_of(&from, &to, &by, 0, (int64_t)content->n);
  if (t.count < 0) return true;
  f->has_content = true;
  f->content.n = (size_t)t.count;
  for (int64_t i = 0; i < t.count; i++) f->content.at[i] = content->at[t.first + i * t.step];
  return true;
}

static bool split(ig_onnx_inference *f) {
  ig_onnx_extents lengths;
  size_t count = f->n->nouts;
  if (!count || count > IG_MAX_DIM || !axis_in(int_attr(f, "axis", 0), f->in->n, &f->split_axis))
    return false;
  copy_sizes(f, f->in);
  ig_onnx_extent whole = f->in->at[f->split_axis];
  bool given = numbers(f, 1, "split", &lengths);
  f->is_split = true;
  for (size_t i = 0; i < count; i++) {
    f->pieces[i] = 0;
    if (!is_number(whole)) continue;
    f->pieces[i] = given && i < lengths.n ? lengths.at[i].n : whole.n / (int64_t)count;
  }
  return true;
}

static bool concat(ig_onnx_inference *f) {
  size_t axis = 0;
  if (!axis_in(int_attr(f, "axis", 0), f->in->n, &axis)) return false;
  copy_sizes(f, f->in);
  copy_content(f, operand(f, 0)->content);
  size_t i = 1;
  for (; has_operand(f, i); i++) {
    const ig_onnx_inferred *v = operand(f, i);
    if (!v || v->sizes->n != f->in->n) return false;
    for (size_t d = 0; d < f->in->n; d++) {
      ig_onnx_extent *to = &f->sizes.at[d];
      ig_onnx_extent from = v->sizes->at[d];
      if (d != axis) {
        if (!is_number(*to)) *to = is_number(from) ? from : unknown;
        continue;
      }
      *to = is_number(*to) && is_number(from) ? number(to->n + from.n) : unknown;
    }
    f->has_content = f->has_content && v->content && f->content.n + v->content->n <= IG_MAX_DIM;
    for (size_t k = 0; f->has_content && k < v->content->n; k++)
      f->content.at[f->content.n++] = v->content->at[k];
  }
  return true;
}

static bool tile(ig_onnx_inference *f) {
  ig_onnx_extents by;
  bool known = numbers(f, 1, NULL, &by) && by.n == f->in->n;
  if (!known) return all_unknown(f, f->in->n);
  f->sizes.n = f->in->n;
  for (size_t i = 0; i < by.n; i++) {
    ig_onnx_extent d = f->in->at[i];
    int64_t n = 0;
    bool fits = is_number(d) && !__builtin_mul_overflow(d.n, by.at[i].n, &n);
    f->sizes.at[i] = fits ? number(n) : unknown;
  }
  return true;
}

// ---- axes

static bool unsqueeze(ig_onnx_inference *f) {
  ig_onnx_extents axes;
  if (!numbers(f, 1, "axes", &axes) || f->in->n + axes.n > IG_MAX_DIM) return false;
  size_t n = f->in->n + axes.n;
  bool added[IG_MAX_DIM] = {false};
  for (size_t i = 0; i < axes.n; i++) {
    size_t axis = 0;
    if (!axis_in(axes.at[i].n, n, &axis)) return false;
    added[axis] = true;
  }
  f->sizes.n = n;
  for (size_t i = 0, k = 0; i < n; i++)
    f->sizes.at[i] = added[i] || k >= f->in->n ? number(1) : f->in->at[k++];
  copy_content(f, operand(f, 0)->content);
  return true;
}

// The sizes without some axes, or with 1 in their place.
static void drop(ig_onnx_inference *f, const bool *dropped, bool keep) {
  f->sizes.n = 0;
  for (size_t i = 0; i < f->in->n; i++) {
    if (!dropped[i]) f->sizes.at[f->sizes.n++] = f->in->at[i];
    if (dropped[i] && keep) f->sizes.at[f->sizes.n++] = number(1);
  }
}

static bool mark(const ig_onnx_extents *axes, size_t ndim, bool *dropped) {
  for (size_t i = 0; i < axes->n; i++) {
    size_t axis = 0;
    if (!axis_in(axes->at[i].n, ndim, &axis)) return false;
    dropped[axis] = true;
  }
  return true;
}

static bool squeeze(ig_onnx_inference *f) {
  ig_onnx_extents axes;
  bool dropped[IG_MAX_DIM] = {false};
  if (!numbers(f, 1, "axes", &axes) || !mark(&axes, f->in->n, dropped)) return false;
  drop(f, dropped, false);
  copy_content(f, operand(f, 0)->content);
  return true;
}

static bool reduce(ig_onnx_inference *f) {
  ig_onnx_extents axes;
  bool dropped[IG_MAX_DIM] = {false};
  bool given = numbers(f, 1, "axes", &axes);
  if (!given && has_operand(f, 1)) return false;
  for (size_t i = 0; !given && i < f->in->n; i++) dropped[i] = true;
  if (given && !mark(&axes, f->in->n, dropped)) return false;
  drop(f, dropped, int_attr(f, "keepdims", 1) != 0);
  return true;
}

static bool arg_extreme(ig_onnx_inference *f) {
  bool dropped[IG_MAX_DIM] = {false};
  size_t axis = 0;
  if (!axis_in(int_attr(f, "axis", 0), f->in->n, &axis)) return false;
  dropped[axis] = true;
  drop(f, dropped, int_attr(f, "keepdims", 1) != 0);
  return true;
}

static bool transpose(ig_onnx_inference *f) {
  const ig_onnx_attr *perm = attr(f, "perm");
  if (!perm || perm->n != f->in->n) return false;
  f->sizes.n = perm->n;
  for (size_t i = 0; i < perm->n; i++) {
    size_t axis = 0;
    if (!axis_in(perm->ints[i], f->in->n, &axis)) return false;
    f->sizes.at[i] = f->in->at[axis];
  }
  return true;
}

// ---- the others

static bool range(ig_onnx_inference *f) {
  const ig_onnx_inferred *v[3] = {operand(f, 0), operand(f, 1), operand(f, 2)};
  int64_t at[3];
  for (size_t i = 0; i < 3; i++) {
    const ig_onnx_extents *one = v[i] ? v[i]->content : NULL;
    if (!one || one->n != 1 || !is_number(one->at[0])) return all_unknown(f, 1);
    at[i] = one->at[0].n;
  }
  int64_t length = 0;
  if (at[2] <= 0 || __builtin_sub_overflow(at[1], at[0], &length)) return all_unknown(f, 1);
  f->sizes.n = 1;
  f->sizes.at[0] = number(length <= 0 ? 0 : (length - 1) / at[2] + 1);
  return true;
}

static bool top_k(ig_onnx_inference *f) {
  ig_onnx_extents k;
  size_t axis = 0;
  if (!axis_in(int_attr(f, "axis", -1), f->in->n, &axis)) return false;
  // To sort, the exporter reads the number from the sizes.
  const ig_node *n = f->x->node;
  bool read = n && n->op && (n->op->number == IG_ID_SORT || n->op->number == IG_ID_SORT_STABLE);
  bool known = numbers(f, 1, NULL, &k) && k.n == 1 && (!read || all_numbers(f->in));
  if (!known && f->x->least >= 10) return all_unknown(f, f->in->n);
  if (!known) return false;
  copy_sizes(f, f->in);
  f->sizes.at[axis] = k.at[0];
  return true;
}

static bool one_hot(ig_onnx_inference *f) {
  if (f->in->n >= IG_MAX_DIM) return false;
  copy_sizes(f, f->in);
  f->sizes.at[f->sizes.n++] = unknown;
  return true;
}

static bool non_zero(ig_onnx_inference *f) {
  f->sizes.n = 2;
  f->sizes.at[0] = number((int64_t)f->in->n);
  f->sizes.at[1] = unknown;
  return true;
}

static bool mat_mul(ig_onnx_inference *f) {
  const ig_onnx_inferred *v = operand(f, 1);
  if (!v || f->in->n < 2 || v->sizes->n < 2) return false;
  copy_sizes(f, f->in);
  ig_onnx_extent rows = f->in->at[f->in->n - 2];
  ig_onnx_extent columns = v->sizes->at[v->sizes->n - 1];
  (void)spread_sizes(&f->sizes, v->sizes, 2, false);
  f->sizes.at[f->sizes.n - 2] = rows;
  f->sizes.at[f->sizes.n - 1] = columns;
  return true;
}

static bool gemm(ig_onnx_inference *f) {
  const ig_onnx_inferred *v = operand(f, 1);
  if (!v || f->in->n != 2 || v->sizes->n != 2) return false;
  f->sizes.n = 2;
  f->sizes.at[0] = f->in->at[int_attr(f, "transA", 0) != 0];
  f->sizes.at[1] = v->sizes->at[int_attr(f, "transB", 0) == 0];
  return true;
}

static bool gather_elements(ig_onnx_inference *f) {
  const ig_onnx_inferred *index = operand(f, 1);
  if (index) copy_sizes(f, index->sizes);
  return index != NULL;
}

// [length, batch, features] -> [length, directions, batch, hidden], [directions, batch, hidden]
static bool recurrent(ig_onnx_inference *f) {
  const ig_onnx_inferred *w = operand(f, 1);
  int64_t hidden = int_attr(f, "hidden_size", 0);
  if (!w || w->sizes->n != 3 || f->in->n != 3 || !hidden) return false;
  ig_onnx_extent all[] = {f->in->at[0], w->sizes->at[0], f->in->at[1], number(hidden)};
  f->sizes.n = 4;
  memcpy(f->sizes.at, all, sizeof all);
  f->last.n = 3;
  memcpy(f->last.at, all + 1, sizeof all - sizeof *all);
  f->has_last = true;
  return true;
}

// A size that is enlarged by a known factor.
static ig_onnx_extent scaled(ig_onnx_extent d, const ig_tensor *scales, size_t i) {
  bool known = scales && scales->dtype == IG_F32 && (size_t)ig_tensor_numel(scales) > i;
  if (!is_number(d) || !known) return unknown;
  double n = (double)d.n * (double)((const float *)ig_tensor_data(scales))[i];
  return n >= 0 && n < (double)INT32_MAX ? number((int64_t)n) : unknown;
}

static bool resize(ig_onnx_inference *f) {
  const ig_onnx_inferred *sizes = has_operand(f, 3) ? operand(f, 3) : NULL;
  if (sizes && sizes->content && all_numbers(sizes->content)) {
    copy_sizes(f, sizes->content);
    return true;
  }
  if (has_operand(f, 3)) return all_unknown(f, f->in->n);
  const ig_tensor *scales = ig_onnx_known_value(f->x, ig_onnx_input_of(f->n, 2));
  copy_sizes(f, f->in);
  for (size_t i = 0; i < f->sizes.n; i++) f->sizes.at[i] = scaled(f->in->at[i], scales, i);
  return true;
}

typedef bool rule(ig_onnx_inference *f);
static const struct {
  const char *op;
  rule *fn;
} rules[] = {
    {"Abs", like_first_only},
    {"Add", pair},
    {"And", pair},
    {"ArgMax", arg_extreme},
    {"ArgMin", arg_extreme},
    {"BatchNormalization", like_first_only},
    {"Cast", like_first},
    {"Ceil", like_first_only},
    {"Clip", like_first_only},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"CumSum", like_first_only},
    {"Div", pair},
    {"Equal", pair},
    {"Erf", like_first_only},
    {"Exp", like_first_only},
    {"Expand", expand},
    {"EyeLike", like_first_only},
    {"Flatten", flatten},
    {"Floor", like_first_only},
    {"GRU", recurrent},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"Gemm", gemm},
    {"Greater", pair},
    {"GreaterOrEqual", pair},
    {"Identity", like_first},
    {"LSTM", recurrent},
    {"LayerNormalization", like_first_only},
    {"LeakyRelu", like_first_only},
    {"Less", pair},
    {"LessOrEqual", pair},
    {"Log", like_first_only},
    {"LogSoftmax", like_first_only},
    {"MatMul", mat_mul},
    {"Max", broadcast},
    {"Min", broadcast},
    {"Mod", pair},
    {"Mul", pair},
    {"Neg", like_first_only},
    {"NonZero", non_zero},
    {"Not", like_first_only},
    {"OneHot", one_hot},
    {"Or", pair},
    {"Pow", pair},
    {"RNN", recurrent},
    {"RandomNormalLike", like_first_only},
    {"RandomUniformLike", like_first_only},
    {"Range", range},
    {"Reciprocal", like_first_only},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceLogSumExp", reduce},
    {"ReduceMax", reduce},
    {"ReduceMean", reduce},
    {"ReduceMin", reduce},
    {"ReduceProd", reduce},
    {"ReduceSum", reduce},
    {"Relu", like_first_only},
    {"Reshape", reshape},
    {"Resize", resize},
    {"Round", like_first_only},
    {"ScatterElements", like_first_only},
    {"ScatterND", like_first_only},
    {"Shape", shape},
    {"Sigmoid", like_first_only},
    {"Sign", like_first_only},
    {"Slice", slice},
    {"Softmax", like_first_only},
    {"Split", split},
    {"Sqrt", like_first_only},
    {"Squeeze", squeeze},
    {"Sub", pair},
    {"Tanh", like_first_only},
    {"Tile", tile},
    {"TopK", top_k},
    {"Transpose", transpose},
    {"Trilu", like_first_only},
    {"Unsqueeze", unsqueeze},
    {"Where", broadcast},
    {"Xor", pair},
};

bool ig_onnx_infer_sizes(ig_onnx_inference *f) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (strcmp(rules[i].op, f->n->op_type) == 0)
      return !f->n->domain && (f->in || rules[i].fn == range) && rules[i].fn(f);
  }
  return false;
}
