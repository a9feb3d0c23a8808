# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP035, UP045 -- the forms of typing that TorchScript has always had
"""Modules and functions that bench/script.py compiles, as users write them. `torch` is whichever library stands under
that name."""

from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Bottleneck(nn.Module):
    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)
        self.relu = nn.ReLU(inplace=True)
        downsample = None
        if stride != 1 or inside != width * 4:
            downsample = nn.Sequential(nn.Conv2d(inside, width * 4, 1, stride, bias=False), nn.BatchNorm2d(width * 4))
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers: Tuple[int, ...] = (3, 4, 6, 3), width: int = 8) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inside = width
        stages = []
        for i, count in enumerate(layers):
            blocks = []
            for j in range(count):
                blocks.append(Bottleneck(inside, width << i, 2 if j == 0 and i > 0 else 1))
                inside = (width << i) * 4
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inside, 10)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.drop(F.softmax(scores, dim=-1))
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(b, t, d))


class EncoderLayer(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = x + self.drop(self.attention(self.norm1(x), mask))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Encoder(nn.Module):
    def __init__(self, layers: int = 6, dim: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, dim)
        self.position = nn.Parameter(torch.zeros(1, 64, dim))
        self.layers = nn.ModuleList([EncoderLayer(dim, 4) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 100)

    def forward(self, tokens: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = self.embed(tokens) + self.position[:, : tokens.size(1)]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 16, padding_idx=0)
        self.first = nn.LSTM(16, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.second = nn.LSTM(32, 16, batch_first=True)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 8)

    def forward(self, tokens: Tensor) -> Tuple[Tensor, Tuple[Tensor, Tensor, Tensor]]:
        x, _ = self.first(self.embed(tokens))
        x, state = self.second(x)
        x, last = self.gru(x)
        return F.log_softmax(self.head(x), dim=-1), (state[0], state[1], last)


class Library(nn.Module):
    """PyTorch's own layers of transformers."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x)


def boxes(box: Tensor, score: Tensor, limit: float, most: int) -> Tuple[Tensor, List[int]]:
    """Control flow over numbers and lists."""
    order = torch.argsort(score, descending=True)
    kept: List[int] = []
    area = (box[:, 2] - box[:, 0]).clamp(min=0) * (box[:, 3] - box[:, 1]).clamp(min=0)
    gone = torch.zeros_like(score, dtype=torch.bool)
    for i in range(order.size(0)):
        if len(kept) >= most:
            break
        this = int(order[i].item())
        if bool(gone[this].item()):
            continue
        kept.append(this)
        x1 = torch.max(box[this, 0], box[:, 0])
        y1 = torch.max(box[this, 1], box[:, 1])
        x2 = torch.min(box[this, 2], box[:, 2])
        y2 = torch.min(box[this, 3], box[:, 3])
        both = (x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)
        iou = both / (area[this] + area - both + 1e-6)
        gone = gone | (iou > limit)
    if len(kept) == 0:
        return torch.zeros(0, 4), kept
    return box[torch.tensor(kept)], kept


def scale_all(xs: List[Tensor], factor: float = 2.0, names: Optional[List[str]] = None) -> Dict[str, Tensor]:
    result: Dict[str, Tensor] = {}
    for i, x in enumerate(xs):
        name = f"value_{i}" if names is None else names[i]
        if x.dim() == 0:
            x = x.unsqueeze(0)
        while x.size(0) > 4:
            x = x[: x.size(0) // 2]
        result[name] = x * factor if factor > 0 else -x
    return result
