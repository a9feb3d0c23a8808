// SPDX-License-Identifier: Apache-2.0
// The framework of the command: subcommands and their options as tables, from which --help is
// printed; errors with exit codes; colours, JSON, progress. Of the library only
// the public headers are used here; base/host.h and base/clock.h are the system.
#ifndef CLI_CLI_H_
#define CLI_CLI_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/host.h"
#include "ingot/file.h"
#include "ingot/limits.h"
#include "ingot/model.h"
#include "ingot/text.h"
#include "ingot/texts.h"

// Exit codes, part of the contract (docs/command.md, ingot --help).
enum {
  CLI_OK = 0,
  CLI_DIFFERS = 1,  // numbers or models disagree
  CLI_USAGE = 2,    // the command line is wrong
  CLI_REFUSED = 3,  // a file is malformed or contains something unsupported
  CLI_IO = 4,       // a file cannot be read or written
  CLI_FAILED = 5,   // running failed: inputs do not match, an operator error, no memory
};

// ---- options (args.c)

typedef enum cli_type { CLI_SWITCH, CLI_TEXT, CLI_TEXTS, CLI_INT, CLI_REAL } cli_type;
enum { CLI_MAX_TEXTS = 64 };
typedef struct cli_texts {
  const char *at[CLI_MAX_TEXTS];
  size_t n;
} cli_texts;

typedef struct cli_option {
  const char *name;   // "--inputs"
  const char *brief;  // "-i"; NULL: none
  const char *value;  // "FILE"; NULL: a switch
  cli_type type;
  void *to;  // bool, const char *, cli_texts, long, double
  const char *help;
} cli_option;

typedef struct cli_example {
  const char *line;
  const char *text;
} cli_example;

typedef struct cli_command {
  const char *name;
  const char *arguments;  // "FILE"
  const char *summary;    // one line of ingot --help
  const char *details;    // a paragraph of its own --help
  const cli_option *options;
  size_t noptions;
  const cli_example *examples;
  size_t nexamples;
  int nfiles;
  bool more;   // takes further words behind its files
  int most;    // more files are allowed up to so many; 0: nfiles is meant
  bool pages;  // what it prints is to be read: by less on a terminal
  bool each;   // takes any number of files (nfiles 0: or none), and runs for one after the other
  int (*run)(ig_ctx *c, const char *const *files);
} cli_command;

// The whole command: its exit code. Once per process: options are stored in static variables, and a
// signal that ended the work ends the process.
int cli_main(int argc, char **argv);

extern const cli_command cli_info;
extern const cli_command cli_show;
extern const cli_command cli_run;
extern const cli_command cli_convert;
extern const cli_command cli_compile;
extern const cli_command cli_diff;
extern const cli_command cli_bisect;
extern const cli_command cli_verify;
extern const cli_command cli_shapes;
extern const cli_command cli_stats;
extern const cli_command cli_view;
extern const cli_command cli_bench;
extern const cli_command cli_score;
extern const cli_command cli_simplify;
extern const cli_command cli_extract;
extern const cli_command cli_rename;
extern const cli_command cli_fix_size;
extern const cli_command cli_free_size;
extern const cli_command cli_merge;
extern const cli_command cli_split_weights;
extern const cli_command cli_quantize;
extern const cli_command cli_explain;
extern const cli_command cli_completion;
const cli_command *const *cli_commands(size_t *n);  // all, in the order of the help (main.c)

// Options and files of a command line: files has room for argc and gets a NULL behind the last one.
// CLI_OK, or CLI_USAGE after saying what is wrong; negative: help was asked for and printed.
int cli_parse(const cli_command *command, int argc, char **argv, const char **files);
void cli_help(const cli_command *command);
// Its options, those that all commands have included.
size_t cli_option_count(const cli_command *command);
const cli_option *cli_option_at(const cli_command *command, size_t i);
void cli_limit(ig_ctx *c);  // set by --max-memory, --max-time, --max-work
// The most similar of the words; NULL: none is similar.
const char *cli_nearest(const char *word, const char *const *words, size_t n);

// ---- failing (fail.c)

int cli_usage(const cli_command *command, const char *fmt, ...) IG_PRINTF(2, 3);
// Prints "ingot: " and the context's error, prefixed with the file's name if it is missing, and
// the code of its explanation on a line of its own. The exit code is `code`, or CLI_IO for a system
// error.
int cli_fail(const ig_ctx *c, const char *file, int code);
int cli_error(int code, const char *fmt, ...) IG_PRINTF(2, 3);
void cli_warn(const char *fmt, ...) IG_PRINTF(1, 2);
int cli_no_memory(void);
// realloc to n elements of `size` bytes; NULL: out of memory, and `old` is unchanged.
void *cli_array(void *old, size_t n, size_t size);
// From now on messages show another name for a path: for a file under a temporary name. NULL: ends
// that.
void cli_alias(const char *path, const char *name);
bool cli_interrupted(void);  // a signal asked the command to end (main.c)

// ---- style (style.c)

typedef enum cli_style {
  CLI_PLAIN,
  CLI_BOLD,
  CLI_DIM,
  CLI_RED,
  CLI_GREEN,
  CLI_YELLOW,
  CLI_BLUE,
  CLI_CYAN,
} cli_style;
// Output goes through less if stdin and stdout are a terminal, unless PAGER names another program,
// is empty or "cat". Colours stay as they were.
void cli_page(void);
void cli_page_end(void);               // waits until it was read
bool cli_set_color(const char *when);  // "auto", "always", "never"; false: another word
// Prints with a style if the stream supports colours. Like everything here that prints, it escapes
// control characters, except the line breaks of the format.
void cli_put(FILE *to, cli_style style, const char *fmt, ...) IG_PRINTF(3, 4);
void cli_out(const char *fmt, ...) IG_PRINTF(1, 2);  // plain, to stdout
void cli_vput(FILE *to, const char *fmt, va_list ap) IG_PRINTF(2, 0);
// A text, escaped; `lines`: its line breaks are kept.
void cli_put_lines(FILE *to, const char *text, size_t n, bool lines);
const char *cli_bytes(uint64_t n, char *text, size_t cap);  // "21.9 kB"; returns text
const char *cli_count(uint64_t n, char *text, size_t cap);  // "1,234,567"; returns text

// ---- JSON (json.c): to stdout, indented; the caller nests correctly

void cli_json_open(char bracket);
void cli_json_close(char bracket);
void cli_json_key(const char *key);
void cli_json_str(const char *s);  // NULL: null
void cli_json_int(int64_t i);
void cli_json_real(double f);  // NaN and infinities as strings
void cli_json_bool(bool b);
void cli_json_null(void);
void cli_json_end(void);

// ---- progress (progress.c): on a terminal, after a second

// Starts a stage; total 0: unknown. The unit is "MB" or the things counted ("nodes").
void cli_stage(const char *stage, uint64_t total, const char *unit);
void cli_step(uint64_t done);
void cli_stage_end(void);

// ---- files (source.c)

// Opens a model file; "-" is stdin. Returns CLI_OK, or an exit code after printing the error.
enum { CLI_INSPECT = 1, CLI_PROGRAM = 2 };  // see ig_model_options
int cli_open(ig_ctx *c, const char *path, int how, ig_model **out);
ig_status cli_open_quietly(ig_ctx *c, const char *path, int how, ig_model **out);
int cli_no_program(const ig_model *m);  // Prints why there is no program; returns CLI_REFUSED.
bool cli_has_suffix(const char *path, const char *suffix);

// A file to be written, see staged.c: write to `files.path`, then keep it or drop it. `target` does
// not change before it is kept. Returns CLI_OK, or an exit code after printing the error.
typedef struct cli_staged {
  const char *target;
  ig_staged files;
} cli_staged;
int cli_staged_open(const char *target, cli_staged *s);
int cli_staged_keep(cli_staged *s);
void cli_staged_drop(cli_staged *s);  // Harmless after keep.

// ---- text of values (text.c)

// "float32[3, 4]", "None", "7"; into text, returns text.
const char *cli_describe(const ig_value *v, char *text, size_t cap);
const char *cli_port_text(const ig_model_port *p, char *text, size_t cap);

#endif
