# SPDX-License-Identifier: Apache-2.0
"""Programs as bytes and as objects of the schema."""

import copy
import io
import json
import os
import tempfile
import zipfile

import torch
import torch._export.serde.schema as schema
import torch._export.serde.serialize as S
from torch import nn
from torch._export.serde.serialize import (
    ExportedProgramDeserializer,
    ExportedProgramSerializer,
    GraphModuleSerializer,
    SerializedArtifact,
    SerializeError,
    canonicalize,
    deserialize,
    deserialize_torch_artifact,
    serialize,
    serialize_torch_artifact,
)
from torch.export import Dim, export, load, save


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, x):
        return self.l(x)


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


class Buf(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.b.add_(x)
        return self.b * self.w


def J(x):
    d = S._dataclass_to_dict(x) if hasattr(S, "_dataclass_to_dict") else x
    print(json.dumps(d, indent=1, sort_keys=True, default=repr))


def prog(ep):
    return ExportedProgramSerializer({}).serialize(ep).exported_program


def node(ep, i=0):
    return prog(ep).graph_module.graph.nodes[i]


def rt(ep, *args):
    ep2 = deserialize(serialize(ep))
    print(ep2.graph_module.code.strip())
    print(ep2.graph_signature == ep.graph_signature, ep2.range_constraints, ep2.module()(*args))


def case_graph_inputs():
    g = prog(export(Lin(), (torch.ones(1, 3),))).graph_module.graph
    J(g.inputs)
    J(g.outputs)
    J(g.tensor_values)


def case_signature():
    J(prog(export(Buf(), (torch.ones(3),))).graph_module.signature)


def case_module_call_graph():
    J(prog(export(Lin(), (torch.ones(1, 3),))).graph_module.module_call_graph)


def case_whole_top():
    p = prog(export(Lin(), (torch.ones(1, 3),)))
    print([f for f in p.__dataclass_fields__])
    print(p.schema_version, p.opset_version.keys(), p.range_constraints, p.dialect)
    print(p.verifiers if hasattr(p, "verifiers") else "", p.torch_version if hasattr(p, "torch_version") else "")


def case_scalar_args():
    for n in prog(
        export(
            Fn(lambda x: (x + 1, x * 2.5, x.clamp(0), x.sum([0, 1]), torch.full((2,), True), x.to(torch.complex64))),
            (torch.ones(2, 3),),
        )
    ).graph_module.graph.nodes:
        print(n.target, n.inputs)


def case_artifact_fields():
    a = serialize(export(Lin(), (torch.ones(1, 3),)))
    print([f for f in a.__dataclass_fields__])
    print([type(getattr(a, f)).__name__ for f in a.__dataclass_fields__])
    print(list(torch.load(io.BytesIO(a.state_dict)).items())[0][0])


def case_canonicalize():
    p = prog(export(Fn(lambda x, y: (x + y).sin() * y), (torch.ones(3), torch.ones(3))))
    c = canonicalize(p)
    print([n.target for n in c.graph_module.graph.nodes])
    print(c.graph_module.graph.inputs, c.graph_module.graph.outputs)
    print(sorted(c.graph_module.graph.tensor_values))
    print([[a.arg for a in n.inputs] for n in c.graph_module.graph.nodes])
    print(c.graph_module.signature)


def case_canonicalize_params():
    c = canonicalize(prog(export(Buf(), (torch.ones(3),))))
    print(c.graph_module.signature)
    print(c.graph_module.graph.inputs)


def case_union_errors():
    a = schema.Argument.create(as_int=3)
    print(a, a.type, a.value, a.as_int)
    for f in (
        lambda: a.as_float,
        lambda: schema.Argument.create(as_int=3, as_float=2.0),
        lambda: schema.Argument.create(bogus=2),
        lambda: schema.Argument(as_int=3),
    ):
        try:
            print(f())
        except BaseException as e:
            print(type(e).__name__, str(e)[:150])


def case_schema_dataclasses():
    for n in (
        "Device",
        "SymExprHint",
        "SymExpr",
        "SymInt",
        "SymBool",
        "TensorMeta",
        "SymIntArgument",
        "TensorArgument",
        "OptionalTensorArgument",
        "GraphArgument",
        "CustomObjArgument",
        "Argument",
        "NamedArgument",
        "Node",
        "Graph",
        "UserInputSpec",
        "InputToParameterSpec",
        "InputToBufferSpec",
        "InputToTensorConstantSpec",
        "InputTokenSpec",
        "InputSpec",
        "OutputSpec",
        "GraphSignature",
        "RangeConstraint",
        "ModuleCallSignature",
        "ModuleCallEntry",
        "GraphModule",
        "SchemaVersion",
        "ExportedProgram",
        "ConstantValue",
        "ConstantInputSpec",
    ):
        c = getattr(schema, n, None)
        print(n, c and list(c.__dataclass_fields__), c and c.__mro__[1].__name__)


def case_deserialize_opset():
    a = serialize(export(Lin(), (torch.ones(1, 3),)), opset_version={"aten": 5})
    print(json.loads(a.exported_program)["opset_version"])
    ep = deserialize(a)
    print(type(ep).__name__)


def case_deserialize_expected_opset():
    a = serialize(export(Lin(), (torch.ones(1, 3),)))
    deserialize(a, {"aten": 99})


def case_save_load_buffer():
    b = io.BytesIO()
    ep = export(Lin(), (torch.ones(1, 3),))
    save(ep, b)
    b.seek(0)
    print(load(b).module()(torch.ones(1, 3)).shape)


def case_save_extra():
    b = io.BytesIO()
    save(export(Lin(), (torch.ones(1, 3),)), b, extra_files={"a.txt": "hello"})
    b.seek(0)
    e = {"a.txt": ""}
    load(b, extra_files=e)
    print(e)


def case_save_file():
    with tempfile.TemporaryDirectory() as d:
        f = os.path.join(d, "m.pt2")
        save(export(Buf(), (torch.ones(3),)), f)
        print(load(f).module()(torch.ones(3)))


def case_save_wrong():
    save(nn.Linear(2, 2), io.BytesIO())


def case_rt_buf():
    rt(export(Buf(), (torch.ones(3),)), torch.ones(3))


def case_rt_dict():
    rt(
        export(
            Fn(lambda d: {"z": d["a"] + d["b"][0], "n": None, "k": 3}), ({"a": torch.ones(2), "b": [torch.ones(2)]},)
        ),
        {"a": torch.ones(2), "b": [torch.ones(2)]},
    )


def case_rt_consts():
    rt(export(Fn(lambda x, n, f, s: x * n + f), (torch.ones(2), 3, 2.5, "a")), torch.ones(2), 3, 2.5, "a")


def case_rt_dyn():
    ep = export(
        Fn(lambda x: torch.cat([x, x]).view(-1)), (torch.ones(4, 2),), dynamic_shapes=(({0: Dim("b", min=2, max=16)},),)
    )
    rt(ep, torch.ones(5, 2))


def case_rt_map():
    from functorch.experimental.control_flow import map

    rt(
        export(Fn(lambda xs, y: map(lambda x, y: x + y, xs, y)), (torch.ones(3, 2), torch.ones(2))),
        torch.ones(3, 2),
        torch.ones(2),
    )


def case_rt_namedtuple():
    from collections import namedtuple

    global Pt
    Pt = namedtuple("Pt", "a b")
    torch.utils._pytree._register_namedtuple(Pt, serialized_type_name="Pt")
    ep = export(Fn(lambda p: Pt(p.a + 1, p.b)), (Pt(torch.ones(2), torch.ones(1)),))
    ep2 = deserialize(serialize(ep))
    print(ep2.module()(Pt(torch.ones(2), torch.ones(1))))
    print(ep2.call_spec.in_spec)


def case_rt_deepcopy():
    ep = copy.deepcopy(export(Lin(), (torch.ones(1, 3),)))
    print(ep.graph_module.code)


def case_rt_none_output():
    rt(export(Fn(lambda x: (None, x + 1)), (torch.ones(1),)), torch.ones(1))


def case_rt_constant_tensor():
    rt(export(Fn(lambda x: x + torch.tensor([1.0, 2.0])), (torch.ones(2),)), torch.ones(2))


def case_rt_meta_device():
    ep = export(Fn(lambda x: torch.zeros(2, device="cpu", dtype=torch.int32) + x), (torch.ones(2),))
    print(node(ep).inputs)
    rt(ep, torch.ones(2))


def case_gms_helpers():
    print(
        S.serialize_scalar_type(torch.float16) if hasattr(S, "serialize_scalar_type") else "-",
        S._TORCH_TO_SERIALIZE_DTYPE[torch.int64],
        S._SERIALIZE_TO_TORCH_DTYPE[7],
        S._TORCH_TO_SERIALIZE_LAYOUT[torch.strided],
        S._TORCH_TO_SERIALIZE_MEMORY_FORMAT[torch.channels_last],
    )


def case_tensor_meta():
    J(S.serialize_tensor_meta(torch.ones(2, 3, dtype=torch.half, requires_grad=True)))


def case_serialize_symint():
    print(S.serialize_sym_int(3))


def case_torch_artifact():
    b = serialize_torch_artifact({"a": torch.ones(2)})
    print(type(b), deserialize_torch_artifact(b))
    print(deserialize_torch_artifact(b""))
    print(serialize_torch_artifact(None))


def case_enum_bytes():
    print(
        S._dataclass_to_dict(schema.Device(type="cpu", index=None)),
        S._dict_to_dataclass(schema.Device, {"type": "cuda", "index": 1}),
    )
    print(S._dict_to_dataclass(schema.Argument, {"as_int": 3}))
