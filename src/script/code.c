// SPDX-License-Identifier: Apache-2.0
// From a graph to instructions. Blocks are laid out in order: an If jumps over its branches, a Loop
// back to its test. The results of a Loop share the registers of the values it carries.
#include "script/code.h"

#include "script/form.h"

#include <string.h>

#include "op/bind.h"
#include "script/builtin.h"
#include "script/numbers.h"

// What is known about a value, by its number.
typedef struct fact {
  const ig_snode *last;  // node of its block after which nothing uses it
  bool at_end;           // it is an output of its block
  bool placed;
  size_t uses;
  const ig_snode *user;  // one of them; NULL: none, or an output of a block
  size_t reads;          // of them, those that read its only element as an integer
  ig_soperand where;
} fact;

typedef struct maker {
  ig_ctx *c;
  ig_sunit *unit;
  ig_scode *code;
  fact *facts;
  size_t n_facts;
  IG_VEC(ig_sinsn) insns;
  IG_VEC(ig_value) constants;
  IG_VEC(uint32_t) idle;  // registers to use again
  uint32_t registers;
} maker;

static bool no_memory(maker *m) {
  (void)ig_fail(m->c, IG_NOMEM, "out of memory");
  return false;
}

static fact *fact_of(maker *m, const ig_svalue *v) {
  return &m->facts[v->number];
}

// ---- lives

static const ig_sblock *home_of(const ig_svalue *v) {
  return v->block ? v->block : v->node->owner;
}

// A use in block b, at node n or (NULL) as an output.
static void used(maker *m, const ig_svalue *v, const ig_sblock *b, const ig_snode *n) {
  const ig_sblock *home = home_of(v);
  while (b && b != home) {
    n = b->node;
    b = n ? n->owner : NULL;
  }
  fact *f = fact_of(m, v);
  if (!b) {
    (void)ig_fail(m->c, IG_INVALID, "value %zu of the graph is used outside its block", v->number);
  }
  if (n)
    f->last = n;
  else
    f->at_end = true;
}

static bool reads_integer(const ig_snode *n) {
  return n->n_in == 1 && n->n_out == 1 && strcmp(n->kind, "aten::Int") == 0;
}

static void count_uses(maker *m, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      fact_of(m, n->in[i])->uses++;
      fact_of(m, n->in[i])->user = n;
      fact_of(m, n->in[i])->reads += reads_integer(n);
    }
    for (size_t i = 0; i < n->n_blocks; i++) count_uses(m, n->blocks[i]);
  }
  for (size_t i = 0; i < b->n_out; i++) fact_of(m, b->out[i])->uses++;
}

// Traces make a tensor of every size and read it where a size is wanted. A tensor that is only read
// so is never made, and the size of a captured program stays a size.
static bool is_only_read(maker *m, const ig_snode *n) {
  if (strcmp(n->kind, "prim::NumToTensor") != 0 || n->n_in != 1 || n->n_out != 1) return false;
  const fact *f = fact_of(m, n->out[0]);
  return n->in[0]->type->kind == IG_STYPE_INT && f->uses > 0 && f->uses == f->reads;
}

// The number that such a node reads; NULL: it is none of them.
static ig_svalue *number_read(maker *m, const ig_snode *n) {
  const ig_svalue *v = reads_integer(n) ? n->in[0] : NULL;
  return v && !v->block && is_only_read(m, v->node) ? v->node->in[0] : NULL;
}

static void find_lives(maker *m, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    const ig_svalue *number = number_read(m, n);
    if (number) used(m, number, b, n);
    for (size_t i = 0; i < n->n_in; i++) used(m, n->in[i], b, n);
    for (size_t i = 0; i < n->n_blocks; i++) find_lives(m, n->blocks[i]);
  }
  for (size_t i = 0; i < b->n_out; i++) used(m, b->out[i], b, NULL);
}

static bool is_unused(const fact *f) {
  return !f->last && !f->at_end;
}

static bool ends_at(const fact *f, const ig_snode *n) {
  return f->last == n && !f->at_end;
}

// ---- registers

static uint32_t take_register(maker *m) {
  if (m->idle.n) return m->idle.at[--m->idle.n];
  return m->registers++;
}

static bool give_register(maker *m, uint32_t r) {
  return ig_vec_push(m->c->alloc, &m->idle, r) || no_memory(m);
}

static void place(maker *m, const ig_svalue *v, ig_soperand where) {
  fact *f = fact_of(m, v);
  f->placed = true;
  f->where = where;
}

static uint32_t new_register(maker *m, const ig_svalue *v) {
  uint32_t r = take_register(m);
  place(m, v, (ig_soperand)r);
  return r;
}

static bool operand(maker *m, const ig_svalue *v, ig_soperand *out) {
  const fact *f = fact_of(m, v);
  if (!f->placed) {
    (void)ig_fail(m->c, IG_INVALID, "value %zu of the graph is used before it is defined",
                  v->number);
    return false;
  }
  *out = f->where;
  return true;
}

static bool constant(maker *m, ig_value v, ig_soperand *out) {
  if (!ig_vec_push(m->c->alloc, &m->constants, v)) {
    ig_svalue_release(v);
    return no_memory(m);
  }
  *out = ~(ig_soperand)(m->constants.n - 1);
  return true;
}

// ---- instructions

static void *array(maker *m, size_t n, size_t size) {
  void *p = ig_arena_array(&m->code->arena, n, size);
  if (!p) (void)no_memory(m);
  return p;
}

static ig_sinsn *emit(maker *m, ig_sinsn_kind kind, const ig_snode *n) {
  ig_sinsn insn = {.kind = kind, .node = n, .index = UINT32_MAX};
  if (!ig_vec_push(m->c->alloc, &m->insns, insn)) {
    (void)no_memory(m);
    return NULL;
  }
  return &m->insns.at[m->insns.n - 1];
}

static uint32_t here(const maker *m) {
  return (uint32_t)m->insns.n;
}

static bool set_inputs(maker *m, ig_sinsn *insn, ig_svalue *const *in, size_t n) {
  ig_soperand *at = array(m, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    if (!operand(m, in[i], &at[i])) return false;
  }
  insn->in = at;
  insn->n_in = (uint32_t)n;
  return at != NULL;
}

static bool set_outputs(maker *m, ig_sinsn *insn, ig_svalue *const *out, size_t n) {
  uint32_t *at = array(m, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) at[i] = new_register(m, out[i]);
  insn->out = at;
  insn->n_out = (uint32_t)n;
  return at != NULL;
}

// Registers whose values end with the node: inputs of it and of its blocks, results nobody uses.
typedef struct ends {
  IG_VEC(uint32_t) at;
  bool failed;
} ends;

static void end(maker *m, ends *e, fact *f) {
  if (!f->placed || f->where < 0) return;
  f->placed = false;
  e->failed = e->failed || !ig_vec_push(m->c->alloc, &e->at, (uint32_t)f->where);
}

// Values of outer blocks end with the node that has the block, so they are found from there.
static void ends_in_block(maker *m, ends *e, const ig_sblock *b, const ig_snode *outer);
static void ends_of(maker *m, ends *e, ig_svalue *const *at, size_t n, const ig_snode *outer) {
  for (size_t i = 0; i < n; i++) {
    if (home_of(at[i]) == outer->owner && ends_at(fact_of(m, at[i]), outer)) {
      end(m, e, fact_of(m, at[i]));
    }
  }
}
static void ends_in_block(maker *m, ends *e, const ig_sblock *b, const ig_snode *outer) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    ig_svalue *number = number_read(m, n);
    if (number) ends_of(m, e, &number, 1, outer);
    ends_of(m, e, n->in, n->n_in, outer);
    for (size_t i = 0; i < n->n_blocks; i++) ends_in_block(m, e, n->blocks[i], outer);
  }
  ends_of(m, e, b->out, b->n_out, outer);
}

// Does a loop around the block write the register again when it repeats?
static bool is_carried(maker *m, const ig_sblock *b, uint32_t r) {
  for (; b && b->node; b = b->node->owner) {
    for (size_t i = 0; i < b->n_in; i++) {
      if (fact_of(m, b->in[i])->where == (ig_soperand)r) return true;
    }
  }
  return false;
}

// Attaches the ends of a node to the instruction (index: emit may move them).
static bool set_frees(maker *m, size_t index, const ig_snode *n) {
  ends e = {.failed = false};
  ig_svalue *number = number_read(m, n);
  if (number) ends_of(m, &e, &number, 1, n);
  ends_of(m, &e, n->in, n->n_in, n);
  for (size_t i = 0; i < n->n_blocks; i++) ends_in_block(m, &e, n->blocks[i], n);
  for (size_t i = 0; i < n->n_out; i++) {
    if (is_unused(fact_of(m, n->out[i]))) end(m, &e, fact_of(m, n->out[i]));
  }
  bool ok = !e.failed;
  if (!ok) (void)no_memory(m);
  uint32_t *at = ok && e.at.n ? array(m, e.at.n, sizeof *at) : NULL;
  ok = ok && (at || !e.at.n);
  for (size_t i = 0; ok && i < e.at.n; i++) {
    at[i] = e.at.at[i];
    if (!is_carried(m, n->owner, at[i])) ok = give_register(m, at[i]);
  }
  m->insns.at[index].frees = at;
  m->insns.at[index].n_free = ok ? (uint32_t)e.at.n : 0;
  ig_vec_free(m->c->alloc, &e.at);
  return ok;
}

// ---- operators

static ig_sarg how_of(const ig_arg *a) {
  bool ints = a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT;
  if (a->list) {
    return ints ? IG_SARG_INTS : a->type == IG_TYPE_STR ? IG_SARG_TEXTS : IG_SARG_LIST;
  }
  switch (a->type) {
    case IG_TYPE_FLOAT:
      return IG_SARG_FLOAT;
    case IG_TYPE_STR:
      return IG_SARG_STR;
    case IG_TYPE_DTYPE:
      return IG_SARG_DTYPE;
    case IG_TYPE_LAYOUT:
      return IG_SARG_LAYOUT;
    case IG_TYPE_MEMORY_FORMAT:
      return IG_SARG_FORMAT;
    case IG_TYPE_DEVICE:
      return IG_SARG_DEVICE;
    default:
      return IG_SARG_PASS;
  }
}

// A constant in the form that the operator takes, so that nothing is left to do when it runs.
static bool convert_constant(maker *m, uint8_t *how, ig_soperand *at) {
  ig_value v = m->constants.at[~*at];
  if (v.kind == IG_KIND_NONE) {
    *how = IG_SARG_PASS;
    return true;
  }
  ig_value made;
  bool number = v.kind == IG_KIND_INT;
  if (*how == IG_SARG_INTS && v.kind == IG_KIND_INTS) *how = IG_SARG_PASS;
  if (*how == IG_SARG_FLOAT && number) {
    made = ig_of_f64((double)v.i.value);
  } else if (*how == IG_SARG_DTYPE && number && ig_script_dtype(v.i.value) != IG_DTYPE_COUNT) {
    made = ig_of_dtype(ig_script_dtype(v.i.value));
  } else if (*how == IG_SARG_LAYOUT && number) {
    made = (ig_value){.kind = IG_KIND_LAYOUT, .layout = ig_script_layout(v.i.value)};
  } else if (*how == IG_SARG_FORMAT && number) {
    made = ig_of_memory_format(ig_script_memory_format(v.i.value));
  } else {
    return true;
  }
  *how = IG_SARG_PASS;
  return constant(m, made, at);
}

static bool fits_number(const ig_op *op, const ig_op *scalar) {
  const ig_schema *a = &op->schema;
  const ig_schema *b = &scalar->schema;
  bool fits = op->form == scalar->form && a->nargs == b->nargs && ig_op_takes_number(op, 1);
  for (size_t i = 2; fits && i < a->nargs; i++) {
    fits = a->args[i].type == b->args[i].type && a->args[i].list == b->args[i].list;
  }
  return fits;
}

// x + 1: the overload for tensors takes plain numbers, too, and has the kernel.
static const ig_op *overload_with_kernel(maker *m, const ig_op *op) {
  if (!ig_op_is_hidden(op)) return op;
  const ig_op *o = ig_lib_overloads(m->c, op->schema.ns, op->schema.name);
  while (o && (o == op || !fits_number(o, op))) o = o->next;
  return o ? o : op;
}

// Is a list made for one operator only, which takes it as integers?
static bool is_only_argument(maker *m, const ig_svalue *list) {
  const fact *f = fact_of(m, list);
  const ig_soperator *o = f->uses == 1 && f->user ? ig_soperator_of_node(m->unit, f->user) : NULL;
  if (!o || !o->op) return false;
  const ig_op *op = overload_with_kernel(m, o->op);
  for (size_t i = 0; i < f->user->n_in && i < op->schema.nargs; i++) {
    if (f->user->in[i] == list) return how_of(&op->schema.args[i]) == IG_SARG_INTS;
  }
  return false;
}

// Such a list of constants is a constant itself. False without an error: it is not one.
static bool emit_constant_ints(maker *m, const ig_snode *n) {
  bool known = ig_sform_of(n) == IG_SFORM_LIST_CONSTRUCT && n->n_out == 1;
  for (size_t i = 0; known && i < n->n_in; i++) {
    const fact *f = fact_of(m, n->in[i]);
    known = f->placed && f->where < 0 && m->constants.at[~f->where].kind == IG_KIND_INT;
  }
  if (!known || !is_only_argument(m, n->out[0])) return false;
  ig_int *ints = array(m, n->n_in, sizeof *ints);
  ig_soperand at = 0;
  for (size_t i = 0; ints && i < n->n_in; i++) {
    ints[i] = m->constants.at[~fact_of(m, n->in[i])->where].i;
  }
  if (!ints || !constant(m, ig_of_ints(ints, n->n_in), &at)) return false;
  place(m, n->out[0], at);
  return true;
}

static bool emit_op(maker *m, const ig_snode *n, const ig_op *op) {
  op = overload_with_kernel(m, op);
  size_t nargs = op->schema.nargs;
  ig_sinsn *insn = emit(m, IG_SINSN_OP, n);
  ig_soperand *in = insn ? array(m, nargs, sizeof *in) : NULL;
  uint8_t *how = in ? array(m, nargs, sizeof *how) : NULL;
  size_t index = m->insns.n - 1;
  if (!how) return false;
  for (size_t i = 0; i < nargs; i++) {
    how[i] = IG_SARG_PASS;
    if (i >= n->n_in) {
      if (!constant(m, op->schema.args[i].def, &in[i])) return false;
      continue;
    }
    if (!operand(m, n->in[i], &in[i])) return false;
    how[i] = (uint8_t)how_of(&op->schema.args[i]);
    if (in[i] < 0 && !convert_constant(m, &how[i], &in[i])) return false;
  }
  insn = &m->insns.at[index];
  insn->op = op;
  insn->in = in;
  insn->n_in = (uint32_t)nargs;
  insn->how = how;
  return set_outputs(m, insn, n->out, n->n_out) && set_frees(m, index, n);
}

// Kinds that give one value. What calls give is as the function says.
static bool gives_one(ig_sinsn_kind kind) {
  switch (kind) {
    case IG_SINSN_LIST:
    case IG_SINSN_TUPLE:
    case IG_SINSN_DICT:
    case IG_SINSN_TUPLE_SLICE:
    case IG_SINSN_GET:
    case IG_SINSN_CREATE:
    case IG_SINSN_FORK:
    case IG_SINSN_ISINSTANCE:
      return true;
    default:
      return false;
  }
}

static bool emit_plain(maker *m, ig_sinsn_kind kind, const ig_snode *n) {
  if (gives_one(kind) && n->n_out != 1) {
    return ig_fail(m->c, IG_INVALID, "%s has %zu results, expected 1", n->kind, n->n_out) == IG_OK;
  }
  ig_sinsn *insn = emit(m, kind, n);
  size_t index = m->insns.n - 1;
  return insn && set_inputs(m, insn, n->in, n->n_in) && set_outputs(m, insn, n->out, n->n_out) &&
         set_frees(m, index, n);
}

#define KIND(k) (UINT64_C(1) << (k))
#define OBJECT(k) (UINT64_C(1) << (IG_KIND_COUNT + (k)))

// The kinds of values that a declared type may have, see ig_sinsn.
static uint64_t kinds_of(const ig_stype *t) {
  static const uint64_t kinds[IG_STYPE_COUNT] = {
      [IG_STYPE_TENSOR] = KIND(IG_KIND_TENSOR),
      [IG_STYPE_INT] = KIND(IG_KIND_INT),
      [IG_STYPE_FLOAT] = KIND(IG_KIND_FLOAT) | KIND(IG_KIND_INT),
      [IG_STYPE_COMPLEX] = KIND(IG_KIND_COMPLEX),
      [IG_STYPE_BOOL] = KIND(IG_KIND_BOOL),
      [IG_STYPE_NUMBER] =
          KIND(IG_KIND_INT) | KIND(IG_KIND_FLOAT) | KIND(IG_KIND_COMPLEX) | KIND(IG_KIND_BOOL),
      [IG_STYPE_NONE] = KIND(IG_KIND_NONE),
      [IG_STYPE_DEVICE] = KIND(IG_KIND_DEVICE),
      [IG_STYPE_GENERATOR] = KIND(IG_KIND_GENERATOR) | KIND(IG_KIND_NONE),
      [IG_STYPE_STR] = OBJECT(IG_SOBJ_STR),
      [IG_STYPE_LIST] = OBJECT(IG_SOBJ_LIST),
      [IG_STYPE_DICT] = OBJECT(IG_SOBJ_DICT),
      [IG_STYPE_TUPLE] = OBJECT(IG_SOBJ_TUPLE),
      [IG_STYPE_ENUM] = OBJECT(IG_SOBJ_ENUM),
      [IG_STYPE_ANY_ENUM] = OBJECT(IG_SOBJ_ENUM),
  };
  if (t->kind == IG_STYPE_OPTIONAL) {
    uint64_t of = kinds_of(t->at[0]);
    return of == UINT64_MAX ? of : of | KIND(IG_KIND_NONE);
  }
  return kinds[t->kind] ? kinds[t->kind] : UINT64_MAX;
}

static bool set_kinds(maker *m, ig_sinsn *insn, const ig_snode *n, const ig_sschema *s) {
  uint64_t *kinds = array(m, n->n_in, sizeof *kinds);
  for (size_t i = 0; kinds && i < n->n_in; i++) {
    kinds[i] = i < s->n_params ? kinds_of(s->params[i].type) : UINT64_MAX;
  }
  insn->kinds = kinds;
  return kinds != NULL;
}

static ig_snumber number_of(const ig_sbuiltin *row) {
  static const struct {
    ig_sbuiltin_fn *run;
    ig_snumber number;
  } rows[] = {
      {ig_sb_add, IG_SNUMBER_ADD},
      {ig_sb_sub, IG_SNUMBER_SUB},
      {ig_sb_mul, IG_SNUMBER_MUL},
      {ig_sb_div, IG_SNUMBER_DIV},
      {ig_sb_floordiv, IG_SNUMBER_FLOORDIV},
      {ig_sb_remainder, IG_SNUMBER_REMAINDER},
      {ig_sb_lt, IG_SNUMBER_LT},
      {ig_sb_le, IG_SNUMBER_LE},
      {ig_sb_gt, IG_SNUMBER_GT},
      {ig_sb_ge, IG_SNUMBER_GE},
      {ig_sb_eq, IG_SNUMBER_EQ},
      {ig_sb_ne, IG_SNUMBER_NE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].run == row->run) return rows[i].number;
  }
  return IG_SNUMBER_NONE;
}

static bool emit_builtin(maker *m, const ig_snode *n, const ig_soperator *o) {
  ig_sinsn *insn = emit(m, IG_SINSN_BUILTIN, n);
  if (!insn || !set_kinds(m, insn, n, o->schema)) return false;
  insn->run = o->builtin->run;
  insn->number = n->n_in == 2 && n->n_out == 1 ? number_of(o->builtin) : IG_SNUMBER_NONE;
  if (insn->number) insn->kind = IG_SINSN_NUMBER;
  size_t index = m->insns.n - 1;
  return insn && set_inputs(m, insn, n->in, n->n_in) && set_outputs(m, insn, n->out, n->n_out) &&
         set_frees(m, index, n);
}

static void print_types(ig_str *s, const ig_snode *n) {
  for (size_t i = 0; i < n->n_in; i++) {
    ig_str_add(s, "%s%s", i ? ", " : "", n->in[i]->type->text);
  }
}

// An operator of a later release, in a branch that may never run.
static bool emit_missing(maker *m, const ig_snode *n) {
  ig_str text = ig_str_make(m->c->alloc);
  ig_str_add(&text, "%s(", n->kind);
  print_types(&text, n);
  ig_str_add(&text, ")");
  ig_sinsn *insn = emit(m, IG_SINSN_MISSING, n);
  size_t index = m->insns.n - 1;
  if (insn) insn->name = text.at ? ig_arena_strn(&m->code->arena, text.at, text.n) : NULL;
  ig_str_free(&text);
  if (insn && !insn->name) return ig_fail(m->c, IG_NOMEM, "out of memory") == IG_OK;
  return insn && set_inputs(m, insn, n->in, n->n_in) && set_outputs(m, insn, n->out, n->n_out) &&
         set_frees(m, index, n);
}

static bool emit_operator(maker *m, const ig_snode *n) {
  const ig_soperator *o = ig_soperator_of_node(m->unit, n);
  if (o && o->op) return emit_op(m, n, o->op);
  if (o) return emit_builtin(m, n, o);
  if (m->c->status != IG_OK) return false;
  return emit_missing(m, n);
}

// ---- blocks

static bool emit_block(maker *m, const ig_sblock *b);

// A single number that the last instruction of the block made goes to its register at once.
static bool redirect(maker *m, const ig_sblock *b, const uint32_t *to) {
  if (b->n_out != 1 || !b->last || b->out[0]->block || b->out[0]->node != b->last) return false;
  if (!m->insns.n || !to) return false;
  ig_sinsn *last = &m->insns.at[m->insns.n - 1];
  if (last->kind != IG_SINSN_NUMBER || last->node != b->last) return false;
  last->out = to;
  return true;
}

// Outputs of a block to registers, all at once. What was made in the block ends there.
static bool emit_moves(maker *m, ig_sinsn_kind kind, const ig_sblock *b, size_t from,
                       const uint32_t *to) {
  size_t n = b->n_out - from;
  if (redirect(m, b, to)) return true;
  ig_sinsn *insn = emit(m, kind, b->node);
  if (!insn || !set_inputs(m, insn, n ? b->out + from : NULL, n)) return false;
  uint8_t *how = array(m, n, sizeof *how);
  if (!how) return false;
  for (size_t i = n; i-- > 0;) {
    const ig_svalue *v = b->out[from + i];
    bool again = false;
    for (size_t k = i + 1; k < n; k++) again = again || b->out[from + k] == v;
    bool counter = b->node && b->n_in && v == b->in[0];
    how[i] = home_of(v) == b && !again && !counter && insn->in[i] >= 0;
  }
  // Of a value that is given several times, the last one takes it: sources are read first.
  insn->how = how;
  insn->out = to;
  insn->n_out = kind == IG_SINSN_RETURN ? 0 : (uint32_t)n;
  return true;
}

// The registers of a block's own values are free when it ends.
static bool close_block(maker *m, const ig_sblock *b) {
  for (size_t i = 0; i < b->n_out; i++) {
    fact *f = fact_of(m, b->out[i]);
    bool own = home_of(b->out[i]) == b && f->placed && f->where >= 0;
    if (!own || (b->out[i]->block && b->node)) continue;
    f->placed = false;
    if (!give_register(m, (uint32_t)f->where)) return false;
  }
  return true;
}

static uint32_t *output_registers(maker *m, const ig_snode *n) {
  uint32_t *at = array(m, n->n_out, sizeof *at);
  for (size_t i = 0; at && i < n->n_out; i++) at[i] = take_register(m);
  return at;
}

static bool emit_frees(maker *m, const ig_snode *n) {
  ig_sinsn *insn = emit(m, IG_SINSN_FREE, n);
  if (!insn || !set_frees(m, m->insns.n - 1, n)) return false;
  if (m->insns.at[m->insns.n - 1].n_free == 0) m->insns.n--;
  return true;
}

static bool emit_if(maker *m, const ig_snode *n) {
  bool fits = n->n_in == 1 && n->n_blocks == 2;
  for (size_t i = 0; fits && i < 2; i++) {
    fits = n->blocks[i]->n_in == 0 && n->blocks[i]->n_out == n->n_out;
  }
  if (!fits) return ig_fail(m->c, IG_INVALID, "prim::If: blocks that do not fit") == IG_OK;
  uint32_t *to = output_registers(m, n);
  ig_sinsn *test = to ? emit(m, IG_SINSN_UNLESS, n) : NULL;
  if (!test || !set_inputs(m, test, n->in, 1)) return false;
  size_t test_at = m->insns.n - 1;
  if (!emit_block(m, n->blocks[0]) || !emit_moves(m, IG_SINSN_MOVES, n->blocks[0], 0, to) ||
      !close_block(m, n->blocks[0]) || !emit(m, IG_SINSN_JUMP, n)) {
    return false;
  }
  size_t jump_at = m->insns.n - 1;
  m->insns.at[test_at].target = here(m);
  if (!emit_block(m, n->blocks[1]) || !emit_moves(m, IG_SINSN_MOVES, n->blocks[1], 0, to) ||
      !close_block(m, n->blocks[1])) {
    return false;
  }
  m->insns.at[jump_at].target = here(m);
  m->insns.at[test_at].out = to;
  m->insns.at[test_at].n_out = (uint32_t)n->n_out;
  m->insns.at[test_at].index = here(m);
  for (size_t i = 0; i < n->n_out; i++) place(m, n->out[i], (ig_soperand)to[i]);
  return emit_frees(m, n);
}

static bool loop_fits(const ig_snode *n) {
  const ig_sblock *b = n->n_blocks == 1 ? n->blocks[0] : NULL;
  return b && n->n_in >= 2 && n->n_out == n->n_in - 2 && b->n_in == n->n_in - 1 &&
         b->n_out == n->n_in - 1;
}

// Registers: those carried, the counter, the condition.
static bool emit_loop(maker *m, const ig_snode *n) {
  if (!loop_fits(n))
    return ig_fail(m->c, IG_INVALID, "prim::Loop: a block that does not fit") == IG_OK;
  const ig_sblock *b = n->blocks[0];
  size_t carried = n->n_out;
  uint32_t *to = array(m, carried + 1, sizeof *to);  // the condition, then what is carried
  if (!to) return false;
  for (size_t i = 0; i <= carried; i++) to[i] = take_register(m);
  uint32_t counter = take_register(m);
  ig_sinsn *start = emit(m, IG_SINSN_MOVES, n);
  if (!start || !set_inputs(m, start, n->in + 1, carried + 1)) return false;
  uint8_t *keep = array(m, carried + 1, sizeof *keep);
  if (!keep) return false;
  start->how = keep;
  start->out = to;
  start->n_out = (uint32_t)carried + 1;
  uint32_t *count = array(m, 1, sizeof *count);
  ig_sinsn *begin = count ? emit(m, IG_SINSN_BEGIN, n) : NULL;
  if (!begin) return false;
  *count = counter;
  begin->out = count;
  begin->n_out = 1;
  size_t test_at = m->insns.n;
  ig_soperand *asked = array(m, 3, sizeof *asked);
  if (!asked || !operand(m, n->in[0], &asked[1])) return false;
  asked[0] = (ig_soperand)counter;
  asked[2] = (ig_soperand)to[0];
  ig_sinsn *test = emit(m, IG_SINSN_TEST, n);
  if (!test) return false;
  test->in = asked;
  test->n_in = 3;
  place(m, b->in[0], (ig_soperand)counter);
  fact_of(m, b->in[0])->at_end = true;  // the loop itself uses it last
  for (size_t i = 0; i < carried; i++) place(m, b->in[i + 1], (ig_soperand)to[i + 1]);
  if (!emit_block(m, b)) return false;
  // An input that ended in the body was freed there; as an output it must be where it is.
  if (!emit_moves(m, IG_SINSN_MOVES, b, 0, to) || !close_block(m, b)) return false;
  ig_sinsn *next = emit(m, IG_SINSN_NEXT, n);
  if (!next) return false;
  next->out = count;
  next->n_out = 1;
  next->target = (uint32_t)test_at;
  m->insns.at[test_at].target = here(m);
  m->insns.at[test_at].out = to;
  m->insns.at[test_at].n_out = (uint32_t)carried + 1;
  m->insns.at[test_at].index = here(m) - 1;
  for (size_t i = 0; i < carried; i++) place(m, n->out[i], (ig_soperand)to[i + 1]);
  return give_register(m, counter) && give_register(m, to[0]) && emit_frees(m, n);
}

// ---- other nodes

static const char *text_attr(const ig_snode *n, const char *name) {
  const ig_sattr *a = ig_snode_attr(n, name);
  return a && a->value.kind == IG_KIND_STR ? a->value.str : NULL;
}

static bool emit_attribute(maker *m, ig_sinsn_kind kind, const ig_snode *n) {
  const char *name = text_attr(n, "name");
  if (!name) return ig_fail(m->c, IG_INVALID, "%s without a name", n->kind) == IG_OK;
  const ig_sclass *cls = n->n_in ? ig_sclass_of(n->in[0]->type) : NULL;
  if (!emit_plain(m, kind, n)) return false;
  ig_sinsn *insn = &m->insns.at[m->insns.n - 1];
  size_t at = cls ? ig_sclass_attribute(cls, name) : SIZE_MAX;
  insn->name = name;
  insn->index = at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
  return true;
}

static bool emit_method(maker *m, const ig_snode *n) {
  const char *name = text_attr(n, "name");
  if (!name || !n->n_in) return ig_fail(m->c, IG_INVALID, "%s without a name", n->kind) == IG_OK;
  const ig_sclass *cls = ig_sclass_of(n->in[0]->type);
  ig_sfunction *f = cls ? ig_sclass_method(cls, name) : NULL;
  if (!emit_plain(m, f ? IG_SINSN_CALL : IG_SINSN_CALL_NAMED, n)) return false;
  m->insns.at[m->insns.n - 1].function = f;
  m->insns.at[m->insns.n - 1].name = name;
  return true;
}

static bool emit_host(maker *m, const ig_snode *n) {
  if (!emit_plain(m, IG_SINSN_CALL, n)) return false;
  m->insns.at[m->insns.n - 1].function = n->host;
  return true;
}

static bool emit_fork(maker *m, const ig_snode *n) {
  const ig_sattr *a = ig_snode_attr(n, "Subgraph");
  if (!a || a->kind != IG_SATTR_GRAPH) {
    return ig_fail(m->c, IG_INVALID, "%s without a graph", n->kind) == IG_OK;
  }
  ig_scode *body = ig_scode_make(m->c, m->unit, a->graph, m->code->name);
  if (!body) return false;
  body->next = m->code->inner;
  m->code->inner = body;
  if (!emit_plain(m, IG_SINSN_FORK, n)) return false;
  m->insns.at[m->insns.n - 1].body = body;
  return true;
}

static bool emit_constant(maker *m, const ig_snode *n) {
  ig_value v = ig_none();
  ig_soperand at = 0;
  if (n->n_out != 1) return ig_fail(m->c, IG_INVALID, "%s without a result", n->kind) == IG_OK;
  bool constant_node = ig_sform_of(n) == IG_SFORM_CONSTANT;
  if (constant_node && !ig_scode_constant(m->c, m->unit, n, &v)) return false;
  if (!constant(m, v, &at)) return false;
  place(m, n->out[0], at);
  return true;
}

typedef enum shape { PLAIN, ATTRIBUTE, METHOD, CONSTANT, IF, LOOP } shape;

// Nodes that are no operators.
static const struct {
  const char *kind;
  ig_sinsn_kind insn;
  shape shape;
} nodes[] = {
    {"prim::CallFunction", IG_SINSN_CALL_VALUE, PLAIN},
    {"prim::CallMethod", IG_SINSN_CALL_NAMED, METHOD},
    {"prim::Constant", IG_SINSN_FREE, CONSTANT},
    {"prim::CreateObject", IG_SINSN_CREATE, PLAIN},
    {"prim::DictConstruct", IG_SINSN_DICT, PLAIN},
    {"prim::Enter", IG_SINSN_ENTER, PLAIN},
    {"prim::Exit", IG_SINSN_EXIT, PLAIN},
    {"prim::GetAttr", IG_SINSN_GET, ATTRIBUTE},
    {"prim::If", IG_SINSN_UNLESS, IF},
    {"prim::ListConstruct", IG_SINSN_LIST, PLAIN},
    {"prim::ListUnpack", IG_SINSN_UNPACK, PLAIN},
    {"prim::Loop", IG_SINSN_TEST, LOOP},
    {"prim::SetAttr", IG_SINSN_SET, ATTRIBUTE},
    {"prim::TupleConstruct", IG_SINSN_TUPLE, PLAIN},
    {"prim::TupleSlice", IG_SINSN_TUPLE_SLICE, PLAIN},
    {"prim::TupleUnpack", IG_SINSN_UNPACK, PLAIN},
    {"prim::Uninitialized", IG_SINSN_FREE, CONSTANT},
    {"prim::isinstance", IG_SINSN_ISINSTANCE, PLAIN},
};

static bool emit_read(maker *m, const ig_snode *n, ig_svalue *number) {
  ig_sinsn *insn = emit(m, IG_SINSN_MOVES, n);
  uint8_t *how = insn ? array(m, 1, sizeof *how) : NULL;
  if (!how || !set_inputs(m, insn, &number, 1) || !set_outputs(m, insn, n->out, 1)) return false;
  insn->how = how;
  return set_frees(m, m->insns.n - 1, n);
}

static bool emit_node(maker *m, const ig_snode *n) {
  ig_svalue *number = number_read(m, n);
  if (number) return emit_read(m, n, number);
  if (is_only_read(m, n) || emit_constant_ints(m, n)) return true;
  if (m->c->status != IG_OK) return false;
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
    if (strcmp(nodes[i].kind, n->kind) != 0) continue;
    switch (nodes[i].shape) {
      case PLAIN:
        return emit_plain(m, nodes[i].insn, n);
      case ATTRIBUTE:
        return emit_attribute(m, nodes[i].insn, n);
      case METHOD:
        return emit_method(m, n);
      case CONSTANT:
        return emit_constant(m, n);
      case IF:
        return emit_if(m, n);
      case LOOP:
        return emit_loop(m, n);
    }
  }
  if (n->host) return emit_host(m, n);
  if (ig_snode_attr(n, "Subgraph")) return emit_fork(m, n);
  return emit_operator(m, n);
}

static bool emit_block(maker *m, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (!emit_node(m, n)) return false;
  }
  return true;
}

// ---- entry points

static bool make(maker *m, const ig_sgraph *g) {
  const ig_sblock *b = g->body;
  m->facts = ig_mem_array(m->c->alloc, m->n_facts, sizeof *m->facts);
  if (!m->facts) return no_memory(m);
  count_uses(m, b);
  find_lives(m, b);
  if (m->c->status != IG_OK) return false;
  m->code->n_args = b->n_in;
  m->code->n_results = b->n_out;
  for (size_t i = 0; i < b->n_in; i++) (void)new_register(m, b->in[i]);
  return emit_block(m, b) && emit_moves(m, IG_SINSN_RETURN, b, 0, NULL);
}

ig_scode *ig_scode_make(ig_ctx *c, ig_sunit *u, const ig_sgraph *g, const char *name) {
  ig_scode *code = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *code) : NULL;
  if (!code) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  code->c = c;
  code->unit = u;
  code->graph = g;
  code->arena = ig_arena_make(c->alloc);
  maker m = {.c = c, .unit = u, .code = code, .n_facts = g->next_number};
  bool ok = make(&m, g);
  code->name = name ? ig_arena_strn(&code->arena, name, strlen(name)) : "";
  ig_sinsn *at = ok ? ig_arena_array(&code->arena, m.insns.n, sizeof *at) : NULL;
  ig_value *constants = at ? ig_arena_array(&code->arena, m.constants.n, sizeof *constants) : NULL;
  if (ok && (!constants || !code->name)) ok = no_memory(&m);
  for (size_t i = 0; ok && i < m.insns.n; i++) at[i] = m.insns.at[i];
  for (size_t i = 0; i < m.constants.n; i++) {
    if (ok)
      constants[i] = m.constants.at[i];
    else
      ig_svalue_release(m.constants.at[i]);
  }
  code->at = at;
  code->n = m.insns.n;
  code->constants = constants;
  code->n_constants = ok ? m.constants.n : 0;
  code->n_registers = m.registers;
  ig_mem_array_free(c->alloc, m.facts, m.n_facts, sizeof *m.facts);
  ig_vec_free(c->alloc, &m.insns);
  ig_vec_free(c->alloc, &m.constants);
  ig_vec_free(c->alloc, &m.idle);
  if (ok) return code;
  ig_scode_free(code);
  return NULL;
}

void ig_scode_free(ig_scode *code) {
  if (!code) return;
  for (size_t i = 0; i < code->n_constants; i++) ig_svalue_release(code->constants[i]);
  while (code->inner) {
    ig_scode *body = code->inner;
    code->inner = body->next;
    ig_scode_free(body);
  }
  ig_alloc alloc = code->arena.alloc;
  ig_arena_free(&code->arena);
  ig_mem_free(alloc, code, sizeof *code);
}
