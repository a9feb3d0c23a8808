// SPDX-License-Identifier: Apache-2.0
// From the tree of a pickle to plain values. Every node becomes one object, however often it is
// referenced; a node that contains itself is rejected.
#include "arrays/unpack.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "tensor/quantizer.h"
#include "tensor/tensor.h"

bool ig_unpack_bad(ig_unpack *u, const ig_pickle *p, ig_cause why, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  (void)ig_fail(u->c, why, "%s: pickle, offset %zu: %s", u->name, p->at, text);
  return false;
}
#define BAD(u, p, ...) ig_unpack_bad((u), (p), IG_SYNTAX | IG_E_PICKLE, __VA_ARGS__)

static const char *kind_of(const ig_pickle *p) {
  return ig_pickle_kind_text((ig_pickle_kind)p->kind);
}

static bool arity(ig_unpack *u, const ig_pickle *p, size_t least, size_t most) {
  if (p->args->n >= least && p->args->n <= most) return true;
  return BAD(u, p, "%s with %zu arguments, expected %zu to %zu", p->global->text, p->args->n, least,
             most);
}

// ---- calls of plain values

static ig_object *sequence(ig_unpack *u, ig_pickle *p, ig_object_kind kind, size_t depth) {
  ig_object *o = ig_object_new(u->c, kind);
  for (size_t i = 0; i < p->n && o; i++) {
    if (ig_object_push(u->c, o, ig_unpack_value(u, p->items[i], depth + 1)) == IG_OK) continue;
    if (u->c->status == IG_INVALID || u->c->status == IG_SYNTAX) {
      ig_note(u->c, "in %s at offset %zu of %s", ig_object_kind_text(kind), p->at, u->name);
    }
    ig_object_free(o);
    return NULL;
  }
  return o;
}

// The one argument must be a sequence.
static ig_object *of_sequence(ig_unpack *u, ig_pickle *p, ig_object_kind kind, size_t depth) {
  if (!arity(u, p, 0, 1)) return NULL;
  ig_pickle *from = p->args->n ? p->args->items[0] : p->args;
  if (from->kind != IG_PICKLE_LIST && from->kind != IG_PICKLE_TUPLE) {
    (void)BAD(u, p, "%s of %s, expected a list or tuple", p->global->text, kind_of(from));
    return NULL;
  }
  return sequence(u, from, kind, depth);
}
static ig_object *call_set(ig_unpack *u, ig_pickle *p, size_t depth) {
  return of_sequence(u, p, IG_OBJECT_SET, depth);
}
static ig_object *call_size(ig_unpack *u, ig_pickle *p, size_t depth) {
  return of_sequence(u, p, IG_OBJECT_SIZE, depth);
}

static double number(const ig_pickle *p, bool *ok) {
  *ok = *ok && (p->kind == IG_PICKLE_FLOAT || p->kind == IG_PICKLE_INT);
  return p->kind == IG_PICKLE_FLOAT ? p->f : (double)p->i;
}
static ig_object *call_complex(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  if (!arity(u, p, 2, 2)) return NULL;
  bool ok = true;
  double re = number(p->args->items[0], &ok);
  double im = number(p->args->items[1], &ok);
  if (!ok) (void)BAD(u, p, "a complex number of other than numbers");
  return ok ? ig_object_of_complex(u->c, (ig_c128){re, im}) : NULL;
}

static ig_object *call_device(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  if (!arity(u, p, 1, 2)) return NULL;
  const ig_pickle *type = p->args->items[0];
  const ig_pickle *index = p->args->n == 2 ? p->args->items[1] : NULL;
  ig_device d;
  bool ok = type->kind == IG_PICKLE_STR && ig_device_parse(type->text, &d) &&
            (!index || (index->kind == IG_PICKLE_INT && index->i >= 0 && index->i < INT16_MAX));
  if (!ok) {
    (void)BAD(u, p, "torch.device of %s that names no device",
              type->kind == IG_PICKLE_STR ? type->text : kind_of(type));
    return NULL;
  }
  if (index) d.index = (int16_t)index->i;
  return ig_object_of_device(u->c, d);
}

static ig_object *call_layout(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  if (!arity(u, p, 1, 1)) return NULL;
  const ig_pickle *name = p->args->items[0];
  if (name->kind == IG_PICKLE_STR && strcmp(name->text, "torch.strided") == 0) {
    return ig_object_of_layout(u->c, IG_STRIDED);
  }
  if (name->kind == IG_PICKLE_STR && strcmp(name->text, "torch.sparse_coo") == 0) {
    return ig_object_of_layout(u->c, IG_SPARSE_COO);
  }
  (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "layout %s",
                      name->kind == IG_PICKLE_STR ? name->text : kind_of(name));
  return NULL;
}

// bytes in protocol 2: a text of the characters 0 to 255, encoded as latin1.
static ig_object *encode(ig_unpack *u, ig_pickle *p) {
  const ig_pickle *text = p->args->items[0];
  const ig_pickle *code = p->args->n == 2 ? p->args->items[1] : NULL;
  if (text->kind != IG_PICKLE_STR ||
      (code && (code->kind != IG_PICKLE_STR ||
                (strcmp(code->text, "latin1") != 0 && strcmp(code->text, "latin-1") != 0)))) {
    (void)BAD(u, p, "%s of other than a string in latin1", p->global->text);
    return NULL;
  }
  char *out = ig_mem_new(u->c->alloc, text->n + 1);
  if (!out) (void)ig_fail(u->c, IG_NOMEM, "out of memory");
  size_t n = 0;
  uint32_t point = 0;
  for (size_t i = 0; out && i < text->n && point < 256;) {
    i += ig_utf8_decode((const uint8_t *)text->text + i, text->n - i, &point);
    out[n++] = (char)point;
  }
  ig_object *o = NULL;
  if (point > 255) {
    (void)BAD(u, p, "%s: U+%04" PRIX32 " is not in latin1", p->global->text, point);
  } else if (out) {
    o = ig_object_of_text(u->c, IG_OBJECT_BYTES, out, n);
  }
  if (out) ig_mem_free(u->c->alloc, out, text->n + 1);
  return o;
}

static ig_object *call_encode(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  return arity(u, p, 1, 2) ? encode(u, p) : NULL;
}

// bytes() and bytes(b"...").
static ig_object *call_bytes(ig_unpack *u, ig_pickle *p, size_t depth) {
  if (!arity(u, p, 0, 1)) return NULL;
  if (p->args->n == 0) return ig_object_of_text(u->c, IG_OBJECT_BYTES, "", 0);
  ig_object *o = ig_unpack_value(u, p->args->items[0], depth + 1);
  if (!o || ig_object_kind_of(o) == IG_OBJECT_BYTES) return o;
  ig_object_free(o);
  (void)BAD(u, p, "%s of other than bytes", p->global->text);
  return NULL;
}

// bytearray("...", "latin-1") of protocol 2, bytearray() and bytearray(b"...").
static ig_object *call_bytearray(ig_unpack *u, ig_pickle *p, size_t depth) {
  if (!arity(u, p, 0, 2)) return NULL;
  ig_object *bytes = p->args->n == 2 ? encode(u, p) : call_bytes(u, p, depth);
  if (!bytes) return NULL;
  size_t n = 0;
  const char *text = ig_object_text(bytes, &n);
  ig_object *o = ig_object_of_text(u->c, IG_OBJECT_BYTEARRAY, text, n);
  ig_object_free(bytes);
  return o;
}

// ---- helpers of TorchScript

// Lists whose element type is known to the language: build_intlist([1, 2]).
static ig_object *call_list(ig_unpack *u, ig_pickle *p, size_t depth) {
  return of_sequence(u, p, IG_OBJECT_LIST, depth);
}
// restore_type_tag(value, "Dict[str, Tensor]").
static ig_object *call_tagged(ig_unpack *u, ig_pickle *p, size_t depth) {
  return arity(u, p, 2, 2) ? ig_unpack_value(u, p->args->items[0], depth + 1) : NULL;
}

static const ig_unpack_call script_calls[] = {
    {"torch.jit._pickle.restore_type_tag", IG_PICKLE_CALLED, call_tagged, NULL},
    {"torch.jit._pickle.build_intlist", IG_PICKLE_CALLED, call_list, NULL},
    {"torch.jit._pickle.build_doublelist", IG_PICKLE_CALLED, call_list, NULL},
    {"torch.jit._pickle.build_boollist", IG_PICKLE_CALLED, call_list, NULL},
    {"torch.jit._pickle.build_tensorlist", IG_PICKLE_CALLED, call_list, NULL},
    {NULL, IG_PICKLE_REFUSED, NULL, NULL},
};

static const ig_unpack_call plain_calls[] = {
    {"collections.OrderedDict", IG_PICKLE_MAP, NULL, NULL},
    {"collections.Counter", IG_PICKLE_MAP, NULL, NULL},
    {"torch.Size", IG_PICKLE_CALLED, call_size, NULL},
    {"torch.device", IG_PICKLE_CALLED, call_device, NULL},
    {"torch.serialization._get_layout", IG_PICKLE_CALLED, call_layout, NULL},
    {"_codecs.encode", IG_PICKLE_CALLED, call_encode, NULL},
    {"builtins.set", IG_PICKLE_CALLED, call_set, NULL},
    {"builtins.frozenset", IG_PICKLE_CALLED, call_set, NULL},
    {"builtins.complex", IG_PICKLE_CALLED, call_complex, NULL},
    {"builtins.bytes", IG_PICKLE_CALLED, call_bytes, NULL},
    {"builtins.bytearray", IG_PICKLE_CALLED, call_bytearray, NULL},
    {NULL, IG_PICKLE_REFUSED, NULL, NULL},
};

static const ig_unpack_call *find_in(const ig_unpack_call *list, const char *name) {
  for (; list->name; list++) {
    if (strcmp(list->name, name) == 0) return list;
  }
  return NULL;
}

static const ig_unpack_call *find_call(const ig_unpack *u, const char *global) {
  static const char old[] = "__builtin__.";
  char now[64];
  if (strncmp(global, old, sizeof old - 1) == 0) {
    (void)snprintf(now, sizeof now, "builtins.%s", global + sizeof old - 1);
    global = now;
  }
  const ig_unpack_call *call = find_in(plain_calls, global);
  if (!call) call = find_in(ig_unpack_tensor_calls, global);
  if (!call && u->script) call = find_in(script_calls, global);
  return call;
}

// Classes that the caller named, and those of TorchScript's own name space.
static bool is_class(const ig_unpack *u, const char *global) {
  if (u->allow && u->allow(global, u->allow_user)) return true;
  return u->script && strncmp(global, "__torch__.", strlen("__torch__.")) == 0;
}

ig_pickle_rule ig_unpack_rule(const char *global, void *user) {
  const ig_unpack *u = user;
  const ig_unpack_call *call = find_call(u, global);
  if (call) return call->rule;
  ig_dtype d;
  bool untyped = false;
  const char *why = NULL;
  if (ig_unpack_storage_class(global, &d, &untyped, &why) || ig_unpack_dtype(global, &d, &why)) {
    return IG_PICKLE_VALUE;
  }
  if (strcmp(global, "torch.nn.parameter.Parameter") == 0 || strcmp(global, "torch.Tensor") == 0) {
    return IG_PICKLE_VALUE;
  }
  for (int i = 0; i < IG_QSCHEME_COUNT; i++) {
    const char *name = strncmp(global, "torch.", 6) == 0 ? global + 6 : "";
    if (strcmp(name, ig_quant_scheme_text((ig_quant_scheme)i)) == 0) return IG_PICKLE_VALUE;
  }
  return is_class(u, global) ? IG_PICKLE_CLASS : IG_PICKLE_REFUSED;
}

// ---- values

static ig_object *from_global(ig_unpack *u, const ig_pickle *p) {
  ig_dtype d;
  const char *why = NULL;
  if (ig_unpack_dtype(p->text, &d, &why)) {
    if (!why) return ig_object_of_dtype(u->c, d);
    (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "dtype %s: %s", p->text, why);
    return NULL;
  }
  if (is_class(u, p->text)) return ig_object_of_class(u->c, p->text, NULL, false);
  (void)BAD(u, p, "'%.200s' in place of a value", p->text);
  return NULL;
}

static ig_object *from_instance(ig_unpack *u, ig_pickle *p, size_t depth) {
  ig_object *args = ig_unpack_value(u, p->args, depth + 1);
  bool call = p->rule == IG_PICKLE_CALLED;
  ig_object *o = args ? ig_object_of_class(u->c, p->global->text, args, call) : NULL;
  if (o && p->state &&
      ig_object_set_state(u->c, o, ig_unpack_value(u, p->state, depth + 1)) != IG_OK) {
    ig_object_free(o);
    return NULL;
  }
  return o;
}

static ig_object *from_call(ig_unpack *u, ig_pickle *p, size_t depth) {
  const ig_unpack_call *call = find_call(u, p->global->text);
  if (!call) return from_instance(u, p, depth);
  if (call->build) return call->build(u, p, depth);
  (void)ig_unpack_bad(u, p, IG_UNSUPPORTED | IG_E_PICKLE_CLASS, "%s: %s", call->name, call->why);
  return NULL;
}

static ig_object *from_dict(ig_unpack *u, ig_pickle *p, size_t depth) {
  ig_object_kind kind = IG_OBJECT_DICT;
  if (p->global) {
    bool ordered = strcmp(p->global->text, "collections.OrderedDict") == 0;
    kind = ordered ? IG_OBJECT_ORDERED : IG_OBJECT_COUNTER;
  }
  ig_object *o = ig_object_new(u->c, kind);
  for (size_t i = 0; o && i + 1 < p->n; i += 2) {
    ig_object *key = ig_unpack_value(u, p->items[i], depth + 1);
    ig_object *value = key ? ig_unpack_value(u, p->items[i + 1], depth + 1) : NULL;
    if (ig_object_put(u->c, o, key, value) == IG_OK) continue;
    if (key && value) ig_note(u->c, "in the dictionary at offset %zu of %s", p->at, u->name);
    ig_object_free(o);
    return NULL;
  }
  if (o && p->state) {
    if (p->state->kind != IG_PICKLE_DICT) {
      (void)BAD(u, p, "attributes of a dictionary are %s", kind_of(p->state));
      ig_object_free(o);
      return NULL;
    }
    if (ig_object_set_state(u->c, o, ig_unpack_value(u, p->state, depth + 1)) != IG_OK) {
      ig_object_free(o);
      return NULL;
    }
  }
  return o;
}

static ig_object *build(ig_unpack *u, ig_pickle *p, size_t depth) {
  ig_ctx *c = u->c;
  switch ((ig_pickle_kind)p->kind) {
    case IG_PICKLE_NONE:
      return ig_object_none(c);
    case IG_PICKLE_BOOL:
      return ig_object_of_bool(c, p->b);
    case IG_PICKLE_INT:
      return ig_object_of_int(c, p->i);
    case IG_PICKLE_FLOAT:
      return ig_object_of_float(c, p->f);
    case IG_PICKLE_BIG:
      return ig_object_of_text(c, IG_OBJECT_BIG, p->text, p->n);
    case IG_PICKLE_STR:
      return ig_object_of_text(c, IG_OBJECT_STR, p->text, p->n);
    case IG_PICKLE_BYTES:
      return ig_object_of_text(c, IG_OBJECT_BYTES, p->text, p->n);
    case IG_PICKLE_BYTEARRAY:
      return ig_object_of_text(c, IG_OBJECT_BYTEARRAY, p->text, p->n);
    case IG_PICKLE_LIST:
      return sequence(u, p, IG_OBJECT_LIST, depth);
    case IG_PICKLE_TUPLE:
      return sequence(u, p, IG_OBJECT_TUPLE, depth);
    case IG_PICKLE_SET:
      return sequence(u, p, IG_OBJECT_SET, depth);
    case IG_PICKLE_DICT:
      return from_dict(u, p, depth);
    case IG_PICKLE_GLOBAL:
      return from_global(u, p);
    case IG_PICKLE_CALL:
      return from_call(u, p, depth);
    case IG_PICKLE_PERSID:
      break;
  }
  (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "a storage in place of a value; save tensors instead");
  return NULL;
}

static char busy;  // its address marks a node whose object is under construction

ig_object *ig_unpack_value(ig_unpack *u, ig_pickle *p, size_t depth) {
  if (ig_ctx_status(u->c) != IG_OK) return NULL;
  if (p->user == &busy) {
    (void)BAD(u, p, "%s contains itself", kind_of(p));
    return NULL;
  }
  if (p->user) return ig_object_retain(p->user);
  if (depth > u->limits.max_depth) {
    (void)BAD(u, p, "values are nested deeper than the limit of %" PRIu64, u->limits.max_depth);
    return NULL;
  }
  p->user = &busy;
  ig_object *o = build(u, p, depth);
  p->user = NULL;
  if (!o) return NULL;
  if (!ig_vec_push(u->c->alloc, &u->made, o)) {
    (void)ig_fail(u->c, IG_NOMEM, "out of memory");
    ig_object_free(o);
    return NULL;
  }
  p->user = o;
  return ig_object_retain(o);
}

ig_status ig_unpack_tree(ig_unpack *u, ig_pickle *tree, ig_object **out) {
  *out = ig_unpack_value(u, tree, 1);
  for (size_t i = 0; i < u->made.n; i++) ig_object_free(u->made.at[i]);
  ig_vec_free(u->c->alloc, &u->made);
  u->made.at = NULL;
  u->made.n = u->made.cap = 0;
  if (*out && ig_ctx_status(u->c) != IG_OK) {
    ig_object_free(*out);
    *out = NULL;
  }
  return ig_ctx_status(u->c);
}
