// SPDX-License-Identifier: Apache-2.0
// Editing ONNX models. An edit owns a copy of the model's structures, in whose arena everything new
// lies; texts and weights are those of the models that it was made from.
#ifndef EDIT_EDIT_H_
#define EDIT_EDIT_H_

#include "base/str.h"
#include "ingot/edit.h"
#include "onnx/proto_model.h"
#include "onnx/schema.h"

struct ig_edit {
  ig_ctx *c;
  ig_onnx_model m;
  IG_VEC(ig_onnx_model *) sources;  // retained
  IG_VEC(ig_edit_note) notes;
  ig_map names;  // all that the model uses for values, in any graph
  size_t nfresh;
};

// Arena, zeroed; NULL after an error.
void *ig_ed_push(ig_edit *e, size_t n, size_t size);
const char *ig_ed_text(ig_edit *e, const char *fmt, ...) IG_PRINTF(2, 3);
// A name that nothing has yet: "base/word_3".
const char *ig_ed_fresh(ig_edit *e, const char *base, const char *word);
void ig_ed_take_names(ig_edit *e, const ig_om_graph *g);
void ig_ed_note(ig_edit *e, const ig_edit_note *note);
bool ig_ed_ok(const ig_edit *e);
void ig_ed_no_memory(ig_edit *e);
// ig_map_put, whose failure is an error of the edit.
ig_map_value *ig_ed_put(ig_edit *e, ig_map *map, const char *key);
// Begin and end of an operation: names are collected; the model is resolved and checked.
ig_status ig_ed_begin(ig_edit *e);
ig_status ig_ed_end(ig_edit *e);
// Does a name match a pattern with at most one '*'? The text for '*' is at *part.
bool ig_ed_matches(const char *pattern, const char *name, ig_bytes *part);
// The first name in a text from `at` on, such as those of "2*batch + s0", and its length; NULL:
// none.
const char *ig_ed_find_word(const char *at, size_t *n);
// Is a node named by a pattern: by its name, its operator or the module that it belongs to?
bool ig_ed_node_is(const ig_om_node *n, const char *pattern);
// The path of the module that a node belongs to, from its metadata or its name; "": none. Into
// room.
const char *ig_ed_module(const ig_om_node *n, char *room, size_t size);
// An error that lists the most similar names.
ig_status ig_ed_unknown(ig_edit *e, const char *kind, const char *name, const char *const *names,
                        size_t n);
ig_om_graph *ig_ed_copy_graph(ig_edit *e, const ig_om_graph *g);
// Up to IR version 3 every weight was an input, which nobody meant to be given. The model has to be
// resolved again.
void ig_ed_fix_weights(ig_edit *e);

// ---- nodes

bool ig_ed_is(const ig_om_node *n, const char *op);   // of the default domain
const char *ig_ed_in(const ig_om_node *n, size_t i);  // "": absent
size_t ig_ed_bodies(const ig_om_attr *a);             // how many graphs it holds, at a->graphs
bool ig_ed_has_graphs(const ig_om_node *n);
ig_om_node ig_ed_node(ig_edit *e, const ig_om_node *like, const char *op, const char *const *in,
                      size_t nin, const char *out);
void ig_ed_set_input(ig_edit *e, ig_om_node *n, size_t i, const char *name);
void ig_ed_cut_inputs(ig_om_node *n, size_t count);
void ig_ed_set_attr(ig_edit *e, ig_om_node *n, const ig_om_attr *a);  // replaces
void ig_ed_set_int(ig_edit *e, ig_om_node *n, const char *name, int64_t i);
void ig_ed_set_ints(ig_edit *e, ig_om_node *n, const char *name, const int64_t *at, size_t count);
void ig_ed_drop_attr(ig_edit *e, ig_om_node *n, const char *name);
int64_t ig_ed_int(const ig_om_node *n, const char *name, int64_t otherwise);
double ig_ed_float(const ig_om_node *n, const char *name, double otherwise);
bool ig_ed_text_is(const ig_om_node *n, const char *name, const char *text, const char *otherwise);

// ---- constants

ig_om_tensor *ig_ed_tensor(ig_edit *e, const char *name, int elem, int ndim, const int64_t *dims);
ig_om_tensor *ig_ed_ints(ig_edit *e, const char *name, const int64_t *at, size_t n);
// Elements as doubles, in the innermost scope; NULL: not numbers, or an error.
double *ig_ed_doubles(ig_edit *e, const ig_om_tensor *t);
void ig_ed_store(ig_om_tensor *t, const double *from);
// Integers of a constant, in the innermost scope; NULL: not integers.
int64_t *ig_ed_int_list(ig_edit *e, const ig_om_tensor *t);
int64_t ig_ed_opset(const ig_edit *e);
bool ig_ed_is_real(int elem);  // float16, bfloat16, float, double
// Shape inference, into the types of value_info and outputs.
ig_status ig_ed_infer(ig_edit *e);

#endif
