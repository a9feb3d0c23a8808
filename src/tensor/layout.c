// SPDX-License-Identifier: Apache-2.0
// Metas and layout queries: contiguity, memory formats, overlap.
#include <string.h>

#include "tensor/tensor.h"

static bool known(ig_int i, int64_t value) {
  return !i.expr && i.value == value;
}

void ig_meta_contiguous(ig_ctx *c, ig_meta *m) {
  ig_int step = ig_const(1);
  for (int d = m->ndim - 1; d >= 0; d--) {
    m->stride[d] = step;
    if (known(m->size[d], 0) || known(m->size[d], 1)) continue;  // PyTorch counts empty as 1
    if (!step.expr && !m->size[d].expr) {
      if (!ig_checked_mul(step.value, m->size[d].value, &step.value)) {
        (void)ig_fail(c, IG_RUNTIME, "Storage size calculation overflowed");
        return;
      }
    } else {
      step = ig_int_mul(c, step, m->size[d]);
    }
  }
}

static const int last_2d[] = {1, 3, 2, 0};
static const int last_3d[] = {1, 4, 3, 2, 0};

static const int *format_order(ig_memory_format format, int ndim) {
  if (format == IG_CHANNELS_LAST && ndim == 4) return last_2d;
  if (format == IG_CHANNELS_LAST_3D && ndim == 5) return last_3d;
  return NULL;
}

void ig_meta_format(ig_ctx *c, ig_meta *m, ig_memory_format format) {
  if (format == IG_CONTIGUOUS || format == IG_PRESERVE) {
    ig_meta_contiguous(c, m);
    return;
  }
  const int *order = format_order(format, m->ndim);
  if (!order) {
    ig_fail_text(c, IG_RUNTIME, "required rank %d tensor to use %s format",
                 format == IG_CHANNELS_LAST ? 4 : 5,
                 format == IG_CHANNELS_LAST ? "channels_last" : "channels_last_3d");
    return;
  }
  ig_int step = ig_const(1);
  for (int k = 0; k < m->ndim; k++) {
    int d = order[k];
    m->stride[d] = step;
    if (!known(m->size[d], 0)) step = ig_int_mul(c, step, m->size[d]);
  }
}

void ig_meta_of(const ig_tensor *t, ig_meta *m) {
  size_t n = ig_mem_mul((size_t)t->ndim, sizeof(ig_int));
  ig_meta_init(m, t->dtype, t->device);
  m->ndim = t->ndim;
  m->offset = t->offset;
  m->strided = true;
  m->quantizer = t->quantizer;
  memcpy(m->size, ig_sizes(t), n);
  memcpy(m->stride, ig_strides(t), n);
}

void ig_meta_view(ig_tensor *t, ig_meta *m) {
  ig_meta_of(t, m);
  m->view_of = t;
}

void ig_meta_push_dim(ig_ctx *c, ig_meta *m, ig_int size) {
  if (m->ndim == IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "found more than %d dimensions", IG_MAX_DIM);
    return;
  }
  m->size[m->ndim++] = size;
}

bool ig_tensor_is_contiguous(ig_ctx *c, const ig_tensor *t) {
  ig_int step = ig_const(1);
  for (int d = 0; d < t->ndim; d++) {
    if (known(ig_sizes(t)[d], 0)) return true;
  }
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (known(ig_sizes(t)[d], 1)) continue;
    if (!ig_int_eq(c, step, ig_strides(t)[d])) return false;
    step = ig_int_mul(c, step, ig_sizes(t)[d]);
  }
  return true;
}

bool ig_tensor_has_format(ig_ctx *c, const ig_tensor *t, ig_memory_format format) {
  if (format == IG_CONTIGUOUS || format == IG_PRESERVE) return ig_tensor_is_contiguous(c, t);
  const int *order = format_order(format, t->ndim);
  if (!order) return false;
  ig_int step = ig_const(1);
  for (int k = 0; k < t->ndim; k++) {
    int d = order[k];
    if (known(ig_sizes(t)[d], 1)) continue;
    if (!ig_int_eq(c, step, ig_strides(t)[d])) return false;
    step = ig_int_mul(c, step, ig_sizes(t)[d]);
  }
  return true;
}

// PyTorch's heuristic: strides rise in channels-last order, and ambiguous shapes count as
// contiguous.
static bool looks_channels_last(const ig_tensor *t, const int *order) {
  int64_t least = 0;
  if (ig_strides(t)[1].value == 0) return false;
  for (int k = 0; k < t->ndim; k++) {
    int d = order[k];
    int64_t size = ig_sizes(t)[d].value;
    int64_t stride = ig_strides(t)[d].value;
    if (size == 0 || stride < least) return false;
    if (d == 0 && least == ig_strides(t)[1].value) return false;  // N111 and the like
    // Fake tensors, and those without elements, may have any strides.
    if (!ig_checked_mul(stride, size, &least)) least = INT64_MAX;
  }
  return true;
}

ig_memory_format ig_tensor_suggest_format(ig_ctx *c, const ig_tensor *t) {
  (void)c;
  if (t->ndim == 4 && looks_channels_last(t, last_2d)) return IG_CHANNELS_LAST;
  if (t->ndim == 5 && looks_channels_last(t, last_3d)) return IG_CHANNELS_LAST_3D;
  return IG_CONTIGUOUS;
}

bool ig_tensor_is_dense(const ig_tensor *t) {
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    int64_t size = ig_sizes(t)[d].value;
    if (size == 0) return true;
    if (size == 1) continue;
    if (ig_strides(t)[d].value != step) return false;
    // Example sizes of symbols are not admitted by anyone; no stride equals what does not fit.
    if (!ig_checked_mul(step, size, &step)) step = INT64_MIN;
  }
  return true;
}

bool ig_tensor_is_dense_permuted(const ig_tensor *t) {
  bool used[IG_MAX_DIM] = {false};
  int64_t step = 1;
  if (ig_tensor_numel(t) == 0) return true;
  for (int k = 0; k < t->ndim; k++) {
    int next = -1;
    for (int d = 0; d < t->ndim && next < 0; d++) {
      if (used[d]) continue;
      if (ig_sizes(t)[d].value == 1 || ig_strides(t)[d].value == step) next = d;
    }
    if (next < 0) return false;
    used[next] = true;
    if (!ig_checked_mul(step, ig_sizes(t)[next].value, &step)) step = INT64_MIN;
  }
  return true;
}

static void byte_range(const ig_tensor *t, const char **lo, const char **hi) {
  int64_t first = 0;
  int64_t last = 0;
  for (int d = 0; d < t->ndim; d++) {
    int64_t reach = (ig_sizes(t)[d].value - 1) * ig_strides(t)[d].value;
    if (reach < 0) first += reach;
    if (reach > 0) last += reach;
  }
  const char *data = ig_tensor_data(t);
  int64_t size = (int64_t)ig_dtype_size(t->dtype);
  *lo = data + first * size;
  *hi = data + (last + 1) * size;
}

ig_overlap ig_tensor_overlap(const ig_tensor *a, const ig_tensor *b) {
  const char *alo = NULL;
  const char *ahi = NULL;
  const char *blo = NULL;
  const char *bhi = NULL;
  if (a == b) return IG_OVERLAP_SAME;
  if (a->storage != b->storage || a->storage->fake) return IG_OVERLAP_NONE;
  if (ig_tensor_numel(a) == 0 || ig_tensor_numel(b) == 0) return IG_OVERLAP_NONE;
  byte_range(a, &alo, &ahi);
  byte_range(b, &blo, &bhi);
  if (ahi <= blo || bhi <= alo) return IG_OVERLAP_NONE;
  bool same = alo == blo && a->dtype == b->dtype && a->ndim == b->ndim;
  for (int d = 0; d < a->ndim && same; d++) {
    same = ig_sizes(a)[d].value == ig_sizes(b)[d].value &&
           (ig_sizes(a)[d].value == 1 || ig_strides(a)[d].value == ig_strides(b)[d].value);
  }
  if (same) return IG_OVERLAP_SAME;
  // Views with gaps may interleave without sharing an element (two columns); like PyTorch, this is
  // not decided.
  bool dense = ig_tensor_is_dense_permuted(a) && ig_tensor_is_dense_permuted(b);
  return dense ? IG_OVERLAP_PARTIAL : IG_OVERLAP_NONE;
}

bool ig_tensor_has_internal_overlap(const ig_tensor *t) {
  bool repeated = false;
  for (int d = 0; d < t->ndim; d++) {
    if (ig_sizes(t)[d].value == 0) return false;  // there is no element
    repeated = repeated || (ig_sizes(t)[d].value > 1 && ig_strides(t)[d].value == 0);
  }
  return repeated;
}
