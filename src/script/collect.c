// SPDX-License-Identifier: Apache-2.0
// Circles of references. A unit keeps constants, objects keep their unit, and objects of scripts
// may refer to each other: counts alone would keep all of them forever. When an owner lets a unit
// go that only objects of its own still keep, the references between everything that they and the
// unit reach are counted. If an object has more references than that, somebody else sees it and all
// stays; otherwise nobody can see any of it.
#include "ir/table.h"
#include "script/code.h"

typedef IG_VEC(ig_sobj *) objects;

typedef struct census {
  ig_table counts;  // object -> references found, plus one
  objects all;
  ig_alloc alloc;
  bool failed;
} census;

static void meet(census *s, ig_value v, int64_t references) {
  ig_sobj *o = ig_sobj_of(v);
  ig_table_slot *slot = o ? ig_table_put(&s->counts, o) : NULL;
  if (!o) return;
  if (!slot || (!slot->number && !ig_vec_push(s->alloc, &s->all, o))) {
    s->failed = true;
    return;
  }
  slot->number += references + (slot->number == 0);
}

static void meet_all(census *s, const ig_value *at, size_t n) {
  for (size_t i = 0; i < n; i++) meet(s, at[i], 1);
}

static void meet_code(census *s, const ig_scode *code) {
  for (; code; code = code->next) {
    meet_all(s, code->constants, code->n_constants);
    meet_code(s, code->inner);
  }
}

// What the unit itself refers to.
static void meet_unit(census *s, const ig_sunit *u) {
  for (size_t i = 0; i < u->all_functions.n; i++) {
    const ig_sfunction *f = u->all_functions.at[i];
    for (size_t k = 0; k < f->n_params; k++) meet(s, f->params[k].def, 1);
    meet_code(s, f->code);
  }
  for (size_t i = 0; i < u->classes.n; i++) {
    const ig_sclass *k = u->classes.at[i];
    for (size_t j = 0; j < k->constants.n; j++) meet(s, k->constants.at[j].value, 1);
  }
  for (size_t i = 0; i < u->enums.n; i++) {
    const ig_senum *e = u->enums.at[i];
    for (size_t k = 0; k < e->members.n; k++) meet(s, e->members.at[k].value, 1);
  }
}

static void meet_inside(census *s, const ig_sobj *o) {
  if (o->kind == IG_SOBJ_LIST || o->kind == IG_SOBJ_TUPLE) {
    meet_all(s, ((const ig_sobj_seq *)o)->at, ((const ig_sobj_seq *)o)->n);
  } else if (o->kind == IG_SOBJ_INSTANCE) {
    meet_all(s, ((const ig_sobj_instance *)o)->at, ((const ig_sobj_instance *)o)->n);
  } else if (o->kind == IG_SOBJ_FUTURE) {
    meet(s, ((const ig_sobj_future *)o)->value, 1);
  } else if (o->kind == IG_SOBJ_DICT) {
    size_t i = 0;
    for (const ig_sentry *e; (e = ig_sobj_dict_next((const ig_sobj_dict *)o, &i));) {
      meet(s, e->key, 1);
      meet(s, e->value, 1);
    }
  }
}

static bool is_unseen(census *s, ig_sunit *u) {
  for (ig_sobj *o = u->objects; o; o = ig_sobj_behind(o)) meet(s, ig_of_sobj(o), 0);
  meet_unit(s, u);
  for (size_t i = 0; i < s->all.n; i++) meet_inside(s, s->all.at[i]);
  for (size_t i = 0; i < s->all.n && !s->failed; i++) {
    const ig_sobj *o = s->all.at[i];
    const ig_table_slot *slot = ig_table_find(&s->counts, o);
    size_t found = slot ? (size_t)(slot->number - 1) : 0;
    if (atomic_load_explicit(&o->refs, memory_order_acquire) != found) return false;
  }
  return !s->failed;
}

static void drop(ig_value *at) {
  ig_value old = *at;
  *at = ig_none();
  ig_svalue_release(old);
}

static void drop_code(ig_scode *code) {
  for (; code; code = code->next) {
    for (size_t i = 0; i < code->n_constants; i++) drop(&code->constants[i]);
    drop_code(code->inner);
  }
}

// Takes the circles apart; nobody runs any of this again.
static void drop_all(census *s, ig_sunit *u) {
  for (size_t i = 0; i < s->all.n; i++) ig_svalue_retain(ig_of_sobj(s->all.at[i]));
  for (size_t i = 0; i < s->all.n; i++) {
    ig_sobj *o = s->all.at[i];
    ig_sobj_instance *instance = o->kind == IG_SOBJ_INSTANCE ? (ig_sobj_instance *)o : NULL;
    for (size_t k = 0; instance && k < instance->n; k++) drop(&instance->at[k]);
  }
  for (size_t i = 0; i < u->all_functions.n; i++) {
    ig_sfunction *f = u->all_functions.at[i];
    for (size_t k = 0; k < f->n_params; k++) drop(&f->params[k].def);
    drop_code(f->code);
  }
  for (size_t i = 0; i < u->classes.n; i++) {
    ig_sclass *k = u->classes.at[i];
    for (size_t j = 0; j < k->constants.n; j++) drop(&k->constants.at[j].value);
  }
  for (size_t i = 0; i < s->all.n; i++) ig_svalue_release(ig_of_sobj(s->all.at[i]));
}

void ig_sunit_close(ig_sunit *u) {
  if (!u) return;
  census s = {.alloc = u->alloc, .counts = ig_table_make(u->alloc)};
  // Whoever holds an object and wants to run something of it waits meanwhile.
  ig_sunit_lock(u);
  bool own = u->n_objects && u->runs.n == 0 &&
             atomic_load_explicit(&u->refs, memory_order_acquire) == u->n_objects + 1;
  bool unseen = own && is_unseen(&s, u);
  ig_sunit_unlock(u);
  if (unseen) drop_all(&s, u);
  ig_table_free(&s.counts);
  ig_vec_free(s.alloc, &s.all);
  ig_sunit_release(u);
}
