# SPDX-License-Identifier: Apache-2.0
"""All layers: the classes that the modules of this package define."""

import importlib

from ingot.nn.modules.module import Module

_FILES = """
    activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
    linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
"""
_HIDDEN = ("SimpleModule", "NonDynamicallyQuantizableLinear")

__all__ = []
for _file in _FILES.split():
    for _name, _class in vars(importlib.import_module(f"ingot.nn.modules.{_file}")).items():
        if isinstance(_class, type) and issubclass(_class, Module) and _name[0] != "_" and _name not in _HIDDEN:
            globals()[_name] = _class
            __all__.append(_name)
__all__ = sorted(set(__all__))
