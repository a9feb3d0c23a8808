// SPDX-License-Identifier: Apache-2.0
// The text of a Python function, cut out of the lines of its file.
#include <string.h>

#include "base/str_bytes.h"
#include "script.h"
#include "script/block.h"

static bool is_blank_line(const char *line, size_t n) {
  return strspn(line, " \t\n\r\f") >= n;
}

// How many blanks all lines that are not blank begin with.
static size_t margin_of(PyObject *lines, Py_ssize_t first, size_t count) {
  const char *least = NULL;
  size_t margin = 0;
  for (size_t i = 0; i < count; i++) {
    Py_ssize_t n = 0;
    const char *line = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(lines, first + (Py_ssize_t)i), &n);
    if (!line || is_blank_line(line, (size_t)n)) continue;
    size_t blanks = strspn(line, " \t");
    size_t same = 0;
    while (least && same < margin && same < blanks && line[same] == least[same]) same++;
    margin = least ? same : blanks;
    least = line;
  }
  return margin;
}

static bool scan_block(PyObject *lines, Py_ssize_t first, ig_block_scan *scan) {
  Py_ssize_t total = PyList_GET_SIZE(lines);
  for (Py_ssize_t i = first; i < total; i++) {
    PyObject *item = PyList_GET_ITEM(lines, i);
    Py_ssize_t n = 0;
    const char *line = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, &n) : NULL;
    if (!line) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a source has lines of text");
      return false;
    }
    if (!ig_block_next(scan, line, (size_t)n)) break;
  }
  return true;
}

PyObject *py_script_source(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *lines = NULL;
  Py_ssize_t first = 0;
  if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &lines, &first)) return NULL;
  ig_block_scan scan = {0};
  if (first < 0 || !scan_block(lines, first, &scan))
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
  if (!scan.begun) Py_RETURN_NONE;
  size_t margin = margin_of(lines, first, scan.last);
  ig_str text = ig_str_make(py_ctx()->alloc);
  for (size_t i = scan.def; i < scan.last; i++) {
    Py_ssize_t n = 0;
    const char *line = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(lines, first + (Py_ssize_t)i), &n);
    size_t cut = is_blank_line(line, (size_t)n) ? strcspn(line, "\n") : margin;
    ig_str_bytes(&text, line + cut, (size_t)n - cut);
  }
  const char *top = PyUnicode_AsUTF8(PyList_GET_ITEM(lines, first));
  PyObject *made =
      text.at ? Py_BuildValue("s#nn", text.at, (Py_ssize_t)text.n, first + (Py_ssize_t)scan.def + 1,
                              (Py_ssize_t)strspn(top, " \t"))
              : PyErr_NoMemory();
  ig_str_free(&text);
  return made;
}
