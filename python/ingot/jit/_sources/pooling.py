# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP035, UP045, F401, E501
"""torch.nn.functional for scripts: pooling. @n is the number of dimensions, @list an argument of one or as many numbers."""

from typing import List, Optional, Tuple, Union

import ingot as torch
from ingot import Tensor
from ingot.jit._compile import Dispatch
from ingot.jit._sources.functional import BroadcastingList1, BroadcastingList2, BroadcastingList3, relu
from ingot.jit._sources.misc import _list_with_default, _pair, _single, _triple
from ingot.jit._sources.text import define, expanded

TORCH_NAME = "torch.nn.functional"

_MAX = """
def @name(input: Tensor, kernel_size: @list[int], stride: Optional[@list[int]] = None, padding: @list[int] = @zeros,
          dilation: @list[int] = @ones, ceil_mode: bool = False, return_indices: bool = False) -> @result:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.@operator(input, kernel_size, stride, padding, dilation, ceil_mode)
"""

_ADAPTIVE_AVG = """
def adaptive_avg_pool@nd(input: Tensor, output_size: @list[int]) -> Tensor:
    _output_size = _list_with_default(output_size, input.size())
    return torch.adaptive_avg_pool@nd(input, _output_size)
"""

_ADAPTIVE_MAX = """
def adaptive_max_pool@nd_with_indices(input: Tensor, output_size: @list[int], return_indices: bool = False
                                      ) -> Tuple[Tensor, Tensor]:
    @sizes
    return torch.adaptive_max_pool@nd(input, output_size)

def _adaptive_max_pool@nd(input: Tensor, output_size: @list[int], return_indices: bool = False) -> Tensor:
    return adaptive_max_pool@nd_with_indices(input, output_size)[0]
"""

_FRACTIONAL = """
def fractional_max_pool@nd_with_indices(@fractional) -> Tuple[Tensor, Tensor]:
    if output_size is None and output_ratio is None:
        raise ValueError("fractional_max_pool@nd requires specifying either an output_size or an output_ratio")
    if output_size is None:
        assert output_ratio is not None
        @check
        _output_ratio = @tuple(output_ratio)
        output_size = [@scaled]
    if _random_samples is None:
        n_batch = 1 if input.dim() == @m else input.size(0)
        _random_samples = torch.rand(n_batch, input.size(-@m), @n, dtype=input.dtype, device=input.device)
    return torch.fractional_max_pool@nd(input, kernel_size, output_size, _random_samples)

def _fractional_max_pool@nd(@fractional) -> Tensor:
    return fractional_max_pool@nd_with_indices(input, kernel_size, output_size, output_ratio, return_indices,
                                               _random_samples)[0]
"""

_UNPOOL = """
def max_unpool@nd(input: Tensor, indices: Tensor, kernel_size: @list[int], stride: Optional[@list[int]] = None,
                  padding: @list[int] = 0, output_size: Optional[@list[int]] = None) -> Tensor:
    kernel_size = @tuple(kernel_size)
    if stride is not None:
        _stride = @tuple(stride)
    else:
        _stride = kernel_size
    padding = @tuple(padding)
    output_size = _unpool_output_size(input, kernel_size, _stride, padding, output_size)
    @unpooled
"""

_LP = """
def lp_pool@nd(input: Tensor, norm_type: Union[int, float], kernel_size: @window, stride: Optional[@list[int]] = None,
               ceil_mode: bool = False) -> Tensor:
    @extents
    if stride is not None:
        out = torch.avg_pool@nd(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = torch.avg_pool@nd(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (torch.sign(out) * relu(torch.abs(out))).mul(@volume).pow(1.0 / norm_type)
"""

_UNPOOLED = {
    1: """\
if isinstance(output_size, list):
    output_size = output_size + [1]
else:
    output_size = output_size + (1,)
return torch.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), output_size).squeeze(-1)""",
    2: "return torch.max_unpool2d(input, indices, output_size)",
    3: "return torch.max_unpool3d(input, indices, output_size, _stride, padding)",
}
_CHECK = """\
if len(output_ratio) > 2:
    raise ValueError("fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")"""


def _unpool_output_size(
    input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_size: Optional[List[int]]
) -> List[int]:
    input_size = input.size()
    default_size = torch.jit.annotate(List[int], [])
    for d in range(len(kernel_size)):
        default_size.append((input_size[-len(kernel_size) + d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    if output_size is None:
        ret = default_size
    else:
        if len(output_size) == (len(kernel_size) + 2):
            output_size = output_size[2:]
        if len(output_size) != len(kernel_size):
            raise ValueError(
                "output_size should be a sequence containing "
                f"{len(kernel_size)} or {len(kernel_size) + 2} elements, but it has a length of '{len(output_size)}'"
            )
        for d in range(len(kernel_size)):
            min_size = default_size[d] - stride[d]
            max_size = default_size[d] + stride[d]
            if not (min_size < output_size[d] < max_size):
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {d} must be between {min_size} and {max_size})'
                )
        ret = output_size
    return ret


def _family(n: int) -> str:
    """The functions for n dimensions."""
    extents = {1: "", 2: "kw, kh", 3: "kd, kw, kh"}[n]
    macros = {
        "nd": f"{n}d", "nd_with_indices": f"{n}d_with_indices", "n": str(n), "m": str(n + 1),
        "list": f"BroadcastingList{n}", "zeros": str([0] * n), "ones": str([1] * n),
        "tuple": ["_single", "_pair", "_triple"][n - 1],
        "sizes": "output_size = _list_with_default(output_size, input.size())" if n > 1 else "",
        "unpooled": _UNPOOLED[n],
        "check": _CHECK if n == 2 else "",
        "scaled": ", ".join(f"int(input.size({i - n}) * _output_ratio[{i}])" for i in range(n)),
        "window": f"BroadcastingList{n}[int]" if n > 1 else "int",
        "extents": f"{extents} = {['_single', '_pair', '_triple'][n - 1]}(kernel_size)" if n > 1 else "",
        "volume": extents.replace(", ", " * ") or "kernel_size",
        "fractional": f"input: Tensor, kernel_size: BroadcastingList{n}[int], "
        f"output_size: Optional[BroadcastingList{n}[int]] = None, output_ratio: Optional[BroadcastingList{n}[float]] = None, "
        "return_indices: bool = False, _random_samples: Optional[Tensor] = None",
    }  # fmt: skip
    plain = {"name": f"_max_pool{n}d", "operator": f"max_pool{n}d", "result": "Tensor"}
    both = {**dict.fromkeys(("name", "operator"), f"max_pool{n}d_with_indices"), "result": "Tuple[Tensor, Tensor]"}
    texts = [expanded(_MAX, {**macros, **one}) for one in (plain, both)]
    more = [_ADAPTIVE_MAX, _UNPOOL, _LP] + ([_ADAPTIVE_AVG, _FRACTIONAL] if n > 1 else [])
    return "".join(texts + [expanded(text, macros) for text in more])


def _dispatched(space: dict) -> None:
    """Functions that return indices if a constant argument says so."""
    for n in (1, 2, 3):
        for name, position in (("max_pool", 6), ("adaptive_max_pool", 2), ("fractional_max_pool", 4)):
            if f"_{name}{n}d" in space:
                two = space[f"{name}{n}d_with_indices"], space[f"_{name}{n}d"]
                space[f"{name}{n}d"] = Dispatch("return_indices", position, False, *two)


define(globals(), "".join(map(_family, (1, 2, 3))))
_dispatched(globals())
