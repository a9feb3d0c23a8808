// SPDX-License-Identifier: Apache-2.0
// Copies of single nodes from one graph into another.
#include "pass/pass.h"

bool ig_copy_value(const ig_node_copier *k, const ig_value *from, ig_value *to) {
  *to = *from;
  if (from->kind == IG_KIND_NODE) {
    to->node = k->map(k->user, from->node);
    return to->node != NULL;
  }
  if (from->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_scope_array(k->c, from->list.n, sizeof *items);
  to->list.at = items;
  for (size_t i = 0; items && i < from->list.n; i++) {
    if (!ig_copy_value(k, &from->list.at[i], &items[i])) return false;
  }
  return items != NULL;
}

static bool keep(const ig_node_copier *k, const char **text) {
  if (*text) *text = ig_graph_keep_text(k->c, k->to, *text);
  return k->c->status == IG_OK;
}

static bool keep_texts(const ig_node_copier *k, ig_node *proto, const char **keys) {
  for (size_t i = 0; i < proto->nkw; i++) {
    keys[i] = proto->keys[i];
    if (!keep(k, &keys[i])) return false;
  }
  if (!ig_graph_keep_meta(k->c, k->to, &proto->meta, &proto->meta)) return false;
  proto->keys = keys;
  return keep(k, &proto->target) && keep(k, &proto->path) && keep(k, &proto->type_code) &&
         keep(k, &proto->type_text);
}

static void start(ig_node *proto, const ig_node *n) {
  *proto = (ig_node){.kind = n->kind,
                     .callee = n->callee,
                     .arith = n->arith,
                     .effect = n->effect,
                     .bare = n->bare,
                     .listed = n->listed,
                     .given = n->given,
                     .target = n->target,
                     .op = n->op,
                     .hop = n->hop,
                     .host_fn = n->host_fn,
                     .args = n->args,
                     .npos = n->npos,
                     .nkw = n->nkw,
                     .keys = n->keys,
                     .val = n->val,
                     .role = n->role,
                     .persistent = n->persistent,
                     .late = n->late,
                     .path = n->path,
                     .constant = n->constant,
                     .sub = n->sub,
                     .object = n->object,
                     .meta = n->meta,
                     .host_meta = n->host_meta,
                     .type = n->type,
                     .type_code = n->type_code,
                     .type_text = n->type_text};
}

static bool keep_objects(const ig_node_copier *k, const ig_node *n) {
  void *objects[] = {n->host_fn, n->object, n->host_meta};
  for (size_t i = 0; i < 3; i++) {
    if (objects[i] && !ig_graph_keep_object(k->c, k->to, objects[i])) return false;
  }
  return true;
}

static bool give_sub(const ig_node_copier *k, ig_node *proto) {
  ig_graph *there = ig_graph_find_sub(k->to, proto->target);
  if (k->own_subs && there) {
    proto->sub = there;
    return true;
  }
  if (!k->own_subs) return ig_graph_set_sub(k->c, k->to, proto->target, proto->sub);
  ig_graph *copy = ig_graph_copy(k->c, proto->sub);
  bool ok = copy && ig_graph_set_sub(k->c, k->to, proto->target, copy);
  ig_graph_free(copy);  // the graph owns it
  proto->sub = copy;
  return ok;
}

ig_node *ig_copy_node(const ig_node_copier *k, const ig_node *n, ig_node *before, const char *name,
                      void (*change)(ig_node *proto, const void *with), const void *with) {
  ig_node proto;
  ig_node *copy = NULL;
  const char *keys[IG_MAX_KEYS];
  start(&proto, n);
  if (change) change(&proto, with);
  ig_scope s = ig_scope_open(k->c);
  ig_value list = ig_of_list(proto.args, proto.npos + proto.nkw);
  ig_value args;
  if (proto.nkw <= IG_MAX_KEYS && ig_copy_value(k, &list, &args) && keep_texts(k, &proto, keys)) {
    proto.args = args.list.at;
    bool ok = !proto.sub || give_sub(k, &proto);
    if (ok && keep_objects(k, &proto)) copy = ig_graph_insert(k->c, k->to, before, &proto, name);
  }
  ig_scope_close(k->c, s);
  if (!copy) return NULL;
  copy->file = n->file;
  copy->line = n->line;
  copy->meta = proto.meta;
  return copy;
}
