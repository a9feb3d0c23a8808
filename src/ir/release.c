// SPDX-License-Identifier: Apache-2.0
#include "ir/release.h"

#include <stddef.h>
#include <string.h>

#include "ir/check_forms.h"

static const ig_forms forms[IG_RELEASE_COUNT] = {
    [IG_RELEASE_2_4] = {.branches_as_call = true},
    [IG_RELEASE_2_5] = {.name = "2.5",
                        .clears_unread = true,
                        .reads_unused = true,
                        .tuples_of_graded = true,
                        .sizes_first = true},
};

static const ig_check_forms check_forms[IG_RELEASE_COUNT] = {
    [IG_RELEASE_2_5] = {.sizes_first = true,
                        .records_arithmetic = true,
                        .asserts_ends = true,
                        .asserts_behind_first = true,
                        .describes_checks = true,
                        .shares_arithmetic = true},
};

const ig_check_forms *ig_release_check_forms(ig_release r) {
  return &check_forms[r];
}

const ig_forms *ig_release_forms(ig_release r) {
  return &forms[r];
}

ig_release ig_release_find(const char *name) {
  for (int i = 0; i < IG_RELEASE_COUNT; i++) {
    if (forms[i].name && strcmp(forms[i].name, name) == 0) return (ig_release)i;
  }
  return IG_RELEASE_2_4;
}
