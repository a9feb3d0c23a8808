// SPDX-License-Identifier: Apache-2.0
// Three ways to the same number: carry-less multiplication (x86-64), the CRC instructions
// (AArch64), and tables that take eight bytes at a time. Tables also finish what the other two
// leave.
#include "base/crc.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { SLICES = 8 };

#define POLYNOMIAL UINT32_C(0xedb88320)  // reflected

// table[s][b]: the byte b followed by s zero bytes.
static uint32_t table[SLICES][256];

static void make_table(void) {
  for (uint32_t b = 0; b < 256; b++) {
    uint32_t r = b;
    for (int i = 0; i < 8; i++) r = r & 1 ? r >> 1 ^ POLYNOMIAL : r >> 1;
    table[0][b] = r;
  }
  for (int s = 1; s < SLICES; s++) {
    for (int b = 0; b < 256; b++) {
      uint32_t r = table[s - 1][b];
      table[s][b] = r >> 8 ^ table[0][r & 255];
    }
  }
}

static uint32_t load32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// All of these continue the remainder r, which is the complement of the checksum so far.
static uint32_t by_table(uint32_t r, const uint8_t *p, size_t n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_table);
  for (; n >= 8; p += 8, n -= 8) {
    uint32_t a = r ^ load32(p);
    uint32_t b = load32(p + 4);
    r = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^ table[4][a >> 24] ^
        table[3][b & 255] ^ table[2][b >> 8 & 255] ^ table[1][b >> 16 & 255] ^ table[0][b >> 24];
  }
  for (; n; p++, n--) r = r >> 8 ^ table[0][(r ^ *p) & 255];
  return r;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LEAST = 128 };  // bytes from which folding pays

static bool is_quick(void) {
  return __builtin_cpu_supports("pclmul");
}

// x times the two halves of `by`, plus the next 16 bytes: x moved behind as many bytes as `by`
// stands for.
__attribute__((target("pclmul"))) static inline __m128i fold(__m128i x, __m128i by, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
  __m128i high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline __m128i load(const uint8_t *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

// Four lanes of 16 bytes, 64 bytes apart, then one. The factors are x^(512+32), x^(512-32),
// x^(128+32) and x^(128-32) modulo the polynomial, reflected, one bit to the left.
__attribute__((target("pclmul"))) static uint32_t quick(uint32_t r, const uint8_t *p, size_t n) {
  const __m128i by64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i x[4];
  for (int i = 0; i < 4; i++) x[i] = load(p + (size_t)i * 16);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)r));
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    for (int i = 0; i < 4; i++) x[i] = fold(x[i], by64, load(p + (size_t)i * 16));
  }
  __m128i all = x[0];
  for (int i = 1; i < 4; i++) all = fold(all, by16, x[i]);
  for (; n >= 16; p += 16, n -= 16) all = fold(all, by16, load(p));
  uint8_t rest[16];
  _mm_storeu_si128((__m128i *)(void *)rest, all);
  return by_table(by_table(0, rest, sizeof rest), p, n);
}

#elif defined(__aarch64__) && defined(__linux__) && defined(__AARCH64EL__)
#include <sys/auxv.h>

enum { LEAST = 1, HAS_CRC = 1 << 7 };  // HWCAP_CRC32

static bool is_quick(void) {
  return getauxval(AT_HWCAP) & HAS_CRC;
}

static uint32_t quick(uint32_t r, const uint8_t *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    __asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(r) : "r"(v));
  }
  for (; n; p++, n--) {
    uint32_t v = *p;
    __asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(r) : "r"(v));
  }
  return r;
}

#else

enum { LEAST = 1 };

static bool is_quick(void) {
  return false;
}

static uint32_t quick(uint32_t r, const uint8_t *p, size_t n) {
  return by_table(r, p, n);
}
#endif

uint32_t ig_crc32(uint32_t crc, const uint8_t *data, size_t n) {
  return ~(n >= LEAST && is_quick() ? quick(~crc, data, n) : by_table(~crc, data, n));
}

uint32_t ig_crc32_portable(uint32_t crc, const uint8_t *data, size_t n) {
  return ~by_table(~crc, data, n);
}
