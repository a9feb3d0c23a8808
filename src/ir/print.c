// SPDX-License-Identifier: Apache-2.0
// The two printed forms of a graph: Python code and node list, to the letter as PyTorch's fx prints
// them.
#include "ir/print.h"

#include <inttypes.h>
#include <string.h>

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

void ig_print_value(const ig_printer *p, const ig_value *v) {
  ig_str *s = p->s;
  switch (v->kind) {
    case IG_KIND_NODE:
      ig_str_add(s, "%s%s", p->form == IG_TEXT_LIST ? "%" : "", ig_print_name(p, v->node));
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
      ig_str_add(s, "[");
      ig_print_values(p, v->list.at, v->list.n);
      ig_str_add(s, "]");
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

static const char *infix(ig_expr_kind kind) {
  return kind == IG_EXPR_ADD ? "+" : kind == IG_EXPR_MUL ? "*" : kind == IG_EXPR_MOD ? "%" : "//";
}

static void print_call(const ig_printer *p, const ig_node *n) {
  ig_str_add(p->s, "torch.ops.%s(", n->target);
  ig_print_values(p, n->args, n->npos);
  for (size_t i = 0; i < n->nkw; i++) {
    ig_str_add(p->s, "%s%s = ", n->npos + i ? ", " : "", n->keys[i]);
    ig_print_value(p, &n->args[n->npos + i]);
  }
  ig_str_add(p->s, ")");
}

// ";  x = y = None" for the operands that no later node reads.
static void print_cleanup(const ig_printer *p, const ig_node *n) {
  bool any = false;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (p->readers[n->inputs[i]->index] != n) continue;
    ig_str_add(p->s, "%s%s", any ? " = " : ";  ", ig_print_name(p, n->inputs[i]));
    any = true;
  }
  if (any) ig_str_add(p->s, " = None");
}

void ig_print_code_line(const ig_printer *p, const ig_node *n) {
  ig_str *s = p->s;
  if (n->kind == IG_NODE_PLACEHOLDER || n->kind == IG_NODE_OUTPUT) return;
  ig_str_add(s, "    %s = ", ig_print_name(p, n));
  if (n->kind == IG_NODE_ATTR) {
    ig_str_add(s, "self.%s", n->target);
  } else if (n->callee == IG_CALLEE_GETITEM) {
    ig_print_value(p, &n->args[0]);
    ig_str_add(s, "[");
    ig_print_value(p, &n->args[1]);
    ig_str_add(s, "]");
  } else if (n->callee == IG_CALLEE_ARITH) {
    ig_print_value(p, &n->args[0]);
    ig_str_add(s, " %s ", infix(n->arith));
    ig_print_value(p, &n->args[1]);
  } else {
    print_call(p, n);
  }
  print_cleanup(p, n);
  ig_str_add(s, "\n");
}

static void print_return(const ig_printer *p, const ig_node *n) {
  ig_printer plain = *p;
  plain.form = IG_TEXT_CODE;  // without %
  ig_str_add(p->s, "    return (");
  ig_print_values(&plain, n->args, n->npos);
  ig_str_add(p->s, n->npos == 1 ? ",)" : ")");
}

static void list_line(const ig_printer *p, const ig_node *n) {
  ig_str *s = p->s;
  ig_str_add(s, "\n");
  if (n->kind == IG_NODE_OUTPUT) {
    print_return(p, n);
    return;
  }
  ig_str_add(s, "    %%%s : [num_users=%zu] = ", n->name, n->users);
  if (n->kind == IG_NODE_PLACEHOLDER) {
    ig_str_add(s, "placeholder[target=%s]", n->target);
  } else if (n->kind == IG_NODE_ATTR) {
    ig_str_add(s, "get_attr[target=%s]", n->target);
  } else {
    bool python = n->target[0] == '_' && strncmp(n->target, "_operator.", 10) == 0;
    ig_str_add(s, "call_function[target=%s%s](args = (", python ? "" : "torch.ops.",
               n->target + python);
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
  const ig_node **readers = ig_mem_new(c->alloc, g->next_index * sizeof *readers + 1);
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

char *ig_graph_code(ig_ctx *c, const ig_graph *g) {
  ig_str s = ig_str_make(c->alloc);
  const ig_node **readers = ig_graph_last_readers(c, g);
  if (!readers) return NULL;
  ig_printer p = {&s, IG_TEXT_CODE, NULL, readers};
  ig_str_add(&s, "\n\n\ndef forward(self");
  for (const ig_node *n = g->first; n; n = n->next) {
    if (ig_node_is_placeholder(n)) ig_str_add(&s, ", %s", n->name);
  }
  ig_str_add(&s, "):\n");
  for (const ig_node *n = g->first; n; n = n->next) {
    ig_print_code_line(&p, n);
    if (n->kind == IG_NODE_OUTPUT) print_return(&p, n);
  }
  ig_str_add(&s, "\n    ");
  ig_mem_free(c->alloc, (void *)readers, g->next_index * sizeof *readers + 1);
  return ig_print_end(c, &s);
}

char *ig_graph_text(ig_ctx *c, const ig_graph *g) {
  ig_str s = ig_str_make(c->alloc);
  ig_printer p = {&s, IG_TEXT_LIST, NULL, NULL};
  ig_str_add(&s, "graph():");
  for (const ig_node *n = g->first; n; n = n->next) list_line(&p, n);
  return ig_print_end(c, &s);
}

char *ig_graph_guards(ig_ctx *c, const ig_graph *g) {
  ig_str s = ig_str_make(c->alloc);
  for (size_t i = 0; i < g->sym->guards.n; i++) {
    ig_str_guard(&s, g->sym->guards.at[i]);
    ig_str_add(&s, "\n");
  }
  return ig_print_end(c, &s);
}
