// SPDX-License-Identifier: Apache-2.0
// Ensembles of trees in both encodings: TreeEnsemble (one list of nodes, one of leaves) and the
// older TreeEnsembleRegressor and TreeEnsembleClassifier (nodes by tree and number).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx_ops/ml.h"

typedef enum mode {
  MODE_LEQ,
  MODE_LT,
  MODE_GTE,
  MODE_GT,
  MODE_EQ,
  MODE_NEQ,
  MODE_MEMBER,
  MODE_LEAF
} mode;

typedef struct node {
  mode mode;
  bool missing_true;
  int64_t feature;
  double value;
  size_t yes;  // node; a leaf: first weight
  size_t no;   // node; a leaf: number of weights
  size_t members;
  size_t nmembers;
} node;

typedef struct weight {
  int64_t target;
  double value;
} weight;

typedef struct forest {
  node *nodes;
  size_t nnodes;
  size_t *roots;
  size_t nroots;
  weight *weights;
  size_t nweights;
  const double *members;
  int64_t targets;
  int aggregate;  // average, sum, min, max
} forest;

static bool compare(const forest *f, const node *n, double x) {
  if (n->missing_true && isnan(x)) return true;
  switch (n->mode) {
    case MODE_LEQ:
      return x <= n->value;
    case MODE_LT:
      return x < n->value;
    case MODE_GTE:
      return x >= n->value;
    case MODE_GT:
      return x > n->value;
    case MODE_EQ:
      return x == n->value;
    case MODE_NEQ:
      return x != n->value;
    default:
      for (size_t i = 0; i < n->nmembers; i++) {
        if (f->members[n->members + i] == x) return true;
      }
      return false;
  }
}

// Adds the prediction of one tree; false: the tree has a cycle.
static bool walk(const forest *f, size_t at, const double *x, double *sum, bool *any) {
  for (size_t steps = 0; steps <= f->nnodes; steps++) {
    const node *n = &f->nodes[at];
    if (n->mode != MODE_LEAF) {
      at = compare(f, n, x[n->feature]) ? n->yes : n->no;
      continue;
    }
    for (size_t i = 0; i < n->no; i++) {
      const weight *w = &f->weights[n->yes + i];
      double *to = &sum[w->target];
      bool first = !any[w->target];
      if (f->aggregate < 2) {
        *to += w->value;
      } else if (first || (f->aggregate == 2 ? w->value < *to : w->value > *to)) {
        *to = w->value;
      }
      any[w->target] = true;
    }
    return true;
  }
  return false;
}

// [n, features] -> [n, targets] in float64
static ig_tensor *run_forest(ig_rd *r, const forest *f, ig_tensor *x) {
  const double *data = ig_rd_bytes(r, x, IG_F64);
  if (!data) return NULL;
  int64_t features = x->ndim ? ig_rd_size(r, x, -1).value : 1;  // concrete: x has bytes
  int64_t rows = features ? ig_tensor_numel(x) / features : 0;
  for (size_t i = 0; i < f->nnodes; i++) {
    const node *n = &f->nodes[i];
    bool bad = n->mode != MODE_LEAF && (n->feature < 0 || n->feature >= features ||
                                        n->yes >= f->nnodes || n->no >= f->nnodes);
    if (bad) {
      ig_rd_fail(r, IG_INVALID, "node %zu of a tree points nowhere", i);
      return NULL;
    }
  }
  int64_t dims[2] = {rows, f->targets};
  ig_tensor *out = ig_rd_real(r, IG_F64, dims, 2);
  bool *any = ig_scope_push(r->c, (size_t)f->targets + 1);
  if (!out || !any) return NULL;
  double *to = ig_tensor_data(out);
  memset(to, 0, (size_t)(rows * f->targets) * sizeof *to);
  for (int64_t i = 0; i < rows; i++) {
    memset(any, 0, (size_t)f->targets);
    for (size_t k = 0; k < f->nroots; k++) {
      if (walk(f, f->roots[k], data + i * features, to + i * f->targets, any)) continue;
      ig_rd_fail(r, IG_INVALID, "tree %zu runs in a circle", k);
      return NULL;
    }
    for (int64_t k = 0; f->aggregate == 0 && f->nroots && k < f->targets; k++) {
      to[i * f->targets + k] /= (double)f->nroots;
    }
  }
  return out;
}

// ---- TreeEnsemble

static const double *tensor_attr(ig_rd *r, const char *name, size_t *n) {
  const ig_om_attr *a = ig_rd_attr(r, name);
  *n = 0;
  if (!a || a->type != IG_OM_ATTR_TENSOR || a->tensors[0]->elem == IG_OM_STRING) return NULL;
  const double *at = ig_rd_bytes(r, ig_rd_tensor(r, ig_rd_of_data(r, a->tensors[0])), IG_F64);
  if (at) *n = (size_t)a->tensors[0]->numel;
  return at;
}

typedef struct columns {
  const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *missing;
  const double *mode, *split, *weight, *members;
  const int64_t *target;
  size_t n, nleaves, nmembers;
} columns;

static bool take_columns(ig_rd *r, columns *c) {
  size_t n[8] = {0};
  c->feature = ig_rd_attr_ints(r, "nodes_featureids", &c->n);
  c->yes = ig_rd_attr_ints(r, "nodes_truenodeids", &n[0]);
  c->no = ig_rd_attr_ints(r, "nodes_falsenodeids", &n[1]);
  c->yes_leaf = ig_rd_attr_ints(r, "nodes_trueleafs", &n[2]);
  c->no_leaf = ig_rd_attr_ints(r, "nodes_falseleafs", &n[3]);
  c->missing = ig_rd_attr_ints(r, "nodes_missing_value_tracks_true", &n[4]);
  c->mode = tensor_attr(r, "nodes_modes", &n[5]);
  c->split = tensor_attr(r, "nodes_splits", &n[6]);
  c->weight = tensor_attr(r, "leaf_weights", &c->nleaves);
  c->target = ig_rd_attr_ints(r, "leaf_targetids", &n[7]);
  c->members = tensor_attr(r, "membership_values", &c->nmembers);
  bool ok = c->feature && c->yes && c->no && c->yes_leaf && c->no_leaf && c->mode && c->split &&
            c->weight && c->target && n[7] == c->nleaves &&
            (!c->missing || n[4] == 0 || n[4] == c->n);
  for (int i = 0; i < 7; i++) ok = ok && (i == 4 || n[i] == c->n);
  if (c->missing && n[4] == 0) c->missing = NULL;
  if (!ok) ig_rd_fail(r, IG_INVALID, "the lists of nodes and leaves are of different lengths");
  return ok;
}

// Leaves become nodes behind the inner ones.
static bool build(ig_rd *r, const columns *c, forest *f) {
  f->nnodes = c->n + c->nleaves;
  f->nodes = ig_scope_array(r->c, f->nnodes, sizeof *f->nodes);
  f->weights = ig_scope_array(r->c, c->nleaves, sizeof *f->weights);
  f->nweights = c->nleaves;
  f->members = c->members;
  if (!f->nodes || !f->weights) return false;
  size_t member = 0;
  for (size_t i = 0; i < c->n; i++) {
    int m = (int)c->mode[i];
    int64_t yes = c->yes[i] + (c->yes_leaf[i] ? (int64_t)c->n : 0);
    int64_t no = c->no[i] + (c->no_leaf[i] ? (int64_t)c->n : 0);
    if (m < 0 || m > MODE_MEMBER || c->yes[i] < 0 || c->no[i] < 0) {
      ig_rd_fail(r, IG_INVALID, "node %zu of a tree is malformed", i);
      return false;
    }
    node *n = &f->nodes[i];
    *n = (node){.mode = (mode)m,
                .missing_true = c->missing && c->missing[i],
                .feature = c->feature[i],
                .value = c->split[i],
                .yes = (size_t)yes,
                .no = (size_t)no,
                .members = member};
    if (m != MODE_MEMBER) continue;
    while (member < c->nmembers && !isnan(c->members[member])) member++;
    n->nmembers = member - n->members;
    member++;
  }
  for (size_t i = 0; i < c->nleaves; i++) {
    if (c->target[i] < 0 || c->target[i] >= f->targets) {
      ig_rd_fail(r, IG_INVALID, "leaf %zu has target %lld", i, (long long)c->target[i]);
      return false;
    }
    f->weights[i] = (weight){c->target[i], c->weight[i]};
    f->nodes[c->n + i] = (node){.mode = MODE_LEAF, .yes = i, .no = 1};
  }
  return true;
}

static void read_tree_ensemble(ig_rd *r) {
  static const char *const posts[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  ig_tensor *x = ig_rd_in(r, 0);
  columns c;
  forest f = {.targets = ig_rd_attr_int(r, "n_targets", 1),
              .aggregate = (int)ig_rd_attr_int(r, "aggregate_function", 1)};
  size_t n = 0;
  const int64_t *roots = ig_rd_attr_ints(r, "tree_roots", &n);
  int64_t post = ig_rd_attr_int(r, "post_transform", 0);
  if (!x || !roots || f.targets < 1 || f.targets > 1 << 24 || post < 0 || post > 4) {
    ig_rd_fail(r, IG_INVALID, "targets, roots or post_transform are malformed");
    return;
  }
  if (!take_columns(r, &c) || !build(r, &c, &f)) return;
  f.roots = ig_scope_array(r->c, n, sizeof *f.roots);
  f.nroots = n;
  for (size_t i = 0; f.roots && i < n; i++) {
    if (roots[i] < 0 || (size_t)roots[i] >= f.nnodes) {
      ig_rd_fail(r, IG_INVALID, "root %zu does not exist", i);
      return;
    }
    f.roots[i] = (size_t)roots[i];
  }
  ig_tensor *y = f.roots ? run_forest(r, &f, x) : NULL;
  ig_rd_out(r, 0, ig_cast(r->c, ig_rd_post_transform(r, y, posts[post]), x->dtype));
}

// ---- the older encoding

static mode mode_of(ig_bytes text) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
  for (int i = 0; i < 8; i++) {
    if (names[i][0] && ig_rd_text_is(text, names[i])) return (mode)i;
  }
  return MODE_MEMBER;
}

typedef struct old_nodes {
  const int64_t *tree, *id, *feature, *yes, *no, *missing;
  const ig_bytes *mode;
  const float *value;
  size_t n;
  ig_map by_id;  // "tree id" -> index + 1
  char *keys;
} old_nodes;

enum { KEY = 44 };

static size_t find_node(const old_nodes *o, int64_t tree, int64_t id) {
  char key[KEY];
  (void)snprintf(key, sizeof key, "%lld %lld", (long long)tree, (long long)id);
  const ig_map_value *v = ig_map_find(&o->by_id, key);
  return v ? v->num - 1 : SIZE_MAX;
}

static bool take_old(ig_rd *r, old_nodes *o) {
  size_t n[8] = {0};
  size_t nvalues = 0;
  o->tree = ig_rd_attr_ints(r, "nodes_treeids", &o->n);
  o->id = ig_rd_attr_ints(r, "nodes_nodeids", &n[0]);
  o->feature = ig_rd_attr_ints(r, "nodes_featureids", &n[1]);
  o->yes = ig_rd_attr_ints(r, "nodes_truenodeids", &n[2]);
  o->no = ig_rd_attr_ints(r, "nodes_falsenodeids", &n[3]);
  o->mode = ig_rd_attr_strings(r, "nodes_modes", &n[4]);
  o->missing = ig_rd_attr_ints(r, "nodes_missing_value_tracks_true", &n[5]);
  o->value = ig_rd_attr_floats(r, "nodes_values", &nvalues);
  bool ok =
      o->tree && o->id && o->feature && o->yes && o->no && o->mode && o->value && nvalues == o->n;
  for (int i = 0; i < 5; i++) ok = ok && n[i] == o->n;
  if (!o->missing || n[5] != o->n) o->missing = NULL;
  o->keys = ok ? ig_scope_array(r->c, o->n + 1, KEY) : NULL;
  for (size_t i = 0; o->keys && i < o->n; i++) {
    char *key = o->keys + i * KEY;
    (void)snprintf(key, KEY, "%lld %lld", (long long)o->tree[i], (long long)o->id[i]);
    ig_map_value *v = ig_map_put(&o->by_id, key);
    if (v) v->num = i + 1;
  }
  if (!ok) ig_rd_fail(r, IG_INVALID, "the lists of nodes are missing or of different lengths");
  return ok && o->keys;
}

// Weights of leaves: "target" for regressors, "class" for classifiers.
static bool take_weights(ig_rd *r, const old_nodes *o, const char *prefix, forest *f) {
  char name[32];
  size_t n = 0;
  size_t count[3] = {0};
  (void)snprintf(name, sizeof name, "%s_treeids", prefix);
  const int64_t *tree = ig_rd_attr_ints(r, name, &n);
  (void)snprintf(name, sizeof name, "%s_nodeids", prefix);
  const int64_t *id = ig_rd_attr_ints(r, name, &count[0]);
  (void)snprintf(name, sizeof name, "%s_ids", prefix);
  const int64_t *target = ig_rd_attr_ints(r, name, &count[1]);
  (void)snprintf(name, sizeof name, "%s_weights", prefix);
  const float *w = ig_rd_attr_floats(r, name, &count[2]);
  bool ok = tree && id && target && w && count[0] == n && count[1] == n && count[2] == n;
  f->weights = ig_scope_array(r->c, n, sizeof *f->weights);
  if (!ok || !f->weights) {
    ig_rd_fail(r, IG_INVALID, "the lists of %s weights are missing or of different lengths",
               prefix);
    return false;
  }
  // Two passes: how many each leaf has, then where they lie together.
  for (int pass = 0; pass < 2; pass++) {
    size_t start = 0;
    for (size_t i = 0; pass && i < f->nnodes; i++) {
      if (f->nodes[i].mode != MODE_LEAF) continue;
      f->nodes[i].yes = start;
      start += f->nodes[i].no;
      f->nodes[i].no = 0;
    }
    for (size_t i = 0; i < n; i++) {
      size_t at = find_node(o, tree[i], id[i]);
      bool bad = at == SIZE_MAX || f->nodes[at].mode != MODE_LEAF || target[i] < 0 ||
                 target[i] >= f->targets;
      if (bad) {
        ig_rd_fail(r, IG_INVALID, "weight %zu belongs to no leaf or target", i);
        return false;
      }
      node *leaf = &f->nodes[at];
      if (pass) f->weights[leaf->yes + leaf->no] = (weight){target[i], (double)w[i]};
      leaf->no++;
    }
  }
  f->nweights = n;
  return true;
}

static bool build_old(ig_rd *r, const old_nodes *o, const char *prefix, forest *f) {
  f->nnodes = o->n;
  f->nodes = ig_scope_array(r->c, o->n, sizeof *f->nodes);
  f->roots = ig_scope_array(r->c, o->n, sizeof *f->roots);
  if (!f->nodes || !f->roots) return false;
  for (size_t i = 0; i < o->n; i++) {
    mode m = mode_of(o->mode[i]);
    f->nodes[i] = (node){.mode = m,
                         .missing_true = o->missing && o->missing[i],
                         .feature = o->feature[i],
                         .value = (double)o->value[i]};
    if (m == MODE_MEMBER) ig_rd_fail(r, IG_INVALID, "node %zu has a mode that is not known", i);
    if (m == MODE_LEAF) continue;
    f->nodes[i].yes = find_node(o, o->tree[i], o->yes[i]);
    f->nodes[i].no = find_node(o, o->tree[i], o->no[i]);
  }
  // The first node of a tree is its root.
  for (size_t i = 0; i < o->n; i++) {
    if (i == 0 || o->tree[i] != o->tree[i - 1]) f->roots[f->nroots++] = i;
  }
  return ig_rd_ok(r) && take_weights(r, o, prefix, f);
}

static int aggregate_of(const char *text) {
  return strcmp(text, "AVERAGE") == 0 ? 0
         : strcmp(text, "MIN") == 0   ? 2
         : strcmp(text, "MAX") == 0   ? 3
                                      : 1;
}

static ig_tensor *old_scores(ig_rd *r, const char *prefix, int64_t targets, int aggregate) {
  ig_tensor *x = ig_rd_in(r, 0);
  old_nodes o = {.by_id = ig_map_make(r->c->alloc)};
  forest f = {.targets = targets, .aggregate = aggregate};
  ig_tensor *y = NULL;
  if (targets < 1 || targets > 1 << 24)
    ig_rd_fail(r, IG_INVALID, "%lld targets", (long long)targets);
  if (x && ig_rd_ok(r) && take_old(r, &o) && build_old(r, &o, prefix, &f)) y = run_forest(r, &f, x);
  ig_map_free(&o.by_id);
  size_t n = 0;
  const float *base = ig_rd_attr_floats(r, "base_values", &n);
  if (base && n && y)
    y = ig_rd_add(r, y, ig_cast(r->c, ig_rd_constant(r, IG_F32, base, (int64_t)n), IG_F64));
  return ig_cast(r->c, y, IG_F32);
}

static void read_tree_regressor(ig_rd *r) {
  int aggregate = aggregate_of(ig_rd_attr_text(r, "aggregate_function", "SUM"));
  ig_tensor *y = old_scores(r, "target", ig_rd_attr_int(r, "n_targets", 1), aggregate);
  ig_rd_out(r, 0, ig_rd_post_transform(r, y, ig_rd_attr_text(r, "post_transform", "NONE")));
}

static void read_tree_classifier(ig_rd *r) {
  size_t nints = 0;
  size_t nstrings = 0;
  size_t nids = 0;
  (void)ig_rd_attr_ints(r, "classlabels_int64s", &nints);
  (void)ig_rd_attr_strings(r, "classlabels_strings", &nstrings);
  const int64_t *ids = ig_rd_attr_ints(r, "class_ids", &nids);
  size_t classes = nints ? nints : nstrings;
  // Two classes of which only one has weights: one score for both.
  bool binary = classes == 2;
  for (size_t i = 1; ids && i < nids; i++) binary &= ids[i] == ids[0];
  const char *post = ig_rd_attr_text(r, "post_transform", "NONE");
  ig_tensor *y = old_scores(r, "class", (int64_t)classes, 1);
  if (!binary) {
    ig_rd_classify(r, y, post, false);
    return;
  }
  int64_t first = ids && nids ? ids[0] : 0;
  if (first < 0 || first >= (int64_t)classes) {
    ig_rd_fail(r, IG_INVALID, "class_ids: %lld is no index of %zu classes", (long long)first,
               classes);
    return;
  }
  y = ig_rd_slice(r, y, 1, first, first + 1, 1);
  if (strcmp(post, "NONE") == 0 && y) {  // scores are probabilities: 1 - p, p
    ig_tensor *no = ig_rd_addn(r, ig_rd_muln(r, y, -1), 1);
    ig_rd_classify(r, no ? ig_rd_cat(r, (ig_tensor *[]){no, y}, 2, 1) : NULL, post, false);
    return;
  }
  ig_rd_classify(r, y, post, true);
}

const ig_rd_row ig_rd_rows_tree[] = {
    {"TreeEnsemble", 5, read_tree_ensemble},
    {"TreeEnsembleRegressor", 1, read_tree_regressor},
    {"TreeEnsembleClassifier", 1, read_tree_classifier},
    {NULL, 0, NULL},
};
