// SPDX-License-Identifier: Apache-2.0
// One thread, a few connections at a time, each of one request. A connection that is slow or idle
// is closed when it is too old, so that none holds up the others.
#define _GNU_SOURCE  // getentropy
#include "base/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
  BYTES = 16,     // of the secret
  TOKEN = 32,     // its letters
  HEAD = 8192,    // of a request
  PLACES = 32,    // connections at a time
  PATIENCE = 20,  // seconds that a connection may take without progress
  TICK = 200,     // milliseconds between two questions whether to stop
};

typedef struct connection {
  int fd;  // -1: free
  double since;
  size_t got;
  char *answer;  // NULL: the request is not complete
  size_t length;
  size_t sent;
  char head[HEAD];
} connection;

struct ig_server {
  int fd;
  unsigned port;
  char token[TOKEN + 1];
  char address[96];
  connection at[PLACES];
};

// ---- opening

static bool make_token(char text[TOKEN + 1]) {
  uint8_t secret[BYTES];
  if (getentropy(secret, sizeof secret) != 0) return false;
  for (size_t i = 0; i < BYTES; i++) (void)snprintf(text + 2 * i, 3, "%02x", secret[i]);
  return true;
}

static int listen_here(ig_server *s) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof here;
  s->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (s->fd < 0) return errno;
  (void)fcntl(s->fd, F_SETFD, FD_CLOEXEC);
  bool ok = bind(s->fd, (struct sockaddr *)&here, sizeof here) == 0 && listen(s->fd, PLACES) == 0 &&
            getsockname(s->fd, (struct sockaddr *)&here, &size) == 0 &&
            fcntl(s->fd, F_SETFL, O_NONBLOCK) == 0 && make_token(s->token);
  if (!ok) return errno;
  s->port = ntohs(here.sin_port);
  (void)snprintf(s->address, sizeof s->address, "http://127.0.0.1:%u/%s/", s->port, s->token);
  return 0;
}

int ig_server_open(ig_server **out) {
  *out = NULL;
  ig_server *s = calloc(1, sizeof *s);
  if (!s) return ENOMEM;
  for (size_t i = 0; i < PLACES; i++) s->at[i].fd = -1;
  int error = listen_here(s);
  if (error) {
    ig_server_close(s);
  } else {
    *out = s;
  }
  return error;
}

const char *ig_server_address(const ig_server *s) {
  return s->address;
}

static void drop(connection *k) {
  if (k->fd >= 0) (void)close(k->fd);
  free(k->answer);
  k->answer = NULL;
  k->fd = -1;
}

void ig_server_close(ig_server *s) {
  if (!s) return;
  for (size_t i = 0; i < PLACES; i++) drop(&s->at[i]);
  if (s->fd >= 0) (void)close(s->fd);
  free(s);
}

// ---- answers

static char *compose(const char *status, const ig_served *what, size_t *length) {
  char head[1024];
  int n = snprintf(head, sizeof head,
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                   "%s%s%sCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                   "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                   "Cross-Origin-Resource-Policy: same-origin\r\n"
                   "Cross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n\r\n",
                   status, what->type, what->n, what->policy ? "Content-Security-Policy: " : "",
                   what->policy ? what->policy : "", what->policy ? "\r\n" : "");
  size_t whole = ig_mem_add(what->n, sizeof head);  // room for the head and a zero
  char *text = n > 0 && (size_t)n < sizeof head && whole < IG_SIZE_NONE ? malloc(whole) : NULL;
  if (!text) return NULL;
  memcpy(text, head, (size_t)n);
  if (what->n) memcpy(text + n, what->data, what->n);
  text[(size_t)n + what->n] = 0;
  *length = (size_t)n + what->n;
  return text;
}

static char *refuse(const char *status, size_t *length) {
  ig_served none = {.type = "text/plain; charset=utf-8",
                    .policy = "default-src 'none'",
                    .data = status,
                    .n = strlen(status)};
  return compose(status, &none, length);
}

// Takes the same time wherever the first difference is.
static bool same_token(const char *a, const char *b) {
  unsigned char differs = 0;
  for (size_t i = 0; i < TOKEN; i++) differs |= (unsigned char)(a[i] ^ b[i]);
  return differs == 0;
}

// The value of the only header Host; false: there is none, or several.
static bool host_of(const char *head, const char *end, const char **value, size_t *n) {
  bool found = false;
  for (const char *line = head; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    size_t size = (size_t)(stop - line);
    if (size > 5 && strncasecmp(line, "host:", 5) == 0) {
      if (found) return false;
      found = true;
      *value = line + 5;
      *n = size - 5;
      while (*n && (**value == ' ' || **value == '\t')) {
        (*value)++;
        (*n)--;
      }
      while (*n && ((*value)[*n - 1] == '\r' || (*value)[*n - 1] == ' ')) (*n)--;
    }
    line = stop + 1;
  }
  return found;
}

// Pages of other sites cannot reach the server under a name of theirs that leads to 127.0.0.1.
static bool is_our_host(const ig_server *s, const char *head, const char *end) {
  char names[2][40];
  const char *host = NULL;
  size_t n = 0;
  (void)snprintf(names[0], sizeof *names, "127.0.0.1:%u", s->port);
  (void)snprintf(names[1], sizeof *names, "localhost:%u", s->port);
  if (!host_of(head, end, &host, &n)) return false;
  for (size_t i = 0; i < 2; i++) {
    if (n == strlen(names[i]) && memcmp(host, names[i], n) == 0) return true;
  }
  return false;
}

char *ig_server_answer(const ig_server *s, const char *head, size_t n, ig_serve_fn *fn, void *user,
                       size_t *length) {
  const char *end = head + n;
  const char *line = memchr(head, '\n', n);
  char path[256];
  if (!line || memchr(head, 0, n)) return refuse("400 Bad Request", length);
  if (n < 5 || memcmp(head, "GET /", 5) != 0) return refuse("405 Method Not Allowed", length);
  const char *from = head + 5;
  const char *space = memchr(from, ' ', (size_t)(line - from));
  if (!space || (size_t)(line - space) < 8 || memcmp(space, " HTTP/1.", 8) != 0) {
    return refuse("400 Bad Request", length);
  }
  if (!is_our_host(s, line + 1, end)) return refuse("403 Forbidden", length);
  size_t size = (size_t)(space - from);
  bool ours = size > TOKEN && same_token(from, s->token) && from[TOKEN] == '/';
  if (!ours || size - TOKEN - 1 >= sizeof path) return refuse("404 Not Found", length);
  const char *rest = &from[TOKEN + 1];
  size_t left = size - TOKEN - 1;
  memcpy(path, rest, left);
  path[left] = 0;
  ig_served what = {.type = NULL};
  if (!fn(user, path, &what)) return refuse("404 Not Found", length);
  return compose("200 OK", &what, length);
}

// ---- connections

static void welcome(ig_server *s) {
  for (size_t i = 0; i < PLACES; i++) {
    connection *k = &s->at[i];
    if (k->fd >= 0) continue;
    int fd = accept(s->fd, NULL, NULL);
    if (fd < 0) return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
      (void)close(fd);
      continue;
    }
    k->fd = fd;
    k->since = ig_clock_seconds();
    k->got = k->sent = k->length = 0;
    k->answer = NULL;
  }
}

static void receive(const ig_server *s, connection *k, ig_serve_fn *fn, void *user) {
  ssize_t n = recv(k->fd, k->head + k->got, HEAD - 1 - k->got, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    drop(k);
    return;
  }
  k->got += (size_t)n;
  k->head[k->got] = 0;
  bool whole = strstr(k->head, "\r\n\r\n") != NULL;
  if (whole || memchr(k->head, 0, k->got)) {
    k->answer = ig_server_answer(s, k->head, k->got, fn, user, &k->length);
  } else if (k->got == HEAD - 1) {
    k->answer = refuse("431 Request Header Fields Too Large", &k->length);
  } else {
    return;
  }
  k->since = ig_clock_seconds();
  if (!k->answer) drop(k);
}

static void pass(connection *k) {
  ssize_t n = send(k->fd, k->answer + k->sent, k->length - k->sent, MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) k->since = ig_clock_seconds();
  if (n > 0) k->sent += (size_t)n;
  if (n <= 0 || k->sent == k->length) drop(k);
}

static int wait_for(ig_server *s, struct pollfd *polled) {
  bool room = false;
  for (size_t i = 0; i < PLACES; i++) {
    connection *k = &s->at[i];
    if (k->fd >= 0 && ig_clock_seconds() - k->since > PATIENCE) drop(k);
    room = room || k->fd < 0;
    polled[i] = (struct pollfd){.fd = k->fd, .events = k->answer ? POLLOUT : POLLIN};
  }
  polled[PLACES] = (struct pollfd){.fd = room ? s->fd : -1, .events = POLLIN};
  return poll(polled, PLACES + 1, TICK);
}

int ig_server_run(ig_server *s, ig_serve_fn *fn, bool (*stop)(void *user), void *user) {
  struct pollfd polled[PLACES + 1];
  while (!stop(user)) {
    if (wait_for(s, polled) < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    for (size_t i = 0; i < PLACES; i++) {
      connection *k = &s->at[i];
      if (k->fd < 0 || !polled[i].revents) continue;
      if (k->answer) {
        pass(k);
      } else {
        receive(s, k, fn, user);
      }
    }
    if (polled[PLACES].revents) welcome(s);
  }
  return 0;
}
