// SPDX-License-Identifier: Apache-2.0
// Records branches and loops: each runs on a copy of the frame while a sub-graph is open.
#include "script/interp_record.h"

#include <string.h>

#include "base/budget.h"
#include "ingot/aten.h"
#include "ingot/hop.h"
#include "op/hop.h"
#include "script/builtin.h"
#include "script/form.h"
#include "script/ir_edit.h"
#include "script/passes.h"
#include "script/rows.h"
#include "sym/env.h"

// ---- writes

// The registers whose tensors or lists a part of the code writes, by their numbers before it. What
// is recorded writes into copies, which are results of the node; afterwards they are copied back.
typedef struct writes {
  uint32_t *at;
  ig_srows_like *likes;  // of a list that is written: its elements
  size_t n;
} writes;

// For every register the one whose tensor its value is a view of; NO_ORIGIN: of none before.
static const uint32_t no_origin = UINT32_MAX;

static uint32_t origin_of(const uint32_t *origin, ig_soperand in) {
  return in >= 0 ? origin[in] : no_origin;
}

static void follow_op(const ig_sinsn *i, uint32_t *origin, bool *written) {
  const ig_schema *schema = &i->op->schema;
  uint32_t from = no_origin;
  for (size_t k = 0; k < schema->nargs && k < i->n_in; k++) {
    uint32_t o = origin_of(origin, i->in[k]);
    if (schema->args[k].written && o != no_origin) written[o] = true;
    if (from == no_origin && schema->args[k].aliased) from = o;
  }
  for (uint32_t k = 0; k < i->n_out; k++) origin[i->out[k]] = from;
}

// Methods of lists: those that change a list give the list itself, if they give anything.
static void follow_builtin(ig_sunit *u, const ig_sinsn *i, uint32_t *origin, bool *written) {
  const ig_soperator *op = i->node ? ig_soperator_of_node(u, i->node) : NULL;
  uint32_t from = no_origin;
  for (size_t k = 0; op && k < op->schema->n_params && k < i->n_in; k++) {
    uint32_t o = origin_of(origin, i->in[k]);
    if (!op->schema->params[k].written || o == no_origin) continue;
    written[o] = true;
    if (from == no_origin && i->node->n_out && i->node->out[0]->type->kind == IG_STYPE_LIST)
      from = o;
  }
  for (uint32_t k = 0; k < i->n_out; k++) origin[i->out[k]] = from;
}

static void follow(ig_sunit *u, const ig_sinsn *i, uint32_t *origin, bool *written) {
  if (i->kind == IG_SINSN_OP) {
    follow_op(i, origin, written);
  } else if (i->kind == IG_SINSN_BUILTIN) {
    follow_builtin(u, i, origin, written);
  } else if (i->kind == IG_SINSN_MOVES) {
    for (uint32_t k = 0; k < i->n_out && k < i->n_in; k++) {
      origin[i->out[k]] = origin_of(origin, i->in[k]);
    }
  } else if (i->kind != IG_SINSN_UNLESS && i->kind != IG_SINSN_TEST) {
    for (uint32_t k = 0; k < i->n_out; k++) origin[i->out[k]] = no_origin;
  }
}

static bool is_list(ig_value v) {
  return ig_sobj_is(v, IG_SOBJ_LIST) || ig_srows_is(v);
}

// The instructions from first to end, without those of functions that they call.
static writes writes_of(ig_ctx *c, const ig_sframe *f, size_t first, size_t end) {
  size_t n = f->code->n_registers;
  writes w = {.at = ig_scope_array(c, n + 1, sizeof *w.at),
              .likes = ig_scope_array(c, n + 1, sizeof *w.likes)};
  uint32_t *origin = ig_scope_array(c, n + 1, sizeof *origin);
  bool *written = ig_scope_array(c, n + 1, sizeof *written);
  if (!w.at || !w.likes || !origin || !written) return (writes){0};
  for (size_t k = 0; k < n; k++) {
    bool held = f->registers[k].kind == IG_KIND_TENSOR || is_list(f->registers[k]);
    origin[k] = held ? (uint32_t)k : no_origin;
    written[k] = false;
  }
  for (size_t k = first; k < end; k++) follow(f->code->unit, &f->code->at[k], origin, written);
  for (size_t k = 0; k < n; k++) {
    if (!written[k]) continue;
    w.likes[w.n] = (ig_srows_like){0};
    w.at[w.n++] = (uint32_t)k;
  }
  return w;
}

static bool is_read(const ig_sframe *f, size_t first, size_t end, size_t at) {
  for (size_t k = first; k < end; k++) {
    const ig_sinsn *i = &f->code->at[k];
    for (uint32_t m = 0; m < i->n_in; m++) {
      if (i->in[m] >= 0 && (size_t)i->in[m] == at) return true;
    }
  }
  return false;
}

// Does the code read memory that it also writes through another tensor? The copies that are written
// are separate, so such a part cannot be recorded.
static bool reads_written(const ig_sframe *f, size_t first, size_t end, const writes *w) {
  for (size_t k = 0; k < f->code->n_registers; k++) {
    if (f->registers[k].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *t = f->registers[k].tensor;
    for (size_t m = 0; m < w->n; m++) {
      if (f->registers[w->at[m]].kind != IG_KIND_TENSOR) continue;
      const ig_tensor *written = f->registers[w->at[m]].tensor;
      if (t != written && t->storage == written->storage && is_read(f, first, end, k)) return true;
    }
  }
  return false;
}

// Puts `t` wherever the frame has the tensor of a register.
static void replace_tensor(ig_sframe *f, const ig_tensor *was, ig_tensor *t) {
  for (size_t k = 0; t && k < f->code->n_registers; k++) {
    if (f->registers[k].kind != IG_KIND_TENSOR || f->registers[k].tensor != was) continue;
    ig_value v = ig_of_tensor(t);
    ig_svalue_retain(v);
    ig_sframe_write(f, (uint32_t)k, v);
  }
}

// The same for a list. Takes over the reference.
static void replace_list(ig_sframe *f, const void *was, ig_value v) {
  for (size_t k = 0; k < f->code->n_registers; k++) {
    if (!is_list(f->registers[k]) || f->registers[k].object != was) continue;
    ig_svalue_retain(v);
    ig_sframe_write(f, (uint32_t)k, v);
  }
  ig_svalue_release(v);
}

// Does only this frame hold the list? Who else holds it would not see what is recorded.
static bool is_private(const ig_sframe *f, ig_value list) {
  size_t held = 0;
  for (size_t k = 0; k < f->code->n_registers; k++) {
    held += is_list(f->registers[k]) && f->registers[k].object == list.object;
  }
  return atomic_load(&((ig_sobj *)list.object)->refs) == held;
}

static bool are_private(ig_ctx *c, const ig_sframe *f, const writes *w) {
  for (size_t k = 0; k < w->n; k++) {
    ig_value v = f->registers[w->at[k]];
    bool alone = !is_list(v) || is_private(f, v);
    if (alone && (!is_list(v) || ig_env_records_choices(c))) continue;
    ig_fail_text(c, IG_UNSUPPORTED,
                 "a branch or loop whose course depends on data changes a list%s; make a new list "
                 "instead",
                 alone ? "" : " that is also an attribute, an element or an argument");
    return false;
  }
  return true;
}

// Does a block change containers or objects? What a round does to them cannot be recorded. lists:
// except for lists of tensors or numbers.
static bool changes_objects(ig_sunit *u, const ig_sblock *b, bool lists) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (ig_sform_of(n) == IG_SFORM_SET_ATTR) return true;
    const ig_soperator *op = n->n_blocks ? NULL : ig_soperator_of_node(u, n);
    for (size_t k = 0; op && k < op->schema->n_params && k < n->n_in; k++) {
      ig_stype_kind kind = n->in[k]->type->kind;
      bool container = kind == IG_STYPE_LIST || kind == IG_STYPE_DICT;
      bool rows = lists && op->builtin && ig_srows_takes(n->in[k]->type) &&
                  ig_srows_builtin(op->builtin->run);
      if (rows) continue;
      if (op->schema->params[k].written && container) return true;
    }
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (changes_objects(u, n->blocks[k], lists)) return true;
    }
  }
  return false;
}

// ---- conditions

// One branch of an If, run on a copy of the frame.
typedef struct branch {
  const ig_sframe *from;
  const ig_sinsn *test;
  size_t first;
  size_t end;
  size_t max_depth;
  ig_value *results;  // as the script has them, retained
  writes writes;
  bool probe;  // only learns what the elements of lists are
} branch;

static bool is_seq(ig_value v) {
  return ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE);
}

enum { MAX_NESTING = 64 };  // of containers that a recorded branch or loop takes apart

// The tensors and numbers in a value, containers taken apart. At most `most`; more are counted.
static size_t leaves_within(ig_ctx *c, ig_value v, ig_value *at, size_t n, size_t most, int depth) {
  if (v.kind == IG_KIND_NONE || !ig_step(c)) return n;
  if (is_seq(v)) {
    if (depth == 0) ig_fail_text(c, IG_LIMIT, "values nested more than %d deep", MAX_NESTING);
    const ig_sobj_seq *s = v.object;
    for (size_t k = 0; depth && k < s->n && c->status == IG_OK; k++) {
      n = leaves_within(c, s->at[k], at, n, most, depth - 1);
    }
    return n;
  }
  if (ig_srows_is(v)) {
    ig_tensor *tensors[2];
    size_t count = ig_srows_tensors(c, v, tensors);
    for (size_t k = 0; k < count; k++, n++) {
      if (n < most) at[n] = ig_of_tensor(tensors[k]);
    }
    return n;
  }
  if (n < most) at[n] = v;
  return n + 1;
}

static size_t leaves(ig_ctx *c, ig_value v, ig_value *at, size_t n, size_t most) {
  return leaves_within(c, v, at, n, most, MAX_NESTING);
}

// Values that take the places of leaves, in order.
typedef struct supply {
  const ig_value *at;
  size_t n;
} supply;

// The next one. There is none if a list has grown since its leaves were counted: what one branch
// does to it, the other one sees as well.
static ig_value next_of(ig_ctx *c, supply *from) {
  if (from->n == 0) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "a branch or loop whose course depends on data changes a list that it also gives; "
                 "make a new list instead");
    return ig_none();
  }
  from->n--;
  return *from->at++;
}

// The same value with other leaves, a new reference.
static ig_value with_leaves(ig_ctx *c, ig_value like, supply *from) {
  if (like.kind == IG_KIND_NONE || c->status != IG_OK) return ig_none();
  if (!is_seq(like)) {
    ig_value v = next_of(c, from);
    ig_svalue_retain(v);
    return v;
  }
  const ig_sobj_seq *s = like.object;
  ig_value *at = ig_scope_array(c, s->n, sizeof *at);
  for (size_t k = 0; at && k < s->n; k++) at[k] = with_leaves(c, s->at[k], from);
  ig_sobj_seq *made = at ? ig_sobj_seq_make(c, s->head.kind, s->head.type, at, s->n) : NULL;
  for (size_t k = 0; at && k < s->n; k++) ig_svalue_release(at[k]);
  return made ? ig_of_sobj(made) : ig_none();
}

static bool copy_frame(ig_srun *r, const ig_sframe *from, size_t next) {
  if (!ig_srun_push(r, from->code)) return false;
  ig_sframe *f = ig_srun_top(r);
  f->next = next;
  for (size_t k = 0; k < from->code->n_registers; k++) {
    f->registers[k] = from->registers[k];
    ig_svalue_retain(f->registers[k]);
  }
  return true;
}

static ig_tensor *as_tensor(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_TENSOR) return v.tensor;
  ig_dtype dtype = v.kind == IG_KIND_INT ? IG_I64 : v.kind == IG_KIND_BOOL ? IG_BOOL : IG_F64;
  if (v.kind != IG_KIND_INT && v.kind != IG_KIND_BOOL && v.kind != IG_KIND_FLOAT) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "a branch or loop that depends on data gives a value that is no tensor or number");
    return NULL;
  }
  return ig_scalar_tensor_with(c, v, ig_of_dtype(dtype), ig_none(), ig_none(), ig_none());
}

// The value of a register from tensors; numbers are read from theirs. A new reference.
static ig_value from_tensors(ig_ctx *c, ig_value like, supply *from) {
  if (c->status != IG_OK) return ig_none();
  if (ig_srows_is(like)) {
    const ig_sobj_seq *s = like.object;
    ig_tensor *tensors[2] = {next_of(c, from).tensor};
    if (s->lengths) tensors[1] = next_of(c, from).tensor;
    ig_sobj_seq *made = c->status == IG_OK ? ig_srows_from(c, s, tensors) : NULL;
    return made ? ig_of_sobj(made) : ig_none();
  }
  if (like.kind == IG_KIND_NONE || like.kind == IG_KIND_TENSOR || is_seq(like)) {
    if (!ig_sobj_of(like)) return with_leaves(c, like, from);
    const ig_sobj_seq *s = like.object;
    ig_value *at = ig_scope_array(c, s->n, sizeof *at);
    for (size_t k = 0; at && k < s->n; k++) at[k] = from_tensors(c, s->at[k], from);
    ig_sobj_seq *made = at ? ig_sobj_seq_make(c, s->head.kind, s->head.type, at, s->n) : NULL;
    for (size_t k = 0; at && k < s->n; k++) ig_svalue_release(at[k]);
    return made ? ig_of_sobj(made) : ig_none();
  }
  ig_value v = next_of(c, from);
  return v.kind == IG_KIND_TENSOR ? ig_sb_element(c, v.tensor) : v;
}

// Captures a function to see what it does; that it fails says nothing.
static void probe(ig_ctx *c, const ig_branch *fn, const ig_branch_inputs *in) {
  ig_graph_free(ig_branch_capture(c, fn, in));
  if (c->status != IG_OK && !ig_status_is_final(c->status)) ig_ctx_clear(c);
}

// A list of its own for a branch, a new reference. One whose elements are known is of dynamic
// length there; a probe keeps the elements, to compare what is added with them.
static ig_value copied_list(ig_ctx *c, ig_value v, const ig_srows_like *like, bool to_probe) {
  const ig_sobj_seq *s = v.object;
  if (ig_srows_is(v) || (like->known && !to_probe)) {
    ig_sobj_seq *rows = ig_srows_of(c, v, like);
    return rows ? ig_of_sobj(rows) : ig_none();
  }
  ig_sobj_seq *made = ig_sobj_seq_make(c, IG_SOBJ_LIST, s->head.type, s->at, s->n);
  return made ? ig_of_sobj(made) : ig_none();
}

// Copies of what a branch writes, in its frame.
static ig_value *copies_of(ig_ctx *c, const branch *b, ig_srun *r) {
  ig_value *copies = ig_scope_array(c, b->writes.n + 1, sizeof *copies);
  for (size_t k = 0; copies && k < b->writes.n && c->status == IG_OK; k++) {
    ig_value was = b->from->registers[b->writes.at[k]];
    if (is_list(was)) {
      copies[k] = copied_list(c, was, &b->writes.likes[k], b->probe);
      if (c->status != IG_OK) return NULL;
      ig_svalue_retain(copies[k]);
      replace_list(ig_srun_top(r), was.object, copies[k]);
    } else {
      copies[k] = ig_of_tensor(ig_clone(c, was.tensor));
      replace_tensor(ig_srun_top(r), was.tensor, copies[k].tensor);
    }
  }
  return c->status == IG_OK ? copies : NULL;
}

// The lists among the copies end here: tensors have what they hold from now on. Gives what the
// branch wrote; *n: how many.
static ig_value *settle_lists(ig_ctx *c, branch *b, const ig_value *copies, size_t *n) {
  ig_value *out = ig_scope_array(c, ig_mem_add(ig_mem_mul(b->writes.n, 2), 1), sizeof *out);
  for (size_t k = 0; k < b->writes.n; k++) {
    if (!is_list(copies[k])) {
      if (out) out[(*n)++] = copies[k];
      continue;
    }
    ig_srows_like *like = &b->writes.likes[k];
    ig_tensor *tensors[2];
    size_t count = 0;
    if (c->status == IG_OK && b->probe) ig_srows_learn_more(c, copies[k], like);
    if (c->status == IG_OK && !b->probe) ig_srows_settle(c, copies[k].object, like);
    if (c->status == IG_OK && !b->probe) count = ig_srows_tensors(c, copies[k], tensors);
    for (size_t m = 0; out && m < count && c->status == IG_OK; m++) {
      if (ig_pool_add(c, &ig_tensor_retain(tensors[m])->ref))
        out[(*n)++] = ig_of_tensor(tensors[m]);
    }
    ig_svalue_release(copies[k]);
  }
  return c->status == IG_OK ? out : NULL;
}

static const ig_value *run_branch(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  (void)in;
  (void)n;
  branch *b = user;
  ig_srun r = {.c = c, .max_depth = b->max_depth};
  bool ok = copy_frame(&r, b->from, b->first);
  ig_value *copies = ok ? copies_of(c, b, &r) : NULL;
  if (copies) ig_srun_execute(&r, b->end, NULL);
  size_t nwritten = 0;
  const ig_value *written = copies ? settle_lists(c, b, copies, &nwritten) : NULL;
  size_t count = 0;
  for (uint32_t k = 0; ok && c->status == IG_OK && k < b->test->n_out; k++) {
    ig_svalue_release(b->results[k]);
    b->results[k] = ig_srun_top(&r)->registers[b->test->out[k]];
    ig_svalue_retain(b->results[k]);
    count = leaves(c, b->results[k], NULL, count, 0);
  }
  ig_value *out =
      written ? ig_scope_array(c, ig_mem_add(ig_mem_add(count, nwritten), 1), sizeof *out) : NULL;
  *nouts = 0;
  for (uint32_t k = 0; out && k < b->test->n_out; k++) {
    *nouts = leaves(c, b->results[k], out, *nouts, count);
  }
  for (size_t k = 0; out && !b->probe && k < nwritten; k++) out[(*nouts)++] = written[k];
  for (size_t k = 0; out && k < count; k++) {
    bool fits = out[k].kind == IG_KIND_TENSOR || out[k].kind == IG_KIND_INT ||
                out[k].kind == IG_KIND_FLOAT || out[k].kind == IG_KIND_BOOL;
    if (!fits) {
      ig_fail_text(c, IG_UNSUPPORTED,
                   "a branch whose condition depends on data gives a value that is no tensor or "
                   "number; give both branches results of tensors and numbers");
    } else if (out[k].kind != IG_KIND_TENSOR) {  // a number, read again behind the node
      out[k] = ig_of_tensor(as_tensor(c, out[k]));
    }
  }
  ig_srun_close(&r);
  return c->status == IG_OK ? out : NULL;
}

// The tensors that were written have what their copies have; likes: what the lists hold.
static void copy_back(ig_ctx *c, const ig_sframe *f, const writes *w, const ig_srows_like *likes,
                      supply *from) {
  for (size_t k = 0; from->at && k < w->n && c->status == IG_OK; k++) {
    ig_value copy = next_of(c, from);
    ig_value was = f->registers[w->at[k]];
    if (is_list(was) && likes[k].ragged)
      ig_srows_join(was.object, likes[k].dim, copy.tensor, next_of(c, from).tensor);
    else if (is_list(was))
      ig_srows_become(was.object, copy.tensor);
    else
      (void)ig_copy_(c, was.tensor, copy.tensor);
  }
}

static bool raises(const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (ig_sform_of(n) == IG_SFORM_RAISE) return true;
  }
  return false;
}

int ig_srecord_only_branch(const ig_sinsn *i) {
  bool yes = raises(i->node->blocks[0]);
  bool no = raises(i->node->blocks[1]);
  return yes == no ? -1 : yes;
}

static bool is_plain(const ig_stype *t) {
  return t->kind == IG_STYPE_TENSOR || t->kind == IG_STYPE_INT || t->kind == IG_STYPE_FLOAT ||
         t->kind == IG_STYPE_BOOL;
}

bool ig_srecord_takes_branches(const ig_sframe *f, const ig_sinsn *i, const ig_value *pred) {
  if (!pred->b_expr->backed) return true;
  if (ig_srecord_only_branch(i) >= 0 || changes_objects(f->code->unit, i->node->blocks[0], true) ||
      changes_objects(f->code->unit, i->node->blocks[1], true)) {
    return false;
  }
  for (size_t k = 0; k < i->node->n_out; k++) {
    if (!is_plain(i->node->out[k]->type)) return false;
  }
  return true;
}

// What the elements of written lists are like. A list without elements learns it from what the
// branches put into it; one that stays empty is not written.
static bool learn_branches(ig_ctx *c, branch *b, const ig_branch *fns) {
  writes *w = &b[0].writes;
  bool open = false;
  for (size_t k = 0; k < w->n; k++) {
    ig_value v = b->from->registers[w->at[k]];
    if (is_list(v)) ig_srows_learn(c, v, &w->likes[k]);
    open = open || is_list(v);
  }
  const ig_branch_inputs in = {.who = "cond", .lazy = true};
  for (int k = 0; open && k < 2 && c->status == IG_OK; k++) {
    b[k].probe = true;
    probe(c, &fns[k], &in);
    b[k].probe = false;
  }
  size_t n = 0;
  for (size_t k = 0; k < w->n; k++) {
    if (is_list(b->from->registers[w->at[k]]) && !w->likes[k].known) continue;
    w->likes[n] = w->likes[k];
    w->at[n++] = w->at[k];
  }
  b[0].writes.n = b[1].writes.n = n;
  return c->status == IG_OK;
}

bool ig_srecord_branches(ig_srun *r, ig_sframe *f, const ig_sinsn *i, const ig_value *pred) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  branch b[2];
  ig_branch fns[2];
  bool ok = true;
  writes w = writes_of(c, f, f->next, i->index);
  for (int k = 0; k < 2; k++) {
    // The first branch ends with a jump behind the second.
    b[k] = (branch){.from = f,
                    .test = i,
                    .first = k ? i->target : f->next,
                    .end = k ? i->index : i->target - 1,
                    .max_depth = r->max_depth,
                    .writes = w};
    b[k].results = ig_scope_array(c, i->n_out + 1, sizeof *b[k].results);
    for (uint32_t n = 0; b[k].results && n < i->n_out; n++) b[k].results[n] = ig_none();
    fns[k] = (ig_branch){.fn = run_branch, .user = &b[k]};
    ok = ok && b[k].results;
  }
  ok = ok && are_private(c, f, &w) && learn_branches(c, b, fns);
  w.n = b[0].writes.n;
  size_t n = 0;
  ig_cond_args args = {.size = sizeof args, .pred = pred, .yes = &fns[0], .no = &fns[1]};
  const ig_value *outs = ok ? ig_cond(c, &args, &n) : NULL;
  supply from = {outs, n};
  for (uint32_t k = 0; outs && k < i->n_out; k++) {
    ig_sframe_write(f, i->out[k], from_tensors(c, b[0].results[k], &from));
  }
  copy_back(c, f, &w, w.likes, &from);
  for (int k = 0; ok && k < 2; k++) {
    for (uint32_t m = 0; m < i->n_out; m++) ig_svalue_release(b[k].results[m]);
  }
  ig_scope_close(c, s);
  f->next = i->index;
  return c->status == IG_OK;
}

bool ig_srecord_asks_data(ig_ctx *c, const ig_value *v) {
  bool open = v->b_expr && (ig_env_records_choices(c) || !v->b_expr->backed);
  // A script is right for all sizes; a trace decides by those of the examples.
  unsigned how = ig_env_records_choices(c) ? IG_ASK_ALL_SIZES : 0;
  return c->mode->capture && open && ig_env_get(c) &&
         ig_env_static(c, v->b_expr, how) == IG_UNKNOWN;
}

// ---- loops

// Everything that a recorded loop carries is a tensor: the counter, the condition, then what the
// carried values consist of.
typedef struct loop {
  const ig_sframe *from;
  const ig_sinsn *test;
  size_t max_depth;
  bool counts;            // the number of rounds is bounded
  const ig_value *like;   // carried values before the loop
  writes writes;          // of registers that it does not carry
  const bool *own;        // which of the carried ones it writes
  const ig_sinsn *bound;  // compares the last carried number, which counts; NULL: none does
  ig_srows_like *likes;   // of lists among the carried values: their elements
  bool *rows;             // which of the lists have another length after a round
  bool probe;             // only learns the two
} loop;

// The node that makes a value, if it is this operation.
static const ig_snode *made_by(const ig_svalue *v, ig_soperation op) {
  bool is = !v->block && v->node && strcmp(v->node->kind, ig_soperation_kind(op)) == 0;
  return is ? v->node : NULL;
}

// A loop with an exit counts for itself (clean.c): its last carried number begins at 0, goes up by
// 1 and is less than a bound in every round. The instruction that compares them; NULL: not such a
// loop.
static const ig_sinsn *bound_of(const ig_sframe *f, const ig_sinsn *i, const ig_value *like) {
  const ig_sblock *body = i->node->blocks[0];
  size_t last = body->n_out - 1;
  if (body->n_out < 2 || i->n_out != body->n_out || body->n_in != body->n_out) return NULL;
  const ig_value *first = &like[last];
  if (first->kind != IG_KIND_INT || first->i.expr || first->i.value != 0) return NULL;
  const ig_snode *both = made_by(body->out[0], IG_SOPERATION_AND);
  const ig_snode *less = made_by(both ? both->in[0] : body->out[0], IG_SOPERATION_LT);
  const ig_snode *next = made_by(body->out[last], IG_SOPERATION_ADD);
  int64_t step = 0;
  if (!less || !next || less->in[0] != body->out[last] || next->in[0] != body->in[last])
    return NULL;
  if (!ig_sbuild_as_int(next->in[1], &step) || step != 1) return NULL;
  const ig_svalue *most = less->in[1];
  if (most->block == body || (most->node && most->node->owner == body)) return NULL;
  for (const ig_sinsn *k = i + 1; k < f->code->at + i->index; k++)
    if (k->node == less) return k;
  return NULL;
}

static void believe(ig_ctx *c, ig_expr_kind relation, ig_value a, ig_value b) {
  const ig_value sides[] = {a, b};
  ig_value holds = ig_none();
  if (c->status == IG_OK) ig_sym_apply(c, relation, sides, 2, &holds);
  if (holds.kind == IG_KIND_BOOL) ig_sym_believe(c, &holds);
}

// A number of a round, which begins at 0, lies below the number of rounds: max(0, n) of them are n.
static void believe_counts(ig_ctx *c, ig_value counter, ig_value most) {
  believe(c, IG_EXPR_GE, counter, ig_of_i64(0));
  believe(c, IG_EXPR_LT, counter, most);
  const ig_expr *e = most.i.expr;
  if (!e || e->kind != IG_EXPR_MAX || e->n != 2) return;
  for (size_t k = 0; k < 2; k++) {
    const ig_expr *zero = e->args[k];
    ig_value rounds;
    if (zero->kind != IG_EXPR_CONST || zero->num != 0) continue;
    ig_value_of_expr(e->args[1 - k], &rounds);
    believe(c, IG_EXPR_LT, counter, rounds);
  }
}

static ig_value *carry(ig_ctx *c, ig_value counter, const ig_value *values, uint32_t n,
                       size_t *count) {
  size_t leaf_count = 0;
  for (uint32_t k = 0; k < n; k++) leaf_count = leaves(c, values[k], NULL, leaf_count, 0);
  ig_value *at = ig_scope_array(c, leaf_count + 1, sizeof *at);
  if (!at) return NULL;
  at[0] = counter;
  *count = 1;
  for (uint32_t k = 0; k < n; k++) *count = leaves(c, values[k], at, *count, leaf_count + 1);
  for (size_t k = 0; k < *count; k++) at[k] = ig_of_tensor(as_tensor(c, at[k]));
  return c->status == IG_OK ? at : NULL;
}

static const ig_value *loop_goes_on(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                    void *user) {
  const loop *l = user;
  (void)n;
  ig_value *out = ig_scope_array(c, 1, sizeof *out);
  ig_value most = ig_sframe_read(l->from, l->test->in[1]);
  ig_tensor *more = in[1].tensor;
  if (l->counts) {
    ig_tensor *left = ig_lt_scalar(c, in[0].tensor, most);
    more = left ? ig_logical_and(c, left, more) : NULL;
  }
  if (!out || !more) return NULL;
  *out = ig_of_tensor(more);
  *nouts = 1;
  return out;
}

// The number of the round, of which the loop knows that it lies below the number of rounds.
static ig_value counter_of(ig_ctx *c, const loop *l, ig_tensor *from) {
  ig_value counter = ig_sb_element(c, from);
  if (l->counts)
    believe_counts(c, counter, ig_sframe_read(l->from, l->test->in[1]));
  else
    believe(c, IG_EXPR_GE, counter, ig_of_i64(0));
  return counter;
}

// What a round begins or ends with: the carried registers, then those that it writes besides.
static ig_value *carried_of(ig_ctx *c, const ig_sframe *f, const ig_sinsn *i, const writes *w) {
  ig_value *values = ig_scope_array(c, ig_mem_add(ig_mem_add(i->n_out, w->n), 1), sizeof *values);
  for (uint32_t k = 0; values && k < i->n_out; k++) values[k] = f->registers[i->out[k]];
  for (size_t k = 0; values && k < w->n; k++) values[i->n_out + k] = f->registers[w->at[k]];
  return values;
}

// A copy of its own, a new reference.
static ig_value copied(ig_ctx *c, ig_value v) {
  ig_value copy = ig_of_tensor(ig_clone(c, v.tensor));
  if (!copy.tensor) return v;
  ig_svalue_retain(copy);
  ig_svalue_release(v);
  return copy;
}

// After a round: lists of dynamic length are tensors. A probe compares the lists with what they
// were before, and carries those that it began with.
static void settle_carried(ig_ctx *c, const loop *l, ig_value *values) {
  for (size_t k = 0; k < l->test->n_out + l->writes.n && c->status == IG_OK; k++) {
    ig_value before = l->like[k];
    if (!is_list(values[k]) || !is_list(before)) continue;
    const ig_sobj_seq *was = before.object;
    const ig_sobj_seq *now = values[k].object;
    if (l->probe) {
      l->rows[k] = l->rows[k] || ig_srows_is(values[k]) || was->n != now->n;
      if (l->rows[k]) ig_srows_learn_more(c, values[k], &l->likes[k]);
      values[k] = before;
    } else if (ig_srows_is(before) && was->lengths) {
      ig_srows_settle(c, values[k].object, &l->likes[k]);
    } else if (ig_srows_is(before)) {
      values[k] = ig_of_tensor(ig_srows_stacked(c, values[k], &l->likes[k]));
    }
  }
}

static const ig_value *loop_round(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  const loop *l = user;
  const ig_sinsn *i = l->test;
  ig_srun r = {.c = c, .max_depth = l->max_depth};
  ig_value *out = NULL;
  if (copy_frame(&r, l->from, (size_t)(i - l->from->code->at) + 1)) {
    ig_sframe *f = ig_srun_top(&r);
    supply from = {in + 1, n - 1};  // the counter is the first
    for (uint32_t k = 0; k < i->n_out; k++) {
      ig_value v = from_tensors(c, l->like[k], &from);
      if (l->own[k] && v.kind == IG_KIND_TENSOR) v = copied(c, v);
      ig_sframe_write(f, i->out[k], v);
    }
    if (l->bound) {
      ig_value counter = f->registers[i->out[i->n_out - 1]];
      believe_counts(c, counter, ig_sframe_read(l->from, l->bound->in[1]));
    }
    for (size_t k = 0; k < l->writes.n && c->status == IG_OK; k++) {
      ig_value was = l->from->registers[l->writes.at[k]];
      if (is_list(was))
        replace_list(f, was.object, from_tensors(c, l->like[i->n_out + k], &from));
      else
        replace_tensor(f, was.tensor, ig_clone(c, next_of(c, &from).tensor));
    }
    const ig_sblock *body = i->node->blocks[0];
    bool used = ig_svalue_is_used(body, body->in[0]);
    if (used) ig_sframe_write(f, (uint32_t)i->in[0], counter_of(c, l, in[0].tensor));
    if (c->status == IG_OK) ig_srun_execute(&r, i->index, NULL);
  }
  if (c->status == IG_OK) {
    ig_value *values = carried_of(c, ig_srun_top(&r), i, &l->writes);
    if (values) settle_carried(c, l, values);
    ig_tensor *counter = values ? ig_add_scalar(c, in[0].tensor, ig_of_i64(1)) : NULL;
    size_t count = i->n_out + l->writes.n;
    out = counter ? carry(c, ig_of_tensor(counter), values, (uint32_t)count, nouts) : NULL;
    // What is carried must outlive the frame.
    for (size_t k = 0; out && k < *nouts; k++) {
      if (!ig_pool_add(c, &ig_tensor_retain(out[k].tensor)->ref)) out = NULL;
    }
  }
  ig_srun_close(&r);
  return c->status == IG_OK ? out : NULL;
}

enum { MAX_ORIGINS = 256 };  // values behind a number that are looked at

// Is a number computed from a tensor, from its sizes for example? Not from one outside the
// function.
static bool comes_from_tensor(const ig_svalue *v, int *left) {
  if (v->type->kind == IG_STYPE_TENSOR) return true;
  if (v->type->kind == IG_STYPE_LIST) return false;  // as long as it was made
  if (v->block || !v->node || (*left)-- <= 0) return false;
  for (size_t k = 0; k < v->node->n_in; k++) {
    if (comes_from_tensor(v->node->in[k], left)) return true;
  }
  return false;
}

bool ig_srecord_keeps_loop(ig_ctx *c, const ig_sinsn *i, int64_t rounds) {
  if (!c->mode->capture || !ig_env_records_choices(c)) return false;
  int left = MAX_ORIGINS;
  return comes_from_tensor(i->node->in[0], &left) || !ig_sloop_is_short(i->node, rounds);
}

static bool is_separate(ig_ctx *c, const ig_sframe *f, size_t first, size_t end) {
  ig_scope s = ig_scope_open(c);
  writes w = writes_of(c, f, first, end);
  bool separate = !reads_written(f, first, end, &w);
  ig_scope_close(c, s);
  return separate;
}

// Lists that change are recorded where they must be: rounds that are known are run one by one.
bool ig_srecord_takes_loop(ig_ctx *c, const ig_sframe *f, const ig_sinsn *i, bool asks_data) {
  bool lists = asks_data && ig_env_records_choices(c);
  if (changes_objects(f->code->unit, i->node->blocks[0], lists)) return false;
  if (!is_separate(c, f, (size_t)(i - f->code->at) + 1, i->index)) return false;
  for (uint32_t k = 0; k < i->n_out; k++) {
    ig_value at[64];
    if (lists && ig_srows_is(f->registers[i->out[k]])) continue;
    size_t n = leaves(c, f->registers[i->out[k]], at, 0, 64);
    if (n > 64 || c->status != IG_OK) return false;
    for (size_t m = 0; m < n; m++) {
      bool fits = at[m].kind == IG_KIND_TENSOR || at[m].kind == IG_KIND_INT ||
                  at[m].kind == IG_KIND_FLOAT || at[m].kind == IG_KIND_BOOL;
      if (!fits) return false;
    }
  }
  return true;
}

bool ig_srecord_may_decide(ig_ctx *c) {
  if (c->status == IG_OK && !ig_env_records_choices(c)) return true;
  ig_fail_text(
      c, IG_UNSUPPORTED,
      "the course of a branch or loop depends on dynamic sizes or on data, and it changes a "
      "list, a dictionary or an object, or writes to memory that it also reads through "
      "another tensor: it would be right for the sizes of the example only. Keep its "
      "results in tensors, or make the sizes static");
  return false;
}

// Is a tensor also in a register that the loop does not carry?
static bool is_elsewhere(const ig_sframe *f, const ig_sinsn *i, const ig_tensor *t) {
  for (size_t k = 0; k < f->code->n_registers; k++) {
    bool carried = false;
    for (uint32_t m = 0; m < i->n_out; m++) carried = carried || i->out[m] == k;
    const ig_value *v = &f->registers[k];
    if (!carried && v->kind == IG_KIND_TENSOR && v->tensor == t) return true;
  }
  return false;
}

// In a round, a carried tensor is that of the round before; what the round reads besides is the one
// before the loop. They must not be the same object.
static void separate(ig_ctx *c, const ig_sframe *f, const ig_sinsn *i, ig_value *carried,
                     size_t n) {
  for (size_t k = 0; k < n && c->status == IG_OK; k++) {
    if (is_elsewhere(f, i, carried[k].tensor))
      carried[k] = ig_of_tensor(ig_clone(c, carried[k].tensor));
  }
}

// The writes into registers that the loop does not carry; own: which of the others it writes.
static writes without_carried(const ig_sinsn *i, writes w, bool *own) {
  size_t n = 0;
  for (uint32_t k = 0; k < i->n_out; k++) own[k] = false;
  for (size_t m = 0; m < w.n; m++) {
    bool carried = false;
    for (uint32_t k = 0; k < i->n_out; k++) {
      if (i->out[k] == w.at[m]) carried = own[k] = true;
    }
    if (!carried) w.at[n++] = w.at[m];
  }
  w.n = n;
  return w;
}

// Finds out which lists change their length from round to round, by recording one that is thrown
// away, and makes them lists of dynamic length in `like`, owned by the array `made`.
static bool learn_loop(ig_ctx *c, loop *l, ig_value *like, ig_value *made, ig_value counter) {
  size_t count = l->test->n_out + l->writes.n;
  bool any = false;
  for (size_t k = 0; k < count; k++) {
    made[k] = ig_none();
    l->likes[k] = (ig_srows_like){0};
    l->rows[k] = is_list(like[k]) && (k >= l->test->n_out || ig_srows_is(like[k]));
    if (is_list(like[k])) ig_srows_learn(c, like[k], &l->likes[k]);
    any = any || is_list(like[k]);
  }
  size_t n = 0;
  ig_value *carried = any ? carry(c, counter, like, (uint32_t)count, &n) : NULL;
  if (carried) {
    const ig_branch body = {.fn = loop_round, .user = l};
    const ig_branch_inputs in = {.who = "while_loop", .operands = carried, .n = n};
    l->probe = true;
    probe(c, &body, &in);
    l->probe = false;
  }
  for (size_t k = 0; k < count && c->status == IG_OK; k++) {
    if (!l->rows[k] || !l->likes[k].known) continue;
    ig_sobj_seq *rows = ig_srows_of(c, like[k], &l->likes[k]);
    if (rows) like[k] = made[k] = ig_of_sobj(rows);
  }
  return c->status == IG_OK;
}

bool ig_srecord_loop(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  writes w = writes_of(c, f, (size_t)(i - f->code->at) + 1, i->index);
  bool *own = ig_scope_array(c, i->n_out + 1, sizeof *own);
  if (own) w = without_carried(i, w, own);
  ig_value *like = own ? carried_of(c, f, i, &w) : NULL;
  ig_value most = ig_sframe_read(f, i->in[1]);
  uint32_t count = (uint32_t)(i->n_out + w.n);
  loop l = {.from = f,
            .test = i,
            .max_depth = r->max_depth,
            .counts = most.i.expr || most.i.value != INT64_MAX,
            .like = like,
            .writes = w,
            .own = own,
            .bound = like ? bound_of(f, i, like) : NULL,
            .likes = ig_scope_array(c, (size_t)count + 1, sizeof *l.likes),
            .rows = ig_scope_array(c, (size_t)count + 1, sizeof *l.rows)};
  size_t n = 0;
  ig_value *lists = ig_scope_array(c, (size_t)count + 1, sizeof *lists);
  bool ok = like && l.likes && l.rows && lists && are_private(c, f, &w) &&
            learn_loop(c, &l, like, lists, ig_sframe_read(f, i->in[0]));
  ig_value *carried = ok ? carry(c, ig_sframe_read(f, i->in[0]), like, count, &n) : NULL;
  if (carried) separate(c, f, i, carried, n);
  ig_branch cond = {.fn = loop_goes_on, .user = &l};
  ig_branch body = {.fn = loop_round, .user = &l};
  size_t n_outs = 0;
  const ig_value *outs =
      carried ? ig_while_loop(c, &cond, &body, carried, n, NULL, 0, &n_outs) : NULL;
  // The counter and the condition are not read behind the loop; the last condition is false.
  supply from = {outs ? outs + 2 : NULL, n_outs > 2 ? n_outs - 2 : 0};
  ig_value *made = ig_scope_array(c, i->n_out, sizeof *made);
  for (uint32_t k = 0; outs && made && k < i->n_out; k++) {
    made[k] = k ? from_tensors(c, like[k], &from) : ig_of_bool(false);
  }
  if (outs) copy_back(c, f, &w, l.likes + i->n_out, &from);
  for (uint32_t k = 0; outs && made && k < i->n_out; k++) ig_sframe_write(f, i->out[k], made[k]);
  for (uint32_t k = 0; lists && ok && k < count; k++) ig_svalue_release(lists[k]);
  ig_scope_close(c, s);
  f->next = i->target;
  return c->status == IG_OK;
}
