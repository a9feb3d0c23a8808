// SPDX-License-Identifier: Apache-2.0
// Exported programs.
#include "pt2/archive.h"

#include <string.h>

#include "model/model.h"

static bool add_facts(ig_ctx *c, ig_model *m, const ig_program *p) {
  const ig_origin_fact *list = NULL;
  size_t n = ig_program_facts(p, &list);
  for (size_t i = 0; i < n; i++) {
    bool torch = strcmp(list[i].name, "torch_version") == 0;
    if (!ig_model_add_fact(c, m, IG_FACT_VERSION, torch ? "torch" : list[i].name, "%s",
                           list[i].value)) {
      return false;
    }
  }
  n = ig_program_findings(p, &list);
  for (size_t i = 0; i < n; i++) {
    if (!ig_model_add_finding(c, m, IG_OK, list[i].name, "%s", list[i].value)) return false;
  }
  return true;
}

// For an unsupported program only the archive's records are available.
static void add_records(ig_ctx *c, ig_model *m) {
  static const struct {
    const char *member;
    const char *name;
  } records[] = {{"archive_version", "archive"}, {"version", "schema"}};
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
    const char *text = ig_model_member_text(c, m, records[i].member);
    if (text) (void)ig_model_add_fact(c, m, IG_FACT_VERSION, records[i].name, "%s", text);
  }
}

ig_status ig_model_open_pt2(ig_ctx *c, ig_model *m) {
  ig_program *p = NULL;
  ig_status st = ig_program_load_bytes(c, m->name, m->file->bytes, m->file, m->options.limits, &p);
  if (st != IG_OK) {
    st = ig_model_settle(c, m, st);
    if (st == IG_OK) add_records(c, m);
    return st == IG_OK ? c->status : st;
  }
  if (!add_facts(c, m, p)) {
    ig_program_free(p);
    return c->status;
  }
  return ig_model_settle(c, m, ig_model_take_program(c, m, p, true));
}
