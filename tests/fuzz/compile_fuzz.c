// SPDX-License-Identifier: Apache-2.0
// Any text as a script of one function: it is refused with words, or it compiles to a graph that
// prints, parses and prints the same, and runs within small limits.
#include <stdlib.h>
#include <string.h>

#include "ingot/limits.h"
#include "script/compile.h"
#include "script/interp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// A small value of a parameter's type, a new reference; false: there is none.
static bool argument(ig_ctx *c, const ig_stype *t, ig_value *out) {
  switch (t->kind) {
    case IG_STYPE_TENSOR: {
      ig_tensor *x = ig_tensor_empty(c, IG_F32, (const int64_t[]){2, 3}, 2);
      for (size_t i = 0; x && i < 6; i++) ((float *)ig_tensor_data(x))[i] = (float)i - 2;
      *out = ig_of_tensor(x);
      if (x) ig_tensor_retain(x);
      return x != NULL;
    }
    case IG_STYPE_INT:
      *out = ig_of_i64(3);
      return true;
    case IG_STYPE_FLOAT:
      *out = ig_of_f64(-0.5);
      return true;
    case IG_STYPE_BOOL:
      *out = ig_of_bool(true);
      return true;
    case IG_STYPE_STR:
      *out = ig_of_sobj(ig_sobj_str_make(c, "a b", 3));
      return out->object != NULL;
    case IG_STYPE_OPTIONAL:
    case IG_STYPE_NONE:
      *out = ig_none();
      return true;
    case IG_STYPE_LIST: {
      ig_value item;
      if (!argument(c, t->at[0], &item)) return false;
      const ig_value both[] = {item, item};
      *out = ig_of_sobj(ig_sobj_seq_make(c, IG_SOBJ_LIST, t, both, 2));
      ig_svalue_release(item);
      return out->object != NULL;
    }
    default:
      return false;
  }
}

static void run(ig_ctx *c, ig_sfunction *f) {
  ig_value args[16];
  size_t n = 0;
  while (n < f->n_params && n < 16 && argument(c, f->params[n].type, &args[n])) n++;
  if (n == f->n_params) {
    ig_limits limits = ig_limits_default();
    limits.max_work = 20000;
    limits.max_memory = ig_ctx_memory(c) + (64u << 20);
    ig_ctx_set_limits(c, &limits);
    ig_value result = ig_none();
    if (ig_sfunction_run(c, f, args, &result) == IG_OK) {
      ig_str s = ig_str_make(c->alloc);
      (void)ig_svalue_print(c, &s, result);
      ig_str_free(&s);
    } else if (!ig_ctx_error(c)[0]) {
      __builtin_trap();
    }
    ig_svalue_release(result);
  }
  for (size_t i = 0; i < n; i++) ig_svalue_release(args[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  char *text = malloc(n + 1);
  if (!text || ig_ctx_create(NULL, &c) != IG_OK) {
    free(text);
    return 0;
  }
  memcpy(text, data, n);
  text[n] = '\0';
  ig_scope scope = ig_scope_open(c);
  ig_sunit *u = ig_sunit_create(c);
  static const ig_sfront front = {.python = false};
  ig_sfunction *f = u ? ig_script_compile(c, u, text, &front) : NULL;
  if (!f && (ig_ctx_status(c) == IG_OK || !ig_ctx_error(c)[0])) __builtin_trap();
  if (f) {
    ig_str s = ig_str_make(c->alloc);
    ig_sgraph_print(&s, f->graph, true);
    ig_str_free(&s);
    run(c, f);
  }
  ig_sunit_release(u);
  ig_scope_close(c, scope);
  ig_ctx_free(c);
  free(text);
  return 0;
}
