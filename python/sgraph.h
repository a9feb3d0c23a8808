// SPDX-License-Identifier: Apache-2.0
// Graphs of scripts as Python objects: torch._C.Graph, Block, Node, Value and the types. A Graph
// object keeps the unit alive whose types the graph uses, and frees a graph that no function owns;
// all others keep the Graph object alive. Removed nodes stay in the graph's memory, so an object
// whose node was removed answers with an error.
#ifndef PY_SGRAPH_H_
#define PY_SGRAPH_H_

#include "py.h"
#include "script/unit.h"

// The unit of everything that Python scripts and traces; made at first use. NULL: exception set.
ig_sunit *py_unit(void);

typedef struct py_sgraph {
  PyObject_HEAD ig_sgraph *g;
  ig_sunit *unit;    // retained
  PyObject *outer;   // the Graph whose node has this one as an attribute; NULL: none
  bool own;          // frees g
  ig_sblock *block;  // where new nodes are inserted; NULL: at the end of the graph
  ig_snode *before;  // in front of this node of the block; NULL: at its end
} py_sgraph;

// Block, Node, Value.
typedef struct py_spart {
  PyObject_HEAD py_sgraph *graph;
  union {
    ig_sblock *block;
    ig_snode *node;
    ig_svalue *value;
  };
} py_spart;

typedef struct py_stype {
  PyObject_HEAD ig_sunit *unit;
  const ig_stype *t;
} py_stype;

extern PyTypeObject py_sgraph_type;
extern PyTypeObject py_sblock_type;
extern PyTypeObject py_snode_type;
extern PyTypeObject py_svalue_type;
extern PyTypeObject py_stype_type;

// own: the object frees the graph, also when NULL is returned.
PyObject *py_from_sgraph(ig_sunit *u, ig_sgraph *g, bool own);
ig_sgraph *py_sgraph_of(PyObject *o);  // NULL: exception set
PyObject *py_from_sblock(py_sgraph *graph, ig_sblock *b);
PyObject *py_from_snode(py_sgraph *graph, ig_snode *n);
PyObject *py_from_svalue(py_sgraph *graph, ig_svalue *v);
PyObject *py_from_stype(ig_sunit *u, const ig_stype *t);
const ig_stype *py_stype_of(PyObject *o);  // NULL: exception set
// Inserts a new node at the graph's place for new nodes.
void py_sgraph_insert(py_sgraph *graph, ig_snode *n);
// A Python value as an attribute of a graph: numbers, texts, tensors, lists of them.
bool py_sattr_set(ig_snode *n, const char *name, PyObject *value);
PyObject *py_sattr_get(py_sgraph *graph, const ig_sattr *a);
// prim::Constant of a Python value at the graph's place for new nodes. NULL: exception set.
ig_svalue *py_sgraph_constant(py_sgraph *graph, PyObject *value);

int py_add_sgraph(PyObject *m);
int py_add_snode(PyObject *m);
int py_add_stype(PyObject *m);

#endif
