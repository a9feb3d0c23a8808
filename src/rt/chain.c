// SPDX-License-Identifier: Apache-2.0
// Finding chains: the longest runs of pointwise steps with results of the same sizes. Steps between
// which others stand are not joined: exported programs list the parts of a formula one after
// another.
#include "rt/chain.h"

#include "op/shape.h"
#include "tensor/number.h"

bool ig_member_make(ig_ctx *c, const ig_rt_step *s, ig_member *out) {
  const ig_op *op = s->op;
  if (!op || s->sized || !op->pointwise || ig_op_has_kernel(op) || op->schema.nrets != 1)
    return false;
  ig_dtype dtype = ig_computing_dtype(c, op, s->args);
  ig_dtype works_in = dtype;
  ig_tile_fn *tile = ig_op_tile(op, dtype, &works_in);
  ig_tensor *t = s->outs[0].tensor;
  bool compares = op->def->shape == ig_shape_compare;
  if (!tile || works_in != dtype || ig_dtype_size(dtype) > sizeof(double)) return false;
  if (t->dtype != (compares ? IG_BOOL : works_in)) return false;
  for (size_t i = 0; i < op->operands; i++) {
    ig_dtype wanted = i < op->def->masks ? IG_BOOL : works_in;
    if (s->args[i].kind == IG_KIND_TENSOR && s->args[i].tensor->dtype != wanted) return false;
  }
  *out = (ig_member){.op = op,
                     .args = s->args,
                     .tile = tile,
                     .works_in = works_in,
                     .out = t,
                     .size = ig_dtype_size(t->dtype),
                     .stored = -1};
  return true;
}

// ---- a run of steps that may become a chain

typedef struct builder {
  ig_binding *b;
  size_t first;  // step
  size_t n;
  ig_member at[IG_CHAIN_MEMBERS];
  ig_tensor *memory[IG_WALK_MAX];  // operands from outside
  size_t nmemory;
  bool linked;  // a member reads what another one gives
} builder;

// Is the result of a member read after step `last`?
static bool is_stored(const builder *r, const ig_member *m, size_t last) {
  const ig_rt_buffer *x = ig_rt_find(r->b, m->out);
  return !x || x->place != IG_PLACE_SLAB || x->last > last;
}

static size_t count_stored(const builder *r, size_t last) {
  size_t n = 0;
  for (size_t i = 0; i < r->n; i++) n += is_stored(r, &r->at[i], last);
  return n;
}

// Does operand k from outside show the same elements?
static bool is_operand(const builder *r, size_t k, const ig_tensor *t) {
  ig_ctx *c = r->b->plan->c;
  const ig_tensor *have = r->memory[k];
  return have->storage == t->storage && ig_rt_same_sizes(c, have, t) &&
         ig_rt_same_layout(c, have, t);
}

static bool find_source(builder *r, ig_tensor *t, ig_source *out) {
  for (size_t i = 0; i < r->n; i++) {
    if (r->at[i].out->storage != t->storage) continue;
    *out = (ig_source){IG_SOURCE_MEMBER, (unsigned)i, NULL};
    r->linked = true;
    return ig_rt_same_layout(r->b->plan->c, r->at[i].out, t);
  }
  size_t k = 0;
  while (k < r->nmemory && !is_operand(r, k, t)) k++;
  if (k == IG_WALK_MAX) return false;
  if (k == r->nmemory) r->memory[r->nmemory++] = t;
  *out = (ig_source){IG_SOURCE_MEMORY, (unsigned)k, NULL};
  return true;
}

// One more member, if it fits; r is unchanged otherwise.
static bool extend(builder *r, const ig_rt_step *s, size_t step) {
  builder before = *r;
  ig_member m;
  if (r->n == IG_CHAIN_MEMBERS || !ig_member_make(r->b->plan->c, s, &m)) return false;
  bool ok = r->n == 0 || ig_rt_same_sizes(r->b->plan->c, m.out, r->at[0].out);
  for (size_t i = 0; ok && i < m.op->operands; i++) {
    if (m.args[i].kind == IG_KIND_TENSOR) {
      ok = find_source(r, m.args[i].tensor, &m.in[i]);
    } else {
      m.in[i] = (ig_source){IG_SOURCE_NUMBER, 0, NULL};
    }
  }
  if (ok) r->at[r->n++] = m;
  if (ok && r->nmemory + count_stored(r, step) <= IG_WALK_MAX) return true;
  *r = before;
  return false;
}

// ---- making it

static const void *block_of(ig_binding *b, ig_dtype dtype, const ig_value *number) {
  void *block = ig_arena_array(&b->memory, IG_CHAIN_BLOCK, ig_dtype_size(dtype));
  if (block) ig_fill(block, dtype, IG_CHAIN_BLOCK, number);
  return block;
}

// The last member that reads the result of member i.
static size_t last_reader(const ig_chain *chain, size_t i) {
  size_t last = i;
  for (size_t k = i + 1; k < chain->n; k++) {
    for (size_t j = 0; j < chain->at[k].op->operands; j++) {
      const ig_source *s = &chain->at[k].in[j];
      if (s->kind == IG_SOURCE_MEMBER && s->index == i) last = k;
    }
  }
  return last;
}

// Results get slots; false: there are too few.
static bool assign_slots(ig_chain *chain) {
  size_t busy[IG_CHAIN_SLOTS];  // the first member that may use the slot again
  for (size_t k = 0; k < IG_CHAIN_SLOTS; k++) busy[k] = 0;
  for (size_t i = 0; i < chain->n; i++) {
    unsigned slot = 0;
    while (slot < IG_CHAIN_SLOTS && busy[slot] > i) slot++;
    if (slot == IG_CHAIN_SLOTS) return false;
    chain->at[i].slot = slot;
    busy[slot] = last_reader(chain, i) + 1;
  }
  return true;
}

static bool fill_numbers(ig_binding *b, ig_chain *chain) {
  for (size_t i = 0; i < chain->n; i++) {
    ig_member *m = &chain->at[i];
    for (size_t k = 0; k < m->op->operands; k++) {
      if (m->in[k].kind != IG_SOURCE_NUMBER) continue;
      ig_dtype dtype = k < m->op->def->masks ? IG_BOOL : m->works_in;
      m->in[k].block = block_of(b, dtype, &m->args[k]);
      if (!m->in[k].block) return ig_no_memory(b->plan->c);
    }
  }
  return true;
}

// Results that are stored become the first operands of the walk.
static void lay_out(const builder *r, ig_chain *chain) {
  size_t last = r->first + r->n - 1;
  for (size_t i = 0; i < chain->n; i++) {
    if (!is_stored(r, &chain->at[i], last)) continue;
    chain->at[i].stored = (int)chain->nresults;
    chain->memory[chain->nresults++] = chain->at[i].out;
  }
  chain->nmemory = chain->nresults;
  for (size_t k = 0; k < r->nmemory; k++) chain->memory[chain->nmemory++] = r->memory[k];
  for (size_t i = 0; i < chain->n; i++) {
    for (size_t k = 0; k < chain->at[i].op->operands; k++) {
      ig_source *s = &chain->at[i].in[k];
      if (s->kind == IG_SOURCE_MEMORY) s->index += (unsigned)chain->nresults;
    }
  }
}

// The steps of the run become one, or stay as they are.
static bool finish(builder *r) {
  ig_binding *b = r->b;
  ig_ctx *c = b->plan->c;
  if (r->n < 2 || !r->linked) return true;
  ig_chain *chain = ig_arena_push(&b->memory, sizeof *chain);
  if (chain) chain->at = ig_arena_array(&b->memory, r->n, sizeof *chain->at);
  if (!chain || !chain->at) return ig_no_memory(c);
  size_t size = 0;
  for (size_t i = 0; i < r->n; i++) {
    chain->at[i] = r->at[i];
    if (r->at[i].size > size) size = r->at[i].size;
  }
  chain->n = r->n;
  chain->node = b->steps.at[r->first].node;
  // Not a power of two, so that slots do not compete for the same lines of the cache.
  chain->pitch = IG_CHAIN_BLOCK * size + 64;
  if (!assign_slots(chain)) return true;
  lay_out(r, chain);
  if (!fill_numbers(b, chain)) return false;
  for (size_t i = 0; i < r->n; i++) b->steps.at[r->first + i].dead = i > 0;
  b->steps.at[r->first] = (ig_rt_step){.chain = chain, .node = chain->node};
  return true;
}

bool ig_rt_make_chains(ig_binding *b) {
  if (b->plan->without & IG_PLAN_NO_CHAINS) return true;
  builder r = {.b = b};
  for (size_t i = 0; i < b->steps.n; i++) {
    if (extend(&r, &b->steps.at[i], i)) continue;
    if (!finish(&r)) return false;
    r = (builder){.b = b, .first = i};
    if (!extend(&r, &b->steps.at[i], i)) r.first = i + 1;
  }
  if (!finish(&r)) return false;
  ig_rt_drop(b);
  return true;
}

// ---- what the memory plan asks

void ig_chain_each_operand(const ig_chain *chain, ig_rt_visit *fn, void *user) {
  for (size_t i = chain->nresults; i < chain->nmemory; i++) fn(user, chain->memory[i]);
}

void ig_chain_each_result(const ig_chain *chain, ig_rt_visit *fn, void *user) {
  for (size_t i = 0; i < chain->nresults; i++) fn(user, chain->memory[i]);
}

// Members that read operand k of the walk come no later than `member`, and nothing shows its memory
// in another order.
static bool is_read_before(const ig_chain *chain, size_t k, size_t member) {
  for (size_t i = chain->nresults; i < chain->nmemory; i++) {
    if (i != k && chain->memory[i]->storage == chain->memory[k]->storage) return false;
  }
  for (size_t i = member + 1; i < chain->n; i++) {
    for (size_t j = 0; j < chain->at[i].op->operands; j++) {
      const ig_source *s = &chain->at[i].in[j];
      if (s->kind == IG_SOURCE_MEMORY && s->index == k) return false;
    }
  }
  return true;
}

ig_tensor *ig_chain_overwritable(ig_ctx *c, const ig_chain *chain, const ig_tensor *t, size_t k) {
  size_t member = 0;
  while (chain->at[member].out != t) member++;
  for (size_t i = chain->nresults; i < chain->nmemory; i++) {
    bool fits = ig_rt_same_layout(c, chain->memory[i], t) && is_read_before(chain, i, member);
    if (fits && k-- == 0) return chain->memory[i];
  }
  return NULL;
}

void ig_chain_print(const ig_chain *chain, ig_str *out) {
  for (size_t i = 0; i < chain->n; i++) {
    ig_str_add(out, "%s%s", i ? " + " : "", chain->at[i].op->target);
  }
}
