// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers over all parameters at once: the elements of all tensors are divided into
// blocks, which the threads share. Every element is read and written once. Half types are computed
// in float and rounded once.
#ifndef KERNELS_OPTIM_H_
#define KERNELS_OPTIM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/reduce_elem.h"

enum { IG_OPTIM_STATES = 3 };

// A parameter: n elements in each array, which do not overlap.
typedef struct ig_optim_item {
  void *param;
  void *grad;  // written only if it has to be unscaled
  void *state[IG_OPTIM_STATES];
  int64_t n;
  double step;    // the number of this step, from 1 on
  int64_t first;  // of its blocks; set by ig_optim_run
} ig_optim_item;

typedef enum ig_optim_kind { IG_OPTIM_ADAM, IG_OPTIM_SGD, IG_OPTIM_ADAGRAD } ig_optim_kind;

typedef struct ig_optim {
  ig_optim_kind kind;
  ig_elem elem;  // f32, f64, f16 or bf16: of all arrays
  double lr;
  double weight_decay;
  bool maximize;
  double unscale;  // gradients are multiplied by it first, and written back; 1: not
  // Adam: state is {mean of gradients, of their squares, greatest so far (amsgrad)}
  double beta1;
  double beta2;
  double eps;  // Adagrad too
  bool amsgrad;
  bool decoupled;  // weight decay shrinks the parameter instead of changing the gradient
  // SGD: state is {momentum}, absent without momentum
  double momentum;
  double dampening;
  bool nesterov;
  bool first_step;  // momentum has no value yet
  // Adagrad: state is {sum of squares}
  double lr_decay;
} ig_optim;

void ig_optim_run(const ig_optim *o, ig_optim_item *items, size_t n);

#endif
