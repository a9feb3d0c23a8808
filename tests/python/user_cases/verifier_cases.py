# SPDX-License-Identifier: Apache-2.0
"""What the verifier accepts."""

import copy

import torch
from torch import nn
from torch._export.verifier import SpecViolationError, TrainingIRVerifier, Verifier, load_verifier
from torch.export import Dim, export


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, x):
        return self.l(x)


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


def ep2():
    return export(Add(), (torch.ones(3), torch.ones(3)))


def case_ok():
    print(Verifier().check(ep2()))
    print(Verifier().dialect, Verifier.dialect)


def case_method():
    ep = ep2()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.target = torch.add
    Verifier().check(ep)


def case_call_method():
    ep = ep2()
    a = [n for n in ep.graph.nodes if n.op == "call_function"][0]
    with ep.graph.inserting_after(a):
        b = ep.graph.call_method("neg", (a,))
    b.meta["val"] = a.meta["val"]
    ep.graph_module.recompile()
    Verifier().check(ep)


def case_call_module():
    ep = export(Lin(), (torch.ones(1, 3),))
    gm = torch.fx.symbolic_trace(Lin())
    ep._graph_module = gm
    Verifier().check(ep)


def case_gm():
    Verifier().check_valid(torch.fx.symbolic_trace(Add())) if hasattr(Verifier, "check_valid") else print("no")


def case_check_gm():
    Verifier()._check_graph_module(torch.fx.symbolic_trace(Add()))


def case_check_gm_ok():
    print(Verifier()._check_graph_module(ep2().graph_module))


def case_no_stack():
    ep = ep2()
    for n in ep.graph.nodes:
        n.meta.pop("val", None)
    Verifier().check(ep)


def case_bad_val():
    ep = ep2()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.meta["val"] = "bad"
    Verifier().check(ep)


def case_bad_val_list():
    ep = ep2()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.meta["val"] = [object()]
    Verifier().check(ep)


def case_sig_missing_param():
    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.input_specs[0].target = "l.nope"
    Verifier().check(ep)


def case_sig_missing_param2():
    ep = export(Lin(), (torch.ones(1, 3),))
    ep.state_dict.pop("l.weight")
    Verifier().check(ep)


def case_sig_param_not_param():
    ep = export(Lin(), (torch.ones(1, 3),))
    ep.state_dict["l.weight"] = torch.ones(2, 3)
    Verifier().check(ep)


def case_sig_wrong_name():
    from torch.export.graph_signature import TensorArgument

    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.input_specs[0].arg = TensorArgument(name="zzz")
    Verifier().check(ep)


def case_sig_user_name():
    from torch.export.graph_signature import TensorArgument

    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.input_specs[2].arg = TensorArgument(name="zzz")
    Verifier().check(ep)


def case_sig_len():
    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.input_specs.pop()
    Verifier().check(ep)


def case_sig_out_len():
    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.output_specs.pop()
    Verifier().check(ep)


def case_sig_out_name():
    from torch.export.graph_signature import TensorArgument

    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.output_specs[0].arg = TensorArgument(name="zzz")
    Verifier().check(ep)


class Buf(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("n", torch.ones(3), persistent=False)

    def forward(self, x):
        self.b.add_(x)
        return self.b + self.n


def case_buf_ok():
    print(Verifier().check(export(Buf(), (torch.ones(3),))))


def case_buf_missing():
    ep = export(Buf(), (torch.ones(3),))
    ep.state_dict.pop("b")
    Verifier().check(ep)


def case_buf_persist_none():
    ep = export(Buf(), (torch.ones(3),))
    ep.graph_signature.input_specs[0].persistent = None
    Verifier().check(ep)


def case_buf_nonpersist_missing():
    ep = export(Buf(), (torch.ones(3),))
    ep.constants.pop("n")
    Verifier().check(ep)


def case_buf_nonpersist_in_sd():
    ep = export(Buf(), (torch.ones(3),))
    ep.graph_signature.input_specs[1].persistent = True
    Verifier().check(ep)


def case_mut_wrong():
    ep = export(Buf(), (torch.ones(3),))
    ep.graph_signature.output_specs[0].target = "zz"
    Verifier().check(ep)


def case_mut_kind():
    from torch.export.graph_signature import OutputKind

    ep = export(Buf(), (torch.ones(3),))
    ep.graph_signature.output_specs[0].kind = OutputKind.USER_INPUT_MUTATION
    Verifier().check(ep)


def case_mut_input_ok():
    class M(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    ep = export(M(), (torch.ones(3),))
    print(Verifier().check(ep))
    ep.graph_signature.output_specs[0].target = "y"
    Verifier().check(ep)


def case_const_missing():
    class M(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, 2.0])

    ep = export(M(), (torch.ones(2),))
    print(list(ep.constants))
    ep.constants.clear()
    Verifier().check(ep)


def case_const_wrong():
    class M(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, 2.0])

    ep = export(M(), (torch.ones(2),))
    k = list(ep.constants)[0]
    ep.constants[k] = 3
    Verifier().check(ep)


def case_inplace_op():
    ep = ep2()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.target = torch.ops.aten.add_.Tensor
    ep.graph_module.recompile()
    Verifier().check(ep)


def case_inplace_gm():
    gm = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.clone().add_(1))(torch.ones(2))
    Verifier()._check_graph_module(gm)


def case_training_ir():
    from torch.export import export_for_training

    ep = export_for_training(Buf(), (torch.ones(3),))
    print(ep.dialect, ep.verifier.__name__)
    print(ep.graph_module.code)
    print(ep.verifier().check(ep))
    Verifier().check(ep)


def case_decomp_dialect():
    print(
        ep2().run_decompositions().dialect,
        ep2().dialect,
        ep2().verifier.__name__,
        ep2().verifiers if hasattr(ep2(), "verifiers") else None,
    )


def case_custom_dialect():
    class V(Verifier):
        dialect = "EDGE_CASE"

        def allowed_op_types(self):
            return super().allowed_op_types()

        def check_valid_op(self, op):
            if op == torch.ops.aten.add.Tensor:
                raise SpecViolationError("no add")

    print(load_verifier("EDGE_CASE").__name__)
    V().check(ep2())


def case_load_unknown():
    load_verifier("NOPE_CASE")


def case_load_aten():
    print(load_verifier("ATEN"), load_verifier("TRAINING"), load_verifier(""))


def case_builtin_ops():
    print(sorted(getattr(o, "__name__", str(o)) for o in Verifier().allowed_builtin_ops()))


def case_allowed_types():
    print([t.__name__ for t in Verifier().allowed_op_types()], [t.__name__ for t in Verifier().allowed_getattr_types()])


def case_training_types():
    print([t.__name__ for t in TrainingIRVerifier().allowed_getattr_types()], TrainingIRVerifier.dialect)


def case_getattr_bad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + self.w

    gm = torch.fx.experimental.proxy_tensor.make_fx(M())(torch.ones(2))
    Verifier()._check_graph_module(gm)


def case_getattr_int():
    ep = ep2()
    ep.graph_module.foo = 3
    with ep.graph.inserting_before(next(iter(ep.graph.nodes))):
        ep.graph.get_attr("foo")
    Verifier().check(ep)


def case_cond_ok():
    class M(nn.Module):
        def forward(self, x, y):
            return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, [x, y])

    ep = export(M(), (torch.ones(3), torch.ones(3)))
    print(Verifier().check(ep))
    for n in ep.graph_module.true_graph_0.graph.nodes:
        if n.op == "call_function":
            n.target = torch.add
    ep.validate() if hasattr(ep, "validate") else print("novalidate")
    ep._validate()


def case_validate_bad():
    ep = ep2()
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.target = torch.add
    ep.validate()


def case_check_spec_kind():
    from torch.export.graph_signature import InputKind

    ep = export(Lin(), (torch.ones(1, 3),))
    ep.graph_signature.input_specs[0].kind = "foo"
    Verifier().check(ep)


def case_additional_inputs():
    class M(nn.Module):
        def forward(self, x, n, f, st, none):
            return x * n + f

    ep = export(M(), (torch.ones(2), 3, 2.5, "a", None))
    print(Verifier().check(ep))
    print(ep.graph_signature.user_inputs)


def case_check_additional():
    class V(Verifier):
        dialect = "CASE_ADD"

        def check_additional(self, gm):
            print("additional", len(list(gm.graph.nodes)))

    V().check(ep2())


def case_specviolation():
    print(SpecViolationError.__mro__, SpecViolationError.__module__)
