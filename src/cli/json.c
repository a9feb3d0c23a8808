// SPDX-License-Identifier: Apache-2.0
// JSON on stdout, two spaces per level.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int depth;
static bool comma;  // the next item needs a comma
static bool bare;   // nothing before the value: it follows its key

static void lead(void) {
  if (!bare) {
    if (comma) (void)putchar(',');
    if (depth) {
      (void)putchar('\n');
      for (int i = 0; i < depth; i++) (void)fputs("  ", stdout);
    }
  }
  bare = false;
  comma = true;
}

void cli_json_open(char bracket) {
  lead();
  (void)putchar(bracket);
  depth++;
  comma = false;
}

void cli_json_close(char bracket) {
  depth--;
  if (comma) {
    (void)putchar('\n');
    for (int i = 0; i < depth; i++) (void)fputs("  ", stdout);
  }
  (void)putchar(bracket);
  comma = true;
}

static void text(const char *s) {
  (void)putchar('"');
  for (size_t n = strlen(s); n; s++, n--) {
    unsigned char b = (unsigned char)*s;
    uint32_t code = 0;
    size_t hazard = ig_text_hazard(s, n, &code);
    if (b == '"' || b == '\\') {
      printf("\\%c", b);
    } else if (b == '\n') {
      (void)fputs("\\n", stdout);
    } else if (b == '\t') {
      (void)fputs("\\t", stdout);
    } else if (hazard) {
      // JSON cannot represent a byte that is not UTF-8.
      printf("\\u%04x", (unsigned)(hazard == 1 && b >= 0x80 ? 0xfffd : code));
      s += hazard - 1;
      n -= hazard - 1;
    } else {
      (void)putchar(b);
    }
  }
  (void)putchar('"');
}

void cli_json_key(const char *key) {
  lead();
  text(key);
  (void)fputs(": ", stdout);
  bare = true;
}

void cli_json_str(const char *s) {
  if (!s) {
    cli_json_null();
    return;
  }
  lead();
  text(s);
}

void cli_json_int(int64_t i) {
  lead();
  printf("%" PRId64, i);
}

void cli_json_real(double f) {
  lead();
  if (isnan(f) || isinf(f)) {
    text(isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
    return;
  }
  char shortest[40];
  for (int digits = 1; digits <= 17; digits++) {
    (void)snprintf(shortest, sizeof shortest, "%.*g", digits, f);
    if (strtod(shortest, NULL) == f) break;
  }
  (void)fputs(shortest, stdout);
}

void cli_json_bool(bool b) {
  lead();
  (void)fputs(b ? "true" : "false", stdout);
}

void cli_json_null(void) {
  lead();
  (void)fputs("null", stdout);
}

void cli_json_end(void) {
  (void)putchar('\n');
}
