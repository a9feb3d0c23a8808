# SPDX-License-Identifier: Apache-2.0
"""AOT autograd: functions and modules as functional graphs of their forward and backward, compiled by the caller's
compilers or returned as they are (aot_export_module, aot_export_joint_simple)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import ingot
from ingot import fx, nn
from ingot._C import Tensor
from ingot._functorch._runtime import compile_flat, examples_of, make_boxed_func
from ingot._functorch._trace import OutputType, trace
from ingot._functorch.partitioners import default_partition
from ingot.export._trace import capture_module
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind, OutputKind
from ingot.fx.graph_module import function_of
from ingot.nn.utils.stateless import _reparametrize_module
from ingot.utils import _pytree as pytree

__all__ = [
    "BackwardSignature", "GraphSignature", "aot_export_joint_simple", "aot_export_module", "aot_function", "aot_module",
    "aot_module_simplified", "compiled_function", "compiled_module", "make_boxed_compiler", "make_boxed_func",
]  # fmt: skip


@dataclasses.dataclass
class BackwardSignature:
    """Which outputs are gradients, and of what."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class GraphSignature:
    """The roles of the placeholders and outputs of such a graph."""

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    user_inputs_to_mutate: dict[str, str]
    in_spec: Any
    out_spec: Any
    backward_signature: BackwardSignature | None
    input_tokens: list[str] = dataclasses.field(default_factory=list)
    output_tokens: list[str] = dataclasses.field(default_factory=list)


def _signature(program: ExportedProgram) -> GraphSignature:
    signature = program.graph_signature

    def inputs(kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in signature.input_specs if s.kind is kind}

    def outputs(kind: OutputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in signature.output_specs if s.kind is kind}

    loss = outputs(OutputKind.LOSS_OUTPUT)
    backward = None
    if loss:
        backward = BackwardSignature(
            outputs(OutputKind.GRADIENT_TO_PARAMETER), outputs(OutputKind.GRADIENT_TO_USER_INPUT), next(iter(loss))
        )
    user = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
    parameters, buffers = inputs(InputKind.PARAMETER), inputs(InputKind.BUFFER)
    return GraphSignature(
        parameters=list(parameters.values()),
        buffers=list(buffers.values()),
        user_inputs=[s.arg.name for s in signature.input_specs if s.kind is InputKind.USER_INPUT],
        user_outputs=[getattr(s.arg, "name", None) for s in signature.output_specs if s.kind in user],
        inputs_to_parameters=parameters,
        inputs_to_buffers=buffers,
        buffers_to_mutate=outputs(OutputKind.BUFFER_MUTATION),
        user_inputs_to_mutate=outputs(OutputKind.USER_INPUT_MUTATION),
        in_spec=program.call_spec.in_spec,
        out_spec=program.call_spec.out_spec,
        backward_signature=backward,
    )


def aot_export_module(
    mod: nn.Module,
    args: Any,
    *,
    decompositions: dict[Any, Callable] | None = None,
    trace_joint: bool,
    output_loss_index: int | None = None,
    pre_dispatch: bool = False,
    dynamic_shapes: Any = None,
    kwargs: dict[str, Any] | None = None,
) -> tuple[Any, GraphSignature]:
    """(graph module, signature) of `mod` called with `args`: parameters, buffers and inputs are arg0_1, arg1_1, ....

    trace_joint: behind the outputs of the forward come the gradients of the output with number `output_loss_index` by
    everything that requires one. pre_dispatch: composite operators are not decomposed.
    """
    if pre_dispatch and trace_joint:
        raise RuntimeError("pre_dispatch is not supported when trace_joint is True.")
    if trace_joint and output_loss_index is None:
        raise RuntimeError(
            "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss.\n"
            "You must specify the which (index) output is the loss with output_loss_index."
        )
    run = capture_module(mod, tuple(args), kwargs, dynamic_shapes)
    table = dict(decompositions or {})
    program = run.result.functionalize()
    if trace_joint:
        program = program.joint(output_loss_index)
    if not pre_dispatch or table:
        program = program.decompose(table=table)
    whole = ExportedProgram(program, (run.in_spec, run.out_spec), (run.args, run.kwargs), run.arg_names)
    return whole.graph_module, _signature(whole)


def aot_export_joint_simple(
    func: Callable,
    args: Any,
    *,
    trace_joint: bool,
    num_params_buffers: int = 0,
    decompositions: dict[Any, Callable] | None = None,
) -> fx.GraphModule:
    """The functional graph of func(*args); with trace_joint its placeholders are the arguments and one tangent per
    output, and behind the outputs come the gradients of the arguments. Writes and aliases are refused."""
    flat, spec = pytree.tree_flatten(tuple(args))

    def function(*given: Any) -> tuple:
        return tuple(pytree.tree_leaves(func(*pytree.tree_unflatten(list(given), spec))))

    with ingot.set_grad_enabled(trace_joint):
        traced = trace(function, flat, decompositions=decompositions)
    if traced is None:
        raise RuntimeError("aot_export_joint_simple: the function overwrites what its gradient needs.")
    written = traced.meta.num_mutated_inp_runtime_indices
    if written:
        raise RuntimeError(f"aot_export_joint_simple does not support input mutations. Found {written} of them.")
    aliases = (OutputType.alias_of_input, OutputType.is_input, OutputType.alias_of_intermediate)
    if any(o.output_type in aliases for o in traced.meta.output_info) or traced.meta.num_intermediate_bases:
        raise RuntimeError(f"aot_export_joint_simple does not support outputs that alias inputs. {traced.meta}")
    return traced.graph_module


# ---- compiled functions ----


def make_boxed_compiler(compiler: Callable) -> Callable:
    """A compiler whose results take one list of arguments."""

    def f(graph_module: fx.GraphModule, inputs: list) -> Callable:
        return make_boxed_func(compiler(graph_module, inputs))

    return f


def _kind_of(a: Any, dynamic: bool) -> Any:
    if not isinstance(a, Tensor):
        return type(a), a
    sizes = tuple("*" if dynamic and n > 1 else n for n in a.shape)
    strides = None if dynamic else a.stride()
    return sizes, strides, a.dtype, str(a.device), a.requires_grad, isinstance(a, nn.Parameter)


class _Function:
    """A function compiled once per kind of arguments and grad mode."""

    def __init__(self, fn: Callable, dynamic: bool, options: dict[str, Any]) -> None:
        self.fn, self.dynamic, self.options = fn, dynamic, options
        self.compiled: dict[Any, tuple[Callable, Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        flat, spec = pytree.tree_flatten((args, kwargs))
        equal = [n for a in flat if isinstance(a, Tensor) for n in a.shape if self.dynamic and n > 1]
        shape = tuple(equal.index(n) for n in equal)  # equal sizes share a symbol
        key = (ingot.is_grad_enabled(), str(spec), shape, *(_kind_of(a, self.dynamic) for a in flat))
        found = self.compiled.get(key)
        if found is None:
            found = self.compiled[key] = self._compile(flat, spec)
        run, out_spec = found
        return pytree.tree_unflatten(run(flat), out_spec[0])

    def _compile(self, flat: list, spec: Any) -> tuple[Callable, list]:
        out_spec: list = []

        def function(*given: Any) -> tuple:
            args, kwargs = pytree.tree_unflatten(list(given), spec)
            leaves, structure = pytree.tree_flatten(self.fn(*args, **kwargs))
            out_spec[:] = [structure]
            return tuple(leaves)

        return compile_flat(function, flat, dynamic=self.dynamic, **self.options), out_spec


def aot_function(
    fn: Callable,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = default_partition,
    decompositions: dict | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
) -> Callable:
    """fn with its forward and backward compiled: compiler(graph_module, example_inputs) returns a callable.

    A call with arguments of another kind (sizes, dtypes, gradients) is compiled anew.
    """
    options = {
        "fw_compiler": fw_compiler,
        "bw_compiler": bw_compiler,
        "partition_fn": partition_fn,
        "decompositions": decompositions,
        "inference_compiler": inference_compiler,
    }
    compiled = _Function(fn, dynamic, options)

    def returned_function(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    return returned_function


def _state_of(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))


def aot_module(mod: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    """The module with its call compiled; parameters and buffers are inputs of the graphs. See aot_function."""

    def functional_call(state: dict[str, Tensor], given: tuple, options: dict[str, Any]) -> Any:
        with _reparametrize_module(mod, state):
            return mod(*given, **options)

    compiled = aot_function(functional_call, *args, **kwargs)

    class AOTModule(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *given: Any, **options: Any) -> Any:
            return compiled(_state_of(self.orig_module), given, options)

    return AOTModule()


def aot_module_simplified(
    mod: nn.Module,
    args: Any,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = default_partition,
    decompositions: dict | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    cudagraphs: Any = None,
) -> Callable:
    """The compiled call of a module for arguments like `args` (tensors, fake or real, and numbers): what a backend of
    torch.compile returns. Arguments and results are flat; parameters and buffers are those that the module has when the
    result is called."""
    names = list(_state_of(mod)) if isinstance(mod, nn.Module) else []

    def function(*given: Any) -> tuple:
        state = dict(zip(names, given))
        with _reparametrize_module(mod, state) if names else contextlib.nullcontext():
            out = function_of(mod)(*given[len(names) :])
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def weights() -> list:
        state = _state_of(mod) if names else {}
        return [state[name] for name in names]

    known = examples_of(mod) if isinstance(mod, fx.GraphModule) else []
    if len(known) != len(args):
        known = [None] * len(args)
    compiled = compile_flat(
        function,
        [*weights(), *args],
        fakes=[*([None] * len(names)), *known],
        fw_compiler=fw_compiler,
        bw_compiler=bw_compiler,
        inference_compiler=inference_compiler,
        partition_fn=partition_fn,
        decompositions=decompositions,
    )

    def forward(*given: Any) -> tuple:
        return tuple(compiled([*weights(), *given]))

    def boxed(given: list) -> tuple:
        return forward(*given)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    forward.boxed = boxed  # type: ignore[attr-defined]
    forward._one_history = True  # type: ignore[attr-defined]  # of all results
    if names:
        forward.zero_grad = mod.zero_grad  # type: ignore[attr-defined]
        forward.named_parameters = mod.named_parameters  # type: ignore[attr-defined]
        forward.named_buffers = mod.named_buffers  # type: ignore[attr-defined]
    return forward


compiled_function = aot_function
compiled_module = aot_module
