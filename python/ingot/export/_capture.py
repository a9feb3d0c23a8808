# SPDX-License-Identifier: Apache-2.0
"""A module as a front end of the engine's pipeline: declares state and inputs, runs the forward on fake tensors while
the engine records, and determines what the module did to its own state."""

from __future__ import annotations

import dataclasses
from typing import Any

from ingot import _C, nn
from ingot._dynamo import config, exc
from ingot.export._binding import Input, argument_names, bind, omits_tensor, pieces
from ingot.export._errors import carry_issues, strict_error
from ingot.export._modules import ModuleCall, ModuleStack
from ingot.export._state import State, refuse_assigned
from ingot.export.dynamic_shapes import apply_fixes, automatic_dims, read_shapes, shape_constraints
from ingot.export.exported_program import ProgramModule, keep_signatures
from ingot.jit._trace import is_tracing
from ingot.utils import _pytree as pytree


@dataclasses.dataclass
class Options:
    strict: bool = True
    disable_forced_specializations: bool = False
    allow_complex_guards: bool = False
    allow_rnn: bool = True
    level: str = "inference"  # see ingot/export.h
    preserve: tuple[str, ...] = ()  # paths of modules whose signatures are kept
    draft: bool = False
    late_sizes: bool = False  # of the training level: see pipeline.h
    free_conversions: bool = False  # what .to() returns may be modified


def _check_arguments(mod: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise exc.UserError(
            exc.UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
        )
    return dict(kwargs) if kwargs else {}


_PLAIN = (_C.Tensor, int, float, bool, str, type(None), _C.SymInt, _C.SymFloat, _C.SymBool)


def _check_inputs(inputs: list[Input], strict: bool) -> None:
    for i in inputs:
        if isinstance(i.value, _PLAIN):
            continue
        if not strict:
            raise ValueError(f"Unsupported input type {type(i.value)}")
        raise exc.UserError(
            exc.UserErrorType.INVALID_INPUT,
            f"It looks like one of the inputs with type `{type(i.value)}` is not supported or pytree-flattenable. \n"
            f"Exported graphs inputs can only contain the following supported types: {list(_PLAIN)}. \n"
            "If you are using a custom class object, please register a pytree_flatten/unflatten function using "
            "`torch.utils._pytree.register_pytree_node` or `torch.export.register_dataclass`.",
        )


def _declare_inputs(inputs: list[Input], shapes: dict[tuple, Any], strict: bool) -> list[Any]:
    """What the program gets for its inputs. In a strict capture, a tensor that is passed several times is one object in
    the program too (`key is value`): the last of its inputs."""
    fakes = []
    for i in inputs:
        dims = shapes.get(i.path)
        if dims is None:
            fakes.append(_C.capture_input(i.name, i.value))
        else:
            fakes.append(_C.capture_input(i.name, i.value, i.source if strict else i.flat_source, dims))
    if not strict:
        return fakes
    last = {id(i.value): fake for i, fake in zip(inputs, fakes, strict=True) if isinstance(fake, _C.Tensor)}
    return [last.get(id(i.value), fake) for i, fake in zip(inputs, fakes, strict=True)]


def _outputs(result: Any, strict: bool) -> tuple[list[Any], Any]:
    leaves, spec = pytree.tree_flatten(result)
    for leaf in leaves:
        if not isinstance(leaf, _PLAIN) and not strict:
            raise RuntimeError(
                f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to "
                "register a pytree for it. See https://github.com/pytorch/functorch/issues/475 for a brief explanation "
                "why. If you don't need to register a pytree, please leave a comment explaining your use case and "
                "we'll make this more ergonomic to deal with"
            )
        if not isinstance(leaf, _PLAIN):
            raise exc.UserError(
                exc.UserErrorType.INVALID_OUTPUT,
                f"It looks like one of the outputs with type `{type(leaf)}` is not supported or "
                "pytree-flattenable. \nExported graphs outputs can only contain the following types: tensors, ints, "
                "floats, bools, strings and None. If you are using a custom class object, please register a "
                "pytree_flatten/unflatten function using `torch.utils._pytree.register_pytree_node`.",
            )
    return leaves, spec


def _env_of_fakes(state: State, inputs: list[Input]) -> Any:
    """The environment of the first fake input or weight, which the capture uses; None: all are real."""
    for value in (*(i.value for i in inputs), *state.tensors()):
        env = _C.env_of(value)
        if env is not None:
            return env
    return None


def _is_violation(error: Exception) -> bool:
    return isinstance(error, _C.ConstraintViolationError) or (
        isinstance(error, exc.UserError) and error.error_type is exc.UserErrorType.CONSTRAINT_VIOLATION
    )


class Run:
    """One export: the front that the engine's pipeline calls, and what the program needs besides. `.result` is the
    engine's program."""

    def __init__(self, mod: nn.Module, args: tuple, kwargs: dict[str, Any], shapes: Any, options: Options) -> None:
        self.mod, self.args, self.kwargs, self.options = mod, args, kwargs, options
        self.state = State(mod)
        self.in_spec = pytree.tree_structure((args, kwargs))
        self.pieces = pieces(mod, args, kwargs)
        self.arg_names = argument_names(self.pieces)
        if options.strict and omits_tensor(mod, args, kwargs):
            raise exc.Unsupported("Tracing through optional input is not supported yet")
        self.shape_constraints: list[dict[str, Any]] | None = None  # a strict capture's, for the graph's metadata
        self.calls: list[ModuleCall] = []
        self._set_shapes(shapes)

    def _set_shapes(self, shapes: Any) -> None:
        strict = self.options.strict
        self.shapes = shapes
        self._entries = read_shapes(self.mod, self.args, self.kwargs, shapes, self.options.level == "training")
        self._inputs = bind(self.pieces, strict)
        _check_inputs(self._inputs, strict)
        if isinstance(self.mod, ProgramModule):
            self.mod.check_inputs(self.args, self.kwargs)
        if strict:
            self.shape_constraints = shape_constraints(self._inputs, self._entries)

    # ---- what the pipeline calls

    def declare(self) -> None:
        """State and inputs; fake tensors replace the module's own until the forward has run."""
        try:
            self.state.declare(self.options.strict, self.options.level == "training")
            self._fakes = _declare_inputs(self._inputs, self._entries, self.options.strict)
            for i, fake in zip(self._inputs, self._fakes, strict=True):
                if self.options.strict and isinstance(fake, _C.Tensor) and fake is not i.value:
                    fake._example = i.value  # for assume_constant_result
        except BaseException:
            self.state.restore()
            raise

    def run(self) -> tuple:
        """The forward: its outputs and, behind them, the values that signatures of modules name (how many), assigned
        buffers, the order of the state, whether it has groups, names that weights are shown by."""
        try:
            return self._forward()
        finally:
            self.state.restore()

    def _forward(self) -> tuple:
        strict, training = self.options.strict, self.options.level == "training"
        args, kwargs = pytree.tree_unflatten(self._fakes, self.in_spec)
        stack = ModuleStack(self.state.modules, self.options, self.state)
        with stack:
            result = self.mod(*args, **kwargs)
        shown = self.state.names_of(stack.shown(), strict)
        if not is_tracing():  # a trace follows what is assigned
            refuse_assigned(self.state.assigned_attributes())
        outputs, self.out_spec = _outputs(result, strict)
        mutations = self.state.assigned_buffers()
        self.calls = stack.calls
        kept = [leaf for call in self.calls for leaf in call.values()]
        order = self.state.order([*outputs, *kept]) if strict else []
        return (*outputs, *kept), len(kept), mutations, order, training, shown

    def refine(self, fixes: list | None, error: Exception | None) -> bool:
        """Other dims for the next attempt of a draft, after an error of the program or (None) of the engine."""
        if not self.shapes or (error is not None and not _is_violation(error)):
            return False
        self._set_shapes(apply_fixes(fixes, self.shapes) if fixes else automatic_dims(self.shapes))
        return True

    # ----

    def export(self) -> Run:
        strict = self.options.strict
        try:
            self.result, names = _C.export(
                self, self.options.level, strict=strict, grad_modes=self.options.level != "captured",
                asserts=not config.do_not_emit_runtime_asserts,
                no_forced=self.options.disable_forced_specializations,
                allow_complex_guards=self.options.allow_complex_guards,
                env=_env_of_fakes(self.state, self._inputs), draft=self.options.draft, verify=config.verify_stages,
                late_sizes=self.options.late_sizes, free_conversions=self.options.free_conversions,
            )  # fmt: skip
        except BaseException as error:
            other = strict_error(error) if strict else None
            if other is None:
                raise
            carry_issues(error, other)
            raise other from error
        self.result.set_modules([path for path, _ in self.state.modules if path])
        keep_signatures(self.result, self.calls, names)
        return self


def capture(mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, shapes: Any, options: Options) -> Run:
    """Runs the export; the returned object has .result (the program), .in_spec and .out_spec."""
    return Run(mod, args, _check_arguments(mod, args, kwargs), shapes, options).export()
