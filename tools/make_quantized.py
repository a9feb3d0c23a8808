#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/python/quantized.json: results of quantized operators and modules of the real PyTorch.

    tools/make_quantized.py > tests/python/quantized.json   # with a Python that has torch 2.5.1

Every case is an expression over the names of tests/python/quantized_cases.py; results are integers for quantized
tensors, with their parameters, and numbers for others.
"""

import json
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "python"))
import torch  # noqa: E402

from quantized_cases import CASES, describe, names  # noqa: E402

warnings.simplefilter("ignore")
torch.backends.quantized.engine = "fbgemm"
lines = []
for case in CASES:
    try:
        answer = describe(torch, eval(case, names(torch)))
    except Exception as error:  # the class and the first sentence are part of the record
        answer = {"error": type(error).__name__, "text": str(error).split(". ")[0].split("\n")[0][:160]}
    lines.append(json.dumps([case, answer]))
print("[\n" + ",\n".join(lines) + "\n]")
