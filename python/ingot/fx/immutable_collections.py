# SPDX-License-Identifier: Apache-2.0
"""Lists and dictionaries in the arguments of nodes: reading is free, changing goes through node.args."""
from typing import Any, NoReturn

from ingot.utils import _pytree as pytree

_HINT = (
    "object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n"
    "    new_args = ... # copy and mutate args\n"
    "    node.args = new_args\n"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"'{type(self).__name__}' {_HINT}")


class immutable_list(list):  # noqa: N801 (PyTorch's name)
    """A list that refuses to change."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):  # noqa: N801 (PyTorch's name)
    """A dict that refuses to change."""

    clear = pop = popitem = update = setdefault = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return immutable_dict, (list(self.items()),)


pytree.register_pytree_node(
    immutable_list,
    lambda d: (list(d), None),
    lambda values, context: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda d: ([(pytree.SequenceKey(i), v) for i, v in enumerate(d)], None),
)
pytree.register_pytree_node(
    immutable_dict,
    lambda d: (list(d.values()), list(d.keys())),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda d: ([(pytree.MappingKey(k), v) for k, v in d.items()], list(d.keys())),
)
