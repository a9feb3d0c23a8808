// SPDX-License-Identifier: Apache-2.0
#include "script/freeze.h"

#include <string.h>

#include "ingot/grad.h"
#include "script/alias.h"
#include "script/compile.h"
#include "script/ir_pass.h"
#include "script/passes.h"
#include "tensor/tensor.h"

// A module that is reached from the root, and what becomes of its attributes.
typedef struct member {
  const ig_sobj_instance *object;
  char *path;        // "self.fc."
  bool *written;     // by attribute
  bool *kept;        // still read or written after freezing
  ig_svalue **made;  // constants in the graph at hand; NULL: none
  ig_sclass *cls;    // its class after freezing; NULL: it is gone
  ig_sobj_instance *frozen;
} member;

// A tensor and its constant in the graph at hand.
typedef struct literal {
  const ig_tensor *tensor;
  ig_svalue *made;
} literal;

typedef struct freezer {
  ig_ctx *c;
  ig_sunit *u;
  const ig_sfreeze *how;
  ig_arena arena;
  IG_VEC(member *) members;
  IG_VEC(ig_sfunction *) methods;
  IG_VEC(ig_sgraph *) graphs;
  IG_VEC(ig_value) mutated;  // values of written attributes, borrowed
  IG_VEC(literal) literals;
} freezer;

static bool no_memory(freezer *f) {
  (void)ig_fail(f->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- modules that are reached

static member *find_member(freezer *f, const ig_sobj_instance *o, const char *path) {
  for (size_t i = 0; i < f->members.n; i++) {
    if (f->members.at[i]->object == o) return f->members.at[i];
  }
  size_t n = o->cls->attributes.n;
  member *m = ig_arena_push(&f->arena, sizeof *m);
  if (!m) {
    (void)no_memory(f);
    return NULL;
  }
  *m = (member){.object = o, .path = ig_arena_strn(&f->arena, path, strlen(path))};
  m->written = ig_arena_array(&f->arena, n + 1, sizeof *m->written);
  m->kept = ig_arena_array(&f->arena, n + 1, sizeof *m->kept);
  m->made = ig_arena_array(&f->arena, n + 1, sizeof(ig_svalue *));
  bool ok = m->path && m->written && m->kept && m->made;
  if (ok && ig_vec_push(f->c->alloc, &f->members, m)) return m;
  (void)no_memory(f);
  return NULL;
}

static const ig_sobj_instance *module_of(ig_value v) {
  const ig_sobj_instance *o = ig_sobj_is(v, IG_SOBJ_INSTANCE) ? v.object : NULL;
  return o && o->cls->module ? o : NULL;
}

// The module that a value of the graph stands for: self, or an attribute of such a value. NULL
// without an error: it is not known.
static member *member_of(freezer *f, const ig_svalue *v) {
  const ig_sgraph *g = v->block ? v->block->graph : v->node->owner->graph;
  if (v->block) {
    bool self = v->block == g->body && g->body->n_in && g->body->in[0] == v;
    return self ? f->members.at[0] : NULL;
  }
  if (ig_sform_of(v->node) != IG_SFORM_GET_ATTR) return NULL;
  const member *parent = member_of(f, v->node->in[0]);
  const char *name = ig_snode_attr(v->node, "name")->value.str;
  size_t i = parent ? ig_sclass_attribute(parent->object->cls, name) : SIZE_MAX;
  if (i == SIZE_MAX || i >= parent->object->n) return NULL;
  const ig_sobj_instance *o = module_of(parent->object->at[i]);
  if (!o) return NULL;
  ig_str path = ig_str_make(f->c->alloc);
  ig_str_add(&path, "%s%s.", parent->path, name);
  member *m = path.failed ? NULL : find_member(f, o, path.at);
  if (path.failed) (void)no_memory(f);
  ig_str_free(&path);
  return m;
}

static size_t attribute_of(const member *m, const ig_snode *n) {
  size_t i = ig_sclass_attribute(m->object->cls, ig_snode_attr(n, "name")->value.str);
  return i < m->object->n ? i : SIZE_MAX;
}

// ---- attributes that are written

static bool shares(ig_value a, ig_value b) {
  if (a.kind == IG_KIND_TENSOR && b.kind == IG_KIND_TENSOR) {
    return a.tensor->storage == b.tensor->storage;
  }
  return a.kind == IG_KIND_OBJECT && b.kind == IG_KIND_OBJECT && a.object == b.object;
}

static bool mark_written(freezer *f, member *m, size_t i) {
  if (m->written[i]) return true;
  m->written[i] = true;
  return ig_vec_push(f->c->alloc, &f->mutated, m->object->at[i]) || no_memory(f);
}

static bool record_block(freezer *f, const ig_saliases *a, const unsigned char *written,
                         ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    ig_sform form = ig_sform_of(n);
    bool reads = form == IG_SFORM_GET_ATTR;
    bool sets = form == IG_SFORM_SET_ATTR;
    member *m = reads || sets ? member_of(f, n->in[0]) : NULL;
    size_t i = m ? attribute_of(m, n) : SIZE_MAX;
    uint32_t class = reads ? ig_saliases_class(a, n->out[0]) : IG_SALIAS_NONE;
    bool changed = sets || (class != IG_SALIAS_NONE && written[class]);
    if (i != SIZE_MAX && changed && !mark_written(f, m, i)) return false;
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (!record_block(f, a, written, n->blocks[k])) return false;
    }
  }
  return f->c->status == IG_OK;
}

static bool record_writes(freezer *f, ig_sgraph *g) {
  ig_saliases *a = ig_saliases_create(f->u, g, true);
  if (!a) return false;
  size_t n = ig_saliases_count(a);
  unsigned char *written = ig_mem_array(f->c->alloc, n, 1);
  size_t n_writes = 0;
  const ig_swrite *writes = ig_saliases_writes(a, &n_writes);
  for (size_t i = 0; written && i < n_writes; i++) written[writes[i].at] = 1;
  bool ok = written ? record_block(f, a, written, g->body) : no_memory(f);
  ig_mem_array_free(f->c->alloc, written, n, 1);
  ig_saliases_free(a);
  return ok;
}

static bool is_preserved(const freezer *f, const member *m, const char *name) {
  bool root = f->members.at[0] == m;
  for (size_t i = 0; i < f->how->n_preserved; i++) {
    const char *kept = f->how->preserved[i];
    if (root && strcmp(kept, name) == 0) return true;
    // "sub.attr" of a module inside
    size_t length = strlen(m->path) - strlen("self.");
    bool inside = !root && strncmp(kept, m->path + strlen("self."), length) == 0;
    if (inside && strcmp(kept + length, name) == 0) return true;
  }
  return false;
}

static bool stays(const freezer *f, const member *m, size_t i) {
  if (m->written[i] || is_preserved(f, m, m->object->cls->attributes.at[i].name)) return true;
  for (size_t k = 0; k < f->mutated.n; k++) {
    if (shares(f->mutated.at[k], m->object->at[i])) return true;
  }
  return false;
}

// ---- constants

// The constant of a tensor that two modules share is one.
static ig_svalue *known_literal(const freezer *f, ig_value v) {
  for (size_t i = 0; v.kind == IG_KIND_TENSOR && i < f->literals.n; i++) {
    if (f->literals.at[i].tensor == v.tensor) return f->literals.at[i].made;
  }
  return NULL;
}

// The value with tensors that need no gradient, a new reference; none after an error. Lists are
// copied only where they hold one that does.
static ig_value untracked(freezer *f, ig_value v) {
  if (v.kind == IG_KIND_TENSOR && ig_tensor_requires_grad(v.tensor)) {
    v = ig_of_tensor(ig_tensor_detach(f->c, v.tensor));
  }
  const ig_sobj_seq *from =
      ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE) ? v.object : NULL;
  bool tracked = false;
  for (size_t i = 0; from && i < from->n; i++) {
    ig_value item = from->at[i];
    tracked |= item.kind == IG_KIND_TENSOR && ig_tensor_requires_grad(item.tensor);
  }
  if (!tracked) {
    ig_svalue_retain(v);
    return v;
  }
  ig_sobj_seq *made = ig_sobj_seq_make(f->c, from->head.kind, from->head.type, NULL, from->n);
  for (size_t i = 0; made && i < from->n; i++) made->at[i] = untracked(f, from->at[i]);
  return made ? ig_of_sobj(made) : ig_none();
}

// NULL without an error: the value is no constant of a graph.
static ig_svalue *make_literal(freezer *f, ig_snode *front, const member *m, size_t i,
                               const ig_stype *type) {
  ig_value v = m->object->at[i];
  ig_svalue *made = known_literal(f, v);
  if (made) return made;
  bool tensor = v.kind == IG_KIND_TENSOR;
  ig_value plain = untracked(f, v);
  if (f->c->status == IG_OK) made = ig_sbuild_literal(front->owner, front, plain, type);
  ig_svalue_release(plain);
  if (!made) return NULL;
  ig_str name = ig_str_make(f->c->alloc);
  ig_str_add(&name, "%s%s", m->path, m->object->cls->attributes.at[i].name);
  bool ok = !name.failed && ig_svalue_set_name(front->owner->graph, made, name.at);
  ig_str_free(&name);
  literal known = {tensor ? v.tensor : NULL, made};
  if (ok && tensor) ok = ig_vec_push(f->c->alloc, &f->literals, known);
  if (ok) return made;
  (void)no_memory(f);
  return NULL;
}

static bool replace_attribute(freezer *f, ig_snode *n, ig_snode *front) {
  member *m = member_of(f, n->in[0]);
  size_t i = m ? attribute_of(m, n) : SIZE_MAX;
  if (i == SIZE_MAX) return f->c->status == IG_OK;
  if (module_of(m->object->at[i]) || stays(f, m, i)) return true;
  if (!m->made[i]) m->made[i] = make_literal(f, front, m, i, n->out[0]->type);
  if (!m->made[i]) return f->c->status == IG_OK;
  ig_sbuild_replace(n->out[0], m->made[i]);
  ig_snode_remove(n);
  return true;
}

static bool replace_block(freezer *f, ig_sblock *b, ig_snode *front) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!replace_block(f, n->blocks[i], front)) return false;
    }
    if (ig_sform_of(n) == IG_SFORM_GET_ATTR && n != front && !replace_attribute(f, n, front)) {
      return false;
    }
  }
  return true;
}

static bool replace_attributes(freezer *f, ig_sgraph *g) {
  for (size_t i = 0; i < f->members.n; i++) {
    member *m = f->members.at[i];
    memset(m->made, 0, ig_mem_mul(m->object->cls->attributes.n, sizeof(ig_svalue *)));
  }
  f->literals.n = 0;
  // Constants stand in front of a node that stays while the others are walked over.
  ig_snode *front =
      ig_sbuild_node(g->body, g->body->first, ig_sform_kind(IG_SFORM_TUPLE_CONSTRUCT), NULL, 0);
  bool ok = front && replace_block(f, g->body, front);
  if (front) ig_snode_remove(front);
  ig_sbuild_settle(g);
  return ok;
}

static bool optimize(freezer *f, ig_sgraph *g) {
  ig_sunit *u = f->u;
  bool unrolled = false;
  bool ok = ig_sgraph_remove_dead(u, g) && ig_sgraph_merge_equal(u, g) &&
            ig_sgraph_fold_ranks(u, g) && ig_sgraph_simplify(u, g) && ig_sgraph_fold_all(u, g) &&
            ig_sgraph_pool_constants(g) && ig_sgraph_unroll_loops(g, &unrolled);
  if (ok && unrolled) {
    ok = ig_sgraph_simplify(u, g) && ig_sgraph_fold_all(u, g) && ig_sgraph_pool_constants(g);
  }
  return ok && ig_sgraph_merge_equal(u, g) && ig_sgraph_forward_tuples(g) &&
         ig_sgraph_remove_dead(u, g);
}

// ---- the new module

static bool note_kept(freezer *f, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    ig_sform form = ig_sform_of(n);
    bool uses = form == IG_SFORM_GET_ATTR || form == IG_SFORM_SET_ATTR;
    member *m = uses ? member_of(f, n->in[0]) : NULL;
    size_t i = m ? attribute_of(m, n) : SIZE_MAX;
    if (i != SIZE_MAX) m->kept[i] = true;
    if (f->c->status != IG_OK) return false;
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (!note_kept(f, n->blocks[k])) return false;
    }
  }
  return true;
}

static member *known_member(const freezer *f, const ig_sobj_instance *o) {
  for (size_t i = 0; o && i < f->members.n; i++) {
    if (f->members.at[i]->object == o) return f->members.at[i];
  }
  return NULL;
}

// The class with the attributes that are left, and an object of it that shares their values.
static bool make_frozen(freezer *f, member *m) {
  const ig_sclass *old = m->object->cls;
  if (m->frozen) return true;
  const char *name = ig_sunit_mangle(f->u, old->type->name);
  m->cls = name ? ig_sunit_add_class(f->u, name, true) : NULL;
  if (!m->cls) return false;
  m->cls->container = old->container;
  for (size_t i = 0; i < old->attributes.n; i++) {
    const ig_sattribute *a = &old->attributes.at[i];
    if (!m->kept[i] && !is_preserved(f, m, a->name)) continue;
    member *inner = known_member(f, module_of(m->object->at[i]));
    if (inner && !make_frozen(f, inner)) return false;
    const ig_stype *type = inner ? inner->cls->type : a->type;
    if (ig_sclass_add_attribute(m->cls, a->name, type, a->role) == SIZE_MAX) return false;
  }
  m->frozen = ig_sobj_instance_make(f->c, m->cls);
  if (!m->frozen) return false;
  for (size_t i = 0; i < old->attributes.n; i++) {
    size_t to = ig_sclass_attribute(m->cls, old->attributes.at[i].name);
    if (to == SIZE_MAX) continue;
    member *inner = known_member(f, module_of(m->object->at[i]));
    ig_value v = inner ? ig_of_sobj(inner->frozen) : m->object->at[i];
    if (!ig_sobj_instance_set(f->c, m->frozen, to, v)) return false;
  }
  return true;
}

static bool retype(freezer *f, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    member *m = ig_sform_of(n) == IG_SFORM_GET_ATTR ? member_of(f, n->out[0]) : NULL;
    if (m && m->cls) n->out[0]->type = m->cls->type;
    if (f->c->status != IG_OK) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!retype(f, n->blocks[i])) return false;
    }
  }
  return true;
}

static bool add_method(freezer *f, ig_sgraph *g, const ig_sfunction *old) {
  member *root = f->members.at[0];
  ig_sclass *cls = root->cls;
  if (!retype(f, g->body)) return false;
  g->body->in[0]->type = cls->type;
  ig_str name = ig_str_make(f->c->alloc);
  ig_str_add(&name, "%s.%s", cls->type->name, old->name);
  ig_sfunction *m = name.failed ? NULL : ig_sunit_add_function(f->u, cls, old->name, name.at);
  ig_str_free(&name);
  if (!m) return false;
  m->params = ig_arena_array(&f->u->arena, old->n_params + 1, sizeof *m->params);
  if (!m->params) return no_memory(f);
  for (size_t i = 0; i < old->n_params; i++) {
    m->params[i] = old->params[i];
    if (i == 0) m->params[i].type = cls->type;
    if (m->params[i].has_default) ig_svalue_retain(m->params[i].def);
  }
  m->n_params = old->n_params;
  m->result = old->result;
  m->graph = g;
  return true;
}

// ---- entry point

static bool choose_method(freezer *f, ig_sclass *cls, const char *name) {
  ig_sfunction *method = ig_sclass_method(cls, name);
  if (!method) return true;
  if (!ig_sfunction_ensure(f->c, method)) return false;
  ig_sgraph *g = method->graph ? ig_sgraph_copy(method->graph) : NULL;
  if (!g) return ig_fail(f->c, IG_UNSUPPORTED, "%s: it has no graph", method->qualified) == IG_OK;
  if (!ig_vec_push(f->c->alloc, &f->graphs, g)) {
    ig_sgraph_free(g);
    return no_memory(f);
  }
  bool ok = ig_vec_push(f->c->alloc, &f->methods, method) || no_memory(f);
  return ok && ig_sgraph_inline(f->c, f->u, g);
}

static bool choose_methods(freezer *f, ig_sclass *cls) {
  if (!choose_method(f, cls, "forward")) return false;
  for (size_t i = 0; i < f->how->n_preserved; i++) {
    const char *name = f->how->preserved[i];
    bool known = ig_sclass_method(cls, name) || ig_sclass_attribute(cls, name) != SIZE_MAX ||
                 strchr(name, '.');
    if (!known) {
      ig_fail_text(f->c, IG_INVALID, "Unknown name: %s", name);
      return false;
    }
    if (strcmp(name, "forward") != 0 && !choose_method(f, cls, name)) return false;
  }
  return true;
}

static ig_sobj_instance *freeze(freezer *f, const ig_sobj_instance *module) {
  if (!find_member(f, module, "self.") || !choose_methods(f, module->cls)) return NULL;
  for (size_t i = 0; i < f->graphs.n; i++) {
    if (!record_writes(f, f->graphs.at[i])) return NULL;
  }
  for (size_t i = 0; i < f->graphs.n; i++) {
    if (!replace_attributes(f, f->graphs.at[i]) || !optimize(f, f->graphs.at[i])) return NULL;
  }
  for (size_t i = 0; i < f->graphs.n; i++) {
    if (!note_kept(f, f->graphs.at[i]->body)) return NULL;
  }
  member *root = f->members.at[0];
  if (!make_frozen(f, root)) return NULL;
  for (size_t i = 0; i < f->graphs.n; i++) {
    ig_sgraph *g = f->graphs.at[i];
    f->graphs.at[i] = NULL;  // its method has it
    if (add_method(f, g, f->methods.at[i])) continue;
    ig_sgraph_free(g);
    return NULL;
  }
  ig_svalue_retain(ig_of_sobj(root->frozen));
  return root->frozen;
}

ig_sobj_instance *ig_script_freeze(ig_ctx *c, ig_sobj_instance *module, const ig_sfreeze *how) {
  freezer f = {.c = c, .u = module->cls->unit, .how = how, .arena = ig_arena_make(c->alloc)};
  ig_sobj_instance *frozen = freeze(&f, module);
  for (size_t i = 0; i < f.graphs.n; i++) ig_sgraph_free(f.graphs.at[i]);
  for (size_t i = 0; i < f.members.n; i++) {
    if (f.members.at[i]->frozen) ig_svalue_release(ig_of_sobj(f.members.at[i]->frozen));
  }
  ig_vec_free(c->alloc, &f.members);
  ig_vec_free(c->alloc, &f.methods);
  ig_vec_free(c->alloc, &f.graphs);
  ig_vec_free(c->alloc, &f.mutated);
  ig_vec_free(c->alloc, &f.literals);
  ig_arena_free(&f.arena);
  return frozen;
}
