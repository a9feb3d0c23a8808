// SPDX-License-Identifier: Apache-2.0
// Reading compiled models. All of the head is checked when a file is opened, the checksums of what
// it refers to by ig_model_verify alone.
#include "model/compiled.h"

#include <string.h>

#include "base/cause.h"
#include "base/crc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "tensor/copy.h"

const uint8_t ig_compiled_magic[8] = {0x93, 'I', 'N', 'G', 'O', 'T', '\r', '\n'};

const char *ig_compiled_level(ig_cpu level) {
  static const char *const names[] = {"base", "neon", "avx2", "avx512"};
  return names[level];
}

bool ig_compiled_is(const ig_model *m) {
  const ig_bytes *b = &m->file->bytes;
  return b->n >= sizeof ig_compiled_magic &&
         memcmp(b->at, ig_compiled_magic, sizeof ig_compiled_magic) == 0;
}

// ---- the head

static uint64_t number(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

static ig_status bad(ig_ctx *c, const ig_model *m, const char *what) {
  return ig_fail(c, IG_SYNTAX | IG_E_INGOT_FILE, "%s: a compiled model: %s", m->name, what);
}

static bool is_inside(const ig_compiled *x, uint64_t head, uint64_t offset, uint64_t bytes,
                      uint64_t align) {
  uint64_t all = x->whole->bytes.n;
  return offset % align == 0 && offset >= head && offset <= all && bytes <= all - offset;
}

static ig_status read_sections(ig_ctx *c, const ig_model *m, ig_compiled *x, uint64_t head,
                               const uint8_t *at) {
  ig_compiled_section *list = (ig_compiled_section *)x->sections;
  bool seen[IG_SECTION_WEIGHTS + 1] = {false};
  for (size_t i = 0; i < x->nsections; i++, at += IG_COMPILED_SECTION) {
    list[i] = (ig_compiled_section){(uint32_t)number(at, 4), (uint32_t)number(at + 4, 4),
                                    number(at + 8, 8), number(at + 16, 8)};
    uint32_t kind = list[i].kind;
    if (kind < IG_SECTION_MODEL || kind > IG_SECTION_WEIGHTS || seen[kind]) {
      return bad(c, m, "a section of an unknown kind, or two of one kind");
    }
    seen[kind] = true;
    if (!is_inside(x, head, list[i].offset, list[i].bytes, IG_COMPILED_ALIGN)) {
      return bad(c, m, "a section is not inside of the file, or not aligned");
    }
  }
  return seen[IG_SECTION_MODEL] ? IG_OK : bad(c, m, "there is no model in it");
}

static ig_status read_packs(ig_ctx *c, const ig_model *m, ig_compiled *x, uint64_t head,
                            const uint8_t *at) {
  ig_compiled_pack *list = (ig_compiled_pack *)x->packs;
  for (size_t i = 0; i < x->npacks; i++, at += IG_COMPILED_PACK) {
    ig_compiled_pack *k = &list[i];
    uint64_t error = number(at + 16, 8);
    *k = (ig_compiled_pack){.key = number(at, 8),
                            .method = (uint32_t)number(at + 8, 4),
                            .crc = (uint32_t)number(at + 12, 4),
                            .offset = number(at + 24, 8),
                            .bytes = number(at + 32, 8)};
    memcpy(&k->error, &error, sizeof k->error);
    if (i && k->key <= list[i - 1].key) return bad(c, m, "packed weights are not in order");
    if (!is_inside(x, head, k->offset, k->bytes, IG_LAYER_ALIGN)) {
      return bad(c, m, "packed weights are not inside of the file, or not aligned");
    }
  }
  return IG_OK;
}

static ig_status read_head(ig_ctx *c, ig_model *m, ig_compiled *x, char *level) {
  ig_bytes b = x->whole->bytes;
  if (b.n < IG_COMPILED_HEAD) return bad(c, m, "the file ends within its head");
  uint64_t version = number(b.at + 8, 4);
  if (version != IG_COMPILED_VERSION) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_INGOT_FILE,
                   "%s: a compiled model of version %llu, expected %d: compile the model again",
                   m->name, (unsigned long long)version, IG_COMPILED_VERSION);
  }
  uint64_t head = number(b.at + 16, 8);
  uint64_t nsections = number(b.at + 48, 4);
  uint64_t npacks = number(b.at + 52, 4);
  if (number(b.at + 24, 8) != b.n) return bad(c, m, "the file has not the size that it states");
  if (head != IG_COMPILED_HEAD + nsections * IG_COMPILED_SECTION + npacks * IG_COMPILED_PACK ||
      head > b.n) {
    return bad(c, m, "the head has another size than its tables");
  }
  if (npacks > m->limits.max_nodes) {
    return ig_fail(c, IG_SYNTAX | IG_E_READER_LIMIT,
                   "%s: %llu packed layers, the limits allow %llu nodes", m->name,
                   (unsigned long long)npacks, (unsigned long long)m->limits.max_nodes);
  }
  if (ig_crc32(0, b.at + 16, (size_t)head - 16) != number(b.at + 12, 4)) {
    return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                   "%s: a compiled model: the checksum of the head does not match", m->name);
  }
  uint64_t precision = number(b.at + 56, 4);
  if (precision >= IG_PRECISION_COUNT || !ig_precision_name((ig_precision)precision)) {
    return bad(c, m, "an unknown precision");
  }
  if (number(b.at + 60, 4)) return bad(c, m, "reserved bytes of the head are not zero");
  x->precision = (ig_precision)precision;
  memcpy(level, b.at + 32, IG_COMPILED_LEVEL);
  x->nsections = (size_t)nsections;
  x->npacks = (size_t)npacks;
  x->sections = ig_arena_array(&m->arena, x->nsections + 1, sizeof *x->sections);
  x->packs = ig_arena_array(&m->arena, x->npacks + 1, sizeof *x->packs);
  if (!x->sections || !x->packs) return ig_fail(c, IG_NOMEM, "out of memory");
  const uint8_t *tables = b.at + IG_COMPILED_HEAD;
  IG_RETURN_IF_ERR(read_sections(c, m, x, head, tables));
  return read_packs(c, m, x, head, b.at + (head - npacks * IG_COMPILED_PACK));
}

static ig_status open_section(ig_ctx *c, const ig_compiled *x, uint32_t kind, ig_file **out) {
  *out = NULL;
  for (size_t i = 0; i < x->nsections; i++) {
    const ig_compiled_section *s = &x->sections[i];
    if (s->kind != kind) continue;
    ig_bytes bytes = {x->whole->bytes.at + s->offset, (size_t)s->bytes};
    return ig_file_slice(c, x->whole, bytes, out);
  }
  return IG_OK;
}

// ---- the name of the instruction set is a text from a file: short, printed where it is none of
// ours.

static ig_status describe(ig_ctx *c, ig_model *m, const ig_compiled *x, const char *level) {
  const char *here = ig_compiled_level(ig_cpu_level());
  bool ok = ig_model_add_fact(c, m, IG_FACT_VERSION, "compiled", "%d", IG_COMPILED_VERSION) &&
            ig_model_add_fact(c, m, IG_FACT_VERSION, "packed for", "%s", level) &&
            ig_model_add_fact(c, m, IG_FACT_VERSION, "packed layers", "%zu", x->npacks);
  if (ok && x->precision != IG_PRECISION_F32) {
    ok = ig_model_add_fact(c, m, IG_FACT_VERSION, "precision", "%s",
                           ig_precision_name(x->precision));
  }
  if (ok && !x->usable && x->npacks) {
    ok = ig_model_add_finding(c, m, IG_OK, "packed weights",
                              "they are for %s, and this process uses %s: weights are packed "
                              "again by the first run",
                              level, here);
  }
  return ok ? IG_OK : c->status;
}

ig_status ig_compiled_open(ig_ctx *c, ig_model *m) {
  char level[IG_COMPILED_LEVEL + 1] = "";
  ig_compiled *x = ig_arena_push(&m->arena, sizeof *x);
  if (!x) return ig_fail(c, IG_NOMEM, "out of memory");
  *x = (ig_compiled){.whole = m->file};
  ig_ref_retain(&m->file->ref);
  m->compiled = x;  // released with the model
  IG_RETURN_IF_ERR(read_head(c, m, x, level));
  ig_file *inside = NULL;
  IG_RETURN_IF_ERR(open_section(c, x, IG_SECTION_WEIGHTS, &x->weights));
  IG_RETURN_IF_ERR(open_section(c, x, IG_SECTION_MODEL, &inside));
  ig_file_release(m->file);
  m->file = inside;
  if (ig_compiled_is(m)) return bad(c, m, "the model in it is compiled itself");
  x->usable = strcmp(level, ig_compiled_level(ig_cpu_level())) == 0;
  return describe(c, m, x, level);
}

void ig_compiled_close(const ig_compiled *x) {
  if (!x) return;
  ig_file_release(x->weights);
  ig_file_release(x->whole);
}

ig_status ig_compiled_verify(ig_ctx *c, const ig_model *m) {
  const ig_compiled *x = m->compiled;
  const uint8_t *at = x->whole->bytes.at;
  for (size_t i = 0; i < x->nsections; i++) {
    const ig_compiled_section *s = &x->sections[i];
    if (ig_crc32(0, at + s->offset, (size_t)s->bytes) == s->crc) continue;
    return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                   "%s: a compiled model: the checksum of section %zu does not match", m->name, i);
  }
  for (size_t i = 0; i < x->npacks; i++) {
    const ig_compiled_pack *k = &x->packs[i];
    if (ig_crc32(0, at + k->offset, (size_t)k->bytes) == k->crc) continue;
    return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                   "%s: a compiled model: the checksum of packed weights %zu does not match",
                   m->name, i);
  }
  return IG_OK;
}

// ---- packed weights by key

typedef struct keyer {
  uint64_t h;
} keyer;

static void add(keyer *k, int64_t v) {
  k->h = ig_hash_bytes(k->h, &v, sizeof v);
}

int64_t ig_compiled_weight(const ig_model *m, const ig_tensor *t, int64_t *offset) {
  const char *data = ig_tensor_data(t);
  for (size_t i = 0; i < m->weights.n; i++) {
    const ig_tensor *w = m->weights.at[i]->tensor;
    if (!w || ig_tensor_is_fake(w) || !ig_tensor_is_dense(w)) continue;
    const char *from = ig_tensor_data(w);
    size_t bytes = ig_mem_mul((size_t)ig_tensor_numel(w), ig_dtype_size(w->dtype));
    if (!from || data < from || data >= from + bytes) continue;
    *offset = data - from;
    return (int64_t)i;
  }
  return -1;
}

static bool add_part(ig_ctx *c, const ig_model *m, keyer *k, const ig_tensor *t) {
  int64_t offset = 0;
  add(k, t ? t->ndim : -1);
  if (!t) return true;
  for (int d = 0; d < t->ndim; d++) {
    add(k, ig_tensor_size(t, d).value);
    add(k, ig_tensor_stride(t, d).value);
  }
  int64_t weight = ig_compiled_weight(m, t, &offset);
  add(k, weight);
  add(k, offset);
  if (weight >= 0) return true;
  size_t n = (size_t)ig_tensor_numel(t);
  if (ig_tensor_is_dense(t)) {
    k->h = ig_hash_block(k->h, ig_tensor_data(t), ig_mem_mul(n, sizeof(float)));
    return true;
  }
  float *copy = ig_scope_array(c, n + 1, sizeof *copy);
  if (!copy) return false;
  ig_tensor_read(t, IG_F32, copy);
  k->h = ig_hash_block(k->h, copy, ig_mem_mul(n, sizeof *copy));
  return true;
}

bool ig_compiled_key(ig_ctx *c, const ig_model *m, const ig_pack_source *s, uint64_t *key) {
  keyer k = {IG_HASH_BASIS};
  const ig_conv *v = &s->shape;
  int64_t eps = 0;
  memcpy(&eps, &s->eps, sizeof eps);
  const int64_t numbers[] = {
      s->options.method, v->transposed, v->channels_last, v->cin, v->cout, v->groups, eps};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add(&k, numbers[i]);
  for (int d = 0; d < 3; d++) {
    add(&k, v->kernel[d]);
    add(&k, v->stride[d]);
    add(&k, v->dilation[d]);
  }
  ig_scope scope = ig_scope_open(c);
  bool ok = true;
  for (int i = 0; ok && i < IG_PACK_PARTS; i++) ok = add_part(c, m, &k, s->part[i]);
  ig_scope_close(c, scope);
  *key = k.h;
  return ok;
}

static bool find_pack(void *user, ig_ctx *c, const ig_pack_source *s, ig_pack_stored *out) {
  const ig_model *m = user;
  const ig_compiled *x = m->compiled;
  uint64_t key = 0;
  if (!ig_compiled_key(c, m, s, &key)) return false;
  size_t from = 0;
  size_t to = x->npacks;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (x->packs[middle].key < key) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (from == x->npacks || x->packs[from].key != key) return false;
  const ig_compiled_pack *k = &x->packs[from];
  if (k->method >= IG_LAYER_METHODS) return false;
  *out = (ig_pack_stored){(ig_layer_method)k->method, k->error, x->whole->bytes.at + k->offset,
                          (size_t)k->bytes};
  return true;
}

ig_status ig_compiled_use(ig_ctx *c, ig_model *m) {
  if (m->compiled->usable) ig_packs_use(m->packs, (ig_pack_store){find_pack, m});
  return c->status;
}
