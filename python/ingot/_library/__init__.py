# SPDX-License-Identifier: Apache-2.0
"""The parts of torch.library: schemas from annotations, custom operators, gradients, what is registered."""
