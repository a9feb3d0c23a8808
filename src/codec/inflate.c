// SPDX-License-Identifier: Apache-2.0
// Deflate, read as strictly as zlib does: codes must be complete (except a single code of one bit),
// the end of a block must have a code, distances stay within the output. Codes are decoded by a
// table of their first bits; longer ones continue in a second table behind it.
#include "codec/inflate.h"

#include <string.h>

#include "base/budget.h"
#include "codec/bits.h"

enum {
  MAX_LEN = 15,    // bits of a code
  LITERALS = 288,  // literals and lengths; the last two do not occur in streams
  USED_LITERALS = 286,
  DISTANCES = 32,
  USED_DISTANCES = 30,
  END_OF_BLOCK = 256,
  LENGTH_CODES = 19,  // of the code for lengths of codes
  // Bits of the first tables, and entries of both for any complete code of these sizes.
  LITERAL_ROOT = 11,
  LITERAL_SIZE = 2400,
  DISTANCE_ROOT = 8,
  DISTANCE_SIZE = 448,
  LENGTH_ROOT = 7,
  MOST_BITS = 48,  // of a length and a distance with their extra bits: 15 + 5 + 15 + 13
  WORD = 8,
  STEP = 16 << 20,  // bytes unpacked between two checks of the limits
};

// An entry of a table: bits of the code in the lowest byte; then, in 5 bits, how many extra bits
// follow it (or the bits of the second table); what it means; in the upper half its value: a
// literal, the base of a length or distance, the offset of the second table.
#define EXTRA(e) ((e) >> 8 & 31)
#define VALUE(e) ((e) >> 16)
#define LITERAL UINT32_C(0x8000)
#define SECOND UINT32_C(0x4000)
#define STOP UINT32_C(0x2000)  // the end of a block, or with value 0 no code at all

typedef struct reader {
  const uint8_t *in;
  const uint8_t *in_end;
  uint64_t bits;   // not consumed yet, the next one lowest
  unsigned count;  // of them; bits above are 0 or those of the next bytes
  uint8_t *begin;
  uint8_t *out;
  uint8_t *out_end;
} reader;

typedef struct codes {
  uint32_t literal[LITERAL_SIZE];
  uint32_t distance[DISTANCE_SIZE];
} codes;

// Afterwards there are at least 56 bits, or all that are left.
static inline void refill(reader *r) {
  if (r->in_end - r->in >= WORD) {
    r->bits |= ig_load64(r->in) << r->count;
    r->in += (63 - r->count) >> 3;
    r->count |= 56;
    return;
  }
  for (; r->count < 56 && r->in < r->in_end; r->count += 8) {
    r->bits &= (UINT64_C(1) << r->count) - 1;
    r->bits |= (uint64_t)*r->in++ << r->count;
  }
}

static inline void drop(reader *r, unsigned n) {
  r->bits >>= n;
  r->count -= n;
}

static inline uint32_t peek(const reader *r, unsigned n) {
  return (uint32_t)(r->bits & ((UINT64_C(1) << n) - 1));
}

// n bits, at most 16; false: the stream ends before them.
static bool take(reader *r, unsigned n, uint32_t *v) {
  if (r->count < n) refill(r);
  if (r->count < n) return false;
  *v = peek(r, n);
  drop(r, n);
  return true;
}

// ---- tables

static uint32_t reversed(uint32_t code, unsigned len) {
  uint32_t r = 0;
  for (; len; len--, code >>= 1) r = r << 1 | (code & 1);
  return r;
}

// Number of codes of each length, and whether they may be used: complete, or none, or one of one
// bit.
static bool count_lengths(const uint8_t *lens, unsigned n, bool may_be_single,
                          unsigned count[MAX_LEN + 1]) {
  memset(count, 0, (MAX_LEN + 1) * sizeof *count);
  for (unsigned i = 0; i < n; i++) count[lens[i]]++;
  count[0] = 0;
  int left = 1;
  unsigned used = 0;
  for (int len = 1; len <= MAX_LEN; len++) {
    left = (left << 1) - (int)count[len];
    if (left < 0) return false;
    used += count[len];
  }
  return left == 0 || used == 0 || (may_be_single && used == 1 && count[1] == 1);
}

// The bits that the second table of all codes with this beginning needs: as many as its longest
// code. Codes are in order, so the codes that share a beginning are as many as fill it.
static unsigned second_bits(const unsigned count[MAX_LEN + 1], unsigned len, unsigned root) {
  unsigned bits = len - root;
  unsigned left = 1U << bits;
  for (; len < MAX_LEN && left > count[len]; len++, bits++) left = (left - count[len]) << 1;
  return bits;
}

typedef struct filling {
  uint32_t *table;
  unsigned root;
  unsigned size;       // of the table
  unsigned end;        // entries used, behind the first table too
  unsigned at;         // the second table being filled
  unsigned bits;       // its bits
  uint32_t beginning;  // the first bits of its codes; -1: none yet
} filling;

// One code into all entries that begin with it. `left[len]`: codes of a length that are still to
// come, this one too.
static bool put_code(filling *f, uint32_t code, unsigned len, uint32_t entry,
                     const unsigned left[MAX_LEN + 1]) {
  uint32_t r = reversed(code, len);
  if (len <= f->root) {
    for (uint32_t i = r; i < 1U << f->root; i += 1U << len) f->table[i] = entry | len;
    return true;
  }
  uint32_t beginning = r & ((1U << f->root) - 1);
  if (beginning != f->beginning) {
    f->beginning = beginning;
    f->bits = second_bits(left, len, f->root);
    f->at = f->end;
    f->end += 1U << f->bits;
    if (f->end > f->size) return false;
    f->table[beginning] = (uint32_t)f->at << 16 | SECOND | f->bits << 8;
  }
  for (uint32_t i = r >> f->root; i < 1U << f->bits; i += 1U << (len - f->root))
    f->table[f->at + i] = entry | len;
  return true;
}

// The canonical code of these lengths; entries[i] is what the code of symbol i means. Entries of no
// code are STOP.
static bool make_table(const uint8_t *lens, unsigned n, const uint32_t *entries, unsigned root,
                       bool may_be_single, uint32_t *table, unsigned size) {
  unsigned left[MAX_LEN + 1];
  if (!count_lengths(lens, n, may_be_single, left)) return false;
  for (unsigned i = 0; i < 1U << root; i++) table[i] = STOP;
  filling f = {
      .table = table, .root = root, .size = size, .end = 1U << root, .beginning = UINT32_MAX};
  uint32_t code = 0;
  for (unsigned len = 1; len <= MAX_LEN; len++, code <<= 1) {
    for (unsigned i = 0; i < n && left[len]; i++) {
      if (lens[i] != len) continue;
      if (!put_code(&f, code++, len, entries[i], left)) return false;
      left[len]--;
    }
  }
  return true;
}

// ---- the codes of a block

static void literal_entries(uint32_t e[LITERALS]) {
  static const uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2,
                                  2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5};
  for (uint32_t i = 0; i < END_OF_BLOCK; i++) e[i] = i << 16 | LITERAL;
  e[END_OF_BLOCK] = STOP | 1U << 16;
  uint32_t base = 3;
  for (uint32_t i = 0; i < sizeof extra; i++) {
    e[257 + i] = base << 16 | (uint32_t)extra[i] << 8;
    base += 1U << extra[i];
  }
  e[285] = 258U << 16;
  e[286] = STOP;
  e[287] = STOP;
}

static void distance_entries(uint32_t e[DISTANCES]) {
  uint32_t base = 1;
  for (uint32_t i = 0; i < USED_DISTANCES; i++) {
    uint32_t extra = i < 4 ? 0 : i / 2 - 1;
    e[i] = base << 16 | extra << 8;
    base += 1U << extra;
  }
  e[30] = STOP;
  e[31] = STOP;
}

static bool make_codes(const uint8_t *lens, unsigned literals, unsigned distances, codes *k) {
  uint32_t entries[LITERALS];
  literal_entries(entries);
  if (!make_table(lens, literals, entries, LITERAL_ROOT, true, k->literal, LITERAL_SIZE))
    return false;
  distance_entries(entries);
  return make_table(lens + literals, distances, entries, DISTANCE_ROOT, true, k->distance,
                    DISTANCE_SIZE);
}

static bool fixed_codes(codes *k) {
  uint8_t lens[LITERALS + DISTANCES];
  memset(lens, 8, 144);
  memset(lens + 144, 9, 112);
  memset(lens + 256, 7, 24);
  memset(lens + 280, 8, 8);
  memset(lens + LITERALS, 5, DISTANCES);
  return make_codes(lens, LITERALS, DISTANCES, k);
}

// The lengths of n codes, themselves coded: 16 repeats the last one, 17 and 18 are runs of zeros.
static bool read_lengths(reader *r, const uint32_t *table, unsigned n, uint8_t *lens) {
  static const struct {
    uint8_t bits;
    uint8_t base;
  } runs[] = {{2, 3}, {3, 3}, {7, 11}};
  for (unsigned i = 0; i < n;) {
    refill(r);
    uint32_t e = table[peek(r, LENGTH_ROOT)];
    unsigned len = e & 255;
    if (e & STOP || len > r->count) return false;
    drop(r, len);
    uint32_t symbol = VALUE(e);
    if (symbol < 16) {
      lens[i++] = (uint8_t)symbol;
      continue;
    }
    uint32_t more;
    if (!take(r, runs[symbol - 16].bits, &more)) return false;
    unsigned times = runs[symbol - 16].base + more;
    if (times > n - i || (symbol == 16 && i == 0)) return false;
    memset(lens + i, symbol == 16 ? lens[i - 1] : 0, times);
    i += times;
  }
  return true;
}

static bool dynamic_codes(reader *r, codes *k) {
  static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint32_t literals;
  uint32_t distances;
  uint32_t given;
  if (!take(r, 5, &literals) || !take(r, 5, &distances) || !take(r, 4, &given)) return false;
  literals += 257;
  distances += 1;
  if (literals > USED_LITERALS || distances > USED_DISTANCES) return false;
  uint8_t lens[USED_LITERALS + USED_DISTANCES] = {0};
  uint32_t entries[LENGTH_CODES];
  for (uint32_t i = 0; i < LENGTH_CODES; i++) {
    entries[i] = i << 16;
    uint32_t len = 0;
    if (i < given + 4 && !take(r, 3, &len)) return false;
    lens[order[i]] = (uint8_t)len;
  }
  uint32_t table[1 << LENGTH_ROOT];
  if (!make_table(lens, LENGTH_CODES, entries, LENGTH_ROOT, false, table, 1 << LENGTH_ROOT))
    return false;
  if (!read_lengths(r, table, literals + distances, lens)) return false;
  return lens[END_OF_BLOCK] && make_codes(lens, literals, distances, k);
}

// ---- data

static bool copy_stored(reader *r) {
  drop(r, r->count & 7);
  // What was read ahead in whole bytes goes back.
  r->in -= r->count / 8;
  r->count = 0;
  r->bits = 0;
  if (r->in_end - r->in < 4) return false;
  size_t n = ig_load16(r->in);
  if ((n ^ 0xffff) != ig_load16(r->in + 2)) return false;
  r->in += 4;
  if ((size_t)(r->in_end - r->in) < n || (size_t)(r->out_end - r->out) < n) return false;
  if (n) memcpy(r->out, r->in, n);
  r->in += n;
  r->out += n;
  return true;
}

// Repeats `length` bytes from `distance` before the end. Words may write beyond them, which comes
// later anyway.
static inline void repeat(reader *r, size_t length, size_t distance) {
  uint8_t *to = r->out;
  const uint8_t *from = to - distance;
  r->out += length;
  if (distance >= WORD && r->out_end - to >= (ptrdiff_t)(length + WORD)) {
    for (; to < r->out; to += WORD, from += WORD) memcpy(to, from, WORD);
  } else if (distance == 1) {
    memset(to, *from, length);
  } else {
    while (to < r->out) *to++ = *from++;
  }
}

// The entry for the next bits, whose code is consumed; STOP without a value if they are none.
static inline uint32_t decode(reader *r, const uint32_t *table, unsigned root) {
  uint32_t e = table[peek(r, root)];
  if (e & SECOND) e = table[VALUE(e) + (uint32_t)(r->bits >> root & ((1U << EXTRA(e)) - 1))];
  unsigned len = e & 255;
  if (len > r->count) return STOP;
  drop(r, len);
  return e;
}

static inline bool add_extra(reader *r, uint32_t e, size_t *v) {
  unsigned n = EXTRA(e);
  if (n > r->count) return false;
  *v = VALUE(e) + peek(r, n);
  drop(r, n);
  return true;
}

typedef enum progress { DAMAGED, ENDED, PAUSED } progress;

// Symbols up to the end of the block, or until the output has reached `pause`.
static progress read_symbols(reader *stored, const codes *k, const uint8_t *pause) {
  reader r = *stored;  // in registers
  progress done = DAMAGED;
  for (;;) {
    if (r.count < MOST_BITS) refill(&r);
    uint32_t e = decode(&r, k->literal, LITERAL_ROOT);
    if (e & LITERAL) {
      if (r.out == r.out_end) break;
      *r.out++ = (uint8_t)VALUE(e);
    } else if (e & STOP) {
      done = VALUE(e) ? ENDED : DAMAGED;
      break;
    } else {
      size_t length;
      size_t distance;
      if (!add_extra(&r, e, &length)) break;
      e = decode(&r, k->distance, DISTANCE_ROOT);
      if (e & STOP || !add_extra(&r, e, &distance)) break;
      if (distance > (size_t)(r.out - r.begin) || length > (size_t)(r.out_end - r.out)) break;
      repeat(&r, length, distance);
    }
    if (r.out >= pause) {
      done = PAUSED;
      break;
    }
  }
  *stored = r;
  return done;
}

// Pauses at the end of the output too; what follows there can only end the block, or is damage.
static progress read_coded(ig_ctx *c, reader *r, uint32_t type, codes *k) {
  if (!(type == 1 ? fixed_codes(k) : dynamic_codes(r, k))) return DAMAGED;
  for (;;) {
    const uint8_t *pause = r->out_end - r->out > STEP ? r->out + STEP : r->out_end;
    progress done = read_symbols(r, k, pause);
    if (done != PAUSED || !ig_look(c)) return done;
  }
}

ig_inflated ig_inflate(ig_ctx *c, ig_bytes packed, uint8_t *dst, size_t n) {
  uint8_t nothing;
  uint8_t *to = n ? dst : &nothing;
  reader r = {
      .in = packed.at, .in_end = packed.at + packed.n, .begin = to, .out = to, .out_end = to + n};
  codes k;
  uint32_t last = 0;
  while (!last) {
    uint32_t type;
    if (!take(&r, 1, &last) || !take(&r, 2, &type) || type == 3) return IG_INFLATE_DAMAGED;
    progress done = type == 0 ? (copy_stored(&r) ? ENDED : DAMAGED) : read_coded(c, &r, type, &k);
    if (!ig_look(c)) return IG_INFLATE_STOPPED;
    if (done != ENDED) return IG_INFLATE_DAMAGED;
  }
  bool whole = r.out == r.out_end && r.in_end - r.in + (ptrdiff_t)(r.count / 8) == 0;
  return whole ? IG_INFLATED : IG_INFLATE_DAMAGED;
}
