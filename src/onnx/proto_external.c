// SPDX-License-Identifier: Apache-2.0
// External data: tensor data in a file beside the model. The file must be below the model's folder:
// no absolute path, no "..", no symbolic links, no additional hard links.
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "onnx/proto_parse.h"

static ig_status bad(ig_om_parser *p, const ig_om_tensor *t, const char *what, const char *found) {
  return ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_EXTERNAL, "%s: tensor '%s': external data: %s '%s'",
                 p->m->name, t->name, what, found);
}

static ig_status number(ig_om_parser *p, const ig_om_tensor *t, const ig_om_entry *e,
                        uint64_t *out) {
  uint64_t v = 0;
  const char *s = e->value;
  for (; *s >= '0' && *s <= '9' && v <= (uint64_t)INT64_MAX / 10 - 1; s++) {
    v = v * 10 + (uint64_t)(*s - '0');
  }
  if (*s || s == e->value) return bad(p, t, "expected a number of bytes, found", e->value);
  *out = v;
  return IG_OK;
}

static bool is_relative(const char *path) {
  if (!path[0] || path[0] == '/' || strchr(path, '\\') || strchr(path, ':')) return false;
  for (const char *part = path; part;) {
    const char *slash = strchr(part, '/');
    size_t n = slash ? (size_t)(slash - part) : strlen(part);
    if (n == 0 || (n == 2 && part[0] == '.' && part[1] == '.')) return false;
    part = slash ? slash + 1 : NULL;
  }
  return true;
}

static ig_status file_of(ig_om_parser *p, const char *location, ig_file **out) {
  ig_onnx_model *m = p->m;
  for (size_t i = 0; i < m->files.n; i++) {
    if (strcmp(m->files.at[i].location, location) != 0) continue;
    *out = m->files.at[i].file;
    return IG_OK;
  }
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map_beneath(p->c, m->folder, location, &f));
  struct ig_om_file item = {location, f};
  if (!ig_vec_push(p->c->alloc, &m->files, item)) {
    ig_file_release(f);
    return ig_fail(p->c, IG_NOMEM, "out of memory");
  }
  *out = f;
  return IG_OK;
}

typedef struct place {
  const char *location;
  uint64_t offset;
  uint64_t length;
} place;

static ig_status read_entry(ig_om_parser *p, const ig_om_tensor *t, const ig_om_entry *e,
                            place *out) {
  if (strcmp(e->key, "location") == 0) {
    out->location = e->value;
    return IG_OK;
  }
  if (strcmp(e->key, "offset") == 0) return number(p, t, e, &out->offset);
  if (strcmp(e->key, "length") == 0) return number(p, t, e, &out->length);
  if (strcmp(e->key, "checksum") == 0 || strcmp(e->key, "basepath") == 0) return IG_OK;
  return bad(p, t, "expected location, offset, length or checksum, found", e->key);
}

static ig_status check_place(ig_om_parser *p, const ig_om_tensor *t, const place *at,
                             size_t bytes) {
  if (!at->location) return bad(p, t, "there is no", "location");
  bool own = p->m->files.n && strcmp(at->location, p->m->files.at[0].location) == 0;
  if (!own && !is_relative(at->location)) {
    return bad(p, t, "expected a path below the model's folder, found", at->location);
  }
  if (!own && !p->m->folder) {
    return bad(p, t, "the model was not opened from a folder that could hold", at->location);
  }
  if (at->length == bytes) return IG_OK;
  return ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_EXTERNAL,
                 "%s: tensor '%s': external data has %llu bytes, expected %zu", p->m->name, t->name,
                 (unsigned long long)at->length, bytes);
}

ig_status ig_om_external(ig_om_parser *p, ig_om_tensor *t, size_t bytes) {
  place at = {.length = bytes};
  for (size_t i = 0; i < t->nexternal; i++) {
    IG_RETURN_IF_ERR(read_entry(p, t, &t->externals[i], &at));
  }
  IG_RETURN_IF_ERR(check_place(p, t, &at, bytes));
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(file_of(p, at.location, &f));
  if (bytes > f->bytes.n || at.offset > f->bytes.n - bytes) {
    return ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_EXTERNAL,
                   "%s: tensor '%s': bytes %llu to %llu of '%s', which has %zu", p->m->name,
                   t->name, (unsigned long long)at.offset, (unsigned long long)(at.offset + bytes),
                   at.location, f->bytes.n);
  }
  t->file = f;
  t->raw = (ig_bytes){f->bytes.at + at.offset, bytes};
  return IG_OK;
}
