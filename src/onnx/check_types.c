// SPDX-License-Identifier: Apache-2.0
// Element types against the schemas: every known operand type must be accepted by its operator,
// operands of one type variable must agree, and results get the type of their variable. Unknown
// types stay unknown: a model without type information has no type problems.
#include <string.h>

#include "onnx/check.h"

ig_om_known ig_om_known_of_type(const ig_om_type *t) {
  static const ig_om_known nothing = {.form = -1};
  switch (t->kind) {
    case IG_OM_TENSOR_TYPE:
      return ig_onnx_elem_name(t->elem) ? (ig_om_known){IG_ONNX_FORM_TENSOR, t->elem} : nothing;
    case IG_OM_SEQUENCE_TYPE:
    case IG_OM_OPTIONAL_TYPE: {
      if (!t->of) return nothing;
      ig_om_known inner = ig_om_known_of_type(t->of);
      if (t->kind == IG_OM_SEQUENCE_TYPE && inner.form == IG_ONNX_FORM_TENSOR)
        return (ig_om_known){IG_ONNX_FORM_SEQUENCE, inner.elem};
      if (t->kind == IG_OM_OPTIONAL_TYPE && inner.form == IG_ONNX_FORM_TENSOR)
        return (ig_om_known){IG_ONNX_FORM_OPTIONAL, inner.elem};
      if (t->kind == IG_OM_OPTIONAL_TYPE && inner.form == IG_ONNX_FORM_SEQUENCE)
        return (ig_om_known){IG_ONNX_FORM_OPTIONAL_SEQUENCE, inner.elem};
      return nothing;
    }
    default:
      return nothing;
  }
}

static void print_known(ig_om_known t, char *room, size_t size) {
  static const char *const before[] = {"tensor(", "seq(tensor(", "optional(tensor(",
                                       "optional(seq(tensor("};
  static const char *const after[] = {")", "))", "))", ")))"};
  (void)snprintf(room, size, "%s%s%s", before[t.form], ig_onnx_elem_name(t.elem), after[t.form]);
}

static bool allows(const ig_onnx_types *types, ig_om_known t) {
  return types->forms[t.form] >> t.elem & 1;
}

static ig_om_known *value_at(ig_om_scope *s, ig_om_ref ref) {
  const ig_om_scope *at = s;
  for (int32_t up = ref.up; at && up > 0; up--) at = at->up;
  return at && ref.up >= 0 && ref.slot < at->g->nslots ? &at->values[ref.slot] : NULL;
}

// The attribute by which an operator is told the element type of its result; NULL: none.
static const char *elem_attr(const ig_onnx_schema *s) {
  static const char *const names[] = {"to", "dtype"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (ig_onnx_schema_attr(s, names[i])) return names[i];
  return NULL;
}

// The element type that the attribute asks for; 0: none given.
static int asked_elem(const ig_om_node *n, const ig_onnx_schema *s) {
  const char *attr = elem_attr(s);
  const ig_om_attr *a = attr ? ig_om_find_attr(n, attr) : NULL;
  return a && !a->ref && a->type == IG_OM_ATTR_INT && ig_onnx_elem_name(a->i) ? (int)a->i : 0;
}

ig_om_known ig_om_result_type(const ig_om_node *n, const ig_onnx_schema *s, const ig_onnx_param *p,
                              const ig_om_known *vars) {
  ig_om_known t = {.form = -1};
  if (p->mixed) return t;
  if (p->var != 0xff && vars[p->var].form >= 0) return vars[p->var];
  const ig_onnx_types *types = ig_onnx_param_types(s, p);
  uint32_t only = types->forms[IG_ONNX_FORM_TENSOR];
  for (int f = 1; f < IG_ONNX_FORM_COUNT; f++)
    if (types->forms[f]) return t;
  if (types->maps) return t;
  if (only && (only & (only - 1)) == 0)
    return (ig_om_known){IG_ONNX_FORM_TENSOR, __builtin_ctz(only)};
  int elem = asked_elem(n, s);
  if (elem && only >> elem & 1) return (ig_om_known){IG_ONNX_FORM_TENSOR, elem};
  return t;
}

void ig_om_check_types(ig_om_checker *k, ig_om_scope *s, const ig_om_node *n,
                       const ig_onnx_schema *schema) {
  ig_om_known vars[IG_OM_MAX_VARS];
  size_t first[IG_OM_MAX_VARS] = {0};
  if (schema->nbounds > IG_OM_MAX_VARS) return;
  for (size_t i = 0; i < IG_OM_MAX_VARS; i++) vars[i].form = -1;
  char got[64];
  char other[64];
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(schema, i);
    const ig_om_known *v = p && *n->inputs[i] ? value_at(s, n->in[i]) : NULL;
    if (!v || v->form < 0) continue;
    print_known(*v, got, sizeof got);
    if (!allows(ig_onnx_param_types(schema, p), *v)) {
      ig_om_problem(k, s->g, n, "input '%s' ('%s') is %s, which %s-%d does not take", n->inputs[i],
                    ig_onnx_schema_text(p->name), got, n->op_type, schema->since);
    } else if (p->var != 0xff && !p->mixed) {
      ig_om_known *var = &vars[p->var];
      if (var->form < 0) {
        *var = *v;
        first[p->var] = i;
      } else if (var->form != v->form || var->elem != v->elem) {
        print_known(*var, other, sizeof other);
        ig_om_problem(k, s->g, n,
                      "input '%s' is %s and input '%s' is %s; they must be of one type (%s)",
                      n->inputs[first[p->var]], other, n->inputs[i], got,
                      ig_onnx_schema_text(ig_onnx_schema_bounds(schema)[p->var].name));
      }
    }
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(schema, i);
    if (!p || n->out[i] == IG_OM_NO_SLOT || n->out[i] >= s->g->nslots) continue;
    s->values[n->out[i]] = ig_om_result_type(n, schema, p, vars);
    uint32_t given = ig_onnx_param_types(schema, p)->forms[IG_ONNX_FORM_TENSOR];
    int elem = given ? asked_elem(n, schema) : 0;
    if (elem && !(given >> elem & 1))
      ig_om_problem(k, s->g, n, "attribute '%s' is %s, which %s-%d does not give",
                    elem_attr(schema), ig_onnx_elem_name(elem), n->op_type, schema->since);
  }
}
