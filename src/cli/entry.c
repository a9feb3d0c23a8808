// SPDX-License-Identifier: Apache-2.0
// The program `ingot`.
#include "cli/cli.h"

int main(int argc, char **argv) {
  return cli_main(argc, argv);
}
