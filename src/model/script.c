// SPDX-License-Identifier: Apache-2.0
// TorchScript archives: versions, weights, constants, modules and sources. Their code is not run.
#include <stdio.h>

#include "ingot/script.h"
#include "model/model.h"
#include "ts/archive.h"

static bool add_versions(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  if (!ig_model_add_fact(c, m, IG_FACT_VERSION, "container", "%d", ig_ts_version(ts))) return false;
  long long bytecode = (long long)ig_ts_bytecode(ts);
  return !bytecode || ig_model_add_fact(c, m, IG_FACT_VERSION, "bytecode", "%lld", bytecode);
}

static bool add_weights(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  static const ig_weight_role roles[] = {[IG_TS_PARAMETER] = IG_WEIGHT_PARAMETER,
                                         [IG_TS_BUFFER] = IG_WEIGHT_BUFFER,
                                         [IG_TS_ATTRIBUTE] = IG_WEIGHT_ARRAY};
  const ig_ts_weight *list = NULL;
  size_t n = ig_ts_weights(ts, &list);
  for (size_t i = 0; i < n; i++) {
    if (!ig_model_add_weight(c, m, list[i].name, roles[list[i].role], list[i].tensor)) return false;
  }
  const ig_object *constants = ig_ts_constants(ts);
  for (size_t i = 0; i < ig_object_count(constants); i++) {
    ig_tensor *t = ig_object_tensor(ig_object_at(constants, i));
    char name[32];
    (void)snprintf(name, sizeof name, "CONSTANTS.c%zu", i);
    if (t && !ig_model_add_weight(c, m, name, IG_WEIGHT_CONSTANT, t)) return false;
  }
  return true;
}

static bool add_modules(ig_ctx *c, ig_model *m, const ig_ts *ts) {
  const ig_ts_module *list = NULL;
  size_t n = ig_ts_modules(ts, &list);
  for (size_t i = 0; i < n; i++) {
    char name[512];
    (void)snprintf(name, sizeof name, "module %s", list[i].name[0] ? list[i].name : "(root)");
    if (!ig_model_add_fact(c, m, IG_FACT_METADATA, name, "%s", list[i].class_name)) return false;
  }
  return true;
}

ig_status ig_model_open_script(ig_ctx *c, ig_model *m) {
  ig_ts *ts = NULL;
  ig_status st = ig_ts_parse(c, m->name, m->file->bytes, m->file, m->options.limits, &ts);
  if (st == IG_OK && !(add_versions(c, m, ts) && add_weights(c, m, ts) && add_modules(c, m, ts))) {
    st = c->status;
  }
  ig_ts_free(ts);
  if (st == IG_OK) {
    (void)ig_model_add_finding(c, m, IG_OK, "code", "TorchScript code is listed, not run");
    st = c->status;
  }
  return ig_model_settle(c, m, st);
}
