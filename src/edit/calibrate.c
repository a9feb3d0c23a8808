// SPDX-License-Identifier: Apache-2.0
#include "edit/calibrate.h"

#include <math.h>
#include <string.h>

#include "mode/mode.h"
#include "op/interpret.h"
#include "tensor/copy.h"

static void count(ig_ed_range *r, const float *at, int64_t n, bool bins) {
  for (int64_t i = 0; i < n; i++) {
    double x = (double)at[i];
    if (!isfinite(x)) {
      r->finite = false;
      continue;
    }
    if (x < r->low) r->low = x;
    if (x > r->high) r->high = x;
    double size = fabs(x);
    if (!bins && size > r->largest) r->largest = size;
    if (bins && r->bins) {
      double place = size > 0 ? size / r->largest * IG_ED_BINS : 0;  // largest may be tiny
      r->bins[place >= IG_ED_BINS ? IG_ED_BINS - 1 : (size_t)place]++;
    }
  }
}

static void on_tensor(ig_ed_ranges *all, const char *name, const ig_tensor *t) {
  ig_edit *e = all->e;
  if (!t || !ig_dtype_is_float(ig_tensor_dtype(t)) || ig_tensor_is_fake(t)) return;
  ig_map_value *at = ig_map_find(&all->at, name);
  if (!at) {
    const char *kept = ig_ed_text(e, "%s", name);
    at = ig_ed_ok(e) ? ig_ed_put(e, &all->at, kept) : NULL;
    ig_ed_range *r = at ? ig_ed_push(e, 1, sizeof *r) : NULL;
    if (!r) return;
    *r = (ig_ed_range){.low = 0, .high = 0, .finite = true};
    at->ptr = r;
  }
  ig_ed_range *r = at->ptr;
  if (!r) return;
  if (all->bins && !r->bins) r->bins = ig_ed_push(e, IG_ED_BINS, sizeof *r->bins);
  ig_scope s = ig_scope_open(e->c);
  int64_t n = ig_tensor_numel(t);
  float *flat = ig_scope_array(e->c, (size_t)n + 1, sizeof *flat);
  if (flat) {
    ig_tensor_read(t, IG_F32, flat);
    count(r, flat, n, all->bins);
  }
  ig_scope_close(e->c, s);
}

static void on_value(void *user, const char *name, const char *target, const ig_value *value) {
  (void)target;
  if (value->kind == IG_KIND_TENSOR) on_tensor(user, name, value->tensor);
}

static ig_status pass(ig_ed_ranges *all, const ig_edit_run *runs, size_t n) {
  ig_edit *e = all->e;
  const ig_watch watch = {on_value, all};
  for (size_t i = 0; i < n && ig_ed_ok(e); i++) {
    ig_scope s = ig_scope_open(e->c);
    ig_value *outs = ig_scope_array(e->c, e->m.graph->noutputs + 1, sizeof *outs);
    const ig_mode_change change = {IG_MODE_WATCH, {.watch = &watch}};
    ig_mode_scope mode = ig_mode_push(e->c, &change);
    ig_status st = outs ? ig_onnx_run(e->c, &e->m, runs[i].inputs, runs[i].n, outs) : IG_NOMEM;
    ig_mode_pop(e->c, &mode);
    for (size_t k = 0; st == IG_OK && k < runs[i].n; k++)
      on_tensor(all, runs[i].inputs[k].name, runs[i].inputs[k].tensor);
    ig_scope_close(e->c, s);
  }
  return e->c->status;
}

ig_status ig_ed_measure(ig_edit *e, const ig_edit_run *runs, size_t n, bool bins,
                        ig_ed_ranges *out) {
  *out = (ig_ed_ranges){.e = e, .at = ig_map_make(e->c->alloc)};
  ig_status st = pass(out, runs, n);
  out->bins = bins;
  return st == IG_OK && bins ? pass(out, runs, n) : st;
}

const ig_ed_range *ig_ed_range_of(const ig_ed_ranges *r, const char *name) {
  const ig_map_value *at = ig_map_find(&r->at, name);
  return at ? at->ptr : NULL;
}

double ig_ed_percentile(const ig_ed_range *r, double percent) {
  uint64_t total = 0;
  uint64_t sum = 0;
  for (size_t i = 0; r->bins && i < IG_ED_BINS; i++) total += r->bins[i];
  double want = (double)total * percent / 100;
  for (size_t i = 0; r->bins && i < IG_ED_BINS; i++) {
    sum += r->bins[i];
    if ((double)sum >= want) return r->largest * (double)(i + 1) / IG_ED_BINS;
  }
  return r->largest;
}
