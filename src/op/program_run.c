// SPDX-License-Identifier: Apache-2.0
// Running a program: user inputs are checked against what was captured, weights fill the other
// placeholders, new values of buffers and inputs are written back.
#include <math.h>
#include <string.h>

#include "ir/program.h"
#include "op/formula.h"
#include "op/interpret.h"

static bool same_value(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_INT:
      return a->i.value == b->i.value;
    case IG_KIND_FLOAT:
      return a->f == b->f || (isnan(a->f) && isnan(b->f));
    case IG_KIND_BOOL:
      return a->b == b->b;
    case IG_KIND_STR:
      return strcmp(a->str, b->str) == 0;
    default:
      return true;
  }
}

static bool check_tensor(ig_ctx *c, const ig_tensor *want, const ig_value *given, size_t i,
                         const char *name) {
  if (given->kind != IG_KIND_TENSOR) {
    return ig_fail(c, IG_BAD_TYPE, "input '%s': found no tensor, expected one", name) == IG_OK;
  }
  const ig_tensor *t = given->tensor;
  if (t->ndim != want->ndim) {
    ig_fail_text(c, IG_RUNTIME, "Expected input at *args[%zu] to have %d dimensions, but got %d", i,
                 want->ndim, t->ndim);
    return false;
  }
  for (int d = 0; d < t->ndim; d++) {
    ig_int size = ig_sizes(want)[d];
    if (size.expr || ig_sizes(t)[d].value == size.value) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Expected input at *args[%zu].shape[%d] to be equal to %lld, but got %lld", i, d,
                 (long long)size.value, (long long)ig_sizes(t)[d].value);
    return false;
  }
  if (t->dtype != want->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected input at *args[%zu] to have dtype torch.%s, but got torch.%s", i,
                 ig_dtype_text(want->dtype), ig_dtype_text(t->dtype));
    return false;
  }
  return true;
}

static bool bind(ig_ctx *c, const ig_program *p, const ig_value *given, ig_value *values) {
  size_t k = 0;
  size_t user = 0;
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    if (n->role != IG_INPUT_USER) {
      values[k++] = ig_of_tensor(n->constant);
      continue;
    }
    const ig_value *v = &given[user];
    if (n->val.kind == IG_KIND_TENSOR) {
      if (!check_tensor(c, n->val.tensor, v, user, n->name)) return false;
    } else if (!same_value(&n->val, v)) {
      ig_fail_text(c, IG_RUNTIME, "Expected input at *args[%zu] ('%s') to be as it was captured",
                   user, n->name);
      return false;
    }
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
  const ig_op *op = ig_op_find(c, "aten::copy_");
  if (!to || !op) {
    (void)ig_fail(c, IG_RUNTIME, "a written buffer or input is missing");
    return;
  }
  bool no_grad = c->no_grad;
  ig_value out[IG_MAX_RETURNS];
  c->no_grad = true;
  ig_call(c, op, (ig_value[]){ig_of_tensor(to), *value, ig_of_bool(false)}, out);
  c->no_grad = no_grad;
}

static bool is_mutation(const ig_output_spec *o) {
  return ig_output_is_write(o);
}

ig_status ig_program_run(ig_ctx *c, const ig_program *p, const ig_value *inputs, size_t n,
                         ig_value *outs) {
  size_t expected = ig_program_user_inputs(p);
  if (c->status != IG_OK) return c->status;
  if (n != expected) return ig_fail(c, IG_RUNTIME, "found %zu inputs, expected %zu", n, expected);
  ig_value *values = ig_scope_push(c, p->ninputs * sizeof *values + 1);
  ig_value *all = ig_scope_push(c, p->noutputs * sizeof *all + 1);
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
