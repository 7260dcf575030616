"""What nodes of compiled regions say and ask inside PyTorch's autograd."""

import functools
import re

import torch

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)

# Whether the backward pass that runs may come again (retain_graph). Unknown to this PyTorch: it may.
graph_is_kept = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


@functools.cache
def named_node(function, name):
    """An autograd.Function whose nodes have the name of eager's, for errors that name them and whoever prints them."""
    if not name:
        return function
    made = type(function.__name__, (function,), {})
    node = made._backward_cls
    node.__name__ = node.__qualname__ = name.rpartition("::")[2]
    node.__module__ = "builtins"
    if node.__name__ != name:  # of "torch::autograd::CopySlices" Python's class has the last part
        node.name = lambda self: name
    return made


_apply = torch._C._FunctionBase.__dict__["apply"]


def applying(node):
    """node.apply without its way through Python, which looks at each argument for what functorch's transforms alone leave there."""
    plain = _apply.__get__(None, node)

    def apply(*args):
        return node.apply(*args) if torch._C._are_functorch_transforms_active() else plain(*args)

    return apply


def as_traced(tangent, sizes, strides, dtype, device):
    if tangent is None:
        return torch.empty_strided(sizes, (0,) * len(sizes), dtype=dtype, device=device)  # not read: one element's memory
    plain = type(tangent) is torch.Tensor and not (tangent.is_neg() or tangent.is_conj() or tangent._is_zerotensor())
    if plain and tangent.stride() == strides and tangent.storage_offset() == 0 and tangent.dtype == dtype:
        return tangent
    return torch.empty_strided(sizes, strides, dtype=dtype, device=device).copy_(tangent)


def strides_of(tangent, strides):
    """None: it lies as traced, or does not matter."""
    return None if tangent is None or tangent.stride() == strides else tangent.stride()


def lying_as(grad, strides):
    if grad is None or strides is None or grad.stride() == strides:
        return grad
    shape = grad.shape
    for d, (size, stride) in enumerate(zip(shape, strides)):
        if stride == 0 and size > 1:  # one element all along, as the tangent had
            grad = grad.narrow(d, 0, 1)
    made = torch.empty_strided(grad.shape, strides, dtype=grad.dtype, device=grad.device)
    if torch._debug_has_internal_overlap(made) == 1:
        return grad.expand(shape)
    return made.copy_(grad).expand(shape)


@functools.cache
def names_are_short():
    """Whether this PyTorch's errors say "Exp" of what its node calls "ExpBackward0", as newer ones do."""
    with torch.inference_mode(False), torch.enable_grad():
        result = torch.zeros(1, requires_grad=True, device="cpu").exp()
    result.detach().add_(1)
    try:
        result.grad_fn._saved_result
    except RuntimeError as error:
        return "ExpBackward0" not in str(error)
    return True


def name_in_errors(node):
    """How this PyTorch's errors call what its node of that name makes."""
    return re.sub("Backward[0-9]*$", "", node) if names_are_short() else node
