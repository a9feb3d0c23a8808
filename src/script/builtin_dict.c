// SPDX-License-Identifier: Apache-2.0
// Methods of dicts.
#include "script/builtin.h"
#include "script/interp.h"

static ig_sobj_dict *self_of(const ig_sbuiltin_call *k) {
  return ig_sb_dict_at(k, 0);
}

static void retained(const ig_sbuiltin_call *k, ig_value v) {
  ig_svalue_retain(v);
  k->out[0] = v;
}

static ig_sobj_seq *list_of(const ig_sbuiltin_call *k) {
  return ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, self_of(k)->live);
}

static void no_key(const ig_sbuiltin_call *k) {
  ig_str s = ig_str_make(k->c->alloc);
  if (ig_svalue_print(k->c, &s, k->in[1])) IG_SCRIPT_FAIL(k, "KeyError: %s", s.at ? s.at : "");
  ig_str_free(&s);
}

// Into a dict that others may see.
static bool put(const ig_sbuiltin_call *k, ig_sobj_dict *d, ig_value key, ig_value value) {
  return ig_sobj_admits(k->c, &d->head, key) && ig_sobj_admits(k->c, &d->head, value) &&
         ig_sobj_dict_put(k->c, d, key, value);
}

IG_BUILTIN(dict_new) {
  ig_sb_object(k, ig_sobj_dict_make(k->c, ig_sb_type(k, 0)));
}

static void copy_into(const ig_sbuiltin_call *k, ig_sobj_dict *to, const ig_sobj_dict *from) {
  size_t i = 0;
  for (const ig_sentry *e; to && (e = ig_sobj_dict_next(from, &i));) {
    if (!put(k, to, e->key, e->value)) return;
  }
}

IG_BUILTIN(dict_of_pairs) {
  const ig_sobj_seq *pairs = ig_sb_seq_at(k, 0);
  ig_sobj_dict *d = ig_sobj_dict_make(k->c, ig_sb_type(k, 0));
  for (size_t i = 0; d && i < pairs->n; i++) {
    const ig_sobj_seq *pair = pairs->at[i].object;
    if (!ig_sobj_is(pairs->at[i], IG_SOBJ_TUPLE) || pair->n != 2) {
      IG_SCRIPT_FAIL(k, "dict(): expected pairs in the list");
      break;
    }
    if (!put(k, d, pair->at[0], pair->at[1])) break;
  }
  ig_sb_object(k, d);
}

IG_BUILTIN(dict_copy) {
  const ig_sobj_dict *from = self_of(k);
  const ig_stype *type = ig_sb_type(k, 0);
  ig_sobj_dict *d = ig_sobj_dict_make(k->c, type ? type : from->head.type);
  copy_into(k, d, from);
  ig_sb_object(k, d);
}

IG_BUILTIN(dict_update) {
  if (self_of(k) != ig_sb_dict_at(k, 1)) copy_into(k, self_of(k), ig_sb_dict_at(k, 1));
}

IG_BUILTIN(dict_len) {
  ig_sb_int(k, (int64_t)self_of(k)->live);
}

IG_BUILTIN(dict_contains) {
  ig_sb_bool(k, ig_sobj_dict_find(self_of(k), k->in[1]) != NULL);
}

IG_BUILTIN(dict_item) {
  const ig_sentry *e = ig_sobj_dict_find(self_of(k), k->in[1]);
  if (e)
    retained(k, e->value);
  else
    no_key(k);
}

IG_BUILTIN(dict_set) {
  (void)put(k, self_of(k), k->in[1], k->in[2]);
}

IG_BUILTIN(dict_delete) {
  ig_sentry *e = ig_sobj_dict_find(self_of(k), k->in[1]);
  if (e)
    ig_sobj_dict_remove(self_of(k), e);
  else
    no_key(k);
}

IG_BUILTIN(dict_clear) {
  ig_sobj_dict_clear(self_of(k));
}

// ---- lists of what is in it

static void fill(const ig_sbuiltin_call *k, bool values) {
  ig_sobj_seq *list = list_of(k);
  size_t i = 0;
  size_t n = 0;
  for (const ig_sentry *e; list && (e = ig_sobj_dict_next(self_of(k), &i)); n++) {
    list->at[n] = values ? e->value : e->key;
    ig_svalue_retain(list->at[n]);
  }
  ig_sb_object(k, list);
}

IG_BUILTIN(dict_keys) {
  fill(k, false);
}
IG_BUILTIN(dict_values) {
  fill(k, true);
}

static ig_value pair_of(const ig_sbuiltin_call *k, const ig_sentry *e, const ig_stype *type) {
  const ig_value at[2] = {e->key, e->value};
  ig_sobj_seq *pair = ig_sobj_seq_make(k->c, IG_SOBJ_TUPLE, type, at, 2);
  return pair ? ig_of_sobj(pair) : ig_none();
}

IG_BUILTIN(dict_items) {
  const ig_stype *type = ig_sb_type(k, 0);
  ig_sobj_seq *list = list_of(k);
  size_t i = 0;
  size_t n = 0;
  for (const ig_sentry *e; list && (e = ig_sobj_dict_next(self_of(k), &i)); n++) {
    list->at[n] = pair_of(k, e, type && type->n ? type->at[0] : NULL);
  }
  ig_sb_object(k, list);
}

// ---- with a value for keys that are not there

IG_BUILTIN(dict_get) {
  const ig_sentry *e = ig_sobj_dict_find(self_of(k), k->in[1]);
  retained(k, e ? e->value : k->n_in > 2 ? k->in[2] : ig_none());
}

IG_BUILTIN(dict_pop) {
  ig_sentry *e = ig_sobj_dict_find(self_of(k), k->in[1]);
  if (e) {
    retained(k, e->value);
    ig_sobj_dict_remove(self_of(k), e);
  } else if (k->n_in > 2) {
    retained(k, k->in[2]);
  } else {
    no_key(k);
  }
}

// The oldest entry, where Python gives the newest: scripts were written for the original.
IG_BUILTIN(dict_popitem) {
  ig_sobj_dict *d = self_of(k);
  size_t i = 0;
  ig_sentry *first = ig_sobj_dict_next(d, &i);
  if (!first) {
    IG_SCRIPT_FAIL(k, "popitem(): dictionary is empty");
    return;
  }
  k->out[0] = pair_of(k, first, ig_sb_type(k, 0));
  if (k->c->status == IG_OK) ig_sobj_dict_remove(d, first);
}

IG_BUILTIN(dict_setdefault) {
  const ig_sentry *e = ig_sobj_dict_find(self_of(k), k->in[1]);
  if (e) {
    retained(k, e->value);
  } else if (put(k, self_of(k), k->in[1], k->in[2])) {
    retained(k, k->in[2]);
  }
}
