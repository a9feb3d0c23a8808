// SPDX-License-Identifier: Apache-2.0
// Colours: on a terminal, unless NO_COLOR or --color say otherwise.
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
  return !(no && *no) && term && strcmp(term, "dumb") != 0 && ig_host_is_terminal(to);
}

// ---- pager

static int pager = -1;

void cli_page(void) {
  const char *given = getenv("PAGER");
  const char *term = getenv("TERM");
  if (!ig_host_is_terminal(stdin) || !ig_host_is_terminal(stdout)) return;
  if (!term || strcmp(term, "dumb") == 0) return;
  if (given && (!*given || strcmp(given, "cat") == 0)) return;
  bool color_now = colored(stdout);
  const char *less[] = {"less", "-FRX", NULL};
  const char *other[] = {"sh", "-c", given, NULL};
  (void)fflush(stdout);
  pager = ig_host_page_begin(given && strcmp(given, "less") != 0 ? other : less);
  if (pager >= 0 && color == AUTO) color = color_now ? ALWAYS : NEVER;
}

void cli_page_end(void) {
  if (pager >= 0) ig_host_page_end(pager);
  pager = -1;
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
  cli_vput(to, fmt, ap);
  if (on) (void)fputs("\x1b[0m", to);
  va_end(ap);
}

void cli_out(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  cli_vput(stdout, fmt, ap);
  va_end(ap);
}

// ---- escaping: what is printed may come from a file

void cli_put_lines(FILE *to, const char *text, size_t n, bool lines) {
  size_t need = ig_text_escape(text, n, lines, NULL, 0);
  char room[512];
  char *safe = need < sizeof room ? room : malloc(need + 1);
  if (!safe) return;
  (void)ig_text_escape(text, n, lines, safe, need + 1);
  (void)fwrite(safe, 1, need, to);
  if (safe != room) free(safe);
}

static size_t count_breaks(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += *s == '\n' || *s == '\t';
  return n;
}

// Line breaks of the format are ours. If the text contains more of them, they came from a file and
// would forge lines: then only the last one is kept.
void cli_vput(FILE *to, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  char room[1024];
  int len = vsnprintf(room, sizeof room, fmt, ap);
  size_t n = len > 0 ? (size_t)len : 0;
  char *text = n < sizeof room ? room : malloc(n + 1);
  if (text && text != room) (void)vsnprintf(text, n + 1, fmt, again);
  va_end(again);
  if (!text) return;
  bool forged = count_breaks(text) > count_breaks(fmt);
  bool last = n && text[n - 1] == '\n' && fmt[strlen(fmt) - 1] == '\n';
  cli_put_lines(to, text, forged && last ? n - 1 : n, !forged);
  if (forged && last) (void)fputc('\n', to);
  if (text != room) free(text);
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
