# SPDX-License-Identifier: Apache-2.0
"""The operators of torchvision's library, torch.ops.torchvision: torchvision registers their shapes and derivatives
itself. They are defined when that library is to be loaded."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.library import Library

_ROI = "Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONV = """Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w,
    SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups,
    bool use_mask"""
_SCHEMAS = (
    "_cuda_version() -> int",
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align(Tensor input, {_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"qroi_align(Tensor input, {_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, {_ROI}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, {_ROI}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_ROI.partition(', ')[2]}, {_SIZES}) -> Tensor",
    f"ps_roi_align(Tensor input, {_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROI.partition(', ')[2]}, "
    f"int sampling_ratio, {_SIZES}) -> Tensor",
    f"ps_roi_pool(Tensor input, {_ROI}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROI.partition(', ')[2]}, {_SIZES})"
    " -> Tensor",
    f"deform_conv2d({_CONV}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_CONV}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)


def _nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that overlap no box of a higher score, best first."""
    order = scores.argsort(descending=True, stable=True)
    boxes = dets[order]
    low, high = boxes[:, :2], boxes[:, 2:]
    area = (high - low).prod(dim=1)
    kept: list[int] = []
    gone = [False] * boxes.shape[0]
    for i in range(boxes.shape[0]):
        if gone[i]:
            continue
        kept.append(i)
        rest = slice(i + 1, None)
        shared = (ingot.minimum(high[i], high[rest]) - ingot.maximum(low[i], low[rest])).clamp_(min=0).prod(dim=1)
        over = (shared / (area[i] + area[rest] - shared) > iou_threshold).tolist()
        for j, value in enumerate(over, i + 1):
            gone[j] = gone[j] or value
    return order[ingot.tensor(kept, dtype=ingot.int64, device=dets.device)]


def _samples(start: Tensor, bin_size: Tensor, bins: int, grid: Tensor, most: int, size: int) -> tuple[Tensor, ...]:
    """Along one axis: the positions [K, bins, most] of samples, their lower and upper neighbours, the weight of the
    upper one, and which samples count."""
    dtype = start.dtype
    bin_at = ingot.arange(bins, dtype=dtype).view(1, -1, 1)
    sample = ingot.arange(most, dtype=dtype).view(1, 1, -1)
    step = (bin_size / grid.to(dtype)).view(-1, 1, 1)
    at = start.view(-1, 1, 1) + bin_at * bin_size.view(-1, 1, 1) + (sample + 0.5) * step
    valid = (sample < grid.view(-1, 1, 1)) & (at >= -1.0) & (at <= size)
    at = at.clamp(min=0)
    low = at.to(ingot.int64).clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    weight = ingot.where(low >= size - 1, ingot.zeros((), dtype=dtype), at - low.to(dtype))
    return low, high, weight, valid


def _roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    aligned: bool,
) -> Tensor:  # fmt: skip
    """The mean of bilinear samples in every bin of every region."""
    height, width = input.shape[-2:]
    offset = 0.5 if aligned else 0.0
    corners = rois[:, 1:] * spatial_scale - offset
    extent = corners[:, 2:] - corners[:, :2]
    extent = extent if aligned else extent.clamp(min=1.0)
    bins = ingot.stack([extent[:, 0] / pooled_width, extent[:, 1] / pooled_height], dim=1)
    grid = ingot.full_like(bins, sampling_ratio) if sampling_ratio > 0 else bins.ceil()
    most = [max(int(g), 1) if rois.shape[0] else 1 for g in (grid.amax(dim=0) if rois.shape[0] else grid.new_ones(2))]
    x0, x1, wx, vx = _samples(corners[:, 0], bins[:, 0], pooled_width, grid[:, 0], most[0], width)
    y0, y1, wy, vy = _samples(corners[:, 1], bins[:, 1], pooled_height, grid[:, 1], most[1], height)
    count = (grid[:, 0] * grid[:, 1]).clamp(min=1)
    out = []
    for k, batch in enumerate(rois[:, 0].to(ingot.int64).tolist()):
        image = input[batch]
        # Interpolation is linear in each axis: first the rows, then the columns.
        rows = image[:, y0[k].flatten()] * (1 - wy[k]).flatten().view(1, -1, 1)
        rows = (rows + image[:, y1[k].flatten()] * wy[k].flatten().view(1, -1, 1)) * vy[k].flatten().view(1, -1, 1)
        rows = rows.view(image.shape[0], pooled_height, most[1], width).sum(dim=2)
        cells = rows[:, :, x0[k].flatten()] * (1 - wx[k]).flatten()
        cells = (cells + rows[:, :, x1[k].flatten()] * wx[k].flatten()) * vx[k].flatten()
        out.append(cells.view(image.shape[0], pooled_height, pooled_width, most[0]).sum(dim=-1) / count[k])
    return ingot.stack(out) if out else input.new_zeros(0, input.shape[1], pooled_height, pooled_width)


def _roi_align_backward(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """The mean is linear in the input, so its derivative needs no values of it."""
    with ingot.enable_grad():
        zero = grad.new_zeros(batch_size, channels, height, width).requires_grad_()
        out = _roi_align(zero, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
        return ingot.autograd.grad(out, zero, grad)[0]


def _deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int,
    pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """A convolution whose taps are sampled beside their places, by offsets [N, 2 * offset_groups * taps, H, W]."""
    n, channels, height, width = input.shape
    out_channels, _, kh, kw = weight.shape
    oh, ow = offset.shape[-2:]
    taps = kh * kw
    shift = offset.view(n, offset_groups, taps, 2, oh, ow)
    row = (ingot.arange(kh) * dilation_h).view(kh, 1).expand(kh, kw).reshape(taps, 1, 1)
    column = (ingot.arange(kw) * dilation_w).view(1, kw).expand(kh, kw).reshape(taps, 1, 1)
    y = shift[:, :, :, 0] + (ingot.arange(oh) * stride_h - pad_h).view(1, oh, 1) + row
    x = shift[:, :, :, 1] + (ingot.arange(ow) * stride_w - pad_w).view(1, 1, ow) + column
    # grid_sample has coordinates from -1 to 1 between the centres of the corners.
    place = ingot.stack([2 * x / max(width - 1, 1) - 1, 2 * y / max(height - 1, 1) - 1], dim=-1)
    image = input.reshape(n * offset_groups, channels // offset_groups, height, width)
    place = place.reshape(n * offset_groups, taps * oh, ow, 2)
    if width == 1 or height == 1:  # a single row or column has no extent that coordinates could divide
        image = ingot.nn.functional.pad(image, (0, int(width == 1), 0, int(height == 1)))
        tall, wide = image.shape[-2:]
        place = ingot.stack([2 * x / (wide - 1) - 1, 2 * y / (tall - 1) - 1], dim=-1).reshape(place.shape)
    cells = ingot.nn.functional.grid_sample(image, place, padding_mode="zeros", align_corners=True)
    cells = cells.view(n, offset_groups, channels // offset_groups, taps, oh, ow)
    if use_mask:
        cells = cells * mask.view(n, offset_groups, 1, taps, oh, ow)
    cells = cells.reshape(n, groups, channels // groups * taps, oh * ow)
    kernel = weight.reshape(1, groups, out_channels // groups, -1)
    return (kernel @ cells).view(n, out_channels, oh, ow) + bias.view(1, -1, 1, 1)


def _deform_conv2d_backward(grad: Tensor, *args: Any) -> tuple[Tensor, ...]:
    with ingot.enable_grad():
        tensors = [t.detach().requires_grad_() for t in args[:5]]
        out = _deform_conv2d(*tensors, *args[5:])
        found = ingot.autograd.grad(out, tensors, grad, allow_unused=True)
    return tuple(ingot.zeros_like(t) if g is None else g for g, t in zip(found, tensors, strict=True))


library = Library("torchvision", "DEF")
for _schema in _SCHEMAS:
    library.define(" ".join(_schema.split()))
for _name, _kernel in (
    ("_cuda_version", lambda: -1), ("nms", _nms), ("roi_align", _roi_align),
    ("_roi_align_backward", _roi_align_backward),
    ("deform_conv2d", _deform_conv2d), ("_deform_conv2d_backward", _deform_conv2d_backward),
):  # fmt: skip
    library.impl(_name, _kernel, "CPU")
