// SPDX-License-Identifier: Apache-2.0
// The main function of a fuzz target without a fuzzer: feeds it every file of the folders and files
// that are named on the command line, and truncated and mutated copies of it, so that the corpus is
// a regression test for every compiler. What it feeds is the same every time.
//
//   TARGET PATH...                        the files, truncated and mutated
//   TARGET --only PATH...                 the files as they are
//   TARGET --random FIRST COUNT [FOLDER]  inputs of random bytes, numbered from FIRST; with a
//   FOLDER
//                                         they run in a child that is started again, and those that
//                                         kill it or take too long are written there
//   TARGET --failing FIRST COUNT [FOLDER] the same inputs, each several times, and every time one
//                                         allocation fails
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

static long inputs;
static int only;  // files as they are

enum { CUTS = 100, CHANGES = 400 };

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
  if (only) return;
  for (size_t i = 0; i < CUTS && i < size; i++) feed(data, size * i / CUTS);
  uint32_t seed = (uint32_t)size;
  for (int i = 0; i < CHANGES && size; i++) {
    static const uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF};
    size_t at = draw(&seed) % size;
    uint8_t old = data[at];
    uint32_t pick = draw(&seed) % 8;
    data[at] = pick < sizeof odd ? odd[pick] : (uint8_t)draw(&seed);
    feed(data, size);
    if (draw(&seed) % 4) data[at] = old;  // some changes stay
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

// ---- random bytes

enum { LONGEST = 384, CPU_SECONDS = 10, SECONDS = 900 };  // of one input

// What the parent knows of its child.
typedef struct progress {
  volatile long next;
  volatile unsigned long long calls;
} progress;

// Input number k: always the same bytes.
static size_t random_input(long k, uint8_t *out) {
  uint64_t state = (uint64_t)k * 0x9E3779B97F4A7C15U + 0x1234567;
  size_t n = 0;
  for (size_t i = 0; i < LONGEST; i += 8) {
    uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    if (i == 0) n = 16 + (size_t)(z % (LONGEST - 16));
    memcpy(out + i, &z, sizeof z);
  }
  return n;
}

// Allocations of one input that fail, each alone.
enum { FAILURES = 8 };
static bool failing;

static void feed_failing(const uint8_t *data, size_t n, uint32_t seed) {
  (void)fuzz_fail_allocation(SIZE_MAX);
  feed(data, n);
  size_t count = fuzz_fail_allocation(SIZE_MAX);
  for (int i = 0; i < FAILURES && count; i++) {
    (void)fuzz_fail_allocation(draw(&seed) % count);
    feed(data, n);
  }
  (void)fuzz_fail_allocation(SIZE_MAX);
}

static void feed_random(progress *p, long end, bool hurried) {
  uint8_t data[LONGEST];
  const struct itimerval patience = {.it_value = {.tv_sec = CPU_SECONDS}};
  while (p->next < end) {
    if (hurried) (void)setitimer(ITIMER_PROF, &patience, NULL);  // its signal ends the process
    size_t n = random_input(p->next, data);
    if (failing) {
      feed_failing(data, n, (uint32_t)p->next);
    } else {
      feed(data, n);
    }
    p->calls = fuzz_calls;
    p->next = p->next + 1;
  }
}

static void save(const char *folder, const char *target, long k) {
  uint8_t data[LONGEST];
  char path[4096];
  size_t n = random_input(k, data);
  const char *name = strrchr(target, '/');
  (void)snprintf(path, sizeof path, "%s/%s-%ld", folder, name ? name + 1 : target, k);
  FILE *f = fopen(path, "wb");
  if (f) {
    (void)fwrite(data, 1, n, f);
    (void)fclose(f);
  }
  printf("input %ld: %s\n", k, path);
  (void)fflush(stdout);
}

// Waits for the child; kills it when one input takes too long without using the processor.
static int watch(pid_t child, const progress *p) {
  long last = -1;
  int ticks = 0;
  int status = 0;
  const struct timespec tick = {.tv_nsec = 100000000};
  while (waitpid(child, &status, WNOHANG) == 0) {
    (void)nanosleep(&tick, NULL);
    ticks = p->next == last ? ticks + 1 : 0;
    last = p->next;
    if (ticks > 10 * SECONDS) {
      printf("input %ld takes more than %d s\n", last, SECONDS);
      (void)kill(child, SIGKILL);
      (void)waitpid(child, &status, 0);
      break;
    }
  }
  return status;
}

static int hunt(const char *target, long first, long count, const char *folder) {
  progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsigned long long calls = 0;
  long found = 0;
  if (p == MAP_FAILED) return 0;
  p->next = first;
  while (p->next < first + count) {
    p->calls = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) {
      feed_random(p, first + count, true);
      exit(0);  // leaks are checked
    }
    int status = watch(child, p);
    calls += p->calls;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    found++;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
      printf("input %ld takes more than %d s of the processor\n", p->next, CPU_SECONDS);
    save(folder, target, p->next);
    p->next = p->next + 1;
  }
  printf("%ld inputs, %llu operator calls, %ld findings\n", count, calls, found);
  return found == 0;
}

static int run_random(int argc, char **argv) {
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  long count = argc > 3 ? strtol(argv[3], NULL, 10) : 1000;
  if (argc > 4) return hunt(argv[0], first, count, argv[4]);
  progress p = {.next = first};
  feed_random(&p, first + count, false);
  printf("%ld inputs, %llu operator calls\n", inputs, fuzz_calls);
  return 1;
}

int main(int argc, char **argv) {
  failing = argc > 1 && strcmp(argv[1], "--failing") == 0;
  if (failing || (argc > 1 && strcmp(argv[1], "--random") == 0))
    return run_random(argc, argv) ? 0 : 1;
  int from = argc > 1 && strcmp(argv[1], "--only") == 0 ? 2 : 1;
  only = from == 2;
  int ok = argc > from;
  for (int i = from; i < argc; i++) ok &= replay(argv[i], 0);
  printf("%ld inputs\n", inputs);
  return ok && inputs > 0 ? 0 : 1;
}
