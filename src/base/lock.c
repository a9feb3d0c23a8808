// SPDX-License-Identifier: Apache-2.0
// Over POSIX threads. One key of the process holds each thread's list of what is to be done.
#define _POSIX_C_SOURCE 200809L
#include "base/lock.h"

#include <stddef.h>

bool ig_lock_init(ig_lock *l) {
  return pthread_mutex_init(&l->mutex, NULL) == 0;
}

void ig_lock_free(ig_lock *l) {
  (void)pthread_mutex_destroy(&l->mutex);
}

void ig_lock_take(ig_lock *l) {
  (void)pthread_mutex_lock(&l->mutex);
}

void ig_lock_leave(ig_lock *l) {
  (void)pthread_mutex_unlock(&l->mutex);
}

static pthread_key_t key;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void run_all(void *first) {
  for (ig_thread_end *e = first; e;) {
    ig_thread_end *next = e->next;
    e->run(e);
    e = next;
  }
}

static void make_key(void) {
  have_key = pthread_key_create(&key, run_all) == 0;
}

bool ig_thread_at_end(ig_thread_end *e) {
  (void)pthread_once(&once, make_key);
  if (!have_key) return false;
  e->next = pthread_getspecific(key);
  return pthread_setspecific(key, e) == 0;
}

// With a priority, so that it runs after the pool's destructor, which has none: the pool's threads
// still need the key as they end.
__attribute__((destructor(199))) static void drop_key(void) {
  if (have_key) (void)pthread_key_delete(key);
  have_key = false;
}
