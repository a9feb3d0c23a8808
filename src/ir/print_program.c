// SPDX-License-Identifier: Apache-2.0
// Code of a program as a module: state is read from attributes, results are written back to
// buffers, arguments and results go through their tree specifications.
#include <stdio.h>
#include <string.h>

#include "ir/print.h"
#include "ir/program.h"

char *ig_program_code(ig_ctx *c, const ig_program *p) {
  return ig_graph_code(c, p->graph);
}

char *ig_program_text(ig_ctx *c, const ig_program *p) {
  return ig_graph_text(c, p->graph);
}

typedef struct unlift {
  ig_ctx *c;
  const ig_program *p;
  ig_arena arena;
  const char **names;  // by node index
} unlift;

// The name that a state placeholder has as an attribute: fc_weight for fc.weight. A name that a
// node already has gets a number.
static bool rename_state(unlift *u) {
  const ig_graph *g = u->p->graph;
  for (const ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    if (n->role == IG_INPUT_USER || !n->path) continue;
    char text[256];
    char name[288];
    (void)ig_name_of_path("", n->path, text, sizeof text);
    (void)snprintf(name, sizeof name, "%s", text);
    for (int k = 1; ig_graph_find(g, name); k++) {
      (void)snprintf(name, sizeof name, "%s_%d", text, k);
    }
    u->names[n->index] = ig_arena_strn(&u->arena, name, strlen(name));
    if (!u->names[n->index]) return ig_fail(u->c, IG_NOMEM, "out of memory") == IG_OK;
  }
  return true;
}

static void print_head(const unlift *u, const ig_printer *p) {
  const ig_program *q = u->p;
  ig_str_add(p->s, "\n\n\ndef forward(self");
  for (size_t i = 0; i < q->ninputs; i++) {
    if (q->inputs[i].kind == IG_INPUT_USER) ig_str_add(p->s, ", %s", q->inputs[i].name);
  }
  ig_str_add(p->s, "):\n    ");
  bool any = false;
  for (size_t i = 0; i < q->ninputs; i++) {
    if (q->inputs[i].kind != IG_INPUT_USER) continue;
    ig_str_add(p->s, "%s, ", q->inputs[i].name);
    any = true;
  }
  if (any && !p->s->failed) p->s->at[--p->s->n] = 0;  // the last blank
  ig_str_add(p->s, "%sfx_pytree.tree_flatten_spec(([", any ? " = " : "");
  bool comma = false;
  for (size_t i = 0; i < q->ninputs; i++) {
    if (q->inputs[i].kind != IG_INPUT_USER) continue;
    ig_str_add(p->s, "%s%s", comma ? ", " : "", q->inputs[i].name);
    comma = true;
  }
  ig_str_add(p->s, "], {}), self._in_spec)\n");
}

static void print_state(const unlift *u, const ig_printer *p) {
  for (const ig_node *n = u->p->graph->first; n && ig_node_is_placeholder(n); n = n->next) {
    if (n->role == IG_INPUT_USER || n->users == 0) continue;
    ig_str_add(p->s, "    %s = ", ig_print_name(p, n));
    ig_print_path(p, "self", n->path);
    ig_str_add(p->s, "\n");
  }
}

static const ig_node *node_of_target(const unlift *u, const ig_output_spec *o) {
  for (const ig_node *n = u->p->graph->first; n && ig_node_is_placeholder(n); n = n->next) {
    const char *name = o->kind == IG_OUTPUT_INPUT_MUTATION ? n->name : n->path;
    if (name && o->target && strcmp(name, o->target) == 0) return n;
  }
  return NULL;
}

static bool is_mutation(const ig_output_spec *o) {
  return ig_output_is_write(o);
}

// New values are written back; that is the last use of both.
static void print_mutations(const unlift *u, const ig_printer *p) {
  size_t count = 0;
  for (size_t i = 0; i < u->p->noutputs; i++) {
    const ig_output_spec *o = &u->p->outputs[i];
    const ig_node *to = is_mutation(o) ? node_of_target(u, o) : NULL;
    if (!to) continue;
    char name[48] = "copy__default";
    if (count++) (void)snprintf(name, sizeof name, "copy__default_%zu", count - 1);
    ig_str_add(p->s, "    %s = torch.ops.aten.copy_.default(%s, ", name, ig_print_name(p, to));
    ig_print_value(p, &o->value);
    ig_str_add(p->s, ");  %s = ", ig_print_name(p, to));
    bool returned = false;
    for (size_t k = 0; k < u->p->noutputs; k++) {
      const ig_output_spec *other = &u->p->outputs[k];
      bool later = k > i || !is_mutation(other);
      returned = returned || (later && k != i && other->value.kind == IG_KIND_NODE &&
                              other->value.node == o->value.node);
    }
    if (!returned) {
      ig_print_value(p, &o->value);
      ig_str_add(p->s, " = ");
    }
    ig_str_add(p->s, "None\n");
  }
}

static void print_return(const unlift *u, const ig_printer *p) {
  size_t n = 0;
  ig_str_add(p->s, "    return pytree.tree_unflatten((");
  for (size_t i = 0; i < u->p->noutputs; i++) {
    if (is_mutation(&u->p->outputs[i])) continue;
    if (n++) ig_str_add(p->s, ", ");
    ig_print_value(p, &u->p->outputs[i].value);
  }
  ig_str_add(p->s, "%s), self._out_spec)\n    ", n == 1 ? "," : "");
}

static char *print_module(unlift *u, const ig_node **readers) {
  ig_str s = ig_str_make(u->c->alloc);
  ig_printer p = {.s = &s,
                  .form = IG_TEXT_CODE,
                  .names = u->names,
                  .readers = readers,
                  .host = u->p->graph->host};
  const ig_graph *g = u->p->graph;
  // A target stays alive until it has been written.
  for (size_t i = 0; i < u->p->noutputs; i++) {
    const ig_output_spec *o = &u->p->outputs[i];
    const ig_node *to = is_mutation(o) ? node_of_target(u, o) : NULL;
    if (to) readers[to->index] = g->last;
  }
  print_head(u, &p);
  print_state(u, &p);
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) ig_print_code_line(&p, n);
  }
  print_mutations(u, &p);
  print_return(u, &p);
  return ig_print_end(u->c, &s);
}

char *ig_program_module_code(ig_ctx *c, const ig_program *p) {
  if (c->status != IG_OK) return NULL;
  unlift u = {c, p, ig_arena_make(c->alloc), NULL};
  u.names = ig_arena_array(&u.arena, p->graph->next_index, sizeof *u.names);
  const ig_node **readers = u.names ? ig_graph_last_readers(c, p->graph) : NULL;
  char *text = NULL;
  if (readers && rename_state(&u)) text = print_module(&u, readers);
  if (readers) ig_mem_array_free(c->alloc, (void *)readers, p->graph->next_index, sizeof *readers);
  ig_arena_free(&u.arena);
  if (!text && c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory while printing");
  return text;
}
