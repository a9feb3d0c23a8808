# SPDX-License-Identifier: Apache-2.0
"""What was compiled for one function, and what to do when nothing fits.

The function runs on every call; its operators are recorded instead of computed (capture/defer.h). A recording that
fits no entry is traced, with symbols for the numbers that vary, and given to the backend.
"""

from __future__ import annotations

import logging
import os
import threading
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

from ingot import _C, fx
from ingot._C import Tensor
from ingot._dynamo import config, exc
from ingot._dynamo.sources import Sources
from ingot._dynamo.steps import is_raised, refused_on_line
from ingot._dynamo.utils import counters
from ingot._dynamo.where import branch_kind, cuts_well, describe_stack, is_allowed, is_users_file, user_stack
from ingot.fx.graph_module import function_of

__all__ = ["Frame", "Settings", "forget_all"]

log = logging.getLogger("torch._dynamo")

# capture/defer.h: ig_defer_why, ig_defer_kind, IG_SLOT_AS_
END, VALUE, CALL, MODE, HOST = range(5)
CONSTANT_SLOT, SIZE_ARG, SCALAR, FLOAT, SIZE, STRIDE = range(6)
AS_CONSTANT, AS_SYMBOL, AS_KNOWN, AS_SHARED, AS_FREE, AS_NUMBER = range(6)
UNKNOWN, OF_SIZES, OF_ELEMENTS = range(3)  # where a number comes from


class Settings:
    """How a function is compiled."""

    def __init__(self, backend: Callable, fullgraph: bool, dynamic: bool | None, options: Any = None) -> None:
        self.backend = backend
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.options = options

    def key(self) -> tuple:
        try:
            hash(self.backend)  # methods of one object are equal, not identical
            backend = self.backend
        except TypeError:
            backend = id(self.backend)
        return backend, self.dynamic, None if self.options is None else id(self.options)


class _Seen:
    """Numbers that earlier captures had: those that differ once are symbolic from then on."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.varies: list[bool] = []

    def update(self, values: list[int]) -> list[bool]:
        if len(values) != len(self.values):
            # The first capture is static; another rank is symbolic in all dims at once.
            self.varies = [bool(self.values)] * len(values)
        else:
            self.varies = [v or a != b for v, a, b in zip(self.varies, self.values, values, strict=True)]
        self.values = values
        return self.varies


_frames: weakref.WeakSet[Frame] = weakref.WeakSet()


def forget_all() -> None:
    for frame in list(_frames):
        frame.reset()


class Frame(_C.CompileCache):
    """The entries of one code object under one set of settings."""

    def __init__(self, name: str, where: str, settings: Settings) -> None:
        self.name = name
        self.where = where
        self.settings = settings
        self.lock = threading.RLock()
        self.listener: Callable | None = None  # told of breaks: explain
        self.handles = False  # the function has handlers of exceptions
        self.reset()
        _frames.add(self)

    def reset(self) -> None:
        self.forget()
        self.eager = False  # too many entries
        self.skipped = False  # a call had no operators, or a break where the function cannot be cut
        self.made: dict[int, int] = {}  # entries by number of the flush
        self.seen: dict[Any, _Seen] = {}
        self.structures: set[int] = set()
        self.untraced: set[int] = set()  # of recordings that no graph can have
        self.quiet: set[tuple] = set()  # kinds of calls in which nothing was caught

    def kind_to_watch(self, args: tuple, kwargs: dict) -> tuple | None:
        """What decides the way of a call through a function with handlers, if no call like it was watched."""
        if len(self.quiet) >= _MOST_KINDS:
            return None
        kind = (*map(_kind, args), *((name, _kind(value)) for name, value in kwargs.items()))
        return None if kind in self.quiet else kind

    # ---- called by the engine; what broken, outside, line and failed raise where one graph is wanted is
    # what the caller gets, also if the program catches it

    def broken(
        self, why: int, op: str | None, branch: bool, calls: int, whole: bool, custom: bool, wrong: str | None
    ) -> bool:
        """The recording ends before the function does. wrong: why the operator refuses its operands, if it does. True:
        the elements are asserted to be true, which a graph can have."""
        reason = _reason(why, op, branch)
        if whole and not _may_break(why):
            stack = user_stack()
            kind = branch_kind() if branch else None
            if kind == "assert":
                return True
            if kind == "jump" and not is_allowed(stack):
                text = exc.BRANCH + describe_stack(stack)
                raise exc.UserError(exc.UserErrorType.DYNAMIC_CONTROL_FLOW, text)
            if wrong is not None:
                raise exc.TorchRuntimeError(f"Failed running call_function {op}:\n{wrong}" + describe_stack(stack))
            if custom:
                raise exc.TorchRuntimeError(_NO_FAKE.format(op) + describe_stack(stack))
            raise exc.Unsupported(reason + describe_stack(stack))
        if why == MODE:
            return False
        if calls:
            counters["graph_break"][reason] += 1
        if not self.made and not cuts_well():
            self.skipped = True  # the rest of a loop or of a block is no function of its own
        if self.listener is not None:
            self.listener(reason, user_stack())
        return False

    def outside(self, module: str, name: str, whole: bool) -> None:
        """The user's code calls a function that no graph can have."""
        where = f"{os.path.basename(module)}.{name}" if module != "builtins" else name
        if whole:
            stack = user_stack()
            if is_allowed(stack):
                return
            text = f"Graph break due to unsupported builtin {where}."
            raise exc.Unsupported(text + describe_stack(stack))
        if not self.made and not cuts_well():
            self.skipped = True

    def line(self, frame: types.FrameType) -> None:
        """A line of the user's code starts, and one graph is wanted."""
        reason = refused_on_line(frame)
        if reason is None:
            return
        stack = user_stack()
        if not is_allowed(stack):
            raise exc.Unsupported(reason + describe_stack(stack))

    def failed(self, frame: types.FrameType, error: BaseException) -> None:
        """An operation on plain values fails in the user's code, and one graph is wanted: it is no part of one."""
        stack = user_stack()
        if is_raised(frame) or is_allowed(stack):
            return
        if isinstance(error, AttributeError) and not isinstance(error.obj, Tensor):
            return  # whether an object has an attribute is known
        if _is_lookup(error):
            raise exc.InternalTorchDynamoError(f"{_described(error)}{describe_stack(stack)}")
        raise exc.Unsupported(f"constant fold exception: {error!r}" + describe_stack(stack))

    def raised(self, error: BaseException, asserts: bool) -> None:
        """The function raised, and one graph is wanted: there is none of a function that does not return."""
        if not isinstance(error, Exception) or isinstance(error, exc.TorchDynamoException):
            return
        if asserts and isinstance(error, AssertionError):
            return  # a graph would have raised it
        frames = traceback.extract_tb(error.__traceback__)
        if frames and os.path.dirname(frames[-1].filename) == os.path.dirname(__file__):
            return  # says itself what is wrong with the compilation
        where = describe_stack(traceback.StackSummary.from_list([f for f in frames if is_users_file(f.filename)]))
        if _is_lookup(error):
            raise exc.InternalTorchDynamoError(f"{_described(error)}{where}") from error
        raise exc.Unsupported(f"Observed exception\n{_described(error)}{where}") from error

    def miss(self, recording: Any, fn: Callable, args: tuple, kwargs: dict, whole: bool) -> bool:
        """No entry fits. True: there is one now; False: the calls run as they are."""
        with self.lock:
            counters["frames"]["total"] += 1
            if self.eager or self.skipped or config.disable or _running_only.get():
                return False
            if config.error_on_recompile and recording.number in self.made:
                raise exc.RecompileError(f"Recompiling function {self.name} in {self.where}\n    no entry fits")
            if self.made.get(recording.number, 0) >= config.cache_size_limit:
                return self._give_up(whole)
            try:
                if not self._compile(recording, fn, args, kwargs, whole):
                    return False
            except Exception:
                if not config.suppress_errors:
                    raise
                log.warning("WON'T CONVERT %s %s", self.name, self.where, exc_info=True)
                return False
            self.made[recording.number] = self.made.get(recording.number, 0) + 1
            counters["frames"]["ok"] += 1
            return True

    def _give_up(self, whole: bool) -> bool:
        text = f"torch._dynamo hit config.cache_size_limit ({config.cache_size_limit})"
        if whole:
            raise exc.CacheLimitExceeded("cache_size_limit reached")
        log.warning(
            "%s\n   function: '%s' (%s)\n   last reason: no entry fits the sizes and values of this call\n"
            'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'
            "To diagnose recompilation issues, see https://pytorch.org/docs/main/torch.compiler_troubleshooting.html.",
            text, self.name, self.where,
        )  # fmt: skip
        self.eager = True
        return False

    # ---- compiling

    def _compile(self, recording: Any, fn: Callable, args: tuple, kwargs: dict, whole: bool) -> bool:
        """False: no graph can have the calls."""
        if recording.hash in self.untraced and not whole:
            return False
        sources = Sources(fn, args, kwargs, recording.inputs, recording.number)
        how, must = self._plan(recording, sources)
        graph = self._trace(recording, how, sources.names, whole)
        if graph is None:
            return False
        module = fx.GraphModule(_attributes(graph), graph, "GraphModule")
        counters["stats"]["calls_captured"] += recording.calls
        counters["stats"]["unique_graphs"] += 1
        run = self._call_backend(module, _examples(module, recording.inputs))
        self._check_marks(recording, must, sources)
        recording.add(run)
        return True

    def _trace(self, recording: Any, how: bytes, names: list[str], whole: bool) -> Any:
        """None: a rule needs elements. While the calls were recorded, tensors from elsewhere had some."""
        # Where a rule needs numbers, all of them are constants of this entry.
        for as_planned in (True, False) if any(how) else (True,):
            try:
                return _traced(recording, how if as_planned else bytes(len(how)), names)
            except MemoryError:
                raise
            except Exception as error:
                why = error
        if whole:
            raise exc.Unsupported(f"{_described(why)}{describe_stack(user_stack())}") from why
        log.debug("%s %s runs uncompiled: %s", self.name, self.where, _described(why))
        self.untraced.add(recording.hash)
        return None

    def _call_backend(self, module: Any, examples: list[Any]) -> Callable:
        backend = self.settings.backend
        try:
            options = {} if self.settings.options is None else {"options": self.settings.options}
            run = backend(module, examples, **options)
        except exc.TorchDynamoException:
            raise
        except Exception as error:
            raise exc.BackendCompilerFailed(backend, error) from error
        if not callable(run):
            raise exc.BackendCompilerFailed(backend, TypeError("compiler_fn did not return callable"))
        return function_of(run)

    def _plan(self, recording: Any, sources: Sources) -> tuple[bytes, list[tuple[int, int, int]]]:
        """How each number is traced, and the dims (slot, input, dim) that must stay symbolic."""
        slots = recording.slots
        how = bytearray(len(slots))
        must: list[tuple[int, int, int]] = []
        sizes: dict[int, list[int]] = {}
        for i, (kind, _value, of, *_rest) in enumerate(slots):
            if kind == SIZE:
                sizes.setdefault(of, []).append(i)
        for of, at in sizes.items():
            values = [slots[i][1] for i in at]
            seen = self.seen.setdefault((recording.number, sources.names[of]), _Seen())
            varies = seen.update(values)
            for dim, i in enumerate(at):
                mark = sources.mark(of, dim)
                how[i] = self._plan_size(mark, sources.static[of], varies[dim])
                if mark == "dynamic":
                    must.append((i, of, dim))
        self._plan_numbers(recording, slots, how, sources)
        return bytes(how), must

    def _everything(self) -> bool:
        return self.settings.dynamic is True or (self.settings.dynamic is None and not config.assume_static_by_default)

    def _plan_size(self, mark: str | None, static: bool, varies: bool) -> int:
        if mark == "dynamic":
            return AS_SYMBOL
        if mark == "unbacked":
            return AS_FREE
        if mark == "static" or static or self.settings.dynamic is False:
            return AS_CONSTANT
        if mark == "maybe" or (varies and config.automatic_dynamic_shapes):
            return AS_SYMBOL
        return AS_SHARED if self._everything() else AS_CONSTANT

    def _plan_numbers(self, recording: Any, slots: list, how: bytearray, sources: Sources) -> None:
        """Numbers among the arguments of operators: those that varied, and those that are sizes or arguments."""
        at = [i for i, (kind, *_rest) in enumerate(slots) if kind in (SIZE_ARG, SCALAR, FLOAT)]
        values = [slots[i][1] for i in at]
        known = recording.hash in self.structures
        self.structures.add(recording.hash)
        outline = (recording.number, recording.outline)
        varies = self.seen.setdefault(outline, _Seen()).update(values)
        # Where another number of the computation varies, it is no expression of sizes alone.
        others = self.seen.setdefault((*outline, "way"), _Seen()).update([slots[i][5] for i in at])
        if self.settings.dynamic is False:
            return
        everything = self._everything()
        for i, value, changed, other in zip(at, values, varies, others, strict=True):
            if slots[i][0] == FLOAT:
                if self._is_symbolic_float(changed):
                    how[i] = AS_SYMBOL
                continue
            if config.specialize_int:
                continue
            if changed and (everything or config.automatic_dynamic_shapes):
                how[i] = AS_NUMBER if other else AS_SHARED
            elif known:
                continue
            elif slots[i][4] == OF_ELEMENTS or (everything and (slots[i][4] or value in sources.numbers)):
                how[i] = AS_SHARED
            elif slots[i][4] and value >= 2:
                how[i] = AS_KNOWN

    def _is_symbolic_float(self, changed: bool) -> bool:
        """A float in the place of a tensor: an input of the graph, unless the backend wants a constant."""
        if getattr(self.settings.backend, "constant_floats", False):
            return False
        return not config.specialize_float or (changed and config.automatic_dynamic_shapes)

    def _check_marks(self, recording: Any, must: list[tuple[int, int, int]], sources: Sources) -> None:
        if not must:
            return
        fixed = recording.fixed()
        for slot, of, dim in must:
            if fixed[slot] is None or fixed[slot] < 2:
                continue
            raise exc.ConstraintViolationError(
                f"Constraints violated (L['{sources.plain(of)}'].size()[{dim}])! For more information, run with "
                f"TORCH_LOGS=\"+dynamic\".\n  - Not all values of RelaxedUnspecConstraint(L['{sources.plain(of)}']"
                f".size()[{dim}]) are valid because L['{sources.plain(of)}'].size()[{dim}] was inferred to be a "
                f"constant ({fixed[slot]})."
            )


def _is_lookup(error: BaseException) -> bool:
    """Does PyTorch call this an error of its own? A variable without a value is one of the program."""
    return isinstance(error, (IndexError, NameError, AttributeError)) and not isinstance(error, UnboundLocalError)


_MOST_KINDS = 256  # of calls that are told apart


def _kind(value: Any) -> tuple:
    if isinstance(value, Tensor):
        return Tensor, value.dtype, value.ndim
    plain = value is None or type(value) in (bool, int, float, str)
    return (type(value), value) if plain else (type(value),)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _traced(recording: Any, how: bytes, names: list[str]) -> Any:
    _C.capture_begin()
    try:
        outs = recording.trace(how, names)
        return _C.capture_end_graph(outs, False)
    except BaseException:
        _C.capture_abort()
        raise


def _attributes(graph: Any) -> dict[str, Any]:
    values = {n.target: n._attr() for n in graph.nodes if n.op == "get_attr"}
    return {name: value for name, value in values.items() if isinstance(value, (Tensor, fx.GraphModule))}


def _examples(module: Any, inputs: list[Tensor]) -> list[Any]:
    """One per placeholder: the tensors of this call, symbols as they are."""
    rest = iter(inputs)
    values = [n.meta.get("val") for n in module.graph.nodes if n.op == "placeholder"]
    return [next(rest) if isinstance(value, Tensor) else value for value in values]


def _reason(why: int, op: str | None, branch: bool) -> str:
    if branch:
        return "generic_jump TensorVariable()"
    if why == VALUE:
        return "Tensor.item"
    if why == CALL:
        return f"call of {op}, whose result depends on the values of tensors"
    if why == MODE:
        return f"a mode changed before the call of {op}"
    return op or "call of a function that is not captured"


_NO_FAKE = (
    "Failed running call_function {0}:\nThere was no fake impl registered for {0}. This is necessary for "
    "torch.compile/export/fx tracing to work."
)


def _may_break(why: int) -> bool:
    """A flush that one graph may have after all."""
    if why == MODE:
        return True
    if why == VALUE:
        return config.capture_scalar_outputs
    return why == CALL and (config.capture_scalar_outputs or config.capture_dynamic_output_shape_ops)


class _Flag(threading.local):
    on = False

    def get(self) -> bool:
        return self.on


_running_only = _Flag()  # torch._dynamo.run: nothing is compiled
