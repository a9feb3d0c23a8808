# SPDX-License-Identifier: Apache-2.0
"""make_fx: the calls of operators that a function makes, as a GraphModule."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

from ingot import _C, fx, nn
from ingot._C import Tensor
from ingot._dynamo.source import ConstantSource
from ingot._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from ingot.fx.experimental.symbolic_shapes import ShapeEnv
from ingot.utils import _pytree as pytree

__all__ = ["is_sym_node", "make_fx"]

py_sym_types = (_C.SymInt, _C.SymFloat, _C.SymBool)

_PLAIN = (int, float, bool, str, type(None))


def _names(f: Callable, args: tuple) -> list[str]:
    """One name per leaf: x_1, x_2 for the leaves of x."""
    arguments = _argument_names(f, args)
    names: list[str] = []
    for name, arg in zip(arguments, args, strict=True):
        count = len(pytree.tree_leaves(arg))
        first = sum(n.rpartition("_")[0] == name for n in names)
        names.extend(f"{name}_{first + k + 1}" for k in range(count))
    return names


def _input(name: str, value: Any, fakes: FakeTensorMode | None) -> Any:
    if isinstance(value, Tensor):
        if fakes is None or isinstance(value, FakeTensor) or not value.ndim:
            return _C.capture_input(name, value)
        return _C.capture_input(name, fakes.from_tensor(value), None, None, value)
    if fakes is not None and type(value) is int:
        source = ConstantSource(f"input{name}")
        symbol = fakes.shape_env.create_symbol(value, source)
        number = fakes.shape_env.create_symintnode(symbol, hint=value, source=source)
        return _C.capture_input(name, number)
    if isinstance(value, (*_PLAIN, _C.SymInt)):
        return _C.capture_input(name, value)
    kind = type(value).__name__
    raise TypeError(f"make_fx: the argument {name} is a {kind}; expected tensors, numbers, strings, None")


def _attributes(graph: Any) -> dict[str, Any]:
    """Constants that the graph reads, by name."""
    values = {n.target: n._attr() for n in graph.nodes if n.op == "get_attr"}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def _refuse_data(target: Any) -> RuntimeError:
    return RuntimeError(
        f"It appears that you're trying to get value out of a tracing tensor with {target} - erroring out! It's likely "
        "that this is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic "
        "shapes; try setting tracing_mode='symbolic' in your make_fx call."
    )


def _check_reads(graph: Any) -> None:
    """With real tensors, a number that is read from data would be lost."""
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        returns = [str(r.type) for r in schema.returns] if schema is not None else []
        if returns in (["Scalar"], ["bool"], ["number"]) and any(isinstance(a, fx.Node) for a in node.args):
            raise _refuse_data(node.target)


def _drop_numbers(graph: Any) -> None:
    """Symbolic numbers that nothing uses are not part of the trace; what was read from data is, unless it is known
    because the data is a constant."""
    read = _C.ops.aten._local_scalar_dense.default
    kept = (read, _C.ops.aten._assert_scalar.default)
    for node in reversed(graph.nodes):
        if node.op != "call_function" or node.users:
            continue
        symbolic = is_sym_node(node.meta.get("val"))
        if (symbolic and node.target not in kept) or (node.target is read and not symbolic):
            graph.erase_node(node)


def _name_layouts(graph: Any) -> None:
    """What is read off a tensor is named after its operator and overload."""
    aten = _C.ops.aten
    named = {aten.sym_numel.default: "sym_numel_default", aten.sym_stride.int: "sym_stride_int",
             aten.sym_storage_offset.default: "sym_storage_offset_default",
             aten.sym_size.int: "sym_size_int"}  # fmt: skip
    for i, node in enumerate(n for n in graph.nodes if n.op == "call_function" and n.target in named):
        node.name = f"_layout_read_{i}"  # out of the way
    counts = dict.fromkeys(named.values(), 0)
    for node in graph.nodes:
        name = named.get(node.target) if node.op == "call_function" else None
        if name is not None:
            node.name = f"{name}_{counts[name]}" if counts[name] else name
            counts[name] += 1


def _is_contiguous(value: Tensor) -> bool:
    """By the numbers that the symbols had: the environment is asked nothing, so that no guard comes of it."""

    def number(n: Any) -> int | None:
        return n.node.hint if is_sym_node(n) else n

    expected = 1
    for size, stride in zip(reversed(value.shape), reversed(value.stride()), strict=True):
        known = number(size)
        if known is None or (known != 1 and number(stride) != expected):
            return False
        expected *= known
    return True


def _describe(graph: Any) -> None:
    """Metadata as make_fx gives it."""
    from ingot.fx.passes.shape_prop import _extract_tensor_metadata

    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            known = not any(map(is_sym_node, value.shape))
            described = _extract_tensor_metadata(value, include_contiguity=known)
            if not known and _is_contiguous(value):
                described = described._replace(memory_format=_C.contiguous_format)
            node.meta["tensor_meta"] = described
        elif node.op == "placeholder" and not is_sym_node(value):
            node.meta.pop("val", None)
        for key in ("stack_trace", "torch_fn"):
            node.meta.pop(key, None)


def _name_constants(graph: Any) -> None:
    """Every use of a constant reads it anew, right in front of the user; parameters are constants of a kind of their
    own. The value of a constant is its attribute, not metadata."""
    nodes = [n for n in graph.nodes if n.op == "get_attr" and isinstance(n._attr(), Tensor)]
    values = {n.target: n._attr() for n in nodes}
    reads: list[tuple[Any, str]] = []
    for user in list(graph.nodes):
        for operand in [n for n in user.all_input_nodes if n in nodes]:
            with graph.inserting_before(user):
                read = graph.create_node("get_attr", operand.target)
            read._set_attr(values[operand.target])
            user.replace_input_with(operand, read)
            reads.append((read, operand.target))
    for node in nodes:
        graph.erase_node(node)
    counts = {"_param_constant": 0, "_tensor_constant": 0}
    named: dict[str, tuple[str, int]] = {}
    for i, (read, _) in enumerate(reads):
        read.name = f"_constant_read_{i}"  # out of the way
    for read, before in reads:
        if before not in named:
            stem = "_param_constant" if isinstance(values[before], nn.Parameter) else "_tensor_constant"
            named[before] = (f"{stem}{counts[stem]}", 0)
            counts[stem] += 1
        target, uses = named[before]
        named[before] = (target, uses + 1)
        read.target = target
        read._set_attr(values[before])
        read.name = f"{target}_{uses}" if uses else target


def _refuse_real(graph: Any) -> None:
    """Fake tensors do not mix with real ones that the function has from elsewhere."""

    def text(value: Any) -> str:
        if not isinstance(value, fx.Node):
            return repr(value)
        if value.op != "get_attr":
            return repr(value.meta.get("val"))
        real = value._attr()
        size = f"size=({', '.join(map(str, real.shape))}{',' if real.ndim == 1 else ''})"
        parts = ["[...]", size] + [f"dtype={real.dtype}"] * (real.dtype is not _C.get_default_dtype())
        parts += ["requires_grad=True"] * real.requires_grad
        head = "Parameter containing:\n" if isinstance(real, nn.Parameter) else ""
        return f"{head}tensor({', '.join(parts)})"

    aten = _C.ops.aten
    lifts = (aten.lift_fresh.default, aten.lift_fresh_copy.default)
    for node in graph.nodes:
        read = [n for n in node.all_input_nodes if n.op == "get_attr" and isinstance(n._attr(), Tensor)]
        if node.op != "call_function" or not read or node.target in lifts:
            continue
        listed = [text(a) for a in node.args] + [f"{k}={text(v)}" for k, v in node.kwargs.items()]
        raise AssertionError(
            "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
            f"'allow_non_fake_inputs'. Found in {node.target}({', '.join(listed)})"
        )


def _take_apart(graph: Any) -> None:
    """Every result of a call that has several is an item of it, used or not, right behind the call."""
    items = []
    for node in list(graph.nodes):
        values = node.meta.get("val")
        if node.op != "call_function" or not isinstance(values, (tuple, list)):
            continue
        known = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        at = node
        for i, value in enumerate(values):
            if not isinstance(value, Tensor):
                continue
            if i not in known:
                with graph.inserting_after(at):
                    known[i] = graph.call_function(operator.getitem, (node, i))
                known[i].meta["val"] = value
            at.append(known[i])
            at = known[i]
            items.append(at)
    for i, item in enumerate(items):
        item.name = f"_item_{i}"  # out of the way
    for i, item in enumerate(items):
        item.name = f"getitem_{i}" if i else "getitem"


def _take_trees(f: Callable, args: tuple, graph: Any) -> None:
    """Arguments that are trees: the function of the graph takes and returns trees too."""
    from ingot.fx.graph import _PyTreeCodeGen, _PyTreeInfo

    spec = pytree.tree_structure(args)
    if all(child.is_leaf() for child in spec.children_specs):
        return
    output = graph.output_node()
    flat, out_spec = pytree.tree_flatten(output.args[0])
    output.args = (flat,)
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(_argument_names(f, args), spec, out_spec)))


def _argument_names(f: Callable, args: tuple) -> list[str]:
    written = not isinstance(f, nn.Module) and hasattr(inspect.unwrap(f), "__code__")
    parameters = list(inspect.signature(f).parameters.values()) if written else []
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        parameters = []
    return [parameters[i].name if i < len(parameters) else f"arg{i}" for i in range(len(args))]


def _check_count(f: Callable, args: tuple) -> None:
    """Every parameter of a function has an argument: a trace takes no defaults."""
    written = not isinstance(f, nn.Module) and hasattr(inspect.unwrap(f), "__code__")
    code = inspect.unwrap(f).__code__ if written else None
    if code is None or code.co_flags & inspect.CO_VARARGS or inspect.ismethod(f):
        return
    if code.co_argcount != len(args):
        raise RuntimeError(f"Tracing expected {code.co_argcount} arguments but got {len(args)} concrete arguments")


def _capture(f: Callable, args: tuple, mode: str, pre_dispatch: bool) -> Any:
    leaves, spec = pytree.tree_flatten(args)
    names = _names(f, args)
    env = next((e for e in map(_C.env_of, leaves) if e is not None), None)
    fakes = None
    if mode == "symbolic" and env is None:
        fakes = FakeTensorMode(shape_env=ShapeEnv())
        env = fakes._env
    _C.capture_begin(env=env, modes=pre_dispatch, release="2.5-fx")
    try:
        # Where gradients may be asked for inside, composites are taken apart before they are derived.
        _C.capture_apart(not pre_dispatch and any(isinstance(v, Tensor) and v.requires_grad for v in leaves))
        inputs = [_input(name, value, fakes) for name, value in zip(names, leaves, strict=True)]
        # What is given twice is one tensor to the trace, that of its last place.
        last = {id(leaf): value for leaf, value in zip(leaves, inputs, strict=True) if isinstance(leaf, Tensor)}
        inputs = [last.get(id(leaf), value) for leaf, value in zip(leaves, inputs, strict=True)]
        result = f(*pytree.tree_unflatten(inputs, spec))
        graph = _C.capture_end_graph(result, not pre_dispatch, True)
    except BaseException:
        _C.capture_abort()
        raise
    return graph


def _env(node: Any) -> Any:
    """The environment of the symbolic sizes of a node's value."""
    for leaf in pytree.tree_leaves(node.meta.get("val")):
        for size in leaf.shape if isinstance(leaf, Tensor) else (leaf,):
            if is_sym_node(size):
                return size.node.shape_env
    return None


def _inner(f: Callable, args: tuple) -> Any:
    """A trace inside a trace: the outer one records the operators, and what is returned runs the function."""

    class Inner(nn.Module):
        def forward(self, *again: Any) -> Any:
            return f(*again)

    return Inner()


def make_fx(
    f: Callable,
    decomposition_table: dict[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable:
    """make_fx(f)(*args): a GraphModule of the operators that f(*args) calls.

    tracing_mode: "real" and "fake" keep sizes as numbers, "symbolic" makes them symbols. pre_dispatch: composite
    operators are kept; otherwise they are decomposed.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError

    @functools.wraps(f.forward if isinstance(f, nn.Module) else f)
    def wrapped(*args: Any) -> fx.GraphModule:
        _check_count(f, args)
        if _C.capture_is_open():
            return _inner(f, args)
        try:
            graph = _capture(f, args, tracing_mode, pre_dispatch)
        except _C.GuardOnDataDependentSymNode as error:
            if tracing_mode != "real":
                raise
            raise _refuse_data(_C.ops.aten._local_scalar_dense.default) from error
        except DataDependentOutputException as error:
            if tracing_mode != "real":
                raise
            raise _refuse_data(error) from error
        _drop_numbers(graph)
        if tracing_mode == "real" and _error_on_data_dependent_ops:
            _check_reads(graph)
        table = {op: fn for op, fn in (decomposition_table or {}).items() if isinstance(op, _C.OpOverload)}
        if table:
            bare = graph.output_node()._bare
            graph = _C.decompose_graph(graph, table)
            output = graph.output_node()
            if bare and not output._bare:
                output.args = (output.args[0][0],)
        _name_layouts(graph)
        _take_apart(graph)
        _describe(graph)
        if tracing_mode != "real" and not _allow_non_fake_inputs:
            _refuse_real(graph)
        _name_constants(graph)
        env = next((e for e in (_env(n) for n in graph.nodes) if e is not None), None)
        _take_trees(f, args, graph)
        name = type(f).__name__ if isinstance(f, fx.GraphModule) else getattr(f, "__name__", "<lambda>")
        made = fx.GraphModule(_attributes(graph), graph, name)
        made.shape_env = None if env is None else ShapeEnv._of(env)
        return made

    return wrapped


def is_sym_node(value: Any) -> bool:
    return isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool))


def wrapper_and_args_for_make_fx(
    func: Callable, args: tuple, kwargs: dict[str, Any]
) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    """A function of one flat list, and that list: make_fx takes no keyword arguments."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args: list[Any]) -> Any:
        own_args, own_kwargs = pytree.tree_unflatten(flat_args, spec)
        return func(*own_args, **own_kwargs)

    return wrapped, flat


def maybe_disable_fake_tensor_mode() -> Any:
    from ingot._subclasses.fake_tensor import unset_fake_temporarily

    return unset_fake_temporarily()


def get_isolated_graphmodule(
    func: Callable, args: tuple, kwargs: dict[str, Any], tracing_mode: str = "real", decomposition_table: Any = None
) -> fx.GraphModule:
    """The graph of a call, flat arguments in one list, whatever else is being traced."""
    wrapped, flat = wrapper_and_args_for_make_fx(func, args, kwargs)
    return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(flat)


class DecompositionInterpreter(fx.Interpreter):
    """Runs a graph and records what it calls in another one, with replacements."""

    def __init__(self, module: fx.GraphModule, new_graph: fx.Graph, decomposition_table: Any = None,
                 **kwargs: Any) -> None:  # fmt: skip
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.decomposition_table = dict(decomposition_table or {})

    def run(self, *args: Any, **unused: Any) -> Any:
        made = make_fx(lambda *a: self.module(*a), decomposition_table=self.decomposition_table)(*args)
        values: dict[Any, Any] = {}
        result = self.new_graph.graph_copy(made.graph, values)
        self.new_graph.output(result)
        return self.module(*args)


class ProxyTorchDispatchMode:
    """Stands for the capture that is open."""


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The capture that is open, None if there is none."""
    return ProxyTorchDispatchMode() if _C.capture_is_open() else None


get_innermost_proxy_mode = get_proxy_mode
