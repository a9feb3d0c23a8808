// SPDX-License-Identifier: Apache-2.0
// Determines the kind of file: the zip container since PyTorch 1.6, or the older format. Other
// files are rejected by name, with a pointer to the right reader.
#include <string.h>

#include "arrays/legacy.h"
#include "arrays/torch_file.h"
#include "arrays/torch_zip.h"
#include "base/cause.h"
#include "base/options.h"
#include "codec/bits.h"

enum { TAR_MAGIC = 257 };

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text);
  size_t k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

// Archives of other kinds, and the functions that read them.
static ig_status refuse_others(const ig_torch_zip *z) {
  ig_ctx *c = z->c;
  if (ig_zip_find(&z->zip, "serialized_exported_program.json") ||
      ig_torch_zip_find(z, "archive_format")) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: an exported program (.pt2), not a file of torch.save; load it with "
                   "torch.export.load",
                   z->name);
  }
  if (ig_torch_zip_find(z, "constants.pkl")) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: a TorchScript archive, not a file of torch.save; load it with "
                   "torch.jit.load (ingot.load_state_dict reads its weights)",
                   z->name);
  }
  if (ig_torch_zip_find(z, "data.pkl")) return IG_OK;
  for (size_t i = 0; i < z->zip.n; i++) {
    if (!ends_with(z->zip.entries[i].name, ".npy")) continue;
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: NumPy arrays (.npz), not a file of torch.save; ingot.load_file reads them",
                   z->name);
  }
  return ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL,
                 "%s: a zip archive, but not one of torch.save: it has no 'data.pkl'", z->name);
}

static ig_status read_zip(ig_ctx *c, const char *name, ig_bytes in, ig_file *owner,
                          const ig_unpack *proto, ig_object **out) {
  ig_torch_zip z;
  IG_RETURN_IF_ERR(ig_torch_zip_open(c, name, in, owner, &proto->limits, false, &z));
  ig_status st = refuse_others(&z);
  if (st == IG_OK) st = ig_torch_zip_check(&z);
  if (st == IG_OK) st = ig_torch_zip_unpickle(&z, proto, "data.pkl", "data", out);
  ig_torch_zip_free(&z);
  return st;
}

// ---- kind of file

static ig_status refuse_unknown(ig_ctx *c, const char *name, ig_bytes in) {
  const uint8_t *p = in.at;
  size_t n = in.n;
  if (n >= 8 && memcmp(p, "PYTORCH1", 8) == 0) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: the container PYTORCH1 from before the zip format is not read; save the "
                   "file again with PyTorch 1.6 or newer",
                   name);
  }
  if (n > TAR_MAGIC + 5 && memcmp(p + TAR_MAGIC, "ustar", 5) == 0) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: a tar archive of PyTorch 0.1 is not read; save the file again", name);
  }
  if (n > 8 && ig_load64(p) < n && p[8] == '{') {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: a safetensors file, not one of torch.save; ingot.load_file reads it", name);
  }
  if (n > 1 && p[0] == 0x80 && p[1] <= 5) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_OTHER_LOADER,
                   "%s: a pickle that torch.save did not write; only its files are read", name);
  }
  return ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL,
                 "%s: neither a zip archive nor a legacy file of torch.save (%zu bytes)", name, n);
}

ig_status ig_torch_parse_with(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                              const ig_torch_options *o, ig_object **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_torch_options all;
  IG_OPTIONS_TAKE(&all, o, place);
  ig_unpack proto = {.limits = ig_limits_of(c, all.limits),
                     .allow = all.allow,
                     .allow_user = all.user,
                     .meta = all.meta,
                     .place = all.place};
  if (bytes.n >= 4 && memcmp(bytes.at, "PK\3\4", 4) == 0) {
    return read_zip(c, name, bytes, owner, &proto, out);
  }
  if (ig_legacy_is(bytes)) return ig_legacy_read(c, name, bytes, owner, &proto, out);
  return refuse_unknown(c, name, bytes);
}

ig_status ig_torch_parse(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                         const ig_limits *limits, ig_object **out) {
  ig_torch_options o = {.size = sizeof o, .limits = limits};
  return ig_torch_parse_with(c, name, bytes, owner, &o, out);
}

ig_status ig_torch_load(ig_ctx *c, const char *path, const ig_torch_options *o, ig_object **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &f));
  ig_status st = ig_torch_parse_with(c, path, f->bytes, f, o, out);
  ig_file_release(f);
  return st;
}
