// SPDX-License-Identifier: Apache-2.0
// Activations that are written as formulas. The last step of a formula becomes a call of the
// operator; the steps before it have no use any more, unless somebody else reads them.
#include "rt/forms.h"

#include <math.h>

#include "op/call.h"
#include "op/formula.h"
#include "tensor/copy.h"

// ---- what steps are

ig_rt_step *ig_form_producer(const ig_binding *b, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(b, t);
  if (!x || x->place == IG_PLACE_INPUT || x->first == IG_RT_NEVER) return NULL;
  ig_rt_step *s = &b->steps.at[x->first];
  return s->op && !s->dead && !s->sized ? s : NULL;
}

static ig_rt_step *look_at(ig_rt_form *f, ig_rt_step *s) {
  size_t i = (size_t)(s - f->b->steps.at);
  if (i < f->first) f->first = i;
  return s;
}

ig_rt_step *ig_form_made_by(ig_rt_form *f, const ig_tensor *t, ig_role role) {
  ig_rt_step *s = ig_form_producer(f->b, t);
  if (!s || ig_role_of(s->op)->role != role) return NULL;
  return ig_rt_same_layout(f->b->plan->c, s->outs[0].tensor, t) ? look_at(f, s) : NULL;
}

ig_rt_step *ig_form_made_flat(ig_rt_form *f, const ig_tensor *t, ig_role role) {
  ig_rt_step *s = ig_form_producer(f->b, t);
  if (!s || ig_role_of(s->op)->role != role) return NULL;
  const ig_tensor *y = s->outs[0].tensor;
  ig_ctx *c = f->b->plan->c;
  bool same = y->dtype == t->dtype && ig_int_eq(c, y->offset, t->offset) && ig_rt_is_dense(c, y) &&
              ig_rt_is_dense(c, t) && ig_int_eq(c, ig_rt_numel(c, y), ig_rt_numel(c, t));
  return same ? look_at(f, s) : NULL;
}

bool ig_form_is_number(const ig_binding *b, const ig_value *v, double *out) {
  if (v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_INT) {
    *out = ig_value_f64(v);
    return true;
  }
  const ig_tensor *t = ig_value_tensor(v);
  if (!t || ig_is_fake(t) || ig_rt_find(b, t) || t->quantizer || ig_tensor_numel(t) != 1) {
    return false;
  }
  if (ig_dtype_is_complex(t->dtype)) return false;
  ig_tensor_read(t, IG_F64, out);
  return true;
}

bool ig_form_is_undisturbed(const ig_rt_form *f, const ig_rt_step *s) {
  for (const ig_rt_step *at = &f->b->steps.at[f->first]; at < s; at++) {
    if (ig_rt_is_interpreted(at)) return false;
  }
  return true;
}

static bool same_value(const ig_rt_form *f, const ig_tensor *a, const ig_tensor *b) {
  return a && b && a->storage == b->storage && ig_rt_same_layout(f->b->plan->c, a, b);
}

static bool is_near(double x, double expected) {
  return fabs(x - expected) <= 1e-6 * expected;
}

// ---- products

typedef struct product {
  double number;
  ig_tensor *at[4];  // factors of the sizes of the product
  size_t n;          // more than there is room for: it is none that is looked for
} product;

static void add_factor(product *p, ig_tensor *t) {
  if (p->n < sizeof p->at / sizeof *p->at) p->at[p->n] = t;
  p->n++;
}

static void multiply(ig_rt_form *f, ig_tensor *t, const ig_tensor *stop, int depth, product *p);

// Two factors of a product; false: one of them is broadcast.
static bool multiply_factors(ig_rt_form *f, const ig_rt_step *s, const ig_tensor *stop, int depth,
                             product *p) {
  for (int i = 0; i < 2; i++) {
    double number = 0;
    const ig_tensor *t = ig_value_tensor(&s->args[i]);
    bool known = ig_form_is_number(f->b, &s->args[i], &number);
    if (!known && (!t || !ig_rt_same_sizes(f->b->plan->c, t, s->outs[0].tensor))) return false;
  }
  for (int i = 0; i < 2; i++) {
    double number = 0;
    if (ig_form_is_number(f->b, &s->args[i], &number)) {
      p->number *= number;
    } else {
      multiply(f, s->args[i].tensor, stop, depth, p);
    }
  }
  return true;
}

// t as a product; `stop` is a factor as a whole.
static void multiply(ig_rt_form *f, ig_tensor *t, const ig_tensor *stop, int depth, product *p) {
  double number = 0;
  const ig_rt_step *s = NULL;
  ig_tensor *rest = NULL;
  if (depth > 0 && !same_value(f, t, stop)) {
    s = ig_form_made_by(f, t, IG_ROLE_TIMES);
    if (s && multiply_factors(f, s, stop, depth - 1, p)) return;
    rest = ig_form_unscaled(f, t, &number);
  }
  if (rest) {
    p->number *= number;
    multiply(f, rest, stop, depth - 1, p);
    return;
  }
  add_factor(p, t);
}

ig_tensor *ig_form_unscaled(ig_rt_form *f, const ig_tensor *t, double *number) {
  const ig_rt_step *s = ig_form_made_by(f, t, IG_ROLE_TIMES);
  bool over = !s;
  if (over) s = ig_form_made_by(f, t, IG_ROLE_OVER);
  for (int i = over ? 1 : 0; s && i < 2; i++) {
    ig_tensor *rest = ig_value_tensor(&s->args[1 - i]);
    if (!rest || !ig_form_is_number(f->b, &s->args[i], number)) continue;
    if (!ig_rt_same_sizes(f->b->plan->c, rest, t) || rest->dtype != t->dtype) continue;
    if (over) *number = 1 / *number;
    return rest;
  }
  return NULL;
}

// ---- sums

// t = other + number; NULL: it is none.
static ig_tensor *without_summand(ig_rt_form *f, const ig_tensor *t, double number) {
  const ig_rt_step *s = ig_form_made_by(f, t, IG_ROLE_ADD);
  double found = 0;
  double alpha = 0;
  if (!s || !ig_form_is_number(f->b, &s->args[2], &alpha) || !is_near(alpha, 1)) return NULL;
  for (int i = 0; i < 2; i++) {
    ig_tensor *other = ig_value_tensor(&s->args[1 - i]);
    bool fits = other && ig_rt_same_sizes(f->b->plan->c, other, t) && other->dtype == t->dtype;
    if (fits && ig_form_is_number(f->b, &s->args[i], &found) && is_near(found, number)) {
      return other;
    }
  }
  return NULL;
}

// ---- GELU: x / 2 * (1 + erf(x / sqrt(2))), x / 2 * (1 + tanh(sqrt(2 / pi) * (x + k * x^3)))

#define CUBE_FACTOR 0.044715
#define ROOT_HALF 0.70710678118654752         // sqrt(1 / 2)
#define ROOT_TWO_OVER_PI 0.79788456080286536  // sqrt(2 / pi)

// Is t = k * x^3?
static bool is_cube(ig_rt_form *f, ig_tensor *t, const ig_tensor *x) {
  product p = {.number = 1};
  multiply(f, t, x, 3, &p);
  if (!is_near(p.number, CUBE_FACTOR)) return false;
  if (p.n == 1) {
    double exponent = 0;
    const ig_rt_step *s = ig_form_made_by(f, p.at[0], IG_ROLE_POWER);
    return s && same_value(f, ig_value_tensor(&s->args[0]), x) &&
           ig_form_is_number(f->b, &s->args[1], &exponent) && is_near(exponent, 3);
  }
  return p.n == 3 && same_value(f, p.at[0], x) && same_value(f, p.at[1], x) &&
         same_value(f, p.at[2], x);
}

// The operand of the GELU whose factor 1 + f(...) is u; NULL: there is none.
static ig_tensor *gelu_operand(ig_rt_form *f, const ig_tensor *u, bool *tanh) {
  double number = 0;
  const ig_tensor *inner = without_summand(f, u, 1);
  const ig_rt_step *s = inner ? ig_form_made_by(f, inner, IG_ROLE_ERF) : NULL;
  *tanh = inner && !s;
  if (s) {
    ig_tensor *x = ig_form_unscaled(f, s->args[0].tensor, &number);
    return x && is_near(number, ROOT_HALF) ? x : NULL;
  }
  s = inner ? ig_form_made_by(f, inner, IG_ROLE_TANH) : NULL;
  const ig_tensor *sum = s ? ig_form_unscaled(f, s->args[0].tensor, &number) : NULL;
  s = sum && is_near(number, ROOT_TWO_OVER_PI) ? ig_form_made_by(f, sum, IG_ROLE_ADD) : NULL;
  for (int i = 0; s && i < 2; i++) {
    ig_tensor *x = ig_value_tensor(&s->args[i]);
    ig_tensor *cube = ig_value_tensor(&s->args[1 - i]);
    bool fits = x && cube && ig_rt_same_sizes(f->b->plan->c, x, sum) &&
                ig_rt_same_sizes(f->b->plan->c, cube, sum);
    if (fits && ig_value_is(&s->args[2], 1) && is_cube(f, cube, x)) return x;
  }
  return NULL;
}

static ig_tensor *find_gelu(ig_rt_form *f, ig_tensor *y, bool *tanh) {
  product all = {.number = 1};
  multiply(f, y, NULL, 3, &all);
  for (size_t i = 0; i < all.n && all.n <= sizeof all.at / sizeof *all.at; i++) {
    ig_tensor *x = gelu_operand(f, all.at[i], tanh);
    product p = {.number = 1};
    if (x) multiply(f, y, x, 3, &p);
    if (p.n != 2 || !is_near(p.number, 0.5)) continue;
    int k = same_value(f, p.at[0], all.at[i]) ? 1 : 0;
    if (same_value(f, p.at[1 - k], all.at[i]) && same_value(f, p.at[k], x)) return x;
  }
  return NULL;
}

// SiLU: x * sigmoid(x)
static ig_tensor *find_silu(ig_rt_form *f, const ig_rt_step *s) {
  for (int i = 0; i < 2; i++) {
    ig_tensor *x = ig_value_tensor(&s->args[i]);
    const ig_tensor *t = ig_value_tensor(&s->args[1 - i]);
    const ig_rt_step *g = x && t ? ig_form_made_by(f, t, IG_ROLE_SIGMOID) : NULL;
    if (g && same_value(f, ig_value_tensor(&g->args[0]), x)) return x;
  }
  return NULL;
}

// The step becomes a call of a unary operator on the arguments given. False after an error.
static bool set_call(ig_binding *b, ig_rt_step *s, unsigned id, const ig_value *args) {
  ig_ctx *c = b->plan->c;
  const ig_lib *lib = ig_lib_get(c);
  if (!lib) return false;
  const ig_op *op = &lib->ops[id];
  ig_value *given = ig_arena_array(&b->memory, op->schema.nargs + 1, sizeof *given);
  if (!given) return ig_no_memory(c);
  for (size_t i = 0; i < op->schema.nargs; i++) given[i] = args[i];
  *s = (ig_rt_step){.op = op, .node = s->node, .args = given, .outs = s->outs, .inexact = true};
  return true;
}

static bool find_activation(ig_binding *b, ig_rt_step *s) {
  ig_rt_form f = {b, (size_t)(s - b->steps.at)};
  bool tanh = false;
  ig_tensor *y = s->outs[0].tensor;
  if (y->dtype != IG_F32) return true;
  ig_tensor *x = find_silu(&f, s);
  unsigned id = x ? IG_ID_SILU : IG_ID_GELU;
  if (!x) x = find_gelu(&f, y, &tanh);
  if (!x || !ig_form_is_undisturbed(&f, s)) return true;
  ig_value how = {.kind = IG_KIND_STR, .str = tanh ? "tanh" : "none"};
  ig_value args[] = {ig_of_tensor(x), how};
  return set_call(b, s, id, args);
}

bool ig_rt_find_forms(ig_binding *b) {
  ig_scope scope = ig_scope_open(b->plan->c);
  const ig_rt_use *uses = ig_rt_count_uses(b);
  bool ok = uses != NULL;
  for (size_t i = 0; ok && i < b->steps.n; i++) {
    ig_rt_step *s = &b->steps.at[i];
    ig_role role = s->op && !s->dead && !s->sized ? ig_role_of(s->op)->role : IG_ROLE_NONE;
    if (role == IG_ROLE_TIMES) ok = find_activation(b, s);
    if (role == IG_ROLE_MATRICES) ok = ig_form_find_attention(b, uses, i);
  }
  ig_scope_close(b->plan->c, scope);
  if (ok) ig_rt_drop(b);
  return ok;
}
