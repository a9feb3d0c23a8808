# SPDX-License-Identifier: Apache-2.0
"""One third-party model in one process, under Ingot or the real PyTorch: see tools/model_table.py.

    model_side.py MODELS FOLDER STEPS

MODELS is a file with rows of models.json; each has a folder of its own in FOLDER. STEPS is `peer` (write weights and
results), `load` (load program.pt2 and compare), or a list of the steps that Ingot makes. Every finished step is
printed as a line of JSON, after a line that names the model.
"""

import contextlib
import gc
import hashlib
import importlib
import json
import os
import pathlib
import signal
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.utils._pytree as pytree  # noqa: E402


def say(**found):
    print(json.dumps(found), flush=True)


def step(name, function):
    """Run a step and report it; its result, or None if it failed."""
    try:
        result = function()
    except AssertionError as error:
        say(**{name: "differs: " + str(error).replace("\n", " ")[:200]})
        return None
    except BaseException as error:
        say(**{name: f"{type(error).__name__}: {error}".replace("\n", " ")[:300]})
        return None
    say(**{name: "ok"})
    return result


def build(model):
    """The model of a row, in evaluation mode."""
    torch.manual_seed(0)
    kind = model["family"]
    options = model.get("options", {})
    if kind == "timm":
        import timm

        made = timm.create_model(model["name"], pretrained=False, **options)
    elif kind == "transformers":
        transformers = importlib.import_module("transformers")
        config_class = getattr(transformers, model["config"])
        config = config_class(**options)
        for name in ("use_cache", "return_dict"):
            if name == "use_cache" and hasattr(config, name):
                setattr(config, name, False)
        made = getattr(transformers, model["class"])(config)
    else:
        made = getattr(importlib.import_module(model["module"]), model["class"])(**options)
    return made.eval()


def inputs_of(model):
    """Positional and keyword inputs."""
    generator = torch.Generator().manual_seed(1)

    def one(spec):
        kind, *sizes = spec
        if kind == "float":
            return torch.rand(sizes, generator=generator)
        if kind == "randn":
            return torch.randn(sizes, generator=generator)
        if kind == "image_list":
            return [torch.rand(sizes, generator=generator)]
        if kind == "ones":
            return torch.ones(sizes, dtype=torch.int64)
        if kind == "number":
            return torch.tensor(sizes[0])
        high = int(kind)
        return torch.randint(0, high, sizes, generator=generator)

    args = tuple(one(s) for s in model.get("args", []))
    kwargs = {k: one(s) for k, s in model.get("kwargs", {}).items()}
    return args, kwargs


def leaves_of(value):
    """The tensors of a result in order, as arrays."""
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    leaves = [x for x in pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]
    return [x.detach().to(torch.float32).numpy() if x.dtype == torch.bfloat16 else x.detach().numpy() for x in leaves]


def compare(found, expected, rtol=1e-4):
    assert len(found) == len(expected), f"{len(found)} results, expected {len(expected)}"
    for i, (a, b) in enumerate(zip(found, expected)):
        assert a.shape == b.shape, f"result {i}: shape {a.shape}, expected {b.shape}"
        scale = float(np.nanmax(np.abs(b[np.isfinite(b)]))) if b.size and np.isfinite(b).any() else 1.0
        close = np.isclose(a, b, rtol=rtol, atol=rtol * max(scale, 1e-6), equal_nan=True)
        if not close.all():
            worst = float(np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64))))
            raise AssertionError(
                f"result {i}: {int((~close).sum())} of {close.size} differ, by up to {worst:.3g} of {scale:.3g}"
            )


def digest(made):
    """Per weight a hash of its bits, and numbers of it for weights that are equal but for roundings: erfinv, which
    many packages draw weights by, is rounded correctly here and is not in PyTorch (3 of 10,000 values, by one unit)."""
    found = {}
    for name, value in made.state_dict().items():
        if isinstance(value, torch.Tensor) and value.dtype not in (torch.bfloat16,):
            array = value.detach().contiguous().numpy()
            flat = array.reshape(-1).astype(np.float64) if array.dtype.kind != "c" else array.reshape(-1).real
            numbers = [float(np.abs(flat).sum()), *map(float, flat[:: max(1, flat.size // 64)])]
            found[name] = [hashlib.md5(array.tobytes()).hexdigest(), numbers]
    return found


def same_weight(one, other):
    """Equal but for roundings: of single elements, or beside the largest (factors of matrices)."""
    largest = max(map(abs, other[1][1:]), default=0.0)
    return one[0] == other[0] or np.allclose(one[1], other[1], rtol=1e-6, atol=1e-6 * largest, equal_nan=True)


def save(path, arrays):
    np.savez(path, *arrays)


def read(path):
    with np.load(path) as files:
        return [files[f"arr_{i}"] for i in range(len(files.files))]


def peer(model, folder):
    made = step("build", lambda: build(model))
    if made is None:
        return
    args, kwargs = inputs_of(model)

    def run():
        (folder / "weights.json").write_text(json.dumps(digest(made)))
        with torch.no_grad():
            save(folder / "results.npz", leaves_of(made(*args, **kwargs)))
        return True

    step("run", run)


def load(model, folder):
    args, kwargs = inputs_of(model)
    if "class" in model:  # the classes of its results are registered with the trees of arguments
        # A package may not be made for this release of PyTorch; if the program needs it, loading says so.
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(model.get("module", model["family"])), model["class"])

    def run():
        program = torch.export.load(str(folder / "program.pt2"))
        with torch.no_grad():
            compare(leaves_of(program.module()(*args, **kwargs)), read(folder / "results.npz"))
        return True

    step("pt2", run)


def onnx_agrees(made, args, kwargs, folder, expected):
    import onnxruntime

    path = str(folder / "model.onnx")
    program = torch.onnx.export(made, args, path, kwargs=kwargs, dynamo=True, verbose=False)
    del program
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    flat = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    names = [i.name for i in session.get_inputs()]
    feed = (
        dict(zip(names, [x.numpy() for x in flat]))
        if len(names) == len(flat)
        else {n: x.numpy() for n, x in kwargs.items() if n in names}
    )
    compare(session.run(None, feed), expected, rtol=1e-3)
    return True


def ingot(model, folder, steps):
    made = step("build", lambda: build(model))
    if made is None:
        return
    args, kwargs = inputs_of(model)
    expected = None
    if (folder / "weights.json").exists():

        def weights():
            theirs, ours = json.loads((folder / "weights.json").read_text()), digest(made)
            assert set(theirs) == set(ours), f"names differ: {sorted(set(theirs) ^ set(ours))[:4]}"
            bad = [n for n in ours if not same_weight(ours[n], theirs[n])]
            assert not bad, f"{len(bad)} of {len(ours)} weights differ: {bad[:3]}"
            return True

        step("weights", weights)

    def run():
        nonlocal expected
        with torch.no_grad():
            ours = leaves_of(made(*args, **kwargs))
        expected = ours
        if (folder / "results.npz").exists():
            compare(ours, read(folder / "results.npz"))
        return True

    step("run", run)
    if expected is None:
        return

    def export(strict):
        with torch.no_grad():
            program = torch.export.export(made, args, kwargs, strict=strict)
            compare(leaves_of(program.module()(*args, **kwargs)), expected)
        return program

    if "export" in steps:
        program = step("export", lambda: export(False))
        if program is not None and "pt2" in steps:
            step("saved", lambda: torch.export.save(program, str(folder / "program.pt2")) or True)
    if "strict" in steps:
        step("strict", lambda: export(True))
    if "onnx" in steps:
        with torch.no_grad():
            step("onnx", lambda: onnx_agrees(made, args, kwargs, folder, expected))


class Late(BaseException):
    """A model took too long."""


def late(*unused):
    raise Late("timeout")


def main():
    folder, steps, limit = pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, late)
    for model in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        name = f"{model['family']}-{model['name'].replace('/', '_')}"
        say(model=name)
        signal.alarm(limit)
        try:
            if steps == "peer":
                peer(model, folder / name)
            elif steps == "load":
                load(model, folder / name)
            else:
                ingot(model, folder / name, steps.split(","))
        except Late:
            say(late="timeout")
        signal.alarm(0)
        gc.collect()


if __name__ == "__main__":
    main()
