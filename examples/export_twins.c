// SPDX-License-Identifier: Apache-2.0
// Models written in C, exported at every level: the graph and the signature of each. Their Python
// counterparts in tests/python/test_twins.py give the same text, byte for byte.
#include <stdio.h>

#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/hop.h"
#include "ingot/pass.h"

enum { MAX_STATE = 8, MAX_INPUTS = 4 };

typedef struct model {
  const char *name;
  void (*fn)(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user);
  ig_export_state state[MAX_STATE];
  size_t nstate;
  ig_export_input inputs[MAX_INPUTS];
  size_t ninputs;
  size_t noutputs;
} model;

static ig_tensor *filled(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim) {
  ig_tensor *t = ig_tensor_empty(c, dtype, sizes, ndim);
  for (int64_t i = 0; t && i < ig_tensor_numel(t); i++) {
    if (dtype == IG_F32) ((float *)ig_tensor_data(t))[i] = 1;
    if (dtype == IG_I64) ((int64_t *)ig_tensor_data(t))[i] = 1;
  }
  return t;
}

#define SIZES(...) (int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))

// The tensor at that position in the state.
#define STATE(i) (((const model *)user)->state[i].value)

// ---- models ----

static void mlp(ig_ctx *c, ig_tensor *const *in, ig_tensor **out, void *user) {
  ig_tensor *h = ig_linear_with(c, in[0], STATE(0), STATE(1));
  h = ig_relu(c, h);
  out[0] = ig_linear_with(c, h, STATE(2), STATE(3));
}

// A convolution that counts its calls and keeps the last result.
static void counted(ig_ctx *c, ig_tensor *const *in, ig_tensor **out, void *user) {
  ig_value one[] = {ig_of_tensor(STATE(1)), ig_of_i64(1)};
  ig_value sum[IG_MAX_RETURNS];
  ig_call_bound(c, &(ig_bound){.name = "add_", .values = one, .npos = 2}, NULL, sum);
  ig_tensor *y = ig_conv2d(c, in[0], STATE(0));
  (void)ig_mul__tensor(c, STATE(2), STATE(3));
  out[0] = ig_relu_(c, y);
  out[1] = ig_mul_tensor(c, STATE(2), STATE(1));
}

// Rows of two batches, concatenated.
static void rows(ig_ctx *c, ig_tensor *const *in, ig_tensor **out, void *user) {
  (void)user;
  ig_value both[] = {ig_of_tensor(in[0]), ig_of_tensor(in[1])};
  ig_tensor *all = ig_cat(c, ig_of_list(both, 2));
  ig_int shape[] = {ig_tensor_size(all, 0), ig_const(2), ig_const(2)};
  out[0] = ig_reshape(c, all, ig_of_ints(shape, 3));
  ig_int first[] = {ig_const(0)};
  ig_int sizes[] = {ig_tensor_size(in[0], 0), ig_const(4)};
  out[1] = ig_expand(c, ig_sum_dim_intlist(c, in[1], ig_of_ints(first, 1)), ig_of_ints(sizes, 2));
}

typedef struct branch {
  ig_tensor *scale;  // NULL: none
  ig_value out;
} branch;

static const ig_value *run_branch(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  (void)n;
  branch *b = user;
  ig_tensor *y = b->scale ? ig_sin(c, in[0].tensor) : ig_cos(c, in[0].tensor);
  b->out = ig_of_tensor(b->scale ? ig_mul_tensor(c, y, b->scale) : y);
  *nouts = 1;
  return &b->out;
}

static void choice(ig_ctx *c, ig_tensor *const *in, ig_tensor **out, void *user) {
  ig_value pred = ig_of_tensor(ig_gt_scalar(c, ig_sum(c, in[0]), ig_of_i64(0)));
  ig_value operand = ig_of_tensor(in[0]);
  branch yes = {.scale = STATE(0)};
  branch no = {0};
  ig_branch branches[] = {{.fn = run_branch, .user = &yes}, {.fn = run_branch, .user = &no}};
  ig_cond_args args = {.size = sizeof args,
                       .pred = &pred,
                       .yes = &branches[0],
                       .no = &branches[1],
                       .operands = &operand,
                       .noperands = 1};
  size_t n = 0;
  const ig_value *results = ig_cond(c, &args, &n);
  out[0] = results ? ig_add_tensor(c, results[0].tensor, in[0]) : NULL;
}

// ---- printing ----

static void show_signature(const ig_program *p) {
  static const char *const inputs[] = {"USER_INPUT",      "PARAMETER",  "BUFFER",
                                       "CONSTANT_TENSOR", "CUSTOM_OBJ", "TOKEN"};
  static const char *const outputs[] = {"USER_OUTPUT",
                                        "LOSS_OUTPUT",
                                        "BUFFER_MUTATION",
                                        "USER_INPUT_MUTATION",
                                        "GRADIENT_TO_PARAMETER",
                                        "GRADIENT_TO_USER_INPUT",
                                        "TOKEN",
                                        "PARAMETER_MUTATION"};
  const ig_input_spec *in = NULL;
  const ig_output_spec *out = NULL;
  size_t n = ig_program_inputs(p, &in);
  for (size_t i = 0; i < n; i++) {
    printf("%s %s %s\n", inputs[in[i].kind], in[i].name, in[i].target ? in[i].target : "-");
  }
  n = ig_program_outputs(p, &out);
  for (size_t i = 0; i < n; i++) {
    printf("%s %s %s\n", outputs[out[i].kind], out[i].name, out[i].target ? out[i].target : "-");
  }
}

static int show(ig_ctx *c, const model *m, ig_level level) {
  static const char *const names[] = {"inference", "training", "dispatched", "decomposed"};
  ig_export_args args = {.size = sizeof args,
                         .fn = m->fn,
                         .user = (void *)m,
                         .inputs = m->inputs,
                         .ninputs = m->ninputs,
                         .state = m->state,
                         .nstate = m->nstate,
                         .noutputs = m->noutputs,
                         .level = level};
  ig_program *p = NULL;
  if (ig_export(c, &args, &p) != IG_OK || ig_program_verify(c, p) != IG_OK) {
    (void)fprintf(stderr, "%s, %s: %s\n", m->name, names[level], ig_ctx_error(c));
    ig_program_free(p);
    return 1;
  }
  char *text = ig_graph_text(c, ig_program_graph(p));
  printf("== %s, %s\n%s\n", m->name, names[level], text ? text : "");
  show_signature(p);
  ig_text_free(c, text);
  ig_program_free(p);
  return 0;
}

static int show_all(ig_ctx *c) {
  ig_dim dims[][2] = {{{.kind = IG_DIM_NAMED, .name = "n", .lo = 2, .hi = 64}, {0}},
                      {{.kind = IG_DIM_NAMED, .name = "m", .hi = INT64_MAX}, {0}}};
  ig_tensor *x = filled(c, IG_F32, SIZES(3, 4));
  ig_tensor *w1 = filled(c, IG_F32, SIZES(8, 4));
  ig_tensor *b1 = filled(c, IG_F32, SIZES(8));
  ig_tensor *w2 = filled(c, IG_F32, SIZES(2, 8));
  ig_tensor *kernel = filled(c, IG_F32, SIZES(2, 1, 3, 3));
  ig_tensor *calls = filled(c, IG_I64, NULL, 0);
  ig_tensor *image = filled(c, IG_F32, SIZES(1, 1, 8, 8));
  ig_tensor *y = filled(c, IG_F32, SIZES(5, 4));
  ig_tensor *scale = filled(c, IG_F32, SIZES(4));
  ig_tensor *b2 = filled(c, IG_F32, SIZES(2));
  ig_tensor *decay = filled(c, IG_F32, SIZES(2));
  ig_tensor *rate = filled(c, IG_F32, SIZES(2));
  const model models[] = {
      {.name = "mlp",
       .fn = mlp,
       .state = {{IG_STATE_PARAMETER, "fc1.weight", w1},
                 {IG_STATE_PARAMETER, "fc1.bias", b1},
                 {IG_STATE_PARAMETER, "fc2.weight", w2},
                 {IG_STATE_PARAMETER, "fc2.bias", b2}},
       .nstate = 4,
       .inputs = {{"x", x, NULL}},
       .ninputs = 1,
       .noutputs = 1},
      {.name = "counted",
       .fn = counted,
       .state = {{IG_STATE_PARAMETER, "weight", kernel},
                 {IG_STATE_BUFFER, "calls", calls},
                 {IG_STATE_TEMPORARY, "decay", decay},
                 {IG_STATE_CONSTANT, "rate", rate}},
       .nstate = 4,
       .inputs = {{"image", image, NULL}},
       .ninputs = 1,
       .noutputs = 2},
      {.name = "rows",
       .fn = rows,
       .inputs = {{"x", x, dims[0]}, {"y", y, dims[1]}},
       .ninputs = 2,
       .noutputs = 2},
      {.name = "choice",
       .fn = choice,
       .state = {{IG_STATE_PARAMETER, "scale", scale}},
       .nstate = 1,
       .inputs = {{"x", x, NULL}},
       .ninputs = 1,
       .noutputs = 1},
  };
  int bad = 0;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    for (int level = IG_LEVEL_INFERENCE; level <= IG_LEVEL_DECOMPOSED; level++) {
      bad += show(c, &models[i], (ig_level)level);
    }
  }
  return bad;
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  int bad = show_all(c);
  ig_ctx_free(c);
  return bad ? 1 : 0;
}
