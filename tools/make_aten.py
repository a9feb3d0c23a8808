#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/op/aten.tsv from a table of ATen facts (ops.tsv, read out of PyTorch 2.5.1).

    tools/make_aten.py OPS_TSV > src/op/aten.tsv

One row per overload: op, schema, facts, backward. Facts are letters: i implicit composite, c Core ATen, d decomposed by
default, v view, t taken apart whenever a program is traced below autograd, because Python implements it there, s draws
from a generator. Backward is the number of the operator's function in histories (SumBackward1); empty is 0.
"""
import csv
import sys

# Names that PyTorch registers only for TorchScript and that programs name all the same.
ALSO = ("aten::sym_size", "aten::sym_stride")
# Operators with a Python implementation for the Autograd key (OpOverload.py_kernels).
AUTOGRAD = (
    "aten::hardshrink", "aten::softshrink", "aten::multi_margin_loss", "aten::multilabel_margin_loss_forward",
    "aten::upsample_bilinear2d", "aten::upsample_bicubic2d",
)  # fmt: skip
# Where several overloads of a name have derivatives of their own, PyTorch numbers their functions. These are not 0.
BACKWARD = {
    1: (
        "aten::_convolution", "aten::_ctc_loss.Tensor", "aten::_cudnn_ctc_loss.Tensor",
        "aten::_foreach_maximum.ScalarList", "aten::_foreach_minimum.ScalarList", "aten::_foreach_pow.ScalarList",
        "aten::_native_batch_norm_legit.no_stats", "aten::_test_autograd_multiple_dispatch.ntonly",
        "aten::_to_sparse", "aten::acosh_", "aten::add.Scalar", "aten::as_strided_", "aten::asinh_",
        "aten::atanh_", "aten::bernoulli_.Tensor", "aten::celu_", "aten::clamp", "aten::clamp_max.Tensor",
        "aten::clamp_min.Tensor", "aten::conj_physical_", "aten::copysign.Scalar", "aten::div.Scalar",
        "aten::elu_", "aten::eq_.Tensor", "aten::fill.Tensor", "aten::fmod.Tensor", "aten::ge_.Tensor",
        "aten::gt_.Tensor", "aten::index_fill.int_Tensor", "aten::le_.Tensor", "aten::leaky_relu_",
        "aten::lerp.Tensor", "aten::lt_.Tensor", "aten::masked_fill.Tensor", "aten::max", "aten::mean.dim",
        "aten::median.dim", "aten::min", "aten::miopen_ctc_loss.Tensor", "aten::mul.Scalar",
        "aten::nanmedian.dim", "aten::ne_.Tensor", "aten::norm.ScalarOpt_dim", "aten::normal.Tensor_float",
        "aten::polygamma_", "aten::pow.Tensor_Tensor", "aten::prod.dim_int", "aten::random_.to",
        "aten::remainder.Tensor", "aten::round.decimals", "aten::rrelu_with_noise_", "aten::rsub.Scalar",
        "aten::scatter.value", "aten::sort.stable", "aten::special_xlog1py.self_scalar",
        "aten::special_zeta.self_scalar", "aten::squeeze.dim", "aten::sub.Scalar", "aten::sum.dim_IntList",
        "aten::t_", "aten::threshold_", "aten::transpose_", "aten::unsqueeze_", "aten::xlogy.Scalar_Self",
    ),
    2: (
        "aten::_foreach_pow.ScalarAndTensor", "aten::bernoulli_.float", "aten::div.Tensor_mode",
        "aten::fill_.Scalar", "aten::norm.ScalarOpt_dtype", "aten::normal.float_Tensor", "aten::pow.Scalar",
        "aten::random_", "aten::special_xlog1py.other_scalar", "aten::special_zeta.other_scalar",
        "aten::squeeze.dims", "aten::xlogy.Scalar_Other",
    ),
    3: (
        "aten::div.Scalar_mode", "aten::fill_.Tensor", "aten::norm.ScalarOpt_dim_dtype",
        "aten::normal.Tensor_Tensor", "aten::squeeze_",
    ),
    4: (
        "aten::squeeze_.dim",
    ),
    5: (
        "aten::squeeze_.dims",
    ),
}  # fmt: skip
# Operators of later releases, with their facts.
NEWER = (
    (
        "aten::rrelu_with_noise_functional",
        "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
        "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
        "ds",
    ),
)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    number = {op: str(n) for n, ops in BACKWARD.items() for op in ops}
    lines = [(*row, "") for row in NEWER]
    for row in rows:
        scripted = row["kind"] == "TorchScript" and row["op"] not in ALSO
        if not row["op"].startswith("aten::") or scripted:
            continue
        facts = {
            "i": row["kind"] in ("CompositeImplicitAutograd", "TorchScript"),
            "c": row["is_core_aten"] == "1",
            "d": row["has_default_decomp"] == "1",
            "v": row["is_view"] == "1",
            "t": row["py_composite_implicit"] == "1" or row["op"] in AUTOGRAD,
            "s": "nondeterministic_seeded" in row["tags"],
        }
        letters = "".join(k for k, on in facts.items() if on)
        lines.append((row["op"], row["schema"], letters, number.get(row["op"], "")))
    print("op\tschema\tfacts\tbackward")
    for line in sorted(lines):
        print("\t".join(line))


main()
