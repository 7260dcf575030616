"""torch.autograd.Function where capture reads it like any other code: applied to what is not differentiated, read through
once, and applied for real in a graph."""

import sys

import torch

_NO_SETUP = torch.autograd.Function.setup_context


class _Context:
    """What forward() of an autograd.Function gets where nothing is differentiated."""

    def __init__(self, needed):
        self.needs_input_grad = needed
        self.dirty = ()

    def save_for_backward(self, *tensors):
        """Nobody will ask for them."""

    def save_for_forward(self, *tensors):
        """Nobody will ask for them."""

    def mark_dirty(self, *tensors):
        """These are returned as they are. That they are marked counts as a write."""
        self.dirty = tensors
        for tensor in tensors:
            tensor.copy_(tensor)

    def mark_non_differentiable(self, *tensors):
        """Nothing is differentiated."""

    def set_materialize_grads(self, value):
        """There are no gradients."""


def _forward_of(cls, context, args):
    if cls.setup_context is _NO_SETUP:
        return cls.forward(context, *args)
    out = cls.forward(*args)
    cls.setup_context(context, args, out)
    return out


def apply_forward(cls, *args):
    """torch.autograd.Function.apply of arguments none of which requires a gradient."""
    context = _Context((False,) * len(args))
    before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        out = _forward_of(cls, context, args)
        if len(_among(context.dirty, out if isinstance(out, tuple) else (out,))) != len(context.dirty):
            sys.exc_info()  # is not traced: PyTorch says what is wrong
        if isinstance(out, tuple):
            return tuple([_fresh(each, args, context.dirty) for each in out])
        return _fresh(out, args, context.dirty)
    finally:
        torch._C._set_grad_enabled(before)


class _Rehearsal(_Context):
    """What both halves of an autograd.Function get when they are read through."""

    def save_for_backward(self, *tensors):
        """Backward asks for them."""
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors):
        """What it writes, others see."""
        raise NotImplementedError

    def set_materialize_grads(self, value):
        """Backward may take another way where a gradient is None."""
        if not value:
            raise NotImplementedError


def rehearse(cls, *args):
    """Runs through forward and backward of a torch.autograd.Function."""
    context = _Rehearsal(tuple([isinstance(each, torch.Tensor) and each.requires_grad for each in args]))
    before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        out = _forward_of(cls, context, args)
        results = out if isinstance(out, tuple) else (out,)
        cls.backward(context, *[torch.empty_like(each) if isinstance(each, torch.Tensor) else None for each in results])
    finally:
        torch._C._set_grad_enabled(before)


def apply_for_real(cls, *args):
    """torch.autograd.Function.apply of one that was read through: its nodes say so."""
    out = cls.apply(*args)
    for each in out if isinstance(out, tuple) else (out,):
        node = each.grad_fn if isinstance(each, torch.Tensor) else None
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            node.read_by_vitrine = True
    return out


def _among(tensors, others):
    return [each for each in tensors if [None for other in others if other is each]]


def _fresh(out, args, dirty):
    """An input that is returned untouched comes back as another tensor."""
    for arg in args:
        if out is arg and isinstance(out, torch.Tensor):
            for tensor in dirty:
                if tensor is out:
                    return out
            return out.view_as(out)
    return out
