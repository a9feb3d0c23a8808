// SPDX-License-Identifier: Apache-2.0
// The version of the headers; that of the project in meson.build is the same.
#ifndef INGOT_VERSION_H_
#define INGOT_VERSION_H_

#define IG_VERSION "0.1.0"

#endif
