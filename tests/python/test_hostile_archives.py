# SPDX-License-Identifier: Apache-2.0
"""TorchScript archives that no exporter wrote: values of other types than declared, code that changes what is being
read, types and objects that are more than they seem."""
import os
import pathlib
import struct
import subprocess

import pytest

import hostile_files as hostile
import ingot
from test_command_safety import talks_to_the_terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")
ENV = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
LIMITS = ("--max-memory", "512M", "--max-work", "3e6")


@pytest.fixture
def use(tmp_path):
    """Runs the command on an archive: its status and what it printed."""

    def act(verb: str, data: bytes, *more: str) -> tuple[int, str]:
        path = tmp_path / "a.pt"
        path.write_bytes(data)
        if verb in ("run", "convert"):
            ingot.save_file({"x": ingot.arange(6.0).reshape(2, 3)}, str(tmp_path / "x.safetensors"))
            more = ("--inputs", str(tmp_path / "x.safetensors"), *more)
        words = [verb, path, *([tmp_path / "a.pt2"] if verb == "convert" else []), *more, *LIMITS]
        done = subprocess.run([INGOT, *map(str, words)], env=ENV, capture_output=True, timeout=300)
        assert done.returncode in (0, 1, 3, 5), done
        assert not talks_to_the_terminal(done.stdout + done.stderr)
        return done.returncode, (done.stdout + done.stderr).decode()

    return act


def test_archives_made_by_hand_run(use):
    status, text = use("run", hostile.script("return torch.add(x, x)"))
    assert status == 0 and "0 2 4 6 8 10" in text
    assert use("verify", hostile.script("return torch.add(x, x)"))[0] == 0


# ---- values of other types than declared


@pytest.mark.parametrize("value", ["[1, 2]", "'abc'", "self", "None", "5", "(x, x)"])
def test_results_have_the_declared_type(use, value):
    for verb in ("run", "convert"):
        status, text = use(verb, hostile.script(f"return unchecked_cast(Tensor, {value})"))
        assert status == 5 and "'forward' returned another value than Tensor" in text
    status, text = use("run", hostile.script(f"return (x, unchecked_cast(int, {value}))", result="Tuple[Tensor, int]"))
    assert (status == 0) == (value == "5")


@pytest.mark.parametrize("types", [("List[int]", "Dict[str, int]"), ("List[int]", "__torch__.N")])
def test_a_shared_object_has_one_type(use, types):
    shared = b"]q\x00(" + hostile.pickled(1) + b"e"
    attributes = f"  a : {types[0]}\n  b : {types[1]}\n"
    classes = "class N:\n  value : int\n"
    data = hostile.script("return x", classes, attributes, state={"a": shared, "b": b"h\x00"})
    status, text = use("run", data)
    assert status in (3, 5) and "the archive holds" in text


def test_leaving_a_with_statement_of_another_class(use):
    classes = "".join(
        f"class {name}:\n  def __enter__(self: __torch__.{name}) -> None:\n    pass\n"
        f"  def __exit__({parameters}) -> None:\n    pass\n"
        for name, parameters in (("V", ""), ("W", "self: __torch__.W, a: Any, b: Any, c: Any"))
    )
    body = "v = unchecked_cast(__torch__.W, __torch__.V.__new__(__torch__.V))\nwith v:\n  y = torch.relu(x)\nreturn y"
    assert use("run", hostile.script(body, classes))[0] in (3, 5)


@pytest.mark.parametrize("body", [
    "torch.backward([torch.sum(y), torch.sum(y)], [torch.ones([])])\nreturn x",
    "g = torch.grad([torch.sum(y), torch.sum(y)], [y], [torch.ones([])])\nreturn x",
    "torch.backward(unchecked_cast(List[Tensor], [None, 1]))\nreturn x",
    "g = torch.grad([torch.sum(y)], unchecked_cast(List[Tensor], [1, 2]))\nreturn x",
    "g = torch.grad([torch.sum(y)], [torch.ones([2])], None, None, False, True)\n"
    "return unchecked_cast(Tensor, g[0])",
])  # fmt: skip
def test_gradients_of_other_numbers_of_tensors(use, body):
    status, text = use("run", hostile.script(f"y = torch.requires_grad_(torch.add(x, 1), True)\n{body}"))
    assert status in (3, 5), text


# ---- code that changes what is being read

NODE = """class N:
  all : List[__torch__.N]
  def __lt__(self: __torch__.N, other: __torch__.N) -> bool:
    all = self.all
    torch.clear(all)
    for i in range(3):
      n = __torch__.N.__new__(__torch__.N)
      n.all = annotate(List[__torch__.N], [])
      torch.append(all, n)
    return True
"""
LIST = """l = annotate(List[__torch__.N], [])
for i in range(3):
  n = __torch__.N.__new__(__torch__.N)
  n.all = l
  torch.append(l, n)
"""


def test_a_comparison_changes_the_list_that_is_sorted(use):
    status, text = use("run", hostile.script(f"{LIST}torch.sort(l)\nreturn torch.add(x, torch.len(l[0].all))", NODE))
    assert status in (0, 5), text
    assert use("run", hostile.script(f"{LIST}m = torch.sorted(l)\nreturn torch.add(x, torch.len(m))", NODE))[0] == 0


def test_a_comparison_changes_the_list_whose_least_element_is_sought(use):
    body = f"{LIST}m = unchecked_cast(List[int], l)\nreturn torch.add(x, torch.min(m))"
    use("run", hostile.script(body, NODE))


def test_elements_nested_beyond_the_limit_have_no_order(use):
    body = """a = annotate(List[Any], [1])
for i in range(20000):
  b = annotate(List[Any], [])
  torch.append(b, a)
  a = b
l = unchecked_cast(List[str], [a, a, a])
m = torch.sorted(l)
return torch.add(x, torch.len(m))"""
    status, text = use("run", hostile.script(body))
    assert status == 5 and "nested too deeply" in text


def test_a_branch_changes_the_list_that_the_other_one_gives(use):
    body = """l = [x]
if bool(torch.gt(torch.sum(x), 0)):
  y = l
else:
  a = torch.append(l, x)
  b = torch.append(l, x)
  y = [x]
return torch.add(y[0], torch.len(l))"""
    assert use("run", hostile.script(body))[0] == 0
    status, text = use("convert", hostile.script(body))
    assert status == 5 and "depends on data changes a list" in text


def test_nested_tuples_in_a_branch(use):
    body = """t = unchecked_cast(Any, 1)
for i in range(20000):
  t = unchecked_cast(Any, (t, 1))
if bool(torch.gt(torch.sum(x), 0)):
  y = t
else:
  y = unchecked_cast(Any, 1)
return torch.add(x, int(isinstance(y, int)))"""
    assert use("run", hostile.script(body))[0] == 0
    use("convert", hostile.script(body))


# ---- saving


@pytest.mark.parametrize("parameters", ["", ", a: int, b: Tensor"])
def test_getstate_takes_the_object(tmp_path, parameters):
    classes = f"class N:\n  n : int\n  def __getstate__(self: __torch__.N{parameters}) -> int:\n    return self.n\n"
    classes += "  def __setstate__(self: __torch__.N, n: int) -> None:\n    self.n = n\n"
    data = hostile.script("return x", classes, "  o : __torch__.N\n", state={"o": hostile.instance("N", 3)})
    (tmp_path / "a.pt").write_bytes(data)
    module = ingot.jit.load(str(tmp_path / "a.pt"))
    if parameters:
        (tmp_path / "b.pt").write_bytes(b"old")
        with pytest.raises(ValueError, match="__getstate__ has 3 parameters"):
            ingot.jit.save(module, str(tmp_path / "b.pt"))
        assert (tmp_path / "b.pt").read_bytes() == b"old"
        assert {path.name for path in tmp_path.iterdir()} == {"a.pt", "b.pt"}
    else:
        ingot.jit.save(module, str(tmp_path / "b.pt"))
        ingot.jit.load(str(tmp_path / "b.pt"))


def test_saving_to_a_folder_that_is_not_there(tmp_path):
    module = ingot.jit.script(ingot.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="Parent directory .*/none does not exist"):
        module.save(str(tmp_path / "none" / "a.pt"))


def test_getstate_drops_what_is_being_saved(tmp_path):
    classes = """class P:
  t : Tensor
  n : __torch__.N
  u : Tensor
class N:
  all : List[__torch__.P]
  def __getstate__(self: __torch__.N) -> int:
    torch.clear(self.all)
    return 1
  def __setstate__(self: __torch__.N, n: int) -> None:
    self.all = annotate(List[__torch__.P], [])
"""
    body = """l = self.l
n = __torch__.N.__new__(__torch__.N)
n.all = l
p = __torch__.P.__new__(__torch__.P)
p.t = torch.zeros([1000])
p.n = n
p.u = torch.ones([1000])
torch.append(l, p)
return x"""
    data = hostile.script(body, classes, "  l : List[__torch__.P]\n", state={"l": []})
    (tmp_path / "a.pt").write_bytes(data)
    module = ingot.jit.load(str(tmp_path / "a.pt"))
    module(ingot.ones(2))
    ingot.jit.save(module, str(tmp_path / "b.pt"))


# ---- more than they seem


def test_types_are_bounded(use):
    inner = "".join(
        f"class T{i}(NamedTuple):\n  a : {of}\n  b : {of}\n"
        for i in range(60)
        for of in [f"__torch__.T{i + 1}" if i < 59 else "Tensor"]
    )
    data = hostile.script("return x", inner, signature="x: __torch__.T0", result="__torch__.T0")
    assert "a type of more than" in use("info", data)[1]
    assert use("run", data)[0] in (3, 5)


@pytest.mark.parametrize("kind", ["list", "tuple"])
def test_shared_constants_are_looked_at_once(use, kind):
    data = hostile.script("return torch.add(x, 1)", constants=(hostile.shared_twice(100, kind),))
    assert use("info", data)[0] in (0, 5)
    assert use("run", data)[0] == (0 if kind == "list" else 5)


def test_shared_modules_are_bounded(use):
    classes = "class L(Module):\n  training : bool\n  a : Any\n  b : Any\n"
    out = hostile.instance("L", {"training": False, "a": None, "b": None})
    for i in range(100):
        key = bytes([i])
        out = hostile.instance("L", {"training": False, "a": out + b"q" + key, "b": b"h" + key})
    status, text = use("info", hostile.script("return x", classes, "  a : Any\n", state={"a": out}))
    assert status in (0, 3, 5) and "too many modules" in text


def test_searches_are_charged(use):
    body = """s = "a"
for i in range(20):
  s = torch.add(s, s)
p = torch.add(torch.slice(s, 0, 500000, 1), "b")
return torch.add(x, torch.find(s, p, 0, -1))"""
    status, text = use("run", hostile.script(body))
    assert status == 5 and "units of work" in text


def test_a_text_that_exceeds_the_limit_ends(use):
    body = 's = "a"\nfor i in range(18):\n  s = torch.add(s, s)\nt = torch.replace(s, "", s, -1)\n'
    status, text = use("run", hostile.script(body + "return torch.add(x, torch.len(t))"))
    assert status == 5 and "out of memory" in text


def test_circles_of_references_run(use):
    """The sanitizer tells whether they are freed."""
    classes = "class C(Enum):\n  A = 1\n  B = 2\nclass N:\n  me : Optional[__torch__.N]\n  all : List[Any]\n"
    body = """n = __torch__.N.__new__(__torch__.N)
n.me = n
l = annotate(List[Any], [])
_0 = torch.append(l, n)
n.all = l
c = __torch__.C.B
return torch.add(x, c.value)"""
    assert use("run", hostile.script(body, classes))[0] == 0
    data = hostile.script("return x", classes, constants=(hostile.instance("N", {"me": None, "all": [1]}),))
    assert use("run", data)[0] == 0
    body = "l = annotate(List[Any], [])\n_0 = torch.append(l, l)\nreturn torch.add(x, torch.len(l))"
    status, text = use("run", hostile.script(body))
    assert status == 5 and "cannot contain itself" in text


# ---- what is run, and when


def test_opening_runs_nothing(use, tmp_path):
    classes = "class N:\n  n : int\n  def __setstate__(self: __torch__.N, n: int) -> None:\n"
    classes += "    self.n = n\n    ops.prim.RaiseException('it runs')\n"
    data = hostile.script("return x", classes, constants=(hostile.instance("N", 1),))
    for verb in ("info", "verify", "show"):
        assert "it runs" not in use(verb, data)[1].replace("RaiseException('it runs')", "")
    with pytest.raises(ingot.jit.Error, match="it runs"):
        ingot.jit.load(str(tmp_path / "a.pt"))


def test_verify_compiles(use):
    for body in ("return (self).forward(x)", "return torch.nothing(x)", "return torch.add(y, x)", "return 5"):
        assert use("verify", hostile.script(body))[0] in (3, 5)


def test_what_scripts_print_is_escaped(use):
    text = hostile.ESCAPES.encode("unicode_escape").decode()
    for body in (f'print("{text}")\nreturn x', f'ops.prim.RaiseException("{text}")\nreturn x',
                 f'torch.warn("{text}", 2)\nreturn x', f'assert False, "{text}"\nreturn x'):  # fmt: skip
        for verb in ("run", "convert", "verify", "info"):
            use(verb, hostile.script(body))
        use("show", hostile.script(body), "--graph")
        use("show", hostile.script(body), "--code")
    raw = hostile.script(f'y = "{hostile.ESCAPES}"\nreturn x  # {hostile.ESCAPES}')
    for more in ((), ("--graph",), ("--code",)):
        use("show", raw, *more)
    use("info", raw, "--all")


@pytest.mark.parametrize("body", [
    "while torch.gt(torch.len([1]), 0):\n  x = torch.relu(x)\nreturn x",
    "y = [1]\nwhile torch.gt(torch.len(y), 0):\n  z = torch.append(y, 1)\nreturn torch.add(x, torch.len(y))",
    "s = 'a'\nwhile torch.gt(torch.len(s), 0):\n  s = torch.add(s, s)\nreturn torch.add(x, torch.len(s))",
    "y = torch.mul([1], 9223372036854775807)\nreturn torch.add(x, torch.len(y))",
])  # fmt: skip
def test_runs_are_bounded(use, body):
    for verb in ("run", "convert"):
        status, text = use(verb, hostile.script(body))
        assert status == 5 and ("units of work" in text or "out of memory" in text)


def test_calls_that_double_are_bounded(use):
    functions = "".join(
        f"def f{i}(x: Tensor) -> Tensor:\n  return {f'__torch__.f{i + 1}(__torch__.f{i + 1}(x))' if i < 60 else 'x'}\n"
        for i in range(61)
    )
    data = hostile.script("return __torch__.f0(x)", functions)
    assert use("verify", data)[0] == 0
    for verb in ("run", "convert"):
        assert "units of work" in use(verb, data)[1]


# ---- quantized tensors and packed weights

STORAGES = (bytes(range(8)), struct.pack("<2d", 0.5, 0.25), struct.pack("<2q", 0, 2**62))
SCALES = hostile.tensor_of("1", 2, "Double")
ZEROS = hostile.tensor_of("2", 2, "Long")  # one of them is far away
FINE = hostile.quantized((8,), (1,), "per_tensor_affine", 0.5, 3)


def with_weight(weight: bytes) -> bytes:
    body = "a = torch.dequantize(self.w)\nreturn torch.add(torch.sum(a), x)"
    return hostile.script(body, attributes="  w : Tensor\n", state={"w": weight}, storages=STORAGES)


def test_a_quantized_weight_runs(use):
    status, text = use("run", with_weight(FINE))
    assert status == 0 and "2 3 4 5 6 7" in text, text
    assert use("convert", with_weight(FINE))[0] == 0


@pytest.mark.parametrize(
    "weight",
    [
        hostile.quantized((8,), (1,), "per_tensor_affine", 0.5, 2**62),
        hostile.quantized((8,), (1,), "per_tensor_affine", 0.5, -129),
        hostile.quantized((2**62,), (0,), "per_tensor_affine", 0.5, 0),
        hostile.quantized((8,), (1,), "per_tensor_affine", 0.5, 0, offset=2**63 - 1),
        hostile.quantized((8,), (1,), "per_tensor_affine", 1, 2),
        hostile.quantized((2, 4), (4, 1), "per_channel_affine", SCALES, ZEROS, 0),
        hostile.quantized((2, 4), (4, 1), "per_channel_affine", SCALES, ZEROS, 2**40),
        hostile.quantized((2, 4), (4, 1), "per_channel_affine", SCALES, ZEROS, -1),
        hostile.quantized((8,), (1,), "per_channel_affine", SCALES, ZEROS, 0),
        hostile.quantized((8,), (1,), "per_channel_affine", None, None, 0),
        hostile.quantized((8,), (1,), "per_channel_affine", FINE, FINE, 0),
        hostile.quantized((8,), (1,), "nothing", 0.5, 0),
    ],
)
@pytest.mark.parametrize("verb", ["verify", "run", "convert"])
def test_quantizers_that_do_not_fit_are_refused(use, verb, weight):
    assert use(verb, with_weight(weight))[0] == 3


@pytest.mark.parametrize(
    "state", [None, 5, ("2", [], []), ("2", [None], [None]), ("2", [[[1]]], [2**62]), (FINE, None)]
)
@pytest.mark.parametrize("name", ["LinearPackedParamsBase", "Conv2dPackedParamsBase", "EmbeddingPackedParamsBase"])
def test_packed_weights_of_any_state(use, name, state):
    kind = f"__torch__.torch.classes.quantized.{name}"
    packed = b"c__torch__.torch.classes.quantized\n" + name.encode() + b"\n)\x81" + hostile.pickled(state) + b"b"
    body = "q = torch.quantize_per_tensor(x, 0.5, 0, 13)\n"
    body += "return torch.dequantize(ops.quantized.linear(q, self.p, 0.5, 0))"
    data = hostile.script(body, attributes=f"  p : {kind}\n", state={"p": packed}, storages=STORAGES)
    for verb in ("verify", "run", "convert"):
        use(verb, data)
    assert use("run", data)[0] in (3, 5)
