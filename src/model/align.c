// SPDX-License-Identifier: Apache-2.0
// Myers' algorithm in linear space: from both ends of a box the paths that reach farthest with d
// insertions and deletions, until they meet in the middle; then both halves. Where that takes too
// many steps the box is cut where the paths from its beginning have come farthest.
#include "model/align.h"

enum { MAX_STEPS = 1024 };  // of one search

typedef struct aligner {
  const size_t *a;
  const size_t *b;
  int64_t *partner;
  int64_t *forward;   // by diagonal: how far into a, from the beginning
  int64_t *backward;  // and from the end
  int64_t zero;       // of the diagonals
} aligner;

typedef struct box {
  int64_t a0, a1;  // [a0, a1) of a
  int64_t b0, b1;
} box;

typedef struct point {
  int64_t a;
  int64_t b;
} point;

static int64_t least(int64_t x, int64_t y) {
  return x < y ? x : y;
}

// Are elements x of a and y of b the same, counted from the beginning or from the end of the box?
static bool same(const aligner *k, const box *s, bool back, int64_t x, int64_t y) {
  return back ? k->a[s->a1 - 1 - x] == k->b[s->b1 - 1 - y] : k->a[s->a0 + x] == k->b[s->b0 + y];
}

// Paths of d steps from one end, by diagonal (x - y): as far as they reach, -1 where none stays in
// the box. True: one meets a path from the other end (of `met` steps at most) at *cut.
static bool step(const aligner *k, const box *s, bool back, int64_t d, int64_t met, point *cut) {
  int64_t n = s->a1 - s->a0;
  int64_t m = s->b1 - s->b0;
  int64_t *v = (back ? k->backward : k->forward) + k->zero;
  const int64_t *w = (back ? k->forward : k->backward) + k->zero;
  v[-d - 1] = v[d + 1] = -1;
  for (int64_t q = -d; q <= d; q += 2) {
    int64_t down = v[q + 1] >= 0 && v[q + 1] - q <= m ? v[q + 1] : -1;
    int64_t right = v[q - 1] >= 0 && v[q - 1] < n ? v[q - 1] + 1 : -1;
    int64_t x = d == 0 ? 0 : right > down ? right : down;
    while (x >= 0 && x < n && x - q < m && same(k, s, back, x, x - q)) x++;
    v[q] = x;
    int64_t other = n - m - q;  // the same diagonal, counted from the other end
    bool meets = x >= 0 && other >= -met && other <= met && ((other - met) & 1) == 0 &&
                 w[other] >= 0 && x + w[other] >= n;
    if (!meets) continue;
    *cut = back ? (point){s->a1 - x, s->b1 - (x - q)} : (point){s->a0 + x, s->b0 + x - q};
    return true;
  }
  return false;
}

static point farthest(const aligner *k, const box *s, int64_t d) {
  point best = {s->a0, s->b0};
  for (int64_t q = -d; q <= d; q += 2) {
    int64_t x = k->forward[k->zero + q];
    int64_t reach = s->a0 + x + s->b0 + x - q;
    if (x >= 0 && reach > best.a + best.b) best = (point){s->a0 + x, s->b0 + x - q};
  }
  return best;
}

static point middle(const aligner *k, const box *s) {
  int64_t total = s->a1 - s->a0 + s->b1 - s->b0;
  bool odd = total & 1;
  int64_t most = least(MAX_STEPS, (total + 1) / 2);
  point cut = {s->a0, s->b0};
  for (int64_t d = 0; d <= most; d++) {
    if (step(k, s, false, d, odd ? d - 1 : -1, &cut)) return cut;
    if (step(k, s, true, d, odd ? -1 : d, &cut)) return cut;
  }
  return farthest(k, s, most);
}

static void align(const aligner *k, box s) {
  for (;;) {
    while (s.a0 < s.a1 && s.b0 < s.b1 && k->a[s.a0] == k->b[s.b0]) k->partner[s.a0++] = s.b0++;
    while (s.a0 < s.a1 && s.b0 < s.b1 && k->a[s.a1 - 1] == k->b[s.b1 - 1]) {
      k->partner[--s.a1] = --s.b1;
    }
    if (s.a0 == s.a1 || s.b0 == s.b1) return;
    point cut = middle(k, &s);
    bool none = (cut.a == s.a0 && cut.b == s.b0) || (cut.a == s.a1 && cut.b == s.b1);
    if (none) return;  // the box has nothing in common
    // The smaller half by a call, the other one here: calls are at most log2(n + m) deep.
    box left = {s.a0, cut.a, s.b0, cut.b};
    box right = {cut.a, s.a1, cut.b, s.b1};
    bool first = cut.a - s.a0 + cut.b - s.b0 < s.a1 - cut.a + s.b1 - cut.b;
    align(k, first ? left : right);
    s = first ? right : left;
  }
}

bool ig_align(ig_alloc alloc, const size_t *a, size_t n, const size_t *b, size_t m,
              int64_t *partner) {
  // Diagonals -d-1 to d+1 of the longest search.
  size_t room = 2 * (size_t)(least(MAX_STEPS, (int64_t)(n + m + 1) / 2) + 2) + 1;
  int64_t *memory = ig_mem_array(alloc, ig_mem_mul(2, room), sizeof *memory);
  if (!memory) return false;
  for (size_t i = 0; i < n; i++) partner[i] = IG_UNALIGNED;
  aligner k = {a, b, partner, memory, memory + room, (int64_t)(room / 2)};
  align(&k, (box){0, (int64_t)n, 0, (int64_t)m});
  ig_mem_array_free(alloc, memory, ig_mem_mul(2, room), sizeof *memory);
  return true;
}
