// SPDX-License-Identifier: Apache-2.0
// .pt2 archives: those that the real PyTorch saved (tools/make_pt2_goldens.py) load, run with its
// numbers and survive a round trip; malicious ones are rejected with a message.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "heap.h"
#include "ingot/file.h"
#include "tensor/tensor.h"

static const char *const models[] = {"mlp", "cnn", "mixed"};
enum { NMODELS = 3, MAX_VALUES = 8 };

static char folder[64];

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  char path[128];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  strcpy(folder, "/tmp/ingot-pt2-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(f->path, sizeof f->path, "%s/saved.pt2", folder);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  (void)unlink(f->path);
  assert_int_equal(rmdir(folder), 0);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static const char *golden(const char *name, const char *suffix) {
  static char path[512];
  (void)snprintf(path, sizeof path, "%s/pt2/data/%s%s", TEST_DATA, name, suffix);
  return path;
}

static ig_program *load(fixture *f, const char *path) {
  ig_program *p = NULL;
  if (ig_program_load(f->c, path, &p) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  return p;
}

static void same_numbers(const ig_tensor *a, const ig_tensor *b) {
  assert_int_equal(ig_tensor_dtype(a), ig_tensor_dtype(b));
  assert_int_equal(ig_tensor_ndim(a), ig_tensor_ndim(b));
  for (int d = 0; d < ig_tensor_ndim(a); d++) {
    assert_int_equal(ig_tensor_size(a, d).value, ig_tensor_size(b, d).value);
  }
  for (int64_t i = 0; i < ig_tensor_numel(a); i++) {
    double x = ig_tensor_get(a, i);
    double y = ig_tensor_get(b, i);
    if (x != y && !(fabs(x - y) <= 1e-6 + 1e-5 * fabs(y)))
      fail_msg("element %d: %g and %g", (int)i, x, y);
  }
}

static void runs_with_golden_numbers(fixture *f, const ig_program *p, const char *name) {
  const ig_weight *given = NULL;
  const ig_weight *wanted = NULL;
  size_t n = 0;
  size_t nwanted = 0;
  ig_scope s = ig_scope_open(f->c);
  assert_int_equal(ig_tensors_load(f->c, golden(name, ".in.npz"), &given, &n), IG_OK);
  assert_int_equal(ig_tensors_load(f->c, golden(name, ".out.npz"), &wanted, &nwanted), IG_OK);
  ig_value inputs[MAX_VALUES];
  ig_value outs[MAX_VALUES];
  const ig_input_spec *specs = NULL;
  size_t nspecs = ig_program_inputs(p, &specs);
  size_t next = 0;
  size_t nin = 0;
  for (size_t i = 0; i < nspecs; i++) {
    if (specs[i].kind != IG_INPUT_USER) continue;
    bool tensor = specs[i].value.kind == IG_KIND_NODE;
    inputs[nin++] = tensor ? ig_of_tensor(given[next++].tensor) : specs[i].value;
  }
  assert_int_equal(next, n);
  assert_int_equal(ig_program_user_outputs(p), nwanted);
  if (ig_program_run(f->c, p, inputs, nin, outs) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  for (size_t i = 0; i < nwanted; i++) same_numbers(outs[i].tensor, wanted[i].tensor);
  ig_scope_close(f->c, s);
}

static void same_code(fixture *f, const ig_program *a, const ig_program *b) {
  char *x = ig_program_text(f->c, a);
  char *y = ig_program_text(f->c, b);
  assert_string_equal(x, y);
  ig_text_free(f->c, x);
  ig_text_free(f->c, y);
}

static void archives_of_pytorch_load_and_run(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NMODELS; i++) {
    ig_program *p = load(f, golden(models[i], ".pt2"));
    runs_with_golden_numbers(f, p, models[i]);
    ig_program_free(p);
  }
}

static void what_is_saved_is_loaded(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NMODELS; i++) {
    ig_program *p = load(f, golden(models[i], ".pt2"));
    assert_int_equal(ig_program_save(f->c, p, f->path), IG_OK);
    ig_program *again = load(f, f->path);
    same_code(f, p, again);
    assert_string_equal(ig_program_in_spec(p), ig_program_in_spec(again));
    runs_with_golden_numbers(f, again, models[i]);
    ig_program_free(again);
    ig_program_free(p);
  }
}

static void the_same_program_gives_the_same_bytes(void **state) {
  fixture *f = *state;
  ig_file *first = NULL;
  ig_file *second = NULL;
  ig_program *p = load(f, golden("cnn", ".pt2"));
  assert_int_equal(ig_program_save(f->c, p, f->path), IG_OK);
  assert_int_equal(ig_file_map(f->c, f->path, &first), IG_OK);
  ig_program *again = load(f, f->path);
  assert_int_equal(ig_program_save(f->c, again, f->path), IG_OK);
  assert_int_equal(ig_file_map(f->c, f->path, &second), IG_OK);
  assert_int_equal(first->bytes.n, second->bytes.n);
  assert_memory_equal(first->bytes.at, second->bytes.at, first->bytes.n);
  ig_file_release(first);
  ig_file_release(second);
  ig_program_free(again);
  ig_program_free(p);
}

static void weights_are_not_copied_and_may_be_written(void **state) {
  fixture *f = *state;
  ig_program *p = load(f, golden("mixed", ".pt2"));
  const ig_weight *list = NULL;
  size_t n = ig_program_state(p, &list);
  assert_int_equal(n, 5);
  for (size_t i = 0; i < n; i++) {
    // Foreign memory: the file, if that has the machine's byte order.
    assert_int_equal(list[i].tensor->storage->free_fn != NULL, !IG_BIG_ENDIAN);
    assert_int_equal((uintptr_t)ig_tensor_data(list[i].tensor) % 64, 0);
  }
  const ig_tensor *left = ig_program_find_weight(p, "left.weight");
  const ig_tensor *right = ig_program_find_weight(p, "right.weight");
  assert_ptr_equal(ig_tensor_data(left), ig_tensor_data(right));
  // The program counts in a buffer; the file does not notice.
  const ig_tensor *count = ig_program_find_weight(p, "count");
  assert_true(ig_tensor_get(count, 0) == 0);
  runs_with_golden_numbers(f, p, "mixed");
  assert_true(ig_tensor_get(count, 0) == 1);
  ig_program_free(p);
  p = load(f, golden("mixed", ".pt2"));
  assert_true(ig_tensor_get(ig_program_find_weight(p, "count"), 0) == 0);
  ig_program_free(p);
}

// ---- hostile archives

// Copies a golden archive with one text of one member replaced; member NULL: nothing, "-name": that
// member is left out.
static void forge(fixture *f, const char *name, const char *member, const char *from,
                  const char *to) {
  ig_file *file = NULL;
  ig_zip z;
  assert_int_equal(ig_file_map(f->c, golden(name, ".pt2"), &file), IG_OK);
  assert_int_equal(ig_zip_open(f->c, name, file->bytes, NULL, &z), IG_OK);
  ig_sink sink;
  assert_int_equal(ig_sink_file(f->c, f->path, &sink), IG_OK);
  ig_zip_writer w;
  ig_zip_writer_init(&w, f->c, &sink, IG_ZIP_ALIGN);
  bool done = false;
  for (size_t i = 0; i < z.n; i++) {
    const ig_zip_entry *e = &z.entries[i];
    const char *slash = strchr(e->name, '/');
    const char *tail = slash ? slash + 1 : e->name;  // archives up to 2.7 have no folder
    if (member[0] == '-' && strcmp(tail, member + 1) == 0) {
      done = true;
      continue;
    }
    ig_bytes parts[3] = {e->packed};
    size_t n = 1;
    if (strcmp(tail, member) == 0) {
      char *text = ig_arena_strn(&z.arena, (const char *)e->packed.at, e->packed.n);
      const char *at = *from ? strstr(text, from) : text;
      assert_non_null(at);
      size_t before = (size_t)(at - text);
      parts[0].n = before;
      parts[1] = (ig_bytes){(const uint8_t *)to, strlen(to)};
      parts[2] =
          (ig_bytes){e->packed.at + before + strlen(from), e->packed.n - before - strlen(from)};
      n = 3;
      done = true;
    }
    assert_int_equal(ig_zip_add(&w, e->name, parts, n), IG_OK);
  }
  assert_true(done);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  assert_int_equal(ig_sink_close(f->c, &sink), IG_OK);
  ig_zip_writer_free(&w);
  ig_sink_drop(&sink);
  ig_zip_close(&z);
  ig_file_release(file);
}

static void refuse(fixture *f, const char *why) {
  ig_program *p = NULL;
  if (ig_program_load(f->c, f->path, &p) == IG_OK) fail_msg("accepted; expected '%s'", why);
  assert_null(p);
  test_error_has(f->c, why);
}

static void hostile_programs_are_refused(void **state) {
  fixture *f = *state;
#define MODEL "models/model.json"
#define WEIGHTS "data/weights/model_weights_config.json"
  static const char *const cases[][4] = {
      {MODEL, "{\"graph_module\"", "[\"graph_module\"", "expected ',' or ']'"},
      {MODEL, "\"graph_module\"", "\"graph\"", "'graph_module' is missing"},
      {MODEL, "\"major\": 8", "\"major\": 9", "export schema 9.20; versions 1 to 8 are read"},
      {MODEL, "\"nodes\": [", "\"nodes\": {}, \"x\": [", "'nodes' is an object, expected an array"},
      {MODEL, "torch.ops.aten.relu.default", "torch.ops.aten.evil.default",
       "operator 'aten.evil.default' is not known"},
      {MODEL, "torch.ops.aten.relu.default", "torch.ops.higher_order.evil",
       "higher-order operator 'higher_order.evil' is not known"},
      {MODEL, "torch.ops.aten.relu.default", "os.system", "function 'os.system' is not known"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"nothing\"}}",
       "no tensor called 'nothing' was defined before"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear_1\"}}",
       "no tensor called 'linear_1' was defined before"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {\"as_string\": \"linear\"}", "does not fit"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {\"as_graph\": {}}", "'name' is missing"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {\"as_soup\": {}}", "kind 'as_soup' are not supported"},
      {MODEL, "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
       "{\"name\": \"self\", \"arg\": {}", "exactly one member"},
      {MODEL, "{\"name\": \"bias\"", "{\"name\": \"soul\"", "soul"},
      {MODEL, "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}]",
       "\"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}]", "'linear' is defined twice"},
      {MODEL, "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}]",
       "\"outputs\": [{\"as_tensor\": {\"name\": \"a b\"}}]", "tensor 'a b' is not described"},
      {MODEL, "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}]",
       "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}, {\"as_tensor\": {\"name\": \"r\"}}]",
       "tensor 'r' is not described"},
      {MODEL, "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}",
       "\"arg\": {\"as_tensor\": {\"name\": 7}}}", "'name' is an integer, expected a string"},
      {MODEL, "\"parameter_name\": \"fc1.bias\"", "\"parameter_name\": \"fc9.bias\"",
       "weight 'fc9.bias' is not in the archive"},
      {MODEL, "\"user_input\"", "\"surprise\"", "inputs of kind 'surprise' are not supported"},
      {MODEL, "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}",
       "{\"custom_obj\": {\"arg\": {\"name\": \"x\", \"class_fqn\": \"evil.Thing\"}, "
       "\"custom_obj_name\": \"thing\"}}",
       "'thing' is a custom object of class 'evil.Thing'"},
      {MODEL, "\"user_output\"", "\"surprise\"", "kind 'surprise' are not supported"},
      {MODEL, "\"x\": {\"dtype\": 7", "\"x\": {\"dtype\": 99", "dtype number 99 is not supported"},
      {MODEL, "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}",
       "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_int\": -3}", "negative number -3"},
      {MODEL, "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}, ",
       "\"x\": {\"dtype\": 7, \"sizes\": [", "1 sizes and 2 strides"},
      {MODEL, "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}",
       "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_expr\": {\"expr_str\": \"exec('s0')\"}}",
       "expected a function of symbolic expressions"},
      {WEIGHTS, "\"sizes\": [{\"as_int\": 8}", "\"sizes\": [{\"as_int\": 9}",
       "reaches beyond the 128 bytes"},
      {WEIGHTS, "\"strides\": [{\"as_int\": 4}", "\"strides\": [{\"as_int\": 4611686018427387904}",
       "reaches beyond"},
      {WEIGHTS, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}",
       "reaches beyond"},
      {WEIGHTS, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": -1}",
       "negative"},
      {WEIGHTS, "\"path_name\": \"weight_0\"", "\"path_name\": \"../../etc/passwd\"", "is missing"},
      {WEIGHTS, "\"use_pickle\": false", "\"use_pickle\": true",
       "neither a zip archive nor a legacy file of torch.save"},
      {WEIGHTS, "\"layout\": 7", "\"layout\": 1", "only strided"},
      {"archive_format", "pt2", "pt3", "archive_format is 'pt3'"},
      {"archive_version", "0", "7", "archive_version is '7'"},
      {"byteorder", "little", "big", "byteorder is 'big'"},
      {"-archive_format", "", "", "not a .pt2"},
      {"-archive_version", "", "", "'archive_version' is missing"},
      {"-models/model.json", "", "", "0 models"},
      {"-data/weights/weight_0", "", "", "record 'data/weights/weight_0' is missing"},
      {"-data/weights/model_weights_config.json", "", "", "model_weights_config.json' is missing"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    forge(f, "mlp", cases[i][0], cases[i][1], cases[i][2]);
    refuse(f, cases[i][3]);
  }
}

static void files_that_are_no_archives_are_refused(void **state) {
  fixture *f = *state;
  refuse(f, "saved.pt2: No such file");
  assert_int_equal(ig_file_write(f->c, f->path, "hello", 5), IG_OK);
  refuse(f, "not a zip archive");
}

static ig_status session(ig_ctx *c) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/saved.pt2", folder);
  ig_program *p = NULL;
  ig_status st = ig_program_load(c, golden("mixed", ".pt2"), &p);
  if (st == IG_OK) st = ig_program_save(c, p, path);
  ig_program_free(p);
  return st;
}

// ---- older layouts

static const char *const older[] = {
    "2.1.2/counter", "2.1.2/cond",   "2.2.2/cond",     "2.2.2/item_size", "2.3.1/item_size",
    "2.4.1/cond",    "2.5.1/nested", "2.6.0/cond",     "2.7.1/item_size", "2.8.0/nested",
    "2.8.0/counter", "2.9.1/cond",   "2.11.0/counter", "2.15.0/item_size"};
enum { NOLDER = sizeof older / sizeof *older };

// Saved in each layout, it is the same program.
static void archives_of_every_pytorch_survive(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NOLDER; i++) {
    ig_program *p = load(f, golden(older[i], ".pt2"));
    const ig_origin_fact *facts = NULL;
    assert_true(ig_program_facts(p, &facts) >= 3);
    assert_string_equal(facts[0].name, "layout");
    assert_string_equal(facts[1].name, "schema");
    for (int k = IG_PT2_NEWEST; k <= IG_PT2_FOR_2_5; k++) {
      ig_save_options options = {.size = sizeof options, .layout = (ig_pt2_layout)k};
      if (ig_program_save_as(f->c, p, &options, f->path) != IG_OK)
        fail_msg("%s: %s", older[i], ig_ctx_error(f->c));
      ig_program *again = load(f, f->path);
      if (k == IG_PT2_NEWEST) same_code(f, p, again);
      assert_int_equal(ig_graph_node_count(ig_program_graph(p)),
                       ig_graph_node_count(ig_program_graph(again)));
      ig_program_free(again);
    }
    ig_program_free(p);
  }
}

static void examples_and_extra_files_are_kept(void **state) {
  fixture *f = *state;
  ig_program *p = load(f, golden("2.8.0/counter", ".pt2"));
  ig_object *examples = NULL;
  assert_int_equal(ig_program_examples(f->c, p, &examples), IG_OK);
  assert_int_equal(ig_object_count(examples), 2);  // arguments, keyword arguments
  ig_extra_file extra[] = {{"a/b.txt", "hello", 5}, {"empty", "", 0}};
  ig_opset opset = {"mylib", 4};
  ig_save_options options = {.size = sizeof options,
                             .extra = extra,
                             .nextra = 2,
                             .opsets = &opset,
                             .nopsets = 1,
                             .examples = examples};
  for (int k = IG_PT2_NEWEST; k <= IG_PT2_FOR_2_5; k++) {
    const ig_extra_file *files = NULL;
    ig_object *again = NULL;
    options.layout = (ig_pt2_layout)k;
    assert_int_equal(ig_program_save_as(f->c, p, &options, f->path), IG_OK);
    ig_program *q = load(f, f->path);
    assert_int_equal(ig_program_extra_files(q, &files), 2);
    assert_string_equal(files[0].name, "a/b.txt");
    assert_int_equal(files[0].n, 5);
    assert_memory_equal(files[0].data, "hello", 5);
    assert_int_equal(ig_program_examples(f->c, q, &again), IG_OK);
    const ig_tensor *x = ig_object_tensor(ig_object_at(ig_object_at(again, 0), 0));
    same_numbers(x, ig_object_tensor(ig_object_at(ig_object_at(examples, 0), 0)));
    ig_object_free(again);
    ig_program_free(q);
  }
  ig_object_free(examples);
  ig_program_free(p);
}

static void hostile_older_archives_are_refused(void **state) {
  fixture *f = *state;
#define TEXT "serialized_exported_program.json"
  static const char *const cases[][5] = {
      {"2.1.2/counter", TEXT, "\"schema_version\": 1", "\"schema_version\": 0",
       "export schema 0.0; versions 1 to 8 are read"},
      {"2.1.2/counter", TEXT, "\"schema_version\": 1", "\"schema_version\": [1]", "'major'"},
      {"2.1.2/counter", TEXT, "{\"as_none\": null, \"as_tensor\": {",
       "{\"as_none\": [], \"as_tensor\": {", "exactly one member"},
      {"2.1.2/counter", TEXT, "\"buffers_to_mutate\": {\"add\": \"L__self___count\"",
       "\"buffers_to_mutate\": {\"add\": \"elsewhere\"",
       "output of 'elsewhere', which is not an input"},
      {"2.1.2/counter", "-serialized_state_dict.json", "", "",
       "'serialized_state_dict.pt' is missing"},
      {"2.1.2/counter", "serialized_state_dict.json", "PK", "PX", "neither a zip archive"},
      {"2.4.1/cond", TEXT, "\"name\": \"true_graph_0\"", "\"name\": \"os.system('x')\"",
       "is not a name"},
      {"2.7.1/item_size", TEXT, "Symbol('u0', integer=True)", "__import__('os')",
       "expected a function of symbolic expressions"},
      {"2.8.0/nested", "models/model.json", "golden.Point", "__enum__", "with an enumeration"},
      {"2.8.0/nested", "data/weights/model.pt", "PK", "PX", "neither a zip archive"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    forge(f, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
    refuse(f, cases[i][4]);
  }
}

static void parts_that_are_not_loaded_are_listed(void **state) {
  fixture *f = *state;
  ig_file *file = NULL;
  ig_zip z;
  ig_sink sink;
  ig_zip_writer w;
  assert_int_equal(ig_file_map(f->c, golden("2.11.0/counter", ".pt2"), &file), IG_OK);
  assert_int_equal(ig_zip_open(f->c, "counter", file->bytes, NULL, &z), IG_OK);
  assert_int_equal(ig_sink_file(f->c, f->path, &sink), IG_OK);
  ig_zip_writer_init(&w, f->c, &sink, IG_ZIP_ALIGN);
  for (size_t i = 0; i < z.n; i++) {
    assert_int_equal(ig_zip_add(&w, z.entries[i].name, &z.entries[i].packed, 1), IG_OK);
  }
  assert_int_equal(ig_zip_add_text(&w, "counter/data/aotinductor/model/evil.so",
                                   "\x7f"
                                   "ELF"),
                   IG_OK);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  assert_int_equal(ig_sink_close(f->c, &sink), IG_OK);
  ig_zip_writer_free(&w);
  ig_sink_drop(&sink);
  ig_zip_close(&z);
  ig_file_release(file);
  ig_program *p = load(f, f->path);
  const ig_origin_fact *findings = NULL;
  assert_int_equal(ig_program_findings(p, &findings), 1);
  assert_string_equal(findings[0].name, "data/aotinductor/model/evil.so");
  assert_non_null(strstr(findings[0].value, "never loaded"));
  ig_program_free(p);
}

static ig_status old_session(ig_ctx *c) {
  static const char *const names[] = {"2.1.2/counter", "2.15.0/item_size", "2.8.0/counter"};
  ig_status st = IG_OK;
  for (size_t i = 0; i < 3 && st == IG_OK; i++) {
    ig_program *p = NULL;
    ig_object *examples = NULL;
    st = ig_program_load(c, golden(names[i], ".pt2"), &p);
    if (st == IG_OK) st = ig_program_examples(c, p, &examples);
    ig_object_free(examples);
    ig_program_free(p);
  }
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
  test_every_allocation_fails(old_session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(archives_of_pytorch_load_and_run),
      TEST(what_is_saved_is_loaded),
      TEST(the_same_program_gives_the_same_bytes),
      TEST(weights_are_not_copied_and_may_be_written),
      TEST(hostile_programs_are_refused),
      TEST(files_that_are_no_archives_are_refused),
      TEST(archives_of_every_pytorch_survive),
      TEST(examples_and_extra_files_are_kept),
      TEST(hostile_older_archives_are_refused),
      TEST(parts_that_are_not_loaded_are_listed),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
