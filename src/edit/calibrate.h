// SPDX-License-Identifier: Apache-2.0
// What the values of a model are on given inputs: how large they are, and how they are distributed.
#ifndef EDIT_CALIBRATE_H_
#define EDIT_CALIBRATE_H_

#include "edit/edit.h"

enum { IG_ED_BINS = 2048 };

typedef struct ig_ed_range {
  double low;
  double high;
  bool finite;     // every element is
  double largest;  // of the absolute values; of the first pass
  uint64_t *bins;  // of absolute values up to `largest`; NULL: not asked for
} ig_ed_range;

typedef struct ig_ed_ranges {
  ig_edit *e;
  ig_map at;  // of values that are floats, by name
  bool bins;  // second pass
} ig_ed_ranges;

// Runs the model on everything; two passes if a distribution is asked for. The map must be freed.
ig_status ig_ed_measure(ig_edit *e, const ig_edit_run *runs, size_t n, bool bins,
                        ig_ed_ranges *out);
const ig_ed_range *ig_ed_range_of(const ig_ed_ranges *r, const char *name);  // NULL: none
// The absolute value that `percent` of the elements do not exceed.
double ig_ed_percentile(const ig_ed_range *r, double percent);

#endif
