// SPDX-License-Identifier: Apache-2.0
// The version of the headers, which is the project's in meson.build, and of the library.
#ifndef INGOT_VERSION_H_
#define INGOT_VERSION_H_

#include "ingot/status.h"

IG_BEGIN_DECLS

#define IG_VERSION "0.1.0"

// The version of the library that the program runs with; it may be newer than the headers.
IG_API const char *ig_version(void);

IG_END_DECLS

#endif
