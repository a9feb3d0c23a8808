// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing; nothing is ever removed.
#include "ir/table.h"

ig_table ig_table_make(ig_alloc alloc) {
  return (ig_table){.alloc = alloc};
}

static ig_table_slot *probe(const ig_table *t, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  size_t i = (size_t)(h >> 32) & (t->cap - 1);
  while (t->slots[i].key && t->slots[i].key != key) i = (i + 1) & (t->cap - 1);
  return &t->slots[i];
}

ig_table_slot *ig_table_find(const ig_table *t, const void *key) {
  ig_table_slot *s = t->cap ? probe(t, key) : NULL;
  return s && s->key ? s : NULL;
}

static bool rehash(ig_table *t) {
  ig_table bigger = {t->alloc, NULL, t->n, t->cap ? t->cap * 2 : 16};
  bigger.slots = ig_mem_array(t->alloc, bigger.cap, sizeof *bigger.slots);
  if (!bigger.slots) return false;
  for (size_t i = 0; i < t->cap; i++) {
    if (t->slots[i].key) *probe(&bigger, t->slots[i].key) = t->slots[i];
  }
  ig_table_free(t);
  *t = bigger;
  return true;
}

ig_table_slot *ig_table_put(ig_table *t, const void *key) {
  if (t->n * 4 >= t->cap * 3 && !rehash(t)) return NULL;
  ig_table_slot *s = probe(t, key);
  if (!s->key) {
    s->key = key;
    t->n++;
  }
  return s;
}

void ig_table_free(ig_table *t) {
  ig_mem_array_free(t->alloc, t->slots, t->cap, sizeof *t->slots);
  *t = ig_table_make(t->alloc);
}
