// SPDX-License-Identifier: Apache-2.0
// Modules of a trace. While the program runs, an attribute of the traced module is a node
// prim::TracedAttr with its path, and the call of a module a node prim::TracedModuleForward with a
// block. When it is done, paths become chains of prim::GetAttr in the block that uses them, values
// that cross blocks become arguments and results, and every block a method of the module's class.
#include <stdio.h>
#include <string.h>

#include "script/compile.h"
#include "script/ir_edit.h"
#include "script/ir_pass.h"
#include "script/tracing.h"

static const char attr_kind[] = "prim::TracedAttr";
static const char forward_kind[] = "prim::TracedModuleForward";

static bool no_memory(ig_strace *t) {
  (void)ig_fail(t->c, IG_NOMEM, "out of memory");
  return false;
}

static const char *path_of(const ig_snode *n) {
  return ig_snode_attr(n, "scope")->value.str;
}

static bool set_text(ig_strace *t, ig_snode *n, const char *name, const char *text) {
  ig_sattr *a = ig_snode_add_attr(n, name, IG_SATTR_VALUE);
  const char *kept = a ? ig_arena_strn(&t->g->arena, text, strlen(text)) : NULL;
  if (!kept) return no_memory(t);
  a->value = (ig_value){.kind = IG_KIND_STR, .str = kept};
  return true;
}

// ---- while the program runs

static bool add_attributes(ig_strace *t, const ig_sobj_instance *of, const char *path);

static bool add_attribute(ig_strace *t, const ig_sattribute *a, ig_value v, const char *path) {
  ig_snode *n = ig_strace_node(t, attr_kind, NULL, 0, false);
  ig_svalue *out = n && set_text(t, n, "scope", path) ? ig_snode_add_output(n, a->type) : NULL;
  const char *kept = NULL;
  ig_map_value *slot = out ? ig_map_keep(&t->attributes, &t->g->arena, path, &kept) : NULL;
  if (!slot) return no_memory(t);
  slot->ptr = out;
  if (v.kind == IG_KIND_TENSOR) return ig_strace_set_first(t, v.tensor, out);
  if (v.kind == IG_KIND_NATIVE) {
    return ig_vec_push(t->c->alloc, &t->objects, ((ig_sheld){v.native, out})) || no_memory(t);
  }
  if (!ig_sobj_is(v, IG_SOBJ_INSTANCE)) return true;
  const ig_sobj_instance *inner = v.object;
  if (!inner->cls->module) return true;
  if (!ig_vec_push(t->c->alloc, &t->objects, ((ig_sheld){inner, out}))) return no_memory(t);
  return add_attributes(t, inner, path);
}

static bool add_attributes(ig_strace *t, const ig_sobj_instance *of, const char *path) {
  ig_str s = ig_str_make(t->c->alloc);
  bool ok = true;
  for (size_t i = 0; ok && i < of->cls->attributes.n; i++) {
    const ig_sattribute *a = &of->cls->attributes.at[i];
    s.n = 0;
    ig_str_add(&s, "%s.%s", path, a->name);
    ok = s.failed ? no_memory(t) : add_attribute(t, a, ig_sobj_instance_get(of, i), s.at);
  }
  ig_str_free(&s);
  return ok;
}

bool ig_strace_self(ig_strace *t, ig_sobj_instance *self) {
  if (!ig_strace_is_open(t)) return false;
  t->self = self->cls;
  ig_svalue *v = ig_sblock_add_input(t->g->body, self->cls->type);
  return v && ig_svalue_set_name(t->g, v, "self") && add_attributes(t, self, "__module");
}

ig_svalue *ig_strace_object(const ig_strace *t, const void *object) {
  for (size_t i = 0; i < t->objects.n; i++) {
    if (t->objects.at[i].object == object) return t->objects.at[i].value;
  }
  return NULL;
}

bool ig_strace_has(const ig_strace *t, const char *path) {
  return ig_map_find(&t->attributes, path) != NULL;
}

bool ig_strace_enter(ig_strace *t, const char *path) {
  if (!ig_strace_is_open(t)) return false;
  if (!ig_strace_has(t, path)) {
    ig_fail_text(t->c, IG_RUNTIME, "the traced module has no module at %s", path);
    return false;
  }
  ig_snode *n = ig_strace_node(t, forward_kind, NULL, 0, false);
  ig_sblock *b = n && set_text(t, n, "scope", path) ? ig_snode_add_block(n) : NULL;
  if (!b) return false;
  ig_str s = ig_str_make(t->c->alloc);
  ig_str_add(&s, "%s%s%s", t->scope ? t->scope : "", t->scope ? "/" : "", path);
  t->scope = s.failed ? NULL : ig_arena_strn(&t->g->arena, s.at, s.n);
  ig_str_free(&s);
  t->block = b;
  return t->scope || no_memory(t);
}

void ig_strace_leave(ig_strace *t) {
  const ig_snode *n = t->g ? t->block->node : NULL;
  if (!n) return;
  t->scope = n->scope;
  t->block = n->owner;
}

// ---- attributes

// Is the attribute inside the module at the path?
static bool is_under(const char *attribute, const char *path) {
  size_t n = strlen(path);
  return strncmp(attribute, path, n) == 0 && (attribute[n] == '.' || attribute[n] == '\0');
}

static bool is_attr(const ig_svalue *v) {
  return !v->block && strcmp(v->node->kind, attr_kind) == 0;
}
static bool is_forward(const ig_snode *n) {
  return strcmp(n->kind, forward_kind) == 0;
}

// The module is the first argument of its call.
static bool add_selves(ig_strace *t, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!is_forward(n)) continue;
    const ig_map_value *found = ig_map_find(&t->attributes, path_of(n));
    ig_svalue *self = found ? found->ptr : NULL;
    if (!self) return no_memory(t);
    ig_svalue *in = ig_sblock_add_input(n->blocks[0], self->type);
    if (!in || !ig_svalue_set_name(t->g, in, "self") || !ig_snode_add_input(n, self)) return false;
    if (!add_selves(t, n->blocks[0])) return false;
  }
  return true;
}

typedef IG_VEC(ig_svalue *) values;

static bool add_once(ig_strace *t, values *list, ig_svalue *v) {
  for (size_t i = 0; i < list->n; i++) {
    if (list->at[i] == v) return true;
  }
  return ig_vec_push(t->c->alloc, list, v) || no_memory(t);
}

// Attributes that a block uses, itself or further inside, and that the module at the path has not.
static bool find_foreign(ig_strace *t, const ig_sblock *b, const char *path, values *list) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      if (!is_attr(n->in[i]) || is_under(path_of(n->in[i]->node), path)) continue;
      if (!add_once(t, list, n->in[i])) return false;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!find_foreign(t, n->blocks[i], path, list)) return false;
    }
  }
  return true;
}

// self.fc.weight: one prim::GetAttr per step, at the front of the block.
static ig_svalue *get_attr(ig_strace *t, ig_sblock *b, ig_svalue *self, const char *rest) {
  ig_snode *front = b->first;
  ig_svalue *v = self;
  while (*rest) {
    char name[256];
    rest++;
    size_t n = strcspn(rest, ".");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, rest);
    rest += n;
    const ig_sclass *k = ig_sclass_of(v->type);
    size_t at = k ? ig_sclass_attribute(k, name) : SIZE_MAX;
    ig_snode *node = ig_snode_create(t->g, "prim::GetAttr", &v, 1);
    if (!node || at == SIZE_MAX || !set_text(t, node, "name", name)) {
      (void)no_memory(t);
      return NULL;
    }
    ig_snode_insert(node, b, front);
    v = ig_snode_add_output(node, k->attributes.at[at].type);
    if (!v || !ig_svalue_set_name(t->g, v, name)) return NULL;
  }
  return v;
}

typedef struct scope {
  ig_sblock *block;
  const char *path;
  ig_svalue *self;
  ig_svalue_map local;  // of attributes: what stands for them in this block
} scope;

static bool resolve(ig_strace *t, scope *s, ig_snode *n, size_t i) {
  ig_svalue *v = n->in[i];
  if (!is_attr(v)) return true;
  ig_svalue *known = ig_svalue_map_get(&s->local, v);
  if (!known) {
    known = get_attr(t, s->block, s->self, path_of(v->node) + strlen(s->path));
    if (!known || !ig_svalue_map_put(&s->local, v, known)) return false;
  }
  n->in[i] = known;
  return true;
}

// Attributes from elsewhere are arguments behind self.
static bool pass_foreign(ig_strace *t, scope *s, ig_snode *n) {
  values foreign = {0};
  bool ok = find_foreign(t, n->blocks[0], path_of(n), &foreign);
  for (size_t i = 0; ok && i < foreign.n; i++) {
    ok = ig_snode_add_input(n, foreign.at[i]) && resolve(t, s, n, n->n_in - 1);
  }
  ig_vec_free(t->c->alloc, &foreign);
  return ok;
}

static bool localize(ig_strace *t, scope *s);

static bool localize_inner(ig_strace *t, ig_snode *n) {
  ig_sblock *b = n->blocks[0];
  scope inner = {.block = b, .path = path_of(n), .self = b->in[0]};
  inner.local = ig_svalue_map_make(t->g);
  values foreign = {0};
  bool ok = find_foreign(t, b, inner.path, &foreign);
  for (size_t i = 0; ok && i < foreign.n; i++) {
    ig_svalue *in = ig_sblock_add_input(b, foreign.at[i]->type);
    ok = in && (!foreign.at[i]->name || ig_svalue_set_name(t->g, in, foreign.at[i]->name)) &&
         ig_svalue_map_put(&inner.local, foreign.at[i], in);
  }
  ig_vec_free(t->c->alloc, &foreign);
  return ok && localize(t, &inner);
}

static bool localize(ig_strace *t, scope *s) {
  for (ig_snode *n = s->block->first; n; n = n->next) {
    if (is_forward(n) && !pass_foreign(t, s, n)) return false;
  }
  for (ig_snode *n = s->block->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      if (!resolve(t, s, n, i)) return false;
    }
    if (is_forward(n) && !localize_inner(t, n)) return false;
  }
  for (size_t i = 0; i < s->block->n_out; i++) {
    ig_svalue *v = s->block->out[i];
    if (!is_attr(v)) continue;
    ig_svalue *known = ig_svalue_map_get(&s->local, v);
    if (!known) known = get_attr(t, s->block, s->self, path_of(v->node) + strlen(s->path));
    if (!known) return false;
    s->block->out[i] = known;
  }
  return true;
}

static void remove_attributes(ig_sblock *b) {
  for (ig_snode *n = b->first, *next = NULL; n; n = next) {
    next = n->next;
    if (strcmp(n->kind, attr_kind) == 0) ig_snode_remove(n);
  }
}

// ---- values that leave their block

static bool contains(const ig_sblock *outer, const ig_sblock *b) {
  while (b && b != outer) b = b->node ? b->node->owner : NULL;
  return b != NULL;
}

// A value that a block inside b's surroundings made, as a result of the calls around it.
static ig_svalue *lift(const ig_sblock *b, ig_svalue *v) {
  for (ig_sblock *home = ig_svalue_home(v); !contains(home, b); home = home->node->owner) {
    if (!ig_sblock_add_output(home, v)) return NULL;
    v = ig_snode_add_output(home->node, v->type);
    if (!v) return NULL;
  }
  return v;
}

static bool lift_one(ig_svalue_map *lifted, const ig_sblock *b, ig_svalue **place) {
  ig_svalue *known = ig_svalue_map_get(lifted, *place);
  ig_svalue *v = lift(b, known ? known : *place);
  if (!v) return false;
  if (v != *place && !ig_svalue_map_put(lifted, *place, v)) return false;
  *place = v;
  return true;
}

static bool lift_block(ig_svalue_map *lifted, ig_sblock *b, bool outputs) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      if (!lift_one(lifted, b, &n->in[i])) return false;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!lift_block(lifted, n->blocks[i], false)) return false;
    }
  }
  for (size_t i = 0; outputs && i < b->n_out; i++) {
    if (!lift_one(lifted, b, &b->out[i])) return false;
  }
  return true;
}

// A call has one result: several become a tuple, none is None.
static bool one_result(ig_strace *t, ig_snode *n) {
  ig_sblock *b = n->blocks[0];
  if (b->n_out == 1) return true;
  if (b->n_out == 0) {
    const ig_stype *none = ig_stype_plain(&t->u->types, IG_STYPE_NONE);
    ig_snode *constant = ig_snode_create(t->g, "prim::Constant", NULL, 0);
    ig_svalue *v = constant ? ig_snode_add_output(constant, none) : NULL;
    if (!v) return false;
    ig_snode_insert(constant, b, NULL);
    return ig_sblock_add_output(b, v) && ig_snode_add_output(n, none);
  }
  const ig_stype **types = ig_arena_array(&t->g->arena, b->n_out, sizeof *types);
  if (!types) return no_memory(t);
  for (size_t i = 0; i < b->n_out; i++) types[i] = b->out[i]->type;
  const ig_stype *type = ig_stype_tuple(&t->u->types, types, b->n_out);
  ig_snode *tuple = ig_snode_create(t->g, "prim::TupleConstruct", b->out, b->n_out);
  ig_svalue *made = tuple && type ? ig_snode_add_output(tuple, type) : NULL;
  if (!made) return false;
  ig_snode_insert(tuple, b, NULL);
  while (b->n_out) ig_sblock_remove_output(b, b->n_out - 1);
  ig_svalue *whole = ig_sblock_add_output(b, made) ? ig_snode_add_output(n, type) : NULL;
  ig_snode *parts = whole ? ig_snode_create(t->g, "prim::TupleUnpack", &whole, 1) : NULL;
  if (!parts) return false;
  ig_snode_insert(parts, n->owner, n->next);
  while (n->n_out > 1) {
    size_t i = parts->n_out;
    ig_svalue *part = ig_snode_add_output(parts, types[i]);
    if (!part) return false;
    ig_svalue_replace(t->g->body, n->out[0], part);
    ig_snode_remove_output(n, 0);
  }
  return true;
}

static bool one_result_each(ig_strace *t, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!is_forward(n)) continue;
    if (!one_result_each(t, n->blocks[0]) || !one_result(t, n)) return false;
  }
  return true;
}

// ---- blocks as methods

static bool is_inside(const ig_sgraph *g, const ig_svalue *v) {
  const ig_sblock *home = ig_svalue_home(v);
  return home->graph == g;
}

// What the block uses from outside becomes one more argument, when it is first met.
static bool capture(ig_sgraph *g, ig_svalue_map *m, ig_snode *call, ig_svalue **place) {
  if (is_inside(g, *place)) return true;
  ig_svalue *known = ig_svalue_map_get(m, *place);
  if (!known) {
    known = ig_sblock_add_input(g->body, (*place)->type);
    if (!known || ((*place)->name && !ig_svalue_set_name(g, known, (*place)->name))) return false;
    if (!ig_svalue_map_put(m, *place, known) || !ig_snode_add_input(call, *place)) return false;
  }
  *place = known;
  return true;
}

// The block of a call as a graph of its own.
static ig_sgraph *graph_of_block(ig_strace *t, ig_snode *call) {
  const ig_sblock *b = call->blocks[0];
  ig_sgraph *g = ig_sgraph_create(&t->u->types);
  if (!g) return NULL;
  ig_svalue_map m = ig_svalue_map_make(g);
  bool ok = true;
  for (size_t i = 0; ok && i < b->n_in; i++) {
    ig_svalue *v = ig_sblock_add_input(g->body, b->in[i]->type);
    ok = v && (!b->in[i]->name || ig_svalue_set_name(g, v, b->in[i]->name)) &&
         ig_svalue_map_put(&m, b->in[i], v);
  }
  for (const ig_snode *n = b->first; ok && n; n = n->next) {
    ig_snode *copy = ig_snode_copy(&m, n, g->body, NULL, true);
    ok = copy != NULL;
    for (size_t i = 0; ok && i < copy->n_in; i++) ok = capture(g, &m, call, &copy->in[i]);
  }
  for (size_t i = 0; ok && i < b->n_out; i++) {
    ig_svalue *known = ig_svalue_map_get(&m, b->out[i]);
    ig_svalue *v = known ? known : b->out[i];
    ok = capture(g, &m, call, &v) && ig_sblock_add_output(g->body, v);
  }
  if (ok) return g;
  ig_sgraph_free(g);
  return NULL;
}

static ig_sfunction *add_method(ig_strace *t, ig_sclass *k, ig_sgraph *g) {
  char name[32] = "forward";
  char qualified[512];
  for (size_t i = 1; ig_sclass_method(k, name); i++) {
    (void)snprintf(name, sizeof name, "forward%zu", i);
  }
  (void)snprintf(qualified, sizeof qualified, "%s.%s", k->type->name, name);
  return ig_strace_function(t->u, k, name, qualified, g);
}

static bool clean(ig_strace *t, ig_sgraph *g) {
  return ig_sgraph_lower_tuples(g) && ig_sgraph_remove_dead(t->u, g) && ig_sgraph_lint(g);
}

// The call as a call of the method.
static bool call_method(ig_strace *t, ig_snode *n, const ig_sfunction *f) {
  ig_sgraph *g = n->owner->graph;
  ig_snode *call = ig_snode_create(g, "prim::CallMethod", n->in, n->n_in);
  ig_sattr *name = call ? ig_snode_add_attr(call, "name", IG_SATTR_VALUE) : NULL;
  if (!name) return no_memory(t);
  const char *text = ig_arena_strn(&g->arena, f->name, strlen(f->name));
  if (!text) return no_memory(t);
  name->value = (ig_value){.kind = IG_KIND_STR, .str = text};
  ig_snode_insert(call, n->owner, n);
  ig_svalue *out = ig_snode_add_output(call, f->result);
  if (!out) return false;
  ig_svalue_replace(g->body, n->out[0], out);
  ig_snode_remove(n);
  return true;
}

// The graph of a call whose block is gone.
static ig_sgraph **graph_of_call(const ig_strace *t, const ig_snode *n) {
  return &t->graphs.at[ig_snode_attr(n, "graph")->value.i.value];
}

static bool keep_graph(ig_strace *t, ig_snode *n, ig_sgraph *g) {
  ig_sattr *a = (ig_sattr *)ig_snode_attr(n, "graph");
  if (!a) a = ig_snode_add_attr(n, "graph", IG_SATTR_VALUE);
  if (!a || !ig_vec_push(t->c->alloc, &t->graphs, g)) {
    ig_sgraph_free(g);
    return no_memory(t);
  }
  a->value = ig_of_i64((int64_t)t->graphs.n - 1);
  return true;
}

// Every block becomes a graph, the inner ones first. A graph inside of a block that becomes one is
// copied with it, and so numbered anew.
static bool split_blocks(ig_strace *t, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!is_forward(n)) continue;
    if (!split_blocks(t, n->blocks[0])) return false;
    ig_sgraph *g = graph_of_block(t, n);
    if (!g || !keep_graph(t, n, g)) return false;
    n->n_blocks = 0;
    for (ig_snode *k = g->body->first; k; k = k->next) {
      ig_sgraph *copy = is_forward(k) ? ig_sgraph_copy(*graph_of_call(t, k)) : NULL;
      if (is_forward(k) && (!copy || !keep_graph(t, k, copy))) return false;
    }
  }
  return true;
}

// Methods of the modules that are called; those that they call come first.
static bool make_methods(ig_strace *t, ig_sblock *b) {
  for (ig_snode *n = b->first, *next = NULL; n; n = next) {
    next = n->next;
    if (!is_forward(n)) continue;
    ig_sclass *k = ig_sclass_of(n->in[0]->type);
    ig_sgraph **at = graph_of_call(t, n);
    ig_sgraph *g = *at;
    if (!k || !make_methods(t, g->body) || !clean(t, g)) return false;
    *graph_of_call(t, n) = NULL;
    const ig_sfunction *f = add_method(t, k, g);
    if (!f || !call_method(t, n, f)) return false;
  }
  return true;
}

bool ig_strace_lower_scopes(ig_strace *t) {
  ig_sblock *body = t->g->body;
  if (t->self) {
    if (!add_selves(t, body)) return false;
    scope top = {.block = body, .path = "__module", .self = body->in[0]};
    top.local = ig_svalue_map_make(t->g);
    if (!localize(t, &top)) return false;
    remove_attributes(body);
  }
  ig_svalue_map lifted = ig_svalue_map_make(t->g);
  if (!lift_block(&lifted, body, true) || !one_result_each(t, body)) return false;
  return split_blocks(t, body) && make_methods(t, body) && clean(t, t->g);
}
