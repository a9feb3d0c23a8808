// SPDX-License-Identifier: Apache-2.0
// The course of a while_loop: which of the values that it carries only count its rounds or say
// whether there is another one. Loop of ONNX does both by itself.
#include "ingot/aten.h"
#include "onnx/model.h"
#include "onnx/writer.h"

// Which placeholder a value is; IG_ONNX_NO_VALUE: none.
static size_t place_of(const ig_value *v) {
  if (v->kind != IG_KIND_NODE || !ig_node_is_placeholder(v->node)) return IG_ONNX_NO_VALUE;
  size_t i = 0;
  for (const ig_node *n = v->node->prev; n; n = n->prev) i += ig_node_is_placeholder(n);
  return i;
}

static const ig_node *call_of(const ig_value *v) {
  bool call = v->kind == IG_KIND_NODE && v->node->kind == IG_NODE_CALL &&
              v->node->callee == IG_CALLEE_OP && v->node->op;
  return call ? v->node : NULL;
}

static bool is_number(const ig_value *v, int64_t number) {
  return v->kind == IG_KIND_INT && !v->i.expr && v->i.value == number;
}

static bool starts_at_zero(const ig_onnx *x, const ig_value *v) {
  const ig_node *n = call_of(v);
  if (!n) return false;
  if (n->op->number == IG_ID_SCALAR_TENSOR) return n->npos > 0 && is_number(&n->args[0], 0);
  const ig_table_slot *s = ig_table_find(&x->folded, n);
  const ig_tensor *t = s ? s->value : NULL;
  return t && t->dtype == IG_I64 && t->ndim == 0 && *(const int64_t *)ig_tensor_data(t) == 0;
}

// counter < bound, where the bound is the same in all rounds.
static bool read_bound(const ig_onnx *x, const ig_value *v, size_t count, ig_onnx_course *course) {
  const ig_node *n = call_of(v);
  if (!n || n->op->number != IG_ID_LT_SCALAR || n->npos != 2) return false;
  size_t place = place_of(&n->args[0]);
  const ig_value *bound = n->args[1].kind == IG_KIND_NODE ? &n->args[1].node->val : &n->args[1];
  if (place >= count || bound->kind != IG_KIND_INT) return false;
  if (bound->i.expr && !ig_onnx_has_sources(x, bound->i.expr)) return false;
  course->counter = place;
  course->bounded = true;
  course->bound = bound->i;
  return true;
}

static bool read_test(const ig_onnx *x, const ig_value *v, size_t count, ig_onnx_course *course) {
  course->flag = place_of(v);
  if (course->flag < count || read_bound(x, v, count, course)) return true;
  const ig_node *both = call_of(v);
  if (!both || both->op->number != IG_ID_LOGICAL_AND || both->npos != 2) return false;
  for (size_t i = 0; i < 2; i++) {
    course->flag = place_of(&both->args[i]);
    if (course->flag < count && read_bound(x, &both->args[1 - i], count, course)) return true;
  }
  return false;
}

// What adds one to a carried value that starts at zero.
static const ig_node *step_of(const ig_onnx *x, const ig_value *start, const ig_value *next,
                              size_t place) {
  const ig_node *n = call_of(next);
  bool adds = n && n->npos == 2 && n->nkw == 0 &&
              (n->op->number == IG_ID_ADD_SCALAR || n->op->number == IG_ID_ADD_TENSOR);
  bool one = adds && place_of(&n->args[0]) == place && is_number(&n->args[1], 1);
  return one && starts_at_zero(x, start) ? n : NULL;
}

static bool is_true(const ig_value *v) {
  const ig_node *n = call_of(v);
  if (!n || n->op->number != IG_ID_SCALAR_TENSOR || n->npos == 0) return false;
  return (n->args[0].kind == IG_KIND_BOOL && n->args[0].b) || is_number(&n->args[0], 1);
}

bool ig_onnx_read_course(const ig_onnx *x, const ig_node *n, const ig_graph *test,
                         const ig_graph *body, ig_onnx_course *course) {
  *course = (ig_onnx_course){.counter = IG_ONNX_NO_VALUE, .flag = IG_ONNX_NO_VALUE};
  const ig_value *carried = &n->args[2];
  const ig_value *condition = NULL;
  const ig_value *next = NULL;
  size_t count = carried->list.n;
  ig_table_slot *s = ig_table_find(&x->elements, n);
  const char *const *picked = s ? s->value : NULL;
  if (!picked || (size_t)s->number > count) return false;
  if (ig_onnx_results_of(test, &condition) != 1 || ig_onnx_results_of(body, &next) != count)
    return false;
  if (!read_test(x, condition, count, course)) return false;
  bool bounded = course->bounded;
  for (size_t i = 0; i < count && !course->step; i++) {
    bool asked = i < (size_t)s->number && picked[i];
    if (asked || i == course->flag || (bounded && i != course->counter)) continue;
    course->step = step_of(x, &carried->list.at[i], &next[i], i);
    if (course->step) course->counter = i;
  }
  course->steady = course->flag < count && is_true(&next[course->flag]);
  bool read = course->flag < (size_t)s->number && picked[course->flag];
  return !read && (course->step || !bounded);
}
