// SPDX-License-Identifier: Apache-2.0
// The same elements in another arrangement, made of views and copies: movedim, adjoint, ravel,
// reshape_as, the stack family, tile, roll, rot90, meshgrid, splits along fixed dimensions.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

static ig_tensor *reshape_as_decompose(ig_ctx *c, const ig_value *args) {
  return ig_reshape(c, args[0].tensor, ig_sizes_of(args[1].tensor));
}
static ig_tensor *ravel_decompose(ig_ctx *c, const ig_value *args) {
  ig_int all = ig_const(-1);
  return ig_reshape(c, ig_contiguous(c, args[0].tensor), ig_of_ints(&all, 1));
}
static ig_tensor *adjoint_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim == 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D "
                 "tensor.");
    return NULL;
  }
  ig_tensor *swapped = x->ndim ? ig_transpose_int(c, x, ig_const(-2), ig_const(-1)) : x;
  return ig_dtype_is_complex(x->dtype) ? ig__conj(c, swapped) : swapped;
}

static ig_tensor *movedim(ig_ctx *c, ig_tensor *x, const ig_value *from, const ig_value *to) {
  int order[IG_MAX_DIM];
  bool moved[IG_MAX_DIM] = {false};
  bool taken[IG_MAX_DIM] = {false};
  size_t n = from->ints.n;
  if (n != to->ints.n) {
    ig_fail_text(c, IG_RUNTIME,
                 "movedim: Invalid source or destination dims: source (%s dims) should contain the "
                 "same number of dims as destination (%s dims)",
                 ig_sizes_text(c, from->ints.at, n), ig_sizes_text(c, to->ints.at, to->ints.n));
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    int a = ig_wrap_dim(c, ig_int_specialize(c, from->ints.at[i]), x->ndim);
    int b = ig_wrap_dim(c, ig_int_specialize(c, to->ints.at[i]), x->ndim);
    if (c->status != IG_OK) return NULL;
    if (moved[a] || taken[b]) {
      ig_fail_text(c, IG_RUNTIME, "movedim: repeated dim in `%s` (%s)",
                   moved[a] ? "source" : "destination",
                   ig_sizes_text(c, moved[a] ? from->ints.at : to->ints.at, n));
      return NULL;
    }
    order[b] = a;
    moved[a] = taken[b] = true;
  }
  if (x->ndim == 0) return x;
  ig_int dims[IG_MAX_DIM];
  int next = 0;
  for (int d = 0; d < x->ndim; d++) {
    while (!taken[d] && moved[next]) next++;
    dims[d] = ig_const(taken[d] ? order[d] : next++);
  }
  return ig_permute(c, x, ig_of_ints(dims, (size_t)x->ndim));
}
static ig_tensor *movedim_intlist(ig_ctx *c, const ig_value *args) {
  return movedim(c, args[0].tensor, &args[1], &args[2]);
}
static ig_tensor *movedim_int(ig_ctx *c, const ig_value *args) {
  ig_int from = args[1].i;
  ig_int to = args[2].i;
  return ig_movedim_intlist(c, args[0].tensor, ig_of_ints(&from, 1), ig_of_ints(&to, 1));
}

static ig_tensor *at_least(ig_ctx *c, ig_tensor *x, int ndim) {
  if (x->ndim >= ndim) return x;
  if (x->ndim == 0) {
    ig_int ones[] = {ig_const(1), ig_const(1), ig_const(1)};
    return ig_reshape(c, x, ig_of_ints(ones, (size_t)ndim));
  }
  if (x->ndim == 1) x = ig_unsqueeze(c, x, ig_const(0));
  return ndim == 3 ? ig_unsqueeze(c, x, ig_const(-1)) : x;
}
static ig_tensor *atleast_1d(ig_ctx *c, const ig_value *args) {
  return at_least(c, args[0].tensor, 1);
}
static ig_tensor *atleast_2d(ig_ctx *c, const ig_value *args) {
  return at_least(c, args[0].tensor, 2);
}
static ig_tensor *atleast_3d(ig_ctx *c, const ig_value *args) {
  return at_least(c, args[0].tensor, 3);
}
typedef ig_tensor *of_one(ig_ctx *c, ig_tensor *x);
static ig_value each(ig_ctx *c, const ig_value *list, of_one *fn) {
  size_t n = list->kind == IG_KIND_LIST ? list->list.n : 0;
  ig_value *out = ig_scope_array(c, n, sizeof *out);
  if (!out) return ig_none();
  for (size_t i = 0; i < n; i++) out[i] = ig_of_tensor(fn(c, list->list.at[i].tensor));
  return ig_of_list(out, n);
}
static ig_tensor *one_1d(ig_ctx *c, ig_tensor *x) {
  return ig_atleast_1d(c, x);
}
static ig_tensor *one_2d(ig_ctx *c, ig_tensor *x) {
  return ig_atleast_2d(c, x);
}
static ig_tensor *one_3d(ig_ctx *c, ig_tensor *x) {
  return ig_atleast_3d(c, x);
}
static void atleast_1d_sequence(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = each(c, &args[0], one_1d);
}
static void atleast_2d_sequence(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = each(c, &args[0], one_2d);
}
static void atleast_3d_sequence(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = each(c, &args[0], one_3d);
}

static bool some_tensors(ig_ctx *c, const ig_value *list, const char *name) {
  if (list->kind == IG_KIND_LIST && list->list.n) return true;
  ig_fail_text(c, IG_RUNTIME, "%s expects a non-empty TensorList", name);
  return false;
}
static ig_tensor *hstack_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  if (!some_tensors(c, &args[0], "hstack")) return NULL;
  ig_atleast_1d_sequence(c, args[0], outs);
  if (c->status != IG_OK) return NULL;
  bool flat = outs[0].list.at[0].tensor->ndim == 1;
  return ig_cat_with(c, outs[0], ig_const(flat ? 0 : 1));
}
static ig_tensor *vstack_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  if (!some_tensors(c, &args[0], "vstack")) return NULL;
  ig_atleast_2d_sequence(c, args[0], outs);
  return c->status == IG_OK ? ig_cat_with(c, outs[0], ig_const(0)) : NULL;
}
static ig_tensor *dstack_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  if (!some_tensors(c, &args[0], "dstack")) return NULL;
  ig_atleast_3d_sequence(c, args[0], outs);
  return c->status == IG_OK ? ig_cat_with(c, outs[0], ig_const(2)) : NULL;
}
static ig_tensor *column(ig_ctx *c, ig_tensor *x) {
  if (x->ndim > 1) return x;
  ig_int sizes[] = {ig_numel_of(c, x), ig_const(1)};
  return ig_reshape(c, x, ig_of_ints(sizes, 2));
}
static ig_tensor *column_stack_decompose(ig_ctx *c, const ig_value *args) {
  if (!some_tensors(c, &args[0], "column_stack")) return NULL;
  ig_value columns = each(c, &args[0], column);
  return c->status == IG_OK ? ig_hstack(c, columns) : NULL;
}

static ig_tensor *tile_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int reps[IG_MAX_DIM];
  size_t n = args[1].ints.n;
  if (n >= (size_t)x->ndim) return ig_repeat(c, x, args[1]);
  size_t lead = (size_t)x->ndim - n;
  for (size_t i = 0; i < lead; i++) reps[i] = ig_const(1);
  for (size_t i = 0; i < n; i++) reps[lead + i] = args[1].ints.at[i];
  return ig_repeat(c, x, ig_of_ints(reps, (size_t)x->ndim));
}

static ig_tensor *fliplr_decompose(ig_ctx *c, const ig_value *args) {
  ig_int dim = ig_const(1);
  if (args[0].tensor->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "Input must be >= 2-d.");
    return NULL;
  }
  return ig_flip(c, args[0].tensor, ig_of_ints(&dim, 1));
}
static ig_tensor *flipud_decompose(ig_ctx *c, const ig_value *args) {
  ig_int dim = ig_const(0);
  if (args[0].tensor->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "Input must be >= 1-d.");
    return NULL;
  }
  return ig_flip(c, args[0].tensor, ig_of_ints(&dim, 1));
}

// Quarter turns from dims[0] towards dims[1].
static ig_tensor *rot90_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t k = ig_value_i64(c, &args[1]) % 4;
  if (args[2].ints.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "expected total rotation dims == 2, but got dims = %zu",
                 args[2].ints.n);
    return NULL;
  }
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "expected total dims >= 2, but got total dims = %d", x->ndim);
    return NULL;
  }
  ig_int a = args[2].ints.at[0];
  ig_int b = args[2].ints.at[1];
  int da = ig_wrap_dim(c, ig_int_specialize(c, a), x->ndim);
  int db = ig_wrap_dim(c, ig_int_specialize(c, b), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (da == db) {
    ig_fail_text(c, IG_RUNTIME,
                 "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                 (long long)a.value, (long long)b.value);  // concrete: numbers of dimensions
    return NULL;
  }
  switch (k < 0 ? k + 4 : k) {
    case 1:
      return ig_transpose_int(c, ig_flip(c, x, ig_of_ints(&b, 1)), a, b);
    case 2:
      return ig_flip(c, x, args[2]);
    case 3:
      return ig_transpose_int(c, ig_flip(c, x, ig_of_ints(&a, 1)), a, b);
    default:
      return ig_clone_with(c, x, ig_of_memory_format(IG_CONTIGUOUS));
  }
}

static ig_tensor *roll_once(ig_ctx *c, ig_tensor *x, ig_int shift, int dim) {
  ig_int size = ig_sizes(x)[dim];
  if (ig_int_eq_i64(c, size, 0)) return x;
  ig_int start = ig_size_mod(c, ig_size_sub(c, size, shift), size);
  ig_value self = ig_of_tensor(x);
  if (ig_unwatched(c, &self, 1)) {  // two pieces that change places
    ig_tensor *end = ig_narrow(c, x, ig_const(dim), start, ig_size_sub(c, size, start));
    ig_tensor *head = ig_narrow(c, x, ig_const(dim), ig_const(0), start);
    ig_value parts[] = {ig_of_tensor(end), ig_of_tensor(head)};
    return ig_cat_with(c, ig_of_list(parts, 2), ig_const(dim));
  }
  ig_size_show(c, start);
  ig_tensor *at = ig_arange_with(c, ig_of_int(size), ig_none(), ig_none(), ig_of_device(x->device),
                                 ig_of_bool(false));
  ig_value step = ig_of_int(start);
  at = ig_fmod_scalar(c, ig_add_value(c, at, &step), ig_of_int(size));
  return ig_index_select(c, x, ig_const(dim), at);
}
static ig_tensor *roll_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  size_t n = args[1].ints.n;
  size_t ndims = args[2].ints.n;
  if (n == 0) {
    ig_fail_text(c, IG_RUNTIME, "`shifts` required");
    return NULL;
  }
  if (ndims == 0 && n == 1) {
    ig_int all = ig_const(0);
    ig_tensor *flat = ig_flatten_using_ints(c, x);
    flat = ig_roll_with(c, flat, args[1], ig_of_ints(&all, 1));
    return ig_view(c, flat, ig_sizes_of(x));
  }
  if (n != ndims) {
    ig_fail_text(c, IG_RUNTIME, "shifts and dimensions must align. shifts: %zu, dims:%zu", n,
                 ndims);
    return NULL;
  }
  if (x->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as 0 but tensor has no dimensions");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    int dim = ig_wrap_dim(c, ig_int_specialize(c, args[2].ints.at[i]), args[0].tensor->ndim);
    if (c->status != IG_OK) return NULL;
    x = roll_once(c, x, args[1].ints.at[i], dim);
    if (!x) return NULL;
  }
  return x == args[0].tensor ? ig_clone(c, x) : x;
}

// Only what changes is expanded.
static void broadcast_tensors_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_meta m;
  size_t n = args[0].kind == IG_KIND_LIST ? args[0].list.n : 0;
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  ig_broadcast(c, args[0].list.at, n, &m);
  ig_value *list = ig_scope_array(c, n, sizeof *list);
  if (!list || c->status != IG_OK) return;
  ig_value sizes = ig_of_ints(m.size, (size_t)m.ndim);
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = args[0].list.at[i].tensor;
    bool same = t->ndim == m.ndim;
    for (int d = 0; d < m.ndim && same; d++) same = ig_int_eq(c, ig_sizes(t)[d], m.size[d]);
    list[i] = ig_of_tensor(same ? t : ig_expand(c, t, sizes));
  }
  outs[0] = ig_of_list(list, n);
}

// "ij": the first tensor runs along dimension 0; "xy" swaps the first two.
static void meshgrid(ig_ctx *c, const ig_value *list, const char *indexing, ig_value *outs) {
  ig_int sizes[IG_MAX_DIM];
  ig_value room[IG_MAX_DIM];
  size_t n = list->kind == IG_KIND_LIST ? list->list.n : 0;
  bool xy = strcmp(indexing, "xy") == 0;
  if (n == 0 || n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "meshgrid expects a non-empty TensorList");
    return;
  }
  if (!xy && strcmp(indexing, "ij") != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s",
                 indexing);
    return;
  }
  for (size_t i = 0; i < n; i++) room[i] = list->list.at[i];
  if (xy && n > 1) {
    room[0] = list->list.at[1];
    room[1] = list->list.at[0];
  }
  for (size_t i = 0; i < n; i++) {
    if (room[i].tensor->ndim > 1) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %dD",
                   room[i].tensor->ndim);
      return;
    }
    sizes[i] = ig_numel_of(c, room[i].tensor);
  }
  ig_value *grids = ig_scope_array(c, n, sizeof *grids);
  if (!grids) return;
  for (size_t i = 0; i < n; i++) {
    ig_int view[IG_MAX_DIM];
    for (size_t d = 0; d < n; d++) view[d] = ig_const(d == i ? -1 : 1);
    ig_tensor *g = ig_view(c, room[i].tensor, ig_of_ints(view, n));
    g = ig_expand(c, g, ig_of_ints(sizes, n));
    grids[i] = ig_of_tensor(g);
  }
  if (xy && n > 1) {
    ig_value swap = grids[0];
    grids[0] = grids[1];
    grids[1] = swap;
  }
  outs[0] = ig_of_list(grids, n);
}
static void meshgrid_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  meshgrid(c, &args[0], "ij", outs);
}
static void meshgrid_indexing(ig_ctx *c, const ig_value *args, ig_value *outs) {
  meshgrid(c, &args[0], args[1].str, outs);
}

// hsplit, vsplit, dsplit: tensor_split along a dimension that the name tells.
static void split_along(ig_ctx *c, const ig_value *args, int dim, const char *name, int least,
                        ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim < least) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.%s requires a tensor with at least %d dimension%s, but got a tensor with "
                 "%d dimensions!",
                 name, least, least == 1 ? "" : "s", x->ndim);
    return;
  }
  if (args[1].kind == IG_KIND_INT) {
    ig_int sections = args[1].i;
    if (ig_int_eq_i64(c, sections, 0) ||
        !ig_int_eq_i64(c, ig_int_mod(c, ig_sizes(x)[dim], sections), 0)) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.%s attempted to split along dimension %d, but the size of the dimension "
                   "%s is not divisible by the split_size %s!",
                   name, dim, ig_int_text(c, ig_sizes(x)[dim]), ig_int_text(c, sections));
      return;
    }
    ig_tensor_split_sections_with(c, x, sections, ig_const(dim), outs);
  } else {
    ig_tensor_split_indices_with(c, x, args[1], ig_const(dim), outs);
  }
}
static void hsplit_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  split_along(c, args, args[0].tensor->ndim == 1 ? 0 : 1, "hsplit", 1, outs);
}
static void vsplit_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  split_along(c, args, 0, "vsplit", 2, outs);
}
static void dsplit_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  split_along(c, args, 2, "dsplit", 3, outs);
}

static void cartesian_parts(ig_ctx *c, const ig_value *list, ig_value *outs) {
  ig_meshgrid_indexing(c, *list, ig_of_str("ij"), outs);
  if (c->status != IG_OK) return;
  size_t n = outs[0].list.n;
  ig_value *flat = ig_scope_array(c, n, sizeof *flat);
  for (size_t i = 0; flat && i < n; i++) {
    flat[i] = ig_of_tensor(ig_flatten_using_ints(c, outs[0].list.at[i].tensor));
  }
  if (flat) outs[0] = ig_of_list(flat, n);
}
static ig_tensor *cartesian_prod_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  size_t n = args[0].kind == IG_KIND_LIST ? args[0].list.n : 0;
  for (size_t i = 0; i < n; i++) {
    if (args[0].list.at[i].tensor->ndim == 1) continue;
    ig_fail_text(c, IG_RUNTIME, "Expect a 1D vector, but got shape %s",
                 ig_sizes_text(c, ig_sizes(args[0].list.at[i].tensor),
                               (size_t)args[0].list.at[i].tensor->ndim));
    return NULL;
  }
  if (n == 1) return args[0].list.at[0].tensor;
  cartesian_parts(c, &args[0], outs);
  return c->status == IG_OK ? ig_stack_with(c, outs[0], ig_const(1)) : NULL;
}

static ig_tensor *channel_shuffle_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int groups = args[1].i;
  ig_int sizes[IG_MAX_DIM];
  ig_int order[IG_MAX_DIM];
  if (x->ndim < 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  if (ig_int_is(c, groups, IG_LE, ig_const(0)) ||
      !ig_int_eq_i64(c, ig_int_mod(c, ig_sizes(x)[1], groups), 0)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Number of channels must be divisible by groups. Got %s channels and %s groups.",
                 ig_int_text(c, ig_sizes(x)[1]), ig_int_text(c, groups));
    return NULL;
  }
  int n = x->ndim + 1;
  sizes[0] = ig_sizes(x)[0];
  sizes[1] = groups;
  sizes[2] = ig_int_floordiv(c, ig_sizes(x)[1], groups);
  for (int d = 3; d < n; d++) sizes[d] = ig_sizes(x)[d - 1];
  for (int d = 0; d < n; d++) order[d] = ig_const(d == 1 ? 2 : d == 2 ? 1 : d);
  ig_tensor *y = ig_reshape(c, x, ig_of_ints(sizes, (size_t)n));
  y = ig_permute(c, y, ig_of_ints(order, (size_t)n));
  return ig_reshape(c, y, ig_sizes_of(x));
}

// Channels to pixels and back: view, permute, view.
static bool shuffle_dims(ig_ctx *c, const ig_value *args, const char *name, ig_int *r) {
  *r = args[1].i;
  if (args[0].tensor->ndim < 3) {
    ig_fail_text(
        c, IG_RUNTIME,
        "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", name,
        args[0].tensor->ndim);
    return false;
  }
  if (!ig_int_is(c, *r, IG_LE, ig_const(0))) return true;
  ig_fail_text(c, IG_RUNTIME, "%s expects a positive %s_factor, but got %s", name,
               strcmp(name, "pixel_shuffle") == 0 ? "upscale" : "downscale", ig_int_text(c, *r));
  return false;
}
static ig_tensor *shuffled(ig_ctx *c, ig_tensor *x, const ig_int *view, const int *tail,
                           const ig_int *end) {
  ig_int order[IG_MAX_DIM];
  int lead = x->ndim - 3;
  size_t n = (size_t)(x->ndim + 2);
  for (int d = 0; d < lead; d++) order[d] = ig_const(d);
  for (int d = 0; d < 5; d++) order[lead + d] = ig_const(lead + tail[d]);
  ig_tensor *y = ig_view(c, x, ig_of_ints(view, n));
  y = ig_permute(c, y, ig_of_ints(order, n));
  y = ig_reshape(c, y, ig_of_ints(end, (size_t)x->ndim));
  return ig_clone_with(c, y, ig_of_memory_format(IG_CONTIGUOUS));
}
static ig_tensor *pixel_shuffle_decompose(ig_ctx *c, const ig_value *args) {
  static const int tail[] = {0, 3, 1, 4, 2};
  ig_tensor *x = args[0].tensor;
  ig_int r;
  if (!shuffle_dims(c, args, "pixel_shuffle", &r)) return NULL;
  ig_int view[IG_MAX_DIM];
  ig_int end[IG_MAX_DIM];
  int lead = x->ndim - 3;
  ig_int channels = ig_sizes(x)[lead];
  ig_int square = ig_int_mul(c, r, r);
  if (!ig_int_eq_i64(c, ig_int_mod(c, channels, square), 0)) {
    ig_fail_text(c, IG_RUNTIME,
                 "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                 "square of upscale_factor, but input.size(-3)=%s is not divisible by %s",
                 ig_int_text(c, channels), ig_int_text(c, square));
    return NULL;
  }
  for (int d = 0; d < lead; d++) view[d] = end[d] = ig_sizes(x)[d];
  ig_int h = ig_sizes(x)[lead + 1];
  ig_int w = ig_sizes(x)[lead + 2];
  ig_int parts[] = {ig_int_floordiv(c, channels, square), r, r, h, w};
  for (int d = 0; d < 5; d++) view[lead + d] = parts[d];
  end[lead] = parts[0];
  end[lead + 1] = ig_int_mul(c, h, r);
  end[lead + 2] = ig_int_mul(c, w, r);
  return shuffled(c, x, view, tail, end);
}
static ig_tensor *pixel_unshuffle_decompose(ig_ctx *c, const ig_value *args) {
  static const int tail[] = {0, 2, 4, 1, 3};
  ig_tensor *x = args[0].tensor;
  ig_int r;
  if (!shuffle_dims(c, args, "pixel_unshuffle", &r)) return NULL;
  ig_int view[IG_MAX_DIM];
  ig_int end[IG_MAX_DIM];
  int lead = x->ndim - 3;
  for (int k = 1; k < 3; k++) {
    ig_int size = ig_sizes(x)[lead + k];
    if (ig_int_eq_i64(c, ig_int_mod(c, size, r), 0)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "pixel_unshuffle expects %s to be divisible by downscale_factor, but "
                 "input.size(%d)=%s is not divisible by %s",
                 k == 1 ? "height" : "width", k - 3, ig_int_text(c, size), ig_int_text(c, r));
    return NULL;
  }
  for (int d = 0; d < lead; d++) view[d] = end[d] = ig_sizes(x)[d];
  ig_int h = ig_int_floordiv(c, ig_sizes(x)[lead + 1], r);
  ig_int w = ig_int_floordiv(c, ig_sizes(x)[lead + 2], r);
  ig_int parts[] = {ig_sizes(x)[lead], h, r, w, r};
  for (int d = 0; d < 5; d++) view[lead + d] = parts[d];
  end[lead] = ig_int_mul(c, parts[0], ig_int_mul(c, r, r));
  end[lead + 1] = h;
  end[lead + 2] = w;
  return shuffled(c, x, view, tail, end);
}

IG_OP(reshape_as) = {
    .schema = "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .decompose = reshape_as_decompose,
    .samples = "f32[2,6], f32[3,4] | f32[4,2].T, f32[8]",
};
IG_OP(ravel) = {
    .schema = "aten::ravel(Tensor(a) self) -> Tensor(a)",
    .decompose = ravel_decompose,
    .samples = "f32[3,5] | f32[4,2].T | f32[]",
};
IG_OP(adjoint) = {
    .schema = "aten::adjoint(Tensor(a) self) -> Tensor(a)",
    .decompose = adjoint_decompose,
    .samples = "f32[3,5] | c64[2,3,4]",
};
IG_OP(movedim_int) = {
    .schema = "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    .decompose = movedim_int,
    .samples = "f32[2,3,4], 0, 2 | f32[3,5], -1, 0",
};
IG_OP(movedim_intlist) = {
    .schema =
        "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> "
        "Tensor(a)",
    .decompose = movedim_intlist,
    .samples = "f32[2,3,4], [0,1], [2,0] | f32[3,5], [1], [0]",
};
IG_OP(atleast_1d) = {
    .schema = "aten::atleast_1d(Tensor self) -> Tensor",
    .may_alias = true,
    .decompose = atleast_1d,
    .samples = "f32[] | f32[3] | f32[2,3]",
};
IG_OP(atleast_2d) = {
    .schema = "aten::atleast_2d(Tensor self) -> Tensor",
    .may_alias = true,
    .decompose = atleast_2d,
    .samples = "f32[] | f32[3] | f32[2,3]",
};
IG_OP(atleast_3d) = {
    .schema = "aten::atleast_3d(Tensor self) -> Tensor",
    .may_alias = true,
    .decompose = atleast_3d,
    .samples = "f32[] | f32[3] | f32[2,3] | f32[1,2,3]",
};
IG_OP(atleast_1d_sequence) = {
    .schema = "aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = atleast_1d_sequence,
    .samples = "(f32[], f32[3])",
};
IG_OP(atleast_2d_sequence) = {
    .schema = "aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = atleast_2d_sequence,
    .samples = "(f32[], f32[3])",
};
IG_OP(atleast_3d_sequence) = {
    .schema = "aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = atleast_3d_sequence,
    .samples = "(f32[], f32[2,3])",
};
IG_OP(hstack) = {
    .schema = "aten::hstack(Tensor[] tensors) -> Tensor",
    .decompose = hstack_decompose,
    .samples = "(f32[3], f32[2]) | (f32[2,3], f32[2,1])",
};
IG_OP(vstack) = {
    .schema = "aten::vstack(Tensor[] tensors) -> Tensor",
    .decompose = vstack_decompose,
    .samples = "(f32[3], f32[3]) | (f32[2,3], f32[1,3])",
};
IG_OP(row_stack) = {
    .schema = "aten::row_stack(Tensor[] tensors) -> Tensor",
    .decompose = vstack_decompose,
    .samples = "(f32[3], f32[3]) | (f32[2,3], f32[1,3])",
};
IG_OP(dstack) = {
    .schema = "aten::dstack(Tensor[] tensors) -> Tensor",
    .decompose = dstack_decompose,
    .samples = "(f32[3], f32[3]) | (f32[2,3], f32[2,3])",
};
IG_OP(column_stack) = {
    .schema = "aten::column_stack(Tensor[] tensors) -> Tensor",
    .decompose = column_stack_decompose,
    .samples = "(f32[3], f32[3]) | (f32[2,3], f32[2])",
};
IG_OP(tile) = {
    .schema = "aten::tile(Tensor self, SymInt[] dims) -> Tensor",
    .decompose = tile_decompose,
    .samples = "f32[2,3], [2] | f32[3], [2,2]",
};
IG_OP(fliplr) = {
    .schema = "aten::fliplr(Tensor self) -> Tensor",
    .decompose = fliplr_decompose,
    .samples = "f32[3,5] | f32[2,3,4]",
};
IG_OP(flipud) = {
    .schema = "aten::flipud(Tensor self) -> Tensor",
    .decompose = flipud_decompose,
    .samples = "f32[3,5] | f32[4]",
};
IG_OP(rot90) = {
    .schema = "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
    .decompose = rot90_decompose,
    .samples = "f32[2,3] | f32[2,3], 2 | f32[2,3,4], 3, [1,2] | f32[2,3], 0",
};
IG_OP(roll) = {
    .schema = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    .decompose = roll_decompose,
    .samples = "f32[2,3], [1] | f32[2,3], [1,-1], [0,1] | f32[5], [-2], [0]",
};
IG_OP(broadcast_tensors) = {
    .schema = "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = broadcast_tensors_decompose,
    .samples = "(f32[3,1], f32[4]) | (f32[], f32[2])",
};
IG_OP(meshgrid) = {
    .schema = "aten::meshgrid(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = meshgrid_decompose,
    .samples = "(f32[3], f32[4]) | (f32[2], f32[], f32[3])",
};
IG_OP(meshgrid_indexing) = {
    .schema = "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    .decompose_outs = meshgrid_indexing,
    .samples = "(f32[3], f32[4]), indexing='xy' | (f32[2], f32[2], f32[3]), indexing='ij'",
};
IG_OP(hsplit_int) = {
    .schema = "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    .decompose_outs = hsplit_decompose,
    .samples = "f32[2,4], 2 | f32[6], 3",
};
IG_OP(hsplit_array) = {
    .schema = "aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
    .decompose_outs = hsplit_decompose,
    .samples = "f32[2,5], [1,3] | f32[6], [2]",
};
IG_OP(vsplit_int) = {
    .schema = "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    .decompose_outs = vsplit_decompose,
    .samples = "f32[4,2], 2",
};
IG_OP(vsplit_array) = {
    .schema = "aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
    .decompose_outs = vsplit_decompose,
    .samples = "f32[5,2], [1,3]",
};
IG_OP(dsplit_int) = {
    .schema = "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    .decompose_outs = dsplit_decompose,
    .samples = "f32[2,1,4], 2",
};
IG_OP(dsplit_array) = {
    .schema = "aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
    .decompose_outs = dsplit_decompose,
    .samples = "f32[2,1,5], [1,3]",
};
IG_OP(cartesian_prod) = {
    .schema = "aten::cartesian_prod(Tensor[] tensors) -> Tensor",
    .may_alias = true,
    .decompose = cartesian_prod_decompose,
    .samples = "(f32[3], f32[2]) | (f32[3])",
};
IG_OP(channel_shuffle) = {
    .schema = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .decompose = channel_shuffle_decompose,
    .samples = "f32[2,6,1,2], 3 | f32[1,4,3], 2",
};
IG_OP(pixel_shuffle) = {
    .schema = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .decompose = pixel_shuffle_decompose,
    .samples = "f32[2,8,2,3], 2 | f32[4,1,1], 2",
};
IG_OP(pixel_unshuffle) = {
    .schema = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .decompose = pixel_unshuffle_decompose,
    .samples = "f32[1,1,4,4], 2 | f32[2,2,2], 2",
    .waive = "size 4=0: PyTorch keeps the channels of an empty picture",
};
