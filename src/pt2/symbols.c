// SPDX-License-Identifier: Apache-2.0
// Symbols of a file. The file has hints of expressions, and those of a symbol only where a size is
// that symbol; expressions are interned with their hints, so symbols are created before any
// expression that uses them is parsed. Old files write s0 + 1, newer ones Add(Symbol('s0', ...),
// Integer(1)).
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/dims.h"
#include "pt2/reader.h"
#include "sym/env.h"
#include "sym/solve.h"

enum { MAX_NAME = 64 };

// An expression of the file and its hint.
typedef struct mention {
  const char *text;
  const ig_json *hint;  // a number; NULL: none
} mention;

static const ig_json *hint_of(const ig_json *expr) {
  const ig_json *hint = ig_json_find(expr, "hint");
  if (hint && hint->kind == IG_JSON_OBJECT) {
    const ig_json *found = NULL;
    for (size_t i = 0; i < hint->n; i++) {
      if (hint->members[i].value.kind != IG_JSON_NULL) found = &hint->members[i].value;
    }
    hint = found;
  }
  bool number = hint && (hint->kind == IG_JSON_INT || hint->kind == IG_JSON_FLOAT);
  return number ? hint : NULL;
}

// The name, if the text is nothing but a symbol.
static bool is_lone(const char *text, char *name) {
  const char *start = strncmp(text, "Symbol('", 8) == 0 ? text + 8 : text;
  size_t n = 0;
  while ((isalnum((unsigned char)start[n]) || start[n] == '_') && n + 1 < MAX_NAME) {
    name[n] = start[n];
    n++;
  }
  name[n] = '\0';
  if (n == 0 || isdigit((unsigned char)name[0])) return false;
  if (start == text) return start[n] == '\0';
  return start[n] == '\'' && !strchr(start + n, '(') && strchr(start + n, ')') &&
         strchr(start + n, ')')[1] == '\0';
}

// u3, zuf0: unbacked, whatever the file says about hints.
static bool is_unbacked(const char *name) {
  return (name[0] == 'u' && isdigit((unsigned char)name[1])) || strncmp(name, "zuf", 3) == 0;
}

static void count_symbol(ig_ctx *c, const char *name) {
  size_t skip = 0;
  while (name[skip] && !isdigit((unsigned char)name[skip])) skip++;
  unsigned long number = strtoul(name + skip, NULL, 10);
  if (!name[skip] || number > 1000000000) return;
  bool unbacked = is_unbacked(name);
  uint32_t *count = &c->mode->sym->counts[unbacked ? 0 : 1];
  if (*count <= number) *count = (uint32_t)number + 1;
}

static void declare(ig_ctx *c, const char *name, const char *text, const ig_json *hint) {
  if (ig_expr_find(c, name)) return;
  bool tree = strchr(text, '(') != NULL;
  bool real = name[0] == 'z' || (tree && !strstr(text, "integer=True"));
  bool positive = tree ? strstr(text, "positive=True") != NULL
                       : name[0] == 's' && isdigit((unsigned char)name[1]);
  ig_symbol_info info = {.sort = real ? IG_SORT_FLOAT : IG_SORT_INT,
                         .positive = positive && !real,
                         .backed = hint && !is_unbacked(name)};
  if (hint && hint->kind == IG_JSON_INT) {
    info.hint = hint->i;
    info.fhint = (double)hint->i;
  } else if (hint) {
    info.fhint = hint->f;
    info.hint = fabs(hint->f) < 1e15 ? (int64_t)hint->f : 0;
  }
  info.range = real ? ig_vrange_all(IG_SORT_FLOAT)
                    : ig_vrange_ints(info.positive ? 1 : IG_WIDE_MIN, IG_WIDE_MAX);
  (void)ig_expr_symbol(c, name, &info);
  count_symbol(c, name);
}

// ---- expressions of a graph

typedef void visit_fn(ig_pt2_reader *r, const mention *m);

static void visit_number(ig_pt2_reader *r, const ig_json *v, visit_fn *fn) {
  const ig_json *expr = v->kind == IG_JSON_OBJECT ? ig_json_find(v, "as_expr") : NULL;
  if (!expr || expr->kind == IG_JSON_NULL) return;
  mention m = {ig_pt2_expr_text(expr), expr->kind == IG_JSON_OBJECT ? hint_of(expr) : NULL};
  if (m.text) fn(r, &m);
}

static void visit_meta(ig_pt2_reader *r, const ig_json *meta, visit_fn *fn) {
  const ig_json *inner = ig_json_find(meta, "meta");  // schema 1
  const char *const lists[] = {"sizes", "strides"};
  for (size_t k = 0; k < 2; k++) {
    const ig_json *list = ig_json_find(inner ? inner : meta, lists[k]);
    for (size_t i = 0; list && list->kind == IG_JSON_ARRAY && i < list->n; i++) {
      visit_number(r, &list->items[i], fn);
    }
  }
}

static void visit_graph(ig_pt2_reader *r, const ig_json *graph, visit_fn *fn) {
  const char *const numbers[] = {"sym_int_values", "sym_float_values"};
  const ig_json *tensors = ig_json_find(graph, "tensor_values");
  for (size_t i = 0; tensors && tensors->kind == IG_JSON_OBJECT && i < tensors->n; i++) {
    visit_meta(r, &tensors->members[i].value, fn);
  }
  for (size_t k = 0; k < 2; k++) {
    const ig_json *list = ig_json_find(graph, numbers[k]);
    for (size_t i = 0; list && list->kind == IG_JSON_OBJECT && i < list->n; i++) {
      visit_number(r, &list->members[i].value, fn);
    }
  }
}

static void declare_lone(ig_pt2_reader *r, const mention *m) {
  char name[MAX_NAME];
  if (m->hint && is_lone(m->text, name)) declare(r->c, name, m->text, m->hint);
}

// 2*s0 + 1 is 9: s0 is 4. The expression is parsed in a separate environment.
static void declare_solved(ig_pt2_reader *r, const mention *m) {
  ig_ctx *c = r->c;
  char name[MAX_NAME];
  if (!m->hint || m->hint->kind != IG_JSON_INT || is_lone(m->text, name) || c->status != IG_OK) {
    return;
  }
  ig_map_value *seen = ig_map_put(&r->solved, m->text);
  if (!seen) (void)ig_pt2_no_memory(r);
  if (!seen || seen->num) return;
  seen->num = 1;
  ig_mode_scope mode = ig_mode_push_sym(c, ig_sym_create(c));
  const ig_expr *symbol = NULL;
  int64_t k = 0;
  int64_t rest = 0;
  const ig_expr *e = c->mode->sym ? ig_expr_parse(c, m->text) : NULL;
  bool solved = e && ig_expr_affine(e, &symbol, &k, &rest) && symbol && k != 0;
  ig_json hint = {.kind = IG_JSON_INT};
  solved = solved && !__builtin_sub_overflow(m->hint->i, rest, &hint.i) && k != -1;
  name[0] = '\0';
  if (solved) (void)snprintf(name, sizeof name, "%s", symbol->name);
  bool positive = solved && symbol->positive;
  if (c->mode->sym) ig_ref_release(&c->mode->sym->ref);
  ig_mode_pop(c, &mode);
  if (!solved) return;
  hint.i /= k;
  char text[MAX_NAME + 64];
  (void)snprintf(text, sizeof text, "Symbol('%s', %sinteger=True)", name,
                 positive ? "positive=True, " : "");
  declare(c, name, text, &hint);
}

// ---- ranges

// Bounds are integers, null, or (PyTorch 2.2 to 2.5) infinities.
static int64_t bound_of(const ig_json *range, const char *key, int64_t open) {
  const ig_json *v = ig_json_find(range, key);
  if (v && v->kind == IG_JSON_INT) {
    // What older writers had for "no bound".
    bool huge = v->i >= INT64_MAX - 1 || v->i <= INT64_MIN + 2;
    return huge ? open : v->i;
  }
  return open;
}

static void declare_ranged(ig_pt2_reader *r, const ig_json_member *m) {
  char name[MAX_NAME];
  if (!is_lone(m->key, name) || ig_expr_find(r->c, name)) return;
  int64_t lo = bound_of(&m->value, "min_val", 2);
  int64_t hi = bound_of(&m->value, "max_val", INT64_MAX);
  ig_json hint = {.kind = IG_JSON_INT, .i = lo > 2 ? lo : hi < 2 ? hi : 2};
  declare(r->c, name, name, is_unbacked(name) ? NULL : &hint);
}

static void narrow(ig_pt2_reader *r, const ig_json_member *m) {
  char name[MAX_NAME];
  const ig_expr *e = is_lone(m->key, name) ? ig_expr_find(r->c, name) : NULL;
  if (!e || e->sort != IG_SORT_INT) return;
  int64_t lo = bound_of(&m->value, "min_val", INT64_MIN);
  int64_t hi = bound_of(&m->value, "max_val", INT64_MAX);
  // Programs are captured with sizes of at least 2, whatever they admit.
  if (e->backed && lo < 2 && hi >= 2) lo = 2;
  if (lo > hi) return;
  ig_symbol_set_range(r->c, e,
                      ig_vrange_ints(lo == INT64_MIN ? IG_WIDE_MIN : (ig_wide)lo,
                                     hi == INT64_MAX ? IG_WIDE_MAX : (ig_wide)hi));
}

ig_status ig_pt2_read_symbols(ig_pt2_reader *r, const ig_json *graph, const ig_json *ranges) {
  visit_graph(r, graph, declare_lone);
  visit_graph(r, graph, declare_solved);
  bool listed = ranges && ranges->kind == IG_JSON_OBJECT;
  for (size_t i = 0; listed && i < ranges->n; i++) declare_ranged(r, &ranges->members[i]);
  for (size_t i = 0; listed && i < ranges->n; i++) narrow(r, &ranges->members[i]);
  return ig_ctx_status(r->c);
}

ig_status ig_pt2_set_ranges(ig_pt2_reader *r, const ig_json *ranges, ig_program *p) {
  bool listed = ranges && ranges->kind == IG_JSON_OBJECT;
  for (size_t i = 0; listed && i < ranges->n; i++) {
    const ig_json_member *m = &ranges->members[i];
    if (strlen(m->key) != m->key_n || m->value.kind != IG_JSON_OBJECT) {
      return ig_pt2_fail(&r->in, &m->value, IG_SYNTAX, "a range of no symbol");
    }
    ig_range_entry entry = {.expr = ig_expr_parse(r->c, m->key),
                            .lo = bound_of(&m->value, "min_val", INT64_MIN),
                            .hi = bound_of(&m->value, "max_val", INT64_MAX)};
    if (!entry.expr) {
      ig_note(r->c, "in %s: range of '%.100s'", r->in.file, m->key);
      return ig_ctx_status(r->c);
    }
    IG_RETURN_IF_ERR(ig_program_add_range(r->c, p, &entry));
  }
  return ig_ctx_status(r->c);
}
