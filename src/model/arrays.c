// SPDX-License-Identifier: Apache-2.0
// Files that hold tensors alone.
#include "ingot/file.h"
#include "model/model.h"

ig_status ig_model_open_arrays(ig_ctx *c, ig_model *m) {
  const ig_weight *list = NULL;
  size_t n = 0;
  IG_RETURN_IF_ERR(ig_tensors_load(c, m->name, &list, &n));
  for (size_t i = 0; i < n; i++) {
    if (!ig_model_add_weight(c, m, list[i].name, IG_WEIGHT_ARRAY, list[i].tensor)) return c->status;
  }
  return IG_OK;
}
