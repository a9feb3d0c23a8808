// SPDX-License-Identifier: Apache-2.0
// Zip reader: finds the directory from the end of the file, reads every entry, then checks each
// against its local header and all of them for overlap before anything is returned.
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "base/limits.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "codec/zip_layout.h"

// Deflate cannot shrink by more than this.
enum { MAX_RATIO = 1032 };

typedef struct span {
  uint64_t begin;
  uint64_t end;
  const char *name;
} span;

typedef struct reader {
  ig_ctx *c;
  const char *name;
  ig_bytes in;
  ig_limits limits;
  bool any_case;  // names may differ only in case
  ig_zip *zip;
  uint64_t count;
  uint64_t dir;  // offset of the central directory
  uint64_t dir_size;
  uint64_t inflated;
  span *spans;  // of every member with its local header
} reader;

#define BAD(r, ...) ig_fail((r)->c, IG_SYNTAX | IG_E_ZIP, __VA_ARGS__)
#define FOREIGN(r, ...) ig_fail((r)->c, IG_SYNTAX | IG_E_ZIP_FEATURE, __VA_ARGS__)
#define TOO_MUCH(r, ...) ig_fail((r)->c, IG_SYNTAX | IG_E_READER_LIMIT, __VA_ARGS__)

// ---- the end of the file

static bool find_end(const reader *r, size_t *at) {
  if (r->in.n < ZIP_END_SIZE) return false;
  size_t last = r->in.n - ZIP_END_SIZE;
  size_t first = last > ZIP_MAX16 ? last - ZIP_MAX16 : 0;
  for (size_t i = last + 1; i-- > first;) {
    const uint8_t *p = r->in.at + i;
    if (ig_load32(p) == ZIP_END && ig_load16(p + 20) == last - i) {
      *at = i;
      return true;
    }
  }
  return false;
}

// *end is the offset of the end record and becomes that of the zip64 end record if there is one.
static ig_status read_end64(reader *r, size_t *end) {
  if (*end < ZIP_LOCATOR64_SIZE) return IG_OK;
  const uint8_t *loc = r->in.at + *end - ZIP_LOCATOR64_SIZE;
  if (ig_load32(loc) != ZIP_LOCATOR64) return IG_OK;
  uint64_t at = ig_load64(loc + 8);
  size_t room = *end - ZIP_LOCATOR64_SIZE;
  if (ig_load32(loc + 4) != 0 || ig_load32(loc + 16) > 1) {
    return FOREIGN(r, "%s: a zip archive of several disks is not supported", r->name);
  }
  if (room < ZIP_END64_SIZE || at > room - ZIP_END64_SIZE ||
      ig_load32(r->in.at + at) != ZIP_END64) {
    return BAD(r, "%s: the zip64 end record is not where its locator says (%llu)", r->name,
               (unsigned long long)at);
  }
  const uint8_t *p = r->in.at + at;
  if (ig_load64(p + 4) != room - at - 12) {
    return BAD(r, "%s: the zip64 end record has a wrong length", r->name);
  }
  uint64_t here = ig_load64(p + 24);
  uint64_t dir_size = ig_load64(p + 40);
  uint64_t dir = ig_load64(p + 48);
  if (ig_load32(p + 16) != 0 || ig_load32(p + 20) != 0 || here != ig_load64(p + 32)) {
    return FOREIGN(r, "%s: a zip archive of several disks is not supported", r->name);
  }
  bool same = (r->count == here || r->count == ZIP_MAX16) &&
              (r->dir_size == dir_size || r->dir_size == ZIP_MAX32) &&
              (r->dir == dir || r->dir == ZIP_MAX32);
  if (!same) return BAD(r, "%s: the two end records of the zip archive disagree", r->name);
  r->count = here;
  r->dir = dir;
  r->dir_size = dir_size;
  *end = (size_t)at;
  return IG_OK;
}

static ig_status read_end(reader *r) {
  size_t end = 0;
  if (!find_end(r, &end)) {
    return BAD(r, "%s: not a zip archive (no end of central directory in %zu bytes)", r->name,
               r->in.n);
  }
  const uint8_t *p = r->in.at + end;
  if (ig_load16(p + 4) != 0 || ig_load16(p + 6) != 0 || ig_load16(p + 8) != ig_load16(p + 10)) {
    return FOREIGN(r, "%s: a zip archive of several disks is not supported", r->name);
  }
  r->count = ig_load16(p + 10);
  r->dir_size = ig_load32(p + 12);
  r->dir = ig_load32(p + 16);
  IG_RETURN_IF_ERR(read_end64(r, &end));
  if (r->dir > end || r->dir_size != end - r->dir) {
    return BAD(r, "%s: the zip directory (%llu bytes at %llu) does not end at %zu where it should",
               r->name, (unsigned long long)r->dir_size, (unsigned long long)r->dir, end);
  }
  if (r->count > r->dir_size / ZIP_CENTRAL_SIZE) {
    return BAD(r, "%s: %llu zip entries cannot fit into a directory of %llu bytes", r->name,
               (unsigned long long)r->count, (unsigned long long)r->dir_size);
  }
  if (r->count > r->limits.max_entries) {
    return TOO_MUCH(r, "%s: %llu zip entries, the limit is %llu", r->name,
                    (unsigned long long)r->count, (unsigned long long)r->limits.max_entries);
  }
  return IG_OK;
}

// ---- names

const char *ig_zip_name_fault(const char *name, size_t n) {
  if (n == 0) return "empty";
  if (n > ZIP_MAX16) return "too long";
  if (memchr(name, 0, n)) return "contains a zero byte";
  if (memchr(name, '\\', n)) return "contains a backslash";
  if (name[0] == '/') return "absolute";
  if (n > 1 && name[1] == ':') return "starts with a drive letter";
  if (ig_utf8_check((const uint8_t *)name, n) != n) return "not UTF-8";
  for (size_t i = 0; i < n;) {
    const char *slash = memchr(name + i, '/', n - i);
    size_t end = slash ? (size_t)(slash - name) : n;
    if (end - i == 2 && name[i] == '.' && name[i + 1] == '.') return "contains '..'";
    i = end + 1;
  }
  return NULL;
}

// Puts the name into the index. Archives that are unpacked on a file system which folds case would
// lose one of two such members; we never unpack, but ambiguous archives are rejected.
static ig_status add_name(reader *r, ig_map *folded, const char *name, size_t entry) {
  ig_map_value *v = ig_map_put(&r->zip->index, name);
  if (!v) return ig_fail(r->c, IG_NOMEM, "out of memory");
  if (v->num) return BAD(r, "%s: zip entry '%s' occurs twice", r->name, name);
  v->num = entry + 1;
  if (r->any_case) return IG_OK;
  char *lower = ig_arena_strn(&r->zip->arena, name, strlen(name));
  if (!lower) return ig_fail(r->c, IG_NOMEM, "out of memory");
  for (char *p = lower; *p; p++) {
    if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
  }
  v = ig_map_put(folded, lower);
  if (!v) return ig_fail(r->c, IG_NOMEM, "out of memory");
  if (v->num) return BAD(r, "%s: two zip entries '%s' differ only in case", r->name, name);
  v->num = 1;
  return IG_OK;
}

// ---- entries

typedef struct sizes {
  uint64_t size;
  uint64_t packed;
  uint64_t offset;
} sizes;

// Fields that did not fit into 32 bits are in the zip64 extra field, in a fixed order.
static bool read_extra(const uint8_t *p, size_t n, sizes *s, bool *padded) {
  while (n >= 4) {
    unsigned id = ig_load16(p);
    size_t len = ig_load16(p + 2);
    if (len > n - 4) return false;
    if (id == ZIP_EXTRA_PAD && padded) *padded = true;
    if (id == ZIP_EXTRA64) {
      uint64_t *fields[] = {&s->size, &s->packed, &s->offset};
      const uint8_t *q = p + 4;
      size_t left = len;
      for (size_t i = 0; i < 3; i++) {
        if (*fields[i] != ZIP_MAX32) continue;
        if (left < 8) return false;
        *fields[i] = ig_load64(q);
        q += 8;
        left -= 8;
      }
    }
    p += 4 + len;
    n -= 4 + len;
  }
  return true;  // up to three stray bytes occur in the wild
}

static ig_status check_flags(const reader *r, const char *name, unsigned flags, unsigned method) {
  if (flags & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_STRONG | ZIP_FLAG_MASKED)) {
    return FOREIGN(r, "%s: zip entry '%s' is encrypted", r->name, name);
  }
  if (flags & ZIP_FLAG_PATCH) return FOREIGN(r, "%s: zip entry '%s' is a patch", r->name, name);
  if (method != ZIP_STORED && method != ZIP_DEFLATED) {
    return FOREIGN(
        r, "%s: zip entry '%s': compression method %u, only stored (0) and deflated (8) are read",
        r->name, name, method);
  }
  return IG_OK;
}

// An archive made on Unix records the file type of a member. Links and devices are rejected.
static ig_status check_type(const reader *r, const char *name, unsigned system, uint32_t mode) {
  uint32_t type = mode & ZIP_UNIX_TYPE;
  if (system != ZIP_UNIX || type == 0 || type == ZIP_UNIX_FILE || type == ZIP_UNIX_FOLDER) {
    return IG_OK;
  }
  return FOREIGN(r, "%s: zip entry '%s' is %s", r->name, name,
                 type == ZIP_UNIX_LINK ? "a symbolic link" : "not a regular file");
}

// The local header repeats the directory entry; only it determines where the data begins.
static ig_status check_local(reader *r, const uint8_t *central, const sizes *s, ig_zip_entry *e,
                             span *where) {
  size_t name_n = ig_load16(central + 28);
  if (s->offset > r->dir || r->dir - s->offset < ZIP_LOCAL_SIZE) {
    return BAD(r, "%s: zip entry '%s' lies outside the file (offset %llu of %llu)", r->name,
               e->name, (unsigned long long)s->offset, (unsigned long long)r->dir);
  }
  const uint8_t *p = r->in.at + s->offset;
  uint64_t room = r->dir - s->offset - ZIP_LOCAL_SIZE;
  size_t extra_n = ig_load16(p + 28);
  if (ig_load32(p) != ZIP_LOCAL) {
    return BAD(r, "%s: zip entry '%s' has no local header at %llu", r->name, e->name,
               (unsigned long long)s->offset);
  }
  if (room < name_n + extra_n || ig_load16(p + 26) != name_n ||
      memcmp(p + ZIP_LOCAL_SIZE, e->name, name_n) != 0) {
    return BAD(r, "%s: zip entry '%s' has another name in its local header", r->name, e->name);
  }
  sizes local = {ig_load32(p + 22), ig_load32(p + 18), 0};
  bool padded = false;
  if (!read_extra(p + ZIP_LOCAL_SIZE + name_n, extra_n, &local, &padded)) {
    return BAD(r, "%s: zip entry '%s' has a malformed extra field", r->name, e->name);
  }
  unsigned flags = ig_load16(p + 6);
  bool later = (flags & ZIP_FLAG_DESCRIPTOR) && local.size == 0 && local.packed == 0;
  bool same =
      (flags & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_DESCRIPTOR | ZIP_FLAG_STRONG)) ==
          (ig_load16(central + 8) & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_DESCRIPTOR | ZIP_FLAG_STRONG)) &&
      ig_load16(p + 8) == ig_load16(central + 10) &&
      (later ||
       (local.size == s->size && local.packed == s->packed && ig_load32(p + 14) == e->crc));
  if (!same) {
    return BAD(r, "%s: zip entry '%s': local header and directory disagree", r->name, e->name);
  }
  if (s->packed > room - name_n - extra_n) {
    return BAD(r, "%s: zip entry '%s' of %llu bytes runs over the end of the file", r->name,
               e->name, (unsigned long long)s->packed);
  }
  e->offset = s->offset;
  e->packed = (ig_bytes){p + ZIP_LOCAL_SIZE + name_n + extra_n, (size_t)s->packed};
  e->no_crc = padded && e->crc == 0;
  *where = (span){s->offset, s->offset + ZIP_LOCAL_SIZE + name_n + extra_n + s->packed, e->name};
  return IG_OK;
}

static ig_status check_sizes(reader *r, const sizes *s, const ig_zip_entry *e) {
  if (!e->deflated) {
    if (s->size == s->packed) return IG_OK;
    return BAD(r, "%s: stored zip entry '%s' has two sizes, %llu and %llu", r->name, e->name,
               (unsigned long long)s->size, (unsigned long long)s->packed);
  }
  if (s->size > SIZE_MAX / 2 || s->size / MAX_RATIO > s->packed) {
    return BAD(r,
               "%s: zip entry '%s' claims to grow from %llu to %llu bytes, more than deflate can",
               r->name, e->name, (unsigned long long)s->packed, (unsigned long long)s->size);
  }
  if (s->size > r->limits.max_inflated - r->inflated) {
    return TOO_MUCH(
        r,
        "%s: deflated zip entries need more than the limit of %llu bytes at '%s'; if they "
        "may, raise max_inflated of ig_limits",
        r->name, (unsigned long long)r->limits.max_inflated, e->name);
  }
  r->inflated += s->size;
  return IG_OK;
}

static ig_status read_entry(reader *r, ig_map *folded, size_t i, uint64_t *at) {
  const uint8_t *p = r->in.at + *at;
  uint64_t left = r->dir + r->dir_size - *at;
  if (left < ZIP_CENTRAL_SIZE || ig_load32(p) != ZIP_CENTRAL) {
    return BAD(r, "%s: the zip directory ends after %zu of %llu entries", r->name, i,
               (unsigned long long)r->count);
  }
  size_t name_n = ig_load16(p + 28);
  size_t extra_n = ig_load16(p + 30);
  size_t whole = ZIP_CENTRAL_SIZE + name_n + extra_n + ig_load16(p + 32);
  if (left < whole) return BAD(r, "%s: the zip directory is cut off in entry %zu", r->name, i);
  const char *raw = (const char *)p + ZIP_CENTRAL_SIZE;
  const char *fault = ig_zip_name_fault(raw, name_n);
  ig_zip_entry *e = &r->zip->entries[i];
  e->name = ig_arena_strn(&r->zip->arena, raw, name_n);
  if (!e->name) return ig_fail(r->c, IG_NOMEM, "out of memory");
  if (fault) return BAD(r, "%s: name of zip entry %zu ('%.100s'): %s", r->name, i, e->name, fault);
  IG_RETURN_IF_ERR(add_name(r, folded, e->name, i));
  IG_RETURN_IF_ERR(check_flags(r, e->name, ig_load16(p + 8), ig_load16(p + 10)));
  IG_RETURN_IF_ERR(check_type(r, e->name, ig_load16(p + 4) >> 8, ig_load32(p + 38) >> 16));
  sizes s = {ig_load32(p + 24), ig_load32(p + 20), ig_load32(p + 42)};
  if (!read_extra(p + ZIP_CENTRAL_SIZE + name_n, extra_n, &s, NULL)) {
    return BAD(r, "%s: zip entry '%s' has a malformed extra field", r->name, e->name);
  }
  e->deflated = ig_load16(p + 10) == ZIP_DEFLATED;
  e->size = s.size;
  e->crc = ig_load32(p + 16);
  IG_RETURN_IF_ERR(check_sizes(r, &s, e));
  IG_RETURN_IF_ERR(check_local(r, p, &s, e, &r->spans[i]));
  *at += whole;
  return IG_OK;
}

static int by_begin(const void *a, const void *b) {
  const span *x = a;
  const span *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static ig_status check_overlaps(reader *r) {
  qsort(r->spans, (size_t)r->count, sizeof *r->spans, by_begin);
  for (size_t i = 1; i < r->count; i++) {
    if (r->spans[i].begin < r->spans[i - 1].end) {
      return BAD(r, "%s: zip entries '%s' and '%s' overlap", r->name, r->spans[i - 1].name,
                 r->spans[i].name);
    }
  }
  return IG_OK;
}

static ig_status read_entries(reader *r) {
  size_t n = (size_t)r->count;
  if (n == 0) return r->dir_size ? BAD(r, "%s: stray bytes in the zip directory", r->name) : IG_OK;
  r->zip->entries = ig_arena_array(&r->zip->arena, n, sizeof *r->zip->entries);
  r->spans = ig_mem_array(r->c->alloc, n, sizeof *r->spans);
  if (!r->zip->entries || !r->spans) return ig_fail(r->c, IG_NOMEM, "out of memory");
  ig_map folded = ig_map_make(r->c->alloc);
  ig_status st = IG_OK;
  uint64_t at = r->dir;
  for (size_t i = 0; i < n && st == IG_OK; i++) st = read_entry(r, &folded, i, &at);
  ig_map_free(&folded);
  if (st != IG_OK && st != IG_NOMEM) {
    ig_note(r->c, "%s: in the directory entry at offset %llu", r->name, (unsigned long long)at);
  }
  if (st == IG_OK && at != r->dir + r->dir_size) {
    st = BAD(r, "%s: stray bytes after the last entry of the zip directory", r->name);
  }
  r->zip->n = n;
  return st == IG_OK ? check_overlaps(r) : st;
}

static ig_status open_zip(ig_ctx *c, const char *name, ig_bytes bytes, const ig_limits *limits,
                          bool any_case, ig_zip *out) {
  *out = (ig_zip){.arena = ig_arena_make(c->alloc), .index = ig_map_make(c->alloc)};
  reader r = {.c = c,
              .name = name,
              .in = bytes,
              .limits = ig_limits_of(c, limits),
              .any_case = any_case,
              .zip = out};
  // The default limit depends on the archive's size: a few kilobytes must not unpack to gigabytes.
  uint64_t grown = IG_ZIP_FREE + (uint64_t)bytes.n * IG_ZIP_RATIO;
  bool chosen = r.limits.max_inflated != ig_limits_default().max_inflated;
  if (!chosen && grown < r.limits.max_inflated) r.limits.max_inflated = grown;
  ig_status st = read_end(&r);
  if (st == IG_OK) st = read_entries(&r);
  ig_mem_array_free(c->alloc, r.spans, (size_t)r.count, sizeof *r.spans);
  if (st != IG_OK) ig_zip_close(out);
  return st;
}

ig_status ig_zip_open(ig_ctx *c, const char *name, ig_bytes bytes, const ig_limits *limits,
                      ig_zip *out) {
  return open_zip(c, name, bytes, limits, false, out);
}

ig_status ig_zip_open_any_case(ig_ctx *c, const char *name, ig_bytes bytes, const ig_limits *limits,
                               ig_zip *out) {
  return open_zip(c, name, bytes, limits, true, out);
}

void ig_zip_close(ig_zip *z) {
  ig_map_free(&z->index);
  ig_arena_free(&z->arena);
  z->entries = NULL;
  z->n = 0;
}

const ig_zip_entry *ig_zip_find(const ig_zip *z, const char *name) {
  ig_map_value *v = ig_map_find(&z->index, name);
  return v ? &z->entries[v->num - 1] : NULL;
}
