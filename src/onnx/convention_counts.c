// SPDX-License-Identifier: Apache-2.0
// What has no name of its own in a file of PyTorch's TorchScript exporter is called by how many
// values its graph has before: the results of the nodes, and those that the passes of the exporter
// drop after the values got their numbers.
#include <stdio.h>
#include <string.h>

#include "onnx/convention.h"
#include "onnx/schema.h"

void ig_onnx_count_values(ig_onnx *x, size_t n) {
  if (x->options->torchscript) x->nmade += n;
}

void ig_onnx_count_number(ig_onnx *x, int64_t v, bool written) {
  char text[32];
  (void)snprintf(text, sizeof text, "%lld", (long long)v);
  const char *kept = NULL;
  bool counts = x->options->torchscript;
  ig_map_value *seen = counts ? ig_map_keep(&x->counted, &x->arena, text, &kept) : NULL;
  if (counts && !seen) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (!seen) return;
  bool fresh = !seen->num++;
  if (fresh && !written) x->nmade++;
  if (!fresh && written) x->nmade--;
}

// Values that PyTorch's exporter has before the last node of a call and that its later passes drop.
static const struct {
  const char *target;
  int since;
  size_t values;
} dropped[] = {
    {"aten.arange.default", 11, 1},
    {"aten.arange.start", 11, 3},
    {"aten.arange.start_step", 11, 3},
    {"aten.clamp.default", 11, 2},
    {"aten.clamp_max.default", 11, 2},
    {"aten.clamp_min.default", 11, 2},
    {"aten.masked_select.default", 11, 2},
    {"aten.repeat.default", 0, 3},
    {"aten.sort.default", 10, 2},
    {"aten.sort.stable", 10, 2},
    {"aten.topk.default", 10, 2},
    {"aten.upsample_bicubic2d.vec", 11, 3},
    {"aten.upsample_bilinear2d.vec", 11, 3},
    {"aten.upsample_linear1d.vec", 11, 3},
    {"aten.upsample_nearest1d.vec", 11, 3},
    {"aten.upsample_nearest2d.vec", 11, 3},
    {"aten.upsample_nearest3d.vec", 11, 3},
};

void ig_onnx_count_call(ig_onnx *x, const ig_node *n) {
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
    if (x->least >= dropped[i].since && strcmp(dropped[i].target, n->target) == 0)
      x->nmade += dropped[i].values;
  }
}

// Operands that are attributes at the opset of the file: their constants are no values of it.
static size_t attributes_of(const ig_onnx *x, const ig_onnx_node *n) {
  const ig_onnx_schema *s = n->domain ? NULL : ig_onnx_schema_find("", n->op_type, x->least);
  const char *const *in = n->many ? n->many : n->in;
  size_t count = 0;
  for (size_t i = s ? s->max_in : SIZE_MAX; i < IG_ONNX_MAX_INPUTS && !n->many; i++) {
    size_t k = 0;
    while (k < i && in[k]) k++;
    if (k < i || !in[i]) break;
    count += ig_onnx_is_constant(x, in[i]);
  }
  return count;
}

void ig_onnx_skip_attributes(ig_onnx *x, const ig_onnx_node *n) {
  if (x->least < x->opset) x->nmade -= attributes_of(x, n);
}
