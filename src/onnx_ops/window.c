// SPDX-License-Identifier: Apache-2.0
#include "onnx_ops/window.h"

#include <string.h>

enum { MAX_PAD = 1 << 24, MAX_KERNEL = 1 << 24 };

static bool take(ig_rd *r, const char *name, int n, int64_t low, int64_t high, int64_t otherwise,
                 int64_t *out) {
  size_t count = 0;
  const int64_t *at = ig_rd_attr_ints(r, name, &count);
  if (at && count && count != (size_t)n) {
    ig_rd_fail(r, IG_INVALID, "attribute '%s' has %zu elements, expected %d", name, count, n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    out[i] = at && count ? at[i] : otherwise;
    if (out[i] >= low && out[i] <= high) continue;
    ig_rd_fail(r, IG_INVALID, "attribute '%s': found %lld, expected %lld to %lld", name,
               (long long)out[i], (long long)low, (long long)high);
    return false;
  }
  return ig_rd_ok(r);
}

int64_t ig_rd_window_reach(const ig_rd_window *w, int i) {
  return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

static void same_pads(ig_rd *r, const ig_tensor *x, bool upper, ig_rd_window *w) {
  for (int i = 0; i < w->n; i++) {
    int64_t total = ig_rd_window_reach(w, i) - 1;  // whatever the size is
    if (w->stride[i] > 1) {
      int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
      int64_t out = (size + w->stride[i] - 1) / w->stride[i];
      total = (out - 1) * w->stride[i] + ig_rd_window_reach(w, i) - size;
    }
    if (total < 0) total = 0;
    w->before[i] = upper ? total / 2 : total - total / 2;
    w->after[i] = total - w->before[i];
  }
}

static bool take_pads(ig_rd *r, const ig_tensor *x, ig_rd_window *w) {
  const char *how = ig_rd_attr_text(r, "auto_pad", "NOTSET");
  memset(w->before, 0, sizeof w->before);
  memset(w->after, 0, sizeof w->after);
  if (strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0) {
    same_pads(r, x, how[5] == 'U', w);
  } else if (strcmp(how, "VALID") != 0) {
    int64_t both[2 * IG_WINDOW_MAX];
    if (!take(r, "pads", 2 * w->n, -MAX_PAD, MAX_PAD, 0, both)) return false;
    memcpy(w->before, both, (size_t)w->n * sizeof *both);
    memcpy(w->after, both + w->n, (size_t)w->n * sizeof *both);
  }
  return ig_rd_ok(r);
}

bool ig_rd_window_read(ig_rd *r, const ig_tensor *x, const int64_t *kernel, ig_rd_window *w) {
  if (!x || !ig_rd_ok(r)) return false;
  w->n = x->ndim - 2;
  if (w->n < 1 || w->n > IG_WINDOW_MAX) {
    ig_rd_fail(r, IG_INVALID, "found %d dimensions, expected 3 to %d", x->ndim, IG_WINDOW_MAX + 2);
    return false;
  }
  if (!take(r, "kernel_shape", w->n, 1, MAX_KERNEL, kernel ? kernel[0] : 0, w->kernel))
    return false;
  for (int i = 0; kernel && i < w->n; i++) {
    size_t given = 0;
    (void)ig_rd_attr_ints(r, "kernel_shape", &given);
    if (given && w->kernel[i] != kernel[i]) {
      ig_rd_fail(r, IG_MISMATCH, "attribute 'kernel_shape' is not the shape of the weight");
      return false;
    }
    w->kernel[i] = kernel[i];
  }
  if (!take(r, "strides", w->n, 1, MAX_KERNEL, 1, w->stride)) return false;
  if (!take(r, "dilations", w->n, 1, MAX_KERNEL, 1, w->dilation)) return false;
  if (!take_pads(r, x, w)) return false;
  w->symmetric = true;
  w->dense = true;
  for (int i = 0; i < w->n; i++) {
    w->symmetric &= w->before[i] == w->after[i] && w->before[i] >= 0;
    w->dense &= w->dilation[i] == 1;
  }
  return true;
}

ig_value ig_rd_window_list(ig_rd *r, const int64_t *at, int n) {
  ig_int *list = ig_scope_array(r->c, (size_t)n, sizeof *list);
  for (int i = 0; list && i < n; i++) list[i] = ig_const(at[i]);
  return list ? ig_of_ints(list, (size_t)n) : ig_none();
}

ig_tensor *ig_rd_window_pad(ig_rd *r, ig_tensor *x, const int64_t *before, const int64_t *after,
                            int n, double fill) {
  ig_int pads[2 * IG_WINDOW_MAX];
  ig_int sizes[IG_MAX_DIM];
  bool any = false;
  if (!x || n > x->ndim) return NULL;
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_sizes(x)[d];
  size_t count = 0;
  for (int i = n - 1; i >= 0; i--) {
    int d = x->ndim - n + i;
    pads[count++] = ig_const(before[i]);
    pads[count++] = ig_const(after[i]);
    any |= before[i] || after[i];
    sizes[d] = ig_int_add(r->c, sizes[d], ig_const(before[i] + after[i]));
  }
  if (!any) return x;
  if (!ig_rd_budget(r, sizes, (size_t)x->ndim, x->dtype)) return NULL;
  ig_value v = ig_dtype_is_float(x->dtype) ? ig_of_f64(fill) : ig_of_i64((int64_t)fill);
  return ig_constant_pad_nd_with(r->c, x, ig_of_ints(pads, count), v);
}
