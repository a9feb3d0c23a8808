// SPDX-License-Identifier: Apache-2.0
// The view of a TorchScript archive: the graph of forward, with the graphs of the modules that it
// calls in boxes. Nothing is run.
#include <string.h>

#include "base/budget.h"
#include "base/file.h"
#include "script/form.h"
#include "ts/load.h"
#include "view/view.h"

typedef enum source_kind { A_TEXT, A_VALUE, A_WEIGHT, A_MODULE } source_kind;

typedef struct source {
  source_kind kind;
  uint32_t item;
  uint32_t out;
  const char *text;  // a text, the name of a weight, the path of a module
} source;

typedef struct walk {
  ig_view *v;
  const ig_sgraph *g;
  source *sources;  // by number of the value
} walk;

static source text_source(const char *text) {
  return (source){A_TEXT, 0, 0, text ? text : "?"};
}

static source *at(const walk *k, const ig_svalue *value) {
  return &k->sources[value->number < k->g->next_number ? value->number : 0];
}

static const char *type_of(const walk *k, const ig_stype *t) {
  ig_str s = ig_str_make(k->v->c->alloc);
  if (t) ig_stype_print_annotation(&s, t);
  return ig_view_take(k->v, &s);
}

// ---- constants

static void print_constant(ig_str *s, const ig_value *x, int depth) {
  switch (x->kind) {
    case IG_KIND_NONE:
      ig_str_add(s, "None");
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, x->b ? "True" : "False");
      break;
    case IG_KIND_INT:
      ig_str_add(s, "%lld", (long long)x->i.value);
      break;
    case IG_KIND_FLOAT:
      ig_str_float(s, x->f);
      break;
    case IG_KIND_STR:
      ig_str_add(s, "'%s'", x->str ? x->str : "");
      break;
    case IG_KIND_LIST:
      ig_str_add(s, "[");
      for (size_t i = 0; depth < 8 && i < x->list.n && i < 100; i++) {
        if (i) ig_str_add(s, ", ");
        print_constant(s, &x->list.at[i], depth + 1);
      }
      ig_str_add(s, "]");
      break;
    default:
      ig_str_add(s, "constant");
      break;
  }
}

static bool add_constant(const walk *k, const ig_snode *n) {
  const ig_sattr *a = ig_snode_attr(n, "value");
  ig_str s = ig_str_make(k->v->c->alloc);
  if (!a) {
    ig_str_add(&s, "None");
  } else if (a->kind == IG_SATTR_VALUE) {
    print_constant(&s, &a->value, 0);
  } else {
    ig_str_add(&s, "%s", a->kind == IG_SATTR_TEXT && a->text ? a->text : "constant");
  }
  const char *text = ig_view_take(k->v, &s);
  if (n->n_out) *at(k, n->out[0]) = text_source(text);
  return text != NULL;
}

// A list of constants is a constant.
static bool fold_list(const walk *k, const ig_snode *n) {
  for (size_t i = 0; i < n->n_in; i++) {
    if (at(k, n->in[i])->kind != A_TEXT) return false;
  }
  ig_str s = ig_str_make(k->v->c->alloc);
  ig_str_add(&s, "[");
  for (size_t i = 0; i < n->n_in; i++) ig_str_add(&s, "%s%s", i ? ", " : "", at(k, n->in[i])->text);
  ig_str_add(&s, "]");
  *at(k, n->out[0]) = text_source(ig_view_take(k->v, &s));
  return true;
}

// ---- attributes

static const char *name_attr(const ig_snode *n) {
  const ig_sattr *a = ig_snode_attr(n, "name");
  return a && a->kind == IG_SATTR_VALUE && a->value.kind == IG_KIND_STR ? a->value.str : NULL;
}

static ig_sclass *class_of(const ig_stype *t) {
  return t && t->kind == IG_STYPE_CLASS ? t->declaration : NULL;
}

static bool add_get_attr(const walk *k, const ig_snode *n) {
  const char *name = name_attr(n);
  const source *of = n->n_in == 1 ? at(k, n->in[0]) : NULL;
  if (!name || !of || of->kind != A_MODULE || n->n_out != 1) return false;
  const char *path = ig_view_text(k->v, "%s%s%s", of->text, of->text[0] ? "." : "", name);
  const ig_sclass *cls = class_of(n->out[0]->type);
  bool weight = n->out[0]->type->kind == IG_STYPE_TENSOR;
  source_kind kind = cls && cls->module ? A_MODULE : weight ? A_WEIGHT : A_TEXT;
  *at(k, n->out[0]) = (source){kind, 0, 0, path ? path : "?"};
  return true;
}

// ---- nodes

static bool add_argument(const walk *k, const char *label, const ig_svalue *value) {
  const source *s = at(k, value);
  if (s->kind == A_VALUE) return ig_view_add_value(k->v, label, s->item, s->out);
  if (s->kind == A_WEIGHT) return ig_view_add_weight(k->v, label, s->text);
  return ig_view_add_text(k->v, label, s->text);
}

static bool add_arguments(const walk *k, ig_svalue *const *in, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *label = ig_view_text(k->v, "%zu", i);
    if (!label || !add_argument(k, label, in[i])) return false;
  }
  return true;
}

static const char *value_name(const walk *k, const ig_svalue *value) {
  if (value->name) return ig_view_text(k->v, "%s", value->name);
  return ig_view_text(k->v, "%zu", value->number);
}

static bool add_results(const walk *k, ig_svalue *const *out, size_t n, uint32_t item) {
  for (size_t i = 0; i < n; i++) {
    if (!ig_view_add_out(k->v, value_name(k, out[i]), type_of(k, out[i]->type))) return false;
    *at(k, out[i]) = (source){A_VALUE, item, (uint32_t)i, NULL};
  }
  return true;
}

static bool add_place(const walk *k, const ig_snode *n, uint32_t item) {
  ig_view *v = k->v;
  if (!n->range.source || !n->range.source->file) return true;
  ig_frame *frame = ig_arena_push(&v->arena, sizeof *frame);
  const char *file = ig_view_text(v, "%s", n->range.source->file);
  if (!frame || !file) return false;
  *frame = (ig_frame){.file = file, .line = (int)ig_srange_line(n->range)};
  ig_view_stack st = {frame, 1};
  if (!ig_vec_push(v->c->alloc, &v->stacks, st)) return false;
  v->items.at[item].stack = (uint32_t)(v->stacks.n - 1);
  return true;
}

static bool walk_block(const walk *k, const ig_sblock *b, uint32_t box);

static bool add_blocks(const walk *k, const ig_snode *n, uint32_t item) {
  for (size_t i = 0; i < n->n_blocks; i++) {
    const ig_sblock *b = n->blocks[i];
    const char *word = n->form == IG_SFORM_IF ? i ? "otherwise" : "then" : "body";
    uint32_t box = ig_view_add(k->v, IG_VIEW_GRAPH, item, word, "block");
    if (box == IG_VIEW_NONE) return false;
    for (size_t p = 0; p < b->n_in; p++) {
      uint32_t port = ig_view_add(k->v, IG_VIEW_INPUT, box, value_name(k, b->in[p]), "input");
      if (port == IG_VIEW_NONE || !add_results(k, &b->in[p], 1, port)) return false;
    }
    if (!walk_block(k, b, box)) return false;
    if (ig_view_add(k->v, IG_VIEW_OUTPUT, box, "output", "output") == IG_VIEW_NONE ||
        !add_arguments(k, b->out, b->n_out)) {
      return false;
    }
  }
  return true;
}

static bool add_plain(const walk *k, const ig_snode *n, uint32_t box) {
  const char *name = n->n_out ? value_name(k, n->out[0]) : "";
  uint32_t i = ig_view_add(k->v, IG_VIEW_NODE, box, name, ig_view_text(k->v, "%s", n->kind));
  if (i == IG_VIEW_NONE || !add_arguments(k, n->in, n->n_in)) return false;
  const char *word = name_attr(n);
  if (word && !ig_view_add_text(k->v, "name", ig_view_text(k->v, "%s", word))) return false;
  return add_results(k, n->out, n->n_out, i) && add_place(k, n, i) && add_blocks(k, n, i);
}

static bool walk_function(ig_view *v, ig_sfunction *f, uint32_t box, const source *args, size_t n,
                          source *result);

// A call of a module's method: its graph in a box. False without an error: another call.
static bool add_call(const walk *k, const ig_snode *n, uint32_t box) {
  const char *name = name_attr(n);
  const source *self = n->n_in ? at(k, n->in[0]) : NULL;
  const ig_sclass *cls = self ? class_of(n->in[0]->type) : NULL;
  if (!name || !self || self->kind != A_MODULE || !cls || !cls->module || n->n_out != 1)
    return false;
  ig_sfunction *f = ig_sclass_method(cls, name);
  if (!f || f->host_run) return false;
  source *args = ig_arena_array(&k->v->arena, n->n_in, sizeof *args);
  if (!args) return ig_fail(k->v->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n->n_in; i++) args[i] = *at(k, n->in[i]);
  const char *dot = strrchr(cls->type->name, '.');
  const char *title = ig_view_text(k->v, "%s", dot ? dot + 1 : cls->type->name);
  uint32_t inner = ig_view_add(k->v, IG_VIEW_MODULE, box, self->text, title);
  source result = text_source(NULL);
  if (inner == IG_VIEW_NONE || !walk_function(k->v, f, inner, args, n->n_in, &result)) return false;
  *at(k, n->out[0]) = result;
  return true;
}

static bool walk_node(const walk *k, const ig_snode *n, uint32_t box) {
  bool done = false;
  if (n->form == IG_SFORM_CONSTANT) return add_constant(k, n);
  if (n->form == IG_SFORM_GET_ATTR) done = add_get_attr(k, n);
  if (n->form == IG_SFORM_LIST_CONSTRUCT && n->n_out == 1) done = fold_list(k, n);
  if (n->form == IG_SFORM_CALL_METHOD) done = add_call(k, n, box);
  if (n->form == IG_SFORM_UNCHECKED_CAST && n->n_in == 1 && n->n_out == 1) {
    *at(k, n->out[0]) = *at(k, n->in[0]);
    done = true;
  }
  return k->v->c->status == IG_OK && (done || add_plain(k, n, box));
}

static bool walk_block(const walk *k, const ig_sblock *b, uint32_t box) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (!walk_node(k, n, box)) return false;
  }
  return true;
}

static bool walk_function(ig_view *v, ig_sfunction *f, uint32_t box, const source *args, size_t n,
                          source *result) {
  if (!ig_sfunction_ensure(v->c, f)) return false;
  const ig_sgraph *g = f->graph;
  walk k = {.v = v, .g = g};
  k.sources = ig_arena_array(&v->arena, ig_mem_add(g->next_number, 1), sizeof *k.sources);
  if (!k.sources) return ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i <= g->next_number; i++) k.sources[i] = text_source(NULL);
  for (size_t i = 0; i < g->body->n_in; i++) {
    if (i < n) *at(&k, g->body->in[i]) = args[i];
  }
  if (!args) {  // the function that is viewed: its own arguments are inputs
    if (g->body->n_in) *at(&k, g->body->in[0]) = (source){A_MODULE, 0, 0, ""};
    for (size_t i = 1; i < g->body->n_in; i++) {
      ig_svalue *in = g->body->in[i];
      uint32_t item = ig_view_add(v, IG_VIEW_INPUT, box, value_name(&k, in), "input");
      if (item == IG_VIEW_NONE || !add_results(&k, &in, 1, item)) return false;
    }
  }
  if (!walk_block(&k, g->body, box)) return false;
  if (g->body->n_out) *result = *at(&k, g->body->out[0]);
  if (args) return true;
  return ig_view_add(v, IG_VIEW_OUTPUT, box, "output", "output") != IG_VIEW_NONE &&
         add_arguments(&k, g->body->out, g->body->n_out);
}

static bool view_forward(ig_view *v, const ig_ts *ts) {
  ig_sunit *u = NULL;
  const ig_sclass *root = ig_ts_declare(v->c, ts, &u);
  ig_sfunction *f = root ? ig_sclass_method(root, "forward") : NULL;
  source result = text_source(NULL);
  bool ok = f && walk_function(v, f, v->box, NULL, 0, &result);
  if (root && !f) (void)ig_fail(v->c, IG_UNSUPPORTED, "the archive has no method forward");
  // Texts of types and kinds belong to the unit, those of the view to its arena.
  ig_sunit_close(u);
  return ok;
}

bool ig_view_of_script(ig_view *v) {
  ig_ts *ts = NULL;
  const ig_model *m = v->m;
  ig_status st = m->in_memory ? ig_ts_parse(v->c, m->name, m->file->bytes, NULL, &m->limits, &ts)
                              : ig_ts_open(v->c, m->name, &m->limits, &ts);
  bool ok = st == IG_OK;
  if (ok) {
    const ig_account outer = ig_account_open(v->c, &ts->zip.limits);
    ok = view_forward(v, ts);
    ig_account_close(v->c, &outer);
  }
  ig_ts_free(ts);
  return ok;
}
