// SPDX-License-Identifier: Apache-2.0
// Attributes, calls and iteration of whatever an expression stands for.
#include <string.h>

#include "script/emitter.h"

ig_sugar ig_sugar_value(ig_svalue *v) {
  return (ig_sugar){.kind = IG_SUGAR_VALUE, .value = v};
}

static bool no_error(const ig_emitter *e) {
  return e->c->status == IG_OK;
}

const char *ig_sugar_describe(ig_emitter *e, const ig_sugar *s) {
  static const char *const texts[IG_SUGAR_KIND_COUNT] = {
      [IG_SUGAR_UNKNOWN] = "unknown",
      [IG_SUGAR_CONSTANT] = "constant",
      [IG_SUGAR_TUPLE] = "Tuple",
      [IG_SUGAR_DICT] = "ModuleDict",
      [IG_SUGAR_BUILTIN] = "builtin",
      [IG_SUGAR_SPECIAL] = "special form",
      [IG_SUGAR_CAST] = "builtin",
      [IG_SUGAR_FUNCTION] = "function",
      [IG_SUGAR_METHOD] = "method",
      [IG_SUGAR_CLASS] = "class",
      [IG_SUGAR_NAMESPACE] = "module",
      [IG_SUGAR_EXCEPTION] = "exception",
      [IG_SUGAR_RAISED] = "exception",
      [IG_SUGAR_RANGE] = "range",
      [IG_SUGAR_ITERABLES] = "iterabletree",
      [IG_SUGAR_SLICE] = "Python slice value",
      [IG_SUGAR_DISPATCH] = "function",
      [IG_SUGAR_CLOSURE] = "closure",
  };
  if (s->kind == IG_SUGAR_VALUE) {
    return ig_emit_text(e, "value of type '%s'", ig_emit_repr(e, s->value->type));
  }
  if (s->kind == IG_SUGAR_CLASS && s->type->kind == IG_STYPE_ENUM) return "EnumClass";
  if (s->kind == IG_SUGAR_SPECIAL) {
    static const struct {
      ig_special form;
      const char *text;
    } named[] = {{IG_SPECIAL_RANGE, "range"}, {IG_SPECIAL_ZIP, "zip"}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
      if (named[i].form == s->special) return named[i].text;
    }
  }
  if (s->kind != IG_SUGAR_HOST) return texts[s->kind];
  ig_str text = ig_str_make(e->c->alloc);
  s->host.ops->describe(s->host.object, &text);
  const char *kept = ig_emit_text(e, "%s", text.at ? text.at : "");
  ig_str_free(&text);
  return kept;
}

// ---- values

static ig_svalue *tuple_value(ig_emitter *e, ig_srange where, const ig_sugar *s) {
  ig_svalue **at = ig_emit_array(e, s->items.n, sizeof(ig_svalue *));
  for (size_t i = 0; at && i < s->items.n; i++) {
    if (!(at[i] = ig_emit_as_value(e, where, &s->items.at[i]))) return NULL;
  }
  return at ? ig_emit_tuple(e, where, at, s->items.n) : NULL;
}

static ig_svalue *function_value(ig_emitter *e, ig_sfunction *f) {
  if (!ig_sfunction_ensure(e->c, f)) return NULL;
  const ig_stype *type = ig_stype_named(&e->u->types, IG_STYPE_FUNCTION, f->qualified, f);
  ig_svalue *v = ig_emit_value(e, "prim::Constant", (ig_srange){0}, NULL, 0, type);
  ig_sattr *a = v ? ig_snode_add_attr(v->node, "name", IG_SATTR_VALUE) : NULL;
  if (!a) return NULL;
  a->value = (ig_value){.kind = IG_KIND_STR, .str = f->name};
  return v;
}

ig_svalue *ig_emit_as_value(ig_emitter *e, ig_srange where, const ig_sugar *s) {
  switch (s->kind) {
    case IG_SUGAR_VALUE:
      return s->value;
    case IG_SUGAR_CONSTANT:
      return ig_emit_constant(e, where, s->constant, s->constant_type);
    case IG_SUGAR_TUPLE:
      return s->items.module ? s->items.module : tuple_value(e, where, s);
    case IG_SUGAR_DICT:
      if (s->items.module) return s->items.module;
      break;
    case IG_SUGAR_FUNCTION:
      if (s->n_functions == 1) return function_value(e, s->functions[0]);
      break;
    case IG_SUGAR_ITERABLES:
    case IG_SUGAR_RANGE:
    case IG_SUGAR_SPECIAL:
      break;
    case IG_SUGAR_HOST:
      if (s->host.ops->explain) {
        ig_str text = ig_str_make(e->c->alloc);
        s->host.ops->explain(s->host.object, &text);
        ig_emit_error(e, where, "%s", text.at ? text.at : "");
        ig_str_free(&text);
        return NULL;
      }
      break;
    default:
      break;
  }
  ig_emit_error(e, where, "%s cannot be used as a value", ig_sugar_describe(e, s));
  return NULL;
}

// ---- attributes of values

// Properties of tensors and devices: operators under another name.
static const struct {
  ig_stype_kind of;
  const char *name;
  const char *symbol;
} properties[] = {
    {IG_STYPE_TENSOR, "dtype", "prim::dtype"},
    {IG_STYPE_TENSOR, "device", "prim::device"},
    {IG_STYPE_TENSOR, "grad", "prim::grad"},
    {IG_STYPE_TENSOR, "data", "prim::data"},
    {IG_STYPE_TENSOR, "shape", "prim::shape"},
    {IG_STYPE_TENSOR, "is_cuda", "prim::is_cuda"},
    {IG_STYPE_TENSOR, "is_xpu", "prim::is_xpu"},
    {IG_STYPE_TENSOR, "is_cpu", "prim::is_cpu"},
    {IG_STYPE_TENSOR, "is_sparse", "prim::is_sparse"},
    {IG_STYPE_TENSOR, "is_sparse_csr", "prim::is_sparse_csr"},
    {IG_STYPE_TENSOR, "is_mkldnn", "prim::is_mkldnn"},
    {IG_STYPE_TENSOR, "is_mps", "prim::is_mps"},
    {IG_STYPE_TENSOR, "is_quantized", "prim::is_quantized"},
    {IG_STYPE_TENSOR, "is_vulkan", "prim::is_vulkan"},
    {IG_STYPE_TENSOR, "is_meta", "prim::is_meta"},
    {IG_STYPE_TENSOR, "is_leaf", "aten::is_leaf"},
    {IG_STYPE_TENSOR, "is_nested", "prim::is_nested"},
    {IG_STYPE_TENSOR, "requires_grad", "prim::requires_grad"},
    {IG_STYPE_TENSOR, "layout", "prim::layout"},
    {IG_STYPE_TENSOR, "T", "prim::T"},
    {IG_STYPE_TENSOR, "H", "prim::H"},
    {IG_STYPE_TENSOR, "mT", "aten::mT"},
    {IG_STYPE_TENSOR, "mH", "aten::mH"},
    {IG_STYPE_TENSOR, "ndim", "prim::ndim"},
    {IG_STYPE_TENSOR, "name", "prim::name"},
    {IG_STYPE_TENSOR, "real", "aten::real"},
    {IG_STYPE_TENSOR, "imag", "aten::imag"},
    {IG_STYPE_TENSOR, "itemsize", "prim::itemsize"},
    {IG_STYPE_TENSOR, "nbytes", "prim::nbytes"},
    {IG_STYPE_TENSOR, "retains_grad", "aten::retains_grad"},
    {IG_STYPE_DEVICE, "type", "prim::type"},
    {IG_STYPE_DEVICE, "index", "prim::index"},
};

// Methods of tensors that convert to a dtype: x.half() is aten::to.
static const struct {
  const char *name;
  ig_dtype dtype;
} casts[] = {
    {"byte", IG_U8},       {"char", IG_I8},    {"double", IG_F64},   {"float", IG_F32},
    {"int", IG_I32},       {"long", IG_I64},   {"short", IG_I16},    {"half", IG_F16},
    {"bfloat16", IG_BF16}, {"cfloat", IG_C64}, {"cdouble", IG_C128},
};

static bool tensor_attr(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                        ig_sugar *out) {
  if (v->type->kind == IG_STYPE_TENSOR && strcmp(name, "tolist") == 0) {
    *out = (ig_sugar){.kind = IG_SUGAR_TO_LIST, .value = v};
    return true;
  }
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    if (properties[i].of != v->type->kind || strcmp(properties[i].name, name) != 0) continue;
    return ig_sugar_give(out, ig_emit_op(e, where, properties[i].symbol, &v, 1));
  }
  for (size_t i = 0; v->type->kind == IG_STYPE_TENSOR && i < sizeof casts / sizeof *casts; i++) {
    if (strcmp(casts[i].name, name) != 0) continue;
    *out =
        (ig_sugar){.kind = IG_SUGAR_BUILTIN, .builtin = {"aten::to", v, (int)casts[i].dtype + 1}};
    return true;
  }
  return true;
}

static bool get_attribute(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                          const ig_stype *type, ig_sugar *out) {
  ig_snode *n = ig_emit_node(e, "prim::GetAttr", (ig_srange){0}, &v, 1);
  (void)where;
  ig_sattr *a = n ? ig_snode_add_attr(n, "name", IG_SATTR_VALUE) : NULL;
  const char *kept = a ? ig_arena_strn(&e->g->arena, name, strlen(name)) : NULL;
  if (!kept) return false;
  a->value = (ig_value){.kind = IG_KIND_STR, .str = kept};
  ig_svalue *made = ig_snode_add_output(n, type);
  if (made && !ig_svalue_set_name(e->g, made, name)) return false;
  return ig_sugar_give(out, made);
}

static bool method_sugar(ig_emitter *e, ig_svalue *self, const char *name, ig_sugar *out) {
  const char **names = ig_emit_array(e, 1, sizeof(char *));
  if (!names) return false;
  names[0] = ig_emit_text(e, "%s", name);
  *out = (ig_sugar){.kind = IG_SUGAR_METHOD, .method = {self, names, 1}};
  return true;
}

static bool class_attr(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                       ig_sugar *out) {
  ig_sclass *k = ig_sclass_of(v->type);
  if (!k) return true;
  // The host knows what a name means for it: methods that are not compiled, containers, functions.
  if (k->host && k->host->attr && !k->host->attr(e->c, k, v, name, where, out)) return false;
  if (out->kind != IG_SUGAR_UNKNOWN) return true;
  const ig_sproperty *p = ig_sclass_property(k, name);
  if (p) {
    return ig_sugar_give(out, ig_emit_functions(e, where, &p->get, 1, &(ig_sactuals){0}, v));
  }
  size_t at = ig_sclass_attribute(k, name);
  if (at != SIZE_MAX) {
    return get_attribute(e, where, v, name, k->attributes.at[at].type, out);
  }
  const ig_sconstant *c = ig_sclass_constant(k, name);
  if (c) return ig_sugar_give(out, ig_emit_constant(e, where, c->value, c->type));
  return !ig_sclass_method(k, name) || method_sugar(e, v, name, out);
}

static bool named_field(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                        ig_sugar *out) {
  for (size_t i = 0; v->type->names && i < v->type->n; i++) {
    if (strcmp(v->type->names[i], name) != 0) continue;
    ig_svalue *in[] = {v, ig_emit_int(e, where, (int64_t)i)};
    return ig_sugar_give(out, ig_emit_value(e, "prim::TupleIndex", where, in, 2, v->type->at[i]));
  }
  return true;
}

static bool enum_attr(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                      ig_sugar *out) {
  const ig_senum *d = ig_senum_of(v->type);
  if (strcmp(name, "name") == 0) {
    return ig_sugar_give(
        out, ig_emit_value(e, "prim::EnumName", where, &v, 1, ig_emit_plain(e, IG_STYPE_STR)));
  }
  if (strcmp(name, "value") == 0) {
    return ig_sugar_give(out, ig_emit_value(e, "prim::EnumValue", where, &v, 1, d->value_type));
  }
  return true;
}

static bool interface_attr(ig_emitter *e, ig_svalue *v, const char *name, ig_sugar *out) {
  const ig_sinterface *k = ig_sinterface_of(v->type);
  for (size_t i = 0; k && i < k->methods.n; i++) {
    if (strcmp(k->methods.at[i]->name, name) == 0) return method_sugar(e, v, name, out);
  }
  return true;
}

static bool no_attribute(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name) {
  ig_sclass *k = ig_sclass_of(v->type);
  if (k && k->module) {
    ig_str hint = ig_str_make(e->c->alloc);
    if (k->host && k->host->hint) k->host->hint(k, name, &hint);
    ig_emit_error(e, where, "Module '%s' has no attribute '%s' %s", ig_sclass_short_name(k), name,
                  hint.at ? hint.at : "");
    ig_str_free(&hint);
    return false;
  }
  ig_emit_error(e, where, "'%s%s' object has no attribute or method '%s'.%s",
                ig_emit_repr(e, v->type), k ? " (of Python compilation unit at: 0x0)" : "", name,
                k ? " Did you forget to initialize an attribute in __init__()?" : "");
  return false;
}

// Methods that give the children of a module; containers with names have more of them.
static bool is_children_method(const ig_sclass *k, const char *name) {
  static const char *const any[] = {"children", "named_children"};
  static const char *const dict[] = {"keys", "values", "items"};
  for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
    if (strcmp(any[i], name) == 0) return true;
  }
  bool named = k->container == IG_SCONTAINER_DICT || k->container == IG_SCONTAINER_PARAMETER_DICT;
  for (size_t i = 0; named && i < sizeof dict / sizeof *dict; i++) {
    if (strcmp(dict[i], name) == 0) return true;
  }
  return false;
}

static bool value_attr(ig_emitter *e, ig_srange where, ig_svalue *v, const char *name,
                       ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  bool ok = true;
  switch (v->type->kind) {
    case IG_STYPE_TENSOR:
    case IG_STYPE_DEVICE:
      ok = tensor_attr(e, where, v, name, out);
      break;
    case IG_STYPE_TUPLE:
      ok = named_field(e, where, v, name, out);
      break;
    case IG_STYPE_CLASS:
      ok = class_attr(e, where, v, name, out);
      break;
    case IG_STYPE_ENUM:
      ok = enum_attr(e, where, v, name, out);
      break;
    case IG_STYPE_INTERFACE:
      ok = interface_attr(e, v, name, out);
      break;
    default:
      break;
  }
  if (!ok || out->kind != IG_SUGAR_UNKNOWN) return ok;
  const ig_sclass *k = ig_sclass_of(v->type);
  if (k && k->module && is_children_method(k, name)) {
    ig_sugar *all = ig_emit_array(e, 1, sizeof *all);
    if (!all || !ig_emit_children(e, where, v, all)) return false;
    *out = (ig_sugar){.kind = IG_SUGAR_CONTAINER_METHOD,
                      .container = {all, ig_emit_text(e, "%s", name)}};
    return true;
  }
  const char *field = strcmp(name, "type") == 0 ? "to" : name;
  const char *symbol = ig_emit_text(e, "aten::%s", field);
  if (ig_emit_has_builtin(e, symbol, v)) {
    *out = (ig_sugar){.kind = IG_SUGAR_BUILTIN, .builtin = {symbol, v, 0}};
    return true;
  }
  return no_error(e) && no_attribute(e, where, v, name);
}

static bool class_member(ig_emitter *e, ig_srange where, const ig_stype *type, const char *name,
                         ig_sugar *out) {
  const ig_senum *d = ig_senum_of(type);
  for (size_t i = 0; d && i < d->members.n; i++) {
    if (strcmp(d->members.at[i].name, name) != 0) continue;
    return ig_sugar_give(out, ig_emit_enum(e, where, d, i));
  }
  if (d) {
    ig_emit_error(e, where, "%s' has no attribute '%s'", type->text, name);
    return false;
  }
  ig_sclass *k = ig_sclass_of(type);
  for (size_t i = 0; k && i < k->statics.n; i++) {
    if (strcmp(k->statics.at[i]->name, name) != 0) continue;
    ig_sfunction **f = ig_emit_array(e, 1, sizeof(ig_sfunction *));
    if (!f) return false;
    f[0] = k->statics.at[i];
    *out = (ig_sugar){.kind = IG_SUGAR_FUNCTION, .functions = f, .n_functions = 1};
    return true;
  }
  ig_sfunction *m = k ? ig_sclass_method(k, name) : NULL;
  if (m) {
    ig_sfunction **f = ig_emit_array(e, 1, sizeof(ig_sfunction *));
    if (!f) return false;
    f[0] = m;
    *out = (ig_sugar){.kind = IG_SUGAR_FUNCTION, .functions = f, .n_functions = 1};
    return true;
  }
  if (k && !e->front->python && strcmp(name, "__new__") == 0) {
    *out = (ig_sugar){.kind = IG_SUGAR_SPECIAL, .special = IG_SPECIAL_NEW};
    return true;
  }
  ig_emit_error(e, where, "Tried to lookup unknown attribute on class %s", type->name);
  return false;
}

// Methods of a container of modules that was taken apart.
static bool items_attr(ig_emitter *e, ig_srange where, const ig_sugar *of, const char *name,
                       ig_sugar *out) {
  bool dict = of->kind == IG_SUGAR_DICT;
  static const char *const methods[] = {"keys", "values", "items", "children", "named_children"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (dict && strcmp(methods[i], name) == 0) {
      ig_sugar *kept = ig_emit_array(e, 1, sizeof *kept);
      if (!kept) return false;
      *kept = *of;
      *out = (ig_sugar){.kind = IG_SUGAR_CONTAINER_METHOD,
                        .container = {kept, ig_emit_text(e, "%s", name)}};
      return true;
    }
  }
  if (of->items.module) return value_attr(e, where, of->items.module, name, out);
  ig_emit_error(e, where, "attribute lookup is not defined on %s", ig_sugar_describe(e, of));
  return false;
}

bool ig_emit_attr(ig_emitter *e, ig_srange where, const ig_sugar *of, const char *name,
                  ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  switch (of->kind) {
    case IG_SUGAR_VALUE:
      return value_attr(e, where, of->value, name, out);
    case IG_SUGAR_CONSTANT:
      return value_attr(e, where, ig_emit_as_value(e, where, of), name, out);
    case IG_SUGAR_TUPLE:
    case IG_SUGAR_DICT:
      return items_attr(e, where, of, name, out);
    case IG_SUGAR_CLASS:
      return class_member(e, where, of->type, name, out);
    case IG_SUGAR_NAMESPACE:
      if (!ig_sugar_of_namespace(e, of->name, name, out)) return false;
      break;
    case IG_SUGAR_HOST:
      if (!of->host.ops->attr(e->c, of->host.object, name, where, out)) return false;
      break;
    default:
      ig_emit_error(e, where, "attribute lookup is not defined on %s", ig_sugar_describe(e, of));
      return false;
  }
  if (out->kind != IG_SUGAR_UNKNOWN) return true;
  if (no_error(e)) ig_emit_error(e, where, "object has no attribute %s", name);
  return false;
}

// ---- calls

static bool construct(ig_emitter *e, ig_srange where, const ig_stype *type, const ig_sactuals *args,
                      ig_sugar *out) {
  if (type->kind == IG_STYPE_TUPLE) return ig_emit_named_tuple(e, where, type, args, out);
  ig_sclass *k = ig_sclass_of(type);
  if (!k) {
    ig_emit_error(e, where, "cannot call a %s",
                  type->kind == IG_STYPE_ENUM ? "EnumClass" : "interface");
    return false;
  }
  ig_sfunction *init = ig_sclass_method(k, "__init__");
  if (!init) {
    ig_emit_error(e, where, "Class %s does not have an __init__ function defined",
                  ig_sclass_short_name(k));
    return false;
  }
  ig_svalue *self = ig_emit_value(e, "prim::CreateObject", where, NULL, 0, type);
  if (!self || !ig_emit_functions(e, where, &init, 1, args, self)) return false;
  return ig_sugar_give(out, self);
}

static bool call_method(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_sactuals *args,
                        ig_sugar *out) {
  const ig_sclass *k = ig_sclass_of(s->method.self->type);
  const ig_sinterface *iface = ig_sinterface_of(s->method.self->type);
  ig_sfunction **at = ig_emit_array(e, s->method.n_names, sizeof(ig_sfunction *));
  if (!at) return false;
  for (size_t i = 0; i < s->method.n_names; i++) {
    if (k) at[i] = ig_sclass_method(k, s->method.names[i]);
    for (size_t m = 0; iface && m < iface->methods.n; m++) {
      if (strcmp(iface->methods.at[m]->name, s->method.names[i]) == 0) at[i] = iface->methods.at[m];
    }
    if (at[i]) continue;
    return no_attribute(e, where, s->method.self, s->method.names[i]);
  }
  return ig_sugar_give(out,
                       ig_emit_functions(e, where, at, s->method.n_names, args, s->method.self));
}

static bool call_builtin(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_sactuals *args,
                         ig_sugar *out) {
  if (!s->builtin.dtype) {
    return ig_sugar_give(out, ig_emit_builtin(e, where, s->builtin.symbol, args, s->builtin.self));
  }
  if (args->n_pos + args->n_kw) {
    ig_emit_error(e, where, "a conversion to a dtype takes no arguments");
    return false;
  }
  // x.half() is x.to(torch.float16, non_blocking=False, copy=False, memory_format=None)
  ig_value dtype = {.kind = IG_KIND_DTYPE, .dtype = (ig_dtype)(s->builtin.dtype - 1)};
  ig_svalue *self = s->builtin.self;
  ig_sactual at[] = {
      {.range = where, .value = self},
      {.range = where, .value = ig_emit_constant(e, where, dtype, NULL)},
      {.range = where, .value = ig_emit_bool(e, where, false)},
      {.range = where, .value = ig_emit_bool(e, where, false)},
  };
  return at[3].value &&
         ig_sugar_give(out, ig_emit_builtin(e, where, "aten::to", &(ig_sactuals){at, 4, 0}, NULL));
}

static bool call_cast(ig_emitter *e, ig_srange where, const ig_sugar *s, const ig_sactuals *args,
                      ig_sugar *out) {
  if (args->n_pos == 1 && !args->n_kw) {
    ig_svalue *v = args->at[0].value;
    // Not used; values have the numbers that PyTorch gives them.
    if (!ig_emit_int(e, (ig_srange){0}, 0)) return false;
    if (v->type == s->cast.cast_type) return ig_sugar_give(out, v);
    const ig_sclass *k = ig_sclass_of(v->type);
    if (k && s->cast.method && ig_sclass_method(k, s->cast.method)) {
      ig_sugar m;
      return method_sugar(e, v, s->cast.method, &m) &&
             call_method(e, where, &m, &(ig_sactuals){0}, out);
    }
  }
  return ig_sugar_give(out, ig_emit_builtin(e, where, s->cast.symbol, args, NULL));
}

// Of two functions the one that a constant argument names; NULL: it is no constant.
static const ig_sugar *dispatched(ig_emitter *e, ig_srange where, const ig_sugar *s,
                                  const ig_sactuals *args) {
  const ig_svalue *given = s->dispatch.at < args->n_pos ? args->at[s->dispatch.at].value : NULL;
  bool keyword = false;
  for (size_t i = args->n_pos; !given && i < args->n_pos + args->n_kw; i++) {
    keyword = strcmp(args->at[i].name, s->dispatch.param) == 0;
    if (keyword) given = args->at[i].value;
  }
  bool chosen = s->dispatch.otherwise;
  const ig_value *known = given && ig_emit_is_constant(given) ? ig_emit_constant_of(given) : NULL;
  bool constant = known && known->kind == IG_KIND_BOOL;
  if (constant) chosen = known->b;
  if (!given || constant) return chosen ? s->dispatch.yes : s->dispatch.no;
  if (keyword) {
    ig_emit_error(e, where,
                  "Keyword argument '%s' for boolean dispatch at position %zu was not constant",
                  s->dispatch.param, s->dispatch.at);
  } else {
    ig_emit_error(e, where, "Argument for boolean dispatch at position %zu was not constant",
                  s->dispatch.at);
  }
  return NULL;
}

bool ig_emit_call(ig_emitter *e, ig_srange where, const ig_sugar *callee, const ig_sactuals *args,
                  size_t n_binders, ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  switch (callee->kind) {
    case IG_SUGAR_BUILTIN:
      return call_builtin(e, where, callee, args, out);
    case IG_SUGAR_CAST:
      return call_cast(e, where, callee, args, out);
    case IG_SUGAR_FUNCTION:
      if (callee->older_of) return ig_sugar_give(out, ig_emit_older(e, where, callee, args));
      return ig_sugar_give(
          out, ig_emit_functions(e, where, callee->functions, callee->n_functions, args, NULL));
    case IG_SUGAR_METHOD:
      return call_method(e, where, callee, args, out);
    case IG_SUGAR_DISPATCH: {
      const ig_sugar *one = dispatched(e, where, callee, args);
      return one && ig_emit_call(e, where, one, args, n_binders, out);
    }
    case IG_SUGAR_CLASS:
      return construct(e, where, callee->type, args, out);
    case IG_SUGAR_CONTAINER_METHOD:
      return ig_emit_container_method(e, where, callee, out);
    case IG_SUGAR_EXCEPTION:
      return ig_emit_exception(e, where, callee, args, out);
    case IG_SUGAR_VALUE: {
      // A module is called through forward, an object through __call__.
      const ig_sclass *k = ig_sclass_of(callee->value->type);
      const ig_sinterface *iface = ig_sinterface_of(callee->value->type);
      bool module = (k && k->module) || (iface && iface->module);
      if (k && k->module) return ig_emit_module_call(e, where, callee->value, args, out);
      ig_sugar m;
      if (module || k) {
        return ig_emit_attr(e, where, callee, module ? "forward" : "__call__", &m) &&
               ig_emit_call(e, where, &m, args, n_binders, out);
      }
      break;
    }
    case IG_SUGAR_TUPLE:
    case IG_SUGAR_DICT:
      if (callee->items.module) {
        return ig_emit_module_call(e, where, callee->items.module, args, out);
      }
      break;
    default:
      break;
  }
  ig_emit_error(e, where, "cannot call a %s", ig_sugar_describe(e, callee));
  return false;
}
