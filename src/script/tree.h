// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a script: Python's syntax, all of it that a function can contain. What
// TorchScript does not have is a node like any other here and refused, by its kind, by whoever
// compiles it.
#ifndef SCRIPT_TREE_H_
#define SCRIPT_TREE_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "script/token.h"

// Children in order; a child in brackets may be NULL, dots stand for any number.
#define IG_TREE_LIST(X)                                                                     \
  /* expressions */                                                                         \
  X(NAME)      /* text */                                                                   \
  X(INT)       /* i; text: as written */                                                    \
  X(BIG_INT)   /* text: more than 64 bits hold */                                           \
  X(FLOAT)     /* f */                                                                      \
  X(IMAGINARY) /* f */                                                                      \
  X(STRING)    /* text, n_text bytes */                                                     \
  X(BYTES)     /* text */                                                                   \
  X(FORMAT)    /* f"...": STRING or FIELD ... */                                            \
  X(FIELD)     /* of it: value, [spec: FORMAT]; text: "r" of !r, or "" */                   \
  X(TRUE)                                                                                   \
  X(FALSE)                                                                                  \
  X(NONE)                                                                                   \
  X(ELLIPSIS)                                                                               \
  X(ATTRIBUTE)     /* value; text */                                                        \
  X(SUBSCRIPT)     /* value, index: maybe a SLICE, or a TUPLE with SLICEs */                \
  X(SLICE)         /* [start], [stop], [step] */                                            \
  X(CALL)          /* callee, argument: any expression, STARRED, KEYWORD, MAPPING... */     \
  X(KEYWORD)       /* value; text */                                                        \
  X(MAPPING)       /* **value, in a call or a dict */                                       \
  X(STARRED)       /* *value */                                                             \
  X(UNARY)         /* op: SUB ADD BIT_NOT NOT; value */                                     \
  X(BINARY)        /* op; left, right */                                                    \
  X(COMPARE)       /* op; left, right. a < b < c is AND of two */                           \
  X(AND)           /* left, right */                                                        \
  X(OR)            /* left, right */                                                        \
  X(TERNARY)       /* condition, value, other */                                            \
  X(LAMBDA)        /* PARAMETERS, value */                                                  \
  X(LIST)          /* element... */                                                         \
  X(TUPLE)         /* element... */                                                         \
  X(SET)           /* element... */                                                         \
  X(DICT)          /* key, value... or MAPPING, NULL */                                     \
  X(LIST_COMP)     /* element, GENERATOR... */                                              \
  X(SET_COMP)      /* element, GENERATOR... */                                              \
  X(DICT_COMP)     /* key, value, GENERATOR... */                                           \
  X(GENERATOR_EXP) /* element, GENERATOR... */                                              \
  X(GENERATOR)     /* for target in values if condition...: target, values, condition... */ \
  X(NAMED)         /* name := value: NAME, value */                                         \
  X(YIELD)         /* [value]; op: FROM or NONE */                                          \
  X(AWAIT)         /* value */                                                              \
  /* statements */                                                                          \
  X(BLOCK)      /* statement... */                                                          \
  X(EXPRESSION) /* value */                                                                 \
  X(ASSIGN)     /* value, target... */                                                      \
  X(ANNOTATED)  /* target, type, [value] */                                                 \
  X(AUGMENTED)  /* op: ADD...; target, value */                                             \
  X(RETURN)     /* [value] */                                                               \
  X(IF)         /* condition, BLOCK, [BLOCK] */                                             \
  X(WHILE)      /* condition, BLOCK, [else BLOCK] */                                        \
  X(FOR)        /* target, values, BLOCK, [else BLOCK] */                                   \
  X(WITH)       /* BLOCK, ITEM... */                                                        \
  X(ITEM)       /* value, [target] */                                                       \
  X(RAISE)      /* [value], [cause] */                                                      \
  X(ASSERT)     /* condition, [message] */                                                  \
  X(PASS)                                                                                   \
  X(BREAK)                                                                                  \
  X(CONTINUE)                                                                               \
  X(DELETE)       /* target... */                                                           \
  X(GLOBAL)       /* NAME... */                                                             \
  X(NONLOCAL)     /* NAME... */                                                             \
  X(IMPORT)       /* ALIAS... */                                                            \
  X(IMPORT_FROM)  /* ALIAS...; text: the module */                                          \
  X(ALIAS)        /* [NAME]; text: dotted name, or "*" */                                   \
  X(TRY)          /* BLOCK, [else BLOCK], [finally BLOCK], HANDLER... */                    \
  X(HANDLER)      /* [class], [NAME], BLOCK */                                              \
  X(DEF)          /* PARAMETERS, [result type], BLOCK, decorator...; text: name */          \
  X(PARAMETERS)   /* PARAMETER... */                                                        \
  X(PARAMETER)    /* [type], [default]; text: name; op: MUL *args, POW **kwargs,            \
                     SEMICOLON keyword-only */                                              \
  X(CLASS)        /* BLOCK, base...; text: name */                                          \
  X(TYPE_COMMENT) /* text behind "# type:" */

typedef enum ig_tree_kind {
#define X(name) IG_TREE_##name,
  IG_TREE_LIST(X)
#undef X
      IG_TREE_COUNT
} ig_tree_kind;

typedef struct ig_tree ig_tree;
struct ig_tree {
  ig_tree_kind kind;
  ig_token_kind op;
  ig_srange range;
  const char *text;  // ends with a zero byte
  size_t n_text;
  union {
    int64_t i;
    double f;
  };
  size_t n;
  ig_tree **at;
  size_t height;  // of the tree below, 0 for a leaf; bounded, so that recursive walks are safe
};

const char *ig_tree_kind_text(ig_tree_kind kind);  // "BINARY"

// Statements of a source as a BLOCK, in the arena; NULL after an error. The nodes refer to the
// source, which must outlive them. IG_SYNTAX quotes the place; IG_LIMIT: nested too deeply.
ig_tree *ig_tree_parse(ig_ctx *c, ig_arena *arena, const ig_source *source);
// The same for one expression.
ig_tree *ig_tree_parse_expression(ig_ctx *c, ig_arena *arena, const ig_source *source);

// `(BINARY + (NAME x) (INT 1))`: for tests.
void ig_tree_print(ig_str *s, const ig_tree *t);

#endif
