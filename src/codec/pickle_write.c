// SPDX-License-Identifier: Apache-2.0
// Writing pickle opcodes, protocol 2, in the form that Python's pickler chooses for each value.
#include <string.h>

#include "codec/bits.h"
#include "codec/pickle.h"

enum { PROTO = 0x80, PROTOCOL = 2, LONG1 = 0x8a, LONG4 = 0x8b };

static void put(ig_pickle_writer *w, const void *data, size_t n) {
  ig_str *s = w->out;
  if (s->failed || !ig_mem_grow(s->alloc, (void **)&s->at, &s->cap, 1, s->n + n + 1)) {
    s->failed = true;
    return;
  }
  if (n) memcpy(s->at + s->n, data, n);
  s->n += n;
  s->at[s->n] = 0;
}

void ig_pickle_op(ig_pickle_writer *w, int op) {
  uint8_t byte = (uint8_t)op;
  put(w, &byte, 1);
}

// An opcode and a number of up to 4 bytes behind it.
static void put_number(ig_pickle_writer *w, int op, uint32_t v, size_t width) {
  uint8_t b[5] = {(uint8_t)op};
  ig_store32(b + 1, v);
  put(w, b, 1 + width);
}

void ig_pickle_begin(ig_pickle_writer *w) {
  put_number(w, PROTO, PROTOCOL, 1);
}
void ig_pickle_stop(ig_pickle_writer *w) {
  ig_pickle_op(w, '.');
}

uint32_t ig_pickle_put(ig_pickle_writer *w) {
  uint32_t number = w->memo++;
  if (number < 256) {
    put_number(w, 'q', number, 1);
  } else {
    put_number(w, 'r', number, 4);
  }
  return number;
}

void ig_pickle_get(ig_pickle_writer *w, uint32_t number) {
  if (number < 256) {
    put_number(w, 'h', number, 1);
  } else {
    put_number(w, 'j', number, 4);
  }
}

void ig_pickle_int(ig_pickle_writer *w, int64_t i) {
  if (i >= 0 && i <= UINT8_MAX) {
    put_number(w, 'K', (uint32_t)i, 1);
  } else if (i >= 0 && i <= UINT16_MAX) {
    put_number(w, 'M', (uint32_t)i, 2);
  } else if (i >= INT32_MIN && i <= INT32_MAX) {
    put_number(w, 'J', (uint32_t)i, 4);
  } else {
    uint8_t b[8];
    ig_store64(b, (uint64_t)i);
    size_t n = sizeof b;
    uint8_t sign = i < 0 ? 0xFF : 0;
    while (b[n - 1] == sign && (b[n - 2] ^ sign) < 0x80) n--;
    ig_pickle_big(w, b, n);
  }
}

void ig_pickle_big(ig_pickle_writer *w, const void *bytes, size_t n) {
  if (n < 256) {
    put_number(w, LONG1, (uint32_t)n, 1);
  } else {
    put_number(w, LONG4, (uint32_t)n, 4);
    if (n > INT32_MAX) w->out->failed = true;
  }
  put(w, bytes, n);
}

void ig_pickle_float(ig_pickle_writer *w, double f) {
  uint64_t bits = 0;
  uint8_t b[9] = {'G'};
  memcpy(&bits, &f, sizeof bits);
  for (int i = 8; i > 0; i--, bits >>= 8) b[i] = (uint8_t)bits;
  put(w, b, sizeof b);
}

void ig_pickle_str(ig_pickle_writer *w, const char *text, size_t n) {
  if (n > UINT32_MAX) {
    w->out->failed = true;
    return;
  }
  put_number(w, 'X', (uint32_t)n, 4);
  put(w, text, n);
}

void ig_pickle_global(ig_pickle_writer *w, const char *module, const char *name) {
  ig_pickle_op(w, 'c');
  put(w, module, strlen(module));
  ig_pickle_op(w, '\n');
  put(w, name, strlen(name));
  ig_pickle_op(w, '\n');
}
