# SPDX-License-Identifier: Apache-2.0
"""Objects that implement Python's protocols as badly as the language allows.

Every class does one thing wrong: it raises, answers something of another type, answers numbers that no tensor has,
calls itself, or changes the container that it stands in while that container is being read.
"""

from __future__ import annotations

import random
from typing import Any

HUGE = [2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**64), 2**200, -1, 0]


class Raises:
    """Every method raises."""

    def fail(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("hostile")

    __index__ = __int__ = __float__ = __complex__ = __bool__ = __len__ = __iter__ = __getitem__ = fail
    __eq__ = __lt__ = __hash__ = __repr__ = __str__ = __contains__ = __array__ = __call__ = fail


class RaisesOnAttributes:
    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


class Numbers:
    """Every method returns a number of its choice."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick

    def __index__(self) -> int:
        return self.pick.choice(HUGE)

    __int__ = __index__

    def __len__(self) -> int:
        return self.pick.choice([0, 1, 3, 2**40, 2**63 - 1])

    def __float__(self) -> float:
        return self.pick.choice([float("nan"), float("inf"), -1e300, 0.5])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key > 1000:  # what list() does with an endless sequence is Python's
            raise IndexError
        return self.pick.choice([0, self, None, 2**70])


class WrongTypes:
    """Methods return values of a type that the protocol does not allow."""

    def __index__(self) -> Any:
        return "one"

    def __float__(self) -> Any:
        return None

    def __len__(self) -> Any:
        return -5

    def __iter__(self) -> Any:
        return 5

    def __bool__(self) -> Any:
        return "yes"

    def __hash__(self) -> Any:
        return 1.5

    def __eq__(self, other: object) -> Any:
        return NotImplemented

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return "no array"


class Endless:
    """A sequence and iterator without an end, until memory would be exhausted; its call calls itself."""

    steps = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self.steps += 1
        if self.steps > 100000:
            raise MemoryError
        return self

    def __getitem__(self, key: Any) -> Any:
        return next(self)

    def __len__(self) -> int:
        return 3

    def __index__(self) -> int:
        return self.__index__()


class Changes(int):
    """A number that modifies the list that contains it when it is read."""

    home: list[Any]
    how: int

    def __index__(self) -> int:
        home = self.home
        if self.how == 0:
            home.clear()
        elif self.how == 1:
            home.extend([1] * 100)
        elif self.how == 2:
            home[:] = [None] * len(home)
        else:
            del home[-1:]
        return 1

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __eq__(self, other: object) -> bool:
        self.__index__()
        return True

    def __hash__(self) -> int:
        return self.__index__()


class ChangesPlain:
    """The same without being an int."""

    def __init__(self, home: list[Any], how: int) -> None:
        self.home = home
        self.how = how

    __index__ = Changes.__index__
    __int__ = Changes.__index__
    __float__ = Changes.__float__


class Overrides:
    """__torch_function__ that raises, returns nonsense, or calls back."""

    answer: Any = None

    def __init__(self, how: int) -> None:
        self.how = how

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if cls.answer == "raise":
            raise LookupError("hostile")
        if cls.answer == "again":
            return func(*args, **(kwargs or {}))
        return cls.answer


class OverrideRaises(Overrides):
    answer = "raise"


class OverrideAgain(Overrides):
    answer = "again"


class OverrideNotImplemented(Overrides):
    answer = NotImplemented


class OverrideBroken:
    __torch_function__ = 5


class Int(int):
    def __index__(self) -> int:
        return 2**62


class Float(float):
    def __float__(self) -> float:
        raise OverflowError("hostile")


class Text(str):
    def __eq__(self, other: object) -> bool:
        raise ValueError("hostile")

    __hash__ = str.__hash__


class List(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 7

    def __getitem__(self, key: Any) -> Any:
        raise IndexError("hostile")

    def __iter__(self) -> Any:
        raise IndexError("hostile")


class Tuple(tuple):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 2**40

    def __getitem__(self, key: Any) -> Any:
        return self


def changing_list(pick: random.Random) -> list[Any]:
    home: list[Any] = [1] * pick.randint(1, 4)
    how = pick.randint(0, 3)
    if pick.random() < 0.5:
        item: Any = Changes(1)
        item.home, item.how = home, how
    else:
        item = ChangesPlain(home, how)
    home.insert(pick.randint(0, len(home)), item)
    return home


def nested(pick: random.Random) -> Any:
    """Nested lists, deeper than any tensor and sometimes than the stack; some contain themselves."""
    depth = pick.choice([3, 65, 200, 5000])
    value: Any = pick.choice([1, [], 1.5, None])
    for _ in range(depth):
        value = [value] if pick.random() < 0.7 else (value,)
    if pick.random() < 0.2:
        ring: list[Any] = [value]
        ring.append(ring)
        return ring
    return value


def arrays(pick: random.Random) -> Any:
    """NumPy arrays of odd dtypes and layouts, and plain buffers."""
    import numpy as np

    dtypes = "f2 f4 f8 i1 i8 u2 u8 ? c8 c16 >f4 >i8 S3 U2 O M8[s] V4 i4,f4".split()
    shape = pick.choice([(), (0,), (3,), (2, 3), (2, 0, 3), (1,) * 20])
    x = np.zeros(shape, dtype=pick.choice(dtypes))
    kind = pick.randint(0, 6)
    if kind == 0 and x.ndim:
        return x[::-1]
    if kind == 1:
        x.setflags(write=False)
    if kind == 2 and x.ndim == 2:
        return x.T[:, ::2]
    if kind == 3:
        return np.broadcast_to(x, (2**20, *x.shape)) if x.dtype != object else x
    if kind == 4 and x.ndim == 1 and x.dtype.isnative:
        return memoryview(x) if x.dtype.kind not in "MVU" else x
    if kind == 5 and x.dtype.kind != "O":
        return np.lib.stride_tricks.as_strided(x, shape=(2, 2), strides=(0, 0)) if x.size else x
    return x


def value(pick: random.Random) -> Any:
    """Some hostile value."""
    makers = [
        Raises,
        RaisesOnAttributes,
        lambda: Numbers(pick),
        WrongTypes,
        Endless,
        lambda: changing_list(pick),
        lambda: changing_list(pick),
        lambda: [changing_list(pick)],
        lambda: OverrideRaises(0),
        lambda: OverrideAgain(0),
        lambda: OverrideNotImplemented(0),
        OverrideBroken,
        lambda: Int(3),
        lambda: Float(1.5),
        lambda: Text("mean"),
        lambda: List([1, 2]),
        lambda: Tuple((1, 2)),
        lambda: nested(pick),
        lambda: arrays(pick),
        lambda: arrays(pick),
        lambda: memoryview(b"abcdefgh"),
        lambda: memoryview(bytearray(16)).cast("d"),
        lambda: b"bytes",
        lambda: iter([1, 2]),
        lambda: (i for i in range(3)),
        lambda: {1: 2},
        lambda: {1, 2},
        lambda: range(2**40),
        lambda: slice(None, Raises(), None),
        lambda: slice(2**70, -(2**70), 0),
        lambda: Ellipsis,
        lambda: int,
        lambda: pick,
        lambda: [Raises()],
        lambda: [Numbers(pick), 2],
        lambda: pick.choice(HUGE),
        lambda: [pick.choice(HUGE), pick.choice(HUGE)],
        lambda: "\ud800",
        lambda: "a\0b",
        lambda: "x" * 100000,
        lambda: 10**5000,
        lambda: complex(float("nan"), float("inf")),
    ]
    return pick.choice(makers)()
