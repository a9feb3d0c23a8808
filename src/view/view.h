// SPDX-License-Identifier: Apache-2.0
// A model as nested boxes that are connected: what the pages and pictures of it are made from.
//
// An item is a node, or a box around others: a module, a sub-graph, a node that has sub-graphs.
// Item 0 is the box around all. Items are in the order of execution, a box before what is in it.
// Weights are no items: they are arguments of the nodes that read them.
//
// Inside a box, every value that is made or read there is a net: from its source (an item of the
// box, or a port at its upper border) to the items that read it, and to a port at the lower border
// if it is read outside. Boxes are therefore laid out one by one, and a page can open and close
// them without laying out anything again.
#ifndef VIEW_VIEW_H_
#define VIEW_VIEW_H_

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "ingot/stats.h"
#include "ingot/view.h"
#include "model/model.h"

enum {
  IG_VIEW_MAX_ITEMS = 1000000,
  IG_VIEW_MAX_DEPTH = 200,  // of boxes
  IG_VIEW_TITLE = 40,       // characters of a title that are shown
  IG_VIEW_PART = 4000,      // items of a part of a page
};
#define IG_VIEW_NONE UINT32_MAX

typedef enum ig_view_kind {
  IG_VIEW_NODE,
  IG_VIEW_MODULE,
  IG_VIEW_GRAPH,
  IG_VIEW_INPUT,
  IG_VIEW_OUTPUT,
} ig_view_kind;

typedef enum ig_view_arg_kind { IG_VIEW_TEXT, IG_VIEW_VALUE, IG_VIEW_WEIGHT } ig_view_arg_kind;

typedef struct ig_view_arg {
  ig_view_arg_kind kind;
  const char *label;  // "" : none
  const char *text;   // TEXT
  uint32_t item;      // VALUE: the item that makes it; WEIGHT: its number
  uint32_t out;       // VALUE: which of its results
} ig_view_arg;

typedef struct ig_view_out {
  const char *name;
  const char *type;  // "float32[s0, 4]"; "": not known
} ig_view_out;

// How an item of one model stands to the other model.
typedef enum ig_view_mark {
  IG_VIEW_SAME,
  IG_VIEW_CHANGED,
  IG_VIEW_REMOVED,  // the second model has no such node
  IG_VIEW_ADDED,
  IG_VIEW_DIVERGES,  // the first value that differs
} ig_view_mark;

typedef struct ig_view_item {
  ig_view_kind kind;
  uint32_t parent;    // of item 0: itself
  uint32_t depth;     // of item 0: 0
  const char *name;   // of the node, path of the module
  const char *title;  // its operator or class
  uint32_t stack;     // of source lines; IG_VIEW_NONE: not known
  size_t arg;         // the first of nargs
  size_t nargs;
  size_t out;  // the first of nouts
  size_t nouts;
  const void *from;  // the node of the model; NULL: none
  ig_view_mark mark;
  uint32_t partner;  // in the other model; IG_VIEW_NONE
  double micros;     // of a run; negative: not measured
  double bytes;      // of its results; the same
  // Filled by ig_view_layout:
  uint32_t nitems;  // of a box: items directly in it
  uint32_t rank;    // in its box: row, from 0 (ports) on
  uint32_t pos;     // and position in the row
  size_t net;       // of a box: the first of nnets
  size_t nnets;
} ig_view_item;

typedef struct ig_view_net {
  uint32_t source;    // the node whose results it carries
  uint32_t from;      // item of the box; IG_VIEW_NONE: a port at the upper border
  uint32_t from_pos;  // of that port in its row, the first
  bool leaves;        // there is a port at the lower border
  uint32_t exit_pos;  // of that port in its row, the last
  size_t to;          // the first of nto items in `ends`
  size_t nto;
  size_t via;  // the first of nvia positions in `vias`, one per row below the source
  size_t nvia;
} ig_view_net;

typedef struct ig_view_stack {
  const ig_frame *frames;  // outermost first
  size_t n;
} ig_view_stack;

typedef struct ig_view_weight {
  const ig_model_weight *of;
  ig_stats stats;
  bool measured;
} ig_view_weight;

typedef struct ig_view {
  ig_ctx *c;
  const ig_model *m;
  const ig_view_options *options;
  uint32_t box;       // that the model is built in: 0, or one of two
  uint32_t beside;    // the box of the second model; 0: there is none
  uint32_t first[2];  // where the models begin to differ, in the first and the second; 0: nowhere
  bool costs;         // of a run are known
  ig_arena arena;
  IG_VEC(ig_view_item) items;
  IG_VEC(ig_view_arg) args;
  IG_VEC(ig_view_out) outs;
  IG_VEC(ig_view_stack) stacks;
  IG_VEC(ig_view_net) nets;
  IG_VEC(uint32_t) ends;
  IG_VEC(uint32_t) vias;
  IG_VEC(ig_view_weight) weights;
  ig_map weight_names;  // name -> number of the weight plus one
  ig_map boxes;         // modules by key
} ig_view;

// ---- building (build.c). False, NULL or IG_VIEW_NONE after an error of the context.

const char *ig_view_text(ig_view *v, const char *fmt, ...) IG_PRINTF(2, 3);
const char *ig_view_take(ig_view *v, ig_str *s);  // the builder's text; frees the builder
uint32_t ig_view_add(ig_view *v, ig_view_kind kind, uint32_t parent, const char *name,
                     const char *title);
// Arguments and results belong to the item that was added last.
bool ig_view_add_text(ig_view *v, const char *label, const char *text);
bool ig_view_add_value(ig_view *v, const char *label, uint32_t item, uint32_t out);
bool ig_view_add_weight(ig_view *v, const char *label, const char *name);  // or a text
bool ig_view_add_out(ig_view *v, const char *name, const char *type);
// The box of a module in another box: found by its key, or new.
uint32_t ig_view_module(ig_view *v, uint32_t parent, const char *key, const char *path,
                        const char *title);

bool ig_view_of_program(ig_view *v, const ig_program *p);
struct ig_onnx_model;
bool ig_view_of_onnx(ig_view *v, const struct ig_onnx_model *m);
bool ig_view_of_script(ig_view *v);

// The partners of two models that are built in boxes `a` and `b`, and the marks (pair.c).
bool ig_view_pair(ig_view *v, const ig_model *a, const ig_model *b);
// Times and memory of a run from the JSON text of `ingot bench --profile --json` (profile.c).
bool ig_view_cost(ig_view *v, const char *text, size_t n);

// ---- layout (nets.c, layout.c)

bool ig_view_connect(ig_view *v);  // fills the nets, unplaced
bool ig_view_layout(ig_view *v);   // ranks and positions

// The rows of one box. Vertices are numbered in an order in which all edges but few run upwards;
// those that do not are ignored. Ports have fixed rows.
typedef enum ig_rows_port { IG_ROWS_PLAIN, IG_ROWS_FIRST, IG_ROWS_LAST } ig_rows_port;
typedef struct ig_rows_net {
  uint32_t from;
  const uint32_t *to;
  size_t nto;
  // Results: positions in the rows between, as far as the net runs; an array of the arena.
  uint32_t *via;
  size_t nvia;
} ig_rows_net;
typedef struct ig_rows {
  ig_ctx *c;
  ig_arena *arena;
  uint32_t n;
  const uint8_t *ports;  // ig_rows_port of each vertex
  ig_rows_net *nets;
  size_t nnets;
  uint32_t *rank;  // results
  uint32_t *pos;
} ig_rows;
bool ig_rows_make(ig_rows *r);

// ---- forms

// The page; with options.part also the parts, of which the page then has none.
void ig_view_html(const ig_view *v, ig_str *s);
void ig_view_svg(ig_view *v, ig_str *s, int depth);
void ig_view_dot(ig_view *v, ig_str *s, int depth);
// At most max characters of a text, with an ellipsis.
void ig_view_short(const char *text, size_t max, char *out, size_t cap);
const char *ig_view_label(const ig_view_item *it);  // the line in its box
// Of an item: itself, or the closed box around it. depth 0: no box is closed.
uint32_t ig_view_seen(const ig_view *v, uint32_t item, int depth);

#endif
