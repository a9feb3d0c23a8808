// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "use.h"

#include <stdlib.h>
#include <unistd.h>

#include "describe.h"
#include "fuzz.h"
#include "ingot/file.h"
#include "ingot/model.h"
#include "ingot/onnx.h"
#include "ingot/pass.h"
#include "mutate.h"
#include "op/call.h"
#include "pt2/archive.h"
#include "tensor/number.h"
#include "ts/archive.h"

enum { MAX_ELEMENTS = 1 << 14 };

static ig_tensor *input_of(ig_ctx *c, const ig_model_port *port) {
  int64_t sizes[IG_MAX_DIM] = {2, 3};  // where a script says nothing about them
  int64_t total = port->ndim < 0 ? 6 : 1;
  int ndim = port->ndim < 0 ? 2 : port->ndim;
  ig_dtype dtype = port->dtype == IG_DTYPE_COUNT ? IG_F32 : port->dtype;
  if (ndim > IG_MAX_DIM) return NULL;
  for (int d = 0; d < port->ndim; d++) {
    sizes[d] = port->dims[d]->value < 0 ? 2 : port->dims[d]->value;
    if (__builtin_mul_overflow(total, sizes[d], &total) || total > MAX_ELEMENTS) return NULL;
  }
  ig_tensor *t = ig_tensor_empty(c, dtype, sizes, ndim);
  ig_value one = ig_of_i64(1);
  if (t) ig_fill(ig_tensor_data(t), dtype, (size_t)total, &one);
  return t;
}

// Errors that the structure of a program makes, whatever the elements of its inputs are. Others may
// be theirs: indices out of bounds, matrices without an inverse, dtypes that only a kernel refuses.
static bool is_structural(ig_status st) {
  return st == IG_BAD_TYPE || st == IG_SYNTAX || st == IG_ASSERTION || st == IG_NOT_FOUND ||
         st == IG_MISMATCH || st == IG_OVERFLOW || st == IG_BRANCH || st == IG_DATA_DEPENDENT;
}

// A program has an example of each size that can vary, and an ONNX model has none: input_of() may
// choose others than the model takes.
static bool has_unknown_sizes(const ig_model *m, const ig_model_port *const *ports, size_t n) {
  if (ig_model_get_kind(m) != IG_MODEL_ONNX) return false;
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; d < ports[i]->ndim; d++) {
      if (ports[i]->dims[d]->name) return true;
    }
  }
  return false;
}

// A run of a script as a program.
static ig_program *capture(ig_ctx *c, ig_session *s) {
  ig_program *p = NULL;
  ig_status st = ig_session_export(s, &p);
  fuzz_show("captured: %s\n", st == IG_OK ? "ok" : ig_ctx_error(c));
  ig_ctx_clear(c);
  return p;
}

static bool set_inputs(ig_ctx *c, const ig_model *m, ig_session *s) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    if (ports[i]->kind != IG_KIND_TENSOR) continue;
    ig_tensor *t = input_of(c, ports[i]);
    ok = t && ig_session_set(s, ports[i]->name, t) == IG_OK;
  }
  return ok;
}

// *captured: the run of a script, if it can be recorded.
static void run(ig_ctx *c, ig_model *m, bool sound, ig_program **captured) {
  const ig_model_port *const *ports = NULL;
  ig_session *s = NULL;
  size_t n = ig_model_inputs(m, &ports);
  if (ig_session_create(c, m, &s) == IG_OK && set_inputs(c, m, s)) {
    fuzz_calls++;
    ig_status st = ig_session_run(s);
    fuzz_show("run: %s\n", st == IG_OK ? "ok" : ig_ctx_error(c));
    // Scripts choose by data which of their values are used.
    bool script = ig_model_get_kind(m) == IG_MODEL_TORCHSCRIPT;
    bool judged = sound && !script && !fuzz_fails_allocations();
    if (judged && is_structural(st) && !has_unknown_sizes(m, ports, n))
      fuzz_finding("sound, but its run is refused: %s", ig_ctx_error(c));
    if (st != IG_OK && !ig_ctx_error(c)[0]) fuzz_finding("a run is refused without a word");
    ig_ctx_clear(c);
    if (script) *captured = capture(c, s);
  } else {
    fuzz_show("no run: %s\n", ig_ctx_error(c));
  }
  ig_session_free(s);
  ig_ctx_clear(c);
}

// Writes the compiled model of a session, and runs it.
static void compile(ig_ctx *c, ig_session *s) {
  char path[] = "/tmp/ingot-fuzz-XXXXXX";
  ig_compile_options o = {.size = sizeof o, .loss = 0.02};
  ig_model *m = NULL;
  ig_session *again = NULL;
  int fd = mkstemp(path);
  if (fd < 0) return;
  if (ig_session_compile(s, path, &o) == IG_OK && ig_model_open(c, path, NULL, &m) == IG_OK) {
    (void)!ig_model_verify(c, m, NULL);
    if (ig_session_create(c, m, &again) == IG_OK && set_inputs(c, m, again))
      (void)!ig_session_run(again);
  }
  fuzz_show("compiled: %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);
  ig_session_free(again);
  ig_model_free(m);
  (void)unlink(path);
  (void)close(fd);
}

// A session with other options, its plan as text, measured runs, and a clone. What a run answers
// may depend on the options (random numbers, layers in another order), so nothing is compared.
static void run_otherwise(ig_ctx *c, draw *d, ig_model *m) {
  ig_session *s = NULL;
  ig_session *clone = NULL;
  ig_session_step step;
  unsigned bits = draw_byte(d);
  ig_session_options o = {.size = sizeof o, .without = bits & 15, .interpret = (bits & 48) == 48};
  if (bits & 64) o.precision = IG_PRECISION_INT8;
  if (ig_model_get_kind(m) == IG_MODEL_TORCHSCRIPT)
    return;  // not planned, and loops take their time
  if (ig_session_create_with(c, m, &o, &s) == IG_OK && set_inputs(c, m, s)) {
    ig_text_free(c, ig_session_plan_text(s));
    fuzz_show("plan: %s\n", ig_ctx_error(c));
    ig_ctx_clear(c);
    ig_session_profile(s, true);
    bool runs = true;
    for (int i = 0; i < 2 && runs; i++) {
      runs = ig_session_run(s) == IG_OK;
      ig_ctx_clear(c);
    }
    for (size_t i = 0; ig_session_profile_at(s, i, &step); i++) {
    }
    if (runs && ig_session_clone(c, s, &clone) == IG_OK && set_inputs(c, m, clone))
      (void)!ig_session_run(clone);
    ig_ctx_clear(c);
    if ((bits & 28) == 28) compile(c, s);  // files are slow
  }
  fuzz_show("with other options: %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);
  ig_session_free(clone);
  ig_session_free(s);
}

static void convert(ig_ctx *c, draw *d, const ig_model *m, ig_program *captured) {
  ig_program *p = captured ? captured : ig_model_program(m);
  ig_sink sink = ig_sink_memory(c->alloc);
  if (p && draw_byte(d) & 1) {
    (void)!ig_program_write(c, p, NULL, &sink);
  } else if (p) {
    (void)!ig_program_convert_onnx(c, p, NULL, NULL, &sink);
  } else if (ig_model_onnx(m)) {
    int opset = 7 + (int)draw_below(d, 20);
    (void)!ig_onnx_convert(c, ig_model_onnx(m), opset, IG_ONNX_EXTERNAL_NEVER, NULL, &sink);
  }
  fuzz_show("convert: %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);
  ig_sink_drop(&sink);
  if (!p) return;
  ig_program *next = NULL;
  ig_decompose_args how = {.size = sizeof how, .level = IG_DECOMPOSE_CORE};
  if (ig_program_decompose(c, p, &how, &next) == IG_OK) ig_text_free(c, ig_program_text(c, next));
  fuzz_show("taken apart: %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);
  ig_program_free(next);
}

// The graphs of an archive, as the command shows them.
static void show_graphs(ig_ctx *c, ig_bytes bytes, const ig_limits *limits, bool inlined) {
  ig_ts *ts = NULL;
  if (ig_ts_parse(c, "fuzz", bytes, NULL, limits, &ts) == IG_OK)
    ig_text_free(c, ig_ts_graphs(c, ts, inlined));
  fuzz_show("graphs: %s\n", ig_ctx_error(c));
  ig_ts_free(ts);
  ig_ctx_clear(c);
}

void fuzz_use(ig_ctx *c, draw *d, ig_bytes bytes) {
  ig_model *m = NULL;
  ig_limits limits = {
      .size = sizeof limits, .max_nodes = 100000, .max_work = 3000000, .max_millis = 5000};
  ig_model_options o = {.size = sizeof o, .limits = &limits, .program = draw_byte(d) & 1};
  ig_scope s = ig_scope_open(c);
  if (ig_model_open_bytes(c, "fuzz", bytes.at, bytes.n, &o, &m) == IG_OK) {
    bool sound = ig_model_verify(c, m, &o) == IG_OK;
    fuzz_show("verify: %s\n", sound ? "sound" : ig_ctx_error(c));
    ig_ctx_clear(c);
    ig_program *captured = NULL;
    run(c, m, sound, &captured);
    convert(c, d, m, captured);
    ig_program_free(captured);
    if (ig_model_get_kind(m) == IG_MODEL_TORCHSCRIPT)
      show_graphs(c, bytes, &limits, draw_byte(d) & 1);
    run_otherwise(c, d, m);
    fuzz_describe(c, d, m);
  } else {
    fuzz_show("not opened: %s\n", ig_ctx_error(c));
  }
  ig_model_free(m);
  ig_ctx_clear(c);
  ig_scope_close(c, s);
}

void fuzz_use_mutated(ig_ctx *c, draw *d, const ig_program *p) {
  unsigned form = (unsigned)draw_below(d, 5);
  ig_sink base = ig_sink_memory(c->alloc);
  ig_sink changed = ig_sink_memory(c->alloc);
  ig_str text = ig_str_make(c->alloc);
  if (form < 3) {
    ig_save_options options = {.size = sizeof options, .layout = (ig_pt2_layout)form};
    bool ok = ig_program_write(c, p, &options, &base) == IG_OK &&
              fuzz_mutate_archive(c, d, (ig_bytes){base.at, base.n}, &changed);
    if (!ok) fuzz_show("no archive: %s\n", ig_ctx_error(c));
    ig_ctx_clear(c);
    if (ok) fuzz_use(c, d, (ig_bytes){changed.at, changed.n});
  } else {
    bool ok = ig_program_write_onnx(c, p, NULL, &base) == IG_OK &&
              fuzz_mutate_proto(c, d, (ig_bytes){base.at, base.n}, &text);
    if (!ok) fuzz_show("no ONNX: %s\n", ig_ctx_error(c));
    ig_ctx_clear(c);
    if (ok) fuzz_use(c, d, (ig_bytes){(const uint8_t *)text.at, text.n});
  }
  ig_str_free(&text);
  ig_sink_drop(&base);
  ig_sink_drop(&changed);
}
