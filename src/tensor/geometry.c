// SPDX-License-Identifier: Apache-2.0
#include "tensor/geometry.h"

#include "base/str.h"

bool ig_geometry_measure(const ig_meta *m, ig_extent *out) {
  int64_t count = 1;
  int64_t last = m->offset.value;
  bool empty = false;
  bool ok = last >= 0 && last <= IG_MAX_REACH;
  for (int d = 0; d < m->ndim; d++) {
    int64_t size = m->size[d].value;
    int64_t stride = m->stride[d].value;
    int64_t step = 0;
    ok = ok && size >= 0 && stride >= 0 && stride <= IG_MAX_REACH;
    if (size == 0) empty = true;
    if (size <= 1 || !ok) continue;
    ok = ig_checked_mul(count, size, &count) && ig_checked_mul(size - 1, stride, &step) &&
         ig_checked_add(last, step, &last) && last <= IG_MAX_REACH;
  }
  ok = ok && count <= IG_MAX_ELEMENTS;
  out->count = empty || !ok ? 0 : count;
  out->bytes = empty || !ok ? 0 : (last + 1) * (int64_t)ig_dtype_size(m->dtype);
  return ok;
}

static void print_ints(ig_str *s, const ig_int *at, int n) {
  ig_str_add(s, "[");
  for (int d = 0; d < n; d++) ig_str_add(s, "%s%lld", d ? ", " : "", (long long)at[d].value);
  ig_str_add(s, "]");
}

// Reports the exceeded bound, with PyTorch's message if it has one.
static void refuse(ig_ctx *c, const ig_meta *m, bool view) {
  ig_str s = ig_str_make(c->alloc);
  bool sizes = true;
  bool strides = m->offset.value >= 0;
  for (int d = 0; d < m->ndim; d++) {
    sizes = sizes && m->size[d].value >= 0;
    strides = strides && m->stride[d].value >= 0;
  }
  print_ints(&s, m->size, m->ndim);
  if (view || !strides) {
    ig_str_add(&s, " and strides=");
    print_ints(&s, m->stride, m->ndim);
  }
  const char *text = s.at;
  if (s.failed)
    (void)ig_fail(c, IG_NOMEM, "out of memory");
  else if (!sizes)
    ig_fail_text(c, IG_RUNTIME, "Trying to create tensor with negative dimension: sizes=%s", text);
  else if (!strides)
    (void)ig_fail(c, IG_RUNTIME,
                  "found sizes=%s and storage offset %lld, expected no negative "
                  "stride or offset",
                  text, (long long)m->offset.value);
  else
    ig_fail_text(c, IG_RUNTIME,
                 "Storage size calculation overflowed with sizes=%s: a tensor has at most 2^56 "
                 "elements, and none farther than 2^57 elements from the start of its storage",
                 text);
  ig_str_free(&s);
}

// The number of elements must be representable, even if strides of 0 need no memory for them, and
// if there is no memory at all. Nothing is known yet about symbols.
static bool countable(const ig_meta *m) {
  int64_t n = 1;
  bool ok = true;
  for (int d = 0; d < m->ndim; d++) {
    if (m->size[d].expr || m->size[d].value == 0) return true;
    ok = ok && ig_checked_mul(n, m->size[d].value, &n);
  }
  return ok;
}

// A tensor without data has no negative size either. Nothing is known yet about symbols.
static bool has_negative_size(const ig_meta *m) {
  for (int d = 0; d < m->ndim; d++) {
    if (!m->size[d].expr && m->size[d].value < 0) return true;
  }
  return false;
}

bool ig_geometry_admit(ig_ctx *c, const ig_meta *m, const ig_storage *over, bool fake,
                       int64_t *need) {
  *need = 0;
  if (fake || (over && over->fake)) {
    if (has_negative_size(m)) {
      refuse(c, m, false);
      return false;
    }
    if (countable(m)) return true;
    (void)ig_fail(c, IG_RUNTIME, "numel: integer multiplication overflow");
    return false;
  }
  ig_extent e;
  if (!ig_geometry_measure(m, &e)) {
    if (!countable(m))
      (void)ig_fail(c, IG_RUNTIME, "numel: integer multiplication overflow");
    else
      refuse(c, m, over != NULL);
    return false;
  }
  *need = e.bytes;
  if (!over || (size_t)e.bytes <= over->bytes) return true;
  (void)ig_fail(c, IG_RUNTIME,
                "setStorage: a view with storage offset %lld that needs %lld bytes is out of "
                "bounds for storage of size %zu",
                (long long)m->offset.value, (long long)e.bytes, over->bytes);
  return false;
}
