// SPDX-License-Identifier: Apache-2.0
// Over POSIX calls.
#define _GNU_SOURCE  // mkdtemp
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool ig_host_is_terminal(FILE *f) {
  return isatty(fileno(f));
}

uint64_t ig_host_peak_bytes(void) {
  struct rusage u;
#if defined(__APPLE__)
  enum { UNIT = 1 };
#else
  enum { UNIT = 1024 };
#endif
  return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * UNIT : 0;
}

// ---- signals

void ig_host_catch_ends(void (*caught)(int number)) {
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now = {.sa_handler = caught, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    (void)sigaction(ends[i], &now, NULL);
  }
}

void ig_host_end_by(int number) {
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

void ig_host_ignore_pipes(void) {
  (void)signal(SIGPIPE, SIG_IGN);
}

// ---- other programs

int ig_host_become(const char *const *words) {
  (void)signal(SIGPIPE, SIG_DFL);  // ignored signals stay ignored in the other program
  char *const *list = NULL;
  memcpy(&list, &words,
         sizeof list);  // execvp takes them without const and leaves them as they are
  (void)execvp(words[0], list);
  return errno;
}

int ig_host_run(const char *const *words) {
  pid_t child = fork();
  if (child == 0) {
    (void)ig_host_become(words);
    _exit(127);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  if (child < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the child: becomes the program, or reports why not through `failed`.
static void become_pager(const char *const *words, int from, int failed) {
  (void)dup2(from, STDIN_FILENO);
  (void)close(from);
  int error = ig_host_become(words);
  ssize_t n = write(failed, &error, sizeof error);
  _exit(n > 0 ? 127 : 126);
}

int ig_host_page_begin(const char *const *words) {
  int text[2];
  int failed[2];
  if (pipe(text) != 0) return -1;
  if (pipe(failed) != 0) {
    (void)close(text[0]);
    (void)close(text[1]);
    return -1;
  }
  (void)fcntl(text[1], F_SETFD, FD_CLOEXEC);
  (void)fcntl(failed[1], F_SETFD, FD_CLOEXEC);
  pid_t child = fork();
  if (child == 0) become_pager(words, text[0], failed[1]);
  (void)close(text[0]);
  (void)close(failed[1]);
  int error = 0;
  bool runs = child > 0 && read(failed[0], &error, sizeof error) == 0;  // closed by its start
  (void)close(failed[0]);
  if (runs) runs = dup2(text[1], STDOUT_FILENO) >= 0;
  (void)close(text[1]);
  if (!runs && child > 0) (void)waitpid(child, NULL, 0);
  return runs ? (int)child : -1;
}

void ig_host_page_end(int number) {
  (void)fflush(stdout);
  (void)close(STDOUT_FILENO);
  while (waitpid(number, NULL, 0) < 0 && errno == EINTR) continue;
}

// ---- folders

bool ig_host_temporary(char *name) {
  return mkdtemp(name) != NULL;
}

void ig_host_folder(const char *path) {
  (void)mkdir(path, 0777);
}

// ---- patterns

struct ig_pattern {
  regex_t re;
};

ig_pattern *ig_pattern_create(const char *text, char *why, size_t cap) {
  ig_pattern *p = malloc(sizeof *p);
  if (!p) {
    (void)snprintf(why, cap, "out of memory");
    return NULL;
  }
  int bad = regcomp(&p->re, text, REG_EXTENDED);
  if (!bad) return p;
  (void)regerror(bad, &p->re, why, cap);
  free(p);
  return NULL;
}

void ig_pattern_free(ig_pattern *p) {
  if (!p) return;
  regfree(&p->re);
  free(p);
}

bool ig_pattern_find(const ig_pattern *p, const char *line, bool rest, size_t *begin, size_t *end) {
  regmatch_t at;
  if (regexec(&p->re, line, 1, &at, rest ? REG_NOTBOL : 0) != 0) return false;
  *begin = (size_t)at.rm_so;
  *end = (size_t)at.rm_eo;
  return true;
}

// ---- a ticking thread

struct ig_ticker {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool stop;  // under the lock
  int millis;
  void (*tick)(void *user);
  void *user;
};

static struct timespec after(int millis) {
  struct timespec t;
  (void)clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += millis % 1000 * 1000000L;
  t.tv_sec += millis / 1000 + t.tv_nsec / 1000000000L;
  t.tv_nsec %= 1000000000L;
  return t;
}

static void *ticking(void *arg) {
  ig_ticker *t = arg;
  (void)pthread_mutex_lock(&t->lock);
  while (!t->stop) {
    struct timespec moment = after(t->millis);
    (void)pthread_cond_timedwait(&t->wake, &t->lock, &moment);
    if (!t->stop) t->tick(t->user);
  }
  (void)pthread_mutex_unlock(&t->lock);
  return NULL;
}

ig_ticker *ig_ticker_start(int millis, void (*tick)(void *user), void *user) {
  ig_ticker *t = malloc(sizeof *t);
  if (!t) return NULL;
  *t = (ig_ticker){.lock = PTHREAD_MUTEX_INITIALIZER,
                   .wake = PTHREAD_COND_INITIALIZER,
                   .millis = millis,
                   .tick = tick,
                   .user = user};
  if (pthread_create(&t->thread, NULL, ticking, t) == 0) return t;
  free(t);
  return NULL;
}

void ig_ticker_stop(ig_ticker *t) {
  if (!t) return;
  (void)pthread_mutex_lock(&t->lock);
  t->stop = true;
  (void)pthread_cond_signal(&t->wake);
  (void)pthread_mutex_unlock(&t->lock);
  (void)pthread_join(t->thread, NULL);
  (void)pthread_cond_destroy(&t->wake);
  (void)pthread_mutex_destroy(&t->lock);
  free(t);
}
