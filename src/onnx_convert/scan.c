// SPDX-License-Identifier: Apache-2.0
// Scan until opset 8 has batches in front and a length for each; from 9 on it has neither, but
// axes. So the old one is a scan over batches whose body scans, and the new one has a batch of one.
#include <string.h>

#include "onnx_convert/steps.h"

static ig_om_info *infos(ig_cv *v, size_t n, const char *word) {
  ig_om_info *at = ig_cv_push(v, ig_mem_mul(n, sizeof *at));
  for (size_t i = 0; at && i < n; i++)
    at[i] = (ig_om_info){.name = ig_cv_fresh(v, word), .doc = ""};
  return at;
}

static bool set_elem(ig_cv *v, ig_om_info *info, int elem, const char *name) {
  if (!elem) return !ig_cv_refuse(v, "the element type of '%s' is not known", name);
  info->type = (ig_om_type){.kind = IG_OM_TENSOR_TYPE, .elem = elem};
  return true;
}

static const char **names_of(ig_cv *v, const ig_om_info *at, size_t n) {
  const char **names = ig_cv_push(v, ig_mem_mul(n, sizeof *names));
  for (size_t i = 0; names && i < n; i++) names[i] = at[i].name;
  return names;
}

static bool is_zero(const ig_om_node *n, const char *name) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  for (size_t i = 0; a && a->type == IG_OM_ATTR_INTS && i < a->n; i++) {
    if (a->ints[i]) return false;
  }
  return true;
}

static void rename_ints(ig_cv *v, ig_om_node *to, const ig_om_node *from, const char *name,
                        const char *was) {
  const ig_om_attr *a = ig_om_find_attr(from, was);
  if (!a) return;
  ig_om_attr copy = *a;
  copy.name = name;
  ig_cv_set_attr(v, to, &copy);
}

bool ig_cv_scan_up(ig_cv *v, ig_om_node *n) {
  const ig_om_attr *body = ig_om_find_attr(n, "body");
  const ig_om_attr *count = ig_om_find_attr(n, "num_scan_inputs");
  size_t nin = n->ninputs ? n->ninputs - 1 : 0;
  if (*ig_cv_in(n, 0)) return ig_cv_refuse(v, "lengths of sequences exist until opset 8");
  if (!body || body->ref || !body->graphs || !count || body->graphs[0]->noutputs < n->noutputs) {
    return ig_cv_refuse(v, "its body must stand in the node");
  }
  const ig_om_graph *inner = body->graphs[0];
  ig_om_graph *g = ig_cv_push(v, sizeof *g);
  ig_om_node *scan = ig_cv_push(v, sizeof *scan);
  ig_om_graph **graphs = ig_cv_push(v, sizeof *graphs);
  ig_om_info *in = infos(v, nin, "batch");
  ig_om_info *out = infos(v, n->noutputs, "batch");
  if (!g || !scan || !graphs || !in || !out) return true;
  for (size_t i = 0; i < nin; i++) {
    const char *name = n->inputs[i + 1];
    if (!set_elem(v, &in[i], ig_cv_elem(v, name), name)) return true;
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    int elem = inner->outputs[i].type.elem;
    if (!elem) elem = ig_cv_elem(v, inner->outputs[i].name);
    if (!set_elem(v, &out[i], elem, inner->outputs[i].name)) return true;
  }
  *scan = (ig_om_node){.name = "", .op_type = "Scan", .domain = "", .overload = "", .doc = ""};
  scan->inputs = names_of(v, in, nin);
  scan->ninputs = nin;
  scan->outputs = names_of(v, out, n->noutputs);
  scan->noutputs = n->noutputs;
  ig_cv_set_attr(v, scan, body);
  ig_cv_set_attr(v, scan, count);
  rename_ints(v, scan, n, "scan_input_directions", "directions");
  *g = (ig_om_graph){.name = "batch", .doc = "", .nodes = scan, .nnodes = 1};
  g->inputs = in;
  g->ninputs = nin;
  g->outputs = out;
  g->noutputs = n->noutputs;
  *graphs = g;
  ig_om_node outer = *n;
  outer.inputs = n->inputs + 1;
  outer.ninputs = nin;
  outer.attrs = NULL;
  outer.nattrs = 0;
  ig_cv_set_attr(v, &outer,
                 &(ig_om_attr){.name = "body", .type = IG_OM_ATTR_GRAPH, .n = 1, .graphs = graphs});
  ig_cv_set_int(v, &outer, "num_scan_inputs", (int64_t)nin);
  ig_cv_node(v, &outer, 9);
  return true;
}

static const char *with_batch(ig_cv *v, const char *name, const char *text) {
  const char *in[] = {name};
  ig_om_node n = {.op_type = "Unsqueeze", .inputs = in, .ninputs = 1};
  return ig_cv_value(v, &n, "%s", text);
}

bool ig_cv_scan_down(ig_cv *v, ig_om_node *n) {
  bool plain = is_zero(n, "scan_input_axes") && is_zero(n, "scan_output_axes") &&
               is_zero(n, "scan_output_directions");
  if (!plain) return ig_cv_refuse(v, "other axes and reversed results exist from opset 9 on");
  const char **in = ig_cv_push(v, ig_mem_mul(n->ninputs + 1, sizeof *in));
  const char **out = ig_cv_push(v, ig_mem_mul(n->noutputs, sizeof *out));
  if (!in || !out) return true;
  in[0] = "";
  for (size_t i = 0; i < n->ninputs; i++) {
    in[i + 1] = with_batch(v, n->inputs[i], "Unsqueeze($0, [0])");
  }
  for (size_t i = 0; i < n->noutputs; i++) out[i] = *n->outputs[i] ? ig_cv_fresh(v, "Scan") : "";
  ig_om_node old = *n;
  old.inputs = in;
  old.ninputs = n->ninputs + 1;
  old.outputs = out;
  rename_ints(v, &old, n, "directions", "scan_input_directions");
  ig_cv_drop_attr(v, &old, "scan_input_axes");
  ig_cv_drop_attr(v, &old, "scan_output_axes");
  ig_cv_drop_attr(v, &old, "scan_input_directions");
  ig_cv_drop_attr(v, &old, "scan_output_directions");
  ig_cv_node(v, &old, 8);
  for (size_t i = 0; i < n->noutputs && !v->refused; i++) {
    if (!*out[i]) continue;
    ig_om_node last = {.op_type = "Squeeze", .inputs = &out[i], .ninputs = 1};
    last.outputs = &n->outputs[i];
    last.noutputs = 1;
    (void)ig_cv_expand(v, &last, "Squeeze($0, [0])");
  }
  return true;
}
