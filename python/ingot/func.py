# SPDX-License-Identifier: Apache-2.0
"""Functions of functions: gradients, Jacobians, vmap, and modules as functions of their parameters.

Transforms nest. An input of a transform is a view of what was given, so that outer transforms see through it, or a
fresh leaf if nobody asked for its gradient; results that depend on no other leaf have no history.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ingot
from ingot import _C
from ingot._C import GuardOnDataDependentSymNode, Tensor
from ingot._library.custom_ops import NoFakeImplError
from ingot._library.simple_registry import singleton
from ingot.nn.utils.stateless import functional_call
from ingot.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten, treespec_pprint

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip


# ---- which arguments ----


def _positions(argnums: Any, n: int) -> tuple[int, ...]:
    """The arguments that a transform is about."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    found = []
    for number in given:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -n <= number < n:
            raise RuntimeError(f"Got argnum={number}, but only {n} positional inputs")
        found.append(number % n)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


def _with(args: tuple, positions: tuple[int, ...], values: Sequence) -> list:
    replaced = list(args)
    for position, value in zip(positions, values):
        replaced[position] = value
    return replaced


# ---- reverse mode ----


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _input(value: Any) -> Any:
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not _is_differentiable(value):
        return value
    return value.view_as(value) if value.requires_grad else _C.tensor_alias(value).requires_grad_()


def _depends_on_others(value: Tensor, fresh: set[int]) -> bool:
    """Does the history of a value reach a leaf that is none of the transform's own?"""
    seen: dict[int, Any] = {}  # functions are kept, so that none gets the identity of another
    todo = [value.grad_fn]
    while todo:
        function = todo.pop()
        if function is None or id(function) in seen:
            continue
        seen[id(function)] = function
        variable = getattr(function, "variable", None)
        if variable is not None and id(variable) not in fresh:
            return True
        todo += [before for before, _ in function.next_functions]
    return False


class _Level:
    """One transform: its inputs, and what its results keep of their history."""

    def __init__(self, values: Any) -> None:
        self.inputs = tree_map(_input, values)
        self.flat, self.spec = tree_flatten(self.inputs)
        self.fresh = {id(t) for t in self.flat if isinstance(t, Tensor) and t.is_leaf and t.requires_grad}

    def close(self, value: Any) -> Any:
        """Results without the history that only this transform asked for."""

        def cut(t: Any) -> Any:
            if not isinstance(t, Tensor) or not t.requires_grad:
                return t
            if id(t) in self.fresh or not _depends_on_others(t, self.fresh):
                return _C.tensor_alias(t)
            return t

        return tree_map(cut, value)

    def gradients(self, outputs: list, seeds: list) -> list:
        """Of all inputs; zeros where the outputs do not depend on one."""
        used = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
        wanted = [t for t in self.flat if t.requires_grad]
        found: Any = [None] * len(wanted)
        if used and wanted:
            outs, given = zip(*used)
            found = ingot.autograd.grad(outs, wanted, given, create_graph=True, allow_unused=True)
        by_id = {id(t): g for t, g in zip(wanted, found)}
        return [ingot.zeros_like(t) if by_id.get(id(t)) is None else by_id[id(t)] for t in self.flat]


class _Differentiating:
    """Enables gradients; an open capture records operators as parts that have derivatives."""

    def __enter__(self) -> None:
        self.mode = ingot.enable_grad()
        self.mode.__enter__()
        self.apart = _C.capture_apart(True)

    def __exit__(self, *error: Any) -> None:
        _C.capture_apart(self.apart)
        self.mode.__exit__(*error)


def _split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _as_one_graph(transform: Callable) -> Callable:
    """Where torch.compile wants one graph, the calls of a transform are captured first and then recorded.

    Elsewhere gradients end a graph: what the function does besides calling operators may need elements.
    """

    @functools.wraps(transform)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not _C.compile_is_whole():
            return transform(*args, **kwargs)
        flat, spec = tree_flatten((args, kwargs))
        at = [i for i, leaf in enumerate(flat) if isinstance(leaf, Tensor)]
        made: list = []

        def once(*tensors: Tensor) -> list[Tensor]:
            leaves = list(flat)
            for i, t in zip(at, tensors):
                leaves[i] = t
            given, options = tree_unflatten(leaves, spec)
            made[:] = tree_flatten(transform(*given, **options))
            return [leaf for leaf in made[0] if isinstance(leaf, Tensor)]

        found = iter(_C.batch_run(once, tuple(flat[i] for i in at), (None,) * len(at), 2))
        leaves, out_spec = made
        return tree_unflatten([next(found)[0] if isinstance(leaf, Tensor) else leaf for leaf in leaves], out_spec)

    return run


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`, which returns a scalar, and its value."""

    @_as_one_graph
    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        positions = _positions(argnums, len(args))
        with _Differentiating():
            level = _Level(tuple(args[i] for i in positions))
            result = func(*_with(args, positions, level.inputs), **kwargs)
            value, aux = _split_aux(result, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(value, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
            if value.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            seed = ingot.ones_like(value, memory_format=ingot.preserve_format)
            found = tree_unflatten(level.gradients([value], [seed]), level.spec)
            found = level.close(found if isinstance(argnums, tuple) else found[0])
            value, aux = level.close(value), level.close(aux)
        return (found, (value, aux)) if has_aux else (found, value)

    return run


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return run


def _check_outputs(outputs: list, name: str) -> None:
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for out in outputs:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(out)}")


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), a function of cotangents that gives vector-Jacobian products)."""
    with _Differentiating():
        level = _Level(primals)
        output, aux = _split_aux(func(*level.inputs), has_aux, "vjp(f, *primals)")
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, "vjp(f, *primals)")
        for out in outputs:
            if not _is_differentiable(out):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{out.dtype}"
                )

    def pull_back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds, spec = tree_flatten(given)
        if spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {treespec_pprint(spec)}, primal output: {treespec_pprint(out_spec)}"
            )
        with _Differentiating():
            found = tree_unflatten(level.gradients(outputs, seeds), level.spec)
            return level.close(found)

    results = level.close(output)
    return (results, pull_back, level.close(aux)) if has_aux else (results, pull_back)


@_as_one_graph
def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """(func(*primals), Jacobian-vector product): the derivative of a vector-Jacobian product by its vector."""
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat_tangents, spec = tree_flatten(tangents)
    with _Differentiating():
        level = _Level(primals)
        if spec != level.spec:
            raise RuntimeError(
                f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is "
                f"a tuple of 3 tensors, tangents also must be. Got primals with structure {level.spec} and tangents "
                f"with structure {spec}"
            )
        output, aux = _split_aux(func(*level.inputs), has_aux, name)
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, name)
        if strict and not all(o.requires_grad for o in outputs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        seeds = [ingot.zeros_like(o).requires_grad_() if _is_differentiable(o) else None for o in outputs]
        pulled = level.gradients(outputs, seeds)
        used = [(p, t) for p, t in zip(pulled, flat_tangents) if p.requires_grad]
        wanted = [s for s in seeds if s is not None]
        found: Any = [None] * len(wanted)
        if used and wanted:
            back, given = zip(*used)
            found = ingot.autograd.grad(back, wanted, given, create_graph=True, allow_unused=True)
        by_id = {id(s): g for s, g in zip(wanted, found)}
        level.fresh |= {id(s) for s in wanted}
        pushed = [
            ingot.zeros_like(o) if s is None or by_id[id(s)] is None else by_id[id(s)] for o, s in zip(outputs, seeds)
        ]
        results = level.close(output), level.close(tree_unflatten(pushed, out_spec))
        return (*results, level.close(aux)) if has_aux else results


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """(func(*primals), a function of tangents that gives Jacobian-vector products at these primals)."""
    output = func(*primals)

    def push(*tangents: Any) -> Any:
        flat, spec = tree_flatten(tangents)
        expected, expected_spec = tree_flatten(primals)
        if spec != expected_spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals {expected_spec}")
        for i, (t, p) in enumerate(zip(flat, expected)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(p, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                        f"{getattr(p, what)} of the corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return output, push


# ---- Jacobians ----


def _basis(like: Tensor) -> list[Tensor]:
    """The unit vectors of a tensor."""
    eye = ingot.eye(like.numel(), dtype=like.dtype, device=like.device)
    return [row.reshape(like.shape) for row in eye]


def jacrev(
    func: Callable,
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """A function that returns the Jacobian of `func`, row by row."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_as_one_graph
    @functools.wraps(func)
    def run(*args: Any) -> Any:
        positions = _positions(argnums, len(args))
        chosen = tuple(args[i] for i in positions)

        def part(*values: Any) -> Any:
            return func(*_with(args, positions, values))

        output, pull_back, *aux = vjp(part, *chosen, has_aux=has_aux)
        outputs, out_spec = tree_flatten(output)
        columns, in_spec = tree_flatten(chosen)
        blocks = []
        for k, out in enumerate(outputs):
            rows: list[list[Tensor]] = []
            for vector in _basis(out):
                seeds = [vector if i == k else ingot.zeros_like(o) for i, o in enumerate(outputs)]
                rows.append(tree_flatten(pull_back(tree_unflatten(seeds, out_spec)))[0])
            parts = [
                ingot.stack([row[j] for row in rows]).reshape((*out.shape, *x.shape))
                if rows else x.new_zeros((*out.shape, *x.shape))
                for j, x in enumerate(columns)
            ]  # fmt: skip
            found = tree_unflatten(parts, in_spec)
            blocks.append(found if isinstance(argnums, tuple) else found[0])
        result = tree_unflatten(blocks, out_spec)
        return (result, aux[0]) if has_aux else result

    return run


def jacfwd(func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that returns the Jacobian of `func`, column by column."""

    @_as_one_graph
    @functools.wraps(func)
    def run(*args: Any) -> Any:
        positions = _positions(argnums, len(args))
        chosen = tuple(args[i] for i in positions)
        inputs, in_spec = tree_flatten(chosen)

        def part(*values: Any) -> Any:
            return func(*_with(args, positions, values))

        columns: list[list] = []
        aux: Any = None
        out_spec: Any = None
        outputs: list = []
        for k, x in enumerate(inputs):
            pushed = []
            for vector in _basis(x):
                tangents = [vector if i == k else ingot.zeros_like(t) for i, t in enumerate(inputs)]
                value, tangent, *rest = jvp(part, chosen, tree_unflatten(tangents, in_spec), has_aux=has_aux)
                outputs, out_spec = tree_flatten(value)
                aux = rest[0] if rest else None
                pushed.append(tree_flatten(tangent)[0])
            columns.append(pushed)
        if out_spec is None:
            outputs, out_spec = tree_flatten(part(*chosen))
        blocks = []
        for j, out in enumerate(outputs):
            parts = []
            for x, pushed in zip(inputs, columns):
                stacked = ingot.stack([p[j] for p in pushed], -1) if pushed else out.new_zeros((*out.shape, 0))
                parts.append(stacked.reshape((*out.shape, *x.shape)))
            found = tree_unflatten(parts, in_spec)
            blocks.append(found if isinstance(argnums, tuple) else found[0])
        result = tree_unflatten(blocks, out_spec)
        return (result, aux) if has_aux else result

    return run


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """A function that returns the second derivatives of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)


# ---- vmap ----


def _spread(in_dims: Any, args: tuple, name: str) -> list:
    """One dim per leaf of the arguments."""

    def walk(dims: Any, value: Any) -> list:
        leaves = tree_flatten(value)[0]
        if dims is None or isinstance(dims, int):
            return [dims] * len(leaves)
        same = type(dims) is type(value) or (isinstance(dims, (tuple, list)) and isinstance(value, (tuple, list)))
        if not same or len(dims) != len(value):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
                f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure "
                f"{tree_flatten(args)[1]}."
            )
        pairs = ((dims[k], value[k]) for k in value) if isinstance(value, dict) else zip(dims, value)
        return [d for dim, part in pairs for d in walk(dim, part)]

    return walk(in_dims, args)


def _batch_size(flat: list, dims: list, in_dims: Any, name: str) -> int:
    sizes = []
    for leaf, dim in zip(flat, dims):
        where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input"
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{where} but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{where} but the input is of type {type(leaf)}. We cannot vmap over non-Tensor arguments, please use "
                "None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where.replace('an input', 'some input')}, but that input is a Tensor of dimensionality {leaf.dim()} "
                f"so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        sizes.append(leaf.size(dim))
    if not sizes:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): at least one input being vmapped over must be a Tensor"
        )
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """A function that maps `func` over a dimension of its inputs.

    `func` runs once, on tensors that stand for one slice; every operator that it calls is then computed for all slices
    (ingot/batch.h). Its Python effects therefore happen once. With chunk_size it runs once per chunk.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not (isinstance(in_dims, (int, tuple, list))):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
                f"nested) tuple matching the structure of inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported."
            )
        if not isinstance(out_dims, (int, tuple, list, dict)) and out_dims is not None:
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )
        flat, spec = tree_flatten((args, kwargs))
        dims = _spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args, name)
        n = _batch_size(tree_flatten(args)[0], dims, in_dims, name)
        dims += [0 if isinstance(leaf, Tensor) else None for leaf in tree_flatten(kwargs)[0]]
        dims = [d + leaf.dim() if d is not None and d < 0 else d for leaf, d in zip(flat, dims)]
        if chunk_size is None or n <= chunk_size:
            return whole(flat, spec, dims, n)
        parts = [leaf if dim is None else leaf.split(chunk_size, dim) for leaf, dim in zip(flat, dims)]
        results = [
            whole([p if d is None else p[i] for p, d in zip(parts, dims)], spec, dims, min(chunk_size, n - at))
            for i, at in enumerate(range(0, n, chunk_size))
        ]
        return _joined(results, out_dims, name)

    def each(flat: list, dims: list, n: int, one: Callable, at: list) -> list:
        """Slice by slice: an operator that is not ours has no rule for all of them."""
        rows = []
        for i in range(n):
            slices = [flat[j] if dims[j] is None else flat[j].select(dims[j], i) for j in at]
            rows.append(one(*slices))
        return [(ingot.stack(column), True) for column in zip(*rows)]

    def whole(flat: list, spec: Any, dims: list, n: int) -> Any:
        rule = _rule_of(func)
        if rule is not None:
            return _placed(*_by_rule(rule, flat, spec, dims, VmapInfo(n, randomness)), out_dims, n, name)
        at = [i for i, leaf in enumerate(flat) if isinstance(leaf, Tensor)]
        made: list = []

        def one(*slices: Tensor) -> list[Tensor]:
            leaves = list(flat)
            for i, t in zip(at, slices):
                leaves[i] = t
            inputs, options = tree_unflatten(leaves, spec)
            made[:] = tree_flatten(func(*inputs, **options))
            return [leaf for leaf in made[0] if isinstance(leaf, Tensor)]

        given = tuple(flat[i] for i in at), tuple(dims[i] for i in at), ("error", "different", "same").index(randomness)
        if randomness == "same" and _C.compile_is_recording():
            found = _C.compile_aside(_C.batch_run, (one, *given), {})  # draws of a recording come later
        else:
            try:
                found = _C.batch_run(one, *given)
            except GuardOnDataDependentSymNode as error:
                raise RuntimeError(_ITEM) from error
            except NoFakeImplError:
                found = each(flat, dims, n, one, at)
        leaves, out_spec = made
        rest = iter(found)
        columns = [next(rest) if isinstance(leaf, Tensor) else (leaf, False) for leaf in leaves]
        return _placed(columns, out_spec, out_dims, n, name)

    return run


class VmapInfo(NamedTuple):
    """What the vmap rule of an operator is told of the call."""

    batch_size: int
    randomness: str


def _rule_of(func: Any) -> Callable | None:
    """What torch.library.register_vmap was given for an operator."""
    overload = getattr(func, "_opoverload", func)
    if isinstance(overload, _C.OpOverloadPacket):
        overload = getattr(overload, "default", None)
    return singleton.find(overload).vmap if isinstance(overload, _C.OpOverload) else None


def _by_rule(rule: Callable, flat: list, spec: Any, dims: list, info: VmapInfo) -> tuple[list, Any]:
    """The results of a rule, with the slices in dim 0 where there are slices, and their structure."""
    args, kwargs = tree_unflatten(flat, spec)
    answer = rule(info, tree_unflatten(dims, spec)[0], *args, **kwargs)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                           f"structure compatible with the output. Got a {type(answer)} instead")  # fmt: skip
    values, out_spec = tree_flatten(answer[0])
    found = _broadcast_to_and_flatten(answer[1], out_spec, is_leaf=lambda d: d is None)
    if found is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={answer[1]} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(answer[1])[1]} but output has structure {out_spec}. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    return [(v, False) if d is None else (v.movedim(d, 0), True) for v, d in zip(values, found)], out_spec


_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)


def _out_dims(out_dims: Any, spec: Any, count: int, name: str) -> list:
    """One per result."""
    if isinstance(out_dims, int) or out_dims is None:
        return [out_dims] * count
    dims = tree_flatten(out_dims, is_leaf=lambda d: d is None)[0]
    if len(dims) == 1 and count != 1:
        dims = dims * count
    if len(dims) != count:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _placed(columns: list, spec: Any, out_dims: Any, n: int, name: str) -> Any:
    """The results with the mapped dimension where out_dims says."""
    made = []
    for (value, batched), dim in zip(columns, _out_dims(out_dims, spec, len(columns), name)):
        if isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool)):
            raise RuntimeError(_ITEM)
        if not isinstance(value, Tensor):
            if value is not None and dim is not None:
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to "
                    "set out_dims= to None for output?"
                )
            made.append(value)
        elif dim is None:
            if batched:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            made.append(value)
        else:
            whole = value if batched else value.expand(n, *value.shape)
            made.append(whole.movedim(0, dim) if dim else whole)
    return tree_unflatten(made, spec)


def _joined(results: list, out_dims: Any, name: str) -> Any:
    """The results of chunks, one after the other."""
    leaves = [tree_flatten(r) for r in results]
    spec = leaves[0][1]
    columns = list(zip(*(flat for flat, _ in leaves)))
    made = [
        column[0] if dim is None or not isinstance(column[0], Tensor) else ingot.cat(column, dim)
        for column, dim in zip(columns, _out_dims(out_dims, spec, len(columns), name))
    ]
    return tree_unflatten(made, spec)


# ---- modules ----


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of models of one class, stacked by name, for vmap over functional_call."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        found = {}
        for key, first in states[0].items():
            if len({s[key].requires_grad for s in states}) != 1:
                raise RuntimeError(f"Expected {key} from each model to have the same .requires_grad")
            with ingot.no_grad():
                whole = ingot.stack([s[key] for s in states])
            found[key] = whole.requires_grad_(first.requires_grad)
        return found

    params = stacked([dict(m.named_parameters()) for m in models])
    return params, stacked([dict(m.named_buffers()) for m in models])


# ---- without writes ----


def _stand_in(value: Tensor) -> Tensor:
    """A tensor of the same kind that no capture knows: the numbers of symbolic sizes are those of the example."""

    def number(n: Any) -> int:
        return n if isinstance(n, int) else n.node.hint

    sizes, strides = map(number, value.shape), map(number, value.stride())
    return ingot.empty_strided(tuple(sizes), tuple(strides), dtype=value.dtype)


def _functional_graph(fn: Callable, tensors: list[Tensor]) -> Any:
    from ingot._functorch._trace import trace

    dynamic = any(not isinstance(n, int) for t in tensors for n in t.shape)
    with ingot.no_grad():
        found = _C.capture_outside(lambda: trace(fn, [_stand_in(t) for t in tensors], dynamic=dynamic), (), {})
    if found is None:
        raise RuntimeError("functionalize: the function cannot be written without its mutations")
    return found


def _copying_views(gm: Any) -> None:
    """Every view becomes the operator that copies."""
    from ingot._export.passes.replace_view_ops_with_view_copy_ops_pass import get_view_copy_of_view_op, is_view_op

    for node in gm.graph.nodes:
        schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        if schema is not None and is_view_op(schema):
            node.target = get_view_copy_of_view_op(schema) or node.target
    gm.recompile()


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function with the same results, computed without writing into tensors; at the end inputs that it writes get
    their values. remove="mutations_and_views": and without views, whose operators are replaced by those that copy."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from ingot._functorch._trace import OutputType
        from ingot.fx.interpreter import Interpreter

        leaves, spec = tree_flatten((args, kwargs))
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        tensors = [leaves[i] for i in at]
        out_spec: list[Any] = []

        def flat(*given: Tensor) -> tuple:
            replaced = _with(tuple(leaves), tuple(at), given)
            own_args, own_kwargs = tree_unflatten(replaced, spec)
            results, found = tree_flatten(func(*own_args, **own_kwargs))
            out_spec[:] = [found]
            return tuple(results)

        try:
            traced = _functional_graph(flat, tensors)
        except GuardOnDataDependentSymNode:
            if _C.capture_is_open():
                raise
            return func(*args, **kwargs)  # nobody sees how the results are computed
        if remove == "mutations_and_views":
            _copying_views(traced.graph_module)
        values = list(Interpreter(traced.graph_module).run(*tensors))
        written = traced.meta.mutated_inp_runtime_indices
        results = values[len(written) : len(written) + traced.meta.num_outputs]
        for index, value in zip(written, values, strict=False):
            tensors[index].copy_(value)
        for i, info in enumerate(traced.meta.output_info):
            if info.output_type is OutputType.is_input:
                results[i] = tensors[info.base_idx]
        return tree_unflatten(results, out_spec[0])

    return wrapped
