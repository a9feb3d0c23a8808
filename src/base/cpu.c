// SPDX-License-Identifier: Apache-2.0
// Instruction sets by cpuid, usable CPUs by affinity mask and cgroup quota, cache sizes. The
// results are computed once and stored in atomics: concurrent first callers find the same values.
#define _GNU_SOURCE  // sched_getaffinity, CPU_COUNT_S
#include "base/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>

// True when the operating system saves the registers of these XCR0 bits.
static bool os_saves(uint32_t bits) {
  uint32_t lo;
  uint32_t hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (lo & bits) == bits;
}

// Bits of cpuid: leaf 1, ecx, and leaf 7, ebx.
#define LEAF1_AVX (1u << 12 | 1u << 27 | 1u << 28 | 1u << 29)  // FMA, OSXSAVE, AVX, F16C
#define LEAF7_AVX2 (1u << 5)
#define LEAF7_VNNI (1u << 11)                                     // ecx
#define LEAF7_1_BF16 (1u << 5)                                    // leaf 7.1, eax
#define LEAF7_AVX512 (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)  // F, DQ, BW, VL

static ig_cpu probe(void) {
  uint32_t r[4];  // eax, ebx, ecx, edx
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3])) return IG_CPU_BASE;
  if ((r[2] & LEAF1_AVX) != LEAF1_AVX || !os_saves(0x6)) return IG_CPU_BASE;
  if (!__get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3])) return IG_CPU_BASE;
  if (!(r[1] & LEAF7_AVX2)) return IG_CPU_BASE;
  return (r[1] & LEAF7_AVX512) == LEAF7_AVX512 && os_saves(0xe6) ? IG_CPU_AVX512 : IG_CPU_AVX2;
}

static bool has_dot8(void) {
  uint32_t r[4];
  return __get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3]) && (r[2] & LEAF7_VNNI);
}

static bool has_bf16(void) {
  uint32_t r[4];
  return __get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3]) && r[0] >= 1 &&
         __get_cpuid_count(7, 1, &r[0], &r[1], &r[2], &r[3]) && (r[0] & LEAF7_1_BF16);
}

// cpuid is slow in virtual machines. found: -1 before the first question.
static bool answer(_Atomic int *found, bool (*probe_one)(void)) {
  if (ig_cpu_level() < IG_CPU_AVX512) return false;
  int v = atomic_load_explicit(found, memory_order_relaxed);
  if (v < 0) {
    v = probe_one();
    atomic_store_explicit(found, v, memory_order_relaxed);
  }
  return v != 0;
}

bool ig_cpu_has_dot8(void) {
  static _Atomic int found = -1;
  return answer(&found, has_dot8);
}

bool ig_cpu_has_bf16(void) {
  static _Atomic int found = -1;
  return answer(&found, has_bf16);
}
#else
static ig_cpu probe(void) {
#if defined(__aarch64__)
  return IG_CPU_NEON;
#else
  return IG_CPU_BASE;
#endif
}

bool ig_cpu_has_dot8(void) {
#if defined(__linux__) && defined(HWCAP_ASIMDDP)
  return ig_cpu_level() >= IG_CPU_NEON && (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

bool ig_cpu_has_bf16(void) {
  return false;
}
#endif

static ig_cpu probe_limited(void) {
  ig_cpu found = probe();
  ig_cpu cap = found;
  const char *s = getenv("INGOT_CPU");
  if (s && !strcmp(s, "base")) cap = IG_CPU_BASE;
  if (s && !strcmp(s, "avx2")) cap = IG_CPU_AVX2;
  return cap < found ? cap : found;
}

static _Atomic int cpu_found =
    -1;  // The level of processor and environment, -1: not determined yet.
static _Atomic int cpu_level = -1;  // The level in use.

static int found_level(void) {
  int v = atomic_load_explicit(&cpu_found, memory_order_relaxed);
  if (v < 0) {
    v = (int)probe_limited();
    atomic_store_explicit(&cpu_found, v, memory_order_relaxed);
  }
  return v;
}

ig_cpu ig_cpu_level(void) {
  int v = atomic_load_explicit(&cpu_level, memory_order_relaxed);
  if (v < 0) {
    v = found_level();
    atomic_store_explicit(&cpu_level, v, memory_order_relaxed);
  }
  return (ig_cpu)v;
}

ig_cpu ig_cpu_limit(ig_cpu level) {
  int found = found_level();
  if (level == IG_CPU_NEON && found != IG_CPU_NEON) level = IG_CPU_BASE;  // of other processors
  int v = (int)level < found ? (int)level : found;
  atomic_store_explicit(&cpu_level, v, memory_order_relaxed);
  return (ig_cpu)v;
}

// ---- how many CPUs ----

static int affinity_count(void) {
#if defined(__linux__)
  for (size_t cpus = 1024; cpus <= 65536; cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC(cpus);
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE(cpus);
    int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (n > 0) return n;
  }
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 && n < INT_MAX ? (int)n : 1;
}

#if defined(__linux__)
static bool read_line(const char *path, char *buf, int size) {
  FILE *f = fopen(path, "re");
  if (!f) return false;
  bool ok = fgets(buf, size, f) != NULL;
  (void)fclose(f);
  return ok;
}

static int quota_to_cpus(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return INT_MAX;
  long long n = quota / period + (quota % period != 0);
  return n > INT_MAX ? INT_MAX : (int)n;
}

// The quota of one cgroup directory; INT_MAX: none.
static int quota_of(const char *dir, bool v2) {
  char path[PATH_MAX + 32];
  char line[128];
  if (v2) {
    (void)snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (!read_line(path, line, sizeof line) || !strncmp(line, "max", 3)) return INT_MAX;
    char *end;
    long long quota = strtoll(line, &end, 10);
    return quota_to_cpus(quota, strtoll(end, NULL, 10));
  }
  (void)snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
  if (!read_line(path, line, sizeof line)) return INT_MAX;
  long long quota = strtoll(line, NULL, 10);
  (void)snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
  if (!read_line(path, line, sizeof line)) return INT_MAX;
  return quota_to_cpus(quota, strtoll(line, NULL, 10));
}

// The least quota from a group up to the mount point: limits of ancestors apply as well. Inside a
// container the group's path may not exist below the mount; the mount itself is then the group.
static int quota_up(const char *mount, const char *group, bool v2) {
  char dir[PATH_MAX];
  int len = snprintf(dir, sizeof dir, "%s%s", mount, group);
  size_t root = strlen(mount);
  if (len < 0 || (size_t)len >= sizeof dir) return INT_MAX;
  int best = INT_MAX;
  for (;;) {
    int n = quota_of(dir, v2);
    if (n < best) best = n;
    char *slash = strrchr(dir, '/');
    if (!slash || (size_t)(slash - dir) < root) return best;
    *slash = 0;
  }
}

// True when the comma-separated list holds the word.
static bool list_has(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; p; p = strchr(p, ',')) {
    p += *p == ',';
    if (!strncmp(p, word, n) && (p[n] == ',' || p[n] == 0)) return true;
  }
  return false;
}

static int cgroup_count(void) {
  FILE *f = fopen("/proc/self/cgroup", "re");
  if (!f) return INT_MAX;
  char line[PATH_MAX];
  int best = INT_MAX;
  while (fgets(line, sizeof line, f)) {  // hierarchy:controllers:/group
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    controllers++;
    int n = INT_MAX;
    if (!*controllers) {
      n = quota_up("/sys/fs/cgroup", group, true);
    } else if (list_has(controllers, "cpu")) {
      int a = quota_up("/sys/fs/cgroup/cpu", group, false);
      int b = quota_up("/sys/fs/cgroup/cpu,cpuacct", group, false);
      n = a < b ? a : b;
    }
    if (n < best) best = n;
  }
  (void)fclose(f);
  return best;
}
#else
static int cgroup_count(void) {
  return INT_MAX;
}
#endif

int ig_cpu_count(void) {
  int a = affinity_count();
  int b = cgroup_count();
  int n = a < b ? a : b;
  return n < 1 ? 1 : n;
}

// ---- caches ----

static size_t cache_size(int name, size_t guess) {
  long n = sysconf(name);
  return n > 0 ? (size_t)n : guess;
}

#if !defined(_SC_LEVEL1_DCACHE_SIZE)
#define _SC_LEVEL1_DCACHE_SIZE (-1)
#define _SC_LEVEL2_CACHE_SIZE (-1)
#define _SC_LEVEL3_CACHE_SIZE (-1)
#endif

// The system is asked once.
static size_t cache_once(_Atomic size_t *size, int name, size_t guess) {
  size_t v = atomic_load_explicit(size, memory_order_relaxed);
  if (!v) {
    v = cache_size(name, guess);
    atomic_store_explicit(size, v, memory_order_relaxed);
  }
  return v;
}

size_t ig_cpu_l1(void) {
  static _Atomic size_t size;
  return cache_once(&size, _SC_LEVEL1_DCACHE_SIZE, 32 << 10);
}

size_t ig_cpu_l2(void) {
  static _Atomic size_t size;
  return cache_once(&size, _SC_LEVEL2_CACHE_SIZE, 512 << 10);
}

size_t ig_cpu_l3(void) {
  static _Atomic size_t size;
  return cache_once(&size, _SC_LEVEL3_CACHE_SIZE, 32 << 20);
}
