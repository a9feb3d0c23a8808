// SPDX-License-Identifier: Apache-2.0
// Shared by the files that parse ONNX models. Errors are set in the context.
#ifndef ONNX_PROTO_PARSE_H_
#define ONNX_PROTO_PARSE_H_

#include "codec/proto.h"
#include "onnx/proto_model.h"

typedef struct ig_om_parser {
  ig_ctx *c;
  ig_onnx_model *m;
  int graph_depth;
  int depth;  // of types in types
} ig_om_parser;

ig_status ig_om_parse_model(ig_om_parser *p, ig_proto *in);
const ig_om_tensor *ig_om_parse_tensor(ig_om_parser *p, ig_proto *in);
const ig_om_sparse *ig_om_parse_sparse(ig_om_parser *p, ig_proto *in);
void ig_om_parse_type(ig_om_parser *p, ig_proto *in, ig_om_type *out);
void ig_om_parse_attr(ig_om_parser *p, ig_proto *in, ig_om_attr *out);
ig_om_graph *ig_om_parse_graph(ig_om_parser *p, ig_proto *in);
bool ig_om_parse_node(ig_om_parser *p, ig_proto *in, ig_om_node *out);
bool ig_om_parse_info(ig_om_parser *p, ig_proto *in, ig_om_info *out);
bool ig_om_parse_entry(ig_om_parser *p, ig_proto *in, ig_om_entry *out);
// Copies a growing vector into the arena and frees it; NULL when empty or out of memory (error
// set).
void *ig_om_settle(ig_om_parser *p, void *at, size_t n, size_t cap, size_t elem);
#define IG_OM_SETTLE(p, vec) ig_om_settle((p), (vec)->at, (vec)->n, (vec)->cap, sizeof *(vec)->at)
void *ig_om_push(ig_om_parser *p, size_t size);  // arena, zeroed; NULL after an error
// The bytes of external data; IG_SYNTAX, IG_IO.
ig_status ig_om_external(ig_om_parser *p, ig_om_tensor *t, size_t bytes);
// Slots, order, single assignment, functions.
ig_status ig_om_resolve(ig_ctx *c, ig_onnx_model *m);

#endif
