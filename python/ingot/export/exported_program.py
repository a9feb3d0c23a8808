# SPDX-License-Identifier: Apache-2.0
"""ExportedProgram: what Python sees of a program that the engine holds."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingot import _C, fx, nn
from ingot._C import Tensor
from ingot._export.verifier import Verifier, load_verifier
from ingot.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)  # fmt: skip
from ingot.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from ingot.utils import _pytree as pytree
from ingot.utils._sympy.value_ranges import ValueRanges, ranges_of

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


class ProgramModule(fx.GraphModule):
    """A program called as the captured module was, with its state under the captured names. Arguments must have the
    captured structure and sizes that the program admits."""

    _shared = ("_program",)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if _C.capture_is_open():  # the examples were checked before
            leaves = tuple(flatten_inputs(args, kwargs, self.graph._codegen.pytree_info.in_spec))
        else:
            leaves = self.check_inputs(args, kwargs)
        return self.graph._codegen.process_outputs(self._run(leaves))

    def check_inputs(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """The leaves of a call, or what is wrong with its structure, sizes or constants."""
        spec = self.graph._codegen.pytree_info.in_spec
        leaves = tuple(flatten_inputs(args, kwargs, spec))
        self._program.check_inputs(leaves, input_paths(spec))
        return leaves

    def train(self, mode: bool = True) -> nn.Module:
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> nn.Module:
        raise NotImplementedError("Calling eval() is not supported yet.")


def input_paths(in_spec: Any) -> tuple[str, ...]:
    """The names of the flat inputs in messages: *args[0], *args[1]['k'], 'x'."""
    marks = pytree.tree_unflatten(list(range(in_spec.num_leaves)), in_spec)
    args, kwargs = marks if in_spec.num_children == 2 else (marks, {})
    found = [f"*args{pytree.keystr(path)}" for path, _ in pytree.tree_flatten_with_path(args)[0]]
    found += [str(path[0])[1:-1] + pytree.keystr(path[1:]) for path, _ in pytree.tree_flatten_with_path(kwargs)[0]]
    return tuple(found)


def _codegen(names: list[str] | None, spec: CallSpec) -> _PyTreeCodeGen:
    if names is None:
        names = [f"arg_{i}" for i in range(spec.in_spec.children_specs[0].num_children)]
        names += map(str, spec.in_spec.children_specs[1].context)
    return _PyTreeCodeGen(_PyTreeInfo(["self", *names], spec.in_spec, spec.out_spec))


def flatten_inputs(args: tuple, kwargs: dict[str, Any], in_spec: Any) -> list[Any]:
    """The leaves of a call whose structure must be in_spec; keywords may come in another order."""
    names = in_spec.children_specs[1].context if in_spec.num_children == 2 else None
    if names is not None and list(kwargs) != list(names) and set(kwargs) == set(names):
        kwargs = {name: kwargs[name] for name in names}
    leaves, spec = pytree.tree_flatten((args, kwargs))
    if spec != in_spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{in_spec}\n"
            f"but actually got inputs with tree spec of: \n{spec}"
        )
    return leaves


class CallSpec(NamedTuple):
    in_spec: Any
    out_spec: Any


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module was called: values of the graph by name, and the trees of its arguments and results."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = dataclasses.field(default=None, repr=False)  # 2.5 does not print it


@dataclasses.dataclass
class ModuleCallEntry:
    """A module by its path; `signature` is there for the program itself and for modules where it was asked for."""

    fqn: str
    signature: ModuleCallSignature | None = None


def _argument_of(entry: dict[str, Any]) -> Any:
    """{"as_tensor": {"name": "x"}} -> TensorArgument("x")"""
    kinds = {"as_sym_int": SymIntArgument, "as_sym_float": SymFloatArgument, "as_sym_bool": SymBoolArgument}
    ((key, value),) = entry.items()
    if key == "as_tensor":
        return TensorArgument(value["name"])
    if key == "as_custom_obj":
        return CustomObjArgument(value["name"], value.get("class_fqn", ""))
    if key in kinds and "as_name" in value:
        return kinds[key](value["as_name"])
    return ConstantArgument("", None if key == "as_none" else value)


def _signature_of(text: str | None) -> ModuleCallSignature | None:
    if text is None:
        return None
    entry = json.loads(text)
    return ModuleCallSignature(
        [_argument_of(a) for a in entry["inputs"]],
        [_argument_of(a) for a in entry["outputs"]],
        pytree.treespec_loads(entry["in_spec"]),
        pytree.treespec_loads(entry["out_spec"]),
        entry.get("forward_arg_names"),
    )


_KEYS = {_C.SymInt: "as_sym_int", _C.SymFloat: "as_sym_float", _C.SymBool: "as_sym_bool"}
_CONSTANTS = {bool: "as_bool", int: "as_int", float: "as_float", str: "as_string"}


def _entry_of(leaf: Any, names: Iterator[str | None]) -> dict[str, Any]:
    """The reverse of _argument_of; values of the graph have the next name."""
    if isinstance(leaf, Tensor):
        return {"as_tensor": {"name": next(names)}}
    if type(leaf) in _KEYS:
        return {_KEYS[type(leaf)]: {"as_name": next(names)}}
    key = _CONSTANTS.get(type(leaf))
    return {"as_none": True} if key is None else {key: leaf}


def keep_signatures(program: Any, calls: list[Any], kept: list[str | None]) -> None:
    """Passes the module call signatures to the engine; `kept` has the names of their values in the program."""
    if not calls:
        return
    names = iter(kept)
    rows = []
    for call in calls:
        entry = {
            "inputs": [_entry_of(leaf, names) for leaf in call.inputs],
            "outputs": [_entry_of(leaf, names) for leaf in call.outputs],
            "in_spec": pytree.treespec_dumps(call.in_spec),
            "out_spec": pytree.treespec_dumps(call.out_spec),
        }
        rows.append((call.path, json.dumps(entry)))
    _C.pt2_set_calls(program, rows)


def _register(module: nn.Module, path: str, value: Any, persistent: bool | None) -> None:
    """Puts a weight at its path, with empty modules on the way. One that is neither persistent nor temporary (None) is
    a constant: a plain attribute."""
    *prefix, name = path.split(".")
    for part in prefix:
        if not hasattr(module, part):
            nn.Module.__setattr__(module, part, nn.Module())
        module = getattr(module, part)
    if isinstance(value, nn.Parameter):
        module.register_parameter(name, value)
    elif isinstance(value, Tensor):
        module._buffers.pop(name, None)
        if persistent is None:
            setattr(module, name, value)
        else:
            module.register_buffer(name, value, persistent=persistent)


def _input_spec(kind: str, name: str, target: str | None, persistent: bool, value: Any) -> InputSpec:
    if kind == "CUSTOM_OBJ":
        arg: Any = CustomObjArgument(name, value if isinstance(value, str) else type(value).__qualname__)
    elif kind == "USER_INPUT" and not isinstance(value, Tensor):
        arg = ConstantArgument(name, value)
    else:
        arg = TensorArgument(name)
    told = kind == "BUFFER" or (kind == "CONSTANT_TENSOR" and persistent)
    return InputSpec(InputKind[kind], arg, target, persistent if told else None)


_NUMBERS = {_C.SymInt: SymIntArgument, _C.SymFloat: SymFloatArgument, _C.SymBool: SymBoolArgument}


def _output_spec(kind: str, name: str | None, target: str | None, value: Any) -> OutputSpec:
    arg: Any = ConstantArgument("", value) if name is None else _NUMBERS.get(type(value), TensorArgument)(name)
    return OutputSpec(OutputKind[kind], arg, target)


def input_rows(signature: ExportGraphSignature) -> list[tuple[str, str, str | None, bool, str | None]]:
    """The inputs of a signature as the engine takes them."""
    return [
        (s.kind.name, s.arg.name, s.target, bool(s.persistent), getattr(s.arg, "class_fqn", None))
        for s in signature.input_specs
    ]


def state_rows(
    signature: ExportGraphSignature, state: dict[str, Any], constants: dict[str, Any]
) -> list[tuple[str, str, Tensor]]:
    """Weights and constants as the engine takes them."""
    parameters = set(signature.parameters)
    temporary = set(signature.non_persistent_buffers)
    rows = [("parameter" if k in parameters else "buffer", k, v) for k, v in state.items()]
    rows += [
        ("temporary" if k in temporary else "constant", k, v) for k, v in constants.items() if isinstance(v, Tensor)
    ]
    return rows


def _program_of(
    like: Any, graph: fx.Graph, signature: ExportGraphSignature, state: dict[str, Any], constants: dict[str, Any]
) -> Any:
    """The engine's program of a graph, with the specs and names of another one."""
    outputs = [(s.kind.name, s.target) for s in signature.output_specs]
    return _C.pt2_resign(like, input_rows(signature), outputs, state_rows(signature, state, constants), graph)


def _signature_after(old: ExportGraphSignature, before: fx.Graph, after: fx.Graph) -> ExportGraphSignature:
    """The signature with the names that inputs and results have in a graph that a pass has written."""
    holders = [n.name for n in after.nodes if n.op == "placeholder"]
    results = after.output_node().args[0]
    if len(holders) != len(old.input_specs) or len(results) != len(old.output_specs):
        raise RuntimeError("a pass changed the number of inputs or results of the program")
    inputs = [
        dataclasses.replace(s, arg=dataclasses.replace(s.arg, name=name))
        for s, name in zip(old.input_specs, holders, strict=True)
    ]
    outputs = [
        dataclasses.replace(s, arg=dataclasses.replace(s.arg, name=r.name)) if isinstance(r, fx.Node) else s
        for s, r in zip(old.output_specs, results, strict=True)
    ]
    return ExportGraphSignature(inputs, outputs)


class ExportedProgram:
    """A captured program: one graph of ATen operators, a signature, weights, ranges of its symbolic sizes."""

    def __new__(cls, *args: Any, **kwargs: Any) -> ExportedProgram:
        """Also takes what PyTorch's constructor takes: root, graph, graph_signature, state_dict, range_constraints,
        module_call_graph, example_inputs, constants."""
        made = super().__new__(cls)
        if "root" in kwargs or (args and isinstance(args[0], (nn.Module, dict))):
            made.__dict__["_parts"] = True
        return made

    def __init__(self, program: Any = None, *rest: Any, **named: Any) -> None:
        if self.__dict__.pop("_parts", False):
            self._init_of_parts(*(() if program is None else (program,)), *rest, **named)
        else:
            self._init(program, *rest, **named)

    def _init_of_parts(
        self,
        root: Any,
        graph: fx.Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple, dict] | None = None,
        constants: dict[str, Any] | None = None,
        *,
        verifiers: Any = None,
        verifier: Any = None,
        tensor_constants: dict[str, Any] | None = None,
    ) -> None:
        constants = constants or tensor_constants or {}
        graph = graph if isinstance(root, dict) or graph is not root.graph else root.graph
        program = _program_of(None, graph, graph_signature, state_dict, constants)
        signature = module_call_graph[0].signature
        program.set_specs(*(pytree.treespec_dumps(s) for s in (signature.in_spec, signature.out_spec)))
        self._init(program, (signature.in_spec, signature.out_spec), example_inputs, signature.forward_arg_names)
        self._signature, self._state, self._constant = graph_signature, state_dict, constants
        self._ranges = dict(range_constraints) if range_constraints else None
        if verifiers is not None or verifier is not None:
            self._verifiers = list(verifiers) if verifiers is not None else [verifier]
        self.validate()

    def _init(
        self,
        program: Any,
        specs: tuple[Any, Any] | None = None,
        example_inputs: tuple[tuple, dict] | None = None,
        arg_names: list[str] | None = None,
    ) -> None:
        self._program = program
        self._verifiers: list[type[Verifier]] | None = None
        self._arg_names = arg_names
        self._graph_module: fx.GraphModule | None = None
        self._example_inputs = example_inputs
        self._signature: ExportGraphSignature | None = None
        self._state: dict[str, Any] | None = None
        self._engine_tensors: dict[int, Any] = {}  # what parameters were made of, by their identity
        self._constant: dict[str, Any] | None = None
        self._call = None if specs is None else CallSpec(*specs)
        self._ranges: dict[Any, ValueRanges] | None = None
        self._graph_meta: dict[str, Any] = {}  # of the graph module, which is created on demand

    @property
    def graph_module(self) -> fx.GraphModule:
        if self._graph_module is None:
            graph = self._program.graph
            attributes = {n.target: n._attr() for n in graph._list("get_attr", None)}
            plain = {k: v for k, v in attributes.items() if not isinstance(v, fx.Graph)}
            self._graph_module = fx.GraphModule(plain, graph)
            self._graph_module.meta.update(self._graph_meta)
        return self._graph_module

    @property
    def graph(self) -> fx.Graph:
        return self.graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        if self._signature is None:
            self._signature = ExportGraphSignature(
                [_input_spec(*spec) for spec in self._program.input_specs],
                [_output_spec(*spec) for spec in self._program.output_specs],
            )
        return self._signature

    @property
    def call_spec(self) -> CallSpec:
        if self._call is None:
            self._call = CallSpec(*(pytree.treespec_loads(text) for text in self._program.specs))
        return self._call

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """How the program is called, then its modules; those whose signatures were kept by the exporter that wrote the
        file have them."""
        spec = self.call_spec
        names = list(self._arg_names) if self._arg_names is not None else None
        kept = dict(_C.pt2_calls(self._program))
        self._sync()
        paths = dict.fromkeys(self._program.modules) | dict.fromkeys(kept)
        paths.pop("", None)
        root = ModuleCallEntry("", ModuleCallSignature([], [], spec.in_spec, spec.out_spec, names))
        return [root, *(ModuleCallEntry(path, _signature_of(kept.get(path))) for path in paths)]

    @property
    def _state_dict(self) -> dict[str, Any]:
        return self.state_dict

    @_state_dict.setter
    def _state_dict(self, value: dict[str, Any]) -> None:
        self._state = value

    @property
    def state_dict(self) -> dict[str, Any]:
        if self._state is None:
            self._state = self._program.state_dict
            made: dict[int, nn.Parameter] = {}  # a weight of several names is one
            for spec in self.graph_signature.input_specs:
                value = self._state.get(spec.target)  # none, if somebody changed the signature
                if spec.kind is InputKind.PARAMETER and value is not None and not isinstance(value, nn.Parameter):
                    made.setdefault(id(value), nn.Parameter(value, value.requires_grad))
            for name, value in list(self._state.items()):
                if id(value) in made:
                    self._state[name] = made[id(value)]
                    self._engine_tensors[id(made[id(value)])] = value
        return self._state

    @property
    def constants(self) -> dict[str, Any]:
        if self._constant is None:
            self._constant = self._program.constants
        return self._constant

    @property
    def _constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def tensor_constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def range_constraints(self) -> dict[Any, ValueRanges]:
        if self._ranges is None:
            self._ranges = ranges_of(self._program)
        return self._ranges

    @property
    def example_inputs(self) -> tuple[tuple, dict] | None:
        return self._example_inputs

    @property
    def verifiers(self) -> list[type[Verifier]]:
        if self._verifiers is not None:
            return self._verifiers
        return [load_verifier("TRAINING" if self._program.is_training() else "ATEN")]

    @property
    def verifier(self) -> type[Verifier]:
        return self.verifiers[0]

    @property
    def dialect(self) -> str:
        return self.verifier.dialect

    def validate(self) -> None:
        """SpecViolationError if the program is not what its dialect allows."""
        self._validate()

    def _validate(self) -> None:
        for verifier in self.verifiers:
            verifier().check(self)

    def parameters(self) -> Iterator[Tensor]:
        for _, value in self.named_parameters():
            yield value

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Tensor]:
        for _, value in self.named_buffers():
            yield value

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        passing = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in passing else self.state_dict)[name]

    def module(self) -> nn.Module:
        """A module that is called as the captured one was, with its own state under the captured names."""
        self._sync()
        graph = self._program.unlift()
        graph.set_codegen(_codegen(self._arg_names, self.call_spec))
        signature = self.graph_signature
        state: dict[str, Any] = {}
        made: dict[int, nn.Parameter] = {}  # a weight of several names is one
        for name, value in self.named_parameters():
            if not isinstance(value, nn.Parameter):
                value = made.setdefault(id(value), nn.Parameter(value, value.requires_grad))
            state[name] = value
        state |= dict(self.named_buffers())
        state |= {name: self.constants[name] for name in signature.lifted_tensor_constants}
        state |= {n.target: n._attr() for n in graph._list("get_attr", None) if n.target not in state}
        module = ProgramModule({k: v for k, v in state.items() if not isinstance(v, fx.Graph)}, graph)
        passing, constants = set(signature.non_persistent_buffers), set(signature.lifted_tensor_constants)
        for name, value in state.items():
            _register(module, name, value, None if name in constants else name not in passing)
        module.meta.update(self.graph_module.meta)
        module.__dict__["_program"] = self._program
        return module

    def _sync(self) -> None:
        """Copies Python's changes of metadata back to the engine."""
        if self._graph_module is not None:
            self._graph_module.graph._sync()

    def run_decompositions(self, decomp_table: Any = None, _preserve_ops: tuple = ()) -> ExportedProgram:
        """The same program in Core ATen (no table), or with the replacements of a table."""
        self._sync()
        out = self._program.decompose(table=decomp_table, preserve=_preserve_ops)
        fresh = ExportedProgram(out, self.call_spec, self._example_inputs, self._arg_names)
        fresh._graph_meta = dict(self.graph_module.meta if self._graph_module is not None else self._graph_meta)
        return fresh

    def _transform_do_not_use(self, *passes: Any) -> ExportedProgram:
        """The program whose graph module the passes return, one after the other."""
        from ingot.fx.passes.infra.pass_manager import PassManager

        result = PassManager(list(passes))(self.graph_module)
        module = result.graph_module if result is not None else None
        if module is self.graph_module and not result.modified:
            return self
        signature = _signature_after(self.graph_signature, self.graph, module.graph)
        module.graph._sync()
        program = _program_of(self._program, module.graph, signature, self.state_dict, self.constants)
        fresh = ExportedProgram(program, self.call_spec, self._example_inputs, self._arg_names)
        fresh._graph_meta = dict(module.meta) or dict(self.graph_module.meta)
        fresh._signature, fresh._constant = signature, self.constants
        fresh._verifiers = self._verifiers
        fresh.validate()
        return fresh

    _transform = _transform_do_not_use

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        module = copy.deepcopy(self.graph_module, memo)
        signature = copy.deepcopy(self.graph_signature, memo)
        state, constants = copy.deepcopy(self.state_dict, memo), copy.deepcopy(self.constants, memo)
        module.graph._sync()
        program = _program_of(self._program, module.graph, signature, state, constants)
        examples = copy.deepcopy(self._example_inputs, memo)
        fresh = type(self)(program, (self.call_spec.in_spec, self.call_spec.out_spec), examples, self._arg_names)
        fresh._graph_meta = dict(module.meta) or dict(self._graph_meta)
        fresh._signature, fresh._state, fresh._constant = signature, state, constants
        fresh._verifiers = self._verifiers
        fresh._ranges = None if self._ranges is None else dict(self._ranges)
        memo[id(self)] = fresh
        return fresh

    def save_onnx(self, path: str | os.PathLike) -> None:
        self._program.save_onnx(os.fspath(path))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {code}\nGraph signature: {self.graph_signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )
