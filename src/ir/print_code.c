// SPDX-License-Identifier: Apache-2.0
// A graph as Python code: plain, as a function of trees, and annotated with types and locations.
#include <stdio.h>
#include <string.h>

#include "ir/print.h"

// x : torch.Tensor = None
static void print_parameter(const ig_printer *p, const ig_node *n) {
  ig_str_add(p->s, "%s", n->target);
  ig_print_annotation(p, n);
  if (!n->npos) return;
  ig_str_add(p->s, " = ");
  ig_print_value(p, &n->args[0]);
}

static void print_parameters(const ig_printer *p, const ig_graph *g) {
  if (p->tree) {
    for (size_t i = 0; i < p->tree->n; i++) ig_str_add(p->s, ", %s", p->tree->names[i]);
    return;
  }
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    ig_str_add(p->s, ", ");
    print_parameter(p, n);
  }
}

// x, y, = fx_pytree.tree_flatten_spec(([a], {'b':b}), self._in_spec)
static void print_flatten(const ig_printer *p, const ig_graph *g) {
  bool any = false;
  bool typed = false;
  for (const ig_node *n = g->first; n && p->typed; n = n->next) {
    if (!ig_node_is_placeholder(n) || !ig_has_type(&n->val)) continue;
    ig_str_add(p->s, "%s%s", typed ? "" : "    ", n->name);
    ig_print_type(p, &n->val);
    ig_str_add(p->s, "; ");
    typed = true;
  }
  if (typed) ig_str_add(p->s, "\n\n");
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    ig_str_add(p->s, "%s%s", any ? ", " : "    ", n->target);
    any = true;
  }
  if (!any) return;
  const ig_tree_args *t = p->tree;
  ig_str_add(p->s, ", = fx_pytree.tree_flatten_spec(%s[", t->keys ? "(" : "");
  for (size_t i = 0; i < t->npos; i++) ig_str_add(p->s, "%s%s", i ? ", " : "", t->names[i]);
  ig_str_add(p->s, t->keys ? "], {" : "]");
  for (size_t i = t->npos; t->keys && i < t->n; i++) {
    ig_str_add(p->s, "%s'%s':%s", i > t->npos ? ", " : "", t->keys[i - t->npos], t->names[i]);
  }
  ig_str_add(p->s, t->keys ? "}), self._in_spec)\n" : ", self._in_spec)\n");
}

// Where a node was recorded: its innermost frame.
static void print_location(const ig_printer *p, const ig_call_stack *stack) {
  if (!stack) {
    ig_str_add(p->s, "# No stacktrace found for following nodes");
    return;
  }
  const ig_frame *at = stack->frames.n ? &stack->frames.at[stack->frames.n - 1] : NULL;
  if (!at || !at->function) return;
  ig_str_add(p->s, "# File: %s:%d in %s, code: %s", at->file, at->line, at->function,
             at->code ? at->code : "");
}

static void print_body(const ig_printer *p, const ig_graph *g) {
  const ig_call_stack *last = NULL;
  bool located = false;
  bool any = false;
  for (const ig_node *n = g->first; n; n = n->next) {
    bool inner = !ig_node_is_placeholder(n) && n->kind != IG_NODE_OUTPUT;
    if (p->typed && inner && (!located || n->meta.stack != last)) {
      ig_str_add(p->s, "%s    ", any ? "    \n" : "");
      print_location(p, n->meta.stack);
      ig_str_add(p->s, "\n");
      last = n->meta.stack;
      located = true;
    }
    ig_print_code_line(p, n);
    any = any || inner;
    if (n->kind == IG_NODE_OUTPUT) {
      ig_str_add(p->s, "    ");
      ig_print_return(p, n);
      ig_str_add(p->s, "\n    ");
    }
  }
  if (!g->first || g->last->kind != IG_NODE_OUTPUT)
    ig_str_add(p->s, any ? "    " : "    pass\n    ");
}

// Inputs may be called like a built-in function, because the user's are; variables may not. Such a
// node, and those whose names the new one takes, have others in code: input_1 = input.
typedef struct variables {
  ig_arena arena;
  ig_map used;
  ig_map counts;
} variables;

static bool name_variables(ig_ctx *c, ig_printer *p, const ig_graph *g, variables *v) {
  bool any = false;
  for (const ig_node *n = g->first; n && !any; n = n->next) {
    any = ig_node_is_placeholder(n) && ig_name_is_reserved(n->name);
  }
  if (!any) return true;
  const char **names = ig_arena_array(&v->arena, g->next_index, sizeof *names);
  bool ok = names != NULL;
  for (const ig_node *n = g->first; n && ok; n = n->next) {
    if (n->kind == IG_NODE_OUTPUT) continue;
    ok = ig_name_claim(&v->used, &v->counts, &v->arena, n->name, &names[n->index]) != NULL;
  }
  p->names = names;
  return ok || ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
}

static const char *returned_type(const ig_graph *g) {
  return g->last && g->last->kind == IG_NODE_OUTPUT ? g->last->type_code : NULL;
}

static bool print_function(ig_ctx *c, ig_printer *p, const ig_graph *g) {
  const ig_node **readers = ig_graph_last_readers(c, g);
  if (!readers) return false;
  variables v = {ig_arena_make(c->alloc), ig_map_make(c->alloc), ig_map_make(c->alloc)};
  bool ok = name_variables(c, p, g, &v);
  p->readers = readers;
  p->host = g->host;
  ig_str_add(p->s, "def forward(self");
  if (ok) {
    const char *returns = returned_type(g);
    print_parameters(p, g);
    ig_str_add(p->s, returns ? ") -> %s:\n" : "):\n", returns);
    if (p->tree) print_flatten(p, g);
    print_body(p, g);
  }
  ig_mem_array_free(c->alloc, (void *)readers, g->next_index, sizeof *readers);
  ig_map_free(&v.counts);
  ig_map_free(&v.used);
  ig_arena_free(&v.arena);
  return ok;
}

static void print_part(const ig_printer *p, const ig_graph *g, ig_code_part part) {
  switch (part) {
    case IG_PART_PARAMETERS:
      for (const ig_node *n = g->first; n; n = n->next) {
        if (!ig_node_is_placeholder(n)) continue;
        print_parameter(p, n);
        ig_str_add(p->s, "\n");
      }
      break;
    case IG_PART_TYPE:
      if (returned_type(g)) ig_str_add(p->s, " -> %s", returned_type(g));
      break;
    case IG_PART_BODY:
      for (const ig_node *n = g->first; n; n = n->next) ig_print_code_line(p, n);
      break;
    case IG_PART_RESULT:
      if (g->last && g->last->kind == IG_NODE_OUTPUT) ig_print_result(p, g->last);
      break;
  }
}

char *ig_graph_code_part(ig_ctx *c, const ig_graph *g, ig_code_part part) {
  const ig_node **readers = ig_graph_last_readers(c, g);
  if (!readers) return NULL;
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_CODE, .readers = readers, .host = g->host};
  print_part(&p, g, part);
  ig_mem_array_free(c->alloc, (void *)readers, g->next_index, sizeof *readers);
  return ig_print_end(c, &s);
}

char *ig_graph_tree_code(ig_ctx *c, const ig_graph *g, const ig_tree_args *tree) {
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_CODE, .tree = tree};
  ig_str_add(&s, "\n\n\n");
  if (print_function(c, &p, g)) return ig_print_end(c, &s);
  ig_str_free(&s);
  return NULL;
}

char *ig_graph_code(ig_ctx *c, const ig_graph *g) {
  return ig_graph_tree_code(c, g, NULL);
}

// Indents every line except the first.
static void add_indented(ig_str *s, const char *text, size_t by) {
  for (; *text; text++) {
    ig_str_add(s, "%c", *text);
    if (*text == '\n') ig_str_add(s, "%*s", (int)by, "");
  }
}

static bool print_class(ig_ctx *c, ig_str *out, const ig_graph *g, const char *name,
                        const ig_tree_args *tree, size_t by) {
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_CODE, .tree = tree, .typed = true};
  ig_str_add(&s, "class %s(torch.nn.Module):\n", name);
  bool ok = print_function(c, &p, g);
  ok = ok && !s.failed;
  if (ok) add_indented(out, s.at, by + 4);
  ig_str_free(&s);
  for (size_t i = 0; ok && i < g->subs.n; i++) {
    ig_str_add(out, "\n%*s", (int)by + 4, "");
    ok = print_class(c, out, g->subs.at[i].graph, g->subs.at[i].name, NULL, by + 4);
  }
  return ok;
}

char *ig_graph_readable(ig_ctx *c, const ig_graph *g, const char *name, const ig_tree_args *tree) {
  ig_str s = ig_str_make(c->alloc);
  if (print_class(c, &s, g, name, tree, 0)) return ig_print_end(c, &s);
  ig_str_free(&s);
  if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory while printing");
  return NULL;
}
