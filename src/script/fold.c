// SPDX-License-Identifier: Apache-2.0
// Constants: operators whose operands are known are computed while compiling, conditions that are
// known choose their branch, and equal constants become one at the front of the graph.
//
// Only values that cannot be changed are computed: numbers, texts, None, and tuples of them. Lists,
// dicts and tensors have identity.
#include <string.h>

#include "script/alias.h"
#include "script/code.h"
#include "script/compile.h"
#include "script/interp.h"
#include "script/operator.h"
#include "script/passes.h"
#include "script/tensor_text.h"

typedef struct folder {
  ig_sunit *u;
  ig_sgraph *g;
  ig_saliases *aliases;          // NULL: only values that cannot be changed are computed
  const unsigned char *written;  // classes
  bool changed;
} folder;

static bool fold_block(folder *f, ig_sblock *b);

// ---- constants as values at run time, and back

static bool to_register(ig_ctx *c, const ig_value *v, const ig_stype *type, ig_value *out);

static void release_all(ig_value *at, size_t n) {
  for (size_t i = 0; i < n; i++) ig_svalue_release(at[i]);
}

static bool tuple_to_register(ig_ctx *c, const ig_value *v, const ig_stype *type, ig_value *out) {
  size_t n = v->list.n;
  if (v->seq != IG_SEQ_TUPLE || type->kind != IG_STYPE_TUPLE || type->n != n) return false;
  ig_value *items = ig_mem_array(c->alloc, n + 1, sizeof *items);
  if (!items) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  size_t made = 0;
  while (made < n && to_register(c, &v->list.at[made], type->at[made], &items[made])) made++;
  ig_sobj_seq *tuple = made == n ? ig_sobj_seq_make(c, IG_SOBJ_TUPLE, type, items, n) : NULL;
  *out = tuple ? ig_of_sobj(tuple) : ig_none();
  release_all(items, made);
  ig_mem_array_free(c->alloc, items, n + 1, sizeof *items);
  return tuple != NULL;
}

// The value of a constant as the interpreter has it: a new reference. False without an error: it
// has no such form.
static bool to_register(ig_ctx *c, const ig_value *v, const ig_stype *type, ig_value *out) {
  *out = *v;
  if (v->kind == IG_KIND_STR) {
    ig_sobj_str *text = ig_sobj_str_make(c, v->str, strlen(v->str));
    *out = text ? ig_of_sobj(text) : ig_none();
    return text != NULL;
  }
  if (v->kind == IG_KIND_OBJECT) {
    ig_svalue_retain(*v);
    return true;
  }
  if (v->kind == IG_KIND_LIST) return tuple_to_register(c, v, type, out);
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL ||
         v->kind == IG_KIND_COMPLEX || v->kind == IG_KIND_NONE || v->kind == IG_KIND_DEVICE;
}

static const ig_stype *to_literal(ig_sgraph *g, ig_value v, const ig_stype *declared,
                                  ig_value *out);

static ig_value *items_to_literals(ig_sgraph *g, const ig_sobj_seq *from,
                                   const ig_stype *const *declared, size_t stride,
                                   const ig_stype **types) {
  ig_value *at = ig_arena_array(&g->arena, from->n + 1, sizeof *at);
  if (!at) (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; at && i < from->n; i++) {
    types[i] = to_literal(g, from->at[i], declared[i * stride], &at[i]);
    if (!types[i]) return NULL;
    if (at[i].kind == IG_KIND_NONE) types[i] = ig_stype_plain(g->types, IG_STYPE_NONE);
  }
  return at;
}

static const ig_stype *tuple_to_literal(ig_sgraph *g, const ig_sobj_seq *tuple,
                                        const ig_stype *declared, ig_value *out) {
  if (declared->kind != IG_STYPE_TUPLE || tuple->n != declared->n) return NULL;
  const ig_stype **types = ig_arena_array(&g->arena, tuple->n + 1, sizeof *types);
  ig_value *at = types ? items_to_literals(g, tuple, declared->at, 1, types) : NULL;
  if (!at) return NULL;
  *out = ig_of_tuple(at, tuple->n);
  return declared->names ? declared : ig_stype_tuple(g->types, types, tuple->n);
}

static const ig_stype *list_to_literal(ig_sgraph *g, const ig_sobj_seq *list,
                                       const ig_stype *declared, ig_value *out) {
  if (declared->kind != IG_STYPE_LIST) return NULL;
  const ig_stype **types = ig_arena_array(&g->arena, list->n + 1, sizeof *types);
  ig_value *at = types ? items_to_literals(g, list, declared->at, 0, types) : NULL;
  if (!at) return NULL;
  *out = ig_of_list(at, list->n);
  return declared;
}

// A value of the interpreter as a constant of the graph, with its own type. NULL without an error:
// it cannot be one.
static const ig_stype *to_literal(ig_sgraph *g, ig_value v, const ig_stype *declared,
                                  ig_value *out) {
  static const ig_stype_kind plain[IG_KIND_COUNT] = {
      [IG_KIND_INT] = IG_STYPE_INT,       [IG_KIND_FLOAT] = IG_STYPE_FLOAT,
      [IG_KIND_BOOL] = IG_STYPE_BOOL,     [IG_KIND_COMPLEX] = IG_STYPE_COMPLEX,
      [IG_KIND_DEVICE] = IG_STYPE_DEVICE,
  };
  *out = v;
  if (v.kind == IG_KIND_NONE) return declared;
  if (plain[v.kind]) return ig_stype_plain(g->types, plain[v.kind]);
  if (ig_sobj_is(v, IG_SOBJ_STR)) {
    const ig_sobj_str *text = v.object;
    if (strlen(text->text) != text->n) return NULL;
    *out = ig_of_str(ig_arena_strn(&g->arena, text->text, text->n));
    if (!out->str) (void)ig_fail(g->c, IG_NOMEM, "out of memory");
    return out->str ? ig_stype_plain(g->types, IG_STYPE_STR) : NULL;
  }
  if (v.kind == IG_KIND_TENSOR) {
    out->tensor = ig_sgraph_keep(g, v.tensor);
    return out->tensor ? ig_stype_of_tensor(g->types, v.tensor) : NULL;
  }
  if (ig_sobj_is(v, IG_SOBJ_LIST)) return list_to_literal(g, v.object, declared, out);
  if (ig_sobj_is(v, IG_SOBJ_TUPLE)) return tuple_to_literal(g, v.object, declared, out);
  return NULL;
}

static ig_svalue *add_constant(ig_sblock *b, ig_snode *before, const ig_stype *type, ig_value v) {
  const char *kind = ig_sform_kind(IG_SFORM_CONSTANT);
  ig_svalue *made = ig_sbuild_value(b, before, kind, NULL, 0, type);
  if (!made || v.kind == IG_KIND_NONE) return made;
  ig_sattr *a = ig_snode_add_attr(made->node, "value", IG_SATTR_VALUE);
  if (!a) return NULL;
  a->value = v;
  return made;
}

ig_svalue *ig_sbuild_literal(ig_sblock *b, ig_snode *before, ig_value v, const ig_stype *declared) {
  ig_value literal;
  const ig_stype *type = to_literal(b->graph, v, declared, &literal);
  return type ? add_constant(b, before, type, literal) : NULL;
}

// ---- computing

// What a constant node stands for. False: it is known by its text only, or is a function.
static bool known_value(const ig_svalue *v, ig_value *out) {
  const ig_snode *n = v->node;
  *out = ig_none();
  if (n->n_attrs == 0) return v->type->kind == IG_STYPE_NONE || v->type->kind == IG_STYPE_OPTIONAL;
  const ig_value *value = ig_sbuild_constant(v);
  if (value) *out = *value;
  return value != NULL;
}

static bool is_immutable(ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!ig_stype_is_immutable(ig_sbuild_now(at[i])->type)) return false;
  }
  return true;
}

enum { MAX_OPERANDS = 64 };

// Fills results with new references. False without an error: it cannot be computed.
static bool compute(folder *f, ig_snode *n, const ig_value *in, ig_value *out) {
  ig_ctx *c = f->g->c;
  ig_sform form = ig_sform_of(n);
  if (form == IG_SFORM_TUPLE_CONSTRUCT) {
    ig_sobj_seq *tuple = ig_sobj_seq_make(c, IG_SOBJ_TUPLE, n->out[0]->type, in, n->n_in);
    out[0] = tuple ? ig_of_sobj(tuple) : ig_none();
    return tuple != NULL;
  }
  if (form == IG_SFORM_TUPLE_UNPACK) {
    const ig_sobj_seq *tuple = ig_sobj_is(in[0], IG_SOBJ_TUPLE) ? in[0].object : NULL;
    if (!tuple || tuple->n != n->n_out) return false;
    for (size_t i = 0; i < n->n_out; i++) ig_svalue_retain(out[i] = tuple->at[i]);
    return true;
  }
  if (form == IG_SFORM_UNCHECKED_CAST) {
    ig_svalue_retain(out[0] = in[0]);
    return true;
  }
  const ig_soperator *o = ig_soperator_of_node(f->u, n);
  const ig_sbuiltin *b = o ? o->builtin : NULL;
  if (!b || b->effects || !b->run || o->schema->vararg || o->schema->varret) return false;
  ig_sbuiltin_call call = {.c = c, .unit = f->u, .node = n, .in = in, .n_in = n->n_in, .out = out};
  b->run(&call);
  bool failed = c->status != IG_OK;
  // An error is raised when the script runs, if it does.
  if (failed && c->status != IG_NOMEM && c->status != IG_LIMIT) ig_ctx_clear(c);
  return !failed;
}

static bool replace_results(folder *f, ig_snode *n, const ig_value *out) {
  for (size_t i = 0; i < n->n_out; i++) {
    ig_svalue *v = ig_sbuild_literal(n->owner, n, out[i], n->out[i]->type);
    if (f->g->c->status != IG_OK) return false;
    if (v) ig_sbuild_replace(n->out[i], v);
  }
  f->changed = true;
  return true;
}

// Runs a node alone, with copies of its operands. False without an error: it fails, and does so
// again when the script runs.
static bool run_alone(folder *f, const ig_snode *n, ig_value *out) {
  ig_ctx *c = f->g->c;
  ig_sgraph *g = ig_sgraph_create(f->g->types);
  if (!g) return false;
  ig_svalue_map m = ig_svalue_map_make(g);
  bool ok = true;
  for (size_t i = 0; ok && i < n->n_in; i++) {
    const ig_svalue *v = ig_sbuild_now(n->in[i]);
    const ig_svalue *made = ig_svalue_map_get(&m, v);
    ok = made || ig_snode_copy(&m, v->node, g->body, NULL, false);
    if (ok && v != n->in[i]) ok = ig_svalue_map_put(&m, n->in[i], ig_svalue_map_get(&m, v));
  }
  ig_snode *copy = ok ? ig_snode_copy(&m, n, g->body, NULL, false) : NULL;
  for (size_t i = 0; copy && ok && i < n->n_out; i++)
    ok = ig_sblock_add_output(g->body, copy->out[i]);
  bool ran = copy && ok && ig_sgraph_run(c, f->u, g, NULL, 0, out) == IG_OK;
  if (!ran && c->status != IG_NOMEM && c->status != IG_LIMIT) ig_ctx_clear(c);
  ig_sgraph_free(g);
  return ran;
}

static bool has_gradient(ig_value v) {
  if (v.kind == IG_KIND_TENSOR) return ig_tensor_requires_grad(v.tensor);
  if (!ig_sobj_is(v, IG_SOBJ_LIST) && !ig_sobj_is(v, IG_SOBJ_TUPLE)) return false;
  const ig_sobj_seq *s = v.object;
  for (size_t i = 0; i < s->n; i++) {
    if (has_gradient(s->at[i])) return true;
  }
  return false;
}

static bool fold_by_running(folder *f, ig_snode *n) {
  ig_value out[MAX_OPERANDS];
  for (size_t i = 0; i < n->n_out; i++) out[i] = ig_none();
  bool ran = run_alone(f, n, out);
  bool ok = f->g->c->status == IG_OK;
  for (size_t i = 0; ran && i < n->n_out; i++) ran = !has_gradient(out[i]);
  if (ran) ok = replace_results(f, n, out);
  release_all(out, n->n_out);
  return ok;
}

// A constant operand as the interpreter has it, a new reference. Members of enumerations are known
// by their names.
static bool operand_of(folder *f, const ig_svalue *v, ig_value *out) {
  ig_value known;
  if (v->type->kind == IG_STYPE_ENUM && ig_sbuild_is_constant(v)) {
    return ig_scode_constant(f->g->c, f->u, v->node, out);
  }
  return known_value(v, &known) && to_register(f->g->c, &known, v->type, out);
}

static bool fold_operator(folder *f, ig_snode *n) {
  ig_value in[MAX_OPERANDS] = {0};
  ig_value out[MAX_OPERANDS];
  size_t known = 0;
  bool ok = true;
  for (; ok && known < n->n_in; known++) {
    ok = operand_of(f, ig_sbuild_now(n->in[known]), &in[known]);
    if (!ok) break;
  }
  for (size_t i = 0; i < n->n_out; i++) out[i] = ig_none();
  if (ok && compute(f, n, in, out)) (void)replace_results(f, n, out);
  release_all(out, n->n_out);
  release_all(in, known);
  return f->g->c->status == IG_OK;
}

static bool can_fold(ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  bool form_fits = form == IG_SFORM_PLAIN || form == IG_SFORM_TUPLE_CONSTRUCT ||
                   form == IG_SFORM_TUPLE_UNPACK || form == IG_SFORM_TUPLE_INDEX ||
                   form == IG_SFORM_UNCHECKED_CAST || form == IG_SFORM_IS ||
                   form == IG_SFORM_TO_NUMBER || form == IG_SFORM_IS_NOT;
  return form_fits && n->n_blocks == 0 && n->n_out && n->n_in <= MAX_OPERANDS &&
         n->n_out <= MAX_OPERANDS && !ig_snode_has_effects(n) && is_immutable(n->in, n->n_in) &&
         is_immutable(n->out, n->n_out);
}

// ---- conditions and loops

static void drop_if_result(ig_snode *n, size_t i, ig_svalue *by) {
  ig_sbuild_replace(n->out[i], by);
  ig_snode_remove_output(n, i);
  ig_sblock_remove_output(n->blocks[0], i);
  ig_sblock_remove_output(n->blocks[1], i);
}

// Results that are the same in both branches.
static bool drop_if_results(folder *f, ig_snode *n) {
  for (size_t i = 0; i < n->n_out;) {
    ig_svalue *yes = ig_sbuild_now(n->blocks[0]->out[i]);
    ig_svalue *no = ig_sbuild_now(n->blocks[1]->out[i]);
    bool equal = yes != no && ig_sbuild_is_constant(yes) && ig_sbuild_is_constant(no) &&
                 ig_sbuild_same_constant(yes->node, no->node);
    if (yes != no && !equal) {
      i++;
      continue;
    }
    ig_svalue *by = yes;
    if (equal) {
      ig_value v;
      if (!known_value(yes, &v)) {
        i++;
        continue;
      }
      by = add_constant(n->owner, n, yes->type, v);
      if (!by) return false;
    }
    drop_if_result(n, i, by);
    f->changed = true;
  }
  return true;
}

static bool fold_if(folder *f, ig_snode *n) {
  bool yes = false;
  if (!ig_sbuild_as_bool(ig_sbuild_now(n->in[0]), &yes)) {
    return fold_block(f, n->blocks[0]) && fold_block(f, n->blocks[1]) && drop_if_results(f, n);
  }
  ig_sblock *taken = n->blocks[yes ? 0 : 1];
  if (!fold_block(f, taken)) return false;
  ig_sbuild_move_all(taken, n->owner, n);
  for (size_t i = 0; i < n->n_out; i++) ig_sbuild_replace(n->out[i], taken->out[i]);
  ig_snode_remove(n);
  f->changed = true;
  return true;
}

static bool never_runs(const ig_snode *n) {
  int64_t trips = 1;
  bool first = true;
  (void)ig_sbuild_as_int(ig_sbuild_now(n->in[0]), &trips);
  (void)ig_sbuild_as_bool(ig_sbuild_now(n->in[1]), &first);
  return !first || trips <= 0;
}

static bool fold_loop(folder *f, ig_snode *n) {
  if (never_runs(n)) {
    for (size_t i = 0; i < n->n_out; i++) ig_sbuild_replace(n->out[i], n->in[i + 2]);
    ig_snode_remove(n);
    f->changed = true;
    return true;
  }
  ig_sblock *body = n->blocks[0];
  if (!fold_block(f, body)) return false;
  for (size_t i = n->n_out; i-- > 0;) {
    if (ig_sbuild_now(body->out[i + 1]) != body->in[i + 1]) continue;
    ig_svalue *same = n->in[i + 2];  // the body passes it on
    ig_sbuild_replace(n->out[i], same);
    ig_sbuild_replace(body->in[i + 1], same);
    ig_snode_remove_output(n, i);
    ig_snode_remove_input(n, i + 2);
    ig_sblock_remove_input(body, i + 1);
    ig_sblock_remove_output(body, i + 1);
    f->changed = true;
  }
  return true;
}

static bool is_written(const folder *f, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t class = ig_saliases_class(f->aliases, ig_sbuild_now(at[i]));
    if (class != IG_SALIAS_NONE && f->written[class]) return true;
  }
  return false;
}

static bool can_run(folder *f, ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  bool form_fits = form == IG_SFORM_PLAIN || form == IG_SFORM_LIST_CONSTRUCT ||
                   form == IG_SFORM_LIST_UNPACK || form == IG_SFORM_TUPLE_CONSTRUCT ||
                   form == IG_SFORM_TUPLE_UNPACK || form == IG_SFORM_TUPLE_INDEX ||
                   form == IG_SFORM_TUPLE_SLICE || form == IG_SFORM_ISINSTANCE ||
                   form == IG_SFORM_NUMBER_TO_TENSOR || form == IG_SFORM_TO_NUMBER ||
                   form == IG_SFORM_SUBTRACTED_FROM || form == IG_SFORM_SIZE;
  bool fits = form_fits && n->n_blocks == 0 && n->n_out && n->n_out <= MAX_OPERANDS &&
              !ig_saliases_has_effects(f->aliases, n) && !is_written(f, n->in, n->n_in) &&
              !is_written(f, n->out, n->n_out);
  if (!fits || (form != IG_SFORM_PLAIN && form != IG_SFORM_SIZE)) return fits;
  const ig_soperator *o = ig_soperator_of_node(f->u, n);
  if (!o || o->schema->vararg || (o->op && ig_op_is_random(o->op))) return false;
  return !o->builtin || !o->builtin->effects;
}

static bool has_constants(const ig_snode *n) {
  for (size_t i = 0; i < n->n_in; i++) {
    if (!ig_sbuild_is_constant(ig_sbuild_now(n->in[i]))) return false;
  }
  return true;
}

static bool fold(folder *f, ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  if (form == IG_SFORM_IF) return fold_if(f, n);
  if (form == IG_SFORM_LOOP) return fold_loop(f, n);
  if (can_fold(n)) return !has_constants(n) || fold_operator(f, n);
  if (f->aliases && has_constants(n) && can_run(f, n)) return fold_by_running(f, n);
  for (size_t i = 0; i < n->n_blocks; i++) {
    if (!fold_block(f, n->blocks[i])) return false;
  }
  return true;
}

static bool fold_block(folder *f, ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    if (!fold(f, n)) return false;
  }
  return true;
}

bool ig_sgraph_fold_constants(ig_sunit *u, ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  folder f = {.u = u, .g = g};
  bool ok = fold_block(&f, g->body);
  ig_sbuild_settle(g);
  return ok && (!f.changed || ig_sgraph_remove_dead(u, g));
}

bool ig_sgraph_fold_all(ig_sunit *u, ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  ig_alloc alloc = g->c->alloc;
  folder f = {.u = u, .g = g, .aliases = ig_saliases_create(u, g, true)};
  if (!f.aliases) return false;
  size_t n = ig_saliases_count(f.aliases);
  unsigned char *written = ig_mem_array(alloc, n, 1);
  if (!written) (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  size_t n_writes = 0;
  const ig_swrite *writes = ig_saliases_writes(f.aliases, &n_writes);
  for (size_t i = 0; written && i < n_writes; i++) written[writes[i].at] = 1;
  f.written = written;
  bool ok = written && fold_block(&f, g->body);
  ig_sbuild_settle(g);
  ig_mem_array_free(alloc, written, n, 1);
  ig_saliases_free(f.aliases);
  return ok && (!f.changed || ig_sgraph_remove_dead(u, g));
}

// ---- pooling

typedef struct pool {
  ig_sgraph *g;
  ig_map first;  // text of type and value -> the node that has them
  ig_arena arena;
} pool;

void ig_sbuild_add_key(ig_str *s, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      ig_str_add(s, "i%lld", (long long)v->i.value);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, "b%d", v->b);
      break;
    case IG_KIND_FLOAT:
      ig_str_add(s, "f%a", v->f);
      break;
    case IG_KIND_COMPLEX:
      ig_str_add(s, "z%a,%a", v->z.re, v->z.im);
      break;
    case IG_KIND_STR:
      ig_str_add(s, "s%zu:%s", strlen(v->str), v->str);
      break;
    case IG_KIND_DEVICE:
      ig_str_add(s, "d%d:%d", (int)v->device.type, (int)v->device.index);
      break;
    case IG_KIND_TENSOR:
      ig_str_add(s, "t%p", (const void *)v->tensor);
      break;
    case IG_KIND_OBJECT:
      ig_str_add(s, "o%p", v->object);
      break;
    case IG_KIND_NATIVE:
      ig_str_add(s, "n%p", (const void *)v->native);
      break;
    case IG_KIND_DTYPE:
      ig_str_add(s, "y%d", (int)v->dtype);
      break;
    case IG_KIND_LIST:
      ig_str_add(s, "l%d(", (int)v->seq);
      for (size_t i = 0; i < v->list.n; i++) ig_sbuild_add_key(s, &v->list.at[i]);
      ig_str_add(s, ")");
      break;
    default:
      ig_str_add(s, "k%d", (int)v->kind);
  }
}

// NULL without an error: constants of this kind stay as they are.
static const char *key_of(pool *p, const ig_snode *n) {
  ig_str s = ig_str_make(p->g->c->alloc);
  ig_str_add(&s, "%p ", (const void *)n->out[0]->type);
  bool plain = true;
  for (size_t i = 0; i < n->n_attrs; i++) {
    const ig_sattr *a = &n->attrs[i];
    plain = plain && a->kind == IG_SATTR_VALUE && a->value.kind != IG_KIND_INTS;
    ig_str_add(&s, "%s=", a->name);
    if (plain) ig_sbuild_add_key(&s, &a->value);
  }
  const char *key = plain && !s.failed ? ig_arena_strn(&p->arena, s.at, s.n) : NULL;
  if (plain && !key) (void)ig_fail(p->g->c, IG_NOMEM, "out of memory");
  ig_str_free(&s);
  return key;
}

static bool pool_block(pool *p, ig_sblock *b);

static bool pool_node(pool *p, ig_snode *n) {
  const char *key = key_of(p, n);
  if (!key && p->g->c->status != IG_OK) return false;
  ig_map_value *known = key ? ig_map_put(&p->first, key) : NULL;
  if (key && !known) return ig_fail(p->g->c, IG_NOMEM, "out of memory") == IG_OK;
  ig_snode *same = known ? known->ptr : NULL;
  if (same) {
    ig_sbuild_replace(n->out[0], same->out[0]);
    ig_snode_remove(n);
    return true;
  }
  if (known) known->ptr = n;
  ig_snode_insert(n, p->g->body, p->g->body->first);
  return true;
}

static bool pool_block(pool *p, ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!pool_block(p, n->blocks[i])) return false;
    }
    if (ig_sform_of(n) == IG_SFORM_CONSTANT && !pool_node(p, n)) return false;
  }
  return true;
}

bool ig_sgraph_pool_constants(ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  ig_alloc alloc = g->c->alloc;
  pool p = {.g = g, .first = ig_map_make(alloc), .arena = ig_arena_make(alloc)};
  bool ok = pool_block(&p, g->body);
  ig_map_free(&p.first);
  ig_arena_free(&p.arena);
  ig_sbuild_settle(g);
  return ok;
}
