// SPDX-License-Identifier: Apache-2.0
// Layers in a plan: a convolution with constant weights and the operators behind it as one step,
// and the changes of layout around such steps (kernels/layer.h).
//
// A value in blocks is an ordinary tensor of its own, [images, blocks, pixels, lanes], so that the
// memory plan, chains and kernels that work element by element need not know about layouts.
#ifndef RT_LAYER_H_
#define RT_LAYER_H_

#include "kernels/attention.h"
#include "rt/binding.h"
#include "rt/packs.h"

typedef enum ig_rt_work {
  IG_WORK_LAYER,
  IG_WORK_TO_BLOCKS,    // x is plain, y in blocks
  IG_WORK_FROM_BLOCKS,  // the reverse
  IG_WORK_ATTENTION,
} ig_rt_work;

enum { IG_LAYER_OPS = 8 };

// The largest error of a Winograd form that plans accept (ig_layer_options.rtol): so that results
// of deep nets, where errors add up, stay within 1e-4.
#define IG_RT_WINOGRAD 3e-5

struct ig_rt_layer {
  ig_rt_work work;
  ig_conv shape;                 // TO and FROM_BLOCKS: n, cin and in alone
  ig_int in[3];                  // sizes of the images of a convolution, which its tensors do not
  ig_int out[3];                 // show: in blocks there are only pixels
  ig_attention_shape attention;  // IG_WORK_ATTENTION, whose queries are x
  ig_tensor *x;
  ig_tensor *y;
  ig_tensor *residual;  // NULL: none
  ig_tensor *keys;      // IG_WORK_ATTENTION
  ig_tensor *values;    //
  ig_tensor *mask;      // NULL: none
  ig_act act;
  float lo;  // IG_ACT_CLAMP
  float hi;
  ig_pack_source source;
  const ig_pack *pack;             // given back with the binding
  const ig_need *need;             // of the current frame
  const ig_op *ops[IG_LAYER_OPS];  // what it computes, in order
  size_t nops;
};

// What operators mean to layers: a table, so that no other place knows operators.
typedef enum ig_role {
  IG_ROLE_NONE,
  IG_ROLE_CONVOLUTION,
  IG_ROLE_PRODUCT,  // of rows and a matrix
  IG_ROLE_NORM,     // batch norm with given statistics
  IG_ROLE_ADD,      // self + alpha * other
  IG_ROLE_ACT,      // an activation that layers have
  IG_ROLE_WINDOWS,  // pooling: works on planes whose channels lie innermost
  IG_ROLE_MEAN,     // over dimensions that are an argument
  IG_ROLE_CAT,
  IG_ROLE_TIMES,  // parts of formulas
  IG_ROLE_OVER,
  IG_ROLE_POWER,
  IG_ROLE_ERF,
  IG_ROLE_TANH,
  IG_ROLE_SIGMOID,
  IG_ROLE_MATRICES,  // products of matrices, one by one
  IG_ROLE_SOFTMAX,
  IG_ROLE_COPY,
} ig_role;

typedef struct ig_role_facts {
  unsigned id;
  ig_role role;
  ig_act act;
  float lo;
  float hi;
  int lo_arg;        // IG_ACT_CLAMP: arguments with the bounds; 0: lo and hi are meant
  int hi_arg;        //
  const char *text;  // not NULL: the row is for calls whose argument 1 is this text
  unsigned spare;    // bit mask of results that need not be computed
  int x;             // IG_ROLE_PRODUCT: arguments
  int w;
  int bias;     // -1: none
  int beta;     // factor of the bias; 0: none
  int alpha;    // factor of the product; 0: none
  bool across;  // w is [in, out], not [out, in]
} ig_role_facts;
const ig_role_facts *ig_role_of(const ig_op *op);  // never NULL
const ig_role_facts *ig_role_of_call(const ig_op *op, const ig_value *args);

// Elements of a dense f32 tensor of at least two dimensions as images, channels and pixels.
typedef struct ig_rt_image {
  ig_int n;
  int64_t channels;
  ig_int pixels;
} ig_rt_image;
bool ig_rt_image_of(ig_ctx *c, const ig_tensor *t, ig_rt_image *out);

// The memory of t seen otherwise, held by the binding; strides NULL: dense. NULL after an error.
ig_tensor *ig_rt_view(ig_binding *b, ig_tensor *t, const ig_int *sizes, const ig_int *strides,
                      int n);

// Who reads a buffer.
typedef struct ig_rt_use {
  size_t count;  // operands
  size_t step;   // the last one
} ig_rt_use;
// One per buffer, in the innermost scope; NULL after an error.
ig_rt_use *ig_rt_count_uses(const ig_binding *b);

// Constant numbers that layers can take in.
bool ig_rt_is_weight(const ig_binding *b, const ig_value *v);
// One number per channel.
bool ig_rt_is_bias(const ig_binding *b, const ig_value *v, int64_t channels);
// Layers of rows: is the step one? Then l is set up. False also after an error.
bool ig_rt_starts_rows(ig_binding *b, const ig_rt_step *s, ig_rt_layer *l);
// By what a linear layer with narrow weights is known: its matrix alone.
ig_pack_source ig_rt_narrow_source(const ig_rt_layer *l);
// Has t the elements of the layer's result, in their order?
bool ig_rt_fits_layer(ig_ctx *c, const ig_rt_layer *l, const ig_tensor *t);

// ---- the passes, in this order; false after an error
bool ig_rt_find_forms(ig_binding *b);   // formulas become the operators that they compute
bool ig_rt_fold_layers(ig_binding *b);  // convolutions and what can be part of them become layers
bool ig_rt_lay_out(ig_binding *b);      // values between layers stay in blocks
double ig_layer_flops(const ig_rt_layer *l);

#endif
