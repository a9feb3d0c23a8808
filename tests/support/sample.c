// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/aten.h"
#include "tensor/copy.h"
#include "tensor/number.h"

typedef struct reader {
  ig_ctx *c;
  const char **p;
  sample_how how;
  sample *s;
} reader;

static void skip(reader *r) {
  while (**r->p == ' ') ++*r->p;
}

static bool take(reader *r, const char *token) {
  skip(r);
  size_t n = strlen(token);
  if (strncmp(*r->p, token, n) != 0) return false;
  *r->p += n;
  return true;
}

// What the suffixes of a tensor request.
typedef struct wish {
  char how;  // 0, '+', 'u', 's', '<', 'p' (perm), 'd' (spd), 'x' (special), '1' (ones), 'o' (sort)
  int64_t below;
  bool transposed;
  bool channels_last;
  bool every_second;
} wish;

static uint32_t hash(size_t tensor, int64_t i) {
  return (uint32_t)((uint64_t)i * 2654435761U + (uint64_t)(tensor + 1) * 40503U * 65537U) >> 8;
}

static double unit(size_t tensor, int64_t i) {
  return (double)(hash(tensor, i) % 1009) / 1009.0;
}

static double real_at(size_t tensor, int64_t i, const wish *w) {
  double u = unit(tensor, i);
  double v = 2 * u - 1;
  switch (w->how) {
    case '+':
      return 0.1 + 1.9 * u;
    case 'u':
      return u;
    case 's':
      return 0.9 * v;
    case '1':
      return 1;
    case 'x':
      if (i % 4 == 0) return NAN;
      if (i % 4 == 1) return INFINITY;
      if (i % 8 == 2) return -INFINITY;
      break;
    default:
      break;
  }
  return v >= 0 ? 0.9 * v + 0.1 : 0.9 * v - 0.1;
}

static int64_t gcd(int64_t a, int64_t b) {
  return b ? gcd(b, a % b) : a;
}

static int64_t whole_at(size_t tensor, int64_t i, int64_t n, const wish *w) {
  static const int64_t steps[] = {7, 11, 13, 1};
  if (w->how == '1') return 1;
  if (w->how == '<') return hash(tensor, i) % w->below;
  if (w->how == '+') return 1 + hash(tensor, i) % 9;
  if (w->how != 'p') return hash(tensor, i) % 10;
  int k = 0;
  while (k < 3 && gcd(steps[k], n) != 1) k++;
  return (i * steps[k] + 3) % n;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return x < y ? -1 : x > y;
}

// A A^T + k I in each k x k block.
static void make_spd(double *v, int64_t n, int64_t k) {
  double *b = malloc((size_t)(k * k) * sizeof *b);
  for (int64_t m = 0; b && m < n; m += k * k) {
    for (int64_t i = 0; i < k; i++) {
      for (int64_t j = 0; j < k; j++) {
        double sum = i == j ? (double)k : 0;
        for (int64_t l = 0; l < k; l++) sum += v[m + i * k + l] * v[m + j * k + l];
        b[i * k + j] = sum;
      }
    }
    memcpy(v + m, b, (size_t)(k * k) * sizeof *b);
  }
  free(b);
}

static void fill(ig_tensor *t, size_t number, const wish *w) {
  int64_t n = ig_tensor_numel(t);
  char *at = ig_tensor_data(t);
  size_t size = ig_dtype_size(t->dtype);
  if (n == 0) return;
  if (t->dtype == IG_BOOL || ig_dtype_is_integral(t->dtype)) {
    for (int64_t i = 0; i < n; i++) {
      int64_t v =
          t->dtype == IG_BOOL && w->how != '1' ? hash(number, i) & 1 : whole_at(number, i, n, w);
      ig_convert(at + (size_t)i * size, t->dtype, &v, IG_I64, 1);
    }
    return;
  }
  double *v = malloc((size_t)n * sizeof *v);
  for (int64_t i = 0; v && i < n; i++) v[i] = real_at(number, i, w);
  int64_t k = t->ndim > 1 ? ig_sizes(t)[t->ndim - 1].value : 0;
  if (v && w->how == 'd' && k > 0 && n % (k * k) == 0) make_spd(v, n, k);
  if (v && w->how == 'o') qsort(v, (size_t)n, sizeof *v, ascending);
  for (int64_t i = 0; v && i < n; i++) {
    ig_c128 z = {v[i], ig_dtype_is_complex(t->dtype) ? real_at(number, i + 7919, w) : 0};
    ig_convert(at + (size_t)i * size, t->dtype, &z, IG_C128, 1);
  }
  free(v);
}

// The same elements in other memory: a view of something larger, or channels last.
static ig_tensor *relaid(ig_ctx *c, ig_tensor *t, const wish *w) {
  if (w->transposed) return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
  ig_meta m;
  ig_meta_of(t, &m);
  if (w->channels_last) {
    ig_meta_format(c, &m, t->ndim == 5 ? IG_CHANNELS_LAST_3D : IG_CHANNELS_LAST);
  } else if (w->every_second && t->ndim) {
    ig_int step = ig_const(2);
    for (int d = t->ndim - 1; d >= 0; d--) {
      m.stride[d] = step;
      step = ig_const(step.value * (m.size[d].value ? m.size[d].value : 1));
    }
  } else {
    return t;
  }
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

static bool parse_ints(reader *r, const char *end, ig_int *at, size_t *n) {
  *n = 0;
  while (!take(r, end)) {
    (void)take(r, ",");
    skip(r);
    char *stop = NULL;
    if (*n == SAMPLE_ITEMS) return false;
    at[(*n)++] = ig_const(strtoll(*r->p, &stop, 10));
    if (stop == *r->p) return false;
    *r->p = stop;
  }
  return true;
}

static void parse_wish(reader *r, wish *w) {
  static const struct {
    const char *text;
    char how;
  } hows[] = {{":+", '+'}, {":u", 'u'},    {":special", 'x'}, {":spd", 'd'}, {":sort", 'o'},
              {":s", 's'}, {":perm", 'p'}, {":ones", '1'},    {":<", '<'}};
  for (;;) {
    size_t k = 0;
    size_t n = sizeof hows / sizeof *hows;
    if (take(r, ".T")) {
      w->transposed = true;
      continue;
    }
    if (take(r, ".cl")) {
      w->channels_last = true;
      continue;
    }
    if (take(r, ".s2")) {
      w->every_second = true;
      continue;
    }
    while (k < n && !take(r, hows[k].text)) k++;
    if (k == n) return;
    w->how = hows[k].how;
    if (w->how == '<') w->below = strtoll(*r->p, (char **)r->p, 10);
  }
}

static bool parse_tensor(reader *r, ig_dtype dtype, ig_value *out) {
  ig_int dims[SAMPLE_ITEMS];
  int64_t sizes[SAMPLE_ITEMS];
  size_t n = 0;
  wish w = {0};
  if (!parse_ints(r, "]", dims, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    sizes[i] = dims[i].value == r->how.from ? r->how.to : dims[i].value;
  }
  parse_wish(r, &w);
  if (r->how.special && dtype == IG_F32 && !w.how) w.how = 'x';
  if (r->how.flat && dtype == IG_F32) {
    n = 0;
    w = (wish){.how = w.how};
  }
  ig_tensor *t = ig_tensor_empty(r->c, dtype == IG_F32 ? r->how.floats : dtype, sizes, (int)n);
  if (!t) return false;
  fill(t, r->s->tensors++, &w);
  *out = ig_of_tensor(relaid(r->c, t, &w));
  return out->kind == IG_KIND_TENSOR;
}

// "i64{3,1}": the elements of a 1-d tensor.
static bool parse_elements(reader *r, ig_dtype dtype, ig_value *out) {
  double v[SAMPLE_ITEMS];
  int64_t n = 0;
  while (!take(r, "}")) {
    (void)take(r, ",");
    skip(r);
    char *stop = NULL;
    if (n == SAMPLE_ITEMS) return false;
    v[n++] = strtod(*r->p, &stop);
    if (stop == *r->p) return false;
    *r->p = stop;
  }
  ig_tensor *t = ig_tensor_empty(r->c, dtype == IG_F32 ? r->how.floats : dtype, &n, 1);
  if (!t) return false;
  ig_convert(ig_tensor_data(t), t->dtype, v, IG_F64, (size_t)n);
  r->s->tensors++;
  *out = ig_of_tensor(t);
  return true;
}

// "f32[" and "f32{" are tensors, "f64" alone a dtype.
static bool parse_dtype(reader *r, ig_value *out, bool *found) {
  static const char *const briefs[] = {
#define X(name, type, text, brief) brief,
      IG_DTYPE_LIST(X)
#undef X
  };
  *found = false;
  skip(r);
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    size_t n = strlen(briefs[d]);
    if (strncmp(*r->p, briefs[d], n) != 0) continue;
    char next = (*r->p)[n];
    if (next != '[' && next != '{' && next != ',' && next != ' ' && next != ')' && next != 0)
      continue;
    *found = true;
    *r->p += n;
    if (next == '[') {
      ++*r->p;
      return parse_tensor(r, (ig_dtype)d, out);
    }
    if (next == '{') {
      ++*r->p;
      return parse_elements(r, (ig_dtype)d, out);
    }
    *out = ig_of_dtype(d == IG_F32 ? r->how.floats : (ig_dtype)d);
    return true;
  }
  return false;
}

static bool parse_value(reader *r, ig_value *out);

static bool parse_items(reader *r, ig_value *out) {
  ig_value *at = r->s->items[r->s->lists++];
  size_t n = 0;
  while (!take(r, ")")) {
    if (n == SAMPLE_ITEMS || !parse_value(r, &at[n++])) return false;
    (void)take(r, ",");
  }
  *out = ig_of_list(at, n);
  return true;
}

static bool parse_number(reader *r, ig_value *out) {
  char *end = NULL;
  double f = strtod(*r->p, &end);
  if (end == *r->p) return false;
  bool whole = true;
  for (const char *p = *r->p; p < end; p++)
    whole = whole && (*p == '-' || (*p >= '0' && *p <= '9'));
  *out = whole ? ig_of_i64((int64_t)f) : ig_of_f64(f);
  *r->p = end;
  if (*end == '+' || *end == '-') {  // 1+2j
    double im = strtod(end, &end);
    *out = ig_of_complex(f, im);
    *r->p = end + 1;
  }
  return true;
}

static bool parse_value(reader *r, ig_value *out) {
  bool found = false;
  if (r->s->lists == SAMPLE_LISTS) return false;
  bool ok = parse_dtype(r, out, &found);
  if (found) return ok;
  if (take(r, "[")) {
    ig_int *at = r->s->ints[r->s->lists++];
    size_t n = 0;
    if (!parse_ints(r, "]", at, &n)) return false;
    *out = ig_of_ints(at, n);
    return true;
  }
  if (take(r, "(")) return parse_items(r, out);
  if (take(r, "'")) {
    char *to = r->s->strings[r->s->lists++];
    size_t n = strcspn(*r->p, "'");
    if (n >= sizeof r->s->strings[0]) return false;
    memcpy(to, *r->p, n);
    to[n] = 0;
    *r->p += n + 1;
    *out = ig_of_str(to);
    return true;
  }
  if (take(r, "None")) {
    *out = ig_none();
    return true;
  }
  bool yes = take(r, "True");
  if (yes || take(r, "False")) {
    *out = ig_of_bool(yes);
    return true;
  }
  return parse_number(r, out);
}

// Numbers in the types of the schema: a single int for a list or a float, device strings.
static bool adapt(const ig_arg *a, ig_value *v, sample *s) {
  if (a->type == IG_TYPE_FLOAT && !a->list && v->kind == IG_KIND_INT) {
    *v = ig_of_f64((double)v->i.value);
  }
  if (a->type == IG_TYPE_DEVICE && v->kind == IG_KIND_STR) {
    ig_device d;
    if (!ig_device_parse(v->str, &d)) return false;
    *v = ig_of_device(d);
  }
  if (a->list && v->kind == IG_KIND_INT) {
    ig_int *at = s->ints[s->lists++];
    for (int i = 0; i < a->fixed; i++) at[i] = v->i;
    *v = ig_of_ints(at, (size_t)a->fixed);
  }
  return true;
}

static size_t named(reader *r, const ig_schema *s, size_t otherwise) {
  skip(r);
  for (size_t a = 0; a < s->nargs; a++) {
    size_t n = strlen(s->args[a].name);
    if (strncmp(*r->p, s->args[a].name, n) != 0 || (*r->p)[n] != '=') continue;
    *r->p += n + 1;
    return a;
  }
  return otherwise;
}

size_t sample_sizes(const char *text, int64_t *sizes) {
  size_t n = 0;
  bool inside = false;
  for (const char *p = text; *p && *p != '|'; p++) {
    // A bracket behind a letter or digit opens the sizes of a tensor, any other a list.
    if (*p == '[')
      inside = p > text && p[-1] != ' ' && p[-1] != ',' && p[-1] != '=' && p[-1] != '(';
    if (*p == ']') inside = false;
    if (!inside || *p < '0' || *p > '9') continue;
    char *end = NULL;
    int64_t v = strtoll(p, &end, 10);
    p = end - 1;
    size_t at = 0;
    while (at < n && sizes[at] < v) at++;
    if (v < 2 || (at < n && sizes[at] == v) || at == SAMPLE_SIZES) continue;
    if (n < SAMPLE_SIZES) n++;
    for (size_t k = n - 1; k > at; k--) sizes[k] = sizes[k - 1];
    sizes[at] = v;
  }
  return n;
}

bool sample_parse(ig_ctx *c, const ig_op *op, const char **text, sample_how how, sample *out) {
  const ig_schema *s = &op->schema;
  reader r = {c, text, how, out};
  out->lists = out->tensors = 0;
  for (size_t i = 0; i < s->nargs; i++) out->args[i] = s->args[i].def;
  skip(&r);
  for (size_t i = 0; **text && !take(&r, "|"); i++) {
    if (i && !take(&r, ",")) return false;
    size_t k = named(&r, s, i);
    if (k >= s->nargs || !parse_value(&r, &out->args[k])) return false;
    if (!adapt(&s->args[k], &out->args[k], out)) return false;
    skip(&r);
  }
  return true;
}
