# SPDX-License-Identifier: Apache-2.0
"""Runs a model with onnxruntime or torch and writes every value: RUNTIME MODEL INPUTS.npz VALUES.npz.

Members of INPUTS are "i" and a name, in order; of VALUES "v" and a name, in order, and "o" and a name, empty, for the
outputs. The command carries this text and gives it to a Python that need not have Ingot (INGOT_PYTHON).
"""

import sys


def run_onnxruntime(path, inputs):
    import numpy
    import onnx
    import onnxruntime

    def run(model, names):
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = names or [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, feed)))

    model = onnx.load(path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    taken = {port.name for port in model.graph.input}
    feed = {name: array for name, array in inputs if name in taken}
    plain = run(path, None)
    computed = [name for node in model.graph.node for name in node.output if name]
    for name in computed:
        if name not in plain:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    values = run(model.SerializeToString(), None)
    found = {name: values[name] for name in computed if isinstance(values.get(name), numpy.ndarray)}
    for name, value in plain.items():
        if name in found and not numpy.array_equal(value, found[name], equal_nan=value.dtype.kind == "f"):
            print(
                f"ingot: note: onnxruntime computes {name} a little differently when it gives all values, because it "
                "fuses fewer operators",
                file=sys.stderr,
            )
    return found, list(plain)


def run_torch(path, inputs):
    import torch

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            value = super().run_node(node)
            if node.op == "call_function" and isinstance(value, torch.Tensor):
                data = value.detach()
                found[node.name] = (data.float() if data.dtype == torch.bfloat16 else data).numpy().copy()
            return value

    found = {}
    exported = torch.export.load(path)
    rest = [torch.from_numpy(array) for _, array in inputs]
    arguments = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            held = exported.state_dict if spec.target in exported.state_dict else exported.constants
            arguments.append(held[spec.target])
        elif hasattr(spec.arg, "value"):
            arguments.append(spec.arg.value)
        else:
            arguments.append(rest.pop(0))
    with torch.no_grad():
        Recorder(exported.graph_module).run(*arguments)
    outputs = [spec.arg.name for spec in exported.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    return found, outputs


def main():
    runtime, path, given, target = sys.argv[1:]
    try:
        import numpy

        arrays = numpy.load(given)
        inputs = [(name[1:], arrays[name]) for name in arrays.files]
        found, outputs = (run_torch if runtime == "torch" else run_onnxruntime)(path, inputs)
    except ImportError as error:
        sys.exit(f"ingot: {sys.executable}: {error}; INGOT_PYTHON names a Python that has it")
    except Exception as error:
        sys.exit(f"ingot: {path}: {runtime}: {error}")
    members = {"v" + name: array for name, array in found.items()}
    members.update(("o" + name, numpy.zeros(0, "float32")) for name in outputs if name in found)
    numpy.savez(target, **members)


main()
