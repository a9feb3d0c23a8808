// SPDX-License-Identifier: Apache-2.0
// Printed graphs of scripts as graphs.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "op/refuse.h"
#include "script/annotation.h"
#include "script/form.h"
#include "script/ir.h"

typedef struct scanner {
  ig_ctx *c;
  ig_stypes *types;
  const ig_resolver *classes;
  ig_sgraph *g;
  ig_source source;
  const char *p;
  ig_map values;  // by name as written
  size_t depth;
  size_t max_depth;
} scanner;

// ---- characters

static void *fail(scanner *s, const char *what) {
  size_t at = (size_t)(s->p - s->source.text);
  size_t end = at < s->source.n ? at + 1 : at;
  (void)ig_syntax_error(s->c, (ig_srange){&s->source, at, end}, "expected %s", what);
  return NULL;
}

static void *no_memory(scanner *s) {
  (void)ig_fail(s->c, IG_NOMEM, "out of memory");
  return NULL;
}

static void blanks(scanner *s) {
  while (*s->p == ' ') s->p++;
}

static void blank_lines(scanner *s) {
  while (*s->p == ' ' || *s->p == '\n') s->p++;
}

static bool take(scanner *s, const char *text) {
  blanks(s);
  size_t n = strlen(text);
  if (strncmp(s->p, text, n) != 0) return false;
  s->p += n;
  return true;
}

static bool expect(scanner *s, const char *text) {
  return take(s, text) || fail(s, text);
}

static bool is_name_part(char ch) {
  return isalnum((unsigned char)ch) || ch == '_' || ch == '.';
}

// The characters up to `end`, in the arena.
static char *cut(scanner *s, const char *end) {
  char *text = ig_arena_strn(&s->g->arena, s->p, (size_t)(end - s->p));
  s->p = end;
  return text ? text : no_memory(s);
}

static char *word(scanner *s) {
  const char *end = s->p;
  while (is_name_part(*end)) end++;
  return end == s->p ? fail(s, "a name") : cut(s, end);
}

// Behind the bracket that closes the one here; strings inside are skipped. NULL: it stays open.
static const char *closing(const char *p) {
  int depth = 0;
  for (bool quoted = false; *p; p++) {
    if (quoted) {
      if (*p == '\\' && p[1])
        p++;
      else if (*p == '"')
        quoted = false;
    } else if (*p == '"') {
      quoted = true;
    } else if (strchr("([{<", *p)) {
      depth++;
    } else if (strchr(")]}>", *p) && --depth == 0) {
      return p + 1;
    }
  }
  return NULL;
}

// ---- types

static const ig_stype *parse_type(scanner *s);

enum { MAX_ITEMS = 256 };

static bool parse_types(scanner *s, const char *end, const ig_stype **at, size_t *n) {
  *n = 0;
  while (!take(s, end)) {
    if (*n && !expect(s, ",")) return false;
    if (*n == MAX_ITEMS) return fail(s, "fewer types");
    if (!(at[*n] = parse_type(s))) return false;
    ++*n;
  }
  return true;
}

// The default of a field; it ends at a comma or bracket of this level.
static char *parse_default(scanner *s) {
  blanks(s);
  const char *end = s->p;
  while (*end && !strchr(",)\n", *end)) {
    const char *behind = strchr("([", *end) ? closing(end) : NULL;
    end = behind ? behind : end + 1;
  }
  return cut(s, end);
}

static const ig_stype *parse_named_tuple(scanner *s) {
  ig_stype_field at[MAX_ITEMS];
  size_t n = 0;
  for (; !take(s, ")"); n++) {
    if (n && !expect(s, ",")) return NULL;
    blanks(s);
    if (n == MAX_ITEMS) return fail(s, "fewer fields");
    at[n] = (ig_stype_field){.name = word(s)};
    if (!at[n].name || !expect(s, ":") || !(at[n].type = parse_type(s))) return NULL;
    if (take(s, "=") && !(at[n].value = parse_default(s))) return NULL;
  }
  // Without its name, which graphs do not print, the fields are its identity.
  ig_str key = ig_str_make(s->c->alloc);
  for (size_t i = 0; i < n; i++) {
    ig_str_add(&key, "%s=%s,", at[i].name, at[i].value ? at[i].value : "");
  }
  const ig_stype *t =
      key.failed ? no_memory(s) : ig_stype_named_tuple(s->types, key.at ? key.at : "", at, n);
  ig_str_free(&key);
  return t;
}

static const ig_stype *generic(scanner *s, ig_stype_kind kind, const char *end) {
  const ig_stype *at[MAX_ITEMS];
  size_t n = 0;
  if (!parse_types(s, end, at, &n)) return NULL;
  if (kind == IG_STYPE_TUPLE) return ig_stype_tuple(s->types, at, n);
  if (kind == IG_STYPE_UNION && n) return ig_stype_union(s->types, at, n);
  if (kind == IG_STYPE_DICT && n == 2) return ig_stype_dict(s->types, at[0], at[1]);
  if (kind == IG_STYPE_FUTURE && n == 1) return ig_stype_future(s->types, at[0]);
  return fail(s, "another number of types");
}

// The dtype with this title, IG_DTYPE_COUNT: the word is no title, -1: Tensor, of any dtype.
static int titled_dtype(const char *word, size_t n) {
  if (n == 6 && strncmp(word, "Tensor", n) == 0) return -1;
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    const char *title = ig_dtype_title((ig_dtype)d);
    if (strlen(title) == n && strncmp(title, word, n) == 0) return d;
  }
  return IG_DTYPE_COUNT;
}

static bool is_other_scalar(const char *word, size_t n) {
  static const char *const names[] = {"QInt8", "QUInt8", "QInt32", "ComplexHalf"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i]) == n && strncmp(names[i], word, n) == 0) return true;
  }
  return false;
}

// 2, 3 or *, *; how many there are.
static int traced_ints(const char **p, int64_t *at, bool *known) {
  int n = 0;
  for (; n < IG_MAX_DIM && (isdigit((unsigned char)**p) || **p == '*'); n++) {
    char *end = (char *)*p + 1;
    if (**p == '*') *known = false;
    if (**p != '*') at[n] = (int64_t)strtoll(*p, &end, 10);
    *p = strncmp(end, ", ", 2) == 0 ? end + 2 : end;
  }
  return n;
}

// What stands between the brackets, as far as it has the usual form.
static void traced_fields(const char *p, const char *end, ig_stensor *k, int64_t *sizes,
                          int64_t *strides, char *device, size_t room) {
  bool known = true;
  int n = traced_ints(&p, sizes, &known);
  if (n) k->ndim = n;
  if (n && known) k->sizes = sizes;
  while (p < end) {
    if (strncmp(p, "strides=[", 9) == 0) {
      p += 9;
      if (traced_ints(&p, strides, &known) == n && known) k->strides = strides;
      if (*p == ']') p++;
    } else if (strncmp(p, "requires_grad=", 14) == 0) {
      k->requires_grad = p[14] == '1';
      p += 15;
    } else if (strncmp(p, "device=", 7) == 0) {
      size_t length = strcspn(p + 7, ",)");
      if (length < room) {
        memcpy(device, p + 7, length);
        device[length] = '\0';
        k->device = device;
      }
      p += 7 + length;
    } else {
      return;
    }
    if (strncmp(p, ", ", 2) == 0) p += 2;
  }
}

// Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu). What has another form is known by its
// text alone.
static const ig_stype *traced_tensor(scanner *s) {
  const char *open = s->p;
  while (is_name_part(*open)) open++;
  size_t n = (size_t)(open - s->p);
  int dtype = titled_dtype(s->p, n);
  if (*open != '(' || (dtype == IG_DTYPE_COUNT && !is_other_scalar(s->p, n))) return NULL;
  const char *end = closing(open);
  char *text = end ? cut(s, end) : fail(s, ")");
  if (!text) return NULL;
  int64_t sizes[IG_MAX_DIM];
  int64_t strides[IG_MAX_DIM];
  char device[32];
  ig_stensor k = {.dtype = dtype, .ndim = -1, .requires_grad = -1};
  traced_fields(open + 1, end, &k, sizes, strides, device, sizeof device);
  // One element, no strides: a tensor without dimensions if everything else is known.
  if (k.ndim < 0 && k.device && k.requires_grad >= 0) k.ndim = 0;
  if (k.ndim == 0) k.sizes = k.strides = sizes;
  if (dtype < IG_DTYPE_COUNT) {
    const ig_stype *type = ig_stype_traced(s->types, &k);
    if (!type || strcmp(type->text, text) == 0) return type;
  }
  return ig_stype_named(s->types, IG_STYPE_TENSOR, text, NULL);
}

static const ig_stype *named_type(scanner *s) {
  char *name = word(s);
  if (!name) return NULL;
  if (strncmp(name, "__torch__", 9) == 0 && !s->classes) {
    return ig_stype_named(s->types, IG_STYPE_CLASS, name, NULL);
  }
  return ig_stype_parse(s->types, s->classes, name);
}

static const ig_stype *angled(scanner *s, ig_stype_kind kind) {
  blanks(s);
  char *name = word(s);
  return name && expect(s, ">") ? ig_stype_named(s->types, kind, name, NULL) : NULL;
}

static const ig_stype *parse_base(scanner *s) {
  if (take(s, "(")) return generic(s, IG_STYPE_TUPLE, ")");
  if (take(s, "Dict(")) return generic(s, IG_STYPE_DICT, ")");
  if (take(s, "Union(")) return generic(s, IG_STYPE_UNION, ")");
  if (take(s, "Future[")) return generic(s, IG_STYPE_FUTURE, "]");
  if (take(s, "NamedTuple(")) return parse_named_tuple(s);
  if (take(s, "Enum<")) return angled(s, IG_STYPE_ENUM);
  if (take(s, "InterfaceType<")) return angled(s, IG_STYPE_INTERFACE);
  const ig_stype *tensor = traced_tensor(s);
  if (tensor || s->c->status != IG_OK) return tensor;
  if (take(s, "Function")) return ig_stype_plain(s->types, IG_STYPE_FUNCTION);
  return named_type(s);
}

static const ig_stype *parse_type(scanner *s) {
  if (++s->depth > s->max_depth) {
    (void)ig_fail(s->c, IG_LIMIT, "types nested more than %zu deep", s->max_depth);
    return NULL;
  }
  blanks(s);
  const ig_stype *t = parse_base(s);
  while (t) {
    if (strncmp(s->p, "[]", 2) == 0) {
      s->p += 2;
      t = ig_stype_list(s->types, t);
    } else if (*s->p == '?') {
      s->p++;
      t = ig_stype_optional(s->types, t);
    } else {
      break;
    }
  }
  s->depth--;
  return t;
}

// ---- values

static char *value_name(scanner *s) {
  if (!expect(s, "%")) return NULL;
  return word(s);
}

static bool is_number(const char *text) {
  return text[strspn(text, "0123456789")] == '\0';
}

// Names the value that the text defines.
static bool define(scanner *s, ig_svalue *v, char *name) {
  ig_map_value *slot = v ? ig_map_put(&s->values, name) : NULL;
  if (!slot) return v && no_memory(s);
  if (slot->ptr) return fail(s, "a name that is not taken");
  slot->ptr = v;
  return is_number(name) || ig_svalue_set_name(s->g, v, name);
}

static ig_svalue *use(scanner *s) {
  const char *at = s->p;
  char *name = value_name(s);
  ig_map_value *slot = name ? ig_map_find(&s->values, name) : NULL;
  if (slot) return slot->ptr;
  if (name) {
    s->p = at;
    (void)fail(s, "a value that was defined");
  }
  return NULL;
}

static bool uses(scanner *s, ig_svalue ***out, size_t *n) {
  IG_VEC(ig_svalue *) v = {0};
  bool ok = expect(s, "(");
  while (ok && !take(s, ")")) {
    ok = !v.n || expect(s, ",");
    ig_svalue *value = ok ? use(s) : NULL;
    ok = value && (ig_vec_push(s->c->alloc, &v, value) || no_memory(s));
  }
  *out = ok ? ig_arena_array(&s->g->arena, v.n, sizeof(ig_svalue *)) : NULL;
  if (ok && !*out) (void)no_memory(s);
  if (*out && v.n) memcpy(*out, v.at, ig_mem_mul(v.n, sizeof(ig_svalue *)));
  *n = v.n;
  ig_vec_free(s->c->alloc, &v);
  return *out != NULL;
}

// ---- attributes

static bool literal(scanner *s, ig_value *out);

static bool literal_list(scanner *s, const char *end, ig_seq seq, ig_value *out) {
  IG_VEC(ig_value) v = {0};
  bool ok = ++s->depth <= s->max_depth || fail(s, "fewer brackets");
  while (ok && !take(s, end)) {
    ig_value item;
    ok = (!v.n || expect(s, ",")) && literal(s, &item) &&
         (ig_vec_push(s->c->alloc, &v, item) || no_memory(s));
  }
  s->depth--;
  ig_value *at = ok ? ig_arena_array(&s->g->arena, v.n, sizeof *at) : NULL;
  if (ok && !at) (void)no_memory(s);
  if (at && v.n) memcpy(at, v.at, ig_mem_mul(v.n, sizeof *at));
  *out = ig_of_list(at, v.n);
  out->seq = seq;
  ig_vec_free(s->c->alloc, &v);
  return at != NULL;
}

// Three octal digits of a signed character: those of a negative one stand below '0'. 0: none.
static int octal(const char *p) {
  int code = 0;
  if (*p != '0' && *p != '1' && *p != '/' && *p != '.') return 0;
  for (int i = 0; i < 3; i++) {
    int digit = p[i] - '0';
    if (!p[i] || digit < -7 || digit > 7) return 0;
    code = code * 8 + digit;
  }
  return code >= -128 && code <= 127 ? code : 0;
}

static bool literal_string(scanner *s, ig_value *out) {
  static const char from[] = "abfnrtv";
  static const char to[] = "\a\b\f\n\r\t\v";
  ig_str text = ig_str_make(s->c->alloc);
  for (s->p++; *s->p && *s->p != '"' && *s->p != '\n'; s->p++) {
    const char *known = *s->p == '\\' && s->p[1] ? strchr(from, s->p[1]) : NULL;
    int code = *s->p == '\\' ? octal(s->p + 1) : 0;
    if (known) {
      ig_str_add(&text, "%c", to[known - from]);
      s->p++;
    } else if (code) {
      ig_str_add(&text, "%c", (char)code);
      s->p += 3;
    } else {
      s->p += *s->p == '\\' && s->p[1] && s->p[1] != '\n';
      ig_str_add(&text, "%c", *s->p);
    }
  }
  const char *kept =
      text.failed ? NULL : ig_arena_strn(&s->g->arena, text.at ? text.at : "", text.n);
  ig_str_free(&text);
  if (!kept) return no_memory(s);
  *out = ig_of_str(kept);
  return expect(s, "\"");
}

static bool literal_number(scanner *s, ig_value *out) {
  size_t n = strspn(s->p, "+-.0123456789eEinfaj");
  char text[64];
  if (n == 0 || n >= sizeof text) return fail(s, "a value");
  memcpy(text, s->p, n);
  text[n] = '\0';
  char *end = NULL;
  double f = strtod(text, &end);
  if (end == text) return fail(s, "a value");
  bool imaginary = *end == 'j';
  if (*end == '+' || *end == '-') {
    char *more = NULL;
    double im = strtod(end, &more);
    *out = ig_of_complex(f, im);
    imaginary = *more == 'j';
    end = more;
  } else if (strpbrk(text, ".enfia")) {
    *out = ig_of_f64(f);
  } else {
    *out = ig_of_i64(strtoll(text, &end, 10));
  }
  s->p += (size_t)(end - text) + imaginary;
  return true;
}

// List[int] up to the comma behind it: the type of the result says the same.
static void skip_annotation(scanner *s) {
  for (int depth = 0; *s->p && *s->p != '\n' && (depth || *s->p != ','); s->p++) {
    depth += *s->p == '[' ? 1 : *s->p == ']' ? -1 : 0;
  }
}

static bool literal(scanner *s, ig_value *out) {
  blanks(s);
  if (*s->p == '"') return literal_string(s, out);
  if (take(s, "[")) return literal_list(s, "]", IG_SEQ_LIST, out);
  if (take(s, "(")) return literal_list(s, ")", IG_SEQ_TUPLE, out);
  if (take(s, "annotate(")) {  // of an empty list, which has no elements to show its type
    skip_annotation(s);
    return expect(s, ",") && literal(s, out) && expect(s, ")");
  }
  if (take(s, "None")) {
    *out = ig_none();
    return true;
  }
  return literal_number(s, out);
}

// Up to the comma or bracket that ends the attribute: what only its text is known of.
static bool raw_attr(scanner *s, ig_sattr *a) {
  const char *end = s->p;
  int depth = 0;
  for (; *end; end++) {
    if (strchr("([{<", *end)) depth++;
    bool closes = strchr(")]}>", *end) != NULL;
    if (depth == 0 && (closes || *end == ',')) break;
    if (closes) depth--;
  }
  a->kind = IG_SATTR_TEXT;
  a->text = cut(s, end);
  return a->text != NULL;
}

static bool type_attr(scanner *s, ig_sattr *a) {
  const ig_stype *at[MAX_ITEMS];
  if (!expect(s, "[") || !parse_types(s, "]", at, &a->n_types)) return false;
  const ig_stype **kept = ig_arena_array(&s->g->arena, a->n_types, sizeof *kept);
  if (!kept) return no_memory(s);
  for (size_t i = 0; i < a->n_types; i++) kept[i] = at[i];
  a->kind = IG_SATTR_TYPES;
  a->types = kept;
  return true;
}

// ^fn[attributes](constants) of a call of Python: nothing but its text is known.
static bool parse_python(scanner *s, ig_snode *n) {
  ig_sattr *a = ig_snode_add_attr(n, "", IG_SATTR_TEXT);
  const char *end = *s->p == '[' ? closing(s->p) : s->p;
  end = end && *end == '(' ? closing(end) : NULL;
  if (a && !end) return fail(s, "the constants of a call of Python");
  return a && (a->text = cut(s, end));
}

static bool parse_attrs(scanner *s, ig_snode *n, const ig_stype *type) {
  if (n->kind[0] == '^') return parse_python(s, n);
  if (!take(s, "[")) return true;
  do {
    blanks(s);
    char *name = word(s);
    if (!name || !expect(s, "=")) return false;
    ig_sattr *a = ig_snode_add_attr(n, name, IG_SATTR_VALUE);
    bool tensor = type && type->kind == IG_STYPE_TENSOR && strcmp(name, "value") == 0;
    const char *at = s->p;
    const char *first = at + strspn(at, "([");
    bool member = strncmp(first, "__torch__", 9) == 0;  // of an enumeration
    if (!a) return false;
    if (strcmp(name, "types") == 0) {
      if (!type_attr(s, a)) return false;
    } else if (tensor || member || *at == '<' || *at == '{' || *at == ' ') {
      if (!raw_attr(s, a)) return false;
    } else if (!literal(s, &a->value)) {
      return false;
    }
    bool truth = type && type->kind == IG_STYPE_BOOL && a->value.kind == IG_KIND_INT;
    if (truth) a->value = ig_of_bool(a->value.i.value != 0);
  } while (take(s, ","));
  return expect(s, "]");
}

// ---- nodes

static bool parse_nodes(scanner *s, ig_sblock *b, const char *end);

typedef struct definition {
  char *name;
  const ig_stype *type;
} definition;

// %a : int, %b : Tensor =
static bool parse_definitions(scanner *s, definition *at, size_t *n) {
  *n = 0;
  while (!take(s, "= ")) {
    if (*n == MAX_ITEMS) return fail(s, "fewer results");
    if (*n && !expect(s, ",")) return false;
    at[*n].name = value_name(s);
    if (!at[*n].name || !expect(s, ":") || !(at[*n].type = parse_type(s))) return false;
    ++*n;
  }
  return true;
}

static char *parse_kind(scanner *s) {
  blanks(s);
  const char *end = s->p;
  while (is_name_part(*end) || *end == ':' || *end == '^') end++;
  return end == s->p ? fail(s, "an operator") : cut(s, end);
}

static char *rest_of_line(scanner *s) {
  const char *end = s->p;
  while (*end && *end != '\n') end++;
  return cut(s, end);
}

static bool parse_tail(scanner *s, ig_snode *n) {
  if (take(s, ", scope: ")) {
    const char *end = s->p;
    while (*end && *end != '\n' && strncmp(end, " # ", 3) != 0) end++;
    if (!(n->scope = cut(s, end))) return false;
  }
  if (take(s, "# ") && !(n->place = rest_of_line(s))) return false;
  blanks(s);
  return *s->p == '\n' ? s->p++ != NULL : *s->p == '\0' || fail(s, "the end of the line");
}

static bool parse_inputs(scanner *s, ig_sblock *b) {
  for (size_t n = 0; blank_lines(s), !take(s, ")"); n++) {
    if (n && !expect(s, ",")) return false;
    blank_lines(s);
    char *name = value_name(s);
    const ig_stype *type = name && expect(s, ":") ? parse_type(s) : NULL;
    if (!type || !define(s, ig_sblock_add_input(b, type), name)) return false;
  }
  return expect(s, ":");
}

static bool parse_block(scanner *s, ig_snode *n) {
  ig_sblock *b = ig_snode_add_block(n);
  if (!b) return false;
  while (isdigit((unsigned char)*s->p)) s->p++;
  return expect(s, "(") && parse_inputs(s, b) && parse_nodes(s, b, "-> ");
}

static bool parse_node(scanner *s, ig_sblock *b) {
  definition made[MAX_ITEMS];
  size_t count = 0;
  if (!parse_definitions(s, made, &count)) return false;
  char *kind = parse_kind(s);
  ig_snode *n = kind ? ig_snode_push(b, kind, NULL, 0) : NULL;
  if (!n || !parse_attrs(s, n, count ? made[0].type : NULL)) return false;
  if (!uses(s, &n->in, &n->n_in) || !parse_tail(s, n)) return false;
  for (blank_lines(s); take(s, "block"); blank_lines(s)) {
    if (!parse_block(s, n)) return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!define(s, ig_snode_add_output(n, made[i].type), made[i].name)) return false;
  }
  return true;
}

static bool parse_nodes(scanner *s, ig_sblock *b, const char *end) {
  if (++s->depth > s->max_depth) {
    (void)ig_fail(s->c, IG_LIMIT, "blocks nested more than %zu deep", s->max_depth);
    return false;
  }
  for (blank_lines(s); !take(s, end); blank_lines(s)) {
    if (!parse_node(s, b)) return false;
  }
  s->depth--;
  return uses(s, &b->out, &b->n_out);
}

static bool parse_graph(scanner *s) {
  return expect(s, "graph(") && parse_inputs(s, s->g->body) &&
         parse_nodes(s, s->g->body, "return ");
}

// The first node of that kind that has no graph yet.
static ig_snode *find_node(const ig_sblock *b, const char *kind) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (strcmp(n->kind, kind) == 0 && !ig_snode_attr(n, "Subgraph")) return n;
    for (size_t i = 0; i < n->n_blocks; i++) {
      ig_snode *found = find_node(n->blocks[i], kind);
      if (found) return found;
    }
  }
  return NULL;
}

// prim::fork_0 is a prim::fork; its number is that of its graph.
static bool drop_number(scanner *s, ig_snode *n) {
  const char *end = strrchr(n->kind, '_');
  if (!end || !end[1] || end[1 + strspn(end + 1, "0123456789")]) return true;
  const char *kind = ig_arena_strn(&s->g->arena, n->kind, (size_t)(end - n->kind));
  if (!kind) return no_memory(s);
  ig_snode_set_kind(n, kind);
  return true;
}

// with prim::fork_0 = graph(...): the graph of a node, which may have such nodes itself.
static bool parse_inner(scanner *s) {
  ig_sgraph *outer = s->g;
  for (blank_lines(s); take(s, "with "); blank_lines(s)) {
    char *kind = parse_kind(s);
    ig_snode *n = kind ? find_node(s->g->body, kind) : NULL;
    if (!n) n = kind ? find_node(outer->body, kind) : NULL;
    if (!n) return kind && fail(s, "the graph of a node");
    ig_sgraph *inner = expect(s, "= ") ? ig_snode_add_graph(n, "Subgraph") : NULL;
    if (!inner || !drop_number(s, n)) return false;
    ig_map_free(&s->values);
    s->values = ig_map_make(s->c->alloc);
    s->g = inner;
    if (!parse_graph(s)) return false;
  }
  s->g = outer;
  return true;
}

// ---- entry point

ig_sgraph *ig_sgraph_parse(ig_stypes *types, const ig_resolver *classes, const char *text) {
  ig_ctx *c = types->c;
  ig_sgraph *g = ig_sgraph_create(types);
  if (!g) return NULL;
  scanner s = {.c = c,
               .types = types,
               .classes = classes,
               .g = g,
               .source = {.text = text, .n = strlen(text), .first_line = 1},
               .p = text,
               .max_depth = ig_ctx_limits(c).max_depth};
  s.values = ig_map_make(c->alloc);
  blank_lines(&s);
  bool ok = parse_graph(&s) && parse_inner(&s);
  blank_lines(&s);
  if (ok && *s.p) (void)fail(&s, "the end");
  ig_map_free(&s.values);
  if (c->status == IG_OK) return g;
  ig_sgraph_free(g);
  return NULL;
}
