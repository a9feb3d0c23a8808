// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingot/threads.h"
#include "op/op.h"

unsigned long long fuzz_calls;
bool fuzz_show_always;

typedef struct heap {
  size_t used;
  size_t limit;
  size_t count;    // of allocations
  size_t fail_at;  // this one fails
} heap;

static heap the_heap = {.fail_at = SIZE_MAX};

size_t fuzz_fail_allocation(size_t n) {
  size_t count = the_heap.count;
  the_heap.count = 0;
  the_heap.fail_at = n;
  return count;
}

bool fuzz_fails_allocations(void) {
  return the_heap.fail_at != SIZE_MAX;
}

static void *limited(void *user, void *ptr, size_t old_size, size_t new_size) {
  heap *h = user;
  if (new_size == 0) {
    h->used -= ptr ? old_size : 0;
    free(ptr);
    return NULL;
  }
  if (h->count++ == h->fail_at) return NULL;
  if (new_size > h->limit || h->used - old_size > h->limit - new_size) return NULL;
  void *out = realloc(ptr, new_size);
  if (out) h->used += new_size - old_size;
  return out;
}

ig_ctx *fuzz_open(size_t limit) {
  static bool loaded;
  ig_ctx *c = NULL;
  if (!loaded) {  // the operators are parsed once per process, not charged to any input
    ig_threads_set(1);
    loaded = ig_ctx_create(NULL, &c) == IG_OK && ig_lib_get(c);
    ig_ctx_free(c);
  }
  the_heap.limit = limit;
  ig_alloc alloc = {limited, &the_heap};
  return ig_ctx_create(&alloc, &c) == IG_OK ? c : NULL;
}

// From the sanitizer, if there is one: reports where leaked blocks were allocated, and exits.
// NOLINTNEXTLINE: the name is the sanitizer's
__attribute__((weak)) void __lsan_do_leak_check(void);

void fuzz_close(ig_ctx *c) {
  ig_ctx_free(c);
  if (the_heap.used && __lsan_do_leak_check) __lsan_do_leak_check();
  if (the_heap.used) fuzz_finding("%zu bytes are left behind", the_heap.used);
}

void fuzz_finding(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  (void)fputs("finding: ", stderr);
  (void)vfprintf(stderr, fmt, args);
  (void)fputc('\n', stderr);
  va_end(args);
  abort();
}

bool fuzz_shows(void) {
  static int shows = -1;
  if (shows < 0) shows = getenv("INGOT_FUZZ_SHOW") != NULL;
  return shows == 1 || fuzz_show_always;
}

void fuzz_show(const char *fmt, ...) {
  if (!fuzz_shows()) return;
  va_list args;
  va_start(args, fmt);
  (void)vfprintf(stderr, fmt, args);
  va_end(args);
}

static void show_tensor(const ig_tensor *t) {
  (void)fprintf(stderr, "%s%s[", ig_is_fake(t) ? "fake " : "", ig_dtype_text(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    (void)fprintf(stderr, "%s%" PRId64 ":%" PRId64, d ? ", " : "", ig_sizes(t)[d].value,
                  ig_strides(t)[d].value);
  }
  (void)fprintf(stderr, "]%s%s", t->requires_grad ? "!" : "",
                t->device.type == IG_DEVICE_CPU ? "" : ig_device_type_text(t->device));
}

void fuzz_show_value(const ig_value *v) {
  if (!fuzz_shows()) return;
  switch (v->kind) {
    case IG_KIND_NONE:
      (void)fputs("None", stderr);
      break;
    case IG_KIND_TENSOR:
      show_tensor(v->tensor);
      break;
    case IG_KIND_INT:
      (void)fprintf(stderr, "%s%" PRId64, v->i.expr ? "~" : "", v->i.value);
      break;
    case IG_KIND_FLOAT:
      (void)fprintf(stderr, "%g", v->f);
      break;
    case IG_KIND_BOOL:
      (void)fputs(v->b ? "True" : "False", stderr);
      break;
    case IG_KIND_COMPLEX:
      (void)fprintf(stderr, "(%g, %gj)", v->z.re, v->z.im);
      break;
    case IG_KIND_STR:
      (void)fprintf(stderr, "'%s'", v->str);
      break;
    case IG_KIND_DTYPE:
      (void)fputs(ig_dtype_text(v->dtype), stderr);
      break;
    case IG_KIND_INTS:
      (void)fputc('[', stderr);
      for (size_t i = 0; i < v->ints.n; i++)
        (void)fprintf(stderr, "%s%" PRId64, i ? ", " : "", v->ints.at[i].value);
      (void)fputc(']', stderr);
      break;
    case IG_KIND_LIST:
      (void)fputc('(', stderr);
      for (size_t i = 0; i < v->list.n; i++) {
        if (i) (void)fputs(", ", stderr);
        fuzz_show_value(&v->list.at[i]);
      }
      (void)fputc(')', stderr);
      break;
    default:
      (void)fprintf(stderr, "<kind %d>", (int)v->kind);
  }
}
