// SPDX-License-Identifier: Apache-2.0
// What the server of pages answers, and what it refuses.
#include "base/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"

static bool give(void *user, const char *path, ig_served *out) {
  (void)user;
  if (strcmp(path, "") != 0 && strcmp(path, "part/0") != 0) return false;
  *out = (ig_served){.type = "text/plain", .data = path[0] ? "part" : "page", .n = 4};
  return true;
}

static bool stop(void *user) {
  (void)user;
  return true;
}

typedef struct fixture {
  ig_server *s;
  char token[64];
  unsigned port;
} fixture;

static fixture open_server(void) {
  fixture f = {.s = NULL};
  assert_int_equal(ig_server_open(&f.s), 0);
  static const char start[] = "http://127.0.0.1:";
  const char *at = ig_server_address(f.s);
  assert_int_equal(strncmp(at, start, sizeof start - 1), 0);
  char *end = NULL;
  f.port = (unsigned)strtoul(at + sizeof start - 1, &end, 10);
  assert_int_equal(*end, '/');
  assert_int_equal(strspn(end + 1, "0123456789abcdef"), 32);
  assert_string_equal(end + 33, "/");
  memcpy(f.token, end + 1, 32);
  return f;
}

static long status_of(const char *answer) {
  return strtol(answer + strlen("HTTP/1.1 "), NULL, 10);
}

// The status of the answer to a request; the body into `body`.
static long ask(const fixture *f, const char *method, const char *path, const char *host,
                char body[64]) {
  char head[1024];
  size_t length = 0;
  int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\n%s%s\r\n", method, path, host,
                   host[0] ? "\r\n" : "");
  char *answer = ig_server_answer(f->s, head, (size_t)n, give, NULL, &length);
  assert_non_null(answer);
  assert_int_equal(strlen(answer), length);
  long status = status_of(answer);
  const char *at = strstr(answer, "\r\n\r\n");
  assert_non_null(at);
  assert_null(strstr(answer, "Access-Control"));
  (void)snprintf(body, 64, "%s", at + 4);
  free(answer);
  return status;
}

static void answers_under_its_secret(void **state) {
  (void)state;
  fixture f = open_server();
  char path[128];
  char host[64];
  char body[64];
  (void)snprintf(host, sizeof host, "Host: 127.0.0.1:%u", f.port);
  (void)snprintf(path, sizeof path, "/%s/", f.token);
  assert_int_equal(ask(&f, "GET", path, host, body), 200);
  assert_string_equal(body, "page");
  (void)snprintf(path, sizeof path, "/%s/part/0", f.token);
  assert_int_equal(ask(&f, "GET", path, host, body), 200);
  assert_string_equal(body, "part");
  (void)snprintf(host, sizeof host, "hOsT:   localhost:%u ", f.port);
  assert_int_equal(ask(&f, "GET", path, host, body), 200);
  assert_int_equal(ig_server_run(f.s, give, stop, NULL), 0);
  ig_server_close(f.s);
}

static void refuses_everything_else(void **state) {
  (void)state;
  fixture f = open_server();
  char good[128];
  char path[256];
  char host[64];
  char body[64];
  (void)snprintf(host, sizeof host, "Host: 127.0.0.1:%u", f.port);
  (void)snprintf(good, sizeof good, "/%s/", f.token);
  static const char *const methods[] = {"POST", "HEAD", "PUT", "OPTIONS", "get", "GETX"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    assert_int_equal(ask(&f, methods[i], good, host, body), 405);
  }
  static const char *const behind[] = {"part/1",
                                       "../etc/passwd",
                                       "etc/passwd",
                                       "%2e%2e/",
                                       "part/",
                                       "part/0/",
                                       "?x",
                                       "//",
                                       "part/00000000000000000000"};
  for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
    (void)snprintf(path, sizeof path, "%s%s", good, behind[i]);
    assert_int_equal(ask(&f, "GET", path, host, body), 404);
  }
  char other[128];
  (void)snprintf(other, sizeof other, "%s", good);
  other[32] = other[32] == '0' ? '1' : '0';  // the last letter of the secret
  assert_int_equal(ask(&f, "GET", other, host, body), 404);
  other[33] = 0;  // no slash behind it
  assert_int_equal(ask(&f, "GET", other, host, body), 404);
  assert_int_equal(ask(&f, "GET", "/", host, body), 404);
  static const char *const hosts[] = {"",
                                      "Host: example.com",
                                      "Host: 127.0.0.1",
                                      "Host: 127.0.0.1:1",
                                      "Host: evil.127.0.0.1:80",
                                      "X-Host: 127.0.0.1"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    assert_int_equal(ask(&f, "GET", good, hosts[i], body), 403);
  }
  char two[160];
  (void)snprintf(two, sizeof two, "%s\r\n%s", host, host);
  assert_int_equal(ask(&f, "GET", good, two, body), 403);
  ig_server_close(f.s);
}

static void refuses_what_is_no_request(void **state) {
  (void)state;
  fixture f = open_server();
  static const char *const heads[] = {
      "", "GET", "GET /\r\n", "GET / HTTP/1.1", "\r\n\r\n", "GET /x FTP/1.0\r\n\r\n"};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    size_t length = 0;
    char *answer = ig_server_answer(f.s, heads[i], strlen(heads[i]), give, NULL, &length);
    assert_non_null(answer);
    long status = status_of(answer);
    assert_true(status == 400 || status == 405);
    free(answer);
  }
  size_t length = 0;
  char *answer = ig_server_answer(f.s, "GET /\0 HTTP/1.1\r\n\r\n", 19, give, NULL, &length);
  assert_true(answer && status_of(answer) == 400);
  free(answer);
  ig_server_close(f.s);
}

static void secrets_differ(void **state) {
  (void)state;
  fixture a = open_server();
  fixture b = open_server();
  assert_string_not_equal(a.token, b.token);
  assert_int_not_equal(a.port, b.port);
  ig_server_close(a.s);
  ig_server_close(b.s);
  ig_server_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_under_its_secret),
      cmocka_unit_test(refuses_everything_else),
      cmocka_unit_test(refuses_what_is_no_request),
      cmocka_unit_test(secrets_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
