// SPDX-License-Identifier: Apache-2.0
// Any bytes as a network: convolutions, norms, pooling, attention, recurrent and linear layers with
// constant weights. It runs eagerly, on fake tensors, captured, decomposed and by plans, which fuse
// its layers; or it is saved as .pt2 or ONNX, values of the file are changed, and the file is used.
#include <string.h>

#include "check.h"
#include "fuzz.h"
#include "ingot/pass.h"
#include "nets.h"
#include "use.h"

enum { MAX_MEMORY = 32 << 20, WITH_MUTATION = FUZZ_WITH_GRAD | FUZZ_WITH_DRAFT };

static void use_mutated(ig_ctx *c, fuzz_program *p, bool dynamic) {
  ig_program *functional = NULL;
  ig_program *ep = p->nsteps ? fuzz_program_export(p, dynamic, false) : NULL;
  if (ep && ig_program_functionalize(c, ep, &functional) == IG_OK)
    fuzz_use_mutated(c, &p->d, functional);
  ig_ctx_clear(c);
  ig_program_free(functional);
  ig_program_free(ep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static fuzz_program p;
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  draw d = {data, n};
  unsigned what = draw_byte(&d) | FUZZ_WITH_EXPORT;
  bool mutated = (what & WITH_MUTATION) == WITH_MUTATION;
  bool grads = !mutated && (what & FUZZ_WITH_GRAD);
  // The last quarter changes the file.
  size_t rest = mutated ? d.n / 4 : 0;
  ig_scope scope = ig_scope_open(c);
  fuzz_net_make(c, (draw){d.at, d.n - rest}, grads, &p);
  p.d = (draw){d.at + d.n - rest, rest};
  if (mutated) {
    use_mutated(c, &p, what & FUZZ_WITH_DIMS);
  } else {
    fuzz_program_check(&p, what);
  }
  ig_scope_close(c, scope);
  memset(&p, 0, sizeof p);  // unreachable blocks are reported as leaks
  fuzz_close(c);
  return 0;
}
