# SPDX-License-Identifier: Apache-2.0
"""safetensors files, with the functions that users of that library know. Tensors of a file are its pages."""

from __future__ import annotations

import os
from collections.abc import KeysView
from typing import Any

from ingot import _C
from ingot._explain import reworded
from ingot.serialization import FileError, _is_meta, _os_error

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """Named tensors as bytes; they may share memory and have any strides, each is written as it reads."""
    return _C.safetensors_print(dict(tensors), metadata)


def save_file(tensors: dict[str, Any], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    _C.safetensors_save(dict(tensors), os.fsdecode(filename), metadata)


def _read(source: Any, name: str) -> tuple[dict[str, Any], dict[str, str] | None]:
    try:
        return _C.tensors_load(source, name)
    except OSError as error:
        raise _os_error(error, name) from None
    except (NotImplementedError, ValueError) as error:
        raise reworded(error, FileError) from None


def load(data: bytes) -> dict[str, Any]:
    """Named tensors out of bytes; they are copies."""
    return _read(data, "<bytes>")[0]


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Any]:
    with safe_open(filename, "pt", device) as f:
        return {name: f.get_tensor(name) for name in f.keys()}


class safe_open:
    """A file with its tensors by name."""

    def __init__(self, filename: str | os.PathLike, framework: str = "pt", device: Any = "cpu") -> None:
        path = os.fsdecode(filename)
        self._tensors, self._metadata = _read(path, path)
        self._meta = _is_meta(device)

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *unused: Any) -> None:
        pass

    def keys(self) -> KeysView[str]:
        return self._tensors.keys()

    def metadata(self) -> dict[str, str] | None:
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        if name not in self._tensors:
            raise FileError(f"File does not contain tensor {name}")
        return self._tensors[name].to("meta") if self._meta else self._tensors[name]

    def get_slice(self, name: str) -> Any:
        """Something to index: pages are read when they are touched."""
        return self.get_tensor(name)


def save_model(model: Any, filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    save_file(model.state_dict(), filename, metadata)


def load_model(
    model: Any, filename: str | os.PathLike, strict: bool = True, device: Any = "cpu"
) -> tuple[list[str], list[str]]:
    """Names that the file lacks, and names that the model lacks."""
    result = model.load_state_dict(load_file(filename, device), strict=strict)
    return result.missing_keys, result.unexpected_keys
