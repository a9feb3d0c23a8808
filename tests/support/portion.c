// SPDX-License-Identifier: Apache-2.0
#include "portion.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double portion(void) {
  static double found;
  if (found < 1) {
    const char *text = getenv("INGOT_TEST_PORTION");
    found = text ? strtod(text, NULL) : 1;
    if (!(found >= 1)) found = 1;
  }
  return found;
}

bool test_is_emulated(void) {
  return getenv("INGOT_TEST_EMULATED") != NULL;
}

// The sum of the chances so far passes an integer whenever a case is due: none is left to luck, and
// the first case always runs.
bool test_due(double work) {
  static double due = 1;
  if (portion() == 1) return true;
  double chance = 1 / (portion() * sqrt(1 + work / 1e5));
  bool now = due >= 1;
  due = (now ? due - 1 : due) + chance;
  return now;
}
