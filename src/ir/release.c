// SPDX-License-Identifier: Apache-2.0
#include "ir/release.h"

#include <stddef.h>
#include <string.h>

static const ig_forms forms[IG_RELEASE_COUNT] = {
    [IG_RELEASE_2_4] = {.branches_as_call = true},
    [IG_RELEASE_2_5] = {.name = "2.5",
                        .clears_unread = true,
                        .reads_unused = true,
                        .tuples_of_graded = true,
                        .sizes_first = true},
};

const ig_forms *ig_release_forms(ig_release r) {
  return &forms[r];
}

ig_release ig_release_find(const char *name) {
  for (int i = 0; i < IG_RELEASE_COUNT; i++) {
    if (forms[i].name && strcmp(forms[i].name, name) == 0) return (ig_release)i;
  }
  return IG_RELEASE_2_4;
}
