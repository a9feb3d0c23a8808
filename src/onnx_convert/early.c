// SPDX-License-Identifier: Apache-2.0
// Programs at opsets older than those of the writer: written at its oldest opset, read back and
// converted.
#include "base/cause.h"
#include "base/file.h"
#include "base/options.h"
#include "ingot/file.h"
#include "ingot/onnx.h"
#include "onnx/proto_model.h"
#include "onnx_convert/convert.h"

enum { FIRST = 7 };

static ig_status convert(ig_ctx *c, const ig_program *p, const ig_onnx_options *options,
                         const char *path, ig_sink *sink) {
  ig_onnx_options at;
  IG_OPTIONS_TAKE(&at, options, user);
  at.opset = IG_ONNX_OPSET_OLDEST;
  at.converted_to = options->opset;
  ig_onnx_model *m = NULL;
  ig_sink bytes = ig_sink_memory(c->alloc);
  ig_status st = ig_program_write_onnx(c, p, &at, &bytes);
  if (st == IG_OK) st = ig_sink_close(c, &bytes);
  if (st == IG_OK) st = ig_om_parse_borrowed(c, "model", (ig_bytes){bytes.at, bytes.n}, &m);
  // The TorchScript exporter writes what users' translations made, then checks it.
  if (st == IG_OK)
    st = ig_cv_convert(c, m, options->opset, options->external, path, sink, options->torchscript);
  ig_onnx_free(m);
  ig_sink_drop(&bytes);
  return st;
}

ig_status ig_program_convert_onnx(ig_ctx *c, const ig_program *p, const ig_onnx_options *options,
                                  const char *path, struct ig_sink *sink) {
  int opset = options ? options->opset : 0;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  if (opset && (opset < FIRST || opset > IG_ONNX_OPSET_NEWEST))
    return ig_fail(c, IG_INVALID | IG_E_ONNX_OPSET, "ONNX: opset %d is not known, %d to %d are",
                   opset, FIRST, IG_ONNX_OPSET_NEWEST);
  if (opset && opset < IG_ONNX_OPSET_OLDEST) return convert(c, p, options, path, sink);
  return path ? ig_program_save_onnx_as(c, p, options, path)
              : ig_program_write_onnx(c, p, options, sink);
}
