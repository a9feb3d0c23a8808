// SPDX-License-Identifier: Apache-2.0
// Names of precisions, and the forms of linear layers that they stand for.
#include "model/session.h"

typedef struct facts {
  const char *name;
  ig_layer_method method;
} facts;

static const facts *facts_of(ig_precision p) {
  static const facts list[IG_PRECISION_COUNT] = {
      [IG_PRECISION_F32] = {"f32", IG_LAYER_NONE},
      [IG_PRECISION_INT8] = {"int8", IG_LAYER_INT8},
      [IG_PRECISION_BF16] = {"bf16", IG_LAYER_BF16},
      [IG_PRECISION_F16] = {"f16", IG_LAYER_F16},
      [IG_PRECISION_INT4] = {"int4", IG_LAYER_INT4},
      [IG_PRECISION_DYNAMIC_INT8] = {"dynamic_int8", IG_LAYER_DYNAMIC8},
  };
  return (unsigned)p < IG_PRECISION_COUNT ? &list[p] : &list[IG_PRECISION_DEFAULT];
}

const char *ig_precision_name(ig_precision p) {
  return facts_of(p)->name;
}

ig_precision ig_session_precision(const ig_session *s) {
  const ig_compiled *x = s->m->compiled;
  ig_precision p = s->options.precision;
  if (p == IG_PRECISION_DEFAULT) p = x ? x->precision : IG_PRECISION_F32;
  return p;
}

ig_layer_method ig_session_narrow(const ig_session *s) {
  return facts_of(ig_session_precision(s))->method;
}
