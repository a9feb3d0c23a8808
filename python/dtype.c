// SPDX-License-Identifier: Apache-2.0
// torch.dtype, torch.layout, torch.memory_format: fixed sets of objects, one per value, so that
// identity is equality. They print and pickle under the names that the package gives them.
#include "op/refuse.h"
#include "op/shape.h"
#include "py.h"
#include "tensor/quantizer.h"

static py_dtype dtypes[IG_DTYPE_COUNT];

PyObject *py_from_dtype(ig_dtype d) {
  return Py_NewRef((PyObject *)&dtypes[d]);
}

bool py_to_dtype(PyObject *o, ig_dtype *out) {
  if (Py_IS_TYPE(o, &py_dtype_type)) {
    *out = ((py_dtype *)o)->d;
  } else if (o == (PyObject *)&PyFloat_Type) {
    *out = IG_F64;
  } else if (o == (PyObject *)&PyLong_Type) {
    *out = IG_I64;
  } else if (o == (PyObject *)&PyBool_Type) {
    *out = IG_BOOL;
  } else if (o == (PyObject *)&PyComplex_Type) {
    *out = IG_C128;
  } else {
    return false;
  }
  return true;
}

// Dtypes that PyTorch names but that no tensor of ours has: what they say of themselves. Arguments
// do not accept them.
typedef enum { SIGNED, UNDEFINED_BITS, UNDEFINED_QUANTIZED } signedness;
typedef struct {
  const char *text;
  const char *type;  // as errors name it
  unsigned char size;
  bool is_float;
  bool is_complex;
  signedness sign;
} name_facts;
static const name_facts only_names[] = {
    {"uint1", "UInt1", 1, false, false, SIGNED},
    {"uint2", "UInt2", 1, false, false, SIGNED},
    {"uint3", "UInt3", 1, false, false, SIGNED},
    {"uint4", "UInt4", 1, false, false, SIGNED},
    {"uint5", "UInt5", 1, false, false, SIGNED},
    {"uint6", "UInt6", 1, false, false, SIGNED},
    {"uint7", "UInt7", 1, false, false, SIGNED},
    {"complex32", "ComplexHalf", 4, false, true, SIGNED},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", 1, true, false, SIGNED},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", 1, true, false, SIGNED},
    {"bits1x8", "Bits1x8", 1, false, false, UNDEFINED_BITS},
    {"bits2x4", "Bits2x4", 1, false, false, UNDEFINED_BITS},
    {"bits4x2", "Bits4x2", 1, false, false, UNDEFINED_BITS},
    {"bits8", "Bits8", 1, false, false, UNDEFINED_BITS},
    {"bits16", "Bits16", 2, false, false, UNDEFINED_BITS},
    {"quint4x2", "QUInt4x2", 1, false, false, UNDEFINED_QUANTIZED},
    {"quint2x4", "QUInt2x4", 1, false, false, UNDEFINED_QUANTIZED},
};
typedef struct {
  py_dtype base;
  const name_facts *facts;
} dtype_name;
static dtype_name name_objects[PY_COUNT(only_names)];

static PyTypeObject dtype_name_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.dtype (one that Ingot has no tensors of)",
    .tp_basicsize = sizeof(dtype_name),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_base = &py_dtype_type,
};

// NULL: a dtype that tensors have.
static const name_facts *facts_of(PyObject *o) {
  return Py_IS_TYPE(o, &dtype_name_type) ? ((dtype_name *)o)->facts : NULL;
}
static dtype_name *complex32(void) {
  size_t i = 0;
  while (!only_names[i].is_complex) i++;
  return &name_objects[i];
}

static ig_dtype dtype_of(PyObject *o) {
  return ((py_dtype *)o)->d;
}

static const char *text_of(PyObject *o) {
  return facts_of(o) ? facts_of(o)->text : ig_dtype_text(dtype_of(o));
}
static PyObject *dtype_repr(PyObject *o) {
  return PyUnicode_FromFormat("torch.%s", text_of(o));
}

static PyObject *dtype_is_float(PyObject *o, void *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  return PyBool_FromLong(f ? f->is_float : ig_dtype_is_float(dtype_of(o)));
}
static PyObject *dtype_is_complex(PyObject *o, void *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  return PyBool_FromLong(f ? f->is_complex : ig_dtype_is_complex(dtype_of(o)));
}
static PyObject *dtype_is_signed(PyObject *o, void *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  if (f && f->sign == SIGNED) Py_RETURN_TRUE;
  if (f) {
    PyErr_SetString(PyExc_RuntimeError, f->sign == UNDEFINED_BITS
                                            ? "Bits types are undefined"
                                            : "isSignedType not supported for quantized types");
    return NULL;
  }
  ig_dtype d = dtype_of(o);
  return PyBool_FromLong(d != IG_BOOL && d != IG_U8 && d != IG_U16 && d != IG_U32 && d != IG_U64);
}
static PyObject *dtype_itemsize(PyObject *o, void *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  return PyLong_FromSize_t(f ? f->size : ig_dtype_size(dtype_of(o)));
}
static PyObject *package_name(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  return PyUnicode_FromString("ingot");
}

static PyObject *dtype_to_complex(PyObject *o, PyObject *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  if (f && f->is_complex) return Py_NewRef(o);
  if (f) return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", f->type);
  switch (dtype_of(o)) {
    case IG_F16:
      return Py_NewRef((PyObject *)complex32());
    case IG_BF16:
    case IG_F32:
    case IG_C64:
      return py_from_dtype(IG_C64);
    case IG_F64:
    case IG_C128:
      return py_from_dtype(IG_C128);
    default:
      PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s",
                   ig_dtype_title(dtype_of(o)));
      return NULL;
  }
}

static PyObject *dtype_to_real(PyObject *o, PyObject *unused) {
  (void)unused;
  const name_facts *f = facts_of(o);
  if (f) return f->is_complex ? py_from_dtype(IG_F16) : Py_NewRef(o);
  return py_from_dtype(ig_to_real(dtype_of(o)));
}

static PyObject *dtype_reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(text_of(o));
}

static PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_is_float, NULL, NULL, NULL},
    {"is_complex", dtype_is_complex, NULL, NULL, NULL},
    {"is_signed", dtype_is_signed, NULL, NULL, NULL},
    {"itemsize", dtype_itemsize, NULL, NULL, NULL},
    {"__module__", package_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef dtype_methods[] = {
    {"to_complex", dtype_to_complex, METH_NOARGS, NULL},
    {"to_real", dtype_to_real, METH_NOARGS, NULL},
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_dtype_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.dtype",
    .tp_basicsize = sizeof(py_dtype),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = dtype_repr,
    .tp_getset = dtype_getset,
    .tp_methods = dtype_methods,
};

// Layouts and memory formats differ only in their texts.
static const char *const layout_texts[] = {"strided", "sparse_coo"};
static const char *const format_texts[] = {"contiguous_format", "preserve_format", "channels_last",
                                           "channels_last_3d"};
static py_enum layouts[PY_COUNT(layout_texts)];
static py_enum formats[PY_COUNT(format_texts)];
static py_enum qschemes[IG_QSCHEME_COUNT];

PyObject *py_from_layout(ig_layout v) {
  return Py_NewRef((PyObject *)&layouts[v]);
}
PyObject *py_from_memory_format(ig_memory_format v) {
  return Py_NewRef((PyObject *)&formats[v]);
}

PyObject *py_from_qscheme(int v) {
  return Py_NewRef((PyObject *)&qschemes[v]);
}

static const char *enum_text(PyObject *o) {
  int v = ((py_enum *)o)->v;
  if (Py_IS_TYPE(o, &py_qscheme_type)) return ig_quant_scheme_text((ig_quant_scheme)v);
  return Py_IS_TYPE(o, &py_layout_type) ? layout_texts[v] : format_texts[v];
}
static PyObject *enum_repr(PyObject *o) {
  return PyUnicode_FromFormat("torch.%s", enum_text(o));
}
static PyObject *enum_reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(enum_text(o));
}

static PyGetSetDef enum_getset[] = {
    {"__module__", package_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef enum_methods[] = {
    {"__reduce__", enum_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_layout_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.layout",
    .tp_basicsize = sizeof(py_enum),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = enum_repr,
    .tp_getset = enum_getset,
    .tp_methods = enum_methods,
};
PyTypeObject py_memory_format_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.memory_format",
    .tp_basicsize = sizeof(py_enum),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = enum_repr,
    .tp_getset = enum_getset,
    .tp_methods = enum_methods,
};

PyTypeObject py_qscheme_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.qscheme",
    .tp_basicsize = sizeof(py_enum),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = enum_repr,
    .tp_getset = enum_getset,
    .tp_methods = enum_methods,
};

static int add_enums(PyObject *m, PyTypeObject *type, py_enum *at, const char *const *texts,
                     size_t n) {
  for (size_t i = 0; i < n; i++) {
    (void)PyObject_Init((PyObject *)&at[i], type);
    at[i].v = (int)i;
    if (PyModule_AddObjectRef(m, texts[i], (PyObject *)&at[i]) != 0) return -1;
  }
  return 0;
}

int py_add_dtypes(PyObject *m) {
  PyTypeObject *types[] = {&py_dtype_type,  &py_layout_type, &py_memory_format_type,
                           &py_device_type, &py_size_type,   &py_qscheme_type};
  static const char *const names[] = {"dtype",  "layout", "memory_format",
                                      "device", "Size",   "qscheme"};
  static const char *schemes[IG_QSCHEME_COUNT];
  for (int i = 0; i < IG_QSCHEME_COUNT; i++) schemes[i] = ig_quant_scheme_text((ig_quant_scheme)i);
  for (size_t i = 0; i < PY_COUNT(types); i++) {
    if (PyType_Ready(types[i]) != 0 || PyModule_AddObjectRef(m, names[i], (PyObject *)types[i])) {
      return -1;
    }
  }
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    (void)PyObject_Init((PyObject *)&dtypes[d], &py_dtype_type);
    dtypes[d].d = (ig_dtype)d;
    if (PyModule_AddObjectRef(m, ig_dtype_text((ig_dtype)d), (PyObject *)&dtypes[d])) return -1;
  }
  if (PyType_Ready(&dtype_name_type)) return -1;
  for (size_t i = 0; i < PY_COUNT(only_names); i++) {
    PyObject *o = PyObject_Init((PyObject *)&name_objects[i], &dtype_name_type);
    name_objects[i].base.d = IG_U8;
    name_objects[i].facts = &only_names[i];
    if (PyModule_AddObjectRef(m, only_names[i].text, o)) return -1;
  }
  return add_enums(m, &py_layout_type, layouts, layout_texts, PY_COUNT(layout_texts)) ||
         add_enums(m, &py_memory_format_type, formats, format_texts, PY_COUNT(format_texts)) ||
         add_enums(m, &py_qscheme_type, qschemes, schemes, IG_QSCHEME_COUNT);
}
