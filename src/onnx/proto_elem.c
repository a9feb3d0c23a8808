// SPDX-License-Identifier: Apache-2.0
// The element types of ONNX: names, widths, dtypes.
#include <stdio.h>
#include <string.h>

#include "onnx/proto_model.h"

static const struct {
  const char *text;
  uint8_t bits;
  uint8_t dtype;  // IG_DTYPE_COUNT: none
} elems[IG_OM_ELEM_COUNT] = {
    [IG_OM_UNDEFINED] = {"undefined", 0, IG_DTYPE_COUNT},
    [IG_OM_FLOAT] = {"float32", 32, IG_F32},
    [IG_OM_UINT8] = {"uint8", 8, IG_U8},
    [IG_OM_INT8] = {"int8", 8, IG_I8},
    [IG_OM_UINT16] = {"uint16", 16, IG_U16},
    [IG_OM_INT16] = {"int16", 16, IG_I16},
    [IG_OM_INT32] = {"int32", 32, IG_I32},
    [IG_OM_INT64] = {"int64", 64, IG_I64},
    [IG_OM_STRING] = {"string", 0, IG_DTYPE_COUNT},
    [IG_OM_BOOL] = {"bool", 8, IG_BOOL},
    [IG_OM_FLOAT16] = {"float16", 16, IG_F16},
    [IG_OM_DOUBLE] = {"float64", 64, IG_F64},
    [IG_OM_UINT32] = {"uint32", 32, IG_U32},
    [IG_OM_UINT64] = {"uint64", 64, IG_U64},
    [IG_OM_COMPLEX64] = {"complex64", 64, IG_C64},
    [IG_OM_COMPLEX128] = {"complex128", 128, IG_C128},
    [IG_OM_BFLOAT16] = {"bfloat16", 16, IG_BF16},
    [IG_OM_F8E4M3FN] = {"float8e4m3fn", 8, IG_F8E4M3FN},
    [IG_OM_F8E4M3FNUZ] = {"float8e4m3fnuz", 8, IG_DTYPE_COUNT},
    [IG_OM_F8E5M2] = {"float8e5m2", 8, IG_F8E5M2},
    [IG_OM_F8E5M2FNUZ] = {"float8e5m2fnuz", 8, IG_DTYPE_COUNT},
    [IG_OM_UINT4] = {"uint4", 4, IG_DTYPE_COUNT},
    [IG_OM_INT4] = {"int4", 4, IG_DTYPE_COUNT},
    [IG_OM_F4E2M1] = {"float4e2m1", 4, IG_DTYPE_COUNT},
    [IG_OM_F8E8M0] = {"float8e8m0", 8, IG_DTYPE_COUNT},
    [IG_OM_UINT2] = {"uint2", 2, IG_DTYPE_COUNT},
    [IG_OM_INT2] = {"int2", 2, IG_DTYPE_COUNT},
};

const char *ig_om_elem_text(int elem) {
  return elem >= 0 && elem < IG_OM_ELEM_COUNT ? elems[elem].text : "an unknown type";
}

unsigned ig_om_elem_bits(int elem) {
  return elem >= 0 && elem < IG_OM_ELEM_COUNT ? elems[elem].bits : 0;
}

size_t ig_om_elem_part(int elem) {
  unsigned bits = ig_om_elem_bits(elem);
  if (elem == IG_OM_COMPLEX64 || elem == IG_OM_COMPLEX128) bits /= 2;
  return bits < 8 ? 1 : bits / 8;
}

ig_dtype ig_om_elem_dtype(int elem) {
  return elem >= 0 && elem < IG_OM_ELEM_COUNT ? (ig_dtype)elems[elem].dtype : IG_DTYPE_COUNT;
}

int ig_om_elem_of(ig_dtype dtype) {
  for (int i = 0; i < IG_OM_ELEM_COUNT; i++) {
    if (elems[i].bits && elems[i].dtype == (uint8_t)dtype) return i;
  }
  return IG_OM_UNDEFINED;
}

const ig_om_attr *ig_om_find_attr(const ig_om_node *n, const char *name) {
  for (size_t i = 0; i < n->nattrs; i++) {
    if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  }
  return NULL;
}

int64_t ig_om_opset_version(const ig_om_opset *opsets, size_t n, const char *domain) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(opsets[i].domain, domain) == 0) return opsets[i].version;
  }
  return 0;
}

const char *ig_om_node_text(const ig_om_graph *g, const ig_om_node *n, char *room, size_t size) {
  if (n->name[0]) {
    (void)snprintf(room, size, "node '%s' (%s)", n->name, n->op_type);
  } else if (g && n >= g->nodes && n < g->nodes + g->nnodes) {
    (void)snprintf(room, size, "node %zu (%s)", (size_t)(n - g->nodes), n->op_type);
  } else {
    (void)snprintf(room, size, "a node (%s)", n->op_type);
  }
  return room;
}
