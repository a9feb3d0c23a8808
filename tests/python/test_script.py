# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script from Python: functions, classes and modules, calls, attributes, errors, archives."""

import copy
import enum
import io
import pickle
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

import pytest

import ingot as torch
from ingot import jit, nn

# ruff: noqa: UP006, UP007, UP035, UP045


def double(x, n: int = 2):
    return x * n


def chain(x, ks: List[int]):
    y = torch.relu(x) + 1
    for k in ks:
        y = y + double(x, k)
    return y, double(x)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    left: torch.Tensor
    n: int = 3


class Box:
    def __init__(self, width: int):
        self.width = width

    def area(self) -> int:
        return self.width * self.width


class Net(nn.Module):
    scale: Final[int] = 3

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        self.register_buffer("shift", torch.ones(3))
        self.count = 0
        self.names = ["a", "b"]
        self.odd = object()

    def helper(self, x):
        return x * self.scale + self.shift

    def forward(self, x):
        self.count += 1
        return self.helper(self.body(x))

    @jit.export
    def size(self) -> int:
        return len(self.names)

    @jit.ignore
    def python_only(self, x: torch.Tensor) -> torch.Tensor:
        return x + len(str(type(self)))


def test_functions_call_each_other_and_defaults_apply() -> None:
    f = jit.script(chain)
    x = torch.tensor([1.0, -2.0])
    assert all(torch.equal(a, b) for a, b in zip(f(x, [1, 2]), chain(x, [1, 2])))
    assert torch.equal(f(x, ks=[3])[1], x * 2)
    assert "prim::CallFunction" in str(f.graph) and "prim::CallFunction" not in str(f.inlined_graph)
    assert str(f.schema) == "chain(Tensor x, int[] ks) -> ((Tensor, Tensor))"
    assert jit.script(chain) is not None and f.name == "chain"


def test_gradients_flow() -> None:
    x = torch.ones(3, requires_grad=True)
    jit.script(double)(x, 5).sum().backward()
    assert x.grad.tolist() == [5.0] * 3


@pytest.mark.parametrize(
    ("args", "options", "text"),
    [
        ((), {}, "double() is missing value for argument 'x'"),
        ((1.5,), {}, "double() Expected a value of type 'Tensor (inferred)' for argument 'x'"),
        ((torch.ones(1), 1, 2), {}, "double() expected at most 2 argument(s) but received 3 argument(s)"),
        ((torch.ones(1),), {"m": 2}, "Unknown keyword argument 'm' for operator 'double'"),
        ((torch.ones(1), "a"), {}, "Expected a value of type 'int' for argument 'n' but instead found type 'str'"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple, options: dict, text: str) -> None:
    with pytest.raises(RuntimeError) as error:
        jit.script(double)(*args, **options)
    assert text in str(error.value)


def use_types(x, c: Color, p: Pair, n: Optional[int]):
    b = Box(p.n)
    if n is None:
        n = 1
    if c == Color.RED:
        return x * b.area(), Pair(p.left, n), c
    return x, p, Color.RED


def test_classes_enums_and_named_tuples() -> None:
    f = jit.script(use_types)
    x = torch.ones(2)
    a, p, c = f(x, Color.RED, Pair(x, 2), None)
    assert a.tolist() == [4.0, 4.0] and p.n == 1 and c is Color.RED
    assert f(x, Color.BLUE, Pair(x), 7)[1].n == 3


def test_modules_share_values_with_the_python_module() -> None:
    net = Net()
    s = jit.script(net)
    x = torch.ones(1, 2)
    assert torch.equal(s(x), net(x))
    with torch.no_grad():
        net.body[0].weight.fill_(1.0)
    assert torch.equal(s(x), net(x))
    assert (s.count, s.scale, s.names, s.size()) == (2, 3, ["a", "b"], 2)
    assert [name for name, _ in s.named_parameters()] == ["body.0.weight", "body.0.bias"]
    assert list(s.state_dict()) == list(net.state_dict())
    assert s.original_name == "Net" and isinstance(s, jit.ScriptModule)


def test_modes_attributes_and_copies() -> None:
    s = jit.script(Net())
    assert s.eval().training is False and s.body.training is False
    other = copy.deepcopy(s)
    other.count = 9
    assert s.count == 0 and other.count == 9
    with torch.no_grad():
        other.shift.zero_()
    assert s.shift.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="Could not cast attribute 'count' to type int"):
        s.count = "no"
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute 'nothing'"):
        _ = s.nothing
    with pytest.raises((RuntimeError, pickle.PicklingError)):
        pickle.dumps(s)


def test_equal_modules_share_a_class() -> None:
    a, b, c = (jit.script(m) for m in (nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 3)))
    names = [m._c._type().qualified_name() for m in (a, b, c)]
    assert names[0] == names[1] != names[2] and all(name.endswith(".Linear") for name in names)


class Uses(nn.Module):
    def __init__(self):
        super().__init__()
        self.odd = {}

    def forward(self, x):
        return x + len(self.odd)


def test_attributes_without_a_type_are_told_when_used() -> None:
    with pytest.raises(RuntimeError, match="Module 'Uses' has no attribute 'odd' .This attribute exists on the Python"):
        jit.script(Uses())


def has_lambda(x):
    f = lambda y: y  # noqa: E731
    return f(x)


def test_errors_of_the_front_have_classes_and_places() -> None:
    with pytest.raises(jit.frontend.UnsupportedNodeError) as error:
        jit.script(has_lambda)
    assert str(error.value).startswith("Lambda aren't supported:\n  File ")
    assert issubclass(jit.frontend.UnsupportedNodeError, jit.frontend.NotSupportedError)
    assert not issubclass(jit.frontend.FrontendError, RuntimeError)


LIMIT = 3


def uses_global(x):
    return x * LIMIT


def raises(n: int):
    if n > 1:
        raise ValueError(f"too large: {n}")
    return n


def test_closed_over_numbers_and_raised_errors() -> None:
    with pytest.raises(RuntimeError, match="python value of type 'int' cannot be used as a value. Perhaps it is"):
        jit.script(uses_global)
    with pytest.raises(jit.Error, match="too large: 5"):
        jit.script(raises)(5)


def test_texts_are_compiled() -> None:
    unit = jit.CompilationUnit("def f(x, n: int = 3):\n    return g(x) + n\ndef g(x):\n    return x * 2\n")
    assert unit.f(torch.ones(1)).tolist() == [5.0]
    with pytest.raises(RuntimeError, match="expected"):
        jit.CompilationUnit("def f(:\n  return 1\n")


class Declared(jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((2,), 2.0))

    @jit.script_method
    def forward(self, x):
        return x * self.w


def test_modules_that_are_declared_as_scripts() -> None:
    m = Declared()
    assert m(torch.ones(2)).tolist() == [2.0, 2.0]
    assert "self.w" in m.code


def test_archives_are_written_and_read() -> None:
    net = jit.script(Net())
    file = io.BytesIO()
    jit.save(net, file, _extra_files={"note": "text"})
    extra = {"note": ""}
    read = jit.load(io.BytesIO(file.getvalue()), _extra_files=extra)
    x = torch.ones(1, 2)
    assert torch.equal(read(x), net(x)) and extra == {"note": b"text"} and read.code == net.code
    function = io.BytesIO()
    jit.save(jit.script(double), function)
    assert jit.load(io.BytesIO(function.getvalue()))(torch.ones(1), 4).tolist() == [4.0]
    with pytest.raises(RuntimeError, match="not a ZIP archive"):
        jit.load(io.BytesIO(b"no"))


class _Pair(NamedTuple):
    x: torch.Tensor
    y: int = 3


def test_schemas_name_tuples_of_modules_only():
    def both(a: _Pair, b: Dict[str, List[_Pair]]) -> List[Tuple[int, Optional[_Pair]]]:
        return [(a.y, a)]

    def best(x):
        return x.max(0)

    name = f"__torch__.{__name__}._Pair"
    assert str(torch.jit.script(both).schema) == f"both({name} a, Dict(str, {name}[]) b) -> ((int, {name}?)[])"
    assert torch.jit.script(best).code.startswith("def best(x: Tensor) -> Tuple[Tensor, Tensor]:")


def test_dtypes_of_conversions_are_numbers():
    def convert(x):
        return (x > 0).float(), x.half()

    first, second = torch.jit.script(convert)(torch.tensor([1.0, -1.0]))
    assert (first.dtype, first.tolist(), second.dtype) == (torch.float32, [1.0, 0.0], torch.float16)


def test_both_conditions_are_compiled():
    def refused(x, n: int):
        return x if isinstance(n, int) or n.foo() else x

    with pytest.raises(RuntimeError, match="'int' object has no attribute or method 'foo'"):
        torch.jit.script(refused)


def test_parameters_are_listed_whatever_else_is_freed() -> None:
    for _ in range(30):
        scripted = jit.script(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 10)))
        for _ in range(50):  # members are objects made on demand, whose addresses are used again
            assert [name for name, _ in scripted.named_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
