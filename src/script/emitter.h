// SPDX-License-Identifier: Apache-2.0
// What the parts of the compiler share while one function is compiled.
//
// Statements are emitted in order with variables as prim::Store and prim::Load, loops with a block
// for their condition, and exits as statements; ig_sgraph_to_ssa makes values of all that. Every
// function fails by setting the context's error, and then gives NULL or false; all of them take
// NULL for "there was an error".
#ifndef SCRIPT_EMITTER_H_
#define SCRIPT_EMITTER_H_

#include "script/compile.h"
#include "script/operator.h"

// Variables of one block.
typedef struct ig_sframe ig_sframe;
struct ig_sframe {
  ig_sframe *parent;
  ig_sblock *block;
  ig_map types;   // name -> slot of an ig_stype, of variables that are values
  ig_map sugars;  // name -> ig_sugar, of the others
  ig_map errors;  // name -> text: why a name that branches defined cannot be used
};

typedef enum ig_sloop { IG_SLOOP_NONE, IG_SLOOP_LOOP, IG_SLOOP_UNROLLED } ig_sloop;

typedef struct ig_emitter {
  ig_ctx *c;
  ig_sunit *u;
  ig_sfunction *f;
  ig_sgraph *g;
  const ig_sfront *front;
  ig_arena arena;  // of the compilation
  ig_sframe *frame;
  ig_sblock *at;   // nodes are added at its end
  ig_map numbers;  // written in the script -> their constants
  ig_sloop loop;
  const ig_stype *declared;         // result as annotated; NULL: not
  const ig_stype *merged;           // result of the returns so far; NULL: none yet
  IG_VEC(const ig_sblock *) exits;  // blocks that end in return, raise, break or continue
  ig_srange here;                   // of the statement, for places without one
} ig_emitter;

// ---- errors: emit_env.c

// Message, place and (in the caller of a function that fails to compile) how it was reached.
void ig_emit_error(ig_emitter *e, ig_srange where, const char *fmt, ...) IG_PRINTF(3, 4);
// The type as messages write it: `List[int]`, `Tensor (inferred)`. Lives as long as the emitter.
const char *ig_emit_repr(ig_emitter *e, const ig_stype *t);
const char *ig_emit_text(ig_emitter *e, const char *fmt, ...) IG_PRINTF(2, 3);
void *ig_emit_array(ig_emitter *e, size_t n, size_t size);

// ---- nodes

ig_snode *ig_emit_node(ig_emitter *e, const char *kind, ig_srange where, ig_svalue *const *in,
                       size_t n);
ig_svalue *ig_emit_value(ig_emitter *e, const char *kind, ig_srange where, ig_svalue *const *in,
                         size_t n, const ig_stype *type);  // with one result
const ig_stype *ig_emit_plain(ig_emitter *e, ig_stype_kind kind);
// A number that is written in the script: one constant per value, at the beginning of the graph,
// the last one first. The order of constants in the finished graph comes from that.
ig_svalue *ig_emit_number(ig_emitter *e, ig_srange where, ig_value v);
ig_svalue *ig_emit_int(ig_emitter *e, ig_srange where, int64_t i);
ig_svalue *ig_emit_bool(ig_emitter *e, ig_srange where, bool b);
ig_svalue *ig_emit_str(ig_emitter *e, ig_srange where, const char *text, size_t n);
ig_svalue *ig_emit_none(ig_emitter *e, ig_srange where);
// Any constant; a list becomes a ListConstruct of its elements. type NULL: that of the value.
ig_svalue *ig_emit_constant(ig_emitter *e, ig_srange where, ig_value v, const ig_stype *type);
ig_svalue *ig_emit_enum(ig_emitter *e, ig_srange where, const ig_senum *of, size_t member);
// A list of numbers as one constant; a single number is repeated n times.
ig_svalue *ig_emit_constant_list(ig_emitter *e, ig_value v, int n, const ig_stype *type);
ig_svalue *ig_emit_list(ig_emitter *e, ig_srange where, const ig_stype *item, ig_svalue *const *at,
                        size_t n);
ig_svalue *ig_emit_tuple(ig_emitter *e, ig_srange where, ig_svalue *const *at, size_t n);
// The elements of a tuple, as many as its type has.
ig_svalue **ig_emit_unpack(ig_emitter *e, ig_srange where, ig_svalue *tuple);
// The constant that a value is; NULL: it is none.
const ig_value *ig_emit_constant_of(const ig_svalue *v);
bool ig_emit_is_constant(const ig_svalue *v);

// ---- variables: emit_env.c

bool ig_frame_push(ig_emitter *e, ig_sblock *b, ig_sframe *out);
void ig_frame_pop(ig_emitter *e, ig_sframe *frame);  // e->at is the parent's block again
void ig_frame_free(ig_sframe *frame);
const ig_stype *ig_frame_type(const ig_sframe *f, const char *name);  // its own; NULL: none
bool ig_emit_store(ig_emitter *e, ig_srange where, const char *name, ig_svalue *v,
                   const ig_stype *annotated);
bool ig_emit_store_sugar(ig_emitter *e, ig_srange where, const char *name, const ig_sugar *s,
                         const ig_stype *annotated);
// Without a check against outer blocks.
bool ig_emit_store_plain(ig_emitter *e, const char *name, ig_svalue *v, const ig_stype *type);
bool ig_emit_set_type(ig_emitter *e, const char *name, const ig_stype *type);
// What a name stands for; *out UNKNOWN: nothing (no error).
bool ig_emit_find(ig_emitter *e, const char *name, ig_srange where, ig_sugar *out);
bool ig_emit_find_local(ig_emitter *e, ig_sframe *from, const char *name, ig_sugar *out);
bool ig_emit_name(ig_emitter *e, const char *name, ig_srange where, ig_sugar *out);  // must exist
bool ig_emit_block_exits(const ig_emitter *e, const ig_sblock *b);
bool ig_emit_mark_exit(ig_emitter *e, const ig_sblock *b);

// ---- calls: emit_match.c

typedef struct ig_sactual {  // an argument of a call
  const char *name;          // NULL: by position
  ig_srange range;
  ig_svalue *value;
} ig_sactual;
typedef struct ig_sactuals {
  ig_sactual *at;
  size_t n_pos;
  size_t n_kw;  // they follow
} ig_sactuals;

ig_svalue *ig_emit_convert(ig_emitter *e, ig_srange where, const ig_stype *to, ig_svalue *v,
                           bool implicit);
// Calls the operator of a name. self NULL: none. One result is that result, several are a tuple.
ig_svalue *ig_emit_builtin(ig_emitter *e, ig_srange where, const char *symbol,
                           const ig_sactuals *args, ig_svalue *self);
ig_svalue *ig_emit_op(ig_emitter *e, ig_srange where, const char *symbol, ig_svalue *const *in,
                      size_t n);  // the same with values by position
bool ig_emit_has_builtin(ig_emitter *e, const char *symbol, const ig_svalue *self);
// A call of functions (overloads) or of methods of self.
// A call of functions that stand for overloads of an operator, or of the operator where none of
// them fits.
ig_svalue *ig_emit_older(ig_emitter *e, ig_srange where, const ig_sugar *callee,
                         const ig_sactuals *args);
ig_svalue *ig_emit_functions(ig_emitter *e, ig_srange where, ig_sfunction *const *at, size_t n,
                             const ig_sactuals *args, ig_svalue *self);
// The arguments of a call as one value per parameter.
ig_svalue **ig_emit_matched(ig_emitter *e, ig_srange where, const ig_sfunction *f,
                            const ig_sactuals *args);
// A constant written as code, "(1, 2.5)"; false: it is none.
bool ig_sconstant_parse(ig_ctx *c, ig_arena *arena, const char *text, ig_value *out);
bool ig_sconstant_of_tree(ig_ctx *c, ig_arena *arena, const ig_tree *t, ig_value *out);

// ---- emit_sugar.c

ig_svalue *ig_emit_as_value(ig_emitter *e, ig_srange where, const ig_sugar *s);
bool ig_emit_attr(ig_emitter *e, ig_srange where, const ig_sugar *of, const char *name,
                  ig_sugar *out);
bool ig_emit_call(ig_emitter *e, ig_srange where, const ig_sugar *callee, const ig_sactuals *args,
                  size_t n_binders, ig_sugar *out);
const char *ig_sugar_describe(ig_emitter *e, const ig_sugar *s);
ig_sugar ig_sugar_value(ig_svalue *v);
// A value as what an expression stands for; false: NULL, there was an error.
static inline bool ig_sugar_give(ig_sugar *out, ig_svalue *v) {
  *out = ig_sugar_value(v);
  return v != NULL;
}
// Iteration: *n SIZE_MAX when the number is not known while compiling.
bool ig_emit_iterable(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_sugar *out);
bool ig_emit_children(ig_emitter *e, ig_srange where, ig_svalue *module, ig_sugar *out);
bool ig_emit_static_length(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t *n);
ig_svalue *ig_emit_length(ig_emitter *e, ig_srange where, const ig_sugar *s);
bool ig_emit_item(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_svalue *i, ig_sugar *out);
bool ig_emit_static_item(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t i,
                         ig_sugar *out);
// The parts of a tuple, list or container on the right of an assignment with several targets.
bool ig_emit_parts(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t n_binders,
                   ig_sugar **at, size_t *n);
bool ig_emit_special(ig_emitter *e, const ig_tree *call, ig_special form, size_t n_binders,
                     const ig_stype *hint, ig_sugar *out);
// A call of a module: its hooks around forward.
bool ig_emit_module_call(ig_emitter *e, ig_srange where, ig_svalue *module, const ig_sactuals *args,
                         ig_sugar *out);
bool ig_emit_named_tuple(ig_emitter *e, ig_srange where, const ig_stype *type,
                         const ig_sactuals *args, ig_sugar *out);
bool ig_emit_container_method(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_sugar *out);
bool ig_emit_exception(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_sactuals *args,
                       ig_sugar *out);
// The class of a container of modules; NONE: the value is none.
ig_scontainer ig_emit_container(const ig_svalue *v);

// Names that every script knows, globals.c: `len`, `range`, `int`; in code without a host `torch`,
// `math`, `ops`. UNKNOWN: none of them.
bool ig_sugar_of_global(ig_emitter *e, const char *name, ig_sugar *out);
bool ig_sugar_of_namespace(ig_emitter *e, const char *space, const char *name, ig_sugar *out);

// ---- expressions: emit_expr.c, emit_index.c, emit_cond.c

bool ig_emit_sugar(ig_emitter *e, const ig_tree *t, size_t n_binders, const ig_stype *hint,
                   ig_sugar *out);
// Where an expression is said to be: a call is where its callee is.
static inline ig_srange ig_emit_place(const ig_tree *t) {
  return t->kind == IG_TREE_CALL ? t->at[0]->range : t->range;
}
ig_svalue *ig_emit_expr(ig_emitter *e, const ig_tree *t, const ig_stype *hint);
bool ig_emit_actuals(ig_emitter *e, const ig_tree *call, size_t first, ig_sactuals *out);
const char *ig_emit_operator(ig_token_kind op, bool unary, const char **method);
ig_svalue *ig_emit_binary(ig_emitter *e, const ig_tree *t, ig_token_kind op, ig_svalue *left,
                          ig_svalue *right);
bool ig_emit_subscript(ig_emitter *e, const ig_tree *t, const ig_stype *hint, ig_sugar *out);
bool ig_emit_assign_subscript(ig_emitter *e, const ig_tree *target, ig_srange where,
                              ig_svalue *value);
// left op= right as a value: in place for tensors and lists.
ig_svalue *ig_emit_augment(ig_emitter *e, const ig_tree *statement, ig_svalue *left,
                           ig_svalue *right);
bool ig_emit_augment_subscript(ig_emitter *e, const ig_tree *statement);
ig_svalue *ig_emit_to_bool(ig_emitter *e, ig_srange where, ig_svalue *v);
const ig_stype *ig_emit_type(ig_emitter *e, const ig_tree *t);  // an annotation
ig_svalue *ig_emit_if_expr(ig_emitter *e, const ig_tree *t, const ig_stype *hint);
ig_svalue *ig_emit_comprehension(ig_emitter *e, const ig_tree *t, const ig_stype *hint);

// What a condition tells about names, if it is true and if it is false.
typedef struct ig_srefinement {
  const char *name;
  const ig_stype *type;
} ig_srefinement;
typedef struct ig_srefinements {
  ig_srefinement *at;
  size_t n;
} ig_srefinements;
typedef enum ig_sstatic { IG_SSTATIC_NO, IG_SSTATIC_TRUE, IG_SSTATIC_FALSE } ig_sstatic;
typedef struct ig_scond {
  ig_svalue *value;
  ig_srefinements if_true;
  ig_srefinements if_false;
  ig_sstatic known;  // the other branch is not compiled
} ig_scond;
bool ig_emit_cond(ig_emitter *e, const ig_tree *t, ig_scond *out);
bool ig_emit_refine(ig_emitter *e, ig_srange where, const ig_srefinements *r);
bool ig_emit_isinstance(ig_emitter *e, const ig_tree *call, ig_scond *out);
bool ig_emit_hasattr(ig_emitter *e, const ig_tree *call, ig_scond *out);

// ---- statements: emit_stmt.c, emit_loop.c

bool ig_emit_block(ig_emitter *e, const ig_tree *block);
// The end of the function: None is returned where nothing else is.
bool ig_emit_end(ig_emitter *e, ig_srange where, bool init);
bool ig_emit_assign(ig_emitter *e, const ig_tree *target, ig_srange where, const ig_sugar *value,
                    const ig_stype *annotated);
bool ig_emit_for(ig_emitter *e, const ig_tree *target, const ig_tree *values, ig_srange where,
                 bool (*body)(ig_emitter *e, void *user), void *user);
// The same over what was evaluated already.
bool ig_emit_loop_over(ig_emitter *e, const ig_tree *target, const ig_sugar *values,
                       ig_srange where, bool (*body)(ig_emitter *e, void *user), void *user);
bool ig_emit_while(ig_emitter *e, const ig_tree *t);

#endif
