"""Who a model is measured against: one row a peer, with how it is installed and how it gets the model.

A peer compiles a function of tensors without keywords and gives a function of the same tensors back, whose outputs are a
list of tensors. Threads are PyTorch's number for all of them, and every one computes in float32.
"""

import importlib.util
import logging
import os
import tempfile
from dataclasses import dataclass
from typing import Callable


def flat_tensors(value) -> list:
    """The tensors in an output, whatever holds them, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in flat_tensors(item)]
    return []


def as_module(function):
    """A module whose forward returns a tuple of tensors: what exporters take."""
    import torch

    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = function

        def forward(self, *args):
            return tuple(flat_tensors(self.inner(*args)))

    return Flat().eval()


def eager(function, args):
    return function


def vitrine(function, args):
    import vitrine

    return vitrine.compile(function)


def inductor(function, args):
    import torch

    torch._dynamo.reset()
    return torch.compile(function)


def onnxruntime(function, args):
    import onnxruntime
    import torch

    # It says of each optional package whose operators it could not register that it is not installed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(as_module(function), args, path, dynamo=True, verbose=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]

    def call(*tensors):
        return [torch.from_numpy(o) for o in session.run(None, {n: t.numpy() for n, t in zip(names, tensors)})]

    return call


def openvino(function, args):
    import openvino
    import torch

    model = openvino.convert_model(as_module(function), example_input=args)
    limits = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.compile_model(model, "CPU", limits).create_infer_request()

    def call(*tensors):
        answer = request.infer([t.numpy() for t in tensors], share_inputs=True)
        return [torch.from_numpy(answer[i]) for i in range(len(answer))]

    return call


@dataclass(frozen=True)
class Peer:
    name: str
    needs: tuple[str, ...]  # modules
    install: str
    prepare: Callable  # (function, args) -> function


PEERS = (
    Peer("eager", (), "", eager),
    Peer("inductor", (), "", inductor),
    Peer("onnxruntime", ("onnxruntime", "onnx", "onnxscript"), "pip install onnxruntime onnx onnxscript", onnxruntime),
    Peer("openvino", ("openvino",), "pip install openvino", openvino),
)


def missing(peer: Peer) -> list[str]:
    return [m for m in peer.needs if importlib.util.find_spec(m) is None]
