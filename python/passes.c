// SPDX-License-Identifier: Apache-2.0
// Passes over programs from Python: methods of Program, each of which returns a new Program.
#include <string.h>

#include "capture/dims.h"
#include "fx.h"
#include "ingot/aten.h"
#include "ingot/pass.h"
#include "op/record.h"
#include "pass/calls.h"
#include "py.h"

static PyObject *pass_functionalize(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_status st = ig_program_functionalize(c, py_program_of(o), &p);
  return py_program_wrap(c, st, p);
}

// joint(loss=0): the number of the user's output that is the loss
static PyObject *pass_joint(PyObject *o, PyObject *args) {
  Py_ssize_t loss = 0;
  if (!PyArg_ParseTuple(args, "|n:joint", &loss)) return NULL;
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_status st = ig_program_joint_at(c, py_program_of(o), (size_t)loss, &p);
  return py_program_wrap(c, st, p);
}

static PyObject *pass_unlift(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_graph *g = NULL;
  if (ig_program_unlift(c, py_program_of(o), &g) != IG_OK) return py_raise(c);
  PyObject *out = py_from_graph(g);
  ig_graph_free(g);
  return out;
}

// ---- unflatten ----

// [(name, None) | (None, constant)] -> leaves in the innermost scope
static bool take_leaves(ig_ctx *c, PyObject *list, const ig_call_leaf **out, size_t *n) {
  *n = (size_t)PyList_GET_SIZE(list);
  ig_call_leaf *leaves = ig_scope_array(c, *n, sizeof *leaves);
  for (size_t i = 0; leaves && i < *n; i++) {
    PyObject *value = NULL;
    leaves[i] = (ig_call_leaf){.name = NULL};
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, (Py_ssize_t)i), "zO", &leaves[i].name, &value)) {
      return false;
    }
    if (!leaves[i].name && !py_plain_value(value, &leaves[i].value)) return false;
  }
  *out = leaves;
  return leaves != NULL;
}

static bool take_keys(ig_ctx *c, PyObject *list, ig_call_signature *s) {
  s->nkeys = (size_t)PyList_GET_SIZE(list);
  const char **keys = ig_scope_array(c, s->nkeys, sizeof *keys);
  for (size_t i = 0; keys && i < s->nkeys; i++) {
    keys[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(list, (Py_ssize_t)i));
    if (!keys[i]) return false;
  }
  s->keys = keys;
  return keys != NULL;
}

// (path, inputs, outputs, number of positional arguments, names of the others, in_spec, out_spec)
static bool take_signature(ig_ctx *c, PyObject *row, ig_call_signature *s) {
  PyObject *inputs = NULL;
  PyObject *outputs = NULL;
  PyObject *keys = NULL;
  Py_ssize_t npos = 0;
  if (!PyArg_ParseTuple(row, "sO!O!nO!OO", &s->path, &PyList_Type, &inputs, &PyList_Type, &outputs,
                        &npos, &PyList_Type, &keys, &s->in_spec, &s->out_spec)) {
    return false;
  }
  s->npos = (size_t)npos;
  return take_leaves(c, inputs, &s->inputs, &s->ninputs) &&
         take_leaves(c, outputs, &s->outputs, &s->noutputs) && take_keys(c, keys, s);
}

static bool apply_signatures(ig_ctx *c, ig_module_tree *t, PyObject *rows,
                             const ig_tree_functions *host) {
  size_t n = (size_t)PyList_GET_SIZE(rows);
  ig_call_signature *calls = ig_scope_array(c, n, sizeof *calls);
  for (size_t i = 0; calls && i < n; i++) {
    calls[i] = (ig_call_signature){.path = NULL};
    if (!take_signature(c, PyList_GET_ITEM(rows, (Py_ssize_t)i), &calls[i])) return false;
  }
  return calls && ig_module_tree_apply(c, t, calls, n, host) == IG_OK;
}

// [(attribute, object)]: what the module of a graph must have under these names.
static PyObject *objects_of(const ig_graph *g) {
  PyObject *list = PyList_New(0);
  for (const ig_node *n = g->first; n && list; n = n->next) {
    if (n->kind != IG_NODE_ATTR || !n->object) continue;
    PyObject *item = Py_BuildValue("(sO)", n->target, (PyObject *)n->object);
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *tree_list(const ig_module_tree *t) {
  const ig_module_entry *at = NULL;
  size_t n = ig_module_tree_entries(t, &at);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *graph = py_from_graph(at[i].graph);
    PyObject *objects = graph ? objects_of(at[i].graph) : NULL;
    PyObject *item =
        objects ? Py_BuildValue("(ssOOz)", at[i].path, at[i].module, graph, objects, at[i].same_as)
                : NULL;
    Py_XDECREF(graph);
    Py_XDECREF(objects);
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

// unflatten(signatures, (unflatten, name), (flatten, name)) -> [(path, path of the module, Graph,
// [(attribute, object)], earlier path of the same module or None)], the root first. See
// take_signature and ig_tree_functions.
static PyObject *pass_unflatten(PyObject *o, PyObject *args) {
  PyObject *rows = NULL;
  ig_tree_functions host;
  if (!PyArg_ParseTuple(args, "O!(Os)(Os):unflatten", &PyList_Type, &rows, &host.unflatten,
                        &host.unflatten_name, &host.flatten, &host.flatten_name)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_module_tree *t = NULL;
  if (ig_program_unflatten(c, py_program_of(o), &t) != IG_OK) return py_raise(c);
  ig_scope s = ig_scope_open(c);
  bool ok = PyList_GET_SIZE(rows) == 0 || apply_signatures(c, t, rows, &host);
  ig_scope_close(c, s);
  PyObject *list = ok ? tree_list(t) : NULL;
  ig_module_tree_free(t);
  if (!ok && !PyErr_Occurred()) return py_raise(c);
  return list;
}

// ---- decompose ----

// A table from Python: operators with a built-in decomposition, and functions for others.
typedef struct table {
  PyObject *functions;  // dict: OpOverload -> callable; NULL: none
  const char **also;
  const char **preserve;
} table;

static void table_free(table *t) {
  Py_XDECREF(t->functions);
  PyMem_Free((void *)t->also);
  PyMem_Free((void *)t->preserve);
}

// Texts live as long as the operators they name.
static const char *target_of(PyObject *o) {
  if (Py_IS_TYPE(o, &py_overload_type)) return ((py_op *)o)->set->at[0]->target;
  const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;
  if (!text && !PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "expected an operator overload, found %s", Py_TYPE(o)->tp_name);
  }
  return text;
}

static bool take_preserve(table *t, PyObject *given) {
  PyObject *list = py_items(given, "_preserve_ops must be a sequence of operators");
  if (!list) return false;
  Py_ssize_t n = PyTuple_GET_SIZE(list);
  t->preserve = PyMem_Calloc((size_t)n + 1, sizeof *t->preserve);
  bool ok = t->preserve != NULL;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < n; i++) {
    t->preserve[i] = target_of(PyTuple_GET_ITEM(list, i));
    ok = t->preserve[i] != NULL;
  }
  Py_DECREF(list);
  return ok;
}

static PyTypeObject decomposition_type;

static bool take_table(table *t, PyObject *given) {
  if (!PyMapping_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "decomp_table must map operators to functions");
    return false;
  }
  PyObject *items = PyMapping_Items(given);
  Py_ssize_t n = items ? PyList_GET_SIZE(items) : 0;
  t->functions = PyDict_New();
  t->also = PyMem_Calloc((size_t)n + 1, sizeof *t->also);
  bool ok = items && t->functions && t->also;
  if (!ok && !PyErr_Occurred()) PyErr_NoMemory();
  size_t count = 0;
  for (Py_ssize_t i = 0; ok && i < n; i++) {
    PyObject *pair = PyList_GET_ITEM(items, i);
    PyObject *op = PyTuple_GET_ITEM(pair, 0);
    PyObject *fn = PyTuple_GET_ITEM(pair, 1);
    if (Py_IS_TYPE(fn, &decomposition_type)) {
      t->also[count] = target_of(op);
      ok = t->also[count++] != NULL;
    } else {
      ok = PyDict_SetItem(t->functions, op, fn) == 0;
    }
  }
  Py_XDECREF(items);
  return ok;
}

// How many positional arguments a call needs: those behind have their defaults.
static size_t count_positional(const ig_schema *s, const ig_value *args) {
  size_t n = s->npos;
  while (n && ig_arg_is_default(&s->args[n - 1], &args[n - 1])) n--;
  return n;
}

// The arguments as a node has them: a function written for the calls of a program need not know
// what they leave out.
static PyObject *call_with(ig_ctx *c, const ig_op *op, const ig_value *args, PyObject *fn) {
  const ig_schema *s = &op->schema;
  size_t npos = count_positional(s, args);
  PyObject *pos = PyTuple_New((Py_ssize_t)npos);
  PyObject *kw = PyDict_New();
  bool ok = pos && kw;
  for (size_t i = 0; ok && i < s->nargs; i++) {
    if (i >= npos && ig_arg_is_default(&s->args[i], &args[i])) continue;
    PyObject *v = py_from_value(c, &args[i]);
    ok = v != NULL;
    if (ok && i < npos) {
      PyTuple_SET_ITEM(pos, (Py_ssize_t)i, v);
    } else if (ok) {
      ok = PyDict_SetItemString(kw, s->args[i].name, v) == 0;
      Py_DECREF(v);
    }
  }
  PyObject *answer = ok ? PyObject_Call(fn, pos, kw) : NULL;
  Py_XDECREF(pos);
  Py_XDECREF(kw);
  return answer;
}

static bool take_result(ig_ctx *c, PyObject *o, ig_value *out) {
  *out = ig_none();
  if (o == Py_None) return true;
  if (py_is_tensor(o)) {
    *out = ig_of_tensor(py_lend(c, o));
    return out->kind == IG_KIND_TENSOR;
  }
  if (PyTuple_Check(o) || PyList_Check(o)) {
    PyObject *all = py_items(o, "");
    Py_ssize_t n = all ? PyTuple_GET_SIZE(all) : 0;
    ig_value *items = all ? ig_scope_array(c, (size_t)n, sizeof *items) : NULL;
    bool ok = items != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
      ok = take_result(c, PyTuple_GET_ITEM(all, i), &items[i]);
    }
    Py_XDECREF(all);
    *out = ig_of_list(items, (size_t)n);
    return ok;
  }
  ig_match taken = py_to_number(o, out);
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_TypeError, "a decomposition returned %s, expected tensors or numbers",
                 Py_TYPE(o)->tp_name);
  }
  return taken == IG_MATCH_TAKEN;
}

static bool take_results(ig_ctx *c, const ig_op *op, PyObject *answer, ig_value *outs) {
  size_t n = op->schema.nrets;
  if (n == 1) return take_result(c, answer, &outs[0]);
  if (n == 0) return true;
  bool fits = (PyTuple_Check(answer) || PyList_Check(answer)) &&
              (size_t)PySequence_Fast_GET_SIZE(answer) == n;
  if (!fits) {
    PyErr_Format(PyExc_TypeError, "the decomposition of %s must return %zu values", op->target, n);
    return false;
  }
  PyObject *all = py_items(answer, "");
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    ok = take_result(c, PyTuple_GET_ITEM(all, (Py_ssize_t)i), &outs[i]);
  }
  Py_XDECREF(all);
  return ok;
}

static bool replace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  const table *t = user;
  PyObject *key = py_op_make_overload(op);
  PyObject *fn = key ? PyDict_GetItemWithError(t->functions, key) : NULL;
  Py_XDECREF(key);
  if (!fn) {
    if (PyErr_Occurred()) py_host_failed(c);
    return false;
  }
  Py_INCREF(fn);
  PyObject *answer = call_with(c, op, args, fn);
  Py_DECREF(fn);
  bool declined = answer == Py_NotImplemented;  // the call stays
  if (!declined && (!answer || !take_results(c, op, answer, outs))) py_host_failed(c);
  Py_XDECREF(answer);
  return !declined;
}

static PyObject *run(PyObject *o, bool core, bool once, const table *t) {
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_decompose_args a = {.size = sizeof a,
                         .level = core ? IG_DECOMPOSE_CORE : IG_DECOMPOSE_COMPOSITE,
                         .also = t->also,
                         .preserve = t->preserve,
                         .once = once};
  if (t->functions && PyDict_GET_SIZE(t->functions)) {
    a.replace = replace;
    a.user = (void *)t;
  }
  ig_status st = ig_decompose_check_preserve(c, t->preserve);
  if (st == IG_OK) st = ig_program_decompose(c, py_program_of(o), &a, &p);
  return py_program_wrap(c, st, p);
}

// decompose(core=True, table=None, preserve=(), once=False): table replaces the built-in one; once:
// the program was just captured.
static PyObject *pass_decompose(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"core", "table", "preserve", "once", NULL};
  int core = 1;
  int once = 0;
  PyObject *given = Py_None;
  PyObject *preserve = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pOOp:decompose", keys, &core, &given, &preserve,
                                   &once)) {
    return NULL;
  }
  table t = {0};
  PyObject *out = NULL;
  bool ok =
      (!preserve || take_preserve(&t, preserve)) && (given == Py_None || take_table(&t, given));
  if (ok) out = run(o, core && given == Py_None, once != 0, &t);
  table_free(&t);
  return out;
}

// The calls that PyTorch would trace again stay as they are.
static bool keep_detach(const ig_op *op, const ig_value *args, void *user) {
  (void)args;
  (void)user;
  return op->number == IG_ID_DETACH || op->number == IG_ID_LIFT_FRESH_COPY;
}

// decompose_graph(graph, table) -> Graph: a functional graph with the calls of the table replaced.
static PyObject *decompose_graph(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *graph = NULL;
  PyObject *given = NULL;
  if (!PyArg_ParseTuple(args, "OO:decompose_graph", &graph, &given)) return NULL;
  ig_graph *g = py_graph_of(graph);
  table t = {0};
  PyObject *out = NULL;
  ig_ctx *c = py_ctx();
  if (g && py_fx_sync(c, g) && take_table(&t, given)) {
    ig_decompose_args a = {.size = sizeof a,
                           .level = IG_DECOMPOSE_COMPOSITE,
                           .also = t.also,
                           .keep = keep_detach,
                           .user = &t};
    if (PyDict_GET_SIZE(t.functions)) a.replace = replace;
    ig_graph *lower = NULL;
    if (ig_graph_decompose(c, g, &a, &lower) == IG_OK) {
      out = py_from_graph(lower);
      ig_graph_free(lower);
    } else {
      (void)py_raise(c);
    }
  }
  table_free(&t);
  return out;
}

// ---- built-in decompositions as objects of a table ----

typedef struct py_decomposition {
  PyObject_HEAD PyObject *overload;
} py_decomposition;

static void decomposition_dealloc(PyObject *o) {
  Py_DECREF(((py_decomposition *)o)->overload);
  PyObject_Free(o);
}
static PyObject *decomposition_repr(PyObject *o) {
  return PyUnicode_FromFormat("<decomposition of %S>", ((py_decomposition *)o)->overload);
}
// The operator computes what its decomposition does.
static PyObject *decomposition_call(PyObject *o, PyObject *args, PyObject *kwargs) {
  return PyObject_Call(((py_decomposition *)o)->overload, args, kwargs);
}
static PyTypeObject decomposition_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Decomposition",
    .tp_basicsize = sizeof(py_decomposition),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = decomposition_dealloc,
    .tp_repr = decomposition_repr,
    .tp_call = decomposition_call,
};

static int add_decomposition(PyObject *dict, const ig_op *op) {
  PyObject *key = py_op_make_overload(op);
  py_decomposition *value = key ? PyObject_New(py_decomposition, &decomposition_type) : NULL;
  int bad = -1;
  if (value) {
    value->overload = Py_NewRef(key);
    bad = PyDict_SetItem(dict, key, (PyObject *)value);
    Py_DECREF(value);
  }
  Py_XDECREF(key);
  return bad;
}

// decomposition_table(core): OpOverload -> Decomposition; those of the default table or all.
static PyObject *decomposition_table(PyObject *module, PyObject *core) {
  (void)module;
  int only = PyObject_IsTrue(core);
  ig_ctx *c = py_ctx();
  PyObject *dict = only < 0 ? NULL : PyDict_New();
  size_t n = ig_op_count(c);
  for (size_t i = 0; dict && i < n; i++) {
    const ig_op *op = ig_op_at(c, i);
    bool takes = !op->base && ig_op_has_lowering(op) && !(op->facts & IG_FACT_IMPLICIT);
    if (!takes || (only && !(op->facts & IG_FACT_DECOMP))) continue;
    if (add_decomposition(dict, op) != 0) Py_CLEAR(dict);
  }
  return dict;
}

static PyMethodDef functions[] = {
    {"decompose_graph", decompose_graph, METH_VARARGS,
     "A graph with operators replaced by their decompositions."},
    {"decomposition_table", decomposition_table, METH_O,
     "Operators with a built-in decomposition: those of the default table, or all."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"functionalize", pass_functionalize, METH_NOARGS, "The same program without writes."},
    {"decompose", (PyCFunction)(void (*)(void))pass_decompose, METH_VARARGS | METH_KEYWORDS,
     "The program with operators replaced by their decompositions."},
    {"joint", pass_joint, METH_VARARGS, "Loss and gradients in one program."},
    {"unlift", pass_unlift, METH_NOARGS, "The graph that a module of the program runs."},
    {"unflatten", pass_unflatten, METH_VARARGS, "The tree of modules."},
    {NULL, NULL, 0, NULL},
};

int py_add_passes(PyObject *m) {
  PyObject *program = PyObject_GetAttrString(m, "Program");
  if (!program) return -1;
  PyTypeObject *type = (PyTypeObject *)program;
  int bad = PyType_Ready(&decomposition_type) || PyModule_AddFunctions(m, functions);
  for (PyMethodDef *d = methods; !bad && d->ml_name; d++) {
    PyObject *method = PyDescr_NewMethod(type, d);
    bad = !method || PyDict_SetItemString(type->tp_dict, d->ml_name, method) != 0;
    Py_XDECREF(method);
  }
  PyType_Modified(type);
  Py_DECREF(program);
  return bad ? -1 : 0;
}
