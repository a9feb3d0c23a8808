// SPDX-License-Identifier: Apache-2.0
// Malicious pickles: each thing that a loader must refuse is tried once, with the words and the
// offset of the refusal. What real writers of every protocol do is accepted.
#include <stdio.h>

#include "arrays/unpack.h"
#include "heap.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  ig_arena arena;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  f->arena = ig_arena_make(f->c->alloc);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_arena_free(&f->arena);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static ig_tensor *no_storage(ig_unpack *u, const ig_storage_id *id) {
  (void)ig_fail(u->c, IG_SYNTAX, "offset %zu: no storage '%s'", id->at, id->key);
  return NULL;
}

static ig_tensor *real_storage(ig_unpack *u, const ig_storage_id *id) {
  static const uint8_t bytes[64] = {0};
  (void)id;
  return ig_bytes_tensor(u->c, (ig_bytes){bytes, sizeof bytes}, NULL, 1);
}

// The whole way that a pickle of a file goes.
static ig_status load(fixture *f, ig_bytes in, const ig_limits *limits, ig_object **out) {
  ig_unpack un = {.c = f->c,
                  .name = "x",
                  .limits = ig_limits_of(f->c, limits),
                  .storage = no_storage,
                  .meta = true};
  ig_pickle_source source = {
      .name = "x", .in = in, .rule = ig_unpack_rule, .user = &un, .limits = limits};
  ig_pickle *tree = NULL;
  *out = NULL;
  ig_scope s = ig_scope_open(f->c);
  ig_status st = ig_pickle_read(f->c, &source, &f->arena, &tree, NULL);
  if (st == IG_OK) st = ig_unpack_tree(&un, tree, out);
  ig_scope_close(f->c, s);
  return st;
}

typedef struct hostile {
  const char *text;
  size_t n;
  const char *why;
} hostile;
#define CASE(bytes, reason) \
  { bytes, sizeof(bytes) - 1, reason }

static void refuse_all(fixture *f, const hostile *list, size_t n, ig_status want) {
  for (size_t i = 0; i < n; i++) {
    ig_object *o = NULL;
    ig_bytes in = {(const uint8_t *)list[i].text, list[i].n};
    ig_status st = load(f, in, NULL, &o);
    if (st != want) fail_msg("case %zu (%s): %s", i, list[i].why, ig_ctx_error(f->c));
    assert_null(o);
    test_error_has(f->c, list[i].why);
  }
}
#define REFUSE(f, list, want) refuse_all(f, list, sizeof(list) / sizeof *(list), want)

// ---- code

// Every one of these runs code when Python's own pickle module reads it.
static void globals_outside_the_closed_set_are_refused_by_name(void **state) {
  static const hostile list[] = {
      CASE("\x80\x02"
           "cos\nsystem\nX\x02\0\0\0id\x85R.",
           "offset 2: global 'os.system' is not in"),
      CASE("\x80\x02"
           "cposix\nsystem\n.",
           "global 'posix.system'"),
      CASE("cbuiltins\neval\nX\x01\0\0\0001\x85R.", "offset 0: global 'builtins.eval'"),
      CASE("c__builtin__\nexec\n.", "global '__builtin__.exec'"),
      CASE("cbuiltins\ngetattr\n.", "global 'builtins.getattr'"),
      CASE("ctorch.serialization\nload\n.", "global 'torch.serialization.load'"),
      CASE("ctorch.storage\n_load_from_bytes\n.", "global 'torch.storage._load_from_bytes'"),
      CASE("ctorch.hub\nload\n.", "global 'torch.hub.load'"),
      CASE("cnumpy.core.multiarray\n_reconstruct\n.",
           "global 'numpy.core.multiarray._reconstruct'"),
      CASE("ctorch.nn.modules.linear\nLinear\n)\x81.", "global 'torch.nn.modules.linear.Linear'"),
      CASE("c__torch__\nM\n)\x81.", "global '__torch__.M'"),
      // Protocol 4: the name comes from the stack, pieced together.
      CASE("\x80\x04\x8c\x02os\x8c\x06system\x93.", "offset 14: global 'os.system'"),
      CASE("\x80\x04\x8c\x05torch\x8c\x0bhub.load_me\x93.", "global 'torch.hub.load_me'"),
      // Dotted names that begin like an allowed one.
      CASE("ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "_rebuild_tensor_v2.__globals__'"),
      CASE("ccollections\nOrderedDict.__init__\n.", "global 'collections.OrderedDict.__init__'"),
  };
  REFUSE(*state, list, IG_UNSUPPORTED);
}

static void opcodes_that_make_objects_are_refused_by_name(void **state) {
  static const hostile list[] = {
      CASE("Ppid\n.", "offset 0: opcode PERSID is not allowed"),
      CASE("(ios\nsystem\n.", "offset 1: opcode INST is not allowed"),
      CASE("(cos\n", "a line without an end"),
      CASE("(No.", "offset 2: opcode OBJ is not allowed"),
      CASE("\x82\x01.", "opcode EXT1"),
      CASE("\x83\x01\x00.", "opcode EXT2"),
      CASE("\x84\x01\x00\x00\x00.", "opcode EXT4"),
      CASE("\x80\x04N)}\x92.", "offset 5: opcode NEWOBJ_EX"),
      CASE("\x80\x05\x97.", "opcode NEXT_BUFFER"),
      CASE("\x80\x05\x98.", "opcode READONLY_BUFFER"),
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    refuse_all(*state, &list[i], 1, i == 2 ? IG_SYNTAX : IG_UNSUPPORTED);
  }
}

// What is allowed may be used only as what it is.
static void allowed_names_are_not_bent(void **state) {
  static const hostile list[] = {
      // Calling what is no function, with what are no arguments.
      CASE("X\x01\0\0\0a)R.", "offset 7: a call of a string"),
      CASE("](NtR.", "offset 4: a call of a list"),
      CASE("ccollections\nOrderedDict\n]R.", "arguments of 'collections.OrderedDict' are a list"),
      CASE("ctorch\nFloatStorage\n)R.", "'torch.FloatStorage' cannot be called like this"),
      CASE("ctorch\nfloat32\n)R.", "'torch.float32' cannot be called like this"),
      CASE("ctorch.nn.parameter\nParameter\n)R.", "Parameter' cannot be called like this"),
      CASE("ctorch._utils\n_rebuild_tensor_v2\n)\x81.",
           "_rebuild_tensor_v2' cannot be called like"),
      // BUILD on things that have no state: a way to attributes of classes and functions.
      CASE("}}b.", "offset 2: BUILD gives a state to a dictionary"),
      CASE("]}b.", "BUILD gives a state to a list"),
      CASE("X\x01\0\0\0a}b.", "BUILD gives a state to a string"),
      CASE("ctorch\nSize\n}b.", "BUILD gives a state to a global"),
      CASE("ccollections\nOrderedDict\n}b.", "BUILD gives a state to a global"),
      CASE("ctorch\nSize\n)\x85R}b.", "BUILD gives a state to torch.Size"),
      CASE("ccollections\nOrderedDict\n)R}b}b.", "BUILD gives a second state"),
      CASE("ccollections\nOrderedDict\n)RNb.", "attributes of a dictionary are None"),
      // CVE-2026-24747: SETITEM and APPEND on what is neither, here a tensor and a global.
      CASE("](K\x01K\x02u.", "offset 6: items for a dictionary, found a list"),
      CASE("]K\x01K\x02s.", "offset 5: items for a dictionary, found a list"),
      CASE("}K\x01"
           "a.",
           "offset 3: items for a list, found a dictionary"),
      CASE("}(K\x01"
           "e.",
           "items for a list, found a dictionary"),
      CASE(")K\x01"
           "a.",
           "items for a list, found a tuple"),
      CASE("ctorch\nSize\nK\x01K\x02s.", "items for a dictionary, found a global"),
      CASE("ctorch._utils\n_rebuild_tensor_v2\n)RK\x01K\x02s.", "dictionary, found an object"),
      CASE("X\x01\0\0\0aK\x01"
           "a.",
           "items for a list, found a string"),
      CASE("](K\x01\x90.", "items for a set, found a list"),
      // Values that are none.
      CASE("ctorch\nFloatStorage\n.", "'torch.FloatStorage' in place of a value"),
      CASE("ctorch._utils\n_rebuild_tensor_v2\n.", "_rebuild_tensor_v2' in place of a value"),
      CASE("ccollections\nOrderedDict\nK\x01\x85R.", "is made of 1 arguments"),
      CASE("ccollections\nOrderedDict\n]K\x01"
           "a\x85R.",
           "item 0 of collections.OrderedDict is not"),
  };
  REFUSE(*state, list, IG_SYNTAX);
}

// ---- the machine

static void the_stack_and_the_memo_have_bounds(void **state) {
  static const hostile list[] = {
      CASE("", "needs 1 more bytes, 0 are left"),
      CASE(".", "offset 0: STOP with 0 values on the stack"),
      CASE("NN.", "STOP with 2 values on the stack, expected 1"),
      CASE("(N.", "STOP with 1 marks open"),
      CASE("N(.", "STOP with 1 marks open"),
      CASE("N", "needs 1 more bytes"),
      CASE("N.N", "1 stray bytes behind"),
      CASE("t.", "offset 0: there is no mark"),
      CASE("Nu.", "there is no mark"),
      CASE("e.", "there is no mark"),
      CASE("1.", "there is no mark"),
      CASE("0.", "the stack is empty"),
      CASE("2.", "the stack is empty"),
      CASE("a.", "the stack is empty"),
      CASE("Na.", "the stack is empty"),
      CASE("NNs.", "the stack is empty"),
      CASE("\x85.", "the stack is empty"),
      CASE("N\x86.", "the stack is empty"),
      CASE("NN\x87.", "the stack is empty"),
      CASE("R.", "the stack is empty"),
      CASE("NR.", "the stack is empty"),
      CASE("b.", "the stack is empty"),
      CASE("Q.", "the stack is empty"),
      CASE("q\0.", "the stack is empty"),
      // Operands may not be taken from below a mark.
      CASE("NN(\x86.", "the stack is empty"),
      CASE("](Na.", "the stack is empty"),
      CASE("}N(Ns.", "the stack is empty"),
      CASE("}(Nu.", "a dictionary with a key without a value"),
      CASE("(Nd.", "a dictionary with a key without a value"),
      // The memo.
      CASE("h\0.", "memo number 0 was never put"),
      CASE("Nq\x01h\0.", "memo number 0 was never put"),
      CASE("j\xff\xff\xff\xff.", "memo number 4294967295 was never put"),
      CASE("Nr\xff\xff\xff\xff.", "memo number 4294967295 in a pickle of 7 bytes"),
      CASE("Np99999999999\n.", "memo number '99999999999'"),
      CASE("Np-1\n.", "memo number '-1'"),
      CASE("gx\n.", "memo number 'x'"),
      // Protocols.
      CASE("\x80\x06N.", "protocol 6, at most 5 is known"),
      CASE("N\x80\x02.", "the protocol is named inside of the pickle"),
      CASE("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "a frame of 18446744073709551615"),
      CASE("\xf0.", "0xf0 is not an opcode"),
      CASE("\0.", "0x00 is not an opcode"),
  };
  REFUSE(*state, list, IG_SYNTAX);
}

static void texts_and_numbers_have_bounds(void **state) {
  static const hostile list[] = {
      CASE("X\xff\xff\xff\xff"
           "a.",
           "a text of 4294967295 bytes, 2 are left"),
      CASE("X\x01\0\0", "needs 4 more bytes, 3 are left"),
      CASE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "a text of 18446744073709551615 bytes"),
      CASE("\x8e\0\0\0\0\0\0\0\x80.", "a text of 9223372036854775808 bytes"),
      CASE("\x96\x05\0\0\0\0\0\0\0.", "a text of 5 bytes, 1 are left"),
      CASE("X\x02\0\0\0\xc3(.", "a string is not UTF-8 at its byte 0"),
      CASE("X\x03\0\0\0\xed\xa0\x80.", "a string is not UTF-8"),
      CASE("S'a\n.", "a string without its quotes"),
      CASE("Sa\n.", "a string without its quotes"),
      CASE("S'\\x4'\n.", "an escape that is not read"),
      CASE("S'\\'\n.", "an escape that is not read"),
      CASE("V\\u12\n.", "an escape that is cut off"),
      CASE("V\\uD800\n.", "U+D800 is not a character"),
      CASE("V\\U00110000\n.", "U+110000 is not a character"),
      CASE("V\\uzzzz\n.", "an escape that is not read"),
      CASE("V", "a line without an end"),
      CASE("\x8b\xff\xff\xff\xff.", "an integer of negative length"),
      CASE("\x8b\xff\xff\xff\x7f.", "needs 2147483647 more bytes"),
      CASE("\x8a\x0a"
           "12345678.",
           "needs 10 more bytes, 9 are left"),
      CASE("I\n.", "a number of 0 characters is not read"),
      CASE("I12x\n.", "'12x' is not an integer of 64 bits"),
      CASE("L9223372036854775808L\n.", "is not an integer of 64 bits"),
      CASE("F1.5z\n.", "'1.5z' is not a float"),
      CASE("G\0\0.", "needs 8 more bytes"),
      CASE("J\0.", "needs 4 more bytes"),
      CASE("c\n\n.", "a global with a name of 0 bytes"),
      CASE("cos \nsystem\n.", "a global with a space in its name"),
      CASE("c\xff\nx\n.", "a global whose name is not UTF-8"),
  };
  REFUSE(*state, list, IG_SYNTAX);
}

// ---- values

static void values_that_contain_themselves_are_refused(void **state) {
  static const hostile list[] = {
      CASE("]q\0h\0a.", "offset 0: a list contains itself"),
      CASE("}q\0X\x01\0\0\0ah\0s.", "a dictionary contains itself"),
      CASE("]q\0(h\0ta.", "contains itself"),
      CASE("ccollections\nOrderedDict\n)Rq\0}(X\x01\0\0\0ah\0ub.", "contains itself"),
  };
  REFUSE(*state, list, IG_SYNTAX);
}

static void keys_are_plain_and_occur_once(void **state) {
  fixture *f = *state;
  static const hostile twice[] = {
      CASE("}(K\x01NK\x01Nu.", "a key occurs twice"),
      CASE("}(K\x01N\x88Nu.", "a key occurs twice"),
      CASE("}(X\x01\0\0\0aNX\x01\0\0\0aNu.", "key 'a' occurs twice"),
      CASE("c__builtin__\nset\n](K\x01K\x01"
           "e\x85R.",
           "a key occurs twice"),
  };
  REFUSE(f, twice, IG_SYNTAX);
  static const hostile odd[] = {
      CASE("}]Ns.", "a list cannot be a key"),
      CASE("}}Ns.", "a dictionary cannot be a key"),
      CASE("}K\x01]\x86Ns.", "a tuple cannot be a key"),
  };
  REFUSE(f, odd, IG_INVALID);
}

static void nesting_has_a_limit(void **state) {
  fixture *f = *state;
  enum { N = 100000 };
  char *deep = malloc(2 * N + 2);
  assert_non_null(deep);
  memset(deep, ']', N);
  memset(deep + N, 'a', N - 1);
  deep[2 * N - 1] = '.';
  ig_object *o = NULL;
  assert_int_equal(load(f, (ig_bytes){(uint8_t *)deep, (size_t)2 * N}, NULL, &o), IG_SYNTAX);
  test_error_has(f->c, "values are nested deeper than the limit of 256");
  ig_limits loose = {.size = sizeof loose, .max_depth = 1u << 30};
  assert_int_equal(load(f, (ig_bytes){(uint8_t *)deep, (size_t)2 * N}, &loose, &o), IG_SYNTAX);
  test_error_has(f->c, "nested deeper than the limit of 1024");
  // 255 lists around one are as deep as allowed.
  memset(deep, ']', 256);
  memset(deep + 256, 'a', 255);
  deep[511] = '.';
  assert_int_equal(load(f, (ig_bytes){(uint8_t *)deep, 512}, NULL, &o), IG_OK);
  ig_object_free(o);
  free(deep);
}

// Every list holds the one before it ten times: 10^40 values, forty lists.
static void shared_values_are_made_once(void **state) {
  fixture *f = *state;
  char text[1024];
  size_t n = 0;
  text[n++] = 'N';
  for (int i = 0; i < 40; i++) {
    text[n++] = 'q';
    text[n++] = (char)i;
    text[n++] = '0';
    text[n++] = ']';
    text[n++] = '(';
    for (int k = 0; k < 5; k++) {
      text[n++] = 'h';
      text[n++] = (char)i;
    }
    text[n++] = 'e';
  }
  text[n++] = '.';
  ig_object *o = NULL;
  assert_int_equal(load(f, (ig_bytes){(uint8_t *)text, n}, NULL, &o), IG_OK);
  assert_ptr_equal(ig_object_at(o, 0), ig_object_at(o, 4));
  ig_object_free(o);
}

static void limits_hold(void **state) {
  fixture *f = *state;
  ig_object *o = NULL;
  ig_bytes in = {(const uint8_t *)"(K\1K\2K\3t.", 9};
  ig_limits few = {.size = sizeof few, .max_nodes = 3};
  assert_int_equal(load(f, in, &few, &o), IG_SYNTAX);
  test_error_has(f->c, "offset 7: more than the limit of 3 values");
  ig_limits small = {.size = sizeof small, .max_text = 8};
  assert_int_equal(load(f, in, &small, &o), IG_SYNTAX);
  test_error_has(f->c, "a pickle of 9 bytes, the limit is 8");
  assert_int_equal(load(f, in, NULL, &o), IG_OK);
  assert_int_equal(ig_object_count(o), 3);
  ig_object_free(o);
}

// ---- tensors

#define ID(class, key, numel) \
  "(X\x07\0\0\0storagectorch\n" class "\nX\x01\0\0\0" key "X\x03\0\0\0cpu" numel "tQ"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n("
#define HOOKS \
  "\x89"      \
  "ccollections\nOrderedDict\n)RtR."

static void tensors_stay_inside_their_storage(void **state) {
  static const hostile list[] = {
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0K\x07\x85K\x01\x85" HOOKS,
           "beyond the 6 elements of storage '0'"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\x01K\x06\x85K\x01\x85" HOOKS,
           "beyond the 6 elements"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\x07K\0\x85K\x01\x85" HOOKS,
           "beyond the 6 elements"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0K\x02K\x02\x86K\x06K\x01\x86" HOOKS,
           "beyond the 6 elements"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
                                                    "\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff"
                                                    "\x7f\x85" HOOKS,
           "beyond the 6 elements"),
      // Strides of zero need no memory, but the elements must be countable.
      CASE(REBUILD ID("FloatStorage", "0",
                      "K\x06") "K\0(\x8a\x05\0\0\0\0\x40\x8a\x05\0\0\0\0\x40tK\0K\0\x86" HOOKS,
           "beyond the 6 elements"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0K\x02\x85J\xff\xff\xff\xff\x85" HOOKS,
           "strides is negative, expected an integer >= 0"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "J\xff\xff\xff\xffK\x02\x85K\x01\x85" HOOKS,
           "the offset is negative"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0J\xff\xff\xff\xff\x85K\x01\x85" HOOKS,
           "sizes is negative"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0K\x02\x85K\x01K\x01\x86" HOOKS,
           "a tensor with 1 sizes and 2 strides"),
      CASE(REBUILD ID("FloatStorage", "0", "K\x06") "K\0X\x01\0\0\0aK\x01\x85" HOOKS,
           "sizes are a string, expected a tuple"),
      CASE(REBUILD ID("FloatStorage", "0", "J\xff\xff\xff\xff") "K\0K\x02\x85K\x01\x85" HOOKS,
           "a storage of -1 elements"),
      CASE(REBUILD "NK\0K\x02\x85K\x01\x85" HOOKS, "a tensor of None, expected a storage"),
      CASE(REBUILD "NQK\0K\x02\x85K\x01\x85" HOOKS, "a persistent id that is not"),
      CASE(REBUILD "(X\x06\0\0\0moduleNNNNtQK\0K\x02\x85K\x01\x85" HOOKS,
           "a persistent id that is not"),
      CASE(REBUILD "tR.", "_rebuild_tensor_v2 with 0 arguments"),
      CASE(REBUILD ID("LongStorage", "0", "K\x06") "K\0K\x02\x85K\x01\x85\x88"
                                                   "ccollections\nOrderedDict\n)RtR.",
           "a tensor of int64 that requires a gradient"),
  };
  REFUSE(*state, list, IG_SYNTAX);
}

// Six million million conjugates of one number, in two hundred bytes.
static void pending_work_has_a_limit(void **state) {
  fixture *f = *state;
  static const char text[] = REBUILD ID("ComplexFloatStorage", "0", "K\x06")
      "K\0\x8a\x06\0\0\0\0\0\x06\x85K\0\x85\x89" "ccollections\nOrderedDict\n)R}X\x04\0\0\0conj\x88stR.";
  ig_object *o = NULL;
  ig_unpack un = {
      .c = f->c, .name = "x", .limits = ig_limits_of(f->c, NULL), .storage = real_storage};
  ig_pickle_source source = {.name = "x",
                             .in = {(const uint8_t *)text, sizeof text - 1},
                             .rule = ig_unpack_rule,
                             .user = &un};
  ig_pickle *tree = NULL;
  ig_scope s = ig_scope_open(f->c);
  assert_int_equal(ig_pickle_read(f->c, &source, &f->arena, &tree, NULL), IG_OK);
  assert_int_equal(ig_unpack_tree(&un, tree, &o), IG_SYNTAX);
  ig_scope_close(f->c, s);
  test_error_has(f->c, "a pending conjugation of 6597069766656 elements");
}

static void what_is_not_supported_is_named(void **state) {
  static const hostile list[] = {
      CASE("ctorch._utils\n_rebuild_sparse_tensor\n)R.", "only dense tensors are supported"),
      CASE("ctorch._utils\n_rebuild_wrapper_subclass\n)R.", "tensor subclasses are not supported"),
      CASE("ctorch\nquint4x2\n.", "dtype torch.quint4x2: elements of less than 8 bits"),
      CASE("ctorch\nfloat8_e8m0fnu\n.", "dtype torch.float8_e8m0fnu: this element type"),
      CASE(REBUILD ID("QUInt4x2Storage", "0", "K\x06") "K\0K\x02\x85K\x01\x85" HOOKS,
           "torch.QUInt4x2Storage: elements of less than 8 bits"),
      CASE(ID("FloatStorage", "0", "K\x06") ".", "a storage in place of a value"),
  };
  REFUSE(*state, list, IG_UNSUPPORTED);
}

// ---- what is right

static void every_protocol_is_read(void **state) {
  fixture *f = *state;
  static const hostile list[] = {
      CASE("(lp0\nI1\naL2L\naF0.5\naI01\naNaS'x\\n\\x41'\np1\naV\\u00fc\np2\na.", "protocol 0"),
      CASE("]q\0(K\x01K\x02G?\xe0\0\0\0\0\0\0I01\nNU\x03x\nAq\x01X\x02\0\0\0\xc3\xbcq\x02"
           "e.",
           "protocol 1"),
      CASE(
          "\x80\x02]q\0(K\x01\x8a\x01\x02G?\xe0\0\0\0\0\0\0\x88NX\x03\0\0\0x\nAq\x01X\x02\0\0\0\xc3"
          "\xbcq\x02"
          "e.",
          "protocol 2"),
      CASE("\x80\x04\x95\x1f\0\0\0\0\0\0\0]\x94(K\x01K\x02G?"
           "\xe0\0\0\0\0\0\0\x88N\x8c\x03x\nA\x94\x8c"
           "\x02\xc3\xbc\x94"
           "e.",
           "protocol 4"),
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    ig_object *o = NULL;
    ig_bytes in = {(const uint8_t *)list[i].text, list[i].n};
    if (load(f, in, NULL, &o) != IG_OK) fail_msg("%s: %s", list[i].why, ig_ctx_error(f->c));
    assert_int_equal(ig_object_count(o), 7);
    assert_int_equal(ig_object_int(ig_object_at(o, 1)), 2);
    assert_true(ig_object_float(ig_object_at(o, 2)) == 0.5);
    assert_true(ig_object_bool(ig_object_at(o, 3)));
    assert_int_equal(ig_object_kind_of(ig_object_at(o, 4)), IG_OBJECT_NONE);
    assert_string_equal(ig_object_text(ig_object_at(o, 5), NULL), "x\nA");
    assert_string_equal(ig_object_text(ig_object_at(o, 6), NULL), "\xc3\xbc");
    ig_object_free(o);
  }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(globals_outside_the_closed_set_are_refused_by_name),
      TEST(opcodes_that_make_objects_are_refused_by_name),
      TEST(allowed_names_are_not_bent),
      TEST(the_stack_and_the_memo_have_bounds),
      TEST(texts_and_numbers_have_bounds),
      TEST(values_that_contain_themselves_are_refused),
      TEST(keys_are_plain_and_occur_once),
      TEST(nesting_has_a_limit),
      TEST(shared_values_are_made_once),
      TEST(limits_hold),
      TEST(tensors_stay_inside_their_storage),
      TEST(pending_work_has_a_limit),
      TEST(what_is_not_supported_is_named),
      TEST(every_protocol_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
