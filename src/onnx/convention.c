// SPDX-License-Identifier: Apache-2.0
// The conventions of PyTorch's TorchScript exporter. Who reads a value and how many values come
// before it is known when the nodes are written; a model with unnamed inputs or outputs is
// therefore written twice, the first time for these facts only.
#include "onnx/convention.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"

// Which node makes a value.
typedef struct maker {
  const char *op_type;
  size_t number;  // of the value, in the order of the file
} maker;

// ---- nodes

// An operator as PyTorch's graphs name it: "onnx::Gemm", "my.domain::Op". Calls that stay ATen's
// are in its namespace there.
static const char *kind_of(ig_onnx *x, const ig_onnx_node *n) {
  const char *space = n->domain ? n->domain : "onnx";
  if (strcmp(space, "org.pytorch.aten") == 0) space = "aten";
  char text[128];
  (void)snprintf(text, sizeof text, "%.60s::%.60s", space, n->op_type);
  return ig_onnx_keep(x, text);
}

static void note_reader(ig_onnx *x, const char *name, const ig_onnx_node *n) {
  ig_map_value *v = name[0] ? ig_map_put(&x->readers, name) : NULL;
  if (name[0] && !v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v && !v->ptr) v->ptr = (void *)kind_of(x, n);
}

static void note_maker(ig_onnx *x, const char *name, const char *op_type) {
  ig_map_value *v = name && name[0] ? ig_map_put(&x->makers, name) : NULL;
  maker *m = v ? ig_onnx_push(x, sizeof *m) : NULL;
  if (name && name[0] && !v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (m) *m = (maker){op_type, x->nmade};
  if (m) v->ptr = m;
  x->nmade++;
}

// The path of a module within its caller; that of an element of a container is the whole one.
static const char *local_path(const ig_module_stack *stack, size_t i) {
  const char *path = stack->at[i].path;
  const char *outer = i ? stack->at[i - 1].path : "";
  size_t n = strlen(outer);
  if (n && strncmp(path, outer, n) == 0 && path[n] == '.' && !isdigit((unsigned char)path[n + 1]))
    return path + n + 1;
  return path;
}

// "/layers.0/conv/Conv", the second of that name "/layers.0/conv/Conv_1".
static const char *node_name(ig_onnx *x, const char *op_type) {
  const ig_module_stack *stack = x->node ? x->node->meta.modules : NULL;
  ig_str text = ig_str_make(x->c->alloc);
  for (size_t i = 0; stack && i < stack->n; i++) {
    if (stack->at[i].path[0]) ig_str_add(&text, "/%s", local_path(stack, i));
  }
  ig_str_add(&text, "/%s", op_type);
  const char *kept = NULL;
  ig_map_value *v = text.failed ? NULL : ig_map_keep(&x->node_names, &x->arena, text.at, &kept);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v && v->num++) ig_str_add(&text, "_%zu", v->num - 1);
  const char *out = v && !text.failed ? ig_onnx_keep(x, text.at) : "";
  ig_str_free(&text);
  return out;
}

const char *ig_onnx_convention_node(ig_onnx *x, const ig_onnx_node *n, const char *out) {
  ig_onnx_read_folded(x, n);
  for (size_t i = 0; !n->many && n->in[i]; i++) note_reader(x, ig_onnx_file_name(x, n->in[i]), n);
  for (size_t i = 0; n->many && i < n->nmany; i++)
    note_reader(x, ig_onnx_file_name(x, n->many[i]), n);
  ig_onnx_skip_attributes(x, n);
  note_maker(x, ig_onnx_file_name(x, out), n->op_type);
  ig_onnx_note_sizes(x, n, out);
  for (size_t i = 1; i < n->nouts; i++)
    note_maker(x, n->outs[i] ? ig_onnx_file_name(x, n->outs[i]) : NULL, n->op_type);
  return node_name(x, n->op_type);
}

bool ig_onnx_is_made(const ig_onnx *x, const char *name) {
  return ig_map_find(&x->makers, name) != NULL;
}

const char *ig_onnx_file_name(const ig_onnx *x, const char *name) {
  for (ig_map_value *v = NULL; (v = ig_map_find(&x->aliases, name));) name = v->text;
  ig_map_value *v = x->renames ? ig_map_find(x->renames, name) : NULL;
  return v ? v->text : name;
}

void ig_onnx_same(ig_onnx *x, const char *in, const char *out) {
  if (!x->options->torchscript || x->outer) {
    (void)ig_onnx_emit1(x, "Identity", in, out);
    return;
  }
  ig_map_value *v = ig_map_put(&x->aliases, out);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v) v->text = in;
}

bool ig_onnx_is_read(const ig_onnx *x, const char *name) {
  return ig_map_find(&x->readers, name) != NULL;
}

// ---- sums

static bool same_size(ig_int a, ig_int b) {
  return a.expr || b.expr ? a.expr == b.expr : a.value == b.value;
}

// Whether t is added to every matrix of a product as Gemm does: along rows, columns or all of it.
static bool spreads(const ig_tensor *t, const ig_tensor *product) {
  if (t->dtype != product->dtype || t->ndim > 2 || product->ndim != 2) return false;
  for (int d = 1; d <= t->ndim; d++) {
    ig_int size = ig_sizes(t)[t->ndim - d];
    bool one = !size.expr && size.value == 1;
    if (!one && !same_size(size, ig_sizes(product)[2 - d])) return false;
  }
  return true;
}

static bool is_product(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && n->op &&
         n->op->number == IG_ID_MM && n->users == 1 && n->val.kind == IG_KIND_TENSOR &&
         ig_dtype_is_float(n->val.tensor->dtype);
}

// The product in a sum of two tensors; *other: what is added to it. NULL: not such a sum.
static const ig_node *product_in(const ig_node *n, const ig_value **other) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP || !n->op ||
      n->op->number != IG_ID_ADD_TENSOR || n->npos != 2 || n->nkw)
    return NULL;
  for (size_t i = 0; i < 2; i++) {
    const ig_value *v = &n->args[i];
    *other = &n->args[1 - i];
    const ig_tensor *t = ig_onnx_tensor_of(*other);
    if (v->kind == IG_KIND_NODE && is_product(v->node) && t && spreads(t, v->node->val.tensor))
      return v->node;
  }
  return NULL;
}

bool ig_onnx_is_summand(const ig_onnx *x, const ig_node *n) {
  const ig_value *other = NULL;
  return x->options->torchscript && is_product(n) && n->first_use &&
         product_in(n->first_use->user, &other) == n;
}

bool ig_onnx_put_sum(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *other = NULL;
  const ig_node *product = x->options->torchscript ? product_in(call->node, &other) : NULL;
  if (!product) return false;
  const char *a = ig_onnx_operand(x, &product->args[0], IG_DTYPE_COUNT);
  const char *b = ig_onnx_operand(x, &product->args[1], IG_DTYPE_COUNT);
  const char *c = ig_onnx_operand(x, other, IG_DTYPE_COUNT);
  (void)ig_onnx_emit3(x, "Gemm", a, b, c, call->out);
  return true;
}

// ---- axes

const char *ig_onnx_axis_name(const ig_onnx *x, const char *value, int axis) {
  for (size_t i = 0; i < x->options->naxes; i++) {
    const ig_onnx_axis *a = &x->options->axes[i];
    if (a->axis == axis && strcmp(a->value, value) == 0) return a->name;
  }
  return NULL;
}

const char *ig_onnx_maker_of(const ig_onnx *x, const char *name) {
  ig_map_value *v = ig_map_find(&x->makers, ig_onnx_file_name(x, name));
  const maker *m = v ? v->ptr : NULL;
  return m ? m->op_type : "";
}

const char *ig_onnx_made_axis(ig_onnx *x, const char *value, int axis) {
  char text[256];
  ig_map_value *v = ig_map_find(&x->makers, value);
  const maker *m = v ? v->ptr : NULL;
  (void)snprintf(text, sizeof text, "%.60s%.150s_dim_%d", m ? m->op_type : "", value, axis);
  return ig_onnx_keep(x, text);
}

// ---- names of inputs and outputs

static bool is_tensor_or_number(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR || v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT ||
         v->kind == IG_KIND_BOOL;
}

// The placeholder of input i if it is one of the model.
static const ig_node *model_input(const ig_onnx *x, const ig_input_spec *in) {
  const ig_node *n = in->kind == IG_INPUT_USER ? ig_graph_find(x->g, in->name) : NULL;
  bool is = n && (n->val.kind == IG_KIND_TENSOR ||
                  (is_tensor_or_number(&n->val) && ig_onnx_is_symbolic(&n->val)));
  return is ? n : NULL;
}

size_t ig_onnx_input_count(const ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += model_input(x, &in[i]) != NULL;
  return count;
}

static const char *found_input(ig_onnx *x, const ig_onnx *first, const ig_node *n, size_t k) {
  char text[128];
  ig_map_value *v = ig_map_find(&first->readers, n->name);
  (void)snprintf(text, sizeof text, "%.100s_%zu", v ? (const char *)v->ptr : "onnx::Shape", k);
  return ig_onnx_keep(x, text);
}

// Parameters and buffers are values too, used or not, each once; the program's other inputs come
// first.
static size_t values_before(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  const size_t *first = ig_onnx_first_names(x);
  size_t count = 0;
  for (size_t i = 0; first && i < n; i++) {
    bool weight = in[i].kind != IG_INPUT_USER && in[i].kind != IG_INPUT_TOKEN && first[i] == i;
    count += weight || model_input(x, &in[i]);
  }
  return count;
}

size_t ig_onnx_value_count(ig_onnx *x) {
  return values_before(x) + x->nmade;
}

static const char *found_output(ig_onnx *x, const ig_onnx *first, size_t k) {
  const char *name = k < first->noutput_order ? first->output_order[k] : "";
  ig_map_value *v = ig_map_find(&first->makers, name);
  const maker *m = v ? v->ptr : NULL;
  char text[32];
  (void)snprintf(text, sizeof text, "%zu", values_before(x) + (m ? m->number : 0));
  return ig_onnx_keep(x, text);
}

static bool put_rename(ig_onnx *x, ig_map *renames, const char *from, const char *to) {
  bool differ = strcmp(from, to) != 0;
  ig_map_value *v = differ ? ig_map_put(renames, from) : NULL;
  if (differ && !v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v && !v->text) v->text = to;
  return ig_ctx_status(x->c) == IG_OK;
}

// The value that output k is gets its name. Another value of that name gets a new one.
static bool rename_output(ig_onnx *x, const ig_onnx *first, size_t k, const char *to,
                          ig_map *renames) {
  const char *from = k < first->noutput_order ? first->output_order[k] : NULL;
  if (!from || !ig_onnx_is_made(first, from)) return ig_ctx_status(x->c) == IG_OK;
  bool taken = strcmp(from, to) != 0 && (ig_onnx_is_made(first, to) || ig_onnx_is_read(first, to));
  char text[256];
  (void)snprintf(text, sizeof text, "%.240s.1", to);
  if (taken && !put_rename(x, renames, to, ig_onnx_keep(x, text))) return false;
  return put_rename(x, renames, ig_onnx_keep(x, from), to);
}

bool ig_onnx_complete_names(ig_onnx *x, const ig_onnx *first, ig_onnx_options *options,
                            ig_map *renames) {
  size_t nin = ig_onnx_input_count(x);
  size_t nout = first->noutput_order;
  size_t given = options->ninput_names;
  const char **ins = ig_onnx_push(x, ig_mem_mul((nin > given ? nin : given) + 1, sizeof *ins));
  const char **outs = ig_onnx_push(x, ig_mem_mul(nout + 1, sizeof *outs));
  if (!ins || !outs) return false;
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    const ig_node *node = model_input(x, &in[i]);
    if (!node) continue;
    bool named = k < given && options->input_names[k][0];
    ins[k] = named ? options->input_names[k] : found_input(x, first, node, k);
    k++;
  }
  for (; k < given; k++) ins[k] = options->input_names[k];
  for (size_t i = 0; i < nout; i++) {
    bool known = i < options->noutput_names;
    outs[i] = known ? options->output_names[i] : found_output(x, first, i);
    if (!rename_output(x, first, i, outs[i], renames)) return false;
  }
  options->input_names = ins;
  options->ninput_names = k;
  options->output_names = outs;
  options->noutput_names = nout;
  return true;
}

static bool is_taken(const ig_onnx *x, const char *name) {
  const ig_onnx_options *o = x->options;
  for (size_t i = 0; i < o->ninput_names; i++)
    if (strcmp(o->input_names[i], name) == 0) return true;
  for (size_t i = 0; i < o->noutput_names; i++)
    if (strcmp(o->output_names[i], name) == 0) return true;
  return false;
}

const char *ig_onnx_weight_name(ig_onnx *x, const char *name) {
  size_t k = ig_onnx_input_count(x) + x->nweight_names;
  if (k < x->options->ninput_names) {
    x->nweight_names++;
    return x->options->input_names[k];
  }
  if (!is_taken(x, name)) return name;
  char text[256];
  (void)snprintf(text, sizeof text, "%.240s.1", name);
  return ig_onnx_keep(x, text);
}
