# SPDX-License-Identifier: Apache-2.0
"""Quantization of a model in place of its modules: prepare adds observers, convert swaps modules."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import ingot
from ingot import nn
from ingot.ao.nn import quantizable as nnz
from ingot.ao.nn import quantized as nnq
from ingot.ao.nn.intrinsic import _FusedModule
from ingot.ao.quantization import quantization_mappings as _maps
from ingot.ao.quantization.observer import _is_activation_post_process
from ingot.ao.quantization.qconfig import (
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)  # fmt: skip
from ingot.ao.quantization.stubs import DeQuantStub, QuantWrapper
from ingot.ao.quantization.utils import has_no_children_ignoring_parametrizations

__all__ = [
    "add_quant_dequant", "convert", "get_default_custom_config_dict", "prepare", "prepare_qat", "propagate_qconfig_",
    "quantize", "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip


def get_default_custom_config_dict() -> dict[str, Any]:
    """Classes of the user's that are observed and quantized by classes of their own."""
    return {
        "float_to_observed_custom_module_class": {
            nn.LSTM: nnz.LSTM, nn.MultiheadAttention: nnz.MultiheadAttention,
        },
        "observed_to_quantized_custom_module_class": {
            nnz.LSTM: nnq.LSTM, nnz.MultiheadAttention: nnq.MultiheadAttention,
        },
    }  # fmt: skip


# ---- settings


def _propagate(module: Any, settings: dict[Any, Any], parent: Any, prefix: str, custom: dict[str, Any]) -> None:
    qconfig = settings.get(type(module), parent)
    qconfig = settings.get(prefix, qconfig)
    qconfig = getattr(module, "qconfig", qconfig)
    _assert_valid_qconfig(qconfig, module)
    module.qconfig = qconfig
    for name, child in module.named_children():
        path = prefix + "." + name if prefix else name
        if path in custom.get("non_traceable_module_name", []):
            continue
        if type(child) in custom.get("non_traceable_module_class", []):
            continue
        _propagate(child, settings, qconfig, path, custom)


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Gives every module the settings of its parent, of its class or of its name."""
    settings = dict(qconfig_dict or {})
    _propagate(module, settings, settings.get("", None), "", prepare_custom_config_dict or {})


# ---- observers


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _is_memoryless(qconfig: Any) -> bool:
    """Is the activation observed anew by every call, as dynamic quantization does?"""
    made = qconfig.activation()
    seen = getattr(made, "activation_post_process", made)
    return getattr(seen, "averaging_constant", None) == 1


def _is_observed(m: Any) -> bool:
    return getattr(m, "qconfig", None) is not None


def _insert_observer(m: Any, special: Any = None) -> None:
    if not _is_observed(m) or isinstance(m, DeQuantStub):
        return
    m.add_module("activation_post_process", m.qconfig.activation() if special is None else special())
    if _is_memoryless(m.qconfig):
        m.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        m.register_forward_hook(_observer_forward_hook, prepend=True)


def _add_observer_(module: Any, leaves: Any = None, non_leaves: Any = None, custom: Any = None) -> None:
    leaves = _maps.get_default_qconfig_propagation_list() if leaves is None else leaves
    custom = custom or {}
    for name, child in module.named_children():
        kind = type(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (nnq.FloatFunctional, nnq.QFunctional)):
            if _is_observed(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _FusedModule) or (non_leaves is not None and kind in non_leaves):
            _insert_observer(child)
        elif _maps._get_special_act_post_process(child) is not None:
            _insert_observer(child, _maps._get_special_act_post_process(child))
        elif _is_observed(child) and kind in custom:
            observed = custom[kind].from_float(child)
            setattr(module, name, observed)
            if type(observed) not in _maps.no_observer_set():
                _insert_observer(observed)
        else:
            _add_observer_(child, leaves, non_leaves, custom)
    if isinstance(module, nn.Sequential) or type(module) not in leaves:
        return
    if has_no_children_ignoring_parametrizations(module) or hasattr(module, "weight_fake_quant"):
        _insert_observer(module)


def add_quant_dequant(module: Any) -> Any:
    """Puts every leaf that has settings between a QuantStub and a DeQuantStub."""
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """Adds observers. Run the result on examples, then convert() it."""
    custom = get_default_custom_config_dict() if prepare_custom_config_dict is None else prepare_custom_config_dict
    if not inplace:
        model = copy.deepcopy(model)
    leaves = _maps.get_default_qconfig_propagation_list() if allow_list is None else allow_list
    propagate_qconfig_(model, qconfig_dict=None)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you "
            "passed correct configuration through `qconfig_dict` or "
            "by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    _add_observer_(
        model, leaves, observer_non_leaf_module_list, custom.get("float_to_observed_custom_module_class", {})
    )
    return model


def _remove_activation_post_process(module: Any) -> None:
    if hasattr(module, "activation_post_process") and _is_activation_post_process(module.activation_post_process):
        delattr(module, "activation_post_process")
    for hooks, mine in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):
        for key in [k for k, hook in hooks.items() if hook is mine]:
            hooks.pop(key)


def _remove_qconfig(module: Any) -> None:
    """Takes settings and observers off a converted model."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    _remove_activation_post_process(module)


def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Prepares, runs run_fn(model, *run_args) and converts."""
    if mapping is None:
        mapping = _maps.get_default_static_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping, inplace=True)
    return model


def _dynamic_settings(qconfig_spec: Any, dtype: Any) -> Any:
    if qconfig_spec is None:
        layers = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
        if dtype is ingot.qint8:
            return dict.fromkeys(layers, default_dynamic_qconfig)
        if dtype is ingot.float16:
            return dict.fromkeys(layers, float16_dynamic_qconfig)
        if dtype is ingot.quint8:
            return dict.fromkeys((nn.EmbeddingBag, nn.Embedding), float_qparams_weight_only_qconfig)
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    if isinstance(qconfig_spec, set):
        usual = {
            ingot.qint8: default_dynamic_qconfig,
            ingot.float16: float16_dynamic_qconfig,
            ingot.quint8: float_qparams_weight_only_qconfig,
        }
        if dtype not in usual:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        return dict.fromkeys(qconfig_spec, usual[dtype])
    return qconfig_spec


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = ingot.qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """Weights are quantized now, activations by every call."""
    settings = _dynamic_settings(qconfig_spec, dtype)
    if mapping is None:
        mapping = _maps.get_default_dynamic_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, settings)
    convert(model, mapping, inplace=True)
    return model


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Swaps modules for those that train with fake quantization."""
    assert model.training, "prepare_qat only works on models in training mode"
    if mapping is None:
        mapping = _maps.get_default_qat_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, qconfig_dict=None)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


def convert(
    module: Any, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
    convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """Swaps every module that the mapping names for its quantized counterpart."""
    if is_reference:
        raise NotImplementedError("convert(is_reference=True): reference modules are not supported")
    if not inplace:
        module = copy.deepcopy(module)
    if mapping is None:
        mapping = _maps.get_default_static_quant_module_mappings()
    settings = get_default_custom_config_dict() if convert_custom_config_dict is None else convert_custom_config_dict
    custom = settings.get("observed_to_quantized_custom_module_class", {})
    _convert(module, mapping, custom)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(module: Any, mapping: Any, custom: Any) -> None:
    swapped = {}
    for name, child in module.named_children():
        # Fused modules are swapped as a whole.
        if not isinstance(child, _FusedModule) and type(child) not in custom:
            _convert(child, mapping, custom)
        swapped[name] = swap_module(child, mapping, custom)
    module._modules.update(swapped)


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False
) -> Any:
    """The quantized counterpart of a module that has settings, with its hooks; or the module itself."""
    if getattr(mod, "qconfig", None) is None:
        return mod
    if type(mod) in custom_module_class_mapping:
        made = custom_module_class_mapping[type(mod)].from_observed(mod)
    elif type(mod) in mapping:
        cls = mapping[type(mod)]
        if type(mod) is cls:
            return mod
        made = cls.from_float(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    return made


def _get_observer_dict(mod: Any, target_dict: dict[str, Any], prefix: str = "") -> None:
    start = prefix + "." if prefix else prefix
    if hasattr(mod, "activation_post_process"):
        target_dict[start + "activation_post_process"] = mod.activation_post_process
    for name, child in mod.named_children():
        _get_observer_dict(child, target_dict, start + name if start else name)
