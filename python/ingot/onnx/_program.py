# SPDX-License-Identifier: Apache-2.0
"""ONNXProgram: a written model that is called like the program it was written from."""
from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import ingot
from ingot import _C, nn
from ingot._C import Tensor
from ingot.export.exported_program import ExportedProgram, flatten_inputs
from ingot.onnx import errors
from ingot.onnx._diagnostics import DiagnosticContext
from ingot.onnx._options import ONNXRuntimeOptions
from ingot.utils import _pytree as pytree
from ingot.version import __version__

__all__ = ["ONNXProgram"]

# Which engine runs models: Ingot's own, or "onnxruntime".
ENGINE = "INGOT_ONNX_RUNTIME"
# Bytes of weights from which on a model is run out of a file.
MUCH = 1 << 28


class _Signature:
    """How the flat values of a program map to inputs and outputs of its model."""

    def __init__(self, ep: ExportedProgram) -> None:
        self.in_spec = ep.call_spec.in_spec
        self.inputs = list(ep._program.input_specs)
        self.outputs = list(ep._program.output_specs)

    def user_inputs(self) -> list[tuple]:
        return [spec for spec in self.inputs if spec[0] == "USER_INPUT"]

    def is_fed(self, spec: tuple) -> bool:
        """Whether an input of the program is one of the model: tensors, and numbers that may vary."""
        return isinstance(spec[4], (Tensor, ingot.SymInt, ingot.SymFloat, ingot.SymBool))


def _functional(ep: ExportedProgram) -> ExportedProgram:
    """The functional program: new values are outputs before the user's."""
    ep._sync()
    return ExportedProgram(ep._program.functionalize(), ep.call_spec, ep.example_inputs, ep._arg_names)


def _in_file(value: Any) -> Any:
    """A value as the model has it: complex numbers are pairs of real ones."""
    return ingot.view_as_real(value.resolve_conj()) if isinstance(value, Tensor) and value.is_complex() else value


def _is_output(value: Any) -> bool:
    return value is not None and not isinstance(value, str)


class ONNXProgram:
    """A model in ONNX with the program that it was written from. Calling it runs the model: by Ingot's own runtime, or
    with INGOT_ONNX_RUNTIME=onnxruntime (or `runtime="onnxruntime"`) by the real one."""

    def __init__(
        self,
        exported_program: ExportedProgram | None,
        options: dict[str, Any] | None = None,
        *,
        diagnostic_context: DiagnosticContext | None = None,
        fake_context: Any = None,
        export_exception: Exception | None = None,
        runtime: str | None = None,
        arrays: bool = True,
    ) -> None:
        if exported_program is not None and exported_program._program.is_training():
            exported_program = _functional(exported_program)
        self.exported_program = exported_program
        self.runtime = runtime
        self._options = dict(options or {})
        self._bytes: bytes | None = None
        self._session: Any = None
        self._model: Any = None
        self._file: str | None = None  # while it is known to hold the model
        self._arrays = arrays
        self._fed: list[Any] = []
        self.diagnostic_context = diagnostic_context or DiagnosticContext("ingot.onnx", __version__)
        self.fake_context = fake_context
        self._export_exception = export_exception
        self._signature = None if exported_program is None else _Signature(exported_program)

    # ---- the model

    def _program(self) -> ExportedProgram:
        if self._export_exception is not None:
            raise self._export_exception
        assert self.exported_program is not None
        return self.exported_program

    @property
    def model_bytes(self) -> bytes:
        """The serialized model."""
        if self._bytes is None:
            ep = self._program()
            ep._sync()
            self._bytes = ep._program.write_onnx(**self._options)
        return self._bytes

    def _check_writable(self) -> None:
        """Raises what writing would raise, without copying weights."""
        ep = self._program()
        ep._sync()
        ep._program.write_onnx(**self._options, dry=True)

    @property
    def model_proto(self) -> Any:
        """The model as an onnx.ModelProto; needs the onnx package."""
        try:
            import onnx
        except ImportError as error:
            raise errors.OnnxExporterError(
                "model_proto needs the onnx package; model_bytes and save() do not"
            ) from error
        return onnx.load_model_from_string(self.model_bytes)

    @property
    def model_signature(self) -> Any:
        return self._program().graph_signature

    def save(
        self,
        destination: str | os.PathLike | BinaryIO,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
        model_state: dict[str, Any] | str | None = None,
        serializer: Callable | None = None,
    ) -> None:
        """Writes the model. External data (a file beside it) is chosen by size unless specified."""
        if serializer is not None:
            stream = io.BytesIO()
            serializer.serialize(self, stream) if hasattr(serializer, "serialize") else serializer(self, stream)
            _C.write_file(os.fspath(destination), stream.getvalue())  # type: ignore[arg-type]
            return
        ep = self._program()
        options = dict(self._options)
        if model_state is not None:
            options["weights"] = self._given_state(ep, model_state)
            options["weights_as_inputs"] = False
        if not include_initializers:
            options["weights_as_inputs"] = True
        if keep_initializers_as_inputs:
            options["initializers_as_inputs"] = True
        if external_data is not None:
            options["external"] = "always" if external_data else "never"
        ep._sync()
        if isinstance(destination, (str, os.PathLike)):
            ep._program.write_onnx(os.fspath(destination), **options)
        else:
            options["external"] = "never"
            destination.write(ep._program.write_onnx(**options))

    def _given_state(self, ep: ExportedProgram, state: dict[str, Any] | str) -> dict[str, Tensor]:
        """Other weights than the program's: for models that were exported without data."""
        if not isinstance(state, dict):
            state = ingot.load(state)
        known = ep.state_dict | ep.constants
        strange = [name for name in state if name not in known]
        if strange:
            raise errors.OnnxExporterError(f"model_state has names that the program lacks: {', '.join(strange)}")
        return dict(state)

    def save_diagnostics(self, destination: str | os.PathLike) -> None:
        """Writes the diagnostics of the export as SARIF."""
        if not os.fspath(destination).endswith(".sarif"):
            message = f"'destination' must have a '.sarif' extension, got {os.fspath(destination)}"
            raise ValueError(message)
        self.diagnostic_context.dump(destination)

    # ---- inputs and outputs

    def adapt_torch_inputs_to_onnx(
        self, *model_args: Any, model_with_state_dict: Any = None, **model_kwargs: Any
    ) -> Sequence[Tensor | int | float | bool]:
        """The values for the inputs of the model, in order: flat, without None and what the capture fixed."""
        ep = self._program()
        signature = self._signature
        assert signature is not None
        names = signature.in_spec.children_specs[1].context if signature.in_spec.num_children == 2 else ()
        kwargs = {name: model_kwargs[name] for name in names if name in model_kwargs} | model_kwargs
        leaves = flatten_inputs(model_args, kwargs, signature.in_spec)
        specs = signature.user_inputs()
        fed = [leaf for leaf, spec in zip(leaves, specs, strict=True) if signature.is_fed(spec)]
        if self._options.get("weights_as_inputs"):
            state = ep.state_dict | ep.constants
            if model_with_state_dict is not None and isinstance(model_with_state_dict, nn.Module):
                state = state | dict(model_with_state_dict.state_dict())
            fed += [state[spec[2]] for spec in signature.inputs if spec[0] != "USER_INPUT"]
        self._fed = leaves
        return [_in_file(value) for value in fed]

    def adapt_torch_outputs_to_onnx(self, model_outputs: Any, model_with_state_dict: Any = None) -> Sequence[Any]:
        """The flat outputs of the model for a result of the program: new values of buffers and inputs first, where
        they are outputs."""
        ep = self._program()
        signature = self._signature
        assert signature is not None
        state = ep.state_dict | ep.constants
        users = [spec[1] for spec in signature.user_inputs()]
        mutated: list[Any] = []
        for kind, _, target, _ in () if self._options.get("user_outputs") else signature.outputs:
            if kind == "BUFFER_MUTATION":
                mutated.append(state[target])
            elif kind == "USER_INPUT_MUTATION":
                mutated.append(self._fed[users.index(target)])
        found = mutated + [leaf for leaf in pytree.tree_leaves(model_outputs) if _is_output(leaf)]
        return [_in_file(value) for value in found]

    # ---- running

    def _engine(self) -> str:
        return self.runtime or os.environ.get(ENGINE) or "ingot"

    def _load(self, model: str | bytes, options: Any = None) -> None:
        """Gives a file, or bytes, to the engine."""
        if self._engine() == "onnxruntime":
            import onnxruntime

            settings = getattr(options, "session_options", None)
            providers = getattr(options, "execution_providers", None) or ["CPUExecutionProvider"]
            self._session = onnxruntime.InferenceSession(model, settings, providers=providers)
        else:
            self._model = _C.onnx_open(model) if isinstance(model, str) else _C.onnx_parse(model, "model")

    def _start(self, options: Any) -> None:
        """Large models go through a file, which engines map instead of copying it."""
        if self._file is not None:
            self._load(self._file, options)
            return
        ep = self._program()
        state = (ep.state_dict | ep.constants).values()
        if sum(t.numel() * t.element_size() for t in state if isinstance(t, Tensor)) < MUCH:
            self._load(self.model_bytes, options)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self.save(path, external_data=True)
            self._load(path, options)

    def _run_onnxruntime(self, inputs: Sequence[Any]) -> list[Any]:
        feeds = {}
        for info, value in zip(self._session.get_inputs(), inputs, strict=True):
            feeds[info.name] = (value if isinstance(value, Tensor) else ingot.tensor(value)).detach().numpy()
        return self._session.run(None, feeds)

    def _run_ingot(self, inputs: Sequence[Any]) -> list[Any]:
        """What was written, read back and run by Ingot."""
        return self._model.run([v.detach() if isinstance(v, Tensor) else ingot.tensor(v) for v in inputs])

    def _run_program(self, leaves: Sequence[Any]) -> list[Any]:
        """What the model returns, computed by the program: it writes to nothing, new values of buffers are outputs."""
        ep = self._program()
        signature = self._signature
        assert signature is not None
        state = ep.state_dict | ep.constants
        given = iter(leaves)
        values = [next(given) if spec[0] == "USER_INPUT" else state[spec[2]] for spec in signature.inputs]
        with ingot.no_grad():
            found = ep._program.graph._run(tuple(values))
        values = found if isinstance(found, (tuple, list)) else (found,)
        if self._options.get("user_outputs"):
            values = [v for v, spec in zip(values, signature.outputs, strict=True) if not spec[0].endswith("_MUTATION")]
        return [_in_file(value) for value in values if _is_output(value)]

    def __call__(
        self, *args: Any, model_with_state_dict: Any = None, options: ONNXRuntimeOptions | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        inputs = self.adapt_torch_inputs_to_onnx(*args, **kwargs)
        real = self._engine() == "onnxruntime"
        if (self._session if real else self._model) is None:
            self._start(options)
        if real:
            found = self._run_onnxruntime(inputs)
            return found if self._arrays else [ingot.tensor(value) for value in found]
        found = self._run_ingot(inputs)
        return [self._plain(value) for value in found] if self._arrays else found

    @staticmethod
    def _plain(value: Any) -> Any:
        value = value if isinstance(value, Tensor) else ingot.tensor(value)
        return value.detach().numpy()

    def __repr__(self) -> str:
        return f"ONNXProgram(opset={self._options.get('opset') or 18}, exported_program={self.exported_program!r})"

    def optimize(self) -> None:
        """Nothing to do: the writer folds and shares constants."""

    def release(self) -> None:
        """Releases what running has loaded."""
        self._session = self._model = self._file = None

    def to_bytes_io(self) -> io.BytesIO:
        return io.BytesIO(self.model_bytes)
