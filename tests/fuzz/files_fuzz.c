// SPDX-License-Identifier: Apache-2.0
// Files that are valid except for a few values: a small program (made from bytes as in ops_fuzz) is
// saved as .pt2, ONNX or a TorchScript archive, or an archive is made from a source; values of the
// document are changed in place, and the file is opened, described, verified, run and converted, as
// by the command, within small budgets.
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "fuzz.h"
#include "ingot/pass.h"
#include "mutate.h"
#include "pt2/archive.h"
#include "use.h"

enum { MAX_MEMORY = 32 << 20 };

static void mutate_and_use_archive(ig_ctx *c, draw *d, fuzz_program *p, bool traced) {
  ig_sink base = ig_sink_memory(c->alloc);
  ig_sink changed = ig_sink_memory(c->alloc);
  bool ok = traced ? fuzz_archive_trace(c, p, &base) : fuzz_archive_script(c, d, &base);
  if (!ok) fuzz_show("no archive: %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);
  ok = ok && fuzz_mutate_archive(c, d, (ig_bytes){base.at, base.n}, &changed);
  ig_ctx_clear(c);
  if (ok) fuzz_use(c, d, (ig_bytes){changed.at, changed.n});
  ig_sink_drop(&base);
  ig_sink_drop(&changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static fuzz_program p;
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  // The first half makes the program, the rest changes its file.
  size_t half = n / 2;
  draw d = {data + half, n - half};
  ig_scope scope = ig_scope_open(c);
  unsigned how = draw_byte(&d);
  bool script = (how & 0xE0) == 0x20;
  bool traced = (how & 0xE0) == 0x40 || (how & 0xE0) == 0x60;
  bool inferred = (how & 0xE0) == 0x80;
  if (inferred) {
    fuzz_program_infer(c, (draw){data, half}, 1 + how % 4, &p);
  } else if (!script) {
    fuzz_program_make(c, (draw){data, half}, 1 + how % 4, false, &p);
  }
  if (script || (traced && p.nsteps)) mutate_and_use_archive(c, &d, &p, traced);
  ig_program *ep = !script && !traced && p.nsteps ? fuzz_program_export(&p, how & 16, false) : NULL;
  ig_program *functional = NULL;
  if (ep && ig_program_functionalize(c, ep, &functional) == IG_OK)
    fuzz_use_mutated(c, &d, functional);
  ig_program_free(functional);
  ig_program_free(ep);
  ig_scope_close(c, scope);
  memset(&p, 0, sizeof p);  // unreachable blocks are reported as leaks
  fuzz_close(c);
  return 0;
}
