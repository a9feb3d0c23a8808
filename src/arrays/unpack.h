// SPDX-License-Identifier: Apache-2.0
// From the tree of a pickle to plain values and tensors: the closed set of what torch.save and
// TorchScript write. The caller provides the storages.
#ifndef ARRAYS_UNPACK_H_
#define ARRAYS_UNPACK_H_

#include "base/file.h"
#include "base/limits.h"
#include "codec/pickle.h"
#include "ingot/object.h"

// A persistent id: ("storage", class, key, location, numel[, view]).
typedef struct ig_storage_id {
  ig_dtype dtype;  // IG_U8 with `untyped` set: the class has none
  bool untyped;
  ig_dtype element;  // of the tensor that needs it
  const char *key;
  const char *location;
  int64_t numel;   // elements, of the untyped class bytes
  int64_t offset;  // of a view into the storage: legacy files
  size_t at;       // offset in the file, for messages
} ig_storage_id;

typedef struct ig_unpack {
  ig_ctx *c;
  const char *name;  // of the file, for messages
  ig_limits limits;
  bool (*allow)(const char *global, void *user);  // see ig_torch_options
  void *allow_user;
  bool script;  // TorchScript: its classes and helpers are allowed
  bool meta;
  ig_tensor *(*place)(ig_ctx *c, ig_tensor *bytes, const char *location, void *user);  // likewise
  // The bytes of a storage as a tensor of the innermost scope, little-endian; NULL after an error.
  ig_tensor *(*storage)(struct ig_unpack *u, const ig_storage_id *id);
  void *user;
  IG_VEC(ig_object *) made;  // one reference each, by the nodes' `user`
} ig_unpack;

// For ig_pickle_source: user is the ig_unpack.
ig_pickle_rule ig_unpack_rule(const char *global, void *user);
IG_MUST_USE ig_status ig_unpack_tree(ig_unpack *u, ig_pickle *tree, ig_object **out);
// False after an error: p is no such id.
bool ig_unpack_storage_id(ig_unpack *u, const ig_pickle *p, ig_storage_id *out);

// ---- between its files

// All return false or NULL after an error.
bool ig_unpack_bad(ig_unpack *u, const ig_pickle *p, ig_cause why, const char *fmt, ...)
    IG_PRINTF(4, 5);
ig_object *ig_unpack_value(ig_unpack *u, ig_pickle *p, size_t depth);

// A function or class of the closed set.
typedef struct ig_unpack_call {
  const char *name;
  ig_pickle_rule rule;
  ig_object *(*build)(ig_unpack *u, ig_pickle *call, size_t depth);  // NULL: rejected with `why`
  const char *why;
} ig_unpack_call;
extern const ig_unpack_call ig_unpack_tensor_calls[];  // terminated by a NULL name
// The dtype of a storage class or of "torch.float32". False: neither. *why: known, not supported.
bool ig_unpack_storage_class(const char *global, ig_dtype *dtype, bool *untyped, const char **why);
const char *ig_unpack_storage_name(ig_dtype d);  // "FloatStorage", as TorchScript calls it
bool ig_unpack_dtype(const char *global, ig_dtype *dtype, const char **why);

// n bytes at `at` as a byte tensor in the innermost scope: in place, keeping the mapping alive, if
// there is one and the address is aligned for elements of `width` bytes; otherwise a copy.
ig_tensor *ig_bytes_tensor(ig_ctx *c, ig_bytes b, ig_file *owner, size_t width);
size_t ig_element_align(ig_dtype d);  // complex numbers are two reals

// Elements of a bool tensor that are neither 0 nor 1 become 1, because others are invalid in C.
// Only this process's memory is written.
void ig_bools_normalize(uint8_t *at, size_t n);
// Swaps the byte order of n bytes of elements.
void ig_elements_swap(ig_dtype d, uint8_t *at, size_t n);
// Little-endian elements of a file as a tensor of bytes in the machine's order.
ig_tensor *ig_elements_tensor(ig_ctx *c, ig_bytes b, ig_file *owner, ig_dtype d);
// From the machine's order to that of files: in place, or *b becomes *copy, which is b->n bytes of
// the context's allocator (NULL: none).
IG_MUST_USE ig_status ig_elements_little(ig_ctx *c, ig_dtype d, ig_bytes *b, uint8_t **copy);

#endif
