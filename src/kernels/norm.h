// SPDX-License-Identifier: Apache-2.0
// Layer, batch and group normalization: float types; half types compute in f32. Parameters and
// statistics (gamma, beta, mean, rstd, running ones) have the type `param`, which is `elem` or, for
// half types, may be F32. rstd = 1 / sqrt(biased variance + eps). Pointers marked "may be NULL" are
// optional: gamma is then 1, beta 0, and outputs are not written.
#ifndef KERNELS_NORM_H_
#define KERNELS_NORM_H_

#include "kernels/reduce_elem.h"

typedef struct ig_norm_layer {
  ig_elem elem;
  ig_elem param;
  int64_t rows;
  int64_t n;  // normalized elements per row
} ig_norm_layer;

// x[rows][n], gamma[n] and beta[n] may be NULL -> y[rows][n], mean[rows] and rstd[rows] may be
// NULL.
void ig_norm_layer_forward(const ig_norm_layer *s, const void *x, const void *gamma,
                           const void *beta, double eps, void *y, void *mean, void *rstd);
typedef struct ig_norm_layer_grads {
  void *dx;      // [rows][n], may be NULL
  void *dgamma;  // [n], may be NULL
  void *dbeta;   // [n], may be NULL
} ig_norm_layer_grads;
void ig_norm_layer_backward(const ig_norm_layer *s, const void *dy, const void *x, const void *mean,
                            const void *rstd, const void *gamma, ig_norm_layer_grads g);
// y = x * gamma / sqrt(mean(x^2) + eps): x[rows][n], gamma[n] may be NULL, rstd[rows] may be NULL.
void ig_norm_rms_forward(const ig_norm_layer *s, const void *x, const void *gamma, double eps,
                         void *y, void *rstd);

typedef struct ig_norm_batch {
  ig_elem elem;
  ig_elem param;
  bool channels_last;  // x is [n][spatial][c], else [n][c][spatial]
  int64_t n;
  int64_t c;
  int64_t spatial;    // product of the spatial sizes, 1 for [n][c]
  const void *gamma;  // [c], may be NULL
  const void *beta;   // [c], may be NULL
} ig_norm_batch;

// Per channel: mean and biased variance of x. mean[c], var[c] of type param.
void ig_norm_batch_stats(const ig_norm_batch *s, const void *x, void *mean, void *var);
// Training: statistics of x; y, save_mean[c] and save_rstd[c] are written (none NULL), running
// ones (may be NULL) become (1 - momentum) * running + momentum * new, the variance unbiased there.
void ig_norm_batch_train(const ig_norm_batch *s, const void *x, double momentum, double eps,
                         void *running_mean, void *running_var, void *y, void *save_mean,
                         void *save_rstd);
// Inference: y = (x - mean) / sqrt(var + eps) * gamma + beta, mean[c] and var[c] given.
void ig_norm_batch_infer(const ig_norm_batch *s, const void *x, const void *mean, const void *var,
                         double eps, void *y);

typedef struct ig_norm_batch_grads {
  void *dx;      // like x, may be NULL
  void *dgamma;  // [c], may be NULL
  void *dbeta;   // [c], may be NULL
} ig_norm_batch_grads;
// train: mean and rstd are those saved by the forward pass and depend on x; else constants.
void ig_norm_batch_backward(const ig_norm_batch *s, bool train, const void *dy, const void *x,
                            const void *mean, const void *rstd, ig_norm_batch_grads g);

typedef struct ig_norm_group {
  ig_elem elem;
  ig_elem param;
  int64_t n;
  int64_t c;  // a multiple of groups
  int64_t spatial;
  int64_t groups;
} ig_norm_group;
// x[n][c][spatial], gamma[c] and beta[c] may be NULL -> y, mean[n][groups] and rstd[n][groups] (may
// be NULL).
void ig_norm_group_forward(const ig_norm_group *s, const void *x, const void *gamma,
                           const void *beta, double eps, void *y, void *mean, void *rstd);
// dx like x, dgamma[c], dbeta[c]: each may be NULL.
void ig_norm_group_backward(const ig_norm_group *s, const void *dy, const void *x, const void *mean,
                            const void *rstd, const void *gamma, ig_norm_batch_grads g);

#endif
