# SPDX-License-Identifier: Apache-2.0
"""Attention, recurrence, autograd functions, schedulers, export and scripts, with annotations as users write them.

Type checkers accept this file, and it runs."""

import math
import os
import sys

import ingot as torch
import ingot.nn as nn
import ingot.nn.functional as F
from ingot import Tensor
from ingot.export import Dim, ExportedProgram, export
from ingot.optim.lr_scheduler import StepLR
from ingot.utils.data import Dataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.out = nn.Linear(dim, dim)
        self.layers = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, n, d = x.shape
        for layer in self.layers:
            x = layer(x)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = F.softmax(scores, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        y = (attn @ v + y).transpose(1, 2).contiguous().reshape(b, n, d)
        return self.out(y)


class Rows(Dataset[Tensor]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Tensor:
        return torch.rand(3)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim: int, hidden_dim: int, vocab: int, tags: int):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.hidden2tag = nn.Linear(hidden_dim, tags)

    def forward(self, sentence: Tensor) -> Tensor:
        embeds = self.word_embeddings(sentence)
        out, (h, c) = self.lstm(embeds.view(len(sentence), 1, -1))
        return F.log_softmax(self.hidden2tag(out.view(len(sentence), -1)), dim=1)


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):  # type: ignore[no-untyped-def]
        (input,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[input < 0] = 0
        return grad


folder = sys.argv[1]
model = Attention(8, 2)
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
x = torch.randn(2, 5, 8)
for _ in range(2):
    y_pred = model(x)
    loss = criterion(y_pred, x)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
a = torch.randn((), dtype=torch.float64, requires_grad=True)
b = torch.linspace(-math.pi, math.pi, 2000)
p = b.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
with torch.no_grad():
    a -= 1e-6
    a.grad = None
ep: ExportedProgram = export(model, (x,), dynamic_shapes=({0: Dim("b"), 1: None, 2: None},), strict=False)
for node in ep.graph.nodes:
    print(node.op, node.target, node.args)
lowered = ep.run_decompositions()
m = lowered.module()
print(m(x), ep.graph_signature.input_specs, ep.state_dict.keys())
scripted = torch.jit.trace(model, (x,))
scripted.save(os.path.join(folder, "y.pt"))
loaded = torch.jit.load(os.path.join(folder, "y.pt"))
total = sum(q.numel() for q in model.parameters() if q.requires_grad)
names = [n for n, _ in model.named_parameters()]
u, s, vh = torch.linalg.svd(torch.randn(3, 3))
sol = torch.linalg.solve(torch.eye(3), torch.ones(3, 1))
freq = torch.fft.rfft(torch.randn(8)).abs()
vals, idx = torch.sort(torch.randn(4), descending=True)
st = torch.stack([vals, vals], dim=0).permute(1, 0).flatten().tolist()
w = torch.empty(3, 5).uniform_(-1, 1).normal_(0, 0.02)
torch.manual_seed(0)
probs = F.one_hot(torch.tensor([1, 2]), num_classes=4).float().mean(0).to("cpu").to(torch.float16)
out = torch.einsum("bij,bjk->bik", x, x.transpose(1, 2))
top = x.topk(2, dim=-1).indices.squeeze()
mx = x.max(dim=1).values.cpu().numpy()
k = torch.func.vmap(lambda r: r.sum())(x)
g = torch.func.grad(lambda r: (r**2).sum())(torch.ones(3))
chunks = x.split(2, dim=1)
mesh = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
dev = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
z = torch.zeros(2, 3, device=dev, dtype=torch.long)
emb = nn.Parameter(torch.randn(4))
n2 = x.norm(dim=-1, keepdim=True)
ok = torch.allclose(x, x, atol=1e-6) and torch.equal(x, x)
