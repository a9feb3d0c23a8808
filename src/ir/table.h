// SPDX-License-Identifier: Apache-2.0
// Map from pointers to pointers and a number: what a recorder looks up for every operand.
#ifndef IR_TABLE_H_
#define IR_TABLE_H_

#include "base/mem.h"

typedef struct ig_table_slot {
  const void *key;  // NULL: free
  void *value;
  int64_t number;
} ig_table_slot;

typedef struct ig_table {
  ig_alloc alloc;
  ig_table_slot *slots;
  size_t n;
  size_t cap;  // 0 or a power of two
} ig_table;

ig_table ig_table_make(ig_alloc alloc);
ig_table_slot *ig_table_find(const ig_table *t, const void *key);  // NULL when absent.
ig_table_slot *ig_table_put(ig_table *t,
                            const void *key);  // Found or new (0); NULL: out of memory.
void ig_table_free(ig_table *t);

#endif
