// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tensor/number.h"

static char *file;
static char **lines;  // sorted, as the tool writes them
static size_t count;

bool golden_open(const char *path) {
  gzFile f = gzopen(path, "rb");
  size_t cap = 64 << 20;
  file = f ? malloc(cap) : NULL;
  int n = file ? gzread(f, file, (unsigned)cap - 1) : -1;
  if (f) (void)gzclose(f);
  if (n < 0) return false;
  file[n] = 0;
  for (char *p = file; *p; p++) count += *p == '\n';
  lines = malloc((count + 1) * sizeof *lines);
  if (!lines) return false;
  char *p = file;
  for (size_t i = 0; i < count; i++) {
    lines[i] = p;
    p = strchr(p, '\n');
    *p++ = 0;
  }
  return true;
}

void golden_close(void) {
  free(lines);
  free(file);
  lines = NULL;
  file = NULL;
  count = 0;
}

static const char *find_line(const char *key) {
  size_t lo = 0;
  size_t hi = count;
  size_t n = strlen(key);
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    int order = strncmp(lines[mid], key, n);
    if (order == 0) return lines[mid] + n;
    if (order < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return NULL;
}

static ig_dtype dtype_of(const char *brief, size_t n) {
  static const char *const briefs[] = {
#define X(name, type, text, brief) brief,
      IG_DTYPE_LIST(X)
#undef X
  };
  int d = 0;
  while (d < IG_DTYPE_COUNT && !(strlen(briefs[d]) == n && strncmp(briefs[d], brief, n) == 0)) d++;
  return (ig_dtype)d;
}

static int read_ints(const char **p, ig_int *out) {
  int n = 0;
  while (**p != '|') {
    out[n++] = ig_const(strtoll(*p, (char **)p, 10));
    if (**p == ',') ++*p;
  }
  ++*p;
  return n;
}

static ig_value read_number(const char **p, ig_dtype d) {
  if (d == IG_BOOL || ig_dtype_is_integral(d)) {
    return ig_of_i64((int64_t)(d == IG_U64 ? (int64_t)strtoull(*p, (char **)p, 10)
                                           : strtoll(*p, (char **)p, 10)));
  }
  double re = strtod(*p, (char **)p);
  if (**p != ',') return ig_of_f64(re);
  ++*p;
  double im = strtod(*p, (char **)p);
  return ig_of_complex(re, im);
}

// dtype|sizes|strides|values
static ig_value read_tensor(ig_ctx *c, const char **p) {
  ig_meta m;
  size_t n = strcspn(*p, "|");
  ig_meta_init(&m, dtype_of(*p, n), ig_device_cpu());
  *p += n + 1;
  m.ndim = read_ints(p, m.size);
  (void)read_ints(p, m.stride);
  m.strided = true;
  ig_tensor *t = ig_tensor_make(c, &m, false);
  int64_t index[IG_MAX_DIM] = {0};
  char *data = t ? ig_tensor_data(t) : NULL;
  size_t size = ig_dtype_size(m.dtype);
  for (int64_t i = t ? ig_tensor_numel(t) : 0; i > 0; i--) {
    int64_t at = 0;
    for (int d = 0; d < m.ndim; d++) at += index[d] * m.stride[d].value;
    ig_value v = read_number(p, m.dtype);
    ig_element_store(data + at * (int64_t)size, m.dtype, &v);
    if (**p == ' ') ++*p;
    for (int d = m.ndim - 1; d >= 0 && ++index[d] == m.size[d].value; d--) index[d] = 0;
  }
  return ig_of_tensor(t);
}

static ig_value read_value(ig_ctx *c, const char **p);

// [value;value]: one of several results, or an argument that was written.
static ig_value read_list(ig_ctx *c, const char **p) {
  enum { MAX_ITEMS = 16 };
  ig_value *items = ig_scope_array(c, MAX_ITEMS, sizeof *items);
  size_t n = 0;
  ++*p;
  while (items && **p && **p != ']' && n < MAX_ITEMS) {
    items[n++] = read_value(c, p);
    if (**p == ';') ++*p;
  }
  if (**p == ']') ++*p;
  return ig_of_list(items, n);
}

static ig_value read_value(ig_ctx *c, const char **p) {
  if (**p == '[') return read_list(c, p);
  if (strncmp(*p, "None", 4) == 0) {
    *p += 4;
    return ig_none();
  }
  if (**p != '=') return read_tensor(c, p);
  ++*p;
  bool whole = strcspn(*p, ".enia") == strlen(*p);
  return read_number(p, whole ? IG_I64 : IG_F64);
}

// "2", "2:3>0", "2:flat", "2:special"
static void name_of(size_t number, sample_how how, char *text, size_t cap) {
  const char *kind = how.flat ? ":flat" : how.special ? ":special" : "";
  int n = snprintf(text, cap, "%zu%s", number, kind);
  if (how.from) {
    (void)snprintf(text + n, cap - (size_t)n, ":%lld>%lld", (long long)how.from, (long long)how.to);
  }
}

bool golden_find(ig_ctx *c, const ig_op *op, size_t number, sample_how how, golden *out) {
  static const char *const briefs[] = {
#define X(name, type, text, brief) brief,
      IG_DTYPE_LIST(X)
#undef X
  };
  char key[200];
  char name[64];
  ig_dtype floats = how.floats;
  name_of(number, how, name, sizeof name);
  const ig_schema *s = &op->schema;
  bool plain = strcmp(s->overload, "default") == 0;
  (void)snprintf(key, sizeof key, "%s::%s%s%s\t%s\t%s\t", s->ns, s->name, plain ? "" : ".",
                 plain ? "" : s->overload, name, briefs[floats]);
  const char *p = find_line(key);
  if (!p) return false;
  out->refused = *p == '!';
  if (out->refused) {
    (void)snprintf(out->class, sizeof out->class, "%s", p + 1);
    return true;
  }
  bool list = s->nrets == 1 && s->rets[0].list;
  size_t n = 0;
  ig_value *to = list ? out->items : out->outs;
  while (*p && n < (list ? 64 : IG_MAX_RETURNS + 4)) {
    to[n++] = read_value(c, &p);
    if (*p == ';') p++;
  }
  if (list) out->outs[0] = ig_of_list(out->items, n);
  out->n = list ? 1 : n;
  // Numbers come back without their kind: the schema has it.
  for (size_t i = 0; !list && i < n && i < s->nrets; i++) {
    bool scalar =
        s->rets[i].type == IG_TYPE_BOOL || (s->rets[i].type == IG_TYPE_SCALAR && floats == IG_BOOL);
    bool truth = scalar && out->outs[i].kind == IG_KIND_INT;
    if (truth) out->outs[i] = ig_of_bool(out->outs[i].i.value != 0);
  }
  return true;
}
