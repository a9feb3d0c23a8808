// SPDX-License-Identifier: Apache-2.0
// Internals of an open model file. A kind of file is one row of the table in formats.c: how it is
// recognised, how it is opened, what is special about running it. Everything else is common.
#ifndef MODEL_MODEL_H_
#define MODEL_MODEL_H_

#include "base/arena.h"
#include "base/map.h"
#include "codec/zip.h"
#include "ingot/model.h"
#include "ir/program.h"

typedef struct ig_model_format ig_model_format;

struct ig_model {
  ig_ref ref;
  ig_alloc alloc;
  ig_arena arena;
  const ig_model_format *format;
  ig_model_options options;  // only while it is being opened
  ig_limits limits;          // of a run: complete
  const char *name;
  bool in_memory;  // there are no files beside it
  ig_file *file;
  bool is_zip;
  ig_zip zip;
  const char *root;        // folder that all members are in, with its slash; "" when there is none
  ig_program *program;     // as in the file
  ig_program *runnable;    // without writes
  struct ig_packs *packs;  // prepared weights, shared by its sessions
  const struct ig_compiled *compiled;  // NULL: the file is what `format` says, else it is inside
  void *inner;                         // private data of the format; freed by it
  IG_VEC(ig_model_port *) inputs;
  IG_VEC(ig_model_port *) outputs;
  IG_VEC(ig_model_weight *) weights;
  IG_VEC(ig_model_operator *) operators;
  ig_map counted;  // name -> its ig_model_operator, while the model is being opened
  IG_VEC(ig_model_fact *) facts;
  IG_VEC(ig_model_member *) members;
  IG_VEC(ig_model_finding *) findings;
};

struct ig_model_format {
  ig_model_kind kind;
  bool (*detect)(const ig_model *m);          // by m->file, m->zip
  ig_status (*open)(ig_ctx *c, ig_model *m);  // fills the model
  // If not NULL: runs it when there is no program. One value per input and output of the model.
  // state: of the session, from `start`.
  ig_status (*run)(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                   ig_value *outs);
  // If not NULL: what a session of the model needs, made before its first run. NULL: an error.
  void *(*start)(ig_ctx *c, const ig_model *m);
  void (*stop)(ig_ctx *c, void *state);
  // If not NULL: captures a run on these inputs as a program.
  ig_status (*export)(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                      ig_program **out);
  // If not NULL: further rules of ig_model_verify.
  ig_status (*verify)(ig_ctx *c, const ig_model *m);
  void (*close)(ig_model *m);  // If not NULL: frees `inner`.
  bool pure;                   // a run changes nothing but its results, so that it can be planned
  const struct ig_plan_nodes *nodes;  // how a plan runs it node by node, with the session as user;
                                      // NULL: as a whole
  const char *no_run;                 // why files of this kind cannot be run; NULL: they can
};

// The row of the file's kind; NULL after an error that says what the file looks like instead.
const ig_model_format *ig_model_detect(ig_ctx *c, const ig_model *m);

// Building a model; false after an error.
const char *ig_model_text(ig_ctx *c, ig_model *m, const char *text);  // a copy; NULL: error
bool ig_model_add_fact(ig_ctx *c, ig_model *m, ig_fact_group group, const char *name,
                       const char *fmt, ...) IG_PRINTF(5, 6);
bool ig_model_add_finding(ig_ctx *c, ig_model *m, ig_cause why, const char *where, const char *fmt,
                          ...) IG_PRINTF(5, 6);
bool ig_model_add_weight(ig_ctx *c, ig_model *m, const char *name, ig_weight_role role,
                         ig_tensor *t);  // retained
bool ig_model_add_texts(ig_ctx *c, ig_model *m, const char *name, const ig_value *texts);  // copied
ig_model_port *ig_model_add_input(ig_ctx *c, ig_model *m, const char *name);
ig_model_port *ig_model_add_output(ig_ctx *c, ig_model *m, const char *name);
// Describes a tensor as a port: dtype and sizes, with the ranges of the program.
bool ig_model_port_tensor(ig_ctx *c, ig_model *m, ig_model_port *port, ig_dtype dtype, int ndim);
bool ig_model_count_operator(ig_ctx *c, ig_model *m, const char *name);  // one more call
// Takes ownership of p as m->program, and makes the form of it that runs. describe: ports, weights
// and operators are those of the program.
ig_status ig_model_take_program(ig_ctx *c, ig_model *m, ig_program *p, bool describe);
// Handles the status of reading the program. With options.inspect an error becomes a finding.
ig_status ig_model_settle(ig_ctx *c, ig_model *m, ig_status st);

void ig_model_stage(const ig_model *m, const char *stage, uint64_t done, uint64_t total);
// A member by its name under the root; NULL: none.
const ig_zip_entry *ig_model_find(const ig_model *m, const char *name);
// The text of a short member without trailing white space, in the model's arena; NULL: none.
const char *ig_model_member_text(ig_ctx *c, ig_model *m, const char *name);

// Part of ig_session_set_examples.
ig_status ig_model_set_examples(ig_ctx *c, const ig_model *m, ig_session *s);

// The formats.
ig_status ig_model_open_pt2(ig_ctx *c, ig_model *m);
ig_status ig_model_open_script(ig_ctx *c, ig_model *m);
void *ig_model_start_script(ig_ctx *c, const ig_model *m);
void ig_model_stop_script(ig_ctx *c, void *state);
ig_status ig_model_run_script(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                              ig_value *outs);
ig_status ig_model_verify_script(ig_ctx *c, const ig_model *m);
ig_status ig_model_export_script(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                                 ig_program **out);
ig_status ig_model_open_torch(ig_ctx *c, ig_model *m);
ig_status ig_model_open_npz(ig_ctx *c, ig_model *m);
ig_status ig_model_open_npy(ig_ctx *c, ig_model *m);
ig_status ig_model_open_safetensors(ig_ctx *c, ig_model *m);
ig_status ig_model_open_onnx(ig_ctx *c, ig_model *m);
extern const struct ig_plan_nodes ig_model_onnx_nodes;
ig_status ig_model_run_onnx(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                            ig_value *outs);
ig_status ig_model_verify_onnx(ig_ctx *c, const ig_model *m);
void ig_model_close_onnx(ig_model *m);

#endif
