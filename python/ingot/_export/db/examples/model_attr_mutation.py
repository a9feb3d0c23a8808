# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot._export.db.case import SupportLevel


class ModelAttrMutation(torch.nn.Module):
    """A program that assigns tensors to attributes of its module is refused; buffers may be written."""

    def __init__(self):
        super().__init__()
        self.attr_list = [torch.randn(3, 2), torch.randn(3, 2)]

    def recreate_list(self):
        return [torch.zeros(3, 2), torch.zeros(3, 2)]

    def forward(self, x):
        self.attr_list = self.recreate_list()
        return x.sum() + self.attr_list[0].sum()


example_args = (torch.randn(3, 2),)
tags = {"python.object-model"}
support_level = SupportLevel.NOT_SUPPORTED_YET
model = ModelAttrMutation()
