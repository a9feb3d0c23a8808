// SPDX-License-Identifier: Apache-2.0
// The main function of a fuzz target without a fuzzer: feeds it every file of the folders and files
// that are named on the command line, and cut and bent copies of it, so that the corpus is a
// regression test for every compiler. What it feeds is the same every time.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long inputs;

enum { CUTS = 100, BENDS = 400 };

static uint32_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

// A block of the exact size, so that a sanitizer sees the first byte that is read beyond it.
static void feed(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) return;
  if (size) memcpy(copy, data, size);
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  inputs++;
}

static void feed_all(uint8_t *data, size_t size) {
  feed(data, size);
  for (size_t i = 0; i < CUTS && i < size; i++) feed(data, size * i / CUTS);
  uint32_t seed = (uint32_t)size;
  for (int i = 0; i < BENDS && size; i++) {
    static const uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF};
    size_t at = draw(&seed) % size;
    uint8_t old = data[at];
    uint32_t pick = draw(&seed) % 8;
    data[at] = pick < sizeof odd ? odd[pick] : (uint8_t)draw(&seed);
    feed(data, size);
    if (draw(&seed) % 4) data[at] = old;  // some bends stay
  }
}

static int replay_file(const char *path, size_t size) {
  FILE *f = fopen(path, "rb");
  uint8_t *data = malloc(size ? size : 1);
  size_t got = f && data ? fread(data, 1, size, f) : 0;
  int ok = f && data && got == size;
  if (ok) {
    feed_all(data, size);
  } else {
    (void)fprintf(stderr, "%s: cannot be read\n", path);
  }
  free(data);
  if (f) (void)fclose(f);
  return ok;
}

static int replay(const char *path, int depth) {
  struct stat st;
  if (depth > 8 || stat(path, &st) != 0) {
    (void)fprintf(stderr, "%s: not found\n", path);
    return 0;
  }
  if (!S_ISDIR(st.st_mode)) return replay_file(path, (size_t)st.st_size);
  struct dirent **entries = NULL;
  int n = scandir(path, &entries, NULL, alphasort);  // sorted: the same order everywhere
  int ok = n >= 0;
  for (int i = 0; i < n; i++) {
    char inner[4096];
    if (entries[i]->d_name[0] != '.') {
      int len = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
      ok &= len > 0 && (size_t)len < sizeof inner && replay(inner, depth + 1);
    }
    free(entries[i]);
  }
  free(entries);
  return ok;
}

int main(int argc, char **argv) {
  int ok = argc > 1;
  for (int i = 1; i < argc; i++) ok &= replay(argv[i], 0);
  printf("%ld inputs\n", inputs);
  return ok && inputs > 0 ? 0 : 1;
}
