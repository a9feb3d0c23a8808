# SPDX-License-Identifier: Apache-2.0
"""Objects of the real PyTorch, where both packages are loaded: tensors, state dicts, modules and programs.

Memory is shared where it can be: a tensor from here is a view of the memory of one from there, and the reverse.
"""

from __future__ import annotations

import io
import sys
import types
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import ingot

__all__ = ["from_torch", "is_real", "to_torch"]


def real_torch() -> Any:
    """The real package, if it is loaded; None if it is not, or if Ingot stands in its place."""
    module = sys.modules.get("torch")
    return module if type(module) is types.ModuleType and hasattr(module, "_C") else None


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_real(value: Any) -> bool:
    """Is it an object of a class of the real PyTorch that from_torch takes?"""
    real = real_torch()
    if real is None:
        return False
    if isinstance(value, (real.Tensor, real.nn.Module)):
        return True
    program = sys.modules.get("torch.export.exported_program")
    return program is not None and isinstance(value, program.ExportedProgram)


def _dtype_to(dtype: Any) -> Any:
    """The dtype of the same name here; None: there is none."""
    return getattr(ingot, str(dtype).removeprefix("torch."), None)


def _refuse(value: Any, why: str) -> TypeError:
    return TypeError(f"from_torch: a {_class_name(value)} of the real torch {why}")


def tensor_from(value: Any) -> Any:
    """A view of a real tensor's memory, without history."""
    real = real_torch()
    if value.layout != real.strided or value.is_quantized or value.device.type != "cpu":
        where = f"with layout {value.layout} on {value.device}"
        raise _refuse(value, f"{where} cannot be taken: expected a dense one on the CPU")
    dtype = _dtype_to(value.dtype)
    if not isinstance(dtype, ingot.dtype):
        raise _refuse(value, f"has dtype {value.dtype}, which Ingot does not have")
    plain = value.detach()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    try:
        return ingot.from_dlpack(real.utils.dlpack.to_dlpack(plain))
    except (RuntimeError, BufferError, TypeError):  # a dtype that the protocol does not have: its bytes
        flat = plain.contiguous().reshape(-1).view(real.uint8)
        return ingot.from_dlpack(real.utils.dlpack.to_dlpack(flat)).view(dtype).reshape(tuple(plain.shape))


def to_torch(value: Any) -> Any:
    """A real tensor over the memory of one of ours."""
    real = real_torch()
    if real is None:
        raise RuntimeError("to_torch: the real torch is not imported")
    if not isinstance(value, ingot.Tensor):
        raise TypeError(f"to_torch: found {_class_name(value)}, expected a tensor of Ingot")
    return real._C._from_dlpack(ingot.to_dlpack(value.detach()))


def _parameter_from(value: Any) -> Any:
    real = real_torch()
    made = tensor_from(value)
    if isinstance(value, real.nn.Parameter):
        return ingot.nn.Parameter(made, value.requires_grad)
    return made.requires_grad_() if value.requires_grad and value.is_leaf else made


def adopt(value: Any) -> Any:
    """Containers with every real tensor in them taken; the same objects if there is none."""
    real = real_torch()
    return value if real is None else _adopt(value, real)


def _adopt(value: Any, real: Any) -> Any:
    if isinstance(value, real.Tensor):
        return tensor_from(value)
    if isinstance(value, Mapping):
        items = {k: _adopt(v, real) for k, v in value.items()}
        if all(items[k] is v for k, v in value.items()):
            return value
        found = OrderedDict(items) if isinstance(value, OrderedDict) else items
        metadata = getattr(value, "_metadata", None)
        if metadata is not None and isinstance(found, OrderedDict):
            found._metadata = metadata
        return found
    if type(value) in (list, tuple):
        parts = [_adopt(v, real) for v in value]
        return value if all(a is b for a, b in zip(parts, value)) else type(value)(parts)
    return value


def _program_from(program: Any) -> Any:
    """Through the file format, in memory."""
    buffer = io.BytesIO()
    real_torch().export.save(program, buffer)
    buffer.seek(0)
    return ingot.export.load(buffer)


def from_torch(
    value: Any,
    args: tuple | None = None,
    kwargs: dict | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
) -> Any:
    """What Ingot has for an object of the real PyTorch.

    A tensor or parameter becomes one over the same memory, a state dict a dict of such tensors, an ExportedProgram a
    program. A module is exported by the real torch.export with the example `args` first.
    """
    real = real_torch()
    if isinstance(value, (ingot.Tensor, ingot.nn.Module)):
        raise TypeError(f"from_torch: found {_class_name(value)} of Ingot, expected an object of the real torch")
    if real is None:
        raise TypeError(
            f"from_torch: found {_class_name(value)}, expected an object of the real torch, which is not imported"
        )
    if isinstance(value, real.Tensor):
        return _parameter_from(value)
    if isinstance(value, Mapping):
        return adopt(value)
    if isinstance(value, real.nn.Module):
        if args is None:
            raise TypeError(
                f"from_torch: a module of the real torch ({_class_name(value)}) is exported, which needs example "
                "inputs: from_torch(module, (x,))"
            )
        program = real.export.export(value, tuple(args), kwargs or {}, dynamic_shapes=dynamic_shapes, strict=strict)
        return _program_from(program)
    if is_real(value):
        return _program_from(value)
    raise TypeError(
        f"from_torch: found {_class_name(value)}, expected a Tensor, state dict, nn.Module or ExportedProgram of the "
        "real torch"
    )
