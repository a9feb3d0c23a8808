// SPDX-License-Identifier: Apache-2.0
// Objects of the library's own classes, which scripts and Python only pass on: the parameters of a
// quantized layer, packed for its kernels, or those of a layer in a model for phones. They are
// immutable and reference-counted.
//
// A state is what files contain of such an object: plain values in PyTorch's layout, from which the
// object can be made again.
#ifndef OP_NATIVE_H_
#define OP_NATIVE_H_

#include "base/ctx.h"
#include "ingot/tensor.h"
#include "kernels/qgemm.h"

// X(name, qualified name, type of its state as scripts write it)
#define IG_CLASS_LIST(X)                                                            \
  X(LINEAR, "__torch__.torch.classes.quantized.LinearPackedParamsBase",             \
    "Tuple[Tensor, Optional[Tensor]]")                                              \
  X(CONV2D, "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",             \
    "Tuple[str, List[Tensor], List[Optional[Tensor]]]")                             \
  X(CONV3D, "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",             \
    "Tuple[str, List[Tensor], List[Optional[Tensor]]]")                             \
  X(EMBEDDING, "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase",       \
    "Tuple[int, List[Tensor], List[float], List[int]]")                             \
  X(CELL, "__torch__.torch.classes.rnn.CellParamsBase",                             \
    "Tuple[str, List[Tensor], List[float], List[int], "                             \
    "List[__torch__.torch.classes.quantized.LinearPackedParamsBase]]")              \
  X(CLAMPED_LINEAR, "__torch__.torch.classes.xnnpack.LinearOpContext",              \
    "Tuple[Tensor, Optional[Tensor], Optional[Scalar], Optional[Scalar]]")          \
  X(CLAMPED_CONV, "__torch__.torch.classes.xnnpack.Conv2dOpContext",                \
    "Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], int, "        \
    "Optional[Scalar], Optional[Scalar]]")                                          \
  X(CLAMPED_TRANSPOSED, "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext", \
    "Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], "             \
    "List[int], int, Optional[Scalar], Optional[Scalar]]")

typedef enum ig_class {
  IG_CLASS_NONE,
#define X(name, text, state) IG_CLASS_##name,
  IG_CLASS_LIST(X)
#undef X
      IG_CLASS_COUNT
} ig_class;

struct ig_native {
  ig_ref ref;
  ig_alloc alloc;
  ig_class cls;
};

// Weight and bias of a linear layer, a convolution or an embedding, or the parts of a recurrent
// cell.
typedef struct ig_packed {
  ig_native head;
  ig_tensor *weight;  // quantized, dense; float16 products: float32
  ig_tensor *bias;    // float32 or NULL
  bool half;          // a linear layer whose weight is rounded to float16
  int nd;             // spatial dimensions of a convolution
  int64_t stride[3];
  int64_t padding[3];
  int64_t output_padding[3];
  int64_t dilation[3];
  int64_t groups;
  bool transpose;
  int64_t n;               // rows of a packed group
  int64_t k;               // elements of such a row
  ig_qweight **ready;      // one per group; NULL: float16, or each channel by itself
  int16_t *depth;          // each channel by itself: centred weights, as ig_qdepth_pack orders them
  int32_t *depth_sums;     // the sum of each channel's weights
  float *scales;           // of the outputs, n * groups
  struct ig_packed *w_ih;  // cells
  struct ig_packed *w_hh;
  ig_tensor *b_ih;
  ig_tensor *b_hh;
  bool reduce_range;
} ig_packed;

// A layer of floats whose results are clamped, as torch.utils.mobile_optimizer writes it.
enum { IG_CLAMPED_LISTS = 4 };
typedef struct ig_clamped {
  ig_native head;
  ig_tensor *weight;
  ig_tensor *bias;                    // or NULL
  ig_int lists[IG_CLAMPED_LISTS][2];  // stride, padding, [output padding,] dilation
  ig_int groups;
  ig_value bounds[2];  // numbers or none
} ig_clamped;

enum { IG_PACKED_TAPS = 512 };  // most of a convolution of each channel by itself

ig_class ig_class_find(const char *name, size_t n);  // by qualified name; IG_CLASS_NONE
const char *ig_class_text(ig_class cls);
const char *ig_class_state_type(ig_class cls);

// All of these give an object that the innermost scope owns; NULL after an error. The tensors are
// retained.
ig_packed *ig_packed_linear(ig_ctx *c, ig_tensor *weight, ig_tensor *bias);
ig_packed *ig_packed_linear_half(ig_ctx *c, ig_tensor *weight, ig_tensor *bias);
typedef struct ig_packed_conv {
  int nd;
  const int64_t *stride;
  const int64_t *padding;
  const int64_t *output_padding;  // NULL: zeros
  const int64_t *dilation;
  int64_t groups;
  bool transpose;
} ig_packed_conv;
ig_packed *ig_packed_convolution(ig_ctx *c, ig_tensor *weight, ig_tensor *bias,
                                 const ig_packed_conv *how);
ig_packed *ig_packed_embedding(ig_ctx *c, ig_tensor *weight);
ig_packed *ig_packed_cell(ig_ctx *c, ig_packed *w_ih, ig_packed *w_hh, ig_tensor *b_ih,
                          ig_tensor *b_hh, bool reduce_range);

// given: the parts of the state, which are the arguments of the operator that packs.
ig_clamped *ig_clamped_make(ig_ctx *c, ig_class cls, const ig_value *given);
size_t ig_clamped_parts(ig_class cls);  // 0: another class
ig_value ig_clamped_state(ig_ctx *c, const ig_clamped *p);

// The state as a value that the innermost scope owns, and back.
ig_value ig_native_state(ig_ctx *c, const ig_native *o);
ig_native *ig_native_from_state(ig_ctx *c, ig_class cls, const ig_value *state);

static inline ig_clamped *ig_clamped_of(const ig_value *v) {
  return v->kind == IG_KIND_NATIVE ? (ig_clamped *)v->native : NULL;
}
static inline ig_packed *ig_packed_of(const ig_value *v) {
  return v->kind == IG_KIND_NATIVE ? (ig_packed *)v->native : NULL;
}

#endif
