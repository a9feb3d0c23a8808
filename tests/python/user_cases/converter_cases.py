# SPDX-License-Identifier: Apache-2.0
"""TorchScript programs as exported programs."""

import torch
from torch import nn
from typing import Dict, List, Tuple
import torch.utils._pytree as pytree
from torch._export.converter import TS2EPConverter

T = torch


def reg(*inp, option, runtime=()):
    """A case per way of compiling the class (or function): the state of its program, and what the program returns."""

    def case_of(model, how):
        def case():
            torch.manual_seed(0)
            module = model() if isinstance(model, type) else model
            compiled = torch.jit.script(module) if how == "script" else torch.jit.trace(module, inp)
            ep = TS2EPConverter(compiled, inp).convert()
            print(list(ep.state_dict), list(ep.constants))
            for args in [inp, *runtime]:
                print(pytree.tree_map(shown, ep.module()(*args)))

        return case

    def declare(model):
        for how in option:
            globals()[f"case_{model.__name__}_{how}"] = case_of(model, how)
        return model

    return declare


def shown(value):
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().round(decimals=3) if is_float else value


O = T.ones


@reg(O(2, 3), option=("script", "trace"))
class Basic(nn.Module):
    def forward(self, x):
        return x.sin() + x.cos()


@reg(O(2, 3), option=("script",))
class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, x):
        return self.l(x).relu()


@reg(O(1, 3, 8, 8), option=("script",))
class ConvBN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.eval()

    def forward(self, x):
        return self.bn(self.c(x)).mean((2, 3))


@reg(O(2, 3), option=("script",))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("nb", torch.full((3,), 2.0), persistent=False)
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.w + self.b - self.nb


@reg(O(3), runtime=[(T.zeros(3),)], option=("script",))
class IfTensor(nn.Module):
    def forward(self, x):
        if x.sum() > 1:
            return x + 1
        else:
            return x - 1


@reg(
    T.tensor(True),
    T.tensor(4),
    runtime=[(T.tensor(False), T.tensor(4)), (T.tensor(True), T.tensor(3))],
    option=("script",),
)
class IfNested(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        if x:
            if y > 3:
                return y * y
            else:
                return y + y
        else:
            return y - 1


@reg(O(2, 3), option=("script",))
class ListAppend(nn.Module):
    def forward(self, x):
        out: list[torch.Tensor] = []
        out.append(x)
        out.append(x + 1)
        return torch.stack(out)


@reg(O(2, 3), option=("script",))
class ListGetSet(nn.Module):
    def forward(self, x):
        l = [x, x + 1, x + 2]
        return l[0] + l[-1]


@reg(O(2, 3), option=("script",))
class ListAdd(nn.Module):
    def forward(self, x):
        l = [x, x + 1] + [x * 2]
        return torch.cat(l)


@reg(O(2, 3), option=("script",))
class DictGet(nn.Module):
    def forward(self, x):
        d = {"a": x, "b": x + 1}
        return d["a"] * d["b"]


@reg({"a": O(3), "b": T.zeros(3)}, option=("script",))
class DictInput(nn.Module):
    def forward(self, d: dict[str, torch.Tensor]):
        return d["a"] + d["b"]


@reg([O(3), T.zeros(3)], option=("script",))
class ListInput(nn.Module):
    def forward(self, d: list[torch.Tensor]):
        return d[0] + d[1]


@reg((O(3), T.zeros(3)), option=("script",))
class TupleInput(nn.Module):
    def forward(self, d: tuple[torch.Tensor, torch.Tensor]):
        a, b = d
        return a + b


@reg(O(4), option=("script",))
class ForLoop(nn.Module):
    def forward(self, x):
        for i in range(4):
            x = x + i
        return x


@reg(O(4), option=("script",))
class LoopList(nn.Module):
    def forward(self, x):
        out: list[torch.Tensor] = []
        for i in range(3):
            out.append(x * i)
        return torch.stack(out)


@reg(T.tensor([1, 2]), option=("script",))
class IntTensor(nn.Module):
    def forward(self, x):
        return int(x[0]) + x


@reg(T.tensor([1.0, 2]), option=("script",))
class FloatTensor(nn.Module):
    def forward(self, x):
        return float(x[0]) + x


@reg(O(2, 3), option=("script",))
class SizeOut(nn.Module):
    def forward(self, x):
        b, n = x.shape
        return x.reshape(b * n) + x.size(0)


@reg(T.tensor([1, 2, 3]), option=("script",))
class ToMut(nn.Module):
    def forward(self, x):
        y = x.to(torch.float32)
        y.add_(1)
        return y


@reg(O(3), option=("script",))
class Device(nn.Module):
    def forward(self, x):
        return torch.ones(2, device=x.device, dtype=x.dtype) + x.sum()


@reg(O(3), option=("script",))
class NoGrad(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x + 1
        return y * 2


@reg(O(2, 3), option=("script",))
class Conv1(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(2, 2, 2)

    def forward(self, x):
        return self.c(x.unsqueeze(0))


@reg(O(2, 3), option=("script",))
class MutInput(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


@reg(O(3), option=("script",))
class MutBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x):
        self.b.add_(x)
        return self.b + 1


@reg(O(3), option=("script",))
class SetAttr(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x):
        self.b += x
        return self.b * 2


@reg(O(3), option=("script",))
class SetAttrCount(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1
        return x + self.count


@reg(O(3, 3), option=("script",))
class IndexPut(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[0] = 7
        y[:, 1] = 2
        return y


@reg(O(3), O(3), option=("script",))
def fn_plain(x, y):
    return x + y * 2


@reg(O(3), O(3), option=("script",))
def fn_if(x, y):
    if x.sum() > y.sum():
        z = x
    else:
        z = x + y
    return z


@reg(O(1, 4), option=("script",))
class Enumerate(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        for i, l in enumerate(self.ls):
            x = l(x) + i
        return x


@reg(O(2, 3), option=("script",))
class StrIf(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = "sum"

    def forward(self, x):
        if self.mode == "sum":
            return x.sum()
        return x.mean()


def case_explain_ok():
    print(TS2EPConverter(torch.jit.script(Basic()), (O(2, 3),)).explain())


def case_explain_quiet():
    print(repr(TS2EPConverter(torch.jit.script(Basic()), (O(2, 3),)).explain(print_output=False)))


def case_dynamic_none():
    ep = TS2EPConverter(torch.jit.script(Basic()), (O(2, 3),)).convert()
    try:
        ep.module()(O(4, 3))
    except Exception as e:
        print(e)
