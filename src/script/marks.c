// SPDX-License-Identifier: Apache-2.0
#include "script/marks.h"

#include <string.h>

// The word at the front of a node, which is marked even where nothing else of it is.
static const struct {
  ig_tree_kind kind;
  unsigned char n;
} words[] = {
    {IG_TREE_RETURN, 6}, {IG_TREE_RAISE, 5},  {IG_TREE_ASSERT, 6},    {IG_TREE_IF, 2},
    {IG_TREE_WHILE, 5},  {IG_TREE_FOR, 3},    {IG_TREE_WITH, 4},      {IG_TREE_DELETE, 3},
    {IG_TREE_LIST, 1},   {IG_TREE_TUPLE, 1},  {IG_TREE_DICT, 1},      {IG_TREE_STARRED, 1},
    {IG_TREE_UNARY, 1},  {IG_TREE_FORMAT, 1}, {IG_TREE_LIST_COMP, 1}, {IG_TREE_DICT_COMP, 1},
};

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// The name behind a value: counted from one byte behind the value's own mark, wherever the dot is.
static size_t attribute_end(const ig_tree *t) {
  const ig_source *source = t->range.source;
  if (t->n == 0 || !t->at[0]) return t->range.end;
  size_t at = t->at[0]->range.end + 1;
  while (at < source->n && is_blank(source->text[at])) at++;
  size_t end = at + t->n_text;
  return end < source->n ? end : source->n;
}

static size_t own_end(const ig_tree *t) {
  if (t->kind == IG_TREE_ATTRIBUTE) return attribute_end(t);
  if (t->kind == IG_TREE_SUBSCRIPT && t->at[1]->range.end < t->range.end) {
    return t->at[1]->range.end + 1;  // the one bracket that counts
  }
  if (t->kind == IG_TREE_STRING) {  // as long as the text that it stands for, and a quote
    size_t end = t->range.start + t->n_text + 1;
    return end < t->range.end ? end : t->range.end;
  }
  if (t->n == 0 && t->kind != IG_TREE_LIST && t->kind != IG_TREE_TUPLE && t->kind != IG_TREE_DICT) {
    return t->range.end;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (words[i].kind == t->kind) return t->range.start + words[i].n;
  }
  return t->range.start;
}

void ig_tree_mark(ig_tree *t) {
  size_t end = 0;
  for (size_t i = 0; i < t->n; i++) {
    if (!t->at[i]) continue;
    ig_tree_mark(t->at[i]);
    if (t->at[i]->range.end > end) end = t->at[i]->range.end;
  }
  size_t own = own_end(t);
  t->range.end = own > end ? own : end;
}
