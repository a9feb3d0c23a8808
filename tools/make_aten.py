#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/op/aten.tsv from a table of ATen facts (ops.tsv, read out of PyTorch 2.5.1).

    tools/make_aten.py OPS_TSV > src/op/aten.tsv

One row per overload: op, schema, facts, backward, lists. Facts are letters: i implicit composite, c Core ATen,
d decomposed by default, v view, t taken apart whenever a program is traced below autograd, because Python implements it
there, s draws from a generator, n has no derivative, m is bound in torch._C._nn, p has a method of Tensor that PyTorch
writes in Python; and what PyTorch's partitioner of joint graphs assumes: r may be computed again in the backward graph,
w is a view that costs nothing, u is part of a fused kernel but never computed again; o shares the kernel of its out
form; f is a function of torch. Backward is the number of the operator's function in histories (SumBackward1); empty is 0. Lists names the
arguments whose length is not the one of the schema: "dim*" may have any number of elements, "stride?" none.
"""
import csv
import re
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
# Operators that PyTorch has no derivative for (no entry in its derivatives.yaml, and no composition of others): results
# of operands that require gradients have a history that refuses to run backward.
NO_DERIVATIVE = frozenset((
    "aten::_add_relu.Scalar", "aten::_add_relu.Tensor", "aten::_add_relu_.Scalar", "aten::_add_relu_.Tensor",
    "aten::_addmm_activation", "aten::_aminmax", "aten::_aminmax.dim", "aten::_cholesky_solve_helper",
    "aten::_chunk_cat", "aten::_compute_linear_combination", "aten::_convert_indices_from_coo_to_csr",
    "aten::_convert_indices_from_csr_to_coo", "aten::_copy_from", "aten::_copy_from_and_resize",
    "aten::_ctc_loss_backward", "aten::_ctc_loss_backward.Tensor", "aten::_dirichlet_grad",
    "aten::_embedding_bag_forward_only", "aten::_embedding_bag_per_sample_weights_backward",
    "aten::_empty_per_channel_affine_quantized", "aten::_fake_quantize_learnable_per_channel_affine_backward",
    "aten::_fake_quantize_learnable_per_tensor_affine_backward", "aten::_histogramdd_bin_edges",
    "aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors", "aten::_int_mm",
    "aten::_linalg_eigvals", "aten::_logcumsumexp", "aten::_masked_scale", "aten::_masked_softmax_backward",
    "aten::_native_multi_head_attention", "aten::_sample_dirichlet",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward", "aten::_scaled_mm",
    "aten::_segment_reduce_backward", "aten::_stack", "aten::_thnn_fused_gru_cell_backward",
    "aten::_thnn_fused_lstm_cell_backward_impl", "aten::_transformer_encoder_layer_fwd",
    "aten::_weight_norm_interface_backward", "aten::aminmax", "aten::batch_norm_backward_elemt",
    "aten::batch_norm_backward_reduce", "aten::batch_norm_elemt", "aten::batch_norm_gather_stats",
    "aten::batch_norm_gather_stats_with_counts", "aten::batch_norm_stats", "aten::batch_norm_update_stats",
    "aten::bernoulli.p", "aten::bincount", "aten::binomial", "aten::bitwise_and.Scalar",
    "aten::bitwise_and.Scalar_Tensor", "aten::bitwise_and.Tensor", "aten::bitwise_and_.Scalar",
    "aten::bitwise_and_.Tensor", "aten::bitwise_left_shift.Scalar_Tensor", "aten::bitwise_left_shift.Tensor",
    "aten::bitwise_left_shift.Tensor_Scalar", "aten::bitwise_left_shift_.Tensor",
    "aten::bitwise_left_shift_.Tensor_Scalar", "aten::bitwise_not", "aten::bitwise_not_",
    "aten::bitwise_or.Scalar", "aten::bitwise_or.Scalar_Tensor", "aten::bitwise_or.Tensor",
    "aten::bitwise_or_.Scalar", "aten::bitwise_or_.Tensor", "aten::bitwise_right_shift.Scalar_Tensor",
    "aten::bitwise_right_shift.Tensor", "aten::bitwise_right_shift.Tensor_Scalar",
    "aten::bitwise_right_shift_.Tensor", "aten::bitwise_right_shift_.Tensor_Scalar", "aten::bitwise_xor.Scalar",
    "aten::bitwise_xor.Scalar_Tensor", "aten::bitwise_xor.Tensor", "aten::bitwise_xor_.Scalar",
    "aten::bitwise_xor_.Tensor", "aten::copy", "aten::dequantize.self", "aten::dequantize.tensors",
    "aten::empty_quantized", "aten::floor_divide", "aten::floor_divide.Scalar", "aten::floor_divide_.Scalar",
    "aten::floor_divide_.Tensor", "aten::gcd", "aten::gcd_", "aten::glu_backward_jvp", "aten::glu_jvp",
    "aten::grid_sampler_2d_backward", "aten::grid_sampler_3d_backward", "aten::hardsigmoid_backward",
    "aten::heaviside", "aten::heaviside_", "aten::histogram.bin_ct", "aten::histogram.bins_tensor",
    "aten::int_repr", "aten::lcm", "aten::lcm_", "aten::linalg_ldl_factor_ex", "aten::linalg_ldl_solve",
    "aten::logit_backward", "aten::matmul_backward", "aten::multi_margin_loss_backward",
    "aten::multilabel_margin_loss_backward", "aten::narrow_copy", "aten::native_group_norm_backward",
    "aten::native_norm", "aten::native_norm.ScalarOpt_dim_dtype", "aten::nonzero_static",
    "aten::normal_functional", "aten::q_per_channel_scales", "aten::q_per_channel_zero_points",
    "aten::quantize_per_tensor_dynamic", "aten::remainder.Scalar_Tensor", "aten::repeat_interleave.Tensor",
    "aten::resize", "aten::resize_as", "aten::scatter.reduce", "aten::scatter.value_reduce",
    "aten::scatter_.reduce", "aten::scatter_.value_reduce",
))  # fmt: skip
# Functions in torch._C._nn; none of them is in torch, too.
NN = frozenset((
    "_conv_depthwise2d", "_pad_circular", "_pad_enum", "_test_ambiguous_defaults", "_test_optional_filled_intlist",
    "_test_optional_floatlist", "_test_optional_intlist", "_test_string_default", "_test_warn_in_autograd",
    "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
    "_upsample_nearest_exact3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool2d", "avg_pool3d", "binary_cross_entropy", "col2im", "conv_depthwise3d",
    "cross_entropy_loss", "elu", "elu_", "flatten_dense_tensors", "fractional_max_pool2d", "fractional_max_pool3d",
    "gelu", "gelu_", "glu", "hardsigmoid", "hardsigmoid_", "hardswish", "hardswish_", "hardtanh", "hardtanh_",
    "huber_loss", "im2col", "l1_loss", "leaky_relu", "leaky_relu_", "linear", "log_sigmoid",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "max_unpool2d", "max_unpool3d", "mish", "mish_",
    "mkldnn_linear", "mkldnn_reorder_conv2d_weight", "mkldnn_reorder_conv3d_weight", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "nll_loss", "nll_loss2d", "nll_loss_nd", "one_hot", "pad", "pad_sequence",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "relu6", "relu6_", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "rrelu_with_noise", "rrelu_with_noise_", "scaled_dot_product_attention",
    "silu", "silu_", "slow_conv3d", "slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d",
    "slow_conv_transpose3d", "smooth_l1_loss", "soft_margin_loss", "softplus", "softshrink", "thnn_conv2d",
    "unflatten_dense_tensors", "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
    "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d",
))  # fmt: skip
# Methods of Tensor in torch/_tensor.py that call the operator of the same name.
PYTHON_METHODS = ("aten::unflatten.int", "aten::unflatten.Dimname")
# What PyTorch's min-cut partitioner may compute again, besides the pointwise operators: by name, all overloads.
RECOMPUTED = frozenset((
    "__and__", "__or__", "_grad_sum_to_size", "_to_copy", "_unsafe_view", "alias", "amax", "any", "arange", "argmax",
    "as_strided", "broadcast_tensors", "empty", "empty_like", "expand", "full", "full_like", "gather", "index",
    "lift_fresh_copy", "mean", "new_zeros", "ones", "permute", "reshape", "scalar_tensor", "select", "slice",
    "softplus", "squeeze", "std", "sum", "sum_to_size", "t", "threshold", "to", "triu", "type_as", "unsqueeze", "var",
    "var_mean", "view", "zeros", "zeros_like",
))  # fmt: skip
NOT_RECOMPUTED = frozenset(("equal", "float_power", "ldexp", "ldexp_", "polygamma_"))  # though they are pointwise
FREE_VIEWS = frozenset((
    "slice", "unsqueeze", "t", "permute", "as_strided", "view", "alias", "expand", "squeeze",
))  # fmt: skip
FUSED = frozenset(("native_dropout", "rand_like", "randn_like"))
# Operators of later releases, with their facts.
NEWER = (
    (
        "aten::rrelu_with_noise_functional",
        "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
        "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
        "ds",
    ),
)


def name_of(op: str) -> str:
    return op.partition("::")[2].partition(".")[0]

# Public operators that are methods of Tensor alone, or no part of PyTorch's interface.
METHODS = frozenset("""
    absolute_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addr_ alias align_as align_to arctan2_ atan2_ baddbmm_
    bernoulli_ bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ cauchy
    cauchy_ ccol_indices coalesce col_indices contiguous convolution_backward_overrideable convolution_overrideable
    copy copy_ copy_sparse_to_sparse copy_sparse_to_sparse_ copysign_ crow_indices cumprod_ cumsum_ data dense_dim
    digamma_ div_ divide_ embedding_renorm eq_ erfinv_ expand expand_as exponential exponential_
    fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask fill_diagonal_ float_power_
    floor_divide_ fmod_ ge_ geometric geometric_ get_gradients glu_backward_jvp glu_jvp greater_ greater_equal_ gt_
    heaviside_ hypot_ igamma_ igammac_ index index_add_ index_copy_ index_fill_ index_reduce_ indices is_coalesced
    is_leaf is_pinned is_set_to item le_ lerp_ less_ less_equal_ lgamma_ lift lift_fresh lift_fresh_copy log_normal
    log_normal_ log_sigmoid_forward logical_and_ logical_not_ logical_or_ logical_xor_ lt_ mH mT masked_fill_
    masked_scatter_ matrix_H mkldnn_linear_backward_input mul_ multilabel_margin_loss_forward multiply_ mvlgamma_
    ne_ nested_to_padded_tensor new_empty new_empty_strided new_full new_ones new_zeros nextafter_
    nll_loss2d_forward nll_loss_forward nonzero_numpy normal_ normal_functional not_equal_ numpy_T output_nr
    pin_memory polygamma_ pow_ put_ random_ record_stream refine_names remainder_ rename rename_ renorm_ repeat
    requires_grad_ reshape_as resize resize_ resize_as resize_as_sparse retain_grad retains_grad row_indices
    rrelu_with_noise_functional scatter_ scatter_add_ scatter_reduce_ set set_ set_data sgn_ sign_ size slice
    slow_conv3d_forward sparse_dim sparse_mask sparse_resize sparse_resize_ sparse_resize_and_clear
    sparse_resize_and_clear_ sparse_sampled_addmm squeeze_ stride sub_ subtract_ sum_to_size swapaxes_ swapdims_
    sym_numel sym_size sym_storage_offset sym_stride t_ to to_dense to_mkldnn to_padded_tensor to_sparse
    to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr transpose_ tril_ triu_ true_divide_ type_as unfold
    uniform uniform_ unique_dim unique_dim_consecutive unsqueeze_ values view view_as zero
""".split())


def is_function(name: str) -> bool:
    """Whether PyTorch has torch.NAME."""
    hidden = name.startswith(("_", "linalg_", "fft_", "special_")) or name.endswith("_backward")
    return not hidden and name not in NN and name not in METHODS


def lists_of(op: str, schema: str) -> str:
    """A list of one dimension may have any number of them, and so may lists beside it (shifts of roll, s of an FFT).
    The stride of pooling may be empty: then it is the size of the kernel."""
    name = name_of(op)
    text = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    args = re.findall(r"(\w+)\[(\d+)\]\??\(?[^ ]* (\w+)|[^ ,(]+ (\w+)", text)
    names = {a[2] or a[3] for a in args}
    found = []
    for _, length, arg, _ in args:
        if length == "1" and names & {"dim", "dims"}:
            found.append(f"{arg}*")
        if arg == "stride" and "pool" in name and "unpool" not in name:
            found.append(f"{arg}?")
    return " ".join(found)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    number = {op: str(n) for n, ops in BACKWARD.items() for op in ops}
    lines = [(*row, "", "") for row in NEWER]
    pointwise = {name_of(row["op"]) for row in rows if "pointwise" in row["tags"]}
    recomputed = (pointwise | RECOMPUTED) - NOT_RECOMPUTED
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
            "n": row["op"] in NO_DERIVATIVE,
            "m": name_of(row["op"]) in NN,
            "p": row["op"] in PYTHON_METHODS,
            "r": name_of(row["op"]) in recomputed,
            "w": name_of(row["op"]) in FREE_VIEWS,
            "u": name_of(row["op"]) in FUSED,
            "o": "CompositeExplicitAutogradNonFunctional" in row["keys"],
            "f": is_function(name_of(row["op"])),
        }
        letters = "".join(k for k, on in facts.items() if on)
        lines.append((row["op"], row["schema"], letters, number.get(row["op"], ""), lists_of(row["op"], row["schema"])))
    print("op\tschema\tfacts\tbackward\tlists")
    for line in sorted(lines):
        print("\t".join(line))


main()
