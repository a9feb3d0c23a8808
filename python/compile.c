// SPDX-License-Identifier: Apache-2.0
// torch.compile from Python: running a function while its calls are recorded (capture/defer.h), the
// entries that were compiled for it, and what makes tensors of a recording wait no longer.
#include <string.h>
#include <threads.h>
#include <time.h>

#include "capture/defer.h"
#include "fx.h"
#include "ingot/aten.h"
#include "py.h"
#include "sym/env.h"

// ---- entries of one function

typedef struct entry {
  ig_defer_entry *e;
  PyObject *run;  // what the backend returned; None: the calls are repeated as they are
} entry;

// ingot._C.CompileCache: a Python class derives from it and says what to do when nothing fits:
// miss(recording, fn, args, kwargs) -> bool, whether there is an entry now; broken(why, op, branch,
// calls, whole, custom) is called before every flush but the last and returns whether the elements
// are asserted to be true; raised(error, asserts) where the function raised and one graph is
// wanted.
typedef struct py_cache {
  PyObject_HEAD entry *at;
  size_t n;
  size_t cap;
} py_cache;

typedef struct run {
  py_cache *cache;
  PyObject *fn;  // what is called, with these arguments
  PyObject *args;
  PyObject *kwargs;
  size_t flushes;
  bool raised;        // the function raised: what it did before is computed, not compiled
  bool caught;        // it raised and caught: likewise
  bool computing;     // a backend or what it returned is running, which is not the function
  bool asserts;       // something about elements
  PyObject *refusal;  // the first exception by which the cache refused a part of it; NULL: none
} run;

void py_note_refusal(PyObject **refusal) {
  if (*refusal || !PyErr_Occurred()) return;
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  *refusal = Py_XNewRef(value);
  PyErr_Restore(type, value, trace);
}

static void cache_forget(py_cache *self) {
  size_t n = self->n;
  self->n = 0;
  for (size_t i = 0; i < n; i++) {
    ig_defer_entry_free(self->at[i].e);
    Py_CLEAR(self->at[i].run);
  }
}
static void cache_dealloc(PyObject *o) {
  py_cache *self = (py_cache *)o;
  PyTypeObject *type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  cache_forget(self);
  PyMem_Free(self->at);
  type->tp_free(o);
}
static int cache_traverse(PyObject *o, visitproc visit, void *arg) {
  const py_cache *self = (const py_cache *)o;
  for (size_t i = 0; i < self->n; i++) Py_VISIT(self->at[i].run);
  return 0;
}
static int cache_clear(PyObject *o) {
  cache_forget((py_cache *)o);
  return 0;
}

// ---- a recording, while the host computes it

typedef struct py_recording {
  PyObject_HEAD ig_defer *d;  // NULL: it is over
  py_cache *cache;
  ig_defer_entry *e;  // traced, not added yet
  ig_defer_why why;
  size_t number;  // of this flush among those of the call
} py_recording;

static ig_defer *defer_of(PyObject *o) {
  ig_defer *d = ((py_recording *)o)->d;
  if (!d) PyErr_SetString(PyExc_RuntimeError, "the recording is over");
  return d;
}
static ig_tensor *input_at(const ig_defer *d, size_t i) {
  return d->values.at[d->inputs.at[i]].tensor;
}

static PyObject *get_inputs(PyObject *o, void *unused) {
  (void)unused;
  const ig_defer *d = defer_of(o);
  PyObject *list = d ? PyList_New((Py_ssize_t)d->inputs.n) : NULL;
  for (size_t i = 0; list && i < d->inputs.n; i++) {
    PyObject *t = py_from_tensor(py_ctx(), input_at(d, i));
    if (!t) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, (Py_ssize_t)i, t);
    }
  }
  return list;
}

// [(kind, value, number of the call or input, index, origin, way)]; origin: 0 unknown, 1 computed
// from sizes, 2 from elements; way: of ig_defer_expr.
static PyObject *get_slots(PyObject *o, void *unused) {
  (void)unused;
  const ig_defer *d = defer_of(o);
  PyObject *list = d ? PyList_New((Py_ssize_t)d->slots.n) : NULL;
  for (size_t i = 0; list && i < d->slots.n; i++) {
    const ig_defer_slot *s = &d->slots.at[i];
    const ig_defer_expr *e = s->expr ? &d->exprs.at[s->expr - 1] : NULL;
    int origin = !e ? 0 : e->element ? 2 : 1;
    unsigned long long way = e ? e->way : 0;
    PyObject *item =
        Py_BuildValue("(iLIIiK)", (int)s->kind, (long long)s->value, s->of, s->index, origin, way);
    if (!item) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
  }
  return list;
}
static PyObject *get_hash(PyObject *o, void *unused) {
  (void)unused;
  const ig_defer *d = defer_of(o);
  return d ? PyLong_FromUnsignedLongLong(d->hash) : NULL;
}
// The same for recordings of the same operators on the same kinds of arguments, whatever the
// constants, dtypes and ranks are.
static PyObject *get_outline(PyObject *o, void *unused) {
  (void)unused;
  const ig_defer *d = defer_of(o);
  if (!d) return NULL;
  uint64_t h = d->calls.n;
  for (size_t i = 0; i < d->calls.n; i++) {
    const ig_defer_call *call = &d->calls.at[i];
    h = (h ^ (uint64_t)(uintptr_t)call->op) * 0xff51afd7ed558ccdU;
    for (size_t k = 0; k < call->op->schema.nargs; k++) {
      const ig_value *v = &call->args[k];
      size_t n = v->kind == IG_KIND_INTS ? v->ints.n : v->kind == IG_KIND_LIST ? v->list.n : 0;
      h = (h ^ (uint64_t)v->kind ^ n << 8) * 0x9e3779b97f4a7c15U;
    }
  }
  return PyLong_FromUnsignedLongLong(h);
}
static PyObject *get_number(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((py_recording *)o)->number);
}
static PyObject *get_why(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromLong((long)((py_recording *)o)->why);
}
static PyObject *get_calls(PyObject *o, void *unused) {
  (void)unused;
  const ig_defer *d = defer_of(o);
  return d ? PyLong_FromSize_t(d->calls.n) : NULL;
}

static const char **names_of(ig_ctx *c, PyObject *list, size_t n) {
  const char **names = ig_scope_array(c, n + 1, sizeof *names);
  if (!PyList_Check(list) || (size_t)PyList_GET_SIZE(list) != n) {
    PyErr_SetString(PyExc_ValueError, "trace: one name per input is expected");
    return NULL;
  }
  for (size_t i = 0; names && i < n; i++) {
    names[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(list, (Py_ssize_t)i));
    if (!names[i]) return NULL;
  }
  return names;
}

static PyObject *outs_of(ig_ctx *c, ig_tensor *const *outs, size_t n) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *t = py_from_tensor(c, outs[i]);
    if (!t) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, t);
    }
  }
  return tuple;
}

// trace(how, names) -> what the graph returns, under the open capture. how: a byte per slot.
static PyObject *recording_trace(PyObject *o, PyObject *args) {
  py_recording *self = (py_recording *)o;
  const char *how = NULL;
  Py_ssize_t n = 0;
  PyObject *list = NULL;
  if (!PyArg_ParseTuple(args, "y#O:trace", &how, &n, &list)) return NULL;
  ig_defer *d = defer_of(o);
  if (!d) return NULL;
  if ((size_t)n != d->slots.n) {
    return PyErr_Format(PyExc_ValueError, "trace: found %zd bytes, expected one per slot, %zu", n,
                        d->slots.n);
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  const char **names = names_of(c, list, d->inputs.n);
  ig_tensor **outs = ig_scope_array(c, d->outputs.n + 1, sizeof *outs);
  ig_defer_entry_free(self->e);
  self->e = NULL;
  d->grad_fn = PyObject_GetAttrString(py.module, "_set_grad_enabled");
  if (names && outs && d->grad_fn) {
    self->e = ig_defer_trace(c, d, (const uint8_t *)how, names, outs);
    if (self->e) out = outs_of(c, outs, d->outputs.n);
    if (!self->e && !PyErr_Occurred()) (void)py_raise(c);
  }
  Py_XDECREF((PyObject *)d->grad_fn);
  d->grad_fn = NULL;
  ig_scope_close(c, s);
  return out;
}

// bounds() -> [value or None]: the number of each slot that the trace has fixed; None: symbolic.
static PyObject *recording_fixed(PyObject *o, PyObject *unused) {
  (void)unused;
  py_recording *self = (py_recording *)o;
  if (!self->e) return PyErr_Format(PyExc_RuntimeError, "nothing was traced");
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, self->e->sym);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < self->e->nslots; i++) {
    const ig_expr *e = self->e->slots[i].expr;
    bool real = e && e->sort == IG_SORT_FLOAT;  // which is never fixed
    ig_int v = real ? self->e->slots[i] : ig_int_find(c, self->e->slots[i]);
    PyObject *item = v.expr ? Py_NewRef(Py_None) : PyLong_FromLongLong(v.value);
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  ig_mode_pop(c, &mode);
  return py_done(c, list);
}

// texts() -> [str]: the slots as expressions, then the guards.
static PyObject *recording_texts(PyObject *o, PyObject *unused) {
  (void)unused;
  py_recording *self = (py_recording *)o;
  if (!self->e) return PyErr_Format(PyExc_RuntimeError, "nothing was traced");
  ig_ctx *c = py_ctx();
  PyObject *slots = PyList_New(0);
  PyObject *guards = PyList_New(0);
  const ig_env *env = self->e->sym->env;
  for (size_t i = 0; slots && i < self->e->nslots; i++) {
    PyObject *text = PyUnicode_FromString(ig_int_text(c, self->e->slots[i]));
    if (!text || PyList_Append(slots, text) != 0) Py_CLEAR(slots);
    Py_XDECREF(text);
  }
  for (size_t i = 0; guards && env && i < env->guards.n; i++) {
    ig_str s = ig_str_make(c->alloc);
    ig_str_expr(&s, env->guards.at[i].expr);
    PyObject *text = PyUnicode_FromString(s.at ? s.at : "");
    if (!text || PyList_Append(guards, text) != 0) Py_CLEAR(guards);
    Py_XDECREF(text);
    ig_str_free(&s);
  }
  PyObject *pair = slots && guards ? PyTuple_Pack(2, slots, guards) : NULL;
  Py_XDECREF(slots);
  Py_XDECREF(guards);
  return pair;
}

// add(run): what was traced becomes an entry.
static PyObject *recording_add(PyObject *o, PyObject *callable) {
  py_recording *self = (py_recording *)o;
  py_cache *cache = self->cache;
  if (!self->e) return PyErr_Format(PyExc_RuntimeError, "nothing was traced");
  if (cache->n == cache->cap) {
    size_t cap = cache->cap ? 2 * cache->cap : 4;
    entry *at = PyMem_Realloc(cache->at, ig_mem_mul(cap, sizeof *at));
    if (!at) return PyErr_NoMemory();
    cache->at = at;
    cache->cap = cap;
  }
  ig_ctx *c = py_ctx();
  ig_defer_entry_seal(c, self->e);
  if (!py_ok(c)) return NULL;
  cache->at[cache->n++] = (entry){self->e, Py_NewRef(callable)};
  self->e = NULL;
  Py_RETURN_NONE;
}

static void recording_dealloc(PyObject *o) {
  py_recording *self = (py_recording *)o;
  ig_defer_entry_free(self->e);
  Py_XDECREF((PyObject *)self->cache);
  Py_TYPE(o)->tp_free(o);
}

static PyGetSetDef recording_getset[] = {
    {"inputs", get_inputs, NULL, NULL, NULL},
    {"slots", get_slots, NULL, NULL, NULL},
    {"hash", get_hash, NULL, NULL, NULL},
    {"outline", get_outline, NULL, NULL, NULL},
    {"number", get_number, NULL, "Of this flush among those of the call.", NULL},
    {"why", get_why, NULL, NULL, NULL},
    {"calls", get_calls, NULL, "How many calls were recorded.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef recording_methods[] = {
    {"trace", recording_trace, METH_VARARGS, NULL},
    {"fixed", recording_fixed, METH_NOARGS, NULL},
    {"texts", recording_texts, METH_NOARGS, NULL},
    {"add", recording_add, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject recording_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Recording",
    .tp_basicsize = sizeof(py_recording),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = recording_dealloc,
    .tp_getset = recording_getset,
    .tp_methods = recording_methods,
};

// ---- computing

static bool settle_one(ig_ctx *c, ig_defer *d, size_t i, PyObject *result, bool own) {
  ig_tensor *t = d->values.at[d->outputs.at[i]].tensor;
  ig_tensor *r = py_tensor_of(result);
  own = own && Py_REFCNT(result) == 1 && Py_IS_TYPE(result, py_tensor_type) &&
        !((py_tensor *)result)->dict;
  ig_defer_become(c, d, t, r, own);
  return c->status == IG_OK;
}

static bool settle(ig_ctx *c, ig_defer *d, PyObject *results) {
  bool tuple = PyTuple_Check(results) || PyList_Check(results);
  size_t n = tuple ? (size_t)PySequence_Fast_GET_SIZE(results) : 1;
  if (n != d->outputs.n && !(d->outputs.n == 0 && results == Py_None)) {
    PyErr_Format(PyExc_RuntimeError, "the compiled graph returned %zu values, expected %zu", n,
                 d->outputs.n);
    return false;
  }
  bool own = Py_REFCNT(results) == 1;
  for (size_t i = 0; i < d->outputs.n; i++) {
    PyObject *item = tuple ? PySequence_Fast_GET_ITEM(results, (Py_ssize_t)i) : results;
    if (!py_is_tensor(item)) {
      PyErr_Format(PyExc_TypeError,
                   "the compiled graph returned %s as value %zu, expected a Tensor",
                   py_type_name(item), i);
      return false;
    }
    if (!ig_defer_ready(c, py_tensor_of(item)) || !settle_one(c, d, i, item, own)) return false;
  }
  ig_defer_rebase(d);
  return true;
}

static bool repeat(ig_ctx *c, ig_defer *d) {
  ig_scope s = ig_scope_open(c);
  ig_tensor **inputs = ig_scope_array(c, d->inputs.n + 1, sizeof *inputs);
  ig_tensor **outs = ig_scope_array(c, d->outputs.n + 1, sizeof *outs);
  for (size_t i = 0; inputs && i < d->inputs.n; i++) inputs[i] = input_at(d, i);
  if (inputs && outs) ig_defer_replay(c, d, inputs, NULL, NULL, outs);
  PyObject *results = outs && py_ok(c) ? outs_of(c, outs, d->outputs.n) : NULL;
  ig_scope_close(c, s);
  bool ok = results && settle(c, d, results);
  Py_XDECREF(results);
  return ok;
}

static PyObject *number_of(const ig_expr *symbol, int64_t value) {
  if (symbol->sort != IG_SORT_FLOAT) return PyLong_FromLongLong(value);
  double f = 0;
  memcpy(&f, &value, sizeof f);
  return PyFloat_FromDouble(f);
}

static bool run_entry(ig_ctx *c, ig_defer *d, const entry *found, const int64_t *values) {
  const ig_defer_entry *e = found->e;
  size_t n = e->nsymbols + d->inputs.n;
  PyObject *args = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; args && i < n; i++) {
    size_t k = e->order[i] >> 1;
    PyObject *item =
        e->order[i] & 1 ? number_of(e->symbols[k], values[k]) : py_from_tensor(c, input_at(d, k));
    if (!item) {
      Py_CLEAR(args);
    } else {
      PyTuple_SET_ITEM(args, (Py_ssize_t)i, item);
    }
  }
  PyObject *callable = Py_NewRef(found->run);  // the entry may be forgotten while it runs
  PyObject *results = args ? PyObject_CallObject(callable, args) : NULL;
  Py_XDECREF(args);
  Py_DECREF(callable);
  bool ok = results && settle(c, d, results);
  Py_XDECREF(results);
  return ok;
}

static const entry *find_entry(const py_cache *cache, const ig_defer *d, int64_t *values) {
  for (size_t i = cache->n; i-- > 0;) {
    const entry *at = &cache->at[i];
    if (ig_defer_same_structure(d, at->e) && ig_defer_fits(d, at->e, values)) return at;
  }
  return NULL;
}

// 1: compile and run, 0: repeat the calls, -1: an exception is set.
static int miss(run *r, ig_defer *d, ig_defer_why why) {
  py_recording *o = PyObject_New(py_recording, &recording_type);
  if (!o) return -1;
  o->d = d;
  o->cache = (py_cache *)Py_NewRef((PyObject *)r->cache);
  o->e = NULL;
  o->why = why;
  o->number = r->flushes;
  PyObject *answer = PyObject_CallMethod((PyObject *)r->cache, "miss", "OOOOO", (PyObject *)o,
                                         r->fn, r->args, r->kwargs, d->whole ? Py_True : Py_False);
  o->d = NULL;
  Py_DECREF((PyObject *)o);
  int yes = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return yes;
}

// The compiler failed. What was recorded is computed all the same: the function may have stored
// results where the caller finds them.
static bool repeat_failed(ig_ctx *c, ig_defer *d) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  if (!repeat(c, d)) {
    ig_ctx_clear(c);
    PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
  return false;
}

static bool compute(ig_ctx *c, ig_defer *d, run *r, ig_defer_why why) {
  int64_t values[IG_DEFER_MOST_SYMBOLS] = {0};
  if (!ig_defer_close(c, d)) return py_ok(c);
  r->flushes++;
  if (ig_defer_is_idle(d)) return true;
  // New memory that a part of the program is made of, such as a parameter, is no work of its own.
  if (d->need.allowed && d->inputs.n == 0) return repeat(c, d);
  const entry *found = find_entry(r->cache, d, values);
  if (!found) {
    // Before a call that is about to fail there is nothing that would be called again.
    int made = r->raised || r->caught || d->wrong ? 0 : miss(r, d, why);
    if (made < 0) return repeat_failed(c, d);
    found = made ? find_entry(r->cache, d, values) : NULL;
    if (!found) return repeat(c, d);
  }
  // One function is the history of all results of such a graph: the gradient of one of them would
  // leave out what goes through the others.
  if (d->need.history && PyObject_HasAttrString(found->run, "_one_history")) return repeat(c, d);
  return run_entry(c, d, found, values);
}

static bool tell_break(const ig_defer *d, run *r, ig_defer_why why, const ig_op *op) {
  const char *reason = d->need.reason ? d->need.reason : op ? op->target : NULL;
  PyObject *answer = PyObject_CallMethod((PyObject *)r->cache, "broken", "izOnOOz", (int)why,
                                         reason, d->need.decides ? Py_True : Py_False,
                                         (Py_ssize_t)d->calls.n, d->whole ? Py_True : Py_False,
                                         op && op->user ? Py_True : Py_False, d->wrong);
  if (!answer && d->whole) py_note_refusal(&r->refusal);
  if (answer == Py_True) r->asserts = true;
  Py_XDECREF(answer);
  return answer != NULL;
}

static bool flush(ig_ctx *c, ig_defer *d, ig_defer_why why, const ig_op *op, void *user) {
  run *r = user;
  bool ok = true;
  bool exposed = why == IG_DEFER_VALUE && op;  // its memory belongs to an array, too
  if (why != IG_DEFER_END && !d->need.allowed && !exposed) ok = tell_break(d, r, why, op);
  bool outer = r->computing;
  r->computing = true;
  if (ok && d->calls.n) ok = compute(c, d, r, why);
  r->computing = outer;
  if (!ok && c->status == IG_OK) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a recording could not be computed");
    py_host_failed(c);
  }
  return ok;
}

static uint64_t kind(const ig_tensor *t, void *user) {
  (void)user;
  const PyObject *o = t->host;
  return o && !Py_IS_TYPE(o, py_tensor_type) ? (uint64_t)(uintptr_t)Py_TYPE(o) : 0;
}
static void forgive(void *user) {
  (void)user;
  PyErr_Clear();
}

static void wait(void *user) {
  (void)user;
  const struct timespec moment = {.tv_nsec = 100000};
  Py_BEGIN_ALLOW_THREADS;
  (void)thrd_sleep(&moment, NULL);
  Py_END_ALLOW_THREADS;
}

// Errors of the flush go before those of the function only if there are none.
static PyObject *finish(ig_ctx *c, ig_defer *d, run *r, PyObject *out) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  r->raised = !out;
  if (!out) PyErr_Fetch(&type, &value, &trace);
  bool ok = ig_defer_flush(c, d, IG_DEFER_END, NULL);
  py_tracked_end(d);
  if (!ok && c->status != IG_OK) (void)py_raise(c);
  ig_defer_free(d);
  if (out && !ok) Py_CLEAR(out);
  if (type) {
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
  return out;
}

// One graph was wanted and the function raised: the cache says what that means.
static void convert_error(const run *r) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) (void)PyException_SetTraceback(value, trace);
  PyObject *none = PyObject_CallMethod((PyObject *)r->cache, "raised", "OO", value,
                                       r->asserts ? Py_True : Py_False);
  if (!none) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return;
  }
  Py_DECREF(none);
  PyErr_Restore(type, value, trace);
}

// What a watched call was like is known now. A function that catches exceptions in its first call
// is left alone for good, later only that call is. False: an exception is set.
static bool note_watched(run *r, PyObject *kind, bool first, bool alone) {
  PyObject *o = (PyObject *)r->cache;
  if (alone && first) return PyObject_SetAttrString(o, "skipped", Py_True) == 0;
  r->caught = alone;
  if (alone || kind == Py_None) return true;
  PyObject *quiet = PyObject_GetAttrString(o, "quiet");
  bool ok = quiet && PySet_Add(quiet, kind) == 0;
  Py_XDECREF(quiet);
  return ok;
}

// call(whole, elements, kind, fn, args, kwargs). kind: None, or what tells the call from those that
// need not be watched; one that turns out like them is added to them.
static PyObject *cache_call(PyObject *o, PyObject *args) {
  int whole = 0;
  int elements = 0;
  PyObject *kind_of_call = NULL;
  PyObject *fn = NULL;
  PyObject *positional = NULL;
  PyObject *named = NULL;
  if (!PyArg_ParseTuple(args, "ppOOO!O!:call", &whole, &elements, &kind_of_call, &fn, &PyTuple_Type,
                        &positional, &PyDict_Type, &named)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  // Somebody else looks at every call already.
  if (c->mode->rewrite || c->mode->capture || c->mode->fake) {
    return PyObject_Call(fn, positional, named);
  }
  run r = {.cache = (py_cache *)o, .fn = fn, .args = positional, .kwargs = named};
  ig_defer_host host = {.flush = flush, .kind = kind, .forgive = forgive, .wait = wait, .user = &r};
  ig_defer *d = ig_defer_create(c, &host);
  if (!d) return py_raise(c);
  d->whole = whole != 0;
  d->elements = elements != 0;
  Py_INCREF(o);
  ig_defer_enter(d);
  bool alone = false;
  py_watch watch = {.cache = o, .whole = d->whole, .refusal = &r.refusal, .away = &r.computing};
  bool first = r.cache->n == 0;
  PyObject *out = first || kind_of_call != Py_None
                      ? py_watch_call(&watch, &alone, fn, positional, named)
                      : PyObject_Call(fn, positional, named);
  ig_defer_leave(d);
  if (!out && d->whole) convert_error(&r);
  bool idle = out && !d->seen;
  if (out && !d->whole && !note_watched(&r, kind_of_call, first, alone)) Py_CLEAR(out);
  out = finish(c, d, &r, out);
  if (idle && out && PyObject_SetAttrString(o, "skipped", Py_True) != 0) Py_CLEAR(out);
  if (out && r.refusal) {  // the program caught it
    Py_CLEAR(out);
    PyErr_SetObject((PyObject *)Py_TYPE(r.refusal), r.refusal);
  }
  Py_XDECREF(r.refusal);
  Py_DECREF(o);
  return out;
}

static PyObject *cache_forget_all(PyObject *o, PyObject *unused) {
  (void)unused;
  cache_forget((py_cache *)o);
  Py_RETURN_NONE;
}
static PyObject *cache_count(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((py_cache *)o)->n);
}

static PyMethodDef cache_methods[] = {
    {"call", cache_call, METH_VARARGS, NULL},
    {"forget", cache_forget_all, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef cache_getset[] = {
    {"count", cache_count, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject cache_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.CompileCache",
    .tp_basicsize = sizeof(py_cache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = cache_dealloc,
    .tp_traverse = cache_traverse,
    .tp_clear = cache_clear,
    .tp_methods = cache_methods,
    .tp_getset = cache_getset,
};

// ---- for the rest of the package

bool py_ready(ig_ctx *c, const ig_tensor *t) {
  if (!ig_tensor_waits(t) || ig_defer_ready(c, t)) return true;
  if (c->status != IG_OK) (void)py_raise(c);
  return false;
}

bool py_read(ig_ctx *c, const ig_tensor *t) {
  ig_defer *own = ig_defer_of(c);
  // Whoever wants one graph is told of every read, also of what is there already.
  bool told = !own || !own->whole || ig_defer_flush(c, own, IG_DEFER_VALUE, NULL);
  if (told) return py_ready(c, t);
  if (c->status != IG_OK) (void)py_raise(c);
  return false;
}

bool py_expose(ig_ctx *c, const ig_tensor *t) {
  ig_defer *d = ig_defer_of(c);
  if (!py_read(c, t)) return false;
  if (d) ig_defer_expose(d, t);
  return py_ok(c);
}

bool py_settled(PyObject *o) {
  return !py_is_tensor(o) || py_ready(py_ctx(), py_tensor_of(o));
}

bool py_settled_for_hook(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_defer_push_need(c, &(ig_defer_need){.history = true});
  bool ok = py_settled(o);
  ig_mode_pop(c, &mode);
  return ok && (!py_is_tensor(o) || py_divide_history(c, py_tensor_of(o)));
}

bool py_settle_all(ig_ctx *c) {
  ig_defer *d = ig_defer_of(c);
  if (!d || ig_defer_flush(c, d, IG_DEFER_HOST, NULL)) return true;
  if (c->status != IG_OK) (void)py_raise(c);
  return false;
}

bool py_settle_random(ig_ctx *c) {
  const ig_defer *d = ig_defer_of(c);
  for (size_t i = 0; d && i < d->calls.n; i++) {
    if (ig_op_is_random(d->calls.at[i].op) || d->calls.at[i].op->user) return py_settle_all(c);
  }
  return true;
}

// compile_flush(): what was recorded is computed now.
static PyObject *compile_flush(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return py_settle_all(py_ctx()) ? Py_NewRef(Py_None) : NULL;
}
// storage_key(tensor): the same number for tensors that share memory, computed or not.
static PyObject *storage_key(PyObject *module, PyObject *o) {
  (void)module;
  if (!py_is_tensor(o)) return PyErr_Format(PyExc_TypeError, "storage_key: expected a Tensor");
  return PyLong_FromVoidPtr(py_tensor_of(o)->storage);
}

// memory_keys(sequence) -> [int]: the same number for tensors over the same memory that have
// elements; 0: none, or no tensor.
static PyObject *memory_keys(PyObject *module, PyObject *o) {
  (void)module;
  PyObject *items = PySequence_Fast(o, "memory_keys: expected a sequence");
  Py_ssize_t n = items ? PySequence_Fast_GET_SIZE(items) : 0;
  PyObject *list = items ? PyList_New(n) : NULL;
  for (Py_ssize_t i = 0; list && i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(items, i);
    const ig_tensor *t = py_is_tensor(item) ? py_tensor_of(item) : NULL;
    bool there = t && !t->storage->fake && ig_tensor_numel(t) > 0;
    PyObject *key = PyLong_FromVoidPtr(there ? t->storage->data : NULL);
    if (!key) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, key);
    }
  }
  Py_XDECREF(items);
  return list;
}

// compile_break(reason): the graph ends here.
static PyObject *compile_break(PyObject *module, PyObject *reason) {
  (void)module;
  ig_defer_need need = {.reason = PyUnicode_AsUTF8(reason)};
  if (!need.reason) return NULL;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_defer_push_need(c, &need);
  bool ok = py_settle_all(c);
  ig_mode_pop(c, &mode);
  return ok ? Py_NewRef(Py_None) : NULL;
}
static PyObject *compile_is_recording(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_defer_of(py_ctx()) != NULL);
}
// compile_is_whole(): is a call recorded that has to be one graph?
static PyObject *compile_is_whole(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const ig_defer *d = ig_defer_of(py_ctx());
  return PyBool_FromLong(d && d->whole);
}
// compile_leave(): the function that is recorded runs uncompiled from now on, unless one graph is
// wanted.
static PyObject *compile_leave(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const ig_defer *d = ig_defer_of(py_ctx());
  if (!d || d->whole) Py_RETURN_NONE;
  const run *r = d->host.user;
  if (PyObject_SetAttrString((PyObject *)r->cache, "skipped", Py_True) != 0) return NULL;
  Py_RETURN_NONE;
}
// compile_aside(fn, args, kwargs, allowed=False): fn runs as if nothing was recorded. allowed: also
// if one graph is wanted.
static PyObject *compile_aside(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *fn = NULL;
  PyObject *positional = NULL;
  PyObject *named = NULL;
  int allowed = 0;
  if (!PyArg_ParseTuple(args, "OO!O!|p:compile_aside", &fn, &PyTuple_Type, &positional,
                        &PyDict_Type, &named, &allowed)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  if (!ig_defer_of(c)) return PyObject_Call(fn, positional, named);
  ig_mode_scope mode = ig_defer_push_need(c, &(ig_defer_need){.allowed = allowed != 0});
  bool ok = py_settle_all(c);
  ig_mode_pop(c, &mode);
  if (!ok) return NULL;
  mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
  PyObject *out = PyObject_Call(fn, positional, named);
  ig_mode_pop(c, &mode);
  return out;
}

PyMethodDef py_compile_functions[] = {
    {"compile_flush", compile_flush, METH_NOARGS, NULL},
    {"compile_is_recording", compile_is_recording, METH_NOARGS, NULL},
    {"compile_leave", compile_leave, METH_NOARGS, NULL},
    {"compile_is_whole", compile_is_whole, METH_NOARGS, NULL},
    {"storage_key", storage_key, METH_O, NULL},
    {"memory_keys", memory_keys, METH_O, NULL},
    {"compile_break", compile_break, METH_O, NULL},
    {"compile_aside", compile_aside, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_compile(PyObject *m) {
  if (PyType_Ready(&recording_type) != 0 || PyType_Ready(&cache_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "CompileCache", (PyObject *)&cache_type);
}
