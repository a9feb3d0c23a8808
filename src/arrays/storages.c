// SPDX-License-Identifier: Apache-2.0
// Storages from files, one byte tensor for each.
#include "arrays/storages.h"

#include "codec/bits.h"
#include "tensor/tensor.h"

ig_storage_record *ig_storages_find(const ig_storages *s, const char *key) {
  ig_map_value *v = ig_map_find(&s->index, key);
  return v ? v->ptr : NULL;
}

ig_storage_record *ig_storages_put(ig_storages *s, const char *key) {
  ig_storage_record *rec = ig_storages_find(s, key);
  if (rec) return rec;
  rec = ig_arena_push(s->arena, sizeof *rec);
  ig_map_value *v = rec ? ig_map_put(&s->index, key) : NULL;
  if (!v) {
    (void)ig_fail(s->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  rec->swapped = IG_DTYPE_COUNT;
  rec->dtype = IG_DTYPE_COUNT;
  v->ptr = rec;
  return rec;
}

static bool is_swapped(const ig_storages *s) {
  return s->big != (IG_BIG_ENDIAN != 0);
}

// Swapped ones are copies: the bytes of a mapping may be read once more.
static ig_tensor *open_bytes(ig_storages *s, ig_storage_record *rec, ig_dtype element) {
  const ig_zip_entry *e = rec->zip;
  size_t align = ig_element_align(element);
  ig_file *owner = is_swapped(s) ? NULL : s->owner;
  if (!e) return ig_bytes_tensor(s->c, rec->bytes, owner, align);
  if (!e->deflated) {
    if (!s->owner && ig_zip_verify(s->c, e) != IG_OK) return NULL;
    return ig_bytes_tensor(s->c, e->packed, owner, align);
  }
  int64_t size = (int64_t)e->size;
  ig_tensor *t = ig_tensor_empty(s->c, IG_U8, &size, 1);
  return t && ig_zip_inflate(s->c, e, ig_tensor_data(t)) == IG_OK ? t : NULL;
}

// The caller may choose where the bytes are.
static ig_tensor *place(const ig_unpack *u, ig_storages *s, ig_tensor *t, const ig_storage_id *id) {
  ig_tensor *there = t && u->place ? u->place(s->c, t, id->location, u->allow_user) : t;
  if (!t || there == t || ig_ctx_status(s->c) != IG_OK) return there;
  bool fits = there && there->storage && there->storage->data &&
              there->storage->bytes == t->storage->bytes &&
              (uintptr_t)there->storage->data % ig_element_align(id->element) == 0;
  if (fits) return there;
  (void)ig_fail(s->c, IG_INVALID,
                "%s: storage '%.100s' has %zu bytes, and was given another place with %zu", s->name,
                id->key, t->storage->bytes, there && there->storage ? there->storage->bytes : 0);
  return NULL;
}

ig_tensor *ig_storages_open(const ig_unpack *u, ig_storages *s, ig_storage_record *rec,
                            const ig_storage_id *id) {
  if (!rec->tensor) rec->tensor = place(u, s, open_bytes(s, rec, id->element), id);
  ig_tensor *t = rec->tensor;
  if (!t) return NULL;
  // Another tensor may need larger or smaller elements of the same storage.
  bool fits = (uintptr_t)t->storage->data % ig_element_align(id->element) == 0;
  bool turned = rec->swapped == IG_DTYPE_COUNT || rec->swapped == id->element;
  if (!fits || (is_swapped(s) && !turned)) {
    (void)ig_fail(s->c, IG_SYNTAX, "%s: offset %zu: storage '%.100s' is used as several types",
                  s->name, id->at, id->key);
    return NULL;
  }
  if (is_swapped(s) && rec->swapped == IG_DTYPE_COUNT) {
    ig_elements_swap(id->element, t->storage->data, t->storage->bytes);
    rec->swapped = id->element;
  }
  if (id->element == IG_BOOL && !rec->bools) {
    ig_bools_normalize(t->storage->data, t->storage->bytes);
    rec->bools = true;
  }
  return t;
}
