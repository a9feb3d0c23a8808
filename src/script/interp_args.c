// SPDX-License-Identifier: Apache-2.0
#include "script/interp_args.h"

#include <string.h>

#include "script/interp.h"
#include "script/numbers.h"

static bool wrong(ig_ctx *c, const ig_sinsn *i, const char *what) {
  ig_fail_text(c, IG_INVALID, "%s: %s", i->node ? i->node->kind : "script", what);
  return false;
}

// ---- arguments

static ig_int *room_for(ig_ctx *c, ig_sroom *space, size_t n) {
  if (n > IG_SROOM - space->n) return ig_scope_array(c, n, sizeof(ig_int));
  ig_int *at = &space->ints[space->n];
  space->n += n;
  return at;
}

static bool to_ints(ig_ctx *c, const ig_sinsn *i, ig_sroom *space, ig_value *v) {
  const ig_sobj_seq *s =
      ig_sobj_is(*v, IG_SOBJ_LIST) || ig_sobj_is(*v, IG_SOBJ_TUPLE) ? v->object : NULL;
  const ig_value *from = s ? s->at : v;
  size_t n = s ? s->n : 1;
  ig_int *at = room_for(c, space, n);
  if (!at) return false;
  for (size_t k = 0; k < n; k++) {
    if (from[k].kind != IG_KIND_INT) return wrong(c, i, "expected a list of integers");
    at[k] = from[k].i;
  }
  *v = ig_of_ints(at, n);
  return true;
}

static bool to_texts(ig_ctx *c, const ig_sinsn *i, ig_value *v) {
  const ig_sobj_seq *s = ig_sobj_is(*v, IG_SOBJ_LIST) ? v->object : NULL;
  if (!s) return wrong(c, i, "expected a list of strings");
  ig_value *at = ig_scope_array(c, s->n, sizeof *at);
  if (!at) return false;
  for (size_t k = 0; k < s->n; k++) {
    if (!ig_sobj_is(s->at[k], IG_SOBJ_STR)) return wrong(c, i, "expected a list of strings");
    at[k] = ig_of_str(((const ig_sobj_str *)s->at[k].object)->text);
  }
  *v = ig_of_list(at, s->n);
  return true;
}

static bool to_number(ig_ctx *c, const ig_sinsn *i, ig_sarg how, ig_value *v) {
  if (v->kind != IG_KIND_INT)
    return wrong(c, i, "expected the number of a dtype, layout or format");
  int64_t number = v->i.value;
  if (how == IG_SARG_DTYPE) {
    *v = ig_of_dtype(ig_script_dtype(number));
    return v->dtype != IG_DTYPE_COUNT || wrong(c, i, "a dtype that is not supported");
  }
  if (how == IG_SARG_LAYOUT) {
    *v = (ig_value){.kind = IG_KIND_LAYOUT, .layout = ig_script_layout(number)};
    return v->layout != IG_LAYOUT_COUNT || wrong(c, i, "a layout that is not supported");
  }
  *v = ig_of_memory_format(ig_script_memory_format(number));
  return v->memory_format != IG_MEMORY_FORMAT_COUNT || wrong(c, i, "an unknown memory format");
}

static bool to_device(ig_ctx *c, const ig_sinsn *i, ig_value *v) {
  ig_device d;
  if (v->kind == IG_KIND_DEVICE) return true;
  if (!ig_sobj_is(*v, IG_SOBJ_STR)) return wrong(c, i, "expected a device");
  const char *text = ((const ig_sobj_str *)v->object)->text;
  if (!ig_device_parse(text, &d)) {
    ig_fail_text(c, IG_RUNTIME, "Invalid device string: '%s'", text);
    return false;
  }
  *v = ig_of_device(d);
  return true;
}

bool ig_sarg_adapt(ig_ctx *c, const ig_sinsn *i, size_t k, ig_sroom *space, ig_value *v) {
  if (v->kind == IG_KIND_NONE) return true;
  switch ((ig_sarg)i->how[k]) {
    case IG_SARG_PASS:
      return v->kind != IG_KIND_OBJECT || wrong(c, i, "a value of another type");
    case IG_SARG_FLOAT:
      if (v->kind == IG_KIND_INT && !v->i.expr) *v = ig_of_f64((double)v->i.value);
      return true;
    case IG_SARG_INTS:
      return to_ints(c, i, space, v);
    case IG_SARG_LIST: {
      const ig_sobj_seq *s = ig_sobj_is(*v, IG_SOBJ_LIST) ? v->object : NULL;
      if (!s) return wrong(c, i, "expected a list");
      *v = ig_of_list(s->at, s->n);
      return true;
    }
    case IG_SARG_TEXTS:
      return to_texts(c, i, v);
    case IG_SARG_STR:
      if (!ig_sobj_is(*v, IG_SOBJ_STR)) return wrong(c, i, "expected a string");
      *v = ig_of_str(((const ig_sobj_str *)v->object)->text);
      return true;
    case IG_SARG_DTYPE:
    case IG_SARG_LAYOUT:
    case IG_SARG_FORMAT:
      return to_number(c, i, (ig_sarg)i->how[k], v);
    case IG_SARG_DEVICE:
      return to_device(c, i, v);
  }
  return false;
}

ig_value ig_sarg_result(ig_ctx *c, const ig_sinsn *i, size_t k, ig_value v) {
  const ig_stype *type = i->node->out[k]->type;
  ig_sobj_seq *s = NULL;
  switch (v.kind) {
    case IG_KIND_TENSOR:
    case IG_KIND_NATIVE:
      ig_svalue_retain(v);
      return v;
    case IG_KIND_LIST:
      s = ig_sobj_seq_make(c, IG_SOBJ_LIST, type, v.list.at, v.list.n);
      return s ? ig_of_sobj(s) : ig_none();
    case IG_KIND_INTS:
      s = ig_sobj_seq_make(c, IG_SOBJ_LIST, type, NULL, v.ints.n);
      for (size_t j = 0; s && j < v.ints.n; j++) s->at[j] = ig_of_int(v.ints.at[j]);
      return s ? ig_of_sobj(s) : ig_none();
    case IG_KIND_STR: {
      ig_sobj_str *text = ig_sobj_str_make(c, v.str, strlen(v.str));
      return text ? ig_of_sobj(text) : ig_none();
    }
    case IG_KIND_DTYPE:
      return ig_of_i64(ig_script_of_dtype(v.dtype));
    case IG_KIND_LAYOUT:
      return ig_of_i64(ig_script_of_layout(v.layout));
    case IG_KIND_MEMORY_FORMAT:
      return ig_of_i64(ig_script_of_memory_format(v.memory_format));
    default:
      return v;
  }
}

// ---- types

bool ig_svalue_is(ig_value v, const ig_stype *t) {
  switch (t->kind) {
    case IG_STYPE_ANY:
      return true;
    case IG_STYPE_TENSOR:
      return v.kind == IG_KIND_TENSOR;
    case IG_STYPE_INT:
      return v.kind == IG_KIND_INT;
    case IG_STYPE_FLOAT:
      return v.kind == IG_KIND_FLOAT;
    case IG_STYPE_BOOL:
      return v.kind == IG_KIND_BOOL;
    case IG_STYPE_COMPLEX:
      return v.kind == IG_KIND_COMPLEX;
    case IG_STYPE_NUMBER:
      return v.kind == IG_KIND_INT || v.kind == IG_KIND_FLOAT || v.kind == IG_KIND_COMPLEX;
    case IG_STYPE_NONE:
      return v.kind == IG_KIND_NONE;
    case IG_STYPE_DEVICE:
      return v.kind == IG_KIND_DEVICE;
    case IG_STYPE_STR:
      return ig_sobj_is(v, IG_SOBJ_STR);
    case IG_STYPE_ANY_LIST:
      return ig_sobj_is(v, IG_SOBJ_LIST);
    case IG_STYPE_ANY_TUPLE:
      return ig_sobj_is(v, IG_SOBJ_TUPLE);
    case IG_STYPE_FUTURE:
      return ig_sobj_is(v, IG_SOBJ_FUTURE);
    case IG_STYPE_FUNCTION:
      return ig_sobj_is(v, IG_SOBJ_FUNCTION);
    case IG_STYPE_OPTIONAL:
      return v.kind == IG_KIND_NONE || ig_svalue_is(v, t->at[0]);
    case IG_STYPE_UNION:
      for (size_t i = 0; i < t->n; i++) {
        if (ig_svalue_is(v, t->at[i])) return true;
      }
      return false;
    default:
      break;
  }
  const ig_sobj *o = ig_sobj_of(v);
  if (!o) return false;
  if (o->kind == IG_SOBJ_TUPLE && t->kind == IG_STYPE_TUPLE) {
    const ig_sobj_seq *s = v.object;
    bool all = s->n == t->n && (!t->name || (o->type && o->type->name));
    for (size_t i = 0; all && i < s->n; i++) all = ig_svalue_is(s->at[i], t->at[i]);
    return all;
  }
  if (o->kind == IG_SOBJ_LIST && t->kind == IG_STYPE_LIST && !o->type) {
    const ig_sobj_seq *s = v.object;
    bool all = true;
    for (size_t i = 0; all && i < s->n; i++) all = ig_svalue_is(s->at[i], t->at[0]);
    return all;
  }
  return o->type && o->kind != IG_SOBJ_STR && ig_stype_is_subtype(o->type, t);
}
