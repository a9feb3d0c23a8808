// SPDX-License-Identifier: Apache-2.0
// Mappings and sinks over POSIX calls.
#define _GNU_SOURCE  // realpath, syscall
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SINK_BUFFER = 1 << 16, TEMP_SUFFIX = 32, TEMP_TRIES = 100 };

static void file_destroy(ig_ref *self) {
  ig_file *f = (ig_file *)self;
  if (f->bytes.n) (void)munmap((void *)f->bytes.at, f->bytes.n);
  ig_mem_free(f->alloc, f, sizeof *f);
}

static ig_status map_fd(ig_ctx *c, const char *path, int fd, ig_file *f) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ig_fail(c, IG_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return ig_fail(c, IG_IO, "%s: not a regular file", path);
  if ((uint64_t)info.st_size > SIZE_MAX / 2) return ig_fail(c, IG_IO, "%s: too large", path);
  size_t n = (size_t)info.st_size;
  if (n == 0) return IG_OK;  // mmap refuses length 0
  // Writable and private: a tensor over the mapping may be written to, the file does not change.
  void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return ig_fail(c, IG_IO, "%s: %s", path, strerror(errno));
  f->bytes = (ig_bytes){at, n};
  return IG_OK;
}

ig_status ig_file_map(ig_ctx *c, const char *path, ig_file **out) {
  *out = NULL;
  ig_file *f = ig_mem_new(c->alloc, sizeof *f);
  if (!f) return ig_fail(c, IG_NOMEM, "out of memory");
  f->alloc = c->alloc;
  f->ref.destroy = file_destroy;
  ig_ref_retain(&f->ref);
  // O_NONBLOCK: opening a pipe must fail below, not hang here.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ig_status st =
      fd < 0 ? ig_fail(c, IG_IO, "%s: %s", path, strerror(errno)) : map_fd(c, path, fd, f);
  if (fd >= 0) (void)close(fd);
  if (st != IG_OK) {
    ig_file_release(f);
    return st;
  }
  *out = f;
  return IG_OK;
}

// Component by component, so that no part of the path can be a link. Always -1 with errno set, or a
// file.
static int open_below(int dir, const char *path) {
  int at = dup(dir);
  while (at >= 0) {
    const char *slash = strchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : strlen(path);
    char part[256];
    if (n == 0 || n >= sizeof part || (n == 2 && memcmp(path, "..", 2) == 0)) {
      (void)close(at);
      errno = EXDEV;
      return -1;
    }
    memcpy(part, path, n);
    part[n] = 0;
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    int next = openat(at, part, slash ? flags | O_DIRECTORY : flags);
    int why = errno;
    (void)close(at);
    errno = why;
    if (!slash || next < 0) return next;
    at = next;
    path = slash + 1;
  }
  return -1;
}

static ig_status map_below(ig_ctx *c, const char *folder, const char *path, ig_file *f) {
  int dir = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (dir < 0) return ig_fail(c, IG_IO, "%s: %s", folder, strerror(errno));
  int fd = open_below(dir, path);
  int why = errno;
  (void)close(dir);
  if (fd < 0) {
    return ig_fail(c, IG_IO, "%s in %s: %s", path, folder,
                   why == ELOOP ? "is a symbolic link" : strerror(why));
  }
  struct stat info;
  ig_status st = map_fd(c, path, fd, f);
  if (st == IG_OK && (fstat(fd, &info) != 0 || info.st_nlink != 1)) {
    st = ig_fail(c, IG_IO, "%s in %s: has more than one hard link", path, folder);
  }
  (void)close(fd);
  return st;
}

ig_status ig_file_map_beneath(ig_ctx *c, const char *folder, const char *path, ig_file **out) {
  *out = NULL;
  ig_file *f = ig_mem_new(c->alloc, sizeof *f);
  if (!f) return ig_fail(c, IG_NOMEM, "out of memory");
  f->alloc = c->alloc;
  f->ref.destroy = file_destroy;
  ig_ref_retain(&f->ref);
  ig_status st = map_below(c, folder, path, f);
  if (st != IG_OK) {
    ig_file_release(f);
    return st;
  }
  *out = f;
  return IG_OK;
}

static void copy_destroy(ig_ref *self) {
  ig_file *f = (ig_file *)self;
  ig_mem_free(f->alloc, (void *)f->bytes.at, f->bytes.n + 1);
  ig_mem_free(f->alloc, f, sizeof *f);
}

static void slice_destroy(ig_ref *self) {
  ig_file *f = (ig_file *)self;
  ig_file_release(f->whole);
  ig_mem_free(f->alloc, f, sizeof *f);
}

ig_status ig_file_copy(ig_ctx *c, ig_bytes bytes, ig_file **out) {
  ig_file *f = ig_mem_new(c->alloc, sizeof *f);
  uint8_t *at = f ? ig_mem_new(c->alloc, bytes.n + 1) : NULL;
  *out = NULL;
  if (!at) {
    ig_mem_free(c->alloc, f, sizeof *f);
    return ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (bytes.n) memcpy(at, bytes.at, bytes.n);
  f->alloc = c->alloc;
  f->bytes = (ig_bytes){at, bytes.n};
  f->ref.destroy = copy_destroy;
  ig_ref_retain(&f->ref);
  *out = f;
  return IG_OK;
}

ig_status ig_file_slice(ig_ctx *c, ig_file *whole, ig_bytes bytes, ig_file **out) {
  ig_file *f = ig_mem_new(c->alloc, sizeof *f);
  *out = f;
  if (!f) return ig_fail(c, IG_NOMEM, "out of memory");
  f->alloc = c->alloc;
  f->bytes = bytes;
  f->whole = whole;
  f->ref.destroy = slice_destroy;
  ig_ref_retain(&f->ref);
  ig_ref_retain(&whole->ref);
  return IG_OK;
}

ig_sink ig_sink_memory(ig_alloc alloc) {
  return (ig_sink){.alloc = alloc, .fd = -1};
}

// Devices and pipes cannot be replaced by renaming: they are written directly. A symbolic link is
// followed, so that the file it names is replaced and not the link.
static ig_status open_target(ig_ctx *c, const char *path, ig_sink *s) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return ig_fail(c, IG_IO, "%s: is a directory", path);
    s->fd = open(path, O_WRONLY | O_CLOEXEC);
    return s->fd < 0 ? ig_fail(c, IG_IO, "%s: %s", path, strerror(errno)) : IG_OK;
  }
  char *real = lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
  const char *target = real ? real : path;
  size_t n = strlen(target) + 1;
  s->target_size = n + n + TEMP_SUFFIX;
  s->target = ig_mem_new(s->alloc, s->target_size);
  if (!s->target) {
    free(real);
    return ig_fail(c, IG_NOMEM, "out of memory");
  }
  memcpy(s->target, target, n);
  free(real);
  for (int i = 0; i < TEMP_TRIES && s->fd < 0; i++) {
    memcpy(s->target + n, s->target, n - 1);
    (void)snprintf(s->target + n + n - 1, TEMP_SUFFIX, ".%ld-%d.tmp", (long)getpid(), i);
    s->fd = open(s->target + n, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (s->fd < 0 && errno != EEXIST) break;
  }
  return s->fd < 0 ? ig_fail(c, IG_IO, "%s: %s", path, strerror(errno)) : IG_OK;
}

ig_status ig_sink_file(ig_ctx *c, const char *path, ig_sink *out) {
  *out = ig_sink_memory(c->alloc);
  ig_status st = open_target(c, path, out);
  if (st == IG_OK && !ig_mem_grow(c->alloc, (void **)&out->at, &out->cap, 1, SINK_BUFFER)) {
    st = ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (st != IG_OK) ig_sink_drop(out);
  return st;
}

ig_status ig_sink_call(ig_ctx *c, bool (*write)(void *, const void *, size_t), void *user,
                       ig_sink *out) {
  *out = ig_sink_memory(c->alloc);
  out->write = write;
  out->user = user;
  if (ig_mem_grow(c->alloc, (void **)&out->at, &out->cap, 1, SINK_BUFFER)) return IG_OK;
  return ig_fail(c, IG_NOMEM, "out of memory");
}

static void write_all(ig_sink *s, const uint8_t *data, size_t n) {
  if (s->write) {
    if (n && !s->error && !s->write(s->user, data, n)) s->error = EIO;
    return;
  }
  while (n && !s->error) {
    ssize_t done = write(s->fd, data, n < (1u << 30) ? n : (1u << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      s->error = errno;
      return;
    }
    data += done;
    n -= (size_t)done;
  }
}

void ig_sink_put(ig_sink *s, const void *data, size_t n) {
  if (s->error || n == 0) return;
  s->total += n;
  if ((s->fd >= 0 || s->write) && s->n + n > s->cap) {
    write_all(s, s->at, s->n);
    s->n = 0;
    if (n >= s->cap) {
      write_all(s, data, n);
      return;
    }
  }
  if (n > SIZE_MAX / 2 - s->n || !ig_mem_grow(s->alloc, (void **)&s->at, &s->cap, 1, s->n + n)) {
    s->error = ENOMEM;
    return;
  }
  memcpy(s->at + s->n, data, n);
  s->n += n;
}

void ig_sink_zeros(ig_sink *s, size_t n) {
  static const uint8_t zeros[64];
  for (; n > sizeof zeros; n -= sizeof zeros) ig_sink_put(s, zeros, sizeof zeros);
  ig_sink_put(s, zeros, n);
}

static const char *temporary(const ig_sink *s) {
  return s->target + strlen(s->target) + 1;
}

static ig_status told(ig_ctx *c, const ig_sink *s) {
  const char *name = s->target ? s->target : "output";
  if (s->error == ENOMEM) return ig_fail(c, IG_NOMEM, "out of memory");
  return s->error ? ig_fail(c, IG_IO, "%s: %s", name, strerror(s->error)) : IG_OK;
}

// Some file systems do not support it; then the rename is as safe as they make it.
static bool sync_fd(int fd) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

ig_status ig_sink_finish(ig_ctx *c, ig_sink *s) {
  if (s->write || s->fd >= 0) {
    write_all(s, s->at, s->n);
    s->n = 0;
  }
  if (s->fd >= 0) {
    if (s->target && !s->error && !sync_fd(s->fd)) s->error = errno;
    // A full disk may be reported only here.
    if (close(s->fd) != 0 && !s->error) s->error = errno;
    s->fd = -1;
    if (s->target && s->error) (void)unlink(temporary(s));
    s->written = s->target && !s->error;
  }
  return told(c, s);
}

// The rename itself must survive a crash. It has succeeded, so failures here are not errors.
static void sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) + 1 : 0;
  char folder[4096] = ".";
  if (n >= sizeof folder) return;
  if (n) {
    memcpy(folder, path, n);
    folder[n] = 0;
  }
  int fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  (void)fsync(fd);
  (void)close(fd);
}

ig_status ig_sink_close(ig_ctx *c, ig_sink *s) {
  IG_RETURN_IF_ERR(ig_sink_finish(c, s));
  if (!s->written) return IG_OK;
  s->written = false;
  if (rename(temporary(s), s->target) != 0) {
    s->error = errno;
    (void)unlink(temporary(s));
    return told(c, s);
  }
  sync_folder(s->target);
  return IG_OK;
}

void ig_sink_drop(ig_sink *s) {
  if (s->fd >= 0) (void)close(s->fd);
  if (s->target && (s->fd >= 0 || s->written)) (void)unlink(temporary(s));
  ig_mem_free(s->alloc, s->at, s->cap);
  ig_mem_free(s->alloc, s->target, s->target_size);
  *s = ig_sink_memory(s->alloc);
}

ig_status ig_file_write(ig_ctx *c, const char *path, const void *data, size_t n) {
  ig_sink s;
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &s));
  ig_sink_put(&s, data, n);
  ig_status st = ig_sink_close(c, &s);
  ig_sink_drop(&s);
  return st;
}
