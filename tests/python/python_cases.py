# SPDX-License-Identifier: Apache-2.0
"""Expressions whose outcome (value as text, or exception) the real PyTorch told: see golden_python.json.

    python tests/python/python_cases.py > tests/python/golden_python.json      # where torch is installed

`outcome` is what both sides do with one expression, under whatever library stands for `torch`.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

REPR = """
torch.tensor(1)
torch.tensor(1.)
torch.tensor(1.5)
torch.tensor(True)
torch.tensor(1 + 2j)
torch.tensor([])
torch.zeros(0, 3)
torch.zeros(2, 0, dtype=torch.int64)
torch.zeros(0, dtype=torch.int64)
torch.tensor([1, 2, 3])
torch.tensor([1., 2., 3.])
torch.tensor([1.5, 2, 3])
torch.tensor([[1, -2], [30, 4]])
torch.tensor([[1.25, -2], [30, 4]])
torch.tensor([1e-5, 1])
torch.tensor([1e5, 1.])
torch.tensor([123456.75, 0.5])
torch.tensor([1e9])
torch.tensor([1e9, 1.5])
torch.tensor([0.0001])
torch.tensor([0.00009])
torch.tensor([float('nan'), 1.])
torch.tensor([float('inf'), 1.5, -float('inf')])
torch.tensor([float('nan')])
torch.tensor([0., -0.])
torch.tensor([1., float('inf')])
torch.tensor([True, False])
torch.tensor([1 + 2j, -1.5 - 0.25j])
torch.tensor([1 + 1e-7j, 1e6 - 2j])
torch.tensor([1 + 2j], dtype=torch.complex128)
torch.tensor([1.], dtype=torch.float64)
torch.tensor([1.], dtype=torch.float16)
torch.tensor([1.1], dtype=torch.bfloat16)
torch.tensor([1, 2], dtype=torch.int32)
torch.tensor([1, 2], dtype=torch.uint8)
torch.tensor([1, 2], dtype=torch.uint64)
torch.arange(30)
torch.arange(30.)
torch.arange(30.) / 7
torch.arange(1001)
torch.arange(1001.) * 1.5
torch.arange(2000).reshape(2, 1000)
torch.arange(2000).reshape(1000, 2)
torch.arange(8000).reshape(20, 20, 20)
torch.arange(8000.).reshape(20, 20, 20) / 3
torch.arange(24).reshape(2, 3, 4)
torch.arange(24).reshape(2, 3, 4).transpose(0, 2)
torch.arange(120).reshape(1, 2, 3, 4, 5)
torch.arange(6.).reshape(2, 3).t()
torch.arange(3.)[1]
torch.ones(3, requires_grad=True)
torch.ones(3, requires_grad=True) * 2
torch.ones(1, 1, requires_grad=True) + 0.5
(torch.ones(3, requires_grad=True) * 2).sum()
torch.ones(20, requires_grad=True) * 1.2345
torch.ones(15, dtype=torch.float64, requires_grad=True)
torch.empty(2, 3, device='meta')
torch.empty(2, 3, device='meta', dtype=torch.int64)
torch.empty(2, device='meta', requires_grad=True)
torch.zeros(2, 3).shape
torch.Size([])
torch.Size([1])
torch.Size((2, 3))[1:]
torch.Size([2, 3]) + (4,)
torch.Size([2, 3]).numel()
torch.Size([2]) * 2
torch.float32, torch.int64, torch.bfloat16, torch.bool
torch.device('cpu'), torch.device('cuda:1'), torch.device('cuda', 0), torch.device(type='meta')
str(torch.device('cuda', 3)), str(torch.device('cpu'))
torch.device('cpu') == torch.device('cpu'), torch.device('cuda') == torch.device('cuda:0')
torch.device('cuda:1').index, torch.device('cpu').index, torch.device('cuda:1').type
torch.strided, torch.contiguous_format, torch.channels_last, torch.preserve_format
torch.ops.aten.add.Tensor
str(torch.ops.aten.add.Tensor), str(torch.ops.aten.add), repr(torch.ops.aten.add)
torch.ops.aten.add.Tensor.name(), torch.ops.aten.relu.default.name(), torch.ops.aten.add.Tensor.__name__
torch.ops.aten.relu.default._schema
str(torch.ops.aten.add.Tensor._schema)
torch.ops.aten.add.Tensor._schema.name, torch.ops.aten.add.Tensor._overloadname
torch.ops.aten.add.Tensor.namespace, torch.ops.aten.add.Tensor.overloadpacket is torch.ops.aten.add
[a.name for a in torch.ops.aten.add.Tensor._schema.arguments]
[str(a.type) for a in torch.ops.aten.addmm.default._schema.arguments]
[a.default_value for a in torch.ops.aten.add.Tensor._schema.arguments]
[a.kwarg_only for a in torch.ops.aten.add.Tensor._schema.arguments]
[str(a.type) for a in torch.ops.aten.sum.dim_IntList._schema.arguments]
torch.max(torch.tensor([[1., 5.], [7., 2.]]), 0)
torch.tensor([[1., 5.], [7., 2.]]).sort(descending=True)
'%s' % torch.tensor([1.5])
'{:.3f}'.format(torch.tensor(2.5)), '{}'.format(torch.tensor([1]))
torch.tensor(3.25).item(), torch.tensor(3).item(), torch.tensor(True).item(), torch.tensor(1j).item()
torch.arange(6).reshape(2, 3).tolist(), torch.tensor(2.5).tolist()
torch.tensor([0.1, 0.25], dtype=torch.float64)
torch.tensor([[0.1, 1000.], [2.5, 3.]])
torch.tensor([[0.1, 100.1], [2.5, 3.]])
torch.tensor([12345.678])
torch.tensor([123456789.])
torch.tensor([-1.5, 20.25, 300.125])
torch.full((3, 4), 0.5)
torch.tensor([65504.], dtype=torch.float16)
torch.zeros(1, 0, 2)
torch.ones(1, 1, 1)
"""

INDEXING = """
x[0]
x[-1]
x[:]
x[1:3]
x[::2]
x[:, 1]
x[:, 1:2]
x[..., 0]
x[...].shape
x[None].shape
x[:, None].shape
x[0, :, None, 1]
x[None, 0].shape
x[True].shape
x[False].shape
x[:, True].shape
x[x > 10]
x[i]
x[:, i]
x[i, i]
x[i, :, i]
x[[0, 1]]
x[[0, 1], [1, 2]]
x[:, [0, 1]]
x[0, i]
x[i, 0]
x[i, None].shape
x[..., i]
x[m]
x[m, 0]
x[()].shape
x[torch.tensor(1)]
x[1:, 2:]
x[0:2, ..., -1]
x[-2:].shape, x[:-1].shape, x[3:1].shape, x[-100:100].shape
x[i][0]
x[[i, i]].shape
x[[[0, 1], [1, 2]]].shape
x[[slice(0, 1), 0]].shape
x[np.array([0, 1])].shape
x[np.int64(1)].shape
x[[True, False]].shape
x[[]].shape
x[range(2)].shape
x[torch.tensor(True)].shape
x[torch.tensor([1, 0], dtype=torch.uint8)].shape
x[i.int()].shape
x[i.short()].shape
x[torch.tensor(1, dtype=torch.int16)].shape
x[:, torch.tensor(False)].shape
torch.tensor(5)[None].shape, torch.tensor(5)[...].shape, torch.tensor(5)[True].shape
torch.tensor(5)[:]
torch.tensor(5)[1]
torch.tensor(5)[0]
x[0, -4]
x[0, 0:1:2, ...].shape
x[torch.tensor(0):torch.tensor(1)].shape
x[1.]
x[None, ..., None].shape
x[..., ...].shape
x[{}]
x[0, 'a']
x[i, i, i, i]
x[5]
x[0, 0, 0, 0]
x[::-1]
x[::0]
x['a']
x[0:1.5]
x[torch.tensor([1.5])]
x[torch.tensor([True, False, True])]
x[torch.tensor([5])]
x[torch.tensor([-1, -2])]
x[-3]
len(x), [t.tolist() for t in x[0]], x[0, 0, 3].item()
list(torch.tensor(1))
len(torch.tensor(1))
5 in x, 99 in x, torch.tensor(3) in x
x.__contains__('a')
[r.shape for r in x.split(1)], [r.shape for r in x.split([1, 2], 1)]
x.__delitem__(0)
"""

ASSIGNMENT = """
x[0] = 1
x[0] = 1.5
x[:] = 1
x[...] = 2
x[None] = 2
x[:, 1] = x[:, 0]
x[x > 10] = 0
x[i] = 5
x[i] = x[i]
x[:, i] = 1.0
x[[0, 1]] = 1.
x[0, i] = x[0, i] * 2
x[m] = 1
x[0, 0, 0] = torch.tensor(5)
x[True] = 3
x[False] = 3
x[1:2, ..., 0] = 7
x[0] = torch.ones(4)
x[0] = torch.ones(1, 1, 4)
x[0] = torch.ones(1, 3, 4)
x[:, 0] = torch.ones(1)
x[0:1] = torch.ones(1, 3, 4)
x[i] = torch.ones(1, 1, 3, 4, dtype=torch.int64)
x[...] = torch.ones(1, 2, 3, 4)
x[0, 1:2] = 3
x[m, 0] = 3
x[:, True] = 1
x[0] = True
x[0] = [1., 2., 3., 4.]
x[0] = 'a'
x[0] = np.ones(4)
x[5] = 1
x[0] = torch.zeros(5)
x[0, 0, 0, 0] = 1
x[i] = torch.zeros(5, dtype=torch.int64)
x[::-1] = 1
x[0, 1:, 2:] = 9
x[1, [0, 2], [1, 3]] = -1
x += 1
x -= 1
x *= x
x //= 2
x %= 3
x[0] += 5
x[m] *= 2
"""

ERRORS = """
x + 'a'
torch.add(x, 'a')
torch.add(x)
torch.relu(1)
torch.relu(x, x)
torch.relu(x, foo=1)
torch.relu()
torch.maximum(x, 1)
x.sum('a')
x.view(2, 'a')
torch.zeros('a')
x + 2**70
i + 2**70
torch.zeros(2, dtype=3)
torch.zeros(2, device=3.5)
torch.zeros(2, device='foo')
torch.softmax(x, 1.5)
torch.cat(x)
torch.cat([x, 1])
torch.stack([x, None])
bool(x)
bool(torch.zeros(0))
int(x)
float(x)
x.item()
complex(x)
x.requires_grad_().numpy()
i.requires_grad_()
torch.tensor([1, 2], requires_grad=True)
torch.tensor([[1, 2], [3]])
torch.tensor(['a'])
torch.tensor(None)
torch.tensor([1, None])
torch.tensor({})
torch.tensor([300], dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor(1e40)
torch.tensor([1.5], dtype=torch.int32)
torch.add(np.zeros(3), x)
x.add(np.zeros(3))
torch.add(x, np.float32(2))
torch.relu(np.zeros(3))
torch.ops.aten.add.Tensor(x)
torch.ops.aten.add.Tensor(x, 'a')
torch.ops.aten.relu.default(x, x)
torch.ops.aten.foobar
torch.ops.aten.add.foobar
x.foobar
torch.device('foo')
torch.device('cuda:x')
torch.device('cpu', -1)
torch.device(3.4)
torch.Size(['a'])
torch.Size(3)
x.to('foo')
x.to()
x.grad_fn
x.backward()
x.size(5)
x.size('a')
x.stride(9)
x.storage_offset()
x.is_contiguous(memory_format=3)
format(x, '.2f')
torch.tensor(2.5).__index__()
torch.tensor(2).__index__()
x.type()
i.type()
setattr(x, 'grad', 1)
setattr(x, 'grad', torch.zeros(5))
setattr(x, 'requires_grad', 1)
setattr(x, 'data', 1)
torch.from_numpy([1])
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.ones(3)[::-1])
torch.from_numpy(np.zeros(3, dtype='>f4'))
torch.as_tensor([1, 2]).dtype
torch.from_dlpack(1)
torch.frombuffer(b'abcd', dtype=torch.float32)
torch.frombuffer(b'abc', dtype=torch.float32)
torch.bfloat16.to_complex(), torch.float32.to_complex(), torch.complex128.to_real()
torch.set_default_dtype(torch.int32)
x.bfloat16().numpy()
torch.Generator('foo')
x.register_hook(print)
x.retain_grad()
x.new_tensor([1, 2]).dtype
x.index_put_((1,), x)
x.max(dim=5)
torch.full((2,))
torch.full(2, 1)
torch.full((2,), 'a')
torch.arange('a')
torch.empty(2, 3, memory_format=torch.preserve_format)
torch.zeros([2, 3.5])
torch.zeros((2, [3]))
torch.zeros(2.5)
x.permute('a')
x.transpose(0)
x.view(7)
x.sum(dim=(0, 0))
x.sum(dim=7)
x.squeeze(9)
torch.sum(x, axis=0).shape, torch.sum(x, dim=0, keepdims=True).shape
torch.add(x, x, alpha='a')
torch.add(x, x, alpha=x)
torch.add(x, x, out=(x,))
torch.add(i, i, alpha=1.5)
i.add_(1.5)
x == 'a', x != None, x == None
torch.float32.itemsize, torch.float32.is_floating_point, torch.int8.is_signed, torch.uint8.is_signed
torch.promote_types(torch.int32, torch.float16), torch.can_cast(torch.float32, torch.int32)
torch.result_type(x, 1), torch.result_type(i, 1.5)
x.numel(), x.nelement(), x.dim(), x.ndim, x.element_size(), x.itemsize, x.nbytes
x.is_cpu, x.is_cuda, x.is_meta, x.layout, x.is_leaf, x.requires_grad, x.grad
torch.tensor(np.float32(1.5)).dtype, torch.tensor(np.int16(3)).dtype, torch.tensor(np.array([1., 2.])).dtype
torch.tensor([True, 2]).dtype, torch.tensor([1, 2.]).dtype, torch.tensor([1, 2j]).dtype, torch.tensor([]).dtype
torch.Tensor(2, 3).shape, torch.Tensor([1, 2]), torch.Tensor().shape
"""

PRELUDE = """
import numpy as np
x = torch.arange(24).reshape(2, 3, 4) if kind != 'errors' else torch.arange(6.).reshape(2, 3)
i = torch.tensor([0, 1]) if kind != 'errors' else torch.arange(3)
m = torch.tensor([True, False])
"""

KINDS = {"repr": REPR, "indexing": INDEXING, "assignment": ASSIGNMENT, "errors": ERRORS}


def cases() -> list[tuple[str, str]]:
    return [(kind, line) for kind, text in KINDS.items() for line in text.strip().splitlines()]


def outcome(torch: Any, kind: str, line: str) -> list[str]:
    """["value", repr] or ["ExceptionClass", message]."""
    scope: dict[str, Any] = {"torch": torch, "kind": kind}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(PRELUDE, scope)
        try:
            if kind == "assignment":
                exec(line, scope)
                return ["value", repr(scope["x"])]
            return ["value", repr(eval(line, scope))]
        except Exception as error:
            return [type(error).__name__, str(error)]


if __name__ == "__main__":
    import torch as real

    json.dump(
        {f"{kind}: {line}": outcome(real, kind, line) for kind, line in cases()},
        sys.stdout,
        indent=0,
        ensure_ascii=False,
    )
    print()
