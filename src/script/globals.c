// SPDX-License-Identifier: Apache-2.0
// Names that every script knows: Python's built-in functions, and for code without a host the
// namespaces torch, math and ops.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script/emitter.h"

static const struct {
  const char *name;
  ig_special form;
} specials[] = {
    {"isinstance", IG_SPECIAL_ISINSTANCE},
    {"getattr", IG_SPECIAL_GETATTR},
    {"hasattr", IG_SPECIAL_HASATTR},
    {"print", IG_SPECIAL_PRINT},
    {"tuple", IG_SPECIAL_TUPLE},
    {"list", IG_SPECIAL_LIST},
    {"dict", IG_SPECIAL_DICT},
    {"range", IG_SPECIAL_RANGE},
    {"zip", IG_SPECIAL_ZIP},
    {"enumerate", IG_SPECIAL_ENUMERATE},
    {"len", IG_SPECIAL_LEN},
    {"min", IG_SPECIAL_MIN},
    {"max", IG_SPECIAL_MAX},
};

// Those that the code of archives has besides.
static const struct {
  const char *name;
  ig_special form;
} archive_specials[] = {
    {"annotate", IG_SPECIAL_ANNOTATE},
    {"uninitialized", IG_SPECIAL_UNINITIALIZED},
    {"unchecked_cast", IG_SPECIAL_UNCHECKED_CAST},
    {"fork", IG_SPECIAL_FORK},
};

static const struct {
  const char *name;
  const char *symbol;
} functions[] = {
    {"abs", "prim::abs"},     {"all", "aten::all"},       {"any", "aten::any"},
    {"bin", "aten::bin"},     {"chr", "aten::chr"},       {"divmod", "aten::divmod"},
    {"hash", "aten::hash"},   {"hex", "aten::hex"},       {"id", "prim::id"},
    {"oct", "aten::oct"},     {"ord", "aten::ord"},       {"rangelist", "prim::rangelist"},
    {"round", "aten::round"}, {"sorted", "aten::sorted"}, {"sum", "aten::sum"},
};

static const struct {
  const char *name;
  const char *symbol;
  const char *method;
  ig_stype_kind kind;
} casts[] = {
    {"float", "aten::Float", "__float__", IG_STYPE_FLOAT},
    {"int", "aten::Int", "__int__", IG_STYPE_INT},
    {"bool", "aten::Bool", "__bool__", IG_STYPE_BOOL},
    {"complex", "aten::Complex", "__complex__", IG_STYPE_COMPLEX},
    {"str", "aten::str", "__str__", IG_STYPE_STR},
};

bool ig_sugar_of_global(ig_emitter *e, const char *name, ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    if (strcmp(specials[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_SPECIAL, .special = specials[i].form};
    return true;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_BUILTIN, .builtin = {.symbol = functions[i].symbol}};
    return true;
  }
  for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
    if (strcmp(casts[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_CAST,
                      .cast = {casts[i].symbol, casts[i].method, ig_emit_plain(e, casts[i].kind)}};
    return out->cast.cast_type != NULL;
  }
  for (size_t i = 0; i < sizeof archive_specials / sizeof *archive_specials; i++) {
    if (e->front->python || strcmp(archive_specials[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_SPECIAL, .special = archive_specials[i].form};
    return true;
  }
  if (!e->front->python) {
    static const char *const spaces[] = {"torch", "math", "ops"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
      if (strcmp(spaces[i], name) == 0)
        *out = (ig_sugar){.kind = IG_SUGAR_NAMESPACE, .name = spaces[i]};
    }
    if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0) {
      *out = (ig_sugar){.kind = IG_SUGAR_CONSTANT};
      out->constant = ig_of_f64(name[0] == 'i' ? (double)INFINITY : (double)NAN);
    }
  }
  return true;
}

static ig_sugar operator_of(ig_arena *a, const char *space, const char *name) {
  size_t n = strlen(space) + strlen(name) + 3;
  char *symbol = ig_arena_push(a, n);
  if (!symbol) return (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  (void)snprintf(symbol, n, "%s::%s", space, name);
  return (ig_sugar){.kind = IG_SUGAR_BUILTIN, .builtin = {.symbol = symbol}};
}

// Names of torch that are no operators.
static bool torch_name(const char *name, ig_sugar *out) {
  static const struct {
    const char *name;
    ig_special form;
  } forms[] = {
      {"isinstance", IG_SPECIAL_ISINSTANCE},
      {"annotate", IG_SPECIAL_ANNOTATE},
      {"_unwrap_optional", IG_SPECIAL_UNCHECKED_CAST},
      {"fork", IG_SPECIAL_FORK},
  };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(forms[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_SPECIAL, .special = forms[i].form};
    return true;
  }
  return false;
}

bool ig_sugar_of_namespace(ig_emitter *e, const char *space, const char *name, ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  if (strcmp(space, "ops") == 0) {
    char *kept = ig_arena_strn(&e->arena, name, strlen(name));
    *out = (ig_sugar){.kind = IG_SUGAR_NAMESPACE, .name = kept};
    return kept != NULL;
  }
  if (strcmp(space, "torch") == 0 && torch_name(name, out)) return true;
  if (strcmp(space, "torch") == 0 && e->front->op) {
    if (!e->front->op(e->c, e->front->user, name, out)) return false;
    if (out->kind != IG_SUGAR_UNKNOWN) return true;
  }
  bool aten = strcmp(space, "torch") == 0 || strcmp(space, "math") == 0;
  *out = operator_of(&e->arena, aten ? "aten" : space, name);
  return out->kind != IG_SUGAR_UNKNOWN;
}
