// SPDX-License-Identifier: Apache-2.0
// Compiled only with -Dportable=true: the functions whose symbols got a newer version in a C
// library after glibc 2.28, bound to their older versions. What is compiled here then runs on every
// system from glibc 2.28 on (manylinux_2_28). The names are defined in the library and hidden: a
// program that uses it keeps its own.
//
// The older versions of exp, log and pow differ in setting errno; threads moved from libpthread to
// libc; the stat functions were inline before 2.33. hypot is the system's, as accurate as it is
// there.
#define _GNU_SOURCE  // lstat
#include <features.h>

#if defined(__GLIBC__)
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <threads.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define STAT_VERSION 1
#else
#define OLDEST "GLIBC_2.17"
#define STAT_VERSION 0
#endif

// old_NAME is the function in that version of its symbol.
#define VERSION(result, name, parameters, symbol, version) \
  extern result old_##name parameters;                     \
  __asm__(".symver old_" #name ", " #symbol "@" version)
#define OLD(result, name, parameters) VERSION(result, name, parameters, name, OLDEST)

#define ONE(type, name)      \
  OLD(type, name, (type x)); \
  type name(type x) {        \
    return old_##name(x);    \
  }
#define TWO(type, name)              \
  OLD(type, name, (type x, type y)); \
  type name(type x, type y) {        \
    return old_##name(x, y);         \
  }

ONE(double, exp)
ONE(double, exp2)
ONE(double, log)
ONE(double, log2)
TWO(double, pow)
TWO(double, hypot)
TWO(float, hypotf)

OLD(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
  return old_pthread_create(t, attr, run, arg);
}

OLD(int, pthread_join, (pthread_t, void **));
int pthread_join(pthread_t t, void **result) {
  return old_pthread_join(t, result);
}

OLD(int, pthread_once, (pthread_once_t *, void (*)(void)));
int pthread_once(pthread_once_t *once, void (*run)(void)) {
  return old_pthread_once(once, run);
}

OLD(int, pthread_sigmask, (int, const sigset_t *, sigset_t *));
int pthread_sigmask(int how, const sigset_t *now, sigset_t *before) {
  return old_pthread_sigmask(how, now, before);
}

OLD(int, pthread_key_create, (pthread_key_t *, void (*)(void *)));
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) {
  return old_pthread_key_create(key, destroy);
}

OLD(int, pthread_key_delete, (pthread_key_t));
int pthread_key_delete(pthread_key_t key) {
  return old_pthread_key_delete(key);
}

OLD(void *, pthread_getspecific, (pthread_key_t));
void *pthread_getspecific(pthread_key_t key) {
  return old_pthread_getspecific(key);
}

// gcc takes the declaration, by which the function does not read what `value` points to, for a
// promise not to pass it on.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
OLD(int, pthread_setspecific, (pthread_key_t, const void *));
int pthread_setspecific(pthread_key_t key, const void *value) {
  return old_pthread_setspecific(key, value);
}
#pragma GCC diagnostic pop

VERSION(int, tss_create, (tss_t *, tss_dtor_t), tss_create, "GLIBC_2.28");
int tss_create(tss_t *key, tss_dtor_t destroy) {
  return old_tss_create(key, destroy);
}

VERSION(void *, tss_get, (tss_t), tss_get, "GLIBC_2.28");
void *tss_get(tss_t key) {
  return old_tss_get(key);
}

VERSION(int, tss_set, (tss_t, void *), tss_set, "GLIBC_2.28");
int tss_set(tss_t key, void *value) {
  return old_tss_set(key, value);
}

VERSION(int, fstat, (int, int, struct stat *), __fxstat64, OLDEST);
int fstat(int fd, struct stat *info) {
  return old_fstat(STAT_VERSION, fd, info);
}

VERSION(int, stat, (int, const char *, struct stat *), __xstat64, OLDEST);
int stat(const char *path, struct stat *info) {
  return old_stat(STAT_VERSION, path, info);
}

VERSION(int, lstat, (int, const char *, struct stat *), __lxstat64, OLDEST);
int lstat(const char *path, struct stat *info) {
  return old_lstat(STAT_VERSION, path, info);
}
#else
typedef int ig_portable_unused;  // a file must not be empty
#endif
