// SPDX-License-Identifier: Apache-2.0
// Pages that are given back: those of a file come back as they are in the file, those that were
// written to and other memory stay.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/blocks.h"
#include "base/file.h"

enum { PAGES = 1200 };  // more than are asked for at a time

static const char path[] = "pages_test.bin";

static uint8_t byte_at(size_t i) {
  return (uint8_t)(i * 7 + i / 4096);
}

// Bytes of [at, at + n) that the process has in memory; -1: the system does not tell.
static int64_t resident(const uint8_t *at, size_t n) {
#if defined(__linux__)
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  int fd = open("/proc/self/pagemap", O_RDONLY);
  if (fd < 0) return -1;
  int64_t bytes = 0;
  for (uintptr_t p = (uintptr_t)at / size; p < ((uintptr_t)at + n) / size; p++) {
    uint64_t entry = 0;
    if (pread(fd, &entry, sizeof entry, (off_t)(p * sizeof entry)) != sizeof entry) break;
    bytes += (entry >> 63) ? (int64_t)size : 0;
  }
  (void)close(fd);
  return bytes;
#else
  (void)at;
  (void)n;
  return -1;
#endif
}

static void forgets_what_a_file_has(void **state) {
  (void)state;
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  size_t n = PAGES * size + 100;
  uint8_t *data = malloc(n);
  assert_non_null(data);
  for (size_t i = 0; i < n; i++) data[i] = byte_at(i);
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  assert_int_equal(ig_file_write(c, path, data, n), IG_OK);
  ig_file *f = NULL;
  assert_int_equal(ig_file_map(c, path, &f), IG_OK);
  uint8_t *at = (uint8_t *)f->bytes.at;
  assert_memory_equal(at, data, n);
  size_t written[] = {0, 511 * size + 3, 512 * size, (PAGES - 1) * size};
  for (size_t i = 0; i < 4; i++) at[written[i]] = data[written[i]] = 99;
  int64_t before = resident(at, n);
  ig_pages_forget(at, n);
  int64_t after = resident(at, n);
  if (before > 0) assert_true(after >= (int64_t)(4 * size) && after < before / 2);
  assert_memory_equal(at, data, n);
  ig_pages_forget(at + 1, 10);  // less than a page
  ig_pages_forget(NULL, 0);
  assert_memory_equal(at, data, n);
  ig_pages_forget(data, n);  // of no file
  for (size_t i = 0; i < n; i++) assert_true(data[i] == at[i]);
  ig_file_release(f);
  ig_ctx_free(c);
  free(data);
  (void)remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forgets_what_a_file_has)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
