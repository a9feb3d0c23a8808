# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load, and the other files of named tensors. Nothing in a file is ever executed: what a file may
hold is a closed set of plain data and tensors, whatever `weights_only` says. Classes of the user's own come back only
when they were allowed by `add_safe_globals`."""

from __future__ import annotations

import importlib
import io
import os
import pickle
from typing import Any

from ingot import _C
from ingot._explain import carry_code, reworded

__all__ = [
    "FileError", "ScriptArchive", "add_safe_globals", "clear_safe_globals", "get_safe_globals",
    "get_unsafe_globals_in_checkpoint", "load", "load_file", "load_state_dict", "safe_globals", "save", "save_file",
]  # fmt: skip


class FileError(pickle.UnpicklingError, RuntimeError, ValueError):
    """A file is malformed, or contains something unsupported."""


# ---- classes of the user's

_allowed: dict[str, Any] = {}


def _name_of(item: Any) -> tuple[str, Any]:
    """The name under which a pickle knows a class or function, which may be given beside it."""
    if isinstance(item, tuple):
        return item[1], item[0]
    return f"{item.__module__}.{item.__qualname__}", item


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows files to refer to these classes and functions: load() makes instances of them as pickle would."""
    _allowed.update(_name_of(item) for item in safe_globals)


def get_safe_globals() -> list[Any]:
    return list(_allowed.values())


def clear_safe_globals() -> None:
    _allowed.clear()


class safe_globals:
    """Allows some classes inside of a with block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._mine = dict(_name_of(item) for item in safe_globals)

    def __enter__(self) -> None:
        self._before = dict(_allowed)
        _allowed.update(self._mine)

    def __exit__(self, *unused: Any) -> None:
        _allowed.clear()
        _allowed.update(self._before)


# ---- torch.save, torch.load

FILE_LIKE = Any  # a path, or an object with read() or write()


def _source(f: FILE_LIKE) -> tuple[Any, str]:
    """A path as text, or the bytes of a file object, and a name for messages."""
    if isinstance(f, (str, os.PathLike)):
        path = os.fsdecode(f)
        return path, path
    if isinstance(f, io.BytesIO):
        view = f.getbuffer()[f.tell() :]
        f.seek(0, io.SEEK_END)
        return view, "<bytes>"
    if hasattr(f, "read"):
        return f.read(), str(getattr(f, "name", "<file object>"))
    raise AttributeError(
        f"'{type(f).__name__}' object has no attribute 'read'. You can only torch.load from a path or a file object "
        "with read(). Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
    )


def _is_meta(map_location: Any) -> bool:
    """Data is loaded onto the CPU whatever its original device: only `meta` has an effect."""
    if map_location is None or callable(map_location):
        return False
    if isinstance(map_location, dict):
        kinds = {_C.device(where).type for where in map_location.values()}
    else:
        kinds = {_C.device(map_location).type}
    others = kinds - {"cpu", "meta"}
    if others:
        raise RuntimeError(
            f"Attempting to deserialize object on a {others.pop().upper()} device, which Ingot does not compute on. "
            "Please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    return kinds == {"meta"}


def save(
    obj: object,
    f: FILE_LIKE,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes tensors, numbers, texts and containers of them as torch.save does. Tensors that share memory still do
    after loading. The same values give the same bytes."""
    if _C.compile_is_whole():
        _C.compile_break("torch.save")
    if pickle_protocol != 2:
        raise NotImplementedError(f"pickle_protocol={pickle_protocol}: files are written in protocol 2")
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("files are written in the zip format; the one before it is only read")
    if isinstance(f, (str, os.PathLike)):
        _C.torch_save(obj, os.fsdecode(f))
    elif hasattr(f, "write"):
        f.write(_C.torch_print(obj))
    else:
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got " + type(f).__name__
        )


def load(
    f: FILE_LIKE,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads a file of torch.save. Tensors of a file that is given by its path are pages of it (copy on write)."""
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    source, name = _source(f)
    if not isinstance(source, str) and not source:
        raise EOFError(f"{name}: the file is empty")
    try:
        place = map_location if callable(map_location) else None
        return _C.torch_load(source, name, _allowed, _is_meta(map_location), place)
    except OSError as error:
        raise _os_error(error, source) from None
    except (NotImplementedError, ValueError) as error:
        raise carry_code(error, FileError(_explain(error, weights_only))) from None


def _os_error(error: OSError, path: str) -> OSError:
    """The exception that open() would raise."""
    if not os.path.exists(path):
        return carry_code(error, FileNotFoundError(2, "No such file or directory", path))
    if os.path.isdir(path):
        return carry_code(error, IsADirectoryError(21, "Is a directory", path))
    return error


def _explain(error: Exception, weights_only: bool | None) -> str:
    text = f"Weights only load failed. {error}"
    if getattr(error, "ingot_code", None) == "IG0108":  # a name outside of the closed set
        text += "\nIf it is a class of yours, allow it with torch.serialization.add_safe_globals([...]) before loading."
    if "global 'torch.nn.modules." in text:
        text += "\nThe file holds a whole module; save its state_dict() instead."
    if weights_only is False:
        text += "\nweights_only=False is refused: Ingot never runs code that is found in a file."
    return text


def get_unsafe_globals_in_checkpoint(f: FILE_LIKE) -> list[str]:
    """Names in a file that load() rejects unless they are allowed by add_safe_globals."""
    source, name = _source(f)
    try:
        return sorted(set(_C.torch_globals(source, name)) - set(_allowed))
    except (NotImplementedError, ValueError) as error:
        raise reworded(error, FileError) from None


# ---- named tensors in any format


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Any]:
    """Named tensors of a safetensors, .npz, .npy or torch.save file, recognized by its content, over its pages."""
    path = os.fsdecode(filename)
    try:
        tensors = _C.tensors_load(path, path)[0]
    except OSError as error:
        raise _os_error(error, path) from None
    except (NotImplementedError, ValueError) as error:
        raise reworded(error, FileError) from None
    if _is_meta(device):
        return {name: t.to("meta") for name, t in tensors.items()}
    return tensors


def save_file(
    tensors: dict[str, Any],
    filename: str | os.PathLike,
    metadata: dict[str, str] | None = None,
    *,
    bits: bool = False,
) -> None:
    """Writes named tensors; the extension selects the format: .safetensors, .pt or .pth, .npy (one tensor), .npz.
    `bits`: for NumPy, element types that it lacks (bfloat16, float8) become unsigned integers of the same bits."""
    _C.tensors_save(dict(tensors), os.fsdecode(filename), metadata, bits)


def load_state_dict(filename: str | os.PathLike) -> Any:
    """What Module.load_state_dict takes, out of any file that has weights: torch.save (with _metadata), safetensors,
    .npz, a TorchScript archive. Pages of the file, not copies."""
    path = os.fsdecode(filename)
    with open(path, "rb") as f:
        head = f.read(4)
    kind = "torch" if head[:1] == b"\x80" else ""
    if head == b"PK\3\4":
        try:
            kind = _C.archive_kind(path)
        except (NotImplementedError, ValueError) as error:
            raise reworded(error, FileError) from None
    if kind == "torch":
        return load(path)
    if kind == "torchscript":
        return ScriptArchive(path).state_dict()
    if kind == "pt2":
        return importlib.import_module("ingot.export").load(path).state_dict
    return load_file(path)


# ---- TorchScript


class ScriptArchive:
    """What is in a file of torch.jit.save, or of the lite interpreter: nothing of it is executed."""

    version: int  # of the file format
    bytecode_version: int  # 0: no bytecode
    members: dict[str, int]  # names and sizes
    code: dict[str, str]  # sources by file
    modules: list[tuple[str, str, bool]]  # path, class, training
    weights: list[tuple[str, str, Any]]  # path, "parameter", "buffer" or "attribute", tensor
    constants: tuple  # CONSTANTS.c0, c1 ...

    def __init__(self, filename: str | os.PathLike) -> None:
        path = os.fsdecode(filename)
        try:
            (
                self.version, self.bytecode_version, self.members, self.code, self.modules, self.weights,
                self.constants,
            ) = _C.ts_open(path)  # fmt: skip
        except OSError as error:
            raise _os_error(error, path) from None
        except (NotImplementedError, ValueError) as error:
            raise reworded(error, FileError) from None

    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers by path, as the module's own state_dict() has them."""
        return {name: t for name, role, t in self.weights if role != "attribute"}
