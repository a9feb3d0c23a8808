# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.qat.modules.conv import Conv1d, Conv2d, Conv3d
from ingot.ao.nn.qat.modules.embedding_ops import Embedding, EmbeddingBag
from ingot.ao.nn.qat.modules.linear import Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
