// SPDX-License-Identifier: Apache-2.0
#include "rt/packs.h"

#include <math.h>

#include "base/blocks.h"
#include "base/lock.h"
#include "kernels/conv_inner.h"
#include "rt/binding.h"
#include "tensor/copy.h"

struct ig_packs {
  ig_ref ref;
  ig_alloc alloc;
  ig_lock lock;  // held while weights are packed: whoever wants the same ones waits
  ig_pack *first;
  ig_pack *f32;  // sources of layers that stay so; nothing is packed
  ig_pack_held *held;
  ig_pack_store store;
};

static void fail_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory: packed weights");
}

static void release_parts(const ig_pack_source *s) {
  for (int i = 0; i < IG_PACK_PARTS; i++) ig_tensor_release(s->part[i]);
}

static void retain_parts(const ig_pack_source *s) {
  for (int i = 0; i < IG_PACK_PARTS; i++) {
    if (s->part[i]) (void)ig_tensor_retain(s->part[i]);
  }
}

static void destroy(ig_ref *ref) {
  ig_packs *p = (ig_packs *)ref;
  for (ig_pack *k = p->f32; k;) {
    ig_pack *next = k->next;
    release_parts(&k->source);
    ig_mem_free(p->alloc, k, sizeof *k);
    k = next;
  }
  ig_lock_free(&p->lock);
  ig_mem_free(p->alloc, p, sizeof *p);
}

ig_packs *ig_packs_create(ig_ctx *c) {
  ig_packs *p = ig_mem_new(c->alloc, sizeof *p);
  if (!p || !ig_lock_init(&p->lock)) {
    ig_mem_free(c->alloc, p, sizeof *p);
    fail_memory(c);
    return NULL;
  }
  p->ref.destroy = destroy;
  atomic_init(&p->ref.count, 1);
  p->alloc = c->alloc;
  return p;
}

ig_packs *ig_packs_retain(ig_packs *p) {
  ig_ref_retain(&p->ref);
  return p;
}

void ig_packs_free(ig_packs *p) {
  if (p) ig_ref_release(&p->ref);
}

void ig_packs_use(ig_packs *p, ig_pack_store store) {
  p->store = store;
}

// ---- weights as the layer has them

static double *read_part(ig_ctx *c, const ig_tensor *t) {
  double *v = ig_scope_array(c, (size_t)ig_tensor_numel(t), sizeof *v);
  if (v) ig_tensor_read(t, IG_F64, v);
  return v;
}

// y = conv(x) * scale + shift per output channel, in double precision; false after an error.
static bool channel_terms(ig_ctx *c, const ig_pack_source *s, double *scale, double *shift) {
  double *v[IG_PACK_PARTS] = {NULL};
  for (int i = IG_PACK_BIAS; i < IG_PACK_PARTS; i++) {
    if (!s->part[i]) continue;
    v[i] = read_part(c, s->part[i]);
    if (!v[i]) return false;
  }
  for (int64_t o = 0; o < s->shape.cout; o++) {
    scale[o] = 1.0;
    shift[o] = v[IG_PACK_BIAS] ? v[IG_PACK_BIAS][o] : 0.0;
    if (v[IG_PACK_MEAN]) {
      double gamma = v[IG_PACK_GAMMA] ? v[IG_PACK_GAMMA][o] : 1.0;
      scale[o] = gamma / sqrt(v[IG_PACK_VAR][o] + s->eps);
      shift[o] = (shift[o] - v[IG_PACK_MEAN][o]) * scale[o];
      if (v[IG_PACK_BETA]) shift[o] += v[IG_PACK_BETA][o];
    }
    if (v[IG_PACK_SHIFT]) shift[o] += v[IG_PACK_SHIFT][o];
  }
  return true;
}

bool ig_pack_can_fold(ig_ctx *c, const ig_pack_source *s) {
  ig_scope scope = ig_scope_open(c);
  size_t n = (size_t)s->shape.cout;
  double *terms = ig_scope_array(c, ig_mem_mul(2, n), sizeof *terms);
  bool ok = terms && channel_terms(c, s, terms, terms + n);
  for (size_t i = 0; ok && i < 2 * n; i++) ok = isfinite((float)terms[i]);
  ig_scope_close(c, scope);
  return ok;
}

// The output channel that element i of the weights belongs to.
static int64_t channel_of(const ig_conv *c, int64_t i) {
  int64_t window = ig_conv_taps(c);
  if (!c->transposed) return i / (window * (c->cin / c->groups));
  int64_t og = c->cout / c->groups;
  int64_t in = i / window / og;
  return in / (c->cin / c->groups) * og + i / window % og;
}

static ig_layer *create_layer(ig_ctx *c, const ig_pack_source *s) {
  size_t outs = (size_t)s->shape.cout;
  size_t n = (size_t)ig_tensor_numel(s->part[IG_PACK_WEIGHT]);
  double *scale = ig_scope_array(c, ig_mem_mul(2, outs), sizeof *scale);
  float *bias = ig_scope_array(c, outs, sizeof *bias);
  if (!scale || !bias || !channel_terms(c, s, scale, scale + outs)) return NULL;
  for (size_t o = 0; o < outs; o++) bias[o] = (float)scale[outs + o];
  const ig_tensor *given = s->part[IG_PACK_WEIGHT];
  if (!s->part[IG_PACK_MEAN] && ig_tensor_is_dense(given)) {
    return ig_layer_create(&s->shape, ig_tensor_data(given), bias, &s->options);
  }
  float *w = ig_scope_array(c, n, sizeof *w);
  if (!w) return NULL;
  ig_tensor_read(given, IG_F32, w);
  for (size_t i = 0; s->part[IG_PACK_MEAN] && i < n; i++) {
    w[i] = (float)((double)w[i] * scale[channel_of(&s->shape, (int64_t)i)]);
  }
  return ig_layer_create(&s->shape, w, bias, &s->options);
}

// ---- sharing

static bool same_part(const ig_tensor *a, const ig_tensor *b) {
  if (a == b) return true;
  if (!a || !b || a->storage != b->storage || a->dtype != b->dtype || a->ndim != b->ndim ||
      a->offset.value != b->offset.value) {
    return false;
  }
  for (int d = 0; d < 2 * a->ndim; d++) {
    if (a->dims[d].value != b->dims[d].value) return false;
  }
  return true;
}

// Sizes of images and padding do not matter, but for the choice of the method.
static bool same_shape(const ig_conv *a, const ig_conv *b) {
  bool same = a->transposed == b->transposed && a->channels_last == b->channels_last &&
              a->cin == b->cin && a->cout == b->cout && a->groups == b->groups;
  for (int d = 0; d < 3; d++) {
    same = same && a->kernel[d] == b->kernel[d] && a->stride[d] == b->stride[d] &&
           a->dilation[d] == b->dilation[d];
  }
  return same;
}

static bool fits(const ig_pack *k, const ig_pack_source *s, ig_layer_method method) {
  bool same = k->source.options.method == method && k->lanes == ig_layer_block() &&
              !(k->source.eps < s->eps) && !(k->source.eps > s->eps) &&
              same_shape(&k->source.shape, &s->shape);
  for (int i = 0; same && i < IG_PACK_PARTS; i++) {
    same = same_part(k->source.part[i], s->part[i]);
  }
  return same;
}

static ig_pack *find(const ig_packs *p, const ig_pack_source *s, ig_layer_method method) {
  ig_pack *k = p->first;
  while (k && !fits(k, s, method)) k = k->next;
  return k;
}

// What the store has is checked to be a layer of this shape.
static ig_layer *stored_layer(ig_ctx *c, const ig_packs *p, const ig_pack_source *s,
                              ig_layer_method method) {
  ig_pack_source asked = *s;
  ig_pack_stored found;
  asked.options.method = method;
  if (!p->store.find || !p->store.find(p->store.user, c, &asked, &found)) return NULL;
  return ig_layer_over(&s->shape, found.method, found.error, found.data, found.bytes);
}

static ig_pack *create(ig_ctx *c, ig_packs *p, const ig_pack_source *s, ig_layer_method method) {
  ig_pack *k = ig_mem_new(p->alloc, sizeof *k);
  ig_scope scope = ig_scope_open(c);
  if (k) k->layer = stored_layer(c, p, s, method);
  const bool stored = k && k->layer;
  if (k && !k->layer && c->status == IG_OK) k->layer = create_layer(c, s);
  ig_scope_close(c, scope);
  if (!k || !k->layer) {
    ig_mem_free(p->alloc, k, sizeof *k);
    fail_memory(c);
    return NULL;
  }
  k->source = *s;
  k->source.options.method = method;
  k->lanes = ig_layer_block();
  retain_parts(s);
  k->next = p->first;
  p->first = k;
  const ig_storage *read = s->part[IG_PACK_WEIGHT]->storage;
  if (!stored) ig_pages_forget(read->data, read->bytes);  // the layer reads its own from now on
  return k;
}

const ig_pack *ig_packs_get(ig_ctx *c, ig_packs *p, const ig_pack_source *s) {
  ig_layer_method method = ig_layer_choose(&s->shape, &s->options);
  ig_lock_take(&p->lock);
  ig_pack *k = find(p, s, method);
  if (!k) k = create(c, p, s, method);
  if (k) k->users++;
  ig_lock_leave(&p->lock);
  return k;
}

void ig_packs_release(ig_packs *p, const ig_pack *k) {
  ig_lock_take(&p->lock);
  ig_pack **at = &p->first;
  while (*at != k) at = &(*at)->next;
  ig_pack *mine = *at;
  bool last = --mine->users == 0;
  if (last) {
    *at = mine->next;
    ig_layer_free(mine->layer);
    release_parts(&mine->source);
    ig_mem_free(p->alloc, mine, sizeof *mine);
  }
  ig_lock_leave(&p->lock);
}

// ---- what kernels pack

struct ig_pack_held {
  ig_pack_held *next;
  size_t users;
  const ig_op *op;
  ig_tensor **tensors;  // of the arguments, retained
  size_t n;
  int lanes;
  void *data;
  size_t bytes;
};

typedef struct collector {
  ig_tensor **at;  // NULL: they are counted alone
  size_t n;
} collector;

static void collect(void *user, ig_tensor *t) {
  collector *k = user;
  if (k->at) k->at[k->n] = t;
  k->n++;
}

static size_t collect_all(const ig_op *op, const ig_value *args, ig_tensor **to) {
  collector k = {.at = to};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->def->packs >> i & 1) ig_rt_each(&args[i], collect, &k);
  }
  return k.n;
}

enum { ALIGN = 64 };

static size_t block_bytes(const ig_pack_held *h) {
  return ig_mem_add(h->bytes, ALIGN);
}

static void *aligned(void *p) {
  return (char *)p + (ALIGN - (uintptr_t)p % ALIGN) % ALIGN;
}

static void free_held(const ig_packs *p, ig_pack_held *h) {
  for (size_t i = 0; h->tensors && i < h->n; i++) ig_tensor_release(h->tensors[i]);
  ig_mem_array_free(p->alloc, h->tensors, h->n + 1, sizeof *h->tensors);
  ig_block_free(p->alloc, h->data, block_bytes(h));
  ig_mem_free(p->alloc, h, sizeof *h);
}

static bool is_held(const ig_pack_held *h, const ig_op *op, size_t bytes, ig_tensor *const *tensors,
                    size_t n) {
  bool same = h->op == op && h->n == n && h->bytes == bytes && h->lanes == ig_layer_block();
  for (size_t i = 0; same && i < n; i++) same = same_part(h->tensors[i], tensors[i]);
  return same;
}

// With its tensors retained; nothing is packed yet. NULL: out of memory.
static ig_pack_held *new_held(const ig_packs *p, const ig_op *op, size_t bytes,
                              ig_tensor *const *tensors, size_t n) {
  ig_pack_held *h = ig_mem_new(p->alloc, sizeof *h);
  if (!h) return NULL;
  *h = (ig_pack_held){.op = op, .n = n, .lanes = ig_layer_block(), .bytes = bytes};
  h->data = block_bytes(h) < IG_SIZE_NONE ? ig_block_new(p->alloc, block_bytes(h)) : NULL;
  ig_tensor **kept = ig_mem_array(p->alloc, n + 1, sizeof(ig_tensor *));
  for (size_t i = 0; kept && i < n; i++) kept[i] = ig_tensor_retain(tensors[i]);
  h->tensors = kept;
  if (h->data && kept) return h;
  free_held(p, h);
  return NULL;
}

const ig_pack_held *ig_packs_hold(ig_ctx *c, ig_packs *p, const ig_op *op, const ig_prep *prep,
                                  const ig_value *args) {
  ig_scope scope = ig_scope_open(c);
  size_t n = collect_all(op, args, NULL);
  ig_tensor **tensors = ig_scope_array(c, n + 1, sizeof(ig_tensor *));
  ig_pack_held *h = NULL;
  if (tensors && collect_all(op, args, tensors) == n) {
    ig_lock_take(&p->lock);
    for (h = p->held; h && !is_held(h, op, prep->packed_size, tensors, n);) h = h->next;
    if (!h && (h = new_held(p, op, prep->packed_size, tensors, n)) != NULL) {
      ig_prepared_pack(c, op, prep, args, aligned(h->data));
      for (size_t i = 0; i < n; i++) {
        ig_pages_forget(tensors[i]->storage->data, tensors[i]->storage->bytes);
      }
      h->next = p->held;
      p->held = h;
    }
    if (h) h->users++;
    ig_lock_leave(&p->lock);
  }
  ig_scope_close(c, scope);
  if (!h && c->status == IG_OK) fail_memory(c);
  return h;
}

const void *ig_packs_data(const ig_pack_held *h) {
  return aligned(h->data);
}

void ig_packs_drop(ig_packs *p, const ig_pack_held *h) {
  ig_lock_take(&p->lock);
  ig_pack_held **at = &p->held;
  while (*at != h) at = &(*at)->next;
  ig_pack_held *mine = *at;
  if (--mine->users == 0) {
    *at = mine->next;
    free_held(p, mine);
  }
  ig_lock_leave(&p->lock);
}

// ---- layers that stay f32

bool ig_packs_keep_f32(ig_ctx *c, ig_packs *p, const ig_pack_source *s) {
  ig_pack *k = ig_mem_new(p->alloc, sizeof *k);
  if (!k) {
    fail_memory(c);
    return false;
  }
  k->source = *s;
  k->lanes = ig_layer_block();
  retain_parts(s);
  ig_lock_take(&p->lock);
  k->next = p->f32;
  p->f32 = k;
  ig_lock_leave(&p->lock);
  return true;
}

bool ig_packs_keeps_f32(ig_ctx *c, ig_packs *p, const ig_pack_source *s) {
  ig_pack_stored found;
  bool kept = false;
  ig_lock_take(&p->lock);
  for (const ig_pack *k = p->f32; k && !kept; k = k->next) kept = fits(k, s, s->options.method);
  ig_lock_leave(&p->lock);
  if (kept || !p->store.find) return kept;
  return p->store.find(p->store.user, c, s, &found) && found.method == IG_LAYER_NONE;
}

void ig_packs_each_f32(ig_packs *p, void (*fn)(void *user, const ig_pack_source *s), void *user) {
  ig_lock_take(&p->lock);
  for (const ig_pack *k = p->f32; k; k = k->next) fn(user, &k->source);
  ig_lock_leave(&p->lock);
}

void ig_packs_each(ig_packs *p, void (*fn)(void *user, const ig_pack *k), void *user) {
  ig_lock_take(&p->lock);
  for (const ig_pack *k = p->first; k; k = k->next) fn(user, k);
  ig_lock_leave(&p->lock);
}

size_t ig_packs_count(ig_packs *p) {
  size_t n = 0;
  ig_lock_take(&p->lock);
  for (const ig_pack *k = p->first; k; k = k->next) n++;
  for (const ig_pack_held *h = p->held; h; h = h->next) n++;
  ig_lock_leave(&p->lock);
  return n;
}
