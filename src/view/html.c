// SPDX-License-Identifier: Apache-2.0
// The page: page.html with the view as JSON in it, in a block that no browser runs. Texts stand in
// one table, each once. Whatever could end the block or hide something is escaped: angle brackets
// and ampersands as JSON escapes, control characters and bidirectional marks visibly.
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "ingot/text.h"
#include "model/text.h"
#include "view/view.h"
#include "view_page.inc"

typedef struct page {
  const ig_view *v;
  ig_str *s;
  ig_map texts;   // text -> its number
  ig_map frames;  // printed frame -> its number
  ig_arena arena;
  IG_VEC(const char *) list;
  IG_VEC(ig_frame) places;
  // How much of each table the parts so far have.
  size_t texts_put;
  size_t frames_put;
  size_t stacks;
} page;

static void put_bytes(ig_str *s, const unsigned char *at, size_t n) {
  while (n) {
    int part = n < 100000 ? (int)n : 100000;
    ig_str_add(s, "%.*s", part, (const char *)at);
    at += part;
    n -= (size_t)part;
  }
}

static void put_string(page *p, const char *text) {
  size_t n = strlen(text);
  size_t need = ig_text_escape(text, n, true, NULL, 0);
  char *safe = ig_arena_array(&p->arena, ig_mem_add(need, 1), 1);
  p->s->failed = p->s->failed || !safe;
  if (!safe) return;
  (void)ig_text_escape(text, n, true, safe, need + 1);
  ig_str_add(p->s, "\"");
  for (const char *at = safe; *at;) {
    size_t plain = strcspn(at, "\"\\<>&\n\t");
    if (plain) put_bytes(p->s, (const unsigned char *)at, plain);
    at += plain;
    if (!*at) break;
    if (*at == '"' || *at == '\\') ig_str_add(p->s, "\\%c", *at);
    if (*at == '\n' || *at == '\t') ig_str_add(p->s, *at == '\n' ? "\\n" : "\\t");
    if (strchr("<>&", *at)) ig_str_add(p->s, "\\u%04x", (unsigned)*at);
    at++;
  }
  ig_str_add(p->s, "\"");
}

// The number of a text, printed.
static void put_text(page *p, const char *text) {
  ig_map_value *at = ig_map_find(&p->texts, text ? text : "");
  if (!at) {
    at = ig_map_put(&p->texts, text ? text : "");
    if (at) at->num = p->list.n;
    if (!at || !ig_vec_push(p->v->c->alloc, &p->list, text ? text : "")) {
      p->s->failed = true;
      return;
    }
  }
  ig_str_add(p->s, "%zu", at->num);
}

// ---- items

static void put_args(page *p, const ig_view_item *it) {
  ig_str_add(p->s, "[");
  for (size_t i = 0; i < it->nargs; i++) {
    const ig_view_arg *a = &p->v->args.at[it->arg + i];
    ig_str_add(p->s, "%s%d,", i ? "," : "", (int)a->kind);
    put_text(p, a->label);
    ig_str_add(p->s, ",");
    if (a->kind == IG_VIEW_TEXT) put_text(p, a->text);
    if (a->kind == IG_VIEW_VALUE) ig_str_add(p->s, "%u,%u", a->item, a->out);
    if (a->kind == IG_VIEW_WEIGHT) ig_str_add(p->s, "%u", a->item);
  }
  ig_str_add(p->s, "]");
}

static void put_item(page *p, const ig_view_item *it) {
  ig_str_add(p->s, "[%d,%u,", (int)it->kind, it->parent);
  put_text(p, it->name);
  ig_str_add(p->s, ",");
  put_text(p, it->title);
  ig_str_add(p->s, ",%u,%u,%d", it->rank, it->pos, it->stack == IG_VIEW_NONE ? -1 : (int)it->stack);
  if (it->nargs || it->nouts) {
    ig_str_add(p->s, ",");
    put_args(p, it);
  }
  for (size_t i = 0; i < it->nouts; i++) {
    const ig_view_out *o = &p->v->outs.at[it->out + i];
    ig_str_add(p->s, i ? "," : ",[");
    put_text(p, o->name);
    ig_str_add(p->s, ",");
    put_text(p, o->type);
  }
  ig_str_add(p->s, it->nouts ? "]]" : "]");
}

static void put_net(page *p, const ig_view_net *net, size_t box) {
  ig_str_add(p->s, "[%zu,%u,%d,%u,%d,[", box, net->source,
             net->from == IG_VIEW_NONE ? -1 : (int)net->from, net->from_pos,
             net->leaves ? (int)net->exit_pos : -1);
  for (size_t i = 0; i < net->nto; i++) {
    ig_str_add(p->s, i ? ",%u" : "%u", p->v->ends.at[net->to + i]);
  }
  ig_str_add(p->s, "],[");
  for (size_t i = 0; i < net->nvia; i++) {
    ig_str_add(p->s, i ? ",%u" : "%u", p->v->vias.at[net->via + i]);
  }
  ig_str_add(p->s, "]]");
}

static void put_nets(page *p, size_t from, size_t to) {
  const char *comma = "";
  for (size_t i = from; i < to; i++) {
    const ig_view_item *it = &p->v->items.at[i];
    for (size_t k = 0; k < it->nnets; k++, comma = ",") {
      ig_str_add(p->s, "%s", comma);
      put_net(p, &p->v->nets.at[it->net + k], i);
    }
  }
}

// ---- source lines

static void put_frame_number(page *p, const ig_frame *f) {
  char line[24];
  (void)snprintf(line, sizeof line, "%d", f->line);
  ig_str key = ig_str_make(p->v->c->alloc);
  ig_str_add(&key, "%s:%s:%s", f->file ? f->file : "", line, f->function ? f->function : "");
  const char *kept = NULL;
  ig_map_value *at = key.failed ? NULL : ig_map_keep(&p->frames, &p->arena, key.at, &kept);
  if (at && kept) {
    at->num = p->places.n;
    if (!ig_vec_push(p->v->c->alloc, &p->places, *f)) at = NULL;
  }
  ig_str_free(&key);
  p->s->failed = p->s->failed || !at;
  if (at) ig_str_add(p->s, "%zu", at->num);
}

static void put_stacks(page *p, size_t to) {
  ig_str_add(p->s, "],\"stacks\":[");
  size_t first = p->stacks;
  for (; p->stacks < to; p->stacks++) {
    const ig_view_stack *st = &p->v->stacks.at[p->stacks];
    ig_str_add(p->s, p->stacks > first ? ",[" : "[");
    for (size_t k = 0; k < st->n; k++) {
      if (k) ig_str_add(p->s, ",");
      put_frame_number(p, &st->frames[k]);
    }
    ig_str_add(p->s, "]");
  }
  ig_str_add(p->s, "],\"frames\":[");
  for (size_t i = p->frames_put; i < p->places.n; i++) {
    const ig_frame *f = &p->places.at[i];
    ig_str_add(p->s, i > p->frames_put ? ",[" : "[");
    put_text(p, f->file);
    ig_str_add(p->s, ",%d,", f->line);
    put_text(p, f->function);
    ig_str_add(p->s, ",");
    put_text(p, f->code);
    ig_str_add(p->s, "]");
  }
  p->frames_put = p->places.n;
}

// ---- weights

static void put_stats(page *p, const ig_stats *st) {
  ig_str_add(p->s, "[%lld,%lld,%lld,%lld,%.6g,%.6g,%.6g,%.6g", (long long)st->count,
             (long long)st->zeros, (long long)st->nans, (long long)st->infinities, st->min, st->max,
             st->mean, st->deviation);
  for (int i = 0; i < IG_STATS_BINS; i++) ig_str_add(p->s, ",%lld", (long long)st->bins[i]);
  ig_str_add(p->s, "]");
}

static void put_weight(page *p, const ig_view_weight *w, const char *type) {
  static const char *const roles[] = {[IG_WEIGHT_PARAMETER] = "parameter",
                                      [IG_WEIGHT_BUFFER] = "buffer",
                                      [IG_WEIGHT_CONSTANT] = "constant",
                                      [IG_WEIGHT_ARRAY] = ""};
  ig_str_add(p->s, "[");
  put_text(p, w->of->name);
  ig_str_add(p->s, ",");
  put_text(p, roles[w->of->role]);
  ig_str_add(p->s, ",");
  put_text(p, type);
  ig_str_add(p->s, ",");
  if (w->measured) put_stats(p, &w->stats);
  if (!w->measured) ig_str_add(p->s, "0");
  ig_str_add(p->s, ",%lld]", w->of->tensor ? (long long)ig_tensor_numel(w->of->tensor) : 0LL);
}

static void put_weights(page *p, bool all) {
  ig_str_add(p->s, "],\"weights\":[");
  for (size_t i = 0; all && i < p->v->weights.n; i++) {
    const ig_view_weight *w = &p->v->weights.at[i];
    ig_str type = ig_str_make(p->v->c->alloc);
    ig_value value = {.kind = IG_KIND_TENSOR, .tensor = w->of->tensor};
    if (w->of->tensor) ig_steps_type(&type, &value);
    const char *text = ig_arena_strn(&p->arena, type.at ? type.at : "", type.n);
    ig_str_free(&type);
    p->s->failed = p->s->failed || !text;
    if (i) ig_str_add(p->s, ",");
    put_weight(p, w, text);
  }
}

// ---- page

static void put_facts(page *p, const ig_model *m) {
  const ig_model_fact *const *facts = NULL;
  size_t n = ig_model_facts(m, &facts);
  for (size_t i = 0; i < n && i < 100; i++) {
    ig_str_add(p->s, i ? ",[" : "[");
    put_string(p, facts[i]->name);
    ig_str_add(p->s, ",");
    put_string(p, facts[i]->value);
    ig_str_add(p->s, "]");
  }
}

static void put_name(page *p, const ig_model *m) {
  const char *slash = strrchr(ig_model_name(m), '/');
  put_string(p, slash ? slash + 1 : ig_model_name(m));
}

// What is known before any part.
static void put_head(page *p, size_t parts) {
  const ig_view *v = p->v;
  ig_str_add(p->s, "{\"name\":");
  put_name(p, v->m);
  if (v->beside) {
    ig_str_add(p->s, ",\"other\":");
    put_name(p, v->options->other);
    ig_str_add(p->s, ",\"beside\":%u,\"first\":[%u,%u],\"why\":", v->beside, v->first[0],
               v->first[1]);
    put_string(p, v->options->first_text ? v->options->first_text : "");
  }
  ig_str_add(p->s, ",\"kind\":");
  put_string(p, ig_model_kind_text(ig_model_get_kind(v->m)));
  ig_str_add(p->s, ",\"count\":%zu,\"parts\":%zu,\"facts\":[", v->items.n, parts);
  put_facts(p, v->m);
  ig_str_add(p->s, "]");
}

// Marks and partners of a pair, and costs of a run: flat lists of the items that have any.
static void put_marks(page *p, size_t from, size_t to) {
  const char *comma = "";
  ig_str_add(p->s, ",\"marks\":[");
  for (size_t i = from; p->v->beside && i < to; i++) {
    const ig_view_item *it = &p->v->items.at[i];
    if (it->mark == IG_VIEW_SAME && it->partner == IG_VIEW_NONE) continue;
    ig_str_add(p->s, "%s%zu,%d,%d", comma, i, (int)it->mark,
               it->partner == IG_VIEW_NONE ? -1 : (int)it->partner);
    comma = ",";
  }
  comma = "";
  ig_str_add(p->s, "],\"costs\":[");
  for (size_t i = from; p->v->costs && i < to; i++) {
    const ig_view_item *it = &p->v->items.at[i];
    if (it->micros < 0 && it->bytes < 0) continue;
    ig_str_add(p->s, "%s%zu,%.6g,%.6g", comma, i, it->micros < 0 ? 0 : it->micros,
               it->bytes < 0 ? 0 : it->bytes);
    comma = ",";
  }
}

// The members of a part: items [from, to) and what they need that no earlier part has.
static void put_part(page *p, size_t from, size_t to) {
  size_t stacks = p->stacks;
  ig_str_add(p->s, "\"items\":[");
  for (size_t i = from; i < to && ig_step(p->v->c); i++) {
    const ig_view_item *it = &p->v->items.at[i];
    if (i > from) ig_str_add(p->s, ",\n");
    put_item(p, it);
    if (it->stack != IG_VIEW_NONE && it->stack >= stacks) stacks = (size_t)it->stack + 1;
  }
  ig_str_add(p->s, "],\"nets\":[");
  put_nets(p, from, to);
  put_stacks(p, stacks);
  put_weights(p, from == 0);
  ig_str_add(p->s, "]");
  put_marks(p, from, to);
  ig_str_add(p->s, "],\"texts\":[");
  for (size_t i = p->texts_put; i < p->list.n; i++) {
    if (i > p->texts_put) ig_str_add(p->s, ",");
    put_string(p, p->list.at[i]);
  }
  p->texts_put = p->list.n;
  ig_str_add(p->s, "]");
}

// Parts go to the caller one by one.
static void give_parts(page *p) {
  const ig_view_options *o = p->v->options;
  ig_str *whole = p->s;
  for (size_t from = 0; from < p->v->items.n; from += IG_VIEW_PART) {
    size_t left = p->v->items.n - from;
    ig_str part = ig_str_make(p->v->c->alloc);
    p->s = &part;
    ig_str_add(&part, "{");
    put_part(p, from, from + (left < IG_VIEW_PART ? left : IG_VIEW_PART));
    ig_str_add(&part, "}");
    if (!part.failed) o->part(o->part_user, part.at, part.n);
    whole->failed = whole->failed || part.failed;
    ig_str_free(&part);
  }
  p->s = whole;
}

void ig_view_html(const ig_view *v, ig_str *s) {
  bool parts = v->options->part != NULL;
  page p = {.v = v, .s = s, .arena = ig_arena_make(v->c->alloc)};
  p.texts = ig_map_make(v->c->alloc);
  p.frames = ig_map_make(v->c->alloc);
  put_bytes(s, page_policy, sizeof page_policy);
  ig_str_add(s, "%s", parts ? "; connect-src 'self'" : "");
  put_bytes(s, page_head, sizeof page_head);
  put_head(&p, parts ? (v->items.n + IG_VIEW_PART - 1) / IG_VIEW_PART : 0);
  if (!parts) {
    ig_str_add(s, ",");
    put_part(&p, 0, v->items.n);
  }
  ig_str_add(s, "}");
  put_bytes(s, page_tail, sizeof page_tail);
  if (parts) give_parts(&p);
  ig_vec_free(v->c->alloc, &p.list);
  ig_vec_free(v->c->alloc, &p.places);
  ig_map_free(&p.texts);
  ig_map_free(&p.frames);
  ig_arena_free(&p.arena);
}
