// SPDX-License-Identifier: Apache-2.0
// Numbers that are known only when the model runs: sizes of its inputs and what is computed from
// them. An expression becomes Shape and arithmetic on vectors of one element, with the TorchScript
// conventions on tensors without dimensions, each computed once per graph; integers are int64,
// fractions double, truth values bool.
#include <math.h>
#include <string.h>

#include "base/cause.h"
#include "onnx/writer.h"

// ---- nested graphs: inner values cannot be used outside

size_t ig_onnx_scope_open(ig_onnx *x) {
  size_t outer = x->scope;
  x->scope = x->scopes.n;
  bool open = true;
  if (!ig_vec_push(x->c->alloc, &x->scopes, open)) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return outer;
}

void ig_onnx_scope_close(ig_onnx *x, size_t outer) {
  if (x->scope < x->scopes.n) x->scopes.at[x->scope] = false;
  x->scope = outer;
}

static bool is_open(const ig_onnx *x, size_t scope) {
  return scope < x->scopes.n && x->scopes.at[scope];
}

// ---- where symbols come from

typedef struct lookup {
  const ig_expr *symbol;
  int64_t value;
} lookup;

static bool look(void *user, const ig_expr *symbol, ig_hint *out) {
  const lookup *l = user;
  if (symbol != l->symbol) return false;
  *out = (ig_hint){.sort = IG_SORT_INT, .i = l->value, .den = 1};
  return true;
}

static bool value_at(const ig_expr *e, const ig_expr *symbol, int64_t at, int64_t *out) {
  ig_hint h;
  lookup l = {symbol, at};
  if (!ig_expr_eval(e, look, &l, &h) || h.sort != IG_SORT_INT) return false;
  *out = (int64_t)h.i;
  return h.i == *out;
}

// k * symbol + c, k not 0
static bool is_linear(const ig_expr *e, const ig_expr *symbol, int64_t *k, int64_t *c) {
  int64_t at[3];
  for (int64_t i = 0; i < 3; i++) {
    if (!value_at(e, symbol, i + 1, &at[i])) return false;
  }
  *k = at[1] - at[0];
  *c = at[0] - *k;
  return *k != 0 && at[2] - at[1] == *k && (e->kind == IG_EXPR_ADD || e->kind == IG_EXPR_MUL);
}

static void add_source(ig_onnx *x, const ig_expr *symbol, const ig_onnx_source *s) {
  ig_table_slot *slot = ig_table_put(&x->sources, symbol);
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  const ig_onnx_source *old = slot ? slot->value : NULL;
  // A plain symbol is preferred to an expression.
  bool better = !old || !is_open(x, old->scope) || ((old->k != 1 || old->c) && s->k == 1 && !s->c);
  if (!slot || !better) return;
  ig_onnx_source *own = ig_onnx_push(x, sizeof *own);
  if (own) *own = *s;
  if (own) own->scope = x->scope;
  slot->value = own;
}

void ig_onnx_learn(ig_onnx *x, const char *name, const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    if (!e) continue;
    ig_onnx_source s = {.tensor = name, .dim = d, .ndim = t->ndim, .k = 1};
    if (e->kind == IG_EXPR_SYMBOL) {
      add_source(x, e, &s);
      continue;
    }
    size_t n = 0;
    const ig_expr *const *symbols = ig_expr_symbols(x->c, e, &n);
    if (n == 1 && is_linear(e, symbols[0], &s.k, &s.c)) add_source(x, symbols[0], &s);
  }
}

static bool are_scalars(const ig_onnx *x) {
  return x->options->torchscript;
}

void ig_onnx_learn_scalar(ig_onnx *x, const char *name, const ig_expr *e) {
  ig_onnx_learn_number(x, are_scalars(x) ? name : ig_onnx_unsqueeze(x, name, 0, NULL), e);
}

const char *ig_onnx_as_number(ig_onnx *x, const char *in, int ndim) {
  if (are_scalars(x) && ndim == 0) return in;
  int64_t one = 1;
  return ig_onnx_emit2(x, "Reshape", in, ig_onnx_vector(x, &one, are_scalars(x) ? 0 : 1), NULL);
}

void ig_onnx_learn_number(ig_onnx *x, const char *name, const ig_expr *e) {
  ig_onnx_source s = {.tensor = name, .dim = -1, .k = 1};
  if (e && e->kind == IG_EXPR_SYMBOL) add_source(x, e, &s);
}

bool ig_onnx_has_sources(const ig_onnx *x, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *symbols = ig_expr_symbols(x->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    const ig_table_slot *slot = ig_table_find(&x->sources, symbols[i]);
    const ig_onnx_source *s = slot ? slot->value : NULL;
    if (!s || !is_open(x, s->scope)) return false;
  }
  return true;
}

// The size of one dimension. Shape takes a part of the sizes from opset 15 on.
static const char *size_of(ig_onnx *x, const ig_onnx_source *s) {
  if (s->dim < 0) return s->tensor;
  if (are_scalars(x)) {
    const char *sizes = ig_onnx_emit1(x, "Shape", s->tensor, NULL);
    return ig_onnx_gather(x, sizes, ig_onnx_integer(x, IG_I64, s->dim), 0, NULL);
  }
  if (x->opset >= 15) {
    return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Shape",
                                           .in = {s->tensor},
                                           .attrs = {ig_onnx_int("start", s->dim),
                                                     ig_onnx_int("end", s->dim + 1)}});
  }
  int64_t dim = s->dim;
  const char *index = ig_onnx_vector(x, &dim, 1);
  const char *shape = ig_onnx_emit1(x, "Shape", s->tensor, NULL);
  return ig_onnx_gather(x, shape, index, 0, NULL);
}

static const char *whole(ig_onnx *x, int64_t v) {
  return are_scalars(x) ? ig_onnx_integer(x, IG_I64, v) : ig_onnx_vector(x, &v, 1);
}

static const char *lone(ig_onnx *x, ig_dtype d, double v) {
  return are_scalars(x) ? ig_onnx_number(x, d, v) : ig_onnx_filled(x, d, 1, v);
}

static const char *symbol_name(ig_onnx *x, const ig_expr *e) {
  ig_table_slot *slot = ig_table_find(&x->sources, e);
  const ig_onnx_source *s = slot ? slot->value : NULL;
  if (!s || !is_open(x, s->scope)) {
    if (x->node) ig_onnx_refuse(x, x->node, "%s is not a size of an input", e->name);
    if (!x->node)
      (void)ig_fail(x->c, IG_UNSUPPORTED | IG_E_ONNX_CALL, "ONNX: %s is not a size of an input",
                    e->name);
    return whole(x, 0);
  }
  const char *name = size_of(x, s);
  if (s->c) name = ig_onnx_emit2(x, "Sub", name, whole(x, s->c), NULL);
  if (s->k != 1) name = ig_onnx_emit2(x, "Div", name, whole(x, s->k), NULL);
  return name;
}

// ---- expressions

ig_dtype ig_onnx_number_type(const ig_expr *e) {
  return e->sort == IG_SORT_INT ? IG_I64 : e->sort == IG_SORT_BOOL ? IG_BOOL : IG_F64;
}

static const char *as(ig_onnx *x, const ig_expr *e, ig_dtype dtype) {
  const char *name = ig_onnx_number_of(x, e);
  return ig_onnx_number_type(e) == dtype ? name : ig_onnx_cast(x, name, dtype, NULL);
}

// The common type of the arguments of an operation.
static ig_dtype meeting_type(const ig_expr *e) {
  ig_dtype d = IG_BOOL;
  for (uint32_t i = 0; i < e->n; i++) {
    ig_dtype a = ig_onnx_number_type(e->args[i]);
    if (a == IG_F64 || (a == IG_I64 && d == IG_BOOL)) d = a;
  }
  return d == IG_BOOL ? IG_I64 : d;
}

static const char *fold(ig_onnx *x, const ig_expr *e, const char *op, ig_dtype dtype) {
  const char *all = as(x, e->args[0], dtype);
  for (uint32_t i = 1; i < e->n; i++) {
    const char *next = as(x, e->args[i], dtype);
    all = ig_onnx_emit2(x, op, all, next, NULL);
  }
  return all;
}

static bool is_whole_below_0(const ig_expr *e) {
  return e->kind == IG_EXPR_CONST && e->num < 0 && e->num > INT64_MIN;
}

// A sum: what is below 0 is subtracted, as the user wrote it.
static const char *sum(ig_onnx *x, const ig_expr *e) {
  ig_dtype d = meeting_type(e);
  uint32_t first = 0;
  while (first < e->n && is_whole_below_0(e->args[first])) first++;
  if (first == e->n || d != IG_I64) return fold(x, e, "Add", d);
  const char *all = as(x, e->args[first], d);
  for (uint32_t i = 0; i < e->n; i++) {
    const ig_expr *next = e->args[i];
    if (i == first) continue;
    bool less = is_whole_below_0(next);
    const char *other = less ? whole(x, -(int64_t)next->num) : as(x, next, d);
    all = ig_onnx_emit2(x, less ? "Sub" : "Add", all, other, NULL);
  }
  return all;
}

static bool is_negative_possible(ig_onnx *x, const ig_expr *e) {
  ig_vrange r = ig_expr_range(x->c, e);
  return r.sort != IG_SORT_INT || r.lo < 0;
}

// ONNX divides integers towards zero; its Mod has the sign of the divisor, as in Python.
static const char *floor_div(ig_onnx *x, const ig_expr *e) {
  const char *a = as(x, e->args[0], IG_I64);
  const char *b = as(x, e->args[1], IG_I64);
  if (is_negative_possible(x, e->args[0]) || is_negative_possible(x, e->args[1])) {
    a = ig_onnx_emit2(x, "Sub", a, ig_onnx_emit2(x, "Mod", a, b, NULL), NULL);
  }
  return ig_onnx_emit2(x, "Div", a, b, NULL);
}

static const char *power(ig_onnx *x, const ig_expr *e) {
  ig_dtype d = e->sort == IG_SORT_INT ? IG_I64 : IG_F64;
  const char *a = as(x, e->args[0], d);
  return ig_onnx_emit2(x, "Pow", a, as(x, e->args[1], d), NULL);
}

static const char *shifted(ig_onnx *x, const ig_expr *e) {
  const char *two = whole(x, 2);
  const char *factor = ig_onnx_emit2(x, "Pow", two, as(x, e->args[1], IG_I64), NULL);
  const char *a = as(x, e->args[0], IG_I64);
  if (e->kind == IG_EXPR_LSHIFT) return ig_onnx_emit2(x, "Mul", a, factor, NULL);
  a = ig_onnx_emit2(x, "Sub", a, ig_onnx_emit2(x, "Mod", a, factor, NULL), NULL);
  return ig_onnx_emit2(x, "Div", a, factor, NULL);
}

static const char *piecewise(ig_onnx *x, const ig_expr *e) {
  ig_dtype d = ig_onnx_number_type(e);
  const char *out = as(x, e->args[e->n - 2], d);
  for (uint32_t i = e->n - 2; i >= 2; i -= 2) {
    const char *test = as(x, e->args[i - 1], IG_BOOL);
    const char *value = as(x, e->args[i - 2], d);
    out = ig_onnx_emit3(x, "Where", test, value, out, NULL);
  }
  return out;
}

static const char *relation(ig_onnx *x, const ig_expr *e) {
  static const char *const ops[] = {"Equal",       "Equal",   "Less",
                                    "LessOrEqual", "Greater", "GreaterOrEqual"};
  const char *out = fold(x, e, ops[e->kind - IG_EXPR_EQ], meeting_type(e));
  return e->kind == IG_EXPR_NE ? ig_onnx_emit1(x, "Not", out, NULL) : out;
}

// Functions of one fraction.
static const char *function(ig_onnx *x, const ig_expr *e) {
  static const struct {
    ig_expr_kind kind;
    const char *op;
  } rows[] = {{IG_EXPR_SQRT, "Sqrt"},  {IG_EXPR_COS, "Cos"},   {IG_EXPR_COSH, "Cosh"},
              {IG_EXPR_SIN, "Sin"},    {IG_EXPR_SINH, "Sinh"}, {IG_EXPR_TAN, "Tan"},
              {IG_EXPR_TANH, "Tanh"},  {IG_EXPR_ASIN, "Asin"}, {IG_EXPR_ACOS, "Acos"},
              {IG_EXPR_ATAN, "Atan"},  {IG_EXPR_EXP, "Exp"},   {IG_EXPR_LOG, "Log"},
              {IG_EXPR_LOG2, "Log"},   {IG_EXPR_CEIL, "Ceil"}, {IG_EXPR_FLOOR, "Floor"},
              {IG_EXPR_ROUND, "Round"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].kind != e->kind) continue;
    const char *out = ig_onnx_emit1(x, rows[i].op, as(x, e->args[0], IG_F64), NULL);
    if (e->sort == IG_SORT_INT) return ig_onnx_cast(x, out, IG_I64, NULL);
    if (e->kind != IG_EXPR_LOG2) return out;
    return ig_onnx_emit2(x, "Div", out, lone(x, IG_F64, log(2)), NULL);
  }
  if (x->node) ig_onnx_refuse(x, x->node, "%s of sizes", ig_expr_kind_text(e->kind));
  return lone(x, ig_onnx_number_type(e), 0);
}

static const char *constant(ig_onnx *x, const ig_expr *e) {
  if (e->kind == IG_EXPR_CONST) return whole(x, (int64_t)e->num);
  if (e->kind == IG_EXPR_BOOL) return lone(x, IG_BOOL, (double)e->value);
  double v = e->kind == IG_EXPR_RATIONAL ? (double)e->num / (double)e->den : e->f;
  return lone(x, IG_F64, v);
}

static const char *conversion(ig_onnx *x, const ig_expr *e) {
  if (e->kind == IG_EXPR_TO_FLOAT) return as(x, e->args[0], IG_F64);
  const char *whole = as(x, e->args[0], IG_I64);  // a cast truncates
  return e->kind == IG_EXPR_TRUNC ? whole : ig_onnx_cast(x, whole, IG_F64, NULL);
}

static const char *compute(ig_onnx *x, const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_CONST:
    case IG_EXPR_RATIONAL:
    case IG_EXPR_FLOAT:
    case IG_EXPR_BOOL:
      return constant(x, e);
    case IG_EXPR_SYMBOL:
      return symbol_name(x, e);
    case IG_EXPR_ADD:
      return sum(x, e);
    case IG_EXPR_MUL:
      return fold(x, e, "Mul", meeting_type(e));
    case IG_EXPR_MIN:
      return fold(x, e, "Min", meeting_type(e));
    case IG_EXPR_MAX:
      return fold(x, e, "Max", meeting_type(e));
    case IG_EXPR_ABS:
      return ig_onnx_emit1(x, "Abs", ig_onnx_number_of(x, e->args[0]), NULL);
    case IG_EXPR_POW:
    case IG_EXPR_FLOAT_POW:
    case IG_EXPR_POW_NATURAL:
      return power(x, e);
    case IG_EXPR_FLOORDIV:
      return floor_div(x, e);
    case IG_EXPR_CLEANDIV:
      return fold(x, e, "Div", IG_I64);
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
      return fold(x, e, "Mod", IG_I64);
    case IG_EXPR_INT_TRUEDIV:
    case IG_EXPR_FLOAT_TRUEDIV:
      return fold(x, e, "Div", IG_F64);
    case IG_EXPR_LSHIFT:
    case IG_EXPR_RSHIFT:
      return shifted(x, e);
    case IG_EXPR_TRUNC:
    case IG_EXPR_TRUNC_FLOAT:
    case IG_EXPR_TO_FLOAT:
      return conversion(x, e);
    case IG_EXPR_PIECEWISE:
      return piecewise(x, e);
    case IG_EXPR_EQ:
    case IG_EXPR_NE:
    case IG_EXPR_LT:
    case IG_EXPR_LE:
    case IG_EXPR_GT:
    case IG_EXPR_GE:
      return relation(x, e);
    case IG_EXPR_AND:
      return fold(x, e, "And", IG_BOOL);
    case IG_EXPR_OR:
      return fold(x, e, "Or", IG_BOOL);
    case IG_EXPR_NOT:
      return ig_onnx_emit1(x, "Not", as(x, e->args[0], IG_BOOL), NULL);
    default:
      return function(x, e);
  }
}

const char *ig_onnx_number_of(ig_onnx *x, const ig_expr *e) {
  ig_table_slot *slot = ig_table_find(&x->numbers, e);
  ig_onnx_made *made = slot ? slot->value : NULL;
  if (made && is_open(x, made->scope)) return made->name;
  if (ig_ctx_status(x->c) != IG_OK) return "";
  const char *name = compute(x, e);
  slot = ig_table_put(&x->numbers, e);  // the table may have moved
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  made = ig_onnx_push(x, sizeof *made);
  if (made) *made = (ig_onnx_made){name, x->scope};
  if (slot) slot->value = made;
  return name;
}

// The vector made of a number without dimensions, once per graph.
static const char *vector_of(ig_onnx *x, const ig_expr *e) {
  ig_table_slot *slot = ig_table_find(&x->vectors, e);
  ig_onnx_made *made = slot ? slot->value : NULL;
  if (made && is_open(x, made->scope)) return made->name;
  const char *name = ig_onnx_unsqueeze(x, ig_onnx_number_of(x, e), 0, NULL);
  slot = ig_table_put(&x->vectors, e);
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  made = ig_onnx_push(x, sizeof *made);
  if (made) *made = (ig_onnx_made){name, x->scope};
  if (slot) slot->value = made;
  return name;
}

const char *ig_onnx_size(ig_onnx *x, ig_int i) {
  if (!i.expr) return ig_onnx_vector(x, &i.value, 1);
  return are_scalars(x) ? vector_of(x, i.expr) : ig_onnx_number_of(x, i.expr);
}

const char *ig_onnx_scalar_of(ig_onnx *x, const ig_expr *e, ig_dtype dtype) {
  const char *number = as(x, e, dtype);
  return are_scalars(x) ? number : ig_onnx_squeeze(x, number, 0, NULL);
}

const char *ig_onnx_scalar_size(ig_onnx *x, ig_int i) {
  return i.expr ? ig_onnx_scalar_of(x, i.expr, IG_I64) : ig_onnx_integer(x, IG_I64, i.value);
}

// A number in a list of sizes: PyTorch's exporter has it without dimensions and unsqueezes it,
// which it evaluates later.
static void count_listed(ig_onnx *x, int64_t v) {
  ig_onnx_count_number(x, v, false);
  if (x->least >= 13) ig_onnx_count_values(x, 1);
  if (!x->options->no_folding) x->nfolded++;
}

const char *ig_onnx_shape_of(ig_onnx *x, const ig_int *at, size_t n) {
  bool known = true;
  int64_t plain[IG_MAX_DIM] = {0};
  for (size_t i = 0; i < n && i < IG_MAX_DIM; i++) {
    plain[i] = at[i].value;
    known = known && !at[i].expr;
  }
  if (known) return ig_onnx_vector(x, plain, n);
  const char *names[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) {
    if (!at[i].expr && are_scalars(x)) count_listed(x, at[i].value);
    names[i] = ig_onnx_size(x, at[i]);
  }
  if (n == 1) ig_onnx_count_values(x, 1);
  return n == 1 ? names[0] : ig_onnx_concat(x, names, n, 0, NULL);
}

const char *ig_onnx_sizes_name(ig_onnx *x, const ig_tensor *t) {
  return ig_onnx_shape_of(x, ig_sizes(t), (size_t)t->ndim);
}
