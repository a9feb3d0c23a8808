# SPDX-License-Identifier: Apache-2.0
"""Compiled functional graphs behind the interface of the original function: gradients, writes, views, shared memory."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ingot
from ingot import _C, fx
from ingot._C import Tensor
from ingot._functorch._trace import OutputAliasInfo, OutputType, Traced, ViewAndMutationMeta, trace
from ingot._guards import TracingContext, tracing
from ingot.fx.graph_module import function_of

__all__ = ["compile_flat", "examples_of", "make_boxed_func", "normalize"]


def make_boxed_func(f: Callable) -> Callable:
    """f as a function of one list, which it may empty."""
    call = function_of(f)

    def g(args: list) -> Any:
        return call(*args)

    g._boxed_call = True  # type: ignore[attr-defined]
    return g


def normalize(f: Callable) -> Callable:
    """A compiler's result as a function of one list that returns a list."""
    call = f if getattr(f, "_boxed_call", False) else make_boxed_func(f)

    def run(args: list) -> list:
        out = call(args)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    return run


def examples_of(graph_module: fx.GraphModule) -> list:
    """What describes the inputs: fake tensors, symbols."""
    return [n.meta.get("val") for n in graph_module.graph.nodes if n.op == "placeholder"]


@contextlib.contextmanager
def _described(meta: ViewAndMutationMeta) -> Iterator[None]:
    """While a compiler runs, the tracing context tells what it compiles."""
    context = TracingContext.try_get() or TracingContext(None)
    with tracing(context):
        before, context.fw_metadata = context.fw_metadata, meta
        try:
            yield
        finally:
            context.fw_metadata = before


def _compile(compiler: Callable, graph_module: fx.GraphModule, meta: ViewAndMutationMeta) -> Callable:
    with _described(meta):
        return normalize(compiler(graph_module, examples_of(graph_module)))


# ---- writes and views ----


def _write_back(old: Tensor, new: Tensor, reshaped: bool) -> None:
    """What the graph computed as the new value of an input."""
    if reshaped:
        with ingot.no_grad():
            old.as_strided_(new.size(), new.stride(), new.storage_offset())
    base = old if old._base is None else old._base
    if old.requires_grad and base.is_leaf:  # autograd refuses such a write: the program hid it
        with ingot.no_grad():
            old.detach().copy_(new)
    else:
        old.copy_(new)


def _regenerate(info: OutputAliasInfo, out: Tensor, base: Tensor, numbers: Sequence[Any]) -> Tensor:
    """The same view of the caller's tensor."""
    if info.view is not None:
        made = info.view(base, *numbers)
        view = made[0] if isinstance(made, (tuple, list)) else made
    else:
        view = base.as_strided(out.size(), out.stride(), out.storage_offset())
    return view if info.requires_grad or not view.requires_grad else view.detach()


class _Epilogue:
    """From the graph's outputs to the function's: new values are written back, views are taken of what they view."""

    def __init__(self, meta: ViewAndMutationMeta) -> None:
        self.written = [(i, meta.input_info[i].mutates_metadata) for i in meta.mutated_inp_runtime_indices]
        self.outputs = meta.output_info
        self.plain = not self.written and all(
            o.output_type in (OutputType.non_alias, OutputType.unsafe_view_alias) for o in self.outputs
        )

    def __call__(self, args: Sequence[Any], outs: list) -> list:
        if self.plain:
            return outs
        for (i, reshaped), new in zip(self.written, outs):
            _write_back(args[i], new, reshaped)
        first = len(self.written)
        own, bases = outs[first : first + len(self.outputs)], outs[first + len(self.outputs) :]
        numbers = [a for a in args if isinstance(a, (int, _C.SymInt)) and not isinstance(a, bool)]
        made: list = []
        for info, out in zip(self.outputs, own):
            kind, base = info.output_type, info.base_idx
            if kind is OutputType.is_input:
                made.append(args[base])
            elif kind is OutputType.alias_of_input:
                made.append(_regenerate(info, out, args[base], numbers))
            elif kind is OutputType.alias_of_intermediate_base_is_user_output:
                made.append(_regenerate(info, out, own[base], numbers))
            elif kind in (OutputType.alias_of_intermediate, OutputType.alias_of_intermediate_save_as_output):
                made.append(_regenerate(info, out, bases[base], numbers) if base < len(bases) else out)
            else:
                made.append(out)
        return made


def _without_bases(outs: list, known: Sequence[Any] = ()) -> list:
    """A view of memory that only the graph knows is no view for the caller, who may write it. known: the caller's
    tensors, whose views stay views."""
    if not any(isinstance(o, Tensor) and o._is_view() for o in outs):
        return outs
    keys = {_C.storage_key(t) for t in known}
    views = [isinstance(o, Tensor) and o._is_view() and _C.storage_key(o) not in keys for o in outs]
    return [o.data if view else o for o, view in zip(outs, views)]


# ---- forward and backward ----


class _Backward:
    """The compiled backward graph, compiled when it first runs unless it was before."""

    def __init__(self, compiler: Callable, graph_module: fx.GraphModule, meta: ViewAndMutationMeta) -> None:
        self.compiler, self.graph_module, self.meta = compiler, graph_module, meta
        self.run: Callable | None = None

    def compile(self) -> Callable:
        if self.run is None:
            self.run = _compile(self.compiler, self.graph_module, self.meta)
        return self.run


def _refuse_twice(node: Any, grads: tuple) -> Any:
    raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")


def _draws(graph_module: fx.GraphModule) -> bool:
    seeded = ingot.Tag.nondeterministic_seeded
    return any(seeded in getattr(n.target, "tags", ()) for n in graph_module.graph.nodes)


class _Again:
    """One call of a graph, to be made once more as it is: every operator then has a history of its own.

    several: results have a gradient. Otherwise a call that writes its arguments cannot be made again, because what they
    were would have to be copied by every call for a rare use.
    """

    def __init__(self, fn: Callable, meta: ViewAndMutationMeta, args: list, draws: bool, several: bool) -> None:
        self.fn, self.meta = fn, meta
        written = set(meta.mutated_inp_runtime_indices) if several else set()
        self.possible = several or not meta.mutated_inp_runtime_indices
        self.kept: list = [a.clone() if i in written else a for i, a in enumerate(args)]
        self.versions = [a._version if isinstance(a, Tensor) else 0 for a in self.kept]
        self.state = ingot.get_rng_state() if draws else None

    def weaken(self) -> None:
        """A backward has run: what is needed for nothing else is not kept for another one."""
        self.kept = [weakref.ref(a) if isinstance(a, Tensor) and not a.is_leaf else a for a in self.kept]

    def known(self) -> list:
        """The arguments; None for those that are gone."""
        return [a() if isinstance(a, weakref.ref) else a for a in self.kept]

    def arguments(self) -> list | None:
        """As they were; None: they are not any more."""
        args = self.known()
        gone = any(a is None and b is not None for a, b in zip(args, self.kept))
        changed = any(isinstance(a, Tensor) and a._version != v for a, v in zip(args, self.versions))
        return args if self.possible and not gone and not changed else None

    def outputs(self, args: list | None = None) -> list:
        """What the forward graph returns for these arguments, or as it was called: new values of written inputs,
        outputs, bases."""
        args = self.arguments() if args is None else args
        if args is None:
            raise RuntimeError(
                "a hook or a gradient of one of several results of a compiled graph needs its inputs as they were, and "
                "one of them has been modified by an inplace operation. Register the hook before it, or compile with "
                "a backend that does not use AOT autograd."
            )
        given = [a.clone() if i in self.meta.mutated_inp_runtime_indices else a for i, a in enumerate(args)]
        with ingot.random.fork_rng(enabled=self.state is not None):
            if self.state is not None:
                ingot.set_rng_state(self.state)
            outs = list(self.fn(*given))
        bases: list = [None] * self.meta.num_intermediate_bases
        for info, out in zip(self.meta.output_info, outs):
            if info.output_type in _OF_BASES and info.base_idx < len(bases):
                bases[info.base_idx] = out if out._base is None else out._base
        return [*(given[i] for i in self.meta.mutated_inp_runtime_indices), *outs, *bases]


_OF_BASES = (OutputType.alias_of_intermediate, OutputType.alias_of_intermediate_save_as_output)


class _Differentiable:
    """The forward graph as a function with a gradient: the backward graph."""

    def __init__(
        self, fn: Callable, traced: Traced, forward: Callable, backward: _Backward, saved: int, numbers: int
    ) -> None:
        self.fn = fn
        self.meta = meta = traced.meta
        self.forward, self.backward = forward, backward
        self.count, self.saved, self.numbers = meta.num_forward, saved, numbers
        written = [meta.input_info[i].requires_grad for i in meta.mutated_inp_runtime_indices]
        graded = [o.has_tangent for o in meta.output_info] + [True] * meta.num_intermediate_bases
        self.graded = written + graded  # per output of the forward graph: has it a tangent
        self.written = meta.mutated_inp_runtime_indices
        self.contiguous = traced.tangents
        self.draws = _draws(traced.graph_module)

    def __call__(self, args: list) -> list:
        tensors = [a for a in args if isinstance(a, Tensor)]
        positions = [isinstance(a, Tensor) for a in args]
        # With one result there is nothing that a hook on it could miss.
        several = sum(self.graded) > 1
        once_more = _Again(self.fn, self.meta, args, self.draws, several)
        with ingot.no_grad():
            outs = self.forward(list(args))
        own = outs[: self.count]
        keep = self._kept(args, outs[self.count : self.count + self.saved])
        numbers = outs[self.count + self.saved :]
        slots = [i for i, o in enumerate(own) if isinstance(o, Tensor)]
        own = _without_bases(own, tensors)
        fixed = [own[i] for i in slots if not self.graded[i]]

        def again() -> list:
            outs = once_more.outputs()
            return [outs[i] if self.graded[i] else None for i in slots]

        made, _ = _C._make_function(
            "CompiledFunctionBackward",
            lambda node, grads: self._run_backward(node, grads, slots, numbers, positions, once_more),
            tensors,
            [own[i] for i in slots],
            tuple(keep),
            (),
            tuple(fixed),
            True,
            again if several else None,
        )
        for i, tensor in zip(slots, made):
            own[i] = tensor
        return own

    def _kept(self, args: list, saved: list) -> list:
        """What the backward graph reads as it is now: the memory of inputs that are written afterwards is copied."""
        keys = {_C.storage_key(args[i]) for i in self.written}
        if not keys:
            return saved
        return [t.clone() if isinstance(t, Tensor) and _C.storage_key(t) in keys else t for t in saved]

    def _run_backward(
        self, node: Any, grads: tuple, slots: list, numbers: list, positions: list, once_more: _Again
    ) -> tuple:
        twice = _C.is_grad_enabled()  # the gradients are wanted with a history
        args = once_more.arguments() if twice else None
        if args is not None:
            return self._run_again(once_more, args, grads, slots)
        tangents = [g for g, i in zip(grads, slots) if self.graded[i]]
        dense = [g.contiguous() if c else g for g, c in zip(tangents, self.contiguous)]
        run = self.backward.compile()
        with ingot.no_grad():
            found = run([*numbers, *node.saved_tensors, *dense])
        result = tuple(g for g, tensor in zip(found, positions) if tensor)
        if not twice:
            once_more.weaken()
            return result
        # A second derivative is refused where it is asked for: through the gradients, or through what is left of the
        # arguments.
        left = once_more.known()
        history = [t for t in (*grads, *left) if isinstance(t, Tensor) and t.requires_grad]
        if sum(positions) > sum(isinstance(a, Tensor) for a in left) or not history:
            _refuse_twice(node, grads)
        values = [g.detach() for g in result if g is not None]
        name = "CompiledFunctionBackwardBackward"
        made = iter(_C._make_function(name, _refuse_twice, history, values, (), (), ())[0])
        return tuple(None if g is None else next(made) for g in result)

    def _run_again(self, once_more: _Again, args: list, grads: tuple, slots: list) -> tuple:
        """Gradients that have a gradient: those of the operators. Of aliases of the arguments, which do not depend on
        each other as the arguments may; what these were computed from is the matter of whoever called the backward."""
        given = [a.view_as(a) if isinstance(a, Tensor) and a.requires_grad else a for a in args]
        outs = once_more.outputs(given)
        roots = [(outs[i], g) for i, g in zip(slots, grads) if self.graded[i] and outs[i].requires_grad]
        tensors = [a for a in given if isinstance(a, Tensor)]
        wanted = [t for t in tensors if t.requires_grad]
        found = ingot.autograd.grad(
            [o for o, _ in roots], wanted, [g for _, g in roots], create_graph=True, allow_unused=True
        )
        by = iter(found)
        return tuple(next(by) if t.requires_grad else None for t in tensors)


def _is_number(node: Any) -> bool:
    return isinstance(node, fx.Node) and isinstance(node.meta.get("val"), (_C.SymInt, _C.SymFloat, _C.SymBool))


def _differentiable(
    fn: Callable, traced: Traced, fw_compiler: Callable, bw_compiler: Callable, partition: Callable
) -> Callable:
    joint, meta = traced.graph_module, traced.meta
    fw, bw = partition(joint, examples_of(joint), num_fwd_outputs=meta.num_forward)
    returned = next(n for n in fw.graph.nodes if n.op == "output").args[0][meta.num_forward :]
    numbers = sum(map(_is_number, returned))
    meta.num_symints_saved_for_bw = numbers
    backward = _Backward(bw_compiler, bw, meta)
    if numbers:  # its graph may depend on sizes that only this call has
        backward.compile()
    forward = _compile(fw_compiler, fw, meta)
    return _Differentiable(fn, traced, forward, backward, len(returned) - numbers, numbers)


# ---- inputs that share memory ----


def _is_repeated(t: Tensor) -> bool:
    """Is it expanded: do several indices show one element?"""
    return any(n > 1 and step == 0 for n, step in zip(t.shape, t.stride()))


def _groups(args: Sequence[Any]) -> list[list[int]]:
    """Positions of arguments over the same memory, if there are several."""
    keys = _C.memory_keys(args)
    if len({*keys} - {0}) == len(keys) - keys.count(0):
        return []
    found: dict[int, list[int]] = {}
    for i, key in enumerate(keys):
        if key:
            found.setdefault(key, []).append(i)
    return [group for group in found.values() if len(group) > 1]


def _places(args: Sequence[Any], groups: list[list[int]]) -> list:
    """Where in their memory the arguments of each group are."""
    return [[(i, args[i].storage_offset()) for i in group] for group in groups]


def _base_of(members: list[Tensor]) -> Tensor | None:
    """What all are views of: all of the memory, or their base if they have a history. None: they have several."""
    first = members[0]
    if not any(m.requires_grad for m in members):
        count = first.untyped_storage().nbytes() // first.element_size()
        return first.detach().as_strided((count,), (1,), 0)
    base = first if first._base is None else first._base
    same = all((m if m._base is None else m._base) is base for m in members)
    whole = base.numel() * base.element_size() == base.untyped_storage().nbytes()
    return base if same and whole and base.is_contiguous() else None


class _SharedInputs:
    """Overlapping arguments of which one is written are one argument of the graph: the memory that they view."""

    def __init__(self, args: Sequence[Any], groups: list[list[int]]) -> None:
        self.groups = groups
        self.inside = {i for group in groups for i in group}
        self.rest = [i for i in range(len(args)) if i not in self.inside]
        self.views = {
            i: (k, tuple(args[i].shape), args[i].stride(), args[i].storage_offset())
            for k, group in enumerate(groups)
            for i in group
        }

    def merge(self, args: Sequence[Any]) -> list | None:
        """The arguments of the graph; None: one for all of a group would have another history."""
        bases = [_base_of([args[i] for i in group]) for group in self.groups]
        return None if any(b is None for b in bases) else bases + [args[i] for i in self.rest]

    def wrap(self, fn: Callable) -> Callable:
        def merged(*args: Any) -> Any:
            given: list = [None] * (len(self.inside) + len(self.rest))
            for i, (k, size, stride, offset) in self.views.items():
                given[i] = args[k].as_strided(size, stride, offset)
            for i, a in zip(self.rest, args[len(self.groups) :]):
                given[i] = a
            return fn(*given)

        return merged


# ---- all of it ----


def compile_flat(
    fn: Callable,
    args: Sequence[Any],
    *,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    inference_compiler: Callable | None = None,
    partition_fn: Callable,
    decompositions: dict | None = None,
    dynamic: bool = False,
    fakes: Sequence[Any] | None = None,
) -> Callable:
    """fn, from flat arguments to a flat tuple, compiled: a function of the list of arguments that returns a list."""
    traced = trace(fn, args, decompositions=decompositions, dynamic=dynamic, fakes=fakes)
    if traced is None:  # a gradient needs what was overwritten: a backward says so, if there is one
        return lambda given: list(fn(*given))
    written = set(traced.meta.mutated_inp_runtime_indices)
    if any(_is_repeated(args[i]) for i in written):  # a part of it is written, which no new value of all of it is
        return lambda given: list(fn(*given))
    overlapping = [g for g in _groups(args) if written.intersection(g)]
    places = _places(args, overlapping)
    shared = None
    if overlapping:
        shared = _SharedInputs(args, overlapping)
        merged = shared.merge(args)
        if merged is None:  # only a run as it is knows what a write does to each history
            return lambda given: list(fn(*given))
        traced = trace(shared.wrap(fn), merged, decompositions=decompositions, dynamic=dynamic)
        if traced is None:
            return lambda given: list(fn(*given))
    if traced.joint:
        flat = fn if shared is None else shared.wrap(fn)
        run = _differentiable(flat, traced, fw_compiler, bw_compiler or fw_compiler, partition_fn)
    else:
        call = _compile(inference_compiler or fw_compiler, traced.graph_module, traced.meta)

        def run(given: list) -> list:
            with ingot.no_grad():
                return _without_bases(call(list(given)))

    finish = _Epilogue(traced.meta)

    def compiled(given: Sequence[Any]) -> list:
        if written:
            found = [g for g in _groups(given) if written.intersection(g)]
            if _places(given, found) != places:  # the graph is one for other memory
                return list(fn(*given))
        inputs = list(given) if shared is None else shared.merge(given)
        if inputs is None:
            return list(fn(*given))
        if not traced.joint:
            return finish(inputs, run(inputs))
        with ingot.enable_grad():  # parts without gradients are inside the graphs
            return finish(inputs, run(inputs))

    return compiled
