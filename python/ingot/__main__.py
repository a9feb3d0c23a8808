# SPDX-License-Identifier: Apache-2.0
"""`python -m ingot [--compat LEVEL] script.py args...` (or `-m module args...`, or `-c code`): run a program with Ingot
in place of torch, with the defaults of the given release of PyTorch ("2.5", "2.13")."""

import os
import runpy
import sys


def set_level(name: str) -> None:
    """The level for the program, its threads and the processes that it starts: they read the environment."""
    os.environ["INGOT_COMPAT"] = name
    try:
        import ingot._compat  # noqa: F401
    except ImportError as error:
        sys.exit(f"ingot: --compat: {error}")


def main() -> int:
    """Run what the command line names as `__main__`."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m ingot [--compat LEVEL] (script.py | -m module | -c code) [arguments...]")
        return 0 if arguments else 2
    if arguments[0] == "--compat":
        if len(arguments) < 3:
            print("ingot: --compat takes a level, and a program to run with it", file=sys.stderr)
            return 2
        set_level(arguments[1])
        del arguments[:2]
    import ingot.as_torch  # noqa: F401

    first = arguments[0]
    if first in ("-m", "-c"):
        if len(arguments) < 2:
            print(f"ingot: argument expected for the {first} option", file=sys.stderr)
            return 2
        sys.argv = [first, *arguments[2:]]
        sys.path[0] = "" if first == "-c" else os.getcwd()
        if first == "-m":
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            main_module = type(sys)("__main__")
            sys.modules["__main__"] = main_module
            exec(compile(arguments[1], "<string>", "exec"), main_module.__dict__)
        return 0
    if not os.path.exists(first):
        print(f"ingot: can't open file '{first}': No such file or directory", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(first))
    runpy.run_path(first, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
