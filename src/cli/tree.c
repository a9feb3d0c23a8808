// SPDX-License-Identifier: Apache-2.0
// The tree of modules, rebuilt from the module stacks that nodes carry. Every module lists the
// operators called in it and the elements of its parameters; identical neighbours (layers.0,
// layers.1, ...) are folded into one entry.
#include "cli/tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct call {
  const char *target;
  size_t count;
  struct call *next;
} call;

typedef struct module {
  char *path;
  char *class;
  call *calls;
  struct module *child;
  struct module *next;
  uint64_t elements;  // of parameters and buffers under its path
  uint64_t digest;    // hash of its content, without names
} module;

typedef struct builder {
  module *root;
  bool failed;
} builder;

static char *copy(builder *b, const char *text) {
  size_t n = strlen(text) + 1;
  char *s = malloc(n);
  b->failed = b->failed || !s;
  if (s) memcpy(s, text, n);
  return s;
}

static void free_tree(module *m) {
  while (m) {
    module *next = m->next;
    for (call *k = m->calls; k;) {
      call *after = k->next;
      free(k);
      k = after;
    }
    free_tree(m->child);
    free(m->path);
    free(m->class);
    free(m);
    m = next;
  }
}

// ---- building

static module *new_module(builder *b, const char *path, const char *class) {
  module *m = calloc(1, sizeof *m);
  b->failed = b->failed || !m;
  if (!m) return NULL;
  m->path = copy(b, path);
  m->class = copy(b, class);
  return m;
}

static module *find_child(builder *b, module *parent, const ig_module_level *level) {
  module **at = &parent->child;
  for (; *at; at = &(*at)->next) {
    if (strcmp((*at)->path, level->path) == 0) return *at;
  }
  *at = new_module(b, level->path, level->type);
  return *at;
}

// Descends the stack of a node; returns the innermost module.
static module *enter(builder *b, const ig_module_level *levels, size_t n) {
  module *at = b->root;
  for (size_t i = 0; i < n && at && !b->failed; i++) {
    if (levels[i].path[0]) {
      at = find_child(b, at, &levels[i]);
    } else if (!at->class[0]) {
      free(at->class);
      at->class = copy(b, levels[i].type);
    }
  }
  return at;
}

static void add_call(builder *b, module *m, const char *target) {
  call **at = &m->calls;
  while (*at && strcmp((*at)->target, target) != 0) at = &(*at)->next;
  if (!*at) *at = calloc(1, sizeof **at);
  b->failed = b->failed || !*at;
  if (!*at) return;
  (*at)->target = target;
  (*at)->count++;
}

static void build(builder *b, const ig_graph *g) {
  for (const ig_node *n = ig_graph_first(g); n && !b->failed; n = ig_node_next(n)) {
    const char *target = ig_node_target(n);
    if (ig_node_get_kind(n) != IG_NODE_CALL || strcmp(target, "_operator.getitem") == 0) continue;
    const ig_module_level *levels = NULL;
    size_t depth = ig_node_modules(n, &levels);
    module *m = enter(b, levels, ig_modules_are_none(levels, depth) ? 0 : depth);
    if (m && !b->failed) add_call(b, m, target);
  }
  for (size_t i = 0; i < ig_graph_sub_count(g) && !b->failed; i++) {
    const char *name = NULL;
    build(b, ig_graph_sub(g, i, &name));
  }
}

// ---- weights

static bool under(const char *path, const char *name) {
  size_t n = strlen(path);
  return n == 0 || (strncmp(path, name, n) == 0 && name[n] == '.');
}

static void add_weight(module *m, const char *name, uint64_t elements) {
  for (; m; m = m->next) {
    if (!under(m->path, name)) continue;
    m->elements += elements;
    add_weight(m->child, name, elements);
  }
}

// ---- folding

static uint64_t mix(uint64_t h, const char *text) {
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
  return (h ^ 0xff) * 0x100000001b3u;
}

static const char *last_name(const module *m) {
  const char *dot = strrchr(m->path, '.');
  return dot ? dot + 1 : m->path;
}

static uint64_t digest(module *m) {
  uint64_t h = mix(0xcbf29ce484222325u, m->class);
  for (const call *k = m->calls; k; k = k->next) h = mix(h, k->target) + k->count;
  for (module *child = m->child; child; child = child->next) {
    h = mix(h, last_name(child)) ^ (digest(child) * 31);
  }
  m->digest = h + m->elements;
  return m->digest;
}

// ---- printing

typedef struct text {
  char *at;
  size_t n;
  size_t cap;
  bool failed;
} text;

static void put(text *t, const char *s) {
  size_t n = strlen(s);
  if (t->n + n + 1 > t->cap) {
    size_t cap = 2 * (t->n + n + 1);
    char *more = realloc(t->at, cap);
    t->failed = t->failed || !more;
    if (!more) return;
    t->at = more;
    t->cap = cap;
  }
  memcpy(t->at + t->n, s, n + 1);
  t->n += n;
}

static void put_calls(text *t, const module *m, int depth) {
  for (const call *k = m->calls; k; k = k->next) {
    char count[32];
    for (int i = 0; i < depth; i++) put(t, "  ");
    put(t, k->target);
    (void)snprintf(count, sizeof count, k->count > 1 ? " x %zu\n" : "\n", k->count);
    put(t, count);
  }
}

static const char *short_class(const char *class) {
  const char *dot = strrchr(class, '.');
  return dot ? dot + 1 : class;
}

static void put_head(text *t, const module *m, const module *last, size_t times, int depth) {
  char line[64];
  char count[40];
  for (int i = 0; i < depth; i++) put(t, "  ");
  if (m->path[0]) put(t, m->path);
  if (times > 1) {
    put(t, " ... ");
    put(t, last_name(last));
    (void)snprintf(line, sizeof line, " (%zu times)", times);
    put(t, line);
  }
  if (m->path[0]) put(t, ": ");
  put(t, m->class[0] ? short_class(m->class) : "program");
  if (m->elements) {
    put(t, ", ");
    put(t, cli_count(m->elements, count, sizeof count));
    put(t, times > 1 ? " elements each" : " elements");
  }
  put(t, "\n");
}

static void put_module(text *t, const module *m, int depth, bool flat) {
  while (m && !t->failed) {
    const module *last = m;
    size_t times = 1;
    while (!flat && last->next && last->next->digest == m->digest) {
      last = last->next;
      times++;
    }
    put_head(t, m, last, times, depth);
    put_calls(t, m, depth + 1);
    put_module(t, m->child, depth + 1, flat);
    m = last->next;
  }
}

char *cli_tree_text(const ig_model *m, bool flat) {
  builder b = {0};
  text t = {0};
  b.root = new_module(&b, "", "");
  if (!b.failed) build(&b, ig_program_graph(ig_model_program(m)));
  const ig_model_weight *const *weights = NULL;
  size_t n = b.failed ? 0 : ig_model_weights(m, &weights);
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *w = weights[i]->tensor;  // NULL: texts
    if (w) add_weight(b.root, weights[i]->name, (uint64_t)ig_tensor_numel(w));
  }
  if (!b.failed) {
    (void)digest(b.root);
    put_module(&t, b.root, 0, flat);
  }
  free_tree(b.root);
  if (!b.failed && !t.failed) return t.at;
  free(t.at);
  return NULL;
}

void cli_tree_free(char *tree) {
  free(tree);
}
