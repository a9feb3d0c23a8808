// SPDX-License-Identifier: Apache-2.0
// TorchScript archives: versions, weights, constants, modules, the signature of forward. Opening
// runs nothing; a session loads the module and interprets its code.
#include <stdio.h>

#include "base/budget.h"
#include "base/cause.h"
#include "ingot/script.h"
#include "model/script.h"
#include "tensor/tensor.h"
#include "ts/load.h"

static bool add_versions(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  if (!ig_model_add_fact(c, m, IG_FACT_VERSION, "container", "%d", ig_ts_version(ts))) return false;
  long long bytecode = (long long)ig_ts_bytecode(ts);
  return !bytecode || ig_model_add_fact(c, m, IG_FACT_VERSION, "bytecode", "%lld", bytecode);
}

static bool add_weights(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  static const ig_weight_role roles[] = {[IG_TS_PARAMETER] = IG_WEIGHT_PARAMETER,
                                         [IG_TS_BUFFER] = IG_WEIGHT_BUFFER,
                                         [IG_TS_ATTRIBUTE] = IG_WEIGHT_ARRAY};
  const ig_ts_weight *list = NULL;
  size_t n = ig_ts_weights(ts, &list);
  for (size_t i = 0; i < n; i++) {
    if (!ig_model_add_weight(c, m, list[i].name, roles[list[i].role], list[i].tensor)) return false;
  }
  const ig_object *constants = ig_ts_constants(ts);
  for (size_t i = 0; i < ig_object_count(constants); i++) {
    ig_tensor *t = ig_object_tensor(ig_object_at(constants, i));
    char name[32];
    (void)snprintf(name, sizeof name, "CONSTANTS.c%zu", i);
    if (t && !ig_model_add_weight(c, m, name, IG_WEIGHT_CONSTANT, t)) return false;
  }
  return true;
}

static bool add_modules(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  const ig_ts_module *list = NULL;
  size_t n = ig_ts_modules(ts, &list);
  for (size_t i = 0; i < n; i++) {
    char name[512];
    (void)snprintf(name, sizeof name, "module %s", list[i].name[0] ? list[i].name : "(root)");
    if (!ig_model_add_fact(c, m, IG_FACT_METADATA, name, "%s", list[i].class_name)) return false;
  }
  return true;
}

// ---- inputs and outputs

static bool is_number(const ig_stype *t) {
  return t->kind == IG_STYPE_INT || t->kind == IG_STYPE_FLOAT || t->kind == IG_STYPE_BOOL;
}

static ig_value zero(const ig_stype *t) {
  if (t->kind == IG_STYPE_INT) return ig_of_i64(0);
  return t->kind == IG_STYPE_FLOAT ? ig_of_f64(0) : ig_of_bool(false);
}

// Is the type made of tensors, numbers and tuples of them?
static bool is_portable(const ig_stype *t) {
  if (t->kind == IG_STYPE_TENSOR || is_number(t)) return true;
  if (t->kind != IG_STYPE_TUPLE) return false;
  for (size_t i = 0; i < t->n; i++) {
    if (!is_portable(t->at[i])) return false;
  }
  return true;
}

// A port for every tensor and number of the type; a number's is its default.
static bool add_ports(ig_ctx *c, ig_model *m, const char *name, const ig_stype *t, bool input,
                      const ig_value *def) {
  for (size_t i = 0; t->kind == IG_STYPE_TUPLE && i < t->n; i++) {
    char part[256];
    (void)snprintf(part, sizeof part, input ? "%s.%zu" : "%s%zu", name, i);
    if (!add_ports(c, m, part, t->at[i], input, NULL)) return false;
  }
  if (t->kind == IG_STYPE_TUPLE) return true;
  ig_model_port *p = input ? ig_model_add_input(c, m, name) : ig_model_add_output(c, m, name);
  if (!p) return false;
  if (t->kind == IG_STYPE_TENSOR) return ig_model_port_tensor(c, m, p, IG_DTYPE_COUNT, -1);
  p->value = def ? *def : zero(t);
  p->kind = p->value.kind;
  return true;
}

// Parameters that have defaults and are no numbers keep these.
static bool is_input(const ig_sparam *a) {
  return !a->has_default || is_number(a->type);
}

static const char *why_not(const ig_sfunction *f) {
  if (!f) return "the module has no method 'forward'";
  for (size_t i = 1; i < f->n_params; i++) {
    if (is_input(&f->params[i]) && !is_portable(f->params[i].type)) {
      return "'forward' takes other values than tensors, numbers and tuples of them";
    }
  }
  return f->result && is_portable(f->result)
             ? NULL
             : "'forward' returns other values than tensors, numbers and tuples of them";
}

// A trace says of which types its inputs were.
static void add_traced_types(ig_model *m, const ig_sfunction *f, const ig_object *traced) {
  const ig_object *inputs = ig_object_find(traced, f->name);
  if (!inputs || ig_object_count(inputs) != f->n_params - 1 || m->inputs.n != f->n_params - 1)
    return;
  for (size_t i = 0; i < m->inputs.n; i++) {
    const ig_tensor *t = ig_object_tensor(ig_object_at(inputs, i));
    if (t && m->inputs.at[i]->kind == IG_KIND_TENSOR) m->inputs.at[i]->dtype = ig_tensor_dtype(t);
  }
}

static bool add_signature(ig_ctx *c, ig_model *m, const ig_sfunction *f) {
  const char *why = why_not(f);
  if (why) return ig_model_add_finding(c, m, IG_UNSUPPORTED, "forward", "%s", why);
  for (size_t i = 1; i < f->n_params; i++) {
    const ig_sparam *a = &f->params[i];
    const ig_value *def = a->has_default ? &a->def : NULL;
    if (is_input(a) && !add_ports(c, m, a->name, a->type, true, def)) return false;
  }
  bool several = f->result->kind == IG_STYPE_TUPLE;
  return add_ports(c, m, several ? "out" : "out0", f->result, false, NULL);
}

// Reads the signature of forward; nothing is compiled or run. What is wrong with the classes is a
// finding, because the weights can be used all the same.
static bool describe(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  ig_sunit *u = NULL;
  ig_sclass *k = ig_ts_declare(c, ts, &u);
  bool ok = true;
  if (k) {
    const ig_sfunction *f = ig_sclass_method(k, "forward");
    ok = add_signature(c, m, f);
    if (ok && f && ts->traced) add_traced_types(m, f, ts->traced);
  } else if (!ig_status_is_final(c->status)) {
    ok = ig_model_add_finding(c, m, ig_ctx_cause(c), "code", "%s", ig_ctx_error(c));
    ig_ctx_clear(c);
  } else {
    ok = false;
  }
  ig_sunit_close(u);
  return ok;
}

ig_status ig_model_verify_script(ig_ctx *c, const ig_model *m) {
  ig_ts *ts = NULL;
  ig_status st = ig_ts_parse(c, m->name, m->file->bytes, m->file, &m->limits, &ts);
  if (st == IG_OK) st = ig_ts_check(c, ts);
  ig_ts_free(ts);
  return st;
}

// ---- running

// A session has a module of its own, because a run may change it: the pages of the file are mapped
// once more, or copied where it is in memory.
void *ig_model_start_script(ig_ctx *c, const ig_model *m) {
  ig_ts *ts = NULL;
  ig_status st = m->in_memory ? ig_ts_parse(c, m->name, m->file->bytes, NULL, &m->limits, &ts)
                              : ig_ts_open(c, m->name, &m->limits, &ts);
  if (st != IG_OK) return NULL;
  ig_model_script *s = ig_mem_new(c->alloc, sizeof *s);
  if (!s) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (s) s->module = ig_ts_load(c, ts);
  ig_ts_free(ts);
  if (s && s->module) s->forward = ig_sclass_method(s->module->cls, "forward");
  const char *why = s && s->module ? why_not(s->forward) : NULL;
  if (why) (void)ig_fail(c, IG_UNSUPPORTED | IG_E_NO_PROGRAM, "%s: %s", m->name, why);
  if (s && s->module && !why) return s;
  if (s) ig_model_stop_script(c, s);
  return NULL;
}

void ig_model_stop_script(ig_ctx *c, void *state) {
  ig_model_script *s = state;
  if (s->module) {
    ig_sunit *u = ig_sunit_retain(s->module->cls->unit);
    ig_svalue_release(ig_of_sobj(s->module));
    ig_sunit_close(u);
  }
  ig_mem_free(c->alloc, s, sizeof *s);
}

// The next argument from the values of the ports, a new reference.
static bool take(ig_ctx *c, const ig_stype *t, const ig_value **from, ig_value *out) {
  if (t->kind != IG_STYPE_TUPLE) {
    *out = *(*from)++;
    ig_svalue_retain(*out);
    return true;
  }
  ig_value *at = ig_scope_array(c, t->n, sizeof *at);
  size_t n = 0;
  while (at && n < t->n && take(c, t->at[n], from, &at[n])) n++;
  ig_sobj_seq *made = at && n == t->n ? ig_sobj_seq_make(c, IG_SOBJ_TUPLE, t, at, n) : NULL;
  for (size_t i = 0; i < n; i++) ig_svalue_release(at[i]);
  *out = made ? ig_of_sobj(made) : ig_none();
  return made != NULL;
}

// Tensors of a result, in the innermost scope. A script may claim another type than its value has.
static bool give(ig_ctx *c, const ig_stype *t, ig_value v, ig_value **to) {
  if (!ig_svalue_is(v, t)) {
    return ig_fail(c, IG_RUNTIME, "'forward' returned another value than %s", t->text) == IG_OK;
  }
  if (t->kind != IG_STYPE_TUPLE) {
    if (v.kind == IG_KIND_TENSOR && !ig_pool_add(c, &ig_tensor_retain(v.tensor)->ref)) return false;
    *(*to)++ = v;
    return true;
  }
  const ig_sobj_seq *s = v.object;
  for (size_t i = 0; i < t->n; i++) {
    if (!give(c, t->at[i], s->at[i], to)) return false;
  }
  return true;
}

// ---- hooks around forward

// Takes the arguments behind self as a tuple.
static bool make_inputs(ig_ctx *c, const ig_sfunction *hook, const ig_value *args, size_t n,
                        ig_value *out) {
  const ig_stype *type = hook->n_params > 1 ? hook->params[1].type : NULL;
  if (!type || type->kind != IG_STYPE_TUPLE || type->n != n - 1) {
    return ig_fail(c, IG_SYNTAX, "hook '%s' does not take the inputs of forward", hook->name) ==
           IG_OK;
  }
  ig_sobj_seq *made = ig_sobj_seq_make(c, IG_SOBJ_TUPLE, type, args + 1, n - 1);
  *out = ig_of_sobj(made);
  return made != NULL;
}

// What a hook before forward returns replaces the arguments: nothing, the one, or a tuple of all.
static bool replace_inputs(ig_ctx *c, const ig_sfunction *hook, ig_value result, ig_value *args,
                           size_t n) {
  if (result.kind == IG_KIND_NONE) return true;
  const ig_value *at = &result;
  size_t count = 1;
  if (ig_sobj_is(result, IG_SOBJ_TUPLE)) {
    const ig_sobj_seq *s = result.object;
    at = s->at;
    count = s->n;
  }
  if (count != n - 1) {
    return ig_fail(c, IG_RUNTIME, "hook '%s' returned %zu inputs, expected %zu", hook->name, count,
                   n - 1) == IG_OK;
  }
  for (size_t i = 0; i < count; i++) {
    ig_svalue_retain(at[i]);
    ig_svalue_release(args[i + 1]);
    args[i + 1] = at[i];
  }
  return true;
}

static bool run_hook(ig_ctx *c, ig_sfunction *hook, ig_value *args, size_t n, ig_value *output) {
  ig_value in[3] = {args[0], ig_none(), output ? *output : ig_none()};
  ig_value result = ig_none();
  if (hook->n_params != (output ? 3 : 2)) {
    return ig_fail(c, IG_SYNTAX, "hook '%s' has another number of parameters", hook->name) == IG_OK;
  }
  if (!make_inputs(c, hook, args, n, &in[1])) return false;
  bool ok = ig_sfunction_run(c, hook, in, &result) == IG_OK;
  ig_svalue_release(in[1]);
  if (ok && !output) ok = replace_inputs(c, hook, result, args, n);
  if (ok && output && result.kind != IG_KIND_NONE) {
    ig_svalue_release(*output);
    *output = result;
    return true;
  }
  ig_svalue_release(result);
  return ok;
}

// The module as a whole: hooks before forward, forward, hooks behind it.
static ig_status run_module(ig_ctx *c, const ig_model_script *s, ig_value *args, ig_value *result) {
  const ig_sclass *k = s->module->cls;
  size_t n = s->forward->n_params;
  for (size_t i = 0; i < k->pre_hooks.n; i++) {
    if (!run_hook(c, k->pre_hooks.at[i], args, n, NULL)) return c->status;
  }
  IG_RETURN_IF_ERR(ig_sfunction_run(c, s->forward, args, result));
  for (size_t i = 0; i < k->hooks.n; i++) {
    if (!run_hook(c, k->hooks.at[i], args, n, result)) return c->status;
  }
  return IG_OK;
}

ig_status ig_model_run_script(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                              ig_value *outs) {
  (void)m;
  const ig_model_script *s = state;
  const ig_sfunction *f = s->forward;
  ig_value *args = ig_scope_array(c, f->n_params, sizeof *args);
  if (!args) return c->status;
  size_t n = 0;
  for (; n < f->n_params; n++) {
    const ig_sparam *a = &f->params[n];
    if (n == 0 || !is_input(a)) {
      args[n] = n ? a->def : ig_of_sobj(s->module);
      ig_svalue_retain(args[n]);
    } else if (!take(c, a->type, &inputs, &args[n])) {
      break;
    }
  }
  ig_value result = ig_none();
  ig_status st = c->status == IG_OK ? run_module(c, s, args, &result) : c->status;
  if (st == IG_OK && !give(c, f->result, result, &outs)) st = c->status;
  ig_svalue_release(result);
  for (size_t i = 0; i < n; i++) ig_svalue_release(args[i]);
  return st;
}

ig_status ig_model_open_script(ig_ctx *c, ig_model *m) {
  ig_ts *ts = NULL;
  ig_status st = ig_ts_parse(c, m->name, m->file->bytes, m->file, m->options.limits, &ts);
  bool ok = st == IG_OK && add_versions(c, m, ts) && add_weights(c, m, ts) &&
            add_modules(c, m, ts) && describe(c, m, ts);
  if (st == IG_OK && !ok) st = c->status;
  ig_ts_free(ts);
  return ig_model_settle(c, m, st);
}
