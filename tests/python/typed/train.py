# SPDX-License-Identifier: Apache-2.0
"""A classifier: layers, data, a training loop, files, export; what PyTorch's first tutorials do.

Type checkers accept this file, and it runs."""

import os
import sys

import ingot as torch
import ingot.nn.functional as F
import ingot.optim as optim
from ingot import nn
from ingot.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.flatten = nn.Flatten()
        self.stack = nn.Sequential(
            nn.Linear(16 * 5 * 5, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = self.flatten(x)
        return self.stack(x)


folder = sys.argv[1]
device = "cuda" if torch.cuda.is_available() else "cpu"
net = Net().to(device)
print(net, torch.nn.init.xavier_uniform_(net.conv1.weight))
x = torch.randn(4, 1, 32, 32, requires_grad=True)
y = torch.randint(0, 10, (4,))
loss_fn = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
loader = DataLoader(TensorDataset(x.detach(), y), batch_size=2, shuffle=True)
net.train()
for batch, (a, b) in enumerate(loader):
    a, b = a.to(device), b.to(device)
    pred = net(a)
    loss = loss_fn(pred, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch % 100 == 0:
        print(f"loss: {loss.item():>7f}")
net.eval()
correct: float = 0.0
with torch.no_grad():
    for a, b in loader:
        pred = net(a)
        correct += (pred.argmax(1) == b).type(torch.float).sum().item()
torch.save(net.state_dict(), os.path.join(folder, "x.pth"))
net.load_state_dict(torch.load(os.path.join(folder, "x.pth"), weights_only=True))
t = torch.tensor([[1, 2], [3, 4]], dtype=torch.float32)
z = t @ t.T + t.mul(2) ** 2 - t[0, :] / 3
print(z.shape, z.dtype, z.device, z[..., -1], z.sum(dim=0, keepdim=True), t.view(-1, 1).size(0))
t1 = torch.cat([t, t, t], dim=1)
n = t.numpy()
values, indices = torch.max(t, dim=1)
values2, indices2 = t.topk(1)
z.add_(5)
ep = torch.export.export(net, (x.detach(),), dynamic_shapes={"x": {0: torch.export.Dim("batch", min=1)}})
print(ep.graph_module.code, ep.graph)
torch.export.save(ep, os.path.join(folder, "x.pt2"))
torch.onnx.export(
    net, (x,), os.path.join(folder, "x.onnx"), input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "b"}}
)
m = torch.compile(net)
out = m(x.detach())
s = torch.jit.script(net)
w = nn.Parameter(torch.zeros(3))
g = torch.autograd.grad(out.sum(), [net.conv1.weight])


@torch.no_grad()
def f(q: torch.Tensor) -> torch.Tensor:
    return torch.where(q > 0, q, torch.zeros_like(q)).clamp(min=0, max=1)
