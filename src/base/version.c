// SPDX-License-Identifier: Apache-2.0
#include "ingot/version.h"

const char *ig_version(void) {
  return IG_VERSION;
}
