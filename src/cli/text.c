// SPDX-License-Identifier: Apache-2.0
// Short descriptions of values and of inputs and outputs.
#include <inttypes.h>

#include "cli/cli.h"

static const char *describe_tensor(const ig_tensor *t, char *text, size_t cap) {
  size_t n = (size_t)snprintf(text, cap, "%s[", ig_dtype_text(ig_tensor_dtype(t)));
  for (int d = 0; d < ig_tensor_ndim(t) && n < cap; d++) {
    ig_int size = ig_tensor_size(t, d);
    const char *comma = d ? ", " : "";
    n += (size_t)(size.expr ? snprintf(text + n, cap - n, "%s?", comma)
                            : snprintf(text + n, cap - n, "%s%" PRId64, comma, size.value));
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return text;
}

static bool describe_texts(const ig_value *v, char *text, size_t cap) {
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  if (!ig_texts_measure(v, sizes, &ndim)) return false;
  size_t n = (size_t)snprintf(text, cap, "string[");
  for (int d = 0; d < ndim && n < cap; d++) {
    n += (size_t)snprintf(text + n, cap - n, "%s%" PRId64, d ? ", " : "", sizes[d]);
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return true;
}

const char *cli_describe(const ig_value *v, char *text, size_t cap) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return describe_tensor(v->tensor, text, cap);
    case IG_KIND_INT:
      (void)snprintf(text, cap, "%" PRId64, v->i.value);
      return text;
    case IG_KIND_FLOAT:
      (void)snprintf(text, cap, "%.17g", v->f);
      return text;
    case IG_KIND_BOOL:
      (void)snprintf(text, cap, "%s", v->b ? "True" : "False");
      return text;
    case IG_KIND_STR:
      (void)snprintf(text, cap, "'%s'", v->str);
      return text;
    case IG_KIND_NONE:
      (void)snprintf(text, cap, "None");
      return text;
    case IG_KIND_LIST:
      if (v->list.n && describe_texts(v, text, cap)) return text;
      (void)snprintf(text, cap, "a list");
      return text;
    case IG_KIND_INTS:
      (void)snprintf(text, cap, "a list");
      return text;
    default:
      (void)snprintf(text, cap, "a value");
      return text;
  }
}

const char *cli_port_text(const ig_model_port *p, char *text, size_t cap) {
  if (!ig_port_is_array(p)) return cli_describe(&p->value, text, cap);
  size_t n = (size_t)snprintf(text, cap, "%s[", p->texts ? "string" : ig_dtype_text(p->dtype));
  if (p->ndim < 0 && n < cap) n += (size_t)snprintf(text + n, cap - n, "...");
  for (int d = 0; d < p->ndim && n < cap; d++) {
    const ig_model_dim *dim = p->dims[d];
    const char *comma = d ? ", " : "";
    n += (size_t)(dim->name ? snprintf(text + n, cap - n, "%s%s", comma, dim->name)
                            : snprintf(text + n, cap - n, "%s%" PRId64, comma, dim->value));
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return text;
}
