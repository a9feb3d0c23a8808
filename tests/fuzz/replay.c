// SPDX-License-Identifier: Apache-2.0
// The main function of a fuzz target without a fuzzer: feeds it every file of the folders and files
// that are named on the command line, so that the corpus is a regression test for every compiler.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long inputs;

static int replay_file(const char *path, size_t size) {
  FILE *f = fopen(path, "rb");
  // A block of the exact size, so that a sanitizer sees the first byte that is read beyond it.
  uint8_t *data = malloc(size ? size : 1);
  size_t got = f && data ? fread(data, 1, size, f) : 0;
  int ok = f && data && got == size;
  if (ok) {
    (void)LLVMFuzzerTestOneInput(data, size);
    inputs++;
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
