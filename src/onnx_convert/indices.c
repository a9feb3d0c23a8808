// SPDX-License-Identifier: Apache-2.0
// Reading and writing by index before opset 11, which has neither GatherND, ScatterND nor
// GatherElements: by places in the flattened tensor, or by a table of zeros and ones.
#include <string.h>

#include "onnx_convert/steps.h"

enum { TEXT = 1024 };

// How many dimensions a vector of indices has; 0: not known.
static int64_t index_width(ig_cv *v, const char *name) {
  const ig_cv_fact *f = ig_cv_known(v, name);
  return f->ndim > 0 && f->dims[f->ndim - 1] > 0 ? f->dims[f->ndim - 1] : 0;
}

// "s = Shape($0); ...; pN = <place of every index in the first N + 1 dimensions of $0>; "
static bool add_places(ig_cv *v, const ig_om_node *n, ig_str *text) {
  int64_t width = index_width(v, ig_cv_in(n, 1));
  if (width == 0 || width > IG_MAX_DIM)
    return !ig_cv_refuse(v, "before opset 11 the last size of '%s' must be known", ig_cv_in(n, 1));
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 1));
  ig_str_add(text, "s = Shape($0); ");
  for (int64_t k = 0; k < width; k++) {
    long long now = (long long)k;
    long long last = now - 1;
    ig_str_add(text,
               "d%lld = Gather<axis=0>(s, %lldi); i%lld = Gather<axis=%d>($1, %lldi); "
               "w%lld = Where(Less(i%lld, 0i), Add(i%lld, d%lld), i%lld); ",
               now, now, now, ndim - 1, now, now, now, now, now, now);
    if (k) ig_str_add(text, "p%lld = Add(Mul(p%lld, d%lld), w%lld); ", now, last, now, now);
    if (!k) ig_str_add(text, "p0 = Identity(w0); ");
  }
  return true;
}

static bool expand(ig_cv *v, const ig_om_node *n, ig_str *text) {
  if (text->failed) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  bool done = text->failed || v->refused || ig_cv_expand(v, n, text->at);
  ig_str_free(text);
  return done;
}

bool ig_cv_gather_nd_down(ig_cv *v, ig_om_node *n) {
  if (ig_cv_int(v, n, "batch_dims", 0))
    return ig_cv_refuse(v, "batch_dims exists from opset 12 on");
  ig_str text = ig_str_make(v->c->alloc);
  long long width = (long long)index_width(v, ig_cv_in(n, 1));
  if (add_places(v, n, &text))
    ig_str_add(&text,
               "Gather<axis=0>(Reshape($0, Concat<axis=0>([-1], Slice(s, [%lld], "
               "[2147483647]))), p%lld)",
               width, width - 1);
  return expand(v, n, &text);
}

bool ig_cv_scatter_nd_down(ig_cv *v, ig_om_node *n) {
  if (!ig_cv_is(v, n, "reduction", "none", "none"))
    return ig_cv_refuse(v, "reduction exists from opset 16 on");
  ig_str text = ig_str_make(v->c->alloc);
  long long width = (long long)index_width(v, ig_cv_in(n, 1));
  if (add_places(v, n, &text))
    ig_str_add(&text,
               "r = ReduceProd<keepdims=1>(Concat<axis=0>([1], Slice(s, [%lld], [2147483647]))); "
               "f = Concat<axis=0>([-1], r); u = Reshape($2, f); "
               "q = Expand(Reshape(p%lld, [-1, 1]), Shape(u)); "
               "Reshape(ScatterElements<axis=0>(Reshape($0, f), q, u), s)",
               width, width - 1);
  return expand(v, n, &text);
}

// Each element of the result is a sum over the axis in which one term is not zero.
bool ig_cv_gather_elements_down(ig_cv *v, ig_om_node *n) {
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  long long axis = (long long)ig_cv_int(v, n, "axis", 0);
  if (v->refused) return true;
  if (ndim < 0)
    return ig_cv_refuse(v, "before opset 11 the rank of '%s' must be known", ig_cv_in(n, 0));
  if (axis < -ndim || axis >= ndim)
    return ig_cv_refuse(v, "axis %lld is out of range for %d dimensions", axis, ndim);
  if (axis < 0) axis += ndim;
  const ig_cv_fact *data = ig_cv_known(v, ig_cv_in(n, 0));
  const ig_cv_fact *at = ig_cv_known(v, ig_cv_in(n, 1));
  for (int d = 0; d < ndim && at->ndim == ndim; d++) {
    if (d != axis && data->dims[d] != at->dims[d] && data->dims[d] >= 0 && at->dims[d] >= 0)
      return ig_cv_refuse(v, "before opset 11 '%s' and '%s' must agree in their other sizes",
                          ig_cv_in(n, 0), ig_cv_in(n, 1));
  }
  char text[TEXT];
  (void)snprintf(text, sizeof text,
                 "t = OneHot<axis=%lld>(Cast<to=7>($1), Gather<axis=0>(Shape($0), [%lld]), "
                 "Cast<to=1>([0, 1])); "
                 "ReduceSum<keepdims=0>(Where(Cast<to=9>(t), Unsqueeze($0, [%lld]), 0), [%lld])",
                 axis, axis, axis + 1, axis);
  return ig_cv_expand(v, n, text);
}
