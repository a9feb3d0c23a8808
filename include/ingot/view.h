// SPDX-License-Identifier: Apache-2.0
// Pictures of models: a page to look around in, an SVG drawing, or a description for Graphviz.
#ifndef INGOT_VIEW_H_
#define INGOT_VIEW_H_

#include "ingot/model.h"

IG_BEGIN_DECLS

typedef enum ig_view_form {
  IG_VIEW_HTML,  // one self-contained page that loads nothing
  IG_VIEW_SVG,
  IG_VIEW_DOT,
} ig_view_form;

typedef struct ig_view_options {
  size_t size;  // sizeof(ig_view_options)
  ig_view_form form;
  int depth;      // SVG and DOT: modules nested deeper are drawn as one box; 0: no limit
  bool no_stats;  // HTML: without statistics of the weights
  // If not NULL: called with the weights whose statistics are known, out of the total.
  void (*progress)(void *user, uint64_t done, uint64_t total);
  void *progress_user;
  // A second model beside it, whose nodes are compared with those of the first: both as programs,
  // unless both are ONNX. NULL: none.
  const ig_model *other;
  // Where runs of the two begin to differ: names of a value in each, and what is said about it.
  // NULL: not known.
  const char *first_a;
  const char *first_b;
  const char *first_text;
  // What `ingot bench --profile --json` has written, for colours by time and memory. NULL: none.
  const char *profile;
  // HTML: called with the parts of the model as JSON, in order; the page then holds none of them
  // but asks for part/0, part/1, ... beside its own address. NULL: the page holds everything.
  void (*part)(void *user, const char *text, size_t n);
  void *part_user;
} ig_view_options;

// The picture as text, to be freed by ig_text_free. Texts of the file appear in it as text and
// never as markup. options may be NULL. NULL after an error; IG_UNSUPPORTED: the file has no graph.
IG_API char *ig_model_view(ig_ctx *c, const ig_model *m, const ig_view_options *options);

// The same for the report of a draft (ingot/report.h) as JSON: a page of its issues.
IG_API char *ig_report_view(ig_ctx *c, const char *name, const char *text, size_t n);

IG_END_DECLS

#endif
