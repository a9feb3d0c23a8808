// SPDX-License-Identifier: Apache-2.0
// Changes of documents that keep their form: JSON trees, members of archives, protobuf messages.
#ifndef TESTS_FUZZ_BEND_H_
#define TESTS_FUZZ_BEND_H_

#include "base/ctx.h"
#include "base/file.h"
#include "base/str.h"
#include "draw.h"

// The archive with some values of its JSON members changed, members dropped, renamed, given twice,
// bytes of the others changed. False: the context is out of memory, or it is no archive.
bool fuzz_bend_archive(ig_ctx *c, draw *d, ig_bytes in, ig_sink *out);

// The protobuf message with some fields changed, dropped or given twice, at any depth.
bool fuzz_bend_proto(ig_ctx *c, draw *d, ig_bytes in, ig_str *out);

#endif
