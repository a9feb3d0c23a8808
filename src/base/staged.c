// SPDX-License-Identifier: Apache-2.0
// Files before they have been checked, see host.h.
#define _GNU_SOURCE  // realpath
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"

static bool is_plain(const char *path) {
  struct stat info;
  return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

int ig_staged_open(const char *target, ig_staged *s) {
  struct stat info;
  char *real = lstat(target, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(target, NULL) : NULL;
  const char *to = real ? real : target;
  const char *slash = strrchr(to, '/');
  int length = slash ? (int)(slash - to) + 1 : 0;
  const char *name = to + length;
  int n = snprintf(s->folder, sizeof s->folder, "%.*s.ingot-XXXXXX", length, to);
  int error = 0;
  if (!is_plain(to) || !*name) {
    s->folder[0] = 0;
    (void)snprintf(s->path, sizeof s->path, "%s", to);
  } else if (n < 0 || (size_t)n >= sizeof s->folder || strlen(name) > 255) {
    s->folder[0] = 0;
    error = ENAMETOOLONG;
  } else if (!mkdtemp(s->folder)) {
    s->folder[0] = 0;
    error = errno;
  } else {
    (void)snprintf(s->path, sizeof s->path, "%s/%s", s->folder, name);
  }
  free(real);
  return error;
}

static bool sync_path(const char *path, int flags) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return false;
  bool ok = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  return close(fd) == 0 && ok;
}

// Renames, or removes, what is in the folder: the target itself last, so that the files it refers
// to exist before it does.
static int move_files(const ig_staged *s, bool keep) {
  const char *slash = strrchr(s->folder, '/');
  int length = slash ? (int)(slash - s->folder) + 1 : 0;
  const char *main_name = strrchr(s->path, '/') + 1;
  int error = 0;
  for (int last = 0; last < 2; last++) {
    DIR *dir = opendir(s->folder);
    for (struct dirent *e; dir && !error && (e = readdir(dir));) {
      char from[sizeof s->folder + 260];
      char to[sizeof s->folder + 260];
      bool is_main = strcmp(e->d_name, main_name) == 0;
      if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || is_main != (last == 1))
        continue;
      (void)snprintf(from, sizeof from, "%s/%s", s->folder, e->d_name);
      (void)snprintf(to, sizeof to, "%.*s%s", length, s->folder, e->d_name);
      if (keep && (!sync_path(from, 0) || rename(from, to) != 0)) error = errno;
      if (!keep) (void)unlink(from);
    }
    if (dir) (void)closedir(dir);
    if (!dir && keep) error = errno;
  }
  return error;
}

int ig_staged_keep(ig_staged *s) {
  if (!s->folder[0]) return 0;
  int error = move_files(s, true);
  if (error) return error;
  (void)rmdir(s->folder);
  char *slash = strrchr(s->folder, '/');
  if (slash) slash[1] = 0;
  (void)sync_path(slash ? s->folder : ".", O_DIRECTORY);
  s->folder[0] = 0;
  return 0;
}

void ig_staged_drop(ig_staged *s) {
  if (!s->folder[0]) return;
  (void)move_files(s, false);
  (void)rmdir(s->folder);
  s->folder[0] = 0;
}
