// SPDX-License-Identifier: Apache-2.0
// Module ingot._C: contexts of threads, exceptions, locations, and functions about dtypes, devices
// and threads that are not operators.
#include <string.h>
#include <threads.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "capture/defer.h"
#include "fx.h"
#include "object.h"
#include "op/random.h"
#include "op/shape.h"
#include "py.h"
#include "script.h"
#include "script/failure.h"
#include "script_value.h"
#include "sgraph.h"
#include "trace_script.h"

py_state py;
_Thread_local ig_ctx *py_tls;

// ---- contexts ----

static tss_t key;

static void locate(ig_ctx *c, void *trace);

// Ctrl-C: Python's handler has only set a flag; the exception is made here.
static bool poll_signals(ig_ctx *c) {
  if (PyErr_Occurred() || PyErr_CheckSignals() == 0) return true;
  (void)ig_fail(c, IG_HOST, "interrupted");
  return false;
}

// At the end of a thread. The pool is empty then: scopes close before Python code returns. The GIL
// is not held, so objects of modes that were entered and never left stay.
static void forget(void *ctx) {
  py_thread *t = py_thread_of(ctx);
  ig_ctx_free(ctx);
  PyMem_RawFree(t->devices);
  PyMem_RawFree(t);
}

// If no context can be created, the thread borrows the main one: the GIL serializes its use.
ig_ctx *py_ctx_make(void) {
  ig_ctx *c = NULL;
  py_thread *t = PyMem_RawCalloc(1, sizeof *t);
  if (!t || ig_ctx_create(NULL, &c) != IG_OK || (py.main && tss_set(key, c) != thrd_success)) {
    ig_ctx_free(c);
    PyMem_RawFree(t);
    return py.main;
  }
  ig_ctx_set_locator(c, locate, NULL);
  ig_mode_set_host(c, &py_host, t);
  ig_mode_share_dtype(c, &py.dtype);
  ig_mode_set(c, &(ig_mode_change){IG_MODE_DRAWS, {.draws = py.draws}});
  c->poll = poll_signals;
  c->name_symbol = py_name_symbol;
  if (py.main) py_share_generator(c);
  py_tls = c;
  return c;
}

// ---- errors ----

// A class of a module that is imported when it is needed; borrowed, the module keeps it.
static PyObject *class_in(const char *module, const char *name, PyObject *otherwise) {
  PyObject *home = PyImport_ImportModule(module);
  PyObject *found = home ? PyObject_GetAttrString(home, name) : NULL;
  Py_XDECREF(home);
  if (!found) PyErr_Clear();
  Py_XDECREF(found);
  return found ? found : otherwise;
}

// Raises the text; what stands behind it from `aside` on (0: nothing) becomes the exception's
// notes.
static void raise_text(PyObject *type, const char *text, size_t aside) {
  PyObject *shown =
      PyUnicode_DecodeUTF8(text, (Py_ssize_t)(aside ? aside : strlen(text)), "replace");
  if (!shown) return;
  PyErr_SetObject(type, shown);
  Py_DECREF(shown);
  if (!aside) return;
  PyObject *error = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject *notes = PyList_New(0);
  for (const char *at = text + aside; notes && *at;) {
    at += strspn(at, "\n ");
    size_t n = strcspn(at, "\n");
    PyObject *line = PyUnicode_DecodeUTF8(at, (Py_ssize_t)n, "replace");
    if (!line || PyList_Append(notes, line) != 0) Py_CLEAR(notes);
    Py_XDECREF(line);
    at += n;
  }
  if (!notes || !error || PyObject_SetAttrString(error, "__notes__", notes) != 0) PyErr_Clear();
  Py_XDECREF(notes);
  PyErr_Restore(type, error, traceback);
}

PyObject *py_raise(ig_ctx *c) {
  PyObject *const exceptions[] = {
#define X(name, text, exception) [IG_##name] = PyExc_##exception,
      IG_STATUS_LIST(X)
#undef X
  };
  ig_status st = ig_ctx_status(c);
  // IG_HOST: Python code below this call failed; its exception is the one to see.
  if (st != IG_HOST || !PyErr_Occurred()) {
    PyObject *type = st == IG_DATA_DEPENDENT ? py.guard_error : exceptions[st];
    if (st == IG_CONSTRAINT) type = py.constraint_error;
    if (st == IG_USER_ERROR) type = class_in("ingot._dynamo.exc", "UserError", type);
    if (st == IG_BRANCH) type = class_in("ingot._dynamo.exc", "UncapturedHigherOrderOpError", type);
    const ig_sfailure *script = ig_ctx_sfailure(c);
    if (script && script->raised) type = class_in("ingot.jit", "Error", type);
    static const char fakes[] = "ingot._subclasses.fake_tensor";
    if (st == IG_OUTPUT_DATA) type = class_in(fakes, "DataDependentOutputException", type);
    if (st == IG_OUTPUT_SHAPE) type = class_in(fakes, "DynamicOutputShapeException", type);
    raise_text(type, ig_ctx_error(c), c->aside);
    if (c->trouble && !script) py_report_attach(c);
    py_code_attach(c);
  }
  ig_ctx_clear(c);
  return NULL;
}

PyObject *py_done(ig_ctx *c, PyObject *out) {
  if (c->status == IG_OK) return out;
  if (PyErr_Occurred())
    ig_ctx_clear(c);
  else
    (void)py_raise(c);
  Py_XDECREF(out);
  return NULL;
}

bool py_ok(ig_ctx *c) {
  if (c->status == IG_OK) return !PyErr_Occurred();
  (void)py_raise(c);
  return false;
}

static bool is_ours(PyObject *file) {
  return py.package &&
         PyUnicode_Tailmatch(file, py.package, 0, PyUnicode_GET_LENGTH(file), -1) == 1;
}

PyFrameObject *py_user_frame(void) {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool ours = is_ours(code->co_filename);
    Py_DECREF(code);
    if (!ours) break;
    PyFrameObject *back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return frame;
}

// The innermost frame of the user's, asked for only when an error or a node needs it.
static void locate(ig_ctx *c, void *trace) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  c->stack = NULL;
  if (trace) (c->mode->capture ? py_trace_locate : py_trace_place)(c, trace);
  PyFrameObject *frame = trace ? NULL : py_user_frame();
  if (frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *file = PyDict_SetDefault(py.files, code->co_filename, code->co_filename);
    const char *text = file ? PyUnicode_AsUTF8(file) : NULL;
    if (text) (void)ig_ctx_at(c, text, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    Py_DECREF(frame);
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

// ---- functions ----

// What waits is computed under the settings that it was called with.
static bool settle(ig_ctx *c) {
  ig_defer_need need = {.allowed = true};  // one graph may have calls under different ones
  ig_mode_scope mode = ig_defer_push_need(c, &need);
  bool settled = py_settle_all(c);
  ig_mode_pop(c, &mode);
  return settled;
}

// set_draws(level, standard): random numbers as of a release, in this thread; standard: also in
// threads to come.
static PyObject *set_draws(PyObject *module, PyObject *args) {
  (void)module;
  const char *level = NULL;
  int standard = 0;
  if (!PyArg_ParseTuple(args, "sp", &level, &standard) || !settle(py_ctx())) return NULL;
  const ig_draws *found = ig_draws_find(level);
  if (!found) return PyErr_Format(PyExc_ValueError, "there are no random numbers of %s", level);
  ig_mode_set(py_ctx(), &(ig_mode_change){IG_MODE_DRAWS, {.draws = found}});
  if (standard) py.draws = found;
  Py_RETURN_NONE;
}

static PyObject *set_default_dtype(PyObject *module, PyObject *o) {
  (void)module;
  if (!settle(py_ctx())) return NULL;
  ig_dtype d = IG_F32;
  bool ok = py_to_dtype(o, &d) && (d == IG_F16 || d == IG_BF16 || d == IG_F32 || d == IG_F64);
  if (!ok) {
    PyErr_SetString(PyExc_TypeError,
                    Py_IS_TYPE(o, &py_dtype_type)
                        ? "only floating-point types are supported as the default type"
                        : "invalid dtype object: only floating-point types are "
                          "supported as the default type");
    return NULL;
  }
  atomic_store_explicit(&py.dtype, (int)d, memory_order_relaxed);
  Py_RETURN_NONE;
}
static PyObject *get_default_dtype(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return py_from_dtype(ig_ctx_default_dtype(py_ctx()));
}

static PyObject *set_num_threads(PyObject *module, PyObject *o) {
  (void)module;
  long n = PyLong_Check(o) ? PyLong_AsLong(o) : 0;
  if (n <= 0 || n > INT32_MAX) {
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError,
                    PyLong_Check(o) ? "set_num_threads expects a positive integer"
                                    : "set_num_threads expects an int, but got another type");
    return NULL;
  }
  ig_threads_set((int)n);
  Py_RETURN_NONE;
}
static PyObject *get_num_threads(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyLong_FromLong(ig_threads_get());
}

static bool two_dtypes(PyObject *args, const char *name, ig_dtype *a, ig_dtype *b) {
  PyObject *x = NULL;
  PyObject *y = NULL;
  if (!PyArg_UnpackTuple(args, name, 2, 2, &x, &y)) return false;
  bool first = py_to_dtype(x, a);
  if (first && py_to_dtype(y, b)) return true;
  PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be torch.dtype, not %s",
               name, first ? "type2" : "type1", first ? 2 : 1, py_type_name(first ? y : x));
  return false;
}
static PyObject *promote_types(PyObject *module, PyObject *args) {
  (void)module;
  ig_dtype a;
  ig_dtype b;
  if (!two_dtypes(args, "promote_types", &a, &b)) return NULL;
  return py_from_dtype(ig_dtype_promote(a, b));
}
static PyObject *can_cast(PyObject *module, PyObject *args) {
  (void)module;
  ig_dtype a;
  ig_dtype b;
  if (!two_dtypes(args, "can_cast", &a, &b)) return NULL;
  return PyBool_FromLong(ig_dtype_can_cast(a, b));
}
static PyObject *result_type(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o[2];
  ig_value v[2];
  if (!PyArg_UnpackTuple(args, "result_type", 2, 2, &o[0], &o[1])) return NULL;
  for (int i = 0; i < 2; i++) {
    ig_match taken = IG_MATCH_TAKEN;
    if (py_is_tensor(o[i])) {
      v[i] = ig_of_tensor(py_tensor_of(o[i]));
    } else {
      taken = py_to_number(o[i], &v[i]);
    }
    if (taken == IG_MATCH_OTHER) {
      PyErr_Format(PyExc_TypeError, "result_type(): argument %d must be Tensor or Number, not %s",
                   i + 1, py_type_name(o[i]));
    }
    if (taken != IG_MATCH_TAKEN) return NULL;
  }
  return py_from_dtype(ig_promote(py_ctx(), v, 2));
}

// _set_default_device(device or None) -> the previous one; the device of factories.
static PyObject *set_default_device(PyObject *module, PyObject *o) {
  (void)module;
  ig_device d = ig_device_cpu();
  int taken = o == Py_None ? 1 : py_to_device(o, &d);
  if (taken == 0) {
    PyErr_Format(PyExc_TypeError, "expected a device, not %s", py_type_name(o));
  }
  if (taken != 1) return NULL;
  ig_ctx *c = py_ctx();
  ig_device before = c->mode->device;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_DEVICE, {.device = d}});
  return py_from_device(before);
}
static PyObject *get_default_device(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return py_from_device(py_ctx()->mode->device);
}

// The instruction set that kernels are chosen for, by PyTorch's name.
static PyObject *cpu_capability(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  static const char *const names[] = {[IG_CPU_BASE] = "DEFAULT",
                                      [IG_CPU_NEON] = "DEFAULT",
                                      [IG_CPU_AVX2] = "AVX2",
                                      [IG_CPU_AVX512] = "AVX512"};
  return PyUnicode_FromString(names[ig_cpu_level()]);
}

// Expensive objects are created on first use.
static PyObject *module_getattr(PyObject *module, PyObject *name) {
  if (PyUnicode_CompareWithASCIIString(name, "Tag") == 0) {
    // Numbered as in PyTorch 2.5; what later releases added follows.
    static const char names[] =
        "core data_dependent_output dynamic_output_shape flexible_layout generated inplace_view "
        "needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded pointwise "
        "pt2_compliant_tag view_copy maybe_aliasing_or_mutating cudagraph_unsafe "
        "needs_exact_strides reduction out";
    PyObject *enums = PyImport_ImportModule("enum");
    PyObject *make = enums ? PyObject_GetAttrString(enums, "Enum") : NULL;
    PyObject *args = Py_BuildValue("(ss)", "Tag", names);
    PyObject *start = Py_BuildValue("{s:i}", "start", 0);
    PyObject *tag = make && args && start ? PyObject_Call(make, args, start) : NULL;
    Py_XDECREF(start);
    Py_XDECREF(args);
    Py_XDECREF(make);
    Py_XDECREF(enums);
    if (tag && PyObject_SetAttr(module, name, tag) != 0) Py_CLEAR(tag);
    return tag;
  }
  PyErr_Format(PyExc_AttributeError, "module 'ingot._C' has no attribute '%U'", name);
  return NULL;
}
static PyMethodDef functions[] = {
    {"set_default_dtype", set_default_dtype, METH_O, NULL},
    {"set_draws", set_draws, METH_VARARGS, NULL},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, NULL},
    {"set_num_threads", set_num_threads, METH_O, NULL},
    {"get_num_threads", get_num_threads, METH_NOARGS, NULL},
    {"promote_types", promote_types, METH_VARARGS, NULL},
    {"can_cast", can_cast, METH_VARARGS, NULL},
    {"result_type", result_type, METH_VARARGS, NULL},
    {"_set_default_device", set_default_device, METH_O, NULL},
    {"_get_default_device", get_default_device, METH_NOARGS, NULL},
    {"_cpu_capability", cpu_capability, METH_NOARGS, NULL},
    {"__getattr__", module_getattr, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "ingot._C", .m_size = -1,
                                        .m_methods = functions};

// The folder of the package, for telling its frames from the user's.
static PyObject *package_folder(void) {
  PyObject *package = PyImport_ImportModule("ingot");
  PyObject *path = package ? PyObject_GetAttrString(package, "__path__") : NULL;
  PyObject *folder = path ? PySequence_GetItem(path, 0) : NULL;
  Py_XDECREF(package);
  Py_XDECREF(path);
  PyErr_Clear();
  if (!folder) return NULL;
  PyObject *with_slash = PyUnicode_Check(folder) ? PyUnicode_FromFormat("%U/", folder) : NULL;
  Py_DECREF(folder);
  return with_slash;
}

static int add_all(PyObject *m) {
  // One per line, so that changes seldom conflict.
  // clang-format off
  PyMethodDef *const lists[] = {
      py_data_functions,
      py_repr_functions,
      py_numpy_functions,
      py_dlpack_functions,
      py_random_functions,
      py_autograd_functions,
      py_capture_functions,
      py_aot_functions,
      py_compile_functions,
      py_batch_functions,
      py_library_functions,
      py_trace_functions,
      py_hop_functions,
      py_dims_functions,
      py_expr_functions,
      py_object_functions,
      py_file_functions,
      py_onnx_check_functions,
      py_edit_functions,
      py_pt2_functions,
      py_report_functions,
      py_autocast_functions,
      py_limits_functions,
      py_code_functions,
      py_command_functions,
  };
  // clang-format on
  for (size_t i = 0; i < PY_COUNT(lists); i++) {
    if (PyModule_AddFunctions(m, lists[i]) != 0) return -1;
  }
  return py_add_calls(m) || py_add_dtypes(m) || py_add_native(m) || py_add_syms(m) ||
         py_add_tensor(m) || py_add_overrides(m) || py_add_dispatch(m) || py_add_numpy(m) ||
         py_add_random(m) || py_add_storage(m) || py_add_schema(m) || py_add_nodes(m) ||
         py_add_conversions() || py_add_graph(m) || py_add_passes(m) || py_add_onnx(m) ||
         py_add_onnx_models(m) || py_add_fx(m) || py_add_namespaces(m) || py_add_fakes(m) ||
         py_add_ops(m) || py_add_sgraph(m) || py_add_strace(m) || py_add_script_run(m) ||
         py_add_script(m) || py_add_compile(m) || py_add_tracked(m) || py_add_sessions(m) ||
         PyModule_AddObjectRef(m, "GuardOnDataDependentSymNode", py.guard_error) ||
         PyModule_AddObjectRef(m, "ConstraintViolationError", py.constraint_error);
}

PyMODINIT_FUNC PyInit__C(void);  // NOLINT(readability-identifier-naming): Python's choice

PyMODINIT_FUNC PyInit__C(void) {
  if (tss_create(&key, forget) != thrd_success) {
    return PyErr_NoMemory();
  }
  atomic_init(&py.dtype, IG_F32);
  py.main = py_ctx_make();
  if (!py.main) return PyErr_NoMemory();
  py.files = PyDict_New();
  py.guard_error = PyErr_NewException(
      "torch.fx.experimental.symbolic_shapes."
      "GuardOnDataDependentSymNode",
      PyExc_RuntimeError, NULL);
  py.constraint_error = PyErr_NewException(
      "torch.fx.experimental.symbolic_shapes.ConstraintViolationError", PyExc_RuntimeError, NULL);
  PyObject *m = PyModule_Create(&definition);
  py.module = m;
  if (!m || !py.files || !py.guard_error || !py.constraint_error || add_all(m) != 0) {
    Py_XDECREF(m);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "ingot._C: could not be set up");
    return NULL;
  }
  py.package = package_folder();
  return m;
}
