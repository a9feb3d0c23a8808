// SPDX-License-Identifier: Apache-2.0
// Times and costs of the steps of a session's runs.
#include <string.h>

#include "codec/json.h"
#include "ir/print.h"
#include "model/session.h"

void ig_session_profile(ig_session *s, bool on) {
  s->profiled = on;
  if (s->plan) ig_plan_profile(s->plan, on);
}

bool ig_session_profile_at(ig_session *s, size_t i, ig_session_step *out) {
  ig_plan_time t;
  if (!s->plan || !ig_plan_profile_at(s->plan, i, &t)) return false;
  *out = (ig_session_step){t.name, t.target, t.interpreted, t.seconds, t.runs};
  return true;
}

bool ig_session_cost_at(const ig_session *s, size_t i, ig_session_cost *out) {
  ig_plan_time t;
  if (!s->plan || !ig_plan_profile_at(s->plan, i, &t)) return false;
  ig_session_cost all = {sizeof all, t.flops, t.bytes, t.start, t.last};
  size_t room = out->size && out->size < sizeof all ? out->size : sizeof all;
  all.size = room;
  memcpy(out, &all, room);
  return true;
}

// ---- as a Chrome trace

static void put_key(ig_json_writer *w, const char *key, const char *text) {
  ig_json_key(w, key);
  ig_json_str(w, text);
}

static void put_number(ig_json_writer *w, const char *key, double number) {
  ig_json_key(w, key);
  ig_json_float(w, number);
}

static void put_event(ig_json_writer *w, size_t i, const ig_plan_time *t) {
  ig_json_open(w, '{');
  put_key(w, "name", t->name[0] ? t->name : t->target);
  put_key(w, "cat", t->interpreted ? "interpreted" : "step");
  put_key(w, "ph", "X");  // an event with a duration
  put_number(w, "ts", 1e6 * t->start);
  put_number(w, "dur", 1e6 * t->last);
  ig_json_key(w, "pid");
  ig_json_int(w, 1);
  ig_json_key(w, "tid");
  ig_json_int(w, 1);
  ig_json_key(w, "args");
  ig_json_open(w, '{');
  ig_json_key(w, "step");
  ig_json_int(w, (int64_t)i);
  put_key(w, "operator", t->target);
  put_number(w, "flops", t->flops);
  put_number(w, "bytes", t->bytes);
  ig_json_close(w, '}');
  ig_json_close(w, '}');
}

char *ig_session_trace_text(ig_session *s) {
  ig_ctx *c = s->c;
  if (c->status != IG_OK) return NULL;
  ig_str text = ig_str_make(c->alloc);
  ig_json_writer w = {.out = &text};
  ig_plan_time t;
  ig_json_open(&w, '{');
  ig_json_key(&w, "traceEvents");
  ig_json_open(&w, '[');
  for (size_t i = 0; s->plan && ig_plan_profile_at(s->plan, i, &t); i++) put_event(&w, i, &t);
  ig_json_close(&w, ']');
  put_key(&w, "displayTimeUnit", "ms");
  ig_json_close(&w, '}');
  return ig_print_end(c, &text);
}
