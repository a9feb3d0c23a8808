// SPDX-License-Identifier: Apache-2.0
// Tensors, symbolic integers and values.
//
// A function that returns an ig_tensor * returns a reference owned by the innermost open scope;
// ig_tensor_retain makes it outlive the scope, ig_tensor_release drops that reference. Tensors may
// be shared between threads for reading; reference counts are atomic.
#ifndef INGOT_TENSOR_H_
#define INGOT_TENSOR_H_

#include <stdbool.h>
#include <stdint.h>

#include "ingot/ctx.h"

IG_BEGIN_DECLS

// The limit of PyTorch's own iterators.
#define IG_MAX_DIM 64

// X(name, C type of an element, text, short text used in samples)
#define IG_DTYPE_LIST(X)                            \
  X(BOOL, bool, "bool", "bool")                     \
  X(U8, uint8_t, "uint8", "u8")                     \
  X(I8, int8_t, "int8", "i8")                       \
  X(I16, int16_t, "int16", "i16")                   \
  X(I32, int32_t, "int32", "i32")                   \
  X(I64, int64_t, "int64", "i64")                   \
  X(U16, uint16_t, "uint16", "u16")                 \
  X(U32, uint32_t, "uint32", "u32")                 \
  X(U64, uint64_t, "uint64", "u64")                 \
  X(F16, uint16_t, "float16", "f16")                \
  X(BF16, uint16_t, "bfloat16", "bf16")             \
  X(F32, float, "float32", "f32")                   \
  X(F64, double, "float64", "f64")                  \
  X(C64, ig_c64, "complex64", "c64")                \
  X(C128, ig_c128, "complex128", "c128")            \
  X(F8E4M3FN, uint8_t, "float8_e4m3fn", "f8e4m3fn") \
  X(F8E5M2, uint8_t, "float8_e5m2", "f8e5m2")       \
  X(QI8, int8_t, "qint8", "qi8")                    \
  X(QU8, uint8_t, "quint8", "qu8")                  \
  X(QI32, int32_t, "qint32", "qi32")

typedef struct ig_c64 {
  float re;
  float im;
} ig_c64;

typedef struct ig_c128 {
  double re;
  double im;
} ig_c128;

typedef enum ig_dtype {
#define X(name, type, text, brief) IG_##name,
  IG_DTYPE_LIST(X)
#undef X
      IG_DTYPE_COUNT
} ig_dtype;

// Only cpu has memory; meta never has data; the others are nominal devices of fake tensors. X(name,
// text)
#define IG_DEVICE_LIST(X) \
  X(CPU, "cpu")           \
  X(META, "meta")         \
  X(CUDA, "cuda")         \
  X(MPS, "mps")           \
  X(XPU, "xpu")           \
  X(XLA, "xla")           \
  X(HPU, "hpu")           \
  X(MTIA, "mtia")         \
  X(PRIVATE, "privateuseone")

typedef enum ig_device_type {
#define X(name, text) IG_DEVICE_##name,
  IG_DEVICE_LIST(X)
#undef X
      IG_DEVICE_COUNT
} ig_device_type;

typedef struct ig_device {
  int16_t type;   // ig_device_type
  int16_t index;  // -1: none given
} ig_device;

typedef enum ig_layout { IG_STRIDED, IG_SPARSE_COO, IG_LAYOUT_COUNT } ig_layout;

typedef enum ig_memory_format {
  IG_CONTIGUOUS,
  IG_PRESERVE,
  IG_CHANNELS_LAST,
  IG_CHANNELS_LAST_3D,
  IG_MEMORY_FORMAT_COUNT
} ig_memory_format;

typedef struct ig_tensor ig_tensor;
typedef struct ig_expr ig_expr;
typedef struct ig_origin ig_origin;
typedef struct ig_node ig_node;
typedef struct ig_generator ig_generator;
typedef struct ig_op ig_op;
typedef struct ig_graph ig_graph;
typedef struct ig_native ig_native;

// An integer that may be symbolic. expr NULL: the constant `value`. Otherwise `value` is the
// hint, meaningless when the expression contains an unbacked symbol. Equal numbers of a captured
// program may come from different places, say the sizes of two inputs; `origin` tells them apart.
// NULL: any number of that value will do.
typedef struct ig_int {
  int64_t value;
  const ig_expr *expr;
  const ig_origin *origin;
} ig_int;

typedef struct ig_value ig_value;

typedef enum ig_kind {
  IG_KIND_NONE,
  IG_KIND_TENSOR,
  IG_KIND_INT,
  IG_KIND_FLOAT,
  IG_KIND_BOOL,
  IG_KIND_COMPLEX,
  IG_KIND_STR,
  IG_KIND_DTYPE,
  IG_KIND_DEVICE,
  IG_KIND_LAYOUT,
  IG_KIND_MEMORY_FORMAT,
  IG_KIND_GENERATOR,
  IG_KIND_INTS,    // list of integers, unboxed
  IG_KIND_LIST,    // list of values: tensors, optional tensors, floats, bools ...
  IG_KIND_NODE,    // only inside graphs
  IG_KIND_OBJECT,  // opaque object of the host language
  IG_KIND_OP,      // an operator as an argument
  IG_KIND_GRAPH,   // a sub-graph as an argument, while a graph runs
  IG_KIND_NATIVE,  // an object of one of the library's own classes: packed parameters
  IG_KIND_COUNT
} ig_kind;

// What a LIST is in the host's language. The elements are stored in the same way for every form, so
// that only printers and hosts need to distinguish them.
typedef enum ig_seq {
  IG_SEQ_LIST,   // [a, b]
  IG_SEQ_TUPLE,  // (a, b)
  IG_SEQ_DICT,   // {a: b, c: d}: keys and values alternate
  IG_SEQ_SLICE,  // slice(a, b, c): three elements
} ig_seq;

// Arguments and results of operators. Pointers are borrowed for the duration of a call.
struct ig_value {
  ig_kind kind;
  ig_seq seq;  // of a LIST
  IG_EXTENSION union {
    ig_tensor *tensor;
    ig_int i;
    IG_EXTENSION struct {
      double f;
      const ig_expr *f_expr;  // not NULL: symbolic, f is the hint
    };
    IG_EXTENSION struct {
      bool b;
      const ig_expr *b_expr;  // not NULL: symbolic, b is the hint
    };
    ig_c128 z;
    const char *str;
    ig_dtype dtype;
    ig_device device;
    ig_layout layout;
    ig_memory_format memory_format;
    ig_generator *generator;
    ig_node *node;
    void *object;
    const ig_op *op;
    ig_graph *graph;
    ig_native *native;
    struct {
      const ig_int *at;
      size_t n;
    } ints;
    struct {
      const ig_value *at;
      size_t n;
    } list;
  };
};

// These functions are C99 and C++: without compound literals and designated initializers.
static inline ig_int ig_const(int64_t value) {
  ig_int i = {value, NULL, NULL};
  return i;
}
static inline ig_value ig_of_kind(ig_kind kind) {
  ig_value v = {kind, IG_SEQ_LIST, {NULL}};
  return v;
}
static inline ig_value ig_none(void) {
  return ig_of_kind(IG_KIND_NONE);
}
static inline ig_value ig_of_tensor(ig_tensor *t) {
  ig_value v = ig_of_kind(t ? IG_KIND_TENSOR : IG_KIND_NONE);
  v.tensor = t;
  return v;
}
static inline ig_value ig_of_int(ig_int i) {
  ig_value v = ig_of_kind(IG_KIND_INT);
  v.i = i;
  return v;
}
static inline ig_value ig_of_i64(int64_t i) {
  return ig_of_int(ig_const(i));
}
static inline ig_value ig_of_f64(double f) {
  ig_value v = ig_of_kind(IG_KIND_FLOAT);
  v.f = f;
  v.f_expr = NULL;
  return v;
}
static inline ig_value ig_of_bool(bool b) {
  ig_value v = ig_of_kind(IG_KIND_BOOL);
  v.b = b;
  v.b_expr = NULL;
  return v;
}
static inline ig_value ig_of_complex(double re, double im) {
  ig_value v = ig_of_kind(IG_KIND_COMPLEX);
  v.z.re = re;
  v.z.im = im;
  return v;
}
static inline ig_value ig_of_str(const char *s) {
  ig_value v = ig_of_kind(IG_KIND_STR);
  v.str = s;
  return v;
}
static inline ig_value ig_of_dtype(ig_dtype d) {
  ig_value v = ig_of_kind(IG_KIND_DTYPE);
  v.dtype = d;
  return v;
}
static inline ig_value ig_of_device(ig_device d) {
  ig_value v = ig_of_kind(IG_KIND_DEVICE);
  v.device = d;
  return v;
}
static inline ig_value ig_of_memory_format(ig_memory_format f) {
  ig_value v = ig_of_kind(IG_KIND_MEMORY_FORMAT);
  v.memory_format = f;
  return v;
}
static inline ig_value ig_of_ints(const ig_int *at, size_t n) {
  ig_value v = ig_of_kind(IG_KIND_INTS);
  v.ints.at = at;
  v.ints.n = n;
  return v;
}
static inline ig_value ig_of_list(const ig_value *at, size_t n) {
  ig_value v = ig_of_kind(IG_KIND_LIST);
  v.list.at = at;
  v.list.n = n;
  return v;
}
static inline ig_value ig_of_tuple(const ig_value *at, size_t n) {
  ig_value v = ig_of_list(at, n);
  v.seq = IG_SEQ_TUPLE;
  return v;
}
static inline ig_value ig_of_op(const ig_op *op) {
  ig_value v = ig_of_kind(IG_KIND_OP);
  v.op = op;
  return v;
}
static inline ig_value ig_of_native(ig_native *o) {
  ig_value v = ig_of_kind(o ? IG_KIND_NATIVE : IG_KIND_NONE);
  v.native = o;
  return v;
}
static inline ig_value ig_of_graph(ig_graph *g) {
  ig_value v = ig_of_kind(IG_KIND_GRAPH);
  v.graph = g;
  return v;
}

IG_API const char *ig_dtype_text(ig_dtype d);  // "float32"; "tensor" for IG_DTYPE_COUNT: any
IG_API size_t ig_dtype_size(ig_dtype d);       // bytes of an element
IG_API bool ig_dtype_is_float(ig_dtype d);     // real floating point, 8 to 64 bits
IG_API bool ig_dtype_is_complex(ig_dtype d);
IG_API bool ig_dtype_is_integral(ig_dtype d);           // integers, not bool
IG_API bool ig_dtype_is_quantized(ig_dtype d);          // qint8, quint8, qint32
IG_API ig_dtype ig_dtype_carrier(ig_dtype d);           // integers of a quantized dtype; d itself
IG_API ig_dtype ig_dtype_find(const char *text);        // by name; IG_DTYPE_COUNT: unknown
IG_API ig_dtype ig_ctx_default_dtype(const ig_ctx *c);  // float32 unless set
IG_API void ig_ctx_set_default_dtype(ig_ctx *c, ig_dtype d);

static inline ig_device ig_device_cpu(void) {
  ig_device d = {IG_DEVICE_CPU, -1};
  return d;
}
IG_API bool ig_device_parse(const char *text, ig_device *out);  // "cpu", "cuda:0"
IG_API const char *ig_device_type_text(ig_device d);            // "cuda"

// Uninitialized, contiguous, real. IG_RUNTIME: negative size or too many dimensions.
IG_API ig_tensor *ig_tensor_empty(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim);

// Wraps external memory without copying; strides in elements, NULL: contiguous. `bytes` is the size
// of the block; the tensor must fit. free_fn(user) is called when the last view is freed, and also
// if this call fails. free_fn may be NULL.
typedef struct ig_foreign {
  void *data;
  size_t bytes;
  const int64_t *strides;
  void (*free_fn)(void *user);
  void *user;
} ig_foreign;
IG_API ig_tensor *ig_tensor_wrap(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim,
                                 const ig_foreign *memory);

IG_API ig_tensor *ig_tensor_retain(ig_tensor *t);
IG_API void ig_tensor_release(ig_tensor *t);  // NULL is allowed.

// Closes the scope and passes t to the enclosing one.
IG_API ig_tensor *ig_scope_return(ig_ctx *c, ig_scope s, ig_tensor *t);

IG_API bool ig_tensor_is_fake(
    const ig_tensor *t);  // without data: fake or on a device without memory
IG_API ig_dtype ig_tensor_dtype(const ig_tensor *t);
IG_API ig_device ig_tensor_device(const ig_tensor *t);
IG_API int ig_tensor_ndim(const ig_tensor *t);
IG_API ig_int ig_tensor_size(const ig_tensor *t, int dim);
IG_API ig_int ig_tensor_stride(const ig_tensor *t, int dim);
IG_API int64_t ig_tensor_numel(const ig_tensor *t);             // Hints if symbolic.
IG_API void *ig_tensor_data(const ig_tensor *t);                // First element; NULL when fake.
IG_API double ig_tensor_get(const ig_tensor *t, int64_t flat);  // Real part, in row-major order.
IG_API bool ig_tensor_is_dense(const ig_tensor *t);             // Row-major without gaps.
IG_API uint32_t ig_tensor_version(
    const ig_tensor *t);  // Version counter: the number of in-place writes to its memory.
IG_API void ig_tensor_set_requires_grad(ig_ctx *c, ig_tensor *t, bool on);
IG_API bool ig_tensor_requires_grad(const ig_tensor *t);

IG_END_DECLS

#endif
