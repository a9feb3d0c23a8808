// SPDX-License-Identifier: Apache-2.0
// The command `ingot` of an installed package: the same C as the program's, started by Python.
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "py.h"

static void free_words(char **words, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++) PyMem_Free(words[i]);
  PyMem_Free((void *)words);
}

// A copy of one argument as the system gave it.
static char *word_of(PyObject *argument) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(argument, &bytes)) return NULL;
  size_t size = (size_t)PyBytes_GET_SIZE(bytes) + 1;
  char *word = PyMem_Malloc(size);
  if (word) memcpy(word, PyBytes_AS_STRING(bytes), size);
  if (!word) PyErr_NoMemory();
  Py_DECREF(bytes);
  return word;
}

static char **words_of(PyObject *list, Py_ssize_t n) {
  char **words = (char **)PyMem_Calloc((size_t)n + 1, sizeof *words);
  if (!words) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    words[i] = word_of(PyList_GET_ITEM(list, i));
    if (!words[i]) {
      free_words(words, i);
      return NULL;
    }
  }
  return words;
}

// _run_command(sys.argv) -> exit code. Signals have their default actions again, as in a program of
// its own.
static PyObject *run_command(PyObject *module, PyObject *arguments) {
  (void)module;
  if (!PyList_Check(arguments)) {
    return PyErr_Format(PyExc_TypeError, "expected a list of arguments, not %s",
                        py_type_name(arguments));
  }
  Py_ssize_t n = PyList_GET_SIZE(arguments);
  char **words = n <= INT_MAX ? words_of(arguments, n) : NULL;
  if (!words) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  (void)signal(SIGINT, SIG_DFL);
  int code;
  Py_BEGIN_ALLOW_THREADS;
  code = cli_main((int)n, words);
  Py_END_ALLOW_THREADS;
  free_words(words, n);
  return PyLong_FromLong(code);
}

PyMethodDef py_command_functions[] = {
    {"_run_command", run_command, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
