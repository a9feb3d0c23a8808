// SPDX-License-Identifier: Apache-2.0
// Circles of references. A unit keeps constants, objects keep their unit, and objects of scripts
// may refer to each other: counts alone would keep all of them forever. When an owner lets a unit
// go that only objects of its own still keep, the references between everything that they and the
// unit reach are counted. If an object has more references than that, somebody else sees it and all
// stays; otherwise nobody can see any of it.
#include "script/code.h"

// The objects that were met, in this order.
typedef struct census {
  ig_sobj *first;
  ig_sobj *last;
} census;

// Objects of several units may refer to each other, and a count is kept in the object: one at a
// time.
static atomic_flag counting = ATOMIC_FLAG_INIT;

static ig_sobj *behind(const ig_sobj *o) {
  return o->next_met == o ? NULL : o->next_met;
}

static void meet(census *s, ig_value v, size_t references) {
  ig_sobj *o = ig_sobj_of(v);
  if (!o) return;
  if (!o->next_met) {
    o->next_met = o;
    o->found = 0;
    if (s->last) s->last->next_met = o;
    if (!s->first) s->first = o;
    s->last = o;
  }
  o->found += references;
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
  for (const ig_sobj *o = s->first; o; o = behind(o)) meet_inside(s, o);
  for (const ig_sobj *o = s->first; o; o = behind(o)) {
    if (atomic_load_explicit(&o->refs, memory_order_acquire) != o->found) return false;
  }
  return true;
}

// Ends the count; the objects are released once if they were retained for it.
static void forget(census *s, bool retained) {
  for (ig_sobj *o = s->first; o;) {
    ig_sobj *next = behind(o);
    o->next_met = NULL;
    if (retained) ig_svalue_release(ig_of_sobj(o));
    o = next;
  }
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
static void drop_all(const census *s, ig_sunit *u) {
  for (ig_sobj *o = s->first; o; o = behind(o)) {
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
}

void ig_sunit_close(ig_sunit *u) {
  if (!u) return;
  census s = {NULL, NULL};
  while (atomic_flag_test_and_set_explicit(&counting, memory_order_acquire)) continue;
  // Whoever holds an object and wants to run something of it waits meanwhile.
  ig_sunit_lock(u);
  bool own = u->n_objects && u->runs.n == 0 &&
             atomic_load_explicit(&u->refs, memory_order_acquire) == u->n_objects + 1;
  bool unseen = own && is_unseen(&s, u);
  ig_sunit_unlock(u);
  if (!unseen) forget(&s, false);
  atomic_flag_clear_explicit(&counting, memory_order_release);
  // Nobody else meets these objects; what is released with them may close other units.
  for (ig_sobj *o = unseen ? s.first : NULL; o; o = behind(o)) ig_svalue_retain(ig_of_sobj(o));
  if (unseen) {
    drop_all(&s, u);
    forget(&s, true);
  }
  ig_sunit_release(u);
}
