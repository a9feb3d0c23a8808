// SPDX-License-Identifier: Apache-2.0
// Python's pickles as a data format. The reader runs the stack machine of the format but builds
// nothing except a tree of plain values: a global is its name, a call is a node with the name and
// the arguments, and the consumer of the tree decides what a call means. A callback decides which
// globals are allowed. Every count is bounded by the remaining bytes, the memo by the length of the
// pickle; opcodes that modify a container require a container of that type. The writer produces the
// same bytes as Python's own pickler in protocol 2.
#ifndef CODEC_PICKLE_H_
#define CODEC_PICKLE_H_

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "ingot/limits.h"

typedef enum ig_pickle_kind {
  IG_PICKLE_NONE,
  IG_PICKLE_BOOL,
  IG_PICKLE_INT,
  IG_PICKLE_BIG,  // text: two's complement, least byte first
  IG_PICKLE_FLOAT,
  IG_PICKLE_STR,    // UTF-8
  IG_PICKLE_BYTES,  // also strings of Python 2 that are not UTF-8
  IG_PICKLE_BYTEARRAY,
  IG_PICKLE_LIST,
  IG_PICKLE_TUPLE,
  IG_PICKLE_SET,
  IG_PICKLE_DICT,  // items: keys and values alternate; global: its class if it is not a plain dict
  IG_PICKLE_GLOBAL,  // text: "module.name"
  IG_PICKLE_CALL,    // global(*args), or an instance of it, with `state` where it was built
  IG_PICKLE_PERSID,  // args: the persistent id of an object outside the pickle
} ig_pickle_kind;

typedef struct ig_pickle ig_pickle;
struct ig_pickle {
  uint8_t kind;  // ig_pickle_kind
  uint8_t rule;  // of a GLOBAL: ig_pickle_rule; of a CALL: CALLED, or CLASS when it was NEWOBJ
  size_t at;     // offset of the opcode that made it
  size_t n;      // bytes of text, items
  size_t cap;
  union {
    bool b;
    int64_t i;
    double f;
    const char *text;  // ends with a zero byte not counted in n
    ig_pickle **items;
    ig_pickle *args;
  };
  ig_pickle *global;  // of a CALL; of a DICT that is an instance of a class
  ig_pickle *state;   // what BUILD gave a CALL or such a DICT
  void *user;         // for the consumer of the tree
};

// What a pickle may do with a global.
typedef enum ig_pickle_rule {
  IG_PICKLE_REFUSED,
  IG_PICKLE_VALUE,   // refer to it
  IG_PICKLE_CALLED,  // call it
  IG_PICKLE_CLASS,   // call it, make an instance, give it a state
  IG_PICKLE_MAP,     // a class of dictionaries: items may be set too
} ig_pickle_rule;

typedef struct ig_pickle_source {
  const char *name;  // of the pickle, for messages
  ig_bytes in;
  size_t base;  // offset of `in` in the file, for offsets in messages
  ig_pickle_rule (*rule)(const char *global, void *user);
  void (*persid)(ig_pickle *p, void *user);  // called for every PERSID; may be NULL
  void *user;
  const ig_limits *limits;  // NULL: the default ones
  bool bare;                // TorchScript: a class may be called with a value instead of a tuple
} ig_pickle_source;

// The tree lives in `arena` and does not refer to the bytes. *end: where the pickle stopped; NULL:
// it must span all bytes. The tree may contain cycles, which its consumer must handle.
IG_MUST_USE ig_status ig_pickle_read(ig_ctx *c, const ig_pickle_source *source, ig_arena *arena,
                                     ig_pickle **out, size_t *end);
const char *ig_pickle_kind_text(ig_pickle_kind kind);  // "a list"

// ---- writer

// Out of memory is sticky in `out`. The caller nests correctly. Memoized values get a number, by
// which they can be referenced again.
typedef struct ig_pickle_writer {
  ig_str *out;
  uint32_t memo;  // numbers given so far
} ig_pickle_writer;

void ig_pickle_begin(ig_pickle_writer *w);
void ig_pickle_stop(ig_pickle_writer *w);
void ig_pickle_op(ig_pickle_writer *w, int op);  // an opcode without argument
uint32_t ig_pickle_put(ig_pickle_writer *w);     // memoizes the top of the stack
void ig_pickle_get(ig_pickle_writer *w, uint32_t number);
void ig_pickle_int(ig_pickle_writer *w, int64_t i);
void ig_pickle_big(ig_pickle_writer *w, const void *bytes, size_t n);
void ig_pickle_float(ig_pickle_writer *w, double f);
void ig_pickle_str(ig_pickle_writer *w, const char *text, size_t n);
void ig_pickle_global(ig_pickle_writer *w, const char *module, const char *name);

// Opcodes that callers of ig_pickle_op use.
enum {
  IG_PICKLE_OP_MARK = '(',
  IG_PICKLE_OP_NONE = 'N',
  IG_PICKLE_OP_TRUE = 0x88,
  IG_PICKLE_OP_FALSE = 0x89,
  IG_PICKLE_OP_LIST = ']',
  IG_PICKLE_OP_DICT = '}',
  IG_PICKLE_OP_EMPTY_TUPLE = ')',
  IG_PICKLE_OP_TUPLE = 't',
  IG_PICKLE_OP_TUPLE1 = 0x85,
  IG_PICKLE_OP_TUPLE2 = 0x86,
  IG_PICKLE_OP_TUPLE3 = 0x87,
  IG_PICKLE_OP_APPEND = 'a',
  IG_PICKLE_OP_APPENDS = 'e',
  IG_PICKLE_OP_SETITEM = 's',
  IG_PICKLE_OP_SETITEMS = 'u',
  IG_PICKLE_OP_REDUCE = 'R',
  IG_PICKLE_OP_NEWOBJ = 0x81,
  IG_PICKLE_OP_BUILD = 'b',
  IG_PICKLE_OP_PERSID = 'Q',
};

#endif
