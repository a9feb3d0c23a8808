// SPDX-License-Identifier: Apache-2.0
// Facts about dtypes and devices.
#include <stdlib.h>
#include <string.h>

#include "ingot/tensor.h"
#include "tensor/tensor.h"

static const struct {
  const char *text;
  size_t size;
} dtypes[] = {
#define X(name, type, text, brief) [IG_##name] = {text, sizeof(type)},
    IG_DTYPE_LIST(X)
#undef X
};

const char *ig_dtype_text(ig_dtype d) {
  return (unsigned)d < IG_DTYPE_COUNT ? dtypes[d].text : "tensor";
}

size_t ig_dtype_size(ig_dtype d) {
  return dtypes[d].size;
}

bool ig_dtype_is_float(ig_dtype d) {
  return d == IG_F32 || d == IG_F64 || d == IG_F16 || d == IG_BF16 || d == IG_F8E4M3FN ||
         d == IG_F8E5M2;
}

bool ig_dtype_is_complex(ig_dtype d) {
  return d == IG_C64 || d == IG_C128;
}

bool ig_dtype_is_integral(ig_dtype d) {
  return d >= IG_U8 && d <= IG_U64;
}

bool ig_dtype_is_quantized(ig_dtype d) {
  return d == IG_QI8 || d == IG_QU8 || d == IG_QI32;
}

ig_dtype ig_dtype_carrier(ig_dtype d) {
  return d == IG_QI8 ? IG_I8 : d == IG_QU8 ? IG_U8 : d == IG_QI32 ? IG_I32 : d;
}

ig_dtype ig_dtype_find(const char *text) {
  int d = 0;
  while (d < IG_DTYPE_COUNT && strcmp(dtypes[d].text, text) != 0) d++;
  return (ig_dtype)d;
}

static const char *const device_texts[] = {
#define X(name, text) text,
    IG_DEVICE_LIST(X)
#undef X
};

const char *ig_device_type_text(ig_device d) {
  return device_texts[d.type];
}

void ig_device_refuse(ig_ctx *c, ig_device d) {
  // PyTorch's names. It has a separate message for the backends that it can be built with.
  static const struct {
    const char *name;
    bool built;
  } backends[IG_DEVICE_COUNT] = {
      [IG_DEVICE_CPU] = {"CPU", false},
      [IG_DEVICE_META] = {"Meta", false},
      [IG_DEVICE_CUDA] = {"CUDA", true},
      [IG_DEVICE_MPS] = {"MPS", false},
      [IG_DEVICE_XPU] = {"XPU", true},
      [IG_DEVICE_XLA] = {"XLA", false},
      [IG_DEVICE_HPU] = {"HPU", false},
      [IG_DEVICE_MTIA] = {"MTIA", false},
      [IG_DEVICE_PRIVATE] = {"PrivateUse1", false},
  };
  if (backends[d.type].built) {
    ig_fail_text(c, IG_ASSERTION, "Torch not compiled with %s enabled", backends[d.type].name);
    return;
  }
  ig_fail_text(c, IG_UNSUPPORTED,
               "Could not run 'aten::empty.memory_format' with arguments from the '%s' backend. "
               "This could be because the operator doesn't exist for this backend, or was omitted "
               "during the selective/custom build process (if using custom build). If you are a "
               "Facebook employee using PyTorch on mobile, please visit "
               "https://fburl.com/ptmfixes for possible resolutions. 'aten::empty.memory_format' "
               "is only available for these backends: [CPU, Meta].",
               backends[d.type].name);
}

bool ig_device_parse(const char *text, ig_device *out) {
  const char *colon = strchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : strlen(text);
  int type = 0;
  while (type < IG_DEVICE_COUNT &&
         !(strlen(device_texts[type]) == n && strncmp(device_texts[type], text, n) == 0)) {
    type++;
  }
  if (type == IG_DEVICE_COUNT) return false;
  long index = -1;
  if (colon) {
    char *end = NULL;
    if (colon[1] < '0' || colon[1] > '9') return false;
    index = strtol(colon + 1, &end, 10);
    if (*end || index > INT16_MAX) return false;
  }
  *out = (ig_device){(int16_t)type, (int16_t)index};
  return true;
}
