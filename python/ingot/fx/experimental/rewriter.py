# SPDX-License-Identifier: Apache-2.0
"""A tracer that rewrites what symbolic traces cannot see: assert statements become calls that are recorded."""
from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import textwrap
from types import FunctionType
from typing import Any

import ingot
from ingot import nn
from ingot.fx._symbolic_trace import Tracer
from ingot.fx.annotate import annotate
from ingot.fx.graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer", "normalize_source_lines"]


def normalize_source_lines(sourcelines: list[str]) -> list[str]:
    """The lines of a function without the indentation of its first one. Lines that are indented less than that, inside
    texts and comments, stay as they are."""
    start = next((i for i, line in enumerate(sourcelines) if line.lstrip().startswith("def")), None)
    if start is None:
        return sourcelines
    first = sourcelines[start]
    indent = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(indent) for line in sourcelines]


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801 (PyTorch's name)
    """assert x, text becomes torch._assert(x, text)."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        lines, first = inspect.getsourcelines(fn)
        text = textwrap.dedent("".join(normalize_source_lines(lines)))
        tree = ast.fix_missing_locations(self.visit(ast.parse(text)))
        file = f"<rewritten {fn.__module__}.{fn.__qualname__}:{first}>"
        changed = ast.unparse(tree)
        linecache.cache[file] = (len(changed), None, changed.splitlines(keepends=True), file)
        space = copy.copy(fn.__globals__)
        more = {"annotate": annotate} | fn.__globals__ | {"torch": ingot}
        space.update(more)
        known = set(space)
        exec(compile(changed, file, "exec", dont_inherit=True), space)  # the user's own function
        (made,) = (value for name, value in space.items() if name not in known or name == fn.__name__)
        rewritten = FunctionType(made.__code__, more, fn.__name__, fn.__defaults__,
                                 fn.__closure__ if made.__code__.co_freevars else None)  # fmt: skip
        rewritten.__kwdefaults__ = fn.__kwdefaults__
        return functools.update_wrapper(rewritten, fn, updated=("__dict__",))

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:  # noqa: N802 (ast's name)
        callee = ast.parse("torch._assert", mode="eval").body
        message = node.msg if node.msg else ast.Constant(value="")
        call = ast.Call(func=callee, args=[node.test, message], keywords=[])
        return ast.copy_location(ast.Expr(value=call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        """x: T = value becomes x = annotate(value, T), so that the type is recorded."""
        if node.value is None:
            return node
        call = ast.Call(func=ast.Name(id="annotate", ctx=ast.Load()), args=[node.value, node.annotation], keywords=[])
        return ast.copy_location(ast.Assign(targets=[node.target], value=call), node)


class RewritingTracer(Tracer):
    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Any) -> Any:
    if not isinstance(fn, nn.Module):
        return AST_Rewriter().rewrite(fn)

    def rewritten(m: nn.Module) -> nn.Module:
        class RewrittenModule(nn.Module):
            def __init__(self, orig: nn.Module) -> None:
                super().__init__()
                for key, value in orig.__dict__.items():
                    self.__dict__[key] = copy.copy(value)
                children = {k: walk(v) if isinstance(v, nn.Module) else v for k, v in orig._modules.items()}
                self.__dict__["_modules"] = type(orig._modules)(children)

        RewrittenModule.forward = AST_Rewriter().rewrite(type(m).forward)  # type: ignore[method-assign]
        return RewrittenModule(m)

    def changes(m: nn.Module) -> bool:
        return not type(m).__module__.startswith("ingot.")

    def walk(m: nn.Module) -> nn.Module:
        return rewritten(m) if changes(m) else m

    return walk(fn)
