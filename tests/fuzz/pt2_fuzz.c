// SPDX-License-Identifier: Apache-2.0
// Any bytes as an archive, or as the text of a program with the weights that the text itself
// requires: what is accepted can be printed and written again, and what was written reads as the
// same program.
#include <string.h>

#include "base/ctx.h"
#include "mutate.h"
#include "pt2/archive.h"
#include "pt2/schema.h"
#include "pt2/values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed) {
  return fuzz_mutate_input(data, n, room, seed);
}

enum { MAX_WEIGHTS = 64, MAX_SIZE = 64 };

typedef struct maker {
  ig_ctx *c;
  ig_pt2_weight at[MAX_WEIGHTS];
  size_t n;
  const ig_json *tensors;
} maker;

static const ig_json *member(const ig_json *v, const char *key) {
  return v && v->kind == IG_JSON_OBJECT ? ig_json_find(v, key) : NULL;
}

static const char *text(const ig_json *v) {
  return v && v->kind == IG_JSON_STRING ? v->text : NULL;
}

// A small tensor as the text describes it.
static void add(maker *m, const char *name, const char *path) {
  static const ig_dtype dtypes[] = {IG_F32, IG_I64, IG_F64, IG_BOOL};
  const ig_json *meta = name ? member(m->tensors, name) : NULL;
  if (meta && member(meta, "meta")) meta = member(meta, "meta");
  const ig_json *sizes = member(meta, "sizes");
  const ig_json *dtype = member(meta, "dtype");
  if (!path || !sizes || sizes->kind != IG_JSON_ARRAY || sizes->n > 4 || m->n == MAX_WEIGHTS)
    return;
  int64_t dims[4] = {0};
  for (size_t i = 0; i < sizes->n; i++) {
    const ig_json *size = member(&sizes->items[i], "as_int");
    if (!size || size->kind != IG_JSON_INT || size->i < 0 || size->i > MAX_SIZE) return;
    dims[i] = size->i;
  }
  ig_dtype found = IG_F32;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    bool same = dtype && dtype->kind == IG_JSON_INT && ig_pt2_dtype_find(dtype->i) == dtypes[i];
    if (same) found = dtypes[i];
  }
  ig_pt2_weight *w = &m->at[m->n];
  *w = (ig_pt2_weight){.name = path, .is_param = m->n % 2 == 0};
  w->tensor = ig_tensor_empty(m->c, found, dims, (int)sizes->n);
  m->n += w->tensor != NULL;
}

static void add_all(maker *m, const ig_json *doc) {
  static const char *const kinds[][2] = {{"parameter", "parameter_name"},
                                         {"buffer", "buffer_name"},
                                         {"tensor_constant", "tensor_constant_name"}};
  static const char *const maps[] = {"inputs_to_parameters", "inputs_to_buffers"};
  const ig_json *module = member(doc, "graph_module");
  const ig_json *signature = member(module, "signature");
  const ig_json *specs = member(signature, "input_specs");
  m->tensors = member(member(module, "graph"), "tensor_values");
  for (size_t i = 0; specs && specs->kind == IG_JSON_ARRAY && i < specs->n; i++) {
    for (size_t k = 0; k < 3; k++) {
      const ig_json *spec = member(&specs->items[i], kinds[k][0]);
      add(m, text(member(member(spec, "arg"), "name")), text(member(spec, kinds[k][1])));
    }
  }
  for (size_t k = 0; k < 2; k++) {
    const ig_json *map = member(signature, maps[k]);
    for (size_t i = 0; map && map->kind == IG_JSON_OBJECT && i < map->n; i++) {
      add(m, map->members[i].key, text(&map->members[i].value));
    }
  }
}

static ig_program *read(ig_ctx *c, ig_bytes bytes, bool objects) {
  maker m = {.c = c};
  const ig_json *doc = NULL;
  ig_program *p = NULL;
  ig_arena arena = ig_arena_make(c->alloc);
  if (ig_json_parse(c, "fuzz", bytes, &arena, NULL, &doc) == IG_OK) {
    add_all(&m, doc);
    ig_pt2_weights state = {m.at, m.n};
    ig_pt2_weights none = {0};
    ig_pt2_source source = {.name = "fuzz",
                            .text = bytes,
                            .state = &state,
                            .constants = &none,
                            .arena = &arena,
                            .objects = objects};
    if (c->status == IG_OK && ig_pt2_read_program(c, &source, &p) != IG_OK) p = NULL;
  }
  ig_arena_free(&arena);
  return p;
}

// What was written, written again, is the same.
static void check(ig_ctx *c, ig_program *p) {
  ig_str first = ig_str_make(c->alloc);
  ig_str second = ig_str_make(c->alloc);
  ig_text_free(c, ig_program_text(c, p));
  ig_text_free(c, ig_program_code(c, p));
  if (ig_pt2_write_program(c, p, NULL, &first) == IG_OK) {
    ig_program *again = read(c, (ig_bytes){(const uint8_t *)first.at, first.n}, true);
    // Weights of other dtypes than those above are not made.
    if (again && ig_pt2_write_program(c, again, NULL, &second) != IG_OK) __builtin_trap();
    ig_program_free(again);
  }
  ig_str_free(&first);
  ig_str_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_bytes bytes = {data, n};
  ig_program *p = NULL;
  ig_scope s = ig_scope_open(c);
  if (n > 4 && memcmp(data, "PK", 2) == 0) {
    if (ig_program_load_bytes(c, "fuzz", bytes, NULL, NULL, &p) == IG_OK) {
      ig_object *examples = NULL;
      if (ig_program_examples(c, p, &examples) == IG_OK) ig_object_free(examples);
    }
  } else {
    p = read(c, bytes, n % 2 == 0);
  }
  if (p && c->status == IG_OK) check(c, p);
  ig_program_free(p);
  ig_scope_close(c, s);
  ig_ctx_free(c);
  return 0;
}
