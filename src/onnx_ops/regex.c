// SPDX-License-Identifier: Apache-2.0
#include "onnx_ops/regex.h"

#include <string.h>

enum { MAX_CODE = 20000, MAX_RANGES = 64, MAX_REPEAT = 1000, MAX_NESTING = 100 };

typedef enum op { OP_SET, OP_SPLIT, OP_JUMP, OP_BEGIN, OP_END, OP_WORD, OP_NOT_WORD, OP_MATCH } op;

typedef struct set {
  bool negated;
  int n;
  uint32_t range[MAX_RANGES][2];
} set;

typedef struct code {
  op op;
  int a;  // OP_SET: the set; OP_SPLIT, OP_JUMP: where to
  int b;
} code;

struct ig_regex {
  code at[MAX_CODE];
  int n;
  set *sets;
  int nsets;
};

typedef struct parser {
  ig_ctx *c;
  ig_regex *re;
  const uint8_t *at;
  const uint8_t *end;
  int depth;
} parser;

static void fail(parser *p, ig_status st, const char *what) {
  if (p->c->status == IG_OK) (void)ig_fail(p->c, st, "regular expression: %s", what);
}

static uint32_t decode(const uint8_t **at, const uint8_t *end) {
  uint8_t b = *(*at)++;
  int more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0 ? 1 : 0;
  if (more == 0 || end - *at < more) return b;
  uint32_t v = b & (0x3fu >> more);
  for (int i = 0; i < more; i++) {
    if ((*at)[i] >> 6 != 2) return b;
    v = v << 6 | ((*at)[i] & 0x3fu);
  }
  *at += more;
  return v;
}

static int emit(parser *p, op o, int a, int b) {
  if (p->re->n >= MAX_CODE) {
    fail(p, IG_UNSUPPORTED, "too large");
    return 0;
  }
  p->re->at[p->re->n] = (code){o, a, b};
  return p->re->n++;
}

static void add_range(parser *p, set *s, uint32_t from, uint32_t to) {
  if (s->n >= MAX_RANGES) {
    fail(p, IG_UNSUPPORTED, "a class of too many parts");
    return;
  }
  s->range[s->n][0] = from;
  s->range[s->n++][1] = to;
}

// \d \w \s and their opposites; false: something else.
static bool add_class(parser *p, set *s, uint8_t letter) {
  static const uint32_t digits[][2] = {{'0', '9'}};
  static const uint32_t words[][2] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  static const uint32_t spaces[][2] = {{'\t', '\r'}, {' ', ' '}};
  const uint32_t(*list)[2] = NULL;
  int n = 0;
  switch (letter | 0x20) {
    case 'd':
      list = digits;
      n = 1;
      break;
    case 'w':
      list = words;
      n = 4;
      break;
    case 's':
      list = spaces;
      n = 2;
      break;
    default:
      return false;
  }
  uint32_t next = 0;
  for (int i = 0; i < n; i++) {
    if (letter & 0x20) {
      add_range(p, s, list[i][0], list[i][1]);
    } else if (list[i][0] > next) {
      add_range(p, s, next, list[i][0] - 1);
    }
    next = list[i][1] + 1;
  }
  if (!(letter & 0x20)) add_range(p, s, next, 0x10ffff);
  return true;
}

static uint32_t escape(parser *p, uint8_t letter) {
  static const char from[] = "tnrfva";
  static const char to[] = "\t\n\r\f\v\a";
  const char *known = letter ? strchr(from, letter) : NULL;
  if (known) return (uint8_t)to[known - from];
  bool alnum =
      (letter >= '0' && letter <= '9') || ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z');
  if (alnum) fail(p, IG_UNSUPPORTED, "an escape that is not known");
  return letter;
}

static int new_set(parser *p) {
  if (p->re->nsets % 16 == 0) {
    set *more = ig_scope_array(p->c, (size_t)(p->re->nsets + 16), sizeof *more);
    if (!more) return -1;
    if (p->re->nsets) memcpy(more, p->re->sets, (size_t)p->re->nsets * sizeof *more);
    p->re->sets = more;
  }
  p->re->sets[p->re->nsets] = (set){0};
  return p->re->nsets++;
}

static bool more(const parser *p) {
  return p->at < p->end && p->c->status == IG_OK;
}

static void parse_bracket(parser *p, set *s) {
  if (more(p) && *p->at == '^') {
    s->negated = true;
    p->at++;
  }
  for (bool first = true; more(p) && (*p->at != ']' || first); first = false) {
    uint32_t from = decode(&p->at, p->end);
    if (from == '\\' && more(p)) {
      uint8_t letter = *p->at++;
      if (add_class(p, s, letter)) continue;
      from = escape(p, letter);
    }
    uint32_t to = from;
    if (p->end - p->at > 1 && *p->at == '-' && p->at[1] != ']') {
      p->at++;
      to = decode(&p->at, p->end);
      if (to == '\\' && more(p)) to = escape(p, *p->at++);
    }
    if (to < from) fail(p, IG_SYNTAX, "a range runs backwards");
    add_range(p, s, from, to);
  }
  if (!more(p)) {
    fail(p, IG_SYNTAX, "a class is not closed");
  } else {
    p->at++;
  }
}

static void parse_either(parser *p);

static void parse_group(parser *p) {
  if (p->end - p->at > 1 && p->at[0] == '?') {
    if (p->at[1] == ':') {
      p->at += 2;
    } else if (p->at[1] == 'P' || p->at[1] == '<') {
      while (more(p) && *p->at != '>') p->at++;
      if (more(p)) p->at++;
    } else {
      fail(p, IG_UNSUPPORTED, "flags and assertions in groups");
    }
  }
  parse_either(p);
  if (!more(p) || *p->at != ')') {
    fail(p, IG_SYNTAX, "a group is not closed");
  } else {
    p->at++;
  }
}

static void parse_escape(parser *p) {
  if (!more(p)) {
    fail(p, IG_SYNTAX, "ends with a backslash");
    return;
  }
  uint8_t letter = *p->at++;
  if (letter == 'b' || letter == 'B') {
    (void)emit(p, letter == 'b' ? OP_WORD : OP_NOT_WORD, 0, 0);
    return;
  }
  if (letter == 'A' || letter == 'z') {
    (void)emit(p, letter == 'A' ? OP_BEGIN : OP_END, 0, 0);
    return;
  }
  int i = new_set(p);
  if (i < 0) return;
  if (!add_class(p, &p->re->sets[i], letter)) {
    uint32_t v = escape(p, letter);
    add_range(p, &p->re->sets[i], v, v);
  }
  (void)emit(p, OP_SET, i, 0);
}

static void parse_atom(parser *p) {
  uint32_t ch = decode(&p->at, p->end);
  if (ch == '(') {
    parse_group(p);
  } else if (ch == '\\') {
    parse_escape(p);
  } else if (ch == '^' || ch == '$') {
    (void)emit(p, ch == '^' ? OP_BEGIN : OP_END, 0, 0);
  } else if (ch == '*' || ch == '+' || ch == '?') {
    fail(p, IG_SYNTAX, "nothing to repeat");
  } else {
    int i = new_set(p);
    if (i < 0) return;
    set *s = &p->re->sets[i];
    if (ch == '[') {
      parse_bracket(p, s);
    } else if (ch == '.') {
      s->negated = true;
      add_range(p, s, '\n', '\n');
    } else {
      add_range(p, s, ch, ch);
    }
    (void)emit(p, OP_SET, i, 0);
  }
}

// {2}, {2,}, {2,5}; false: not a repetition, the brace is itself.
static bool parse_counts(parser *p, int *low, int *high) {
  const uint8_t *at = p->at + 1;
  int v[2] = {0, -1};
  bool comma = false;
  bool digit = false;
  for (; at < p->end && *at != '}'; at++) {
    if (*at == ',' && !comma) {
      comma = true;
    } else if (*at >= '0' && *at <= '9') {
      int *x = &v[comma];
      *x = (*x < 0 ? 0 : *x) * 10 + (*at - '0');
      digit = true;
      if (*x > MAX_REPEAT) fail(p, IG_UNSUPPORTED, "too many repetitions");
      if (p->c->status != IG_OK) return false;
    } else {
      return false;
    }
  }
  if (at == p->end || !digit) return false;
  *low = v[0];
  *high = comma ? v[1] : v[0];
  if (*high >= 0 && *high < *low) fail(p, IG_SYNTAX, "a repetition runs backwards");
  p->at = at + 1;
  return true;
}

// Repeats the piece from `from` on, low to high times (high < 0: any number of times).
static void repeat(parser *p, int from, int low, int high) {
  ig_regex *re = p->re;
  int n = re->n - from;
  code *piece = ig_scope_array(p->c, (size_t)(n + 1), sizeof *piece);
  if (!piece) return;
  memcpy(piece, re->at + from, (size_t)n * sizeof *piece);
  re->n = from;
  int copies = high < 0 ? low + 1 : high;
  for (int i = 0; i < copies && p->c->status == IG_OK; i++) {
    bool optional = i >= low;
    int split = optional ? emit(p, OP_SPLIT, re->n + 1, 0) : -1;
    int shift = re->n - from;
    for (int k = 0; k < n; k++) {
      bool moves = piece[k].op == OP_SPLIT || piece[k].op == OP_JUMP;
      (void)emit(p, piece[k].op, moves ? piece[k].a + shift : piece[k].a,
                 moves ? piece[k].b + shift : piece[k].b);
    }
    if (optional && high < 0) (void)emit(p, OP_JUMP, split, 0);
    if (optional) re->at[split].b = re->n;
  }
}

static void parse_repeat(parser *p) {
  int from = p->re->n;
  parse_atom(p);
  while (more(p)) {
    int low = 0;
    int high = -1;
    if (*p->at == '*') {
      p->at++;
    } else if (*p->at == '+') {
      low = 1;
      p->at++;
    } else if (*p->at == '?') {
      high = 1;
      p->at++;
    } else if (*p->at != '{' || !parse_counts(p, &low, &high)) {
      return;
    }
    if (more(p) && *p->at == '?') p->at++;  // greedy or not, the whole must match
    repeat(p, from, low, high);
  }
}

static void parse_either(parser *p) {
  if (++p->depth > MAX_NESTING) fail(p, IG_UNSUPPORTED, "groups nested too deeply");
  int from = p->re->n;
  while (more(p) && *p->at != ')' && *p->at != '|') parse_repeat(p);
  if (more(p) && *p->at == '|') {
    p->at++;
    // split: first | second
    int n = p->re->n - from;
    (void)emit(p, OP_JUMP, 0, 0);
    if (p->c->status == IG_OK) {
      memmove(p->re->at + from + 1, p->re->at + from, (size_t)n * sizeof(code));
      for (int i = from + 1; i <= from + n; i++) {
        code *c = &p->re->at[i];
        if (c->op == OP_SPLIT || c->op == OP_JUMP) {
          c->a++;
          c->b++;
        }
      }
      int jump = emit(p, OP_JUMP, 0, 0);
      p->re->at[from] = (code){OP_SPLIT, from + 1, p->re->n};
      parse_either(p);
      p->depth--;
      p->re->at[jump].a = p->re->n;
      return;
    }
  }
  p->depth--;
}

ig_regex *ig_regex_parse(ig_ctx *c, ig_bytes pattern) {
  ig_regex *re = ig_scope_push(c, sizeof *re);
  if (!re) return NULL;
  re->n = re->nsets = 0;
  re->sets = NULL;
  const uint8_t *at =
      pattern.n ? pattern.at : (const uint8_t *)"";  // an attribute without bytes points nowhere
  parser p = {c, re, at, at + pattern.n, 0};
  parse_either(&p);
  if (p.at < p.end) fail(&p, IG_SYNTAX, "a group is closed that was not opened");
  (void)emit(&p, OP_MATCH, 0, 0);
  return c->status == IG_OK ? re : NULL;
}

// ---- matching

static bool in_set(const set *s, uint32_t ch) {
  bool found = false;
  for (int i = 0; i < s->n && !found; i++) found = ch >= s->range[i][0] && ch <= s->range[i][1];
  return found != s->negated;
}

static bool is_word(uint32_t ch) {
  return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || ch == '_' ||
         (ch >= 'a' && ch <= 'z');
}

typedef struct threads {
  int *at;
  int n;
  int *mark;  // per instruction: the step it was added in
  int *stack;
} threads;

typedef struct where {
  uint32_t before;  // 0: none
  uint32_t after;
  bool begin;
  bool end;
} where;

static void follow(const ig_regex *re, threads *t, int pc, int step, const where *w) {
  int depth = 0;
  t->stack[depth++] = pc;
  while (depth) {
    pc = t->stack[--depth];
    if (t->mark[pc] == step) continue;
    t->mark[pc] = step;
    const code *c = &re->at[pc];
    bool edge = (!w->begin && is_word(w->before)) != (!w->end && is_word(w->after));
    if (c->op == OP_SPLIT) {
      t->stack[depth++] = c->b;
      t->stack[depth++] = c->a;
    } else if (c->op == OP_JUMP) {
      t->stack[depth++] = c->a;
    } else if (c->op == OP_SET || c->op == OP_MATCH) {
      t->at[t->n++] = pc;
    } else if ((c->op == OP_BEGIN && w->begin) || (c->op == OP_END && w->end) ||
               (c->op == OP_WORD && edge) || (c->op == OP_NOT_WORD && !edge)) {
      t->stack[depth++] = pc + 1;
    }
  }
}

bool ig_regex_matches(ig_ctx *c, const ig_regex *re, ig_bytes text) {
  size_t bytes = ig_mem_mul((size_t)(2 * re->n + 2), sizeof(int));
  threads now = {ig_scope_push(c, bytes), 0, ig_scope_push(c, bytes), ig_scope_push(c, bytes)};
  threads next = {ig_scope_push(c, bytes), 0, now.mark, now.stack};
  if (!now.at || !now.mark || !now.stack || !next.at) return false;
  for (int i = 0; i < re->n; i++) now.mark[i] = -1;
  const uint8_t *at = text.at;
  const uint8_t *end = text.at + text.n;
  const uint8_t *peek = at;
  where w = {.begin = true, .end = at == end};
  w.after = at < end ? decode(&peek, end) : 0;
  int step = 0;
  follow(re, &now, 0, step, &w);
  while (at < end && now.n) {
    uint32_t ch = decode(&at, end);
    peek = at;
    w = (where){.before = ch, .end = at == end};
    w.after = at < end ? decode(&peek, end) : 0;
    next.n = 0;
    step++;
    for (int i = 0; i < now.n; i++) {
      const code *x = &re->at[now.at[i]];
      if (x->op == OP_SET && in_set(&re->sets[x->a], ch))
        follow(re, &next, now.at[i] + 1, step, &w);
    }
    threads swap = now;
    now = next;
    next = swap;
  }
  if (at < end) return false;
  for (int i = 0; i < now.n; i++) {
    if (re->at[now.at[i]].op == OP_MATCH) return true;
  }
  return false;
}
