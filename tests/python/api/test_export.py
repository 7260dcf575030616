"""Leaving Python: torch.export and ONNX take what ``vitrine.compile`` returned as they take what ``torch.compile`` returned."""

import pytest
import torch
from torch import nn

import vitrine


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, *, shift=None):
        y = torch.relu(self.fc(x)) * self.scale
        return y if shift is None else y + shift


@pytest.fixture
def model():
    torch.manual_seed(0)
    vitrine.reset()
    return Model().eval()


@pytest.mark.parametrize("strict", (False, True))
def test_an_exported_program_is_torch_compile_s(model, strict):
    x, shift = torch.randn(2, 4), torch.randn(4)
    ours = torch.export.export(vitrine.compile(model), (x,), {"shift": shift}, strict=strict)
    theirs = torch.export.export(torch.compile(model), (x,), {"shift": shift}, strict=strict)
    assert list(ours.state_dict) == list(theirs.state_dict)
    assert [str(n.target) for n in ours.graph.nodes if n.op == "call_function"] == [str(n.target) for n in theirs.graph.nodes if n.op == "call_function"]
    torch.testing.assert_close(ours.module()(x, shift=shift), model(x, shift=shift))


def test_sizes_of_an_export_may_be_dynamic(model):
    program = torch.export.export(vitrine.compile(model), (torch.randn(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    x = torch.randn(7, 4)
    torch.testing.assert_close(program.module()(x), model(x))


def test_a_model_that_ran_compiled_is_exported_all_the_same(model):
    compiled, x = vitrine.compile(model), torch.randn(2, 4)
    with torch.no_grad():
        compiled(x)
    torch.testing.assert_close(torch.export.export(compiled, (x,)).module()(x), model(x))
    torch.testing.assert_close(compiled(x), model(x))


def test_an_exported_program_is_compiled(model):
    x = torch.randn(2, 4)
    program = torch.export.export(model, (x,)).module()
    with torch.no_grad():
        torch.testing.assert_close(vitrine.compile(program)(x), model(x))


def test_an_onnx_model_computes_what_the_model_does(model, tmp_path):
    pytest.importorskip("onnxscript", reason="torch.onnx exports by it")
    runtime = pytest.importorskip("onnxruntime")
    x = torch.randn(2, 4)
    torch.onnx.export(vitrine.compile(model), (x,), str(tmp_path / "model.onnx"), dynamo=True)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    (given,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(given), model(x), atol=1e-5, rtol=1e-5)
