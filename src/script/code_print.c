// SPDX-License-Identifier: Apache-2.0
// The statements of a function. A value that is used once, at the place where it is made, is
// written there; other values get a variable. Which values these are is decided in a walk from the
// end to the beginning (`scan`), before anything is written.
#include "script/code_print.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "script/code_printer.h"
#include "script/form.h"

bool ig_sprinter_no_memory(ig_sprinter *p) {
  (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- texts with places

ig_sprint_text ig_sprint_text_make(ig_ctx *c) {
  ig_sprint_text t = {.text = ig_str_make(c->alloc)};
  t.counters = ig_map_make(c->alloc);
  t.names = ig_arena_make(c->alloc);
  return t;
}

void ig_sprint_text_free(ig_sprint_text *t) {
  ig_vec_free(t->text.alloc, &t->marks);
  ig_map_free(&t->counters);
  ig_arena_free(&t->names);
  ig_str_free(&t->text);
}

static void mark(ig_sprint_text *t, size_t offset, const ig_sprint_mark *m) {
  if (t->marks.n) {
    const ig_sprint_mark *last = &t->marks.at[t->marks.n - 1];
    bool same = last->range.source == m->range.source && last->range.start == m->range.start &&
                last->range.end == m->range.end && last->place == m->place;
    if (same) return;
  }
  ig_sprint_mark made = *m;
  made.offset = offset;
  if (!ig_vec_push(t->text.alloc, &t->marks, made)) t->text.failed = true;
}

void ig_sprinter_put(const ig_sprinter *p, ig_sprint_text *t, const char *text) {
  if (!*text) return;
  mark(t, t->text.n, &p->place);
  ig_str_add(&t->text, "%s", text);
}

static void put(const ig_sprinter *p, ig_sprint_text *t, const char *text) {
  ig_sprinter_put(p, t, text);
}

static void put_text(ig_sprint_text *t, const ig_sprint_text *more) {
  for (size_t i = 0; i < more->marks.n; i++) {
    mark(t, t->text.n + more->marks.at[i].offset, &more->marks.at[i]);
  }
  if (more->text.n) ig_str_add(&t->text, "%s", more->text.at);
}

// ---- values

ig_sprint_info *ig_sprinter_info(const ig_sprinter *p, const ig_svalue *v) {
  const ig_sgraph *g = v->block ? v->block->graph : v->node->owner->graph;
  for (const ig_sprint_scope *s = p->scope; s; s = s->outer) {
    if (s->graph == g) return &s->at[v->number];
  }
  return NULL;
}

bool ig_snode_is_constant(const ig_snode *n) {
  return ig_sform_of(n) == IG_SFORM_CONSTANT;
}

static const ig_snode *maker(const ig_svalue *v) {
  return v->block ? NULL : v->node;
}

void ig_sprinter_put_use(const ig_sprinter *p, ig_sprint_text *t, const ig_svalue *v) {
  const ig_sprint_info *info = ig_sprinter_info(p, v);
  if (info && info->expression) {
    put_text(t, info->expression);
  } else {
    put(p, t, info && info->name ? info->name : "_");
  }
}

void ig_sprinter_put_uses(const ig_sprinter *p, ig_sprint_text *t, ig_svalue *const *at, size_t n,
                          const char *begin, const char *end) {
  put(p, t, begin);
  for (size_t i = 0; i < n; i++) {
    if (i) put(p, t, ", ");
    ig_sprinter_put_use(p, t, at[i]);
  }
  put(p, t, end);
}

// ---- names

static bool is_reserved(const char *name) {
  static const char *const words[] = {
      "False",
      "None",
      "True",
      "CONSTANTS",
      "__torch__",
      "and",
      "as",
      "assert",
      "aten",
      "async",
      "attribute",
      "await",
      "break",
      "class",
      "continue",
      "def",
      "del",
      "elif",
      "else",
      "except",
      "finally",
      "for",
      "fork",
      "from",
      "getattr",
      "global",
      "if",
      "import",
      "in",
      "inf",
      "infj",
      "is",
      "lambda",
      "nan",
      "nanj",
      "nonlocal",
      "not",
      "ops",
      "or",
      "pass",
      "raise",
      "return",
      "try",
      "unchecked_cast",
      "uninitialized",
      "while",
      "with",
      "yield",
      "_",
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(words[i], name) == 0) return true;
  }
  return false;
}

// The name itself if it is free, else with a number behind it.
static const char *unique_name(ig_sprinter *p, const char *base) {
  size_t room = ig_mem_add(strlen(base), 24);
  char *name = ig_arena_push(&p->arena, room);
  if (!name) return NULL;
  (void)snprintf(name, room, "%s", base);
  while (is_reserved(name) || ig_map_find(&p->used, name)) {
    ig_map_value *next =
        ig_map_keep(&p->out->counters, &p->out->names, name, &(const char *){NULL});
    if (!next) return NULL;
    (void)snprintf(name, room, "%s%zu", base, next->num++);
  }
  return ig_map_put(&p->used, name) ? name : NULL;
}

// The variable's name without the number that tells it from its namesakes; "_" if it has none.
static const char *base_name(ig_sprinter *p, const ig_svalue *v) {
  if (!v->name) return "_";
  const char *dot = strrchr(v->name, '.');
  bool numbered = dot && dot > v->name && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
  size_t n = numbered ? (size_t)(dot - v->name) : strlen(v->name);
  char *base = ig_arena_push(&p->arena, ig_mem_add(n, 2));
  if (!base) return NULL;
  size_t at = 0;
  if (isdigit((unsigned char)v->name[0])) base[at++] = '_';
  for (size_t i = 0; i < n; i++) {
    char ch = v->name[i];
    base[at++] = (char)(isalnum((unsigned char)ch) ? ch : '_');
  }
  return base;
}

static bool name_value(ig_sprinter *p, const ig_svalue *v) {
  const char *base = base_name(p, v);
  const char *name = base ? unique_name(p, base) : NULL;
  if (!name) return ig_sprinter_no_memory(p);
  ig_sprint_info *info = ig_sprinter_info(p, v);
  info->name = name;
  info->expression = NULL;
  return true;
}

static bool name_values(ig_sprinter *p, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!name_value(p, at[i])) return false;
  }
  return true;
}

// ---- types

bool ig_sprinter_need_types(ig_sprinter *p, const ig_stype *type) {
  bool named = type->kind == IG_STYPE_CLASS || type->kind == IG_STYPE_ENUM ||
               type->kind == IG_STYPE_INTERFACE || type->names;
  if (named && !ig_sprint_refs_need(p->refs, (ig_sprint_need){.type = type})) return false;
  for (size_t i = 0; i < type->n; i++) {
    if (!ig_sprinter_need_types(p, type->at[i])) return false;
  }
  return true;
}

bool ig_sprinter_put_type(ig_sprinter *p, ig_sprint_text *t, const ig_stype *type) {
  ig_str s = ig_str_make(p->c->alloc);
  ig_stype_print_annotation(&s, type);
  bool ok = !s.failed;
  if (ok) put(p, t, s.at);
  ig_str_free(&s);
  return ok ? ig_sprinter_need_types(p, type) : ig_sprinter_no_memory(p);
}

ig_sprint_refs ig_sprint_refs_make(ig_ctx *c) {
  return (ig_sprint_refs){.c = c, .known = ig_map_make(c->alloc)};
}

void ig_sprint_refs_free(ig_sprint_refs *r) {
  ig_vec_free(r->c->alloc, &r->constants);
  ig_vec_free(r->c->alloc, &r->needs);
  ig_map_free(&r->known);
}

bool ig_sprint_refs_need(ig_sprint_refs *r, ig_sprint_need need) {
  const char *name = need.type ? need.type->name : need.function->qualified;
  ig_map_value *v = name ? ig_map_put(&r->known, name) : NULL;
  if (v && v->num) return true;
  if (!v || !ig_vec_push(r->c->alloc, &r->needs, need)) {
    return ig_fail(r->c, IG_NOMEM, "out of memory") == IG_OK;
  }
  v->num = 1;
  return true;
}

// ---- uses

static void count_uses(ig_sprinter *p, const ig_sblock *b);

static void add_uses(const ig_sprinter *p, ig_svalue *const *at, size_t n, const ig_snode *user,
                     const ig_sblock *block) {
  for (size_t i = 0; i < n; i++) {
    ig_sprint_info *info = ig_sprinter_info(p, at[i]);
    if (!info) continue;
    info->uses++;
    info->user = user;
    info->returned_by = block;
    info->offset = i;
  }
}

static void count_uses(ig_sprinter *p, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    add_uses(p, n->in, n->n_in, n, NULL);
    for (size_t i = 0; i < n->n_blocks; i++) count_uses(p, n->blocks[i]);
  }
  add_uses(p, b->out, b->n_out, NULL, b);
}

// ---- what is written where it is used

static bool is_loop(const ig_snode *n) {
  return ig_sform_of(n) == IG_SFORM_LOOP;
}

// A node with a graph of its own (prim::fork_0).
static const ig_sattr *subgraph(const ig_snode *n) {
  for (size_t i = 0; i < n->n_attrs; i++) {
    if (n->attrs[i].kind == IG_SATTR_GRAPH) return &n->attrs[i];
  }
  return NULL;
}

static bool can_inline(const ig_sprinter *p, const ig_svalue *v) {
  const ig_snode *n = v->node;
  const ig_sprint_info *info = ig_sprinter_info(p, v);
  if (n->n_out != 1 || n->n_blocks || subgraph(n) || info->uses != 1) return false;
  const ig_snode *user = info->user;
  if (v->name && user) return false;  // it was a variable; returning it needs none
  // Values that a loop carries are assigned before its condition is written.
  if (user && is_loop(user) && info->offset >= 2) return false;
  if (user && subgraph(user)) return false;  // the function that is made may use it twice
  // As a condition it would narrow types once more, which casts in the graph did already.
  return ig_sform_of(n) != IG_SFORM_ISINSTANCE;
}

static const ig_snode *before(const ig_snode *n) {
  do {
    n = n->prev;
  } while (n && ig_snode_is_constant(n));
  return n;
}

static const ig_snode *last_of(const ig_sblock *b) {
  const ig_snode *n = b->last;
  return n && ig_snode_is_constant(n) ? before(n) : n;
}

typedef struct frame {
  const ig_snode *node;
  size_t left;  // inputs that are not looked at yet
} frame;
typedef IG_VEC(frame) frames;

// Inputs from the last to the first: one that is made directly before what is written behind it can
// stand in the expression, and so can its own inputs.
static bool scan_inputs(ig_sprinter *p, frames *f, ig_svalue *const *at, size_t n,
                        const ig_snode *point) {
  f->n = 0;
  if (!ig_vec_push(p->c->alloc, f, ((frame){NULL, n}))) return ig_sprinter_no_memory(p);
  while (f->n) {
    frame *top = &f->at[f->n - 1];
    if (top->left == 0) {
      if (top->node) ig_sprinter_info(p, top->node->out[0])->inlined = true;
      f->n--;
      continue;
    }
    const ig_svalue *v = (top->node ? top->node->in : at)[--top->left];
    const ig_snode *made_by = maker(v);
    if (!made_by) continue;
    if (made_by == point && can_inline(p, v)) {
      point = before(made_by);
      if (!ig_vec_push(p->c->alloc, f, ((frame){made_by, made_by->n_in}))) {
        return ig_sprinter_no_memory(p);
      }
    } else if (ig_snode_is_constant(made_by) && made_by->n_out == 1) {
      ig_sprint_info *info = ig_sprinter_info(p, v);
      if (info) info->inlined = true;
    }
  }
  return true;
}

static bool scan_block(ig_sprinter *p, frames *f, const ig_sblock *b) {
  if (!scan_inputs(p, f, b->out, b->n_out, last_of(b))) return false;
  for (const ig_snode *n = b->last; n; n = n->prev) {
    if (n->n_out == 1 && ig_sprinter_info(p, n->out[0])->inlined) continue;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!scan_block(p, f, n->blocks[i])) return false;
    }
    if (!scan_inputs(p, f, n->in, n->n_in, before(n))) return false;
  }
  return true;
}

// ---- definitions

static void indent(ig_sprinter *p) {
  for (size_t i = 0; i < p->level; i++) put(p, p->out, "  ");
}

static bool put_definition(ig_sprinter *p, const ig_snode *n, const ig_sprint_text *right) {
  if (!name_values(p, n->out, n->n_out)) return false;
  indent(p);
  if (n->n_out) ig_sprinter_put_uses(p, p->out, n->out, n->n_out, "", " = ");
  put_text(p->out, right);
  put(p, p->out, "\n");
  return true;
}

enum { MAX_INLINE = 40 };  // characters of an expression in an expression, with the indentation

static bool is_long(const ig_sprinter *p, const ig_sprint_text *t) {
  return t->text.n + p->level * 2 >= MAX_INLINE;
}

typedef IG_VEC(const ig_svalue *) waiting;

static ig_sprint_text *new_expression(ig_sprinter *p) {
  ig_sprint_text *t = ig_arena_push(&p->arena, sizeof *t);
  if (!t || !ig_vec_push(p->c->alloc, &p->expressions, t)) {
    (void)ig_sprinter_no_memory(p);
    return NULL;
  }
  *t = ig_sprint_text_make(p->c);
  return t;
}

// The expressions among the user's inputs up to `offset` that wait to be written, from the last to
// the first. False: those in front were written before, or out of memory.
static bool collect_waiting(ig_sprinter *p, const ig_sprint_info *use, size_t n, waiting *list) {
  ig_svalue *const *in = use->user ? use->user->in : use->returned_by->out;
  while (n > 0) {
    const ig_svalue *v = in[--n];
    const ig_snode *made_by = maker(v);
    const ig_sprint_info *info = made_by ? ig_sprinter_info(p, v) : NULL;
    if (!info || !info->inlined || ig_snode_is_constant(made_by)) continue;
    if (!info->expression) return false;
    if (!ig_vec_push(p->c->alloc, list, v)) return ig_sprinter_no_memory(p);
  }
  return true;
}

// A long expression gets a variable. So does whatever is evaluated before it, to keep the order:
// the inputs in front of it, and those in front of the expression that it is part of.
static bool split_long(ig_sprinter *p, const ig_svalue *v) {
  waiting list = {0};
  const ig_sprint_info *use = ig_sprinter_info(p, v);
  size_t n = use->offset + 1;
  while (collect_waiting(p, use, n, &list)) {
    const ig_snode *user = use->user;
    if (!user || user->n_out != 1) break;
    use = ig_sprinter_info(p, user->out[0]);
    if (!use->inlined) break;
    n = use->offset;
  }
  bool ok = p->c->status == IG_OK;
  while (ok && list.n > 0) {
    const ig_svalue *made = list.at[--list.n];
    ok = put_definition(p, made->node, ig_sprinter_info(p, made)->expression);
  }
  ig_vec_free(p->c->alloc, &list);
  return ok;
}

static bool print_expression(ig_sprinter *p, const ig_snode *n) {
  ig_sprint_text *t = new_expression(p);
  if (!t || !ig_sprinter_expression(p, t, n)) return false;
  ig_sprint_info *info = n->n_out == 1 ? ig_sprinter_info(p, n->out[0]) : NULL;
  bool inlined = info && info->inlined;
  if (!inlined || (ig_snode_is_constant(n) && is_long(p, t))) return put_definition(p, n, t);
  info->expression = t;
  return !is_long(p, t) || split_long(p, n->out[0]);
}

// ---- statements

static bool print_block(ig_sprinter *p, const ig_sblock *b, bool more);
static bool print_body(ig_sprinter *p, const ig_sblock *b);

// A single variable whose type the value does not show says it, once; colon: in front of the type.
static bool print_typed(ig_sprinter *p, ig_svalue *const *to, ig_svalue *const *from, size_t n,
                        const char *colon) {
  if (n == 0) return true;
  indent(p);
  ig_sprinter_put_uses(p, p->out, to, n, "", "");
  ig_sprint_info *info = n == 1 ? ig_sprinter_info(p, to[0]) : NULL;
  const ig_stype *type = to[0]->type;
  bool wide = type->kind == IG_STYPE_UNION || type->kind == IG_STYPE_OPTIONAL;
  if (info && wide && !info->annotated && !info->expression) {
    info->annotated = true;
    put(p, p->out, colon);
    if (!ig_sprinter_put_type(p, p->out, type)) return false;
  }
  ig_sprinter_put_uses(p, p->out, from, n, " = ", "\n");
  return true;
}

static bool print_assignment(ig_sprinter *p, ig_svalue *const *to, ig_svalue *const *from,
                             size_t n) {
  return print_typed(p, to, from, n, " : ");
}

static bool print_branch(ig_sprinter *p, const ig_snode *n, const ig_sblock *b) {
  p->level++;
  bool ok = print_block(p, b, n->n_out > 0) && print_assignment(p, n->out, b->out, n->n_out);
  p->level--;
  return ok;
}

static bool print_if(ig_sprinter *p, const ig_snode *n) {
  if (n->n_blocks != 2 || n->n_in != 1)
    return ig_fail(p->c, IG_SYNTAX, "prim::If: malformed") == IG_OK;
  if (!name_values(p, n->out, n->n_out)) return false;
  indent(p);
  put(p, p->out, "if ");
  ig_sprinter_put_use(p, p->out, n->in[0]);
  put(p, p->out, ":\n");
  if (!print_branch(p, n, n->blocks[0])) return false;
  indent(p);
  put(p, p->out, "else:\n");
  return print_branch(p, n, n->blocks[1]);
}

static const ig_value *constant_of(const ig_svalue *v) {
  const ig_snode *n = maker(v);
  const ig_sattr *a = n && ig_snode_is_constant(n) ? ig_snode_attr(n, "value") : NULL;
  return a && a->kind == IG_SATTR_VALUE ? &a->value : NULL;
}

static bool is_true(const ig_svalue *v) {
  const ig_value *known = constant_of(v);
  return known && known->kind == IG_KIND_BOOL && known->b;
}

// What a loop carries is assigned before it and at the end of each trip. The counter's variable is
// the condition's where the loop is a `while`.
static bool print_loop(ig_sprinter *p, const ig_snode *n) {
  const ig_sblock *b = n->n_blocks == 1 ? n->blocks[0] : NULL;
  if (!b || n->n_in < 2 || b->n_in != n->n_in - 1 || b->n_out != b->n_in ||
      n->n_out + 1 != b->n_in) {
    return ig_fail(p->c, IG_SYNTAX, "prim::Loop: malformed") == IG_OK;
  }
  const ig_value *trips = constant_of(n->in[0]);
  bool always = is_true(n->in[1]) && is_true(b->out[0]);
  bool counted = !trips || trips->kind != IG_KIND_INT || trips->i.value != INT64_MAX ||
                 ig_sprinter_info(p, b->in[0])->uses > 0;
  if (counted && !always) {
    return ig_fail(p->c, IG_UNSUPPORTED,
                   "loop cannot be printed as python because it has gone through an optimization "
                   "that combined while and for loops. File a bug") == IG_OK;
  }
  if (!name_values(p, n->out, n->n_out)) return false;
  for (size_t i = 0; i < n->n_out; i++) {
    ig_sprint_info *inside = ig_sprinter_info(p, b->in[i + 1]);
    inside->name = ig_sprinter_info(p, n->out[i])->name;
    inside->annotated = true;  // in front of the loop
    if (!print_typed(p, &n->out[i], &n->in[i + 2], 1, ": ")) return false;
  }
  if (!name_value(p, b->in[0])) return false;
  if (!counted && !print_assignment(p, b->in, &n->in[1], 1)) return false;
  indent(p);
  put(p, p->out, counted ? "for " : "while ");
  ig_sprinter_put_use(p, p->out, b->in[0]);
  if (counted) {
    put(p, p->out, " in range(");
    ig_sprinter_put_use(p, p->out, n->in[0]);
  }
  put(p, p->out, counted ? "):\n" : ":\n");
  p->level++;
  size_t skip = counted ? 1 : 0;
  bool ok = print_block(p, b, b->n_in > skip) &&
            print_assignment(p, b->in + skip, b->out + skip, b->n_in - skip);
  p->level--;
  return ok;
}

static bool print_unpack(ig_sprinter *p, const ig_snode *n) {
  if (!name_values(p, n->out, n->n_out)) return false;
  indent(p);
  if (n->n_out) ig_sprinter_put_uses(p, p->out, n->out, n->n_out, "", ", = ");
  ig_sprinter_put_uses(p, p->out, n->in, n->n_in, "", "\n");
  return true;
}

static bool print_set_attr(ig_sprinter *p, const ig_snode *n) {
  const ig_sattr *name = ig_snode_attr(n, "name");
  if (n->n_in != 2 || !name || name->value.kind != IG_KIND_STR) {
    return ig_fail(p->c, IG_SYNTAX, "prim::SetAttr: malformed") == IG_OK;
  }
  indent(p);
  ig_sprinter_put_use(p, p->out, n->in[0]);
  put(p, p->out, ".");
  put(p, p->out, name->value.str);
  ig_sprinter_put_uses(p, p->out, n->in + 1, 1, " = ", "\n");
  return true;
}

// Which of its modules is known at run time only; their interface is declared.
static bool print_container_index(ig_sprinter *p, const ig_snode *n) {
  if (n->n_in < 2 || n->n_out != 1) {
    return ig_fail(p->c, IG_SYNTAX, "prim::ModuleContainerIndex: malformed") == IG_OK;
  }
  if (!name_value(p, n->out[0])) return false;
  indent(p);
  ig_sprinter_put_uses(p, p->out, n->out, 1, "", " : ");
  if (!ig_sprinter_put_type(p, p->out, n->out[0]->type)) return false;
  ig_sprinter_put_uses(p, p->out, n->in, 1, " = ", "[");
  ig_sprinter_put_uses(p, p->out, n->in + 1, 1, "", "]\n");
  return true;
}

static bool print_enter(ig_sprinter *p, const ig_snode *n) {
  if (n->n_in != 1 || n->n_out != 1)
    return ig_fail(p->c, IG_SYNTAX, "prim::Enter: malformed") == IG_OK;
  indent(p);
  put(p, p->out, "with ");
  ig_sprinter_put_use(p, p->out, n->in[0]);
  if (ig_sprinter_info(p, n->out[0])->uses) {
    if (!name_value(p, n->out[0])) return false;
    ig_sprinter_put_uses(p, p->out, n->out, 1, " as ", "");
  }
  put(p, p->out, ":\n");
  p->level++;
  return true;
}

static bool print_exit(ig_sprinter *p, const ig_snode *n) {
  if (n->prev && ig_sform_of(n->prev) == IG_SFORM_ENTER) {
    indent(p);
    put(p, p->out, "pass\n");
  }
  if (p->level) p->level--;
  return true;
}

static bool enter_scope(ig_sprinter *p, ig_sprint_scope *s, const ig_sgraph *g) {
  *s = (ig_sprint_scope){.graph = g, .outer = p->scope};
  s->at = ig_arena_array(&p->arena, ig_mem_add(g->next_number, 1), sizeof *s->at);
  if (!s->at) return ig_sprinter_no_memory(p);
  p->scope = s;
  count_uses(p, g->body);
  return true;
}

// The graph becomes a function without parameters, which sees the variables around it.
static bool print_fork(ig_sprinter *p, const ig_snode *n) {
  const ig_sgraph *g = subgraph(n)->graph;
  const char *name = unique_name(p, "__forked_function");
  ig_sprint_scope scope;
  if (!name || g->body->n_in != n->n_in) return ig_sprinter_no_memory(p);
  indent(p);
  put(p, p->out, "def ");
  put(p, p->out, name);
  put(p, p->out, "():\n");
  if (!enter_scope(p, &scope, g)) return false;
  for (size_t i = 0; i < n->n_in; i++) {
    const ig_sprint_info *outside = ig_sprinter_info(p, n->in[i]);
    ig_sprint_info *inside = ig_sprinter_info(p, g->body->in[i]);
    inside->name = outside->name;
    inside->expression = outside->expression;
  }
  bool ok = print_body(p, g->body);
  p->scope = scope.outer;
  ig_sprint_text *call = ok ? new_expression(p) : NULL;
  if (!call) return false;
  put(p, call, "fork(");
  put(p, call, name);
  put(p, call, ")");
  return put_definition(p, n, call);
}

static const struct {
  const char *kind;
  bool (*print)(ig_sprinter *p, const ig_snode *n);
} statements[] = {
    {"prim::Enter", print_enter},
    {"prim::Exit", print_exit},
    {"prim::If", print_if},
    {"prim::ListUnpack", print_unpack},
    {"prim::Loop", print_loop},
    {"prim::SetAttr", print_set_attr},
    {"prim::ModuleContainerIndex", print_container_index},
    {"prim::TupleUnpack", print_unpack},
};

static bool print_node(ig_sprinter *p, const ig_snode *n) {
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    if (strcmp(statements[i].kind, n->kind) == 0) return statements[i].print(p, n);
  }
  bool fork = subgraph(n) && ig_sform_of(n) != IG_SFORM_PYTHON;
  return fork ? print_fork(p, n) : print_expression(p, n);
}

static bool print_at_place(ig_sprinter *p, const ig_snode *n) {
  ig_sprint_mark outer = p->place;
  p->place = (ig_sprint_mark){.range = n->range, .place = n->place};
  bool ok = print_node(p, n);
  p->place = outer;
  return ok;
}

static bool print_block(ig_sprinter *p, const ig_sblock *b, bool more) {
  if (!more && !b->first) {
    indent(p);
    put(p, p->out, "pass\n");
  }
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (!ig_snode_is_constant(n) && !print_at_place(p, n)) return false;
  }
  return true;
}

// Constants are printed first, in the order of their first use.
static bool print_constants(ig_sprinter *p, const ig_sblock *b);

static bool print_constant_inputs(ig_sprinter *p, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ig_snode *made_by = maker(at[i]);
    if (!made_by || !ig_snode_is_constant(made_by)) continue;
    const ig_sprint_info *info = ig_sprinter_info(p, at[i]);
    if (!info || info->name || info->expression) continue;
    if (!print_at_place(p, made_by)) return false;
  }
  return true;
}

static bool print_constants(ig_sprinter *p, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (!print_constant_inputs(p, n->in, n->n_in)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!print_constants(p, n->blocks[i])) return false;
    }
  }
  return print_constant_inputs(p, b->out, b->n_out);
}

static bool print_return(ig_sprinter *p, const ig_sblock *b) {
  if (b->n_out == 0) return true;
  indent(p);
  ig_sprinter_put_uses(p, p->out, b->out, b->n_out, "return ", "\n");
  return true;
}

static bool print_body(ig_sprinter *p, const ig_sblock *b) {
  frames f = {0};
  bool ok = scan_block(p, &f, b);
  ig_vec_free(p->c->alloc, &f);
  if (!ok) return false;
  p->level++;
  ok = print_constants(p, b) && print_block(p, b, b->n_out > 0) && print_return(p, b);
  p->level--;
  return ok;
}

// ---- functions

static bool print_default(ig_sprinter *p, const ig_sparam *a) {
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "=");
  bool ok = ig_sprint_value(p->c, a->type, a->def, p->refs, &s);
  if (ok && s.failed) ok = ig_sprinter_no_memory(p);
  if (ok) put(p, p->out, s.at);
  ig_str_free(&s);
  return ok;
}

static bool print_param(ig_sprinter *p, const ig_sfunction *f, size_t i, bool self_type) {
  const ig_sparam *a = &f->params[i];
  const char *name = unique_name(p, a->name);
  if (!name) return ig_sprinter_no_memory(p);
  if (i) put(p, p->out, ",\n    ");
  put(p, p->out, name);
  ig_sprinter_info(p, f->graph->body->in[i])->name = name;
  if (i > 0 || self_type || !f->owner) {
    put(p, p->out, ": ");
    if (!ig_sprinter_put_type(p, p->out, a->type)) return false;
  }
  return !a->has_default || print_default(p, a);
}

static bool print_definition(ig_sprinter *p, const ig_sfunction *f, bool self_type) {
  indent(p);
  put(p, p->out, "def ");
  put(p, p->out, f->name);
  put(p, p->out, "(");
  for (size_t i = 0; i < f->n_params; i++) {
    if (!print_param(p, f, i, self_type)) return false;
  }
  put(p, p->out, ") -> ");
  if (!ig_sprinter_put_type(p, p->out, f->result)) return false;
  put(p, p->out, ":\n");
  return print_body(p, f->graph->body);
}

static bool print_function(ig_sprinter *p, const ig_sfunction *f, bool self_type) {
  ig_sprint_scope scope;
  if (f->graph->body->n_in != f->n_params || f->graph->body->n_out > 1) {
    return ig_fail(p->c, IG_SYNTAX, "the graph of '%s' does not have its parameters",
                   f->qualified) == IG_OK;
  }
  if (!enter_scope(p, &scope, f->graph)) return false;
  bool ok = print_definition(p, f, self_type);
  p->scope = scope.outer;
  return ok;
}

bool ig_sprint_function(ig_ctx *c, ig_sfunction *f, const ig_sprint_options *o, ig_sprint_refs *r,
                        ig_sprint_text *out) {
  if (!f->graph || !f->result) {
    return ig_fail(c, IG_UNSUPPORTED, "'%s' has no graph that could be printed", f->qualified) ==
           IG_OK;
  }
  ig_sprinter p = {.c = c,
                   .unit = f->unit,
                   .refs = r,
                   .out = out,
                   .importable = o->importable,
                   .level = o->level};
  p.arena = ig_arena_make(c->alloc);
  p.used = ig_map_make(c->alloc);
  bool ok = print_function(&p, f, o->self_type);
  if (ok && out->text.failed) ok = ig_sprinter_no_memory(&p);
  for (size_t i = 0; i < p.expressions.n; i++) ig_sprint_text_free(p.expressions.at[i]);
  ig_vec_free(c->alloc, &p.expressions);
  ig_map_free(&p.used);
  ig_arena_free(&p.arena);
  return ok;
}
