// SPDX-License-Identifier: Apache-2.0
// Parsing suggested fixes in a message, so that they can be applied.
#include <stdlib.h>
#include <string.h>

#include "capture/dims.h"

static const char *copy(ig_ctx *c, const char *at, size_t n) {
  char *text = ig_scope_push(c, n + 1);
  if (!text) return NULL;
  memcpy(text, at, n);
  text[n] = 0;
  return text;
}

static bool is_name(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_';
}

static size_t name_length(const char *p) {
  size_t n = 0;
  while (is_name(p[n])) n++;
  return n;
}

// Dim('dx', min=3, max=7)
static bool read_range(const char *p, ig_dim_fix *f) {
  if (strncmp(p, "Dim(", 4) != 0) return false;
  f->kind = IG_FIX_RANGE;
  f->lo = INT64_MIN;
  f->hi = INT64_MAX;
  const char *end = strchr(p, '\n');
  const char *lo = strstr(p, "min=");
  const char *hi = strstr(p, "max=");
  if (lo && (!end || lo < end)) f->lo = strtoll(lo + 4, NULL, 10);
  if (hi && (!end || hi < end) && hi[4] >= '0' && hi[4] <= '9') f->hi = strtoll(hi + 4, NULL, 10);
  return true;
}

// 3*_dx - 1
static bool read_derived(ig_ctx *c, const char *p, ig_dim_fix *f) {
  f->kind = IG_FIX_DERIVED;
  f->k = 1;
  if (*p >= '0' && *p <= '9') {
    char *end = NULL;
    f->k = strtoll(p, &end, 10);
    if (*end != '*') return false;
    p = end + 1;
  }
  size_t n = name_length(p);
  f->root = n ? copy(c, p, n) : NULL;
  p += n;
  if (p[0] == ' ' && (p[1] == '+' || p[1] == '-') && p[2] == ' ') {
    f->c = strtoll(p + 3, NULL, 10);
    if (p[1] == '-') f->c = -f->c;
  }
  return f->root != NULL;
}

static bool read_number(const char *p, ig_dim_fix *f) {
  char *end = NULL;
  f->value = strtoll(p, &end, 10);
  f->kind = IG_FIX_INT;
  return end != p && (*end == '\n' || *end == 0);
}

static bool read_line(ig_ctx *c, const char *p, ig_dim_fix *f) {
  *f = (ig_dim_fix){0};
  size_t n = name_length(p);
  if (n == 0 || strncmp(p + n, " = ", 3) != 0) return false;
  f->name = copy(c, p, n);
  p += n + 3;
  return f->name && (read_range(p, f) || read_number(p, f) || read_derived(c, p, f));
}

size_t ig_dim_fixes(ig_ctx *c, const char *message, const ig_dim_fix **out) {
  *out = NULL;
  const char *p = c->status == IG_OK ? strstr(message, "Suggested fixes:\n") : NULL;
  if (!p) return 0;
  p += strlen("Suggested fixes:\n");
  size_t lines = 1;
  for (const char *q = p; *q; q++) lines += *q == '\n';
  ig_dim_fix *all = ig_scope_array(c, lines, sizeof *all);
  size_t n = 0;
  while (all && *p) {
    while (*p == ' ') p++;
    n += read_line(c, p, &all[n]);
    const char *end = strchr(p, '\n');
    p = end ? end + 1 : p + strlen(p);
  }
  *out = all;
  return all ? n : 0;
}
