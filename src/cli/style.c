// SPDX-License-Identifier: Apache-2.0
// Colours: where a person looks on, unless NO_COLOR or --color say otherwise.
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static enum { AUTO, ALWAYS, NEVER } color = AUTO;

bool cli_set_color(const char *when) {
  static const char *const words[] = {"auto", "always", "never"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(when, words[i]) != 0) continue;
    color = i == 0 ? AUTO : i == 1 ? ALWAYS : NEVER;
    return true;
  }
  return false;
}

static bool colored(FILE *to) {
  if (color != AUTO) return color == ALWAYS;
  const char *no = getenv("NO_COLOR");
  const char *term = getenv("TERM");
  return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}

void cli_put(FILE *to, cli_style style, const char *fmt, ...) {
  static const char *const codes[] = {
      [CLI_PLAIN] = "",        [CLI_BOLD] = "\x1b[1m",   [CLI_DIM] = "\x1b[2m",
      [CLI_RED] = "\x1b[31m",  [CLI_GREEN] = "\x1b[32m", [CLI_YELLOW] = "\x1b[33m",
      [CLI_BLUE] = "\x1b[34m", [CLI_CYAN] = "\x1b[36m"};
  bool on = style != CLI_PLAIN && colored(to);
  va_list ap;
  va_start(ap, fmt);
  if (on) (void)fputs(codes[style], to);
  (void)vfprintf(to, fmt, ap);
  if (on) (void)fputs("\x1b[0m", to);
  va_end(ap);
}

const char *cli_bytes(uint64_t n, char *text, size_t cap) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double v = (double)n;
  size_t u = 0;
  while (v >= 999.95 && u < 6) {
    v /= 1000;
    u++;
  }
  (void)snprintf(text, cap, u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
  return text;
}

const char *cli_count(uint64_t n, char *text, size_t cap) {
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
  size_t k = 0;
  for (int i = 0; i < len && k + 2 < cap; i++) {
    if (i && (len - i) % 3 == 0) text[k++] = ',';
    text[k++] = digits[i];
  }
  text[k] = 0;
  return text;
}
