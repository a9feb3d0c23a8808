// SPDX-License-Identifier: Apache-2.0
// DLPack import and export without copies, with our own declarations of its structs (versions 0 and
// 1).
#include <string.h>

#include "py.h"

typedef struct dl_tensor {
  void *data;
  struct {
    int32_t type;
    int32_t id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor t;
  void *owner;
  void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
  struct {
    uint32_t major;
    uint32_t minor;
  } version;
  void *owner;
  void (*deleter)(struct dl_versioned *self);
  uint64_t flags;
  dl_tensor t;
} dl_versioned;

enum {
  DL_CPU = 1,
  DL_INT = 0,
  DL_UINT = 1,
  DL_FLOAT = 2,
  DL_BFLOAT = 4,
  DL_COMPLEX = 5,
  DL_BOOL = 6,
  DL_F8E4M3FN = 10,
  DL_F8E5M2 = 12,
  DL_COPIED = 2
};

static const struct {
  ig_dtype dtype;
  uint8_t code;
  uint8_t bits;
} codes[] = {
    {IG_BOOL, DL_BOOL, 8},         {IG_U8, DL_UINT, 8},       {IG_I8, DL_INT, 8},
    {IG_I16, DL_INT, 16},          {IG_I32, DL_INT, 32},      {IG_I64, DL_INT, 64},
    {IG_U16, DL_UINT, 16},         {IG_U32, DL_UINT, 32},     {IG_U64, DL_UINT, 64},
    {IG_F16, DL_FLOAT, 16},        {IG_BF16, DL_BFLOAT, 16},  {IG_F32, DL_FLOAT, 32},
    {IG_F64, DL_FLOAT, 64},        {IG_C64, DL_COMPLEX, 64},  {IG_C128, DL_COMPLEX, 128},
    {IG_F8E4M3FN, DL_F8E4M3FN, 8}, {IG_F8E5M2, DL_F8E5M2, 8},
};

// ---- out ----

// What a capsule owns: a reference to the tensor, and sizes and strides after the struct.
static void fill(dl_tensor *d, ig_tensor *t, int64_t *dims) {
  size_t k = 0;
  while (codes[k].dtype != t->dtype) k++;
  d->data = ig_tensor_data(t);
  d->device.type = DL_CPU;
  d->device.id = 0;
  d->ndim = t->ndim;
  d->dtype.code = codes[k].code;
  d->dtype.bits = codes[k].bits;
  d->dtype.lanes = 1;
  d->shape = dims;
  d->strides = dims + t->ndim;
  d->byte_offset = 0;
  for (int i = 0; i < 2 * t->ndim; i++) dims[i] = t->dims[i].value;
}

static void delete_managed(dl_managed *self) {
  ig_tensor_release(self->owner);
  PyMem_RawFree(self);
}
static void delete_versioned(dl_versioned *self) {
  ig_tensor_release(self->owner);
  PyMem_RawFree(self);
}

// A capsule that was not consumed frees its contents; a consumer renames it.
static void capsule_free(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    m->deleter(m);
  }
}

static PyObject *export_plain(ig_tensor *t) {
  size_t dims = ig_mem_mul(ig_mem_mul(2, (size_t)t->ndim), sizeof(int64_t));
  dl_managed *m = PyMem_RawCalloc(1, sizeof *m + dims);
  if (!m) return PyErr_NoMemory();
  fill(&m->t, t, (int64_t *)(m + 1));
  m->owner = ig_tensor_retain(t);
  m->deleter = delete_managed;
  PyObject *capsule = PyCapsule_New(m, "dltensor", capsule_free);
  if (!capsule) delete_managed(m);
  return capsule;
}

static PyObject *export_versioned(ig_tensor *t, bool copied) {
  size_t dims = ig_mem_mul(ig_mem_mul(2, (size_t)t->ndim), sizeof(int64_t));
  dl_versioned *m = PyMem_RawCalloc(1, sizeof *m + dims);
  if (!m) return PyErr_NoMemory();
  m->version.major = 1;
  m->flags = copied ? DL_COPIED : 0;
  fill(&m->t, t, (int64_t *)(m + 1));
  m->owner = ig_tensor_retain(t);
  m->deleter = delete_versioned;
  PyObject *capsule = PyCapsule_New(m, "dltensor_versioned", capsule_free);
  if (!capsule) delete_versioned(m);
  return capsule;
}

static bool may_export(const ig_tensor *t) {
  if (!py_expose(py_ctx(), t)) return false;
  if (t->requires_grad) {
    PyErr_SetString(PyExc_BufferError,
                    "Can't export tensors that require gradient, use tensor.detach()");
  } else if (ig_is_fake(t)) {
    PyErr_SetString(PyExc_BufferError, "Can't export tensors without bytes");
  } else {
    return true;
  }
  return false;
}

PyObject *py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = NULL;
  PyObject *version = Py_None;
  PyObject *device = NULL;
  PyObject *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", keys, &stream, &version,
                                   &device, &copy) ||
      !may_export(py_tensor_of(self))) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_tensor *t = py_tensor_of(self);
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (copy == Py_True) {
    ig_value v = ig_of_tensor(t);
    t = py_call_tensor(c, PY_CLONE, &v, 1);
  }
  long major = 0;
  if (PyTuple_Check(version) && PyTuple_GET_SIZE(version) > 0) {
    major = PyLong_AsLong(PyTuple_GET_ITEM(version, 0));
  }
  if (t && !PyErr_Occurred()) {
    out = major >= 1 ? export_versioned(t, copy == Py_True) : export_plain(t);
  }
  ig_scope_close(c, s);
  return out;
}

PyObject *py_tensor_dlpack_device(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return Py_BuildValue("(ii)", DL_CPU, 0);
}

// ---- in ----

static void release_managed(void *user) {
  dl_managed *m = user;
  PyGILState_STATE state = PyGILState_Ensure();
  if (m->deleter) m->deleter(m);
  PyGILState_Release(state);
}
static void release_versioned(void *user) {
  dl_versioned *m = user;
  PyGILState_STATE state = PyGILState_Ensure();
  if (m->deleter) m->deleter(m);
  PyGILState_Release(state);
}

static bool import_layout(const dl_tensor *d, ig_dtype *dtype, int64_t *strides, size_t *bytes) {
  size_t k = 0;
  while (k < PY_COUNT(codes) &&
         (codes[k].code != d->dtype.code || codes[k].bits != d->dtype.bits)) {
    k++;
  }
  if (k == PY_COUNT(codes) || d->dtype.lanes != 1) {
    PyErr_Format(PyExc_RuntimeError, "Unsupported DLPack type: code %d, %d bits, %d lanes",
                 d->dtype.code, d->dtype.bits, d->dtype.lanes);
    return false;
  }
  if (d->device.type != DL_CPU || d->ndim < 0 || d->ndim > IG_MAX_DIM) {
    PyErr_SetString(PyExc_RuntimeError, "from_dlpack: found no tensor in the memory of the CPU");
    return false;
  }
  *dtype = codes[k].dtype;
  int64_t dense = 1;
  int64_t last = 0;
  bool empty = false;
  for (int i = d->ndim - 1; i >= 0; i--) {
    int64_t n = d->shape[i];
    strides[i] = d->strides ? d->strides[i] : dense;
    dense *= n > 0 ? n : 1;
    empty |= n == 0;
    if (n > 1) last += (n - 1) * strides[i];
  }
  *bytes = empty ? 0 : (size_t)(last + 1) * ig_dtype_size(*dtype);
  return true;
}

static PyObject *consume(PyObject *capsule) {
  bool plain = PyCapsule_IsValid(capsule, "dltensor");
  if (!plain && !PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    PyErr_SetString(PyExc_RuntimeError,
                    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
                    "consumed only once, so you might have already constructed a tensor from it "
                    "once.");
    return NULL;
  }
  void *m = PyCapsule_GetPointer(capsule, plain ? "dltensor" : "dltensor_versioned");
  const dl_tensor *d = plain ? &((dl_managed *)m)->t : &((dl_versioned *)m)->t;
  int64_t strides[IG_MAX_DIM];
  ig_dtype dtype = IG_F32;
  ig_foreign memory = {.data = (char *)d->data + d->byte_offset,
                       .strides = strides,
                       .free_fn = plain ? release_managed : release_versioned,
                       .user = m};
  if (!import_layout(d, &dtype, strides, &memory.bytes)) return NULL;
  if (PyCapsule_SetName(capsule, plain ? "used_dltensor" : "used_dltensor_versioned")) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = py_from_tensor(c, ig_tensor_wrap(c, dtype, d->shape, d->ndim, &memory));
  ig_scope_close(c, s);
  return out;
}

PyObject *py_from_dlpack(PyObject *source) {
  if (!PyObject_HasAttrString(source, "__dlpack__")) return consume(source);
  PyObject *method = PyObject_GetAttrString(source, "__dlpack__");
  PyObject *empty = PyTuple_New(0);
  PyObject *versions = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
  PyObject *capsule = NULL;
  if (method && empty && versions) capsule = PyObject_Call(method, empty, versions);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer of the first version
    PyErr_Clear();
    capsule = PyObject_CallNoArgs(method);
  }
  PyObject *out = capsule ? consume(capsule) : NULL;
  Py_XDECREF(capsule);
  Py_XDECREF(versions);
  Py_XDECREF(empty);
  Py_XDECREF(method);
  return out;
}

static PyObject *from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"ext_tensor", "device", "copy", NULL};
  (void)module;
  PyObject *source = NULL;
  PyObject *device = NULL;
  PyObject *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", keys, &source, &device,
                                   &copy)) {
    return NULL;
  }
  PyObject *out = py_from_dlpack(source);
  if (out && copy == Py_True) {
    PyObject *copied = py_fn_call(PY_FN_clone, &out, 1);
    Py_SETREF(out, copied);
  }
  return out;
}

static PyObject *to_dlpack(PyObject *module, PyObject *tensor) {
  (void)module;
  if (!py_is_tensor(tensor)) {
    PyErr_SetString(PyExc_TypeError, "to_dlpack(): expected a Tensor");
    return NULL;
  }
  return may_export(py_tensor_of(tensor)) ? export_plain(py_tensor_of(tensor)) : NULL;
}

PyMethodDef py_dlpack_functions[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"to_dlpack", to_dlpack, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
