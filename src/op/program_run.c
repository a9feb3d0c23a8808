// SPDX-License-Identifier: Apache-2.0
// Running a program: user inputs are checked as exported modules check them, weights fill the other
// placeholders, new values of buffers and inputs are written back.
#include <string.h>

#include "ingot/dims.h"
#include "ir/program.h"
#include "op/formula.h"
#include "op/interpret.h"

// PyTorch's exported modules leave this check to the operators; kernels compiled for a program do
// not check.
static bool check_dtype(ig_ctx *c, const ig_tensor *want, const ig_tensor *t, size_t i) {
  if (t->dtype == want->dtype) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Expected input at *args[%zu] to have dtype torch.%s, but got torch.%s", i,
               ig_dtype_text(want->dtype), ig_dtype_text(t->dtype));
  return false;
}

static bool bind(ig_ctx *c, const ig_program *p, const ig_value *given, ig_value *values) {
  size_t k = 0;
  size_t user = 0;
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    if (n->role != IG_INPUT_USER) {
      values[k++] = n->constant ? ig_of_tensor(n->constant) : ig_none();  // tokens have none
      continue;
    }
    const ig_value *v = &given[user];
    bool tensor = n->val.kind == IG_KIND_TENSOR;
    if (tensor && !check_dtype(c, n->val.tensor, v->tensor, user)) return false;
    values[k++] = *v;
    user++;
  }
  return true;
}

static ig_tensor *target_of(const ig_program *p, const ig_output_spec *o, const ig_value *values) {
  for (size_t i = 0; i < p->ninputs; i++) {
    const ig_input_spec *in = &p->inputs[i];
    const char *name = o->kind == IG_OUTPUT_INPUT_MUTATION ? in->name : in->target;
    if (name && o->target && strcmp(name, o->target) == 0) return ig_value_tensor(&values[i]);
  }
  return NULL;
}

static void write_back(ig_ctx *c, ig_tensor *to, const ig_value *value) {
  const ig_op *op = ig_op_at(c, IG_ID_COPY_);
  if (!to || !op) {
    (void)ig_fail(c, IG_RUNTIME, "a written buffer or input is missing");
    return;
  }
  ig_value out[IG_MAX_RETURNS];
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_call(c, op, (ig_value[]){ig_of_tensor(to), *value, ig_of_bool(false)}, out);
  ig_mode_pop(c, &mode);
}

static bool is_mutation(const ig_output_spec *o) {
  return ig_output_is_write(o);
}

ig_status ig_program_run(ig_ctx *c, const ig_program *p, const ig_value *inputs, size_t n,
                         ig_value *outs) {
  IG_RETURN_IF_ERR(ig_program_check_inputs(c, p, inputs, NULL, n));
  ig_value *values = ig_scope_array(c, p->ninputs, sizeof *values);
  ig_value *all = ig_scope_array(c, p->noutputs, sizeof *all);
  if (!values || !all || !bind(c, p, inputs, values)) return c->status;
  IG_RETURN_IF_ERR(ig_graph_run(c, p->graph, values, p->ninputs, all));
  size_t k = 0;
  for (size_t i = 0; i < p->noutputs && c->status == IG_OK; i++) {
    if (is_mutation(&p->outputs[i])) {
      write_back(c, target_of(p, &p->outputs[i], values), &all[i]);
    } else {
      outs[k++] = all[i];
    }
  }
  return c->status;
}
