// SPDX-License-Identifier: Apache-2.0
// An ONNX model in memory: the messages of onnx.proto as structs in one arena.
//
// A parsed model guarantees the following: texts are UTF-8; every tensor has exactly as many bytes
// (raw) as its dims and type need, whichever field or file they were in; every name that a node
// reads was defined before it (`in` says where), once; sub-graphs are at most IG_OM_MAX_DEPTH deep;
// functions are not recursive. The operators' schemas (attributes, types) are not checked here.
#ifndef ONNX_PROTO_MODEL_H_
#define ONNX_PROTO_MODEL_H_

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "codec/proto.h"
#include "ingot/file.h"
#include "ingot/onnx.h"

enum { IG_OM_MAX_DEPTH = 32 };

// TensorProto.DataType
typedef enum ig_om_elem {
  IG_OM_UNDEFINED,
  IG_OM_FLOAT,
  IG_OM_UINT8,
  IG_OM_INT8,
  IG_OM_UINT16,
  IG_OM_INT16,
  IG_OM_INT32,
  IG_OM_INT64,
  IG_OM_STRING,
  IG_OM_BOOL,
  IG_OM_FLOAT16,
  IG_OM_DOUBLE,
  IG_OM_UINT32,
  IG_OM_UINT64,
  IG_OM_COMPLEX64,
  IG_OM_COMPLEX128,
  IG_OM_BFLOAT16,
  IG_OM_F8E4M3FN,
  IG_OM_F8E4M3FNUZ,
  IG_OM_F8E5M2,
  IG_OM_F8E5M2FNUZ,
  IG_OM_UINT4,
  IG_OM_INT4,
  IG_OM_F4E2M1,
  IG_OM_F8E8M0,
  IG_OM_UINT2,
  IG_OM_INT2,
  IG_OM_ELEM_COUNT
} ig_om_elem;

const char *ig_om_elem_text(int elem);  // "float16"; "type 99"-like texts are the caller's
unsigned ig_om_elem_bits(int elem);     // 0: strings and unknown types
size_t ig_om_elem_part(int elem);       // bytes whose order matters: of a complex number half
ig_dtype ig_om_elem_dtype(int elem);    // IG_DTYPE_COUNT: no dtype of its own
int ig_om_elem_of(ig_dtype dtype);

typedef struct ig_om_entry {
  const char *key;
  const char *value;
} ig_om_entry;

// Fields that are not interpreted (quantization annotations, training, devices): kept verbatim.
typedef struct ig_om_rest {
  size_t n;
  const ig_proto_field *at;
} ig_om_rest;

// TensorProto. Exactly one of raw and strings holds the elements.
typedef struct ig_om_tensor {
  const char *name;
  const char *doc;
  int elem;
  int ndim;
  const int64_t *dims;
  int64_t numel;
  ig_bytes raw;             // in the machine's byte order, sub-byte elements packed, low bits first
  ig_file *file;            // the file that contains raw, kept by the model; NULL: other memory
  bool own;                 // raw is memory of the model's arena
  const ig_bytes *strings;  // elem STRING
  bool external;
  size_t nexternal;
  const ig_om_entry *externals;  // as written
} ig_om_tensor;

typedef struct ig_om_sparse {
  const ig_om_tensor *values;  // its name is the name of the whole
  const ig_om_tensor *indices;
  int ndim;
  const int64_t *dims;
} ig_om_sparse;

typedef enum ig_om_kind {
  IG_OM_NO_TYPE,
  IG_OM_TENSOR_TYPE,
  IG_OM_SEQUENCE_TYPE,
  IG_OM_MAP_TYPE,
  IG_OM_OPTIONAL_TYPE,
  IG_OM_SPARSE_TYPE,
  IG_OM_OPAQUE_TYPE,
} ig_om_kind;

typedef struct ig_om_dim {
  int64_t value;      // -1: not a number
  const char *param;  // NULL: no name
  const char *denotation;
} ig_om_dim;

typedef struct ig_om_type {
  ig_om_kind kind;
  int elem;  // tensors; keys of maps
  bool has_shape;
  int ndim;
  const ig_om_dim *dims;
  const struct ig_om_type *of;  // elements of sequences and optionals, values of maps
  const char *denotation;
} ig_om_type;

typedef struct ig_om_info {
  const char *name;
  const char *doc;
  ig_om_type type;
  size_t nmetadata;
  const ig_om_entry *metadata;
} ig_om_info;

typedef struct ig_om_graph ig_om_graph;
typedef struct ig_om_function ig_om_function;

typedef enum ig_om_attr_type {
  IG_OM_ATTR_UNDEFINED,
  IG_OM_ATTR_FLOAT,
  IG_OM_ATTR_INT,
  IG_OM_ATTR_STRING,
  IG_OM_ATTR_TENSOR,
  IG_OM_ATTR_GRAPH,
  IG_OM_ATTR_FLOATS,
  IG_OM_ATTR_INTS,
  IG_OM_ATTR_STRINGS,
  IG_OM_ATTR_TENSORS,
  IG_OM_ATTR_GRAPHS,
  IG_OM_ATTR_SPARSE,
  IG_OM_ATTR_SPARSES,
  IG_OM_ATTR_TYPE,
  IG_OM_ATTR_TYPES,
  IG_OM_ATTR_COUNT
} ig_om_attr_type;

typedef struct ig_om_attr {
  const char *name;
  const char *doc;
  const char *ref;  // inside functions: the referenced attribute of the caller; NULL: none
  ig_om_attr_type type;
  bool mixed;  // its value is of a different type than declared, or of several
  size_t n;    // elements of the one list below that is not NULL; 1 for the plain forms, 0 with ref
  float f;
  int64_t i;
  ig_bytes s;
  const float *floats;
  const int64_t *ints;
  const ig_bytes *strings;
  const ig_om_tensor *const *tensors;  // TENSOR: one
  ig_om_graph *const *graphs;          // GRAPH: one
  const ig_om_sparse *const *sparses;
  const ig_om_type *types;
} ig_om_attr;

// Where a value is: `up` graphs outwards, at `slot`. up < 0: an absent optional input.
typedef struct ig_om_ref {
  int32_t up;
  uint32_t slot;
} ig_om_ref;

enum { IG_OM_NO_SLOT = 0x7fffffff };

typedef struct ig_om_node {
  const char *name;
  const char *op_type;
  const char *domain;  // "" is the default one, however it was written
  const char *overload;
  const char *doc;
  size_t ninputs;
  const char *const *inputs;
  size_t noutputs;
  const char *const *outputs;
  size_t nattrs;
  const ig_om_attr *attrs;
  size_t nmetadata;
  const ig_om_entry *metadata;
  ig_om_rest rest;
  // found while resolving
  const ig_om_ref *in;
  const uint32_t *out;  // IG_OM_NO_SLOT: cannot be read
  size_t ndrops;        // slots of this graph that are not read after this node
  const uint32_t *drops;
  const ig_om_function *function;  // of the model; NULL: an operator
} ig_om_node;

struct ig_om_graph {
  const char *name;
  const char *doc;
  size_t nnodes;
  ig_om_node *nodes;
  size_t ninputs;
  const ig_om_info *inputs;
  size_t noutputs;
  const ig_om_info *outputs;
  size_t nvalues;
  const ig_om_info *values;
  size_t ninits;
  const ig_om_tensor *const *inits;
  size_t nsparse;
  const ig_om_sparse *const *sparse;
  size_t nmetadata;
  const ig_om_entry *metadata;
  ig_om_rest rest;
  // found while resolving
  const ig_om_graph *outer;
  size_t nslots;
  const uint32_t *input_slots;
  const bool *input_defaults;  // inputs that an initializer gives a value
  const uint32_t *init_slots;
  const uint32_t *sparse_slots;
  const ig_om_ref *output_refs;
};

typedef struct ig_om_opset {
  const char *domain;
  int64_t version;
} ig_om_opset;

struct ig_om_function {
  const char *name;
  const char *domain;
  const char *overload;
  const char *doc;
  size_t nattrs;
  const char *const *attrs;  // names without a default
  size_t ndefaults;
  const ig_om_attr *defaults;
  size_t nopsets;
  const ig_om_opset *opsets;
  ig_om_graph *body;  // inputs and outputs have names only
  unsigned mark;      // while looking for recursion
};

struct ig_onnx_model {
  ig_ref ref;
  ig_alloc alloc;
  ig_arena arena;
  ig_file *file;  // the mapping that the model was parsed from; NULL: borrowed memory
  const char *name;
  const char *folder;  // folder of external data; NULL: external data is an error
  int64_t ir_version;
  const char *producer_name;
  const char *producer_version;
  const char *domain;
  int64_t model_version;
  const char *doc;
  ig_om_graph *graph;
  size_t nopsets;
  const ig_om_opset *opsets;
  size_t nmetadata;
  const ig_om_entry *metadata;
  size_t nfunctions;
  ig_om_function *functions;
  ig_om_rest rest;
  IG_VEC(struct ig_om_file {
    const char *location;
    ig_file *file;
  })
  files;
  size_t nodes_left;  // budget while parsing
  size_t values_left;
};

// Attribute by name, references of functions not followed; NULL: none.
const ig_om_attr *ig_om_find_attr(const ig_om_node *n, const char *name);
// Version of a domain ("" the default one), 0: not imported.
int64_t ig_om_opset_version(const ig_om_opset *opsets, size_t n, const char *domain);
// "node 'conv1' (Conv)" or "node 3 (Conv)"
const char *ig_om_node_text(const ig_om_graph *g, const ig_om_node *n, char *room, size_t size);

struct ig_str;
// As text, in the form of PyTorch's export_to_pretty_string (print.c).
void ig_onnx_print(struct ig_str *s, const ig_onnx_model *m);

// From bytes that outlive the model, which refers to them; external data is an error.
IG_MUST_USE ig_status ig_om_parse_borrowed(ig_ctx *c, const char *name, ig_bytes bytes,
                                           ig_onnx_model **out);

// ---- writing (proto_write.c)

// A model as bytes: into the sink, or, if path is not NULL, into a file, with the weights in path +
// ".data" as `how` says. External data of the model is included either way. The results of
// resolving are not needed. IG_UNSUPPORTED: more than 2 GiB for one file.
IG_MUST_USE ig_status ig_om_write(ig_ctx *c, const ig_onnx_model *m, ig_onnx_external how,
                                  const char *path, ig_sink *sink);
// The same; weights in a file of their own have at least so many bytes.
IG_MUST_USE ig_status ig_om_write_from(ig_ctx *c, const ig_onnx_model *m, ig_onnx_external how,
                                       size_t least, const char *path, ig_sink *sink);
// In two parts: the model without weights, and the weights, aligned. ig_om_open_parts reads them.
IG_MUST_USE ig_status ig_om_write_parts(ig_ctx *c, const ig_onnx_model *m, ig_sink *model,
                                        ig_sink *weights);
// Both are retained.
IG_MUST_USE ig_status ig_om_open_parts(ig_ctx *c, const char *name, ig_file *model,
                                       ig_file *weights, const ig_limits *limits,
                                       ig_onnx_model **out);
// The location that stands for the second part; no path.
#define IG_OM_WEIGHTS "/"

#endif
