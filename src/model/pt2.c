// SPDX-License-Identifier: Apache-2.0
// Exported programs.
#include "ingot/file.h"
#include "model/model.h"

static bool add_versions(ig_ctx *c, ig_model *m) {
  static const struct {
    const char *member;
    const char *name;
  } records[] = {
      {"archive_version", "archive"}, {".data/version", "container"}, {"version", "schema"}};
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
    const char *text = ig_model_member_text(c, m, records[i].member);
    if (text && !ig_model_add_fact(c, m, IG_FACT_VERSION, records[i].name, "%s", text))
      return false;
  }
  return c->status == IG_OK;
}

ig_status ig_model_open_pt2(ig_ctx *c, ig_model *m) {
  if (!add_versions(c, m)) return c->status;
  ig_program *p = NULL;
  ig_status st = ig_program_load(c, m->name, &p);
  if (st == IG_OK) st = ig_model_take_program(c, m, p);
  return ig_model_settle(c, m, st);
}
