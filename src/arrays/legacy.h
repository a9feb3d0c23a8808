// SPDX-License-Identifier: Apache-2.0
// torch.save files from before PyTorch 1.6.
#ifndef ARRAYS_LEGACY_H_
#define ARRAYS_LEGACY_H_

#include "arrays/unpack.h"

bool ig_legacy_is(ig_bytes in);  // by the magic number
// See ig_torch_parse; proto: what is allowed.
IG_MUST_USE ig_status ig_legacy_read(ig_ctx *c, const char *name, ig_bytes in, ig_file *owner,
                                     const ig_unpack *proto, ig_object **out);

#endif
