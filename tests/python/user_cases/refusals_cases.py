# SPDX-License-Identifier: Apache-2.0
"""What the verifier refuses."""

import torch
from torch import nn
import torch._export.verifier as V
from functorch.experimental import control_flow
from torch._export.verifier import SpecViolationError, Verifier, load_verifier
from torch.export import export
from torch.export.exported_program import InputKind, InputSpec, TensorArgument
from torch.export.graph_signature import OutputSpec, OutputKind, SymIntArgument


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        return self.l(x) + self.b


def E(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:400])


def mk():
    return export(Lin(), (torch.ones(1, 2),))


def case_ok():
    ep = mk()
    E(lambda: Verifier().check(ep))
    E(ep._validate)


def case_bad_target():
    ep = mk()
    for n in ep.graph.nodes:
        if n.target == torch.ops.aten.add.Tensor:
            n.target = torch.ops.aten.add_.Tensor
    E(lambda: Verifier().check(ep))
    E(ep._validate)


def case_no_val():
    ep = mk()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            del n.meta["val"]
    E(lambda: Verifier().check(ep))


def case_no_val_ph():
    ep = mk()
    for n in ep.graph.nodes:
        if n.op == "placeholder":
            n.meta.pop("val")
            break
    E(lambda: Verifier().check(ep))


def case_call_module():
    gm = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    E(lambda: Verifier().check_valid(gm) if hasattr(Verifier(), "check_valid") else Verifier()._check_graph_module(gm))


def case_call_method():
    ep = mk()
    g = ep.graph
    n = [n for n in g.nodes if n.op == "call_function"][0]
    with g.inserting_after(n):
        g.call_method("sin", (n,))
    E(lambda: Verifier().check(ep))


def case_getattr():
    ep = mk()
    g = ep.graph
    n = [n for n in g.nodes if n.op == "call_function"][0]
    with g.inserting_before(n):
        g.get_attr("nosuch")
    E(lambda: Verifier().check(ep))


def case_getattr_type():
    ep = mk()
    ep.graph_module.foo = 3
    g = ep.graph
    n = [n for n in g.nodes if n.op == "call_function"][0]
    with g.inserting_before(n):
        g.get_attr("foo")
    E(lambda: Verifier().check(ep))


def case_sig_missing_input():
    ep = mk()
    ep.graph_signature.input_specs.pop()
    E(ep._validate)


def case_sig_extra_output():
    ep = mk()
    ep.graph_signature.output_specs.append(ep.graph_signature.output_specs[0])
    E(ep._validate)


def case_sig_wrong_name():
    ep = mk()
    ep.graph_signature.input_specs[0] = InputSpec(
        kind=InputKind.PARAMETER, arg=TensorArgument(name="bad"), target="l.weight", persistent=True
    )
    E(ep._validate)


def case_sig_param_missing():
    ep = mk()
    ep.graph_signature.input_specs[0].target = "nosuch"
    E(ep._validate)


def case_sig_not_param():
    ep = mk()
    ep._state_dict = dict(ep.state_dict)
    ep._state_dict["l.weight"] = torch.ones(2, 2)
    E(ep._validate)


def case_sig_buffer_missing():
    ep = mk()
    [setattr(s, "target", "nope") for s in ep.graph_signature.input_specs if s.kind == InputKind.BUFFER]
    E(ep._validate)


def case_sig_buffer_persist():
    ep = mk()
    [setattr(s, "persistent", None) for s in ep.graph_signature.input_specs if s.kind == InputKind.BUFFER]
    E(ep._validate)


def case_sig_const_missing():

    class M(nn.Module):
        def forward(self, x):
            return x + torch.tensor(2.0)

    ep = export(M(), (torch.ones(2),))
    [setattr(s, "target", "nope") for s in ep.graph_signature.input_specs if s.kind == InputKind.CONSTANT_TENSOR]
    E(ep._validate)


def case_sig_bufmut():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))

        def forward(self, x):
            self.b.add_(1)
            return x + self.b

    ep = export(M(), (torch.ones(2),))
    ep.graph_signature.output_specs[0].target = "zz"
    E(ep._validate)
    ep = export(M(), (torch.ones(2),))
    ep.graph_signature.output_specs[0] = OutputSpec(
        kind=OutputKind.BUFFER_MUTATION, arg=TensorArgument(name="q"), target="b"
    )
    E(ep._validate)


def case_sig_userout():
    ep = mk()
    ep.graph_signature.output_specs[0] = OutputSpec(
        kind=OutputKind.USER_OUTPUT, arg=TensorArgument(name="q"), target=None
    )
    E(ep._validate)
    ep = mk()
    ep.graph_signature.output_specs[0] = OutputSpec(
        kind=OutputKind.USER_OUTPUT, arg=SymIntArgument(name="add"), target=None
    )
    E(ep._validate)


def case_sig_inmut():

    class M(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x + 2

    ep = export(M(), (torch.ones(2),))
    ep.graph_signature.output_specs[0].target = "zz"
    E(ep._validate)


def case_module_call_graph():
    ep = mk()
    ep._module_call_graph = [e for e in ep.module_call_graph if e.fqn]
    E(ep._validate)


def case_cond():

    class M(nn.Module):
        def forward(self, x, y):
            return control_flow.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, [x, y])

    ep = export(M(), (torch.ones(2), torch.ones(2)))
    E(lambda: Verifier().check(ep))
    for n in ep.graph_module.true_graph_0.graph.nodes:
        if n.target == torch.ops.aten.add.Tensor:
            n.target = torch.ops.aten.add_.Tensor
    E(lambda: Verifier().check(ep))


def case_subclass_extra():

    class My(Verifier):
        dialect = "MY2"

        def check_valid_op(self, op):
            super().check_valid_op(op)
            if op == torch.ops.aten.add.Tensor:
                raise SpecViolationError("no add")

        def check_additional(self, gm):
            print("additional", type(gm).__name__)

    ep = mk()
    E(lambda: My().check(ep))


def case_subclass_getattr():

    class My(Verifier):
        dialect = "MY3"

        def allowed_getattr_types(self):
            return (int,)

    ep = mk()
    ep.graph_module.foo = 3
    g = ep.graph
    n = [n for n in g.nodes if n.op == "call_function"][0]
    with g.inserting_before(n):
        a = g.get_attr("foo")
        a.meta = dict(n.meta)
    E(lambda: My().check(ep))


def case_final():
    try:

        class My(Verifier):
            dialect = "MY4"

            def check(self, ep):
                pass

        print("ok")
    except Exception as e:
        print(type(e).__name__, e)
    try:

        class My2(Verifier):
            pass

        print("ok")
    except Exception as e:
        print(type(e).__name__, e)
    E(lambda: load_verifier("NOSUCH"))


def case_meta():
    print(type(Verifier).__name__, Verifier.dialect, sorted(k for k in vars(Verifier) if not k.startswith("_")))
    print([getattr(o, "__name__", str(o)) for o in Verifier().allowed_builtin_ops()][:40])
    print(Verifier().allowed_op_types(), Verifier().allowed_getattr_types())


def case_functional():
    print(
        V.is_functional(torch.ops.aten.add.Tensor),
        V.is_functional(torch.ops.aten.add_.Tensor),
        V.is_functional(torch.ops.aten.add.out),
    )


def case_getattr_rec():
    print(V.getattr_recursive(nn.Sequential(nn.Sequential(nn.ReLU())), "0.0"))
    E(lambda: V.getattr_recursive(nn.Sequential(), "a.b"))


def case_training():
    ep = torch.export.export_for_training(Fn(lambda x: x.clone().add_(1)), (torch.ones(2),))
    print(ep.dialect, ep.verifier)
    E(ep._validate)


def case_torch_fn():
    ep = mk()
    for n in ep.graph.nodes:
        n.meta.pop("torch_fn", None)
    E(lambda: Verifier().check(ep))


def case_nnms():
    from torch.export._trace import _export

    ep = mk()
    for n in ep.graph.nodes:
        n.meta.pop("nn_module_stack", None)
    E(ep._validate)


def case_ctor_checks():
    from torch.export import ExportedProgram

    ep = mk()
    for n in ep.graph.nodes:
        if n.target == torch.ops.aten.add.Tensor:
            n.target = torch.ops.aten.add_.Tensor
    E(
        lambda: ExportedProgram(
            root=ep.graph_module,
            graph=ep.graph,
            graph_signature=ep.graph_signature,
            state_dict=ep.state_dict,
            range_constraints=ep.range_constraints,
            module_call_graph=ep.module_call_graph,
        )
    )


def case_verifiers_prop():
    ep = mk()
    print(ep.verifier.__name__, ep.dialect, getattr(ep, "verifiers", None))
    E(lambda: ep._transform_do_not_use(lambda gm: None))


def case_symint_out():
    from torch.export import Dim

    ep = export(Fn(lambda x: (x.shape[0] + 1, x)), (torch.ones(3),))
    print(ep.graph_signature.output_specs)


def case_users():
    ep = mk()
    g = ep.graph
    a = [n for n in g.nodes if n.op == "call_function"]
    a[0].args = (a[1], *a[0].args[1:])
    E(lambda: Verifier().check(ep))
