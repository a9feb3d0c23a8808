// SPDX-License-Identifier: Apache-2.0
// Operators on strings; TfIdfVectorizer.
#include <stdio.h>
#include <string.h>

#include "onnx_ops/regex.h"
#include "onnx_read/reader.h"

static const ig_rd_value *strings(ig_rd *r, size_t i) {
  const ig_rd_value *v = ig_rd_val(r, i);
  if (!v || v->kind == IG_RD_STRINGS) return v;
  ig_rd_fail(r, IG_BAD_TYPE, "input %zu: expected strings", i);
  return NULL;
}

// ---- StringConcat: elementwise, broadcasting

typedef struct shape {
  int ndim;
  int64_t dims[IG_MAX_DIM];
  size_t total;
} shape;

static bool broadcast(ig_rd *r, const ig_rd_value *a, const ig_rd_value *b, shape *out) {
  out->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
  out->total = 1;
  for (int d = 0; d < out->ndim; d++) {
    int da = d - (out->ndim - a->ndim);
    int db = d - (out->ndim - b->ndim);
    int64_t x = da < 0 ? 1 : a->dims[da];
    int64_t y = db < 0 ? 1 : b->dims[db];
    if (x != y && x != 1 && y != 1) {
      ig_rd_fail(r, IG_MISMATCH, "dimension %d: %lld and %lld do not broadcast", d, (long long)x,
                 (long long)y);
      return false;
    }
    out->dims[d] = x == 1 ? y : x;
    if (__builtin_mul_overflow(out->total, (size_t)out->dims[d], &out->total) ||
        out->total > (size_t)r->bytes_limit / sizeof(ig_bytes)) {
      ig_rd_fail(r, IG_INVALID, "too many strings");
      return false;
    }
  }
  return true;
}

// Which element of v stands at flat position i of the broadcast shape.
static size_t element(const ig_rd_value *v, const shape *s, size_t i) {
  size_t at = 0;
  size_t weight = 1;
  for (int d = s->ndim - 1; d >= 0; d--) {
    size_t n = (size_t)s->dims[d];
    if (n == 0) return 0;  // nothing stands there
    size_t k = i % n;
    i /= n;
    int mine = d - (s->ndim - v->ndim);
    if (mine < 0) continue;
    if (v->dims[mine] != 1) at += k * weight;
    weight *= (size_t)v->dims[mine];
  }
  return at;
}

static void read_concat(ig_rd *r) {
  const ig_rd_value *a = strings(r, 0);
  const ig_rd_value *b = strings(r, 1);
  shape s = {0};
  if (!a || !b || !broadcast(r, a, b, &s)) return;
  ig_bytes *out = ig_scope_array(r->c, s.total, sizeof *out);
  for (size_t i = 0; out && i < s.total; i++) {
    ig_bytes x = a->strings[element(a, &s, i)];
    ig_bytes y = b->strings[element(b, &s, i)];
    uint8_t *text = ig_scope_push(r->c, ig_mem_add(x.n + 1, y.n));
    if (!text) return;
    if (x.n) memcpy(text, x.at, x.n);
    if (y.n) memcpy(text + x.n, y.at, y.n);
    out[i] = (ig_bytes){text, x.n + y.n};
  }
  if (out) ig_rd_out_val(r, 0, ig_rd_of_strings(r, out, s.total, s.dims, s.ndim));
}

// ---- StringSplit

static bool is_space(uint8_t ch) {
  return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

typedef struct splitter {
  ig_bytes by;  // empty: white space
  int64_t max;  // splits; -1: any
} splitter;

static bool is_delimiter(const splitter *how, ig_bytes s, size_t at) {
  if (how->by.n == 0) return is_space(s.at[at]);
  return s.n - at >= how->by.n && memcmp(s.at + at, how->by.at, how->by.n) == 0;
}

static ig_bytes trimmed(ig_bytes s) {
  while (s.n && is_space(s.at[0])) s = (ig_bytes){s.at + 1, s.n - 1};
  while (s.n && is_space(s.at[s.n - 1])) s.n--;
  return s;
}

// Parts of s into out (may be NULL: counted only).
static size_t split(const splitter *how, ig_bytes s, ig_bytes *out) {
  bool white = how->by.n == 0;
  for (size_t n = 0;;) {
    if (white) s = trimmed(s);
    if (white && s.n == 0) return n;
    bool last = how->max >= 0 && (int64_t)n >= how->max;
    size_t end = 0;
    while (end < s.n && (last || !is_delimiter(how, s, end))) end++;
    if (out) out[n] = (ig_bytes){s.at, end};
    n++;
    if (end >= s.n) return n;
    size_t skip = end + (white ? 1 : how->by.n);
    s = (ig_bytes){s.at + skip, s.n - skip};
  }
}

static void read_split(ig_rd *r) {
  const ig_rd_value *v = strings(r, 0);
  const ig_om_attr *by = ig_rd_attr(r, "delimiter");
  splitter how = {.max = ig_rd_attr_int(r, "maxsplit", -1)};
  if (by && by->type == IG_OM_ATTR_STRING) how.by = by->s;
  if (!v || v->ndim >= IG_MAX_DIM) return;
  size_t most = 0;
  ig_tensor *counts = ig_rd_real(r, IG_I64, v->dims, v->ndim);
  for (size_t i = 0; counts && i < v->nstrings; i++) {
    size_t n = split(&how, v->strings[i], NULL);
    ((int64_t *)ig_tensor_data(counts))[i] = (int64_t)n;
    most = n > most ? n : most;
  }
  size_t total = 0;
  if (!counts || __builtin_mul_overflow(most, v->nstrings, &total) ||
      total > (size_t)r->bytes_limit / sizeof(ig_bytes)) {
    ig_rd_fail(r, IG_INVALID, "too many parts");
    return;
  }
  ig_bytes *out = ig_scope_array(r->c, total, sizeof *out);
  if (!out) return;
  memset(out, 0, total * sizeof *out);
  for (size_t i = 0; i < v->nstrings; i++) (void)split(&how, v->strings[i], out + i * most);
  int64_t dims[IG_MAX_DIM];
  if (v->ndim) memcpy(dims, v->dims, (size_t)v->ndim * sizeof *dims);
  dims[v->ndim] = (int64_t)most;
  ig_rd_out_val(r, 0, ig_rd_of_strings(r, out, total, dims, v->ndim + 1));
  ig_rd_out(r, 1, counts);
}

// ---- StringNormalizer

// Upper or lower case of one letter of two bytes: Latin-1 and basic Cyrillic.
static void change_pair(uint8_t *at, bool upper) {
  uint32_t cp = (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3fu);
  bool latin = cp >= 0xc0 && cp <= 0xfe && (cp & 0x1f) != 0x17 && (cp & 0x1f) != 0x1f;
  if (latin) cp = upper ? cp & ~0x20u : cp | 0x20u;
  if (!upper && cp >= 0x410 && cp <= 0x42f) cp += 0x20;
  if (upper && cp >= 0x430 && cp <= 0x44f) cp -= 0x20;
  at[0] = (uint8_t)(0xc0 | cp >> 6);
  at[1] = (uint8_t)(0x80 | (cp & 0x3f));
}

// The same for a whole text, in place.
static void change_case(uint8_t *at, size_t n, bool upper) {
  for (size_t i = 0; i < n; i++) {
    uint8_t c = at[i];
    bool letter = upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
    if (letter) at[i] = c ^ 0x20;
    if (c >= 0xc3 && c <= 0xd1 && i + 1 < n) change_pair(&at[i++], upper);
  }
}

static ig_bytes cased(ig_rd *r, ig_bytes s, bool upper) {
  uint8_t *copy = ig_scope_push(r->c, s.n + 1);
  if (!copy) return s;
  if (s.n) memcpy(copy, s.at, s.n);
  change_case(copy, s.n, upper);
  return (ig_bytes){copy, s.n};
}

static bool same(ig_bytes a, ig_bytes b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static void read_normalizer(ig_rd *r) {
  const ig_rd_value *v = strings(r, 0);
  size_t nstop = 0;
  const ig_bytes *stop = ig_rd_attr_strings(r, "stopwords", &nstop);
  const char *action = ig_rd_attr_text(r, "case_change_action", "NONE");
  bool exact = ig_rd_attr_int(r, "is_case_sensitive", 0);
  if (!v) return;
  if (v->ndim < 1 || v->ndim > 2 || (v->ndim == 2 && v->dims[0] != 1)) {
    ig_rd_fail(r, IG_INVALID, "expected a shape [C] or [1, C]");
    return;
  }
  ig_bytes *out = ig_scope_array(r->c, v->nstrings + 1, sizeof *out);
  size_t n = 0;
  for (size_t i = 0; out && i < v->nstrings; i++) {
    bool drop = false;
    for (size_t k = 0; k < nstop && !drop; k++) {
      drop = exact ? same(v->strings[i], stop[k])
                   : same(cased(r, v->strings[i], false), cased(r, stop[k], false));
    }
    if (drop) continue;
    bool upper = strcmp(action, "UPPER") == 0;
    bool lower = strcmp(action, "LOWER") == 0;
    out[n++] = upper || lower ? cased(r, v->strings[i], upper) : v->strings[i];
  }
  if (!out) return;
  if (n == 0) out[n++] = (ig_bytes){NULL, 0};
  int64_t dims[2] = {v->ndim == 2 ? 1 : (int64_t)n, (int64_t)n};
  ig_rd_out_val(r, 0, ig_rd_of_strings(r, out, n, dims, v->ndim));
}

static void read_regex(ig_rd *r) {
  const ig_rd_value *v = strings(r, 0);
  const ig_om_attr *pattern = ig_rd_attr(r, "pattern");
  if (!v || !pattern || pattern->type != IG_OM_ATTR_STRING) {
    ig_rd_fail(r, IG_INVALID, "attribute 'pattern' is missing");
    return;
  }
  const ig_regex *re = ig_regex_parse(r->c, pattern->s);
  ig_tensor *out = re ? ig_rd_real(r, IG_BOOL, v->dims, v->ndim) : NULL;
  for (size_t i = 0; out && i < v->nstrings && ig_rd_ok(r); i++) {
    ig_scope s = ig_scope_open(r->c);
    ((bool *)ig_tensor_data(out))[i] = ig_regex_matches(r->c, re, v->strings[i]);
    ig_scope_close(r->c, s);
  }
  ig_rd_out(r, 0, out);
}

// ---- TfIdfVectorizer

typedef struct grams {
  ig_rd *r;
  ig_map pool;  // text of an n-gram -> index + 1
  size_t row;   // elements of one row
  const ig_bytes *texts;
  const int64_t *numbers;  // one of both
} grams;

static ig_bytes token(const grams *g, const ig_bytes *texts, const int64_t *numbers, size_t i,
                      char *room, size_t size) {
  (void)g;
  if (texts) return texts[i];
  int n = snprintf(room, size, "%lld", (long long)numbers[i]);
  return (ig_bytes){(const uint8_t *)room, (size_t)n};
}

// n tokens from `at` on, `step` apart, as one text; zero bytes cannot be told apart and do not
// occur.
static const char *gram_text(const grams *g, const ig_bytes *texts, const int64_t *numbers,
                             size_t at, size_t step, size_t n) {
  char room[32];
  size_t bytes = 2;
  for (size_t k = 0; k < n; k++)
    bytes += token(g, texts, numbers, at + k * step, room, sizeof room).n + 1;
  char *out = ig_scope_push(g->r->c, bytes);
  if (!out) return NULL;
  size_t used = 0;
  for (size_t k = 0; k < n; k++) {
    ig_bytes t = token(g, texts, numbers, at + k * step, room, sizeof room);
    if (t.n) memcpy(out + used, t.at, t.n);
    used += t.n;
    out[used++] = '\1';
  }
  out[used] = 0;
  return out;
}

static bool fill_pool(ig_rd *r, grams *g, size_t nindexes) {
  size_t nstrings = 0;
  size_t nnumbers = 0;
  size_t ncounts = 0;
  const ig_bytes *texts = ig_rd_attr_strings(r, "pool_strings", &nstrings);
  const int64_t *numbers = ig_rd_attr_ints(r, "pool_int64s", &nnumbers);
  const int64_t *counts = ig_rd_attr_ints(r, "ngram_counts", &ncounts);
  size_t n = texts ? nstrings : nnumbers;
  size_t index = 0;
  for (size_t k = 0; k < ncounts && ig_rd_ok(r); k++) {
    int64_t from = counts[k];
    int64_t to = k + 1 < ncounts ? counts[k + 1] : (int64_t)n;
    if (from < 0 || to < from || (size_t)to > n || (size_t)(to - from) % (k + 1)) {
      ig_rd_fail(r, IG_INVALID, "attribute 'ngram_counts' does not fit the pool");
      return false;
    }
    for (size_t at = (size_t)from; at < (size_t)to; at += k + 1) {
      const char *key = gram_text(g, texts, numbers, at, 1, k + 1);
      ig_map_value *v = key ? ig_map_put(&g->pool, key) : NULL;
      if (!v || index >= nindexes) {
        ig_rd_fail(r, IG_INVALID, "the pool has more n-grams than 'ngram_indexes'");
        return false;
      }
      v->num = ++index;
    }
  }
  return ig_rd_ok(r);
}

static void count_row(ig_rd *r, const grams *g, size_t row, const int64_t *indexes, float *out) {
  int64_t low = ig_rd_attr_int(r, "min_gram_length", 1);
  int64_t high = ig_rd_attr_int(r, "max_gram_length", 1);
  int64_t skips = ig_rd_attr_int(r, "max_skip_count", 0);
  if (low < 1 || high < low || skips < 0) {
    ig_rd_fail(r, IG_INVALID, "n-grams of %lld to %lld tokens that skip at most %lld",
               (long long)low, (long long)high, (long long)skips);
    return;
  }
  for (int64_t n = low; n <= high && n <= (int64_t)g->row; n++) {
    for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips); skip++) {
      int64_t reach = (n - 1) * (skip + 1);
      for (int64_t at = 0; at + reach < (int64_t)g->row && ig_rd_ok(r); at++) {
        ig_scope s = ig_scope_open(r->c);
        const char *key = gram_text(g, g->texts, g->numbers, row * g->row + (size_t)at,
                                    (size_t)skip + 1, (size_t)n);
        const ig_map_value *v = key ? ig_map_find(&g->pool, key) : NULL;
        if (v) out[indexes[v->num - 1]] += 1;
        ig_scope_close(r->c, s);
      }
      if (reach > (int64_t)g->row) break;
    }
  }
}

static void weigh(ig_rd *r, float *at, size_t rows, size_t width, const int64_t *indexes,
                  size_t n) {
  const char *mode = ig_rd_attr_text(r, "mode", "TF");
  size_t nweights = 0;
  const float *weights = ig_rd_attr_floats(r, "weights", &nweights);
  if (strcmp(mode, "TF") == 0) return;
  for (size_t row = 0; row < rows; row++) {
    for (size_t i = 0; i < n; i++) {
      float *x = &at[row * width + (size_t)indexes[i]];
      if (strcmp(mode, "IDF") == 0 && *x > 1) *x = 1;
      if (weights && i < nweights) *x *= weights[i];
    }
  }
}

static void vectorize(ig_rd *r, grams *g, const ig_rd_value *v, const int64_t *indexes, size_t n) {
  int64_t width = 0;
  for (size_t i = 0; i < n; i++) {
    if (indexes[i] < 0 || indexes[i] > 1 << 28) {
      ig_rd_fail(r, IG_INVALID, "attribute 'ngram_indexes' is out of range");
      return;
    }
    width = indexes[i] >= width ? indexes[i] + 1 : width;
  }
  ig_tensor *t = v->kind == IG_RD_STRINGS ? NULL : ig_rd_in(r, 0);
  int ndim = t ? t->ndim : v->ndim;
  if (ndim < 1 || ndim > 2 || (!t && v->kind != IG_RD_STRINGS)) {
    ig_rd_fail(r, IG_INVALID, "expected 1 or 2 dimensions");
    return;
  }
  int64_t rows = ndim == 1 ? 1 : t ? ig_rd_plain(r, ig_rd_size(r, t, 0)) : v->dims[0];
  g->row = (size_t)(t ? ig_rd_plain(r, ig_rd_size(r, t, -1)) : v->dims[ndim - 1]);
  g->texts = t ? NULL : v->strings;
  g->numbers = t ? ig_rd_bytes(r, t, IG_I64) : NULL;
  int64_t dims[2] = {ndim == 1 ? width : rows, width};
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, ndim);
  if (!out || (t && !g->numbers)) return;
  float *at = ig_tensor_data(out);
  memset(at, 0, (size_t)(rows * width) * sizeof *at);
  for (int64_t i = 0; i < rows; i++) count_row(r, g, (size_t)i, indexes, at + i * width);
  weigh(r, at, (size_t)rows, (size_t)width, indexes, n);
  ig_rd_out(r, 0, out);
}

static void read_tfidf(ig_rd *r) {
  size_t n = 0;
  const int64_t *indexes = ig_rd_attr_ints(r, "ngram_indexes", &n);
  const ig_rd_value *v = ig_rd_val(r, 0);
  grams g = {.r = r, .pool = ig_map_make(r->c->alloc)};
  if (indexes && v && fill_pool(r, &g, n)) vectorize(r, &g, v, indexes, n);
  ig_map_free(&g.pool);
}

const ig_rd_row ig_rd_rows_string[] = {
    {"StringConcat", 20, read_concat},         {"StringSplit", 20, read_split},
    {"StringNormalizer", 10, read_normalizer}, {"RegexFullMatch", 20, read_regex},
    {"TfIdfVectorizer", 9, read_tfidf},        {NULL, 0, NULL},
};
