// SPDX-License-Identifier: Apache-2.0
// Compiled models: a model of another kind, unchanged, and the weights that its plan packs, in one
// file that is mapped (docs/formats.md has the layout). Opening one reads the head; what is planned
// and where weights are packed follows from the model as always, and packed weights that the file
// has are used where they lie.
//
// The file says nothing about the shape of what is packed: a plan asks for the weights of a layer
// by a key, and takes memory of exactly the size that the layer needs. A wrong file therefore gives
// wrong numbers, never an access outside of it.
#ifndef MODEL_COMPILED_H_
#define MODEL_COMPILED_H_

#include "base/cpu.h"
#include "base/file.h"
#include "model/model.h"
#include "rt/packs.h"

enum {
  IG_COMPILED_VERSION = 2,
  IG_COMPILED_HEAD = 64,
  IG_COMPILED_SECTION = 24,
  IG_COMPILED_PACK = 40,
  IG_COMPILED_ALIGN = 4096,
  IG_COMPILED_LEVEL = 16,  // bytes of the name of the instruction set
};

// Kinds of sections.
enum {
  IG_SECTION_MODEL = 1,    // a file of another kind
  IG_SECTION_WEIGHTS = 2,  // of an ONNX model that is without them
};

typedef struct ig_compiled_section {
  uint32_t kind;
  uint32_t crc;
  uint64_t offset;
  uint64_t bytes;
} ig_compiled_section;

typedef struct ig_compiled_pack {
  uint64_t key;
  uint32_t method;
  uint32_t crc;
  double error;
  uint64_t offset;
  uint64_t bytes;
} ig_compiled_pack;

// A file that was opened.
typedef struct ig_compiled {
  ig_file *whole;    // retained
  ig_file *weights;  // retained; NULL: there is no such section
  size_t nsections;
  const ig_compiled_section *sections;
  size_t npacks;
  const ig_compiled_pack *packs;  // by key, ascending
  ig_precision precision;
  bool usable;  // packed for the instruction set of this process
} ig_compiled;

extern const uint8_t ig_compiled_magic[8];
const char *ig_compiled_level(ig_cpu level);  // "avx2"

bool ig_compiled_is(const ig_model *m);
// Reads the head; from then on m->file is the model inside.
IG_MUST_USE ig_status ig_compiled_open(ig_ctx *c, ig_model *m);
// When the model inside has been opened: its plans use what is packed.
IG_MUST_USE ig_status ig_compiled_use(ig_ctx *c, ig_model *m);
IG_MUST_USE ig_status ig_compiled_verify(ig_ctx *c, const ig_model *m);  // checksums
void ig_compiled_close(const ig_compiled *x);                            // NULL is allowed

// The weight of the model that the tensor lies in, and bytes from its beginning; -1: computed.
int64_t ig_compiled_weight(const ig_model *m, const ig_tensor *t, int64_t *offset);

// What a layer's weights are made from, as a number: the same in every process. False after an
// error.
bool ig_compiled_key(ig_ctx *c, const ig_model *m, const ig_pack_source *s, uint64_t *key);

#endif
