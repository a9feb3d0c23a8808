// SPDX-License-Identifier: Apache-2.0
// Files: private mappings that live as long as anything refers to them, and sinks that bytes are
// streamed into. A file sink writes under a temporary name beside the target, syncs the data to
// disk and renames the file when it is closed; then the folder is synced too. A reader therefore
// never sees a partial file, even after a crash, and a failure leaves the old file in place.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <sys/types.h>

#include "base/ctx.h"

// A borrowed range of bytes.
typedef struct ig_bytes {
  const uint8_t *at;
  size_t n;
} ig_bytes;

// A mapped file. Retain `ref` to keep the mapping alive; nothing in it refers to a context. Writing
// to the bytes is allowed and changes only this process's copy of the page.
typedef struct ig_file {
  ig_ref ref;
  ig_alloc alloc;
  ig_bytes bytes;
  struct ig_file *whole;  // the file that it is a part of; NULL: none
} ig_file;

// The caller owns one reference of *out. Only regular files can be mapped; an empty one has n 0.
// Truncating a file while it is mapped is the owner's mistake, as everywhere with mappings.
IG_MUST_USE ig_status ig_file_map(ig_ctx *c, const char *path, ig_file **out);
// A file whose name comes from another file and is therefore untrusted: opened below `folder`,
// without following symbolic links; it must be regular and have a single hard link.
IG_MUST_USE ig_status ig_file_map_beneath(ig_ctx *c, const char *folder, const char *path,
                                          ig_file **out);
// The same over memory: a copy of the bytes, or a part of another file, which it keeps alive.
IG_MUST_USE ig_status ig_file_copy(ig_ctx *c, ig_bytes bytes, ig_file **out);
IG_MUST_USE ig_status ig_file_slice(ig_ctx *c, ig_file *whole, ig_bytes bytes, ig_file **out);
static inline void ig_file_release(ig_file *f) {
  if (f) ig_ref_release(&f->ref);
}

// An output stream. Failures are sticky and reported by ig_sink_close.
typedef struct ig_sink {
  ig_alloc alloc;
  uint8_t *at;  // in memory: all bytes; to a file: those not written yet
  size_t n;
  size_t cap;
  uint64_t total;  // bytes put so far
  int fd;          // -1: in memory
  // If not NULL, bytes are written here instead, in large chunks; false: an error that the host has
  // set.
  bool (*write)(void *user, const void *data, size_t n);
  void *user;
  int error;     // errno of the first failure
  char *target;  // one block: target name, then temp name; NULL: no file to rename
  size_t target_size;
  bool written;  // complete and on disk, under the temporary name
} ig_sink;

ig_sink ig_sink_memory(ig_alloc alloc);
// Passes the bytes to `write` as they come; ig_sink_close passes the rest.
IG_MUST_USE ig_status ig_sink_call(ig_ctx *c, bool (*write)(void *, const void *, size_t),
                                   void *user, ig_sink *out);
IG_MUST_USE ig_status ig_sink_file(ig_ctx *c, const char *path, ig_sink *out);
void ig_sink_put(ig_sink *s, const void *data, size_t n);
void ig_sink_zeros(ig_sink *s, size_t n);

// Flushes the file, which keeps its temporary name until ig_sink_close. For files that belong
// together: nothing is replaced before all of them are written.
IG_MUST_USE ig_status ig_sink_finish(ig_ctx *c, ig_sink *s);
// Finishes the file. A memory sink keeps its bytes (at, n) until ig_sink_drop.
IG_MUST_USE ig_status ig_sink_close(ig_ctx *c, ig_sink *s);
// Frees everything; removes a file that was not closed. Harmless after close.
void ig_sink_drop(ig_sink *s);

// Writes a whole file at once.
IG_MUST_USE ig_status ig_file_write(ig_ctx *c, const char *path, const void *data, size_t n);

#endif
