// SPDX-License-Identifier: Apache-2.0
// Reads sizes of inputs first. A capture reads a size where it is first needed, from whatever
// tensor has it; a training program reads each symbol once, from the first input that has it, right
// after the inputs. Name suffixes are not reused, so that the removed nodes leave gaps.
#include <string.h>

#include "ingot/pass.h"
#include "ir/program.h"
#include "pass/pass.h"

typedef struct hoist {
  ig_ctx *c;
  ig_graph *g;
  ig_node *before;  // first node that is not a placeholder
  ig_table read;    // symbol -> node that reads it
} hoist;

static bool read_size(hoist *h, ig_node *input, int dim) {
  const ig_expr *e = ig_sizes(input->val.tensor)[dim].expr;
  if (!e || e->kind != IG_EXPR_SYMBOL) return true;
  ig_table_slot *slot = ig_table_put(&h->read, e);
  if (!slot) return ig_no_memory(h->c);
  if (slot->value) return true;
  ig_value args[] = {ig_of_node(input), ig_of_i64(dim)};
  ig_value val;
  ig_value_of_expr(e, &val);
  ig_node proto = ig_size_call(args, &val);
  proto.meta.modules = ig_graph_keep_levels(h->c, h->g, &ig_no_module, 1);
  proto.meta.text[IG_META_TORCH_FN] =
      ig_graph_keep_text(h->c, h->g, "sym_size.int_0;OpOverload.sym_size.int");
  slot->value = ig_graph_insert(h->c, h->g, h->before, &proto, "sym_size_int");
  return slot->value != NULL;
}

static bool is_size(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_SIZE && n->val.kind == IG_KIND_INT &&
         n->val.i.expr;
}

static bool run(hoist *h) {
  ig_node *n = h->g->first;
  bool any = false;
  for (const ig_node *k = n; k && !any; k = k->next) any = is_size(k);
  if (!any) return true;  // unused
  while (h->before && h->before->kind == IG_NODE_PLACEHOLDER) h->before = h->before->next;
  for (; n != h->before; n = n->next) {
    bool tensor = n->kind == IG_NODE_PLACEHOLDER && n->val.kind == IG_KIND_TENSOR;
    for (int d = 0; tensor && d < n->val.tensor->ndim; d++) {
      if (!read_size(h, n, d)) return false;
    }
  }
  for (n = h->before; n; n = n->next) {
    const ig_table_slot *slot = is_size(n) ? ig_table_find(&h->read, n->val.i.expr) : NULL;
    if (slot && !ig_graph_replace(h->c, h->g, n, slot->value)) return false;
  }
  (void)ig_graph_dce(h->g);
  return true;
}

void ig_program_follow_outputs(ig_program *p) {
  const ig_node *out = p->graph->last;
  for (size_t i = 0; i < p->noutputs; i++) {
    ig_output_spec *o = &p->outputs[i];
    if (o->value.kind != IG_KIND_NODE) continue;
    o->value = out->args[i];
    o->name = o->value.node->name;
  }
}

bool ig_program_read_sizes_first(ig_ctx *c, ig_program *p) {
  hoist h = {c, p->graph, p->graph->first, ig_table_make(c->alloc)};
  p->graph->meta = (ig_metadata){.modules = NULL};  // what the last call of the capture left
  bool ok = run(&h);
  ig_table_free(&h.read);
  if (ok) ig_program_follow_outputs(p);  // a size that is an output has another reader
  return ok;
}
