// SPDX-License-Identifier: Apache-2.0
// Col2Im, which exists from opset 18 on: a transposed convolution, in which each element of a block
// is a channel with its own position in the window.
#include <stdio.h>
#include <string.h>

#include "onnx_convert/steps.h"

enum { MAX_SPACE = 6 };  // dimensions of an image
static const int64_t max_block = 1 << 12;

typedef struct folding {
  size_t n;  // dimensions of an image
  const int64_t *image;
  const int64_t *block;
  int64_t places;  // elements of a block
  int64_t steps[MAX_SPACE];
  int64_t extra[MAX_SPACE];  // of the image behind the last block
} folding;

static int64_t item(const ig_om_node *n, const char *name, size_t i, int64_t otherwise) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  return a && a->type == IG_OM_ATTR_INTS && i < a->n ? a->ints[i] : otherwise;
}

// Numbers of blocks along each dimension; false: they do not fit, or are unknown.
static bool measure(ig_cv *v, const ig_om_node *n, folding *f) {
  size_t count = 0;
  if (!ig_cv_known_ints(v, ig_cv_in(n, 1), &f->image, &f->n) ||
      !ig_cv_known_ints(v, ig_cv_in(n, 2), &f->block, &count)) {
    return false;
  }
  f->places = 1;
  bool fits = count == f->n && count >= 1 && count <= MAX_SPACE;
  for (size_t i = 0; fits && i < count; i++) {
    int64_t stride = item(n, "strides", i, 1);
    int64_t dilation = item(n, "dilations", i, 1);
    int64_t pads = item(n, "pads", i, 0) + item(n, "pads", i + count, 0);
    fits = stride >= 1 && dilation >= 1 && f->block[i] >= 1 && f->block[i] <= max_block &&
           dilation <= max_block && f->image[i] >= 1 && f->image[i] <= 1 << 24 && pads >= 0 &&
           pads <= 1 << 24 && f->places <= max_block / f->block[i];
    if (!fits) break;
    f->places *= f->block[i];
    int64_t room = f->image[i] + pads - dilation * (f->block[i] - 1) - 1;
    fits = room >= 0;
    f->steps[i] = room / stride + 1;
    f->extra[i] = room % stride;
  }
  return fits;
}

// [places, 1, block...]: channel i has a one at place i.
static const char *places(ig_cv *v, const folding *f) {
  ig_om_tensor *t = ig_cv_tensor(v, IG_OM_FLOAT, f->places * f->places, false);
  int64_t *dims = ig_cv_push(v, ig_mem_mul(f->n + 2, sizeof *dims));
  if (!t || !dims) return "";
  dims[0] = f->places;
  dims[1] = 1;
  for (size_t i = 0; i < f->n; i++) dims[i + 2] = f->block[i];
  t->dims = dims;
  t->ndim = (int)f->n + 2;
  float *at = (float *)t->raw.at;
  for (int64_t i = 0; i < f->places; i++) at[i * f->places + i] = 1;
  return ig_cv_const(v, t);
}

static void copy_ints(ig_cv *v, ig_om_node *to, const ig_om_node *from, const char *name) {
  const ig_om_attr *a = ig_om_find_attr(from, name);
  if (a) ig_cv_set_attr(v, to, a);
}

bool ig_cv_col2im_down(ig_cv *v, ig_om_node *n) {
  folding f = {0};
  int elem = ig_cv_elem(v, ig_cv_in(n, 0));
  bool real = elem == IG_OM_FLOAT || elem == IG_OM_DOUBLE || elem == IG_OM_FLOAT16;
  if (!real || !measure(v, n, &f)) {
    return ig_cv_refuse(v,
                        "exists from opset 18 on; to express it by others the elements must be "
                        "floats and the shapes of image and blocks known");
  }
  int64_t sizes[MAX_SPACE + 2] = {-1, f.places};
  for (size_t i = 0; i < f.n; i++) sizes[i + 2] = f.steps[i];
  const char **in = ig_cv_push(v, ig_mem_mul(2, sizeof *in));
  const char **out = ig_cv_push(v, sizeof *out);
  int64_t *extra = ig_cv_push(v, ig_mem_mul(f.n, sizeof *extra));
  if (!in || !out || !extra) return true;
  memcpy(extra, f.extra, f.n * sizeof *extra);
  const char *shape = ig_cv_ints(v, sizes, f.n + 2);
  ig_om_node turned = {.op_type = "Reshape", .ninputs = 2};
  const char *pair[] = {ig_cv_in(n, 0), shape};
  turned.inputs = pair;
  in[0] = ig_cv_value(v, &turned, "Reshape($0, $1)");
  in[1] = ig_cv_cast(v, places(v, &f), elem, NULL);
  *out = ig_cv_fresh(v, "ConvTranspose");
  ig_om_node conv = {.name = "", .op_type = "ConvTranspose", .inputs = in, .ninputs = 2};
  conv.outputs = out;
  conv.noutputs = 1;
  copy_ints(v, &conv, n, "strides");
  copy_ints(v, &conv, n, "dilations");
  copy_ints(v, &conv, n, "pads");
  ig_cv_set_attr(
      v, &conv,
      &(ig_om_attr){.name = "output_padding", .type = IG_OM_ATTR_INTS, .n = f.n, .ints = extra});
  ig_cv_node(v, &conv, 11);
  const char *last[] = {ig_cv_in(n, 0), *out, ig_cv_in(n, 1)};
  ig_om_node whole = {.op_type = "Reshape", .inputs = last, .ninputs = 3};
  whole.outputs = n->outputs;
  whole.noutputs = n->noutputs;
  return ig_cv_expand(v, &whole,
                      "Reshape($1, Concat<axis=0>(Slice(Shape($0), [0], [1]), [-1], $2))");
}
