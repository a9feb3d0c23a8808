// SPDX-License-Identifier: Apache-2.0
// Attention and RotaryEmbedding, which exist from opset 23 on, by products and sums. Sizes may be
// dynamic: unknown ones are read from the tensors.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx_convert/steps.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD };
enum { KEY_OUT = 1, VALUE_OUT, PRODUCT_OUT };
enum { SLOTS = 6 };

// Values so far, as the inputs of a node that texts can name: $0 tells the element type.
typedef struct values {
  ig_cv *v;
  const char *at[SLOTS];
  ig_om_node n;
} values;

static const ig_om_node *of(values *x) {
  const char **inputs = ig_cv_push(x->v, ig_mem_mul(SLOTS, sizeof *inputs));
  for (size_t i = 0; inputs && i < SLOTS; i++) inputs[i] = x->at[i] ? x->at[i] : "";
  x->n = (ig_om_node){.op_type = "Attention", .inputs = inputs, .ninputs = inputs ? SLOTS : 0};
  return &x->n;
}

static const char *apply(ig_cv *v, const char *like, const char *a, const char *b,
                         const char *text) {
  values x = {.v = v, .at = {like, a, b}};
  return ig_cv_value(v, of(&x), "%s", text);
}

// An output of the node, if it is used.
static void give(ig_cv *v, const ig_om_node *n, size_t i, const char *value) {
  if (i >= n->noutputs || !*n->outputs[i]) return;
  const char **in = ig_cv_push(v, sizeof *in);
  const char **out = ig_cv_push(v, sizeof *out);
  if (!in || !out) return;
  *in = value;
  *out = n->outputs[i];
  ig_om_node same = {.name = "", .op_type = "Identity", .inputs = in, .ninputs = 1};
  same.outputs = out;
  same.noutputs = 1;
  ig_cv_node(v, &same, 13);
}

// [batch, length, heads * size] -> [batch, heads, length, size]
static const char *split_heads(ig_cv *v, const char *like, const char *t, int64_t heads) {
  values x = {.v = v, .at = {like, t}};
  return ig_cv_value(v, of(&x), "Transpose<perm=[0, 2, 1, 3]>(Reshape($1, [0, 0, %lld, -1]))",
                     (long long)heads);
}

// Every key head serves several query heads, neighbours in order: as many as q has.
static const char *share_heads(ig_cv *v, const char *q, const char *t) {
  const ig_cv_fact *a = ig_cv_known(v, q);
  const ig_cv_fact *b = ig_cv_known(v, t);
  if (a->ndim == 4 && b->ndim == 4 && a->dims[1] > 0 && a->dims[1] == b->dims[1]) return t;
  return apply(v, q, t, NULL,
               "h = Slice(Shape($0), [1], [2]); s = Shape($1); b = Slice(s, [0], [1]); "
               "m = Slice(s, [1], [2]); e = Slice(s, [2], [4]); "
               "w = Expand(Unsqueeze($1, [2]), Concat<axis=0>(b, m, Div(h, m), e)); "
               "Reshape(w, Concat<axis=0>(b, h, e))");
}

// true -> 0, false -> -inf, of the type of `like`
static const char *bias_of(ig_cv *v, const char *like, const char *allowed) {
  return apply(v, like, allowed, NULL, "Where($1, 0, -inf)");
}

static const char *both(ig_cv *v, const char *like, const char *a, const char *b) {
  return a ? apply(v, like, a, b, "Add($1, $2)") : b;
}

// The mask as numbers; one that is too short masks the keys after its end.
static const char *mask_bias(ig_cv *v, const ig_om_node *n, const char *q, const char *k) {
  const char *mask = ig_cv_in(n, MASK);
  int ndim = ig_cv_ndim(v, mask);
  bool is_bool = ig_cv_elem(v, mask) == IG_OM_BOOL;
  if (!*mask) return NULL;
  if (ndim < 0) {
    (void)ig_cv_refuse(v, "the rank of '%s' is not known", mask);
    return NULL;
  }
  const char *bias = is_bool ? bias_of(v, q, mask) : apply(v, q, mask, NULL, "Cast<to=$0>($1)");
  const ig_cv_fact *f = ig_cv_known(v, mask);
  const ig_cv_fact *keys = ig_cv_known(v, k);
  int64_t have = ndim > 0 ? f->dims[ndim - 1] : 1;
  bool whole = have == 1 || (have > 0 && keys->ndim == 4 && keys->dims[2] == have);
  if (whole || v->at < 23) return bias;
  values x = {.v = v, .at = {q, bias, k}};
  char zeros[64] = "0";
  size_t used = strlen(zeros);
  for (int d = 1; d < 2 * ndim - 1; d++, used = strlen(zeros)) {
    (void)snprintf(zeros + used, sizeof zeros - used, ", 0");
  }
  return ig_cv_value(v, of(&x),
                     "m = Slice(Shape($1), [%d], [%d]); t = Slice(Shape($2), [2], [3]); "
                     "p = Mul(Sub(t, m), Cast<to=7>(Greater(m, [1]))); "
                     "Pad($1, Concat<axis=0>([%s], p), -inf)",
                     ndim - 1, ndim, zeros);
}

// The position of each query among the keys, [l, 1] or [b, 1, l, 1].
static const char *positions(ig_cv *v, const ig_om_node *n, const char *q) {
  const char *past = ig_cv_in(n, PAST_KEY);
  const char *nonpad = ig_cv_in(n, NONPAD);
  values x = {.v = v, .at = {q, *past ? past : nonpad}};
  static const char *const at =
      "l = Slice(Shape($0), [2], [3]); r = Unsqueeze(Range(0i, Squeeze(l, [0]), 1i), [1]); ";
  if (*past) return ig_cv_value(v, of(&x), "%sAdd(r, Slice(Shape($1), [2], [3]))", at);
  if (!*nonpad) return ig_cv_value(v, of(&x), "%sIdentity(r)", at);
  return ig_cv_value(v, of(&x), "%sAdd(r, Unsqueeze(Sub($1, l), [1, 2, 3]))", at);
}

static const char *all_bias(ig_cv *v, const ig_om_node *n, const char *q, const char *k) {
  long long left = (long long)ig_cv_int(v, n, "left_window_size", -1);
  long long right = (long long)ig_cv_int(v, n, "right_window_size", -1);
  bool causal = ig_cv_int(v, n, "is_causal", 0) != 0;
  const char *nonpad = ig_cv_in(n, NONPAD);
  const char *bias = mask_bias(v, n, q, k);
  bool placed = causal || left >= 0 || right >= 0;
  if (v->refused || (!placed && !*nonpad)) return bias;
  const char *at = placed ? positions(v, n, q) : "";
  const char *keys =
      apply(v, q, k, NULL, "Range(0i, Squeeze(Slice(Shape($1), [2], [3]), [0]), 1i)");
  values x = {.v = v, .at = {q, keys, at, nonpad}};
  const ig_om_node *w = of(&x);
  if (causal) bias = both(v, q, bias, bias_of(v, q, ig_cv_value(v, w, "LessOrEqual($1, $2)")));
  if (left >= 0) {
    const char *near = ig_cv_value(v, w, "LessOrEqual(Sub($2, $1), [%lld])", left);
    bias = both(v, q, bias, bias_of(v, q, near));
  }
  if (right >= 0) {
    const char *near = ig_cv_value(v, w, "LessOrEqual(Sub($1, $2), [%lld])", right);
    bias = both(v, q, bias, bias_of(v, q, near));
  }
  if (*nonpad) {
    const char *valid = ig_cv_value(v, w, "Less($1, Unsqueeze($3, [1, 2, 3]))");
    bias = both(v, q, bias, bias_of(v, q, valid));
  }
  return bias;
}

// Products of queries and keys, each by the root of the scale.
static const char *scores(ig_cv *v, const ig_om_node *n, const char *q, const char *k) {
  const ig_om_attr *scale = ig_om_find_attr(n, "scale");
  values x = {.v = v, .at = {q, k}};
  if (scale) {
    x.at[2] = ig_cv_number(v, 0, q, sqrt((double)scale->f));
  } else {
    x.at[2] = ig_cv_value(v, of(&x), "Pow(Cast<to=$0>(Slice(Shape($0), [3], [4])), -0.25)");
  }
  const char *qk =
      ig_cv_value(v, of(&x), "MatMul(Mul($0, $2), Mul(Transpose<perm=[0, 1, 3, 2]>($1), $2))");
  const ig_om_attr *cap = ig_om_find_attr(n, "softcap");
  if (!cap || !(cap->f > 0)) return qk;
  const char *limit = ig_cv_number(v, 0, q, (double)cap->f);
  return apply(v, q, qk, limit, "Mul(Tanh(Div($1, $2)), $2)");
}

static const char *weights(ig_cv *v, const ig_om_node *n, const char *q, const char *x,
                           const char *bias) {
  int64_t precision = ig_cv_int(v, n, "softmax_precision", 0);
  const char *prob = x;
  if (precision) prob = ig_cv_cast(v, prob, (int)precision, NULL);
  prob = apply(v, q, prob, NULL, "Softmax<axis=-1>($1)");
  if (precision) prob = apply(v, q, prob, NULL, "Cast<to=$0>($1)");
  // Rows without any key to look at become zeros.
  const char *mask = ig_cv_in(n, MASK);
  bool number = *mask && ig_cv_ndim(v, mask) == 0;
  if (!bias || number) return prob;
  return apply(v, q, prob, bias, "Where(Equal(ReduceMax<axes=[-1], keepdims=1>($2), -inf), 0, $1)");
}

// Until 24 there are no windows, until 23 no lengths, and a mask covers all keys. A node that uses
// none of these stays an Attention where the opset has it.
static bool stays(ig_cv *v, const ig_om_node *n) {
  bool windows =
      ig_cv_int(v, n, "left_window_size", -1) >= 0 || ig_cv_int(v, n, "right_window_size", -1) >= 0;
  if (v->target < 23 || windows) return false;
  if (v->target >= 24) return true;
  const ig_cv_fact *mask = ig_cv_known(v, ig_cv_in(n, MASK));
  const ig_cv_fact *k = ig_cv_known(v, ig_cv_in(n, K));
  bool whole = !*ig_cv_in(n, MASK) || mask->ndim == 0 ||
               (mask->ndim > 0 && k->ndim > 2 && !*ig_cv_in(n, PAST_KEY) &&
                mask->dims[mask->ndim - 1] == k->dims[k->ndim - 2]);
  return !*ig_cv_in(n, NONPAD) && whole;
}

bool ig_cv_attention_down(ig_cv *v, ig_om_node *n) {
  if (v->at >= 23 && stays(v, n)) return v->refused;
  int ndim = ig_cv_ndim(v, ig_cv_in(n, Q));
  const char *in[] = {ig_cv_in(n, Q), ig_cv_in(n, K), ig_cv_in(n, V)};
  int64_t heads[] = {ig_cv_int(v, n, "q_num_heads", 0), ig_cv_int(v, n, "kv_num_heads", 0), 0};
  int64_t mode = ig_cv_int(v, n, "qk_matmul_output_mode", 0);
  heads[2] = heads[1];
  if (v->refused) return true;
  if ((ndim != 3 && ndim != 4) || (ndim == 3 && (heads[0] < 1 || heads[1] < 1))) {
    return ig_cv_refuse(v,
                        "exists from opset 23 on; to express it by others the rank of '%s' must "
                        "be known, and the numbers of heads if it is 3",
                        in[Q]);
  }
  for (size_t i = 0; i < 3 && ndim == 3; i++)
    in[i] = split_heads(v, ig_cv_in(n, Q), in[i], heads[i]);
  for (size_t i = K; i <= V; i++) {
    const char *past = ig_cv_in(n, i + PAST_KEY - K);
    if (*past) in[i] = apply(v, in[Q], past, in[i], "Concat<axis=2>($1, $2)");
    give(v, n, i, in[i]);
  }
  const char *bias = all_bias(v, n, in[Q], in[K]);
  const char *qk = scores(v, n, in[Q], share_heads(v, in[Q], in[K]));
  const char *x = bias ? both(v, in[Q], qk, bias) : qk;
  const char *prob = weights(v, n, in[Q], x, bias);
  give(v, n, PRODUCT_OUT, mode == 3 ? prob : mode == 2 ? x : qk);
  const char *value = apply(v, in[Q], share_heads(v, in[Q], in[V]), NULL, "Cast<to=$0>($1)");
  const char *y = apply(v, in[Q], prob, value, "MatMul($1, $2)");
  if (ndim == 3) {
    y = apply(v, in[Q], y, NULL, "Reshape(Transpose<perm=[0, 2, 1, 3]>($1), [0, 0, -1])");
  }
  give(v, n, 0, y);
  return true;
}

// X is [b, s, heads, e] here, or [b, heads, s, e]; the caches, [b, s, r / 2], get the heads'
// dimension.
bool ig_cv_rotary_down(ig_cv *v, ig_om_node *n) {
  const char *x = ig_cv_in(n, 0);
  int ndim = ig_cv_ndim(v, x);
  int64_t heads = ig_cv_int(v, n, "num_heads", 0);
  bool mixed = ig_cv_int(v, n, "interleaved", 0) != 0;
  bool part = ig_cv_int(v, n, "rotary_embedding_dim", 0) != 0;
  if (v->refused) return true;
  if ((ndim != 3 && ndim != 4) || (ndim == 3 && heads < 1)) {
    return ig_cv_refuse(v,
                        "exists from opset 23 on; to express it by others the rank of '%s' must "
                        "be known, and the number of heads if it is 3",
                        x);
  }
  bool ids = *ig_cv_in(n, 3) != 0;
  values w = {.v = v, .at = {x}};
  if (ndim == 3) w.at[0] = ig_cv_value(v, n, "Reshape($0, [0, 0, %lld, -1])", (long long)heads);
  for (size_t i = 1; i <= 2; i++) {
    w.at[i] = ids ? ig_cv_value(v, n, "Unsqueeze(Gather<axis=0>($%zu, $3), [%d])", i, 5 - ndim)
                  : ig_cv_value(v, n, "Unsqueeze($%zu, [%d])", i, 5 - ndim);
  }
  const char *split =
      mixed ? "h = Slice(Shape($1), [3], [4]); d = Add(h, h); a = Slice($0, [0], d, [3], [2]); "
              "b = Slice($0, [1], d, [3], [2]); "
            : "h = Slice(Shape($1), [3], [4]); d = Add(h, h); a = Slice($0, [0], h, [3]); "
              "b = Slice($0, h, d, [3]); ";
  const char *turned = "re = Sub(Mul($1, a), Mul($2, b)); im = Add(Mul($2, a), Mul($1, b)); ";
  const char *joined = mixed
                           ? "y = Reshape(Concat<axis=4>(Unsqueeze(re, [4]), Unsqueeze(im, [4])), "
                             "[0, 0, 0, -1]); "
                           : "y = Concat<axis=3>(re, im); ";
  const char *rest =
      part ? "Concat<axis=3>(y, Slice($0, d, [9223372036854775807], [3]))" : "Identity(y)";
  const char *y = ig_cv_value(v, of(&w), "%s%s%s%s", split, turned, joined, rest);
  if (ndim == 3) y = apply(v, x, y, NULL, "Reshape($1, Shape($0))");
  give(v, n, 0, y);
  return true;
}
