// SPDX-License-Identifier: Apache-2.0
// Mapped files and sinks: what is written is read, nothing is left behind by failures, a file that
// exists is replaced only by a whole one.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "heap.h"

static char folder[64];

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  char path[128];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  strcpy(folder, "/tmp/ingot-file-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(f->path, sizeof f->path, "%s/file", folder);
  *state = f;
  return 0;
}

static int files_in_folder(void) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e = readdir(d); e; e = readdir(d)) n += e->d_name[0] != '.';
  (void)closedir(d);
  return n;
}

static int teardown(void **state) {
  fixture *f = *state;
  (void)unlink(f->path);
  assert_int_equal(rmdir(folder), 0);  // nothing else was left
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static void file_is(fixture *f, const char *want) {
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_OK);
  assert_int_equal(file->bytes.n, strlen(want));
  if (*want) assert_memory_equal(file->bytes.at, want, strlen(want));
  ig_file_release(file);
}

static void what_is_written_is_read(void **state) {
  fixture *f = *state;
  assert_int_equal(ig_file_write(f->c, f->path, "hello", 5), IG_OK);
  file_is(f, "hello");
  assert_int_equal(ig_file_write(f->c, f->path, "", 0), IG_OK);
  file_is(f, "");
  assert_int_equal(files_in_folder(), 1);
}

static void large_and_small_writes_keep_their_order(void **state) {
  fixture *f = *state;
  enum { PART = 100000 };
  uint8_t *part = malloc(PART);
  ig_sink s;
  assert_int_equal(ig_sink_file(f->c, f->path, &s), IG_OK);
  for (int i = 0; i < 10; i++) {
    memset(part, i, PART);
    ig_sink_put(&s, part, i % 2 ? PART : 10);
  }
  ig_sink_zeros(&s, 1000);
  assert_int_equal(s.total, 5 * PART + 50 + 1000);
  assert_int_equal(ig_sink_close(f->c, &s), IG_OK);
  ig_sink_drop(&s);
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_OK);
  assert_int_equal(file->bytes.n, 5 * PART + 50 + 1000);
  size_t at = 0;
  for (int i = 0; i < 10; i++) {
    size_t n = i % 2 ? PART : 10;
    for (size_t k = 0; k < n; k++) assert_int_equal(file->bytes.at[at + k], i);
    at += n;
  }
  ig_file_release(file);
  free(part);
}

static void a_mapping_lives_as_long_as_it_is_referred_to(void **state) {
  fixture *f = *state;
  assert_int_equal(ig_file_write(f->c, f->path, "hello", 5), IG_OK);
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_OK);
  ig_ref_retain(&file->ref);
  ig_file_release(file);
  assert_int_equal(unlink(f->path), 0);
  assert_memory_equal(file->bytes.at, "hello", 5);
  ig_file_release(file);
}

static void writing_to_a_mapping_leaves_the_file(void **state) {
  fixture *f = *state;
  assert_int_equal(ig_file_write(f->c, f->path, "hello", 5), IG_OK);
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_OK);
  ((uint8_t *)file->bytes.at)[0] = 'j';
  assert_memory_equal(file->bytes.at, "jello", 5);
  ig_file_release(file);
  file_is(f, "hello");
}

static void dropped_sinks_leave_the_old_file(void **state) {
  fixture *f = *state;
  assert_int_equal(ig_file_write(f->c, f->path, "old", 3), IG_OK);
  ig_sink s;
  assert_int_equal(ig_sink_file(f->c, f->path, &s), IG_OK);
  ig_sink_put(&s, "new", 3);
  file_is(f, "old");
  ig_sink_drop(&s);
  file_is(f, "old");
  assert_int_equal(files_in_folder(), 1);
}

static void links_are_followed(void **state) {
  fixture *f = *state;
  char link[160];
  (void)snprintf(link, sizeof link, "%s/link", folder);
  assert_int_equal(ig_file_write(f->c, f->path, "old", 3), IG_OK);
  assert_int_equal(symlink(f->path, link), 0);
  assert_int_equal(ig_file_write(f->c, link, "new", 3), IG_OK);
  file_is(f, "new");
  assert_int_equal(unlink(link), 0);
}

static void failures_name_the_file(void **state) {
  fixture *f = *state;
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_IO);
  assert_null(file);
  test_error_has(f->c, "file: No such file");
  assert_int_equal(ig_file_map(f->c, folder, &file), IG_IO);
  test_error_has(f->c, "not a regular file");
  assert_int_equal(ig_file_map(f->c, "/dev/null", &file), IG_IO);
  test_error_has(f->c, "not a regular file");
  assert_int_equal(ig_file_write(f->c, folder, "x", 1), IG_IO);
  test_error_has(f->c, "is a directory");
  assert_int_equal(ig_file_write(f->c, "/nowhere/at/all", "x", 1), IG_IO);
  test_error_has(f->c, "/nowhere/at/all: No such file");
  assert_int_equal(ig_file_write(f->c, "/dev/null", "x", 1), IG_OK);
  if (access("/dev/full", W_OK) == 0) {
    assert_int_equal(ig_file_write(f->c, "/dev/full", "x", 1), IG_IO);
    test_error_has(f->c, "No space left");
  }
}

static ig_status session(ig_ctx *c) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/file", folder);
  ig_status st = ig_file_write(c, path, "hello", 5);
  ig_file *file = NULL;
  if (st == IG_OK) st = ig_file_map(c, path, &file);
  ig_file_release(file);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_written_is_read),
      TEST(large_and_small_writes_keep_their_order),
      TEST(a_mapping_lives_as_long_as_it_is_referred_to),
      TEST(writing_to_a_mapping_leaves_the_file),
      TEST(dropped_sinks_leave_the_old_file),
      TEST(links_are_followed),
      TEST(failures_name_the_file),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
