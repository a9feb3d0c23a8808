# SPDX-License-Identifier: Apache-2.0
"""From a module and example inputs to a program of training level: declares state and inputs to the engine, runs the
module on fake tensors while the engine records, and reads off what the module did to its own state."""

from __future__ import annotations

import dataclasses
from typing import Any

from ingot import _C, nn
from ingot._dynamo import exc
from ingot.export._binding import Input, argument_names, bind, pieces
from ingot.export._errors import carry_issues, strict_error
from ingot.export._modules import ModuleCall, ModuleStack
from ingot.export._state import State, refuse_assigned
from ingot.export.dynamic_shapes import read_shapes, shape_constraints
from ingot.export.exported_program import ProgramModule
from ingot.utils import _pytree as pytree


@dataclasses.dataclass
class Options:
    strict: bool = True
    disable_forced_specializations: bool = False
    allow_complex_guards: bool = False
    allow_rnn: bool = True
    grad_modes: bool = True  # switches of the grad mode become nodes
    inference: bool = False  # the program will have no writes
    training: bool = False  # a program for training is wanted
    regions: bool = False  # regions of autocast stay regions
    preserve: tuple[str, ...] = ()  # paths of modules whose signatures are kept


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
    fakes = []
    for i in inputs:
        dims = shapes.get(i.path)
        if dims is None:
            fakes.append(_C.capture_input(i.name, i.value))
        else:
            fakes.append(_C.capture_input(i.name, i.value, i.source if strict else i.flat_source, dims))
    return fakes


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
    """The environment of the first fake input or weight, which the capture goes on in; None: all are real."""
    for value in (*(i.value for i in inputs), *state.tensors()):
        env = _C.env_of(value)
        if env is not None:
            return env
    return None


class _Run:
    """One capture."""

    def __init__(self, mod: nn.Module, args: tuple, kwargs: dict[str, Any], options: Options) -> None:
        self.mod, self.args, self.kwargs, self.options = mod, args, kwargs, options
        self.state = State(mod)
        self.in_spec = pytree.tree_structure((args, kwargs))
        self.pieces = pieces(mod, args, kwargs)
        self.arg_names = argument_names(self.pieces)
        self.shown: dict[str, str] = {}  # names of weights that are shown by another of their names
        self.shape_constraints: list[dict[str, Any]] | None = None  # a strict capture's, for the graph's metadata
        self.calls: list[ModuleCall] = []

    def record(self, inputs: list[Input], shapes: dict[tuple, Any]) -> Any:
        strict = self.options.strict
        self.state.declare(strict, self.options.training)
        solving = {
            "strict": strict,
            "no_forced": self.options.disable_forced_specializations,
            "allow_complex_guards": self.options.allow_complex_guards,
        }
        _C.capture_options(**solving)
        fakes = _declare_inputs(inputs, shapes, strict)
        _C.capture_inputs_done()
        args, kwargs = pytree.tree_unflatten(fakes, self.in_spec)
        stack = ModuleStack(self.state.modules, self.options, self.state)
        with stack:
            result = self.mod(*args, **kwargs)
        self.shown = self.state.names_of(stack.shown())
        refuse_assigned(self.state.assigned_attributes())
        outputs, self.out_spec = _outputs(result, strict)
        mutations = self.state.assigned_buffers()
        if not strict:
            _C.capture_ask_outputs(outputs)
        _C.capture_solve(**solving)
        self.calls = stack.calls
        # what signatures name are outputs until the program is done
        kept = [*outputs, *(leaf for call in self.calls for leaf in call.values())]
        if strict:
            self.state.arrange(kept, self.options.training)
        program = _C.capture_end(kept, mutations)
        if strict:
            program.name_sources()
        return program

    def program(self, shapes: Any) -> Any:
        entries = read_shapes(self.mod, self.args, self.kwargs, shapes, self.options.training)
        inputs = bind(self.pieces, self.options.strict)
        _check_inputs(inputs, self.options.strict)
        if isinstance(self.mod, ProgramModule):
            self.mod.check_inputs(self.args, self.kwargs)
        if self.options.strict:
            self.shape_constraints = shape_constraints(inputs, entries)
        env = _env_of_fakes(self.state, inputs)
        _C.capture_begin(
            strict=self.options.strict, grad_modes=self.options.grad_modes, env=env, late_names=True,
            inference=self.options.inference, implied_casts=self.options.regions,
            training=self.options.training,
        )  # fmt: skip
        try:
            program = self.record(inputs, entries)
        except BaseException as error:
            _C.capture_abort()
            other = strict_error(error) if self.options.strict else None
            if other is None:
                raise
            carry_issues(error, other)
            raise other from error
        finally:
            self.state.restore()
        return program


def capture(mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, shapes: Any, options: Options) -> _Run:
    """Runs the capture; the answer has .result (the program), .in_spec and .out_spec."""
    kwargs = _check_arguments(mod, args, kwargs)
    run = _Run(mod, args, kwargs, options)
    run.result = run.program(shapes)
    return run
