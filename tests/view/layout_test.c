// SPDX-License-Identifier: Apache-2.0
// The layout of boxes: rows below what they read, positions without gaps, points of long nets,
// ports, cycles; and its time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "view/view.h"

#include "fixture.h"

// A view whose items are nodes in one box: args[i] lists the items that node i reads.
static void begin(ig_view *v) {
  *v = (ig_view){.c = c, .arena = ig_arena_make(c->alloc)};
  v->weight_names = ig_map_make(c->alloc);
  v->boxes = ig_map_make(c->alloc);
  assert_int_equal(ig_view_add(v, IG_VIEW_GRAPH, 0, "", ""), 0);
}

static void end(ig_view *v) {
  ig_vec_free(c->alloc, &v->items);
  ig_vec_free(c->alloc, &v->args);
  ig_vec_free(c->alloc, &v->outs);
  ig_vec_free(c->alloc, &v->nets);
  ig_vec_free(c->alloc, &v->ends);
  ig_vec_free(c->alloc, &v->vias);
  ig_map_free(&v->weight_names);
  ig_map_free(&v->boxes);
  ig_arena_free(&v->arena);
}

static uint32_t node(ig_view *v, uint32_t parent, const uint32_t *reads, size_t n) {
  uint32_t i = ig_view_add(v, IG_VIEW_NODE, parent, "n", "op");
  assert_int_not_equal(i, IG_VIEW_NONE);
  for (size_t k = 0; k < n; k++) assert_true(ig_view_add_value(v, "", reads[k], 0));
  assert_true(ig_view_add_out(v, "n", "float32[2]"));
  return i;
}
#define READS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

static void lay_out(ig_view *v) {
  if (!ig_view_connect(v) || !ig_view_layout(v)) fail_msg("%s", ig_ctx_error(c));
}

static const ig_view_net *find_net(const ig_view *v, uint32_t box, uint32_t source) {
  const ig_view_item *it = &v->items.at[box];
  for (size_t i = 0; i < it->nnets; i++) {
    if (v->nets.at[it->net + i].source == source) return &v->nets.at[it->net + i];
  }
  return NULL;
}

static void rows_follow_what_is_read(void **state) {
  (void)state;
  ig_view v;
  begin(&v);
  uint32_t a = node(&v, 0, NULL, 0);
  uint32_t b = node(&v, 0, READS(a));
  uint32_t d = node(&v, 0, READS(b));
  uint32_t e = node(&v, 0, READS(a, d));
  uint32_t late = node(&v, 0, NULL, 0);
  uint32_t f = node(&v, 0, READS(e, late));
  lay_out(&v);
  assert_int_equal(v.items.at[a].rank, 1);
  assert_int_equal(v.items.at[b].rank, 2);
  assert_int_equal(v.items.at[d].rank, 3);
  assert_int_equal(v.items.at[e].rank, 4);
  assert_int_equal(v.items.at[f].rank, 5);
  assert_int_equal(v.items.at[late].rank, 4);  // right above its reader
  const ig_view_net *net = find_net(&v, 0, a);
  assert_int_equal(net->nvia, 2);  // the points of a -> e in rows 2 and 3, beside b and d
  assert_int_not_equal(v.vias.at[net->via], v.items.at[b].pos);
  assert_int_not_equal(v.vias.at[net->via + 1], v.items.at[d].pos);
  end(&v);
}

static void values_cross_borders_at_ports(void **state) {
  (void)state;
  ig_view v;
  begin(&v);
  uint32_t x = node(&v, 0, NULL, 0);
  uint32_t outer = ig_view_module(&v, 0, "m", "m", "M");
  uint32_t inner = ig_view_module(&v, outer, "m.n", "m.n", "N");
  assert_int_equal(ig_view_module(&v, outer, "m.n", "m.n", "N"), inner);
  uint32_t y = node(&v, inner, READS(x));
  uint32_t z = node(&v, inner, READS(y, x));
  uint32_t out = node(&v, 0, READS(z));
  lay_out(&v);
  const ig_view_net *top = find_net(&v, 0, x);
  assert_int_equal(top->from, x);
  assert_int_equal(top->nto, 1);
  assert_int_equal(v.ends.at[top->to], outer);
  assert_int_equal(find_net(&v, outer, x)->from, IG_VIEW_NONE);
  assert_int_equal(find_net(&v, inner, x)->from, IG_VIEW_NONE);
  assert_int_equal(find_net(&v, inner, x)->nto, 2);
  assert_true(find_net(&v, inner, z)->leaves);
  assert_true(find_net(&v, outer, z)->leaves);
  assert_int_equal(find_net(&v, outer, z)->from, inner);
  assert_int_equal(find_net(&v, 0, z)->from, outer);
  assert_false(find_net(&v, inner, y)->leaves);
  assert_true(v.items.at[out].rank > v.items.at[outer].rank);
  end(&v);
}

// A module that is called again reads what was made from its first results.
static void cycles_of_boxes_end(void **state) {
  (void)state;
  ig_view v;
  begin(&v);
  uint32_t m = ig_view_module(&v, 0, "m", "m", "M");
  uint32_t a = node(&v, m, NULL, 0);
  uint32_t b = node(&v, 0, READS(a));
  uint32_t d = node(&v, m, READS(b));
  lay_out(&v);
  assert_int_not_equal(v.items.at[m].rank, v.items.at[b].rank);
  assert_int_equal(find_net(&v, m, b)->nto, 1);
  assert_int_equal(v.ends.at[find_net(&v, m, b)->to], d);
  end(&v);
}

// A node that reads its own result, or that of the box that it is in, as damaged files may say.
static void nodes_that_read_themselves(void **state) {
  (void)state;
  ig_view v;
  begin(&v);
  uint32_t box = node(&v, 0, NULL, 0);
  uint32_t in = node(&v, box, READS(box, 3));
  uint32_t self = node(&v, 0, READS(3, in));
  assert_int_equal(self, 3);
  lay_out(&v);
  end(&v);
}

static void positions_are_dense(void **state) {
  (void)state;
  enum { N = 3000 };
  ig_view v;
  begin(&v);
  uint32_t seed = 1;
  for (uint32_t i = 1; i <= N; i++) {
    uint32_t reads[3];
    for (int k = 0; k < 3; k++) {
      seed = seed * 1664525u + 1013904223u;
      reads[k] = 1 + (seed >> 8) % (i > 1 ? i - 1 : 1);
    }
    (void)node(&v, 0, reads, i > 1 ? 3 : 0);
  }
  lay_out(&v);
  // Every place in a row is that of one item, port or point.
  size_t total = 0;
  uint32_t *most = calloc(N + 3, sizeof *most);
  uint32_t *count = calloc(N + 3, sizeof *count);
  for (uint32_t i = 1; i <= N; i++) {
    const ig_view_item *it = &v.items.at[i];
    count[it->rank]++;
    if (it->pos > most[it->rank]) most[it->rank] = it->pos;
    for (size_t k = 0; k < it->nargs; k++) {
      assert_true(v.items.at[v.args.at[it->arg + k].item].rank < it->rank);
    }
  }
  for (size_t i = 0; i < v.nets.n; i++) {
    const ig_view_net *net = &v.nets.at[i];
    uint32_t base = v.items.at[net->from].rank;
    for (size_t k = 0; k < net->nvia; k++, total++) {
      uint32_t pos = v.vias.at[net->via + k];
      count[base + 1 + k]++;
      if (pos > most[base + 1 + k]) most[base + 1 + k] = pos;
    }
  }
  for (uint32_t r = 1; r < N + 3; r++) assert_true(count[r] == 0 || most[r] + 1 == count[r]);
  assert_true(total <= 4 * N + 4096);
  free(most);
  free(count);
  end(&v);
}

// 100,000 nodes; the bound is far above what a machine needs, below what a quadratic step would.
static void large_graphs_take_little_time(void **state) {
  (void)state;
  enum { N = 100000 };
  ig_view v;
  begin(&v);
  for (uint32_t i = 1; i <= N; i++) {
    uint32_t reads[2] = {i > 1 ? i - 1 : 1, i > 200 ? i - 1 - (i * 7919u) % 200 : 1};
    (void)node(&v, 0, reads, i > 1 ? 2 : 0);
  }
  clock_t before = clock();
  lay_out(&v);
  double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
  print_message("layout of %d nodes: %.3f s\n", N, seconds);
  assert_true(seconds < 30);
  end(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(rows_follow_what_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(values_cross_borders_at_ports, setup, teardown),
      cmocka_unit_test_setup_teardown(cycles_of_boxes_end, setup, teardown),
      cmocka_unit_test_setup_teardown(nodes_that_read_themselves, setup, teardown),
      cmocka_unit_test_setup_teardown(positions_are_dense, setup, teardown),
      cmocka_unit_test_setup_teardown(large_graphs_take_little_time, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
