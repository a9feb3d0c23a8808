// SPDX-License-Identifier: Apache-2.0
// Whether two nodes do the same.
#include <string.h>

#include "ir/graph.h"

static bool same_value(const ig_table *at, const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_NODE: {
      const ig_table_slot *slot = ig_table_find(at, a->node);
      const ig_table_slot *other = ig_table_find(at, b->node);
      return slot && slot->value == (other ? other->value : b->node);
    }
    case IG_KIND_LIST:
      if (a->list.n != b->list.n) return false;
      for (size_t i = 0; i < a->list.n; i++) {
        if (!same_value(at, &a->list.at[i], &b->list.at[i])) return false;
      }
      return true;
    case IG_KIND_STR:
      return strcmp(a->str, b->str) == 0;
    case IG_KIND_INT:
      return a->i.expr == b->i.expr && (a->i.expr || a->i.value == b->i.value);
    case IG_KIND_FLOAT:
      return a->f_expr == b->f_expr && (a->f == b->f || (a->f != a->f && b->f != b->f));
    case IG_KIND_BOOL:
      return a->b_expr == b->b_expr && a->b == b->b;
    case IG_KIND_COMPLEX:
      return a->z.re == b->z.re && a->z.im == b->z.im;
    case IG_KIND_DTYPE:
      return a->dtype == b->dtype;
    case IG_KIND_DEVICE:
      return a->device.type == b->device.type && a->device.index == b->device.index;
    case IG_KIND_LAYOUT:
      return a->layout == b->layout;
    case IG_KIND_MEMORY_FORMAT:
      return a->memory_format == b->memory_format;
    case IG_KIND_NONE:
      return true;
    default:
      return a->object == b->object;
  }
}

bool ig_node_same(const ig_table *at, const ig_node *a, const ig_node *b) {
  bool placeholder = ig_node_is_placeholder(a);
  if (a->kind != b->kind || a->callee != b->callee || a->op != b->op || a->hop != b->hop ||
      a->host_fn != b->host_fn || a->constant != b->constant || a->object != b->object ||
      a->npos != b->npos || a->nkw != b->nkw) {
    return false;
  }
  if (placeholder ? a->role != b->role : strcmp(a->target, b->target) != 0) return false;
  for (size_t i = 0; i < a->npos + a->nkw; i++) {
    if (!same_value(at, &a->args[i], &b->args[i])) return false;
  }
  return true;
}
