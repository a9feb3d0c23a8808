// SPDX-License-Identifier: Apache-2.0
// Changes of documents that keep their form: JSON trees, members of archives, protobuf messages.
#ifndef TESTS_FUZZ_MUTATE_H_
#define TESTS_FUZZ_MUTATE_H_

#include "base/ctx.h"
#include "base/file.h"
#include "base/str.h"
#include "draw.h"

// The archive with some values of its JSON members and words of its sources changed, bytes of
// other members changed, members dropped. False: the context is out of memory, or it is no archive.
bool fuzz_mutate_archive(ig_ctx *c, draw *d, ig_bytes in, ig_sink *out);

// The protobuf message with some fields changed, dropped or given twice, at any depth.
bool fuzz_mutate_proto(ig_ctx *c, draw *d, ig_bytes in, ig_str *out);

// The custom mutator of a libFuzzer target whose inputs may be archives, with libFuzzer's
// arguments. Checksums of members would stop nearly all changes of their bytes.
size_t fuzz_mutate_input(uint8_t *data, size_t n, size_t room, unsigned seed);

#endif
