// SPDX-License-Identifier: Apache-2.0
// Reference-counted values. Freeing follows references with a list instead of the C stack: a chain
// of objects may be as long as memory allows.
#include "script/object.h"

#include <string.h>

#include "base/budget.h"
#include "base/hash.h"
#include "base/limits.h"
#include "op/native.h"
#include "script/unit.h"

// ---- making

static void *make(ig_ctx *c, ig_sobj_kind kind, const ig_stype *type, size_t size) {
  ig_sobj *o = c->status == IG_OK ? ig_mem_new(c->alloc, size) : NULL;
  if (!o) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  o->kind = kind;
  atomic_init(&o->refs, 1);
  o->alloc = c->alloc;
  o->type = type;
  return o;
}

ig_sobj_str *ig_sobj_str_make(ig_ctx *c, const char *text, size_t n) {
  ig_sobj_str *s = make(c, IG_SOBJ_STR, NULL, ig_mem_add(sizeof *s + 1, n));
  if (!s) return NULL;
  if (n && text) memcpy(s->text, text, n);
  s->n = n;
  return s;
}

ig_sobj_seq *ig_sobj_seq_make(ig_ctx *c, ig_sobj_kind kind, const ig_stype *type,
                              const ig_value *at, size_t n) {
  ig_sobj_seq *s = make(c, kind, type, sizeof *s);
  if (!s || !n) return s;
  s->at = ig_mem_array(c->alloc, n, sizeof *s->at);
  if (!s->at) {
    ig_svalue_release(ig_of_sobj(s));
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  s->n = n;
  s->cap = n;
  for (size_t i = 0; at && i < n; i++) {
    ig_svalue_retain(at[i]);
    s->at[i] = at[i];
  }
  return s;
}

ig_sobj_dict *ig_sobj_dict_make(ig_ctx *c, const ig_stype *type) {
  return make(c, IG_SOBJ_DICT, type, sizeof(ig_sobj_dict));
}

ig_sobj_future *ig_sobj_future_make(ig_ctx *c, const ig_stype *type, ig_value value) {
  ig_sobj_future *f = make(c, IG_SOBJ_FUTURE, type, sizeof *f);
  if (!f) return NULL;
  ig_svalue_retain(value);
  f->value = value;
  return f;
}

static ig_sobj_link *link_of(ig_sobj *o) {
  switch (o->kind) {
    case IG_SOBJ_INSTANCE:
      return &((ig_sobj_instance *)o)->link;
    case IG_SOBJ_ENUM:
      return &((ig_sobj_enum *)o)->link;
    default:
      return &((ig_sobj_function *)o)->link;
  }
}

// The object keeps the unit from now on.
static void join(ig_sunit *u, ig_sobj *o) {
  (void)ig_sunit_retain(u);
  ig_sunit_lock(u);
  link_of(o)->behind = u->objects;
  if (u->objects) link_of(u->objects)->before = o;
  u->objects = o;
  u->n_objects++;
  ig_sunit_unlock(u);
}

// The caller releases the unit when the object is gone.
static void part(ig_sunit *u, ig_sobj *o) {
  const ig_sobj_link *l = link_of(o);
  ig_sunit_lock(u);
  if (l->behind) link_of(l->behind)->before = l->before;
  if (l->before)
    link_of(l->before)->behind = l->behind;
  else
    u->objects = l->behind;
  u->n_objects--;
  ig_sunit_unlock(u);
}

ig_sobj *ig_sobj_behind(ig_sobj *o) {
  return link_of(o)->behind;
}

ig_sobj_instance *ig_sobj_instance_make(ig_ctx *c, ig_sclass *cls) {
  ig_sobj_instance *o = make(c, IG_SOBJ_INSTANCE, cls->type, sizeof *o);
  if (!o) return NULL;
  o->n = cls->attributes.n;
  o->at = ig_mem_array(c->alloc, o->n, sizeof *o->at);
  o->cls = cls;
  join(cls->unit, &o->head);
  if (o->at) return o;
  o->n = 0;
  ig_svalue_release(ig_of_sobj(o));
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

ig_sobj_enum *ig_sobj_enum_make(ig_ctx *c, ig_senum *declaration, size_t member) {
  ig_sobj_enum *o = make(c, IG_SOBJ_ENUM, declaration->type, sizeof *o);
  if (!o) return NULL;
  o->declaration = declaration;
  o->member = member;
  join(declaration->unit, &o->head);
  return o;
}

ig_sobj_function *ig_sobj_function_make(ig_ctx *c, ig_sfunction *function) {
  ig_sobj_function *o = make(c, IG_SOBJ_FUNCTION, NULL, sizeof *o);
  if (!o) return NULL;
  o->function = function;
  join(function->unit, &o->head);
  return o;
}

ig_sobj_host *ig_sobj_host_make(ig_ctx *c, const ig_stype *type, const ig_shost_ops *ops,
                                void *object) {
  ig_sobj_host *o = make(c, IG_SOBJ_HOST, type, sizeof *o);
  if (!o) return NULL;
  o->ops = ops;
  o->object = object;
  ops->retain(object);
  return o;
}

// ---- references

void ig_svalue_retain(ig_value v) {
  if (v.kind == IG_KIND_TENSOR) {
    (void)ig_tensor_retain(v.tensor);
  } else if (v.kind == IG_KIND_NATIVE) {
    ig_ref_retain(&v.native->ref);
  } else if (v.kind == IG_KIND_OBJECT) {
    ig_sobj *o = v.object;
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
  }
}

// An object without references joins the list of the dead.
static void drop(ig_value v, ig_sobj **dead) {
  if (v.kind == IG_KIND_TENSOR) {
    ig_tensor_release(v.tensor);
  } else if (v.kind == IG_KIND_NATIVE) {
    ig_ref_release(&v.native->ref);
  } else if (v.kind == IG_KIND_OBJECT) {
    ig_sobj *o = v.object;
    if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
    o->next_dead = *dead;
    *dead = o;
  }
}

static void drop_all(const ig_value *at, size_t n, ig_sobj **dead) {
  for (size_t i = 0; i < n; i++) drop(at[i], dead);
}

static void destroy_dict(ig_sobj_dict *d, ig_sobj **dead) {
  for (size_t i = 0; i < d->n; i++) {
    if (!d->at[i].live) continue;
    drop(d->at[i].key, dead);
    drop(d->at[i].value, dead);
  }
  ig_mem_array_free(d->head.alloc, d->at, d->cap, sizeof *d->at);
  ig_mem_array_free(d->head.alloc, d->index, d->slots, sizeof *d->index);
}

static size_t destroy_named(ig_sobj *o, ig_sunit **unit, ig_sobj **dead) {
  if (o->kind == IG_SOBJ_INSTANCE) {
    ig_sobj_instance *i = (ig_sobj_instance *)o;
    drop_all(i->at, i->n, dead);
    ig_mem_array_free(o->alloc, i->at, i->n, sizeof *i->at);
    *unit = i->cls->unit;
    return sizeof *i;
  }
  if (o->kind == IG_SOBJ_ENUM) {
    *unit = ((ig_sobj_enum *)o)->declaration->unit;
    return sizeof(ig_sobj_enum);
  }
  *unit = ((ig_sobj_function *)o)->function->unit;
  return sizeof(ig_sobj_function);
}

static void destroy(ig_sobj *o, ig_sobj **dead) {
  size_t size = 0;
  ig_sunit *unit = NULL;
  if (o->kind == IG_SOBJ_STR) {
    size = sizeof(ig_sobj_str) + 1 + ((ig_sobj_str *)o)->n;
  } else if (o->kind == IG_SOBJ_LIST || o->kind == IG_SOBJ_TUPLE || o->kind == IG_SOBJ_ROWS) {
    ig_sobj_seq *s = (ig_sobj_seq *)o;
    if (s->rows) ig_tensor_release(s->rows);
    if (s->lengths) ig_tensor_release(s->lengths);
    drop_all(s->at, s->n, dead);
    ig_mem_array_free(o->alloc, s->at, s->cap, sizeof *s->at);
    size = sizeof *s;
  } else if (o->kind == IG_SOBJ_DICT) {
    destroy_dict((ig_sobj_dict *)o, dead);
    size = sizeof(ig_sobj_dict);
  } else if (o->kind == IG_SOBJ_FUTURE) {
    ig_sobj_future *f = (ig_sobj_future *)o;
    drop(f->value, dead);
    if (f->error) ig_mem_free(o->alloc, f->error, strlen(f->error) + 1);
    size = sizeof *f;
  } else if (o->kind == IG_SOBJ_HOST) {
    ig_sobj_host *h = (ig_sobj_host *)o;
    h->ops->release(h->object);
    size = sizeof *h;
  } else {
    size = destroy_named(o, &unit, dead);
    part(unit, o);
  }
  ig_mem_free(o->alloc, o, size);
  if (unit) ig_sunit_release(unit);
}

void ig_svalue_release(ig_value v) {
  ig_sobj *dead = NULL;
  drop(v, &dead);
  while (dead) {
    ig_sobj *o = dead;
    dead = o->next_dead;
    destroy(o, &dead);
  }
}

// ---- lists

bool ig_sobj_seq_reserve(ig_ctx *c, ig_sobj_seq *s, size_t n) {
  size_t need = ig_mem_add(s->n, n);
  if (need <= s->cap || ig_mem_grow(s->head.alloc, (void **)&s->at, &s->cap, sizeof *s->at, need)) {
    return true;
  }
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return false;
}

bool ig_sobj_seq_push(ig_ctx *c, ig_sobj_seq *s, ig_value v) {
  if (!ig_sobj_seq_reserve(c, s, 1)) return false;
  ig_svalue_retain(v);
  s->at[s->n++] = v;
  return true;
}

// Does the value contain the container? Instances may: they are found by their unit.
static bool admits(ig_ctx *c, const ig_sobj *container, ig_value v, size_t depth) {
  const ig_sobj *o = ig_sobj_of(v);
  bool seq = o && (o->kind == IG_SOBJ_LIST || o->kind == IG_SOBJ_TUPLE);
  if (!seq && (!o || (o->kind != IG_SOBJ_DICT && o->kind != IG_SOBJ_FUTURE))) return true;
  if (o == container) {
    ig_fail_text(c, IG_RUNTIME, "a list or dict cannot contain itself");
    return false;
  }
  if (depth == 0) {
    ig_fail_text(c, IG_LIMIT, "values nested too deeply");
    return false;
  }
  const ig_sobj_seq *s = seq ? v.object : NULL;
  if (!ig_spend(c, s ? s->n / 64 + 1 : 1)) return false;
  for (size_t i = 0; s && i < s->n; i++) {
    if (s->at[i].kind == IG_KIND_OBJECT && !admits(c, container, s->at[i], depth - 1)) return false;
  }
  if (o->kind == IG_SOBJ_FUTURE) {
    return admits(c, container, ((const ig_sobj_future *)o)->value, depth - 1);
  }
  size_t i = 0;
  for (const ig_sentry *e; !seq && (e = ig_sobj_dict_next(v.object, &i));) {
    if (!admits(c, container, e->key, depth - 1) || !admits(c, container, e->value, depth - 1)) {
      return false;
    }
  }
  return true;
}

bool ig_sobj_admits(ig_ctx *c, const ig_sobj *container, ig_value v) {
  return v.kind != IG_KIND_OBJECT || admits(c, container, v, ig_limits_of(c, NULL).max_depth);
}

// ---- dicts

static uint64_t hash_of(const ig_sobj_dict *d, ig_value key) {
  uint64_t seed = IG_HASH_BASIS ^ (uint64_t)(uintptr_t)d;  // keys may come from a file
  double f = key.kind == IG_KIND_FLOAT ? key.f : 0;
  if (key.kind == IG_KIND_FLOAT) return ig_hash_bytes(seed, &f, f == 0 ? 0 : sizeof f);
  if (key.kind == IG_KIND_INT) return ig_hash_bytes(seed, &key.i.value, sizeof key.i.value);
  if (key.kind == IG_KIND_BOOL) return ig_hash_bytes(seed, &key.b, sizeof key.b);
  if (key.kind == IG_KIND_COMPLEX) {
    double sum = key.z.re + 3 * key.z.im;  // equal numbers, equal hashes: -0.0 is 0.0
    return ig_hash_bytes(seed, &sum, sum == 0 ? 0 : sizeof sum);
  }
  if (ig_sobj_is(key, IG_SOBJ_STR)) {
    const ig_sobj_str *s = key.object;
    return ig_hash_bytes(seed, s->text, s->n);
  }
  return ig_hash_bytes(seed, &key.object, sizeof key.object);
}

bool ig_svalue_same(ig_value a, ig_value b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case IG_KIND_NONE:
      return true;
    case IG_KIND_INT:
      return a.i.value == b.i.value && a.i.expr == b.i.expr;
    case IG_KIND_FLOAT:
      return a.f == b.f;
    case IG_KIND_BOOL:
      return a.b == b.b;
    case IG_KIND_COMPLEX:
      return a.z.re == b.z.re && a.z.im == b.z.im;
    case IG_KIND_DEVICE:
      return a.device.type == b.device.type && a.device.index == b.device.index;
    case IG_KIND_TENSOR:
      return a.tensor == b.tensor;
    default:
      break;
  }
  if (ig_sobj_is(a, IG_SOBJ_STR) && ig_sobj_is(b, IG_SOBJ_STR)) {
    const ig_sobj_str *s = a.object;
    const ig_sobj_str *t = b.object;
    return s->n == t->n && memcmp(s->text, t->text, s->n) == 0;
  }
  if (ig_sobj_is(a, IG_SOBJ_ENUM) && ig_sobj_is(b, IG_SOBJ_ENUM)) {
    const ig_sobj_enum *s = a.object;
    const ig_sobj_enum *t = b.object;
    return s->declaration == t->declaration && s->member == t->member;
  }
  return a.object == b.object;
}

ig_sentry *ig_sobj_dict_find(const ig_sobj_dict *d, ig_value key) {
  if (!d->slots) return NULL;
  uint64_t hash = hash_of(d, key);
  for (size_t i = hash & (d->slots - 1); d->index[i]; i = (i + 1) & (d->slots - 1)) {
    ig_sentry *e = &d->at[d->index[i] - 1];
    if (e->live && e->hash == hash && ig_svalue_same(e->key, key)) return e;
  }
  return NULL;
}

static void enter(ig_sobj_dict *d, size_t position) {
  size_t i = d->at[position].hash & (d->slots - 1);
  while (d->index[i]) i = (i + 1) & (d->slots - 1);
  d->index[i] = (uint32_t)position + 1;
}

// Closes the holes and makes room for as many entries again.
static bool rebuild(ig_sobj_dict *d) {
  size_t slots = 8;
  while (slots < 4 * (d->live + 1)) slots *= 2;
  uint32_t *index = slots < UINT32_MAX ? ig_mem_array(d->head.alloc, slots, sizeof *index) : NULL;
  if (!index) return false;
  ig_mem_array_free(d->head.alloc, d->index, d->slots, sizeof *d->index);
  d->index = index;
  d->slots = slots;
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++) {
    if (!d->at[i].live) continue;
    d->at[n] = d->at[i];
    enter(d, n++);
  }
  d->n = n;
  return true;
}

bool ig_sobj_dict_put(ig_ctx *c, ig_sobj_dict *d, ig_value key, ig_value value) {
  ig_sentry *e = ig_sobj_dict_find(d, key);
  if (e) {
    ig_value old = e->value;
    ig_svalue_retain(value);
    e->value = value;
    ig_svalue_release(old);
    return true;
  }
  bool full = 2 * (d->n + 1) > d->slots;
  if ((full && !rebuild(d)) ||
      !ig_mem_grow(d->head.alloc, (void **)&d->at, &d->cap, sizeof *d->at, d->n + 1)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return false;
  }
  ig_svalue_retain(key);
  ig_svalue_retain(value);
  d->at[d->n] = (ig_sentry){key, value, hash_of(d, key), true};
  enter(d, d->n++);
  d->live++;
  return true;
}

void ig_sobj_dict_remove(ig_sobj_dict *d, ig_sentry *e) {
  ig_value key = e->key;
  ig_value value = e->value;
  e->live = false;
  d->live--;
  while (d->n && !d->at[d->n - 1].live && !d->live) d->n--;
  if (!d->live && d->slots) memset(d->index, 0, ig_mem_mul(d->slots, sizeof *d->index));
  ig_svalue_release(key);
  ig_svalue_release(value);
}

void ig_sobj_dict_clear(ig_sobj_dict *d) {
  size_t i = 0;
  for (ig_sentry *e; (e = ig_sobj_dict_next(d, &i));) ig_sobj_dict_remove(d, e);
}

ig_sentry *ig_sobj_dict_next(const ig_sobj_dict *d, size_t *i) {
  while (*i < d->n) {
    ig_sentry *e = &d->at[(*i)++];
    if (e->live) return e;
  }
  return NULL;
}

// ---- instances

bool ig_sobj_instance_set(ig_ctx *c, ig_sobj_instance *o, size_t i, ig_value v) {
  if (i >= o->n) {
    size_t n = o->cls->attributes.n > i ? o->cls->attributes.n : i + 1;
    ig_value *at = ig_mem_array(o->head.alloc, n, sizeof *at);
    if (!at) {
      (void)ig_fail(c, IG_NOMEM, "out of memory");
      return false;
    }
    for (size_t k = 0; k < o->n; k++) at[k] = o->at[k];
    ig_mem_array_free(o->head.alloc, o->at, o->n, sizeof *o->at);
    o->at = at;
    o->n = n;
  }
  ig_value old = o->at[i];
  ig_svalue_retain(v);
  o->at[i] = v;
  ig_svalue_release(old);
  return true;
}

ig_value ig_sobj_instance_get(const ig_sobj_instance *o, size_t i) {
  return i < o->n ? o->at[i] : ig_none();
}
