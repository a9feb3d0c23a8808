// SPDX-License-Identifier: Apache-2.0
// Opening .pt2 archives: determines the layout and the model.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "pt2/archive.h"

void ig_pt2_close(ig_pt2_archive *a) {
  ig_zip_close(&a->zip);
  ig_arena_free(&a->arena);
  ig_file_release(a->file);
  a->file = NULL;
}

const ig_zip_entry *ig_pt2_find(const ig_pt2_archive *a, const char *fmt, ...) {
  char name[1024];
  size_t root = a->root ? strlen(a->root) + 1 : 0;
  if (root + 1 > sizeof name) return NULL;
  if (root) (void)snprintf(name, sizeof name, "%s/", a->root);
  size_t room = sizeof name - root;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(name + root, room, fmt, ap);
  va_end(ap);
  return n >= 0 && (size_t)n < room ? ig_zip_find(&a->zip, name) : NULL;
}

const ig_zip_entry *ig_pt2_next(const ig_pt2_archive *a, const char *folder, size_t *i,
                                const char **rest) {
  size_t root = a->root ? strlen(a->root) + 1 : 0;
  size_t n = strlen(folder);
  while (*i < a->zip.n) {
    const ig_zip_entry *e = &a->zip.entries[(*i)++];
    if (strlen(e->name) <= root + n || strncmp(e->name + root, folder, n) != 0) continue;
    *rest = e->name + root + n;
    return e;
  }
  return NULL;
}

static ig_status not_a_program(ig_ctx *c, const ig_pt2_archive *a) {
  return ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL,
                 "%s: a zip archive, but not a .pt2 (neither 'archive_format' in a folder nor "
                 "'serialized_exported_program.json')",
                 a->name);
}

// All members are in one folder, whose name is taken from the first one.
static ig_status find_root(ig_ctx *c, ig_pt2_archive *a) {
  const char *first = a->zip.n ? a->zip.entries[0].name : "";
  const char *slash = strchr(first, '/');
  size_t n = slash ? (size_t)(slash - first) : 0;
  if (!slash) return not_a_program(c, a);
  a->root = ig_arena_strn(&a->arena, first, n);
  if (!a->root) return ig_fail(c, IG_NOMEM, "out of memory");
  if (!ig_pt2_find(a, "archive_format")) return not_a_program(c, a);
  for (size_t i = 0; i < a->zip.n; i++) {
    const char *name = a->zip.entries[i].name;
    if (strncmp(name, first, n + 1) != 0) {
      return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: '%s' lies outside the archive's folder '%s'",
                     a->name, name, a->root);
    }
  }
  return IG_OK;
}

static ig_status expect(ig_ctx *c, ig_pt2_archive *a, const char *member, const char *want) {
  const ig_zip_entry *e = ig_pt2_find(a, "%s", member);
  ig_bytes b = {0};
  if (!e) return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: '%s' is missing", a->name, member);
  IG_RETURN_IF_ERR(ig_zip_read_text(c, e, NULL, &a->arena, &b));
  while (b.n && b.at[b.n - 1] == '\n') b.n--;
  if (b.n == strlen(want) && memcmp(b.at, want, b.n) == 0) return IG_OK;
  return ig_fail(c, IG_UNSUPPORTED | IG_E_PT2_UNSUPPORTED, "%s: %s is '%.*s', expected '%s'",
                 a->name, member, (int)(b.n < 40 ? b.n : 40), (const char *)b.at, want);
}

// Releases up to 2.5 write the version of the schema beside the program: "7.3".
static ig_status check_version(ig_ctx *c, ig_pt2_archive *a) {
  const ig_zip_entry *e = ig_zip_find(&a->zip, "version");
  ig_bytes b = {0};
  if (!e) return IG_OK;
  IG_RETURN_IF_ERR(ig_zip_read_text(c, e, NULL, &a->arena, &b));
  bool known = b.n && b.at[0] >= '1' && b.at[0] <= '8' && (b.n == 1 || b.at[1] == '.');
  if (known) return IG_OK;
  return ig_fail(c, IG_UNSUPPORTED | IG_E_PT2_UNSUPPORTED,
                 "%s: Serialized version '%.*s' does not match our current schema version (8, 2)",
                 a->name, (int)(b.n < 40 ? b.n : 40), (const char *)b.at);
}

// "model", or the only one there is.
static ig_status find_model(ig_ctx *c, ig_pt2_archive *a) {
  size_t found = 0;
  const char *rest = NULL;
  for (size_t i = 0; ig_pt2_next(a, "models/", &i, &rest);) {
    size_t n = strlen(rest);
    if (n <= 5 || strcmp(rest + n - 5, ".json") != 0) continue;
    found++;
    a->model = ig_arena_strn(&a->arena, rest, n - 5);
    if (!a->model) return ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (ig_pt2_find(a, "models/model.json")) {
    a->model = "model";
  } else if (found != 1) {
    size_t i = 0;
    bool compiled = ig_pt2_next(a, "data/aotinductor/", &i, &rest) != NULL;
    return ig_fail(c, compiled ? IG_UNSUPPORTED | IG_E_COMPILED : IG_SYNTAX | IG_E_PT2,
                   "%s: %zu models, and none is called 'model'%s", a->name, found,
                   compiled ? "; compiled code (AOTInductor) is never loaded" : "");
  }
  return IG_OK;
}

static ig_status open_all(ig_ctx *c, ig_pt2_archive *a) {
  const ig_limits *limits = a->options ? a->options->limits : NULL;
  IG_RETURN_IF_ERR(ig_zip_open(c, a->name, a->file->bytes, limits, &a->zip));
  IG_RETURN_IF_ERR(check_version(c, a));
  if (ig_zip_find(&a->zip, "serialized_exported_program.json")) return IG_OK;
  IG_RETURN_IF_ERR(find_root(c, a));
  IG_RETURN_IF_ERR(expect(c, a, "archive_format", "pt2"));
  IG_RETURN_IF_ERR(expect(c, a, "archive_version", "0"));
  if (ig_pt2_find(a, "byteorder")) IG_RETURN_IF_ERR(expect(c, a, "byteorder", "little"));
  return find_model(c, a);
}

ig_status ig_pt2_open(ig_ctx *c, const char *name, ig_file *file, const ig_load_options *options,
                      ig_pt2_archive *out) {
  *out = (ig_pt2_archive){
      .arena = ig_arena_make(c->alloc), .file = file, .name = name, .options = options};
  ig_ref_retain(&file->ref);
  ig_status st = open_all(c, out);
  if (st != IG_OK) ig_pt2_close(out);
  return st;
}
