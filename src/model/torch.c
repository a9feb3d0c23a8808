// SPDX-License-Identifier: Apache-2.0
// torch.save files: tensors by their path in the containers ("model.fc.weight", "layers.0"), other
// short values as metadata under theirs. A single tensor is called "tensor".
#include <stdio.h>
#include <string.h>

#include "arrays/torch_file.h"
#include "base/str.h"
#include "model/model.h"

// A list that contains the same list twice, and so on, has exponentially many leaves.
enum { MAX_VALUES = 1 << 20, MAX_PATH = 1024 };

typedef struct walker {
  ig_ctx *c;
  ig_model *m;
  size_t seen;
  char path[MAX_PATH];
} walker;

static bool walk(walker *w, const ig_object *o, size_t n);

// Appends ".key" to the path; the new length, 0: too long.
static size_t extend(walker *w, size_t n, const char *key) {
  int k = snprintf(w->path + n, MAX_PATH - n, "%s%s", n ? "." : "", key);
  if (k >= 0 && (size_t)k < MAX_PATH - n) return n + (size_t)k;
  (void)ig_fail(w->c, IG_SYNTAX, "%s: a path of keys is longer than %d bytes", w->m->name,
                MAX_PATH - 1);
  return 0;
}

static bool walk_items(walker *w, const ig_object *o, size_t n) {
  for (size_t i = 0; i < ig_object_count(o); i++) {
    const ig_object *key = ig_object_key(o, i);
    char number[32];
    (void)snprintf(number, sizeof number, "%lld",
                   (long long)(key ? ig_object_int(key) : (int64_t)i));
    bool text = key && ig_object_kind_of(key) == IG_OBJECT_STR;
    size_t longer = extend(w, n, text ? ig_object_text(key, NULL) : number);
    if (w->c->status != IG_OK || !walk(w, ig_object_at(o, i), longer)) return false;
  }
  return true;
}

static bool add_fact(walker *w, const ig_object *o) {
  ig_str text = ig_str_make(w->c->alloc);
  switch (ig_object_kind_of(o)) {
    case IG_OBJECT_BOOL:
      ig_str_add(&text, ig_object_bool(o) ? "True" : "False");
      break;
    case IG_OBJECT_INT:
      ig_str_add(&text, "%lld", (long long)ig_object_int(o));
      break;
    case IG_OBJECT_FLOAT:
      ig_str_float(&text, ig_object_float(o));
      break;
    case IG_OBJECT_STR:
      ig_str_add(&text, "%s", ig_object_text(o, NULL));
      break;
    default:
      ig_str_add(&text, "%s", ig_object_kind_text(ig_object_kind_of(o)));
  }
  bool ok = !text.failed && ig_model_add_fact(w->c, w->m, IG_FACT_METADATA,
                                              w->path[0] ? w->path : "value", "%s", text.at);
  ig_str_free(&text);
  return ok;
}

// n is the length of the path.
static bool walk(walker *w, const ig_object *o, size_t n) {
  if (++w->seen > MAX_VALUES) {
    return ig_fail(w->c, IG_SYNTAX, "%s: more than %d values", w->m->name, MAX_VALUES) == IG_OK;
  }
  w->path[n] = 0;
  switch (ig_object_kind_of(o)) {
    case IG_OBJECT_TENSOR: {
      ig_weight_role role = ig_object_is_parameter(o) ? IG_WEIGHT_PARAMETER : IG_WEIGHT_ARRAY;
      return ig_model_add_weight(w->c, w->m, n ? w->path : "tensor", role, ig_object_tensor(o));
    }
    case IG_OBJECT_LIST:
    case IG_OBJECT_TUPLE:
    case IG_OBJECT_DICT:
    case IG_OBJECT_ORDERED:
      return walk_items(w, o, n);
    default:
      return add_fact(w, o);
  }
}

ig_status ig_model_open_torch(ig_ctx *c, ig_model *m) {
  const char *version = m->is_zip ? ig_model_member_text(c, m, ".data/version") : NULL;
  if (!version && m->is_zip) version = ig_model_member_text(c, m, "version");
  if (version) (void)ig_model_add_fact(c, m, IG_FACT_VERSION, "container", "%s", version);
  ig_object *o = NULL;
  ig_status st = ig_torch_parse(c, m->name, m->file->bytes, m->file, m->options.limits, &o);
  if (st == IG_OK) {
    walker w = {.c = c, .m = m};
    st = walk(&w, o, 0) ? IG_OK : c->status;
  }
  ig_object_free(o);
  return ig_model_settle(c, m, st);
}
