// SPDX-License-Identifier: Apache-2.0
// Functions of scripts as Python objects, and the front of the compiler for user code: texts come
// from Python with an object that knows what the names around them mean.
#include "script.h"

#include <string.h>

#include "script/check.h"
#include "script/code_print.h"
#include "script/marks.h"
#include "script/operator.h"
#include "script_value.h"

PyObject *py_script_raise(ig_ctx *c) {
  if (ig_ctx_status(c) != IG_SYNTAX) return py_raise(c);
  return py_raise_as(c, PyExc_RuntimeError);
}

static PyObject *raise_refusal(ig_ctx *c, ig_srefusal what) {
  static const char *const names[] = {
      [IG_SREFUSAL_FRONTEND] = "FrontendError",
      [IG_SREFUSAL_FEATURE] = "NotSupportedError",
      [IG_SREFUSAL_STATEMENT] = "UnsupportedNodeError",
  };
  if (what == IG_SREFUSAL_NONE) return py_script_raise(c);
  PyObject *errors = PyImport_ImportModule("ingot.jit.frontend");
  PyObject *cls = errors ? PyObject_GetAttrString(errors, names[what]) : NULL;
  if (cls) PyErr_SetString(cls, ig_ctx_error(c));
  ig_ctx_clear(c);
  Py_XDECREF(cls);
  Py_XDECREF(errors);
  return NULL;
}

// ---- the front

static bool front_resolve(ig_ctx *c, void *user, const char *name, ig_srange where, ig_sugar *out) {
  PyObject *said = PyObject_CallMethod(user, "resolve", "s", name);
  bool ok = said ? py_sugar_of(c, said, NULL, where, out) : py_script_failed(c);
  Py_XDECREF(said);
  return ok;
}

// The types of a unit are of its own context.
static const ig_stype *front_type(void *user, const char *name) {
  PyObject *found = PyObject_CallMethod(user, "type", "s", name);
  const ig_stype *type = found && found != Py_None ? py_stype_of(found) : NULL;
  if (PyErr_Occurred()) (void)py_script_failed(py_unit()->c);
  Py_XDECREF(found);
  return type;
}

static bool front_default(ig_ctx *c, void *user, const char *param, const ig_stype *type,
                          ig_value *out, bool *given) {
  PyObject *found = PyObject_CallMethod(user, "default", "s", param);
  if (!found) return py_script_failed(c);
  *given = found != Py_None;
  PyObject *value = *given ? PyTuple_GET_ITEM(found, 0) : NULL;
  ig_str why = ig_str_make(c->alloc);
  bool ok = !value || py_to_script(c, py_unit(), value, type, out, &why);
  if (!ok && !PyErr_Occurred() && c->status == IG_OK) {
    // What is no tensor though nothing says its type is refused with the place, see declare.
    const ig_stype *own = py_script_type_of(c, py_unit(), value, &why);
    ok = own && py_to_script(c, py_unit(), value, own, out, &why);
  }
  ig_str_free(&why);
  Py_DECREF(found);
  return ok || (c->status == IG_OK ? py_script_failed(c) : false);
}

// The front and all it points to live as long as the unit.
static const ig_sfront *front_of(ig_sunit *u, PyObject *object) {
  ig_sfront *front = ig_arena_push(&u->arena, sizeof *front);
  if (!front) {
    PyErr_NoMemory();
    return NULL;
  }
  *front =
      (ig_sfront){.resolve = front_resolve,
                  .type = front_type,
                  .default_value = PyObject_HasAttrString(object, "default") ? front_default : NULL,
                  .user = Py_NewRef(object),
                  .python = true};
  return front;
}

// ---- declaring functions

typedef struct text_args {
  PyObject *front;
  const char *text;
  Py_ssize_t n;
  const char *file;
  Py_ssize_t first_line;
  Py_ssize_t indent;
  const char *qualified;
  PyObject *owner;
} text_args;

static const ig_source *source_of(ig_sunit *u, const text_args *a) {
  ig_source *s = ig_arena_push(&u->arena, sizeof *s);
  const char *text = ig_arena_strn(&u->arena, a->text, (size_t)a->n);
  const char *file = a->file ? ig_arena_strn(&u->arena, a->file, strlen(a->file)) : NULL;
  if (!s || !text || (a->file && !file)) {
    PyErr_NoMemory();
    return NULL;
  }
  *s = (ig_source){.text = text,
                   .n = (size_t)a->n,
                   .file = file,
                   .first_line = (size_t)a->first_line,
                   .indent = (size_t)a->indent};
  return s;
}

static ig_tree *def_of(ig_ctx *c, ig_sunit *u, const text_args *a) {
  const ig_source *source = source_of(u, a);
  ig_tree *block = source ? ig_tree_parse(c, &u->arena, source) : NULL;
  if (source && !block) (void)py_script_raise(c);
  if (!block) return NULL;
  bool async = strncmp(source->text, "async", 5) == 0;
  if (block->n == 1 && block->at[0]->kind == IG_TREE_DEF && !async) return block->at[0];
  PyErr_Format(PyExc_RuntimeError, "Expected a single top-level function: %s:%zu",
               source->file ? source->file : "<string>", source->first_line);
  return NULL;
}

// Lists and dicts as defaults are refused, with the whole function as the place.
static bool check_defaults(ig_ctx *c, PyObject *front, const ig_tree *def) {
  PyObject *found = PyObject_CallMethod(front, "mutable_default", NULL);
  if (!found || found == Py_None) {
    Py_XDECREF(found);
    return found != NULL;
  }
  ig_str quoted = ig_str_make(c->alloc);
  ig_srange_quote(&quoted, def->range, NULL);
  const char *what = PyUnicode_AsUTF8(found);
  if (what) {
    PyErr_Format(PyExc_RuntimeError,
                 "\nMutable default parameters are not supported because Python binds them to the "
                 "function and they persist across function calls.\n As a workaround, make the "
                 "default None and instantiate the default parameter within the body of the "
                 "function. Found %s:\n%s",
                 what, quoted.at ? quoted.at : "");
  }
  ig_str_free(&quoted);
  Py_DECREF(found);
  return false;
}

// The default of a parameter without a type is a tensor or None.
static bool check_untyped(ig_ctx *c, const ig_sfunction *f, const ig_tree *def) {
  for (size_t i = 0; i < f->n_params; i++) {
    const ig_sparam *p = &f->params[i];
    if (!p->inferred || !p->has_default) continue;
    if (p->def.kind == IG_KIND_NONE || p->def.kind == IG_KIND_TENSOR) continue;
    ig_str quoted = ig_str_make(c->alloc);
    ig_srange_quote(&quoted, def->range, NULL);
    PyErr_Format(PyExc_RuntimeError,
                 "\nExpected a default value of type Tensor (inferred) on parameter \"%s\"."
                 "Because \"%s\" was not annotated with an explicit type it is assumed to be type "
                 "'Tensor'.:\n%s",
                 p->name, p->name, quoted.at ? quoted.at : "");
    ig_str_free(&quoted);
    return false;
  }
  return true;
}

// Of the signature only the types; the whole of it is marked up to its end.
static void mark_def(ig_tree *def) {
  for (size_t i = 0; i < def->at[0]->n; i++) {
    ig_tree *param = def->at[0]->at[i];
    for (size_t j = 0; j < param->n; j++) {
      if (param->at[j]) ig_tree_mark(param->at[j]);
    }
  }
  if (def->at[1]) ig_tree_mark(def->at[1]);
  ig_tree_mark(def->at[2]);
}

static PyObject *declare(PyObject *module, PyObject *args) {
  (void)module;
  text_args a;
  if (!PyArg_ParseTuple(args, "Os#znnsO", &a.front, &a.text, &a.n, &a.file, &a.first_line,
                        &a.indent, &a.qualified, &a.owner)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_sunit *u = py_unit();
  ig_tree *def = u ? def_of(c, u, &a) : NULL;
  if (!def) return NULL;
  ig_srefusal what = IG_SREFUSAL_NONE;
  if (ig_script_check(c, def, &what) != IG_OK) return raise_refusal(c, what);
  mark_def(def);
  const ig_sfront *front = check_defaults(c, a.front, def) ? front_of(u, a.front) : NULL;
  if (!front) return NULL;
  ig_sclass *owner = a.owner == Py_None ? NULL : ((py_sclass *)a.owner)->k;
  ig_sfunction *f = ig_script_declare(c, u, owner, a.qualified, def, front);
  if (!f) return py_script_raise(c);
  return check_untyped(c, f, def) ? py_from_sfunction(u, f) : NULL;
}

// All functions of a text without a host: CompilationUnit.
static PyObject *define(PyObject *module, PyObject *args) {
  (void)module;
  text_args a = {.first_line = 1};
  if (!PyArg_ParseTuple(args, "Os#zO", &a.front, &a.text, &a.n, &a.file, &a.owner)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sunit *u = py_unit();
  const ig_source *source = u ? source_of(u, &a) : NULL;
  const ig_sfront *front = source ? front_of(u, a.front) : NULL;
  if (!front) return NULL;
  const ig_tree *block = ig_tree_parse(c, &u->arena, source);
  if (!block) return py_script_raise(c);
  ig_sclass *owner = a.owner == Py_None ? NULL : ((py_sclass *)a.owner)->k;
  PyObject *made = PyList_New(0);
  for (size_t i = 0; made && i < block->n; i++) {
    const ig_tree *def = block->at[i];
    if (def->kind != IG_TREE_DEF) continue;
    PyObject *name = PyObject_CallMethod(a.front, "qualified", "s", def->text);
    const char *qualified = name ? PyUnicode_AsUTF8(name) : NULL;
    ig_sfunction *f = qualified ? ig_script_declare(c, u, owner, qualified, def, front) : NULL;
    if (!f && !PyErr_Occurred()) (void)py_script_raise(c);
    PyObject *o = f ? py_from_sfunction(u, f) : NULL;
    if (!o || PyList_Append(made, o) < 0) Py_CLEAR(made);
    Py_XDECREF(o);
    Py_XDECREF(name);
  }
  return made;
}

// ---- ScriptFunction

PyObject *py_from_sfunction(ig_sunit *u, ig_sfunction *f) {
  py_sfunction *o = PyObject_GC_New(py_sfunction, &py_sfunction_type);
  if (!o) return NULL;
  o->unit = ig_sunit_retain(u);
  o->f = f;
  o->self = NULL;
  o->dict = NULL;
  PyObject_GC_Track(o);
  return (PyObject *)o;
}

static ig_sfunction *function_of(PyObject *o) {
  return ((py_sfunction *)o)->f;
}

static int function_traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(((py_sfunction *)o)->self);
  Py_VISIT(((py_sfunction *)o)->dict);
  return 0;
}

static int function_clear(PyObject *o) {
  Py_CLEAR(((py_sfunction *)o)->self);
  Py_CLEAR(((py_sfunction *)o)->dict);
  return 0;
}

static void function_dealloc(PyObject *o) {
  PyObject_GC_UnTrack(o);
  (void)function_clear(o);
  ig_sunit_release(((py_sfunction *)o)->unit);
  PyObject_GC_Del(o);
}

static PyObject *ensure(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!ig_sfunction_ensure(c, function_of(o))) return py_script_raise(c);
  Py_RETURN_NONE;
}

static bool ready(PyObject *o) {
  PyObject *done = ensure(o, NULL);
  Py_XDECREF(done);
  return done != NULL;
}

static PyObject *get_name(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(function_of(o)->name);
}

static PyObject *get_qualified(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(function_of(o)->qualified);
}

static PyObject *get_graph(PyObject *o, void *unused) {
  (void)unused;
  if (!ready(o)) return NULL;
  if (function_of(o)->graph) {
    return py_from_sgraph(((py_sfunction *)o)->unit, function_of(o)->graph, false);
  }
  PyErr_Format(PyExc_RuntimeError, "%s is a Python function, which has no graph",
               function_of(o)->name);
  return NULL;
}

static PyObject *get_inlined(PyObject *o, void *unused) {
  (void)unused;
  if (!ready(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sunit *u = ((py_sfunction *)o)->unit;
  ig_sgraph *g = function_of(o)->graph ? ig_sgraph_copy(function_of(o)->graph) : NULL;
  if (g && ig_sgraph_inline(c, u, g)) return py_from_sgraph(u, g, true);
  if (g) ig_sgraph_free(g);
  return py_script_raise(c);
}

// {"c0": value}: what a text calls CONSTANTS.c0.
static PyObject *constants_of(ig_ctx *c, const ig_sprint_refs *refs) {
  PyObject *all = PyDict_New();
  for (size_t i = 0; all && i < refs->constants.n; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "c%zu", i);
    PyObject *value = py_from_script(c, refs->constants.at[i]);
    if (!value || PyDict_SetItemString(all, name, value) != 0) Py_CLEAR(all);
    Py_XDECREF(value);
  }
  return all;
}

// The text of a function; *constants, unless constants is NULL: those of it, a new reference.
static PyObject *code_of(PyObject *o, PyObject **constants) {
  if (!ready(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sprint_refs refs = ig_sprint_refs_make(c);
  ig_sprint_text text = ig_sprint_text_make(c);
  ig_sprint_options options = {.self_type = !function_of(o)->owner};
  bool ok = ig_sprint_function(c, function_of(o), &options, &refs, &text);
  PyObject *out =
      ok ? PyUnicode_FromStringAndSize(text.text.at ? text.text.at : "", (Py_ssize_t)text.text.n)
         : py_script_raise(c);
  if (out && constants && !(*constants = constants_of(c, &refs))) Py_CLEAR(out);
  ig_sprint_text_free(&text);
  ig_sprint_refs_free(&refs);
  return out;
}

static PyObject *get_code(PyObject *o, void *unused) {
  (void)unused;
  return code_of(o, NULL);
}

static PyObject *call_signature(const char *function, PyObject *args) {
  PyObject *module = args ? PyImport_ImportModule("ingot.jit._signature") : NULL;
  PyObject *callee = module ? PyObject_GetAttrString(module, function) : NULL;
  PyObject *out = callee ? PyObject_CallObject(callee, args) : NULL;
  Py_XDECREF(callee);
  Py_XDECREF(module);
  Py_XDECREF(args);
  return out;
}

static PyObject *get_code_with_constants(PyObject *o, void *unused) {
  (void)unused;
  PyObject *constants = NULL;
  PyObject *text = code_of(o, &constants);
  return text ? call_signature("code_with_constants", Py_BuildValue("(NN)", text, constants))
              : NULL;
}

// (name, keyword only, has a default, default, type) per parameter from one on.
static PyObject *parameters_of(PyObject *o, size_t first) {
  const ig_sfunction *f = function_of(o);
  PyObject *list = PyList_New(0);
  for (size_t i = first; list && i < f->n_params; i++) {
    const ig_sparam *p = &f->params[i];
    PyObject *def = p->has_default ? py_from_script(py_ctx(), p->def) : Py_NewRef(Py_None);
    PyObject *row = def ? Py_BuildValue("(sOONN)", p->name, p->keyword_only ? Py_True : Py_False,
                                        p->has_default ? Py_True : Py_False, def,
                                        py_from_stype(f->unit, p->type))
                        : NULL;
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *get_schema(PyObject *o, void *unused) {
  (void)unused;
  if (!ready(o)) return NULL;
  const ig_sfunction *f = function_of(o);
  ig_str s = ig_str_make(py_ctx()->alloc);
  bool ok = ig_sfunction_print_schema(&s, f) && s.at;
  if (!ok) PyErr_NoMemory();
  PyObject *parameters = ok ? parameters_of(o, 0) : NULL;
  PyObject *result =
      parameters ? (f->result ? py_from_stype(f->unit, f->result) : Py_NewRef(Py_None)) : NULL;
  PyObject *args = result ? Py_BuildValue("(ssNN)", s.at, f->name, parameters, result) : NULL;
  if (!result) Py_XDECREF(parameters);
  ig_str_free(&s);
  return args ? call_signature("FunctionSchema", args) : NULL;
}

static PyObject *get_signature(PyObject *o, void *unused) {
  (void)unused;
  PyObject *parameters = parameters_of(o, ((py_sfunction *)o)->self ? 1 : 0);  // without self
  return parameters ? call_signature("signature_of", Py_BuildValue("(N)", parameters)) : NULL;
}

static PyObject *function_call(PyObject *o, PyObject *args, PyObject *options) {
  return py_script_call(function_of(o), ((py_sfunction *)o)->self, args, options);
}

static PyObject *call_archive(PyObject *o, const char *name, PyObject *args, PyObject *options) {
  PyObject *home = PyImport_ImportModule("ingot.jit._archive");
  PyObject *fn = home ? PyObject_GetAttrString(home, name) : NULL;
  PyObject *self = fn ? PyTuple_Pack(1, o) : NULL;
  PyObject *all = self ? PySequence_Concat(self, args) : NULL;
  PyObject *out = all ? PyObject_Call(fn, all, options) : NULL;
  Py_XDECREF(all);
  Py_XDECREF(self);
  Py_XDECREF(fn);
  Py_XDECREF(home);
  return out;
}
static PyObject *save(PyObject *o, PyObject *args, PyObject *options) {
  return call_archive(o, "save", args, options);
}
static PyObject *save_to_buffer(PyObject *o, PyObject *args, PyObject *options) {
  return call_archive(o, "to_bytes", args, options);
}

static PyObject *graph_for(PyObject *o, PyObject *args, PyObject *options) {
  PyObject *result = function_call(o, args, options);
  Py_XDECREF(result);
  return result ? PyObject_GetAttrString(o, "inlined_graph") : NULL;
}

static PyMethodDef function_methods[] = {
    {"save", (PyCFunction)(void (*)(void))save, METH_VARARGS | METH_KEYWORDS,
     "Writes an archive: save(file, _extra_files={})."},
    {"save_to_buffer", (PyCFunction)(void (*)(void))save_to_buffer, METH_VARARGS | METH_KEYWORDS,
     "The bytes of an archive."},
    {"graph_for", (PyCFunction)(void (*)(void))graph_for, METH_VARARGS | METH_KEYWORDS,
     "Calls the function; the graph that ran, with all calls inlined."},
    {"_ensure", ensure, METH_NOARGS, "Compiles the body if that was not done yet."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef function_getset[] = {
    {"name", get_name, NULL, NULL, NULL},
    {"qualified_name", get_qualified, NULL, NULL, NULL},
    {"graph", get_graph, NULL, NULL, NULL},
    {"inlined_graph", get_inlined, NULL, NULL, NULL},
    {"code", get_code, NULL, NULL, NULL},
    {"schema", get_schema, NULL, NULL, NULL},
    {"code_with_constants", get_code_with_constants, NULL, NULL, NULL},
    {"__signature__", get_signature, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject py_sfunction_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.ScriptFunction",
    .tp_basicsize = sizeof(py_sfunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A function of a script.",
    .tp_dealloc = function_dealloc,

    .tp_call = function_call,
    .tp_traverse = function_traverse,
    .tp_clear = function_clear,
    .tp_methods = function_methods,
    .tp_getset = function_getset,
    .tp_dictoffset = offsetof(py_sfunction, dict),
};

// ---- names of the unit

static PyObject *mangle(PyObject *module, PyObject *name) {
  (void)module;
  ig_sunit *u = py_unit();
  const char *text = u ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return NULL;
  const char *mangled = ig_sunit_mangle(u, text);
  return mangled ? PyUnicode_FromString(mangled) : py_raise(u->c);
}

static PyObject *has_name(PyObject *module, PyObject *name) {
  (void)module;
  ig_sunit *u = py_unit();
  const char *text = u ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return NULL;
  return PyBool_FromLong(ig_sunit_function(u, text) || ig_sunit_type(u, text));
}

static PyObject *has_operator(PyObject *module, PyObject *name) {
  (void)module;
  ig_sunit *u = py_unit();
  const char *text = u ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return NULL;
  const ig_soperators *found = ig_soperators_named(u, text);
  return found ? PyBool_FromLong(found->n > 0) : py_raise(u->c);
}

static PyObject *parse_type(PyObject *module, PyObject *args) {
  (void)module;
  const char *text = NULL;
  PyObject *front = NULL;
  ig_sunit *u = py_unit();
  if (!u || !PyArg_ParseTuple(args, "sO", &text, &front)) return NULL;
  const char *kept = ig_arena_strn(&u->arena, text, strlen(text));
  ig_resolver resolver = {front_type, front};
  const ig_stype *t =
      kept ? ig_stype_parse(&u->types, front == Py_None ? NULL : &resolver, kept) : NULL;
  return t ? py_from_stype(u, t) : py_script_raise(u->c);
}

// The type that a value has in scripts, or a text that says why it has none.
static PyObject *infer(PyObject *module, PyObject *value) {
  (void)module;
  ig_ctx *c = py_ctx();
  ig_sunit *u = py_unit();
  if (!u) return NULL;
  ig_str why = ig_str_make(c->alloc);
  const ig_stype *t = py_script_type_of(c, u, value, &why);
  PyObject *out = NULL;
  if (t) {
    out = py_from_stype(u, t);
  } else if (!PyErr_Occurred()) {
    out = c->status == IG_OK ? PyUnicode_FromString(why.at ? why.at : "") : py_raise(c);
  }
  ig_str_free(&why);
  return out;
}

static PyMethodDef functions[] = {
    {"_script_infer", infer, METH_O, "The type of a value."},
    {"_script_declare", declare, METH_VARARGS, "A function or method from its text."},
    {"_script_source", py_script_source, METH_VARARGS, "The text of a function in its file."},
    {"_script_define", define, METH_VARARGS, "All functions of a text."},
    {"_script_mangle", mangle, METH_O, "A name like this that is not taken."},
    {"_script_has_name", has_name, METH_O, "Whether a function or type has this name."},
    {"_script_has_operator", has_operator, METH_O, "Whether there is an operator of this name."},
    {"_script_parse_type", parse_type, METH_VARARGS, "The type of an annotation."},
    {NULL, NULL, 0, NULL},
};

int py_add_script(PyObject *m) {
  if (PyModule_AddFunctions(m, functions) < 0 || PyType_Ready(&py_sfunction_type) < 0) return -1;
  if (PyModule_AddObjectRef(m, "ScriptFunction", (PyObject *)&py_sfunction_type) < 0) return -1;
  if (py_add_script_freeze(m) < 0 || py_add_script_archive(m) < 0) return -1;
  return py_add_script_class(m) || py_add_script_object(m) ? -1 : 0;
}
