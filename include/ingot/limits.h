// SPDX-License-Identifier: Apache-2.0
// What a file may cost before it is refused, and what a context may cost before it stops. One
// struct for every reader (zip, JSON, pickle, safetensors, npy, protobuf and the formats made of
// them) and for everything that runs. NULL stands for the limits of the context, and those are
// ig_limits_default() until somebody sets others: they let through what real models need and stop
// what only an attack would contain. A count that a file claims is checked against the bytes it has
// left first; these limits come on top.
#ifndef INGOT_LIMITS_H_
#define INGOT_LIMITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ingot/ctx.h"

typedef struct ig_limits {
  size_t size;            // sizeof(ig_limits) of the caller; a field that is 0 has its default
  uint64_t max_text;      // bytes of one JSON text, pickle or source
  uint64_t max_inflated;  // bytes of all deflated members of an archive together, unpacked
  uint64_t max_entries;   // members of an archive, tensors of a file
  uint64_t max_nodes;     // values in one JSON text or pickle, fields of a protobuf, nodes
  uint64_t max_depth;     // nesting of values, graphs and messages; at most 1024 is honoured
  uint64_t max_millis;    // time for one document, one run; default: any
  uint64_t max_work;      // operator calls and loop rounds of one run; a node that is made: 1000
  uint64_t max_memory;    // live bytes of a context: tensors, arenas and everything else
} ig_limits;

// 1 GiB of text, 4 GiB unpacked, 2^20 members, 2^24 values, 256 deep, no clock, 10^9 units of work,
// as much memory as the machine has.
IG_API ig_limits ig_limits_default(void);

// From now on: for readers that are given no limits of their own, for runs of models that were
// opened without any, and for the context itself. Its memory counts from its beginning on; work and
// time, if they are given here, from this call on, whatever is called. NULL: the default ones, and
// calls outside of a run cost what they like. Past a limit the context fails: IG_NOMEM for memory,
// IG_LIMIT for work and time. After ig_ctx_clear it goes on failing until limits are set anew.
IG_API void ig_ctx_set_limits(ig_ctx *c, const ig_limits *limits);
IG_API ig_limits ig_ctx_limits(const ig_ctx *c);
IG_API uint64_t ig_ctx_memory(const ig_ctx *c);  // Live bytes now.

// What the context is doing ends soon with IG_CANCELLED, or else the next thing that it is asked to
// do. Any thread may call this, and a signal handler. It is noticed before every operator call,
// round of a loop and piece of a file, not inside of a kernel.
IG_API void ig_cancel(ig_ctx *c);

#endif
