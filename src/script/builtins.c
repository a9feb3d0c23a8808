// SPDX-License-Identifier: Apache-2.0
// All built-ins by name.
#include <string.h>

#include "script/operator.h"

ig_sbuiltins ig_sbuiltins_named(const char *name) {
  (void)name;
  return (ig_sbuiltins){NULL, 0};
}
