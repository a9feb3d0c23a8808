// SPDX-License-Identifier: Apache-2.0
// Which values of the forward graph are saved for the backward graph so that they take the least
// memory: a minimum cut between what cannot be computed again and what only the backward graph can
// compute. Every node is an edge whose capacity is the size of its value; the rules by which
// computing again is forbidden, and the weights, are PyTorch's, because its partitions are the
// reference (docs/compile.md).
#include <math.h>

#include "ingot/aten.h"
#include "op/facts.h"
#include "op/record.h"
#include "pass/max_flow.h"
#include "pass/partition.h"

enum {
  FAR = 1000000000,  // no path to the backward graph
  MAX_DISTANCE = 1000,
  LONGEST_CHAIN = 100,
  MAX_VIEWS = 64,       // of one another that are followed
  UNKNOWN_SIZE = 4096,  // of a size that only the data decides
};
static const double max_weight = 1e15;

typedef struct cutter {
  const ig_joint *j;
  ig_ctx *c;
  ig_flow flow;
  bool *backward;     // per node: depends on a tangent, or is a gradient
  bool *banned;       // per node: not computed again
  int *distance;      // per node: to the backward graph
  size_t *order;      // per node of the forward graph: its position there
  ig_node **ordered;  // by position
  size_t n;           // nodes of the forward graph
} cutter;

// ---- facts ----

static unsigned facts_of(const ig_node *n) {
  if (n->kind != IG_NODE_CALL) return 0;
  if (n->callee == IG_CALLEE_GETITEM || n->callee == IG_CALLEE_SYM) return IG_FACT_RECOMPUTED;
  return n->callee == IG_CALLEE_OP ? n->op->facts : 0;
}

static bool is_view(const ig_node *n) {
  return (facts_of(n) & IG_FACT_FREE_VIEW) != 0;
}

static bool fuses(const ig_node *n) {
  return (facts_of(n) & (IG_FACT_RECOMPUTED | IG_FACT_FUSED)) != 0;
}

// A concatenation reads from what is fused into it, but is not fused into others.
static bool is_fusible(const ig_node *from, const ig_node *to) {
  bool cat = to->kind == IG_NODE_CALL && to->callee == IG_CALLEE_OP && to->op->number == IG_ID_CAT;
  return cat || (fuses(from) && fuses(to));
}

// Bytes, by the example sizes: a heuristic that guards nothing.
static double bytes_of(const ig_value *v) {
  double bytes = 0;
  if (v->kind == IG_KIND_TENSOR) {
    bytes = (double)ig_dtype_size(v->tensor->dtype);
    for (int d = 0; d < v->tensor->ndim; d++) {
      ig_int size = ig_sizes(v->tensor)[d];
      bool known = !size.expr || size.value >= 0;
      bytes *= known ? (double)size.value : UNKNOWN_SIZE;  // concrete: the hint
    }
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n; i++) bytes += bytes_of(&v->list.at[i]);
  } else if (ig_value_expr(v)) {
    bytes = 1;
  }
  return bytes;
}

// ---- rules ----

// Something in the backward graph reads n, or a view of it, and does not fuse: n is in memory
// anyway.
static bool is_materialized_backward(const cutter *k, const ig_node *n, int depth) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (!k->j->forward[u->user->index] && !is_fusible(n, u->user)) return true;
    bool through = is_view(u->user) && depth < MAX_VIEWS;
    if (through && is_materialized_backward(k, u->user, depth + 1)) return true;
  }
  return false;
}

static double operand_bytes(const ig_node *n) {
  double bytes = 0;
  for (size_t i = 0; i < n->npos; i++) {
    if (n->args[i].kind == IG_KIND_NODE) bytes += bytes_of(&n->args[i].node->val);
  }
  return bytes;
}

static bool should_ban(const cutter *k, const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee == IG_CALLEE_GETITEM) return false;
  if (n->callee == IG_CALLEE_OP && n->op->number == IG_ID_LIFT_FRESH_COPY) return false;
  if (!(facts_of(n) & IG_FACT_RECOMPUTED)) return true;
  if (!is_view(n) && is_materialized_backward(k, n, 0)) return true;
  int d = k->distance[n->index];
  if (d < FAR && d > MAX_DISTANCE) return true;
  return bytes_of(&n->val) * 4 < operand_bytes(n);  // a reduction: its result is cheap to save
}

static size_t in_of(const ig_node *n) {
  return 2 * n->index;
}
static size_t out_of(const ig_node *n) {
  return 2 * n->index + 1;
}
static size_t source_of(const cutter *k) {
  return 2 * k->j->g->next_index;
}
static size_t sink_of(const cutter *k) {
  return source_of(k) + 1;
}

// Floats are computed again, but for those that are inputs.
static bool ban(cutter *k, const ig_node *n) {
  bool number = n->val.kind == IG_KIND_FLOAT && n->val.f_expr && !ig_node_is_placeholder(n);
  if (is_view(n) || number || k->banned[n->index]) return true;
  k->banned[n->index] = true;
  return ig_flow_add(&k->flow, source_of(k), in_of(n), IG_FLOW_ENDLESS);
}

// ---- weights ----

static bool is_materialized(const ig_node *n) {
  if (ig_node_is_placeholder(n)) return true;
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (!is_fusible(n, u->user)) return true;
  }
  return false;
}

// Values near the backward graph are preferred.
static int64_t weight_of(const cutter *k, const ig_node *n) {
  if (n->val.kind == IG_KIND_FLOAT) return ig_value_expr(&n->val) ? 4 : IG_FLOW_ENDLESS;
  if (ig_node_is_number(n)) return ig_value_expr(&n->val) ? 1 : IG_FLOW_ENDLESS;
  if (n->val.kind != IG_KIND_TENSOR) return IG_FLOW_ENDLESS;
  int d = k->distance[n->index];
  double factor = pow(1.1, d < 1 ? 1 : d > 100 ? 100 : d);
  double bytes = bytes_of(&n->val) * factor;
  if (bytes > max_weight) bytes = max_weight;
  return (int64_t)bytes * (is_materialized(n) ? 1 : 2);
}

static bool is_primal(const ig_joint *j, const ig_node *n) {
  for (size_t i = 0; i < j->nprimals; i++) {
    if (j->primals[i] == n) return true;
  }
  return false;
}

static bool add_node(cutter *k, const ig_node *n) {
  bool primal = ig_node_is_placeholder(n) && is_primal(k->j, n);
  if (k->backward[n->index]) {
    if (!primal) return ig_flow_add(&k->flow, in_of(n), sink_of(k), IG_FLOW_ENDLESS);
    if (!ig_flow_add(&k->flow, out_of(n), sink_of(k), IG_FLOW_ENDLESS)) return false;
  }
  bool forbidden = primal || (k->j->forward[n->index] && should_ban(k, n));
  if (forbidden && !ban(k, n)) return false;
  if (!ig_flow_add(&k->flow, in_of(n), out_of(n), weight_of(k, n))) return false;
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (u->user->kind == IG_NODE_OUTPUT) continue;
    if (!ig_flow_add(&k->flow, out_of(n), in_of(u->user), IG_FLOW_ENDLESS)) return false;
  }
  return true;
}

// ---- uses far apart ----

// The position of the first value behind the users of n that does not fuse with what it reads, or
// `last`. due: per position, 1: reached, 2: reached without fusing; zeroed again.
static size_t first_unfusible(const cutter *k, const ig_node *n, size_t first, size_t last,
                              char *due) {
  size_t found = last;
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (k->j->forward[u->user->index]) due[k->order[u->user->index]] |= 1;
  }
  for (size_t i = first; i <= last; i++) {
    char how = due[i];
    if (how & 2) {
      found = i;
      break;
    }
    const ig_node *at = k->ordered[i];
    for (const ig_use *u = how ? at->first_use : NULL; u; u = u->next) {
      if (!k->j->forward[u->user->index] || k->order[u->user->index] > last) continue;
      due[k->order[u->user->index]] |= is_fusible(at, u->user) ? 1 : 2;
    }
  }
  for (size_t i = first; i <= last; i++) due[i] = 0;
  return found;
}

// A value that is used near and, behind something that does not fuse, far away: what the far use
// computes is not computed again.
static bool ban_far_uses(cutter *k, char *due) {
  for (size_t i = 0; i < k->n; i++) {
    const ig_node *n = k->ordered[i];
    size_t first = SIZE_MAX;
    size_t last = 0;
    for (const ig_use *u = n->first_use; u; u = u->next) {
      if (!k->j->forward[u->user->index]) continue;
      size_t at = k->order[u->user->index];
      if (at < first) first = at;
      if (at > last) last = at;
    }
    if (first == SIZE_MAX) continue;
    size_t from = first_unfusible(k, n, first, last, due);
    for (const ig_use *u = n->first_use; u; u = u->next) {
      bool far = k->j->forward[u->user->index] && k->order[u->user->index] > from;
      if (far && is_fusible(n, u->user) && !ban(k, u->user)) return false;
    }
  }
  return true;
}

// A chain of fusible calls is not computed again as a whole. queued, visited: per position, zeroed.
static bool ban_long_chains(cutter *k, char *queued, char *visited) {
  for (size_t start = 0; start < k->n; start++) {
    size_t waiting = 1;
    queued[start] = 1;
    for (size_t i = start; waiting; i++) {
      if (!queued[i]) continue;
      queued[i] = 0;
      waiting--;
      if (visited[i]) continue;
      visited[i] = 1;
      const ig_node *n = k->ordered[i];
      if (i > start + LONGEST_CHAIN && waiting == 0) {
        if (!ban(k, n)) return false;
        break;
      }
      for (const ig_use *u = n->first_use; u; u = u->next) {
        size_t at = k->order[u->user->index];
        bool goes =
            k->j->forward[u->user->index] && is_fusible(n, u->user) && !k->banned[u->user->index];
        if (!goes || queued[at]) continue;
        queued[at] = 1;
        waiting++;
      }
    }
  }
  return true;
}

// ---- the cut ----

static void mark_backward(cutter *k) {
  const ig_joint *j = k->j;
  for (size_t i = 0; i < j->ntangents; i++) k->backward[j->tangents[i]->index] = true;
  for (const ig_node *n = j->g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    for (size_t i = 0; i < n->ninputs; i++) {
      if (k->backward[n->inputs[i]->index]) k->backward[n->index] = true;
    }
  }
  for (size_t i = 0; i < j->ngrads; i++) {
    if (j->grads[i].kind == IG_KIND_NODE) k->backward[j->grads[i].node->index] = true;
  }
}

static void set_distances(cutter *k) {
  for (const ig_node *n = k->j->g->last; n; n = n->prev) {
    int *d = &k->distance[n->index];
    *d = n->kind == IG_NODE_OUTPUT || k->j->forward[n->index] ? FAR : 0;
    if (n->kind == IG_NODE_OUTPUT) continue;
    for (const ig_use *u = *d ? n->first_use : NULL; u; u = u->next) {
      int further = k->distance[u->user->index] + 1;
      if (further < *d) *d = further;
    }
  }
}

static void set_order(cutter *k) {
  for (ig_node *n = k->j->g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    if (!k->j->forward[n->index]) continue;
    k->ordered[k->n] = n;
    k->order[n->index] = k->n++;
  }
}

static bool collect(cutter *k, ig_node_list *saved) {
  bool *beyond = ig_pass_zeros(k->c, k->flow.n, sizeof *beyond);
  if (!beyond) return false;
  if (!ig_flow_cut(&k->flow, source_of(k), sink_of(k), beyond)) {
    (void)ig_fail(k->c, IG_UNSUPPORTED,
                  "partition: the backward graph needs a value that is neither a tensor nor a "
                  "number");
    return false;
  }
  for (ig_node *n = k->j->g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    if (!beyond[in_of(n)] && beyond[out_of(n)]) saved->at[saved->n++] = n;
  }
  return true;
}

bool ig_joint_min_cut(const ig_joint *j, ig_node_list *saved) {
  ig_ctx *c = j->c;
  size_t n = j->g->next_index;
  cutter k = {.j = j, .c = c};
  k.backward = ig_pass_zeros(c, n, sizeof *k.backward);
  k.banned = ig_pass_zeros(c, n, sizeof *k.banned);
  k.distance = ig_pass_zeros(c, n, sizeof *k.distance);
  k.order = ig_pass_zeros(c, n, sizeof *k.order);
  k.ordered = ig_pass_zeros(c, n, sizeof *k.ordered);
  char *due = ig_pass_zeros(c, n, 1);
  char *queued = ig_pass_zeros(c, n, 1);
  char *visited = ig_pass_zeros(c, n, 1);
  if (!k.backward || !k.banned || !k.distance || !k.order || !k.ordered || !due || !queued ||
      !visited) {
    return false;
  }
  if (!ig_flow_init(c, &k.flow, 2 * n + 2)) return false;
  mark_backward(&k);
  set_order(&k);
  set_distances(&k);
  bool ok = true;
  for (const ig_node *at = j->g->first; ok && at && at->kind != IG_NODE_OUTPUT; at = at->next) {
    ok = add_node(&k, at);
  }
  ok = ok && ban_far_uses(&k, due) && ban_long_chains(&k, queued, visited) && collect(&k, saved);
  ig_flow_free(&k.flow);
  return ok;
}
