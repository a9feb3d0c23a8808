// SPDX-License-Identifier: Apache-2.0
// ingot convert: a program into another format.
#include "cli/cli.h"

static int run(ig_ctx *c, int argc, char **argv) {
  cli_args args;
  int code = cli_parse(&cli_convert, argc, argv, NULL, 0, 2, &args);
  if (code != CLI_OK) return code;
  const char *to = args.files[1];
  bool onnx = cli_has_suffix(to, ".onnx");
  if (!onnx && !cli_has_suffix(to, ".pt2")) {
    return cli_usage(&cli_convert, "%s: the name must end in .onnx or .pt2", to);
  }
  ig_program *p = NULL;
  if (ig_program_load(c, args.files[0], &p) != IG_OK) return cli_fail(c);
  ig_status st = onnx ? ig_program_save_onnx(c, p, to) : ig_program_save(c, p, to);
  ig_program_free(p);
  return st == IG_OK ? CLI_OK : cli_fail(c);
}

const cli_command cli_convert = {
    .name = "convert",
    .arguments = "MODEL.pt2 OUT",
    .summary = "write a program in another format",
    .details = "OUT tells the format by its ending: .onnx (opset 18) or .pt2.",
    .run = run,
};
