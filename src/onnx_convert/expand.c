// SPDX-License-Identifier: Apache-2.0
// Composite operators, as texts in the operators of opset 13:
//
//   c = Sub($0, ReduceMean<axes=[-1]>($0)); Div(c, Sqrt(Add(ReduceMean<axes=[-1]>(Mul(c, c)),
//   1e-5)))
//
// Statements are separated by `;`, the last one without a name is the first output, `%1 = ...` is
// the second one, if it is used. `$0` is an input ("" if it is absent), `[1, -1]` a vector of
// int64, `0.5` a number of the element type of `$0`, `1i` one of int64, `1f` of float, `@alpha` an
// attribute as a number of the type of `$0`. Attributes of nodes are `axis=1`, `alpha=0.5`,
// `axes=[1, 2]`, `epsilon=@epsilon` (that of the node, or its default), `to=$0` (the element type
// of an input), `to=@dtype:$0` (the one or, if it is absent, the other).
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_convert/convert.h"

enum { MAX_ARGS = 8, MAX_NAMES = 64, MAX_INTS = 16, WORD = 48, DIALECT = 13 };

typedef struct parser {
  ig_cv *v;
  const ig_om_node *n;
  const char *p;
  bool inner;          // the last expression is not an output of the node
  const char *result;  // of the last expression
  size_t nnames;
  struct {
    char word[WORD];
    const char *value;
  } names[MAX_NAMES];
} parser;

static void skip(parser *x) {
  while (*x->p == ' ') x->p++;
}

static bool eat(parser *x, char ch) {
  skip(x);
  if (*x->p != ch) return false;
  x->p++;
  skip(x);
  return true;
}

static void take_word(parser *x, char *word) {
  size_t n = 0;
  skip(x);
  while ((isalnum((unsigned char)*x->p) || *x->p == '_') && n + 1 < WORD) word[n++] = *x->p++;
  word[n] = 0;
}

static size_t take_index(parser *x) {
  return (size_t)strtoul(x->p, (char **)&x->p, 10);
}

static size_t take_ints(parser *x, int64_t *at) {
  size_t n = 0;
  while (*x->p && !eat(x, ']') && n < MAX_INTS) {
    at[n++] = strtoll(x->p, (char **)&x->p, 10);
    (void)eat(x, ',');
  }
  return n;
}

// ---- attributes

static const int64_t *copy_ints(ig_cv *v, const int64_t *at, size_t n) {
  int64_t *own = ig_cv_push(v, ig_mem_mul(n, sizeof *own));
  if (own && n) memcpy(own, at, n * sizeof *own);
  return own;
}

// A default of the schema, as "0.5", "1", "none" or "0,2,3".
static ig_om_attr of_text(parser *x, int type, const char *text) {
  ig_om_attr a = {.type = (ig_om_attr_type)type, .n = 1};
  parser ints = {.v = x->v, .p = text};
  int64_t room[MAX_INTS];
  if (type == IG_OM_ATTR_INT) a.i = strtoll(text, NULL, 10);
  if (type == IG_OM_ATTR_FLOAT) a.f = strtof(text, NULL);
  if (type == IG_OM_ATTR_STRING) a.s = (ig_bytes){(const uint8_t *)text, strlen(text)};
  if (type == IG_OM_ATTR_INTS) {
    (void)eat(&ints, '[');
    a.n = take_ints(&ints, room);
    a.ints = copy_ints(x->v, room, a.n);
  }
  return a;
}

// The node's attribute or its default; false: neither.
static bool node_attr(parser *x, const char *name, ig_om_attr *out) {
  const ig_om_attr *a = ig_om_find_attr(x->n, name);
  if (a) return *out = *a, true;
  const ig_onnx_schema *s = ig_onnx_schema_find("", x->n->op_type, x->v->target);
  if (!s) s = ig_onnx_schema_first("", x->n->op_type);
  const ig_onnx_attr_schema *d = s ? ig_onnx_schema_attr(s, name) : NULL;
  if (!d || !d->value) return false;
  *out = of_text(x, d->type, ig_onnx_schema_text(d->value));
  return true;
}

static void parse_attr(parser *x, ig_om_node *to) {
  char *name = ig_cv_push(x->v, WORD);
  char word[WORD];
  if (!name) return;
  take_word(x, name);
  (void)eat(x, '=');
  ig_om_attr a = {.type = IG_OM_ATTR_INT, .n = 1};
  int64_t room[MAX_INTS];
  bool have = true;
  if (eat(x, '[')) {
    a.type = IG_OM_ATTR_INTS;
    a.n = take_ints(x, room);
    a.ints = copy_ints(x->v, room, a.n);
  } else if (eat(x, '@')) {
    take_word(x, word);
    have = node_attr(x, word, &a);
    if (eat(x, ':') && eat(x, '$')) {
      size_t i = take_index(x);
      if (!have) a.i = ig_cv_elem(x->v, ig_cv_in(x->n, i));
      have = have || a.i;
    }
  } else if (eat(x, '$')) {
    const char *like = ig_cv_in(x->n, take_index(x));
    a.i = ig_cv_elem(x->v, like);
    if (!a.i) (void)ig_cv_refuse(x->v, "the element type of '%s' is not known", like);
  } else {
    const char *start = x->p;
    double number = strtod(start, (char **)&x->p);
    if (memchr(start, '.', (size_t)(x->p - start))) a.type = IG_OM_ATTR_FLOAT;
    a.f = (float)number;
    a.i = (int64_t)number;
  }
  a.name = name;
  if (have) ig_cv_set_attr(x->v, to, &a);
}

// ---- expressions

static const char *expression(parser *x, const char *out);

static const char *call(parser *x, const char *op, const char *out) {
  const char *args[MAX_ARGS];
  ig_om_node n = {.name = "", .noutputs = 1};
  char *op_type = ig_cv_push(x->v, WORD);
  const char **outs = ig_cv_push(x->v, sizeof *outs);
  if (!op_type || !outs) return "";
  (void)snprintf(op_type, WORD, "%s", op);
  n.op_type = op_type;
  if (eat(x, '<')) {
    while (*x->p && !eat(x, '>')) {
      parse_attr(x, &n);
      (void)eat(x, ',');
    }
  }
  (void)eat(x, '(');
  while (*x->p && !eat(x, ')') && n.ninputs < MAX_ARGS) {
    args[n.ninputs++] = expression(x, NULL);
    (void)eat(x, ',');
  }
  const char **inputs = ig_cv_push(x->v, ig_mem_mul(n.ninputs, sizeof *inputs));
  if (!inputs) return "";
  if (n.ninputs) memcpy(inputs, args, n.ninputs * sizeof *inputs);
  n.inputs = inputs;
  ig_cv_cut_inputs(&n, n.ninputs);
  *outs = out ? out : ig_cv_fresh(x->v, op);
  n.outputs = outs;
  ig_cv_node(x->v, &n, DIALECT);
  return *outs;
}

static const char *number(parser *x) {
  double value = strtod(x->p, (char **)&x->p);
  int elem = *x->p == 'i' ? IG_OM_INT64 : *x->p == 'f' ? IG_OM_FLOAT : 0;
  if (elem) x->p++;
  return ig_cv_number(x->v, elem, ig_cv_in(x->n, 0), value);
}

static const char *attr_number(parser *x) {
  char word[WORD];
  take_word(x, word);
  ig_om_attr a = {0};
  if (!node_attr(x, word, &a) || a.ref) {
    (void)ig_cv_refuse(x->v, "the value of attribute '%s' is not known", word);
    return "";
  }
  return ig_cv_number(x->v, 0, ig_cv_in(x->n, 0),
                      a.type == IG_OM_ATTR_FLOAT ? (double)a.f : (double)a.i);
}

static const char *bound(const parser *x, const char *word) {
  for (size_t i = 0; i < x->nnames; i++)
    if (strcmp(x->names[i].word, word) == 0) return x->names[i].value;
  return "";
}

static const char *expression(parser *x, const char *out) {
  int64_t ints[MAX_INTS];
  char word[WORD];
  if (eat(x, '$')) {
    const char *in = ig_cv_in(x->n, take_index(x));
    if (!eat(x, '|')) return in;
    const char *otherwise = x->p;
    while (*x->p && !strchr(",)", *x->p)) x->p++;
    if (*in) return in;
    x->p = otherwise;
    return number(x);
  }
  if (eat(x, '@')) return attr_number(x);
  if (eat(x, '[')) {
    size_t n = take_ints(x, ints);
    return ig_cv_ints(x->v, ints, n);
  }
  if (isdigit((unsigned char)*x->p) || *x->p == '-') return number(x);
  take_word(x, word);
  bool is_call = *x->p == '<' || *x->p == '(';
  return is_call ? call(x, word, out) : bound(x, word);
}

// name = expression; %1 = expression; expression
static void statement(parser *x) {
  const char *start = x->p;
  char word[WORD] = "";
  const char *out = NULL;
  if (eat(x, '%')) {
    size_t i = take_index(x);
    (void)snprintf(word, sizeof word, "%s", i == 1 ? "out1" : "out2");
    if (i < x->n->noutputs && *x->n->outputs[i]) out = x->n->outputs[i];
  } else {
    take_word(x, word);
  }
  if (!word[0] || !eat(x, '=')) {
    x->p = start;
    word[0] = 0;
    out = x->inner ? NULL : x->n->outputs[0];
  }
  const char *value = expression(x, out);
  x->result = value;
  if (!word[0] || x->nnames == MAX_NAMES) return;
  memcpy(x->names[x->nnames].word, word, sizeof word);
  x->names[x->nnames++].value = value;
}

static void statements(parser *x) {
  do statement(x);
  while (eat(x, ';') && !x->v->refused && x->v->c->status == IG_OK);
}

bool ig_cv_expand(ig_cv *v, const ig_om_node *n, const char *text) {
  parser x = {.v = v, .n = n, .p = text};
  statements(&x);
  return true;
}

const char *ig_cv_value(ig_cv *v, const ig_om_node *n, const char *fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  parser x = {.v = v, .n = n, .p = text, .inner = true, .result = ""};
  statements(&x);
  return x.result;
}

// ---- the operators

#define WINDOW(cosines)                                                             \
  "x = Div(Mul(Cast<to=1>(Range(0, $0, 1)), 6.283185307179586f), Cast<to=1>(%s)); " \
  "Cast<to=@output_datatype>(" cosines ")"
#define BLACKMAN "Add(Sub(0.42f, Mul(0.5f, Cos(x))), Mul(0.08f, Cos(Add(x, x))))"
#define TRIANGLE(mask)                                                     \
  "s = Shape($0); r = Range(0i, Squeeze(Slice(s, [-2], [-1]), [0]), 1i); " \
  "c = Range(0i, Squeeze(Slice(s, [-1], [2147483647]), [0]), 1i); "        \
  "a = Unsqueeze(r, [1]); Where(" mask ", $0, 0)"

// `when` is "attribute=value"; %s in a window's text stands for the number of its steps.
static const struct {
  const char *op;
  int since;
  const char *when;
  const char *text;
} operators[] = {
    {"HardSwish", 14, NULL, "Mul($0, HardSigmoid<alpha=0.16666667, beta=0.5>($0))"},
    {"Mish", 18, NULL, "Mul($0, Tanh(Softplus($0)))"},
    {"Gelu", 20, "approximate=none", "Mul(Mul(0.5, $0), Add(1, Erf(Div($0, 1.4142135623730951))))"},
    {"Gelu", 20, "approximate=tanh",
     "Mul(Mul(0.5, $0), Add(1, Tanh(Mul(0.7978845608028654, Add($0, Mul(0.044715, Mul($0, "
     "Mul($0, $0))))))))"},
    {"Swish", 24, NULL, "Mul($0, Sigmoid(Mul(@alpha, $0)))"},
    {"SwiGLU", 28, NULL, "Mul(Mul($0, Sigmoid(Mul(@alpha, $0))), $1)"},
    {"Celu", 12, NULL, "Mul(@alpha, Elu<alpha=1.0>(Div($0, @alpha)))"},
    {"GreaterOrEqual", 12, NULL, "Or(Greater($0, $1), Equal($0, $1))"},
    {"LessOrEqual", 12, NULL, "Or(Less($0, $1), Equal($0, $1))"},
    {"MeanVarianceNormalization", 9, NULL,
     "c = Sub($0, ReduceMean<axes=@axes>($0)); Div(c, Add(Sqrt(ReduceMean<axes=@axes>(Mul(c, "
     "c))), 1e-9))"},
    {"ThresholdedRelu", 10, NULL, "Where(Greater($0, @alpha), $0, 0)"},
    {"Sign", 9, NULL, "Sub(Cast<to=$0>(Greater($0, 0)), Cast<to=$0>(Less($0, 0)))"},
    {"Sinh", 9, NULL, "Mul(0.5, Sub(Exp($0), Exp(Neg($0))))"},
    {"Cosh", 9, NULL, "Mul(0.5, Add(Exp($0), Exp(Neg($0))))"},
    {"Asinh", 9, NULL, "Mul(Sign($0), Log(Add(Abs($0), Sqrt(Add(Mul($0, $0), 1)))))"},
    {"Acosh", 9, NULL, "Log(Add($0, Sqrt(Sub(Mul($0, $0), 1))))"},
    {"Atanh", 9, NULL, "Mul(0.5, Log(Div(Add(1, $0), Sub(1, $0))))"},
    {"BitwiseNot", 18, NULL, "Sub(Sub(0, $0), 1)"},
    {"Bernoulli", 15, NULL, "Cast<to=@dtype:$0>(Less(RandomUniformLike<seed=@seed>($0), $0))"},
    {"Trilu", 14, "upper=1", TRIANGLE("GreaterOrEqual(c, Add(a, $1|0i))")},
    {"Trilu", 14, "upper=0", TRIANGLE("LessOrEqual(c, Add(a, $1|0i))")},
    {"HannWindow", 17, NULL, WINDOW("Sub(0.5f, Mul(0.5f, Cos(x)))")},
    {"HammingWindow", 17, NULL,
     WINDOW("Sub(0.5434782608695652f, Mul(0.45652173913043476f, Cos(x)))")},
    {"BlackmanWindow", 17, NULL, WINDOW(BLACKMAN)},
};

static bool holds(parser *x, const char *when) {
  if (!when) return true;
  parser w = {.p = when};
  char word[WORD];
  take_word(&w, word);
  (void)eat(&w, '=');
  ig_om_attr a = {0};
  if (!node_attr(x, word, &a)) return false;
  if (a.type == IG_OM_ATTR_INT) return a.i == strtoll(w.p, NULL, 10);
  return a.type == IG_OM_ATTR_STRING && a.s.n == strlen(w.p) && memcmp(a.s.at, w.p, a.s.n) == 0;
}

bool ig_cv_expand_operator(ig_cv *v, const ig_om_node *n, int since) {
  parser x = {.v = v, .n = n};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (operators[i].since != since || strcmp(operators[i].op, n->op_type) != 0) continue;
    if (!holds(&x, operators[i].when)) continue;
    const char *text = operators[i].text;
    const char *hole = strstr(text, "%s");
    if (!hole) return ig_cv_expand(v, n, text);
    ig_om_attr periodic = {.i = 1};
    (void)node_attr(&x, "periodic", &periodic);
    size_t room = strlen(text) + 16;
    char *whole = ig_cv_push(v, room);
    if (!whole) return true;
    (void)snprintf(whole, room, "%.*s%s%s", (int)(hole - text), text,
                   periodic.i ? "$0" : "Sub($0, 1)", hole + 2);
    return ig_cv_expand(v, n, whole);
  }
  return false;
}
