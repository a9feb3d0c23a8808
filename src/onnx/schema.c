// SPDX-License-Identifier: Apache-2.0
// Looking things up in the tables of ONNX operators. Rows are sorted by domain, name and version,
// so an operator is found by binary search and its versions are adjacent.
#include "onnx/schema.h"

#include <string.h>

#include "onnx_schemas.inc"

enum { COUNT = sizeof(schemas) / sizeof(schemas[0]) };

static const char *plain_domain(const char *domain) {
  return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

int64_t ig_onnx_newest_opset(const char *domain) {
  domain = plain_domain(domain);
  if (!*domain) return IG_ONNX_NEWEST_OPSET;
  if (strcmp(domain, "ai.onnx.ml") == 0) return IG_ONNX_NEWEST_ML;
  int64_t newest = 0;
  for (size_t i = 0; i < COUNT; i++)
    if (strcmp(pool + schemas[i].domain, domain) == 0 && schemas[i].since > newest)
      newest = schemas[i].since;
  return newest;
}

int64_t ig_onnx_newest_ir(void) {
  return IG_ONNX_NEWEST_IR;
}

static int compare(const ig_onnx_schema *s, const char *domain, const char *op) {
  int d = strcmp(pool + s->domain, domain);
  return d ? d : strcmp(pool + s->name, op);
}

const ig_onnx_schema *ig_onnx_schema_first(const char *domain, const char *op) {
  domain = plain_domain(domain);
  size_t lo = 0;
  size_t hi = COUNT;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (compare(&schemas[mid], domain, op) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < COUNT && compare(&schemas[lo], domain, op) == 0 ? &schemas[lo] : NULL;
}

const ig_onnx_schema *ig_onnx_schema_find(const char *domain, const char *op, int64_t opset) {
  const ig_onnx_schema *s = ig_onnx_schema_first(domain, op);
  const ig_onnx_schema *found = NULL;
  for (; s && s < schemas + COUNT && compare(s, plain_domain(domain), op) == 0; s++)
    if (s->since <= opset) found = s;
  return found;
}

size_t ig_onnx_schema_count(void) {
  return COUNT;
}

const ig_onnx_schema *ig_onnx_schema_at(size_t i) {
  return i < COUNT ? &schemas[i] : NULL;
}

const char *ig_onnx_schema_text(uint16_t offset) {
  return pool + offset;
}

static const ig_onnx_param *param_at(const ig_onnx_param *first, size_t n, size_t i) {
  if (i < n) return first + i;
  return n > 0 && first[n - 1].option == IG_ONNX_VARIADIC ? first + n - 1 : NULL;
}

const ig_onnx_param *ig_onnx_schema_input(const ig_onnx_schema *s, size_t i) {
  return param_at(parameters + s->first_in, s->ninputs, i);
}

const ig_onnx_param *ig_onnx_schema_output(const ig_onnx_schema *s, size_t i) {
  return param_at(parameters + s->first_out, s->noutputs, i);
}

const ig_onnx_attr_schema *ig_onnx_schema_attrs(const ig_onnx_schema *s) {
  return attributes + s->first_attr;
}

const ig_onnx_attr_schema *ig_onnx_schema_attr(const ig_onnx_schema *s, const char *name) {
  for (size_t i = 0; i < s->nattrs; i++) {
    const ig_onnx_attr_schema *a = attributes + s->first_attr + i;
    if (strcmp(pool + a->name, name) == 0) return a;
  }
  return NULL;
}

const ig_onnx_bound *ig_onnx_schema_bounds(const ig_onnx_schema *s) {
  return bounds + s->first_bound;
}

const ig_onnx_types *ig_onnx_param_types(const ig_onnx_schema *s, const ig_onnx_param *p) {
  return &type_sets[p->var == 0xff ? p->types : bounds[s->first_bound + p->var].types];
}

const char *ig_onnx_elem_name(int64_t elem) {
  static const char *const names[] = {NULL,
                                      "float",
                                      "uint8",
                                      "int8",
                                      "uint16",
                                      "int16",
                                      "int32",
                                      "int64",
                                      "string",
                                      "bool",
                                      "float16",
                                      "double",
                                      "uint32",
                                      "uint64",
                                      "complex64",
                                      "complex128",
                                      "bfloat16",
                                      "float8e4m3fn",
                                      "float8e4m3fnuz",
                                      "float8e5m2",
                                      "float8e5m2fnuz",
                                      "uint4",
                                      "int4",
                                      "float4e2m1",
                                      "float8e8m0",
                                      "uint2",
                                      "int2",
                                      "float6e2m3",
                                      "float6e3m2"};
  return elem > 0 && elem < (int64_t)(sizeof(names) / sizeof(names[0])) ? names[elem] : NULL;
}
