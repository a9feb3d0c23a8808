// SPDX-License-Identifier: Apache-2.0
// What a file may cost before it is refused. One struct for every reader: zip, JSON, pickle,
// safetensors, npy, protobuf and the formats made of them. NULL stands for ig_limits_default(),
// which lets through what real models need and stops what only an attack would contain. A count
// that a file claims is checked against the bytes it has left first; these limits come on top.
#ifndef INGOT_LIMITS_H_
#define INGOT_LIMITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ingot/status.h"

typedef struct ig_limits {
  size_t size;            // sizeof(ig_limits) of the caller; a field that is 0 has its default
  uint64_t max_text;      // bytes of one JSON text, pickle or source
  uint64_t max_inflated;  // bytes of all deflated members of an archive together, unpacked
  uint64_t max_entries;   // members of an archive, tensors of a file
  uint64_t max_nodes;     // values in one JSON text or pickle, fields of a protobuf, nodes
  uint64_t max_depth;     // nesting of values, graphs and messages; at most 1024 is honoured
  uint64_t max_millis;    // time for parsing one document; default: any
  uint64_t max_rounds;    // of all loops of one run of a model together
} ig_limits;

// 1 GiB of text, 4 GiB unpacked, 2^20 members, 2^24 values, 256 deep, no clock, 10^8 rounds.
IG_API ig_limits ig_limits_default(void);

#endif
