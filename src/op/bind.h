// SPDX-License-Identifier: Apache-2.0
// The binder: which overload of a name takes the arguments of a call, and with which values.
//
// The arguments stay in the hands of the front end, which only finds keywords and converts one
// argument at a time; order of the candidates, matching, defaults, lists written out as trailing
// integers, out= and the second names of arguments are decided here, for every front end alike.
#ifndef OP_BIND_H_
#define OP_BIND_H_

#include "op/op.h"

// How a call names the operator. It decides which overloads are candidates, what keywords are
// called and where integers may be written without a list.
typedef enum ig_call_style {
  IG_STYLE_FUNCTION,  // torch.add(input, other)
  IG_STYLE_METHOD,    // x.add(other)
  IG_STYLE_OVERLOAD,  // torch.ops.aten.add.Tensor(self, other)
  IG_STYLE_PACKET,    // torch.ops.aten.add(self, other)
  IG_STYLE_NAME,      // by name from C: as a function or as a method
} ig_call_style;

// The candidates of one name in the order of trial: those without out= first, each group with
// fewer numbers first, because a 0-d tensor can stand for a number as well.
typedef struct ig_overload_set {
  ig_alloc alloc;
  ig_call_style style;
  bool numbers;  // Tensor arguments take plain numbers
  size_t n;
  size_t plain;  // how many are no out forms; all of them if there are only out forms
  const ig_op *at[];
} ig_overload_set;

// NULL without an error: no operator of that name can be called in this style.
ig_overload_set *ig_overload_set_make(ig_ctx *c, const char *ns, const char *name,
                                      ig_call_style style);
ig_overload_set *ig_overload_set_of(ig_ctx *c, const ig_op *op);  // this overload alone
void ig_overload_set_free(ig_overload_set *set);

bool ig_op_is_out(const ig_op *op);  // does it write to keyword arguments?
// The name by which a keyword reaches argument i: functions say input where methods have self.
const char *ig_arg_keyword(ig_call_style style, const ig_op *op, size_t i);

typedef enum ig_match {
  IG_MATCH_TAKEN,
  IG_MATCH_OTHER,   // of another type: the next overload may take it. No error.
  IG_MATCH_REFUSED  // of the right type, but wrong in itself; the front end has the error
} ig_match;

// A number that stands in a tensor without data. Reading it records a call, so it waits until the
// overload is chosen.
typedef struct ig_deferred_read {
  ig_tensor *from;
  ig_int *i;    // where an integer goes, or
  ig_value *v;  // any number
} ig_deferred_read;

enum { IG_MAX_READS = 16 };
typedef struct ig_reads {
  size_t n;
  ig_deferred_read at[IG_MAX_READS];
} ig_reads;
bool ig_reads_defer(ig_reads *r, ig_tensor *from, ig_int *i, ig_value *v);  // false: no room

// The arguments of one call as the front end has them: npos by position, then nkw by keyword.
typedef struct ig_given ig_given;
typedef struct ig_given_ops {
  // Position of the keyword argument `name`, which is the name of argument i of op or (op NULL) a
  // second name; npos + nkw: there is none.
  size_t (*keyword)(const ig_given *g, const ig_op *op, size_t i, const char *name);
  // The argument at a position as a value for `a`.
  ig_match (*take)(ig_given *g, size_t at, const ig_arg *a, bool numbers, ig_value *v);
  // Is it an integer that can be part of a list written without brackets?
  bool (*is_integer)(const ig_given *g, size_t at);
  // All positional arguments from `first` on as one list.
  ig_match (*take_integers)(ig_given *g, size_t first, const ig_arg *a, ig_value *v);
  // Element `nth` of `n` of out=. NULL: this front end has no such keyword.
  ig_match (*take_out)(ig_given *g, size_t nth, size_t n, ig_value *v);
  void (*reset)(ig_given *g);  // the next candidate: earlier conversions are void. May be NULL.
} ig_given_ops;

struct ig_given {
  const ig_given_ops *ops;
  size_t npos;
  size_t nkw;
  size_t consumed;  // keywords that are no arguments of the schema: out, requires_grad
  bool out;         // out= is given
  ig_reads reads;
};

// The first candidate that takes the arguments, values[0 .. nargs) filled. NULL: none does, or
// *answer is IG_MATCH_REFUSED, or the context has an error (a deferred read failed).
const ig_op *ig_bind(ig_ctx *c, const ig_overload_set *set, ig_given *g, ig_value *values,
                     ig_match *answer);

// x.view(2, 3): do integers by position fill the list that is argument i of op?
bool ig_bind_spreads(const ig_overload_set *set, const ig_given *g, const ig_op *op, size_t i);

#endif
