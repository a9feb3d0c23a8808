# SPDX-License-Identifier: Apache-2.0
"""Layers, functions of nn.functional and corners of the language as scripts: what PyTorch 2.5.1 answered, but for what
is listed here with its reason."""

import pytest

import ingot
from ingot import nn
from records import known_errors, run

PARTS = 3
FIELDS = ("outcome", "values", "grad", "error", "type", "code")
_REASONS = {
    "nn.CrossMapLRN2d does not exist": [f"l_CMN {field}" for field in ("outcome", "values", "grad", "type", "code")],
    "nn.SyncBatchNorm does not exist": ["l_SBN error"],
    "an assertion inside of PyTorch": ["l_MU2 error"],
    "PyTorch names its built-in function instead": ["o_modulelist_zip error"],
    "attention is written in our own form": [
        *(f"l_{name} code" for name in ("MHA", "MHAk", "MHAb", "TEL", "TELbf", "TE", "TDL", "TD", "T")),
        "l_MHAbf outcome",  # without biases: PyTorch cannot compile its own
        "l_MHAbf error",
    ],
}
KNOWN = {key: why for why, keys in _REASONS.items() for key in keys}


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    found = run("script_replay.py", "script_layers.jsonl.gz", f"{part}/{PARTS}")
    assert found
    assert not known_errors({key: row for key, row in found.items() if key.split(" ", 1)[1] in FIELDS}, KNOWN)


_OPTIONS = [{}, {"batch_first": True}, {"bias": False}, {"add_bias_kv": True, "add_zero_attn": True}]


@pytest.mark.parametrize("options", _OPTIONS, ids=str)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_attention_is_that_of_the_layer(options: dict, need_weights: bool, batched: bool) -> None:
    layer = nn.MultiheadAttention(8, 2, **options).eval()
    script = ingot.jit.script(layer)
    x, y = ingot.randn(5, *[5] * batched, 8), ingot.randn(5, *[5] * batched, 8)
    triangle = ingot.triu(ingot.ones(5, 5), 1).to(ingot.bool)
    padding = ingot.zeros(*[5] * batched, 5, dtype=ingot.bool)
    padding[..., -1] = True
    for inputs in ((x, x, x), (x, y, y), (x, y, x)):
        for masks in (
            {},
            {"attn_mask": triangle, "is_causal": True},
            {"attn_mask": triangle, "key_padding_mask": padding},
        ):
            expected = layer(*inputs, need_weights=need_weights, **masks)
            found = script(*inputs, need_weights=need_weights, **masks)
            ingot.testing.assert_close(found[0], expected[0])
            assert (found[1] is None) == (not need_weights)
            if need_weights:
                ingot.testing.assert_close(found[1], expected[1])


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_transformer_is_that_of_the_layer(norm_first: bool, batch_first: bool) -> None:
    layer = nn.Transformer(8, 2, 2, 2, 16, norm_first=norm_first, batch_first=batch_first).eval()
    script = ingot.jit.script(layer)
    source, target = ingot.randn(4, 4, 8), ingot.randn(4, 4, 8)
    triangle = nn.Transformer.generate_square_subsequent_mask(4)
    for masks in ({}, {"tgt_mask": triangle}, {"src_mask": triangle, "tgt_mask": triangle}):
        ingot.testing.assert_close(script(source, target, **masks), layer(source, target, **masks))
