// SPDX-License-Identifier: Apache-2.0
// What a function does besides calling operators, watched during its first compiled call: calls
// that a graph cannot have, and exceptions that it raises and catches.
//
// A compiled function is right without this. It decides what PyTorch decides by reading bytecode:
// whether one graph is possible, and whether the function is compiled at all.
#include <string.h>

#include "py.h"

// Functions that break a graph, by module; in C, called from the user's code. NULL: all of them.
typedef struct row {
  const char *module;
  const char *name;
} row;

static const row in_c[] = {
    {"builtins", "print"}, {"builtins", "input"}, {"builtins", "exec"}, {"builtins", "eval"},
    {"_io", NULL},         {"io", NULL},          {"time", NULL},       {"posix", NULL},
    {"_random", NULL},     {"random", NULL},      {"_warnings", NULL},  {"_socket", NULL},
    {"gc", NULL},          {"_pickle", NULL},     {"marshal", NULL},    {"_thread", NULL},
};

// The same in Python: end of the file's name, function.
static const row in_python[] = {
    {"/logging/__init__.py", NULL}, {"/random.py", NULL},     {"/copy.py", "deepcopy"},
    {"/warnings.py", "warn"},       {"/subprocess.py", NULL}, {"/threading.py", NULL},
    {"/tempfile.py", NULL},         {"/shutil.py", NULL},     {"/pickle.py", NULL},
};

struct py_watch {
  PyObject *cache;
  const char *package;  // where the library's own files are
  const char *library;  // and Python's
  bool whole;
  bool caught;  // an exception was raised in the user's code
  bool telling;
  bool managed;  // a context manager made of a generator was entered
};

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

static bool is_users(const struct py_watch *w, PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = file_of(code);
  bool site = strstr(file, "-packages/") != NULL;
  bool users = !starts(file, w->package) && (site || !starts(file, w->library)) && *file != '<';
  Py_DECREF(code);
  return users;
}

static bool is_listed(const row *rows, size_t n, const char *module, const char *name, bool tail) {
  for (size_t i = 0; i < n; i++) {
    bool there = tail ? ends(module, rows[i].module) : strcmp(module, rows[i].module) == 0;
    if (there && (!rows[i].name || strcmp(name, rows[i].name) == 0)) return true;
  }
  return false;
}

// Tells the cache of a call that a graph cannot have. -1: it refuses.
static int tell(struct py_watch *w, const char *module, const char *name) {
  if (w->telling) return 0;
  w->telling = true;
  PyObject *none =
      PyObject_CallMethod(w->cache, "outside", "ssO", module, name, w->whole ? Py_True : Py_False);
  Py_XDECREF(none);
  w->telling = false;
  return none ? 0 : -1;
}

// The module of a function in C: that of its own, or of the class that it is a method of.
static const char *module_of(const PyCFunctionObject *f, const char *fallback) {
  PyObject *module = f->m_module;
  if (module && PyUnicode_Check(module)) return PyUnicode_AsUTF8(module);
  if (!f->m_self || PyModule_Check(f->m_self)) return fallback;
  const char *type = Py_TYPE(f->m_self)->tp_name;
  return type ? type : fallback;
}

static int watch_c_call(struct py_watch *w, PyFrameObject *frame, PyObject *callee) {
  if (!PyCFunction_Check(callee) || !is_users(w, frame)) return 0;
  const PyCFunctionObject *f = (const PyCFunctionObject *)callee;
  const char *name = f->m_ml->ml_name;
  char module[64];
  const char *full = module_of(f, "builtins");
  if (!full) {  // a name that is not UTF-8 is none of the listed
    PyErr_Clear();
    return 0;
  }
  size_t n = strcspn(full, ".");
  if (n >= sizeof module) return 0;
  memcpy(module, full, n);
  module[n] = 0;
  bool found = is_listed(in_c, sizeof in_c / sizeof *in_c, module, name, false);
  return found ? tell(w, module, name) : 0;
}

// A function in Python starts. Only what the user's code itself calls counts.
static int watch_call(struct py_watch *w, PyFrameObject *frame) {
  PyFrameObject *caller = PyFrame_GetBack(frame);
  bool by_user = caller && is_users(w, caller);
  Py_XDECREF((PyObject *)caller);
  if (!by_user || is_users(w, frame)) return 0;
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = file_of(code);
  const char *name = PyUnicode_AsUTF8(code->co_qualname);
  int status = 0;
  if (name && ends(file, "/contextlib.py")) {
    w->managed = w->managed || strcmp(name, "_GeneratorContextManager.__enter__") == 0;
  } else if (name && is_listed(in_python, sizeof in_python / sizeof *in_python, file, name, true)) {
    status = tell(w, file, name);
  }
  if (!name) PyErr_Clear();
  Py_DECREF(code);
  return status;
}

static struct py_watch *watch_of(PyObject *capsule) {
  return PyCapsule_GetPointer(capsule, NULL);
}

static int profile(PyObject *capsule, PyFrameObject *frame, int what, PyObject *arg) {
  struct py_watch *w = watch_of(capsule);
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

static int trace(PyObject *capsule, PyFrameObject *frame, int what, PyObject *arg) {
  struct py_watch *w = watch_of(capsule);
  if (what != PyTrace_EXCEPTION || !PyTuple_Check(arg)) return 0;
  if (!is_ordinary(PyTuple_GET_ITEM(arg, 0)) && is_users(w, frame)) w->caught = true;
  return 0;
}

static PyObject *folder(const char *module, const char *attribute) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *found = m ? PyObject_GetAttrString(m, attribute) : NULL;
  Py_XDECREF(m);
  return found;
}

PyObject *py_watch_call(PyObject *cache, bool whole, bool *alone, PyObject *fn, PyObject *args,
                        PyObject *kwargs) {
  *alone = false;
  PyThreadState *thread = PyThreadState_Get();
  if (thread->c_tracefunc || thread->c_profilefunc) return PyObject_Call(fn, args, kwargs);
  PyObject *package = folder("ingot._dynamo.where", "_PACKAGE");
  PyObject *library = package ? folder("ingot._dynamo.where", "_LIBRARY") : NULL;
  struct py_watch w = {.cache = cache, .whole = whole};
  w.package = library ? PyUnicode_AsUTF8(package) : NULL;
  w.library = w.package ? PyUnicode_AsUTF8(library) : NULL;
  PyObject *capsule = w.library ? PyCapsule_New(&w, NULL, NULL) : NULL;
  PyObject *out = NULL;
  if (capsule) {
    int collects = PyGC_Disable();  // what its callbacks do is not what the function does
    PyEval_SetProfile(profile, capsule);
    PyEval_SetTrace(trace, capsule);
    out = PyObject_Call(fn, args, kwargs);
    PyEval_SetTrace(NULL, NULL);
    PyEval_SetProfile(NULL, NULL);
    if (collects) (void)PyGC_Enable();
    *alone = out && (w.caught || w.managed);
  }
  Py_XDECREF(capsule);
  Py_XDECREF(package);
  Py_XDECREF(library);
  return out;
}
