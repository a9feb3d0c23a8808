// SPDX-License-Identifier: Apache-2.0
// Our inflate beside zlib's: what zlib packed in every way comes back, and of streams that were
// changed, cut short or made up, both accept the same ones with the same bytes.
#include "codec/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/crc.h"
#include "base/ctx.h"
#include "heap.h"

enum { MOST = 1 << 17 };

static uint32_t next(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 8;
}

// Bytes of one of several kinds: noise, text-like, runs, repeats at all distances.
static void fill(uint8_t *p, size_t n, int kind, uint32_t *seed) {
  for (size_t i = 0; i < n;) {
    size_t run = 1 + next(seed) % (kind == 2 ? 700 : 40);
    if (run > n - i) run = n - i;
    if (kind >= 2 && i && next(seed) % 4) {
      size_t back = 1 + next(seed) % (i < 40000 ? i : 40000);
      for (size_t j = 0; j < run; j++) p[i + j] = p[i + j - back];
    } else if (kind == 2) {
      memset(p + i, (int)(next(seed) & 255), run);
    } else {
      uint32_t mask = kind == 0 ? 255 : 15;
      for (size_t j = 0; j < run; j++) {
        p[i + j] = (uint8_t)(next(seed) & (mask > 15 ? mask : next(seed) & mask));
      }
    }
    i += run;
  }
}

static size_t pack(const uint8_t *data, size_t n, int level, int strategy, uint8_t *out,
                   size_t cap) {
  z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)n, .avail_out = (uInt)cap};
  z.next_out = out;
  assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, strategy), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t done = z.total_out;
  (void)deflateEnd(&z);
  return done;
}

// Whether zlib unpacks all of it to exactly n bytes.
static bool reference(const uint8_t *packed, size_t packed_n, uint8_t *out, size_t n) {
  uint8_t more;  // an output of no bytes needs an address
  z_stream z = {.next_in = (Bytef *)packed, .avail_in = (uInt)packed_n, .avail_out = (uInt)n};
  z.next_out = n ? out : &more;
  assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
  int rc = inflate(&z, Z_FINISH);
  bool whole = rc == Z_STREAM_END && z.total_out == n && z.avail_in == 0;
  (void)inflateEnd(&z);
  return whole;
}

// Exact blocks on the heap, so that sanitizers see one byte too many.
static bool ours(ig_ctx *c, const uint8_t *packed, size_t packed_n, uint8_t *out, size_t n) {
  uint8_t *in = malloc(packed_n ? packed_n : 1);
  uint8_t *to = malloc(n ? n : 1);
  assert_non_null(in);
  assert_non_null(to);
  if (packed_n) memcpy(in, packed, packed_n);
  ig_inflated st = ig_inflate(c, (ig_bytes){in, packed_n}, to, n);
  if (n) memcpy(out, to, n);
  free(in);
  free(to);
  assert_int_not_equal(st, IG_INFLATE_STOPPED);
  return st == IG_INFLATED;
}

static uint8_t plain[MOST];
static uint8_t packed[MOST + (MOST >> 3) + 64];
static uint8_t unpacked[2][2 * MOST];

static void what_zlib_packs_comes_back(void **state) {
  ig_ctx *c = *state;
  uint32_t seed = 1;
  static const size_t sizes[] = {0, 1, 2, 3, 9, 258, 259, 1000, 65535, 65536, MOST};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (int kind = 0; kind < 4; kind++) {
      fill(plain, sizes[s], kind, &seed);
      for (int level = 0; level <= 9; level += 3) {
        for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
          size_t n = pack(plain, sizes[s], level, strategy, packed, sizeof packed);
          assert_true(ours(c, packed, n, unpacked[0], sizes[s]));
          assert_memory_equal(unpacked[0], plain, sizes[s]);
          assert_false(ours(c, packed, n, unpacked[0], sizes[s] + 1));
          assert_false(ours(c, packed, n - 1, unpacked[0], sizes[s]));
          if (sizes[s]) assert_false(ours(c, packed, n, unpacked[0], sizes[s] - 1));
        }
      }
    }
  }
}

static void agree(ig_ctx *c, const uint8_t *p, size_t n, size_t out) {
  bool want = reference(p, n, unpacked[1], out);
  assert_int_equal(ours(c, p, n, unpacked[0], out), want);
  if (want) assert_memory_equal(unpacked[0], unpacked[1], out);
}

// The number of bytes that zlib makes of it before it stops, so that the sizes that could fit are
// tried.
static size_t reach(const uint8_t *p, size_t n) {
  z_stream z = {.next_in = (Bytef *)p,
                .avail_in = (uInt)n,
                .next_out = unpacked[1],
                .avail_out = (uInt)sizeof unpacked[1]};
  assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
  (void)inflate(&z, Z_FINISH);
  size_t done = z.total_out;
  (void)inflateEnd(&z);
  return done;
}

static void changed_streams_are_judged_like_zlib(void **state) {
  ig_ctx *c = *state;
  uint32_t seed = 7;
  for (int round = 0; round < 30000; round++) {
    size_t size = next(&seed) % 600;
    fill(plain, size, (int)(next(&seed) % 4), &seed);
    size_t n = pack(plain, size, 1 + (int)(next(&seed) % 9), (int)(next(&seed) % 5), packed,
                    sizeof packed);
    for (uint32_t k = next(&seed) % 3; k < 3; k++)
      packed[next(&seed) % n] ^= (uint8_t)(1U << next(&seed) % 8);
    agree(c, packed, n, reach(packed, n));
  }
}

// A dynamic block with random lengths of codes: over-subscribed, incomplete, single and complete
// ones all occur.
static void made_up_streams_are_judged_like_zlib(void **state) {
  ig_ctx *c = *state;
  uint32_t seed = 3;
  for (int round = 0; round < 60000; round++) {
    size_t n = 1 + next(&seed) % 64;
    for (size_t i = 0; i < n; i++) packed[i] = (uint8_t)next(&seed);
    packed[0] = (uint8_t)((packed[0] & ~7U) | (next(&seed) % 3 ? 5 : 1 + 2 * (next(&seed) % 2)));
    agree(c, packed, n, reach(packed, n));
  }
}

// Bits, lowest first, as a deflate stream has them.
typedef struct bits {
  uint8_t at[64];
  size_t n;
} bits;

static void put(bits *b, uint32_t v, int count) {
  for (int i = 0; i < count; i++, b->n++) {
    if (v >> i & 1) b->at[b->n / 8] |= (uint8_t)(1U << b->n % 8);
  }
}

// The end of the block and one distance have codes of one bit each, alone: zlib takes that, and
// nothing else that is incomplete.
static void single_codes(void **state) {
  ig_ctx *c = *state;
  for (uint32_t len = 1; len <= 2; len++) {
    bits b = {.n = 0};
    put(&b, 5, 3);   // last, dynamic
    put(&b, 0, 5);   // 257 literals
    put(&b, 0, 5);   // 1 distance
    put(&b, 14, 4);  // lengths of 18 codes, in their order
    for (int i = 0; i < 18; i++) put(&b, i == 2 || i == 15 || i == 17 ? (i == 2 ? 1 : 2) : 0, 3);
    // 18: 0, 1 and 2: 10 and 11. 138 zeros, 118 zeros, then the two lengths.
    put(&b, 0, 1);
    put(&b, 127, 7);
    put(&b, 0, 1);
    put(&b, 107, 7);
    for (int i = 0; i < 2; i++) put(&b, len == 1 ? 1 : 3, 2);
    put(&b, 0, (int)len);
    size_t n = (b.n + 7) / 8;
    agree(c, b.at, n, 0);
    assert_int_equal(ours(c, b.at, n, unpacked[0], 0), len == 1);
  }
}

static void crc_is_zlibs(void **state) {
  (void)state;
  uint32_t seed = 11;
  fill(plain, MOST, 0, &seed);
  for (size_t n = 0; n < 600; n++) {
    for (size_t at = 0; at < 17; at++) {
      uint32_t first = next(&seed);
      uint32_t want = (uint32_t)crc32(first, plain + at, (uInt)n);
      assert_int_equal(ig_crc32(first, plain + at, n), want);
      assert_int_equal(ig_crc32_portable(first, plain + at, n), want);
    }
  }
  assert_int_equal(ig_crc32(0, plain, MOST), crc32(0, plain, MOST));
}

static int setup(void **state) {
  return ig_ctx_create(NULL, (ig_ctx **)state) == IG_OK ? 0 : 1;
}

static int teardown(void **state) {
  ig_ctx_free(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_zlib_packs_comes_back),
      cmocka_unit_test(changed_streams_are_judged_like_zlib),
      cmocka_unit_test(made_up_streams_are_judged_like_zlib),
      cmocka_unit_test(single_codes),
      cmocka_unit_test(crc_is_zlibs),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
