# SPDX-License-Identifier: Apache-2.0
"""Invariants of a program: every call is an operator that does not mutate its operands, every value is described."""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar

from ingot import _C, fx, nn
from ingot.export.graph_signature import CustomObjArgument, InputKind

__all__ = ["SpecViolationError", "TrainingIRVerifier", "Verifier", "load_verifier"]


class SpecViolationError(Exception):
    """A program is not what its dialect allows."""


def is_functional(op: Any) -> bool:
    """Whether an operator leaves its operands as they are."""
    return not isinstance(op, _C.OpOverload) or not op._schema.is_mutable


def getattr_recursive(obj: Any, target: str) -> Any:
    """The attribute at a path of names."""
    parts = target.split(".")
    for i, part in enumerate(parts):
        if not hasattr(obj, part):
            raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i])}")
        obj = getattr(obj, part)
    return obj


_VALUES = (bool, int, float, str, _C.Tensor, _C.SymInt, _C.SymFloat, _C.SymBool)


def _describes(val: Any) -> bool:
    """Whether it is what a node can compute: tensors and numbers, lists of them, objects that stand for others."""
    if isinstance(val, (list, tuple)):
        return all(map(_describes, val))
    if isinstance(val, dict):
        return all(map(_describes, val.values()))
    return val is None or isinstance(val, _VALUES) or type(val).__module__ == CustomObjArgument.__module__


def _check_val(node: fx.Node) -> None:
    if node.op == "output":
        return
    if "val" not in node.meta:
        if not _returns_nothing(node):
            raise SpecViolationError(f"Node.meta {node.name} is missing val field.")
    elif isinstance(node.target, (_C.OpOverload, str)) and not _describes(node.meta["val"]):
        raise SpecViolationError(f"Node.meta {node.name} has invalid val field {node.meta['val']}")


def _returns_nothing(node: fx.Node) -> bool:
    target = node.target
    if isinstance(target, _C.OpOverload):
        return len(target._schema.returns) == 0
    return not isinstance(target, str)  # unknown for other callables


class _VerifierMeta(type):
    """Keeps the verifiers by the names of their dialects."""

    _registry: ClassVar[dict[str, type]] = {}

    def __new__(cls, name: str, bases: tuple, attrs: dict[str, Any]) -> type:
        inherited = any("check" in vars(base) for base in bases)
        if inherited and "check" in attrs:
            raise SyntaxError("Overriding method check is not allowed.")
        dialect = attrs.get("dialect")
        if bases and (not isinstance(dialect, str) or dialect == "ATEN"):
            raise AssertionError
        made = super().__new__(cls, name, bases, attrs)
        cls._registry[dialect or "ATEN"] = made
        return made


class Verifier(metaclass=_VerifierMeta):
    """The checks of the dialect ATEN: functional operators, higher-order operators, Python's operators on numbers."""

    dialect: ClassVar[str] = "ATEN"

    def allowed_builtin_ops(self) -> list[Any]:
        names = "getitem add mul sub truediv ge le gt lt eq ne floordiv mod and_ or_ not_ pow neg abs".split()
        return [getattr(operator, n) for n in names] + [math.ceil, math.floor, math.trunc]

    def allowed_op_types(self) -> tuple[type, ...]:
        from ingot._ops import HigherOrderOperator

        return (_C.OpOverload, HigherOrderOperator)

    def allowed_getattr_types(self) -> tuple[type, ...]:
        return (fx.GraphModule,)

    def check_valid_op(self, op: Any) -> None:
        """More conditions of a dialect on what is called."""

    def check_additional(self, gm: fx.GraphModule) -> None:
        """More checks of a dialect."""

    def check(self, ep: Any) -> None:
        """SpecViolationError with the first violation."""
        self._check_graph_module(ep.graph_module)
        _check_signature(ep)
        _check_outputs_of(ep)

    def __call__(self, ep: Any) -> None:
        self.check(ep)

    def _check_call(self, op: Any) -> None:
        known = op in self.allowed_builtin_ops() or op in _BUILTINS
        if not known and not isinstance(op, self.allowed_op_types()) and not _is_symbolic(op):
            if _is_higher_order(op):
                return
            raise SpecViolationError(
                f"Operator '{op}' is not an allowed operator type: {self.allowed_op_types()}\n"
                f"Valid builtin ops: {self.allowed_builtin_ops()}"
                f"Valid torch functions: {_allowed_functions()}"
            )
        functional = is_functional(op) or op in _unfunctional()
        if self.dialect not in ("ATEN_TRAINING", "TRAINING") and not functional:
            raise SpecViolationError(f"operator '{op}' is not functional")
        self.check_valid_op(op)

    def _check_graph_module(self, gm: fx.GraphModule) -> None:
        gm.graph.lint()
        for node in gm.graph.nodes:
            if node.op in ("call_module", "call_method"):
                raise SpecViolationError(f"call_module is not valid: got a class '{node.target}' ")
            if node.op in ("placeholder", "call_function"):
                _check_val(node)
            if node.op == "call_function":
                self._check_call(node.target)
            elif node.op == "get_attr":
                self._check_attribute(gm, node)
        self.check_additional(gm)

    def _check_attribute(self, gm: fx.GraphModule, node: fx.Node) -> None:
        found: Any = gm
        for part in node.target.split("."):
            found = getattr(found, part, None)
        if isinstance(found, nn.Module) and not isinstance(found, fx.GraphModule):
            return  # a backend's module, which a higher-order operator calls
        if not isinstance(found, self.allowed_getattr_types()):
            raise SpecViolationError(
                f"Invalid get_attr type {type(found)}. \nValid get_attr types: {self.allowed_getattr_types()}"
            )
        if isinstance(found, fx.GraphModule):
            self._check_graph_module(found)


_BUILTINS = frozenset([operator.lshift, operator.rshift, round, abs])


def _allowed_functions() -> tuple[Any, ...]:
    import ingot

    symbolic = [getattr(ingot, f"sym_{n}") for n in "int float ite max min not sqrt".split()]
    return (ingot.set_grad_enabled, *symbolic, _C._set_grad_enabled)


def _unfunctional() -> tuple[Any, ...]:
    """Operators that write and stay in functional programs."""
    import ingot

    return (ingot.ops.aten.copy_.default,)


def _is_symbolic(op: Any) -> bool:
    return getattr(op, "__name__", "").startswith(("sym_", "_sym_")) or op in _allowed_functions()


def _check_input(ep: Any, spec: Any) -> None:
    """A weight or constant that the signature names is where it belongs."""
    kind, target = spec.kind, spec.target
    if kind is InputKind.USER_INPUT or kind is InputKind.TOKEN:
        return
    if not isinstance(kind, InputKind):
        raise SpecViolationError(f"Unknown InputKind {kind}.")
    if target is None:
        raise SpecViolationError(f"InputSpec for {spec.arg.name} has no target.")
    if kind is InputKind.PARAMETER:
        if target not in ep.state_dict:
            raise SpecViolationError(f"Parameter {target} is not in the state dict.")
        if not isinstance(ep.state_dict[target], nn.Parameter):
            raise SpecViolationError(
                f"State dict entry for parameter {target} is not an instance of torch.nn.Parameter."
            )
    elif kind is InputKind.BUFFER:
        if spec.persistent is None:
            raise SpecViolationError(f"Buffer {target} is missing a persistence flag")
        if spec.persistent and target not in ep.state_dict:
            raise SpecViolationError(f"Buffer {target} is not in the state dict.")
        if not spec.persistent and target in ep.state_dict:
            raise SpecViolationError(f"Non-persistent buffer {target} is in the state dict, it should not be.")
    elif target not in ep.constants:
        what = "Constant tensor" if kind is InputKind.CONSTANT_TENSOR else "Custom object"
        raise SpecViolationError(f"{what} {target} is not in the constants dictionary.")


def _check_outputs(signature: Any, names: list[str | None]) -> None:
    """Mutations come first and are those of the signature, then the user's results in order."""
    buffers, inputs = signature.buffers_to_mutate, signature.user_inputs_to_mutate
    count = len(buffers) + len(inputs)
    tokens = len(signature.output_tokens)
    loss = sum(s.kind.name.startswith(("LOSS", "GRADIENT", "PARAMETER")) for s in signature.output_specs)
    if len(names) != count + tokens + len(signature.user_outputs) and not loss:
        raise SpecViolationError(
            f"Number of output nodes {len(names)} is different Than the number of outputs specified by the graph "
            f"signature: \nNumber of mutated buffers: {count}. \nNumber of user outputs: "
            f"{len(signature.user_outputs)}. \n"
        )
    for name in names[tokens : tokens + count]:
        if name in buffers:
            if buffers[name] not in signature.buffers:
                raise SpecViolationError(
                    f"Buffer output {name} does not point to a buffer that exists. \nDict of buffers that are "
                    f"mutated, in order: {dict(buffers)} \nBuffer nodes available: {signature.buffers} \n"
                )
        elif name in inputs:
            if inputs[name] not in signature.user_inputs:
                raise SpecViolationError(
                    f"User input output {name} does not point to a user input that exists. \nDict of user inputs "
                    f"that are mutated, in order: {dict(inputs)} \nUser input nodes available: "
                    f"{signature.user_inputs} \n"
                )
        else:
            raise SpecViolationError(
                f"Mutation node {name} is neither a buffer nor a user input. Buffers to mutate: {dict(buffers)}, "
                f"User inputs to mutate: {dict(inputs)}"
            )
    if loss:
        return
    for name, known in zip(names[tokens + count :], signature.user_outputs, strict=False):
        if name is not None and isinstance(known, str) and name != known:
            raise SpecViolationError(
                f"User output {name} is not in the correct order or is not found in the exported program's "
                f"user_output list: {signature.user_outputs}. "
            )


def _check_signature(ep: Any) -> None:
    """The signature describes the graph, the weights and the constants that there are."""
    signature = ep.graph_signature
    holders = [n.name for n in ep.graph.nodes if n.op == "placeholder"]
    specs = signature.input_specs
    if len(holders) != len(specs):
        raise SpecViolationError(
            f"Number of graph inputs ({len(holders)}) does not match number of inputs in the graph signature "
            f"({len(specs)})"
        )
    for spec, name in zip(specs, holders, strict=True):
        if getattr(spec.arg, "name", name) not in (name, ""):
            raise SpecViolationError(f"Input spec name {spec.arg.name} does not match node name {name}")
        _check_input(ep, spec)


def _check_outputs_of(ep: Any) -> None:
    output = ep.graph.output_node()
    results = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    _check_outputs(ep.graph_signature, [getattr(r, "name", None) for r in results])


def _is_higher_order(op: Any) -> bool:
    return any(c.__name__ == "HigherOrderOperator" for c in type(op).__mro__)


class TrainingIRVerifier(Verifier):
    """Programs before functionalization: operators may mutate their operands."""

    dialect = "TRAINING"


def load_verifier(dialect: str) -> type[Verifier]:
    """The verifier of a dialect; KeyError if there is none, an unnamed one is that of ATEN."""
    return Verifier if dialect == "" else _VerifierMeta._registry[dialect]
