// SPDX-License-Identifier: Apache-2.0
// Runs code. Calls of functions are frames of this loop; the C stack grows only where a built-in or
// the host runs a script again, which is bounded.
#include "script/interp.h"

#include <string.h>

#include "base/budget.h"
#include "base/limits.h"
#include "op/call.h"
#include "script/builtin.h"
#include "script/code.h"
#include "script/failure.h"
#include "script/form.h"
#include "script/interp_args.h"
#include "script/interp_number.h"
#include "script/interp_record.h"
#include "script/interp_run.h"
#include "script/rows.h"
#include "sym/env.h"

static bool no_memory(ig_srun *r) {
  (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  return false;
}

static bool wrong(ig_srun *r, const ig_sinsn *i, const char *what) {
  ig_fail_text(r->c, IG_INVALID, "%s: %s", i->node ? i->node->kind : "script", what);
  return false;
}

static inline bool is_held(ig_kind kind) {
  return kind == IG_KIND_TENSOR || kind == IG_KIND_OBJECT || kind == IG_KIND_NATIVE;
}

static inline void release_ends(ig_sframe *f, const ig_sinsn *i) {
  for (uint32_t k = 0; k < i->n_free; k++) {
    ig_value *v = &f->registers[i->frees[k]];
    ig_value old = *v;
    v->kind = IG_KIND_NONE;
    if (is_held(old.kind)) ig_svalue_release(old);
  }
}

// ---- frames

bool ig_srun_push(ig_srun *r, const ig_scode *code) {
  if (r->frames.n >= r->max_depth) {
    ig_fail_text(r->c, IG_LIMIT, "functions of the script call each other more than %zu deep",
                 r->max_depth);
    return false;
  }
  ig_sframe f = {.code = code, .entered = r->entered.n};
  f.registers = ig_mem_array(r->c->alloc, code->n_registers, sizeof *f.registers);
  if (!f.registers) return no_memory(r);
  if (ig_vec_push(r->c->alloc, &r->frames, f)) return true;
  ig_mem_array_free(r->c->alloc, f.registers, code->n_registers, sizeof *f.registers);
  return no_memory(r);
}

static void pop_frame(ig_srun *r) {
  ig_sframe *f = &r->frames.at[--r->frames.n];
  for (size_t i = 0; i < f->code->n_registers; i++) {
    ig_value v = f->registers[i];
    if (is_held(v.kind)) ig_svalue_release(v);
  }
  ig_mem_array_free(r->c->alloc, f->registers, f->code->n_registers, sizeof *f->registers);
}

void ig_srun_close(ig_srun *r) {
  while (r->entered.n) ig_svalue_release(r->entered.at[--r->entered.n]);
  while (r->frames.n) pop_frame(r);
  ig_vec_free(r->c->alloc, &r->frames);
  ig_vec_free(r->c->alloc, &r->entered);
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

// Operators on lists of dynamic length, and those that make them. False: this is another one.
static bool run_rows_op(ig_ctx *c, ig_sframe *f, const ig_sinsn *i, const ig_value *args) {
  bool rows = false;
  for (uint32_t k = 0; k < i->n_in; k++) rows = rows || ig_srows_is(args[k]);
  ig_value out = ig_none();
  if (rows && ig_srows_call(c, i, args, &out)) ig_svalue_retain(out);
  if (!rows && !ig_srows_split(c, i, args, &out)) return false;
  if (c->status == IG_OK) ig_sframe_write(f, i->out[0], out);
  return true;
}

static bool run_op(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  ig_sroom space;
  space.n = 0;
  ig_scope s = ig_scope_open(c);
  for (uint32_t k = 0; k < i->n_in; k++) args[k] = ig_sframe_read(f, i->in[k]);
  if (c->mode->capture && run_rows_op(c, f, i, args)) {
    ig_scope_close(c, s);
    return c->status == IG_OK;
  }
  for (uint32_t k = 0; k < i->n_in; k++) {
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
      ig_sframe_write(f, i->out[0], outs[0]);
    } else {
      for (size_t k = 0; k < n; k++)
        ig_sframe_write(f, i->out[k], ig_sarg_result(c, i, k, outs[k]));
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

static bool refuse_rows(ig_srun *r, const ig_sinsn *i) {
  ig_fail_text(r->c, IG_UNSUPPORTED,
               "%s: a list whose length depends on data or on dynamic sizes cannot be its operand",
               i->node ? i->node->kind : "script");
  return false;
}

static bool run_builtin(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_value in_room[INLINE];
  ig_value out_room[INLINE];
  ig_scope s = ig_scope_open(c);
  ig_value *in = i->n_in <= INLINE ? in_room : ig_scope_array(c, i->n_in, sizeof *in);
  ig_value *out = i->n_out <= INLINE ? out_room : ig_scope_array(c, i->n_out, sizeof *out);
  bool ok = in && out && ig_step(c);
  ig_sbuiltin_fn *run = i->run;
  for (uint32_t k = 0; ok && k < i->n_in; k++) {
    in[k] = ig_sframe_read(f, i->in[k]);
    if (ig_srows_is(in[k])) {
      run = ig_srows_builtin(i->run);
      ok = run || refuse_rows(r, i);
    } else {
      ok = is_allowed(in[k], i->kinds[k]) || wrong(r, i, "a value of another type");
    }
  }
  for (uint32_t k = 0; ok && k < (i->n_out ? i->n_out : 1); k++) out[k] = ig_none();
  if (ok) {
    ig_sbuiltin_call call = {c, f->code->unit, i->node, in, i->n_in, out};
    run(&call);
    // The built-in may have run a script: frames may have moved, registers have not.
    f = ig_srun_top(r);
    ok = c->status == IG_OK;
    if (i->n_out == 0) ig_svalue_release(out[0]);
    for (uint32_t k = 0; k < i->n_out; k++) {
      if (ok)
        ig_sframe_write(f, i->out[k], out[k]);
      else
        ig_svalue_release(out[k]);
    }
  }
  ig_scope_close(c, s);
  return ok;
}

// ---- moves

static bool run_moves(ig_srun *r, ig_sframe *f, const ig_sinsn *i, ig_value *to) {
  ig_value near[INLINE];
  ig_scope s = ig_scope_open(r->c);
  ig_value *held = i->n_in <= INLINE ? near : ig_scope_array(r->c, i->n_in, sizeof *held);
  if (!held) {
    ig_scope_close(r->c, s);
    return false;
  }
  for (uint32_t k = 0; k < i->n_in; k++) {
    held[k] = ig_sframe_read(f, i->in[k]);
    if (i->how[k])
      f->registers[i->in[k]] = ig_none();
    else
      ig_svalue_retain(held[k]);
  }
  for (uint32_t k = 0; k < i->n_in; k++) {
    if (to)
      to[k] = held[k];
    else
      ig_sframe_write(f, i->out[k], held[k]);
  }
  ig_scope_close(r->c, s);
  return true;
}

// ---- containers

static bool run_seq(ig_srun *r, ig_sframe *f, const ig_sinsn *i, ig_sobj_kind kind) {
  ig_sobj_seq *s = ig_sobj_seq_make(r->c, kind, i->node->out[0]->type, NULL, i->n_in);
  for (uint32_t k = 0; s && k < i->n_in; k++) {
    s->at[k] = ig_sframe_read(f, i->in[k]);
    ig_svalue_retain(s->at[k]);
  }
  if (s) ig_sframe_write(f, i->out[0], ig_of_sobj(s));
  return s != NULL;
}

static bool run_dict(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_sobj_dict *d = ig_sobj_dict_make(r->c, i->node->out[0]->type);
  bool ok = d && i->n_in % 2 == 0;
  for (uint32_t k = 0; ok && k + 1 < i->n_in; k += 2) {
    ok = ig_sobj_dict_put(r->c, d, ig_sframe_read(f, i->in[k]), ig_sframe_read(f, i->in[k + 1]));
  }
  if (d && ok)
    ig_sframe_write(f, i->out[0], ig_of_sobj(d));
  else if (d)
    ig_svalue_release(ig_of_sobj(d));
  return ok || (d && wrong(r, i, "keys and values do not pair"));
}

static const ig_sobj_seq *seq_of(ig_value v) {
  return ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE) ? v.object : NULL;
}

static bool unpack_rows(ig_srun *r, ig_sframe *f, const ig_sinsn *i, const ig_sobj_seq *rows) {
  ig_scope s = ig_scope_open(r->c);
  for (uint32_t k = 0; k < i->n_out && r->c->status == IG_OK; k++) {
    ig_sframe_write(f, i->out[k], ig_srows_item(r->c, rows, ig_const(k)));
  }
  ig_scope_close(r->c, s);
  return r->c->status == IG_OK;
}

static bool run_unpack(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_value list = i->n_in == 1 ? ig_sframe_read(f, i->in[0]) : ig_none();
  if (ig_srows_is(list)) return unpack_rows(r, f, i, list.object);
  const ig_sobj_seq *s = i->n_in == 1 ? seq_of(ig_sframe_read(f, i->in[0])) : NULL;
  if (!s) return wrong(r, i, "expected a list or tuple");
  if (s->n != i->n_out) {
    ig_fail_text(r->c, IG_RUNTIME, "Expected %u elements in a list but found %zu", i->n_out, s->n);
    return false;
  }
  for (uint32_t k = 0; k < i->n_out; k++) {
    ig_svalue_retain(s->at[k]);
    ig_sframe_write(f, i->out[k], s->at[k]);
  }
  return true;
}

static int64_t int_attr(const ig_snode *n, const char *name, int64_t otherwise) {
  const ig_sattr *a = ig_snode_attr(n, name);
  return a && a->value.kind == IG_KIND_INT ? a->value.i.value : otherwise;
}

static bool run_tuple_slice(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  const ig_sobj_seq *s = i->n_in == 1 ? seq_of(ig_sframe_read(f, i->in[0])) : NULL;
  if (!s) return wrong(r, i, "expected a tuple");
  int64_t from = int_attr(i->node, "beg", 0);
  int64_t to = int_attr(i->node, "end", (int64_t)s->n);
  if (from < 0 || to < from || to > (int64_t)s->n) return wrong(r, i, "a slice out of range");
  ig_sobj_seq *part = ig_sobj_seq_make(r->c, IG_SOBJ_TUPLE, i->node->out[0]->type, s->at + from,
                                       (size_t)(to - from));
  if (part) ig_sframe_write(f, i->out[0], ig_of_sobj(part));
  return part != NULL;
}

// ---- objects

static ig_sobj_instance *instance_at(ig_srun *r, const ig_sframe *f, const ig_sinsn *i) {
  ig_value v = i->n_in ? ig_sframe_read(f, i->in[0]) : ig_none();
  if (ig_sobj_is(v, IG_SOBJ_INSTANCE)) return v.object;
  (void)wrong(r, i, "expected an object");
  return NULL;
}

// Position of the attribute in the class of the object, which may have changed its type.
static bool attribute_of(ig_srun *r, const ig_sinsn *i, const ig_sobj_instance *o, size_t *at) {
  bool same = i->index != UINT32_MAX && o->head.type == i->node->in[0]->type;
  *at = same ? i->index : ig_sclass_attribute(o->cls, i->name);
  if (*at != SIZE_MAX) return true;
  ig_fail_text(r->c, IG_RUNTIME, "%s does not have a field with name '%s'", o->head.type->name,
               i->name);
  return false;
}

static bool run_get(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  const ig_sobj_instance *o = instance_at(r, f, i);
  size_t at = 0;
  if (!o || !attribute_of(r, i, o, &at)) return false;
  ig_value v = ig_sobj_instance_get(o, at);
  ig_svalue_retain(v);
  ig_sframe_write(f, i->out[0], v);
  return true;
}

static bool run_set(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_sobj_instance *o = instance_at(r, f, i);
  size_t at = 0;
  return o && attribute_of(r, i, o, &at) &&
         ig_sobj_instance_set(r->c, o, at, ig_sframe_read(f, i->in[i->n_in - 1]));
}

static bool run_create(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_sclass *cls = i->n_out ? ig_sclass_of(i->node->out[0]->type) : NULL;
  ig_sobj_instance *o = cls ? ig_sobj_instance_make(r->c, cls) : NULL;
  if (!cls) return wrong(r, i, "the class is not known");
  if (o) ig_sframe_write(f, i->out[0], ig_of_sobj(o));
  return o != NULL;
}

static bool run_isinstance(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  const ig_sattr *a = ig_snode_attr(i->node, "types");
  if (!a || i->n_in != 1) return wrong(r, i, "the types are not known");
  ig_value v = ig_sframe_read(f, i->in[0]);
  bool any = false;
  for (size_t k = 0; !any && k < a->n_types; k++) any = ig_svalue_is(v, a->types[k]);
  ig_sframe_write(f, i->out[0], ig_of_bool(any));
  return true;
}

// ---- calls

// Calls f with values of the frame. The result goes to the instruction's register when it returns.
static bool call(ig_srun *r, const ig_sinsn *i, ig_sfunction *fn, size_t first, size_t nones) {
  ig_sframe *f = ig_srun_top(r);
  size_t n = i->n_in - first;
  if (fn->n_params != n + nones) return wrong(r, i, "another number of arguments");
  if (fn->host_run) {
    ig_scope s = ig_scope_open(r->c);
    ig_value *args = ig_scope_array(r->c, ig_mem_add(n, nones), sizeof *args);
    ig_value result = ig_none();
    for (size_t k = 0; args && k < n + nones; k++) {
      args[k] = k < n ? ig_sframe_read(f, i->in[first + k]) : ig_none();
    }
    bool ok = args && fn->host_run(r->c, fn, args, &result);
    ig_scope_close(r->c, s);
    f = ig_srun_top(r);
    if (ok && i->n_out) ig_sframe_write(f, i->out[0], result);
    if (ok) release_ends(f, i);
    if (!ok && r->c->status == IG_OK) (void)ig_fail(r->c, IG_HOST, "%s failed", fn->qualified);
    return ok;
  }
  const ig_scode *code = code_of(r->c, fn);
  if (!code || !ig_srun_push(r, code)) return false;
  if (code->n_args != n + nones) return wrong(r, i, "another number of arguments");
  f = &r->frames.at[r->frames.n - 2];
  ig_sframe *callee = ig_srun_top(r);
  for (size_t k = 0; k < n; k++) {
    callee->registers[k] = ig_sframe_read(f, i->in[first + k]);
    ig_svalue_retain(callee->registers[k]);
  }
  release_ends(f, i);
  return true;
}

static ig_sfunction *method_at(ig_srun *r, const ig_sframe *f, const ig_sinsn *i,
                               const char *name) {
  const ig_sobj_instance *o = instance_at(r, f, i);
  ig_sfunction *fn = o ? ig_sclass_method(o->cls, name) : NULL;
  if (o && !fn) {
    ig_fail_text(r->c, IG_RUNTIME, "%s has no method '%s'", o->head.type->name, name);
  }
  return fn;
}

static bool run_call_named(ig_srun *r, const ig_sinsn *i) {
  ig_sfunction *fn = method_at(r, ig_srun_top(r), i, i->name);
  return fn && call(r, i, fn, 0, 0);
}

static bool run_call_value(ig_srun *r, const ig_sinsn *i) {
  ig_value v = i->n_in ? ig_sframe_read(ig_srun_top(r), i->in[0]) : ig_none();
  if (!ig_sobj_is(v, IG_SOBJ_FUNCTION)) return wrong(r, i, "expected a function");
  return call(r, i, ((const ig_sobj_function *)v.object)->function, 1, 0);
}

static bool run_enter(ig_srun *r, const ig_sinsn *i) {
  ig_sframe *f = ig_srun_top(r);
  ig_sfunction *fn = method_at(r, f, i, "__enter__");
  if (!fn) return false;
  ig_value o = ig_sframe_read(f, i->in[0]);
  if (!ig_vec_push(r->c->alloc, &r->entered, o)) return no_memory(r);
  ig_svalue_retain(o);
  return call(r, i, fn, 0, 0);
}

static bool run_exit(ig_srun *r, const ig_sinsn *i) {
  ig_sframe *f = ig_srun_top(r);
  ig_sfunction *fn = method_at(r, f, i, "__exit__");
  if (!fn) return false;
  if (fn->n_params == 0) return wrong(r, i, "another number of arguments");
  if (r->entered.n > f->entered) ig_svalue_release(r->entered.at[--r->entered.n]);
  return call(r, i, fn, 0, fn->n_params - 1);
}

static ig_status run_code(ig_ctx *c, const ig_scode *code, const ig_value *args, ig_value *outs);

// Runs at once. An error is raised where the result is waited for.
static bool run_fork(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_ctx *c = r->c;
  ig_scope s = ig_scope_open(c);
  ig_value *args = ig_scope_array(c, i->n_in, sizeof *args);
  ig_value out = ig_none();
  if (!args || i->body->n_results != 1 || i->body->n_args != i->n_in) {
    ig_scope_close(c, s);
    return args ? wrong(r, i, "a graph that does not fit") : false;
  }
  for (uint32_t k = 0; k < i->n_in; k++) args[k] = ig_sframe_read(f, i->in[k]);
  ig_status st = run_code(c, i->body, args, &out);
  ig_scope_close(c, s);
  f = ig_srun_top(r);
  if (ig_status_is_final(st)) return false;
  char *text = NULL;
  ig_cause cause = ig_ctx_cause(c);
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
    future->cause = cause;
    future->error = text;
    ig_sframe_write(f, i->out[0], ig_of_sobj(future));
  } else if (text) {
    ig_mem_free(c->alloc, text, strlen(text) + 1);
  }
  return future != NULL;
}

// ---- the loop

static bool run_test(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_value count = ig_sframe_read(f, i->in[0]);
  ig_value most = ig_sframe_read(f, i->in[1]);
  ig_value go_on = ig_sframe_read(f, i->in[2]);
  if (most.kind != IG_KIND_INT || go_on.kind != IG_KIND_BOOL) {
    return wrong(r, i, "expected a number and a condition");
  }
  if (!ig_step(r->c)) return false;
  // The number of rounds is unknown until the program runs.
  bool asks_data = (most.i.expr && r->c->mode->capture) || ig_srecord_asks_data(r->c, &go_on);
  bool keep = asks_data || ig_srecord_keeps_loop(r->c, i, most.i.value);
  if (keep && ig_srecord_takes_loop(r->c, f, i, asks_data)) return ig_srecord_loop(r, f, i);
  if (asks_data && !ig_srecord_may_decide(r->c)) return false;
  bool more = most.i.expr ? ig_int_is(r->c, count.i, IG_LT, most.i) : count.i.value < most.i.value;
  more = more && (go_on.b_expr ? ig_bool_guard(r->c, &go_on) : go_on.b);
  if (!more) f->next = i->target;
  return r->c->status == IG_OK;
}

static bool run_unless(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  ig_value v = ig_sframe_read(f, i->in[0]);
  if (v.kind != IG_KIND_BOOL) return wrong(r, i, "expected a condition");
  if (v.b_expr && ig_srecord_asks_data(r->c, &v) && ig_srecord_takes_branches(f, i, &v)) {
    int only = ig_srecord_only_branch(i);
    if (only < 0) return ig_srecord_branches(r, f, i, &v);
    if (only == 1) f->next = i->target;
    return true;
  }
  bool by_example = v.b_expr && ig_srecord_only_branch(i) < 0 && ig_srecord_asks_data(r->c, &v);
  if (by_example && !ig_srecord_may_decide(r->c)) return false;
  bool yes = v.b_expr ? ig_bool_guard(r->c, &v) : v.b;
  if (!yes) f->next = i->target;
  return r->c->status == IG_OK;
}

// Leaves the frame. True: there is a caller, which has the result.
static bool run_return(ig_srun *r, ig_sframe *f, const ig_sinsn *i, ig_value *outs) {
  bool outermost = r->frames.n == 1;
  ig_value result = ig_none();
  bool ok = f->code->n_results <= 1 || outermost;
  ok = ok && run_moves(r, f, i, outermost ? outs : &result);
  while (r->entered.n > f->entered) ig_svalue_release(r->entered.at[--r->entered.n]);
  pop_frame(r);
  if (outermost || !ok) return false;
  ig_sframe *caller = ig_srun_top(r);
  const ig_sinsn *at = &caller->code->at[caller->next - 1];
  if (at->n_out)
    ig_sframe_write(caller, at->out[0], result);
  else
    ig_svalue_release(result);
  return true;
}

static bool run_one(ig_srun *r, ig_sframe *f, const ig_sinsn *i) {
  switch (i->kind) {
    case IG_SINSN_OP:
      return run_op(r, f, i);
    case IG_SINSN_BUILTIN:
    case IG_SINSN_NUMBER:
      return run_builtin(r, f, i);
    case IG_SINSN_MISSING:
      ig_fail_text(r->c, IG_UNSUPPORTED, "%s: there is no such operator", i->name);
      return false;
    case IG_SINSN_MOVES:
      return run_moves(r, f, i, NULL);
    case IG_SINSN_JUMP:
      f->next = i->target;
      return true;
    case IG_SINSN_UNLESS:
      return run_unless(r, f, i);
    case IG_SINSN_BEGIN:
      ig_sframe_write(f, i->out[0], ig_of_i64(0));
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

static bool run_any_call(ig_srun *r, const ig_sinsn *i) {
  if (!ig_step(r->c)) return false;
  if (i->kind == IG_SINSN_CALL) return call(r, i, i->function, 0, 0);
  if (i->kind == IG_SINSN_CALL_NAMED) return run_call_named(r, i);
  if (i->kind == IG_SINSN_CALL_VALUE) return run_call_value(r, i);
  return i->kind == IG_SINSN_ENTER ? run_enter(r, i) : run_exit(r, i);
}

static inline const ig_value *operand(const ig_sframe *f, ig_soperand at) {
  return at >= 0 ? &f->registers[at] : &f->code->constants[~at];
}

// Is a round of a loop due that nothing symbolic decides? 1: yes; 0: no, the loop ends; -1: not
// known here.
static inline int round_due(const ig_sframe *f, const ig_sinsn *i) {
  const ig_value *most = operand(f, i->in[1]);
  const ig_value *go_on = operand(f, i->in[2]);
  if (most->kind != IG_KIND_INT || most->i.expr) return -1;
  if (go_on->kind != IG_KIND_BOOL || go_on->b_expr) return -1;
  return go_on->b && operand(f, i->in[0])->i.value < most->i.value;
}

static inline bool run_one_move(ig_sframe *f, const ig_sinsn *i) {
  if (i->n_in != 1) return false;
  ig_value v = *operand(f, i->in[0]);
  if (i->how[0])
    f->registers[i->in[0]].kind = IG_KIND_NONE;
  else if (is_held(v.kind))
    ig_svalue_retain(v);
  ig_sframe_write(f, i->out[0], v);
  return true;
}

// Runs the instructions that neither call nor fail, from the next one on, until another comes, or
// `end`. A round of a loop and a number cost a step, like built-ins.
static void run_plain(ig_srun *r, ig_sframe *f, size_t end) {
  ig_ctx *c = r->c;
  const ig_sinsn *code = f->code->at;
  size_t next = f->next;
  for (; next != end; f->next = next) {
    const ig_sinsn *i = &code[next];
    ig_value *out = NULL;
    int due = 0;
    switch (i->kind) {
      case IG_SINSN_NUMBER:
        out = &f->registers[i->out[0]];
        if (c->pace < 2 || is_held(out->kind)) return;
        if (!ig_snumber_run(i->number, operand(f, i->in[0]), operand(f, i->in[1]), out)) return;
        c->pace--;
        next++;
        break;
      case IG_SINSN_MOVES:
        if (!run_one_move(f, i)) return;
        next++;
        break;
      case IG_SINSN_FREE:
        next++;
        break;
      case IG_SINSN_JUMP:
        next = i->target;
        break;
      case IG_SINSN_UNLESS: {
        const ig_value *v = operand(f, i->in[0]);
        if (v->kind != IG_KIND_BOOL || v->b_expr) return;
        next = v->b ? next + 1 : i->target;
        break;
      }
      case IG_SINSN_TEST:
        due = c->pace < 2 || c->mode->capture ? -1 : round_due(f, i);  // a capture may record it
        if (due < 0) return;
        if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) return;
        c->pace--;
        next = due ? next + 1 : i->target;
        break;
      case IG_SINSN_NEXT:
        f->registers[i->out[0]].i.value++;
        next = i->target;
        break;
      default:
        return;
    }
    if (i->n_free) release_ends(f, i);
  }
}

void ig_srun_execute(ig_srun *r, size_t end, ig_value *outs) {
  while (r->frames.n > 1 || ig_srun_top(r)->next != end) {
    ig_sframe *f = ig_srun_top(r);
    run_plain(r, f, r->frames.n == 1 ? end : SIZE_MAX);
    if (r->frames.n == 1 && f->next == end) return;
    const ig_sinsn *i = &f->code->at[f->next++];
    if (i->kind == IG_SINSN_RETURN) {
      if (!run_return(r, f, i, outs)) return;
    } else if (is_call(i->kind)) {
      if (!run_any_call(r, i)) return;
    } else {
      if (!run_one(r, f, i)) return;
      if (i->n_free) release_ends(ig_srun_top(r), i);
    }
  }
}

// ---- errors

static void print_frames(const ig_srun *r, ig_str *s) {
  for (size_t k = 0; k < r->frames.n; k++) {
    const ig_sframe *f = &r->frames.at[k];
    const ig_snode *n = f->next ? f->code->at[f->next - 1].node : NULL;
    if (n) ig_srange_quote(s, n->range, f->code->name);
  }
}

// __exit__ of the `with` statements that an error leaves, innermost first. Its own error wins.
static void leave(ig_srun *r) {
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

static bool enter(ig_srun *r, const ig_scode *code, const ig_value *args) {
  if (!ig_srun_push(r, code)) return false;
  for (size_t k = 0; k < code->n_args; k++) {
    ig_srun_top(r)->registers[k] = args[k];
    ig_svalue_retain(args[k]);
  }
  return true;
}

static ig_status run_code(ig_ctx *c, const ig_scode *code, const ig_value *args, ig_value *outs) {
  for (size_t k = 0; k < code->n_results; k++) outs[k] = ig_none();
  if (c->status != IG_OK) return c->status;
  ig_srun r = {.c = c, .max_depth = ig_limits_of(c, NULL).max_depth};
  const ig_account outer = ig_account_open(c, &c->limits);
  if (ig_sunit_enter(c, code->unit)) {
    if (enter(&r, code, args)) ig_srun_execute(&r, SIZE_MAX, outs);
    ig_sunit_leave(c, code->unit);
  }
  if (c->status != IG_OK) {
    ig_str frames = ig_str_make(c->alloc);
    print_frames(&r, &frames);
    ig_script_explain(c, frames.at ? frames.at : "");
    ig_str_free(&frames);
    leave(&r);
  }
  ig_srun_close(&r);
  ig_account_close(c, &outer);
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
