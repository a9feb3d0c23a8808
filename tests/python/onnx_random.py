# SPDX-License-Identifier: Apache-2.0
"""Random small ONNX models over the operators of the default domain: `model(seed)` gives a model and its inputs.

Each operator has a maker, which draws shapes, types, attributes and an opset that the standard allows. Left out is what
the standard leaves open, or what onnxruntime reads otherwise than the standard says. The same seed gives the same one.
"""
from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

import onnx_draw_basic  # noqa: F401  # they register their makers
import onnx_draw_nets  # noqa: F401
from onnx_draw import MAKERS, Draw


@dataclasses.dataclass
class Model:
    proto: onnx.ModelProto
    feeds: dict[str, np.ndarray]


NEWEST = onnx.defs.onnx_opset_version()


def model(seed: int, oldest: int = 13, newest: int = NEWEST) -> Model:
    """The model of this seed."""
    d = Draw(seed)
    known = sorted(name for name, (since, _) in MAKERS.items() if since <= newest)
    d.op = d.one_of(*known)
    since, make = MAKERS[d.op]
    d.opset = d.int(max(since, oldest), newest)
    outputs = make(d)
    graph = helper.make_graph(
        d.nodes,
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in d.inputs
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        d.weights,
    )
    imports = [helper.make_opsetid("", d.opset)]
    proto = helper.make_model(graph, opset_imports=imports)
    proto.ir_version = helper.find_min_ir_version_for(imports)
    inferred = onnx.shape_inference.infer_shapes(proto)
    kinds = {v.name: v.type for v in inferred.graph.output}
    for value in proto.graph.output:  # type and rank must stand there; sizes are what is asked
        value.type.CopyFrom(kinds[value.name])
        if value.type.HasField("tensor_type"):
            for dim in value.type.tensor_type.shape.dim:
                dim.Clear()
    return Model(proto, dict(d.inputs))


def named(seed: int, proto: onnx.ModelProto) -> dict[str, int]:
    """Sizes of inputs become names, mostly equal ones where sizes are equal; what they stand for."""
    r, sizes = random.Random(seed), {}
    for value in proto.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if r.random() < 0.6:
                size = dim.dim_value
                name = f"n{size}" if r.random() < 0.8 else f"{value.name}_{i}"
                dim.Clear()
                dim.dim_param = name
                sizes[name] = size
    return sizes


def damage(r: random.Random, m: onnx.ModelProto) -> None:
    """Something about the model changes, mostly for the worse."""
    g = m.graph
    n = r.choice(g.node)
    ports = [*g.input, *g.output]
    p = r.choice(ports)
    tensor = p.type.tensor_type if p.type.HasField("tensor_type") else None
    weight = r.choice(g.initializer) if g.initializer else None
    a = r.choice(n.attribute) if n.attribute else None
    entry = onnx.StringStringEntryProto

    def retyped() -> None:
        name = a.name
        n.attribute.remove(a)
        n.attribute.append(helper.make_attribute(name, r.choice([1, 1.5, "x", [1, 2], [1.5], ["a"]])))

    def function() -> None:
        f = m.functions.add(name="F", domain="foo", output=["y"])
        f.node.append(helper.make_node("Relu", ["x"], ["y"]))
        f.input.extend(["x"] * r.randrange(2))
        f.opset_import.extend([helper.make_opsetid("", 17)] * r.randrange(2))
        m.opset_import.extend([helper.make_opsetid("foo", 1)] * r.randrange(2))

    def external() -> None:
        weight.ClearField("raw_data")
        weight.data_location = 1
        places = [entry(key="location", value=r.choice(["w.bin", "../w", "/w", ""]))]
        weight.external_data.extend(places * r.randrange(2))

    always: list[Callable] = [
        lambda: n.attribute.append(helper.make_attribute("another", 1)),
        lambda: setattr(n, "op_type", r.choice(["", "addd", "Add", "Relu", "Gelu", "Conv"])),
        lambda: n.input.append(n.input[0] if n.input else ""),
        lambda: n.output.append("another"),
        lambda: setattr(m.opset_import[0], "version", r.choice([0, 1, 5, 7, 9, 11, 13, 17, 99])),
        lambda: setattr(m, "ir_version", r.choice([0, 1, 2, 3, 4, 7, 8, 10, 13, 14, 99])),
        lambda: g.ClearField("name"),
        lambda: p.ClearField("type"),
        lambda: setattr(p, "name", r.choice(["", "zz", ports[0].name])),
        lambda: g.node.append(n),
        lambda: m.opset_import.append(helper.make_opsetid("", 13)),
        lambda: m.opset_import.append(helper.make_opsetid("foo", 1)),
        lambda: setattr(n, "domain", r.choice(["foo", "ai.onnx.ml"])),
        lambda: m.ClearField("opset_import"),
        lambda: m.metadata_props.extend([entry(key="a"), entry(key=r.choice("ab"))]),
        lambda: n.attribute.extend([helper.make_attribute("axis", 1)] * 2),
        function,
        lambda: g.value_info.append(helper.make_tensor_value_info(r.choice(["v1", "q"]), r.choice([1, 0]), [1])),
        lambda: g.output.append(helper.make_tensor_value_info("nothing", 1, [1])),
        lambda: g.input.append(helper.make_tensor_value_info("more", 1, r.choice([None, [1]]))),
        lambda: m.ClearField("graph"),
        lambda: g.ClearField("node"),
    ]
    of_inputs: list[Callable] = [
        lambda: n.input.pop(),
        lambda: n.input.__setitem__(r.randrange(len(n.input)), r.choice(["", "nowhere", n.output[0]])),
    ]
    of_tensor: list[Callable] = [
        lambda: tensor.ClearField("shape"),
        lambda: setattr(tensor, "elem_type", r.choice([0, 1, 7, 11, 99, 8])),
        lambda: tensor.shape.dim.add(dim_value=7),
    ]
    of_attribute: list[Callable] = [
        lambda: n.attribute.remove(a),
        retyped,
        lambda: setattr(a, "type", r.choice([0, 1, 2, 3, 4, 5, 7])),
        lambda: a.ClearField("name"),
        lambda: setattr(a, "ref_attr_name", "x"),
        lambda: (setattr(a, "f", 1.0), setattr(a, "i", 1)),
    ]
    of_weight: list[Callable] = [
        lambda: setattr(weight, "raw_data", weight.raw_data[:-1]),
        lambda: weight.dims.append(2),
        lambda: setattr(weight, "data_type", r.choice([0, 1, 7, 8, 99])),
        lambda: g.initializer.append(weight),
        lambda: setattr(weight, "name", r.choice(["", "other"])),
        lambda: weight.float_data.append(1.0),
        external,
    ]
    kinds = always + (of_inputs if n.input else []) + (of_tensor if tensor else []) + (of_attribute if a else [])
    r.choice(kinds + (of_weight if weight else []))()
