// SPDX-License-Identifier: Apache-2.0
// The kinds of model files, one row each, and how they are recognised: by their first bytes and,
// for zip archives, by the names of their members. The file name is not used.
#include <string.h>

#include "base/cause.h"
#include "model/model.h"

static bool begins(const ig_model *m, const void *with, size_t n) {
  return m->file->bytes.n >= n && memcmp(m->file->bytes.at, with, n) == 0;
}

static bool ends(const char *text, const char *with) {
  size_t n = strlen(text);
  size_t k = strlen(with);
  return n >= k && strcmp(text + n - k, with) == 0;
}

static bool has(const ig_model *m, const char *name) {
  return m->is_zip && ig_model_find(m, name) != NULL;
}

static bool is_pt2(const ig_model *m) {
  return has(m, "archive_format") || has(m, "serialized_exported_program.json");
}

static bool has_code(const ig_model *m) {
  size_t root = strlen(m->root);
  for (size_t i = 0; m->is_zip && i < m->zip.n; i++) {
    if (strncmp(m->zip.entries[i].name + root, "code/", 5) == 0) return true;
  }
  return false;
}

static bool is_torchscript(const ig_model *m) {
  return has_code(m) || has(m, "constants.pkl") || has(m, "bytecode.pkl") || has(m, "model.json");
}

static bool is_torch_save(const ig_model *m) {
  return has(m, "data.pkl");
}

// What torch.save wrote before 1.6: pickles one after the other, the first is a magic number.
static bool is_torch_legacy(const ig_model *m) {
  static const uint8_t magic[] = {0x80, 0x02, 0x8a, 0x0a, 'l', 0xfc, 0x9c, 'F',
                                  0xf9, ' ',  'j',  0xa8, 'P', 0x19, '.'};
  return begins(m, magic, sizeof magic);
}

static bool is_npz(const ig_model *m) {
  if (!m->is_zip) return false;
  for (size_t i = 0; i < m->zip.n; i++) {
    if (!ends(m->zip.entries[i].name, ".npy")) return false;
  }
  return true;
}

static bool is_npy(const ig_model *m) {
  return begins(m, "\x93NUMPY", 6);
}

static bool take_varint(const ig_bytes *b, size_t *at, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && *at < b->n; shift += 7) {
    uint8_t byte = b->at[(*at)++];
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

static bool is_safetensors(const ig_model *m) {
  const ig_bytes *b = &m->file->bytes;
  uint64_t head = 0;
  if (b->n < 10) return false;
  for (int i = 0; i < 8; i++) head |= (uint64_t)b->at[i] << (8 * i);
  return head >= 2 && head <= b->n - 8 && b->at[8] == '{';
}

// A protobuf message whose fields are those of ModelProto, with a graph or imported operator sets.
static bool is_onnx(const ig_model *m) {
  const ig_bytes *b = &m->file->bytes;
  size_t at = 0;
  bool telling = false;
  while (at < b->n) {
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!take_varint(b, &at, &tag) || tag >> 3 == 0 || tag >> 3 > 40) return false;
    if ((tag & 7) != 0 && (tag & 7) != 2) return false;
    if (!take_varint(b, &at, &value)) return false;
    if ((tag & 7) == 2) {
      if (value > b->n - at) return false;
      at += (size_t)value;
    }
    telling = telling || tag == (7 << 3 | 2) || tag == (8 << 3 | 2);
  }
  return telling;
}

static const ig_model_format formats[] = {
    {.kind = IG_MODEL_PT2, .detect = is_pt2, .open = ig_model_open_pt2},
    {.kind = IG_MODEL_TORCHSCRIPT,
     .detect = is_torchscript,
     .open = ig_model_open_script,
     .run = ig_model_run_script,
     .start = ig_model_start_script,
     .stop = ig_model_stop_script,
     .verify = ig_model_verify_script,
     .export = ig_model_export_script},
    {.kind = IG_MODEL_TORCH_SAVE, .detect = is_torch_save, .open = ig_model_open_torch},
    {.kind = IG_MODEL_TORCH_LEGACY, .detect = is_torch_legacy, .open = ig_model_open_torch},
    {.kind = IG_MODEL_NPZ, .detect = is_npz, .open = ig_model_open_npz},
    {.kind = IG_MODEL_NPY, .detect = is_npy, .open = ig_model_open_npy},
    {.kind = IG_MODEL_SAFETENSORS, .detect = is_safetensors, .open = ig_model_open_safetensors},
    {.kind = IG_MODEL_ONNX,
     .detect = is_onnx,
     .open = ig_model_open_onnx,
     .run = ig_model_run_onnx,
     .nodes = &ig_model_onnx_nodes,
     .verify = ig_model_verify_onnx,
     .close = ig_model_close_onnx,
     .pure = true},
};
enum { NFORMATS = sizeof formats / sizeof *formats };

// Common files that are not models, by their first bytes.
static const struct {
  const char *bytes;
  const char *text;
} strangers[] = {
    {"PYTORCH1", "an archive from before PyTorch 1.0; save it again with a newer PyTorch"},
    {"version https://git-lfs", "a Git LFS pointer, not the file itself; run: git lfs pull"},
    {"\x1f\x8b", "compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
    {"<", "an HTML or XML page; the download may have failed"},
    {"\x7f"
     "ELF",
     "a compiled program or library; nothing of that kind is loaded"},
    {"{", "JSON text, not a model"},
    {"\x80", "a Python pickle; only what torch.save writes is read"},
    {"\x89HDF", "an HDF5 file (Keras?), which is not read"},
};

static const ig_model_format *no_format(ig_ctx *c, const ig_model *m) {
  static const char expected[] =
      "expected .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot";
  if (m->file->bytes.n == 0) {
    (void)ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL, "%s: the file is empty; %s", m->name, expected);
    return NULL;
  }
  if (m->is_zip) {
    (void)ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL,
                  "%s: a zip archive without a model in it (%zu members); %s", m->name, m->zip.n,
                  expected);
    return NULL;
  }
  for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
    if (!begins(m, strangers[i].bytes, strlen(strangers[i].bytes))) continue;
    (void)ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL, "%s: this is %s", m->name, strangers[i].text);
    return NULL;
  }
  char hex[3 * 8 + 1] = "";
  for (size_t i = 0; i < 8 && i < m->file->bytes.n; i++) {
    static const char digits[] = "0123456789abcdef";
    uint8_t b = m->file->bytes.at[i];
    memcpy(hex + 3 * i, (char[]){' ', digits[b >> 4], digits[b & 15], 0}, 4);
  }
  (void)ig_fail(c, IG_SYNTAX | IG_E_NOT_A_MODEL, "%s: not a model file: it begins with%s; %s",
                m->name, hex, expected);
  return NULL;
}

const ig_model_format *ig_model_detect(ig_ctx *c, const ig_model *m) {
  for (size_t i = 0; i < NFORMATS; i++) {
    if (formats[i].detect(m)) return &formats[i];
  }
  return no_format(c, m);
}

const char *ig_model_kind_word(ig_model_kind k) {
  static const char *const words[] = {
#define X(name, word, text) word,
      IG_MODEL_KIND_LIST(X)
#undef X
  };
  return (unsigned)k < IG_MODEL_KIND_COUNT ? words[k] : "?";
}

const char *ig_model_kind_text(ig_model_kind k) {
  static const char *const texts[] = {
#define X(name, word, text) text,
      IG_MODEL_KIND_LIST(X)
#undef X
  };
  return (unsigned)k < IG_MODEL_KIND_COUNT ? texts[k] : "?";
}
