// SPDX-License-Identifier: Apache-2.0
// Environments and fake tensors from Python: ShapeEnv, entering a FakeTensorMode, tensors without
// elements. The mode of a tensor is determined by the environment of its storage.
#include "op/record.h"
#include "op/shape.h"
#include "py.h"
#include "sym/env.h"
#include "symexpr.h"

typedef struct py_env {
  PyObject_HEAD ig_sym *sym;
} py_env;

static PyTypeObject env_type;

static ig_sym *sym_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &env_type)) return ((py_env *)o)->sym;
  PyErr_Format(PyExc_TypeError, "expected a ShapeEnv, not %s", py_type_name(o));
  return NULL;
}

// ---- ShapeEnv ----

static PyObject *env_wrap(PyTypeObject *type, ig_sym *sym) {
  py_env *o = (py_env *)type->tp_alloc(type, 0);
  if (!o) return NULL;
  ig_ref_retain(&sym->ref);
  o->sym = sym;
  return (PyObject *)o;
}

// ShapeEnv(), or ShapeEnv(other): another object for the same environment.
static PyObject *env_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *other = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
  ig_sym *shared = other ? sym_of(other) : NULL;
  if (other) return shared ? env_wrap(type, shared) : NULL;
  ig_ctx *c = py_ctx();
  ig_sym *sym = ig_sym_create(c);
  if (!sym) return py_raise(c);
  PyObject *o = env_wrap(type, sym);
  ig_ref_release(&sym->ref);
  return o;
}
static void env_dealloc(PyObject *o) {
  ig_ref_release(&((py_env *)o)->sym->ref);
  Py_TYPE(o)->tp_free(o);
}
static PyObject *env_key(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((py_env *)o)->sym);
}

// Runs fn with the environment as the current one.
static PyObject *within(PyObject *o, ig_int (*fn)(ig_ctx *c)) {
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, ((py_env *)o)->sym);
  ig_int i = fn(c);
  PyObject *out = py_ok(c) ? py_from_int(i) : NULL;
  ig_mode_pop(c, &mode);
  return out;
}
static PyObject *env_unbacked(PyObject *o, PyObject *unused) {
  (void)unused;
  return within(o, ig_sym_unbacked);
}

static PyObject *env_unbacked_float(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, ((py_env *)o)->sym);
  ig_value v = {.kind = IG_KIND_FLOAT, .f_expr = ig_sym_unbacked_float(c)};
  PyObject *out = py_ok(c) ? py_from_value(c, &v) : NULL;
  ig_mode_pop(c, &mode);
  return out;
}

// new_symbol(hint, lo, hi or None) -> SymInt
static PyObject *env_symbol(PyObject *o, PyObject *args) {
  long long hint = 0;
  long long lo = 0;
  PyObject *hi = Py_None;
  if (!PyArg_ParseTuple(args, "LL|O:new_symbol", &hint, &lo, &hi)) return NULL;
  long long most = hi == Py_None ? INT64_MAX : PyLong_AsLongLong(hi);
  if (most == -1 && PyErr_Occurred()) return NULL;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, ((py_env *)o)->sym);
  ig_int i = ig_sym_backed(c, hint, lo, most);
  PyObject *out = py_ok(c) ? py_from_int(i) : NULL;
  ig_mode_pop(c, &mode);
  return out;
}

// What the environment has recorded: guards, or runtime assertions.
static PyObject *env_exprs(PyObject *o, bool asserts) {
  ig_ctx *c = py_ctx();
  ig_sym *sym = ((py_env *)o)->sym;
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  const ig_env *env = ig_env_get(c);
  ig_mode_pop(c, &mode);
  if (!py_ok(c)) return NULL;
  size_t n = asserts ? env->asserts.n : env->guards.n;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *e = py_from_expr(asserts ? env->asserts.at[i].expr : env->guards.at[i].expr, sym);
    if (!e) Py_CLEAR(list);
    if (e) PyList_SET_ITEM(list, (Py_ssize_t)i, e);
  }
  return list;
}
static PyObject *env_guards(PyObject *o, PyObject *unused) {
  (void)unused;
  return env_exprs(o, false);
}
static PyObject *env_asserts(PyObject *o, PyObject *unused) {
  (void)unused;
  return env_exprs(o, true);
}

// _range(SymInt) -> (lowest, highest), None: no bound
static PyObject *env_range(PyObject *o, PyObject *number) {
  if (!Py_IS_TYPE(number, &py_symint_type)) {
    PyErr_Format(PyExc_TypeError, "expected a SymInt, not %s", py_type_name(number));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, ((py_env *)o)->sym);
  ig_range r = ig_vrange_narrow(ig_expr_range(c, ig_value_expr(&((py_sym *)number)->v)));
  ig_mode_pop(c, &mode);
  if (!py_ok(c)) return NULL;
  PyObject *lo = r.lo == INT64_MIN ? Py_NewRef(Py_None) : PyLong_FromLongLong(r.lo);
  PyObject *hi = r.hi == INT64_MAX ? Py_NewRef(Py_None) : PyLong_FromLongLong(r.hi);
  return Py_BuildValue("NN", lo, hi);
}

static PyObject *env_number(PyObject *o, PyObject *expr) {
  (void)o;
  return py_number_of_expr(expr);
}

static PyObject *env_reads_data(PyObject *o, void *unused) {
  (void)unused;
  const ig_sym *sym = ((py_env *)o)->sym;
  return PyBool_FromLong(sym->counts[0] > 0 || sym->floats > 0);
}

static PyGetSetDef env_getset[] = {
    {"_reads_data", env_reads_data, NULL, "Whether a size or a number depended on data.", NULL},
    {"_key", env_key, NULL, "The same number for every object of one environment.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef env_methods[] = {
    {"create_unbacked_symint", env_unbacked, METH_NOARGS, NULL},
    {"create_unbacked_symfloat", env_unbacked_float, METH_NOARGS, NULL},
    {"_new_symbol", env_symbol, METH_VARARGS, NULL},
    {"_guards", env_guards, METH_NOARGS, NULL},
    {"_asserts", env_asserts, METH_NOARGS, NULL},
    {"_range", env_range, METH_O, NULL},
    {"_number", env_number, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject env_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.ShapeEnv",
    .tp_basicsize = sizeof(py_env),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = env_new,
    .tp_dealloc = env_dealloc,
    .tp_getset = env_getset,
    .tp_methods = env_methods,
};

// ---- modes ----

PyObject *py_from_env(ig_sym *sym) {
  return sym ? env_wrap(&env_type, sym) : Py_NewRef(Py_None);
}

// fake_mode_enter(env or None) -> what fake_mode_exit takes. None: real tensors again.
static PyObject *mode_enter(PyObject *module, PyObject *o) {
  (void)module;
  ig_ctx *c = py_ctx();
  ig_sym *sym = o == Py_None ? NULL : sym_of(o);
  if (o != Py_None && !sym) return NULL;
  PyObject *old = py_from_env(c->mode->ambient);
  PyObject *token = old ? Py_BuildValue("(NO)", old, c->mode->fake ? Py_True : Py_False) : NULL;
  if (!token) return NULL;
  if (sym) ig_ref_retain(&sym->ref);
  if (c->mode->ambient) ig_ref_release(&c->mode->ambient->ref);
  unsigned set = IG_MODE_AMBIENT | IG_MODE_FAKE | (c->mode->capture ? 0 : IG_MODE_SYM);
  ig_mode_set(c, &(ig_mode_change){set, {.ambient = sym, .fake = sym != NULL, .sym = sym}});
  return token;
}

static PyObject *mode_exit(PyObject *module, PyObject *token) {
  (void)module;
  PyObject *env = NULL;
  int fake = 0;
  if (!PyTuple_Check(token)) {
    PyErr_Format(PyExc_TypeError, "expected what fake_mode_enter gave, found %s",
                 Py_TYPE(token)->tp_name);
    return NULL;
  }
  if (!PyArg_ParseTuple(token, "Op", &env, &fake)) return NULL;
  PyObject *mine = mode_enter(module, env);
  if (!mine) return NULL;
  Py_DECREF(mine);
  ig_mode_set(py_ctx(), &(ig_mode_change){IG_MODE_FAKE, {.fake = fake != 0}});
  Py_RETURN_NONE;
}

// record_choices(): in the open capture, scripts record conditions on dynamic sizes.
static PyObject *record_choices(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_env *env = c->mode->capture ? ig_env_get(c) : NULL;
  if (env) env->choices = true;
  Py_RETURN_NONE;
}

// env_of(tensor) -> ShapeEnv or None: the environment of a fake tensor.
static PyObject *env_of(PyObject *module, PyObject *o) {
  (void)module;
  return py_from_env(py_is_tensor(o) ? ig_tensor_sym(py_tensor_of(o)) : NULL);
}

// Sizes of the result: symbols, of which equal sizes share one that a dict keeps. known: that dict,
// or a tuple of one per dim, of which None leaves the size a number.
static bool fake_sizes(ig_ctx *c, ig_meta *m, PyObject *all) {
  for (int d = 0; d < m->ndim; d++) {
    int64_t size = m->size[d].value;
    PyObject *known = PyTuple_Check(all) ? PyTuple_GET_ITEM(all, d) : all;
    if (m->size[d].expr || size < 2 || known == Py_None) continue;
    PyObject *key = PyLong_FromLongLong(size);
    PyObject *found = key ? PyDict_GetItem(known, key) : NULL;
    if (found) {
      m->size[d] = ((py_sym *)found)->v.i;
    } else {
      m->size[d] = ig_sym_backed(c, size, 2, INT64_MAX);
      PyObject *made = py_ok(c) ? py_from_int(m->size[d]) : NULL;
      if (!made || PyDict_SetItem(known, key, made) != 0) PyErr_Clear();
      Py_XDECREF(made);
    }
    Py_XDECREF(key);
    if (c->status != IG_OK) return false;
  }
  return true;
}

static bool is_known(const ig_tensor *t, PyObject *known) {
  bool ok = known == Py_None || PyDict_Check(known);
  if (PyTuple_Check(known)) {
    ok = PyTuple_GET_SIZE(known) == t->ndim;
    for (int d = 0; ok && d < t->ndim; d++) {
      PyObject *one = PyTuple_GET_ITEM(known, d);
      ok = one == Py_None || PyDict_Check(one);
    }
  }
  if (!ok) PyErr_SetString(PyExc_TypeError, "sizes must be None, a dict, or one of them per dim");
  return ok;
}

// fake_from_tensor(env, tensor, known): known is None (sizes stay numbers), a dict that keeps the
// symbols of sizes, or a tuple of these, one per dim.
static PyObject *fake_from_tensor(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *env = NULL;
  PyObject *o = NULL;
  PyObject *known = Py_None;
  if (!PyArg_ParseTuple(args, "OO!|O:fake_from_tensor", &env, py_tensor_type, &o, &known)) {
    return NULL;
  }
  ig_sym *sym = sym_of(env);
  ig_tensor *t = py_tensor_of(o);
  if (!sym || !is_known(t, known)) return NULL;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  ig_scope s = ig_scope_open(c);
  ig_meta m;
  ig_meta_of(t, &m);
  bool dense = ig_tensor_is_contiguous(c, t);
  bool ok = known == Py_None || fake_sizes(c, &m, known);
  if (ok && known != Py_None && dense) ig_meta_contiguous(c, &m);
  ig_tensor *fake = ok ? ig_tensor_make(c, &m, true) : NULL;
  if (fake) fake->requires_grad = t->requires_grad;
  PyObject *out = fake ? py_from_tensor(c, fake) : py_raise(c);
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  return out;
}

// ---- attributes of tensors ----

static PyObject *get_fake_mode(PyObject *o, void *unused) {
  (void)unused;
  PyObject *home = PyImport_ImportModule("ingot._subclasses.fake_tensor");
  PyObject *mode = home ? PyObject_CallMethod(home, "_mode_of", "O", o) : NULL;
  Py_XDECREF(home);
  return mode;
}
static bool must_be_fake(PyObject *o, const char *name) {
  if (ig_tensor_sym(py_tensor_of(o))) return true;
  PyErr_Format(PyExc_AttributeError, "'Tensor' object has no attribute '%s'", name);
  return false;
}
static PyObject *get_fake_device(PyObject *o, void *unused) {
  (void)unused;
  return must_be_fake(o, "fake_device") ? py_from_device(py_tensor_of(o)->device) : NULL;
}
static int set_fake_device(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  ig_device d;
  if (!must_be_fake(o, "fake_device")) return -1;
  int taken = value ? py_to_device(value, &d) : 0;
  if (taken == 0) PyErr_SetString(PyExc_TypeError, "fake_device must be a torch.device");
  if (taken != 1) return -1;
  py_tensor_of(o)->device = d;
  return 0;
}

static PyGetSetDef tensor_getset[] = {
    {"fake_mode", get_fake_mode, NULL, NULL, NULL},
    {"fake_device", get_fake_device, set_fake_device, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef functions[] = {
    {"fake_mode_enter", mode_enter, METH_O, NULL},
    {"fake_mode_exit", mode_exit, METH_O, NULL},
    {"env_of", env_of, METH_O, NULL},
    {"record_choices", record_choices, METH_NOARGS, NULL},
    {"fake_from_tensor", fake_from_tensor, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_to_env(PyObject *o, ig_sym **out) {
  *out = o && o != Py_None ? sym_of(o) : NULL;
  return *out || !o || o == Py_None;
}

int py_add_fakes(PyObject *m) {
  if (PyType_Ready(&env_type) != 0 || py_tensor_add(NULL, tensor_getset) != 0) return -1;
  return PyModule_AddFunctions(m, functions) ||
         PyModule_AddObjectRef(m, "ShapeEnv", (PyObject *)&env_type);
}
