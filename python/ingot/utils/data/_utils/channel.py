# SPDX-License-Identifier: Apache-2.0
"""Objects between the DataLoader and its workers.

A message is a pickle. Between processes, the bytes of tensors and anything longer than a packet travel in an anonymous
file in memory whose descriptor is sent along: the receiver maps it, and tensors are views of the mapping. Nothing has
a name, so nothing remains when a process dies, whenever that is.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import pickle
import queue
import socket
import struct
import tempfile
from typing import Any

import ingot
from ingot._C import Tensor

_INLINE = 2048  # bytes of a pickle in the packet itself: packets always fit into the socket's buffer
_ALIGNMENT = 64


class Closed(Exception):
    """The other end is gone."""


def _rebuild(cls: type, data: Any, dtype: Any, sizes: tuple, requires_grad: bool) -> Tensor:
    if data is None:
        tensor = ingot.empty(sizes, dtype=dtype)
    else:
        tensor = ingot.frombuffer(data, dtype=dtype).reshape(sizes)
    if cls is not Tensor:
        return Tensor._make_subclass(cls, tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def _bytes_of(tensor: Tensor) -> Any:
    """The memory of a dense tensor; a view that keeps it alive."""
    memory = (ctypes.c_char * (tensor.numel() * tensor.element_size())).from_address(tensor.data_ptr())
    memory.owner = tensor
    return pickle.PickleBuffer(memory)


class _Pickler(pickle.Pickler):
    """Tensors leave their bytes to the caller, as buffers."""

    def reducer_override(self, value: Any) -> Any:
        plain = type(value) is Tensor or type(value) is ingot.nn.Parameter
        if not plain or value.device.type != "cpu":
            return NotImplemented  # other classes say themselves how they are pickled
        if value.requires_grad and not value.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        dense = value.detach().contiguous()
        data = _bytes_of(dense) if dense.numel() else None
        return _rebuild, (type(value), data, value.dtype, tuple(value.shape), value.requires_grad)


def _dump(value: Any) -> tuple[bytes, list]:
    buffers: list = []
    file = io.BytesIO()
    _Pickler(file, protocol=5, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ingot", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class ProcessChannel:
    """One end of a pair of connected sockets that keep packets apart."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    @classmethod
    def pair(cls) -> tuple[ProcessChannel, ProcessChannel]:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ends[0]), cls(ends[1])

    def send(self, value: Any) -> None:
        data, buffers = _dump(value)
        parts = buffers if len(data) <= _INLINE else [memoryview(data), *buffers]
        sizes = [part.nbytes for part in parts]
        in_file = len(parts) > len(buffers)
        if len(sizes) > 64:  # many small tensors: the table of sizes goes into the file too
            table = struct.pack(f"<{len(sizes)}Q", *sizes)
            parts, sizes = [memoryview(table), *parts], [len(table), *sizes]
            packet = struct.pack("<BBQ", in_file, 1, len(table))
        else:
            packet = struct.pack(f"<BB{len(sizes)}Q", in_file, 0, *sizes)
        packet = struct.pack("<I", len(packet)) + packet + (b"" if in_file else data)
        try:
            if not parts:
                self.socket.sendall(packet)
                return
            file = _anonymous_file()
            try:
                self._fill(file, parts, sizes)
                socket.send_fds(self.socket, [packet], [file])
            finally:
                os.close(file)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    @staticmethod
    def _fill(file: int, parts: list, sizes: list[int]) -> None:
        os.ftruncate(file, max(1, sum(map(_aligned, sizes))))
        at = 0
        for part, size in zip(parts, sizes):
            with memoryview(part).cast("B") as view:
                done = 0
                while done < size:
                    done += os.pwrite(file, view[done:], at + done)
            at += _aligned(size)

    def receive(self, timeout: float | None = None) -> Any:
        self.socket.settimeout(timeout)
        try:
            packet, files, _, _ = socket.recv_fds(self.socket, 1 << 16, 1)
        except ConnectionResetError as error:
            raise Closed from error
        if not packet:
            raise Closed
        (length,) = struct.unpack_from("<I", packet)
        in_file, has_table = struct.unpack_from("<BB", packet, 4)
        sizes = list(struct.unpack(f"<{(length - 2) // 8}Q", packet[6 : 4 + length]))
        data = packet[4 + length :]
        if not files:
            return pickle.loads(data)
        try:
            memory = memoryview(mmap.mmap(files[0], 0))
        finally:
            os.close(files[0])
        at = 0
        if has_table:
            at = _aligned(sizes[0])
            sizes = list(struct.unpack(f"<{sizes[0] // 8}Q", memory[: sizes[0]]))
        views = []
        for size in sizes:
            views.append(memory[at : at + size])
            at += _aligned(size)
        return pickle.loads(views[0], buffers=views[1:]) if in_file else pickle.loads(data, buffers=views)

    def close(self) -> None:
        self.socket.close()


class ThreadChannel:
    """One end of two queues; objects are passed as they are."""

    def __init__(self, mine: queue.SimpleQueue, theirs: queue.SimpleQueue) -> None:
        self.mine = mine
        self.theirs = theirs

    @classmethod
    def pair(cls) -> tuple[ThreadChannel, ThreadChannel]:
        a: queue.SimpleQueue = queue.SimpleQueue()
        b: queue.SimpleQueue = queue.SimpleQueue()
        return cls(a, b), cls(b, a)

    def send(self, value: Any) -> None:
        self.theirs.put((value,))

    def receive(self, timeout: float | None = None) -> Any:
        try:
            message = self.mine.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if not message:
            raise Closed
        return message[0]

    def close(self) -> None:
        self.theirs.put(())
