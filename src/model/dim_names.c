// SPDX-License-Identifier: Apache-2.0
#include "model/dim_names.h"

#include <ctype.h>
#include <string.h>

static bool add(ig_dim_names *names, const ig_expr *e, const char *shown) {
  if (!e || e->kind != IG_EXPR_SYMBOL || !shown || strcmp(shown, e->name) == 0) return true;
  if (ig_dim_names_of(names, e->name, strlen(e->name))) return true;
  if (ig_vec_push(names->c->alloc, &names->pairs, ((ig_text_pair){e->name, shown}))) return true;
  return ig_fail(names->c, IG_NOMEM, "out of memory") == IG_OK;
}

bool ig_dim_names_find(ig_dim_names *names, const ig_model *m, const ig_program *p) {
  size_t i = 0;
  for (const ig_node *n = p->graph->first; n && i < m->inputs.n; n = n->next) {
    if (n->kind != IG_NODE_PLACEHOLDER || n->role != IG_INPUT_USER) continue;
    const ig_model_port *port = m->inputs.at[i++];
    const ig_tensor *t = n->val.kind == IG_KIND_TENSOR ? n->val.tensor : NULL;
    for (int d = 0; t && port->kind == IG_KIND_TENSOR && d < port->ndim && d < t->ndim; d++) {
      if (!add(names, ig_tensor_size(t, d).expr, port->dims[d]->name)) return false;
    }
  }
  return true;
}

void ig_dim_names_free(ig_dim_names *names) {
  ig_vec_free(names->c->alloc, &names->pairs);
}

const char *ig_dim_names_of(const ig_dim_names *names, const char *word, size_t n) {
  for (size_t i = 0; i < names->pairs.n; i++) {
    const ig_text_pair *p = &names->pairs.at[i];
    if (strlen(p->key) == n && memcmp(p->key, word, n) == 0) return p->value;
  }
  return NULL;
}

void ig_dim_names_put(const ig_dim_names *names, ig_str *s, const char *text) {
  for (const char *p = text; *p;) {
    bool word = isalpha((unsigned char)*p) || *p == '_';
    size_t n = 1;
    while (word && (isalnum((unsigned char)p[n]) || p[n] == '_')) n++;
    const char *shown = word ? ig_dim_names_of(names, p, n) : NULL;
    ig_str_add(s, "%.*s", shown ? (int)strlen(shown) : (int)n, shown ? shown : p);
    p += n;
  }
}
