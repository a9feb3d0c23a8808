// SPDX-License-Identifier: Apache-2.0
// The operator record and the arguments of its functions.
//
//   IG_OP(id) = { .schema = ..., .shape = ..., one of .tile/.prepare and .run/.kernel/nothing (a
//   view), ... };
//
// `id` is the schema's name and overload in lower case, joined by _: add_tensor, mm,
// __and___tensor. Other namespaces than aten come first and are set off by two, as are
// their overloads: quantized__add__scalar. The build extracts ids and schemas from src/ops, looks
// up each schema's in-place and out forms in src/op/aten.tsv, and generates the registry and the
// typed calls of ingot/aten.h. Nothing but the record needs to be written. The parsed records are
// one process-wide library, immutable and shared.
#ifndef OP_OP_H_
#define OP_OP_H_

#include "base/map.h"
#include "ingot/op.h"
#include "kernels/scratch.h"
#include "op/schema.h"
#include "tensor/tensor.h"

enum { IG_MAX_OPERANDS = 6, IG_MAX_ARGS = 32 };

// One rule for real, fake and symbolic operands: compare sizes only through ig_int_eq and related
// functions. out[i] describes return i; it comes with ndim 0, the dtype of the first tensor operand
// and the common device of the operands. A view calls ig_meta_view and sets sizes, strides, offset.
// A fresh result gets dense strides afterwards unless the rule sets `strided`. A missing optional
// result sets `absent` (the caller sees None).
typedef void ig_shape_fn(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out);

// The same for an operator that returns Tensor[]: `push` one meta per element of the list.
typedef struct ig_metas {
  ig_ctx *c;
  ig_meta **at;
  size_t n;
  size_t cap;
} ig_metas;
ig_meta *ig_metas_push(ig_metas *m, ig_dtype dtype, ig_device device);  // initialised; NULL: error
typedef void ig_shapes_fn(ig_ctx *c, const ig_op *op, const ig_value *args, ig_metas *out);

// n dense elements per operand, already broadcast and converted to the compute dtype. `out` may be
// the same memory as one of the operands.
typedef struct ig_tile_args {
  size_t n;
  const void *in[IG_MAX_OPERANDS];
  void *out;
  const ig_value *args;
  const ig_op *op;
  ig_dtype dtype;  // the compute dtype
  atomic_bool
      *zero_divisor;  // set by an integer tile that would divide by zero, which then continues
} ig_tile_args;
typedef void ig_tile_fn(const ig_tile_args *t);

// Fills outs, whose tensors the shape rule made (real, dense unless the rule said otherwise), and
// sets those that are not tensors. Shapes have been checked; a kernel fails only because of the
// data (an index out of range) or when out of memory.
typedef void ig_kernel_fn(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// A kernel in two steps, so that a plan can own all memory and running cannot fail for lack of it.
//
// prepare sees sizes, strides and dtypes; tensors may be fake, their bytes are not read. It refuses
// what can be refused, chooses how to compute, states the need for memory and leaves what run has
// to know in `state` (IG_STATE). What it decides holds for all calls with the same metadata and the
// same arguments that are no tensors, as long as the number of threads stays the same.
enum { IG_PREP_STATE = 1024 };  // bytes
typedef struct ig_prep {
  ig_need need;
  // .pack: what run makes of arguments that stay as they are may be made once.
  bool packs;          // before prepare: it will be
  size_t packed_size;  // bytes of it, which prepare states; 0: nothing
  const void *packed;  // afterwards: where it is, from a multiple of 64 on
  _Alignas(16) unsigned char state[IG_PREP_STATE];
} ig_prep;
typedef void ig_prepare_fn(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                           ig_prep *p);
#define IG_STATE(type, name, p)                                           \
  _Static_assert(sizeof(type) <= IG_PREP_STATE, "too large for ig_prep"); \
  type *name = (type *)(void *)(p)->state

// run fills outs. It has the memory that was stated and takes no other; kernels that it calls find
// their slots there. It fails only for what stands in the data (an index out of range).
typedef struct ig_exec {
  ig_ctx *c;
  const ig_op *op;
  const ig_value *args;
  ig_value *outs;
  const void *state;
  char *memory;        // pieces lie at the offsets that ig_need_take gave
  const void *packed;  // what .pack has made; NULL: nothing
} ig_exec;
typedef void ig_run_fn(const ig_exec *x);

// Makes at `to` what run would make in every call of the arguments that .packs names, of which it
// reads nothing else than the tensors.
typedef void ig_pack_fn(const ig_exec *x, void *to);

// A formula: plain calls. The first form is for one tensor result.
typedef ig_tensor *ig_decompose_fn(ig_ctx *c, const ig_value *args);
typedef void ig_decompose_outs_fn(ig_ctx *c, const ig_value *args, ig_value *outs);

// Gradients. Arguments have slots, numbered through; at[i] is the first slot of argument i. A list
// takes one slot per element, any other argument one, tensor or not, so IG_GRAD is always safe.
typedef struct ig_vjp {
  const ig_op *op;
  const ig_value *args;     // of the forward call; a tensor that .keep does not name has no data
  const ig_value *outs;     // its results, with the same restriction
  ig_tensor *const *grads;  // gradient per return (per element of a Tensor[] result); NULL: zero
  ig_tensor *grad;          // grads[0]; never NULL when there is one result
  ig_tensor *out;           // outs[0].tensor
  const size_t *at;
  const bool *wanted;  // per slot
  ig_tensor **d;       // gradient per slot, to be filled through IG_GRAD
} ig_vjp;
typedef void ig_vjp_fn(ig_ctx *c, const ig_vjp *v);

// IG_GRAD(v, 0) = formula;  evaluates the formula only if the gradient of argument 0 is needed.
#define IG_WANTED(v, i) ((v)->wanted[(v)->at[i]])
#define IG_GRAD(v, i) \
  if (IG_WANTED(v, i)) (v)->d[(v)->at[i]]
// Element k of the tensor list that is argument i.
#define IG_GRAD_AT(v, i, k) \
  if ((v)->wanted[(v)->at[i] + (k)]) (v)->d[(v)->at[i] + (k)]

// How a pointwise operator determines its compute dtype.
typedef enum ig_promotion {
  IG_PROMOTE,        // PyTorch's rules
  IG_PROMOTE_FLOAT,  // the same, and integers and bool become the default float dtype
  IG_PROMOTE_SELF,   // the dtype of the first operand that is not a mask
  IG_PROMOTE_BOOL,   // every operand as a truth value
  IG_PROMOTE_DIV,    // IG_PROMOTE_FLOAT unless argument 2 names a rounding mode
} ig_promotion;

// How an autocast region casts the floating-point operands. In-place and out forms are not cast.
typedef enum ig_autocast_policy {
  IG_AUTOCAST_NONE,
  IG_AUTOCAST_LOWER,       // to the dtype of the region
  IG_AUTOCAST_F32,         // to float32
  IG_AUTOCAST_F32_DEVICE,  // to float32, but not on the CPU
  IG_AUTOCAST_WIDEST,      // to the widest among them
} ig_autocast_policy;

// Operators that only check: they have no result, and can be removed without changing the results
// of a program.
typedef enum ig_check {
  IG_CHECK_NONE,
  IG_CHECK_TENSOR,      // a tensor of one element is true
  IG_CHECK_SCALAR,      // a symbolic truth value holds
  IG_CHECK_METADATA,    // sizes, strides and dtype of a tensor
  IG_CHECK_RANGE,       // a symbolic integer lies in a range
  IG_CHECK_SIZE_RANGE,  // the same, and it may be a size
} ig_check;

// One call of a view operator: the arguments after the viewed tensor, and the index of the result.
typedef struct ig_view_call {
  const ig_op *op;
  const ig_value *args;
  size_t index;
} ig_view_call;
// `base` with `part` scattered into the viewed elements; NULL after an error.
typedef ig_tensor *ig_invert_fn(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part);

// What a call does with quantized operands.
typedef enum ig_quant {
  IG_QUANT_REFUSE,    // nothing: it is an error; compositions leave it to their parts
  IG_QUANT_OWN,       // the record's own functions take them
  IG_QUANT_SAME,      // elements only move: computed on the integers, results are quantized alike
  IG_QUANT_FLOAT,     // computed on numbers, the result is quantized with the operand's parameters
  IG_QUANT_UNSCALED,  // the same for linear operators: computed on the centred integers
  IG_QUANT_UNIT,      // like FLOAT, with parameters for [0, 1]
  IG_QUANT_SIGNED,    // the same for [-1, 1]
  IG_QUANT_PLAIN,     // computed on numbers, the results are not quantized
} ig_quant;

struct ig_quantizer;
// Views of a tensor with one scale per channel: the quantizer of the result; NULL after an error.
typedef struct ig_quantizer *ig_channels_fn(ig_ctx *c, const ig_value *args, const ig_tensor *out);

typedef struct ig_op_def {
  const char *schema;
  ig_shape_fn *shape;  // optional for composites, whose decomposition determines shapes
  ig_shapes_fn *shapes;
  // Pointwise: one function per compute dtype. A dtype without its own function uses the next wider
  // one of its kind (f16, bf16 -> f32; small integers -> i64; c64 -> c128; bool only its own) with
  // conversion of every tile.
  ig_tile_fn *tile[IG_DTYPE_COUNT];
  ig_kernel_fn *kernel;
  ig_prepare_fn *prepare;  // instead of kernel, with run
  ig_run_fn *run;
  ig_pack_fn *pack;  // optional, with run
  unsigned packs;    // bit mask of arguments
  ig_decompose_fn *decompose;
  ig_decompose_outs_fn *decompose_outs;
  // PyTorch's decomposition of the operator in programs, where it differs from the formula of eager
  // calls (a Python implementation there, or a slower one).
  ig_decompose_fn *lower;
  ig_decompose_outs_fn *lower_outs;
  // For results that are not tensors, or whose shape depends on the data: the results of a fake
  // call. The kernel then allocates its results itself (ig_tensor_make); there is no shape rule.
  ig_kernel_fn *fake;
  ig_vjp_fn *vjp;
  const char *keep;  // names of arguments and "result" whose data .vjp reads, "self, result";
                     // NULL: all; "": none. result0, result1 name one of several
  // Bit mask of the differentiable results, like PyTorch's output_differentiability; 0: all whose
  // dtype allows it.
  unsigned diff_results;
  // Bit mask of arguments that it may write although the schema does not say so.
  unsigned writes_too;
  unsigned operands;  // tile: leading arguments that are broadcast; 0: the leading Tensor arguments
  unsigned masks;     // tile: leading operands that stay bool
  ig_promotion promote;
  bool view;  // the shape rule is the whole operator
  bool
      alias_out;  // kernel: outs[0] may be args[0] itself, of any strides (in-place without a copy)
  bool takes_no_memory;  // kernel: may be called where a prepared one is run
  bool random;           // not a function of its operands: never computed ahead, no values compared
  bool numbers;          // Tensor slots take plain numbers, for users all but the first
  // Python gives numbers to the Tensor overload: overloads with a Scalar operand are not tried.
  bool numbers_to_tensor;
  // Results have no history, whatever the decomposition has.
  bool not_differentiable;
  // The in-place form has no derivative, although the functional one has.
  bool inplace_not_differentiable;
  // Name of the in-place form's function in histories, if it is not made from the operator's name.
  const char *inplace_history;
  bool detaches;          // what it gives is cut off from the history of its operand
  bool fresh;             // the result is nobody's view, although it shows the operand's memory
  bool may_alias;         // the result may be an operand, although the schema does not say so
  bool converts;          // x.to(...): the operand itself when nothing changes
  bool resizes;           // in-place: self gets other sizes
  bool view_copy;         // a copy of what a view shows; histories name it after the view
  bool looks_at_strides;  // of its symbolic operands, which leaves guards as in PyTorch
  ig_autocast_policy autocast;
  ig_quant quantized;
  ig_decompose_outs_fn *on_quantized;       // a formula instead, for calls with quantized operands
  ig_decompose_outs_fn *inplace_quantized;  // the same for the in-place form
  ig_channels_fn *channels;
  ig_check check;
  ig_invert_fn *invert;  // views: how a changed view is scattered into its base
  // In-place records that are not derived: the operator that computes what they write, "ns::name".
  const char *functional;
  // Operators on lists of tensors: the operator that each element goes through, "ns::name".
  // In-place and out forms call its forms. There is nothing else to write (op/each.c).
  const char *each;
  int order;            // overloads with a lower one are tried first; then by id
  int variant;          // for families that share functions
  const char *samples;  // "f32[3,5], 2 | f32[4,2].T, key=[0,1]"; see docs/operators.md
  const char *waive;  // "decompose: reason": checks that the contract test waives; no other effect
} ig_op_def;

#define IG_OP(id)                     \
  extern const ig_op_def ig_def_##id; \
  const ig_op_def ig_def_##id

typedef enum ig_form { IG_FORM_PLAIN, IG_FORM_INPLACE, IG_FORM_OUT } ig_form;

// Properties of an operator from src/op/aten.tsv.
enum {
  IG_FACT_IMPLICIT = 1,  // CompositeImplicitAutograd: decomposed by default
  IG_FACT_CORE = 2,      // Core ATen
  IG_FACT_DECOMP = 4,    // decomposed by run_decompositions()
  IG_FACT_VIEW = 8,
  IG_FACT_TRACED = 16,          // taken apart in every program, whatever the table
  IG_FACT_SEEDED = 32,          // draws from a generator, at least for some arguments
  IG_FACT_NO_DERIVATIVE = 64,   // results have a history that refuses to run backward
  IG_FACT_NN = 128,             // PyTorch binds it for torch.nn.functional alone (torch._C._nn)
  IG_FACT_PYTHON_METHOD = 256,  // PyTorch writes the method of Tensor in Python
  IG_FACT_STRUCTURED = 4096,    // PyTorch has one kernel for it and its out form, under that name
  IG_FACT_FUNCTION = 8192,      // PyTorch has a function torch.NAME
};

struct ig_op {
  const ig_op_def *def;
  const char *id;
  const char *target;  // "aten.add.Tensor"
  ig_schema schema;
  ig_form form;
  atomic_uint facts;        // a custom operator gets its implementations later
  unsigned number;          // position in the library; custom operators follow
  int backward;             // number of its autograd function: SumBackward1
  struct ig_user_op *user;  // NULL: built in
  const ig_op *base;        // in-place, out: the functional operator it is derived from
  const ig_op *inplace;
  const ig_op *out;
  const ig_op *each;            // what .each names, in the form of this operator
  _Atomic(const ig_op *) next;  // next overload of the same name
  size_t operands;
  uint64_t keep;          // bit mask of the arguments that .vjp reads
  uint32_t keep_outs;     // bit mask of results
  atomic_bool composite;  // eager calls run the decomposition
  bool pointwise;
  bool has_tensor_list;  // some argument is Tensor[] or Tensor?[]
};

typedef struct ig_lib {
  ig_arena arena;
  ig_map by_name;  // "aten::add" -> first overload
  ig_op *ops;      // records in order of ids (the numbers of ingot/aten.h), then derived ones
  size_t n;
} ig_lib;

const ig_lib *ig_lib_get(ig_ctx *c);  // Loaded on first use, once per process; NULL after an error.
const ig_op *ig_lib_overloads(ig_ctx *c, const char *ns, const char *name);  // NULL: unknown

static inline bool ig_op_is_composite(const ig_op *op) {
  return op->composite;
}
static inline bool ig_op_has_decomposition(const ig_op *op) {
  return op->def->decompose || op->def->decompose_outs || op->def->each ||
         (op->user && op->composite);
}
static inline bool ig_op_has_lowering(const ig_op *op) {
  return op->def->lower || op->def->lower_outs || ig_op_has_decomposition(op);
}
static inline bool ig_op_has_kernel(const ig_op *op) {
  return op->def->kernel || op->def->run;
}
// Can its calls be prepared: is nothing allocated between preparing and the end of the run?
static inline bool ig_op_is_prepared(const ig_op *op) {
  const ig_op_def *d = op->def;
  return d->run || (d->kernel && d->takes_no_memory) || (op->pointwise && !d->kernel);
}
// Runs the decomposition, whichever form it has.
void ig_op_decompose(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// The same for programs: the lowering if there is one.
void ig_op_lower(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// May two calls with the same operands give different results?
static inline bool ig_op_is_random(const ig_op *op) {
  return op->def->random || op->facts & IG_FACT_SEEDED;
}
static inline bool ig_op_is_check(const ig_op *op) {
  return op->def->check != IG_CHECK_NONE;
}
// Does it change the sizes, strides or offset of its operand itself? squeeze_, resize_.
static inline bool ig_op_reshapes(const ig_op *op) {
  return op->form == IG_FORM_INPLACE && (op->def->resizes || (op->base && op->def->view));
}
// Overloads that are never chosen by name, because numbers go to the Tensor overload.
static inline bool ig_op_is_hidden(const ig_op *op) {
  return op->def->numbers_to_tensor && op->schema.npos > 1 &&
         op->schema.args[1].type == IG_TYPE_SCALAR;
}

// Does Tensor argument i accept a plain number?
static inline bool ig_op_takes_number(const ig_op *op, size_t i) {
  return i < op->operands && op->def->numbers && !op->schema.args[i].written;
}

// Does a value from the host match argument i? Numbers may be passed for tensors where PyTorch
// allows that.
bool ig_op_fits(const ig_op *op, size_t i, const ig_value *v);

// The tile for a compute dtype and the dtype that it works in; NULL: PyTorch has none either.
ig_tile_fn *ig_op_tile(const ig_op *op, ig_dtype dtype, ig_dtype *works_in);

// Message about one argument: "aten.mm.default: argument 'mat2': found ..., expected ... (f.c:3)"
#define IG_FAIL_ARG(c, op, i, st, fmt, ...) \
  ig_fail((c), (st), "argument '%s': " fmt, (op)->schema.args[i].name, __VA_ARGS__)

#endif
