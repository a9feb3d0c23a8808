// SPDX-License-Identifier: Apache-2.0
// What the ONNX standard says of its operators: every version of every operator with its inputs,
// outputs, attributes and permitted types. The tables are constant and made by the build out of
// ops.tsv. Names are offsets into one pool of text: ig_onnx_schema_text.
#ifndef ONNX_SCHEMA_H_
#define ONNX_SCHEMA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A set of types: one mask of element types (bit: TensorProto.DataType) per form, and the maps.
typedef enum ig_onnx_form {
  IG_ONNX_FORM_TENSOR,
  IG_ONNX_FORM_SEQUENCE,
  IG_ONNX_FORM_OPTIONAL,
  IG_ONNX_FORM_OPTIONAL_SEQUENCE,
  IG_ONNX_FORM_COUNT,
} ig_onnx_form;
typedef struct ig_onnx_types {
  uint32_t forms[IG_ONNX_FORM_COUNT];
  uint16_t maps;
} ig_onnx_types;

enum { IG_ONNX_SINGLE, IG_ONNX_OPTIONAL, IG_ONNX_VARIADIC };
typedef struct ig_onnx_param {
  uint16_t name;
  uint8_t option;  // IG_ONNX_SINGLE ...
  uint8_t mixed;   // variadic whose members may have different types
  uint8_t var;     // number of its type variable among the bounds; 0xff: a fixed type
  uint8_t types;   // that fixed type
} ig_onnx_param;

typedef struct ig_onnx_attr_schema {
  uint16_t name;
  uint16_t value;  // text of the default; 0: none
  uint8_t type;    // AttributeProto.AttributeType
  uint8_t required;
} ig_onnx_attr_schema;

typedef struct ig_onnx_bound {
  uint16_t name;  // "T"
  uint8_t types;
} ig_onnx_bound;

enum { IG_ONNX_ENDLESS = 0xffff };
typedef struct ig_onnx_schema {
  uint16_t domain;
  uint16_t name;
  uint8_t since;  // first opset of this version
  uint8_t deprecated;
  uint8_t ninputs;  // of parameters; the last may be variadic
  uint8_t noutputs;
  uint8_t nattrs;
  uint8_t nbounds;
  uint16_t min_in;
  uint16_t max_in;  // IG_ONNX_ENDLESS
  uint16_t min_out;
  uint16_t max_out;
  uint16_t first_in;
  uint16_t first_out;
  uint16_t first_attr;
  uint16_t first_bound;
} ig_onnx_schema;

int64_t ig_onnx_newest_opset(const char *domain);  // 0: a domain that the standard does not have
int64_t ig_onnx_newest_ir(void);
// The version of an operator that an opset uses; NULL: unknown there. "ai.onnx" and "" are the
// same.
const ig_onnx_schema *ig_onnx_schema_find(const char *domain, const char *op, int64_t opset);
// The first version ever, to tell "not yet" from "never"; NULL: never.
const ig_onnx_schema *ig_onnx_schema_first(const char *domain, const char *op);

const char *ig_onnx_schema_text(uint16_t offset);
const ig_onnx_param *ig_onnx_schema_input(const ig_onnx_schema *s, size_t i);   // NULL: too many
const ig_onnx_param *ig_onnx_schema_output(const ig_onnx_schema *s, size_t i);  // likewise
const ig_onnx_attr_schema *ig_onnx_schema_attr(const ig_onnx_schema *s, const char *name);
const ig_onnx_attr_schema *ig_onnx_schema_attrs(const ig_onnx_schema *s);  // s->nattrs of them
const ig_onnx_bound *ig_onnx_schema_bounds(const ig_onnx_schema *s);       // s->nbounds of them
const ig_onnx_types *ig_onnx_param_types(const ig_onnx_schema *s, const ig_onnx_param *p);

const char *ig_onnx_elem_name(int64_t elem);  // "float" for 1; NULL: no such element type

#endif
