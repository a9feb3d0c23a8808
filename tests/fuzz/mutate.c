// SPDX-License-Identifier: Apache-2.0
#include "mutate.h"

#include <stdint.h>
#include <string.h>

#include "base/str_bytes.h"
#include "codec/json.h"
#include "codec/zip.h"
#include "values.h"

enum { MAX_DEPTH = 24 };

static const char *const texts[] = {"",
                                    "0",
                                    "x",
                                    "s0",
                                    "s0 + 1",
                                    "-1",
                                    "9223372036854775807",
                                    "u0",
                                    "s0*s1",
                                    "True",
                                    "sum",
                                    "..",
                                    "cpu",
                                    "x0",
                                    "linear",
                                    "p_weight\n",
                                    "torch.ops.aten.add.Tensor",
                                    "torch.ops.aten.expand.default",
                                    "torch.ops.aten._local_scalar_dense.default",
                                    "Loop",
                                    "If",
                                    "Add",
                                    "Reshape",
                                    "Gather"};

static const char *any_text(draw *d) {
  return texts[draw_below(d, sizeof texts / sizeof *texts)];
}

// ---- JSON. We own the tree: its nodes are changed in place.

static size_t count(const ig_json *v) {
  size_t n = 1;
  for (size_t i = 0; v->kind == IG_JSON_ARRAY && i < v->n; i++) n += count(&v->items[i]);
  for (size_t i = 0; v->kind == IG_JSON_OBJECT && i < v->n; i++) n += count(&v->members[i].value);
  return n;
}

// Node number *at in the order of the text.
static ig_json *find(const ig_json *v, size_t *at) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the tree is ours to change
  if ((*at)-- == 0) return (ig_json *)(uintptr_t)v;
  ig_json *found = NULL;
  for (size_t i = 0; v->kind == IG_JSON_ARRAY && i < v->n && !found; i++)
    found = find(&v->items[i], at);
  for (size_t i = 0; v->kind == IG_JSON_OBJECT && i < v->n && !found; i++)
    found = find(&v->members[i].value, at);
  return found;
}

static ig_json *any_node(draw *d, const ig_json *root) {
  size_t n = count(root);
  size_t at = draw_below(d, n < 65536 ? n : 65536);
  return find(root, &at);
}

static bool holds(const ig_json *v, const ig_json *inner) {
  if (v == inner) return true;
  for (size_t i = 0; v->kind == IG_JSON_ARRAY && i < v->n; i++) {
    if (holds(&v->items[i], inner)) return true;
  }
  for (size_t i = 0; v->kind == IG_JSON_OBJECT && i < v->n; i++) {
    if (holds(&v->members[i].value, inner)) return true;
  }
  return false;
}

static void drop(draw *d, ig_json *v) {
  if (v->n == 0) return;
  size_t at = draw_below(d, v->n < 65536 ? v->n : 65536);
  v->n--;
  if (v->kind == IG_JSON_ARRAY) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the tree is ours to change
    ig_json *items = (ig_json *)(uintptr_t)v->items;
    memmove(items + at, items + at + 1, (v->n - at) * sizeof *items);
  } else {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the tree is ours to change
    ig_json_member *members = (ig_json_member *)(uintptr_t)v->members;
    memmove(members + at, members + at + 1, (v->n - at) * sizeof *members);
    v->sorted = NULL;
  }
}

static void again(ig_arena *arena, draw *d, ig_json *v) {
  if (v->n == 0) return;
  size_t at = draw_below(d, v->n < 65536 ? v->n : 65536);
  ig_json *items = ig_arena_push(arena, (v->n + 1) * sizeof *items);
  if (!items) return;
  memcpy(items, v->items, v->n * sizeof *items);
  items[v->n++] = v->items[at];
  v->items = items;
}

static void change_json(ig_arena *arena, draw *d, const ig_json *root) {
  ig_json *v = any_node(d, root);
  if (!v) return;
  if (draw_chance(d, 20)) {  // something else of the same document
    const ig_json *other = any_node(d, root);
    if (other && !holds(other, v)) *v = *other;
    return;
  }
  switch (v->kind) {
    case IG_JSON_INT:
      v->i = fuzz_int(d);
      break;
    case IG_JSON_BOOL:
      v->b = !v->b;
      break;
    case IG_JSON_STRING: {
      const ig_json *other = any_node(d, root);
      bool text = other && other->kind == IG_JSON_STRING;
      if (text) {
        *v = *other;
      } else {
        v->text = any_text(d);
        v->n = strlen(v->text);
      }
      break;
    }
    case IG_JSON_ARRAY:
      if (draw_byte(d) & 1) {
        drop(d, v);
      } else {
        again(arena, d, v);
      }
      break;
    case IG_JSON_OBJECT:
      if (draw_byte(d) & 1 || v->n == 0) {
        drop(d, v);
      } else {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the tree is ours to change
        ig_json_member *m = (ig_json_member *)(uintptr_t)v->members;
        m[0].key = any_text(d);
        m[0].key_n = strlen(m[0].key);
        v->sorted = NULL;
      }
      break;
    default:
      *v = (ig_json){.kind = IG_JSON_INT, .i = fuzz_int(d)};
  }
}

// ---- sources: words, numbers and strings are replaced by others, lines are dropped and repeated

static const char *const words[] = {"Tensor",
                                    "int",
                                    "float",
                                    "bool",
                                    "str",
                                    "None",
                                    "Any",
                                    "List[int]",
                                    "List[Tensor]",
                                    "Optional[Tensor]",
                                    "Dict[str, int]",
                                    "Tuple[int, Tensor]",
                                    "self",
                                    "x",
                                    "torch",
                                    "ops",
                                    "prim",
                                    "aten",
                                    "annotate",
                                    "unchecked_cast",
                                    "uninitialized",
                                    "append",
                                    "sort",
                                    "sorted",
                                    "clear",
                                    "extend",
                                    "insert",
                                    "pop",
                                    "remove",
                                    "copy",
                                    "keys",
                                    "items",
                                    "popitem",
                                    "update",
                                    "setdefault",
                                    "add",
                                    "add_",
                                    "mul",
                                    "slice",
                                    "select",
                                    "index",
                                    "index_put_",
                                    "view",
                                    "reshape",
                                    "expand",
                                    "cat",
                                    "stack",
                                    "split",
                                    "chunk",
                                    "join",
                                    "replace",
                                    "format",
                                    "str",
                                    "int",
                                    "float",
                                    "len",
                                    "min",
                                    "max",
                                    "range",
                                    "__getitem__",
                                    "__contains__",
                                    "_set_item",
                                    "as_strided",
                                    "resize_",
                                    "item",
                                    "tolist",
                                    "data",
                                    "grad",
                                    "shape",
                                    "dtype",
                                    "device",
                                    "size",
                                    "numel",
                                    "tensor",
                                    "zeros",
                                    "full",
                                    "arange",
                                    "is",
                                    "not",
                                    "if",
                                    "while",
                                    "for",
                                    "return",
                                    "raise",
                                    "assert",
                                    "isinstance",
                                    "hasattr",
                                    "getattr",
                                    "fork",
                                    "wait",
                                    "__torch__",
                                    "__torch__.M",
                                    "__new__",
                                    "forward",
                                    "CONSTANTS.c0",
                                    "training",
                                    "9223372036854775807",
                                    "-1",
                                    "\"\"",
                                    "[]",
                                    "{}",
                                    "()"};

static const char *any_word(ig_ctx *c, draw *d) {
  if (draw_chance(d, 40)) {
    const ig_op *op = fuzz_pick(c, d);
    if (op) return op->schema.name;
  }
  return words[draw_below(d, sizeof words / sizeof *words)];
}

static bool is_word(uint8_t ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_';
}

// A word of the text, or a single sign, at or behind a position.
static ig_bytes word_at(ig_bytes in, size_t at) {
  while (at < in.n && (in.at[at] == ' ' || in.at[at] == '\n')) at++;
  while (at > 0 && at < in.n && is_word(in.at[at]) && is_word(in.at[at - 1])) at--;
  size_t end = at;
  while (end < in.n && is_word(in.at[end])) end++;
  if (end == at && end < in.n) end++;
  return (ig_bytes){in.at + at, end - at};
}

static ig_bytes line_at(ig_bytes in, size_t at) {
  size_t end = at;
  while (at > 0 && in.at[at - 1] != '\n') at--;
  while (end < in.n && in.at[end] != '\n') end++;
  return (ig_bytes){in.at + at, end + (end < in.n) - at};
}

static size_t any_place(draw *d, ig_bytes in) {
  size_t at = draw_byte(d);
  return (at << 8 | draw_byte(d)) % in.n;
}

static void change_source(ig_ctx *c, draw *d, ig_bytes in, ig_str *out) {
  unsigned how = draw_byte(d);
  bool line = how < 60;
  size_t at = any_place(d, in);
  ig_bytes part = line ? line_at(in, at) : word_at(in, at);
  size_t from = (size_t)(part.at - in.at);
  ig_str_bytes(out, in.at, from);
  if (line && how >= 30) {  // twice, or another one as well
    ig_bytes other = how < 45 ? part : line_at(in, any_place(d, in));
    ig_str_bytes(out, other.at, other.n);
    ig_str_bytes(out, part.at, part.n);
  } else if (!line && part.n && part.at[0] >= '0' && part.at[0] <= '9') {
    ig_str_add(out, "%lld", (long long)fuzz_int(d));
  } else if (!line && how < 150) {  // another word of the text
    ig_bytes other = word_at(in, any_place(d, in));
    ig_str_bytes(out, other.at, other.n);
  } else if (!line && how < 240) {
    ig_str_add(out, "%s", any_word(c, d));
  } else if (!line) {
    ig_str_add(out, "%s(%.*s)", any_word(c, d), (int)part.n, (const char *)part.at);
  }
  ig_str_bytes(out, part.at + part.n, in.n - from - part.n);
}

static bool mutate_source(ig_ctx *c, draw *d, ig_bytes in, ig_str *out) {
  size_t changes = 1 + draw_below(d, 4);
  ig_str_bytes(out, in.at, in.n);
  for (size_t i = 0; i < changes && out->n && !out->failed; i++) {
    ig_str next = ig_str_make(c->alloc);
    change_source(c, d, (ig_bytes){(const uint8_t *)out->at, out->n}, &next);
    ig_str_free(out);
    *out = next;
  }
  return !out->failed;
}

// ---- archives

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s);
  size_t m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

static bool add_member(ig_ctx *c, draw *d, ig_zip_writer *w, const ig_zip_entry *e, bool mutated) {
  ig_arena arena = ig_arena_make(c->alloc);
  ig_str text = ig_str_make(c->alloc);
  ig_bytes bytes;
  const ig_json *root = NULL;
  const char *name = e->name;
  bool ok = ig_zip_read(c, e, &arena, &bytes) == IG_OK;
  if (ok && mutated && ends_with(name, ".json") &&
      ig_json_parse(c, name, bytes, &arena, NULL, &root) == IG_OK) {
    size_t changes = 1 + draw_below(d, 4);
    for (size_t i = 0; i < changes; i++) change_json(&arena, d, root);
    ig_json_writer writer = {.out = &text};
    ig_json_value(&writer, root);
    ok = !text.failed;
    bytes = (ig_bytes){(const uint8_t *)text.at, text.n};
  } else if (ok && mutated && ends_with(name, ".py") && bytes.n) {
    ok = mutate_source(c, d, bytes, &text);
    bytes = (ig_bytes){(const uint8_t *)text.at, text.n};
  } else if (ok && mutated && bytes.n) {
    uint8_t *copy = ig_arena_push(&arena, bytes.n);
    ok = copy != NULL;
    if (copy) {
      memcpy(copy, bytes.at, bytes.n);
      copy[(uint64_t)draw_i64(d) % bytes.n] = (uint8_t)draw_byte(d);
      bytes.at = copy;
    }
  }
  ig_ctx_clear(c);  // a JSON text that does not parse is copied as it is
  ok = ok && ig_zip_add(w, name, &bytes, 1) == IG_OK;
  ig_str_free(&text);
  ig_arena_free(&arena);
  return ok;
}

bool fuzz_mutate_archive(ig_ctx *c, draw *d, ig_bytes in, ig_sink *out) {
  ig_zip z;
  ig_zip_writer w;
  if (ig_zip_open(c, "base", in, NULL, &z) != IG_OK) return false;
  ig_zip_writer_init(&w, c, out, IG_ZIP_ALIGN);
  bool ok = true;
  for (size_t i = 0; ok && i < z.n; i++) {
    const ig_zip_entry *e = &z.entries[i];
    bool text = ends_with(e->name, ".json") || ends_with(e->name, ".py");
    bool pickle = ends_with(e->name, ".pkl");
    if (draw_chance(d, 2)) continue;
    ok = add_member(c, d, &w, e, text ? !draw_chance(d, 30) : draw_chance(d, pickle ? 20 : 5));
  }
  ok = ok && ig_zip_finish(&w) == IG_OK;
  ig_zip_writer_free(&w);
  ig_zip_close(&z);
  return ok;
}

// From libFuzzer, if it is there.
// NOLINTNEXTLINE: the name is libFuzzer's
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room);

// Decisions from a number.
enum { SEEDED = 64 };
static draw seeded(uint64_t state, uint8_t *room) {
  for (size_t i = 0; i < SEEDED; i++) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    room[i] = (uint8_t)(state >> 56);
  }
  return (draw){room, SEEDED};
}

static bool mutate_zip(ig_ctx *c, unsigned seed, ig_bytes in, ig_sink *out) {
  uint8_t bytes[SEEDED];
  draw d = seeded(seed, bytes);
  bool ok = fuzz_mutate_archive(c, &d, in, out);
  ig_ctx_clear(c);
  return ok;
}

size_t fuzz_mutate_input(uint8_t *data, size_t n, size_t room, unsigned seed) {
  ig_ctx *c = NULL;
  size_t made = 0;
  bool zip = n > 4 && memcmp(data, "PK", 2) == 0 && seed % 8 != 0;
  if (zip && ig_ctx_create(NULL, &c) == IG_OK) {
    ig_sink out = ig_sink_memory(c->alloc);
    if (mutate_zip(c, seed / 8, (ig_bytes){data, n}, &out) && out.n && out.n <= room) {
      made = out.n;
      memcpy(data, out.at, made);
    }
    ig_sink_drop(&out);
    ig_ctx_free(c);
  }
  if (made) return made;
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, n, room) : n;
}

// ---- protobuf

typedef struct field {
  uint64_t tag;
  uint64_t value;
  ig_bytes bytes;
} field;

static bool take_varint(ig_bytes *in, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && in->n; shift += 7) {
    uint8_t b = *in->at;
    in->at++;
    in->n--;
    *out |= (uint64_t)(b & 0x7F) << shift;
    if (!(b & 0x80)) return true;
  }
  return false;
}

static bool take_field(ig_bytes *in, field *out) {
  if (!take_varint(in, &out->tag) || out->tag >> 3 == 0 || out->tag >> 3 > 1000) return false;
  switch (out->tag & 7) {
    case 0:
      return take_varint(in, &out->value);
    case 1:
    case 5:
      out->bytes = (ig_bytes){in->at, (out->tag & 7) == 1 ? 8 : 4};
      break;
    case 2:
      if (!take_varint(in, &out->value) || out->value > in->n) return false;
      out->bytes = (ig_bytes){in->at, (size_t)out->value};
      break;
    default:
      return false;
  }
  if (out->bytes.n > in->n) return false;
  in->at += out->bytes.n;
  in->n -= out->bytes.n;
  return true;
}

static bool is_message(ig_bytes in) {
  field f;
  if (in.n < 2) return false;
  while (in.n) {
    if (!take_field(&in, &f)) return false;
  }
  return true;
}

static size_t count_fields(ig_bytes in, int depth) {
  size_t n = 0;
  field f;
  while (in.n && take_field(&in, &f)) {
    n++;
    if ((f.tag & 7) == 2 && depth < MAX_DEPTH && is_message(f.bytes))
      n += count_fields(f.bytes, depth + 1);
  }
  return n;
}

static void put(ig_str *s, const void *data, size_t n) {
  // %c with a zero byte adds it, too.
  const uint8_t *at = data;
  for (size_t i = 0; i < n; i++) ig_str_add(s, "%c", at[i]);
}

static void put_varint(ig_str *s, uint64_t v) {
  uint8_t bytes[10];
  size_t n = 0;
  do {
    bytes[n++] = (uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
    v >>= 7;
  } while (v);
  put(s, bytes, n);
}

static void put_field(ig_str *s, const field *f) {
  put_varint(s, f->tag);
  if ((f->tag & 7) == 0) {
    put_varint(s, f->value);
    return;
  }
  if ((f->tag & 7) == 2) put_varint(s, f->bytes.n);
  put(s, f->bytes.at, f->bytes.n);
}

// Changes one field before it is put; true: it has been put, or dropped.
static bool change_field(draw *d, field *f, ig_str *out) {
  static uint8_t copy[64];
  unsigned how = draw_byte(d);
  if (how < 20) return true;
  if (how < 40) {
    put_field(out, f);
    return false;  // twice
  }
  if (how < 50) {
    f->tag = (f->tag & 7) | (uint64_t)(1 + draw_below(d, 30)) << 3;
    return false;
  }
  if ((f->tag & 7) == 0) {
    f->value = (uint64_t)fuzz_int(d);
  } else if (how < 150 && (f->tag & 7) == 2) {
    const char *text = any_text(d);
    f->bytes = (ig_bytes){(const uint8_t *)text, strlen(text)};
  } else if (f->bytes.n && f->bytes.n <= sizeof copy) {
    memcpy(copy, f->bytes.at, f->bytes.n);
    copy[draw_below(d, f->bytes.n)] = (uint8_t)draw_byte(d);
    f->bytes.at = copy;
  }
  return false;
}

static void mutate_message(ig_ctx *c, draw *d, ig_bytes in, size_t *at, int depth, ig_str *out) {
  field f;
  while (in.n && take_field(&in, &f)) {
    bool hit = (*at)-- == 0;
    bool inner = (f.tag & 7) == 2 && depth < MAX_DEPTH && is_message(f.bytes);
    if (hit && !(inner && draw_chance(d, 70)) && change_field(d, &f, out)) continue;
    if (inner && !hit) {
      ig_str text = ig_str_make(c->alloc);
      mutate_message(c, d, f.bytes, at, depth + 1, &text);
      if (text.failed) out->failed = true;
      f.bytes = (ig_bytes){(const uint8_t *)text.at, text.n};
      put_field(out, &f);
      ig_str_free(&text);
    } else {
      put_field(out, &f);
    }
  }
}

bool fuzz_mutate_proto(ig_ctx *c, draw *d, ig_bytes in, ig_str *out) {
  size_t changes = 1 + draw_below(d, 4);
  ig_str last = ig_str_make(c->alloc);
  for (size_t i = 0; i < changes; i++) {
    size_t n = count_fields(in, 0);
    size_t at = draw_below(d, n < 65536 ? n : 65536);
    ig_str next = ig_str_make(c->alloc);
    mutate_message(c, d, in, &at, 0, &next);
    ig_str_free(&last);
    last = next;
    in = (ig_bytes){(const uint8_t *)last.at, last.n};
  }
  *out = last;
  return !last.failed;
}
