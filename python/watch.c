// SPDX-License-Identifier: Apache-2.0
// What a function does besides calling operators, watched during its first compiled call: calls
// that a graph cannot have, and exceptions that it raises and catches.
//
// A compiled function is right without this. It decides what PyTorch decides by reading bytecode:
// whether one graph is possible, and whether the function is compiled at all. Where one graph is
// wanted, a function in C is refused unless it is known to depend on its arguments alone, so that
// one that nobody thought of is refused as well. Few calls besides the first are watched, because a
// hook on every call of the interpreter costs more than what a later call is allowed to; what later
// calls do is computed all the same.
#include <string.h>

#include "py.h"

// A function by its module, or by the end of its file's name; NULL: all of them.
typedef struct row {
  const char *module;
  const char *name;
} row;

// Functions with effects: they break a graph also where several are allowed. In C, called from the
// user's code,
static const row effects_in_c[] = {
    {"builtins", "print"}, {"builtins", "input"}, {"builtins", "exec"}, {"builtins", "eval"},
    {"_io", NULL},         {"io", NULL},          {"time", NULL},       {"posix", NULL},
    {"_random", NULL},     {"random", NULL},      {"_warnings", NULL},  {"_socket", NULL},
    {"gc", NULL},          {"_pickle", NULL},     {"marshal", NULL},    {"_thread", NULL},
};

// and in Python.
static const row effects_in_python[] = {
    {"/logging/__init__.py", NULL}, {"/random.py", NULL},     {"/copy.py", "deepcopy"},
    {"/warnings.py", "warn"},       {"/subprocess.py", NULL}, {"/threading.py", NULL},
    {"/tempfile.py", NULL},         {"/shutil.py", NULL},     {"/pickle.py", NULL},
};

// Where one graph is wanted: the modules in C whose functions it may have, but for those behind.
// Methods of built-in classes are named with their class.
static const char *const pure_modules[] = {"builtins",    "math",         "_operator", "itertools",
                                           "_functools",  "_collections", "_typing",   "_abc",
                                           "collections", "numpy",        "ingot",     "re"};
static const row impure[] = {{"builtins", "hash"},
                             {"builtins", "globals"},
                             {"builtins", "locals"},
                             {"builtins", "open"},
                             {"builtins", "__build_class__"},
                             {"builtins", "compile"},
                             {"builtins", "breakpoint"},
                             {"builtins", "vars"},
                             {"builtins", "dir"},
                             {"builtins", "__import__"},
                             {"builtins", "ascii"},
                             {"builtins", "bin"},
                             {"builtins", "hex"},
                             {"builtins", "oct"},
                             {"builtins", "list.count"},
                             {"builtins", "list.remove"},
                             {"builtins", "list.sort"},
                             {"builtins", "tuple.count"},
                             {"builtins", "dict.popitem"},
                             {"builtins", "set.difference_update"},
                             {"builtins", "set.intersection_update"},
                             {"builtins", "set.issubset"},
                             {"builtins", "set.issuperset"},
                             {"builtins", "set.symmetric_difference"},
                             {"builtins", "frozenset.issubset"},
                             {"builtins", "frozenset.issuperset"},
                             {"builtins", "int.to_bytes"},
                             {"builtins", "bytes.count"},
                             {"builtins", "bytes.hex"},
                             {"builtins", "bytes.startswith"},
                             {"builtins", "range.count"},
                             {"builtins", "range.index"},
                             {"builtins", "generator.send"},
                             {"builtins", "generator.throw"},
                             {"builtins", "generator.close"},
                             {"builtins", "coroutine.send"},
                             {"builtins", "coroutine.throw"},
                             {"builtins", "coroutine.close"},
                             {"_functools", "cmp_to_key"},
                             {"collections", "count"},
                             {"collections", "remove"},
                             {"collections", "move_to_end"},
                             {"collections", "popitem"},
                             {"collections", "rotate"},
                             {"ingot", "can_cast"},
                             {"ingot", "is_inference"},
                             {"ingot", "is_inference_mode_enabled"},
                             {"ingot", "is_pinned"},
                             {"ingot", "is_shared"},
                             {"ingot", "storage_offset"},
                             {"ingot", "result_type"},
                             {"ingot", "get_num_threads"},
                             {"ingot", "set_num_threads"}};
// Of packages that it may have: these keep a state.
static const char *const impure_packages[] = {"numpy.random"};
static const row pure[] = {{"posix", "fspath"}, {"sys", "getrecursionlimit"}};

// Python's own modules that PyTorch does not look into, and what it knows of them.
static const row opaque[] = {
    {"/copy.py", NULL},
    {"/re/__init__.py", NULL},
    {"/traceback.py", NULL},
    {"/weakref.py", NULL},
    {"/signal.py", NULL},
    {"/contextlib.py", "contextmanager"},
    {"/inspect.py", "stack"},
    {"/inspect.py", "getsource"},
    {"/contextlib.py", "suppress.__init__"},
    {"/tokenize.py", NULL},
    {"/collections/__init__.py", "Counter.__init__"},
    {"/collections/__init__.py", "ChainMap.__init__"},
    {"/collections/__init__.py", "namedtuple.<locals>._asdict"},
    {"/collections/__init__.py", "namedtuple.<locals>._make"},
    {"/collections/__init__.py", "namedtuple.<locals>._replace"},
    {"/contextlib.py", "contextmanager.<locals>.helper"},
    {"/contextlib.py", "_BaseExitStack.__init__"},
    {"/dataclasses.py", "replace"},
    {"/dataclasses.py", "asdict"},
    {"/dataclasses.py", "astuple"},
    {"/enum.py", "EnumType.__iter__"},
    {"/fractions.py", NULL},
    {"/functools.py", "lru_cache"},
    {"/functools.py", "cached_property.__get__"},
    {"/functools.py", "singledispatch.<locals>.wrapper"},
    {"/importlib/__init__.py", "import_module"},
    {"/inspect.py", "isfunction"},
    {"/inspect.py", "iscoroutinefunction"},
    {"/inspect.py", "isclass"},
    {"/inspect.py", "ismethod"},
    {"/dataclasses.py", "fields"},
    {"/heapq.py", NULL},
    {"/ingot/_compile.py", "compile"},
    {"/nn/modules/module.py", "Module.__repr__"},
    {"/nn/modules/module.py", "Module.register_forward_hook"},
    {"/nn/modules/module.py", "Module.register_forward_pre_hook"},
    {"/nn/modules/module.py", "Module.state_dict"},
    {"/nn/modules/module.py", "Module.to"},
    {"/optim/_rule.py", NULL},
    {"/optim/optimizer.py", "Optimizer.zero_grad"},
    {"/inspect.py", "currentframe"},
    {"/json/__init__.py", NULL},
    {"/statistics.py", NULL},
    {"/uuid.py", NULL},
    {"/ingot/functional.py", "is_storage"},
    {"/ingot/functional.py", "typename"},
};
static const row known[] = {{"/random.py", "Random.randint"},
                            {"/random.py", "Random.randrange"},
                            {"/random.py", "Random.uniform"}};

// What they do inside is not looked at: PyTorch knows their functions.
static const row unseen[] = {
    {"/collections/__init__.py", NULL},
    {"/contextlib.py", NULL},
    {"/copy.py", NULL},
    {"/dataclasses.py", NULL},
    {"/enum.py", NULL},
    {"/functools.py", NULL},
    {"/inspect.py", NULL},
    {"/logging/__init__.py", NULL},
    {"/operator.py", NULL},
    {"/random.py", NULL},
    {"/threading.py", NULL},
    {"/types.py", NULL},
    {"/typing.py", NULL},
    {"/warnings.py", NULL},
    {"/linecache.py", NULL},
    {"<frozen abc>", NULL},
    {"<frozen _collections_abc>", NULL},
    {"<frozen codecs>", NULL},
};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

typedef struct watch {
  const py_watch *by;
  const char *package;  // where the library's own files are
  const char *library;  // and Python's
  bool caught;          // an exception was raised in the user's code
  bool telling;
  bool managed;  // a context manager made of a generator was entered
  int imports;   // that are going on
} watch;

static const char *file_of(PyCodeObject *code) {
  const char *name = PyUnicode_AsUTF8(code->co_filename);
  if (!name) PyErr_Clear();
  return name ? name : "";
}

static bool starts(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with) {
  size_t n = strlen(text);
  size_t m = strlen(with);
  return n >= m && strcmp(text + n - m, with) == 0;
}

static bool is_listed(const row *rows, size_t n, const char *module, const char *name, bool tail) {
  for (size_t i = 0; i < n; i++) {
    bool there = tail ? ends(module, rows[i].module) : strcmp(module, rows[i].module) == 0;
    if (there && (!rows[i].name || strcmp(name, rows[i].name) == 0)) return true;
  }
  return false;
}

// The user's own code.
static bool is_own(const watch *w, PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = file_of(code);
  bool site = strstr(file, "-packages/") != NULL;
  bool own = !starts(file, w->package) && (site || !starts(file, w->library)) && *file != '<';
  Py_DECREF(code);
  return own;
}

static bool is_pythons(const watch *w, PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = file_of(code);
  bool frozen = starts(file, "<frozen ") && !starts(file, "<frozen importlib");
  bool found = (starts(file, w->library) || frozen) && !starts(file, w->package) &&
               !is_listed(unseen, COUNT(unseen), file, "", true);
  Py_DECREF(code);
  return found;
}

// The user's code, and where one graph is wanted what it calls of Python's modules: those are
// looked into.
static bool is_users(const watch *w, PyFrameObject *frame) {
  PyFrameObject *at = (PyFrameObject *)Py_NewRef((PyObject *)frame);
  while (w->by->whole && at && !is_own(w, at) && is_pythons(w, at)) {
    PyFrameObject *caller = PyFrame_GetBack(at);
    Py_DECREF((PyObject *)at);
    at = caller;
  }
  bool users = at && is_own(w, at);
  Py_XDECREF((PyObject *)at);
  return users;
}

// What the cache answered: an object, or NULL after it raised. 0, or -1: it refuses.
static int heard(watch *w, PyObject *answer) {
  w->telling = false;
  if (answer) {
    Py_DECREF(answer);
    return 0;
  }
  if (w->by->whole) py_note_refusal(w->by->refusal);
  return -1;
}

// Tells the cache of a call that a graph cannot have. -1: it refuses.
static int tell(watch *w, const char *module, const char *name) {
  if (w->telling) return 0;
  w->telling = true;
  return heard(w, PyObject_CallMethod(w->by->cache, "outside", "ssO", module, name,
                                      w->by->whole ? Py_True : Py_False));
}

// The class in C that a function is a method of: a class in Python, whose name has no dot, counts
// as the one it derives from. NULL: it is a method of none.
static const char *class_of(const PyCFunctionObject *f) {
  if (!f->m_self || PyModule_Check(f->m_self)) return NULL;
  const PyTypeObject *type =
      PyType_Check(f->m_self) ? (const PyTypeObject *)f->m_self : Py_TYPE(f->m_self);
  while (type->tp_base && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !strchr(type->tp_name, '.')) {
    type = type->tp_base;
  }
  return type->tp_name;
}

// The module of a function in C: its own, or that of its class. A built-in class has none.
static const char *module_of(const PyCFunctionObject *f) {
  PyObject *module = f->m_module;
  if (module && PyUnicode_Check(module)) return PyUnicode_AsUTF8(module);
  if (f->m_self && py_is_tensor(f->m_self)) return "ingot";
  const char *class = class_of(f);
  return class && strchr(class, '.') ? class : "builtins";
}

// May one graph have it? full: the module with its packages.
static bool is_pure(const char *full, const char *module, const char *name) {
  if (is_listed(impure, COUNT(impure), module, name, false)) return false;
  for (size_t i = 0; i < COUNT(impure_packages); i++) {
    if (starts(full, impure_packages[i])) return false;
  }
  for (size_t i = 0; i < COUNT(pure_modules); i++) {
    if (strcmp(module, pure_modules[i]) == 0) return true;
  }
  return false;
}

// Python does not tell of the __enter__ in C that a block begins with. Its end has to happen, or
// what was taken, such as a lock, stays taken: the refusal is reported when the function is done.
static int tell_of_end(watch *w, const char *module, const char *name) {
  int status = tell(w, module, name);
  if (status != 0 && w->by->whole) PyErr_Clear();
  return w->by->whole ? 0 : status;
}

static int watch_c_call(watch *w, PyFrameObject *frame, PyObject *callee) {
  if (!PyCFunction_Check(callee) || !is_users(w, frame)) return 0;
  const PyCFunctionObject *f = (const PyCFunctionObject *)callee;
  const char *name = f->m_ml->ml_name;
  char module[64];
  const char *full = module_of(f);
  if (!full) {  // a name that is not UTF-8 is none of the listed
    PyErr_Clear();
    return 0;
  }
  size_t n = strcspn(full, ".");
  if (n >= sizeof module) return 0;
  memcpy(module, full, n);
  module[n] = 0;
  char method[128];
  const char *class = strcmp(module, "builtins") == 0 ? class_of(f) : NULL;
  if (class && snprintf(method, sizeof method, "%s.%s", class, name) < (int)sizeof method) {
    name = method;
  }
  if (is_listed(pure, COUNT(pure), module, name, false)) return 0;
  bool found = is_listed(effects_in_c, COUNT(effects_in_c), module, name, false);
  bool refused = found || (w->by->whole && !is_pure(full, module, name));
  if (!refused) return 0;
  bool ends_block = strcmp(f->m_ml->ml_name, "__exit__") == 0;
  return ends_block ? tell_of_end(w, module, name) : tell(w, module, name);
}

// A function in Python starts. Only what the user's code itself calls counts.
static int watch_call(watch *w, PyFrameObject *frame) {
  PyFrameObject *caller = PyFrame_GetBack(frame);
  bool by_user = caller && is_users(w, caller);
  Py_XDECREF((PyObject *)caller);
  if (!by_user || is_own(w, frame)) return 0;
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = file_of(code);
  PyObject *qualname = py_qualname(frame);
  const char *name = qualname ? PyUnicode_AsUTF8(qualname) : NULL;
  if (!name) PyErr_Clear();
  bool is_manager = name && ends(file, "/contextlib.py") &&
                    strcmp(name, "_GeneratorContextManager.__enter__") == 0;
  w->managed = w->managed || is_manager;
  bool found = name && is_listed(effects_in_python, COUNT(effects_in_python), file, name, true);
  bool closed = name && w->by->whole && is_listed(opaque, COUNT(opaque), file, name, true);
  bool listed = name && is_listed(known, COUNT(known), file, name, true);
  int status = (found || closed) && !listed ? tell(w, file, name) : 0;
  Py_XDECREF(qualname);
  Py_DECREF(code);
  return status;
}

static watch *watch_of(PyObject *capsule) {
  return PyCapsule_GetPointer(capsule, NULL);
}

// What an import runs is not what the function does: it happens once, whoever asks first.
static bool is_importing(watch *w, PyFrameObject *frame, int what) {
  if (what == PyTrace_CALL || what == PyTrace_RETURN) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool importer = starts(file_of(code), "<frozen importlib");
    Py_DECREF(code);
    if (importer) w->imports += what == PyTrace_CALL ? 1 : -1;
  }
  return w->imports > 0;
}

static int profile(PyObject *capsule, PyFrameObject *frame, int what, PyObject *arg) {
  watch *w = watch_of(capsule);
  if (*w->by->away || is_importing(w, frame, what)) return 0;
  if (what == PyTrace_C_CALL) return watch_c_call(w, frame, arg);
  return what == PyTrace_CALL ? watch_call(w, frame) : 0;
}

// Lookups that fail are part of programs, and iterators end.
static bool is_ordinary(PyObject *type) {
  return PyErr_GivenExceptionMatches(type, PyExc_StopIteration) ||
         PyErr_GivenExceptionMatches(type, PyExc_GeneratorExit) ||
         PyErr_GivenExceptionMatches(type, PyExc_KeyError) ||
         PyErr_GivenExceptionMatches(type, PyExc_AttributeError);
}

// Tells the cache of a frame: method(frame) or method(frame, what). -1: it refuses.
static int tell_frame(watch *w, const char *method, PyFrameObject *frame, PyObject *what) {
  if (w->telling) return 0;
  w->telling = true;
  return heard(
      w, PyObject_CallMethod(w->by->cache, method, what ? "OO" : "O", (PyObject *)frame, what));
}

// Does an operation of Python itself fail here, on numbers, texts or containers?
static bool is_failing(PyObject *raised) {
  PyObject *type = PyTuple_GET_ITEM(raised, 0);
  const PyTracebackObject *trace = (const PyTracebackObject *)PyTuple_GET_ITEM(raised, 2);
  bool here = PyTraceBack_Check(trace) && !trace->tb_next;
  PyObject *const kinds[] = {PyExc_ArithmeticError, PyExc_ValueError, PyExc_IndexError,
                             PyExc_AttributeError};
  bool found = false;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    found = found || PyErr_GivenExceptionMatches(type, kinds[i]);
  }
  return here && found;
}

static int trace(PyObject *capsule, PyFrameObject *frame, int what, PyObject *arg) {
  watch *w = watch_of(capsule);
  if (*w->by->away) return 0;
  bool whole = w->by->whole && !w->imports && is_own(w, frame);
  if (what == PyTrace_LINE && whole) return tell_frame(w, "line", frame, NULL);
  if (what != PyTrace_EXCEPTION || !PyTuple_Check(arg)) return 0;
  if (whole && is_failing(arg)) return tell_frame(w, "failed", frame, PyTuple_GET_ITEM(arg, 1));
  if (!is_ordinary(PyTuple_GET_ITEM(arg, 0)) && is_users(w, frame)) w->caught = true;
  return 0;
}

static PyObject *folder(const char *module, const char *attribute) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *found = m ? PyObject_GetAttrString(m, attribute) : NULL;
  Py_XDECREF(m);
  return found;
}

PyObject *py_watch_call(const py_watch *by, bool *alone, PyObject *fn, PyObject *args,
                        PyObject *kwargs) {
  *alone = false;
  PyThreadState *thread = PyThreadState_Get();
  if (thread->c_profilefunc) return PyObject_Call(fn, args, kwargs);
  bool traced = thread->c_tracefunc != NULL;  // by a debugger, which keeps its hook
  PyObject *package = folder("ingot._dynamo.where", "_PACKAGE");
  PyObject *library = package ? folder("ingot._dynamo.where", "_LIBRARY") : NULL;
  watch w = {.by = by};
  w.package = library ? PyUnicode_AsUTF8(package) : NULL;
  w.library = w.package ? PyUnicode_AsUTF8(library) : NULL;
  PyObject *capsule = w.library ? PyCapsule_New(&w, NULL, NULL) : NULL;
  PyObject *out = NULL;
  if (capsule) {
    int collects = PyGC_Disable();  // what its callbacks do is not what the function does
    PyEval_SetProfile(profile, capsule);
    if (!traced) PyEval_SetTrace(trace, capsule);
    out = PyObject_Call(fn, args, kwargs);
    if (!traced) PyEval_SetTrace(NULL, NULL);
    PyEval_SetProfile(NULL, NULL);
    if (collects) (void)PyGC_Enable();
    *alone = out && (w.caught || w.managed);
  }
  Py_XDECREF(capsule);
  Py_XDECREF(package);
  Py_XDECREF(library);
  return out;
}
