# SPDX-License-Identifier: Apache-2.0
"""Layers and functional forms with fixed weights and inputs, and what the real PyTorch gives for them.

Run with an installed PyTorch, this file prints golden_nn.json: `python nn_cases.py > golden_nn.json`. test_nn.py
runs the same
cases with Ingot and compares the printed form, the names in the state_dict, outputs and gradients.
"""

import json
import math

# Class or constructor call, then the shapes of the inputs ("i" first: integers below 5; "p": probabilities; "s":
# signs).
LAYERS = {
    "Linear(4, 3)": [(2, 4)],
    "Linear(4, 3, bias=False)": [(2, 5, 4)],
    "Bilinear(3, 4, 2)": [(5, 3), (5, 4)],
    "Identity(7, a=1)": [(2, 3)],
    "Conv1d(4, 6, 3, padding=1, groups=2)": [(2, 4, 7)],
    "Conv2d(3, 4, 3, stride=2, padding=(1, 2), dilation=(2, 1))": [(2, 3, 9, 8)],
    "Conv2d(4, 4, 3, groups=4, bias=False, padding='same')": [(1, 4, 5, 5)],
    "Conv2d(2, 3, 3, padding=1, padding_mode='reflect')": [(1, 2, 5, 5)],
    "Conv2d(2, 3, 3, padding=1, padding_mode='circular')": [(2, 5, 5)],
    "Conv3d(2, 3, (1, 2, 2))": [(1, 2, 3, 4, 4)],
    "ConvTranspose1d(3, 2, 3, stride=2, output_padding=1)": [(1, 3, 5)],
    "ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2)": [(2, 4, 4, 5)],
    "ConvTranspose3d(2, 2, 2, dilation=2, bias=False)": [(1, 2, 3, 3, 3)],
    "BatchNorm1d(3)": [(4, 3)],
    "BatchNorm2d(3, momentum=None)": [(2, 3, 4, 4)],
    "BatchNorm2d(3, affine=False, track_running_stats=False)": [(2, 3, 2, 2)],
    "BatchNorm3d(2, eps=1e-3)": [(2, 2, 2, 2, 2)],
    "InstanceNorm1d(3)": [(2, 3, 5)],
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": [(2, 3, 4, 4)],
    "InstanceNorm3d(2)": [(2, 2, 3, 3, 3)],
    "LayerNorm(5)": [(2, 3, 5)],
    "LayerNorm((3, 5), elementwise_affine=False)": [(2, 3, 5)],
    "LayerNorm(5, bias=False)": [(2, 5)],
    "GroupNorm(2, 4)": [(2, 4, 3)],
    "RMSNorm(5)": [(2, 5)],
    "RMSNorm((2, 5), eps=1e-3)": [(3, 2, 5)],
    "LocalResponseNorm(3)": [(2, 5, 4, 4)],
    "MaxPool1d(2)": [(2, 3, 7)],
    "MaxPool2d(3, stride=2, padding=1)": [(1, 2, 7, 7)],
    "MaxPool2d((2, 3), ceil_mode=True, dilation=2)": [(1, 2, 8, 9)],
    "MaxPool3d(2)": [(1, 2, 4, 4, 4)],
    "AvgPool1d(3, stride=1, padding=1)": [(1, 2, 6)],
    "AvgPool2d(2, count_include_pad=False, padding=1)": [(1, 2, 5, 5)],
    "AvgPool3d(2)": [(1, 1, 4, 4, 4)],
    "AdaptiveAvgPool1d(3)": [(1, 2, 7)],
    "AdaptiveAvgPool2d((None, 3))": [(1, 2, 5, 7)],
    "AdaptiveAvgPool2d(1)": [(2, 3, 5, 5)],
    "AdaptiveAvgPool3d((1, 2, 2))": [(1, 2, 3, 4, 4)],
    "AdaptiveMaxPool1d(2)": [(1, 2, 7)],
    "AdaptiveMaxPool2d((2, 3))": [(1, 2, 5, 7)],
    "AdaptiveMaxPool3d(2)": [(1, 2, 4, 4, 4)],
    "LPPool1d(2, 3)": [(1, 2, 9)],
    "LPPool2d(2, 2)": [(1, 2, 4, 4)],
    "ReLU()": [(2, 3)],
    "ReLU(inplace=True)": [],
    "ReLU6()": [(2, 3)],
    "ReLU6(True)": [],
    "RReLU(0.1, 0.3)": [],
    "ELU(0.5)": [(2, 3)],
    "CELU(0.7)": [(2, 3)],
    "SELU()": [(2, 3)],
    "GELU()": [(2, 3)],
    "GELU('tanh')": [(2, 3)],
    "GLU()": [(2, 4)],
    "SiLU()": [(2, 3)],
    "Mish()": [(2, 3)],
    "Sigmoid()": [(2, 3)],
    "Tanh()": [(2, 3)],
    "LogSigmoid()": [(2, 3)],
    "Hardtanh(-0.5, 0.25)": [(2, 3)],
    "Hardswish()": [(2, 3)],
    "Hardsigmoid()": [(2, 3)],
    "Hardshrink(0.3)": [(2, 3)],
    "Softshrink(0.3)": [(2, 3)],
    "Softplus(2, 1)": [(2, 3)],
    "Softsign()": [(2, 3)],
    "Tanhshrink()": [(2, 3)],
    "LeakyReLU(0.2)": [(2, 3)],
    "PReLU(3)": [(2, 3)],
    "Threshold(0.1, 20)": [(2, 3)],
    "Softmax(dim=1)": [(2, 3)],
    "Softmin(dim=0)": [(2, 3)],
    "LogSoftmax(dim=-1)": [(2, 3)],
    "Softmax2d()": [(1, 3, 2, 2)],
    "Dropout(0.2)": [(2, 3)],
    "Dropout2d(0.2, inplace=True)": [],
    "AlphaDropout()": [(2, 3)],
    "Embedding(5, 3)": [("i", 2, 4)],
    "Embedding(5, 3, padding_idx=-1)": [("i", 4)],
    "EmbeddingBag(5, 3, mode='sum')": [("i", 2, 4)],
    "RNN(3, 4, 2)": [(5, 2, 3)],
    "RNN(3, 4, nonlinearity='relu', bidirectional=True)": [(5, 2, 3)],
    "LSTM(3, 4, 2, batch_first=True)": [(2, 5, 3)],
    "LSTM(3, 4, bidirectional=True, proj_size=2)": [(5, 2, 3)],
    "LSTM(3, 4, bias=False)": [(5, 3)],
    "GRU(3, 4, num_layers=2, bidirectional=True)": [(5, 2, 3)],
    "RNNCell(3, 4)": [(2, 3)],
    "LSTMCell(3, 4)": [(2, 3)],
    "GRUCell(3, 4)": [(3,)],
    "Flatten()": [(2, 3, 4)],
    "Unflatten(1, (2, 3))": [(2, 6)],
    "Fold((4, 5), (2, 2))": [(1, 8, 12)],
    "Unfold((2, 3), padding=1, stride=2)": [(1, 2, 5, 6)],
    "PixelShuffle(2)": [(1, 4, 2, 3)],
    "PixelUnshuffle(2)": [(1, 1, 4, 6)],
    "ChannelShuffle(2)": [(1, 4, 2, 2)],
    "Upsample(scale_factor=2)": [(1, 2, 3, 3)],
    "Upsample(size=(5, 7), mode='bilinear')": [(1, 2, 3, 3)],
    "Upsample(scale_factor=(1.5, 2), mode='bicubic', align_corners=True)": [(1, 1, 4, 4)],
    "UpsamplingBilinear2d(scale_factor=2)": [(1, 1, 3, 3)],
    "ZeroPad2d((1, 0, 2, 1))": [(1, 1, 2, 3)],
    "ConstantPad1d(2, 3.5)": [(1, 2, 3)],
    "ReflectionPad1d((1, 2))": [(1, 2, 4)],
    "ReflectionPad2d(1)": [(1, 1, 3, 3)],
    "ReplicationPad3d(1)": [(1, 1, 2, 2, 2)],
    "CircularPad2d((1, 1, 0, 1))": [(1, 1, 3, 3)],
    "CosineSimilarity()": [(3, 4), (3, 4)],
    "PairwiseDistance()": [(3, 4), (3, 4)],
    "L1Loss()": [(2, 3), (2, 3)],
    "MSELoss(reduction='sum')": [(2, 3), (2, 3)],
    "SmoothL1Loss(beta=0.5)": [(2, 3), (2, 3)],
    "HuberLoss(delta=0.3)": [(2, 3), (2, 3)],
    "CrossEntropyLoss()": [(3, 5), ("i", 3)],
    "CrossEntropyLoss(label_smoothing=0.1, reduction='none')": [(3, 5, 2), ("i", 3, 2)],
    "NLLLoss(ignore_index=1)": [(3, 5), ("i", 3)],
    "KLDivLoss(reduction='batchmean')": [(2, 3), ("p", 2, 3)],
    "BCELoss()": [("p", 2, 3), ("p", 2, 3)],
    "BCEWithLogitsLoss()": [(2, 3), ("p", 2, 3)],
    "HingeEmbeddingLoss()": [(2, 3), ("s", 2, 3)],
    "SoftMarginLoss()": [(2, 3), ("s", 2, 3)],
    "MultiLabelSoftMarginLoss()": [(2, 3), ("p", 2, 3)],
    "CosineEmbeddingLoss(margin=0.2)": [(3, 4), (3, 4), ("s", 3)],
    "MarginRankingLoss(margin=0.1)": [(3,), (3,), ("s", 3)],
    "TripletMarginLoss()": [(3, 4), (3, 4), (3, 4)],
    "PoissonNLLLoss()": [(2, 3), ("p", 2, 3)],
    "GaussianNLLLoss()": [(2, 3), (2, 3), ("p", 2, 3)],
    "MultiheadAttention(8, 2)": [(3, 2, 8), (4, 2, 8), (4, 2, 8)],
    "MultiheadAttention(8, 2, batch_first=True, kdim=5, vdim=6)": [(2, 3, 8), (2, 4, 5), (2, 4, 6)],
    "MultiheadAttention(8, 4, bias=False, add_bias_kv=True, add_zero_attn=True)": [(3, 2, 8), (3, 2, 8), (3, 2, 8)],
    "TransformerEncoderLayer(8, 2, 16)": [(3, 2, 8)],
    "TransformerEncoderLayer(8, 2, 16, norm_first=True, batch_first=True, activation='gelu')": [(3, 2, 8)],
    "TransformerDecoderLayer(8, 2, 16)": [(3, 2, 8), (4, 2, 8)],
    "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8))": [(3, 2, 8)],
    "Transformer(8, 2, 1, 1, 16)": [(3, 2, 8), (4, 2, 8)],
    "Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2)))": [(2, 4)],
    "ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 2), nn.Conv1d(1, 2, 3)])": [],
    "ModuleDict({'a': nn.ReLU(), 'b': nn.Linear(1, 2)})": [],
}

FUNCTIONS = {
    "F.normalize(x)": [(2, 3)],
    "F.normalize(x, p=1, dim=0)": [(2, 3)],
    "F.pad(x, (1, 2, 0, 1), value=2.0)": [(2, 3)],
    "F.pad(x, (1, 1), mode='replicate')": [(1, 2, 3)],
    "F.one_hot(x, 6)": [("i", 4)],
    "F.softmax(x, 0)": [(2, 3)],
    "F.gumbel_softmax(x).sum(-1)": [(2, 3)],
    "F.interpolate(x, scale_factor=2.0, mode='nearest')": [(1, 2, 3)],
    "F.interpolate(x, size=5, mode='linear', align_corners=False)": [(1, 2, 3)],
    "F.interpolate(x, size=(2, 2), mode='area')": [(1, 1, 4, 6)],
    "F.max_pool2d(x, 2, return_indices=True)": [(1, 1, 4, 4)],
    "F.scaled_dot_product_attention(x, y, z, is_causal=True)": [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)],
    "F.embedding(x, y, padding_idx=0)": [("i", 3), (5, 2)],
    "F.cosine_embedding_loss(x, y, z, margin=0.1, reduction='sum')": [(3, 4), (3, 4), ("s", 3)],
    "F.layer_norm(x, (3,), eps=0.1)": [(2, 3)],
    "F.group_norm(x, 2)": [(2, 4, 3)],
    "F.local_response_norm(x, 2)": [(1, 4, 3)],
    "F.grid_sample(x, y, align_corners=False)": [(1, 1, 3, 3), (1, 2, 2, 2)],
    "F.affine_grid(x, (1, 1, 2, 3), align_corners=True)": [(1, 2, 3)],
    "F.unfold(x, 2)": [(1, 1, 3, 3)],
    "F.kl_div(x, y, reduction='sum', log_target=True)": [(2, 3), (2, 3)],
    "F.triplet_margin_loss(x, y, z, swap=True)": [(2, 3), (2, 3), (2, 3)],
    "F.cross_entropy(x, y)": [(3, 5), ("p", 3, 5)],
    "F.mse_loss(x, y, weight=z)": [(2, 3), (2, 3), ("p", 2, 3)],
}


def wave(torch, shape, phase):
    """Distinct numbers that vary smoothly; sin bounds them."""
    kind = None
    if shape and isinstance(shape[0], str):
        kind, *shape = shape
    count = math.prod(shape)
    values = [math.sin(0.7 * i + 1.3 * phase + 0.01 * i * i) for i in range(count)]
    if kind == "i":
        values = [int(abs(v) * 4.99) for v in values]
    elif kind == "p":
        values = [0.5 + 0.45 * v for v in values]
    elif kind == "s":
        values = [1.0 if v >= 0 else -1.0 for v in values]
    return torch.tensor(values).reshape(list(shape))


def flat_numbers(torch, value):
    """The numbers of tensors in nested tuples."""
    if isinstance(value, torch.Tensor):
        return [round(float(v), 6) for v in value.detach().reshape(-1).tolist()]
    if value is None:
        return []
    return [number for part in value for number in flat_numbers(torch, part)]


def thin(numbers):
    """At most 24 evenly spaced numbers of all, and the sum of all."""
    step = max(1, -(-len(numbers) // 23))
    return numbers[::step] + [round(sum(numbers), 4)]


def total(torch, value):
    if isinstance(value, torch.Tensor):
        return (value.float() * value.float()).sum() if value.is_floating_point() else 0
    return sum(total(torch, v) for v in value if v is not None)


def run_layer(torch, source, shapes):
    """What a layer prints, holds and computes, in training and evaluation mode."""
    nn = torch.nn
    module = eval(f"nn.{source}", {"nn": nn})
    result = {"repr": repr(module), "state": {k: list(v.shape) for k, v in module.state_dict().items()}}
    if not shapes:
        return result
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(wave(torch, tuple(parameter.shape), 10 + number) * 0.4)
    inputs = [wave(torch, shape, number) for number, shape in enumerate(shapes)]
    # Dropout is random; all else is trained as well.
    modes = (False,) if "ropout" in source or "Transformer" in source or "RReLU" in source else (True, False)
    for training in modes:
        module.train(training)
        plain = [not (shape and isinstance(shape[0], str)) for shape in shapes]
        given = [x.clone().requires_grad_() if smooth else x for x, smooth in zip(inputs, plain)]
        out = module(*given)
        result["train" if training else "eval"] = thin(flat_numbers(torch, out))
        loss = total(torch, out)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            module.zero_grad()
            loss.backward()
            grads = [x.grad for x in given if x.requires_grad] + [p.grad for p in module.parameters()]
            result["train_grad" if training else "eval_grad"] = thin(flat_numbers(torch, grads))
    return result


def run_function(torch, source, shapes):
    inputs = dict(zip("xyz", (wave(torch, shape, number) for number, shape in enumerate(shapes))))
    out = eval(source, {"F": torch.nn.functional, **inputs})
    return thin(flat_numbers(torch, out))


def all_cases(torch):
    layers = {source: run_layer(torch, source, shapes) for source, shapes in LAYERS.items()}
    functions = {source: run_function(torch, source, shapes) for source, shapes in FUNCTIONS.items()}
    return {
        "layers": layers,
        "functions": functions,
        "seeds": {source: seeded(torch, source) for source in SEEDED + INITIALIZERS},
    }


SEEDED = [
    "nn.Linear(3, 2)",
    "nn.Conv2d(2, 3, 2)",
    "nn.Embedding(4, 3)",
    "nn.LSTM(2, 3)",
    "nn.GRUCell(2, 3)",
    "nn.Bilinear(2, 2, 2)",
    "nn.MultiheadAttention(4, 2)",
    "nn.TransformerEncoderLayer(4, 2, 8)",
]
INITIALIZERS = [
    "uniform_(t, -2, 3)",
    "normal_(t, 1, 2)",
    "trunc_normal_(t)",
    "trunc_normal_(t, mean=0.5, std=3.0, a=0.0, b=1.0)",
    "xavier_uniform_(t, gain=2)",
    "xavier_normal_(t)",
    "kaiming_uniform_(t, mode='fan_out', nonlinearity='relu')",
    "kaiming_normal_(t, a=0.3)",
    "orthogonal_(t)",
    "sparse_(t, 0.5)",
    "eye_(t)",
    "ones_(t)",
    "constant_(t, 0.3)",
    "zeros_(t)",
]


def seeded(torch, source):
    """Weights after manual_seed: the same random streams in the same order."""
    torch.manual_seed(7)
    if source in SEEDED:
        module = eval(source, {"nn": torch.nn})
        return thin(flat_numbers(torch, list(module.parameters())))
    t = torch.empty(4, 6)
    eval(f"init.{source}", {"init": torch.nn.init, "t": t})
    return thin(flat_numbers(torch, t))


def main():
    import torch

    print(json.dumps(all_cases(torch), indent=0, separators=(",", ":")))


if __name__ == "__main__":
    main()
