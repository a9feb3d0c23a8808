// SPDX-License-Identifier: Apache-2.0
// Files that hold tensors, and texts, alone: npz, npy, safetensors with its metadata.
#include "arrays/arrays.h"

#include "model/model.h"

typedef ig_status parser(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);

static ig_status open_by(ig_ctx *c, ig_model *m, parser *parse) {
  ig_arrays_in in = {m->name, m->file->bytes, m->file, m->options.limits};
  ig_tensor_list list = {0};
  IG_RETURN_IF_ERR(parse(c, &in, &list));
  for (size_t i = 0; i < list.n; i++) {
    const ig_weight *w = &list.at[i];
    bool ok = w->texts ? ig_model_add_texts(c, m, w->name, w->texts)
                       : ig_model_add_weight(c, m, w->name, IG_WEIGHT_ARRAY, w->tensor);
    if (!ok) break;
  }
  for (size_t i = 0; i < list.n_metadata && c->status == IG_OK; i++) {
    const ig_text_pair *p = &list.metadata[i];
    (void)ig_model_add_fact(c, m, IG_FACT_METADATA, p->key, "%s", p->value);
  }
  return c->status;
}

ig_status ig_model_open_npz(ig_ctx *c, ig_model *m) {
  return open_by(c, m, ig_npz_parse);
}
ig_status ig_model_open_npy(ig_ctx *c, ig_model *m) {
  return open_by(c, m, ig_npy_parse);
}
ig_status ig_model_open_safetensors(ig_ctx *c, ig_model *m) {
  return open_by(c, m, ig_safetensors_parse);
}
