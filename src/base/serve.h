// SPDX-License-Identifier: Apache-2.0
// A server of web pages for the user of this machine alone: on 127.0.0.1, at a free port, under a
// secret path. It answers GET, and nothing that does not begin with that path or comes under
// another name than the address itself. What it serves is in memory; no file is ever opened.
#ifndef BASE_SERVE_H_
#define BASE_SERVE_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct ig_server ig_server;

// What is served at a path.
typedef struct ig_served {
  const char *type;    // "text/html; charset=utf-8"
  const char *policy;  // Content-Security-Policy; NULL: none
  const char *data;
  size_t n;
} ig_served;

// path: behind the secret one, "" or "part/3". False: there is nothing. The data must stay valid
// while the server runs.
typedef bool ig_serve_fn(void *user, const char *path, ig_served *out);

// 0, or an error number of errno.h; ENOSYS where there are no sockets. The caller closes it.
int ig_server_open(ig_server **out);
// "http://127.0.0.1:41234/0f3c.../"; valid until the server is closed.
const char *ig_server_address(const ig_server *s);
// Serves until stop says so, which is asked after every signal and several times a second. 0, or an
// error number.
int ig_server_run(ig_server *s, ig_serve_fn *fn, bool (*stop)(void *user), void *user);
void ig_server_close(ig_server *s);  // NULL is allowed.

// The answer to a request, for tests: status line, headers, body, without sockets. n bytes of a
// complete head. The text belongs to the caller (free); NULL: out of memory.
char *ig_server_answer(const ig_server *s, const char *head, size_t n, ig_serve_fn *fn, void *user,
                       size_t *length);

#endif
