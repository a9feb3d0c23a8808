// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the extension module ingot._C.
//
// One interpreter, one ig_ctx per Python thread, the GIL held during every call. Functions that
// return PyObject * return a new reference, or NULL with a Python exception set. Internal headers
// used: base/ctx, sym/expr, tensor/*, op/*.
#ifndef PY_H_
#define PY_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "base/ctx.h"
#include "compat.h"
#include "ingot/op.h"
#include "op/bind.h"
#include "op/op.h"
#include "sym/expr.h"
#include "tensor/tensor.h"

#define PY_COUNT(a) (sizeof(a) / sizeof *(a))

// ---- module.c: state, contexts, errors ----

typedef struct py_state {
  ig_ctx *main;                  // context of the importing thread
  PyObject *module;              // ingot._C
  PyObject *files;               // keeps names of source files alive: nodes point at their text
  PyObject *package;             // folder of the package: its frames are not user frames
  PyObject *guard_error;         // GuardOnDataDependentSymNode
  PyObject *constraint_error;    // ConstraintViolationError
  atomic_int dtype;              // torch.set_default_dtype: for all threads
  const struct ig_draws *draws;  // random numbers in new threads: of the environment's level
  PyObject *disabled;            // what a class assigns to __torch_function__ to disable it
  bool overriding;               // some object with __torch_function__ exists
  struct ig_sunit *unit;         // of scripts and traces, see sgraph.h; NULL: none yet
} py_state;
extern py_state py;

// A call that was dispatched to __torch_function__, on the stack of its thread.
typedef struct py_asked {
  PyObject *func;
  PyObject *object;  // whose class handles it; NULL: Tensor.__torch_function__ runs func
  struct py_asked *up;
} py_asked;

// Python's part of a thread's modes: lives as long as its context, empty if no mode is active.
typedef struct py_thread {
  PyObject *modes;      // stack of __torch_function__ modes, NULL while there is none
  py_asked *asked;      // the innermost one
  PyObject *observers;  // of modules, see override.c; NULL: none
  bool function_off;    // __torch_function__ is disabled
  ig_device *devices;   // the previous devices, for each active `with torch.device(...)`
  size_t ndevices;
  size_t cap;
} py_thread;

extern _Thread_local ig_ctx *py_tls;
ig_ctx *py_ctx_make(void);
static inline ig_ctx *py_ctx(void) {
  return py_tls ? py_tls : py_ctx_make();
}
static inline py_thread *py_thread_of(ig_ctx *c) {
  return c->mode->thread;
}
PyObject *py_raise(
    ig_ctx *c);  // Sets the exception for the context's status, which it clears. Always NULL.
PyObject *py_raise_as(ig_ctx *c, PyObject *type);  // codes.c: the same with this exception.
// `out`, or NULL and an exception if the context failed, which it clears; one that is set stays.
PyObject *py_done(ig_ctx *c, PyObject *out);
bool py_ok(ig_ctx *c);  // Raises if the context failed.

// ---- dtype.c: dtype, device, layout, memory_format, Size ----

typedef struct py_dtype {
  PyObject_HEAD ig_dtype d;
} py_dtype;
typedef struct py_device {
  PyObject_HEAD ig_device d;
} py_device;
typedef struct py_enum {  // layout, memory_format
  PyObject_HEAD int v;
} py_enum;

extern PyTypeObject py_dtype_type;
extern PyTypeObject py_device_type;
extern PyTypeObject py_layout_type;
extern PyTypeObject py_memory_format_type;
extern PyTypeObject py_qscheme_type;
extern PyTypeObject py_size_type;

PyObject *py_from_dtype(ig_dtype d);
PyObject *py_from_device(ig_device d);
PyObject *py_from_layout(ig_layout v);
PyObject *py_from_memory_format(ig_memory_format v);
PyObject *py_from_qscheme(int v);  // ig_quant_scheme
// A torch.Size of n integers.
PyObject *py_size_make(const ig_int *at, int n);
// Text or object; 1: converted, 0: neither, -1: invalid text (exception set).
int py_to_device(PyObject *o, ig_device *out);
// Checks that a tensor can be moved to d, or created there from data: an error if d has no memory,
// unless tensors are fake. t: what it is made from, or NULL.
bool py_device_ready(ig_ctx *c, const ig_tensor *t, ig_device d);
bool py_to_dtype(PyObject *o,
                 ig_dtype *out);  // torch.dtype, float, int, bool, complex; no exception
int py_add_dtypes(PyObject *m);

// ---- native.c: quantizers, and objects of the library's own classes ----

extern PyTypeObject py_native_type;
PyObject *py_from_native(ig_native *o);                       // a new object that retains o
ig_native *py_native_of(PyObject *o);                         // NULL: something else; no exception
PyObject *py_quantizer_parts(ig_ctx *c, const ig_tensor *t);  // what py_to_quantizer takes
// NULL and an exception: not the parts of a quantizer. The innermost scope owns the result.
struct ig_quantizer *py_to_quantizer(ig_ctx *c, PyObject *parts);
int py_add_native(PyObject *m);

// ---- symint.c ----

typedef struct py_sym {  // SymInt, SymFloat, SymBool
  PyObject_HEAD ig_value v;
  ig_sym *sym;
} py_sym;

extern PyTypeObject py_symint_type;
extern PyTypeObject py_symfloat_type;
extern PyTypeObject py_symbool_type;
PyObject *py_from_int(ig_int i);
PyObject *py_from_value(ig_ctx *c, const ig_value *v);        // any result of an operator
PyObject *py_int_of(const ig_tensor *t, ig_int i);            // a size or stride of t
PyObject *py_sizes_of(const ig_tensor *t, const ig_int *at);  // as torch.Size
int py_add_syms(PyObject *m);
bool py_is_sym(PyObject *o);
PyObject *py_sym_node(PyObject *o, void *unused);       // symnode.c
PyObject *py_from_expr(const ig_expr *e, ig_sym *sym);  // SymExpr
int py_add_symnode(PyObject *m);
PyObject *py_from_env(ig_sym *sym);  // fake.c: a ShapeEnv, None for NULL

// ---- tensor.c: the Tensor type ----

typedef struct py_tensor {
  PyObject_HEAD ig_tensor *t;
  PyObject *dict;
  PyObject *weak;
} py_tensor;

extern PyTypeObject *py_tensor_type;
static inline bool py_is_tensor(PyObject *o) {
  return Py_IS_TYPE(o, py_tensor_type) || PyObject_TypeCheck(o, py_tensor_type);
}
static inline ig_tensor *py_tensor_of(PyObject *o) {
  return ((py_tensor *)o)->t;
}
// The Python object for t, created if there is none; None for NULL. Raises if c failed.
PyObject *py_from_tensor(ig_ctx *c, ig_tensor *t);
PyObject *py_wrap_as(ig_tensor *t, PyTypeObject *type);  // a fresh object of a class, retains t
int py_add_tensor(PyObject *m);
int py_tensor_add(PyMethodDef *methods, PyGetSetDef *getset);  // more methods of the type
extern PyMethodDef py_tensor_methods[];                        // methods.c
extern PyGetSetDef py_tensor_getset[];
typedef struct py_slot {
  int id;  // Py_tp_repr
  void (*fn)(void);
} py_slot;
enum { PY_NUMBER_SLOTS = 33 };
extern const py_slot py_number_slots[PY_NUMBER_SLOTS];  // number.c
PyObject *py_tensor_compare(PyObject *a, PyObject *b, int how);

// ---- convert.c: Python objects to values ----

enum { PY_ROOM = 24 };

// Room for the lists of one call: integers on the stack first, then the innermost scope.
typedef struct py_room {
  ig_ctx *c;
  const char *name;  // of the operator, for messages; NULL: none
  size_t used;
  ig_int ints[PY_ROOM];
  ig_reads *reads;  // numbers in tensors without data are read later; NULL: they are refused
} py_room;

ig_int *py_room_ints(py_room *room, size_t n);
ig_value *py_room_values(py_room *room, size_t n);
// Converts o to the type of the schema argument. numbers: a Tensor argument accepts numbers.
ig_match py_convert(py_room *room, const ig_arg *a, PyObject *o, bool numbers, ig_value *v);
ig_match py_to_number(PyObject *o,
                      ig_value *v);            // int, float, bool, complex, symbolic, numpy scalar
ig_match py_to_int(PyObject *o, ig_int *out);  // integers, not bool; 0-d integer tensors
ig_match py_to_listed_int(py_room *room, PyObject *o, ig_int *out);  // one of several sizes
// A list or tuple of integers; what: for the message, "zeros(): argument 'size'".
ig_match py_to_ints(py_room *room, PyObject *o, const char *what, ig_value *v);
const char *py_type_name(PyObject *o);  // its name in PyTorch's messages
// The elements of a sequence as a tuple, a new reference: converting one may run Python code, which
// may change a list. NULL: TypeError with this message.
PyObject *py_items(PyObject *o, const char *message);

// ---- call.c: the binder ----

// A call as it came in: npos positional arguments, then the values of kwnames. The engine's binder
// sees the first member.
typedef struct py_args {
  ig_given given;
  PyObject *const *at;
  PyObject *kwnames;  // NULL: none
  PyObject *out;      // value of out=, NULL: not given or None
  bool requires_grad;
  py_room room;
} py_args;

// Cached data about one overload.
typedef struct py_sig {
  const ig_op *op;
  PyObject **names;     // interned names of the arguments
  PyTypeObject *tuple;  // named tuple of the results; NULL: plain
} py_sig;

// ingot.add, Tensor.add, ops.aten.add, ops.aten.add.Tensor: one type per kind, one binder.
typedef struct py_op {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *name;  // "add"
  PyObject *weak;
  const char *ns;
  ig_overload_set *set;
} py_op;

extern PyTypeObject py_function_type;
extern PyTypeObject py_method_type;
extern PyTypeObject py_overload_type;
extern PyTypeObject py_packet_type;

py_sig *py_sig_get(const ig_op *op);  // NULL: exception set
// Name and overloads; NULL without exception: no operator has that name.
PyObject *py_op_make(const char *ns, const char *name, ig_call_style style);
PyObject *py_op_make_overload(const ig_op *op);
PyObject *py_op_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
// Raises an error that says why no overload accepts the arguments. Always NULL.  (explain.c)
PyObject *py_explain(const py_op *op, const py_args *call);
// Results of a call whose values are in outs.
PyObject *py_results(ig_ctx *c, py_sig *sig, const ig_value *outs, bool named);
// torch.return_types.<name>, borrowed; NULL without exception: there is none.
PyTypeObject *py_return_type(const char *name);
// __torch_function__: does an argument (or a mode) override the call? 1: *out is the result, 0: no.
int py_overridden(PyObject *func, PyObject *const *args, size_t n, PyObject *kwnames, bool deep,
                  PyObject **out);
bool py_has_override(PyObject *o);  // override.c
int py_add_overrides(PyObject *m);

// __torch_dispatch__: calls below autograd that a mode or an operand answers.  (dispatch.c)
const ig_intercept *py_dispatch_of(PyTypeObject *type);  // NULL: objects of the class answer none
int py_add_dispatch(PyObject *m);

// Operators whose implementation is in Python.  (library.c)
PyObject *py_positional(ig_ctx *c, const ig_schema *s, const ig_value *args);
PyObject *py_keywords(ig_ctx *c, const ig_schema *s, const ig_value *args);
// What a Python function returned, as results of the operator; false: exception set.
bool py_take_results(ig_ctx *c, const ig_op *op, PyObject *answer, ig_value *outs);
int py_add_calls(PyObject *m);

// Calls of operators that the extension itself makes: by name, through the binder.
// clang-format is not stable on this list.
// clang-format off
#define PY_FN_LIST(X) \
  X(add) X(sub) X(mul) X(div) X(floor_divide) X(remainder) X(pow) X(matmul) X(rsub) \
  X(reciprocal) X(__and__) X(__or__) X(__xor__) X(__lshift__) X(__rshift__) X(bitwise_and) \
  X(bitwise_or) X(bitwise_xor) X(bitwise_left_shift) X(bitwise_right_shift) X(bitwise_not) \
  X(neg) X(positive) X(abs) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(add_) X(sub_) X(mul_) \
  X(div_) X(floor_divide_) X(remainder_) X(pow_) X(__iand__) X(__ior__) X(__ixor__) \
  X(__ilshift__) X(__irshift__) X(unbind) X(flip) X(any) X(alias) X(numpy_T) X(mT) X(mH) \
  X(matrix_H) X(real) X(imag) X(to) X(contiguous) X(detach) X(detach_) X(clone) \
  X(lift_fresh) X(fill_) X(copy_) X(view) X(unsqueeze) X(select) X(slice) X(index) \
  X(index_put_) X(empty) X(expand) X(item) X(split) X(split_with_sizes) X(new_empty) \
  X(resolve_conj) X(new_zeros) X(where)
// clang-format on

typedef enum py_fn {
#define X(name) PY_FN_##name,
  PY_FN_LIST(X)
#undef X
      PY_FN_COUNT
} py_fn;
PyObject *py_fn_get(py_fn fn);  // borrowed; NULL: not in the library (exception set)
PyObject *py_fn_call(py_fn fn, PyObject *const *args, size_t n);

// Overloads that the extension calls on values, the rest of their arguments by default.
#define PY_TARGET_LIST(X)       \
  X(SELECT, SELECT_INT)         \
  X(SLICE, SLICE_TENSOR)        \
  X(UNSQUEEZE, UNSQUEEZE)       \
  X(ALIAS, ALIAS)               \
  X(INDEX, INDEX_TENSOR)        \
  X(INDEX_PUT, INDEX_PUT_)      \
  X(COPY, COPY_)                \
  X(FILL, FILL__TENSOR)         \
  X(FILL_SCALAR, FILL__SCALAR)  \
  X(EMPTY, EMPTY_MEMORY_FORMAT) \
  X(VIEW, VIEW)                 \
  X(EXPAND, EXPAND)             \
  X(LIFT, LIFT_FRESH)           \
  X(DETACH_, DETACH_)           \
  X(DETACH, DETACH)             \
  X(TO_DTYPE, TO_DTYPE)         \
  X(TO_DEVICE, TO_DEVICE)       \
  X(TO_LAYOUT, TO_DTYPE_LAYOUT) \
  X(CONTIGUOUS, CONTIGUOUS)     \
  X(CLONE, CLONE)               \
  X(ITEM, ITEM)                 \
  X(LOCAL_SCALAR, _LOCAL_SCALAR_DENSE)
typedef enum py_target {
#define X(name, id) PY_##name,
  PY_TARGET_LIST(X)
#undef X
      PY_TARGET_COUNT
} py_target;

// The first result, a tensor of the innermost scope; NULL: exception set.
ig_tensor *py_call_tensor(ig_ctx *c, py_target target, const ig_value *args, size_t n);
bool py_call_values(ig_ctx *c, py_target target, const ig_value *args, size_t n, ig_value *outs);

// ---- index.c ----

PyObject *py_tensor_getitem(PyObject *self, PyObject *index);
int py_tensor_setitem(PyObject *self, PyObject *index, PyObject *value);

// ---- data.c: tensors from Python data and back ----

PyObject *py_tensor_item(ig_ctx *c, ig_tensor *t);  // the only element
PyObject *py_element(ig_value v);
PyObject *py_tolist(ig_ctx *c, ig_tensor *t);
// torch.tensor(data): a fresh tensor of the innermost scope. dtype < 0: inferred.
ig_tensor *py_tensor_from_data(ig_ctx *c, PyObject *data, int dtype, ig_device device, bool copy);
ig_tensor *py_lift(ig_ctx *c, ig_tensor *t);  // a constant enters an open capture
ig_tensor *py_number_tensor(ig_ctx *c, const ig_value *v, ig_dtype dtype, ig_device device);
extern PyMethodDef py_data_functions[];

// ---- repr.c ----

PyObject *py_tensor_repr(PyObject *self);
extern PyMethodDef py_repr_functions[];

// ---- numpy.c ----

// Wraps an array (anything with __array_struct__) without copying; NULL without exception: not an
// array.
ig_tensor *py_from_array(ig_ctx *c, PyObject *o);
PyObject *py_tensor_numpy(PyObject *self);
extern PyMethodDef py_numpy_functions[];
PyObject *py_from_dlpack(PyObject *source);
extern PyMethodDef py_dlpack_functions[];  // dlpack.c
PyObject *py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_tensor_dlpack_device(PyObject *self, PyObject *unused);
int py_add_numpy(PyObject *m);

// ---- the others ----

typedef struct py_generator {
  PyObject_HEAD ig_generator *g;
  bool borrowed;  // the default one
} py_generator;
extern PyTypeObject py_generator_type;  // random.c
extern PyMethodDef py_random_functions[];
void py_share_generator(ig_ctx *c);  // a new context draws from the default generator
int py_add_random(PyObject *m);

int py_add_conversions(void);  // to.c
// The argument memory_format, positional or keyword; NONE if absent.
bool py_to_format(const char *name, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                  ig_value *out);
int py_add_ops(PyObject *m);                // ops.c
void py_packet_forget(const ig_op *op);     // its overloads have changed
extern PyMethodDef py_library_functions[];  // library.c
extern PyMethodDef py_hop_functions[];      // hop.c
extern PyMethodDef py_expr_functions[];     // expr.c
bool py_to_env(PyObject *o, ig_sym **out);  // fake.c: NULL for None; false: exception set
int py_add_fakes(PyObject *m);
int py_add_onnx_models(PyObject *m);  // onnx_model.c
int py_add_sessions(PyObject *m);     // session.c
int py_add_onnx_graph(PyObject *m);   // onnx_graph.c
struct ig_hop;
PyObject *py_from_hop(const struct ig_hop *hop);  // torch.ops.higher_order.<name>
const struct ig_hop *py_hop_of(PyObject *o);      // NULL without exception: it is none
int py_add_namespaces(PyObject *m);               // namespace.c
int py_add_storage(PyObject *m);                  // storage.c
PyObject *py_tensor_storage(PyObject *self, PyObject *unused);
// The bytes of an UntypedStorage, in the innermost scope; NULL with an exception.
ig_tensor *py_storage_bytes(ig_ctx *c, PyObject *o);
int py_add_schema(PyObject *m);  // schema.c
PyObject *py_schema_of(const ig_op *op);
extern PyMethodDef py_autograd_methods[];  // autograd.c: methods of Tensor
extern PyGetSetDef py_autograd_getset[];
extern PyMethodDef py_autograd_functions[];

// ---- node.c: grad_fn and hooks ----

struct ig_tape_entry;
PyObject *py_node_wrap(struct ig_tape_entry *f);  // None for NULL
ig_tensor *py_lend(ig_ctx *c, PyObject *o);       // a tensor, owned by the innermost scope
void py_host_failed(ig_ctx *c);                   // a Python exception is pending
void py_drop(void *user);                         // drops a reference, from any thread
PyObject *py_grads_tuple(ig_ctx *c, ig_tensor *const *grads, size_t n);
// A tuple (or a lone tensor) of n gradients; who: for the message.
bool py_take_grads(ig_ctx *c, PyObject *answer, ig_tensor **grads, size_t n, const char *who);
int py_add_nodes(PyObject *m);

// ---- trace.c: metadata of nodes ----

typedef struct py_trace py_trace;
struct ig_str;
// Starts tracking the context's capture. grad_modes: changes of the grad mode become nodes. NULL:
// error.
py_trace *py_trace_begin(ig_ctx *c, bool strict, bool grad_modes);
void py_trace_end(ig_ctx *c);
void py_trace_locate(ig_ctx *c, py_trace *t);  // Location and metadata of the next node.
void py_trace_place(ig_ctx *c, py_trace *t);   // file, line and stack alone, without a capture
void py_trace_stack(const py_trace *trace, ig_ctx *c, struct ig_str *out);  // the user's frames
// The program changes the grad mode. true: the capture has recorded it, and the mode itself does
// not change.
bool py_trace_grad_mode(ig_ctx *c, bool enabled, PyObject *fn);
// The program enters a torch function, for example "method_descriptor" "add_"; `source` is what the
// caller wrote ("iadd"; NULL: the name). true: the caller must leave it again.
bool py_region_enter(ig_ctx *c, const char *cls, const char *name, const char *source);
void py_region_leave(ig_ctx *c);
// The program reads sizes or computes with them: the first graph of PyTorch's strict capture has a
// node for each, which uses up names. No other effect.
void py_trace_name(ig_ctx *c, const char *source, size_t times);
bool py_trace_is_strict(const ig_ctx *c);
// A strict capture reports which call failed: the current exception gets (fn, arguments, keywords)
// as `_call`; self is the operator fn, or a text.
void py_note_call(PyObject *self, PyObject *const *args, size_t npos, PyObject *kwnames);
// A function of a higher-order operator is captured as a separate graph; `source` is the operator's
// name in the source_fn_stack of its nodes. true: the caller must leave it again.
bool py_level_enter(ig_ctx *c, const char *source);
void py_level_leave(ig_ctx *c);
static inline bool py_region(ig_ctx *c, const char *cls, const char *name, const char *source) {
  return c->mode->capture && py_region_enter(c, cls, name, source);
}
extern PyMethodDef py_trace_functions[];

// ---- graph.c ----

// A value that is not a list: tensors, numbers, strings, None; and a tuple of them, in the
// innermost scope.
bool py_plain_value(PyObject *o, ig_value *v);
bool py_values_of(ig_ctx *c, PyObject *tuple, ig_value **out, size_t *n);
extern PyMethodDef py_capture_functions[];
extern PyMethodDef py_compile_functions[];  // compile.c
// The cache of a compiled function has raised: *refusal is the exception, unless it is an earlier
// one.
void py_note_refusal(PyObject **refusal);
// Who watches the first call of a compiled function.
typedef struct py_watch {
  PyObject *cache;  // told of calls that a graph cannot have
  bool whole;       // one graph is wanted: it may refuse them
  PyObject **refusal;
  const bool *away;  // something else than the function is running
} py_watch;
// Calls fn; alone: the function is one that is not compiled (watch.c).
PyObject *py_watch_call(const py_watch *by, bool *alone, PyObject *fn, PyObject *args,
                        PyObject *kwargs);
extern PyMethodDef py_batch_functions[];  // batch.c
int py_add_compile(PyObject *m);
struct ig_defer;
PyObject *py_tracked_size(ig_ctx *c, const ig_tensor *t, int dim);  // tracked.c: an int
PyObject *py_tracked_element(ig_ctx *c, PyObject *o);  // what item() gives, as such a number
ig_int py_tracked_int(PyObject *o, int64_t value);     // a number that an operator takes
void py_tracked_end(struct ig_defer *d);
int py_add_tracked(PyObject *m);
// The tensor has its elements and its history: what torch.compile has recorded is computed first.
// False: exception set. True for other objects.
bool py_settled(PyObject *o);
bool py_ready(ig_ctx *c, const ig_tensor *t);   // the same for a tensor
bool py_read(ig_ctx *c, const ig_tensor *t);    // the same, because its elements are read
bool py_expose(ig_ctx *c, const ig_tensor *t);  // the same, and its memory is given away
bool py_settled_for_hook(PyObject *o);          // py_settled, and o has a history of its own
// A function with several results that is the history of t is divided into those of its operators
// (autograd.c).
bool py_divide_history(ig_ctx *c, ig_tensor *t);
bool py_settle_all(ig_ctx *c);     // Everything that this thread has recorded.
bool py_settle_random(ig_ctx *c);  // The same if some of it draws random numbers.
int py_add_graph(PyObject *m);
int py_add_passes(PyObject *m);  // after py_add_graph: methods of Program
int py_add_onnx(PyObject *m);    // the same
extern PyMethodDef py_onnx_check_functions[];
extern PyMethodDef py_edit_functions[];         // edit.c
struct ig_program *py_program_of(PyObject *o);  // o is a Program, by its type or by py_is_program
bool py_is_program(PyObject *o);                // TypeError if not
PyObject *py_program_wrap(ig_ctx *c, ig_status st, struct ig_program *p);  // takes ownership of p

// ---- report.c: issues of exports ----

extern PyMethodDef py_report_functions[];
extern PyMethodDef py_autocast_functions[];
extern PyMethodDef py_limits_functions[];   // limits.c
extern PyMethodDef py_command_functions[];  // command.c
extern PyMethodDef py_code_functions[];     // codes.c
void py_code_attach(ig_ctx *c);             // the code of the context's error, to the exception
void py_report_attach(ig_ctx *c);           // to the exception that is set
bool py_name_symbol(ig_ctx *c, const ig_expr *symbol, struct ig_str *out);
PyFrameObject *py_user_frame(void);  // module.c: the innermost one, a new reference; NULL: none

// ---- dims.c: dynamic dimensions ----

struct ig_program;

extern PyMethodDef py_dims_functions[];
extern PyMethodDef py_pt2_functions[];
ig_tensor *py_capture_input_dims(ig_ctx *c, const char *name, const char *source, ig_tensor *t,
                                 PyObject *dims);
struct ig_dim_fix;
PyObject *py_from_fixes(const struct ig_dim_fix *fixes, size_t n);  // as dim_fixes gives them
PyObject *py_program_ranges(const struct ig_program *p);
PyObject *py_program_check(const struct ig_program *p, PyObject *args,
                           bool (*value_of)(PyObject *o, ig_value *v));

#endif
