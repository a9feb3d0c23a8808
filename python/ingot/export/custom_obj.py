# SPDX-License-Identifier: Apache-2.0
"""Custom objects in the metadata of graphs."""
from dataclasses import dataclass

__all__ = ["ScriptObjectMeta"]


@dataclass
class ScriptObjectMeta:
    """The name of an object's constant, and its class."""

    constant_name: str
    class_fqn: str
