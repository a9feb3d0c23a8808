// SPDX-License-Identifier: Apache-2.0
// How a release checks and records numbers that stand in the data; beside the other forms of
// ir/release.h.
#ifndef IR_CHECK_FORMS_H_
#define IR_CHECK_FORMS_H_

#include "ir/release.h"

typedef struct ig_check_forms {
  bool sizes_first;  // see ir/release.h
  // Arithmetic of the program is recorded where it is done, also if nobody reads it; otherwise
  // where it is first needed.
  bool records_arithmetic;
  bool asserts_ends;          // the ends of a range are two assertions, not a call that states both
  bool asserts_behind_first;  // what is asked of inputs is asserted behind the first call
  bool describes_checks;      // a check comes from itself, not from what it checks
  bool shares_arithmetic;     // what two assertions compute is computed once
} ig_check_forms;

const ig_check_forms *ig_release_check_forms(ig_release r);

#endif  // IR_CHECK_FORMS_H_
