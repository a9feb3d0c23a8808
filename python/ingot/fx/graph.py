# SPDX-License-Identifier: Apache-2.0
"""Graphs. Structure, names, order, printing and checks are the engine's (_C.FxGraph); here are the insert points, the
builders by name, and the form of the arguments of the function that a graph is printed as."""
from __future__ import annotations

import builtins
import keyword
import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ingot import _C
from ingot._explain import carry_code
from ingot.functional import typename
from ingot.fx import _pytree as fx_pytree
from ingot.fx.node import Node, _get_qualified_name, _side_effectful_functions, _type_code, map_aggregate, map_arg
from ingot.utils import _pytree as pytree

__all__ = ["CodeGen", "Graph", "PythonCode"]

# Python's operators, by their names in the module operator: how code writes them.
reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}",
    "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
dtype_abbrs = {
    _C.bfloat16: "bf16", _C.float64: "f64", _C.float32: "f32", _C.float16: "f16", _C.complex64: "c64",
    _C.complex128: "c128", _C.int8: "i8", _C.int16: "i16", _C.int32: "i32", _C.int64: "i64", _C.bool: "b8",
    _C.uint8: "u8", _C.uint16: "u16", _C.uint32: "u32", _C.uint64: "u64",
}  # fmt: skip


class PythonCode:
    """Source text of a graph, and what it needs besides builtins; created on demand."""

    def __init__(self, graph: Graph, verbose: bool = False, root_module: str = "self") -> None:
        self._graph = graph
        self._verbose = verbose
        self._root_module = root_module
        self._lineno_map: dict[int, int | None] = {}

    @property
    def src(self) -> str:
        if self._verbose:
            lines = self._graph._code("_", *self._graph._codegen._tree()).split("\n")[1:]
            return "\n\n\n" + "\n".join(line.removeprefix("    ") for line in lines)
        source = self._graph._source()
        if self._root_module != "self":
            source = re.sub(r"\bself\.", f"{self._root_module}.", source)
        return source

    @property
    def globals(self) -> dict[str, Any]:
        return self._graph._globals()


class _PyTreeInfo(NamedTuple):
    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class CodeGen:
    """How the function of a graph takes its arguments: one per placeholder."""

    def _tree(self) -> tuple[tuple[str, ...] | None, int, tuple[str, ...] | None]:
        """Names of the arguments, how many are positional, keys of the others. Without names there is one per
        placeholder; without keys the tree is the list of the arguments alone."""
        return None, 0, ()

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function; free_vars are its parameters. A sub-class that overrides it also says by
        process_inputs how the arguments of a call become the values of the placeholders."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        return f"return {output_args!r}"

    _func_name = "forward"

    def _is_own(self) -> bool:
        """Whether a sub-class writes the beginning or the end of the function."""
        kind = type(self)
        standard = (CodeGen, _PyTreeCodeGen)
        return kind not in standard and (
            kind.gen_fn_def not in [k.gen_fn_def for k in standard]
            or kind.generate_output not in [k.generate_output for k in standard]
        )

    def process_inputs(self, *args: Any) -> Any:
        return args

    def process_outputs(self, outputs: Any) -> Any:
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        return []


class _PyTreeCodeGen(CodeGen):
    """Arguments and results are trees, flattened and unflattened by specifications."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        self.pytree_info = pytree_info

    def _has_keywords(self) -> bool:
        """Whether the specification is that of (args, kwargs), not of the arguments alone."""
        spec = self.pytree_info.in_spec
        both = spec.type is tuple and spec.num_children == 2
        return both and spec.children_specs[0].type is tuple and spec.children_specs[1].type is dict

    def _tree(self) -> tuple[tuple[str, ...] | None, int, tuple[str, ...] | None]:
        names = [n for n in self.pytree_info.orig_args if n != "self"]
        spec = self.pytree_info.in_spec
        if self._has_keywords():
            npos = spec.children_specs[0].num_children
            return tuple(names), npos, tuple(map(str, spec.children_specs[1].context))
        return tuple(names), len(names), None

    def process_inputs(self, *args: Any) -> Any:
        return pytree.tree_leaves(args)

    def process_outputs(self, outputs: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return outputs
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        return pytree.tree_unflatten(list(outputs), self.pytree_info.out_spec)

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("pytree", pytree), ("fx_pytree", fx_pytree)]


class _InsertPoint:
    """Where new nodes go, until it is left. It is in force from the call on, with or without `with`."""

    def __init__(self, graph: Graph, node: Node | None, after: bool) -> None:
        self._graph = graph
        self._before = graph._insert_at(node, after)

    def __enter__(self) -> _InsertPoint:
        return self

    def __exit__(self, *unused: object) -> None:
        self._graph._insert_at(*self._before)


class _node_list:  # noqa: N801 (PyTorch's name)
    """The nodes of a graph in order; nodes may be put in and erased while it is walked."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._count

    def __iter__(self) -> Iterator[Node]:
        back = self.direction == "_prev"
        node = self.graph._last if back else self.graph._first
        while node is not None:
            if not node._erased:
                yield node
            node = node.prev if back else node.next

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_next" if self.direction == "_prev" else "_prev")


def _snake_case(name: str) -> str:
    out = []
    for i, ch in enumerate(name):
        if ch.isupper() and i and name[i - 1].islower():
            out.append("_")
        out.append(ch.lower())
    return "".join(out)


class _Shown:
    """A text whose repr it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _Registered:
    """A transformer of code that is in force until this is left."""

    def __init__(self, graph: Graph, before: Any) -> None:
        self._graph = graph
        self._before = before

    def __enter__(self) -> _Registered:
        return self

    def __exit__(self, *unused: object) -> None:
        self._graph._on_code = self._before


class _Namespace:
    """Names that are in use, and the objects that have them."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._of: dict[int, str] = {}

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """The name of the object, or a free one that is like the candidate."""
        if obj is not None and id(obj) in self._of:
            return self._of[id(obj)]
        name = "".join(ch if ch.isalnum() or ch == "_" else "_" for ch in candidate)
        if not name or name[0].isdigit():
            name = f"_{name}"
        stem, _, number = name.rpartition("_")
        count = int(number) if stem and number.isdigit() else 0
        stem = stem if count else name
        while name in self._names or self._is_illegal_name(name, obj):
            count += 1
            name = f"{stem}_{count}"
        self._names[name] = obj
        if obj is not None:
            self._of[id(obj)] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        if self._of.setdefault(id(obj), name) != name:
            raise AssertionError("obj is already associated")
        self._names[name] = obj

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        if keyword.iskeyword(name) or name in ("inf", "nan", "NoneType", "torch", "device"):
            return True
        return getattr(builtins, name, obj) is not obj


_LEGAL_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")


def _module_type() -> type:
    from ingot import nn  # nn uses torch.fx while it is imported

    return nn.Module


class _Pickled(NamedTuple):
    """A node inside pickled arguments: by its place in the graph."""

    index: int


class Graph(_C.FxGraph):
    """Nodes in execution order, to be looked at and edited."""

    def __new__(cls, *unused: Any, **also_unused: Any) -> Graph:
        return super().__new__(cls)

    def __init__(
        self, owning_module: Any = None, tracer_cls: type | None = None, tracer_extras: dict | None = None
    ) -> None:
        if owning_module is not None:
            self.owning_module = owning_module
        if tracer_cls is not None:
            self._tracer_cls = tracer_cls

    owning_module: Any = None
    _tracer_cls: type | None = None
    _codegen: CodeGen = CodeGen()

    # ---- looking ----

    @property
    def nodes(self) -> _node_list:
        return _node_list(self)

    def output_node(self) -> Node:
        last = self._last
        if last is None or last.op != "output":
            raise AssertionError("the graph has no output node")
        return last

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Nodes of one kind, with a target if given, in order."""
        if op == "call_function" and target is None:
            raise AssertionError
        return self._list(op, target)

    # ---- building ----

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            name = getattr(target, "__name__", None) or type(target).__name__
            if isinstance(target, _C.OpOverload):
                name = str(target).split(".", 1)[1].replace(".", "_")
        else:
            name = target
            if len(name) > 4 and name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
            name = name.replace("**", "*")  # the parameter **kwargs is called _kwargs, as *args is _args
        return _snake_case(name)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Puts a node at the insert point. `name` is a candidate: it gets a number if it is taken."""
        if op not in _LEGAL_OPS:
            raise AssertionError
        for given, kind in ((args, tuple), (kwargs, dict)):
            if given is not None and not isinstance(given, kind):
                raise AssertionError(f"{'args' if kind is tuple else 'kwargs'} must be a {kind.__name__}")
        wrong = not callable(target) if op == "call_function" else not isinstance(target, str)
        if wrong:
            free = self._name(name if name is not None else self._target_to_str(target))
            expected = "Callable" if op == "call_function" else "str"
            raise ValueError(
                f"Node [graph = {self}, name = '{free}'] target {target} has type {typename(target)} but a "
                f"{expected} is expected"
            )
        node = self._create(op, target, args, kwargs, name if name is not None else self._target_to_str(target))
        if type_expr is not None:
            node.type = type_expr
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = ...) -> Node:
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        if self.owning_module is not None and not self._is_attribute(qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        node = self.create_node("get_attr", qualified_name, type_expr=type_expr)
        self._bind(node)
        return node

    def _is_attribute(self, path: str) -> bool:
        """Whether a graph may read it off the owning module: a module, parameter or buffer."""
        *prefix, name = path.split(".")
        try:
            module = self.owning_module.get_submodule(".".join(prefix))
        except AttributeError:
            warnings.warn(f"Failed to fetch module {'.'.join(prefix)}!", stacklevel=3)
            return False
        found = getattr(module, name, None)
        return isinstance(found, _module_type()) or name in module._parameters or name in module._buffers

    def _bind(self, node: Node) -> None:
        """Sets the engine's value of a get_attr node, if the owning module has it."""
        from ingot.fx.graph_module import GraphModule

        found = self.owning_module
        for part in node.target.split("."):
            if not hasattr(found, part):
                return
            found = getattr(found, part)
        node._set_attr(found.graph if isinstance(found, GraphModule) else found)

    def call_module(
        self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        if self.owning_module is not None and self.owning_module.get_submodule(module_name) is None:
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        return self.create_node("call_function", the_function, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any | None = None) -> Node:
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go in front of n; without n, in front of all."""
        return _InsertPoint(self, None, True) if n is None else _InsertPoint(self, n, False)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Each new node goes right behind n; without n, behind all."""
        return _InsertPoint(self, None, False) if n is None else _InsertPoint(self, n, True)

    def erase_node(self, to_erase: Node) -> None:
        erased = to_erase._erased
        self._erase(to_erase)
        if not erased:
            for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
                hook(to_erase)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy at the insert point; arg_transform gives this graph's operand for each of the other's."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copy = self._create(node.op, node.target, tuple(args), dict(kwargs), node.name)
        copy.meta = node.meta
        if node.type is not None:
            copy.type = node.type
        if node.op == "get_attr":
            attribute = node._attr()
            if attribute is not None:
                copy._set_attr(attribute)
        return copy

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copies all nodes of g but its output, whose value is returned; val_map maps its nodes to this graph's."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # ---- as a whole ----

    def lint(self) -> None:
        """RuntimeError with the first violation."""
        try:
            self._verify()
        except RuntimeError as error:
            raise carry_code(error, RuntimeError(f"{error}\n{self}")) from None
        owner = self.owning_module
        if owner is None:
            return
        for node in self.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            found = owner
            path = node.target.split(".")
            for i, part in enumerate(path):
                inside = ".".join(path[:i])
                if not hasattr(found, part):
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute {part} of {inside}"
                    )
                found = getattr(found, part)
                if node.op == "call_module" and not isinstance(found, _module_type()):
                    raise RuntimeError(
                        f"Node {node} target {node.target} {part} of {inside} does not reference an nn.Module"
                    )

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes unused calls without side effects; returns whether there were any."""
        self._verify()
        if is_impure_node is None and not _impure_callables(self):
            return self._dce() > 0
        pure = is_impure_node or Node.is_impure
        before = self._count
        for node in reversed(self.nodes):
            if not node.users and not pure(node):
                self.erase_node(node)
        return self._count < before

    def set_codegen(self, codegen: CodeGen) -> None:
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer: Callable) -> Any:
        """Registers a function that changes the printed code; returns a handle whose exit removes it."""
        before = self.__dict__.get("_on_code")
        self._on_code = make_transformer(before)
        return _Registered(self, before)

    def _head_and_body(self) -> tuple[str, list[str]]:
        """The beginning of the function, and its lines without their indentation."""
        codegen = self._codegen
        if codegen._is_own():
            parameters, returns, body, result = (self._code_part(i) for i in range(4))
            head = codegen.gen_fn_def(parameters.splitlines(), returns)
            lines = [*body.splitlines(), f"    {codegen.generate_output(_Shown(result))}"]
        else:
            text = self._code(None, *codegen._tree()).lstrip("\n")
            lines = text.removesuffix("\n    ").split("\n")
            count = 2 if codegen._tree()[0] is not None and self._list("placeholder", None) else 1
            head, lines = "\n".join(lines[:count]), lines[count:]
        return head, [f"{line.removeprefix('    ')}\n" for line in lines]

    def _source(self) -> str:
        """The code of the function, behind the lines that mark wrapped functions."""
        transform = self.__dict__.get("_on_code")
        if transform is None and not self._codegen._is_own():
            text = self._code(None, *self._codegen._tree())
        else:
            head, body = self._head_and_body()
            lines = "".join(body if transform is None else transform(body)).split("\n")
            text = "\n\n\n" + head + "\n" + "\n".join(f"    {line}" for line in lines)
        wrapped: dict[str, None] = {}
        for node in self._list("call_function", None):
            if node._has_meta and node.meta.get("is_wrapped"):
                wrapped[_get_qualified_name(node.target).replace(".", "_")] = None
        if wrapped:
            lines = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in wrapped]
            text = "\n" + "\n".join(lines) + text[1:]
        return text

    def python_code(self, root_module: str = "self", *, verbose: bool = False, **unused: Any) -> PythonCode:
        """Source text and the objects that it names."""
        return PythonCode(self, verbose, root_module)

    def _globals(self) -> dict[str, Any]:
        import ingot

        found: dict[str, Any] = {
            "inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": ingot, "device": ingot.device,
            "fx_pytree": fx_pytree, "pytree": pytree,
        }  # fmt: skip
        found.update(self._codegen.additional_globals())
        for node in self.nodes:
            if node.type is not None:
                _type_code(node.type, found)
        for node in self._list("call_function", None):
            target = node.target
            if isinstance(target, _C.OpOverload):
                continue
            name = _get_qualified_name(target)
            if name.startswith("torch.") and not name.startswith("torch.Tensor."):
                continue
            if name.startswith("_operator.") and (name[10:] in magic_methods or name[10:] in inplace_methods):
                continue
            found[name.replace(".", "_")] = target
        return found

    def print_tabular(self) -> None:
        """A table of the nodes, one line each."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(dict(n.kwargs))) for n in self.nodes]
        widths = [builtins.max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * w for w in widths))
        print("\n".join(lines))

    def __copy__(self) -> Graph:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        copy = self._copy()
        if self._codegen is not Graph._codegen:
            copy._codegen = self._codegen
        if self._tracer_cls is not None:
            copy._tracer_cls = self._tracer_cls
        if memo is not None:
            memo[id(self)] = copy
            nodes = list(self.nodes)
            memo.update({id(a): b for a, b in zip(nodes, copy.nodes, strict=True)})
            # As in the copy module: what the memo knows by its id must not die before the memo.
            memo.setdefault(id(memo), []).extend(nodes)
        return copy

    def __reduce__(self) -> tuple:
        places = {node: _Pickled(i) for i, node in enumerate(self.nodes)}

        def swap(value: Any) -> Any:
            return map_aggregate(value, lambda x: places.get(x, x) if isinstance(x, Node) else x)

        rows = []
        for n in self.nodes:
            meta = {k: v for k, v in n.meta.items() if k in ("stack_trace", "nn_module_stack", "torch_fn")}
            rows.append((n.op, n.target, swap(n.args), swap(n.kwargs), n.name, meta, n.type))
        codegen = None if self._codegen is Graph._codegen else self._codegen
        return _unpickle, (rows, codegen)


def _impure_callables(graph: Graph) -> bool:
    """Whether Python affects dead code elimination: modules marked impure, functions marked by has_side_effect."""
    marked = any(graph._list("call_function", fn) for fn in _side_effectful_functions)
    return marked or bool(graph._list("call_module", None))


def _unpickle(rows: list[tuple], codegen: CodeGen | None) -> Graph:
    graph = Graph()
    made: list[Node] = []

    def swap(value: Any) -> Any:
        if isinstance(value, _Pickled):
            return made[value.index]
        if isinstance(value, tuple):
            return tuple(swap(v) for v in value)
        if isinstance(value, list):
            return [swap(v) for v in value]
        if isinstance(value, dict):
            return {k: swap(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(swap(value.start), swap(value.stop), swap(value.step))
        return value

    for op, target, args, kwargs, name, meta, kind in rows:
        made.append(graph._create(op, target, swap(args), swap(kwargs), name))
        made[-1].meta.update(meta)
        if kind is not None:
            made[-1].type = kind
    if codegen is not None:
        graph.set_codegen(codegen)
    return graph
