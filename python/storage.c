// SPDX-License-Identifier: Apache-2.0
// UntypedStorage: the bytes of tensors, with a stable identity while it is referenced, so that
// pickle and deepcopy preserve sharing. Also reduction and rebuilding of tensors.
#include <string.h>

#include "ingot/grad.h"
#include "py.h"
#include "tensor/number.h"

typedef struct py_storage {
  PyObject_HEAD ig_tensor *t;  // flat bytes over the whole storage; owns a reference
} py_storage;

static PyTypeObject storage_type;
static PyObject *alive;  // address of ig_storage -> address of its object

static ig_storage *storage_of(PyObject *o) {
  return ((py_storage *)o)->t->storage;
}

// All bytes of a storage as a uint8 tensor of the innermost scope.
static ig_tensor *whole(ig_ctx *c, ig_tensor *t) {
  ig_meta m;
  ig_meta_view(t, &m);
  m.dtype = IG_U8;
  m.ndim = 1;
  m.offset = ig_const(0);
  m.size[0] = ig_const((int64_t)t->storage->bytes);
  m.stride[0] = ig_const(1);
  return ig_tensor_make(c, &m, true);
}

static PyObject *storage_wrap(ig_ctx *c, ig_tensor *t) {
  PyObject *key = PyLong_FromVoidPtr(t->storage);
  if (!key) return NULL;
  PyObject *found = PyDict_GetItemWithError(alive, key);
  if (found || PyErr_Occurred()) {
    Py_DECREF(key);
    return found ? Py_NewRef((PyObject *)PyLong_AsVoidPtr(found)) : NULL;
  }
  py_storage *o = NULL;
  ig_scope s = ig_scope_open(c);
  ig_tensor *bytes = whole(c, t);
  if (py_ok(c)) o = PyObject_New(py_storage, &storage_type);
  if (o) {
    o->t = ig_tensor_retain(bytes);
    PyObject *at = PyLong_FromVoidPtr(o);
    if (!at || PyDict_SetItem(alive, key, at) != 0) Py_CLEAR(o);
    Py_XDECREF(at);
  }
  ig_scope_close(c, s);
  Py_DECREF(key);
  return (PyObject *)o;
}

static void storage_dealloc(PyObject *o) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *key = PyLong_FromVoidPtr(storage_of(o));
  if (!key || PyDict_DelItem(alive, key) != 0) PyErr_Clear();
  Py_XDECREF(key);
  PyErr_Restore(type, value, trace);
  ig_tensor_release(((py_storage *)o)->t);
  PyObject_Free(o);
}

PyObject *py_tensor_storage(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!py_expose(py_ctx(), py_tensor_of(self))) return NULL;
  return storage_wrap(py_ctx(), py_tensor_of(self));
}

ig_tensor *py_storage_bytes(ig_ctx *c, PyObject *o) {
  if (Py_TYPE(o) != &storage_type) {
    PyErr_Format(PyExc_TypeError, "map_location must return a storage or None, not %s",
                 py_type_name(o));
    return NULL;
  }
  ig_tensor *t = whole(c, ((py_storage *)o)->t);  // o may be its only owner
  return py_ok(c) ? t : NULL;
}

// Bytes are in this memory already.
static PyObject *storage_cpu(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}

static PyObject *storage_data_ptr(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(storage_of(o)->data);
}
static PyObject *storage_nbytes(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromSize_t(storage_of(o)->bytes);
}
static Py_ssize_t storage_length(PyObject *o) {
  return (Py_ssize_t)storage_of(o)->bytes;
}
static PyObject *storage_item(PyObject *o, Py_ssize_t i) {
  const ig_storage *s = storage_of(o);
  if (i < 0 || (size_t)i >= s->bytes || !s->data) {
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return NULL;
  }
  return PyLong_FromLong(((const uint8_t *)s->data)[i]);
}
static PyObject *storage_false(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_FALSE;
}
static PyObject *storage_cdata(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(storage_of(o));
}
static PyObject *storage_device(PyObject *o, void *unused) {
  (void)unused;
  return py_from_device(((py_storage *)o)->t->device);
}
static PyObject *storage_bytes(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_storage *s = storage_of(o);
  if (s->fake) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(s->data, (Py_ssize_t)s->bytes);
}

static PyObject *module_function(const char *name) {
  return PyObject_GetAttrString(py.module, name);
}

static PyObject *storage_reduce(PyObject *o, PyObject *unused) {
  PyObject *maker = module_function("_storage_from_bytes");
  PyObject *bytes = storage_bytes(o, unused);
  if (!maker || !bytes) return NULL;
  return Py_BuildValue("N(N)", maker, bytes);
}

static ig_tensor *bytes_tensor(ig_ctx *c, const void *data, size_t n, bool fake) {
  ig_meta m;
  ig_meta_init(&m, IG_U8, ig_device_cpu());
  m.ndim = 1;
  m.size[0] = ig_const((int64_t)n);
  m.stride[0] = ig_const(1);
  ig_tensor *t = ig_tensor_make(c, &m, fake);
  if (t && n && !fake) memcpy(ig_tensor_data(t), data, n);
  return t;
}

static PyObject *storage_deepcopy(PyObject *o, PyObject *memo) {
  PyObject *key = PyLong_FromVoidPtr(o);
  PyObject *out = key && PyDict_Check(memo) ? PyDict_GetItemWithError(memo, key) : NULL;
  if (out || PyErr_Occurred()) {
    Py_XDECREF(key);
    return Py_XNewRef(out);
  }
  ig_ctx *c = py_ctx();
  const ig_storage *from = storage_of(o);
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = bytes_tensor(c, from->data, from->bytes, from->fake);
  if (py_ok(c)) out = storage_wrap(c, t);
  ig_scope_close(c, s);
  if (out && PyDict_Check(memo) && PyDict_SetItem(memo, key, out) != 0) Py_CLEAR(out);
  Py_XDECREF(key);
  return out;
}

static PyObject *storage_from_bytes(PyObject *module, PyObject *o) {
  (void)module;
  ig_ctx *c = py_ctx();
  PyObject *out = NULL;
  if (o != Py_None && !PyBytes_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "_storage_from_bytes(): expected bytes");
    return NULL;
  }
  bool fake = o == Py_None;
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = bytes_tensor(c, fake ? NULL : PyBytes_AS_STRING(o),
                              fake ? 0 : (size_t)PyBytes_GET_SIZE(o), fake);
  if (py_ok(c)) out = storage_wrap(c, t);
  ig_scope_close(c, s);
  return out;
}

static PyObject *storage_compare(PyObject *a, PyObject *b, int how) {
  if (Py_TYPE(a) != Py_TYPE(b) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((storage_of(a) == storage_of(b)) == (how == Py_EQ));
}
static Py_hash_t storage_hash(PyObject *o) {
  return _Py_HashPointer(storage_of(o));
}

static PySequenceMethods storage_sequence = {.sq_length = storage_length, .sq_item = storage_item};
static PyGetSetDef storage_getset[] = {
    {"_cdata", storage_cdata, NULL, NULL, NULL},
    {"device", storage_device, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef storage_methods[] = {
    {"cpu", storage_cpu, METH_NOARGS, NULL},
    {"data_ptr", storage_data_ptr, METH_NOARGS, NULL},
    {"nbytes", storage_nbytes, METH_NOARGS, NULL},
    {"size", storage_nbytes, METH_NOARGS, NULL},
    {"is_shared", storage_false, METH_NOARGS, NULL},
    {"_bytes", storage_bytes, METH_NOARGS, NULL},
    {"__reduce__", storage_reduce, METH_NOARGS, NULL},
    {"__deepcopy__", storage_deepcopy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject storage_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.UntypedStorage",
    .tp_basicsize = sizeof(py_storage),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = storage_dealloc,
    .tp_as_sequence = &storage_sequence,
    .tp_richcompare = storage_compare,
    .tp_hash = storage_hash,
    .tp_getset = storage_getset,
    .tp_methods = storage_methods,
};

// ---- TypedStorage: the same with elements, for old code ----

typedef struct py_typed {
  PyObject_HEAD PyObject *storage;
  ig_dtype dtype;
} py_typed;

static PyTypeObject typed_type;

static PyObject *typed_make(PyObject *tensor, PyObject *unused) {
  (void)unused;
  PyObject *storage = py_tensor_storage(tensor, NULL);
  py_typed *o = storage ? PyObject_New(py_typed, &typed_type) : NULL;
  if (!o) {
    Py_XDECREF(storage);
    return NULL;
  }
  o->storage = storage;
  o->dtype = py_tensor_of(tensor)->dtype;
  return (PyObject *)o;
}
static void typed_dealloc(PyObject *o) {
  Py_DECREF(((py_typed *)o)->storage);
  PyObject_Free(o);
}
static PyObject *typed_untyped(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(((py_typed *)o)->storage);
}
static PyObject *typed_get_untyped(PyObject *o, void *unused) {
  (void)unused;
  return Py_NewRef(((py_typed *)o)->storage);
}
static Py_ssize_t typed_length(PyObject *o) {
  const py_typed *t = (py_typed *)o;
  return (Py_ssize_t)(storage_of(t->storage)->bytes / ig_dtype_size(t->dtype));
}
static PyObject *typed_size(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromSsize_t(typed_length(o));
}
static PyObject *typed_data_ptr(PyObject *o, PyObject *unused) {
  return storage_data_ptr(((py_typed *)o)->storage, unused);
}
static PyObject *typed_nbytes(PyObject *o, PyObject *unused) {
  return storage_nbytes(((py_typed *)o)->storage, unused);
}
static PyObject *typed_dtype(PyObject *o, void *unused) {
  (void)unused;
  return py_from_dtype(((py_typed *)o)->dtype);
}
static PyObject *typed_cdata(PyObject *o, void *unused) {
  return storage_cdata(((py_typed *)o)->storage, unused);
}
static PyObject *typed_item(PyObject *o, Py_ssize_t i) {
  const py_typed *t = (py_typed *)o;
  const ig_storage *s = storage_of(t->storage);
  if (i < 0 || i >= typed_length(o) || !s->data) {
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return NULL;
  }
  size_t size = ig_dtype_size(t->dtype);
  return py_element(ig_element_load((const char *)s->data + (size_t)i * size, t->dtype));
}

static PySequenceMethods typed_sequence = {.sq_length = typed_length, .sq_item = typed_item};
static PyGetSetDef typed_getset[] = {
    {"dtype", typed_dtype, NULL, NULL, NULL},
    {"_cdata", typed_cdata, NULL, NULL, NULL},
    {"_untyped_storage", typed_get_untyped, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef typed_methods[] = {
    {"data_ptr", typed_data_ptr, METH_NOARGS, NULL},
    {"nbytes", typed_nbytes, METH_NOARGS, NULL},
    {"size", typed_size, METH_NOARGS, NULL},
    {"untyped", typed_untyped, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject typed_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.TypedStorage",
    .tp_basicsize = sizeof(py_typed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = typed_dealloc,
    .tp_as_sequence = &typed_sequence,
    .tp_getset = typed_getset,
    .tp_methods = typed_methods,
};

// ---- tensors over a storage ----

static bool read_dims(ig_ctx *c, PyObject *o, ig_int *to, int *n) {
  py_room room = {.c = c};
  ig_value v;
  if (py_to_ints(&room, o, "size", &v) != IG_MATCH_TAKEN || v.ints.n > IG_MAX_DIM) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a tuple of integers");
    return false;
  }
  if (v.ints.n > 0) memcpy(to, v.ints.at, v.ints.n * sizeof *to);
  *n = (int)v.ints.n;
  return true;
}

static bool reaches(const ig_meta *m, size_t bytes) {
  int64_t last = m->offset.value;
  for (int d = 0; d < m->ndim; d++) {
    int64_t step = 0;
    if (m->size[d].value == 0) return true;
    if (m->size[d].value < 0 || m->stride[d].value < 0 ||
        !ig_checked_mul(m->size[d].value - 1, m->stride[d].value, &step) ||
        !ig_checked_add(last, step, &last)) {
      return false;
    }
  }
  return last >= 0 && (size_t)last < bytes / ig_dtype_size(m->dtype);
}

// _rebuild_tensor(cls, storage, dtype, device, offset, size, stride, requires_grad[, quantizer])
static PyObject *rebuild_tensor(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *cls = NULL;
  PyObject *storage = NULL;
  PyObject *dtype = NULL;
  PyObject *device = NULL;
  PyObject *size = NULL;
  PyObject *stride = NULL;
  long long offset = 0;
  int grad = 0;
  int strides = 0;
  PyObject *quantizer = Py_None;
  if (!PyArg_ParseTuple(args, "O!O!O!O!LOOp|O:_rebuild_tensor", &PyType_Type, &cls, &storage_type,
                        &storage, &py_dtype_type, &dtype, &py_device_type, &device, &offset, &size,
                        &stride, &grad, &quantizer)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_meta m;
  ig_meta_view(((py_storage *)storage)->t, &m);
  m.dtype = ((py_dtype *)dtype)->d;
  m.device = ((py_device *)device)->d;
  m.offset = ig_const(offset);
  if (!PyType_IsSubtype((PyTypeObject *)cls, py_tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "expected a class of tensors");
    return NULL;
  }
  PyObject *out = NULL;
  ig_scope s = ig_scope_open(c);
  bool parts = quantizer != Py_None;
  if (parts) m.quantizer = py_to_quantizer(c, quantizer);
  if (!(parts && !m.quantizer) && read_dims(c, size, m.size, &m.ndim) &&
      read_dims(c, stride, m.stride, &strides)) {
    const ig_storage *st = storage_of(storage);
    if (strides != m.ndim || (!st->fake && !reaches(&m, st->bytes))) {
      PyErr_SetString(PyExc_RuntimeError, "sizes and strides reach beyond the storage");
    } else {
      ig_tensor *t = ig_tensor_make(c, &m, true);
      if (t && grad) ig_tensor_set_requires_grad(c, t, true);
      if (py_ok(c)) out = py_wrap_as(t, (PyTypeObject *)cls);
    }
  }
  ig_scope_close(c, s);
  return out;
}

static PyObject *stride_tuple(const ig_tensor *t) {
  PyObject *size = py_size_make(ig_strides(t), t->ndim);
  PyObject *tuple = size ? PySequence_List(size) : NULL;
  Py_XDECREF(size);
  if (!tuple) return NULL;
  PyObject *out = PyList_AsTuple(tuple);
  Py_DECREF(tuple);
  return out;
}

// Arguments of _rebuild_tensor over a given storage object.
static PyObject *parts(PyObject *self, PyObject *storage) {
  const ig_tensor *t = py_tensor_of(self);
  PyObject *size = py_size_make(ig_sizes(t), t->ndim);
  PyObject *stride = stride_tuple(t);
  PyObject *dtype = py_from_dtype(t->dtype);
  PyObject *device = py_from_device(t->device);
  if (!size || !stride || !device) return NULL;
  if (t->quantizer) {
    return Py_BuildValue("(OONNLNNON)", Py_TYPE(self), storage, dtype, device,
                         (long long)t->offset.value, size, stride, Py_False,
                         py_quantizer_parts(py_ctx(), t));
  }
  return Py_BuildValue("(OONNLNNO)", Py_TYPE(self), storage, dtype, device,
                       (long long)t->offset.value, size, stride,
                       t->requires_grad ? Py_True : Py_False);
}

static bool is_leaf(PyObject *self) {
  ig_ctx *c = py_ctx();
  bool leaf = ig_tensor_is_leaf(c, py_tensor_of(self));
  return py_ok(c) && leaf;
}

static PyObject *tensor_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!py_settled(self)) return NULL;
  if (!is_leaf(self)) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_RuntimeError,
                      "cannot pickle a Tensor that is the result of an operator and requires grad; "
                      "use detach()");
    }
    return NULL;
  }
  PyObject *maker = module_function("_rebuild_tensor");
  PyObject *storage = maker ? py_tensor_storage(self, NULL) : NULL;
  PyObject *args = storage ? parts(self, storage) : NULL;
  Py_XDECREF(storage);
  if (!args) {
    Py_XDECREF(maker);
    return NULL;
  }
  PyObject *dict = ((py_tensor *)self)->dict;
  bool state = dict && PyDict_GET_SIZE(dict) > 0;
  return state ? Py_BuildValue("NNO", maker, args, dict) : Py_BuildValue("NN", maker, args);
}

static PyObject *deepcopy(PyObject *o, PyObject *memo) {
  PyObject *copy = PyImport_ImportModule("copy");
  PyObject *out = copy ? PyObject_CallMethod(copy, "deepcopy", "OO", o, memo) : NULL;
  Py_XDECREF(copy);
  return out;
}

// Attributes and gradient of the copy.
static bool copy_state(PyObject *self, PyObject *out, PyObject *memo) {
  ig_ctx *c = py_ctx();
  ig_tensor *grad = ig_tensor_grad(py_tensor_of(self));
  if (grad) {
    PyObject *g = py_from_tensor(c, grad);
    PyObject *copied = g ? deepcopy(g, memo) : NULL;
    if (copied) ig_tensor_set_grad(c, py_tensor_of(out), py_tensor_of(copied));
    Py_XDECREF(g);
    Py_XDECREF(copied);
    if (!copied || !py_ok(c)) return false;
  }
  PyObject *dict = ((py_tensor *)self)->dict;
  if (!dict || PyDict_GET_SIZE(dict) == 0) return true;
  PyObject *copied = deepcopy(dict, memo);
  int bad = copied ? PyObject_SetAttrString(out, "__dict__", copied) : -1;
  Py_XDECREF(copied);
  return bad == 0;
}

static PyObject *tensor_deepcopy(PyObject *self, PyObject *memo) {
  if (!py_settled(self)) return NULL;
  PyObject *key = PyLong_FromVoidPtr(self);
  PyObject *found = key && PyDict_Check(memo) ? PyDict_GetItemWithError(memo, key) : NULL;
  if (found || PyErr_Occurred()) {
    Py_XDECREF(key);
    return Py_XNewRef(found);
  }
  PyObject *out = NULL;
  if (!is_leaf(self)) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_RuntimeError,
                      "Only Tensors created explicitly by the user (graph leaves) support the "
                      "deepcopy protocol at the moment.  If you were attempting to deepcopy a "
                      "module, this may be because of a torch.nn.utils.weight_norm usage, see "
                      "https://github.com/pytorch/pytorch/pull/103001");
    }
  } else {
    PyObject *storage = py_tensor_storage(self, NULL);
    PyObject *copied = storage ? deepcopy(storage, memo) : NULL;
    PyObject *args = copied ? parts(self, copied) : NULL;
    out = args ? rebuild_tensor(NULL, args) : NULL;
    Py_XDECREF(storage);
    Py_XDECREF(copied);
    Py_XDECREF(args);
  }
  if (out && PyDict_Check(memo) && PyDict_SetItem(memo, key, out) != 0) Py_CLEAR(out);
  if (out && !copy_state(self, out, memo)) Py_CLEAR(out);
  Py_XDECREF(key);
  return out;
}

static PyMethodDef functions[] = {
    {"_storage_from_bytes", storage_from_bytes, METH_O, NULL},
    {"_rebuild_tensor", rebuild_tensor, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef tensor_methods[] = {
    {"untyped_storage", py_tensor_storage, METH_NOARGS, NULL},
    {"storage", typed_make, METH_NOARGS, NULL},
    {"_typed_storage", typed_make, METH_NOARGS, NULL},
    {"__reduce_ex__", tensor_reduce, METH_O, NULL},
    {"__deepcopy__", tensor_deepcopy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_storage(PyObject *m) {
  alive = PyDict_New();
  if (!alive || PyType_Ready(&storage_type) != 0 || PyType_Ready(&typed_type) != 0 ||
      PyModule_AddObjectRef(m, "TypedStorage", (PyObject *)&typed_type) != 0 ||
      PyModule_AddFunctions(m, functions) != 0 ||
      PyModule_AddObjectRef(m, "UntypedStorage", (PyObject *)&storage_type) != 0) {
    return -1;
  }
  return py_tensor_add(tensor_methods, NULL);
}
