// SPDX-License-Identifier: Apache-2.0
// Resource limits of reading a file and of a context. One struct for every reader (zip, JSON,
// pickle, safetensors, npy, protobuf and the formats built on them) and for execution. NULL means
// the limits of the context, which are ig_limits_default() until others are set: they admit what
// real models need and stop what only an attack would contain. Counts in a file are checked against
// its remaining bytes first; these limits apply in addition.
#ifndef INGOT_LIMITS_H_
#define INGOT_LIMITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ingot/ctx.h"

IG_BEGIN_DECLS

typedef struct ig_limits {
  size_t size;            // sizeof(ig_limits) of the caller; a field that is 0 has its default
  uint64_t max_text;      // bytes of one JSON text, pickle or source
  uint64_t max_inflated;  // bytes of all deflated members of an archive together, unpacked
  uint64_t max_entries;   // members of an archive, tensors of a file
  uint64_t max_nodes;     // values in one JSON text or pickle, fields of a protobuf, nodes
  uint64_t max_depth;     // nesting of values, graphs and messages; at most 1024
  uint64_t max_millis;    // time for one document, one run; default: unlimited
  uint64_t max_work;      // operator calls and loop iterations of one run; making a node costs 1000
  uint64_t max_memory;    // live bytes of a context: tensors, arenas and everything else
} ig_limits;

// 1 GiB of text, 4 GiB unpacked, 2^20 members, 2^24 values, depth 256, no time limit, 10^9 units of
// work, the machine's memory.
IG_API ig_limits ig_limits_default(void);

// Sets the limits for readers without limits of their own, for runs of models that were opened
// without any, and for the context itself. Memory is counted from the creation of the context; work
// and time, if given here, are counted from this call on, for all calls. NULL: the defaults, with
// no limits for calls outside a run. Beyond a limit the context fails: IG_NOMEM for memory,
// IG_LIMIT for work and time. After ig_ctx_clear it keeps failing until limits are set again.
IG_API void ig_ctx_set_limits(ig_ctx *c, const ig_limits *limits);
IG_API ig_limits ig_ctx_limits(const ig_ctx *c);
IG_API uint64_t ig_ctx_memory(const ig_ctx *c);  // Live bytes now.

// Cancels the current operation of the context, or else the next one; it ends with IG_CANCELLED.
// May be called from any thread and from a signal handler. Checked before every operator call, loop
// iteration and chunk of a file, not inside a kernel.
IG_API void ig_cancel(ig_ctx *c);

IG_END_DECLS

#endif
