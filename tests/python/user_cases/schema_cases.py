# SPDX-License-Identifier: Apache-2.0
"""Programs as objects of the schema, and what survives a file."""

import io
import json
import torch
import torch._export.serde.schema as schema
import torch.export._trace
from torch import nn
from torch._export.serde.serialize import (
    _dict_to_dataclass,
    _dataclass_to_dict,
    canonicalize,
    deserialize,
    serialize,
    ExportedProgramDeserializer,
    ExportedProgramSerializer,
    EnumEncoder,
    serialize_sym_int,
    serialize_sym_bool,
    serialize_tensor_meta,
    deserialize_device,
    serialize_range_constraints,
    deserialize_torch_artifact,
    serialize_torch_artifact,
    _get_schema_from_target,
)
from torch.export import Dim, export, load, save, unflatten
from torch.utils._sympy.value_ranges import ValueRanges


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def case_kwargs_defaults():

    class M(nn.Module):
        def forward(self, x):
            return (
                torch.ones([1, 1], dtype=torch.float64) + torch.searchsorted(x, x, side="right", right=True),
                torch.full((2,), 1, memory_format=None) if False else x,
            )

    ep = export(M(), (torch.ones(2, 2),))
    s = ExportedProgramSerializer().serialize(ep)
    for n in s.exported_program.graph_module.graph.nodes:
        print(n.target, [(i.name, i.arg.type, i.arg.value) for i in n.inputs])


def case_tensors_meta():
    ep = export(Fn(lambda x: x.transpose(0, 1)), (torch.ones(2, 3, dtype=torch.half),))
    s = ExportedProgramSerializer().serialize(ep).exported_program
    for k, v in s.graph_module.graph.tensor_values.items():
        print(k, v)


def case_tensor_meta_fn():
    t = torch.ones(2, 3).t()
    m = serialize_tensor_meta(t)
    print(m)


def case_canon():

    class M(nn.Module):
        def forward(self, x):
            a = x.sin()
            b = x.cos()
            return b + a

    ep = export(M(), (torch.ones(2),))
    s = ExportedProgramSerializer().serialize(ep).exported_program
    c = canonicalize(s)
    for n in c.graph_module.graph.nodes:
        print(n.target, n.inputs, n.outputs)
    print(c.graph_module.graph.inputs, c.graph_module.signature)


def case_dict_to_dataclass():
    print(_dict_to_dataclass(schema.Argument, {"as_int": 3}))
    print(_dict_to_dataclass(schema.TensorArgument, {"name": "x"}))
    print(_dict_to_dataclass(schema.SymInt, {"as_expr": {"expr_str": "s0", "hint": {"as_int": 3}}}))
    print(_dataclass_to_dict(schema.Argument.create(as_tensors=[schema.TensorArgument(name="q")])))


def case_dataclass_fields():
    import dataclasses

    for n in (
        "Node",
        "Graph",
        "GraphSignature",
        "TensorMeta",
        "SymExpr",
        "ModuleCallEntry",
        "ModuleCallSignature",
        "ExportedProgram",
        "SchemaVersion",
        "InputSpec",
        "OutputSpec",
        "GraphArgument",
        "CustomObjArgument",
        "RangeConstraint",
        "ConstantValue",
        "Argument",
    ):
        print(n, [f.name for f in dataclasses.fields(getattr(schema, n))])
    print(schema.SCHEMA_VERSION, schema.TREESPEC_VERSION)


def case_bytes_types():
    ep = export(Fn(lambda x: x + 1), (torch.ones(2),))
    a = serialize(ep)
    print(type(a).__name__, {k: type(v).__name__ for k, v in vars(a).items()})
    print([type(v).__name__ for v in vars(ExportedProgramSerializer().serialize(ep)).values()])


def case_artifact():
    b = serialize_torch_artifact({"a": torch.ones(2)})
    print(
        type(b).__name__, deserialize_torch_artifact(b), serialize_torch_artifact(None), deserialize_torch_artifact(b"")
    )


def case_save_bad():
    save(Fn(lambda x: x), io.BytesIO())


def case_unflatten_roundtrip():

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)

        def forward(self, x):
            return {"a": self.l(x), "b": x}

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x):
            return self.s(x)["a"] + 1

    ep = export(M(), (torch.ones(1, 2),), preserve_module_call_signature=("s",))
    s = ExportedProgramSerializer().serialize(ep).exported_program
    for e in s.graph_module.module_call_graph:
        print(e)
    d = deserialize(serialize(ep))
    print(d.module_call_graph)
    unflatten(d)(torch.ones(1, 2))


def case_sym_int_fn():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    ep = export(
        Fn(lambda x: x + x.shape[0]),
        (torch.ones(5),),
        dynamic_shapes={"f": None} if False else ({0: Dim("q")},) if False else None,
    )
    print(serialize_sym_int(3), serialize_sym_bool(True))


def case_range():
    print(serialize_range_constraints({"s0": ValueRanges(lower=2, upper=9)}))
    print(serialize_range_constraints({"s0": ValueRanges(lower=2, upper=10**30)}))


def case_enc_json():
    print(json.dumps(schema.ScalarType.FLOAT, cls=EnumEncoder), 0)


def case_const_inputs():

    class M(nn.Module):
        def forward(self, x, k, f, s):
            return x * k + f

    ep = export(M(), (torch.ones(2), 2, 0.5, "mode"))
    s = ExportedProgramSerializer().serialize(ep).exported_program.graph_module
    print(s.graph.inputs)
    for i in s.signature.input_specs:
        print(i)
    print(deserialize(serialize(ep)).graph_signature)


def case_getitem_meta():
    ep = export(Fn(lambda x: torch.split(x, 2)[1] + torch.max(x, 0)[0].sum()), (torch.ones(4),))
    for n in ExportedProgramSerializer().serialize(ep).exported_program.graph_module.graph.nodes:
        print(n.target, n.outputs)


def case_schema_from_target():
    print(_get_schema_from_target(torch.ops.aten.add.Tensor))


def case_deserialize_device():
    print(deserialize_device(schema.Device(type="cpu", index=None)))


def case_example_inputs():
    ep = export(Fn(lambda x: x + 1), (torch.ones(2),))
    b = io.BytesIO()
    save(ep, b)
    b.seek(0)
    print(load(b).example_inputs)


def case_tied_weights():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    ep = export(M(), (torch.ones(1, 2),))
    d = deserialize(serialize(ep))
    print(
        list(d.state_dict),
        d.state_dict["a.weight"] is d.state_dict["b.weight"],
        d.state_dict["a.weight"].data_ptr() == d.state_dict["b.weight"].data_ptr(),
    )
