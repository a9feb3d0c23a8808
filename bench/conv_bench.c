// SPDX-License-Identifier: Apache-2.0
// Microseconds of the f32 forward convolution on planes and as a prepared layer over blocks of
// channels, at 1 and 2 threads: the shapes of the kernel table, and every convolution of ResNet-50,
// MobileNetV2, a small UNet and ViT's stem. GFLOP/s are those of direct sums, whatever the method.
//   conv_bench [--json] [name]   only the shapes of one model
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/threads.h"
#include "kernels/conv.h"
#include "kernels/layer.h"

typedef struct row {
  const char *model;
  int cin;
  int size;  // height and width
  int cout;
  int kernel;
  int stride;
  int padding;
  int groups;
  bool transposed;
} row;

static const row rows[] = {
    {"table", 64, 56, 64, 3, 1, 1, 1, false},
    {"table", 256, 14, 256, 3, 1, 1, 1, false},
    {"table", 256, 56, 64, 1, 1, 0, 1, false},
    {"table", 1024, 14, 256, 1, 1, 0, 1, false},
    {"table", 3, 224, 64, 7, 2, 3, 1, false},
    {"table", 96, 56, 96, 3, 1, 1, 96, false},
    {"table", 384, 14, 384, 3, 1, 1, 384, false},
    {"resnet50", 3, 224, 64, 7, 2, 3, 1, false},
    {"resnet50", 64, 56, 256, 1, 1, 0, 1, false},
    {"resnet50", 64, 56, 64, 1, 1, 0, 1, false},
    {"resnet50", 64, 56, 64, 3, 1, 1, 1, false},
    {"resnet50", 256, 56, 64, 1, 1, 0, 1, false},
    {"resnet50", 256, 56, 512, 1, 2, 0, 1, false},
    {"resnet50", 256, 56, 128, 1, 1, 0, 1, false},
    {"resnet50", 128, 56, 128, 3, 2, 1, 1, false},
    {"resnet50", 128, 28, 512, 1, 1, 0, 1, false},
    {"resnet50", 512, 28, 128, 1, 1, 0, 1, false},
    {"resnet50", 128, 28, 128, 3, 1, 1, 1, false},
    {"resnet50", 512, 28, 1024, 1, 2, 0, 1, false},
    {"resnet50", 512, 28, 256, 1, 1, 0, 1, false},
    {"resnet50", 256, 28, 256, 3, 2, 1, 1, false},
    {"resnet50", 256, 14, 1024, 1, 1, 0, 1, false},
    {"resnet50", 1024, 14, 256, 1, 1, 0, 1, false},
    {"resnet50", 256, 14, 256, 3, 1, 1, 1, false},
    {"resnet50", 1024, 14, 2048, 1, 2, 0, 1, false},
    {"resnet50", 1024, 14, 512, 1, 1, 0, 1, false},
    {"resnet50", 512, 14, 512, 3, 2, 1, 1, false},
    {"resnet50", 512, 7, 2048, 1, 1, 0, 1, false},
    {"resnet50", 2048, 7, 512, 1, 1, 0, 1, false},
    {"resnet50", 512, 7, 512, 3, 1, 1, 1, false},
    {"mobilenet_v2", 3, 224, 32, 3, 2, 1, 1, false},
    {"mobilenet_v2", 32, 112, 32, 3, 1, 1, 32, false},
    {"mobilenet_v2", 32, 112, 16, 1, 1, 0, 1, false},
    {"mobilenet_v2", 16, 112, 96, 1, 1, 0, 1, false},
    {"mobilenet_v2", 96, 112, 96, 3, 2, 1, 96, false},
    {"mobilenet_v2", 96, 56, 24, 1, 1, 0, 1, false},
    {"mobilenet_v2", 24, 56, 144, 1, 1, 0, 1, false},
    {"mobilenet_v2", 144, 56, 144, 3, 1, 1, 144, false},
    {"mobilenet_v2", 144, 56, 24, 1, 1, 0, 1, false},
    {"mobilenet_v2", 144, 56, 144, 3, 2, 1, 144, false},
    {"mobilenet_v2", 144, 28, 32, 1, 1, 0, 1, false},
    {"mobilenet_v2", 32, 28, 192, 1, 1, 0, 1, false},
    {"mobilenet_v2", 192, 28, 192, 3, 1, 1, 192, false},
    {"mobilenet_v2", 192, 28, 32, 1, 1, 0, 1, false},
    {"mobilenet_v2", 192, 28, 192, 3, 2, 1, 192, false},
    {"mobilenet_v2", 192, 14, 64, 1, 1, 0, 1, false},
    {"mobilenet_v2", 64, 14, 384, 1, 1, 0, 1, false},
    {"mobilenet_v2", 384, 14, 384, 3, 1, 1, 384, false},
    {"mobilenet_v2", 384, 14, 64, 1, 1, 0, 1, false},
    {"mobilenet_v2", 384, 14, 96, 1, 1, 0, 1, false},
    {"mobilenet_v2", 96, 14, 576, 1, 1, 0, 1, false},
    {"mobilenet_v2", 576, 14, 576, 3, 1, 1, 576, false},
    {"mobilenet_v2", 576, 14, 96, 1, 1, 0, 1, false},
    {"mobilenet_v2", 576, 14, 576, 3, 2, 1, 576, false},
    {"mobilenet_v2", 576, 7, 160, 1, 1, 0, 1, false},
    {"mobilenet_v2", 160, 7, 960, 1, 1, 0, 1, false},
    {"mobilenet_v2", 960, 7, 960, 3, 1, 1, 960, false},
    {"mobilenet_v2", 960, 7, 160, 1, 1, 0, 1, false},
    {"mobilenet_v2", 960, 7, 320, 1, 1, 0, 1, false},
    {"mobilenet_v2", 320, 7, 1280, 1, 1, 0, 1, false},
    {"unet", 3, 128, 16, 3, 1, 1, 1, false},
    {"unet", 16, 128, 16, 3, 1, 1, 1, false},
    {"unet", 16, 64, 32, 3, 1, 1, 1, false},
    {"unet", 32, 64, 32, 3, 1, 1, 1, false},
    {"unet", 32, 32, 64, 3, 1, 1, 1, false},
    {"unet", 64, 32, 64, 3, 1, 1, 1, false},
    {"unet", 64, 16, 128, 3, 1, 1, 1, false},
    {"unet", 128, 16, 128, 3, 1, 1, 1, false},
    {"unet", 128, 16, 64, 2, 2, 0, 1, true},
    {"unet", 128, 32, 64, 3, 1, 1, 1, false},
    {"unet", 64, 32, 32, 2, 2, 0, 1, true},
    {"unet", 64, 64, 32, 3, 1, 1, 1, false},
    {"unet", 32, 64, 16, 2, 2, 0, 1, true},
    {"unet", 32, 128, 16, 3, 1, 1, 1, false},
    {"unet", 16, 128, 2, 1, 1, 0, 1, false},
    {"vit_b16", 3, 224, 768, 16, 16, 0, 1, false},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static float *fill(int64_t n) {
  float *p = malloc((size_t)(n > 0 ? n : 1) * sizeof *p);
  uint32_t s = 1;
  for (int64_t i = 0; p && i < n; i++) {
    s = s * 1664525U + 1013904223U;
    p[i] = (float)(s >> 8) * 0x1p-24f - 0.5f;
  }
  return p;
}

typedef struct work {
  const ig_conv *c;
  const ig_layer *l;  // NULL: on planes
  const float *x;
  const float *w;
  const float *b;
  float *y;
} work;

// Best of many runs: the machine may be busy.
static double measure(const work *k) {
  double best = 1e30;
  double spent = 0.0;
  for (int i = 0; i < 5 || (spent < 60e3 && i < 500); i++) {
    double t = now();
    if (k->l)
      (void)ig_layer_run(k->l, k->c, &(ig_layer_io){.x = k->x, .y = k->y});
    else
      ig_conv_forward(k->c, k->x, k->w, k->b, k->y);
    t = now() - t;
    spent += t;
    if (t < best) best = t;
  }
  return best;
}

static void run(const row *r, bool json) {
  ig_conv c = ig_conv_make(IG_ELEM_F32, 1, r->cin, r->cout);
  c.groups = r->groups;
  c.transposed = r->transposed;
  for (int i = 1; i < 3; i++) {
    c.in[i] = r->size;
    c.kernel[i] = r->kernel;
    c.stride[i] = r->stride;
    c.padding[i] = r->padding;
  }
  ig_conv_set_out(&c, NULL);
  int64_t weights = (int64_t)r->cout * (r->cin / r->groups) * r->kernel * r->kernel;
  float *x = fill((int64_t)ig_layer_floats(1, r->cin, (int64_t)r->size * r->size));
  float *w = fill(weights);
  float *b = fill(r->cout);
  float *y = fill((int64_t)ig_layer_floats(1, r->cout, c.out[1] * c.out[2]));
  ig_layer *l = w && b ? ig_layer_create(&c, w, b, &(ig_layer_options){.rtol = 1e-4}) : NULL;
  double us[2] = {0.0, 0.0};
  double prepared[2] = {0.0, 0.0};
  for (int t = 0; x && w && b && y && t < 2; t++) {
    ig_threads_set(t + 1);
    us[t] = measure(&(work){&c, NULL, x, w, b, y});
    if (l) prepared[t] = measure(&(work){&c, l, x, w, b, y});
  }
  static const char *const methods[] = {"none",   "product", "stem",  "depth",
                                        "F(2x2)", "F(4x4)",  "F(6x6)"};
  double flops =
      2.0 * (double)weights * (double)(r->transposed ? c.in[1] * c.in[2] : c.out[1] * c.out[2]);
  const char *form =
      json ? "{\"model\": \"%s\", \"cin\": %d, \"size\": %d, \"cout\": %d, \"kernel\": %d, "
             "\"stride\": %d, \"groups\": %d, \"us1\": %.1f, \"us2\": %.1f, \"gflops1\": %.1f, "
             "\"layer\": \"%s\", \"layer_us1\": %.1f, \"layer_us2\": %.1f, \"layer_gflops1\": "
             "%.1f}\n"
           : "%-13s %4d x%3d -> %4d  k%d s%d g%-4d %9.1f us %9.1f us  %6.1f GFLOP/s  %-7s %9.1f us "
             "%9.1f us  %6.1f GFLOP/s\n";
  printf(form, r->model, r->cin, r->size, r->cout, r->kernel, r->stride, r->groups, us[0], us[1],
         us[0] > 0.0 ? flops / us[0] * 1e-3 : 0.0,
         methods[l ? ig_layer_method_of(l) : IG_LAYER_NONE], prepared[0], prepared[1],
         prepared[0] > 0.0 ? flops / prepared[0] * 1e-3 : 0.0);
  (void)fflush(stdout);
  ig_layer_free(l);
  free(x);
  free(w);
  free(b);
  free(y);
}

int main(int argc, char **argv) {
  bool json = false;
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      json = true;
    else
      only = argv[i];
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!only || strcmp(only, rows[i].model) == 0) run(&rows[i], json);
  return 0;
}
