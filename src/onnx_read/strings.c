// SPDX-License-Identifier: Apache-2.0
// Strings in operators that only move elements. ATen has no strings, but what such an operator does
// with elements it also does with their numbers: every string of the operands gets one, the formula
// runs on the numbers, and those of the results are strings again. 0, which padding fills in, is
// the empty string.
#include <string.h>

#include "onnx_read/reader.h"

// Operators of the default domain whose results are elements of their operands. attr: they are only
// while this attribute has its default.
typedef struct mover {
  const char *op_type;
  const char *attr;
  const char *value;
} mover;

static const mover movers[] = {
    {"CenterCropPad", NULL, NULL},
    {"Compress", NULL, NULL},
    {"Concat", NULL, NULL},
    {"DepthToSpace", NULL, NULL},
    {"Expand", NULL, NULL},
    {"Gather", NULL, NULL},
    {"GatherElements", NULL, NULL},
    {"GatherND", NULL, NULL},
    {"OneHot", NULL, NULL},
    {"Pad", NULL, NULL},
    {"Resize", "mode", "nearest"},
    {"ReverseSequence", NULL, NULL},
    {"Scatter", NULL, NULL},
    {"ScatterElements", "reduction", "none"},
    {"ScatterND", "reduction", "none"},
    {"Slice", NULL, NULL},
    {"SpaceToDepth", NULL, NULL},
    {"Split", NULL, NULL},
    {"SplitToSequence", NULL, NULL},
    {"Squeeze", NULL, NULL},
    {"TensorScatter", NULL, NULL},
    {"Tile", NULL, NULL},
    {"Transpose", NULL, NULL},
    {"Trilu", NULL, NULL},
    {"Unsqueeze", NULL, NULL},
    {"Upsample", "mode", "nearest"},
    {"Where", NULL, NULL},
};

static const mover *find_mover(const ig_om_node *n) {
  for (size_t i = 0; !n->domain[0] && i < sizeof movers / sizeof *movers; i++) {
    if (strcmp(movers[i].op_type, n->op_type) == 0) return &movers[i];
  }
  return NULL;
}

static bool is_strings(const ig_rd_value *v) {
  return v && v->kind == IG_RD_STRINGS;
}

static size_t count(const ig_rd *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->nin; i++) n += is_strings(r->in[i]) ? r->in[i]->nstrings : 0;
  return n;
}

ig_tensor *ig_rd_places(ig_rd *r, const ig_rd_value *v, size_t first) {
  ig_tensor *t = ig_rd_real(r, IG_I64, v->dims, v->ndim);
  int64_t *at = t ? ig_tensor_data(t) : NULL;
  for (size_t i = 0; at && i < v->nstrings; i++) at[i] = (int64_t)(first + i);
  return t;
}

// A result, of numbers or lists of them, as strings.
static ig_rd_value *back(ig_rd *r, ig_rd_value *v, const ig_bytes *all, size_t n) {
  if (v && v->kind == IG_RD_SEQUENCE) {
    ig_rd_value **items = ig_scope_array(r->c, v->nitems, sizeof *items);
    for (size_t i = 0; items && i < v->nitems; i++) items[i] = back(r, v->items[i], all, n);
    return items && ig_rd_ok(r) ? ig_rd_of_items(r, IG_RD_SEQUENCE, items, v->nitems) : NULL;
  }
  ig_tensor *t = v ? ig_rd_tensor(r, v) : NULL;
  const int64_t *at = t ? ig_rd_bytes(r, t, IG_I64) : NULL;
  ig_bytes *out = at ? ig_scope_array(r->c, (size_t)ig_tensor_numel(t), sizeof *out) : NULL;
  if (!out) return NULL;
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;  // concrete: has bytes
  for (int64_t i = 0; i < ig_tensor_numel(t); i++) {
    bool known = at[i] >= 1 && (size_t)at[i] <= n;
    out[i] = known ? all[at[i] - 1] : (ig_bytes){NULL, 0};
  }
  return ig_rd_of_strings(r, out, (size_t)ig_tensor_numel(t), dims, t->ndim);
}

static bool number_inputs(ig_rd *r, ig_rd_value **in, ig_bytes *all) {
  size_t first = 0;
  for (size_t i = 0; i < r->nin; i++) {
    const ig_rd_value *v = r->in[i];
    in[i] = r->in[i];
    if (!is_strings(v)) continue;
    in[i] = ig_rd_of_tensor(r, ig_rd_places(r, v, first + 1), 0);
    if (!in[i]) return false;
    if (v->nstrings) memcpy(all + first, v->strings, ig_mem_mul(v->nstrings, sizeof *all));
    first += v->nstrings;
  }
  return true;
}

bool ig_rd_move_strings(ig_rd *r, ig_rd_fn *fn) {
  bool any = false;
  for (size_t i = 0; i < r->nin; i++) any = any || is_strings(r->in[i]);
  const mover *m = any ? find_mover(r->node) : NULL;
  if (!m) return false;
  const char *value = m->attr ? ig_rd_attr_text(r, m->attr, m->value) : NULL;
  if (value && strcmp(value, m->value) != 0) {
    ig_rd_fail(r, IG_UNSUPPORTED, "attribute '%s': found '%s', expected '%s' for strings", m->attr,
               value, m->value);
    return true;
  }
  size_t n = count(r);
  ig_bytes *all = ig_scope_array(r->c, n, sizeof *all);
  ig_rd_value **in = ig_scope_array(r->c, r->nin, sizeof *in);
  ig_rd_value **given = r->in;
  bool capture = r->capture;
  if (!all || !in || !number_inputs(r, in, all)) return true;
  // Strings are real while a program is captured, too: nothing is recorded.
  ig_mode_scope mode = ig_mode_push_capture(r->c, NULL);
  r->capture = false;
  r->in = in;
  fn(r);
  for (size_t i = 0; i < r->nout && ig_rd_ok(r); i++) {
    if (r->out[i]) r->out[i] = back(r, r->out[i], all, n);
  }
  r->in = given;
  r->capture = capture;
  ig_mode_pop(r->c, &mode);
  return true;
}
