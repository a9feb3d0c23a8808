// SPDX-License-Identifier: Apache-2.0
// Writes the samples of every operator that has a row or a lowering in the ONNX writer into a zip:
// each as a program of one call, its operands and results as arrays, and its model at every opset.
// tests/python/test_onnx_samples.py gives the models to the onnx package and to onnxruntime.
//
//   onnx_samples_tool OUT.zip            at every opset
//   onnx_samples_tool OUT.zip DTYPE...   with these instead of float32, where the operator takes
//   them:
//                                        OPERATOR/SAMPLE:DTYPE, at some opsets
//
// OPERATOR/SAMPLE/text          the sample as the record has it
// OPERATOR/SAMPLE/x0.npy ...    operands;  y0.npy ... results; bfloat16 as x0.bfloat16.npy
// OPERATOR/SAMPLE/9.onnx        the model at opset 9, or 9.refused with the text of the refusal
// OPERATOR/SAMPLE/random        there: the results are not a function of the operands
// OPERATOR/SAMPLE/not-captured  instead: the sample is no program, and why
// OPERATOR/SAMPLE/waived        beside it: what the record says of fake operands
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/arrays.h"
#include "base/file.h"
#include "base/map.h"
#include "codec/zip.h"
#include "ingot/onnx.h"
#include "ingot/program.h"
#include "onnx/writer.h"
#include "sample.h"
#include "tensor/tensor.h"

enum { OLDEST = 7, MAX_FLAT = SAMPLE_ITEMS * IG_MAX_RETURNS };

typedef struct writer {
  ig_ctx *c;
  ig_zip_writer zip;
  const ig_op *op;
  char folder[200];  // "aten.add.Tensor/0"
  sample_how how;
} writer;

static bool is_plain(const writer *w) {
  return w->how.floats == IG_F32;
}

static void die(const ig_ctx *c, const char *what) {
  (void)fprintf(stderr, "onnx_samples_tool: %s: %s\n", what, c ? ig_ctx_error(c) : "");
  exit(1);
}

static void put(writer *w, const char *name, const void *data, size_t n) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/%s", w->folder, name);
  ig_bytes part = {data, n};
  if (ig_zip_add(&w->zip, path, &part, 1) != IG_OK) die(w->c, path);
}

static void put_array(writer *w, char letter, size_t i, ig_tensor *t) {
  char name[64];
  const char *lacking = t->dtype == IG_BF16 ? ".bfloat16" : "";
  (void)snprintf(name, sizeof name, "%c%zu%s.npy", letter, i, lacking);
  ig_sink sink = ig_sink_memory(w->c->alloc);
  ig_weight item = {.name = name, .tensor = t};
  ig_tensor_list list = {.at = &item, .n = 1};
  if (ig_npy_print(w->c, &list, true, &sink) != IG_OK) die(w->c, w->folder);
  put(w, name, sink.at, sink.n);
  ig_sink_drop(&sink);
}

// ---- one sample as a program

// The arguments of s with an input of the open capture for every tensor; inputs get the tensors.
static size_t declare(ig_ctx *c, const ig_op *op, const sample *s, sample *to, ig_value *inputs) {
  size_t n = 0;
  to->lists = s->lists;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    bool list = s->args[i].kind == IG_KIND_LIST;
    const ig_value *from = list ? s->args[i].list.at : &s->args[i];
    ig_value *copy = list ? to->items[to->lists++] : &to->args[i];
    size_t count = list ? s->args[i].list.n : 1;
    for (size_t k = 0; k < count; k++) {
      copy[k] = from[k];
      if (from[k].kind != IG_KIND_TENSOR) continue;
      const ig_tensor *t = from[k].tensor;
      char name[32];
      (void)snprintf(name, sizeof name, "x%zu", n);
      inputs[n++] = from[k];
      copy[k] = ig_of_tensor(ig_capture_input(c, name, t->dtype, ig_sizes(t), t->ndim));
    }
    if (list) {
      to->args[i] = s->args[i];
      to->args[i].list.at = copy;
    }
  }
  return n;
}

static size_t tensors_of(const ig_op *op, const ig_value *outs, ig_value *flat) {
  size_t n = 0;
  for (size_t i = 0; i < op->schema.nrets; i++) {
    bool list = outs[i].kind == IG_KIND_LIST;
    const ig_value *at = list ? outs[i].list.at : &outs[i];
    for (size_t k = 0; k < (list ? outs[i].list.n : 1); k++) {
      if (at[k].kind == IG_KIND_TENSOR) flat[n++] = at[k];
    }
  }
  return n;
}

// NULL: what is captured is no program of tensors.
static ig_program *capture(ig_ctx *c, const ig_op *op, const sample *s, ig_value *inputs,
                           size_t *n) {
  static sample fake;
  static ig_value flat[MAX_FLAT];
  ig_value outs[IG_MAX_RETURNS];
  ig_program *p = NULL;
  if (ig_capture_begin(c) != IG_OK) return NULL;
  *n = declare(c, op, s, &fake, inputs);
  ig_call(c, op, fake.args, outs);
  size_t count = ig_ctx_status(c) == IG_OK ? tensors_of(op, outs, flat) : 0;
  if (count == 0) {
    ig_capture_abort(c);
    return NULL;
  }
  return ig_capture_end_program(c, flat, count, &p) == IG_OK ? p : NULL;
}

// ---- its models

static void put_model(writer *w, const ig_program *p, int opset) {
  char name[32];
  ig_sink sink = ig_sink_memory(w->c->alloc);
  ig_onnx_options options = {
      .size = sizeof options, .opset = opset, .no_folding = true, .no_metadata = true};
  ig_status st = ig_program_convert_onnx(w->c, p, &options, NULL, &sink);
  (void)snprintf(name, sizeof name, "%d.%s", opset, st == IG_OK ? "onnx" : "refused");
  if (st == IG_OK) {
    put(w, name, sink.at, sink.n);
  } else {
    char text[1000];
    (void)snprintf(text, sizeof text, "%d %s", (int)st, ig_ctx_error(w->c));
    ig_ctx_clear(w->c);
    put(w, name, text, strlen(text));
  }
  ig_sink_drop(&sink);
}

static void put_sample(writer *w, const sample *s, const char *text, size_t number) {
  static ig_value flat[MAX_FLAT];
  ig_value inputs[IG_MAX_ARGS + SAMPLE_ITEMS];
  ig_value outs[IG_MAX_RETURNS];
  size_t n = 0;
  bool plain = is_plain(w);
  (void)snprintf(w->folder, sizeof w->folder, "%s/%zu%s%s", w->op->target, number, plain ? "" : ":",
                 plain ? "" : ig_dtype_text(w->how.floats));
  ig_program *p = capture(w->c, w->op, s, inputs, &n);
  if (p) ig_call(w->c, w->op, s->args, outs);
  size_t nouts = p && ig_ctx_status(w->c) == IG_OK ? tensors_of(w->op, outs, flat) : 0;
  bool data = nouts > 0;
  for (size_t i = 0; i < nouts; i++) data = data && !ig_tensor_is_fake(flat[i].tensor);
  if (!data && !plain) {
    ig_ctx_clear(w->c);
    ig_program_free(p);
    return;
  }
  if (!data) {
    const char *why = ig_ctx_status(w->c) == IG_OK ? "no results with data" : ig_ctx_error(w->c);
    put(w, "not-captured", why, strlen(why));
    // The contract test holds records to their waivers, so the waiver is reason enough here.
    const char *waived = w->op->def->waive ? strstr(w->op->def->waive, "fake: ") : NULL;
    if (waived) put(w, "waived", waived, strcspn(waived, ";"));
    ig_ctx_clear(w->c);
    ig_program_free(p);
    return;
  }
  put(w, "text", text, strcspn(text, "|"));
  if (w->op->def->random) put(w, "random", "", 0);
  for (size_t i = 0; i < n; i++) put_array(w, 'x', i, inputs[i].tensor);
  for (size_t i = 0; i < nouts; i++) put_array(w, 'y', i, flat[i].tensor);
  for (int opset = OLDEST; opset <= IG_ONNX_OPSET_NEWEST; opset++) {
    if (plain || opset == 11 || opset == 15 || opset == 18 || opset == 23) put_model(w, p, opset);
  }
  ig_program_free(p);
}

static void put_operator(writer *w, const char *target) {
  static sample s;
  w->op = ig_op_find(w->c, target);
  (void)snprintf(w->folder, sizeof w->folder, "%s", target);
  if (!w->op) die(NULL, target);
  const char *text = w->op->def->samples;
  bool writes = false;
  for (size_t i = 0; i < w->op->schema.nargs; i++) writes |= w->op->schema.args[i].written;
  if (!text || writes) {
    if (is_plain(w)) put(w, writes ? "writes" : "no-samples", "", 0);
    return;
  }
  for (size_t i = 0; *text; i++) {
    const char *start = text;
    ig_scope scope = ig_scope_open(w->c);
    bool ok = sample_parse(w->c, w->op, &text, w->how, &s);
    if (!ok && is_plain(w)) die(w->c, target);
    ig_ctx_clear(w->c);
    if (ok) put_sample(w, &s, start, i);
    ig_scope_close(w->c, scope);
  }
}

static void put_once(writer *w, ig_map *done, const char *target) {
  if (ig_map_find(done, target)) return;
  if (!ig_map_put(done, target)) die(NULL, "out of memory");
  put_operator(w, target);
}

static void put_all(writer *w, ig_dtype floats) {
  ig_map done = ig_map_make(w->c->alloc);
  w->how.floats = floats;
  for (const ig_onnx_row *const *family = ig_onnx_families; *family; family++) {
    for (const ig_onnx_row *row = *family; row->target; row++) put_once(w, &done, row->target);
  }
  for (const ig_onnx_lowering *l = ig_onnx_lowerings; l->target; l++) put_once(w, &done, l->target);
  ig_map_free(&done);
}

static ig_dtype dtype_of(const char *text) {
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    if (strcmp(ig_dtype_text((ig_dtype)d), text) == 0) return (ig_dtype)d;
  }
  die(NULL, text);
  return IG_F32;
}

int main(int argc, char **argv) {
  ig_ctx *c = NULL;
  if (argc < 2 || ig_ctx_create(NULL, &c) != IG_OK)
    die(NULL, "onnx_samples_tool OUT.zip [DTYPE...]");
  ig_sink sink;
  if (ig_sink_file(c, argv[1], &sink) != IG_OK) die(c, argv[1]);
  writer w = {.c = c};
  ig_zip_writer_init(&w.zip, c, &sink, 1);
  if (argc == 2) put_all(&w, IG_F32);
  for (int i = 2; i < argc; i++) put_all(&w, dtype_of(argv[i]));
  if (ig_zip_finish(&w.zip) != IG_OK || ig_sink_close(c, &sink) != IG_OK) die(c, argv[1]);
  ig_zip_writer_free(&w.zip);
  ig_sink_drop(&sink);
  ig_ctx_free(c);
  return 0;
}
