// SPDX-License-Identifier: Apache-2.0
// Tensor = dtype, sizes, strides, offset over a reference-counted storage. Every tensor has a
// storage; that of a fake tensor has identity but no data.
#ifndef TENSOR_TENSOR_H_
#define TENSOR_TENSOR_H_

#include "ingot/tensor.h"
#include "mode/mode.h"
#include "sym/expr.h"

typedef struct ig_storage {
  ig_ref ref;
  ig_alloc alloc;
  void *data;           // NULL when fake
  size_t bytes;         // capacity of data
  size_t block;         // size of this allocation: header, and the data if it follows
  atomic_uint version;  // in-place writes so far
  bool fake;
  bool resizable;          // owned memory: resize_ may replace data
  bool behind;             // fake for now: the data is there, but recorded writes are not done yet
  struct ig_defer *defer;  // not NULL: its elements are computed when this recording ends
  void (*free_fn)(void *user);
  void *user;
} ig_storage;

// The result of a shape rule: everything about a tensor except its data. Not completely zeroed:
// only the first ndim sizes and strides are valid. Use ig_meta_init.
typedef struct ig_meta {
  ig_dtype dtype;
  int ndim;
  ig_device device;
  bool strided;                    // strides and offset are set; otherwise contiguous
  bool absent;                     // a missing optional result
  ig_tensor *view_of;              // shares this tensor's storage; NULL: fresh memory
  struct ig_quantizer *quantizer;  // of quantized dtypes, borrowed; see tensor/quantizer.h
  ig_int offset;
  ig_int size[IG_MAX_DIM];
  ig_int stride[IG_MAX_DIM];
} ig_meta;

struct ig_tensor {
  ig_ref ref;
  ig_alloc alloc;
  ig_storage *storage;
  ig_dtype dtype;
  int ndim;
  ig_device device;
  bool requires_grad;  // a leaf that requires grad, or a result with history
  bool inference;      // made in inference mode
  bool untracked;      // .data: writes through it do not increment the version
  bool numberlike;     // wraps a Python number: promotes like one
  bool owns_host;      // the object of the host lives as long as the tensor, not the reverse
  ig_int offset;
  struct ig_autograd *autograd;  // history, gradient, hooks, view relation; NULL: none (op/tape.h)
  struct ig_quantizer *quantizer;  // exactly if the dtype is quantized; see tensor/quantizer.h
  struct ig_node *node;            // node of the open capture that made it
  struct ig_defer *defer;  // not NULL: computed when this recording ends, see capture/defer.h
  void *host;              // object of the host language for it
  const ig_intercept *intercept;  // not NULL: answers calls with this operand (op/intercept.h)
  const struct ig_expr *read;     // fake: symbol of its only element, read at
  uint32_t read_version;          // this version
  uint32_t known_version;         // version of the storage at which `known` holds
  ig_tensor *known;               // fake: a real tensor with its only element (op/known.h)
  ig_int *dims;      // sizes, then strides: own, or a heap block after growing in place
  size_t own_dims;   // how many ig_int the tensor was made with
  size_t heap_dims;  // length of the heap block, 0: none
  ig_int own[];
};

// The layer above destroys autograd state; set once by it, before the first such tensor exists.
extern void (*ig_autograd_free)(ig_tensor *t);

// Computes what t waits for (t->defer, or that of its storage); false after an error. Set once,
// like the one above.
extern bool (*ig_tensor_settle)(ig_ctx *c, const ig_tensor *t);
static inline bool ig_tensor_waits(const ig_tensor *t) {
  return t->defer || t->storage->defer;
}

static inline const ig_int *ig_sizes(const ig_tensor *t) {
  return t->dims;
}
static inline const ig_int *ig_strides(const ig_tensor *t) {
  return t->dims + t->ndim;
}
static inline bool ig_is_fake(const ig_tensor *t) {
  return t->storage->fake;
}
static inline bool ig_tensor_is_symbolic(const ig_tensor *t) {
  for (int d = 0; d < 2 * t->ndim; d++) {
    if (t->dims[d].expr) return true;
  }
  return t->offset.expr != NULL;
}

static inline void ig_meta_init(ig_meta *m, ig_dtype dtype, ig_device device) {
  m->dtype = dtype;
  m->ndim = 0;
  m->device = device;
  m->strided = false;
  m->absent = false;
  m->view_of = NULL;
  m->quantizer = NULL;
  m->offset = ig_const(0);
}

// Fills strides for a dense row-major layout.
void ig_meta_contiguous(ig_ctx *c, ig_meta *m);
// Fills strides for a memory format: channels last needs 4 (or 5) dimensions, else IG_RUNTIME.
void ig_meta_format(ig_ctx *c, ig_meta *m, ig_memory_format format);
void ig_meta_of(const ig_tensor *t, ig_meta *m);  // same sizes, strides, offset, dtype, device
void ig_meta_view(ig_tensor *t, ig_meta *m);      // the same, sharing t's memory
void ig_meta_push_dim(ig_ctx *c, ig_meta *m, ig_int size);  // IG_RUNTIME beyond IG_MAX_DIM

// Only the CPU has memory, and meta tensors need none. Fake tensors may be on any device.
static inline bool ig_device_is_nominal(ig_device d) {
  return d.type != IG_DEVICE_CPU && d.type != IG_DEVICE_META;
}
// IG_ASSERTION or IG_UNSUPPORTED: PyTorch's message for a device that this machine does not have.
void ig_device_refuse(ig_ctx *c, ig_device d);
// The shape environment of a fake tensor, held by its storage; NULL: none.
ig_sym *ig_tensor_sym(const ig_tensor *t);

// fake: no data even without view_of. The innermost scope owns the result.
ig_tensor *ig_tensor_make(ig_ctx *c, const ig_meta *m, bool fake);

// Another tensor over the same memory, without autograd history; keeps the node.
ig_tensor *ig_tensor_alias(ig_ctx *c, ig_tensor *t);
// A shell: sizes, strides, dtype, device and node of t, but no data, for formulas that only need
// shapes. All shells share one storage.
ig_tensor *ig_tensor_shell(ig_ctx *c, ig_tensor *t);
// The same with its own identity: a fake tensor that may be viewed and modified.
ig_tensor *ig_tensor_fake(ig_ctx *c, ig_tensor *t);

// Changes sizes and strides of t in-place (resize_, set_, squeeze_ ...): returns false after an
// error. The storage must be large enough (checked), t keeps its identity.
bool ig_tensor_reshape_inplace(ig_ctx *c, ig_tensor *t, const ig_meta *m);
bool ig_storage_reserve(ig_ctx *c, ig_storage *s, size_t bytes);  // grows owned memory

static inline void ig_tensor_bump(ig_tensor *t) {
  if (!t->untracked) atomic_fetch_add_explicit(&t->storage->version, 1, memory_order_relaxed);
}

// Layout queries. The symbolic forms use ig_int_eq and may guard.
bool ig_tensor_is_contiguous(ig_ctx *c, const ig_tensor *t);
bool ig_tensor_has_format(ig_ctx *c, const ig_tensor *t, ig_memory_format format);
ig_memory_format ig_tensor_suggest_format(ig_ctx *c,
                                          const ig_tensor *t);  // PyTorch's suggest_memory_format
bool ig_tensor_is_dense_permuted(const ig_tensor *t);  // non-overlapping and dense, by hints

// Overlap of two tensors: none, exactly the same elements in the same order, or partial.
typedef enum ig_overlap { IG_OVERLAP_NONE, IG_OVERLAP_SAME, IG_OVERLAP_PARTIAL } ig_overlap;
ig_overlap ig_tensor_overlap(const ig_tensor *a, const ig_tensor *b);
bool ig_tensor_has_internal_overlap(const ig_tensor *t);  // expanded: several indices, one element

#endif
