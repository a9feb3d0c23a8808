// SPDX-License-Identifier: Apache-2.0
#include "ir/release.h"

const ig_forms *ig_release_forms(ig_release r) {
  static const ig_forms forms[IG_RELEASE_COUNT] = {
      [IG_RELEASE_2_4] = {.branches_as_call = true},
      [IG_RELEASE_2_5] = {.clears_unread = true,
                          .reads_unused = true,
                          .tuples_of_graded = true,
                          .sizes_first = true},
  };
  return &forms[r];
}
