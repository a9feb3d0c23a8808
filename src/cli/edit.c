// SPDX-License-Identifier: Apache-2.0
#include "cli/edit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/aten.h"

// ---- numbers of operators, before and after

typedef struct op_count {
  const char *op;
  size_t before;
  size_t after;
} op_count;

typedef struct table {
  op_count *at;
  size_t n;
  bool failed;
} table;

static void add(table *t, const ig_onnx_model *m, bool after) {
  const char *name = NULL;
  const char *domain = NULL;
  const char *op = NULL;
  for (size_t i = 0; ig_onnx_node_at(m, i, &name, &domain, &op); i++) {
    size_t k = 0;
    while (k < t->n && strcmp(t->at[k].op, op) != 0) k++;
    if (k == t->n) {
      op_count *grown = cli_array(t->at, t->n + 1, sizeof *grown);
      if (!grown) {
        t->failed = true;
        return;
      }
      t->at = grown;
      t->at[t->n++] = (op_count){op, 0, 0};
    }
    if (after)
      t->at[k].after++;
    else
      t->at[k].before++;
  }
}

static int by_count(const void *a, const void *b) {
  const op_count *x = a;
  const op_count *y = b;
  size_t p = x->before > x->after ? x->before : x->after;
  size_t q = y->before > y->after ? y->before : y->after;
  return p != q ? (p < q ? 1 : -1) : strcmp(x->op, y->op);
}

static void put_row(const char *name, size_t before, size_t after) {
  char a[32];
  char b[32];
  cli_put(stderr, CLI_PLAIN, "  ");
  cli_put(stderr, CLI_CYAN, "%-24s", name);
  cli_put(stderr, CLI_PLAIN, " %8s -> ", cli_count(before, a, sizeof a));
  cli_put(stderr,
          after < before   ? CLI_GREEN
          : after > before ? CLI_YELLOW
                           : CLI_PLAIN,
          "%s\n", cli_count(after, b, sizeof b));
}

static int put_table(const ig_onnx_model *before, const ig_onnx_model *after) {
  table t = {0};
  add(&t, before, false);
  add(&t, after, true);
  if (t.failed) {
    free(t.at);
    return cli_no_memory();
  }
  cli_stage_end();
  if (t.n) qsort(t.at, t.n, sizeof *t.at, by_count);
  for (size_t i = 0; i < t.n; i++) put_row(t.at[i].op, t.at[i].before, t.at[i].after);
  put_row("nodes", ig_onnx_describe(before).nnodes, ig_onnx_describe(after).nnodes);
  put_row("initializers", ig_onnx_describe(before).ninitializers,
          ig_onnx_describe(after).ninitializers);
  free(t.at);
  return CLI_OK;
}

void cli_edit_notes(const ig_edit *e, size_t most) {
  ig_edit_note n;
  cli_stage_end();
  for (size_t i = 0; i < most && ig_edit_note_at(e, i, &n); i++) {
    cli_put(stderr, CLI_PLAIN, "  ");
    cli_put(stderr, CLI_CYAN, "%-10s", n.what);
    cli_put(stderr, CLI_PLAIN, " %s%s%s%s%s%s", n.name, *n.op ? " (" : "", n.op, *n.op ? ")" : "",
            *n.why ? ": " : "", n.why);
    if (!isnan(n.number)) cli_put(stderr, CLI_PLAIN, " %.3g", n.number);
    (void)fputc('\n', stderr);
  }
  if (ig_edit_notes(e) > most)
    cli_put(stderr, CLI_DIM, "  ... and %zu more\n", ig_edit_notes(e) - most);
}

// ---- the check

typedef struct seen {
  const char *name;
  ig_tensor *tensor;
} seen;

// Values of the original that are inputs or outputs of the part.
typedef struct watching {
  ig_ctx *c;
  seen *at;
  size_t n;
} watching;

static void on_value(void *user, const char *name, const char *target, const ig_value *value) {
  watching *w = user;
  (void)target;
  for (size_t i = 0; i < w->n; i++) {
    if (w->at[i].tensor || strcmp(w->at[i].name, name) != 0) continue;
    if (value->kind == IG_KIND_TENSOR) w->at[i].tensor = ig_tensor_retain(value->tensor);
  }
}

static double largest(ig_ctx *c, ig_tensor *t) {
  double most = 0;
  ig_scope s = ig_scope_open(c);
  ig_dtype dtype = ig_tensor_dtype(t);
  bool real = ig_dtype_is_float(dtype);
  ig_tensor *x = real ? cli_dense(c, ig_to_dtype(c, t, ig_of_dtype(IG_F32))) : NULL;
  const float *at = x ? ig_tensor_data(x) : NULL;
  int64_t n = x ? ig_tensor_numel(x) : 0;
  for (int64_t i = 0; at && i < n; i++)
    if (isfinite(at[i]) && fabs((double)at[i]) > most) most = fabs((double)at[i]);
  ig_scope_close(c, s);
  return most;
}

bool cli_edit_compare(ig_ctx *c, const cli_edit *e, const char *name, ig_tensor *got,
                      ig_tensor *want) {
  ig_tensor_diff d = {.why = "there is no such value"};
  ig_scope s = ig_scope_open(c);
  if (got && want && ig_tensor_dtype(got) != ig_tensor_dtype(want) &&
      ig_dtype_is_float(ig_tensor_dtype(got)) && ig_dtype_is_float(ig_tensor_dtype(want))) {
    got = ig_to_dtype(c, got, ig_of_dtype(ig_tensor_dtype(want)));
  }
  if (got && want) {
    ig_tolerance t = e->tolerance;
    bool real = ig_dtype_is_float(ig_tensor_dtype(want));
    if (real && t.rtol < 0) t.rtol = e->loss;
    if (real && t.atol < 0) t.atol = e->loss * largest(c, want);
    cli_compare(c, got, want, &t, &d);
  }
  ig_scope_close(c, s);
  cli_print_diff(stderr, name, &d);
  return d.agrees;
}

static ig_tensor *tensor_at(const ig_session *s, size_t i) {
  const ig_value *v = ig_session_output_at(s, i);
  return v && v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
}

static int compare_all(ig_ctx *c, const cli_edit *e, const ig_model *a, const ig_session *x,
                       const ig_model *b, const ig_session *y, const watching *w, bool *agrees) {
  const ig_model_port *const *ports = NULL;
  const ig_model_port *const *others = NULL;
  size_t n = ig_model_outputs(b, &ports);
  size_t m = ig_model_outputs(a, &others);
  for (size_t i = 0; i < n; i++) {
    ig_tensor *want = i < m && !e->inside ? tensor_at(x, i) : NULL;
    for (size_t k = 0; e->inside && k < w->n; k++)
      if (strcmp(w->at[k].name, ports[i]->name) == 0) want = w->at[k].tensor;
    for (size_t k = 0; e->inside && !want && k < m; k++)
      if (strcmp(others[k]->name, ports[i]->name) == 0) want = tensor_at(x, k);
    if (!want && e->inside) {
      cli_warn("%s: not compared: the original does not show this value", ports[i]->name);
      continue;
    }
    const ig_value *v = ig_session_output_at(y, i);
    if (!want && v && v->kind != IG_KIND_TENSOR) continue;  // sequences, texts
    *agrees = cli_edit_compare(c, e, ports[i]->name, tensor_at(y, i), want) && *agrees;
  }
  return ig_ctx_status(c) == IG_OK ? CLI_OK : cli_fail(c, ig_model_name(b), CLI_FAILED);
}

// Inputs of `to` from those of `from`, by position; floats as the type that they need.
static ig_status copy_inputs(ig_ctx *c, const ig_session *from, const ig_model *b, ig_session *to) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(b, &ports);
  for (size_t i = 0; i < n; i++) {
    const ig_value *v = ig_session_input_at(from, i);
    if (!v) continue;
    ig_status st = IG_OK;
    if (v->kind == IG_KIND_TENSOR) {
      bool other =
          ports[i]->dtype < IG_DTYPE_COUNT && ports[i]->dtype != ig_tensor_dtype(v->tensor);
      ig_tensor *t = other ? ig_to_dtype(c, v->tensor, ig_of_dtype(ports[i]->dtype)) : v->tensor;
      st = t ? ig_session_set(to, ports[i]->name, t) : ig_ctx_status(c);
    } else {
      st = ig_session_set_value(to, ports[i]->name, v);
    }
    if (st != IG_OK) return st;
  }
  return IG_OK;
}

static ig_status copy_values(const ig_model *a, const ig_session *x, const ig_model *b,
                             ig_session *y, const watching *w) {
  const ig_model_port *const *ports = NULL;
  const ig_model_port *const *others = NULL;
  size_t n = ig_model_inputs(b, &ports);
  size_t m = ig_model_inputs(a, &others);
  for (size_t i = 0; i < n; i++) {
    const ig_value *v = NULL;
    ig_tensor *t = NULL;
    for (size_t k = 0; k < m; k++)
      if (strcmp(others[k]->name, ports[i]->name) == 0) v = ig_session_input_at(x, k);
    if (v && v->kind == IG_KIND_TENSOR) t = v->tensor;
    for (size_t k = 0; k < w->n; k++)
      if (!v && strcmp(w->at[k].name, ports[i]->name) == 0) t = w->at[k].tensor;
    ig_status st = t ? ig_session_set(y, ports[i]->name, t) : IG_OK;
    if (st != IG_OK) return st;
  }
  return IG_OK;
}

static size_t list_values(const ig_model *b, seen *at) {
  const ig_model_port *const *ports = NULL;
  size_t n = 0;
  size_t count = ig_model_inputs(b, &ports);
  for (size_t i = 0; i < count; i++, n++)
    if (at) at[n] = (seen){ports[i]->name, NULL};
  count = ig_model_outputs(b, &ports);
  for (size_t i = 0; i < count; i++, n++)
    if (at) at[n] = (seen){ports[i]->name, NULL};
  return n;
}

// Random inputs may be invalid for the original: then nothing is compared.
static int not_run(ig_ctx *c, const cli_edit *e, const ig_model *a, bool *compared) {
  ig_status st = ig_ctx_status(c);
  bool stopped = st == IG_NOMEM || st == IG_LIMIT || st == IG_CANCELLED;
  if (stopped || e->feed.arrays || e->feed.single.n)
    return cli_fail(c, ig_model_name(a), CLI_FAILED);
  cli_warn("not compared: %s does not run on random inputs (%s); give some with --inputs", e->from,
           ig_ctx_error(c));
  ig_ctx_clear(c);
  *compared = false;
  return CLI_OK;
}

static int compare_once(ig_ctx *c, const cli_edit *e, const cli_feed *feed, ig_model *a,
                        ig_model *b, bool *agrees, bool *compared) {
  ig_session *x = NULL;
  ig_session *y = NULL;
  const ig_session_options plain = {.size = sizeof plain, .interpret = true};
  watching w = {.c = c, .n = list_values(b, NULL)};
  w.at = calloc(w.n + 1, sizeof *w.at);
  if (!w.at) return cli_no_memory();
  (void)list_values(b, w.at);
  int code = CLI_OK;
  if (ig_session_create_with(c, a, &plain, &x) != IG_OK ||
      ig_session_create_with(c, b, &plain, &y) != IG_OK) {
    code = cli_fail(c, ig_model_name(b), CLI_REFUSED);
  }
  if (code == CLI_OK && e->inside) ig_session_watch(x, on_value, &w);
  if (code == CLI_OK) code = cli_feed_session(c, e->turned ? b : a, e->turned ? y : x, feed);
  if (code == CLI_OK && e->turned && copy_inputs(c, y, a, x) != IG_OK)
    code = cli_fail(c, ig_model_name(a), CLI_FAILED);
  if (code == CLI_OK && ig_session_run(x) != IG_OK) {
    code = not_run(c, e, a, compared);
  } else if (code == CLI_OK) {
    ig_status st = e->inside   ? copy_values(a, x, b, y, &w)
                   : e->turned ? IG_OK
                               : copy_inputs(c, x, b, y);
    if (st == IG_OK) st = ig_session_run(y);
    code = st == IG_OK ? compare_all(c, e, a, x, b, y, &w, agrees)
                       : cli_fail(c, ig_model_name(b), CLI_FAILED);
  }
  ig_session_free(x);
  ig_session_free(y);
  for (size_t i = 0; i < w.n; i++) ig_tensor_release(w.at[i].tensor);
  free(w.at);
  return code;
}

// Dynamic dimensions of the inputs by name, each once.
static size_t dynamic_dims(const ig_model *m, const char **names, size_t most) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; ports[i]->kind == IG_KIND_TENSOR && d < ports[i]->ndim; d++) {
      const char *name = ports[i]->dims[d]->name;
      bool known = !name || !*name || strcspn(name, " +*/()") != strlen(name);
      for (size_t k = 0; k < count && !known; k++) known = strcmp(names[k], name) == 0;
      if (!known && count < most) names[count++] = name;
    }
  }
  return count;
}

// Once as given, then with other sizes where there are any and the user gave none.
static int compare_runs(ig_ctx *c, const cli_edit *e, ig_model *a, ig_model *b, bool *agrees,
                        bool *compared) {
  enum { MOST = 16 };
  static const int sizes[] = {3, 7};
  const char *names[MOST];
  static char words[MOST][160];
  int code = compare_once(c, e, &e->feed, a, b, agrees, compared);
  bool given = e->feed.arrays || e->feed.single.n || e->feed.sizes.n;
  size_t n = given || !e->sizes ? 0 : dynamic_dims(a, names, MOST);
  for (size_t i = 0; n && i < 2 && code == CLI_OK && *agrees && *compared; i++) {
    cli_feed feed = e->feed;
    for (size_t k = 0; k < n; k++) {
      (void)snprintf(words[k], sizeof words[k], "%.120s=%d", names[k], sizes[i]);
      feed.sizes.at[feed.sizes.n++] = words[k];
    }
    cli_put(stderr, CLI_DIM, "  at %s%s\n", words[0], n > 1 ? " ..." : "");
    bool ran = true;
    code = compare_once(c, e, &feed, a, b, agrees, &ran);
  }
  return code;
}

static int check(ig_ctx *c, const cli_edit *e, const char *path) {
  ig_model *a = NULL;
  ig_model *b = NULL;
  bool agrees = true;
  bool compared = true;
  int code = cli_open(c, e->from, 0, &a);
  if (code == CLI_OK) code = cli_open(c, path, 0, &b);
  cli_stage("comparing", 0, "MB");
  if (code == CLI_OK) code = compare_runs(c, e, a, b, &agrees, &compared);
  cli_stage_end();
  if (code == CLI_OK && !agrees)
    code = cli_error(CLI_DIFFERS, "%s: disagrees with %s and was not written", e->to, e->from);
  if (code == CLI_OK && compared)
    cli_put(stderr, CLI_PLAIN, "%s: checked against %s\n", e->to, e->from);
  ig_model_free(a);
  ig_model_free(b);
  return code;
}

// ---- the command

static int not_onnx(const ig_model *m) {
  return cli_error(CLI_REFUSED,
                   "%s: this %s is not edited; ONNX models are: ingot convert %s model.onnx",
                   ig_model_name(m), ig_model_kind_text(ig_model_get_kind(m)), ig_model_name(m));
}

static int edit_and_write(ig_ctx *c, cli_edit *e, ig_edit *edit, const ig_onnx_model *before) {
  cli_stage("editing", 0, "MB");
  int code = e->apply(c, edit, e->user);
  cli_stage_end();
  if (code != CLI_OK) return code;
  if (!e->quiet) code = put_table(before, ig_edit_model(edit));
  cli_edit_notes(edit, 40);
  cli_staged out;
  if (code == CLI_OK) code = cli_staged_open(e->to, &out);
  if (code != CLI_OK) return code;
  ig_status st = e->least ? ig_edit_split(edit, e->least - 1, out.files.path)
                          : ig_edit_save(edit, e->external, out.files.path);
  if (st != IG_OK) code = cli_fail(c, e->to, CLI_FAILED);
  if (code == CLI_OK && !e->no_check)
    code = e->check ? e->check(c, e, out.files.path) : check(c, e, out.files.path);
  if (code == CLI_OK) code = cli_staged_keep(&out);
  cli_staged_drop(&out);
  return code;
}

int cli_edit_run(ig_ctx *c, cli_edit *e) {
  ig_model *m = NULL;
  ig_edit *edit = NULL;
  e->feed.fallback = true;
  int code = cli_open(c, e->from, 0, &m);
  if (code != CLI_OK) return code;
  const ig_onnx_model *onnx = ig_model_onnx(m);
  if (!onnx) {
    code = not_onnx(m);
  } else if (ig_edit_of(c, (ig_onnx_model *)onnx, &edit) != IG_OK) {
    code = cli_fail(c, e->from, CLI_REFUSED);
  } else {
    code = edit_and_write(c, e, edit, onnx);
  }
  ig_edit_free(edit);
  ig_model_free(m);
  return code;
}

const char *cli_edit_pair(const cli_command *command, const char *word, char *room, size_t size) {
  const char *equals = strchr(word, '=');
  size_t n = equals ? (size_t)(equals - word) : 0;
  if (!equals || !n || !equals[1] || n >= size) {
    (void)cli_usage(command, "'%s' is not NAME=VALUE", word);
    return NULL;
  }
  memcpy(room, word, n);
  room[n] = 0;
  return equals + 1;
}
