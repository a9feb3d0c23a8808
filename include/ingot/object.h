// SPDX-License-Identifier: Apache-2.0
// Trees of plain values, as in torch.save files: numbers, strings, containers, tensors.
//
// Objects are reference-counted: a function that makes one returns a reference to the caller, and
// ig_object_free drops it. An object that is put into a container belongs to the container from
// then on, even if the call fails. Constructors return NULL after an error and accept NULL, so that
// a tree is built without error branches. Objects are complete before they are shared; then threads
// may read them at the same time. An object may be reached by several paths (a list that occurs
// twice), but never contains itself.
#ifndef INGOT_OBJECT_H_
#define INGOT_OBJECT_H_

#include "ingot/limits.h"
#include "ingot/tensor.h"

IG_BEGIN_DECLS

typedef struct ig_object ig_object;

typedef enum ig_object_kind {
  IG_OBJECT_NONE,
  IG_OBJECT_BOOL,
  IG_OBJECT_INT,
  IG_OBJECT_BIG,  // an integer beyond 64 bits: two's complement, least byte first
  IG_OBJECT_FLOAT,
  IG_OBJECT_COMPLEX,
  IG_OBJECT_STR,  // UTF-8
  IG_OBJECT_BYTES,
  IG_OBJECT_BYTEARRAY,
  IG_OBJECT_LIST,
  IG_OBJECT_TUPLE,
  IG_OBJECT_SIZE,  // torch.Size: a tuple of integers
  IG_OBJECT_SET,
  IG_OBJECT_DICT,     // in the order of insertion
  IG_OBJECT_ORDERED,  // collections.OrderedDict, with attributes where it has any (_metadata)
  IG_OBJECT_COUNTER,  // collections.Counter
  IG_OBJECT_TENSOR,
  IG_OBJECT_DTYPE,
  IG_OBJECT_DEVICE,
  IG_OBJECT_LAYOUT,
  IG_OBJECT_INSTANCE,  // of a class that the caller allowed by name, or of a TorchScript class
  IG_OBJECT_KIND_COUNT
} ig_object_kind;

IG_API ig_object *ig_object_retain(const ig_object *o);  // NULL is allowed.
IG_API void ig_object_free(ig_object *o);                // Drops one reference. NULL is allowed.

// ---- inspection

IG_API ig_object_kind ig_object_kind_of(const ig_object *o);  // NULL: IG_OBJECT_NONE
IG_API const char *ig_object_kind_text(ig_object_kind kind);  // "a list"
IG_API bool ig_object_bool(const ig_object *o);
IG_API int64_t ig_object_int(const ig_object *o);   // INT, BOOL; 0 for others
IG_API double ig_object_float(const ig_object *o);  // FLOAT, INT, BOOL; 0 for others
IG_API ig_c128 ig_object_complex(const ig_object *o);
// STR, BYTES, BYTEARRAY, BIG, and the class of an INSTANCE. Ends with a zero byte that *n does not
// count.
IG_API const char *ig_object_text(const ig_object *o, size_t *n);
IG_API size_t ig_object_count(const ig_object *o);  // items, or pairs of a dictionary
// Item i, or value i of a dictionary. NULL beyond the end. Borrowed, as all that follow.
IG_API const ig_object *ig_object_at(const ig_object *o, size_t i);
IG_API const ig_object *ig_object_key(const ig_object *o, size_t i);          // of a dictionary
IG_API const ig_object *ig_object_find(const ig_object *o, const char *key);  // by a string key
IG_API ig_tensor *ig_object_tensor(const ig_object *o);                       // NULL: not a tensor
IG_API bool ig_object_is_parameter(const ig_object *o);  // a tensor that is a Parameter
IG_API ig_dtype ig_object_dtype(const ig_object *o);     // IG_DTYPE_COUNT: none
IG_API ig_device ig_object_device(const ig_object *o);
IG_API ig_layout ig_object_layout(const ig_object *o);
// Attributes: a dictionary for ORDERED and TENSOR, any value for an INSTANCE; NULL: none.
IG_API const ig_object *ig_object_state(const ig_object *o);
// Of an INSTANCE: a tuple; NULL: it is the class or function itself.
IG_API const ig_object *ig_object_args(const ig_object *o);
// An INSTANCE that stands for a call of it; otherwise it is an object made without a call.
IG_API bool ig_object_is_call(const ig_object *o);

// ---- making

IG_API ig_object *ig_object_none(ig_ctx *c);
IG_API ig_object *ig_object_of_bool(ig_ctx *c, bool b);
IG_API ig_object *ig_object_of_int(ig_ctx *c, int64_t i);
IG_API ig_object *ig_object_of_float(ig_ctx *c, double f);
IG_API ig_object *ig_object_of_complex(ig_ctx *c, ig_c128 z);
// STR (must be UTF-8), BYTES, BYTEARRAY or BIG; copied.
IG_API ig_object *ig_object_of_text(ig_ctx *c, ig_object_kind kind, const void *text, size_t n);
IG_API ig_object *ig_object_of_str(ig_ctx *c, const char *text);
IG_API ig_object *ig_object_of_tensor(ig_ctx *c, ig_tensor *t, bool parameter);  // Retains t.
IG_API ig_object *ig_object_of_dtype(ig_ctx *c, ig_dtype d);
IG_API ig_object *ig_object_of_device(ig_ctx *c, ig_device d);
IG_API ig_object *ig_object_of_layout(ig_ctx *c, ig_layout l);
IG_API ig_object *ig_object_of_class(ig_ctx *c, const char *name, ig_object *args,
                                     bool call);  // INSTANCE
// An empty LIST, TUPLE, SIZE, SET, DICT, ORDERED or COUNTER.
IG_API ig_object *ig_object_new(ig_ctx *c, ig_object_kind kind);
IG_API IG_MUST_USE ig_status ig_object_push(ig_ctx *c, ig_object *o, ig_object *item);
// A key is a number, a string, bytes, None, a dtype, a device or a tuple of such, and is unique
// (numbers are compared as in Python: 1, 1.0 and True are the same key). IG_SYNTAX: duplicate key.
IG_API IG_MUST_USE ig_status ig_object_put(ig_ctx *c, ig_object *o, ig_object *key,
                                           ig_object *value);
IG_API IG_MUST_USE ig_status ig_object_put_str(ig_ctx *c, ig_object *o, const char *key,
                                               ig_object *value);
IG_API IG_MUST_USE ig_status ig_object_set_state(ig_ctx *c, ig_object *o, ig_object *state);

// ---- torch.save files

typedef struct ig_torch_options {
  size_t size;              // sizeof(ig_torch_options)
  const ig_limits *limits;  // NULL: the default ones
  // Called for a global ("module.name") outside the closed set. true: what the file does with it
  // becomes an INSTANCE, a description that executes nothing. NULL: all are rejected.
  bool (*allow)(const char *global, void *user);
  void *user;
  bool meta;  // load no tensor data (map_location="meta")
  // Called once per storage with its bytes and where it was when it was saved ("cuda:0"); returns
  // the bytes to use: the same, or a block of the same size. NULL with an error in c: loading
  // fails.
  ig_tensor *(*place)(ig_ctx *c, ig_tensor *bytes, const char *location, void *user);
} ig_torch_options;

// The zip form and the one from before PyTorch 1.6. Nothing in the file is executed: a global
// outside the closed set is an error IG_UNSUPPORTED with its name. Tensors are the pages of the
// mapped file (private: writing changes this process's memory only). Tensors that shared memory
// when they were saved share it again; all data is in CPU memory, whatever the original device.
IG_API IG_MUST_USE ig_status ig_torch_load(ig_ctx *c, const char *path, const ig_torch_options *o,
                                           ig_object **out);
// As torch.save writes it, readable with torch.load(weights_only=True). The same tree gives the
// same bytes. A storage is written once, completely, however many tensors view it.
IG_API IG_MUST_USE ig_status ig_torch_save(ig_ctx *c, const ig_object *o, const char *path);

IG_END_DECLS

#endif
