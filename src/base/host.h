// SPDX-License-Identifier: Apache-2.0
// What a program at a command line needs of its system beyond the C library: terminals, signals,
// folders, patterns, a thread that wakes up regularly. The command is the only user.
#ifndef BASE_HOST_H_
#define BASE_HOST_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool ig_host_is_terminal(FILE *f);
// The most memory that the process has had so far.
uint64_t ig_host_peak_bytes(void);

// ---- signals

// The signals by which a user or the system asks a program to end call `caught`, each only the
// first time: then it ends the process, as usual. Ignored ones stay ignored.
void ig_host_catch_ends(void (*caught)(int number));
// Ends the process by a signal that was caught.
void ig_host_end_by(int number);
// Writing to a closed pipe is an error of the write, not the end of the process.
void ig_host_ignore_pipes(void);

// ---- other programs

// Replaces this program by another one, which is looked for as a shell does; words end with NULL.
// Returns only if that failed: an error number of errno.h.
int ig_host_become(const char *const *words);
// Runs it and waits for its end: its exit code, 128 and more after a signal; -1: it could not be
// started, see errno.
int ig_host_run(const char *const *words);

// From now on what is written to stdout goes to the input of another program, which is looked for
// as a shell does. Its number for ig_host_page_end; -1: it cannot be started, and stdout is as it
// was.
int ig_host_page_begin(const char *const *words);
// Closes stdout and waits until that program has ended.
void ig_host_page_end(int number);

// ---- folders

// Replaces the Xs at the end of the name and makes the folder, for this user only; false: errno.
bool ig_host_temporary(char *name);
// Makes a folder, if it is not there; whether it is shows when it is used.
void ig_host_folder(const char *path);

// A file before it has been checked: in a temporary folder beside the target, under its final name,
// so that a model finds its weights beside it. Keeping renames every file of the folder over the
// older one, the target last; until then the older ones are unchanged, and dropping leaves nothing
// behind. Devices and pipes are written directly; of a symbolic link the file that it names is
// replaced.
typedef struct ig_staged {
  char folder[4096];      // "": written directly
  char path[4096 + 260];  // where to write
} ig_staged;

// These return 0 or an error number of errno.h.
int ig_staged_open(const char *target, ig_staged *s);
int ig_staged_keep(ig_staged *s);
void ig_staged_drop(ig_staged *s);  // Harmless after keep.

// ---- patterns: POSIX extended regular expressions

typedef struct ig_pattern ig_pattern;

// NULL: `why` says what is wrong with the text.
ig_pattern *ig_pattern_create(const char *text, char *why, size_t cap);
void ig_pattern_free(ig_pattern *p);  // NULL is allowed.
// The first match in a line. rest: the line is the rest of one, so that ^ does not match.
bool ig_pattern_find(const ig_pattern *p, const char *line, bool rest, size_t *begin, size_t *end);

// ---- a thread that calls `tick` every so many milliseconds

typedef struct ig_ticker ig_ticker;

// NULL: there is no thread to be had.
ig_ticker *ig_ticker_start(int millis, void (*tick)(void *user), void *user);
// Returns when the last call has. NULL is allowed.
void ig_ticker_stop(ig_ticker *t);

#endif
