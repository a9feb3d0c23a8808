// SPDX-License-Identifier: Apache-2.0
// Tracing: a program runs, and every operator that it calls becomes a node of a script's graph.
// Sizes that the program asks for become values as well, so that the graph serves other sizes.
#ifndef SCRIPT_TRACE_H_
#define SCRIPT_TRACE_H_

#include "script/unit.h"

typedef struct ig_strace ig_strace;

// What only the host knows. All may be NULL.
typedef struct ig_strace_host {
  // The variable of the running function that holds the tensor; "": none. Valid until the next
  // call.
  const char *(*variable)(void *user, const ig_tensor *t);
  // Where the program is: file and line, and as text the stack, a line `file(line): function` for
  // each frame, the innermost first. False: not known. Valid until the next call.
  bool (*place)(void *user, ig_source *out);
  void (*warn)(void *user, const char *text);
  void *user;
} ig_strace_host;

// Nothing is traced before ig_strace_begin. NULL: out of memory.
ig_strace *ig_strace_create(ig_ctx *c, ig_sunit *u, const ig_strace_host *host, bool strict);
void ig_strace_free(ig_strace *t);
// Calls of the context are traced from here to the end. Not nested: IG_RUNTIME.
bool ig_strace_begin(ig_strace *t);
void ig_strace_end(ig_strace *t);
ig_strace *ig_strace_of(const ig_ctx *c);  // that of the context; NULL: nothing is traced

// All of these are false or NULL after an error.

// An input: a tensor, or a tuple, list or dict (with texts as keys) of inputs, which is taken
// apart. A tensor that was given before is replaced by a view of it, in *v.
bool ig_strace_input(ig_strace *t, const char *name, ig_value *v);
// What the program returns: tensors, and tuples, lists and dicts of them.
bool ig_strace_output(ig_strace *t, const ig_value *v);

// The module that is traced: the first input, and everything inside it, which the program may use.
bool ig_strace_self(ig_strace *t, ig_sobj_instance *self);
// The module at this path ("__module.fc") runs, until the scope is left.
bool ig_strace_enter(ig_strace *t, const char *path);
void ig_strace_leave(ig_strace *t);
// Is there a module at this path?
bool ig_strace_has(const ig_strace *t, const char *path);

// The value of a tensor; a constant if the program made it in a way that was not traced.
ig_svalue *ig_strace_value(ig_strace *t, ig_tensor *x);
bool ig_strace_set(ig_strace *t, ig_tensor *x, ig_svalue *v);
// Makes a traced value of what a node computed: tensors, tuples and lists of them.
bool ig_strace_set_value(ig_strace *t, const ig_value *v, ig_svalue *to);
// A node behind the last one, with the place of the program if `placed`.
ig_snode *ig_strace_node(ig_strace *t, const char *kind, ig_svalue *const *in, size_t n,
                         bool placed);
ig_svalue *ig_strace_constant(ig_strace *t, const ig_value *v);
// Calls a function or method of a script, whose operators are not traced: the graph has one node.
// args and *result as in ig_sfunction_run.
bool ig_strace_call(ig_strace *t, ig_sfunction *f, const ig_value *args, ig_value *result);

// A call of the host as one node. The operators that it calls become the node's graph, if that uses
// nothing but its tensors. `f` runs it again: its parameters are the tensors. NULL after an error.
ig_snode *ig_strace_open_host(ig_strace *t, ig_sfunction *f, ig_tensor *const *tensors, size_t n);
typedef struct ig_strace_results {
  ig_tensor *const *inner;  // as its body made them
  ig_tensor *const *outs;   // as the program sees them; NULL: no tensor
  size_t n;
  bool tuple;  // several results, or one in a tuple
} ig_strace_results;
bool ig_strace_close_host(ig_strace *t, ig_snode *call, const ig_strace_results *r);
void ig_strace_drop_host(ig_strace *t, ig_snode *call);  // it failed

// A size as a tensor without dimensions, whose value is aten::size of x; numel likewise. dim is
// recorded as it is given: it may count from the end.
ig_tensor *ig_strace_size(ig_strace *t, ig_tensor *x, int dim);
ig_tensor *ig_strace_numel(ig_strace *t, ig_tensor *x);
// The integer in a traced tensor, which remembers where it comes from. scalar: for an argument that
// takes any number.
bool ig_strace_int(ig_strace *t, ig_tensor *x, bool scalar, ig_int *out);

// The finished graph, which belongs to the caller: dead code removed, modules inlined.
ig_sgraph *ig_strace_finish(ig_strace *t);
// The finished graph as a method of the traced module; calls of its modules become methods of their
// classes: forward, forward1, ...
ig_sfunction *ig_strace_finish_method(ig_strace *t, const char *name);
// A graph as a function of the unit, with the names and types of its inputs. Takes the graph.
ig_sfunction *ig_strace_function(ig_sunit *u, ig_sclass *owner, const char *name,
                                 const char *qualified, ig_sgraph *g);

#endif
