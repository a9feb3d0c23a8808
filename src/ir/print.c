// SPDX-License-Identifier: Apache-2.0
// The two printed forms of a graph: Python code and node list, exactly as PyTorch's fx prints them.
#include "ir/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "sym/env.h"

static void print_device(const ig_printer *p, ig_device d) {
  const char *type = ig_device_type_text(d);
  if (p->form == IG_TEXT_CODE) {
    ig_str_add(p->s, "device(type='%s'", type);
    if (d.index >= 0) ig_str_add(p->s, ", index=%d", d.index);
    ig_str_add(p->s, ")");
  } else {
    ig_str_add(p->s, "%s", type);
    if (d.index >= 0) ig_str_add(p->s, ":%d", d.index);
  }
}

// Python's repr of a string: single quotes unless it contains them and no double ones.
static void print_str(const ig_printer *p, const char *text) {
  if (p->form == IG_TEXT_LIST) {
    ig_str_add(p->s, "%s", text);
    return;
  }
  char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
  ig_str_add(p->s, "%c", quote);
  for (; *text; text++) {
    if (*text == quote || *text == '\\') {
      ig_str_add(p->s, "\\%c", *text);
    } else if (*text == '\n') {
      ig_str_add(p->s, "\\n");
    } else {
      ig_str_add(p->s, "%c", *text);
    }
  }
  ig_str_add(p->s, "%c", quote);
}

// 2 -> "2", 0.5 -> "0.5": parts of a complex number have no ".0".
static void print_part(ig_str *s, double f) {
  ig_str_float(s, f);
  if (!s->failed && s->n > 2 && strcmp(s->at + s->n - 2, ".0") == 0) s->at[s->n -= 2] = 0;
}

static void print_complex(const ig_printer *p, ig_c128 z) {
  if (z.re == 0) {
    print_part(p->s, z.im);
    ig_str_add(p->s, "j");
    return;
  }
  ig_str_add(p->s, "(");
  print_part(p->s, z.re);
  if (z.im >= 0) ig_str_add(p->s, "+");
  print_part(p->s, z.im);
  ig_str_add(p->s, "j)");
}

static const char *format_text(ig_memory_format f) {
  static const char *const names[] = {[IG_CONTIGUOUS] = "contiguous_format",
                                      [IG_PRESERVE] = "preserve_format",
                                      [IG_CHANNELS_LAST] = "channels_last",
                                      [IG_CHANNELS_LAST_3D] = "channels_last_3d"};
  return names[f];
}

const char *ig_print_name(const ig_printer *p, const ig_node *n) {
  return p->names && p->names[n->index] ? p->names[n->index] : n->name;
}

static void print_dict(const ig_printer *p, const ig_value *v) {
  ig_str_add(p->s, "{");
  for (size_t i = 0; i + 1 < v->list.n; i += 2) {
    if (i) ig_str_add(p->s, ", ");
    ig_print_value(p, &v->list.at[i]);
    ig_str_add(p->s, ": ");
    ig_print_value(p, &v->list.at[i + 1]);
  }
  ig_str_add(p->s, "}");
}

static void print_list(const ig_printer *p, const ig_value *v) {
  static const char *const open[] = {
      [IG_SEQ_LIST] = "[", [IG_SEQ_TUPLE] = "(", [IG_SEQ_SLICE] = "slice("};
  if (v->seq == IG_SEQ_DICT) {
    print_dict(p, v);
    return;
  }
  ig_str_add(p->s, "%s", open[v->seq]);
  ig_printer plain = *p;  // a slice is printed by Python, which knows nothing of the marks of nodes
  plain.plain = p->plain || v->seq == IG_SEQ_SLICE;
  ig_print_values(&plain, v->list.at, v->list.n);
  if (v->seq == IG_SEQ_TUPLE && v->list.n == 1) ig_str_add(p->s, ",");
  ig_str_add(p->s, v->seq == IG_SEQ_LIST ? "]" : ")");
}

void ig_print_value(const ig_printer *p, const ig_value *v) {
  ig_str *s = p->s;
  switch (v->kind) {
    case IG_KIND_NODE:
      ig_str_add(s, "%s%s", p->form == IG_TEXT_LIST && !p->plain ? "%" : "",
                 ig_print_name(p, v->node));
      break;
    case IG_KIND_INT:
      ig_str_int(s, v->i);
      break;
    case IG_KIND_FLOAT:
      ig_str_float(s, v->f);
      break;
    case IG_KIND_COMPLEX:
      print_complex(p, v->z);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, v->b ? "True" : "False");
      break;
    case IG_KIND_DTYPE:
      ig_str_add(s, "torch.%s", ig_dtype_text(v->dtype));
      break;
    case IG_KIND_DEVICE:
      print_device(p, v->device);
      break;
    case IG_KIND_LAYOUT:
      ig_str_add(s, "torch.%s", v->layout == IG_STRIDED ? "strided" : "sparse_coo");
      break;
    case IG_KIND_MEMORY_FORMAT:
      ig_str_add(s, "torch.%s", format_text(v->memory_format));
      break;
    case IG_KIND_STR:
      print_str(p, v->str);
      break;
    case IG_KIND_LIST:
      print_list(p, v);
      break;
    case IG_KIND_OP:
      ig_str_add(s, "%s%s", p->form == IG_TEXT_CODE ? "torch.ops." : "", ig_op_target(v->op));
      break;
    case IG_KIND_OBJECT:
      if (p->host) p->host->print(s, v->object, p->form == IG_TEXT_CODE);
      break;
    default:
      ig_str_add(s, "None");
      break;
  }
}

void ig_print_values(const ig_printer *p, const ig_value *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (i) ig_str_add(p->s, ", ");
    ig_print_value(p, &v[i]);
  }
}

bool ig_has_type(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR || (v->kind == IG_KIND_INT && v->i.expr);
}

// f32[2, s0]
void ig_print_type(const ig_printer *p, const ig_value *v) {
  static const char *const shorts[IG_DTYPE_COUNT] = {
      [IG_F64] = "f64", [IG_F32] = "f32",   [IG_F16] = "f16", [IG_BF16] = "bf16",
      [IG_C64] = "c64", [IG_C128] = "c128", [IG_I64] = "i64", [IG_I32] = "i32",
      [IG_I16] = "i16", [IG_I8] = "i8",     [IG_U8] = "u8",   [IG_BOOL] = "b8"};
  if (v->kind == IG_KIND_TENSOR) {
    const char *name = shorts[v->tensor->dtype];
    ig_str_add(p->s, ": \"%s[", name ? name : ig_dtype_text(v->tensor->dtype));
    for (int d = 0; d < v->tensor->ndim; d++) {
      if (d) ig_str_add(p->s, ", ");
      ig_str_int(p->s, ig_sizes(v->tensor)[d]);
    }
    ig_str_add(p->s, "]\"");
  } else if (v->kind == IG_KIND_INT && v->i.expr) {
    ig_str_add(p->s, ": \"Sym(");
    ig_str_int(p->s, v->i);
    ig_str_add(p->s, ")\"");
  }
}

// A type of the program, or in annotated code what is known of the value.
void ig_print_annotation(const ig_printer *p, const ig_node *n) {
  if (p->typed && ig_has_type(&n->val)) {
    ig_print_type(p, &n->val);
  } else if (n->type_code) {
    ig_str_add(p->s, " : %s", n->type_code);
  }
}

static void print_assigned(const ig_printer *p, const ig_node *n) {
  ig_str_add(p->s, "%s", ig_print_name(p, n));
  ig_print_annotation(p, n);
  ig_str_add(p->s, " = ");
}

static void print_arguments(const ig_printer *p, const ig_node *n, size_t from) {
  ig_str_add(p->s, "(");
  ig_print_values(p, n->args + from, n->npos - from);
  for (size_t i = 0; i < n->nkw; i++) {
    ig_str_add(p->s, "%s%s = ", n->npos - from + i ? ", " : "", n->keys[i]);
    ig_print_value(p, &n->args[n->npos + i]);
  }
  ig_str_add(p->s, ")");
}

static bool is_word(const char *text, size_t n) {
  if (n == 0 || isdigit((unsigned char)text[0])) return false;
  for (size_t i = 0; i < n; i++) {
    if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
  }
  return true;
}

// The expression for a path from base: self.fc.weight, getattr(self.layers, "0").weight.
void ig_print_path(const ig_printer *p, const char *base, const char *path) {
  size_t odd = 0;
  const char *end = NULL;
  for (const char *at = path; at; at = end ? end + 1 : NULL) {
    end = strchr(at, '.');
    odd += !is_word(at, end ? (size_t)(end - at) : strlen(at));
  }
  for (size_t i = 0; i < odd; i++) ig_str_add(p->s, "getattr(");
  ig_str_add(p->s, "%s", base);
  for (const char *at = path; at; at = end ? end + 1 : NULL) {
    end = strchr(at, '.');
    int n = (int)(end ? (size_t)(end - at) : strlen(at));
    ig_str_add(p->s, is_word(at, (size_t)n) ? ".%.*s" : ", \"%.*s\")", n, at);
  }
}

// Functions of the host have paths: "_operator.add" is in "_operator".
static bool is_in(const char *path, const char *module) {
  size_t n = strlen(module);
  return strncmp(path, module, n) == 0 && path[n] == '.';
}

// Python's operators, a $ for each operand; NULL: a call.
static const char *operator_format(const char *target) {
  static const char *const table[][2] = {
      {"add", "$ + $"},        {"sub", "$ - $"},        {"mul", "$ * $"},
      {"floordiv", "$ // $"},  {"truediv", "$ / $"},    {"mod", "$ % $"},
      {"pow", "$ ** $"},       {"eq", "$ == $"},        {"ne", "$ != $"},
      {"lt", "$ < $"},         {"gt", "$ > $"},         {"le", "$ <= $"},
      {"ge", "$ >= $"},        {"pos", "+$"},           {"neg", "-$"},
      {"invert", "~$"},        {"lshift", "$ << $"},    {"rshift", "$ >> $"},
      {"and_", "$ & $"},       {"or_", "$ | $"},        {"xor", "$ ^ $"},
      {"getitem", "$[$]"},     {"matmul", "$ @ $"},     {"iadd", "$ += $;"},
      {"isub", "$ -= $;"},     {"imul", "$ *= $;"},     {"ifloordiv", "$ //= $;"},
      {"itruediv", "$ /= $;"}, {"imod", "$ %= $;"},     {"ipow", "$ **= $;"},
      {"ilshift", "$ <<= $;"}, {"irshift", "$ >>= $;"}, {"iand", "$ &= $;"},
      {"ior", "$ |= $;"},      {"ixor", "$ ^= $;"},     {"imatmul", "$ @= $;"},
      {"setitem", "$[$] = $;"}};
  if (!is_in(target, "_operator")) return NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strcmp(table[i][0], target + strlen("_operator.")) == 0) return table[i][1];
  }
  return NULL;
}

// The operands replace $; a format that ends with ; modifies the first.
static void print_operator(const ig_printer *p, const ig_node *n, const char *format) {
  bool writes = strchr(format, ';') != NULL;
  size_t k = 0;
  if (!writes) print_assigned(p, n);
  for (const char *at = format; *at; at++) {
    if (*at == '$') {
      ig_print_value(p, &n->args[k++]);
    } else {
      ig_str_add(p->s, "%c", *at);
    }
  }
  if (!writes) return;
  ig_str_add(p->s, "  %s = ", ig_print_name(p, n));
  ig_print_value(p, &n->args[0]);
}

static size_t operator_operands(const char *format) {
  size_t n = 0;
  for (; *format; format++) n += *format == '$';
  return n;
}

static bool is_operator_call(const ig_node *n) {
  return n->callee == IG_CALLEE_OP || n->callee == IG_CALLEE_SIZE;
}

// A function of another module is a global of the printed code: math.ceil is math_ceil, and so is a
// method of Tensor.
static void print_callee(const ig_printer *p, const ig_node *n) {
  if (is_operator_call(n)) {
    ig_str_add(p->s, "torch.ops.%s", n->target);
  } else if (is_in(n->target, "torch") && !is_in(n->target, "torch.Tensor")) {
    ig_str_add(p->s, "%s", n->target);
  } else {
    for (const char *at = n->target; *at; at++) ig_str_add(p->s, "%c", *at == '.' ? '_' : *at);
  }
}

static void print_function(const ig_printer *p, const ig_node *n) {
  const char *format = is_operator_call(n) ? NULL : operator_format(n->target);
  if (format && n->npos == operator_operands(format) && n->nkw == 0) {
    print_operator(p, n, format);
    return;
  }
  print_assigned(p, n);
  bool plain = n->callee == IG_CALLEE_HOST && n->npos == 2 && n->args[1].kind == IG_KIND_STR;
  if (plain && strcmp(n->target, "getattr") == 0 &&
      is_word(n->args[1].str, strlen(n->args[1].str))) {
    ig_print_value(p, &n->args[0]);
    ig_str_add(p->s, ".%s", n->args[1].str);
    return;
  }
  print_callee(p, n);
  print_arguments(p, n, 0);
}

// ";  x = y = None" for the operands that no later node uses.
static void print_cleanup(const ig_printer *p, const ig_node *n) {
  bool any = false;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (p->readers[n->inputs[i]->index] != n) continue;
    ig_str_add(p->s, "%s%s", any ? " = " : ";  ", ig_print_name(p, n->inputs[i]));
    any = true;
  }
  if (n->users == 0 && ig_release_forms(n->graph->release)->clears_unread) {
    ig_str_add(p->s, "%s%s", any ? " = " : ";  ", ig_print_name(p, n));
    any = true;
  }
  if (any) ig_str_add(p->s, " = None");
}

static void print_method(const ig_printer *p, const ig_node *n) {
  ig_print_value(p, &n->args[0]);
  ig_print_path(p, "", n->target);
  print_arguments(p, n, 1);
}

void ig_print_code_line(const ig_printer *p, const ig_node *n) {
  ig_str *s = p->s;
  const char *name = ig_print_name(p, n);
  if (n->kind == IG_NODE_OUTPUT) return;
  if (n->kind == IG_NODE_PLACEHOLDER) {
    const char *target = n->target + strspn(n->target, "*");
    if (strcmp(target, name) == 0) return;
    ig_str_add(s, "    %s = %s\n", name, target);
    return;
  }
  ig_str_add(s, "    ");
  if (n->kind == IG_NODE_CALL) {
    print_function(p, n);
  } else {
    print_assigned(p, n);
    if (n->kind == IG_NODE_METHOD && n->npos) {
      print_method(p, n);
    } else {
      ig_print_path(p, "self", n->target);
      if (n->kind == IG_NODE_MODULE) print_arguments(p, n, 0);
    }
  }
  print_cleanup(p, n);
  ig_str_add(s, "\n");
}

void ig_print_result(const ig_printer *p, const ig_node *n) {
  ig_printer plain = *p;
  plain.form = IG_TEXT_CODE;  // without %
  ig_value all = n->listed ? ig_of_list(n->args, n->npos) : ig_of_tuple(n->args, n->npos);
  ig_print_value(&plain, n->bare ? &n->args[0] : &all);
}

void ig_print_return(const ig_printer *p, const ig_node *n) {
  ig_str_add(p->s, "return ");
  if (p->tree) ig_str_add(p->s, "pytree.tree_unflatten(");
  ig_print_result(p, n);
  if (p->tree) ig_str_add(p->s, ", self._out_spec)");
}

// The target as the list of nodes prints it.
static void list_callee(const ig_printer *p, const ig_node *n) {
  static const char *const ops[] = {[IG_NODE_CALL] = "call_function",
                                    [IG_NODE_MODULE] = "call_module",
                                    [IG_NODE_METHOD] = "call_method"};
  const char *target = n->target;
  const char *prefix = "";
  if (n->kind == IG_NODE_CALL) {
    if (is_operator_call(n)) {
      prefix = "torch.ops.";
    } else if (is_in(target, "_operator")) {
      target++;
    } else if (!strchr(target, '.')) {
      prefix = "builtins.";
    }
  }
  ig_str_add(p->s, "%s[target=%s%s]", ops[n->kind], prefix, target);
}

static void list_node(const ig_printer *p, const ig_node *n) {
  ig_str *s = p->s;
  if (n->kind == IG_NODE_OUTPUT) {
    ig_print_return(p, n);
    return;
  }
  ig_str_add(s, "%%%s : %s%s[num_users=%zu] = ", n->name, n->type_text ? n->type_text : "",
             n->type_text ? " " : "", n->users);
  if (n->kind == IG_NODE_PLACEHOLDER) {
    ig_str_add(s, "placeholder[target=%s]", n->target);
    if (n->npos) {
      ig_str_add(s, "(default=");
      ig_print_value(p, &n->args[0]);
      ig_str_add(s, ")");
    }
  } else if (n->kind == IG_NODE_ATTR) {
    ig_str_add(s, "get_attr[target=%s]", n->target);
  } else {
    list_callee(p, n);
    ig_str_add(s, "(args = (");
    ig_print_values(p, n->args, n->npos);
    ig_str_add(s, "%s), kwargs = {", n->npos == 1 ? "," : "");
    for (size_t i = 0; i < n->nkw; i++) {
      ig_str_add(s, "%s%s: ", i ? ", " : "", n->keys[i]);
      ig_print_value(p, &n->args[n->npos + i]);
    }
    ig_str_add(s, "})");
  }
}

const ig_node **ig_graph_last_readers(ig_ctx *c, const ig_graph *g) {
  const ig_node **readers = ig_mem_array(c->alloc, g->next_index, sizeof *readers);
  if (!readers) {
    (void)ig_fail(c, IG_NOMEM, "out of memory while printing");
    return NULL;
  }
  for (const ig_node *n = g->first; n; n = n->next) {
    for (size_t i = 0; i < n->ninputs; i++) readers[n->inputs[i]->index] = n;
  }
  return readers;
}

char *ig_print_end(ig_ctx *c, ig_str *s) {
  size_t size = s->n + 1;
  char *text = s->failed ? NULL : c->alloc.fn(c->alloc.user, NULL, 0, size);
  if (text) memcpy(text, s->at ? s->at : "", size);
  if (!text) (void)ig_fail(c, IG_NOMEM, "out of memory while printing");
  ig_str_free(s);
  return text;
}

void ig_text_free(ig_ctx *c, char *text) {
  if (text) ig_mem_free(c->alloc, text, strlen(text) + 1);
}

char *ig_node_text(ig_ctx *c, const ig_node *n) {
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_LIST, .host = n->graph->host};
  list_node(&p, n);
  return ig_print_end(c, &s);
}

char *ig_graph_text(ig_ctx *c, const ig_graph *g) {
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_LIST, .host = g->host};
  ig_str_add(&s, "graph():");
  for (const ig_node *n = g->first; n; n = n->next) {
    ig_str_add(&s, "\n    ");
    list_node(&p, n);
  }
  return ig_print_end(c, &s);
}

char *ig_graph_guards(ig_ctx *c, const ig_graph *g) {
  ig_str s = ig_str_make(c->alloc);
  const ig_env *env = g->sym->env;
  for (size_t i = 0; env && i < env->guards.n; i++) {
    ig_str_expr(&s, env->guards.at[i].expr);
    ig_str_add(&s, "\n");
  }
  return ig_print_end(c, &s);
}
