// SPDX-License-Identifier: Apache-2.0
// The location of a captured Python program: the metadata of its nodes.
//
// A node is recorded about once a microsecond, so nothing is formatted per node. The user's frames
// from the capture inwards are a path in a tree of call sites (code, instruction); the frames of a
// stack are collected once, when its last site is first reached. The torch function of a node is
// the outermost one: the binder and the methods of Tensor report when they are entered, functions
// written in Python are found among the frames.
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "ir/graph.h"
#include "op/grad_mode.h"
#include "py.h"

enum { MAX_FRAMES = 64, CODES = 128 };

typedef struct site {
  const struct site *outer;
  PyCodeObject *code;  // retained
  int at;              // instruction
  int line;
  const char *file;
  ig_frames frames;       // of the whole stack
  const ig_graph *graph;  // where `kept` belongs
  const ig_call_stack *kept;
} site;

typedef enum code_kind { CODE_UNKNOWN, CODE_USER, CODE_OURS, CODE_FUNCTION } code_kind;

typedef struct known_code {
  PyCodeObject *code;  // retained
  code_kind kind;
} known_code;

// The local variable that receives the result of a call, by the location of the call.
typedef struct known_local {
  const PyCodeObject *code;  // to compare
  int at;
  const char *name;
} known_local;

// A torch function and how often it was called.
typedef struct fn_count {
  const char *cls;
  const char *name;
  size_t calls;
  struct fn_count *next;  // of the same graph
} fn_count;

// The call that nodes come from; its texts are created when its first node is recorded.
typedef struct region {
  fn_count *fn;        // NULL: none yet
  bool builtin;        // reported by its binding, not found among the frames
  size_t number;       // of the call
  const char *source;  // strict: name of the function as the caller wrote it, NULL: none
  char source_name[96];
  const ig_graph *graph;  // where the texts are
  const char *torch_fn;
  const char *source_fn;
} region;

// A module that is being called: its level of the module stack, all texts retained.
typedef struct module_call {
  PyObject *key;
  PyObject *path;
  PyObject *type;
} module_call;

// Counters of one graph: a sub-graph of a higher-order operator has its own.
typedef struct level {
  struct level *outer;
  fn_count *recent[CODES];  // by hash of the name
  ig_map counts;            // "method_descriptor.add" -> fn_count
  fn_count *fns;            // all of them
  ig_map sources;           // names used for source functions: how many of each
  ig_map taken;  // used names that end in a number, and all that came after the first of these
  ig_map last;   // their last numbers, by what stands before those
  size_t depth;  // regions entered
  PyFrameObject *function;  // Python function that recorded last, retained
  region at;
  region outer_at;            // the call of that function
  const char *prefix;         // strict: source functions of the calls around it, in the arena
  const char *module_source;  // strict: the layer being called; it wins over functions
} level;

struct py_trace {
  bool strict;
  bool grad_modes;      // switches of the grad mode become nodes
  PyFrameObject *edge;  // frame that opened the capture
  ig_arena arena;
  IG_VEC(site *) sites;  // open addressing, a power of two
  size_t nsites;
  known_code codes[CODES];
  known_local locals[CODES];
  level *in;
  IG_VEC(module_call) modules;  // that are being called, outermost first
  const ig_graph *graph;        // keeps what follows
  const char *layer;            // the layer's source that was kept last, and its copy
  const char *kept_layer;
  bool modules_are_kept;  // as this stack
  const ig_module_stack *kept_modules;
};

// ---- lifetime ----

static bool push_level(ig_ctx *c, py_trace *t) {
  level *l = PyMem_Calloc(1, sizeof *l);
  if (!l) return false;
  l->counts = l->sources = l->taken = l->last = ig_map_make(c->alloc);
  l->outer = t->in;
  t->in = l;
  return true;
}

static void pop_level(py_trace *t) {
  level *l = t->in;
  t->in = l->outer;
  Py_XDECREF(l->function);
  ig_map_free(&l->counts);
  ig_map_free(&l->sources);
  ig_map_free(&l->taken);
  ig_map_free(&l->last);
  PyMem_Free(l);
}

static void pop_module(py_trace *t) {
  const module_call *m = &t->modules.at[--t->modules.n];
  Py_DECREF(m->key);
  Py_DECREF(m->path);
  Py_DECREF(m->type);
  t->modules_are_kept = false;
}

py_trace *py_trace_begin(ig_ctx *c, bool strict, bool grad_modes) {
  py_trace *t = PyMem_Calloc(1, sizeof *t);
  if (!t || !push_level(c, t)) {
    PyMem_Free(t);
    return (py_trace *)PyErr_NoMemory();
  }
  t->strict = strict;
  t->grad_modes = grad_modes;
  t->arena = ig_arena_make(c->alloc);
  t->edge = PyThreadState_GetFrame(PyThreadState_Get());
  c->locate_user = t;
  return t;
}

void py_trace_end(ig_ctx *c) {
  py_trace *t = c->locate_user;
  if (!t) return;
  c->locate_user = NULL;
  c->stack = NULL;
  while (t->in) pop_level(t);
  Py_XDECREF(t->edge);
  for (size_t i = 0; i < t->sites.cap; i++) {
    if (t->sites.at[i]) Py_DECREF(t->sites.at[i]->code);
  }
  for (size_t i = 0; i < CODES; i++) Py_XDECREF(t->codes[i].code);
  while (t->modules.n) pop_module(t);
  ig_vec_free(c->alloc, &t->modules);
  ig_vec_free(c->alloc, &t->sites);
  ig_arena_free(&t->arena);
  PyMem_Free(t);
}

// ---- frames ----

static bool ends_with(PyObject *file, const char *end) {
  PyObject *text = PyUnicode_FromString(end);
  bool yes = text && PyUnicode_Tailmatch(file, text, 0, PyUnicode_GET_LENGTH(file), 1) == 1;
  Py_XDECREF(text);
  return yes;
}

// Functions of the package that are Python functions in PyTorch too.
static code_kind kind_of_ours(const py_trace *t, PyCodeObject *code) {
  static const char *const files[] = {"nn/functional.py", "ingot/functional.py", "nn/_attention.py",
                                      "nn/_losses.py"};
  const char *name = PyUnicode_AsUTF8(code->co_name);
  if (!name || name[0] == '_' || name[0] == '<') return CODE_OURS;
  const ig_function_forms *forms = ig_release_function(name);
  if (forms->unreported || (t->strict && forms->inlined)) return CODE_OURS;
  for (size_t i = 0; i < PY_COUNT(files); i++) {
    if (ends_with(code->co_filename, files[i])) return CODE_FUNCTION;
  }
  return CODE_OURS;
}

static code_kind kind_of(py_trace *t, PyCodeObject *code) {
  known_code *k = &t->codes[((uintptr_t)code >> 5) % CODES];
  if (k->code == code) return k->kind;
  PyObject *file = code->co_filename;
  bool ours =
      py.package && PyUnicode_Tailmatch(file, py.package, 0, PyUnicode_GET_LENGTH(file), -1) == 1;
  Py_XDECREF(k->code);
  k->code = (PyCodeObject *)Py_NewRef((PyObject *)code);
  k->kind = ours ? kind_of_ours(t, code) : CODE_USER;
  return k->kind;
}

static uint64_t hash_site(const site *outer, const PyCodeObject *code, int at) {
  uint64_t h = (uintptr_t)outer * 0x9e3779b97f4a7c15u;
  h = (h ^ (uintptr_t)code) * 0xff51afd7ed558ccdu;
  h = (h ^ (uint64_t)at) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 29);
}

static bool grow(ig_ctx *c, py_trace *t) {
  size_t cap = t->sites.cap ? 2 * t->sites.cap : 64;
  site **old = t->sites.at;
  size_t ncap = t->sites.cap;
  site **fresh = ig_mem_array(c->alloc, cap, sizeof *fresh);
  if (!fresh) return false;
  for (size_t i = 0; i < ncap; i++) {
    if (!old[i]) continue;
    size_t at = hash_site(old[i]->outer, old[i]->code, old[i]->at) & (cap - 1);
    while (fresh[at]) at = (at + 1) & (cap - 1);
    fresh[at] = old[i];
  }
  ig_vec_free(c->alloc, &t->sites);
  t->sites.at = fresh;
  t->sites.cap = cap;
  return true;
}

// The text of line `line` of a file, stripped; a new reference or NULL without exception.
static PyObject *source_line(PyObject *file, int line) {
  PyObject *cache = PyImport_ImportModule("linecache");
  PyObject *text = cache ? PyObject_CallMethod(cache, "getline", "Oi", file, line) : NULL;
  PyObject *stripped = text ? PyObject_CallMethod(text, "strip", NULL) : NULL;
  Py_XDECREF(cache);
  Py_XDECREF(text);
  PyErr_Clear();
  return stripped;
}

static const char *keep_word(py_trace *t, PyObject *o) {
  Py_ssize_t n = 0;
  const char *text = o ? PyUnicode_AsUTF8AndSize(o, &n) : NULL;
  PyErr_Clear();
  return text && n ? ig_arena_strn(&t->arena, text, (size_t)n) : NULL;
}

// The frames of the outer site, whose texts are shared, and that of s.
static bool collect_frames(py_trace *t, site *s) {
  size_t n = s->outer ? s->outer->frames.n : 0;
  ig_frame *at = ig_arena_array(&t->arena, n + 1, sizeof *at);
  if (!at) return false;
  if (n) memcpy(at, s->outer->frames.at, n * sizeof *at);
  const char *name = keep_word(t, s->code->co_name);
  PyObject *line = source_line(s->code->co_filename, s->line);
  at[n] = (ig_frame){s->file, s->line, name ? name : "?", keep_word(t, line)};
  Py_XDECREF(line);
  s->frames = (ig_frames){.at = at, .n = n + 1};
  return true;
}

static site *make_site(py_trace *t, const site *outer, PyCodeObject *code, int at) {
  site *s = ig_arena_push(&t->arena, sizeof *s);
  if (!s) return NULL;
  PyObject *file = PyDict_SetDefault(py.files, code->co_filename, code->co_filename);
  const char *path = file ? PyUnicode_AsUTF8(file) : NULL;
  *s = (site){.outer = outer,
              .code = (PyCodeObject *)Py_NewRef((PyObject *)code),
              .at = at,
              .line = PyCode_Addr2Line(code, at),
              .file = path ? path : "?"};
  return collect_frames(t, s) ? s : (Py_DECREF(code), NULL);
}

static site *find_site(ig_ctx *c, py_trace *t, const site *outer, PyCodeObject *code, int at) {
  if (2 * t->nsites >= t->sites.cap && !grow(c, t)) return NULL;
  size_t mask = t->sites.cap - 1;
  size_t i = hash_site(outer, code, at) & mask;
  for (; t->sites.at[i]; i = (i + 1) & mask) {
    site *s = t->sites.at[i];
    if (s->outer == outer && s->code == code && s->at == at) return s;
  }
  site *s = make_site(t, outer, code, at);
  if (s) {
    t->sites.at[i] = s;
    t->nsites++;
  }
  return s;
}

typedef struct walk {
  PyCodeObject *codes[MAX_FRAMES];  // borrowed: the frames are running
  int at[MAX_FRAMES];
  size_t n;
  PyFrameObject *function;  // outermost frame of a Python-level torch function, retained
} walk;

static void walk_frames(py_trace *t, walk *w) {
  w->n = 0;
  w->function = NULL;
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && frame != t->edge) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    code_kind kind = kind_of(t, code);
    if (kind == CODE_USER && w->n < MAX_FRAMES) {
      w->codes[w->n] = code;
      w->at[w->n++] = PyFrame_GetLasti(frame);
    }
    if (kind == CODE_FUNCTION) {
      Py_XDECREF(w->function);
      w->function = (PyFrameObject *)Py_NewRef((PyObject *)frame);
    }
    Py_DECREF(code);
    PyFrameObject *back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
}

// ---- torch functions ----

static fn_count *find_count(py_trace *t, const char *cls, const char *name) {
  char key[160];
  (void)snprintf(key, sizeof key, "%s.%s", cls, name);
  ig_map_value *v = ig_map_find(&t->in->counts, key);
  if (v) return v->ptr;
  const char *kept = ig_arena_strn(&t->arena, key, strlen(key));
  fn_count *f = kept ? ig_arena_push(&t->arena, sizeof *f) : NULL;
  v = f ? ig_map_put(&t->in->counts, kept) : NULL;
  if (!v) return NULL;
  *f = (fn_count){.cls = ig_arena_strn(&t->arena, cls, strlen(cls)),
                  .name = ig_arena_strn(&t->arena, name, strlen(name)),
                  .next = t->in->fns};
  v->ptr = f->cls && f->name ? f : NULL;
  if (v->ptr) t->in->fns = f;
  return v->ptr;
}

static fn_count *count_of(py_trace *t, const char *cls, const char *name) {
  size_t h = (unsigned char)cls[0];
  for (const char *at = name; *at; at++) h = h * 31 + (unsigned char)*at;
  fn_count **recent = &t->in->recent[h % CODES];
  bool same = *recent && strcmp((*recent)->name, name) == 0 && strcmp((*recent)->cls, cls) == 0;
  if (!same) *recent = find_count(t, cls, name);
  return *recent;
}

enum { SOURCE_CAP = 160 };

// A source function as part of a name: add.Tensor is add_tensor, and __abs__ is abs.
static const char *source_key(const char *source, char *key) {
  if (strcmp(source, "__abs__") == 0) source = "abs";
  size_t n = 0;
  for (const char *p = source; *p && n + 3 < SOURCE_CAP; p++) {
    bool upper = *p >= 'A' && *p <= 'Z';
    if (upper && p > source && p[-1] >= 'a' && p[-1] <= 'z') key[n++] = '_';
    key[n++] = (char)(*p == '.' ? '_' : upper ? *p - 'A' + 'a' : *p);
  }
  key[n] = 0;
  return key;
}

static ig_map_value *find_source(const py_trace *t, const char *source) {
  char key[SOURCE_CAP];
  return ig_map_find(&t->in->sources, source_key(source, key));
}

static ig_map_value *put(py_trace *t, ig_map *m, const char *key) {
  ig_map_value *v = ig_map_find(m, key);
  const char *kept = v ? NULL : ig_arena_strn(&t->arena, key, strlen(key));
  return v ? v : kept ? ig_map_put(m, kept) : NULL;
}

static size_t number_in(const ig_map *m, const char *key) {
  const ig_map_value *v = ig_map_find(m, key);
  return v ? v->num : 0;
}

// Length of what stands before a trailing _<digits>, and those digits; 0 if there are none.
static size_t split_number(const char *name, size_t *number) {
  size_t n = strlen(name);
  size_t k = n;
  while (k > 0 && name[k - 1] >= '0' && name[k - 1] <= '9') k--;
  *number = 0;
  if (k == n || k < 2 || name[k - 1] != '_' || n - k > 9) return n;
  *number = strtoul(name + k, NULL, 10);
  return k - 1;
}

// The general case: a name that ends in a number, or others that do have been given out.
static void take_name(py_trace *t, const char *base, char *out, size_t cap) {
  level *in = t->in;
  char stem[SOURCE_CAP];
  size_t number = 0;
  size_t length = split_number(base, &number);
  (void)snprintf(stem, sizeof stem, "%.*s", (int)length, base);
  size_t counted = number_in(&in->sources, stem);
  size_t last = number_in(&in->last, stem);
  bool plain = length == strlen(base);
  bool used = plain ? counted > 0 : number > 0 && number < counted;
  (void)snprintf(out, cap, "%s", base);
  if (number == 0) number = counted > last + 1 ? counted - 1 : last;
  while (used || number_in(&in->taken, out) || ig_name_is_reserved(out)) {
    number++;
    used = number < counted;
    (void)snprintf(out, cap, "%s_%zu", stem, number);
  }
  ig_map_value *v = put(t, &in->taken, out);
  if (v) v->num = 1;
  v = put(t, &in->last, stem);
  if (v) v->num = number;
}

// A name as fx would give it to the call: sum_1, add, add_1.
static void unique_source(py_trace *t, const char *source, char *out, size_t cap) {
  char key[SOURCE_CAP];
  const char *base = source_key(source, key);
  size_t digits = 0;
  if (t->in->taken.n > 0 || split_number(base, &digits) != strlen(base)) {
    take_name(t, base, out, cap);
    return;
  }
  ig_map_value *v = find_source(t, source);
  if (!v) {
    v = put(t, &t->in->sources, key);
    if (v) v->num = ig_name_is_reserved(base) ? 1 : 0;
  }
  size_t number = v ? v->num++ : 0;
  if (number) {
    (void)snprintf(out, cap, "%s_%zu", base, number);
  } else {
    (void)snprintf(out, cap, "%s", base);
  }
}

// It is not a call: its name is available again.
static void give_back(py_trace *t, const region *at) {
  ig_map_value *v = ig_map_find(&t->in->taken, at->source_name);
  if (v) {
    v->num = 0;
    size_t number = 0;
    char stem[SOURCE_CAP];
    (void)snprintf(stem, sizeof stem, "%.*s", (int)split_number(at->source_name, &number),
                   at->source_name);
    v = ig_map_find(&t->in->last, stem);
  } else {
    v = find_source(t, at->source);
  }
  if (v && v->num) v->num--;
}

// The opcode of a store into a local variable; -1: not known.
static int store_opcode(void) {
  static int known = 0;
  if (known) return known;
  PyObject *module = PyImport_ImportModule("opcode");
  PyObject *map = module ? PyObject_GetAttrString(module, "opmap") : NULL;
  PyObject *code = map ? PyMapping_GetItemString(map, "STORE_FAST") : NULL;
  long number = code ? PyLong_AsLong(code) : -1;
  Py_XDECREF(code);
  Py_XDECREF(map);
  Py_XDECREF(module);
  PyErr_Clear();
  return known = number > 0 && number < 256 ? (int)number : -1;
}

// The local variable that the result of the call at `at` goes into; a new reference, NULL: none.
static PyObject *stored_in(PyCodeObject *code, int at) {
  PyObject *bytes = PyObject_GetAttrString((PyObject *)code, "co_code");
  const char *units = bytes ? PyBytes_AsString(bytes) : NULL;
  Py_ssize_t n = units ? PyBytes_Size(bytes) : 0;
  Py_ssize_t i = at + 2;
  while (units && i + 1 < n && units[i] == 0) i += 2;  // room that the interpreter keeps for itself
  bool store = units && i + 1 < n && (unsigned char)units[i] == store_opcode();
  size_t k = store ? (unsigned char)units[i + 1] : 0;
  Py_XDECREF(bytes);
  PyObject *names = store ? PyObject_GetAttrString((PyObject *)code, "co_varnames") : NULL;
  PyObject *name = names ? PySequence_GetItem(names, (Py_ssize_t)k) : NULL;
  Py_XDECREF(names);
  PyErr_Clear();
  return name;
}

// The same, remembered by place; "" if there is none.
static const char *local_at(py_trace *t, PyCodeObject *code, int at) {
  known_local *k = &t->locals[(((uintptr_t)code >> 5) + (size_t)at) % CODES];
  if (k->code == code && k->at == at) return k->name;
  PyObject *local = stored_in(code, at);
  const char *name = local ? PyUnicode_AsUTF8(local) : NULL;
  const char *kept = name ? ig_arena_strn(&t->arena, name, strlen(name)) : "";
  *k = (known_local){code, at, kept ? kept : ""};
  PyErr_Clear();
  Py_XDECREF(local);
  return k->name;
}

// The first graph of a strict capture names results after the user's local variables.
static void take_local(py_trace *t, const char *source_name) {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  PyCodeObject *code = frame && frame != t->edge ? PyFrame_GetCode(frame) : NULL;
  bool user = code && kind_of(t, code) == CODE_USER;
  const char *name = user ? local_at(t, code, PyFrame_GetLasti(frame)) : "";
  char unused[SOURCE_CAP];
  if (*name && strcmp(name, source_name) != 0) unique_source(t, name, unused, sizeof unused);
  Py_XDECREF(code);
  Py_XDECREF(frame);
}

static void enter_function(py_trace *t, const char *cls, const char *name, const char *source) {
  fn_count *f = count_of(t, cls, name);
  region *at = &t->in->at;
  *at = (region){.fn = f, .number = f ? ++f->calls : 0};
  if (!t->strict || !f || !source) return;
  at->source = source == name ? f->name : source;
  unique_source(t, source, at->source_name, sizeof at->source_name);
  if (t->in->depth <= 1) take_local(t, at->source_name);
}

// Is it the user's code that runs, not a function of the package?
static bool user_runs(py_trace *t) {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  PyCodeObject *code = frame && frame != t->edge ? PyFrame_GetCode(frame) : NULL;
  bool user = code && kind_of(t, code) == CODE_USER;
  Py_XDECREF(code);
  Py_XDECREF(frame);
  return user;
}

void py_trace_name(ig_ctx *c, const char *source, size_t times) {
  py_trace *t = c->locate_user;
  if (!t || !t->strict || !c->mode->capture || t->in->depth || !user_runs(t)) return;
  char unused[SOURCE_CAP];
  while (times-- > 0) unique_source(t, source, unused, sizeof unused);
}

bool py_trace_is_strict(const ig_ctx *c) {
  const py_trace *t = c->locate_user;
  return t && t->strict && c->mode->capture;
}

bool py_region_enter(ig_ctx *c, const char *cls, const char *name, const char *source) {
  py_trace *t = c->locate_user;
  if (!t) return false;
  if (t->in->depth++ == 0) {
    enter_function(t, cls, name, source ? source : name);
    t->in->at.builtin = true;
  }
  return true;
}

void py_region_leave(ig_ctx *c) {
  py_trace *t = c->locate_user;
  if (t && t->in->depth) t->in->depth--;
}

bool py_level_enter(ig_ctx *c, const char *source) {
  py_trace *t = c->locate_user;
  if (!t || !c->mode->capture || !c->mode->capture->outer || !push_level(c, t)) return false;
  if (!t->strict || !source) return true;
  const char *outer = t->in->outer->prefix ? t->in->outer->prefix : "";
  size_t n = strlen(outer) + 2 * strlen(source) + 3;
  char *text = ig_arena_push(&t->arena, n);
  if (text) (void)snprintf(text, n, "%s%s,%s;", outer, source, source);
  t->in->prefix = text;
  return true;
}

// A non-strict capture runs the calls of a function before it makes a graph of them, so that they
// count in the outer graph too.
static void add_calls(py_trace *t, const level *inner) {
  for (const fn_count *f = inner->fns; f; f = f->next) {
    fn_count *outer = find_count(t, f->cls, f->name);
    if (outer) outer->calls += f->calls;
  }
}

void py_level_leave(ig_ctx *c) {
  py_trace *t = c->locate_user;
  if (!t || !t->in->outer) return;
  level *inner = t->in;
  t->in = inner->outer;
  if (!t->strict) add_calls(t, inner);
  t->in = inner;
  pop_level(t);
}

// The last call was made inside a function that is written in Python: only that one is used.
static void take_back(py_trace *t) {
  region *at = &t->in->at;
  if (!at->builtin || !at->fn) return;
  at->builtin = false;
  at->fn->calls--;
  if (at->source) give_back(t, at);
}

static void see_function(py_trace *t, walk *w) {
  level *in = t->in;
  if (!w->function) {
    Py_CLEAR(in->function);
    return;
  }
  take_back(t);
  if (w->function == in->function) {
    Py_DECREF(w->function);
    in->at = in->outer_at;
    return;
  }
  PyCodeObject *code = PyFrame_GetCode(w->function);
  const char *name = PyUnicode_AsUTF8(code->co_name);
  Py_XSETREF(in->function, w->function);
  if (name) enter_function(t, "function", name, name);
  in->outer_at = in->at;
  Py_DECREF(code);
}

// ---- grad mode ----

bool py_trace_grad_mode(ig_ctx *c, bool enabled, PyObject *fn) {
  py_trace *t = c->locate_user;
  if (!c->mode->capture || !t) return false;
  if (t->grad_modes) {
    region before = t->in->at;
    enter_function(t, "builtin_function_or_method", "_set_grad_enabled", NULL);
    ig_record_grad_mode(c, enabled, fn);
    t->in->at = before;
  }
  return !t->strict && !c->mode->capture->switches_grad;
}

// ---- the next node ----

// What was kept belongs to another graph.
static void see_graph(const ig_ctx *c, py_trace *t) {
  if (t->graph == c->mode->capture) return;
  t->graph = c->mode->capture;
  t->layer = t->kept_layer = NULL;
  t->modules_are_kept = false;
}

static const char *keep_layer(ig_ctx *c, py_trace *t, const char *text) {
  if (text && t->layer != text) {
    t->layer = text;
    t->kept_layer = ig_graph_keep_text(c, c->mode->capture, text);
  }
  return text ? t->kept_layer : NULL;
}

// Many nodes are recorded between two calls of modules.
static const ig_module_stack *keep_modules(ig_ctx *c, py_trace *t) {
  if (t->modules_are_kept) return t->kept_modules;
  t->modules_are_kept = true;
  t->kept_modules = NULL;
  if (!t->modules.n) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_module_level *levels = ig_scope_array(c, t->modules.n, sizeof *levels);
  for (size_t i = 0; levels && i < t->modules.n; i++) {
    const module_call *m = &t->modules.at[i];  // the texts were read once: they are there
    levels[i] = (ig_module_level){PyUnicode_AsUTF8(m->key), PyUnicode_AsUTF8(m->path),
                                  PyUnicode_AsUTF8(m->type)};
  }
  if (levels) t->kept_modules = ig_graph_keep_levels(c, c->mode->capture, levels, t->modules.n);
  ig_scope_close(c, s);
  return t->kept_modules;
}

// a + b + ... in the graph's memory; the parts end with NULL.
static const char *join(ig_ctx *c, const char *const *parts) {
  size_t n = 0;
  for (size_t i = 0; parts[i]; i++) n += strlen(parts[i]);
  char *text = ig_arena_push(&c->mode->capture->arena, n + 1);
  for (size_t i = 0, at = 0; text && parts[i]; i++) {
    size_t length = strlen(parts[i]);
    memcpy(text + at, parts[i], length);
    at += length;
  }
  return text;
}

static const char *decimal(size_t n, char *end) {
  *--end = 0;
  do *--end = (char)('0' + n % 10);
  while (n /= 10);
  return end;
}

static void write_region(ig_ctx *c, region *r, const char *prefix) {
  char digits[24];
  const char *name = r->fn->name;
  const char *number = decimal(r->number, digits + sizeof digits);
  r->graph = c->mode->capture;
  r->torch_fn = join(c, (const char *[]){name, "_", number, ";", r->fn->cls, ".", name, NULL});
  r->source_fn = NULL;
  if (r->source) {
    r->source_fn =
        join(c, (const char *[]){prefix ? prefix : "", r->source_name, ",", r->source, NULL});
  }
}

void py_trace_locate(ig_ctx *c, py_trace *t) {
  walk w;
  walk_frames(t, &w);
  see_function(t, &w);
  const char **meta = c->mode->capture->meta.text;
  see_graph(c, t);
  site *s = NULL;
  for (size_t i = w.n; i-- > 0;) {
    site *inner = find_site(c, t, s, w.codes[i], w.at[i]);
    if (!inner) break;
    s = inner;
  }
  c->mode->capture->meta.stack = NULL;
  if (s) {
    if (s->graph != c->mode->capture) {
      s->graph = c->mode->capture;
      s->kept = ig_graph_keep_frames(c, c->mode->capture, &s->frames);
    }
    c->mode->capture->meta.stack = s->kept;
    c->stack = &s->frames;
    (void)ig_ctx_at(c, s->file, s->line);
  }
  region *at = &t->in->at;
  if (at->fn && at->graph != c->mode->capture) {
    write_region(c, at, t->in->prefix);
    if (t->in->function) t->in->outer_at = *at;
  }
  const char *layer = keep_layer(c, t, t->in->module_source);
  c->mode->capture->meta.modules = keep_modules(c, t);
  meta[IG_META_TORCH_FN] = at->fn ? at->torch_fn : NULL;
  meta[IG_META_SOURCE_FN] = layer || !at->fn ? layer : at->source_fn;
}

static const site *current_site(ig_ctx *c, py_trace *t) {
  walk w;
  walk_frames(t, &w);
  Py_XDECREF(w.function);
  const site *s = NULL;
  for (size_t i = w.n; i-- > 0;) s = find_site(c, t, s, w.codes[i], w.at[i]);
  return s;
}

void py_trace_place(ig_ctx *c, py_trace *t) {
  const site *s = current_site(c, t);
  if (!s) return;
  c->stack = &s->frames;
  (void)ig_ctx_at(c, s->file, s->line);
}

void py_trace_stack(const py_trace *trace, ig_ctx *c, ig_str *out) {
  const site *s = current_site(c, (py_trace *)trace);
  if (s) ig_frames_print(out, &s->frames);
}

// ---- Python ----

// trace_module(key, path, class): a module is called; trace_module(): it has returned.
static PyObject *trace_module(PyObject *module, PyObject *args) {
  (void)module;
  module_call m = {NULL, NULL, NULL};
  ig_ctx *c = py_ctx();
  py_trace *t = c->locate_user;
  if (!PyArg_ParseTuple(args, "|UUU:trace_module", &m.key, &m.path, &m.type)) return NULL;
  if (t && !m.key && t->modules.n) pop_module(t);
  if (t && m.key) {
    bool texts = m.type && PyUnicode_AsUTF8(m.key) && PyUnicode_AsUTF8(m.path);
    if (!texts || !PyUnicode_AsUTF8(m.type)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    if (!ig_vec_push(c->alloc, &t->modules, m)) return PyErr_NoMemory();
    Py_INCREF(m.key);
    Py_INCREF(m.path);
    Py_INCREF(m.type);
    t->modules_are_kept = false;
  }
  Py_RETURN_NONE;
}

// trace_layer(name, class) or trace_layer(None): a layer of PyTorch is called, as one function.
// Returns whether it counts as one.
static PyObject *trace_layer(PyObject *module, PyObject *args) {
  (void)module;
  const char *base = NULL;
  const char *cls = NULL;
  if (!PyArg_ParseTuple(args, "z|z:trace_layer", &base, &cls)) return NULL;
  py_trace *t = py_ctx()->locate_user;
  bool counts =
      t && t->strict && !t->in->outer;  // inside a higher-order operator only functions do
  if (counts) {
    char unique[176];
    char text[320];
    t->in->module_source = NULL;
    if (base && cls) {
      unique_source(t, base, unique, sizeof unique);
      int n = snprintf(text, sizeof text, "%s,%s", unique, cls);
      t->in->module_source =
          ig_arena_strn(&t->arena, text, (size_t)n < sizeof text ? (size_t)n : 0);
    }
  }
  return PyBool_FromLong(counts);
}

// trace_items(n): a layer has returned n values, which a strict capture's first graph reads one by
// one.
static PyObject *trace_items(PyObject *module, PyObject *n) {
  (void)module;
  py_trace *t = py_ctx()->locate_user;
  size_t left = PyLong_AsSize_t(n);
  if (PyErr_Occurred()) return NULL;
  char unused[SOURCE_CAP];
  while (t && t->strict && left-- > 0) unique_source(t, "getitem", unused, sizeof unused);
  Py_RETURN_NONE;
}

// trace_stack(): the user's frames inside the capture, as a traceback prints them.
static PyObject *trace_stack(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  py_trace *t = c->locate_user;
  ig_str text = ig_str_make(c->alloc);
  if (t) py_trace_stack(t, c, &text);
  PyObject *out = PyUnicode_FromStringAndSize(text.at ? text.at : "", (Py_ssize_t)text.n);
  ig_str_free(&text);
  return out;
}

PyMethodDef py_trace_functions[] = {
    {"trace_module", trace_module, METH_VARARGS, NULL},
    {"trace_layer", trace_layer, METH_VARARGS, NULL},
    {"trace_items", trace_items, METH_O, NULL},
    {"trace_stack", trace_stack, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
