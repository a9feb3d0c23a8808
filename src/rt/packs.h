// SPDX-License-Identifier: Apache-2.0
// Weights of layers, packed once and shared: by plans for different sizes, and by the sessions of a
// model in whatever thread. A pack lives as long as some plan uses it.
#ifndef RT_PACKS_H_
#define RT_PACKS_H_

#include "kernels/layer.h"
#include "op/prepare.h"

typedef struct ig_packs ig_packs;

// What a layer's weights are made from. All tensors but the first may be NULL; they are constants.
typedef enum ig_pack_part {
  IG_PACK_WEIGHT,
  IG_PACK_BIAS,
  IG_PACK_GAMMA,  // of a batch norm behind the convolution
  IG_PACK_BETA,
  IG_PACK_MEAN,
  IG_PACK_VAR,
  IG_PACK_SHIFT,  // added last, per channel
  IG_PACK_PARTS,
} ig_pack_part;

typedef struct ig_pack_source {
  ig_tensor *part[IG_PACK_PARTS];
  double eps;     // of the batch norm
  ig_conv shape;  // the sizes that matter most
  ig_layer_options options;
} ig_pack_source;

typedef struct ig_pack {
  struct ig_pack *next;
  size_t users;
  ig_pack_source source;  // tensors retained; the method is the one that was asked for
  int lanes;
  ig_layer *layer;
} ig_pack;

// Weights that were packed by another process: where they are found.
typedef struct ig_pack_stored {
  ig_layer_method method;  // IG_LAYER_NONE: the layer stays f32
  double error;
  const void *data;
  size_t bytes;
} ig_pack_stored;
typedef struct ig_pack_store {
  // s->options.method is the method that was asked for. False: there are none, or after an error.
  bool (*find)(void *user, ig_ctx *c, const ig_pack_source *s, ig_pack_stored *out);
  void *user;
} ig_pack_store;

ig_packs *ig_packs_create(ig_ctx *c);  // NULL after an error
// From now on what the store has is used in place; its memory outlives all plans.
void ig_packs_use(ig_packs *p, ig_pack_store store);
ig_packs *ig_packs_retain(ig_packs *p);
void ig_packs_free(ig_packs *p);  // releases; NULL is allowed

// Can the batch norm be folded: are all factors and summands numbers?
bool ig_pack_can_fold(ig_ctx *c, const ig_pack_source *s);

// An existing pack or a new one; NULL after an error. To be given back.
const ig_pack *ig_packs_get(ig_ctx *c, ig_packs *p, const ig_pack_source *s);
void ig_packs_release(ig_packs *p, const ig_pack *k);
// Layers that have been asked for with narrow weights, and lose too much.
bool ig_packs_keep_f32(ig_ctx *c, ig_packs *p, const ig_pack_source *s);  // false after an error
bool ig_packs_keeps_f32(ig_ctx *c, ig_packs *p, const ig_pack_source *s);
void ig_packs_each_f32(ig_packs *p, void (*fn)(void *user, const ig_pack_source *s), void *user);

// What a kernel has packed of arguments that stay as they are (ig_prepared_pack).
typedef struct ig_pack_held ig_pack_held;
// What such a call has packed before, or packs now; NULL after an error. To be given back. It lies
// at ig_packs_data.
const ig_pack_held *ig_packs_hold(ig_ctx *c, ig_packs *p, const ig_op *op, const ig_prep *prep,
                                  const ig_value *args);
const void *ig_packs_data(const ig_pack_held *h);
void ig_packs_drop(ig_packs *p, const ig_pack_held *h);

// Calls fn for every pack in use.
void ig_packs_each(ig_packs *p, void (*fn)(void *user, const ig_pack *k), void *user);
size_t ig_packs_count(ig_packs *p);  // of packs in use, for tests

#endif
