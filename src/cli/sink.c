// SPDX-License-Identifier: Apache-2.0
// Arrays that the command writes. Dtypes that NumPy lacks are written as their bits.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"

static ig_dtype numpy_dtype(ig_dtype d) {
  return d == IG_BF16 ? IG_U16 : d == IG_F8E4M3FN || d == IG_F8E5M2 ? IG_U8 : d;
}

// ---- .npy

static const char *numpy_code(ig_dtype d) {
  static const char *const codes[IG_DTYPE_COUNT] = {
      [IG_BOOL] = "|b1", [IG_U8] = "|u1",  [IG_I8] = "|i1",  [IG_I16] = "<i2",  [IG_I32] = "<i4",
      [IG_I64] = "<i8",  [IG_U16] = "<u2", [IG_U32] = "<u4", [IG_U64] = "<u8",  [IG_F16] = "<f2",
      [IG_F32] = "<f4",  [IG_F64] = "<f8", [IG_C64] = "<c8", [IG_C128] = "<c16"};
  return codes[d] ? codes[d] : "|u1";
}

static size_t npy_head(const ig_tensor *t, char *text, size_t cap) {
  char shape[IG_MAX_DIM * 22 + 4] = "";
  const uint16_t one = 1;
  const bool is_big = *(const uint8_t *)&one == 0;  // elements are written as they are in memory
  size_t n = 0;
  int ndim = ig_tensor_ndim(t);
  for (int d = 0; d < ndim; d++) {
    n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%" PRId64 "%s", d ? ", " : "",
                          ig_tensor_size(t, d).value, ndim == 1 ? "," : "");
  }
  const char *code = numpy_code(ig_tensor_dtype(t));
  int len =
      snprintf(text + 10, cap - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
               code[0] == '<' && is_big ? '>' : code[0], code + 1, shape);
  size_t total = ((size_t)len + 10 + 1 + 63) / 64 * 64;
  if (total > cap) return 0;
  memset(text + 10 + len, ' ', total - 10 - (size_t)len);
  text[total - 1] = '\n';
  static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
  memcpy(text, magic, sizeof magic);
  text[8] = (char)((total - 10) & 255);
  text[9] = (char)((total - 10) >> 8);
  return total;
}

static bool write_npy(FILE *to, const ig_tensor *t) {
  char head[2048];
  size_t n = npy_head(t, head, sizeof head);
  size_t bytes = (size_t)ig_tensor_numel(t) * ig_dtype_size(ig_tensor_dtype(t));
  return n && fwrite(head, 1, n, to) == n &&
         (bytes == 0 || fwrite(ig_tensor_data(t), 1, bytes, to) == bytes);
}

int cli_save_npy(ig_ctx *c, const char *path, ig_tensor *t) {
  t = cli_dense(c, cli_as_dtype(c, t, numpy_dtype(ig_tensor_dtype(t))));
  if (!t) return cli_fail(c, path, CLI_FAILED);
  cli_staged s = {.target = path};
  bool out = strcmp(path, "-") == 0;
  int code = out ? CLI_OK : cli_staged_open(path, &s);
  if (code != CLI_OK) return code;
  FILE *to = out ? stdout : fopen(s.files.path, "wb");
  bool ok = to && write_npy(to, t);
  int error = errno;
  if (to && !out && fclose(to) != 0 && ok) {
    ok = false;
    error = errno;
  }
  code = !ok   ? cli_error(CLI_IO, "%s: %s", path, strerror(error))
         : out ? CLI_OK
               : cli_staged_keep(&s);
  cli_staged_drop(&s);
  return code;
}

// ---- text

int cli_save_text(const char *path, const char *text) {
  size_t n = strlen(text);
  if (strcmp(path, "-") == 0) {
    return fwrite(text, 1, n, stdout) == n ? CLI_OK
                                           : cli_error(CLI_IO, "stdout: %s", strerror(errno));
  }
  cli_staged s;
  int code = cli_staged_open(path, &s);
  if (code != CLI_OK) return code;
  FILE *to = fopen(s.files.path, "wb");
  bool ok = to && fwrite(text, 1, n, to) == n;
  int error = errno;
  if (to && fclose(to) != 0 && ok) {
    ok = false;
    error = errno;
  }
  code = ok ? cli_staged_keep(&s) : cli_error(CLI_IO, "%s: %s", path, strerror(error));
  cli_staged_drop(&s);
  if (code == CLI_OK) {
    char size[32];
    cli_out("%s: %s\n", path, cli_bytes(n, size, sizeof size));
  }
  return code;
}

// ---- stdout

// The writers need a file that they can rename: a temporary one, which is then copied.
static int copy_out(const char *path) {
  char block[1 << 16];
  FILE *from = fopen(path, "rb");
  size_t n = 0;
  bool ok = from != NULL;
  while (ok && (n = fread(block, 1, sizeof block, from)) > 0) {
    ok = fwrite(block, 1, n, stdout) == n;
  }
  if (from) (void)fclose(from);
  return ok ? CLI_OK : cli_error(CLI_IO, "stdout: %s", strerror(errno));
}

int cli_to_stdout(const char *suffix, int (*save)(const char *path, void *user), void *user) {
  char folder[200];
  char path[256];
  const char *where = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%.150s/ingot-XXXXXX", where ? where : "/tmp");
  if (!ig_host_temporary(folder)) return cli_error(CLI_IO, "%s: %s", folder, strerror(errno));
  (void)snprintf(path, sizeof path, "%s/out%s", folder, suffix);
  int code = save(path, user);
  if (code == CLI_OK) code = copy_out(path);
  (void)remove(path);
  (void)remove(folder);
  return code;
}

// ---- any

typedef struct job {
  ig_ctx *c;
  const ig_weight *list;
  size_t n;
} job;

static int save(const char *path, void *user) {
  const job *j = user;
  ig_tensor_list list = {.at = j->list, .n = j->n};
  bool numpy = !cli_has_suffix(path, ".safetensors") && !cli_has_suffix(path, ".pt");
  ig_status st =
      numpy ? ig_tensors_write_bits(j->c, path, &list) : ig_tensors_write(j->c, path, &list);
  return st == IG_OK ? CLI_OK : cli_fail(j->c, path, CLI_FAILED);
}

int cli_save_arrays(ig_ctx *c, const char *path, const ig_weight *list, size_t n) {
  if (cli_has_suffix(path, ".npy")) {
    if (n == 1 && list[0].tensor) return cli_save_npy(c, path, list[0].tensor);
    if (n != 1) {
      return cli_error(CLI_USAGE, "%s: a .npy contains one array, but there are %zu; write a .npz",
                       path, n);
    }
  }
  job j = {c, list, n};
  return strcmp(path, "-") == 0 ? cli_to_stdout(".npz", save, &j) : save(path, &j);
}
