// SPDX-License-Identifier: Apache-2.0
// Frozen graphs for inference: dropout does nothing, and what is done to the result of a
// convolution or linear layer with constants is done to its weights instead.
#include <stdlib.h>
#include <string.h>

#include "script/compile.h"
#include "script/freeze.h"
#include "script/interp.h"
#include "script/passes.h"

typedef enum role { NO_ROLE, CONVOLUTION, LINEAR, NORMALIZATION, DROPOUT, RANK } role;

typedef struct row {
  const char *kind;
  role role;
} row;

// Sorted by kind.
static const row rows[] = {
    {"aten::alpha_dropout", DROPOUT},
    {"aten::alpha_dropout_", DROPOUT},
    {"aten::batch_norm", NORMALIZATION},
    {"aten::conv1d", CONVOLUTION},
    {"aten::conv2d", CONVOLUTION},
    {"aten::conv3d", CONVOLUTION},
    {"aten::dim", RANK},
    {"aten::dropout", DROPOUT},
    {"aten::dropout_", DROPOUT},
    {"aten::feature_alpha_dropout", DROPOUT},
    {"aten::feature_alpha_dropout_", DROPOUT},
    {"aten::feature_dropout", DROPOUT},
    {"aten::feature_dropout_", DROPOUT},
    {"aten::linear", LINEAR},
};

static int compare(const void *key, const void *at) {
  return strcmp(key, ((const row *)at)->kind);
}

static role role_of(const ig_snode *n) {
  const row *r = bsearch(n->kind, rows, sizeof rows / sizeof rows[0], sizeof rows[0], compare);
  return r ? r->role : NO_ROLE;
}

// ---- dropout

static void drop_dropout(ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) drop_dropout(n->blocks[i]);
    bool training = true;
    if (role_of(n) != DROPOUT || n->n_in != 3 || n->n_out != 1) continue;
    if (!ig_sbuild_as_bool(ig_sbuild_now(n->in[2]), &training) || training) continue;
    ig_sbuild_replace(n->out[0], n->in[0]);
    ig_snode_remove(n);
  }
}

// ---- normalization behind a layer

// Weights and bias of a layer as if it normalized its result. %shape: -1 and ones, as many
// dimensions as the weights have.
static const char normalize[] =
    "graph(%w : Tensor, %b : Tensor, %mean : Tensor, %var : Tensor, %gain : Tensor, "
    "%shift : Tensor, %eps : float, %shape : int[]):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %v : Tensor = aten::add(%var, %eps, %one)\n"
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %scale : Tensor = aten::mul(%gain, %r)\n"
    "  %wide : Tensor = aten::reshape(%scale, %shape)\n"
    "  %weights : Tensor = aten::mul(%w, %wide)\n"
    "  %centred : Tensor = aten::sub(%b, %mean, %one)\n"
    "  %scaled : Tensor = aten::mul(%centred, %scale)\n"
    "  %bias : Tensor = aten::add(%scaled, %shift, %one)\n"
    "  return (%weights, %bias)\n";

// %c, %d for what is not there: zeros and ones like the mean.
static const char missing[] =
    "graph(%mean : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zeros : Tensor = aten::zeros_like(%mean, %none, %none, %none, %none, %none)\n"
    "  %ones : Tensor = aten::ones_like(%mean, %none, %none, %none, %none, %none)\n"
    "  return (%zeros, %ones)\n";

static bool run(ig_sunit *u, const char *formula, const ig_value *in, size_t n, ig_value *out) {
  ig_ctx *c = u->c;
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, formula);
  bool ok = g && ig_sgraph_run(c, u, g, in, n, out) == IG_OK;
  ig_sgraph_free(g);
  return ok;
}

// A tensor constant, or None (*out stays None). False: neither.
static bool known_tensor(ig_svalue *v, bool optional, ig_value *out) {
  v = ig_sbuild_now(v);
  if (!ig_sbuild_is_constant(v)) return false;
  const ig_value *value = ig_sbuild_constant(v);
  *out = value ? *value : ig_none();
  return value ? value->kind == IG_KIND_TENSOR : optional && v->node->n_attrs == 0;
}

typedef struct pair {
  ig_snode *layer;
  ig_snode *norm;
  ig_value w, b, mean, var, gain, shift;
  double eps;
} pair;

static bool find_pair(ig_snode *n, pair *p) {
  *p = (pair){.norm = n};
  if (role_of(n) != NORMALIZATION || n->n_in != 9 || n->n_out != 1) return false;
  ig_svalue *input = ig_sbuild_now(n->in[0]);
  if (input->block || !input->node || input->uses != 1) return false;
  p->layer = input->node;
  role kind = role_of(p->layer);
  bool fits =
      (kind == CONVOLUTION && p->layer->n_in == 7) || (kind == LINEAR && p->layer->n_in == 3);
  bool training = true;
  const ig_value *eps = ig_sbuild_constant(ig_sbuild_now(n->in[7]));
  if (!fits || !eps || eps->kind != IG_KIND_FLOAT) return false;
  if (!ig_sbuild_as_bool(ig_sbuild_now(n->in[5]), &training) || training) return false;
  p->eps = eps->f;
  return known_tensor(p->layer->in[1], false, &p->w) &&
         known_tensor(p->layer->in[2], true, &p->b) && known_tensor(n->in[1], true, &p->gain) &&
         known_tensor(n->in[2], true, &p->shift) && known_tensor(n->in[3], false, &p->mean) &&
         known_tensor(n->in[4], false, &p->var);
}

// The new weight of a layer, named after the old one. NULL after an error.
static ig_svalue *add_weight(ig_snode *layer, size_t at, ig_value v, const char *fallback) {
  ig_sgraph *g = layer->owner->graph;
  const ig_svalue *old = ig_sbuild_now(layer->in[at]);
  const char *base = old->name ? old->name : fallback;
  ig_svalue *made = ig_sbuild_literal(layer->owner, layer, v, old->type);
  ig_str name = ig_str_make(g->c->alloc);
  ig_str_add(&name, "%s_fused_bn", base);
  bool ok = made && !name.failed && ig_svalue_set_name(g, made, name.at);
  ig_str_free(&name);
  return ok ? made : NULL;
}

static bool fuse(ig_sunit *u, const pair *p) {
  ig_ctx *c = u->c;
  ig_value spare[2] = {ig_none(), ig_none()};
  ig_value fused[2] = {ig_none(), ig_none()};
  size_t dims = (size_t)ig_tensor_ndim(p->w.tensor);
  ig_value shape[16];
  if (dims == 0 || dims > 16 || !run(u, missing, &p->mean, 1, spare)) return c->status == IG_OK;
  shape[0] = ig_of_i64(-1);
  for (size_t i = 1; i < dims; i++) shape[i] = ig_of_i64(1);
  const ig_stype *ints = ig_stype_list(&u->types, ig_stype_plain(&u->types, IG_STYPE_INT));
  ig_sobj_seq *list = ints ? ig_sobj_seq_make(c, IG_SOBJ_LIST, ints, shape, dims) : NULL;
  ig_value in[] = {p->w,
                   p->b.kind == IG_KIND_NONE ? spare[0] : p->b,
                   p->mean,
                   p->var,
                   p->gain.kind == IG_KIND_NONE ? spare[1] : p->gain,
                   p->shift.kind == IG_KIND_NONE ? spare[0] : p->shift,
                   ig_of_f64(p->eps),
                   list ? ig_of_sobj(list) : ig_none()};
  bool ok = list && run(u, normalize, in, 8, fused);
  // Sizes that do not fit are an error of the script when it runs.
  if (!ok && c->status != IG_NOMEM && c->status != IG_LIMIT) ig_ctx_clear(c);
  ig_svalue *w = ok ? add_weight(p->layer, 1, fused[0], "weight") : NULL;
  ig_svalue *b = w ? add_weight(p->layer, 2, fused[1], "bias") : NULL;
  if (b) {
    p->layer->in[1] = w;
    p->layer->in[2] = b;
    ig_sbuild_replace(p->norm->out[0], p->layer->out[0]);
    ig_snode_remove(p->norm);
  }
  for (size_t i = 0; i < 2; i++) {
    ig_svalue_release(spare[i]);
    ig_svalue_release(fused[i]);
  }
  if (list) ig_svalue_release(ig_of_sobj(list));
  return c->status == IG_OK;
}

static bool fuse_in(ig_sunit *u, ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!fuse_in(u, n->blocks[i])) return false;
    }
    pair p;
    if (find_pair(n, &p) && !fuse(u, &p)) return false;
  }
  return true;
}

// ---- ranks

// The result of a convolution has as many dimensions as its weights, for a batch.
static bool fold_ranks_in(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!fold_ranks_in(n->blocks[i])) return false;
    }
    if (role_of(n) != RANK || n->n_in != 1 || n->n_out != 1) continue;
    ig_svalue *input = ig_sbuild_now(n->in[0]);
    ig_snode *layer = input->block ? NULL : input->node;
    ig_value w;
    if (!layer || role_of(layer) != CONVOLUTION || layer->n_in < 2) continue;
    if (!known_tensor(layer->in[1], false, &w)) continue;
    ig_value rank = ig_of_i64((int64_t)ig_tensor_ndim(w.tensor));
    ig_svalue *known = ig_sbuild_literal(b, n, rank, n->out[0]->type);
    if (!known) return false;
    ig_sbuild_replace(n->out[0], known);
  }
  return true;
}

bool ig_sgraph_fold_ranks(ig_sunit *u, ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  bool ok = fold_ranks_in(g->body);
  ig_sbuild_settle(g);
  return ok && ig_sgraph_remove_dead(u, g);
}

bool ig_sgraph_optimize_frozen(ig_sunit *u, ig_sgraph *g, bool numerics) {
  if (!ig_sbuild_check(g, true)) return false;
  drop_dropout(g->body);
  ig_sbuild_settle(g);
  ig_sbuild_count_uses(g);
  bool ok = !numerics || fuse_in(u, g->body);
  ig_sbuild_settle(g);
  return ok && ig_sgraph_remove_dead(u, g);
}
