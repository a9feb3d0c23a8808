# SPDX-License-Identifier: Apache-2.0
"""ingot.as_torch and `python -m ingot`, each in a process of its own: the names in sys.modules are for good."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import ingot

PACKAGE = str(pathlib.Path(ingot.__file__).parent.parent)


def python(*arguments, code=None, folder=None, check=True):
    environment = dict(os.environ, PYTHONPATH=PACKAGE)
    command = [sys.executable, *arguments]
    if code is not None:
        command += ["-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def run(code):
    return python(code="import ingot.as_torch\n" + textwrap.dedent(code)).stdout


def test_names():
    out = run("""
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import Tensor
        from torch.nn.utils.rnn import pack_padded_sequence
        from torch.utils._pytree import tree_map
        import ingot
        assert torch.__name__ == "torch" and torch.__version__.startswith("2.")
        assert Tensor is ingot.Tensor and torch.float32 is ingot.float32 and nn.Linear is ingot.nn.Linear
        assert torch.nn.modules.linear.Linear is nn.Linear and F.relu is ingot.nn.functional.relu
        assert torch.nn.modules.lazy.LazyModuleMixin is ingot.nn.modules.lazy.LazyModuleMixin
        assert torch.autograd.Function is ingot.autograd.Function and torch.func.functional_call
        assert torch.testing.assert_close and torch.linalg.qr and not torch.cuda.is_available()
        assert torch.ops.aten.add.Tensor(torch.ones(1), 1).item() == 2.0 and torch._C._nn.gelu
        assert torch._export.utils.register_dataclass_as_pytree_node
        assert "as_torch" not in dir(torch) and "Linear" in dir(torch.nn)
        x = torch.ones(2, 3, requires_grad=True)
        nn.Linear(3, 1)(x).sum().backward()
        print(x.grad.shape, tree_map(lambda v: v + 1, [1]))
    """)
    assert out == "torch.Size([2, 3]) [2]\n"


@pytest.mark.parametrize(
    "statement, error",
    [
        ("torch.no_such_name", "AttributeError: module 'torch' has no attribute 'no_such_name'"),
        ("torch.nn.NoSuchLayer", "AttributeError: module 'torch.nn' has no attribute 'NoSuchLayer'"),
        ("from torch import no_such_name", "ImportError: cannot import name 'no_such_name' from 'torch'"),
        ("import torch.no_such_module", "ModuleNotFoundError: No module named 'torch.no_such_module'"),
        ("from torch.nn.functional import nope", "ImportError: cannot import name 'nope' from 'torch.nn.functional'"),
        ("torch.as_torch", "AttributeError: module 'torch' has no attribute 'as_torch'"),
        ("import functorch; functorch.nope", "AttributeError: module 'functorch' has no attribute 'nope'"),
    ],
)
def test_missing_names(statement, error):
    code = f"import torch\ntry:\n    {statement}\nexcept Exception as e:\n    print(f'{{type(e).__name__}}: {{e}}')"
    assert run(code).startswith(error)


def test_every_row_of_the_table_that_is_there_can_be_imported():
    out = run("""
        import importlib, sys
        names = [n for n in sys.modules if n.partition(".")[0] in ("torch", "functorch")]
        for name in names:
            assert importlib.import_module(name) is sys.modules[name]
            dir(sys.modules[name])
            parent, _, leaf = name.rpartition(".")
            found = getattr(sys.modules[parent], leaf) if parent else sys.modules[name]
            assert found is sys.modules[name] or callable(found)  # a function by the name of its file
        import torch
        assert torch.export.unflatten.__name__ == "unflatten"
        from torch.export.unflatten import unflatten
        assert unflatten is torch.export.unflatten
        print(len(names) > 50)
    """)
    assert out == "True\n"


def test_names_set_by_programs():
    out = run("""
        import torch, unittest.mock
        torch.mine = 5
        with unittest.mock.patch.object(torch.nn, "Linear", 7):
            assert torch.nn.Linear == 7
        print(torch.mine, torch.nn.Linear.__name__)
    """)
    assert out == "5 Linear\n"


def test_refuses_when_another_torch_is_imported():
    code = """
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        try:
            import ingot.as_torch
        except ImportError as e:
            print(e)
    """
    text = "ingot.as_torch: the real torch is already imported; import ingot.as_torch before it\n"
    assert python(code=code).stdout == text


def test_import_ingot_leaves_torch_and_numpy_alone():
    code = "import sys, ingot; print([n for n in ('torch', 'numpy', 'typing', 'ingot.nn') if n in sys.modules])"
    assert python("-S", code=code).stdout == "[]\n"


def test_script(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 4\n")
    (tmp_path / "script.py").write_text(
        "import sys, torch, beside\n"
        "print(__name__, sys.argv, torch.ones(2).sum().item() + beside.VALUE, torch.__name__)\n"
        "sys.exit(3)\n"
    )
    script = str(tmp_path / "script.py")
    done = python("-m", "ingot", script, "a", "--b", check=False)
    assert done.stdout == f"__main__ {[script, 'a', '--b']} 6.0 torch\n" and done.returncode == 3


def test_module_and_code(tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys, torch\nprint(__name__, sys.argv[1:], torch.tensor([1, 2]).tolist())\n"
    )
    done = python("-m", "ingot", "-m", "program", "x", folder=tmp_path)
    assert done.stdout == "__main__ ['x'] [1, 2]\n"
    done = python("-m", "ingot", "-c", "import torch, sys; print(__name__, sys.argv, torch.zeros(1))", "y")
    assert done.stdout == "__main__ ['-c', 'y'] tensor([0.])\n"


def test_script_that_raises(tmp_path):
    (tmp_path / "bad.py").write_text("import torch\ntorch.ones(2) + torch.ones(3)\n")
    done = python("-m", "ingot", str(tmp_path / "bad.py"), check=False)
    assert done.returncode == 1 and "bad.py" in done.stderr and "RuntimeError" in done.stderr


def test_usage():
    assert python("-m", "ingot", "--help").stdout.startswith("usage: python -m ingot")
    assert python("-m", "ingot", check=False).returncode == 2
    done = python("-m", "ingot", "no_such_file.py", check=False)
    assert done.returncode == 2 and "can't open file 'no_such_file.py'" in done.stderr
