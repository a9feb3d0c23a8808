# SPDX-License-Identifier: Apache-2.0
"""One mistake per line, named in the comment as mypy names it."""

import ingot as torch
from ingot import nn

x = torch.ones(2)
x.no_such_method()  # attr-defined
torch.no_such_function(x)  # attr-defined
number: int = torch.relu(x)  # assignment
torch.relu("text")  # arg-type
x.view("a")  # arg-type
torch.zeros(2, dtype="float32")  # call-overload
nn.functional.softmax(x, dim="last")  # arg-type
values, indices, more = torch.sort(x)  # misc
