"""Two derivatives of one call, ours and PyTorch's own backward, run operator by operator, and what differs."""

import torch
from tests.python.support.recorded_program import Program, run_aten

WHO = ("own", "borrowed")


class Derivatives:
    """function(*args, **kwargs) with both joint graphs. `refused`: why ours is none; `none`: why there is none at all."""

    def __init__(self, function, args, kwargs=None):
        with torch.enable_grad():
            self.program = Program(function, args, kwargs or {}, each_call=False, joints=WHO)
        self.joints = self.program.joints
        own, borrowed = (self.joints[who] for who in WHO)
        self.none = borrowed if isinstance(borrowed, str) else ""
        self.refused = own if isinstance(own, str) else own["borrowed"] or ", ".join(own["borrowed_operators"])
        self.inputs = [real for real, _ in self.program.inputs]

    def differentiates(self, op):
        """Our rules wrote the gradient of a program that calls the operator."""
        called = any(node["op"] == op for node in self.program.recorded.aten()["nodes"])
        return called and bool(self.joints["own"]["inputs"])

    def tangents(self, seed=5):
        generator = torch.Generator().manual_seed(seed)
        out = []
        for dtype, sizes, strides, _ in self.joints["own"]["tangents"]:
            made = torch.empty_strided(sizes, strides, dtype=getattr(torch, dtype))
            out.append(made.copy_(torch.randn(sizes, generator=generator, dtype=torch.float64)))
        return out

    def run(self, who, inputs=None, tangents=None):
        """(results, gradients by input)"""
        joint = self.joints[who]
        inputs = [t.detach() for t in inputs or self.inputs]
        torch.manual_seed(3)
        with torch.no_grad():
            values = run_aten(joint["graph"], inputs + joint["constants"] + (tangents or self.tangents()))
        n = len(self.program.results)
        gradients = [None] * len(inputs)
        for i, gradient in zip(joint["inputs"], values[n:]):
            gradients[i] = gradient
        return values[:n], gradients


def difference(found, expected, tolerance):
    """What differs between two lists of gradients, as a text."""
    for i, (a, b) in enumerate(zip(found, expected)):
        if (a is None) != (b is None):
            return f"gradient {i}: ours is {kind(a)}, PyTorch's {kind(b)}"
        if a is None:
            continue
        if kind(a) != kind(b):
            return f"gradient {i}: ours is {kind(a)}, PyTorch's {kind(b)}"
        try:
            torch.testing.assert_close(a, b, equal_nan=True, **tolerance)
        except AssertionError as error:
            return f"gradient {i}: {error}"
    return ""


def kind(t):
    return None if t is None else (str(t.dtype), tuple(t.shape), t.stride())


def check_by_differences(derivatives):
    """torch.autograd.gradcheck of our derivative; the inputs are float64."""
    class Ours(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return tuple(r.clone() for r in derivatives.run("own", inputs)[0])

        @staticmethod
        def backward(ctx, *tangents):
            wanted = [t for t, r in zip(tangents, derivatives.program.results) if r.requires_grad]
            ready = [torch.empty_strided(sizes, strides, dtype=getattr(torch, dtype)).copy_(t)
                     for t, (dtype, sizes, strides, _) in zip(wanted, derivatives.joints["own"]["tangents"])]
            return tuple(derivatives.run("own", ctx.saved_tensors, ready)[1])

    def function(*inputs):
        out = Ours.apply(*inputs)
        return tuple(o for o, r in zip(out, derivatives.program.results) if r.requires_grad)

    return torch.autograd.gradcheck(function, [t.detach().clone().requires_grad_(t.requires_grad) for t in derivatives.inputs],
                                    atol=1e-5, rtol=1e-4, check_undefined_grad=False, check_batched_grad=False)
