// SPDX-License-Identifier: Apache-2.0
// Limits of this thread's context as Python numbers, by the names of ig_limits' fields.
#include <string.h>

#include "base/budget.h"
#include "ingot/limits.h"
#include "py.h"

static const struct {
  const char *name;
  size_t at;
} fields[] = {
    {"max_text", offsetof(ig_limits, max_text)},
    {"max_inflated", offsetof(ig_limits, max_inflated)},
    {"max_entries", offsetof(ig_limits, max_entries)},
    {"max_nodes", offsetof(ig_limits, max_nodes)},
    {"max_depth", offsetof(ig_limits, max_depth)},
    {"max_millis", offsetof(ig_limits, max_millis)},
    {"max_work", offsetof(ig_limits, max_work)},
    {"max_memory", offsetof(ig_limits, max_memory)},
};

static uint64_t *field_of(ig_limits *l, size_t i) {
  return (uint64_t *)(void *)((char *)l + fields[i].at);
}

static bool take_field(ig_limits *l, PyObject *key, PyObject *value) {
  for (size_t i = 0; i < PY_COUNT(fields); i++) {
    if (PyUnicode_CompareWithASCIIString(key, fields[i].name) != 0) continue;
    unsigned long long n = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) return false;
    *field_of(l, i) = n;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "there is no limit %R", key);
  return false;
}

// _set_limits({name: number}): what is not named has its default.
static PyObject *set_limits(PyObject *module, PyObject *given) {
  (void)module;
  ig_limits l = {.size = sizeof l};
  if (!PyDict_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "expected a dict of limits");
    return NULL;
  }
  PyObject *key = NULL;
  PyObject *value = NULL;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &value);) {
    if (!PyUnicode_Check(key) || !PyLong_Check(value)) {
      PyErr_SetString(PyExc_TypeError, "expected limits that are integers, by name");
      return NULL;
    }
    if (!take_field(&l, key, value)) return NULL;
  }
  ig_ctx_set_limits(py_ctx(), &l);
  Py_RETURN_NONE;
}

static PyObject *get_limits(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_limits l = ig_ctx_limits(py_ctx());
  PyObject *all = PyDict_New();
  for (size_t i = 0; all && i < PY_COUNT(fields); i++) {
    PyObject *n = PyLong_FromUnsignedLongLong(*field_of(&l, i));
    if (!n || PyDict_SetItemString(all, fields[i].name, n) != 0) Py_CLEAR(all);
    Py_XDECREF(n);
  }
  return all;
}

static PyObject *memory_in_use(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyLong_FromUnsignedLongLong(ig_ctx_memory(py_ctx()));
}

// _spend(work): charges work of Python code to this thread's limits; handles pending signals.
static PyObject *spend(PyObject *module, PyObject *given) {
  (void)module;
  unsigned long long work = PyLong_AsUnsignedLongLong(given);
  if (PyErr_Occurred()) return NULL;
  ig_ctx *c = py_ctx();
  if (!ig_spend(c, work)) return py_raise(c);
  if (PyErr_CheckSignals() != 0) return NULL;
  Py_RETURN_NONE;
}

PyMethodDef py_limits_functions[] = {
    {"_set_limits", set_limits, METH_O, NULL},
    {"_get_limits", get_limits, METH_NOARGS, NULL},
    {"_memory_in_use", memory_in_use, METH_NOARGS, NULL},
    {"_spend", spend, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
