# SPDX-License-Identifier: Apache-2.0
"""Optimizers. State dicts and numbers are PyTorch's; a step is a few operator calls over lists of all parameters."""

from ingot.optim import lr_scheduler, swa_utils
from ingot.optim.adadelta import Adadelta
from ingot.optim.adafactor import Adafactor
from ingot.optim.adagrad import Adagrad
from ingot.optim.adam import Adam
from ingot.optim.adamax import Adamax
from ingot.optim.adamw import AdamW
from ingot.optim.asgd import ASGD
from ingot.optim.lbfgs import LBFGS
from ingot.optim.nadam import NAdam
from ingot.optim.optimizer import Optimizer
from ingot.optim.radam import RAdam
from ingot.optim.rmsprop import RMSprop
from ingot.optim.rprop import Rprop
from ingot.optim.sgd import SGD

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SGD", "lr_scheduler", "swa_utils",
]  # fmt: skip
