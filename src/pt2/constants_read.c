// SPDX-License-Identifier: Apache-2.0
// Tensors that PyTorch 2.1 stored in the text of a graph: each a torch.save file in base64, under
// its attribute's name. Those of the whole program become inputs, as since 2.2.
#include <string.h>

#include "arrays/torch_file.h"
#include "codec/base64.h"
#include "pt2/reader.h"

static ig_tensor *decode(ig_pt2_reader *r, const ig_json_member *m) {
  ig_bytes bytes = {0};
  bool memory = false;
  ig_object *found = NULL;
  const ig_json *v = &m->value;
  if (v->kind != IG_JSON_STRING || strlen(m->key) != m->key_n || !ig_pt2_name_is_plain(m->key) ||
      !ig_base64_decode(r->source->arena, v->text, v->n, &bytes, &memory)) {
    if (memory) (void)ig_pt2_no_memory(r);
    (void)ig_pt2_fail(&r->in, v, IG_SYNTAX, "constant '%.100s' is not a tensor in base64", m->key);
    return NULL;
  }
  if (ig_torch_parse(r->c, m->key, bytes, NULL, r->source->limits, &found) != IG_OK) return NULL;
  ig_tensor *t = ig_object_tensor(found);
  if (!t) (void)ig_pt2_fail(&r->in, v, IG_SYNTAX, "constant '%.100s' is not a tensor", m->key);
  if (t && !ig_pool_add(r->c, &ig_tensor_retain(t)->ref)) t = NULL;
  ig_object_free(found);
  return t;
}

ig_status ig_pt2_read_constants(ig_pt2_reader *r, const ig_json *graph, bool top) {
  const ig_json *list = r->in.major <= 2 ? ig_json_find(graph, "constants") : NULL;
  ig_graph *g = r->scope->g;
  for (size_t i = 0; list && list->kind == IG_JSON_OBJECT && i < list->n; i++) {
    const ig_json_member *m = &list->members[i];
    ig_tensor *t = decode(r, m);
    ig_tensor *fake = t ? ig_tensor_fake(r->c, t) : NULL;
    if (!fake) return ig_ctx_status(r->c);
    fake->node = NULL;
    ig_node proto = {.kind = IG_NODE_ATTR,
                     .target = ig_graph_keep_text(r->c, g, m->key),
                     .constant = t,
                     .val = ig_of_tensor(fake)};
    IG_RETURN_IF_ERR(ig_pt2_define(r, &m->value, m->key, ig_pt2_push(r, &proto, m->key)));
    ig_state s = {IG_STATE_CONSTANT, proto.target, t, true};
    if (!top) continue;
    if (!s.name || !ig_vec_push(g->alloc, &g->state, s)) return ig_pt2_no_memory(r);
    (void)ig_tensor_retain(t);
  }
  return ig_ctx_status(r->c);
}
