// SPDX-License-Identifier: Apache-2.0
// A process of Python that runs a model with onnxruntime or torch and writes every value: an .npz
// with the members "v" and a name, in order, and "o" and a name, empty, for the outputs.
#include "cli/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"

static const char program[] =
    "import sys\n"
    "runtime, path, given, target = sys.argv[1:]\n"
    "try:\n"
    "    import numpy\n"
    "    if runtime == 'torch':\n"
    "        import torch\n"
    "    else:\n"
    "        import onnx, onnxruntime\n"
    "except ImportError as error:\n"
    "    sys.exit(f'ingot: {sys.executable}: {error}; INGOT_PYTHON names a Python that has it')\n"
    "arrays = numpy.load(given)\n"
    "inputs = [(k[1:], arrays[k]) for k in arrays.files]\n"
    "found, outputs = {}, []\n"
    "def run_onnxruntime():\n"
    "    model = onnx.load(path)\n"
    "    options = onnxruntime.SessionOptions()\n"
    "    options.log_severity_level = 3\n"
    "    provider = ['CPUExecutionProvider']\n"
    "    names = [i.name for i in model.graph.input]\n"
    "    feed = {k: v for k, v in inputs if k in names}\n"
    "    plain = onnxruntime.InferenceSession(path, options, providers=provider).run(None, feed)\n"
    "    outputs.extend(o.name for o in model.graph.output)\n"
    "    have = set(outputs)\n"
    "    for node in model.graph.node:\n"
    "        for name in node.output:\n"
    "            if name and name not in have:\n"
    "                have.add(name)\n"
    "                model.graph.output.append(onnx.ValueInfoProto(name=name))\n"
    "    data = model.SerializeToString()\n"
    "    session = onnxruntime.InferenceSession(data, options, providers=provider)\n"
    "    every = [o.name for o in session.get_outputs()]\n"
    "    values = dict(zip(every, session.run(every, feed)))\n"
    "    for node in model.graph.node:\n"
    "        for name in node.output:\n"
    "            if isinstance(values.get(name), numpy.ndarray):\n"
    "                found[name] = values[name]\n"
    "    for name, value in zip(outputs, plain):\n"
    "        if isinstance(value, numpy.ndarray) and name in found:\n"
    "            if not numpy.array_equal(value, found[name], equal_nan=value.dtype.kind == 'f'):\n"
    "                print('ingot: note: onnxruntime computes', name, 'a little differently when "
    "it',\n"
    "                      'gives all values, because it fuses fewer operators', file=sys.stderr)\n"
    "def run_torch():\n"
    "    exported = torch.export.load(path)\n"
    "    rest = [torch.from_numpy(v) for _, v in inputs]\n"
    "    arguments = []\n"
    "    for spec in exported.graph_signature.input_specs:\n"
    "        if spec.kind.name == 'USER_INPUT':\n"
    "            arguments.append(getattr(spec.arg, 'value', None) if hasattr(spec.arg, 'value')\n"
    "                             else rest.pop(0))\n"
    "        else:\n"
    "            held = exported.state_dict\n"
    "            arguments.append(held[spec.target] if spec.target in held\n"
    "                             else exported.constants[spec.target])\n"
    "    class Recorder(torch.fx.Interpreter):\n"
    "        def run_node(self, node):\n"
    "            value = super().run_node(node)\n"
    "            if node.op == 'call_function' and isinstance(value, torch.Tensor):\n"
    "                data = value.detach()\n"
    "                if data.dtype == torch.bfloat16:\n"
    "                    data = data.float()\n"
    "                found[node.name] = data.numpy().copy()\n"
    "            return value\n"
    "    with torch.no_grad():\n"
    "        Recorder(exported.graph_module).run(*arguments)\n"
    "    for spec in exported.graph_signature.output_specs:\n"
    "        if spec.kind.name == 'USER_OUTPUT' and spec.arg.name in found:\n"
    "            outputs.append(spec.arg.name)\n"
    "try:\n"
    "    run_torch() if runtime == 'torch' else run_onnxruntime()\n"
    "except Exception as error:\n"
    "    sys.exit(f'ingot: {path}: {runtime}: {error}')\n"
    "members = {'v' + k: v for k, v in found.items()}\n"
    "members.update(('o' + k, numpy.zeros(0, 'float32')) for k in outputs if k in found)\n"
    "numpy.savez(target, **members)\n";

// ---- inputs

static int save_inputs(ig_ctx *c, const ig_model *m, const ig_session *s, const char *path) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  ig_weight *list = calloc(n + 1, sizeof *list);
  char(*names)[260] = calloc(n + 1, sizeof *names);
  size_t k = 0;
  for (size_t i = 0; list && names && i < n; i++) {
    const ig_value *v = ig_session_input_at(s, i);
    if (!v || v->kind != IG_KIND_TENSOR) continue;
    (void)snprintf(names[k], sizeof *names, "i%s", ports[i]->name);
    list[k] = (ig_weight){.name = names[k], .tensor = v->tensor};
    k++;
  }
  int code = list && names ? cli_save_arrays(c, path, list, k) : cli_no_memory();
  free(list);
  free(names);
  return code;
}

// ---- values

static int add_values(ig_ctx *c, const char *path, ig_run_trace *t) {
  cli_arrays a;
  int code = cli_load_arrays(c, path, &a);
  for (size_t i = 0; code == CLI_OK && i < a.n; i++) {
    const ig_weight *w = &a.list[i];
    bool value = w->name[0] == 'v' && w->tensor;
    bool output = w->name[0] == 'o';
    ig_status st = IG_OK;
    if (value) st = ig_run_trace_add(t, w->name + 1, w->tensor);
    if (output) st = ig_run_trace_output(t, w->name + 1);
    if (st != IG_OK) code = cli_fail(c, path, CLI_FAILED);
  }
  cli_free_arrays(&a);
  return code;
}

static int run_python(const char *runtime, const char *file, const char *given, const char *got) {
  const char *python = getenv("INGOT_PYTHON");
  const char *words[] = {
      python && python[0] ? python : "python3", "-c", program, runtime, file, given, got, NULL};
  (void)fflush(stdout);
  int ended = ig_host_run(words);
  if (ended < 0 || ended == 127) {
    return cli_error(CLI_FAILED,
                     "%s needs Python, and '%s' cannot be started; INGOT_PYTHON names one that has "
                     "the package",
                     runtime, words[0]);
  }
  return ended == 0 ? CLI_OK : CLI_FAILED;  // it has said why
}

int cli_foreign_run(ig_ctx *c, const char *runtime, const ig_model *m, const ig_session *s,
                    ig_run_trace *t) {
  char folder[200];
  char given[256];
  char got[256];
  const char *where = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%.150s/ingot-XXXXXX", where ? where : "/tmp");
  if (!ig_host_temporary(folder)) return cli_error(CLI_IO, "%s: %s", folder, strerror(errno));
  (void)snprintf(given, sizeof given, "%s/given.npz", folder);
  (void)snprintf(got, sizeof got, "%s/values.npz", folder);
  int code = save_inputs(c, m, s, given);
  if (code == CLI_OK) code = run_python(runtime, ig_model_name(m), given, got);
  if (code == CLI_OK) code = add_values(c, got, t);
  (void)remove(given);
  (void)remove(got);
  (void)remove(folder);
  return code;
}
