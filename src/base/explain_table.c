// SPDX-License-Identifier: Apache-2.0
// The explanations of errors. An example is a whole Python program that ends by raising the error,
// and the message is what it raises: tests/python/test_explain.py runs them all. Texts follow the
// rules of ingot/explain.h.
#include "base/explain.h"

static const char codes[][8] = {
#define X(number, name) "IG0" #number,
    IG_CAUSE_LIST(X)
#undef X
};

#define ROW(name) [IG_CAUSE_AT_##name] = {codes[IG_CAUSE_AT_##name]

// clang-format off
const ig_explanation ig_explanation_table[IG_CAUSE_COUNT] = {

    // ---- files that are refused

    ROW(NOT_A_MODEL),
     "the file is not a model",
     "The kind of a file is recognised by its first bytes and, for archives, by their "
     "members, never by its name. This one is none of the kinds that are read: `.pt2`, "
     "TorchScript, torch.save, safetensors, `.npz`, `.npy` and ONNX.\n\n"
     "The usual reasons: a download that ended in an error page, a Git LFS pointer instead "
     "of the file, a file that is still compressed, or a pickle that `pickle.dump` and not "
     "`torch.save` wrote.",
     "import ingot\n"
     "\n"
     "with open(\"model.pt2\", \"w\") as f:\n"
     "    f.write(\"<!DOCTYPE html><title>404</title>\")\n"
     "ingot.open(\"model.pt2\")\n",
     "model.pt2: this is an HTML or XML page; the download may have failed",
     "Look at the beginning of the file (`head -c 200 FILE`). Fetch it again (`git lfs "
     "pull` for a pointer), unpack it (`gunzip`, `unzstd`), or save it again with "
     "`torch.export.save`, `torch.onnx.export` or `torch.save`."},

    ROW(OTHER_LOADER),
     "the file is of another kind than this function reads",
     "`torch.load` reads files of `torch.save`. The file is sound as far as is known, but "
     "it is an exported program, a TorchScript archive, a safetensors file or NumPy's, for "
     "which there are other functions; or it has a form from before PyTorch 1.6 that is "
     "not read at all.",
     "import ingot as torch\n"
     "\n"
     "program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))\n"
     "torch.export.save(program, \"model.pt2\")\n"
     "torch.load(\"model.pt2\")\n",
     "Weights only load failed. model.pt2: an exported program (.pt2), not a file of "
     "torch.save; load it with torch.export.load (example.py:5)",
     "Use the function that the message names: `torch.export.load` for `.pt2`, "
     "`torch.jit.load` for TorchScript, `ingot.load_file` for safetensors and `.npz`. "
     "`ingot.open` opens models of every kind, and `ingot info FILE` tells the kind of a "
     "file."},

    ROW(ZIP),
     "the zip archive is damaged",
     "`.pt2`, TorchScript, torch.save and `.npz` files are zip archives. The directory of "
     "an archive is at its end, so a file that was cut off has none. Other damage shows as "
     "entries that lie outside of the file, overlap, occur twice, or differ between the "
     "directory and the data.\n\n"
     "Archives that two programs could read differently are refused as well, because a "
     "check by one of them would say nothing about the other.",
     "import ingot as torch\n"
     "\n"
     "program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))\n"
     "torch.export.save(program, \"model.pt2\")\n"
     "with open(\"model.pt2\", \"r+b\") as f:\n"
     "    f.truncate(2000)\n"
     "torch.export.load(\"model.pt2\")\n",
     "model.pt2: not a zip archive (no end of central directory in 2000 bytes) (example.py:7)",
     "Compare size and checksum with those of the source, and copy or download the file "
     "again. `unzip -t FILE` gives a second opinion. If the file was written by a tool of "
     "your own, let it write plain zip entries, each with one name, stored or deflated."},

    ROW(CHECKSUM),
     "a member of the archive is damaged",
     "Every member of a zip archive carries a checksum of its bytes. The directory of this "
     "archive is sound, but the bytes of one member are not those that were written: a bit "
     "was changed on a disk or on the way, or the file was edited in place.\n\n"
     "Opening a model checks what it reads; weights that are mapped from the file are "
     "checked by `ingot verify`.",
     "import ingot as torch\n"
     "import numpy\n"
     "\n"
     "numpy.savez(\"x.npz\", x=numpy.arange(4.0))\n"
     "data = bytearray(open(\"x.npz\", \"rb\").read())\n"
     "data[data.index(numpy.arange(4.0).tobytes()) + 20] ^= 1\n"
     "open(\"x.npz\", \"wb\").write(data)\n"
     "torch.load_file(\"x.npz\")\n",
     "zip entry 'x.npy' at offset 0 is damaged: checksum 98d5dfa5, expected 037093ca "
     "(example.py:8)",
     "Fetch the file again. If the bytes were changed on purpose, write a new archive with "
     "a tool for zip files, which computes the checksums, instead of patching the file."},

    ROW(ZIP_FEATURE),
     "the zip archive uses a feature that model files do not have",
     "Members of model files are regular files, stored or deflated. This archive is "
     "encrypted, spans several disks, contains symbolic links or is packed by another "
     "method (bzip2, LZMA, zstd). PyTorch writes none of these.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "with zipfile.ZipFile(\"weights.npz\", \"w\", zipfile.ZIP_BZIP2) as z:\n"
     "    z.writestr(\"x.npy\", \"a text that is long enough to be packed, packed, packed, "
     "packed, packed, packed\")\n"
     "torch.load_file(\"weights.npz\")\n",
     "weights.npz: zip entry 'x.npy': compression method 12, only stored (0) and deflated (8) "
     "are read (example.py:6)\n"
     "  weights.npz: in the directory entry at offset 112",
     "Pack the archive again without these features: `zip -0 -r NEW.pt2 FOLDER` stores the "
     "members as they are, which is also the fastest to load."},

    ROW(JSON),
     "a JSON text is malformed",
     "Exported programs are described by JSON texts inside of the archive, safetensors "
     "files by one at their beginning. This one does not follow RFC 8259: a bracket or "
     "quote is missing, a string is not UTF-8, a key occurs twice, something follows the "
     "end.\n\n"
     "Line and column count within the text, beginning with 1.",
     "import ingot as torch\n"
     "\n"
     "header = b'{\"x\": {\"dtype\": \"F32\", \"shape\": [1] \"data_offsets\": [0, 4]}}'\n"
     "with open(\"x.safetensors\", \"wb\") as f:\n"
     "    f.write(len(header).to_bytes(8, \"little\") + header + bytes(4))\n"
     "torch.load_file(\"x.safetensors\")\n",
     "x.safetensors: line 1 column 37: expected ',' or '}' (example.py:6)",
     "Write the file again with the program that made it. To see the text of an archive: "
     "`unzip -p FILE '*/models/model.json' | python -m json.tool`. Python's `json.dump` "
     "writes `NaN` and `Infinity` as words that JSON does not have; encode such numbers as "
     "strings."},

    ROW(PICKLE),
     "a pickle is malformed",
     "Files of `torch.save` and TorchScript archives contain pickles, which are small "
     "programs for a stack machine. Here they are not executed but interpreted for plain "
     "data and tensors only. This one is cut off, takes values from an empty stack, or "
     "describes a tensor that does not fit its storage.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "with zipfile.ZipFile(\"x.pt\", \"w\") as z:\n"
     "    z.writestr(\"x/data.pkl\", bytes.fromhex(\"80 02 7d 71 00 58 01\"))\n"
     "    z.writestr(\"x/version\", \"3\")\n"
     "torch.load(\"x.pt\")\n",
     "Weights only load failed. x/data.pkl: pickle, offset 5: needs 4 more bytes, 1 are left "
     "(example.py:7)",
     "Fetch or save the file again. `python -m pickletools` prints the instructions of a "
     "pickle without executing them; the offset in the message is the place in that "
     "listing."},

    ROW(PICKLE_CLASS),
     "a pickle contains more than plain data and tensors",
     "Pickles can name any function of any module and have it called. That is how a file "
     "takes over the machine that loads it, so only a closed set of names is known here: "
     "tensors, storages, dtypes, containers, numbers. Nothing of the file was executed.\n\n"
     "The usual reason is a file of `torch.save(model, ...)`, which holds a whole module "
     "by the names of its classes, instead of `torch.save(model.state_dict(), ...)`.",
     "import ingot as torch\n"
     "import fractions\n"
     "import pickle\n"
     "import zipfile\n"
     "\n"
     "with zipfile.ZipFile(\"x.pt\", \"w\") as z:\n"
     "    z.writestr(\"x/data.pkl\", pickle.dumps({\"scale\": fractions.Fraction(1, 3)}, "
     "protocol=2))\n"
     "    z.writestr(\"x/version\", \"3\")\n"
     "torch.load(\"x.pt\")\n",
     "Weights only load failed. x/data.pkl: pickle, offset 17: global 'fractions.Fraction' is "
     "not in the closed set of plain data and tensors; nothing was executed (example.py:9)\n"
     "If it is a class of yours, allow it with torch.serialization.add_safe_globals([...]) "
     "before loading.",
     "Where the model's code is available, save `model.state_dict()` or export the model. "
     "Classes of your own come back if you allow them: "
     "`torch.serialization.add_safe_globals([MyClass])`. `ingot info FILE` and "
     "`torch.serialization.get_unsafe_globals_in_checkpoint(FILE)` list the names in a "
     "file."},

    ROW(PROTOBUF),
     "the bytes of an ONNX model are malformed",
     "ONNX models are protobuf messages: fields with a number, a kind and a length. A "
     "field of this file runs over the end of its message, is written in another kind than "
     "its number demands, or is cut off. Either the file is damaged, or it is no ONNX "
     "model although it begins like one.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),), \"model.onnx\", "
     "dynamo=True)\n"
     "with open(\"model.onnx\", \"r+b\") as f:\n"
     "    f.truncate(100)\n"
     "torch.onnx.checker.check_model(\"model.onnx\")\n",
     "model.onnx: byte 19: field runs over the end of its message (example.py:6)",
     "Fetch the file again and compare its size. Models of more than 2 GB must keep their "
     "weights in a file beside them, because protobuf cannot hold them: `ingot convert "
     "MODEL NEW.onnx --external`."},

    ROW(PT2),
     "the archive does not hold a well-formed exported program",
     "An exported program is a zip archive with a description of the graph "
     "(`models/model.json`), the weights and, sometimes, example inputs. A member is "
     "missing, or the description does not have the fields that its schema version "
     "prescribes: a key is missing, a value has another type, a name is used that nothing "
     "defines.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "with zipfile.ZipFile(\"model.pt2\", \"w\") as z:\n"
     "    z.writestr(\"model/archive_format\", \"pt2\")\n"
     "    z.writestr(\"model/archive_version\", \"0\")\n"
     "torch.export.load(\"model.pt2\")\n",
     "model.pt2: 0 models, and none is called 'model' (example.py:7)",
     "Save the program again with `torch.export.save`. If another tool wrote or edited the "
     "archive, line and column in the message are the place in the JSON text: `unzip -p "
     "FILE '*/models/model.json'` shows it."},

    ROW(PT2_UNSUPPORTED),
     "the exported program contains something that is not supported",
     "The file is sound, but it needs something that is not there: an operator that is not "
     "known (a custom operator must be registered before the file is loaded), a schema of "
     "a newer release, an object of a class of its own, or a dtype or device of other "
     "hardware.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))\n"
     "torch.export.save(program, \"relu.pt2\")\n"
     "with zipfile.ZipFile(\"relu.pt2\") as old, zipfile.ZipFile(\"other.pt2\", \"w\") as "
     "new:\n"
     "    for name in old.namelist():\n"
     "        new.writestr(name, old.read(name).replace(b\"aten.relu.default\", "
     "b\"mine.relu.default\"))\n"
     "torch.export.load(\"other.pt2\")\n",
     "relu/models/model.json: line 1 column 131: operator 'mine.relu.default' is not known: a "
     "custom operator must be registered before the program is loaded\n"
     "  while loading other.pt2",
     "Import the library that registers the operator (`torch.library.custom_op`) before "
     "loading. Programs of newer releases can often be exported for older ones: with "
     "Ingot, `ingot convert FILE OLD.pt2 --for-torch 2.5`. `ingot info FILE` lists "
     "everything that a file contains, also where it cannot be loaded."},

    ROW(SAFETENSORS),
     "the safetensors file is malformed",
     "A safetensors file is eight bytes with the length of a header, the header as JSON, "
     "and the bytes of the tensors without gaps. The header of this one does not fit the "
     "file: tensors lie outside of it or overlap, a size does not agree with dtype and "
     "shape, or the type is unknown.",
     "import ingot as torch\n"
     "\n"
     "torch.save_file({\"x\": torch.ones(4)}, \"x.safetensors\")\n"
     "with open(\"x.safetensors\", \"r+b\") as f:\n"
     "    f.seek(-4, 2)\n"
     "    f.truncate()\n"
     "torch.load_file(\"x.safetensors\")\n",
     "x.safetensors: offset 55: tensor 'x' ends at 16 of 12 bytes of data (example.py:7)",
     "Fetch the file again; its size must be 8 bytes, the header, and the end of the last "
     "tensor. Tensors that share memory or are not contiguous must be copied before they "
     "are saved; `ingot.save_file` does that."},

    ROW(NPY),
     "the NumPy array is malformed or of a type that is not read",
     "A `.npy` file, also as member of `.npz`, has a header with dtype, order and shape, "
     "and the elements behind it. The header is not one of the formats 1.0 to 3.0, the "
     "number of bytes does not fit the shape, or the elements are Python objects or "
     "records, which would need code from the file or have no counterpart among tensors.",
     "import ingot as torch\n"
     "import numpy\n"
     "\n"
     "numpy.save(\"x.npy\", numpy.array([{\"a\": 1}, None], dtype=object))\n"
     "torch.load_file(\"x.npy\")\n",
     "x.npy: npy header: dtype '|O': Python objects (a pickle) are not read (example.py:5)",
     "Save arrays of numbers, bools or texts (`array.astype(\"float32\")`). Give every field "
     "of a record array a member of its own: `numpy.savez(\"x.npz\", a=records[\"a\"], "
     "b=records[\"b\"])`."},

    ROW(ONNX_MODEL),
     "the ONNX model breaks a rule of the standard",
     "The bytes were read, but what they say is not a model: a node reads a value that "
     "nothing defines, a value is defined twice, a tensor has fewer elements than its "
     "shape, the model has no graph or no opset. The checker lists all problems that it "
     "finds; opening a model stops at the first.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),), \"model.onnx\", "
     "dynamo=True)\n"
     "data = open(\"model.onnx\", \"rb\").read()\n"
     "torch.onnx.checker.check_model(data.replace(b\"weight\", b\"weighs\", 1))\n",
     "model: node 'node_linear' (Gemm) reads 'weighs', which nothing defines (example.py:5)",
     "Write the model again with its exporter. If you edit models yourself, edit them with "
     "the onnx package and call `ingot.onnx.checker.check_model(model, full_check=True)` "
     "before saving, or `ingot verify FILE` afterwards."},

    ROW(ONNX_EXTERNAL),
     "the external data of an ONNX model is missing or does not fit",
     "Large ONNX models keep their weights in files beside them and refer to them by name, "
     "offset and length. Such a file is missing or shorter than the model says, or its "
     "name leads out of the model's folder, which is refused: a model must not be able to "
     "read other files of the machine.",
     "import ingot as torch\n"
     "import os\n"
     "\n"
     "torch.onnx.export(torch.nn.Linear(64, 64), (torch.ones(1, 64),), \"model.onnx\", "
     "dynamo=True, external_data=True)\n"
     "os.truncate(\"model.onnx.data\", 100)\n"
     "torch.open(\"model.onnx\")\n",
     "model.onnx: tensor 'weight': bytes 0 to 16384 of 'model.onnx.data', which has 100",
     "Copy model and data files together, and keep their names. `ingot convert MODEL "
     "ONE.onnx` makes one file of both where they have less than 2 GB."},

    ROW(ONNX_OPERATOR),
     "the ONNX model calls an operator that is not known",
     "A node of the model has a type that its domain does not define in the opset of the "
     "model, or that is an operator of a runtime's own (`com.microsoft`, for instance). "
     "The model can be inspected, but not run.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),), \"model.onnx\", dynamo=True)\n"
     "data = open(\"model.onnx\", \"rb\").read()\n"
     "open(\"model.onnx\", \"wb\").write(data.replace(b\"Relu\", b\"Rely\"))\n"
     "session = torch.open(\"model.onnx\")\n"
     "session(torch.ones(2))\n",
     "model.onnx: node 'node_relu' (Rely): there is no operator 'Rely' in domain 'ai.onnx' at "
     "version 18",
     "Export the model without the optimizations of a particular runtime. A domain may "
     "define its functions in the model itself; then they are executed. For a missing "
     "operator of the standard, `ingot info FILE` shows the opset: a newer Ingot may know "
     "it."},

    ROW(ONNX_NODE),
     "a node of the ONNX model cannot be computed",
     "A node got operands that its operator does not take: shapes that do not fit, an "
     "element type that it is not defined for, an index or attribute out of range. The "
     "message names the node. Either the model was made for other inputs, or it is wrong "
     "in itself.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.Embedding(4, 2), (torch.tensor([1]),), \"model.onnx\", "
     "dynamo=True)\n"
     "session = torch.open(\"model.onnx\")\n"
     "session(torch.tensor([7]))\n",
     "index out of range in self\n"
     "  in node 'node_embedding' (Gather) of model.onnx",
     "Compare the inputs with what the model declares (`ingot info FILE`). `ingot verify "
     "FILE` finds nodes that are wrong for all inputs, and `ingot run FILE --dump-all "
     "FOLDER` writes the values before the node."},

    ROW(READER_LIMIT),
     "the file is larger or more deeply nested than the limits allow",
     "A small file can claim to contain a lot: entries that unpack to a million times "
     "their size, nesting that exhausts the stack. Readers therefore count, and stop at "
     "limits that real models do not reach (`ingot/limits.h`).",
     "import ingot as torch\n"
     "import numpy\n"
     "\n"
     "numpy.savez(\"many.npz\", *[numpy.zeros(1)] * 20)\n"
     "with torch.limits.limited(max_entries=10):\n"
     "    torch.load_file(\"many.npz\")\n",
     "many.npz: 20 zip entries, the limit is 10 (example.py:6)",
     "If you trust the file, raise the limit that the message names: `ig_limits` in C "
     "(`ig_model_options.limits`, `ig_ctx_set_limits`), `ingot.limits.set_limits(...)` in "
     "Python."},

    ROW(PROGRAM),
     "the graph of a program contradicts itself",
     "The nodes of a graph are in the order in which they run, every one has a name of its "
     "own, and a program agrees with the schemas of its operators and with its signature. "
     "Something does not: a value has another dtype or size than its operator gives, a "
     "node reads a value that comes later, an input of the signature is not in the graph.\n\n"
     "In a file this means that it was edited or written by a tool with a mistake. After a "
     "transformation of your own it means that the transformation left the graph "
     "inconsistent.",
     "import ingot as torch\n"
     "\n"
     "graph = torch.fx.Graph()\n"
     "x = graph.placeholder(\"x\")\n"
     "y = graph.call_function(torch.relu, (x,))\n"
     "graph.output(y)\n"
     "x.prepend(y)\n"
     "graph.lint()\n",
     "Argument 'x' of Node 'relu' was used before it has been defined! Please check that "
     "Nodes in the graph are topologically ordered\n"
     "graph():\n"
     "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = "
     "{})\n"
     "    %x : [num_users=1] = placeholder[target=x]\n"
     "    return relu",
     "Export the program again. In a pass of your own, update the metadata of nodes that "
     "you change, call `graph.lint()` and `recompile()`, and keep the signature in step "
     "with the placeholders."},

    ROW(COMPILED),
     "the package holds compiled code only",
     "AOTInductor packages are shared libraries in an archive. Loading one would mean to "
     "execute machine code from the file, which is never done here, and there is no graph "
     "beside it that could be run instead.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "with zipfile.ZipFile(\"model.pt2\", \"w\") as z:\n"
     "    z.writestr(\"model/archive_format\", \"pt2\")\n"
     "    z.writestr(\"model/archive_version\", \"0\")\n"
     "    z.writestr(\"model/data/aotinductor/model/model.so\", \"\")\n"
     "torch.export.load(\"model.pt2\")\n",
     "model.pt2: 0 models, and none is called 'model'; compiled code (AOTInductor) is never "
     "loaded (example.py:8)",
     "Save the exported program itself with `torch.export.save(program, ...)`, before it "
     "is compiled."},

    ROW(SCRIPT_ARCHIVE),
     "the TorchScript archive is malformed",
     "A TorchScript archive holds the sources of its classes, the object tree as a pickle, "
     "and tensors. Something of these does not fit together: an object lacks an attribute "
     "that its class declares, a class has no source, a version is missing.",
     "import ingot as torch\n"
     "import zipfile\n"
     "\n"
     "torch.jit.script(torch.nn.Linear(2, 2)).save(\"model.pt\")\n"
     "with zipfile.ZipFile(\"model.pt\") as old, zipfile.ZipFile(\"other.pt\", \"w\") as "
     "new:\n"
     "    for name in old.namelist():\n"
     "        if not name.endswith(\"linear.py\"):\n"
     "            new.writestr(name, old.read(name))\n"
     "torch.jit.load(\"other.pt\")\n",
     "the archive has no source for its class '__torch__.torch.nn.modules.linear.Linear' "
     "(example.py:9)",
     "Save the archive again with `torch.jit.save`. `ingot show FILE` prints the sources "
     "that it contains, and `ingot info FILE` its members."},

    ROW(INGOT_FILE),
     "the compiled model is malformed, or of another version",
     "A file that `ingot compile` writes has a head with tables of what the file contains: the "
     "model, and the weights as plans pack them. The tables are checked completely when the file "
     "is opened, and something in them is wrong: the file was cut off or changed, or it was "
     "written by a release of Ingot with another layout.",
     "import ingot\n"
     "import ingot as torch\n"
     "\n"
     "program = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),))\n"
     "torch.export.save(program, \"model.pt2\")\n"
     "ingot.compile_file(\"model.pt2\", \"model.ingot\")\n"
     "data = open(\"model.ingot\", \"rb\").read()\n"
     "open(\"part.ingot\", \"wb\").write(data[:-1])\n"
     "ingot.open(\"part.ingot\")\n",
     "part.ingot: a compiled model: the file has not the size that it states",
     "Compile the model again: `ingot compile MODEL -o FILE`. Compiled models are made from a "
     "model file, which is the one to keep and to pass on."},

    // ---- exports

    ROW(DIMS),
     "the program does not keep a size dynamic that was declared dynamic",
     "`dynamic_shapes` promises that the program works for all sizes of a range. While the "
     "program was recorded, an operation needed more: a fixed number (a `reshape`, a "
     "comparison, a Python `if` on the size), equality with another size, divisibility, or "
     "a smaller range. The export refuses to narrow a promise silently; the message says "
     "which sizes are concerned and suggests what can be promised.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return x + torch.ones(3, 4)\n"
     "\n"
     "batch = torch.export.Dim(\"batch\")\n"
     "torch.export.export(Model(), (torch.ones(3, 4),), dynamic_shapes=({0: batch},))\n",
     "Constraints violated (batch)! For more information, run with TORCH_LOGS=\"+dynamic\".\n"
     "  - Not all values of batch = L['x'].size()[0] in the specified range are valid because "
     "batch was inferred to be a constant (3).\n"
     "\n"
     "Suggested fixes:\n"
     "  batch = 3",
     "Take the suggestion of the message: remove the dimension from `dynamic_shapes` if "
     "the size is in fact fixed, give both places the same `Dim`, or derive one from the "
     "other (`2 * batch`). `torch.export.Dim.AUTO` lets the export find out. If the size "
     "should be dynamic, change the operation that fixes it: `x.shape[0]` instead of the "
     "number."},

    ROW(DATA_DEPENDENT),
     "the program branches on a number that is known only when it runs",
     "A number that is read from a tensor (`.item()`, `int(t)`, the length of `nonzero()`) "
     "has no value during an export. Python code asked something about it: an `if`, a "
     "loop, a size that must be 0 or 1 or more. A graph has no branches that could keep "
     "both answers.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        n = x.sum().item()\n"
     "        return x * 2 if n > 3 else x\n"
     "\n"
     "torch.export.export(Model(), (torch.tensor([1, 2]),))\n",
     "Consider annotating your code using torch._check*(). Could not guard on data-dependent "
     "expression u0 > 3 (unhinted: u0 > 3).  (Size-like symbols: none)\n"
     "\n"
     "User code:\n"
     "  File \"example.py\", line 6, in forward\n"
     "    return x * 2 if n > 3 else x\n"
     "\n"
     "One of these has to hold before this line: torch._check(n > 3) or torch._check(n <= "
     "3).\n"
     "For more information about this error, see: "
     "https://pytorch.org/docs/main/generated/exportdb/index.html#constrain-as-size-example",
     "State what is known: `torch._check(n > 3)` makes it an assertion of the program, "
     "`torch._check_is_size(n)` says that a number is a size. Where both branches are "
     "needed use `torch.cond`, and where a value is to be chosen per element "
     "`torch.where`. The exception's `issues` list the place and the suggested edits; "
     "`torch.export.draft_export` collects all such places at once."},

    ROW(OUTPUT_DATA),
     "a result is needed that only real data could give",
     "While a program is recorded its tensors have sizes and dtypes, but no elements. An "
     "operation asked for a number that is computed from elements and cannot become a "
     "symbol of the program: `torch.equal`, `torch.allclose`, `.tolist()`. The message is "
     "the name of the operator.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return x + int(torch.equal(x, x))\n"
     "\n"
     "torch.export.export(Model(), (torch.ones(2),), strict=False)\n",
     "aten.equal.default",
     "Keep the result a tensor: `(x == y).all()` instead of `torch.equal(x, y)`, and "
     "`torch.where` or `torch.cond` instead of Python's `if`. What is the same for all "
     "inputs can be computed before the export and kept as an attribute of the module."},

    ROW(OUTPUT_SHAPE),
     "the size of a result depends on the data",
     "The result has as many elements as the data demands, and while a program is recorded "
     "there is no data. For some operators an export gives such a size a symbol "
     "(`nonzero`, `masked_select`, boolean indexing); for this one it does not. The "
     "message is the name of the operator.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return torch.bincount(x)\n"
     "\n"
     "torch.export.export(Model(), (torch.tensor([1, 2]),), strict=False)\n",
     "aten.bincount.default",
     "Use an operation whose result has a size that you state: "
     "`torch.zeros(n).scatter_add(0, x, torch.ones(len(x)))` counts like "
     "`torch.bincount(x)` up to `n`."},

    ROW(BRANCHES),
     "the functions of a higher-order operator do not fit together",
     "Both branches of `torch.cond` must take the same operands and give results of the "
     "same number, dtype and shape; the body of a loop must give back what it takes. A "
     "program contains both functions, and what follows must be valid for either.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return torch.cond(x.sum() > 0, lambda x: x, lambda x: (x, x), (x,))\n"
     "\n"
     "torch.export.export(Model(), (torch.ones(2),))\n",
     "Cond doesn't work unless it is captured completely with torch.compile. Scroll up to "
     "find out what causes the graph break.\n"
     "\n"
     "Expected true_fn and false_fn to return the same number of results, but got 1 and 2.",
     "Make the results alike: the same number of tensors, of the same dtype "
     "(`.to(x.dtype)`) and shape (`expand`, `torch.zeros_like`). Return copies instead of "
     "the operands themselves, and pass everything that a branch uses as an operand."},

    ROW(DIM_EXAMPLE),
     "an example input does not have the sizes that its dimensions declare",
     "`dynamic_shapes` describes the example inputs as well: a size must lie in the range "
     "of its `Dim`, places with the same `Dim` must have the same size, and a derived one "
     "(`2 * batch`) must fit.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return x.sum() + y.sum()\n"
     "\n"
     "batch = torch.export.Dim(\"batch\")\n"
     "torch.export.export(Model(), (torch.ones(3), torch.ones(4)), dynamic_shapes=({0: "
     "batch}, {0: batch}))\n",
     "L['x'].size()[0] = 3 is not equal to L['y'].size()[0] = 4\n",
     "Choose example inputs that fit, give different dimensions names of their own, or "
     "widen the range (`torch.export.Dim(\"batch\", min=1, max=64)`)."},

    ROW(PT2_WRITING),
     "the program contains something that the file format cannot express",
     "The schema of `.pt2` files has a closed set of values. The program calls a function "
     "that is no operator, contains an object of Python, or is to be written for a release "
     "of PyTorch that lacks an operator or a kind of value.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return x.sum().item() * 0.5\n"
     "\n"
     "program = torch.export.export(Model(), (torch.ones(2),))\n"
     "torch.export.save(program, \"model.pt2\", layout=\"2.5\")\n",
     "'item' is a symbolic float, which PyTorch 2.5 cannot read (example.py:8)",
     "Write for a newer release (`--for-torch 2.8` of `ingot convert`, the default), "
     "decompose the operator (`program.run_decompositions()`), or replace the function by "
     "operators."},

    // ---- writing ONNX

    ROW(ONNX_CALL),
     "the program makes calls that ONNX cannot express",
     "ONNX has fewer operators than PyTorch, and fewer in older opsets. The message lists "
     "all calls of the program for which there is no translation in the chosen opset, with "
     "the reason and the source line of each, so that they can be dealt with at once.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x):\n"
     "        return torch.linalg.svdvals(x)\n"
     "\n"
     "torch.onnx.export(Model(), (torch.ones(2, 2),), \"model.onnx\", dynamo=True)\n",
     "The model cannot be written as ONNX.\n"
     "aten._linalg_svd.default: this operator cannot be written as ONNX (opset 18) "
     "(example.py:5)",
     "Choose a newer opset (`opset_version=`), rewrite the call with other operators, or "
     "give a translation of your own: `custom_translation_table` of `torch.onnx.export`. "
     "If the part is not needed for inference, leave it out of the exported module."},

    ROW(ONNX_OPSET),
     "the ONNX opset is not known",
     "An opset is a version of the set of operators. Models are written for the opsets "
     "that the message names; older ones lack what almost every model needs, newer ones do "
     "not exist yet.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),), \"model.onnx\", dynamo=True, "
     "opset_version=99)\n",
     "ONNX: opset 99 is not known, 7 to 28 are (example.py:3)",
     "Leave the opset out, or take the newest one that the runtime supports that the model "
     "is for. `ingot convert MODEL OTHER.onnx --opset N` converts finished models."},

    ROW(ONNX_NAMES),
     "the names for inputs and outputs of the ONNX model collide",
     "Inputs, outputs and weights of an ONNX graph share one space of names, and no name "
     "may be empty.",
     "import ingot as torch\n"
     "\n"
     "model = torch.nn.Linear(2, 2)\n"
     "torch.onnx.export(model, (torch.ones(1, 2),), \"model.onnx\", dynamo=True, "
     "input_names=[\"x\"], output_names=[\"x\"])\n",
     "ONNX: output_names: names of inputs and outputs cannot be duplicated: 'x' (example.py:4)",
     "Choose other `input_names` and `output_names`. Names of weights are their paths in "
     "the module (`fc.weight`)."},

    ROW(ONNX_CONVERSION),
     "the ONNX model cannot be converted to that opset",
     "Conversion goes node by node. Where the definition of an operator changed, the node "
     "is rewritten in terms of the other opset; some of what a newer opset can say has no "
     "equivalent in an older one. All such nodes are listed.",
     "import ingot as torch\n"
     "\n"
     "torch.onnx.export(torch.nn.GELU(), (torch.ones(2),), \"model.onnx\", dynamo=True, "
     "opset_version=20)\n"
     "torch.onnx.version_converter.convert_file(\"model.onnx\", \"old.onnx\", 7)\n",
     "model.onnx: opset 7: node 'node_gelu' (Gelu): Erf exists from opset 9 on, and is not "
     "expressed by others",
     "Choose a newer target, or export the model for that opset from its program, which "
     "can decompose operators that a conversion of nodes cannot: `ingot convert MODEL.pt2 "
     "OLD.onnx --opset N`."},

    // ---- running models

    ROW(INPUT_MISSING),
     "an input of the model was not given",
     "A session runs when all inputs of the model are bound. Inputs keep their values "
     "between runs, but none has a value before the first one. Outputs of buffers do not "
     "count: they are state of the session.",
     "import ingot as torch\n"
     "\n"
     "class Model(torch.nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return x + y\n"
     "\n"
     "torch.export.save(torch.export.export(Model(), (torch.ones(2), torch.ones(2))), "
     "\"model.pt2\")\n"
     "session = torch.open(\"model.pt2\")\n"
     "session(torch.ones(2))\n",
     "model.pt2: input 'y' was not given",
     "Give all inputs that `ingot info FILE` lists, in order or by name; in C, call "
     "`ig_session_bind` for each, in Python pass them to the session, with the command use "
     "`--inputs` or `--input NAME=FILE`."},

    ROW(INPUT_UNKNOWN),
     "the model has no input of that name",
     "Inputs are named as in the file, or `arg0`, `arg1`, ... by position. The message "
     "lists the names. Exporters choose names, and a converted model may have others than "
     "its source.",
     "import ingot as torch\n"
     "\n"
     "torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), "
     "\"model.pt2\")\n"
     "session = torch.open(\"model.pt2\")\n"
     "session(image=torch.ones(2))\n",
     "model.pt2: no input 'image'; the model takes: input",
     "Use a name of the list, or positions. When you export, `input_names=` of "
     "`torch.onnx.export` and the parameter names of `forward` decide."},

    ROW(INPUT_TYPE),
     "an input has another type than the model was made for",
     "A program is recorded for one dtype per input; nothing is converted silently, "
     "because that would hide mistakes and cost a copy in every run.",
     "import ingot as torch\n"
     "\n"
     "torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), "
     "\"model.pt2\")\n"
     "session = torch.open(\"model.pt2\")\n"
     "session(torch.ones(2, dtype=torch.float64))\n",
     "model.pt2: input 'input': found float64, expected float32",
     "Convert the array before the call: `x.astype(\"float32\")`, `x.float()`. NumPy makes "
     "float64 and int64 by default. bfloat16, which NumPy does not have, is passed as "
     "uint16 by the command."},

    ROW(INPUT_SIZE),
     "an input has other sizes than the model was made for",
     "The number of dimensions is part of a program, and so are all sizes that were not "
     "declared dynamic when it was exported. Dynamic sizes have a range, and may be tied "
     "to each other.",
     "import ingot as torch\n"
     "\n"
     "torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),)), "
     "\"model.pt2\")\n"
     "session = torch.open(\"model.pt2\")\n"
     "session(torch.ones(5, 3))\n",
     "model.pt2: input 'input': dim 0: found size 5, expected 2",
     "`ingot info FILE` shows the expected sizes and `ingot shapes FILE` the relations "
     "between them. To make a size dynamic, export the model again: `dynamic_shapes={\"x\": "
     "{0: torch.export.Dim(\"batch\")}}`."},

    ROW(NO_PROGRAM),
     "the file contains nothing that could be run",
     "Files of `torch.save`, safetensors and NumPy hold tensors, but not the computation. "
     "TorchScript archives can be run if their `forward` takes and gives tensors.",
     "import ingot as torch\n"
     "\n"
     "torch.save({\"weight\": torch.ones(2)}, \"weights.pt\")\n"
     "torch.open(\"weights.pt\")\n",
     "weights.pt: the file holds no program to run",
     "Export the model to `.pt2` or ONNX where its code is available. The weights alone "
     "are read by `ingot.load_state_dict(FILE)`."},

    ROW(PROGRAM_INPUT),
     "an exported program was called with inputs that it does not allow",
     "An exported program checks its inputs: their structure, dtypes, fixed sizes, the "
     "ranges of dynamic ones, and values that were constants during the export.",
     "import ingot as torch\n"
     "\n"
     "program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),))\n"
     "program.module()(torch.ones(4, 3))\n",
     "Expected input at *args[0].shape[0] to be equal to 2, but got 4",
     "Call it with inputs like the examples of the export (`program.example_inputs`), or "
     "export it again with `dynamic_shapes` for the sizes that shall vary."},

    // ---- limits and the system

    ROW(OUT_OF_MEMORY),
     "the machine has no memory for this",
     "The system refused an allocation. Nothing is left behind: the call failed, and the "
     "context can be used again after the error is cleared.",
     "import ingot as torch\n"
     "import resource\n"
     "\n"
     "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))\n"
     "torch.zeros(1 << 30)\n",
     "aten.zeros.default: out of memory: 4294967296 bytes for a tensor (example.py:5)",
     "Use smaller sizes or dtypes, free tensors that are no longer needed, or run the "
     "model in parts. `ingot bench FILE` reports the memory of a run, `ingot show FILE "
     "--plan` where its values lie."},

    ROW(MEMORY_LIMIT),
     "the memory limit of the context is reached",
     "The allocation would exceed the limit that was set for this context or, by default, "
     "the memory of the machine. The limit counts all live bytes: tensors, graphs, files "
     "that were read into memory.",
     "import ingot as torch\n"
     "\n"
     "with torch.limits.limited(max_memory=64 << 20):\n"
     "    torch.zeros(100_000_000)\n",
     "aten.zeros.default: out of memory: 400000000 bytes for a tensor: 400000192 bytes in "
     "addition to 40096 in use exceed the limit of 67108864; if there may be more, raise "
     "max_memory of ig_limits (--max-memory) (example.py:4)",
     "If the program may use more, raise `max_memory`: "
     "`ingot.limits.set_limits(max_memory=...)`, `--max-memory 4G`, "
     "`ig_limits.max_memory`. Otherwise the limit did what it is for."},

    ROW(WORK_LIMIT),
     "the work limit is reached",
     "Operator calls and loop iterations are counted, so that a small file cannot keep a "
     "machine busy for ever. A node that is made while a file is read counts as a "
     "thousand.",
     "import ingot as torch\n"
     "\n"
     "x = torch.ones(2)\n"
     "with torch.limits.limited(max_work=1000):\n"
     "    for _ in range(1001):\n"
     "        x = x + 1\n",
     "aten.add.Tensor: stopped after the limit of 1000 units of work (operator calls, loop "
     "iterations; making a node costs 1000); if it may do more, raise max_work of ig_limits "
     "(example.py:6)",
     "If the program may do more, raise `max_work`: "
     "`ingot.limits.set_limits(max_work=...)`, `--max-work 1e12`, `ig_limits.max_work`."},

    ROW(TIME_LIMIT),
     "the time limit is reached",
     "The operation took longer than allowed. The clock is checked before every operator "
     "call, loop iteration and part of a file, not inside of a kernel.",
     "import ingot as torch\n"
     "\n"
     "x = torch.ones(2)\n"
     "with torch.limits.limited(max_time=0.01):\n"
     "    while True:\n"
     "        x = x + 1\n",
     "aten.add.Tensor: stopped after the limit of 10 ms; if it may take longer, raise "
     "max_millis of ig_limits (--max-time) (example.py:6)",
     "If it may take longer, raise `max_time`: `ingot.limits.set_limits(max_time=...)`, "
     "`--max-time 60`, `ig_limits.max_millis`."},

    ROW(FILE_ACCESS),
     "the file cannot be read or written",
     "The operating system refused to open, read, map or write a file; the message has its "
     "words. Files that are to be written appear under their names only when they are "
     "complete, so a failed attempt leaves the previous file as it was.",
     "import ingot\n"
     "\n"
     "ingot.open(\"missing.pt2\")\n",
     "missing.pt2: No such file or directory",
     "Check the path, the permissions and the space on the disk. Relative paths start at "
     "the current folder of the process."},
};
// clang-format on
