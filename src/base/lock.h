// SPDX-License-Identifier: Apache-2.0
// Locks, and what is to be done when a thread ends.
#ifndef BASE_LOCK_H_
#define BASE_LOCK_H_

#include <pthread.h>
#include <stdbool.h>

// Set to IG_LOCK_OPEN where it is static, otherwise by ig_lock_init.
typedef struct ig_lock {
  pthread_mutex_t mutex;
} ig_lock;

#define IG_LOCK_OPEN \
  { PTHREAD_MUTEX_INITIALIZER }

bool ig_lock_init(ig_lock *l);
void ig_lock_free(ig_lock *l);
// A thread that has the lock must not take it again.
void ig_lock_take(ig_lock *l);
void ig_lock_leave(ig_lock *l);

// Called when the thread that registered it ends, before its thread-local variables are gone; the
// structure is usually one of them. Not called for the thread in which the library is unloaded.
typedef struct ig_thread_end {
  void (*run)(struct ig_thread_end *self);
  struct ig_thread_end *next;
} ig_thread_end;

// False: the system refuses.
bool ig_thread_at_end(ig_thread_end *e);

#endif
