// SPDX-License-Identifier: Apache-2.0
// Trees of plain values: construction, sharing, inspection. Large dictionaries and sets have a hash
// index of their keys, so that no file can make filling them slow. Freeing does not recurse,
// however deep a tree is.
#include "ingot/object.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "codec/bits.h"
#include "tensor/tensor.h"

enum { SMALL = 8, KEY_DEPTH = 32 };

struct ig_object {
  atomic_int count;
  uint8_t kind;  // ig_object_kind
  bool flag;     // a parameter, a call
  ig_alloc alloc;
  union {
    bool b;
    int64_t i;
    double f;
    ig_c128 z;
    ig_dtype dtype;
    ig_device device;
    ig_layout layout;
    ig_tensor *tensor;
    struct {  // STR, BYTES, BIG, INSTANCE
      char *text;
      size_t text_n;
    };
    struct {  // containers; dictionaries: alternating keys and values
      ig_object **items;
      size_t n;
      size_t cap;
    };
  };
  ig_object *state;
  ig_object *args;
  uint32_t *index;   // slots with the number of a key plus one; NULL while small
  size_t index_cap;  // a power of two
  ig_object *next;   // while it is being freed
};

const char *ig_object_kind_text(ig_object_kind kind) {
  static const char *const texts[IG_OBJECT_KIND_COUNT] = {"None",
                                                          "a bool",
                                                          "an integer",
                                                          "a large integer",
                                                          "a float",
                                                          "a complex number",
                                                          "a string",
                                                          "bytes",
                                                          "a bytearray",
                                                          "a list",
                                                          "a tuple",
                                                          "a torch.Size",
                                                          "a set",
                                                          "a dictionary",
                                                          "an OrderedDict",
                                                          "a Counter",
                                                          "a tensor",
                                                          "a dtype",
                                                          "a device",
                                                          "a layout",
                                                          "an instance of a class"};
  return texts[kind];
}

static bool is_map(const ig_object *o) {
  return o->kind >= IG_OBJECT_DICT && o->kind <= IG_OBJECT_COUNTER;
}
static bool is_seq(const ig_object *o) {
  return o->kind >= IG_OBJECT_LIST && o->kind <= IG_OBJECT_SET;
}
static bool is_text(const ig_object *o) {
  return o->kind == IG_OBJECT_STR || o->kind == IG_OBJECT_BYTES || o->kind == IG_OBJECT_BYTEARRAY ||
         o->kind == IG_OBJECT_BIG || o->kind == IG_OBJECT_INSTANCE;
}

// ---- lifetime

ig_object *ig_object_retain(const ig_object *o) {
  ig_object *mine = (ig_object *)o;
  if (mine) atomic_fetch_add_explicit(&mine->count, 1, memory_order_relaxed);
  return mine;
}

static void drop(ig_object *o, ig_object **dead) {
  if (!o || atomic_fetch_sub_explicit(&o->count, 1, memory_order_acq_rel) != 1) return;
  o->next = *dead;
  *dead = o;
}

void ig_object_free(ig_object *o) {
  ig_object *dead = NULL;
  drop(o, &dead);
  while (dead) {
    o = dead;
    dead = o->next;
    if (is_map(o) || is_seq(o)) {
      for (size_t i = 0; i < o->n; i++) drop(o->items[i], &dead);
      ig_mem_array_free(o->alloc, o->items, o->cap, sizeof *o->items);
      ig_mem_array_free(o->alloc, o->index, o->index_cap, sizeof *o->index);
    } else if (is_text(o)) {
      ig_mem_free(o->alloc, o->text, o->text_n + 1);
    } else if (o->kind == IG_OBJECT_TENSOR) {
      ig_tensor_release(o->tensor);
    }
    drop(o->state, &dead);
    drop(o->args, &dead);
    ig_mem_free(o->alloc, o, sizeof *o);
  }
}

static ig_object *make(ig_ctx *c, ig_object_kind kind) {
  ig_object *o = ig_ctx_status(c) == IG_OK ? ig_mem_new(c->alloc, sizeof *o) : NULL;
  if (!o) {
    if (ig_ctx_status(c) == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  atomic_init(&o->count, 1);
  o->kind = (uint8_t)kind;
  o->alloc = c->alloc;
  return o;
}

ig_object *ig_object_new(ig_ctx *c, ig_object_kind kind) {
  return make(c, kind);
}
ig_object *ig_object_none(ig_ctx *c) {
  return make(c, IG_OBJECT_NONE);
}
ig_object *ig_object_of_bool(ig_ctx *c, bool b) {
  ig_object *o = make(c, IG_OBJECT_BOOL);
  if (o) o->b = b;
  return o;
}
ig_object *ig_object_of_int(ig_ctx *c, int64_t i) {
  ig_object *o = make(c, IG_OBJECT_INT);
  if (o) o->i = i;
  return o;
}
ig_object *ig_object_of_float(ig_ctx *c, double f) {
  ig_object *o = make(c, IG_OBJECT_FLOAT);
  if (o) o->f = f;
  return o;
}
ig_object *ig_object_of_complex(ig_ctx *c, ig_c128 z) {
  ig_object *o = make(c, IG_OBJECT_COMPLEX);
  if (o) o->z = z;
  return o;
}
ig_object *ig_object_of_dtype(ig_ctx *c, ig_dtype d) {
  ig_object *o = make(c, IG_OBJECT_DTYPE);
  if (o) o->dtype = d;
  return o;
}
ig_object *ig_object_of_device(ig_ctx *c, ig_device d) {
  ig_object *o = make(c, IG_OBJECT_DEVICE);
  if (o) o->device = d;
  return o;
}
ig_object *ig_object_of_layout(ig_ctx *c, ig_layout l) {
  ig_object *o = make(c, IG_OBJECT_LAYOUT);
  if (o) o->layout = l;
  return o;
}

ig_object *ig_object_of_text(ig_ctx *c, ig_object_kind kind, const void *text, size_t n) {
  if (kind == IG_OBJECT_STR && ig_utf8_check(text, n) != n) {
    (void)ig_fail(c, IG_INVALID, "a string is not UTF-8 at its byte %zu", ig_utf8_check(text, n));
  }
  ig_object *o = make(c, kind);
  if (!o) return NULL;
  o->text = ig_mem_new(c->alloc, n + 1);
  if (!o->text) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    ig_mem_free(c->alloc, o, sizeof *o);
    return NULL;
  }
  if (n) memcpy(o->text, text, n);
  o->text_n = n;
  return o;
}

ig_object *ig_object_of_str(ig_ctx *c, const char *text) {
  return ig_object_of_text(c, IG_OBJECT_STR, text, strlen(text));
}

ig_object *ig_object_of_tensor(ig_ctx *c, ig_tensor *t, bool parameter) {
  ig_object *o = t ? make(c, IG_OBJECT_TENSOR) : NULL;
  if (!o) return NULL;
  o->tensor = ig_tensor_retain(t);
  o->flag = parameter;
  return o;
}

ig_object *ig_object_of_class(ig_ctx *c, const char *name, ig_object *args, bool call) {
  ig_object *o = ig_object_of_text(c, IG_OBJECT_INSTANCE, name, strlen(name));
  if (o) {
    o->args = args;
    o->flag = call;
  } else {
    ig_object_free(args);
  }
  return o;
}

// ---- keys

static bool whole(double f, int64_t *i) {
  if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0) || f != floor(f)) return false;
  *i = (int64_t)f;
  return true;
}

static bool as_int(const ig_object *o, int64_t *i) {
  if (o->kind == IG_OBJECT_FLOAT) return whole(o->f, i);
  if (o->kind == IG_OBJECT_COMPLEX) return o->z.im == 0 && whole(o->z.re, i);
  *i = ig_object_int(o);
  return o->kind == IG_OBJECT_INT || o->kind == IG_OBJECT_BOOL;
}

static double real_part(const ig_object *o) {
  return o->kind == IG_OBJECT_COMPLEX ? o->z.re : o->f;
}

// Equal numbers have equal hashes, whatever their kind. False: no key.
static bool hash(const ig_object *o, int depth, uint64_t *h) {
  int64_t i = 0;
  if (as_int(o, &i)) {
    *h = ig_hash_bytes(*h, &i, sizeof i);
  } else if (o->kind == IG_OBJECT_FLOAT || o->kind == IG_OBJECT_COMPLEX) {
    double re = real_part(o);
    *h = ig_hash_bytes(*h, &re, sizeof re);
  } else if (o->kind == IG_OBJECT_STR || o->kind == IG_OBJECT_BYTES || o->kind == IG_OBJECT_BIG) {
    *h = ig_hash_bytes(*h, o->text, o->text_n);
  } else if (o->kind == IG_OBJECT_TUPLE || o->kind == IG_OBJECT_SIZE) {
    if (depth > KEY_DEPTH) return false;
    for (size_t k = 0; k < o->n; k++) {
      if (!hash(o->items[k], depth + 1, h)) return false;
    }
  } else if (o->kind == IG_OBJECT_DTYPE) {
    *h = ig_hash_bytes(*h, &o->dtype, sizeof o->dtype);
  } else {
    return o->kind == IG_OBJECT_NONE || o->kind == IG_OBJECT_DEVICE || o->kind == IG_OBJECT_LAYOUT;
  }
  return true;
}

static double imag_part(const ig_object *o) {
  return o->kind == IG_OBJECT_COMPLEX ? o->z.im : 0;
}
static bool is_real(const ig_object *o) {
  return o->kind == IG_OBJECT_FLOAT || o->kind == IG_OBJECT_COMPLEX;
}
static bool is_tuple(const ig_object *o) {
  return o->kind == IG_OBJECT_TUPLE || o->kind == IG_OBJECT_SIZE;
}

static bool same(const ig_object *a, const ig_object *b);

static bool same_items(const ig_object *a, const ig_object *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++) {
    if (!same(a->items[i], b->items[i])) return false;
  }
  return true;
}

static bool same(const ig_object *a, const ig_object *b) {
  int64_t i = 0;
  int64_t k = 0;
  bool number = as_int(a, &i);
  if (number != as_int(b, &k)) return false;
  if (number) return i == k;
  if (is_real(a) && is_real(b)) {
    return real_part(a) == real_part(b) && imag_part(a) == imag_part(b);
  }
  if (is_tuple(a) && is_tuple(b)) return same_items(a, b);
  if (a->kind != b->kind) return false;
  if (is_text(a)) return a->text_n == b->text_n && memcmp(a->text, b->text, a->text_n) == 0;
  if (a->kind == IG_OBJECT_DTYPE) return a->dtype == b->dtype;
  if (a->kind == IG_OBJECT_LAYOUT) return a->layout == b->layout;
  if (a->kind == IG_OBJECT_DEVICE) {
    return a->device.type == b->device.type && a->device.index == b->device.index;
  }
  return a->kind == IG_OBJECT_NONE;
}

static size_t step_of(const ig_object *o) {
  return is_map(o) ? 2 : 1;
}

// The hash is seeded with an address, which a file cannot know.
static uint64_t basis(const ig_object *o) {
  return (uint64_t)(uintptr_t)o * 0x9E3779B97F4A7C15u;
}

static void enter(ig_object *o, size_t number, uint64_t h) {
  size_t at = (size_t)(h ^ h >> 32) & (o->index_cap - 1);
  while (o->index[at]) at = (at + 1) & (o->index_cap - 1);
  o->index[at] = (uint32_t)number + 1;
}

// Reserves space for another key in the index, which is at most half full.
static bool grow_index(ig_ctx *c, ig_object *o) {
  size_t keys = o->n / step_of(o);
  if (keys < SMALL || 2 * (keys + 1) <= o->index_cap) return true;
  size_t cap = o->index_cap ? 2 * o->index_cap : (size_t)4 * SMALL;
  uint32_t *slots = keys < UINT32_MAX - 1 ? ig_mem_array(c->alloc, cap, sizeof *slots) : NULL;
  if (!slots) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  ig_mem_array_free(o->alloc, o->index, o->index_cap, sizeof *o->index);
  o->index = slots;
  o->index_cap = cap;
  for (size_t i = 0; i < keys; i++) {
    uint64_t h = basis(o);
    (void)hash(o->items[i * step_of(o)], 0, &h);
    enter(o, i, h);
  }
  return true;
}

// Number of the key, or the count of keys when it is absent.
static size_t find(const ig_object *o, const ig_object *key, uint64_t h) {
  size_t step = step_of(o);
  size_t keys = o->n / step;
  if (!o->index) {
    for (size_t i = 0; i < keys; i++) {
      if (same(o->items[i * step], key)) return i;
    }
    return keys;
  }
  size_t at = (size_t)(h ^ h >> 32) & (o->index_cap - 1);
  for (; o->index[at]; at = (at + 1) & (o->index_cap - 1)) {
    size_t i = o->index[at] - 1;
    if (same(o->items[i * step], key)) return i;
  }
  return keys;
}

// ---- filling

static bool room(ig_ctx *c, ig_object *o, size_t more) {
  if (ig_mem_grow(c->alloc, (void **)&o->items, &o->cap, sizeof *o->items, o->n + more))
    return true;
  return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
}

// A key that is not there yet.
static bool new_key(ig_ctx *c, ig_object *o, const ig_object *key, uint64_t *h) {
  *h = basis(o);
  if (!hash(key, 0, h)) {
    return ig_fail(c, IG_INVALID, "%s cannot be a key or an item of a set",
                   ig_object_kind_text((ig_object_kind)key->kind)) == IG_OK;
  }
  if (find(o, key, *h) == o->n / step_of(o)) return grow_index(c, o);
  if (key->kind == IG_OBJECT_STR) {
    return ig_fail(c, IG_SYNTAX, "key '%.100s' occurs twice", key->text) == IG_OK;
  }
  return ig_fail(c, IG_SYNTAX, "a key occurs twice") == IG_OK;
}

ig_status ig_object_push(ig_ctx *c, ig_object *o, ig_object *item) {
  uint64_t h = 0;
  bool ok = ig_ctx_status(c) == IG_OK && o && item;
  if (ok && !is_seq(o)) {
    ok =
        ig_fail(c, IG_INVALID, "pushing to %s", ig_object_kind_text(ig_object_kind_of(o))) == IG_OK;
  }
  if (ok && o->kind == IG_OBJECT_SIZE && item->kind != IG_OBJECT_INT) {
    ok = ig_fail(c, IG_INVALID, "%s in a torch.Size",
                 ig_object_kind_text(ig_object_kind_of(item))) == IG_OK;
  }
  if (ok && o->kind == IG_OBJECT_SET) ok = new_key(c, o, item, &h);
  ok = ok && room(c, o, 1);
  if (!ok) {
    ig_object_free(item);
    // A missing value without an error is out of memory.
    return ig_ctx_status(c) != IG_OK ? ig_ctx_status(c) : ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (o->index) enter(o, o->n, h);
  o->items[o->n++] = item;
  return IG_OK;
}

ig_status ig_object_put(ig_ctx *c, ig_object *o, ig_object *key, ig_object *value) {
  uint64_t h = 0;
  bool ok = ig_ctx_status(c) == IG_OK && o && key && value;
  if (ok && !is_map(o)) {
    ok = ig_fail(c, IG_INVALID, "setting an item of %s",
                 ig_object_kind_text(ig_object_kind_of(o))) == IG_OK;
  }
  ok = ok && new_key(c, o, key, &h) && room(c, o, 2);
  if (!ok) {
    ig_object_free(key);
    ig_object_free(value);
    return ig_ctx_status(c);
  }
  if (o->index) enter(o, o->n / 2, h);
  o->items[o->n++] = key;
  o->items[o->n++] = value;
  return IG_OK;
}

ig_status ig_object_put_str(ig_ctx *c, ig_object *o, const char *key, ig_object *value) {
  return ig_object_put(c, o, ig_object_of_str(c, key), value);
}

ig_status ig_object_set_state(ig_ctx *c, ig_object *o, ig_object *state) {
  if (ig_ctx_status(c) == IG_OK && o && state) {
    ig_object_free(o->state);
    o->state = state;
  } else {
    ig_object_free(state);
  }
  return ig_ctx_status(c);
}

// ---- inspection

ig_object_kind ig_object_kind_of(const ig_object *o) {
  return o ? (ig_object_kind)o->kind : IG_OBJECT_NONE;
}
bool ig_object_bool(const ig_object *o) {
  return o && o->kind == IG_OBJECT_BOOL && o->b;
}
int64_t ig_object_int(const ig_object *o) {
  if (o && o->kind == IG_OBJECT_BOOL) return o->b;
  return o && o->kind == IG_OBJECT_INT ? o->i : 0;
}
double ig_object_float(const ig_object *o) {
  return o && o->kind == IG_OBJECT_FLOAT ? o->f : (double)ig_object_int(o);
}
ig_c128 ig_object_complex(const ig_object *o) {
  return o && o->kind == IG_OBJECT_COMPLEX ? o->z : (ig_c128){ig_object_float(o), 0};
}
const char *ig_object_text(const ig_object *o, size_t *n) {
  bool has = o && is_text(o);
  if (n) *n = has ? o->text_n : 0;
  return has ? o->text : "";
}
size_t ig_object_count(const ig_object *o) {
  return o && (is_map(o) || is_seq(o)) ? o->n / step_of(o) : 0;
}
const ig_object *ig_object_at(const ig_object *o, size_t i) {
  if (i >= ig_object_count(o)) return NULL;
  return is_map(o) ? o->items[2 * i + 1] : o->items[i];
}
const ig_object *ig_object_key(const ig_object *o, size_t i) {
  return o && is_map(o) && i < o->n / 2 ? o->items[2 * i] : NULL;
}
const ig_object *ig_object_find(const ig_object *o, const char *key) {
  if (!o || !is_map(o)) return NULL;
  ig_object wanted = {.kind = IG_OBJECT_STR};
  wanted.text = (char *)key;
  wanted.text_n = strlen(key);
  uint64_t h = basis(o);
  (void)hash(&wanted, 0, &h);
  return ig_object_at(o, find(o, &wanted, h));
}
ig_tensor *ig_object_tensor(const ig_object *o) {
  return o && o->kind == IG_OBJECT_TENSOR ? o->tensor : NULL;
}
bool ig_object_is_parameter(const ig_object *o) {
  return o && o->kind == IG_OBJECT_TENSOR && o->flag;
}
ig_dtype ig_object_dtype(const ig_object *o) {
  return o && o->kind == IG_OBJECT_DTYPE ? o->dtype : IG_DTYPE_COUNT;
}
ig_device ig_object_device(const ig_object *o) {
  return o && o->kind == IG_OBJECT_DEVICE ? o->device : ig_device_cpu();
}
ig_layout ig_object_layout(const ig_object *o) {
  return o && o->kind == IG_OBJECT_LAYOUT ? o->layout : IG_STRIDED;
}
const ig_object *ig_object_state(const ig_object *o) {
  return o ? o->state : NULL;
}
bool ig_object_is_call(const ig_object *o) {
  return o && o->kind == IG_OBJECT_INSTANCE && o->flag;
}
const ig_object *ig_object_args(const ig_object *o) {
  return o ? o->args : NULL;
}
