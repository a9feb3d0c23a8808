// SPDX-License-Identifier: Apache-2.0
// Iteration and unpacking, containers of modules, calls of modules, named tuples, exceptions.
#include <string.h>

#include "script/emitter.h"

// ---- containers of modules

ig_scontainer ig_emit_container(const ig_svalue *v) {
  const ig_sclass *k = ig_sclass_of(v->type);
  return k ? k->container : IG_SCONTAINER_NONE;
}

static bool is_child(const ig_sclass *k, size_t i) {
  const ig_sattribute *a = &k->attributes.at[i];
  const ig_sclass *child = ig_sclass_of(a->type);
  bool parameters =
      k->container == IG_SCONTAINER_PARAMETER_LIST || k->container == IG_SCONTAINER_PARAMETER_DICT;
  if (parameters) return a->role == IG_SROLE_PARAMETER;
  const ig_sinterface *face = ig_sinterface_of(a->type);
  return (child && child->module) || (face && face->module);
}

// The children of a module, with their names.
bool ig_emit_children(ig_emitter *e, ig_srange where, ig_svalue *v, ig_sugar *out) {
  const ig_sclass *k = ig_sclass_of(v->type);
  ig_sugar *at = ig_emit_array(e, k->attributes.n, sizeof *at);
  const char **keys = ig_emit_array(e, k->attributes.n, sizeof(char *));
  if (!at || !keys) return false;
  size_t n = 0;
  ig_sugar self = ig_sugar_value(v);
  for (size_t i = 0; i < k->attributes.n; i++) {
    if (!is_child(k, i)) continue;
    keys[n] = k->attributes.at[i].name;
    if (!ig_emit_attr(e, where, &self, keys[n], &at[n])) return false;
    n++;
  }
  bool dict = k->container == IG_SCONTAINER_DICT || k->container == IG_SCONTAINER_PARAMETER_DICT;
  *out = (ig_sugar){.kind = dict ? IG_SUGAR_DICT : IG_SUGAR_TUPLE, .items = {at, keys, n, v}};
  return true;
}

static bool tuple_of(ig_emitter *e, const ig_sugar *at, size_t n, ig_sugar *out) {
  ig_sugar *kept = ig_emit_array(e, n, sizeof *kept);
  if (!kept) return false;
  if (n) memcpy(kept, at, ig_mem_mul(n, sizeof *kept));
  *out = (ig_sugar){.kind = IG_SUGAR_TUPLE, .items = {.at = kept, .n = n}};
  return true;
}

static bool key_at(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t i, ig_sugar *out) {
  return ig_sugar_give(out, ig_emit_str(e, where, s->items.keys[i], strlen(s->items.keys[i])));
}

bool ig_emit_container_method(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_sugar *out) {
  const ig_sugar *of = s->container.of;
  bool keys = strcmp(s->container.name, "keys") == 0;
  bool values =
      strcmp(s->container.name, "values") == 0 || strcmp(s->container.name, "children") == 0;
  ig_sugar *at = ig_emit_array(e, of->items.n, sizeof *at);
  for (size_t i = 0; at && i < of->items.n; i++) {
    if (values) {
      at[i] = of->items.at[i];
      continue;
    }
    ig_sugar pair[2] = {{.kind = IG_SUGAR_UNKNOWN}, of->items.at[i]};
    if (!key_at(e, where, of, i, &pair[0])) return false;
    if (keys) at[i] = pair[0];
    if (!keys && !tuple_of(e, pair, 2, &at[i])) return false;
  }
  return at && tuple_of(e, at, of->items.n, out);
}

// ---- what a loop goes over

static bool enum_members(ig_emitter *e, ig_srange where, const ig_stype *type, ig_sugar *out) {
  const ig_senum *d = ig_senum_of(type);
  ig_svalue **at = ig_emit_array(e, d->members.n, sizeof(ig_svalue *));
  ig_sugar class = {.kind = IG_SUGAR_CLASS, .type = type};
  for (size_t i = 0; at && i < d->members.n; i++) {
    ig_sugar member;
    if (!ig_emit_attr(e, where, &class, d->members.at[i].name, &member)) return false;
    at[i] = member.value;
  }
  return at && ig_sugar_give(out, ig_emit_list(e, where, type, at, d->members.n));
}

bool ig_emit_iterable(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_sugar *out) {
  *out = *s;
  switch (s->kind) {
    case IG_SUGAR_TUPLE:
    case IG_SUGAR_RANGE:
    case IG_SUGAR_ITERABLES:
      return true;
    case IG_SUGAR_DICT: {
      ig_sugar keys = {.kind = IG_SUGAR_CONTAINER_METHOD, .container = {s, "keys"}};
      return ig_emit_container_method(e, where, &keys, out);
    }
    case IG_SUGAR_CLASS:
      if (s->type->kind == IG_STYPE_ENUM) return enum_members(e, where, s->type, out);
      break;
    case IG_SUGAR_CONSTANT:
      *out = ig_sugar_value(ig_emit_as_value(e, where, s));
      return out->value && ig_emit_iterable(e, where, out, out);
    case IG_SUGAR_VALUE: {
      ig_svalue *v = s->value;
      ig_stype_kind kind = v->type->kind;
      if (kind == IG_STYPE_LIST || kind == IG_STYPE_STR || kind == IG_STYPE_TENSOR) return true;
      if (kind == IG_STYPE_DICT)
        return ig_sugar_give(out, ig_emit_op(e, where, "aten::keys", &v, 1));
      if (kind == IG_STYPE_TUPLE) {
        ig_svalue **at = ig_emit_unpack(e, where, v);
        ig_sugar *parts = at ? ig_emit_array(e, v->type->n, sizeof *parts) : NULL;
        for (size_t i = 0; parts && i < v->type->n; i++) parts[i] = ig_sugar_value(at[i]);
        *out = (ig_sugar){.kind = IG_SUGAR_TUPLE, .items = {.at = parts, .n = v->type->n}};
        return parts != NULL;
      }
      if (ig_emit_container(v) != IG_SCONTAINER_NONE) {
        ig_sugar all;
        return ig_emit_children(e, where, v, &all) && ig_emit_iterable(e, where, &all, out);
      }
      const ig_sclass *k = ig_sclass_of(v->type);
      if (k && k->module) {
        ig_emit_error(e, where,
                      "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be "
                      "used as an iterable");
        return false;
      }
      ig_emit_error(e, where, "'%s' object is not iterable", ig_emit_repr(e, v->type));
      return false;
    }
    default:
      break;
  }
  ig_emit_error(e, where, "%s is not iterable", ig_sugar_describe(e, s));
  return false;
}

bool ig_emit_static_length(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t *n) {
  *n = SIZE_MAX;
  if (s->kind == IG_SUGAR_TUPLE) *n = s->items.n;
  if (s->kind != IG_SUGAR_ITERABLES) return true;
  for (size_t i = 0; i < s->items.n; i++) {
    size_t one = 0;
    if (!ig_emit_static_length(e, where, &s->items.at[i], &one)) return false;
    if (one == SIZE_MAX) continue;
    if (*n != SIZE_MAX && *n != one) {
      ig_emit_error(e, where,
                    "Can't iterate over a module list or tuple with a value that does not have a "
                    "statically determinable length\n");
      return false;
    }
    *n = one;
  }
  return true;
}

static bool collect_lengths(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_svalue **at,
                            size_t *n, size_t room) {
  if (s->kind != IG_SUGAR_ITERABLES) {
    if (*n == room) return false;
    at[*n] = ig_emit_length(e, where, s);
    return at[(*n)++] != NULL;
  }
  for (size_t i = 0; i < s->items.n; i++) {
    if (!collect_lengths(e, where, &s->items.at[i], at, n, room)) return false;
  }
  return true;
}

ig_svalue *ig_emit_length(ig_emitter *e, ig_srange where, const ig_sugar *s) {
  switch (s->kind) {
    case IG_SUGAR_RANGE: {
      if (!s->range.start) return s->range.stop;
      ig_svalue *in[] = {s->range.start, s->range.stop, s->range.step};
      return ig_emit_op(e, where, "aten::__range_length", in, 3);
    }
    case IG_SUGAR_TUPLE:
    case IG_SUGAR_DICT:
      return ig_emit_int(e, where, (int64_t)s->items.n);
    case IG_SUGAR_ITERABLES: {
      ig_svalue *at[64];
      size_t n = 0;
      if (!collect_lengths(e, where, s, at, &n, 64)) return NULL;
      if (n == 1) return at[0];
      ig_svalue *list = ig_emit_list(e, (ig_srange){0}, ig_emit_plain(e, IG_STYPE_INT), at, n);
      return ig_emit_op(e, where, "prim::min", &list, 1);
    }
    default: {
      ig_svalue *v = ig_emit_as_value(e, where, s);
      return v ? ig_emit_op(e, where, "aten::len", &v, 1) : NULL;
    }
  }
}

bool ig_emit_item(ig_emitter *e, ig_srange where, const ig_sugar *s, ig_svalue *i, ig_sugar *out) {
  switch (s->kind) {
    case IG_SUGAR_RANGE: {
      if (!s->range.start) return ig_sugar_give(out, i);
      ig_svalue *in[] = {i, s->range.start, s->range.step};
      return ig_sugar_give(out, ig_emit_op(e, where, "aten::__derive_index", in, 3));
    }
    case IG_SUGAR_ITERABLES: {
      ig_sugar *at = ig_emit_array(e, s->items.n, sizeof *at);
      for (size_t k = 0; at && k < s->items.n; k++) {
        if (!ig_emit_item(e, where, &s->items.at[k], i, &at[k])) return false;
      }
      return at && tuple_of(e, at, s->items.n, out);
    }
    default: {
      ig_svalue *v = ig_emit_as_value(e, where, s);
      if (!v) return false;
      if (v->type->kind == IG_STYPE_TENSOR) {
        ig_svalue *in[] = {v, ig_emit_int(e, where, 0), i};
        return ig_sugar_give(out, ig_emit_op(e, where, "aten::select", in, 3));
      }
      ig_svalue *in[] = {v, i};
      return ig_sugar_give(out, ig_emit_op(e, where, "aten::__getitem__", in, 2));
    }
  }
}

bool ig_emit_static_item(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t i,
                         ig_sugar *out) {
  if (s->kind == IG_SUGAR_TUPLE) {
    *out = s->items.at[i];
    return true;
  }
  if (s->kind != IG_SUGAR_ITERABLES) {
    return ig_emit_item(e, where, s, ig_emit_int(e, where, (int64_t)i), out);
  }
  ig_sugar *at = ig_emit_array(e, s->items.n, sizeof *at);
  for (size_t k = 0; at && k < s->items.n; k++) {
    if (!ig_emit_static_item(e, where, &s->items.at[k], i, &at[k])) return false;
  }
  return at && tuple_of(e, at, s->items.n, out);
}

// ---- unpacking

static bool unpack_list(ig_emitter *e, ig_srange where, ig_svalue *v, size_t n, ig_sugar **at,
                        size_t *count) {
  if (n == SIZE_MAX) {
    ig_emit_error(e, where, "cannot statically infer the expected size of a list in this context");
    return false;
  }
  ig_snode *node = ig_emit_node(e, "prim::ListUnpack", where, &v, 1);
  *at = node ? ig_emit_array(e, n, sizeof **at) : NULL;
  for (size_t i = 0; *at && i < n; i++) {
    (*at)[i] = ig_sugar_value(ig_snode_add_output(node, v->type->at[0]));
    if (!(*at)[i].value) return false;
  }
  *count = n;
  return *at != NULL;
}

bool ig_emit_parts(ig_emitter *e, ig_srange where, const ig_sugar *s, size_t n_binders,
                   ig_sugar **at, size_t *n) {
  if (s->kind == IG_SUGAR_TUPLE) {
    *at = s->items.at;
    *n = s->items.n;
    return true;
  }
  if (s->kind == IG_SUGAR_CONSTANT) {
    ig_sugar v = ig_sugar_value(ig_emit_as_value(e, where, s));
    return v.value && ig_emit_parts(e, where, &v, n_binders, at, n);
  }
  if (s->kind == IG_SUGAR_VALUE) {
    ig_svalue *v = s->value;
    if (v->type->kind == IG_STYPE_LIST) return unpack_list(e, where, v, n_binders, at, n);
    bool container = ig_emit_container(v) != IG_SCONTAINER_NONE;
    if (v->type->kind == IG_STYPE_TUPLE || container) {
      ig_sugar parts;
      if (!ig_emit_iterable(e, where, s, &parts)) return false;
      *at = parts.items.at;
      *n = parts.items.n;
      return true;
    }
    // A tensor is unpacked along its first dimension.
    if (v->type->kind == IG_STYPE_TENSOR) {
      if (n_binders == SIZE_MAX) {
        ig_emit_error(e, where,
                      "cannot statically infer the expected size of a list in this context");
        return false;
      }
      ig_svalue *in[] = {v, ig_emit_int(e, where, 0)};
      ig_svalue *list = ig_emit_op(e, where, "aten::unbind", in, 2);
      return list && unpack_list(e, where, list, n_binders, at, n);
    }
    ig_emit_error(e, where, "%s cannot be used as a tuple", ig_emit_repr(e, v->type));
    return false;
  }
  ig_emit_error(e, where, "%s cannot be used as a tuple", ig_sugar_describe(e, s));
  return false;
}

// ---- calls of modules

// One hook: its result replaces what it was given unless it is None. Hooks are functions of the
// module: classes in archives do not have them as methods.
static ig_svalue *call_hook(ig_emitter *e, ig_srange where, ig_sfunction *hook, ig_svalue *module,
                            ig_svalue *const *in, size_t n) {
  ig_sactual at[3] = {{.range = where, .value = module}};
  for (size_t i = 0; i < n; i++) at[i + 1] = (ig_sactual){.range = where, .value = in[i]};
  return ig_emit_functions(e, where, &hook, 1, &(ig_sactuals){at, n + 1, 0}, NULL);
}

static bool call_forward(ig_emitter *e, ig_srange where, ig_svalue *module, const ig_sactuals *args,
                         ig_sugar *out) {
  ig_sugar self = ig_sugar_value(module);
  ig_sugar forward;
  return ig_emit_attr(e, where, &self, "forward", &forward) &&
         ig_emit_call(e, where, &forward, args, 1, out);
}

bool ig_emit_module_call(ig_emitter *e, ig_srange where, ig_svalue *module, const ig_sactuals *args,
                         ig_sugar *out) {
  const ig_sclass *k = ig_sclass_of(module->type);
  if (!k->pre_hooks.n && !k->hooks.n) return call_forward(e, where, module, args, out);
  ig_svalue **in = ig_emit_array(e, args->n_pos + args->n_kw, sizeof(ig_svalue *));
  size_t n = args->n_pos + args->n_kw;
  for (size_t i = 0; in && i < n; i++) in[i] = args->at[i].value;
  ig_svalue *tuple = in ? ig_emit_tuple(e, where, in, n) : NULL;
  for (size_t i = 0; tuple && i < k->pre_hooks.n; i++) {
    ig_svalue *given = call_hook(e, where, k->pre_hooks.at[i], module, &tuple, 1);
    if (!given) return false;
    if (given->type->kind == IG_STYPE_NONE) continue;
    tuple = given->type->kind == IG_STYPE_TUPLE ? given : ig_emit_tuple(e, where, &given, 1);
  }
  ig_svalue **parts = tuple ? ig_emit_unpack(e, where, tuple) : NULL;
  ig_sactual *at = parts ? ig_emit_array(e, tuple->type->n, sizeof *at) : NULL;
  for (size_t i = 0; at && i < tuple->type->n; i++) {
    at[i] = (ig_sactual){.range = where, .value = parts[i]};
  }
  if (!at) return false;
  ig_sactuals all = {at, tuple->type->n, 0};
  if (!call_forward(e, where, module, &all, out)) return false;
  ig_svalue *result = ig_emit_as_value(e, where, out);
  for (size_t i = 0; result && i < k->hooks.n; i++) {
    ig_svalue *both[] = {tuple, result};
    ig_svalue *given = call_hook(e, where, k->hooks.at[i], module, both, 2);
    if (!given) return false;
    if (given->type->kind != IG_STYPE_NONE) result = given;
  }
  return ig_sugar_give(out, result);
}

// ---- named tuples and exceptions

static ig_value default_field(ig_emitter *e, const ig_stype *type, size_t i) {
  const char *text = type->defaults ? type->defaults[i] : NULL;
  ig_value v = {.kind = IG_KIND_NONE};
  if (text) (void)ig_sconstant_parse(e->c, &e->arena, text, &v);
  return v;
}

bool ig_emit_named_tuple(ig_emitter *e, ig_srange where, const ig_stype *type,
                         const ig_sactuals *args, ig_sugar *out) {
  // The fields as the parameters of a function.
  ig_sparam *params = ig_emit_array(e, type->n, sizeof *params);
  ig_sfunction *f = ig_emit_array(e, 1, sizeof *f);
  if (!params || !f) return false;
  for (size_t i = 0; i < type->n; i++) {
    bool has = type->defaults && type->defaults[i];
    params[i] = (ig_sparam){.name = type->names[i],
                            .type = type->at[i],
                            .has_default = has,
                            .def = has ? default_field(e, type, i) : ig_none()};
  }
  const char *dot = strrchr(type->name, '.');
  *f = (ig_sfunction){.unit = e->u,
                      .name = dot ? dot + 1 : type->name,
                      .qualified = type->name,
                      .params = params,
                      .n_params = type->n,
                      .result = ig_stype_tuple(&e->u->types, NULL, 0)};  // as messages show it
  ig_svalue **in = ig_emit_matched(e, where, f, args);
  ig_svalue *v = in ? ig_emit_value(e, "prim::TupleConstruct", where, in, type->n, type) : NULL;
  return ig_sugar_give(out, v);
}

bool ig_emit_exception(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_sactuals *args,
                       ig_sugar *out) {
  // Several arguments are one text, that of their tuple.
  ig_svalue *text = NULL;
  if (args->n_pos == 1) {
    text = args->at[0].value;
  } else if (args->n_pos > 1) {
    ig_svalue **in = ig_emit_array(e, args->n_pos, sizeof(ig_svalue *));
    for (size_t i = 0; in && i < args->n_pos; i++) in[i] = args->at[i].value;
    text = in ? ig_emit_tuple(e, where, in, args->n_pos) : NULL;
    if (!text) return false;
  }
  if (text && text->type->kind != IG_STYPE_STR) {
    text = ig_emit_op(e, where, "aten::str", &text, 1);
    if (!text) return false;
  }
  if (!text) text = ig_emit_str(e, where, "", 0);
  *out = (ig_sugar){.kind = IG_SUGAR_RAISED, .raised = {s->name, text}};
  return text != NULL;
}
