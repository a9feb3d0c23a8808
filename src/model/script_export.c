// SPDX-License-Identifier: Apache-2.0
// A TorchScript module as a program: its code is interpreted on the inputs of a capture, so that
// what the operators see is what the program records.
#include <stdio.h>
#include <string.h>

#include "ingot/export.h"
#include "model/script.h"
#include "tensor/tensor.h"

typedef IG_VEC(ig_export_state) states;

typedef struct exporter {
  ig_ctx *c;
  const ig_model *m;
  ig_model_script *script;
  const ig_value *inputs;  // of the session: the numbers among them are constants
  states state;
  ig_arena arena;
  size_t depth;
} exporter;

static bool no_memory(exporter *e) {
  (void)ig_fail(e->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- weights

static const char *join(exporter *e, const char *prefix, const char *name) {
  size_t room = ig_mem_add(strlen(prefix), strlen(name) + 2);
  char *text = ig_arena_push(&e->arena, room);
  if (text) (void)snprintf(text, room, "%s%s%s", prefix, *prefix ? "." : "", name);
  return text;
}

// Tensors of the module and of the modules in it, by their paths.
static bool collect(exporter *e, const ig_sobj_instance *o, const char *prefix) {
  if (++e->depth > e->m->limits.max_depth) {
    return ig_fail(e->c, IG_LIMIT, "modules nested too deeply") == IG_OK;
  }
  for (size_t i = 0; i < o->cls->attributes.n; i++) {
    const ig_sattribute *a = &o->cls->attributes.at[i];
    ig_value v = ig_sobj_instance_get(o, i);
    const char *name = join(e, prefix, a->name);
    if (!name) return no_memory(e);
    if (ig_sobj_is(v, IG_SOBJ_INSTANCE) && !collect(e, v.object, name)) return false;
    if (v.kind != IG_KIND_TENSOR) continue;
    ig_state_kind kind = a->role == IG_SROLE_PARAMETER ? IG_STATE_PARAMETER
                         : a->role == IG_SROLE_BUFFER  ? IG_STATE_BUFFER
                                                       : IG_STATE_CONSTANT;
    ig_export_state s = {kind, name, v.tensor};
    if (!ig_vec_push(e->c->alloc, &e->state, s)) return no_memory(e);
  }
  e->depth--;
  return true;
}

// ---- the run

static void forward(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  const exporter *e = user;
  size_t nin = e->m->inputs.n;
  size_t nout = e->m->outputs.n;
  ig_value *in = ig_scope_array(c, nin, sizeof *in);
  ig_value *out = ig_scope_array(c, nout, sizeof *out);
  if (!in || !out) return;
  for (size_t i = 0, k = 0; i < nin; i++) {
    bool tensor = e->m->inputs.at[i]->kind == IG_KIND_TENSOR;
    in[i] = tensor ? ig_of_tensor(inputs[k++]) : e->inputs[i];
  }
  if (ig_model_run_script(c, e->m, e->script, in, out) != IG_OK) return;
  for (size_t i = 0; i < nout; i++) {
    if (out[i].kind != IG_KIND_TENSOR) {
      (void)ig_fail(c, IG_UNSUPPORTED, "%s: output '%s' is no tensor", e->m->name,
                    e->m->outputs.at[i]->name);
      return;
    }
    outputs[i] = out[i].tensor;
  }
}

ig_status ig_model_export_script(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                                 ig_program **out) {
  exporter e = {.c = c, .m = m, .script = state, .inputs = inputs};
  e.arena = ig_arena_make(c->alloc);
  ig_export_input *ports = ig_arena_array(&e.arena, m->inputs.n, sizeof *ports);
  size_t n = 0;
  for (size_t i = 0; ports && i < m->inputs.n; i++) {
    if (m->inputs.at[i]->kind != IG_KIND_TENSOR) continue;
    ports[n++] = (ig_export_input){.name = m->inputs.at[i]->name, .example = inputs[i].tensor};
  }
  bool ok = (ports || no_memory(&e)) && collect(&e, e.script->module, "");
  ig_export_args args = {.size = sizeof args,
                         .fn = forward,
                         .user = &e,
                         .inputs = ports,
                         .ninputs = n,
                         .state = e.state.at,
                         .nstate = e.state.n,
                         .noutputs = m->outputs.n};
  ig_status st = ok ? ig_export(c, &args, out) : c->status;
  ig_vec_free(c->alloc, &e.state);
  ig_arena_free(&e.arena);
  return st;
}
