// SPDX-License-Identifier: Apache-2.0
// Layers of drawn networks: the network that is being made, arguments, weights, calls.
#ifndef TESTS_FUZZ_NETS_LAYERS_H_
#define TESTS_FUZZ_NETS_LAYERS_H_

#include "program.h"

typedef struct net {
  fuzz_program *p;
  ig_ctx *c;
  draw *d;
  ig_tensor *x;      // what the next layer reads
  ig_tensor *saved;  // an earlier value, for residuals and concatenations
  uint32_t seed;     // of the next weights
} net;

// The usual number, rarely one that no layer should have.
int64_t net_number(net *n, int64_t usual);
int64_t net_between(net *n, int64_t first, int64_t last);

// Lists that live as long as the innermost scope.
ig_value net_repeated(net *n, int64_t v, size_t count);
ig_value net_ints(net *n, const int64_t *v, size_t count);
ig_value net_list(net *n, ig_tensor *const *v, size_t count);

int64_t net_size(const ig_tensor *t, int dim);  // 1 for dims that t does not have
int64_t net_last_size(const ig_tensor *t);

// Numbers between shift - scale and shift + scale, in the dtype of the network if that is a
// floating-point one; NULL: not made.
ig_tensor *net_weights(net *n, const int64_t *sizes, int ndim, double scale, double shift);
ig_tensor *net_vector(net *n, int64_t size, double scale, double shift);

// Calls of the program with the leading arguments, the others by default; NULL: refused.
ig_tensor *net_call(net *n, unsigned id, const ig_value *given, size_t count);
ig_tensor *net_unary(net *n, unsigned id, ig_tensor *x);
ig_tensor *net_binary(net *n, unsigned id, ig_tensor *a, ig_tensor *b);

// A layer on quantized tensors, or one that leads to or from them.
ig_tensor *net_quantized(net *n);

#endif
