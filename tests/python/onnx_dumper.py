# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: every program that a test exports is written as ONNX, checked, and run by onnxruntime on its
examples; verdicts go to $INGOT_DUMP/verdicts.jsonl, a line each. See test_onnx_conformance.py."""

import json
import os
import pathlib

current = {"name": "", "busy": False}
RANDOM = ("rand", "dropout", "bernoulli", "normal", "empty")


def near(found, wanted):
    import numpy

    import ingot

    if len(found) != len(wanted):
        return f"{len(found)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(found, wanted)):
        a, b = (numpy.asarray(v.detach().numpy() if isinstance(v, ingot.Tensor) else v) for v in (a, b))
        if a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True):
            return f"output {i} differs"
    return None


def verdict(ep):
    """ "ok", "refused: why", "not run: why" or "wrong: what"."""
    import onnx

    import ingot
    from ingot.utils import _pytree as pytree

    program = ingot.onnx.ONNXProgram(ep, runtime="onnxruntime")
    try:
        model = onnx.load_model_from_string(program.model_bytes)
    except NotImplementedError as error:
        return f"refused: {error}"
    onnx.checker.check_model(model, full_check=True)
    if ep.example_inputs is None:
        return "not run: no examples"
    args, kwargs = pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, ingot.Tensor) else x,
                                   ep.example_inputs)
    leaves = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, ingot.Tensor)]
    if any(isinstance(x, ingot._subclasses.FakeTensor) or x.device.type == "meta" for x in leaves):
        return "not run: its examples are fake"
    try:
        with ingot.no_grad():
            _ = program.adapt_torch_inputs_to_onnx(*args, **kwargs)
            wanted = program._run_program(program._fed)
    except Exception as error:  # the program's own checks
        return f"not run: the program refuses its examples: {str(error).splitlines()[0][:100]}"
    if not model.graph.output:
        return "not run: it has no outputs, which onnxruntime refuses"
    found = program(*args, **kwargs)
    if any(word in str(ep.graph) for word in RANDOM):
        return "ok"
    wrong = near(found, wanted)
    return f"wrong: {wrong}" if wrong else "ok"


def judged(program):
    try:
        return verdict(program)
    except Exception as error:  # all are reported together
        fake = "it is a fake tensor" in str(error)
        return f"{'refused' if fake else 'wrong'}: {type(error).__name__}: {str(error)[:300]}"


def watched(real):
    def call(*args, **kwargs):
        program = real(*args, **kwargs)
        if current["busy"]:  # one front calls another
            return program
        current["busy"] = True
        try:
            text = judged(program)
        finally:
            current["busy"] = False
        with (pathlib.Path(os.environ["INGOT_DUMP"]) / f"verdicts-{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps([current["name"], text]) + "\n")
        return program

    return call


def pytest_configure(config):  # noqa: ARG001
    """Before anybody keeps the functions."""
    import ingot.export
    import ingot.onnx  # noqa: F401

    for name in ("export", "export_for_training"):
        setattr(ingot.export, name, watched(getattr(ingot.export, name)))


def pytest_runtest_setup(item):
    current["name"] = item.name
