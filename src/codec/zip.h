// SPDX-License-Identifier: Apache-2.0
// Zip archives. The reader works on a block of memory (a mapped file) and trusts nothing: every
// count and offset is bounded by its size, the local headers must agree with the central directory,
// members must not overlap, names must not leave the archive. Stored members are returned as slices
// of the block. The writer streams stored members, aligned so that they can be mapped, and is
// deterministic: the same members give the same bytes.
#ifndef CODEC_ZIP_H_
#define CODEC_ZIP_H_

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "ingot/limits.h"

enum {
  IG_ZIP_FREE = 256 << 20,  // bytes that members may unpack to, however small the archive is,
  IG_ZIP_RATIO = 100,       // and as many times its size, unless the caller sets max_inflated
};

typedef struct ig_zip_entry {
  const char *name;  // UTF-8, no NUL inside, no "..", relative
  ig_bytes packed;   // as stored in the archive
  uint64_t offset;   // of its local header in the archive
  uint64_t size;     // unpacked
  uint32_t crc;
  bool deflated;
  bool no_crc;  // PyTorch's writer can omit the checksum
} ig_zip_entry;

typedef struct ig_zip {
  ig_arena arena;
  ig_map index;
  ig_zip_entry *entries;  // in the order of the central directory
  size_t n;
} ig_zip;

// `name` is used in messages. The bytes must outlive the archive. limits NULL: the default ones.
// Names that differ only in case are rejected.
IG_MUST_USE ig_status ig_zip_open(ig_ctx *c, const char *name, ig_bytes bytes,
                                  const ig_limits *limits, ig_zip *out);
// The same for archives whose member names the user chose: names may differ only in case.
IG_MUST_USE ig_status ig_zip_open_any_case(ig_ctx *c, const char *name, ig_bytes bytes,
                                           const ig_limits *limits, ig_zip *out);
void ig_zip_close(ig_zip *z);
const ig_zip_entry *ig_zip_find(const ig_zip *z, const char *name);  // NULL when absent.

// The member's bytes, checked against its checksum: a slice of the archive when it is stored, else
// unpacked into `arena`.
IG_MUST_USE ig_status ig_zip_read(ig_ctx *c, const ig_zip_entry *e, ig_arena *arena, ig_bytes *out);
// The same for a text, JSON or a pickle: within limits (NULL: the context's), including limits on
// expansion. Deflate expands a byte to a thousand, and a parser needs a hundred bytes for each of
// those.
IG_MUST_USE ig_status ig_zip_read_text(ig_ctx *c, const ig_zip_entry *e, const ig_limits *limits,
                                       ig_arena *arena, ig_bytes *out);
// Limits for an archive inside a member: if the member is deflated, its members must not be, so
// that expansion does not multiply.
ig_limits ig_zip_nested_limits(const ig_ctx *c, const ig_zip_entry *e, const ig_limits *limits);
// Reads a stored member once to verify its checksum; nothing else checks it.
IG_MUST_USE ig_status ig_zip_verify(ig_ctx *c, const ig_zip_entry *e);
// Unpacks a deflated member into e->size bytes of `dst` and checks it.
IG_MUST_USE ig_status ig_zip_inflate(ig_ctx *c, const ig_zip_entry *e, uint8_t *dst);

typedef struct ig_zip_writer {
  ig_ctx *c;
  ig_sink *sink;  // borrowed; the archive begins at its current end
  uint64_t base;
  size_t align;
  ig_arena arena;
  ig_map names;
  IG_VEC(struct ig_zip_record) records;
} ig_zip_writer;

enum { IG_ZIP_ALIGN = 64 };  // what PyTorch aligns members to

// align is a power of two up to 4096. The writer must be freed whether or not it was finished.
void ig_zip_writer_init(ig_zip_writer *w, ig_ctx *c, ig_sink *sink, size_t align);
// One member, its data given in parts.
IG_MUST_USE ig_status ig_zip_add(ig_zip_writer *w, const char *name, const ig_bytes *parts,
                                 size_t n);
uint32_t ig_zip_last_crc(const ig_zip_writer *w);  // checksum of the member added last
IG_MUST_USE ig_status ig_zip_add_text(ig_zip_writer *w, const char *name, const char *text);
uint32_t ig_zip_last_crc(const ig_zip_writer *w);  // of the member that was added last
IG_MUST_USE ig_status
ig_zip_finish(ig_zip_writer *w);  // Writes the directory; the sink stays open.
void ig_zip_writer_free(ig_zip_writer *w);

// Shared by both sides: NULL, or what is wrong with a member's name.
const char *ig_zip_name_fault(const char *name, size_t n);

#endif
