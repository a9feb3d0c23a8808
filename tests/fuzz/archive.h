// SPDX-License-Identifier: Apache-2.0
// TorchScript archives as bases of mutation: a traced program, or one of some sources with what
// only scripts have.
#ifndef TESTS_FUZZ_ARCHIVE_H_
#define TESTS_FUZZ_ARCHIVE_H_

#include "base/file.h"
#include "program.h"

// The program as the traced method forward of a module without attributes. False: it cannot be
// traced or written, the context says why.
bool fuzz_archive_trace(ig_ctx *c, fuzz_program *p, ig_sink *out);

// One of the sources as an archive.
bool fuzz_archive_script(ig_ctx *c, draw *d, ig_sink *out);

#endif
