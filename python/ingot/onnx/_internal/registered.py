# SPDX-License-Identifier: Apache-2.0
"""The operators that PyTorch's TorchScript exporter has translations for, each with the opsets in which a translation
was added or changed. Ingot translates more; a user's code asks this table, and ATen fallback follows it."""

from __future__ import annotations

TABLE = """
aten::Delete 11; aten::__and_ 9,18; aten::__contains_ 9; aten::__derive_index 9; aten::__getitem_ 9,11;
aten::__interpolate 8,9,10,11; aten::__is_ 9,15; aten::__isnot_ 9,15; aten::__lshift_ 9,11; aten::__not_ 9;
aten::__or_ 9; aten::__range_length 9; aten::__rshift_ 9,11; aten::__xor_ 9; aten::_cast_Bool 9; aten::_cast_Byte 9;
aten::_cast_Char 9; aten::_cast_Double 9; aten::_cast_Float 9; aten::_cast_Half 9; aten::_cast_Int 9;
aten::_cast_Long 9; aten::_cast_Short 9; aten::_conj 9; aten::_convolution 9; aten::_convolution_mode 9;
aten::_dim_arange 9,11; aten::_floor_divide 10; aten::_log_softmax 9; aten::_pack_padded_sequence 9;
aten::_pad_packed_sequence 9; aten::_reshape_from_tensor 9; aten::_sample_dirichlet 9; aten::_set_item 11;
aten::_shape_as_tensor 9; aten::_standard_gamma 9; aten::_unique 9; aten::_unique2 9,11; aten::_weight_norm 9;
aten::abs 9; aten::acos 9; aten::adaptive_avg_pool1d 9; aten::adaptive_avg_pool2d 9; aten::adaptive_avg_pool3d 9;
aten::adaptive_max_pool1d 7,9; aten::adaptive_max_pool2d 7,9; aten::adaptive_max_pool3d 7,9; aten::add 9,11;
aten::addcmul 9; aten::addmm 8,9; aten::affine_grid_generator 20; aten::alias 9; aten::all 8,9;
aten::alpha_dropout 9; aten::alpha_dropout_ 9; aten::amax 9,18; aten::amin 9,18; aten::aminmax 9,18; aten::any 8,9;
aten::append 11; aten::arange 8,9,11; aten::argmax 9,12; aten::argmin 9,12; aten::argsort 11; aten::as_strided 9;
aten::as_tensor 9; aten::asin 9; aten::atan 9; aten::atan2 9; aten::atleast_1d 11; aten::atleast_2d 11;
aten::atleast_3d 11; aten::avg_pool1d 9,10; aten::avg_pool2d 9,10; aten::avg_pool3d 9,10; aten::baddbmm 9;
aten::batch_norm 9,14; aten::bernoulli 9,15; aten::binary_cross_entropy_with_logits 12; aten::bitwise_and 18;
aten::bitwise_left_shift 11; aten::bitwise_not 9; aten::bitwise_or 9; aten::bitwise_right_shift 11; aten::bmm 8,9;
aten::broadcast_tensors 9; aten::broadcast_to 9; aten::bucketize 9; aten::cat 9,11; aten::cdist 9; aten::ceil 9;
aten::celu 12; aten::chunk 11; aten::clamp 9,11; aten::clamp_max 9,11; aten::clamp_min 9,11; aten::clone 9;
aten::col2im 18; aten::conj_physical 9; aten::constant_pad_nd 9,11; aten::contiguous 9; aten::conv1d 9;
aten::conv2d 9; aten::conv3d 9; aten::conv_tbc 9; aten::conv_transpose1d 9; aten::conv_transpose2d 9;
aten::conv_transpose3d 9; aten::convolution 9; aten::cos 9; aten::cosine_similarity 9; aten::cross 9;
aten::cross_entropy_loss 12; aten::cumsum 9,11; aten::dequantize 10; aten::detach 9; aten::diagonal 13; aten::dim 9;
aten::div 9,10; aten::dot 9; aten::dropout 9,12; aten::dropout_ 9; aten::einsum 12; aten::elu 9; aten::embedding 9;
aten::embedding_bag 9,10,11,18; aten::embedding_renorm 11; aten::empty 8,9; aten::empty_like 8,9; aten::eq 9;
aten::erf 8,9; aten::exp 9; aten::expand 7,9; aten::expand_as 7,9; aten::eye 9;
aten::fake_quantize_per_channel_affine 13; aten::fake_quantize_per_tensor_affine 10,13;
aten::feature_alpha_dropout 9; aten::feature_alpha_dropout_ 9; aten::feature_dropout 9; aten::feature_dropout_ 9;
aten::fill 9; aten::flatten 8,9,11; aten::flip 10; aten::floor 9; aten::floor_divide 9; aten::floordiv 9;
aten::fmod 10; aten::frobenius_norm 9,13; aten::full 8,9; aten::full_like 8,9; aten::gather 8,9,11; aten::ge 9,12;
aten::gelu 9,20; aten::get_pool_ceil_padding 9; aten::glu 9,18; aten::grid_sampler 16,20; aten::group_norm 9;
aten::gru 9; aten::gt 8,9; aten::hann_window 9; aten::hardshrink 9; aten::hardsigmoid 9; aten::hardswish 9,14;
aten::hardtanh 9,11; aten::hstack 11; aten::im2col 11; aten::index 9,11; aten::index_add 9; aten::index_copy 8,9,11;
aten::index_fill 8,9,11; aten::index_put 9,11; aten::index_select 9; aten::insert 11; aten::instance_norm 9;
aten::is_floating_point 9; aten::is_pinned 9; aten::isfinite 10; aten::isinf 10; aten::isnan 8,9; aten::item 9;
aten::kl_div 9; aten::layer_norm 9,17; aten::le 9,12; aten::leaky_relu 9; aten::len 9,11; aten::lerp 9; aten::lift 9;
aten::linalg_cross 9; aten::linalg_det 11; aten::linalg_matrix_norm 9,18; aten::linalg_norm 9;
aten::linalg_vector_norm 9,11,18; aten::linear 9; aten::linspace 9; aten::list 9; aten::log 9; aten::log10 9;
aten::log1p 9; aten::log2 9; aten::log_sigmoid 9; aten::log_softmax 9,13; aten::logdet 11; aten::logical_and 9;
aten::logical_not 9; aten::logical_or 9; aten::logical_xor 9; aten::logit 9; aten::logsumexp 9,18; aten::lstm 9;
aten::lstm_cell 9; aten::lt 8,9; aten::masked_fill 8,9; aten::masked_fill_ 9; aten::masked_scatter 11;
aten::masked_select 11; aten::matmul 8,9; aten::max 7,9,18; aten::max_pool1d 9,10;
aten::max_pool1d_with_indices 7,9,10; aten::max_pool2d 9,10; aten::max_pool2d_with_indices 7,9,10;
aten::max_pool3d 9,10; aten::max_pool3d_with_indices 7,9,10; aten::maximum 9,18; aten::mean 9,18; aten::meshgrid 7,9;
aten::min 7,9,18; aten::minimum 9,18; aten::mish 9; aten::mm 8,9,11; aten::movedim 9; aten::mse_loss 9; aten::mul 9;
aten::multinomial 9; aten::mv 9; aten::nan_to_num 10; aten::narrow 9,11; aten::native_dropout 12;
aten::native_layer_norm 9,18; aten::ne 9; aten::neg 9; aten::new_empty 9; aten::new_full 9; aten::new_ones 9;
aten::new_zeros 9; aten::nll_loss 12; aten::nll_loss2d 12; aten::nll_loss_nd 12; aten::nonzero 8,9;
aten::nonzero_numpy 9,13; aten::norm 9; aten::normal 11; aten::numel 9; aten::numpy_T 9; aten::one_hot 9;
aten::ones 8,9; aten::ones_like 8,9; aten::outer 12; aten::pad 9,11; aten::pairwise_distance 9; aten::permute 9;
aten::pixel_shuffle 9,11; aten::pixel_unshuffle 9; aten::pop 11; aten::pow 9,12; aten::prelu 8,9; aten::prod 9,18;
aten::quantize_per_tensor 10; aten::rand 9; aten::rand_like 9; aten::randint 9; aten::randint_like 9; aten::randn 9;
aten::randn_like 9; aten::reciprocal 9; aten::reflection_pad1d 9,11; aten::reflection_pad2d 9,11;
aten::reflection_pad3d 9,11; aten::relu 9; aten::relu6 9,11; aten::remainder 9,11; aten::repeat 8,9;
aten::repeat_interleave 8,9,13; aten::replication_pad1d 9,11; aten::replication_pad2d 9,11;
aten::replication_pad3d 9,11; aten::reshape 9,14; aten::reshape_as 9; aten::resolve_conj 9; aten::resolve_neg 9;
aten::rnn_relu 9; aten::rnn_tanh 9; aten::roll 9; aten::round 11; aten::rrelu 9; aten::rsqrt 9; aten::rsub 9;
aten::scalar_tensor 9; aten::scaled_dot_product_attention 14; aten::scan 7; aten::scatter 8,9,11;
aten::scatter_add 8,9,16; aten::scatter_reduce 16; aten::select 9,11; aten::selu 9; aten::sigmoid 9; aten::sign 8,9;
aten::silu 9; aten::sin 9; aten::size 9,11; aten::slice 9,10; aten::softmax 9,13; aten::softplus 9;
aten::softshrink 9; aten::sort 9,10,11; aten::split 9,11,13; aten::split_with_sizes 9,11,13; aten::sqrt 9;
aten::square 9; aten::squeeze 9,11; aten::stack 9,11; aten::std 9; aten::std_mean 9; aten::stft 17; aten::sub 9;
aten::sum 9,13; aten::t 9; aten::take 9; aten::tan 9; aten::tanh 9; aten::tanhshrink 9; aten::tensor 9;
aten::tensor_split 13; aten::tensordot 12; aten::threshold 9; aten::tile 13; aten::to 9; aten::topk 9,10,11;
aten::transpose 9; aten::tril 14; aten::triu 14; aten::true_divide 9; aten::type_as 9; aten::unbind 9,11,13;
aten::unflatten 13; aten::unfold 9,12; aten::unique_dim 11; aten::unsafe_chunk 9,13; aten::unsafe_split 9,13;
aten::unsafe_split_with_sizes 9,13; aten::unsqueeze 9,11; aten::upsample_bicubic2d 11;
aten::upsample_bilinear2d 8,9,10,11; aten::upsample_linear1d 8,9,10,11; aten::upsample_nearest1d 8,9,10,11;
aten::upsample_nearest2d 8,9,10,11; aten::upsample_nearest3d 8,9,10,11; aten::upsample_trilinear3d 8,9,10,11;
aten::var 9; aten::var_mean 9,18; aten::view 9; aten::view_as 9; aten::vstack 11; aten::where 8,9,13; aten::zero 9;
aten::zeros 8,9; aten::zeros_like 8,9; onnx::Placeholder 9; prim::Constant 9; prim::ConstantChunk 9,11;
prim::ConstantSplit 9; prim::If 9; prim::ListConstruct 9; prim::ListUnpack 9; prim::Loop 9; prim::TupleConstruct 9;
prim::Uninitialized 9; prim::convert_element_type 9; prim::data 9; prim::device 9; prim::dtype 9; prim::layout 9;
prim::max 9; prim::min 9; prim::shape 9; prim::tolist 9; prim::type 9; prim::unchecked_cast 9,15; quantized::add 10;
quantized::add_relu 10; quantized::cat 10; quantized::conv1d 10,13; quantized::conv1d_relu 10,13;
quantized::conv2d 10,13; quantized::conv2d_relu 10,13; quantized::conv3d 10,13; quantized::conv3d_relu 10,13;
quantized::conv_transpose1d 10,13; quantized::conv_transpose2d 10,13; quantized::conv_transpose3d 10,13;
quantized::group_norm 10; quantized::hardswish 10,14; quantized::instance_norm 10; quantized::layer_norm 10,17;
quantized::leaky_relu 10; quantized::linear 10,13; quantized::linear_relu 10,13; quantized::mul 10;
quantized::sigmoid 10;
"""
