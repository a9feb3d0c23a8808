// SPDX-License-Identifier: Apache-2.0
// Status codes: one list defines the enum, the texts and Python's exception table.
#ifndef INGOT_STATUS_H_
#define INGOT_STATUS_H_

#if defined(__GNUC__)
#define IG_API __attribute__((visibility("default")))
#define IG_MUST_USE __attribute__((warn_unused_result))
#define IG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define IG_API
#define IG_MUST_USE
#define IG_PRINTF(fmt, args)
#endif

// Declarations have C linkage in C++ programs.
#if defined(__cplusplus)
#define IG_BEGIN_DECLS extern "C" {
#define IG_END_DECLS }
#else
#define IG_BEGIN_DECLS
#define IG_END_DECLS
#endif

// Marks what ISO C99 or ISO C++ do not have, though every compiler does: unnamed unions and
// structs.
#if defined(__GNUC__)
#define IG_EXTENSION __extension__
#else
#define IG_EXTENSION
#endif

IG_BEGIN_DECLS

// X(name, text, Python exception)
#define IG_STATUS_LIST(X)                                                    \
  X(OK, "ok", RuntimeError)                                                  \
  X(NOMEM, "out of memory", MemoryError)                                     \
  X(RUNTIME, "runtime error", RuntimeError)                                  \
  X(INVALID, "invalid argument", ValueError)                                 \
  X(BAD_TYPE, "wrong type", TypeError)                                       \
  X(MISMATCH, "shape mismatch", RuntimeError)                                \
  X(BAD_INDEX, "index out of range", IndexError)                             \
  X(OVERFLOW, "integer overflow", OverflowError)                             \
  X(SYNTAX, "malformed text", ValueError)                                    \
  X(NOT_FOUND, "not found", AttributeError)                                  \
  X(UNSUPPORTED, "unsupported", NotImplementedError)                         \
  X(ASSERTION, "assertion failed", AssertionError)                           \
  X(IO, "file error", OSError)                                               \
  X(DATA_DEPENDENT, "data-dependent guard", RuntimeError)                    \
  X(BRANCH, "functions of a higher-order operator do not fit", RuntimeError) \
  X(USER_ERROR, "wrong program or inputs", RuntimeError)                     \
  X(CONSTRAINT, "constraint violated", RuntimeError)                         \
  X(HOST, "error in the host language", RuntimeError)                        \
  X(OUTPUT_DATA, "a result stands in the data", RuntimeError)                \
  X(OUTPUT_SHAPE, "the sizes of a result stand in the data", RuntimeError)   \
  X(LIMIT, "limit exceeded", RuntimeError)                                   \
  X(CANCELLED, "cancelled", KeyboardInterrupt)

typedef enum ig_status {
#define X(name, text, exception) IG_##name,
  IG_STATUS_LIST(X)
#undef X
} ig_status;

IG_API const char *ig_status_text(ig_status st);

IG_END_DECLS

#endif
