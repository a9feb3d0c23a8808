# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of one file: `python run.py ingot|torch FILE` prints as JSON what each case printed, or its exception.

Cases are functions case_*, written as users of PyTorch write. golden.json has what PyTorch 2.5.1 prints
(tools/make_user_goldens.py), test_user_cases.py compares."""

import contextlib
import importlib.util
import io
import json
import logging
import pathlib
import re
import sys
import warnings


def plain(text, folder):
    """The text without addresses, and with one spelling for what names modules of the library."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text.replace(f"{folder}/", ""))
    text = text.replace(" of type object at ADDRESS", " of type object")
    text = re.sub(r"(?<![\w/])ingot\._C(\._export)?\.(OpOverload|HigherOrder\w*)", r"torch._ops.\2", text)
    text = re.sub(r"(?<![\w/])ingot\.(_C\.)?", "torch.", text)
    for written in ("_higher_order_ops.wrap", "_higher_order_ops.auto_functionalize"):
        text = text.replace(f"torch.{written}.", "torch.ops.higher_order.")
    return text


def outcome(torch, case):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            torch.manual_seed(0)
            case()
        except Exception as error:
            print("raises", type(error).__name__, str(error).strip().split("\n")[0])
    return printed.getvalue()


def run(provider, path):
    if provider == "ingot":
        import ingot.as_torch  # noqa: F401
    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    spec = importlib.util.spec_from_file_location("cases", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    folder = str(pathlib.Path(path).resolve().parent)
    cases = {name: value for name, value in vars(module).items() if name.startswith("case_")}
    return {name[5:]: plain(outcome(torch, case), folder) for name, case in cases.items()}


if __name__ == "__main__":
    found = run(sys.argv[1], sys.argv[2])
    print(json.dumps(found))
