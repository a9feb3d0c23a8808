// SPDX-License-Identifier: Apache-2.0
// Runs code. Calls of functions are frames of this loop; the C stack grows only where a built-in or
// the host runs a script again, which is bounded.
#include "script/interp.h"

#include <string.h>

#include "base/budget.h"
#include "base/limits.h"
#include "ingot/aten.h"
#include "ingot/hop.h"
#include "op/call.h"
#include "script/builtin.h"
#include "script/code.h"
#include "script/failure.h"
#include "script/form.h"
#include "script/interp_args.h"
#include "script/ir_edit.h"
#include "sym/env.h"

typedef struct frame {
  const ig_scode *code;
  ig_value *registers;
  size_t next;     // instruction
  size_t entered;  // `with` objects before this frame
} frame;

typedef struct run {
  ig_ctx *c;
  IG_VEC(frame) frames;
  IG_VEC(ig_value) entered;  // objects of open `with` statements, retained
  size_t max_depth;
} run;

static bool no_memory(run *r) {
  (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  return false;
}

static bool wrong(run *r, const ig_sinsn *i, const char *what) {
  ig_fail_text(r->c, IG_INVALID, "%s: %s", i->node ? i->node->kind : "script", what);
  return false;
}

static frame *top(run *r) {
  return &r->frames.at[r->frames.n - 1];
}

static inline ig_value read(const frame *f, ig_soperand at) {
  return at >= 0 ? f->registers[at] : f->code->constants[~at];
}

// Takes over the reference.
static inline void write(frame *f, uint32_t at, ig_value v) {
  ig_value old = f->registers[at];
  f->registers[at] = v;
  if (old.kind == IG_KIND_TENSOR || old.kind == IG_KIND_OBJECT) ig_svalue_release(old);
}

static inline void release_ends(frame *f, const ig_sinsn *i) {
  for (uint32_t k = 0; k < i->n_free; k++) write(f, i->frees[k], ig_none());
}

// ---- frames

static bool push_frame(run *r, const ig_scode *code) {
  if (r->frames.n >= r->max_depth) {
    ig_fail_text(r->c, IG_LIMIT, "functions of the script call each other more than %zu deep",
                 r->max_depth);
    return false;
  }
  frame f = {.code = code, .entered = r->entered.n};
  f.registers = ig_mem_array(r->c->alloc, code->n_registers, sizeof *f.registers);
  if (!f.registers) return no_memory(r);
  if (ig_vec_push(r->c->alloc, &r->frames, f)) return true;
  ig_mem_array_free(r->c->alloc, f.registers, code->n_registers, sizeof *f.registers);
  return no_memory(r);
}

static void pop_frame(run *r) {
  frame *f = &r->frames.at[--r->frames.n];
  for (size_t i = 0; i < f->code->n_registers; i++) {
    ig_value v = f->registers[i];
    if (v.kind == IG_KIND_TENSOR || v.kind == IG_KIND_OBJECT) ig_svalue_release(v);
  }
  ig_mem_array_free(r->c->alloc, f->registers, f->code->n_registers, sizeof *f->registers);
}

static const ig_scode *code_of(ig_ctx *c, ig_sfunction *f) {
  if (f->code) return f->code;
  if (!ig_sfunction_ensure(c, f)) return NULL;
  if (!f->graph) {
    (void)ig_fail(c, IG_INVALID, "%s has no body", f->qualified);
    return NULL;
  }
  f->code = ig_scode_make(c, f->unit, f->graph, f->name);
  f->free_code = ig_scode_free;
  return f->code;
}

// ---- operators

static bool run_op(run *r, frame *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  ig_sroom space;
  space.n = 0;
  ig_scope s = ig_scope_open(c);
  for (uint32_t k = 0; k < i->n_in; k++) {
    args[k] = read(f, i->in[k]);
    bool plain = i->how[k] == IG_SARG_PASS && args[k].kind != IG_KIND_OBJECT;
    if (!plain && !ig_sarg_adapt(c, i, k, &space, &args[k])) {
      ig_scope_close(c, s);
      return false;
    }
  }
  ig_call(c, i->op, args, outs);
  if (c->status == IG_OK) {
    size_t n = i->op->schema.nrets < i->n_out ? i->op->schema.nrets : i->n_out;
    // The usual result, a new tensor that only the scope holds: its reference moves.
    if (n == 1 && outs[0].kind == IG_KIND_TENSOR && c->pool.n == s.mark + 1 &&
        c->pool.at[s.mark] == &outs[0].tensor->ref) {
      c->pool.n = s.mark;
      write(f, i->out[0], outs[0]);
    } else {
      for (size_t k = 0; k < n; k++) write(f, i->out[k], ig_sarg_result(c, i, k, outs[k]));
    }
  }
  ig_scope_close(c, s);
  return c->status == IG_OK;
}

// ---- built-ins

static bool is_allowed(ig_value v, uint64_t kinds) {
  unsigned bit = v.kind == IG_KIND_OBJECT
                     ? (unsigned)IG_KIND_COUNT + (unsigned)((const ig_sobj *)v.object)->kind
                     : (unsigned)v.kind;
  return kinds >> bit & 1;
}

enum { INLINE = 8 };

static bool run_builtin(run *r, frame *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_value in_room[INLINE];
  ig_value out_room[INLINE];
  ig_scope s = ig_scope_open(c);
  ig_value *in = i->n_in <= INLINE ? in_room : ig_scope_array(c, i->n_in, sizeof *in);
  ig_value *out = i->n_out <= INLINE ? out_room : ig_scope_array(c, i->n_out, sizeof *out);
  bool ok = in && out && ig_step(c);
  for (uint32_t k = 0; ok && k < i->n_in; k++) {
    in[k] = read(f, i->in[k]);
    ok = is_allowed(in[k], i->kinds[k]) || wrong(r, i, "a value of another type");
  }
  for (uint32_t k = 0; ok && k < (i->n_out ? i->n_out : 1); k++) out[k] = ig_none();
  if (ok) {
    ig_sbuiltin_call call = {c, f->code->unit, i->node, in, i->n_in, out};
    i->run(&call);
    // The built-in may have run a script: frames may have moved, registers have not.
    f = top(r);
    ok = c->status == IG_OK;
    if (i->n_out == 0) ig_svalue_release(out[0]);
    for (uint32_t k = 0; k < i->n_out; k++) {
      if (ok)
        write(f, i->out[k], out[k]);
      else
        ig_svalue_release(out[k]);
    }
  }
  ig_scope_close(c, s);
  return ok;
}

// ---- moves

static bool run_moves(run *r, frame *f, const ig_sinsn *i, ig_value *to) {
  ig_value near[INLINE];
  ig_scope s = ig_scope_open(r->c);
  ig_value *held = i->n_in <= INLINE ? near : ig_scope_array(r->c, i->n_in, sizeof *held);
  if (!held) return false;
  for (uint32_t k = 0; k < i->n_in; k++) {
    held[k] = read(f, i->in[k]);
    if (i->how[k])
      f->registers[i->in[k]] = ig_none();
    else
      ig_svalue_retain(held[k]);
  }
  for (uint32_t k = 0; k < i->n_in; k++) {
    if (to)
      to[k] = held[k];
    else
      write(f, i->out[k], held[k]);
  }
  ig_scope_close(r->c, s);
  return true;
}

// ---- containers

static bool run_seq(run *r, frame *f, const ig_sinsn *i, ig_sobj_kind kind) {
  ig_sobj_seq *s = ig_sobj_seq_make(r->c, kind, i->node->out[0]->type, NULL, i->n_in);
  for (uint32_t k = 0; s && k < i->n_in; k++) {
    s->at[k] = read(f, i->in[k]);
    ig_svalue_retain(s->at[k]);
  }
  if (s) write(f, i->out[0], ig_of_sobj(s));
  return s != NULL;
}

static bool run_dict(run *r, frame *f, const ig_sinsn *i) {
  ig_sobj_dict *d = ig_sobj_dict_make(r->c, i->node->out[0]->type);
  bool ok = d && i->n_in % 2 == 0;
  for (uint32_t k = 0; ok && k + 1 < i->n_in; k += 2) {
    ok = ig_sobj_dict_put(r->c, d, read(f, i->in[k]), read(f, i->in[k + 1]));
  }
  if (d && ok)
    write(f, i->out[0], ig_of_sobj(d));
  else if (d)
    ig_svalue_release(ig_of_sobj(d));
  return ok || (d && wrong(r, i, "keys and values do not pair"));
}

static const ig_sobj_seq *seq_of(ig_value v) {
  return ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE) ? v.object : NULL;
}

static bool run_unpack(run *r, frame *f, const ig_sinsn *i) {
  const ig_sobj_seq *s = i->n_in == 1 ? seq_of(read(f, i->in[0])) : NULL;
  if (!s) return wrong(r, i, "expected a list or tuple");
  if (s->n != i->n_out) {
    ig_fail_text(r->c, IG_RUNTIME, "Expected %u elements in a list but found %zu", i->n_out, s->n);
    return false;
  }
  for (uint32_t k = 0; k < i->n_out; k++) {
    ig_svalue_retain(s->at[k]);
    write(f, i->out[k], s->at[k]);
  }
  return true;
}

static int64_t int_attr(const ig_snode *n, const char *name, int64_t otherwise) {
  const ig_sattr *a = ig_snode_attr(n, name);
  return a && a->value.kind == IG_KIND_INT ? a->value.i.value : otherwise;
}

static bool run_tuple_slice(run *r, frame *f, const ig_sinsn *i) {
  const ig_sobj_seq *s = i->n_in == 1 ? seq_of(read(f, i->in[0])) : NULL;
  if (!s) return wrong(r, i, "expected a tuple");
  int64_t from = int_attr(i->node, "beg", 0);
  int64_t to = int_attr(i->node, "end", (int64_t)s->n);
  if (from < 0 || to < from || to > (int64_t)s->n) return wrong(r, i, "a slice out of range");
  ig_sobj_seq *part = ig_sobj_seq_make(r->c, IG_SOBJ_TUPLE, i->node->out[0]->type, s->at + from,
                                       (size_t)(to - from));
  if (part) write(f, i->out[0], ig_of_sobj(part));
  return part != NULL;
}

// ---- objects

static ig_sobj_instance *instance_at(run *r, const frame *f, const ig_sinsn *i) {
  ig_value v = i->n_in ? read(f, i->in[0]) : ig_none();
  if (ig_sobj_is(v, IG_SOBJ_INSTANCE)) return v.object;
  (void)wrong(r, i, "expected an object");
  return NULL;
}

// Position of the attribute in the class of the object, which may have changed its type.
static bool attribute_of(run *r, const ig_sinsn *i, const ig_sobj_instance *o, size_t *at) {
  bool same = i->index != UINT32_MAX && o->head.type == i->node->in[0]->type;
  *at = same ? i->index : ig_sclass_attribute(o->cls, i->name);
  if (*at != SIZE_MAX) return true;
  ig_fail_text(r->c, IG_RUNTIME, "%s does not have a field with name '%s'", o->head.type->name,
               i->name);
  return false;
}

static bool run_get(run *r, frame *f, const ig_sinsn *i) {
  const ig_sobj_instance *o = instance_at(r, f, i);
  size_t at = 0;
  if (!o || !attribute_of(r, i, o, &at)) return false;
  ig_value v = ig_sobj_instance_get(o, at);
  ig_svalue_retain(v);
  write(f, i->out[0], v);
  return true;
}

static bool run_set(run *r, frame *f, const ig_sinsn *i) {
  ig_sobj_instance *o = instance_at(r, f, i);
  size_t at = 0;
  return o && attribute_of(r, i, o, &at) &&
         ig_sobj_instance_set(r->c, o, at, read(f, i->in[i->n_in - 1]));
}

static bool run_create(run *r, frame *f, const ig_sinsn *i) {
  ig_sclass *cls = i->n_out ? ig_sclass_of(i->node->out[0]->type) : NULL;
  ig_sobj_instance *o = cls ? ig_sobj_instance_make(r->c, cls) : NULL;
  if (!cls) return wrong(r, i, "the class is not known");
  if (o) write(f, i->out[0], ig_of_sobj(o));
  return o != NULL;
}

static bool run_isinstance(run *r, frame *f, const ig_sinsn *i) {
  const ig_sattr *a = ig_snode_attr(i->node, "types");
  if (!a || i->n_in != 1) return wrong(r, i, "the types are not known");
  ig_value v = read(f, i->in[0]);
  bool any = false;
  for (size_t k = 0; !any && k < a->n_types; k++) any = ig_svalue_is(v, a->types[k]);
  write(f, i->out[0], ig_of_bool(any));
  return true;
}

// ---- calls

// Calls f with values of the frame. The result goes to the instruction's register when it returns.
static bool call(run *r, const ig_sinsn *i, ig_sfunction *fn, size_t first, size_t nones) {
  frame *f = top(r);
  size_t n = i->n_in - first;
  if (fn->n_params != n + nones) return wrong(r, i, "another number of arguments");
  if (fn->host_run) {
    ig_scope s = ig_scope_open(r->c);
    ig_value *args = ig_scope_array(r->c, ig_mem_add(n, nones), sizeof *args);
    ig_value result = ig_none();
    for (size_t k = 0; args && k < n + nones; k++) {
      args[k] = k < n ? read(f, i->in[first + k]) : ig_none();
    }
    bool ok = args && fn->host_run(r->c, fn, args, &result);
    ig_scope_close(r->c, s);
    f = top(r);
    if (ok && i->n_out) write(f, i->out[0], result);
    if (ok) release_ends(f, i);
    if (!ok && r->c->status == IG_OK) (void)ig_fail(r->c, IG_HOST, "%s failed", fn->qualified);
    return ok;
  }
  const ig_scode *code = code_of(r->c, fn);
  if (!code || !push_frame(r, code)) return false;
  if (code->n_args != n + nones) return wrong(r, i, "another number of arguments");
  f = &r->frames.at[r->frames.n - 2];
  frame *callee = top(r);
  for (size_t k = 0; k < n; k++) {
    callee->registers[k] = read(f, i->in[first + k]);
    ig_svalue_retain(callee->registers[k]);
  }
  release_ends(f, i);
  return true;
}

static ig_sfunction *method_at(run *r, const frame *f, const ig_sinsn *i, const char *name) {
  const ig_sobj_instance *o = instance_at(r, f, i);
  ig_sfunction *fn = o ? ig_sclass_method(o->cls, name) : NULL;
  if (o && !fn) {
    ig_fail_text(r->c, IG_RUNTIME, "%s has no method '%s'", o->head.type->name, name);
  }
  return fn;
}

static bool run_call_named(run *r, const ig_sinsn *i) {
  ig_sfunction *fn = method_at(r, top(r), i, i->name);
  return fn && call(r, i, fn, 0, 0);
}

static bool run_call_value(run *r, const ig_sinsn *i) {
  ig_value v = i->n_in ? read(top(r), i->in[0]) : ig_none();
  if (!ig_sobj_is(v, IG_SOBJ_FUNCTION)) return wrong(r, i, "expected a function");
  return call(r, i, ((const ig_sobj_function *)v.object)->function, 1, 0);
}

static bool run_enter(run *r, const ig_sinsn *i) {
  frame *f = top(r);
  ig_sfunction *fn = method_at(r, f, i, "__enter__");
  if (!fn) return false;
  ig_value o = read(f, i->in[0]);
  if (!ig_vec_push(r->c->alloc, &r->entered, o)) return no_memory(r);
  ig_svalue_retain(o);
  return call(r, i, fn, 0, 0);
}

static bool run_exit(run *r, const ig_sinsn *i) {
  frame *f = top(r);
  ig_sfunction *fn = method_at(r, f, i, "__exit__");
  if (!fn) return false;
  if (r->entered.n > f->entered) ig_svalue_release(r->entered.at[--r->entered.n]);
  return call(r, i, fn, 0, fn->n_params - 1);
}

static ig_status run_code(ig_ctx *c, const ig_scode *code, const ig_value *args, ig_value *outs);

// Runs at once. An error is raised where the result is waited for.
static bool run_fork(run *r, frame *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  ig_value *args = ig_scope_array(c, i->n_in, sizeof *args);
  ig_value out = ig_none();
  if (!args || i->body->n_results != 1 || i->body->n_args != i->n_in) {
    ig_scope_close(c, s);
    return args ? wrong(r, i, "a graph that does not fit") : false;
  }
  for (uint32_t k = 0; k < i->n_in; k++) args[k] = read(f, i->in[k]);
  ig_status st = run_code(c, i->body, args, &out);
  ig_scope_close(c, s);
  f = top(r);
  if (ig_status_is_final(st)) return false;
  char *text = NULL;
  if (st != IG_OK) {
    const ig_sfailure *why = ig_ctx_sfailure(c);
    const char *message = why ? why->message : c->message;
    text = ig_mem_new(c->alloc, strlen(message) + 1);
    if (text) memcpy(text, message, strlen(message) + 1);
    ig_ctx_clear(c);
  }
  ig_sobj_future *future = ig_sobj_future_make(c, i->node->out[0]->type, out);
  ig_svalue_release(out);
  if (future) {
    future->status = st;
    future->error = text;
    write(f, i->out[0], ig_of_sobj(future));
  } else if (text) {
    ig_mem_free(c->alloc, text, strlen(text) + 1);
  }
  return future != NULL;
}

// ---- the loop

// ---- conditions on data under a capture

// One branch of an If, run on a copy of the frame.
typedef struct branch {
  const frame *from;
  const ig_sinsn *test;
  size_t first;
  size_t end;
  size_t max_depth;
  ig_value *results;  // as the script has them, retained
} branch;

static void execute(run *r, size_t end, ig_value *outs);

// The tensors and numbers in a value, containers taken apart. At most `most`; more are counted.
static size_t leaves(ig_value v, ig_value *at, size_t n, size_t most) {
  if (v.kind == IG_KIND_NONE) return n;
  if (ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE)) {
    const ig_sobj_seq *s = v.object;
    for (size_t k = 0; k < s->n; k++) n = leaves(s->at[k], at, n, most);
    return n;
  }
  if (n < most) at[n] = v;
  return n + 1;
}

// The same value with other leaves, a new reference.
static ig_value with_leaves(ig_ctx *c, ig_value like, const ig_value **next) {
  if (like.kind == IG_KIND_NONE) return like;
  if (!ig_sobj_is(like, IG_SOBJ_LIST) && !ig_sobj_is(like, IG_SOBJ_TUPLE)) {
    ig_value v = *(*next)++;
    ig_svalue_retain(v);
    return v;
  }
  const ig_sobj_seq *s = like.object;
  ig_value *at = ig_scope_array(c, s->n, sizeof *at);
  for (size_t k = 0; at && k < s->n; k++) at[k] = with_leaves(c, s->at[k], next);
  ig_sobj_seq *made = at ? ig_sobj_seq_make(c, s->head.kind, s->head.type, at, s->n) : NULL;
  for (size_t k = 0; at && k < s->n; k++) ig_svalue_release(at[k]);
  return made ? ig_of_sobj(made) : ig_none();
}

static bool copy_frame(run *r, const frame *from, size_t next) {
  if (!push_frame(r, from->code)) return false;
  frame *f = top(r);
  f->next = next;
  for (size_t k = 0; k < from->code->n_registers; k++) {
    f->registers[k] = from->registers[k];
    ig_svalue_retain(f->registers[k]);
  }
  return true;
}

static const ig_value *run_branch(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  (void)in;
  (void)n;
  branch *b = user;
  run r = {.c = c, .max_depth = b->max_depth};
  bool ok = copy_frame(&r, b->from, b->first);
  if (ok) execute(&r, b->end, NULL);
  size_t count = 0;
  for (uint32_t k = 0; ok && c->status == IG_OK && k < b->test->n_out; k++) {
    ig_svalue_release(b->results[k]);
    b->results[k] = top(&r)->registers[b->test->out[k]];
    ig_svalue_retain(b->results[k]);
    count = leaves(b->results[k], NULL, count, 0);
  }
  ig_value *out = ig_scope_array(c, count + 1, sizeof *out);
  *nouts = 0;
  for (uint32_t k = 0; out && k < b->test->n_out; k++) {
    *nouts = leaves(b->results[k], out, *nouts, count);
  }
  for (size_t k = 0; out && k < count; k++) {
    bool fits = out[k].kind == IG_KIND_TENSOR || out[k].kind == IG_KIND_INT ||
                out[k].kind == IG_KIND_FLOAT || out[k].kind == IG_KIND_BOOL;
    if (!fits) {
      ig_fail_text(c, IG_UNSUPPORTED,
                   "a branch whose condition depends on data gives a value that is no tensor or "
                   "number; give both branches results of tensors and numbers");
    }
  }
  while (r.entered.n) ig_svalue_release(r.entered.at[--r.entered.n]);
  while (r.frames.n) pop_frame(&r);
  ig_vec_free(c->alloc, &r.frames);
  ig_vec_free(c->alloc, &r.entered);
  return c->status == IG_OK ? out : NULL;
}

// Both branches become sub-graphs of a cond node, as both may be taken when the program runs.
static bool record_branches(run *r, frame *f, const ig_sinsn *i, const ig_value *pred) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  branch b[2];
  ig_branch fns[2];
  bool ok = true;
  for (int k = 0; k < 2; k++) {
    // The first branch ends with a jump behind the second.
    b[k] = (branch){.from = f,
                    .test = i,
                    .first = k ? i->target : f->next,
                    .end = k ? i->index : i->target - 1,
                    .max_depth = r->max_depth};
    b[k].results = ig_scope_array(c, i->n_out + 1, sizeof *b[k].results);
    for (uint32_t n = 0; b[k].results && n < i->n_out; n++) b[k].results[n] = ig_none();
    fns[k] = (ig_branch){.fn = run_branch, .user = &b[k]};
    ok = ok && b[k].results;
  }
  size_t n = 0;
  ig_cond_args args = {.pred = pred, .yes = &fns[0], .no = &fns[1]};
  const ig_value *outs = ok ? ig_cond(c, &args, &n) : NULL;
  for (uint32_t k = 0; outs && k < i->n_out; k++) {
    write(f, i->out[k], with_leaves(c, b[0].results[k], &outs));
  }
  for (int k = 0; ok && k < 2; k++) {
    for (uint32_t m = 0; m < i->n_out; m++) ig_svalue_release(b[k].results[m]);
  }
  ig_scope_close(c, s);
  f->next = i->index;
  return c->status == IG_OK;
}

// Is the condition unknown until the program runs?
static bool depends_on_data(ig_ctx *c, const ig_value *v) {
  bool answer = false;
  return c->mode->capture && v->b_expr && !v->b_expr->backed && !ig_bool_known(c, v, &answer);
}

// ---- loops on data under a capture

// Everything that a recorded loop carries is a tensor: the counter, the condition, then what the
// carried values consist of.
typedef struct loop {
  const frame *from;
  const ig_sinsn *test;
  size_t max_depth;
  bool counts;           // the number of rounds is bounded
  const ig_value *like;  // carried values before the loop
} loop;

static ig_tensor *as_tensor(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_TENSOR) return v.tensor;
  ig_dtype dtype = v.kind == IG_KIND_INT ? IG_I64 : v.kind == IG_KIND_BOOL ? IG_BOOL : IG_F64;
  if (v.kind != IG_KIND_INT && v.kind != IG_KIND_BOOL && v.kind != IG_KIND_FLOAT) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "a loop whose number of rounds depends on data carries a value that is no tensor "
                 "or number");
    return NULL;
  }
  return ig_scalar_tensor_with(c, v, ig_of_dtype(dtype), ig_none(), ig_none(), ig_none());
}

// The value of a register from tensors; numbers are read from theirs. A new reference.
static ig_value from_tensors(ig_ctx *c, ig_value like, const ig_value **next) {
  if (like.kind == IG_KIND_NONE || like.kind == IG_KIND_TENSOR || ig_sobj_is(like, IG_SOBJ_LIST) ||
      ig_sobj_is(like, IG_SOBJ_TUPLE)) {
    if (!ig_sobj_of(like)) return with_leaves(c, like, next);
    const ig_sobj_seq *s = like.object;
    ig_value *at = ig_scope_array(c, s->n, sizeof *at);
    for (size_t k = 0; at && k < s->n; k++) at[k] = from_tensors(c, s->at[k], next);
    ig_sobj_seq *made = at ? ig_sobj_seq_make(c, s->head.kind, s->head.type, at, s->n) : NULL;
    for (size_t k = 0; at && k < s->n; k++) ig_svalue_release(at[k]);
    return made ? ig_of_sobj(made) : ig_none();
  }
  ig_value v = *(*next)++;
  return v.kind == IG_KIND_TENSOR ? ig_sb_element(c, v.tensor) : v;
}

static ig_value *carry(ig_ctx *c, ig_value counter, const ig_value *values, uint32_t n,
                       size_t *count) {
  size_t leaf_count = 0;
  for (uint32_t k = 0; k < n; k++) leaf_count = leaves(values[k], NULL, leaf_count, 0);
  ig_value *at = ig_scope_array(c, leaf_count + 1, sizeof *at);
  if (!at) return NULL;
  at[0] = counter;
  *count = 1;
  for (uint32_t k = 0; k < n; k++) *count = leaves(values[k], at, *count, leaf_count + 1);
  for (size_t k = 0; k < *count; k++) at[k] = ig_of_tensor(as_tensor(c, at[k]));
  return c->status == IG_OK ? at : NULL;
}

static const ig_value *loop_goes_on(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                    void *user) {
  const loop *l = user;
  (void)n;
  ig_value *out = ig_scope_array(c, 1, sizeof *out);
  ig_value most = read(l->from, l->test->in[1]);
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
  const ig_value bounds[] = {ig_of_i64(0), read(l->from, l->test->in[1])};
  static const ig_expr_kind relations[] = {IG_EXPR_GE, IG_EXPR_LT};
  for (size_t k = 0; k < (l->counts ? 2 : 1) && c->status == IG_OK; k++) {
    const ig_value sides[] = {counter, bounds[k]};
    ig_value holds = ig_none();
    ig_sym_apply(c, relations[k], sides, 2, &holds);
    if (holds.kind == IG_KIND_BOOL) ig_sym_believe(c, &holds);
  }
  return counter;
}

static const ig_value *loop_round(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  const loop *l = user;
  const ig_sinsn *i = l->test;
  (void)n;
  run r = {.c = c, .max_depth = l->max_depth};
  ig_value *out = NULL;
  if (copy_frame(&r, l->from, (size_t)(i - l->from->code->at) + 1)) {
    frame *f = top(&r);
    const ig_value *next = in + 1;
    for (uint32_t k = 0; k < i->n_out; k++) {
      write(f, i->out[k], from_tensors(c, l->like[k], &next));
    }
    const ig_sblock *body = i->node->blocks[0];
    bool used = ig_svalue_is_used(body, body->in[0]);
    if (used) write(f, (uint32_t)i->in[0], counter_of(c, l, in[0].tensor));
    if (c->status == IG_OK) execute(&r, i->index, NULL);
  }
  if (c->status == IG_OK) {
    ig_value *values = ig_scope_array(c, i->n_out, sizeof *values);
    for (uint32_t k = 0; values && k < i->n_out; k++) values[k] = top(&r)->registers[i->out[k]];
    ig_tensor *counter = values ? ig_add_scalar(c, in[0].tensor, ig_of_i64(1)) : NULL;
    out = counter ? carry(c, ig_of_tensor(counter), values, i->n_out, nouts) : NULL;
    // What is carried must outlive the frame.
    for (size_t k = 0; out && k < *nouts; k++) {
      if (!ig_pool_add(c, &ig_tensor_retain(out[k].tensor)->ref)) out = NULL;
    }
  }
  while (r.entered.n) ig_svalue_release(r.entered.at[--r.entered.n]);
  while (r.frames.n) pop_frame(&r);
  ig_vec_free(c->alloc, &r.frames);
  ig_vec_free(c->alloc, &r.entered);
  return c->status == IG_OK ? out : NULL;
}

// Does a block change containers or objects? What a round does to them cannot be recorded.
static bool changes_objects(ig_sunit *u, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (ig_sform_of(n) == IG_SFORM_SET_ATTR) return true;
    const ig_soperator *op = n->n_blocks ? NULL : ig_soperator_of_node(u, n);
    for (size_t k = 0; op && k < op->schema->n_params && k < n->n_in; k++) {
      ig_stype_kind kind = n->in[k]->type->kind;
      bool container = kind == IG_STYPE_LIST || kind == IG_STYPE_DICT;
      if (op->schema->params[k].written && container) return true;
    }
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (changes_objects(u, n->blocks[k])) return true;
    }
  }
  return false;
}

static bool can_be_recorded(const frame *f, const ig_sinsn *i) {
  if (changes_objects(f->code->unit, i->node->blocks[0])) return false;
  for (uint32_t k = 0; k < i->n_out; k++) {
    ig_value at[64];
    size_t n = leaves(f->registers[i->out[k]], at, 0, 64);
    if (n > 64) return false;
    for (size_t m = 0; m < n; m++) {
      bool fits = at[m].kind == IG_KIND_TENSOR || at[m].kind == IG_KIND_INT ||
                  at[m].kind == IG_KIND_FLOAT || at[m].kind == IG_KIND_BOOL;
      if (!fits) return false;
    }
  }
  return true;
}

// Is it unknown how many rounds there will be?
static bool asks_data(ig_ctx *c, const ig_value *most, const ig_value *go_on) {
  if (!c->mode->capture) return false;
  return most->i.expr || depends_on_data(c, go_on);
}

static bool record_loop(run *r, frame *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  ig_value *like = ig_scope_array(c, i->n_out, sizeof *like);
  for (uint32_t k = 0; like && k < i->n_out; k++) like[k] = f->registers[i->out[k]];
  ig_value most = read(f, i->in[1]);
  loop l = {.from = f,
            .test = i,
            .max_depth = r->max_depth,
            .counts = most.i.expr || most.i.value != INT64_MAX,
            .like = like};
  size_t n = 0;
  ig_value *carried = like ? carry(c, read(f, i->in[0]), like, i->n_out, &n) : NULL;
  ig_branch cond = {.fn = loop_goes_on, .user = &l};
  ig_branch body = {.fn = loop_round, .user = &l};
  size_t n_outs = 0;
  const ig_value *outs =
      carried ? ig_while_loop(c, &cond, &body, carried, n, NULL, 0, &n_outs) : NULL;
  const ig_value *next = outs ? outs + 1 : NULL;
  ig_value *made = ig_scope_array(c, i->n_out, sizeof *made);
  for (uint32_t k = 0; next && made && k < i->n_out; k++) {
    // The condition is not read behind the loop, and the last one is false.
    made[k] = k ? from_tensors(c, like[k], &next) : ig_of_bool(false);
    if (!k) next++;
  }
  for (uint32_t k = 0; next && made && k < i->n_out; k++) write(f, i->out[k], made[k]);
  ig_scope_close(c, s);
  f->next = i->target;
  return c->status == IG_OK;
}

static bool run_test(run *r, frame *f, const ig_sinsn *i) {
  ig_value count = read(f, i->in[0]);
  ig_value most = read(f, i->in[1]);
  ig_value go_on = read(f, i->in[2]);
  if (most.kind != IG_KIND_INT || go_on.kind != IG_KIND_BOOL) {
    return wrong(r, i, "expected a number and a condition");
  }
  if (!ig_step(r->c)) return false;
  bool symbolic = most.i.expr || go_on.b_expr;
  if (symbolic && asks_data(r->c, &most, &go_on) && can_be_recorded(f, i)) {
    return record_loop(r, f, i);
  }
  bool more = most.i.expr ? ig_int_is(r->c, count.i, IG_LT, most.i) : count.i.value < most.i.value;
  more = more && (go_on.b_expr ? ig_bool_guard(r->c, &go_on) : go_on.b);
  if (!more) f->next = i->target;
  return r->c->status == IG_OK;
}

static bool run_unless(run *r, frame *f, const ig_sinsn *i) {
  ig_value v = read(f, i->in[0]);
  if (v.kind != IG_KIND_BOOL) return wrong(r, i, "expected a condition");
  if (v.b_expr && depends_on_data(r->c, &v)) return record_branches(r, f, i, &v);
  bool yes = v.b_expr ? ig_bool_guard(r->c, &v) : v.b;
  if (!yes) f->next = i->target;
  return r->c->status == IG_OK;
}

// Leaves the frame. True: there is a caller, which has the result.
static bool run_return(run *r, frame *f, const ig_sinsn *i, ig_value *outs) {
  bool outermost = r->frames.n == 1;
  ig_value result = ig_none();
  bool ok = f->code->n_results <= 1 || outermost;
  ok = ok && run_moves(r, f, i, outermost ? outs : &result);
  while (r->entered.n > f->entered) ig_svalue_release(r->entered.at[--r->entered.n]);
  pop_frame(r);
  if (outermost || !ok) return false;
  frame *caller = top(r);
  const ig_sinsn *at = &caller->code->at[caller->next - 1];
  if (at->n_out)
    write(caller, at->out[0], result);
  else
    ig_svalue_release(result);
  return true;
}

static bool run_one(run *r, frame *f, const ig_sinsn *i) {
  switch (i->kind) {
    case IG_SINSN_OP:
      return run_op(r, f, i);
    case IG_SINSN_BUILTIN:
      return run_builtin(r, f, i);
    case IG_SINSN_MOVES:
      return run_moves(r, f, i, NULL);
    case IG_SINSN_JUMP:
      f->next = i->target;
      return true;
    case IG_SINSN_UNLESS:
      return run_unless(r, f, i);
    case IG_SINSN_BEGIN:
      write(f, i->out[0], ig_of_i64(0));
      return true;
    case IG_SINSN_TEST:
      return run_test(r, f, i);
    case IG_SINSN_NEXT:
      f->registers[i->out[0]].i.value++;
      f->next = i->target;
      return true;
    case IG_SINSN_LIST:
      return run_seq(r, f, i, IG_SOBJ_LIST);
    case IG_SINSN_TUPLE:
      return run_seq(r, f, i, IG_SOBJ_TUPLE);
    case IG_SINSN_DICT:
      return run_dict(r, f, i);
    case IG_SINSN_UNPACK:
      return run_unpack(r, f, i);
    case IG_SINSN_TUPLE_SLICE:
      return run_tuple_slice(r, f, i);
    case IG_SINSN_GET:
      return run_get(r, f, i);
    case IG_SINSN_SET:
      return run_set(r, f, i);
    case IG_SINSN_CREATE:
      return run_create(r, f, i);
    case IG_SINSN_ISINSTANCE:
      return run_isinstance(r, f, i);
    case IG_SINSN_FORK:
      return run_fork(r, f, i);
    default:  // FREE
      return true;
  }
}

static bool is_call(ig_sinsn_kind kind) {
  return kind >= IG_SINSN_CALL && kind <= IG_SINSN_EXIT && kind != IG_SINSN_FORK;
}

static bool run_any_call(run *r, const ig_sinsn *i) {
  if (!ig_step(r->c)) return false;
  if (i->kind == IG_SINSN_CALL) return call(r, i, i->function, 0, 0);
  if (i->kind == IG_SINSN_CALL_NAMED) return run_call_named(r, i);
  if (i->kind == IG_SINSN_CALL_VALUE) return run_call_value(r, i);
  return i->kind == IG_SINSN_ENTER ? run_enter(r, i) : run_exit(r, i);
}

// Until the outermost frame returns, or reaches the instruction `end` (SIZE_MAX: none).
static void execute(run *r, size_t end, ig_value *outs) {
  while (r->frames.n > 1 || top(r)->next != end) {
    frame *f = top(r);
    const ig_sinsn *i = &f->code->at[f->next++];
    if (i->kind == IG_SINSN_RETURN) {
      if (!run_return(r, f, i, outs)) return;
    } else if (is_call(i->kind)) {
      if (!run_any_call(r, i)) return;
    } else {
      if (!run_one(r, f, i)) return;
      if (i->n_free) release_ends(top(r), i);
    }
  }
}

// ---- errors

static void print_frames(const run *r, ig_str *s) {
  for (size_t k = 0; k < r->frames.n; k++) {
    const frame *f = &r->frames.at[k];
    const ig_snode *n = f->next ? f->code->at[f->next - 1].node : NULL;
    if (n) ig_srange_quote(s, n->range, f->code->name);
  }
}

// __exit__ of the `with` statements that an error leaves, innermost first. Its own error wins.
static void leave(run *r) {
  ig_ctx *c = r->c;
  while (r->entered.n) {
    ig_value o = r->entered.at[--r->entered.n];
    const ig_sobj_instance *object = o.object;
    ig_sfunction *fn = ig_sclass_method(object->cls, "__exit__");
    if (fn && fn->n_params == 4 && !ig_status_is_final(c->status)) {
      const ig_value args[4] = {o};
      ig_value result = ig_none();
      ig_status st = c->status;
      ig_str text = ig_str_make(c->alloc);
      ig_str_add(&text, "%s", c->message);
      ig_ref *data = c->trouble;
      c->trouble = NULL;
      ig_ctx_clear(c);
      if (!text.failed && ig_sfunction_run(c, fn, args, &result) == IG_OK) {
        ig_svalue_release(result);
        ig_fail_text(c, st, "%s", text.at ? text.at : "");
        c->trouble = data;
      } else {
        ig_ref_release(data);
        if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
      }
      ig_str_free(&text);
    }
    ig_svalue_release(o);
  }
}

// ---- entry points

enum { MAX_RUNS = 32 };  // each one takes C stack

static bool enter(run *r, const ig_scode *code, const ig_value *args) {
  if (code->unit->depth >= MAX_RUNS) {
    ig_fail_text(r->c, IG_LIMIT, "scripts run inside each other more than %d deep", MAX_RUNS);
    return false;
  }
  if (!push_frame(r, code)) return false;
  for (size_t k = 0; k < code->n_args; k++) {
    top(r)->registers[k] = args[k];
    ig_svalue_retain(args[k]);
  }
  return true;
}

static ig_status run_code(ig_ctx *c, const ig_scode *code, const ig_value *args, ig_value *outs) {
  for (size_t k = 0; k < code->n_results; k++) outs[k] = ig_none();
  if (c->status != IG_OK) return c->status;
  run r = {.c = c, .max_depth = ig_limits_of(c, NULL).max_depth};
  bool outermost = code->unit->depth == 0;
  ig_account outer = {0};
  if (outermost) outer = ig_account_open(c, &c->limits);
  if (enter(&r, code, args)) {
    code->unit->depth++;
    execute(&r, SIZE_MAX, outs);
    code->unit->depth--;
  }
  if (c->status != IG_OK) {
    ig_str frames = ig_str_make(c->alloc);
    print_frames(&r, &frames);
    ig_script_explain(c, frames.at ? frames.at : "");
    ig_str_free(&frames);
    leave(&r);
  }
  while (r.entered.n) ig_svalue_release(r.entered.at[--r.entered.n]);
  while (r.frames.n) pop_frame(&r);
  ig_vec_free(c->alloc, &r.frames);
  ig_vec_free(c->alloc, &r.entered);
  if (outermost) ig_account_close(c, &outer);
  return c->status;
}

ig_status ig_sfunction_run(ig_ctx *c, ig_sfunction *f, const ig_value *args, ig_value *result) {
  *result = ig_none();
  if (c->status != IG_OK) return c->status;
  if (f->host_run) {
    bool ok = f->host_run(c, f, args, result);
    return ok || c->status != IG_OK ? c->status : ig_fail(c, IG_HOST, "%s failed", f->qualified);
  }
  const ig_scode *code = code_of(c, f);
  if (!code) return c->status;
  if (code->n_args != f->n_params || code->n_results != 1) {
    return ig_fail(c, IG_INVALID, "%s: the graph does not fit the declaration", f->qualified);
  }
  return run_code(c, code, args, result);
}

ig_status ig_sgraph_run(ig_ctx *c, ig_sunit *u, const ig_sgraph *g, const ig_value *args, size_t n,
                        ig_value *outs) {
  if (c->status != IG_OK) return c->status;
  if (g->body->n_in != n) {
    return ig_fail(c, IG_INVALID, "the graph has %zu inputs, found %zu values", g->body->n_in, n);
  }
  ig_scode *code = ig_scode_make(c, u, g, NULL);
  if (!code) return c->status;
  ig_status st = run_code(c, code, args, outs);
  ig_scode_free(code);
  return st;
}
