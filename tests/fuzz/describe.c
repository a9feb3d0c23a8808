// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include "fuzz.h"
#include "ingot/diff.h"
#include "ingot/layers.h"
#include "ingot/onnx.h"
#include "ingot/program.h"
#include "ingot/stats.h"
#include "ingot/view.h"

// Says how a part went, and goes on without its error.
static void done(ig_ctx *c, const char *part) {
  fuzz_show("%s: %s\n", part, ig_ctx_error(c));
  ig_ctx_clear(c);
}

static void describe_sizes(ig_ctx *c, const ig_model *m) {
  const ig_model_symbol *const *symbols = NULL;
  const ig_model_relation *const *relations = NULL;
  const ig_model_port *const *ports = NULL;
  (void)ig_model_symbols(c, m, &symbols);
  done(c, "symbols");
  (void)ig_model_relations(c, m, &relations);
  done(c, "relations");
  size_t n = ig_model_inputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    int64_t sizes[IG_MAX_DIM];
    if (ports[i]->kind == IG_KIND_TENSOR && ports[i]->ndim <= IG_MAX_DIM)
      (void)!ig_model_input_sizes(c, m, i, NULL, 0, sizes);
    done(c, "sizes of an input");
  }
}

static void describe_texts(ig_ctx *c, const ig_model *m) {
  const ig_program *p = ig_model_program(m);
  if (p) {
    ig_text_free(c, ig_program_text(c, p));
    ig_text_free(c, ig_program_code(c, p));
  }
  if (ig_model_onnx(m)) ig_text_free(c, ig_onnx_text(c, ig_model_onnx(m)));
  done(c, "listings");
}

static void describe_weights(ig_ctx *c, const ig_model *m) {
  enum { MOST = 1 << 16 };  // elements; an expanded weight may have any number
  const ig_model_weight *const *weights = NULL;
  size_t n = ig_model_weights(m, &weights);
  for (size_t i = 0; i < n; i++) {
    ig_stats stats;
    ig_tensor *t = weights[i]->tensor;
    if (t && ig_tensor_numel(t) <= MOST) (void)ig_tensor_stats(c, t, &stats);
    done(c, "statistics");
  }
}

static void describe_members(ig_ctx *c, const ig_model *m) {
  const ig_model_member *const *members = NULL;
  size_t n = ig_model_members(m, &members);
  for (size_t i = 0; i < n; i++) {
    const void *data = NULL;
    size_t bytes = 0;
    (void)!ig_model_member_data(c, m, i, &data, &bytes);
    done(c, "member");
  }
}

static void describe_layers(ig_ctx *c, const ig_model *m) {
  const ig_layer *list = NULL;
  size_t n = 0;
  (void)!ig_model_layers(c, m, NULL, 0, &list, &n);
  done(c, "layers");
}

static void draw_picture(ig_ctx *c, draw *d, const ig_model *m) {
  ig_view_options o = {.size = sizeof o, .form = (ig_view_form)draw_below(d, 3)};
  o.depth = (int)draw_below(d, 3);
  o.no_stats = draw_byte(d) & 1;
  ig_text_free(c, ig_model_view(c, m, &o));
  done(c, "picture");
}

// A model differs from itself in nothing.
static void compare(ig_ctx *c, const ig_model *m) {
  const ig_model_change *const *list = NULL;
  size_t n = 0;
  ig_status st = ig_model_diff(c, m, m, NULL, &list, &n);
  if (st == IG_OK && n && !fuzz_fails_allocations())
    fuzz_finding("differs from itself: %s: %s, %s", list[0]->name,
                 list[0]->before ? list[0]->before : "nothing",
                 list[0]->after ? list[0]->after : "nothing");
  done(c, "differences");
}

void fuzz_describe(ig_ctx *c, draw *d, const ig_model *m) {
  ig_scope s = ig_scope_open(c);
  describe_sizes(c, m);
  describe_texts(c, m);
  describe_weights(c, m);
  describe_members(c, m);
  describe_layers(c, m);
  draw_picture(c, d, m);
  compare(c, m);
  ig_scope_close(c, s);
}
