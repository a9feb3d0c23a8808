# SPDX-License-Identifier: Apache-2.0
"""torch.jit.trace: a function or module runs once, and the operators that it calls become a graph."""

from __future__ import annotations

import contextlib
import contextvars
import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot import _C, nn

_IO_TYPES = "Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"


class TracerWarning(Warning):
    """What a trace cannot follow."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Warnings that the library itself causes are not shown."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="ingot.(?!jit)")


class TracingCheckError(Exception):
    """A second trace differs from the first."""

    def __init__(self, graph_diff_error: str | None, tensor_compare_error: str | None, extra_msg: str | None = None):
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += "ERROR: Graphs differed across invocations!\n" + _indent(graph_diff_error) + "\n"
        if tensor_compare_error is not None:
            self.message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                "the tracer has encountered untraceable code.\n" + _indent(tensor_compare_error) + "\n"
            )
        super().__init__(self.message)


def _indent(text: str) -> str:
    return "\n".join("\t" + line for line in text.split("\n"))


_captured_as_trace: contextvars.ContextVar[bool] = contextvars.ContextVar("captured_as_trace", default=False)


@contextlib.contextmanager
def captured_as_trace() -> Iterator[None]:
    """For user code, the capture within is a trace: an exporter that begins with a trace makes it."""
    token = _captured_as_trace.set(True)
    try:
        yield
    finally:
        _captured_as_trace.reset(token)


def _get_tracing_state() -> object:
    """Something if a trace is being made, else None."""
    return True if is_tracing() else None


def is_tracing() -> bool:
    """Whether a trace is being recorded."""
    return _C._is_tracing() or _captured_as_trace.get()


# ---- inputs


def _type_text(value: Any) -> str:
    """The type of an example input, as annotations write it."""
    if isinstance(value, ingot.Tensor):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_text, value))}]"
    if isinstance(value, list):
        return f"List[{_type_text(value[0]) if value else 'Tensor'}]"
    if isinstance(value, dict):
        key, item = next(iter(value.items()), ("", None))
        return f"Dict[{type(key).__name__}, {'Tensor' if item is None else _type_text(item)}]"
    return "NoneType" if value is None else type(value).__name__


def _traceable(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_traceable, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _traceable(item) for key, item in value.items())
    return isinstance(value, ingot.Tensor)


def _check_dicts(value: Any, args: tuple) -> None:
    """The items of a dict have one type."""
    if isinstance(value, dict):
        kinds = list(dict.fromkeys(map(_type_text, value.values())))
        if len(kinds) > 1:
            raise RuntimeError(
                f"Tracer cannot infer type of {args}\n:Dictionary inputs to traced functions must have consistent "
                f"type. Found {kinds[0]} and {kinds[1]}"
            )
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            _check_dicts(item, args)


def _check_inputs(args: tuple) -> None:
    _check_dicts(args, args)
    if not all(map(_traceable, args)):
        raise RuntimeError(f"Type '{_type_text(args)}' cannot be traced. {_IO_TYPES}")


def _fresh(value: Any) -> Any:
    """Copies of example inputs: a program may change its own."""
    if isinstance(value, ingot.Tensor):
        copied = value.detach().clone(memory_format=ingot.preserve_format) if value.numel() else value.detach().clone()
        return copied.requires_grad_(value.requires_grad) if value.requires_grad else copied
    if isinstance(value, tuple):
        items = [_fresh(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return [_fresh(item) for item in value]
    if isinstance(value, dict):
        return {key: _fresh(item) for key, item in value.items()}
    return value


def make_tuple(example_inputs: Any) -> tuple:
    """Example inputs as the arguments of a call."""
    if isinstance(example_inputs, (ingot.Tensor, dict)):
        return (example_inputs,)
    return example_inputs if isinstance(example_inputs, tuple) else tuple(example_inputs)


def get_callable_argument_names(function: Callable) -> list[str]:
    """Names of the parameters that can be given by position; none of those of scripts."""
    if isinstance(function, _C.ScriptFunction):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    names = []
    for one in parameters:
        if one.kind != inspect.Parameter.POSITIONAL_OR_KEYWORD:
            continue
        names.append(one.name)
    return names


# ---- one run


def _run(tracer: Any, function: Callable, args: tuple, names: list[str]) -> Any:
    """Runs the function under the tracer; returns what it returned."""
    named = names if len(names) >= len(args) else [""] * len(args)
    tracer.begin()
    try:
        inputs = [tracer.input(name, value) for name, value in zip(named, args)]
        result = function(*inputs)
        if result is None:
            raise RuntimeError(
                "The traced function didn't return any values! Side-effects are not captured in traces, so it would "
                "be a no-op."
            )
        tracer.output(result)
    finally:
        tracer.end()
    return result


def _flatten(value: Any, into: list[ingot.Tensor]) -> Callable[[Iterator], Any]:
    """Collects the tensors of a value, numbers being tensors too; the result puts others in their places."""
    if isinstance(value, ingot.Tensor):
        into.append(value)
        return next
    if isinstance(value, (bool, int, float)):
        kind = ingot.bool if isinstance(value, bool) else ingot.int64 if isinstance(value, int) else ingot.float64
        into.append(ingot.tensor(value, dtype=kind))
        return next
    if isinstance(value, dict):
        parts = {key: _flatten(item, into) for key, item in value.items()}
        return lambda others: {key: part(others) for key, part in parts.items()}
    if isinstance(value, (tuple, list)):
        items = [_flatten(item, into) for item in value]
        kind = type(value)
        make = (lambda values: kind(*values)) if hasattr(value, "_fields") else kind
        return lambda others: make([part(others) for part in items])
    if value is not None and not isinstance(value, str):
        raise RuntimeError(
            "Only tuples, lists and Variables are supported as JIT inputs/outputs. Dictionaries and strings are also "
            "accepted, but their usage is not recommended. Here, received an input of unsupported type: "
            f"{type(value).__name__}"
        )
    return lambda others: value


def _get_trace_graph(
    f: Any,
    args: Any = (),
    kwargs: dict | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple:
    """The flat graph of a call, whose inputs are the tensors of the arguments and then the state of the module; and
    what the call returned."""
    args = args if isinstance(args, tuple) else (args,)
    tensors: list[ingot.Tensor] = []
    rebuild = _flatten(args, tensors)
    state = list(dict.fromkeys(f.state_dict(keep_vars=True).values())) if isinstance(f, nn.Module) else []
    results = []
    given: list[Any] = []

    def run(*inputs: ingot.Tensor) -> Any:
        if return_inputs:
            given.append(tuple(one.clone() for one in inputs))
        arguments = rebuild(iter(inputs[: len(tensors)]))
        if _return_inputs_states:
            given.append((rebuild(iter(inputs[: len(tensors)])), arguments))
        results.append(f(*arguments, **(kwargs or {})))
        found: list[ingot.Tensor] = []
        _C._untraced(lambda: _flatten(results[0], found))
        return found[0] if len(found) == 1 else tuple(found)

    tracer = _C._Tracer(strict=strict, frames_up=1)
    _run(tracer, run, (*tensors, *state), [])
    return (tracer.graph(), results[0], *given)


# ---- functions


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict | None = None,
    _store_inputs: bool = True,
) -> Any:
    """A function or module as the script of what it does with the example inputs."""
    if isinstance(func, _script().RecursiveScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if (example_inputs is None) == (example_kwarg_inputs is None):
        raise RuntimeError("example_kwarg_inputs should be a dict" if example_inputs is None else
                           "only one of example_inputs and example_kwarg_inputs can be given")  # fmt: skip
    if isinstance(func, nn.Module):
        given = example_inputs if example_kwarg_inputs is None else example_kwarg_inputs
        checks = None if check_inputs is None else [{"forward": one} for one in check_inputs]
        return trace_module(
            func, {"forward": given}, None, check_trace, checks, check_tolerance, strict, _force_outplace,
            _module_class, example_inputs_is_kwarg=example_kwarg_inputs is not None, _store_inputs=_store_inputs,
        )  # fmt: skip
    if inspect.ismethod(func) and isinstance(func.__self__, nn.Module):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    if not callable(func):
        raise TypeError(f"expected a function or module, not {type(func).__name__}")
    args = _arguments(func, example_inputs, example_kwarg_inputs)
    traced = _trace_function(func, _fresh(args), strict)
    if check_trace:
        inputs = [args] if check_inputs is None else [make_tuple(one) for one in check_inputs]
        for one in inputs:
            _check(one, func, traced, lambda given: _trace_function(func, given, strict), check_tolerance)
    return traced


def _script() -> Any:
    from ingot.jit import _script as home

    return home


def _arguments(func: Callable, args: Any, kwargs: dict | None) -> tuple:
    """Example inputs in the order of the parameters."""
    if kwargs is None:
        return make_tuple(args)
    if not isinstance(kwargs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    names = get_callable_argument_names(func)
    missing = [name for name in kwargs if name not in names]
    if missing:
        raise RuntimeError(f"{func} has no parameter '{missing[0]}', only {', '.join(names)}")
    last = max((names.index(name) for name in kwargs), default=-1)
    defaults = {name: one.default for name, one in inspect.signature(func).parameters.items()}
    return tuple(kwargs.get(name, defaults.get(name)) for name in names[: last + 1])


def _trace_function(func: Callable, args: tuple, strict: bool) -> Any:
    from ingot.jit import _front

    _check_inputs(args)
    tracer = _C._Tracer(strict=strict)
    _run(tracer, func, args, get_callable_argument_names(func))
    if isinstance(func, _C.ScriptFunction):
        return tracer.function(func.name, func.qualified_name)
    name = getattr(func, "__name__", None) or type(func).__name__
    name = "_lambda" if name == "<lambda>" else name
    home = func if hasattr(func, "__name__") else type(func)
    return tracer.function(name, _front.qualified_name(home))


# ---- modules


class _Flags:
    """Attributes that every traced class has, besides parameters, buffers and modules."""

    NAMES = ("training", "_is_full_backward_hook")


def _holds_native(module: nn.Module) -> bool:
    """Does a module only keep packed parameters, with methods that scripts see?"""
    from ingot.jit import _marks

    if not any(isinstance(value, _C.NativeObject) for value in vars(module).values()):
        return False
    names = (name for cls in type(module).__mro__ for name in vars(cls))
    return any(_marks.mark_of(getattr(type(module), name, None)) == _marks.EXPORTED for name in names)


def _instance(module: nn.Module) -> Any:
    """The module as an object of a new class of the script: children first, values are shared."""
    from ingot.jit import _front

    own = getattr(module, "_c", None)
    if own is not None:
        return own
    if _holds_native(module):
        from ingot.jit import script

        return script(module)._c
    children = {name: None if child is None else _instance(child) for name, child in module._modules.items()}
    cls = _C._script_class(_front.free_name(type(module)), True)
    optional = _C.OptionalType(_C.BoolType.get())
    values: dict[str, Any] = {}
    for held, role in ((module._parameters, 1), (module._buffers, 2)):
        for name, value in held.items():
            cls.add_attribute(name, _C.NoneType.get() if value is None else _C.TensorType.get(), role)
            values[name] = value
    for name, kind in zip(_Flags.NAMES, (_C.BoolType.get(), optional)):
        cls.add_attribute(name, kind, 0)
        values[name] = getattr(module, name, None)
    for name, value in vars(module).items():
        if isinstance(value, _C.NativeObject):
            cls.add_attribute(name, _C._script_infer(value), 0)
            values[name] = value
    for name, child in children.items():
        cls.add_attribute(name, _C.NoneType.get() if child is None else child._type(), 0)
        values[name] = child
    made = _C._script_instance(cls)
    for name, value in values.items():
        made.setattr(name, value)
    return made


def _paths(module: nn.Module, prefix: str, into: dict[nn.Module, str]) -> dict[nn.Module, str]:
    for name, child in module.named_children():
        into[child] = f"{prefix}.{name}"
        _paths(child, into[child], into)
    return into


@contextlib.contextmanager
def _scopes(tracer: Any, paths: dict[nn.Module, str]) -> Iterator[None]:
    """Calls of the modules with a path are scopes of the trace: their forward, without the hooks around it."""
    from ingot.nn.modules.module import observe

    def call(module: nn.Module, plain: Callable, args: tuple, kwargs: dict) -> Any:
        path = paths.get(module)
        if path is None or not is_tracing() or getattr(module, "_c", None) is not None:
            return plain(*args, **kwargs)

        def forward(*given: Any, **options: Any) -> Any:
            tracer.enter(path)
            try:
                return module.forward(*given, **options)
            finally:
                tracer.leave()

        return module._call_as(forward, args, kwargs)

    before = observe(call)
    try:
        yield
    finally:
        observe(*before)


def _trace_methods(module: nn.Module, inputs: dict[str, Any], strict: bool, kwargs: bool) -> Any:
    made = _instance(module)
    paths = _paths(module, "__module", {})
    for name, given in inputs.items():
        forward = name == "forward"
        func = module if forward else getattr(module, name)
        args = _method_arguments(module, name, given, kwargs)
        _check_inputs(args)
        tracer = _C._Tracer(strict=strict)
        tracer.module(made)
        with _scopes(tracer, paths):
            _run(tracer, func, args, get_callable_argument_names(getattr(module, name)))
        tracer.method(name)
    return made


def _method_arguments(module: nn.Module, name: str, given: Any, kwargs: bool) -> tuple:
    return _arguments(getattr(module, name), None if kwargs else given, given if kwargs else None)


def trace_module(
    mod: nn.Module,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """A module as a script: for each method the operators that it calls with its example inputs."""
    if not isinstance(mod, nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    given = {name: _fresh(value) for name, value in inputs.items()}
    made = _trace_methods(mod, given, strict, example_inputs_is_kwarg)
    traced = (_module_class or TopLevelTracedModule)(made, type(mod).__name__)
    if not check_trace:
        return traced
    for one in [inputs] if check_inputs is None else check_inputs:
        for name, value in one.items():
            args = _method_arguments(mod, name, value, example_inputs_is_kwarg)

            def again(fresh: tuple, name: str = name) -> Any:
                return TopLevelTracedModule(_trace_methods(mod, {name: fresh}, strict, False), "")._c._get_method(name)

            original = mod if name == "forward" else getattr(mod, name)
            _check(args, original, made._get_method(name), again, check_tolerance)
    return traced


def _class_of_modules() -> type:
    home = _script()

    class TopLevelTracedModule(home.RecursiveScriptModule):
        """What torch.jit.trace gives for a module."""

    TopLevelTracedModule.__module__ = __name__
    TopLevelTracedModule.__qualname__ = "TopLevelTracedModule"
    return TopLevelTracedModule


TopLevelTracedModule = _class_of_modules()
TracedModule = TopLevelTracedModule


# ---- checks


def _tensors(value: Any) -> list[ingot.Tensor]:
    """What is compared of a result: it, or the tensors of a tuple."""
    return [item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, ingot.Tensor)]


def _results(call: Callable, args: tuple, what: str) -> list[ingot.Tensor]:
    try:
        return _tensors(call(*_fresh(args)))
    except Exception as error:
        graphs = (None, None)  # they are not compared
        note = f"encountered an exception while running the {what} with test inputs.\nException:\n{_indent(str(error))}"
        raise TracingCheckError(*graphs, extra_msg=note) from error


def _check(args: tuple, func: Callable, traced: Any, again: Callable, tolerance: float) -> None:
    """Traces a second time and compares: graphs must agree, results should."""
    with ingot.no_grad():
        second = again(_fresh(args))
        found = _results(traced, args, "trace")
        if _compare(found, _results(func, args, "Python function"), "Python function", traced, tolerance):
            _compare(found, _results(second, args, "repeated trace"), "repeated trace", traced, tolerance)
    problem = _differences(traced, second)
    if any(problem):
        raise TracingCheckError(*problem)


def _warn(text: str) -> None:
    warnings.warn(text, category=TracerWarning, stacklevel=4)


def _compare(found: list, expected: list, what: str, traced: Any, tolerance: float) -> bool:
    same = True
    for i, (one, other) in enumerate(zip(found, expected)):
        try:
            ingot.testing.assert_close(
                one.double() if one.is_floating_point() else one,
                other.double() if other.is_floating_point() else other,
                rtol=tolerance, atol=1e-5, equal_nan=True,
            )  # fmt: skip
        except AssertionError as error:
            _warn_random(traced)
            _warn(
                f"Output nr {i + 1}. of the traced function does not match the corresponding output of the {what}. "
                f"Detailed error:\n{error}"
            )
            same = False
    return same


def _warn_random(traced: Any) -> None:
    nodes = [node for node in traced.graph.nodes() if node.isNondeterministic()]
    if nodes:
        shown = "\n".join(_indent(str(node)) for node in nodes[:20])
        _warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
            f"{shown}\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
            "torch.jit.trace()"
        )


def _canonical(traced: Any) -> Any:
    graph = traced.graph.copy()
    _C._jit_pass_inline(graph)
    graph = _C._jit_pass_canonicalize(graph)
    _C._jit_pass_erase_shape_information(graph)
    return graph


def _plain(what: Any) -> str:
    """The text without the numbers of mangled names: every trace has its own classes."""
    return re.sub(r"___torch_mangle_[0-9]+\.", "", str(what))


def _diff(one: str, other: str) -> str:
    return "\n".join(line.rstrip() if line.startswith("?") else line
                     for line in difflib.ndiff(one.splitlines(), other.splitlines()))  # fmt: skip


def _differences(traced: Any, second: Any) -> tuple[str | None, str | None]:
    """How the graphs of two traces differ: their texts, and constants."""
    one, other = _canonical(traced), _canonical(second)
    if _plain(one) == _plain(other):
        return None, None
    text = "Graph diff:\n" + _indent(_diff(_plain(one), _plain(other))) + "\n"
    for a, b in zip(one.nodes(), other.nodes()):
        if _plain(a) == _plain(b):
            continue
        text += "First diverging operator:\nNode diff:\n" + _indent(_diff(_plain(a), _plain(b))) + "\n"
        text += f"Trace source location:\n{_indent(a.sourceRange())}\nCheck source location:\n"
        text += _indent(b.sourceRange()) + "\n"
        break
    return text, _constants(one, other)


def _constants(one: Any, other: Any) -> str | None:
    text = None
    for a, b in zip(one.nodes(), other.nodes()):
        if a.kind() != b.kind():
            break
        if a.kind() != "prim::Constant" or a.mustBeNone() or not a.hasAttribute("value"):
            continue
        if a.kindOf("value") != b.kindOf("value") or a.kindOf("value") != "t":
            continue
        try:
            ingot.testing.assert_close(a.t("value"), b.t("value"), equal_nan=True)
        except (RuntimeError, AssertionError) as error:
            text = f"Node:\n{_indent(str(a))}\nSource Location:\n{_indent(a.sourceRange())}\nComparison exception: "
            text += _indent(str(error))
            break
    return text
