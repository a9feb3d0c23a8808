# SPDX-License-Identifier: Apache-2.0
"""The tree of modules that a program came from. The engine rebuilds the graphs; here they become modules with the
program's state under its names."""

from __future__ import annotations

import abc
from typing import Any

from ingot import nn
from ingot._C import Tensor
from ingot.export._unlift import _assign_attr, _AttrKind  # noqa: F401 (PyTorch has these names here)
from ingot.export.exported_program import ExportedProgram, ModuleCallSignature, input_paths
from ingot.export.graph_signature import ConstantArgument, InputKind, OutputKind
from ingot.fx import GraphModule, Interpreter
from ingot.fx import _pytree as fx_pytree
from ingot.fx.graph_module import print_readable
from ingot.fx.node import _get_qualified_name
from ingot.utils import _pytree as pytree

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(abc.ABC):
    """Converts arguments from one structure to another, leaf by leaf."""

    @abc.abstractmethod
    def adapt(self, target_spec: Any, input_spec: Any, input_args: list[Any]) -> list[Any]:
        """The leaves of `input_args`, which have the structure `input_spec`, in the order of `target_spec`."""


class InterpreterModule(nn.Module):
    """A module whose forward runs its graph node by node."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.__dict__["graph"] = graph
        graph.owning_module = self

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module of its own, over this module's state."""
        return GraphModule(self, self.graph)

    def finalize(self) -> None:
        """The graph may be run: nothing has to be prepared here."""

    @property
    def arg_names(self) -> list[str]:
        return [node.name for node in self.graph.nodes if node.op == "placeholder"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            names = self.arg_names
            args = (*args, *(kwargs[name] for name in names[len(args) :]))
        return self._interpreter().run(*args, enable_io_processing=False)

    def _interpreter(self) -> Interpreter:
        return Interpreter(self, graph=self.graph)

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False) -> str:  # fmt: skip
        """The annotated code of this module and of those inside of it."""
        return print_readable(self, self.graph, print_output)


class _AgainModule(InterpreterModule):
    """Another way of calling a module: what the graph names belongs to that module."""

    def __init__(self, graph: Any, owner: nn.Module) -> None:
        super().__init__(graph)
        self.__dict__["_owner"] = owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_owner"], name)

    def _interpreter(self) -> Interpreter:
        interpreter = super()._interpreter()
        interpreter.submodules = dict(self._owner.named_modules())
        return interpreter


def _set(root: nn.Module, path: str, value: Any, persistent: bool = True) -> None:
    *above, name = path.split(".")
    for part in above:
        below = root._modules.get(part)
        if below is None:
            below = nn.Module()
            root.add_module(part, below)
        root = below
    if isinstance(value, nn.Parameter):
        if root._parameters.get(name) is None:  # modules with several paths have their weights once
            root.register_parameter(name, value)
    elif isinstance(value, nn.Module):
        root.add_module(name, value)
    elif isinstance(value, Tensor) and persistent is not None:
        root.register_buffer(name, value, persistent=persistent)
    else:
        setattr(root, name, value)


def _get_submodule(mod: nn.Module, target: str) -> nn.Module | None:
    """The module at a path; None: there is none."""
    found: Any = mod
    for part in target.split(".") if target else ():
        found = found._modules.get(part) if isinstance(found, nn.Module) else None
    return found


def _leaves(args: list[Any]) -> list[tuple[str | None, Any]]:
    return [(None, a.value) if isinstance(a, ConstantArgument) else (a.name, None) for a in args]


def _row(path: str, signature: ModuleCallSignature) -> tuple:
    """A signature as the engine takes it."""
    positional, keywords = signature.in_spec.children_specs
    return (
        path, _leaves(signature.inputs), _leaves(signature.outputs), positional.num_children, list(keywords.context),
        signature.in_spec, signature.out_spec,
    )  # fmt: skip


def _refuse_second_calls(kept: set[str], graphs: list[tuple]) -> None:
    """A signature describes one call. Other calls of its module have operands and results that it does not name."""
    called: set[str] = set()
    for path, _, graph, *_ in graphs if kept else ():
        for node in graph.find_nodes(op="call_module"):
            target = f"{path}.{node.target}" if path else node.target
            module = target.partition("@")[0]
            if module in called and module in kept:
                raise RuntimeError(
                    f"Could not find output node of the second call of '{module}': its signature was kept "
                    "(preserve_module_call_signature), and it describes the first call only"
                )
            called.add(module)


class UnflattenedModule(InterpreterModule):
    """A program as a tree of modules, called like the original."""

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        calls = export_module.module_call_graph
        kept = [_row(entry.fqn, entry.signature) for entry in calls if entry.fqn and entry.signature is not None]
        functions = [(fn, _get_qualified_name(fn)) for fn in (pytree.tree_unflatten, fx_pytree.tree_flatten_spec)]
        graphs = export_module._program.unflatten(kept, *functions)
        _refuse_second_calls({row[0] for row in kept}, graphs)
        super().__init__(graphs[0][2])
        self.flat_args_adapter = flat_args_adapter
        self.graph_signature = export_module.graph_signature
        self.call_spec = export_module.call_spec
        self.module_call_graph = calls
        self.range_constraints = export_module.range_constraints
        self.equality_constraints: list[Any] = []
        self.check_input_constraints = True
        self.__dict__["_program"] = export_module._program
        self.__dict__["_input_paths"] = input_paths(self.call_spec.in_spec)
        hidden = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.TOKEN)
        specs = [s for s in self.graph_signature.output_specs if s.kind not in hidden]
        inputs = [s.arg.name for s in self.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        self._written = [inputs.index(s.target) if s.kind is OutputKind.USER_INPUT_MUTATION else None for s in specs]
        modules: dict[str, InterpreterModule] = {}
        for path, module, graph, _, same_as in graphs[1:]:
            if same_as is not None:
                modules[path] = modules[same_as]
            elif path == module:
                modules[path] = InterpreterModule(graph)
        for path, module, graph, _, _ in graphs[1:]:
            if path not in modules:  # "lin@1" is lin, called in another way
                modules[path] = _AgainModule(graph, modules[module])
        order = dict.fromkeys([*(entry.fqn for entry in calls if entry.fqn), *modules])
        for path in sorted(order, key=lambda path: path.count(".")):  # parents first, siblings in their order
            _set(self, path, modules.get(path) or nn.Module())
        self._give_state(export_module)
        for _, module in [("", self), *modules.items()]:
            for name, sub in module.graph._subs().items():  # attributes that are not modules of the program
                if name not in module._modules:
                    module.__dict__[name] = GraphModule({}, sub)
        specs = {id(spec) for row in kept for spec in row[-2:]}
        for path, _, _, objects, _ in graphs:
            for name, value in objects:
                if id(value) in specs:
                    setattr(modules[path] if path else self, name, value)

    def _give_state(self, program: ExportedProgram) -> None:
        """Every tensor once, under all of its names."""
        signature = program.graph_signature
        parameters = set(signature.parameters)
        passing = set(signature.non_persistent_buffers)
        made: dict[int, Any] = {}

        def copy_of(value: Any, parameter: bool) -> Any:
            if id(value) not in made:
                copied = value.detach().clone()
                made[id(value)] = nn.Parameter(copied, requires_grad=value.requires_grad) if parameter else copied
            return made[id(value)]

        for name, value in program.state_dict.items():
            parameter = name in parameters or isinstance(value, nn.Parameter)
            _set(self, name, copy_of(value, parameter))
        for name, value in program.constants.items():
            if not isinstance(value, Tensor):
                _set(self, name, value)
            else:
                _set(self, name, copy_of(value, False), False if name in passing else None)

    def _adapted(self, leaves: list[Any], spec: Any) -> list[Any]:
        """The leaves of a call of another structure, if there is somebody who knows how."""
        in_spec = self.call_spec.in_spec
        print(
            "Input treespec does not match with exported module's: \n"
            f"Input treespec: {spec}. ",
            f"Exported module treespec: {in_spec}",
        )
        if self.flat_args_adapter is None:
            raise TypeError(
                "There is no flat args adapter sepcified. Are you sure you are calling this with the right "
                "arguments? "
            )
        print("Adapting flat arg to match exported module's treespec")
        leaves = self.flat_args_adapter.adapt(target_spec=in_spec, input_spec=spec, input_args=leaves)
        if len(leaves) != in_spec.num_leaves:
            raise TypeError(
                "Flat args adaption failed, number of args mismatch "
                f"Adatped: {len(leaves)} \nExported module: {in_spec.num_leaves}"
            )
        return leaves

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        in_spec = self.call_spec.in_spec
        names = in_spec.children_specs[1].context
        if set(kwargs) == set(names):
            kwargs = {name: kwargs[name] for name in names}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        paths = self._input_paths if spec == in_spec else None
        if spec != in_spec:
            leaves = self._adapted(leaves, spec)
        if self.check_input_constraints:
            self._program.check_inputs(tuple(leaves), paths)
        outputs = []
        for value, place in zip(super().forward(*leaves), self._written, strict=True):
            if place is None:
                outputs.append(value)
            else:
                leaves[place].copy_(value)
        return pytree.tree_unflatten(outputs, self.call_spec.out_spec)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """The program as a tree of modules like the one it was captured from."""
    return UnflattenedModule(module, flat_args_adapter)
