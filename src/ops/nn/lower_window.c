// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of im2col and col2im: the positions of all windows along each dimension,
// then one index.
#include "op/formula.h"
#include "ops/lower.h"

static ig_int pair(const ig_value *list, int d) {
  return list->ints.at[list->ints.n == 1 ? 0 : d];
}

static ig_tensor *steps(ig_ctx *c, ig_int end, ig_int by, ig_device device) {
  return ig_arange_start_step_with(c, ig_of_i64(0), ig_of_int(end), ig_of_int(by),
                                   ig_of_dtype(IG_I64), ig_none(), ig_of_device(device),
                                   ig_of_bool(false));
}

typedef struct windows {
  ig_ctx *c;
  const ig_value *kernel;
  const ig_value *dilation;
  const ig_value *padding;
  const ig_value *stride;
  ig_device device;
} windows;

// [kernel, blocks]: where the elements of every window stand along dimension d.
static ig_tensor *places(const windows *w, ig_int size, int d) {
  ig_ctx *c = w->c;
  ig_int step = pair(w->dilation, d);
  ig_int kernel = pair(w->kernel, d);
  ig_int reach = ig_int_mul(c, step, ig_int_sub(c, kernel, ig_const(1)));
  ig_int wide = ig_int_add(c, size, ig_int_mul(c, pair(w->padding, d), ig_const(2)));
  ig_tensor *blocks = steps(c, ig_int_sub(c, wide, reach), pair(w->stride, d), w->device);
  blocks = ig_unsqueeze(c, blocks, ig_const(0));
  ig_tensor *grid = steps(c, ig_int_mul(c, kernel, step), step, w->device);
  grid = ig_unsqueeze(c, grid, ig_const(-1));
  return ig_add_tensor(c, blocks, grid);
}

static ig_tensor *padded(const windows *w, ig_tensor *t, int64_t sign) {
  ig_int pad[4];
  for (int i = 0; i < 4; i++) {
    pad[i] = ig_int_mul(w->c, pair(w->padding, i < 2 ? 1 : 0), ig_const(sign));
  }
  return ig_constant_pad_nd_with(w->c, t, ig_of_ints(pad, 4), ig_of_f64(0));
}

static ig_tensor *turned(ig_ctx *c, ig_tensor *t) {
  static const ig_int order[] = {{.value = 0}, {.value = 1}, {.value = 2},
                                 {.value = 4}, {.value = 3}, {.value = 5}};
  return ig_permute(c, t, ig_of_ints(order, 6));
}

// self, kernel_size, dilation, padding, stride
ig_tensor *ig_lower_im2col(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool batched = x->ndim == 4;
  if (!batched) x = ig_unsqueeze(c, x, ig_const(0));
  if (!x) return NULL;
  windows w = {c, &args[1], &args[2], &args[3], &args[4], x->device};
  const ig_int *size = ig_sizes(x);
  ig_tensor *row = places(&w, size[2], 0);
  ig_tensor *column = places(&w, size[3], 1);
  ig_tensor *wide = padded(&w, x, 1);
  for (int i = 0; i < 2; i++) row = ig_unsqueeze(c, row, ig_const(-1));
  for (int d = 0; d < 2; d++) {
    wide =
        ig_slice_tensor_with(c, wide, ig_const(d), ig_of_i64(0), ig_of_i64(INT64_MAX), ig_const(1));
  }
  if (!wide || !row || !column) return NULL;
  ig_value index[] = {ig_none(), ig_none(), ig_of_tensor(row), ig_of_tensor(column)};
  ig_tensor *out = turned(c, ig_index_tensor(c, wide, ig_of_list(index, 4)));
  ig_int channels = ig_size_mul(c, size[1], pair(&args[1], 0));
  ig_int blocks = ig_size_mul(c, ig_sizes(row)[1], ig_sizes(column)[1]);
  ig_int sizes[] = {size[0], ig_size_mul(c, channels, pair(&args[1], 1)), blocks};
  out = ig_reshape(c, out, ig_of_ints(sizes, 3));
  return batched ? out : ig_squeeze_dim(c, out, ig_const(0));
}

// self, output_size, kernel_size, dilation, padding, stride
ig_tensor *ig_lower_col2im(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool batched = x->ndim == 3;
  if (!batched) x = ig_unsqueeze(c, x, ig_const(0));
  if (!x) return NULL;
  windows w = {c, &args[2], &args[3], &args[4], &args[5], x->device};
  ig_int window = ig_int_mul(c, pair(&args[2], 0), pair(&args[2], 1));
  ig_int channels = ig_size_floordiv(c, ig_sizes(x)[1], window);
  ig_int sizes[6] = {ig_sizes(x)[0], channels, pair(&args[2], 0), pair(&args[2], 1)};
  ig_int wide[4] = {sizes[0], channels};
  for (int d = 0; d < 2; d++) {
    ig_int less = ig_int_sub(c, pair(&args[2], d), ig_const(1));
    ig_int reach = ig_int_mul(c, pair(&args[3], d), less);
    ig_int both = ig_int_mul(c, pair(&args[4], d), ig_const(2));
    wide[d + 2] = ig_int_add(c, pair(&args[1], d), both);
    ig_int room = ig_int_sub(c, ig_int_sub(c, wide[d + 2], reach), ig_const(1));
    sizes[d + 4] = ig_int_add(c, ig_int_floordiv(c, room, pair(&args[5], d)), ig_const(1));
  }
  ig_tensor *blocks = turned(c, ig_reshape(c, x, ig_of_ints(sizes, 6)));
  ig_tensor *row = places(&w, pair(&args[1], 0), 0);
  for (int i = 0; i < 2; i++) row = ig_unsqueeze(c, row, ig_const(-1));
  ig_tensor *column = places(&w, pair(&args[1], 1), 1);
  ig_tensor *out = ig_new_zeros(c, x, ig_of_ints(wide, 4));
  ig_value index[] = {ig_none(), ig_none(), ig_of_tensor(row), ig_of_tensor(column)};
  if (c->status != IG_OK) return NULL;
  out = ig_index_put_with(c, out, ig_of_list(index, 4), blocks, true);
  out = padded(&w, out, -1);
  return batched ? out : ig_squeeze_dim(c, out, ig_const(0));
}
