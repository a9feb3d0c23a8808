# SPDX-License-Identifier: Apache-2.0
"""The export schema of PyTorch 2.5: its numbers, and a class per kind of object. The engine reads and writes the text;
these classes show it to programs that look at what they serialize."""
from __future__ import annotations

import dataclasses
import enum
import typing
from typing import Any

from ingot._export.serde.union import _Union

SCHEMA_VERSION = (7, 3)
TREESPEC_VERSION = 1


class ScalarType(enum.IntEnum):
    UNKNOWN = 0
    BYTE = 1
    CHAR = 2
    SHORT = 3
    INT = 4
    LONG = 5
    HALF = 6
    FLOAT = 7
    DOUBLE = 8
    COMPLEXHALF = 9
    COMPLEXFLOAT = 10
    COMPLEXDOUBLE = 11
    BOOL = 12
    BFLOAT16 = 13
    UINT16 = 28
    FLOAT8E4M3FN = 29
    FLOAT8E5M2 = 30
    FLOAT8E4M3FNUZ = 31
    FLOAT8E5M2FNUZ = 32
    FLOAT8E8M0FNU = 33
    UINT32 = 34
    UINT64 = 35


class Layout(enum.IntEnum):
    Unknown = 0
    SparseCoo = 1
    SparseCsr = 2
    SparseCsc = 3
    SparseBsr = 4
    SparseBsc = 5
    _mkldnn = 6
    Strided = 7


class MemoryFormat(enum.IntEnum):
    Unknown = 0
    ContiguousFormat = 1
    ChannelsLast = 2
    ChannelsLast3d = 3
    PreserveFormat = 4


class ArgumentKind(enum.IntEnum):
    UNKNOWN = 0
    POSITIONAL = 1
    KEYWORD = 2


# A line per class: its fields and their types; a question mark: optional, a star: may be missing. "|" is a union.
_CLASSES = """
    Device            type:str index:int?*
    SymExprHint     | as_int:int as_float:float as_bool:bool
    SymExpr           expr_str:str hint:SymExprHint?*
    SymInt          | as_expr:SymExpr as_int:int
    SymBool         | as_expr:SymExpr as_bool:bool
    TensorMeta        dtype:ScalarType sizes:[SymInt] requires_grad:bool device:Device strides:[SymInt]
                      storage_offset:SymInt layout:Layout
    SymIntArgument  | as_name:str as_int:int
    SymBoolArgument | as_name:str as_bool:bool
    TensorArgument    name:str
    TokenArgument     name:str
    OptionalTensorArgument | as_tensor:TensorArgument as_none:()
    GraphArgument     name:str graph:Graph
    CustomObjArgument name:str class_fqn:str
    Argument        | as_none:() as_tensor:TensorArgument as_tensors:[TensorArgument] as_int:int as_ints:[int]
                      as_float:float as_floats:[float] as_string:str as_strings:[str] as_sym_int:SymIntArgument
                      as_sym_ints:[SymIntArgument] as_scalar_type:ScalarType as_memory_format:MemoryFormat
                      as_layout:Layout as_device:Device as_bool:bool as_bools:[bool] as_sym_bool:SymBoolArgument
                      as_sym_bools:[SymBoolArgument] as_graph:GraphArgument
                      as_optional_tensors:[OptionalTensorArgument] as_custom_obj:CustomObjArgument as_operator:str
    NamedArgument     name:str arg:Argument
    Node              target:str inputs:[NamedArgument] outputs:[Argument] metadata:{str}
    Graph             inputs:[Argument] outputs:[Argument] nodes:[Node] tensor_values:{TensorMeta}
                      sym_int_values:{SymInt} sym_bool_values:{SymBool} is_single_tensor_return:bool*
                      custom_obj_values:{CustomObjArgument}*
    UserInputSpec     arg:Argument
    ConstantValue   | as_none:() as_int:int as_float:float as_string:str as_bool:bool
    ConstantInputSpec name:str value:ConstantValue
    InputToParameterSpec      arg:TensorArgument parameter_name:str
    InputToBufferSpec         arg:TensorArgument buffer_name:str persistent:bool
    InputToTensorConstantSpec arg:TensorArgument tensor_constant_name:str
    InputToCustomObjSpec      arg:CustomObjArgument custom_obj_name:str
    InputTokenSpec    arg:TokenArgument
    InputSpec       | user_input:UserInputSpec parameter:InputToParameterSpec buffer:InputToBufferSpec
                      tensor_constant:InputToTensorConstantSpec custom_obj:InputToCustomObjSpec token:InputTokenSpec
                      constant_input:ConstantInputSpec
    UserOutputSpec    arg:Argument
    LossOutputSpec    arg:TensorArgument
    BufferMutationSpec        arg:TensorArgument buffer_name:str
    GradientToParameterSpec   arg:TensorArgument parameter_name:str
    GradientToUserInputSpec   arg:TensorArgument user_input_name:str
    UserInputMutationSpec     arg:TensorArgument user_input_name:str
    OutputTokenSpec   arg:TokenArgument
    OutputSpec      | user_output:UserOutputSpec loss_output:LossOutputSpec buffer_mutation:BufferMutationSpec
                      gradient_to_parameter:GradientToParameterSpec gradient_to_user_input:GradientToUserInputSpec
                      user_input_mutation:UserInputMutationSpec token:OutputTokenSpec
    GraphSignature    input_specs:[InputSpec] output_specs:[OutputSpec]
    RangeConstraint   min_val:int max_val:int
    ModuleCallSignature       inputs:[Argument] outputs:[Argument] in_spec:str out_spec:str
    ModuleCallEntry   fqn:str signature:ModuleCallSignature?*
    GraphModule       graph:Graph signature:GraphSignature module_call_graph:[ModuleCallEntry] metadata:{str}*
    SchemaVersion     major:int minor:int
    ExportedProgram   graph_module:GraphModule opset_version:{int} range_constraints:{RangeConstraint}
                      schema_version:SchemaVersion verifiers:[str]* torch_version:str*
"""


def _type(text: str) -> Any:
    if text == "()":
        return typing.Tuple[()]  # noqa: UP006 (printed like PyTorch's)
    if text.startswith("["):
        return typing.List[_type(text[1:-1])]  # noqa: UP006
    if text.startswith("{"):
        return typing.Dict[str, _type(text[1:-1])]  # noqa: UP006
    if text.endswith("?"):
        return typing.Optional[_type(text[:-1])]
    plain = {"str": str, "int": int, "float": float, "bool": bool}
    return plain.get(text) or globals().get(text) or typing.ForwardRef(text)


def _default(kind: str) -> Any:
    made = {"{": dict, "[": list}.get(kind[0])
    if made is not None:
        return dataclasses.field(default_factory=made)
    if kind.endswith("?"):
        return dataclasses.field(default=None)
    return dataclasses.field(default={"bool": False, "str": "<=2.4"}[kind])


def _define(words: list[str]) -> type:
    name, *rest = words
    union = rest[:1] == ["|"]
    fields = []
    for name_and_kind in rest[1:] if union else rest:
        field, _, kind = name_and_kind.partition(":")
        kept = kind.removesuffix("*")
        fields.append((field, _type(kept), _default(kept)) if kept != kind else (field, _type(kept)))
    options: dict[str, Any] = {"repr": False, "eq": False} if union else {}
    made = dataclasses.make_dataclass(name, fields, bases=(_Union,) if union else (), **options)
    made.__module__ = __name__
    return made


def _lines() -> list[list[str]]:
    found: list[list[str]] = []
    for line in _CLASSES.strip().splitlines():
        if line.startswith(" " * 12):
            found[-1] += line.split()
        else:
            found.append(line.split())
    return found


for _words in _lines():
    globals()[_words[0]] = _define(_words)


def from_plain(kind: Any, data: Any) -> Any:
    """An object of the schema, of the lists and dictionaries that JSON has."""
    if isinstance(kind, typing.ForwardRef):
        kind = globals()[kind.__forward_arg__]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return None if data is None else from_plain(args[0], data)
    if origin is list:
        return [from_plain(args[0], v) for v in data]
    if origin is dict:
        return {k: from_plain(args[1], v) for k, v in data.items()}
    if origin is tuple:
        return ()
    if dataclasses.is_dataclass(kind):
        types = {f.name: f.type for f in dataclasses.fields(kind)}
        known = {k: from_plain(types[k], v) for k, v in data.items() if k in types}
        return kind.create(**known) if issubclass(kind, _Union) else kind(**known)
    return kind(data) if isinstance(kind, type) and issubclass(kind, (enum.Enum, float)) else data


def to_plain(value: Any) -> Any:
    """The lists and dictionaries of an object of the schema."""
    if isinstance(value, _Union):
        return {value.type: to_plain(value.value)}
    if dataclasses.is_dataclass(value):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    return int(value) if isinstance(value, enum.IntEnum) else value
