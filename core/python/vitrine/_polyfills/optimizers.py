"""Parts of PyTorch's optimizers as capture reads them: a first step is the same program as every later one."""

import collections
import inspect

import torch


def zero_grad(self):
    """torch.optim.Optimizer.zero_grad() with set_to_none=True."""
    if not hasattr(self, "_zero_grad_profile_name"):
        self._patch_step_function()
    with torch.autograd.profiler.record_function(self._zero_grad_profile_name):
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p)


def zero_grad_of_module(self):
    """torch.nn.Module.zero_grad() with set_to_none=True."""
    if getattr(self, "_is_replica", False):
        return torch.nn.Module.zero_grad(self, False)  # it warns
    for p in self.parameters():
        clear_grad(p)


def clear_grad(p):
    """A gradient that is None is set to None without being looked at: nobody can tell."""
    if p.grad is not None:
        p.grad = None


class Prepared:
    """The state that a step is about to make of these parameters."""

    def __init__(self, state, made):
        self.state = state
        self.made = [(p, own, self._seen(own)) for p, own in made]

    @staticmethod
    def _seen(own):
        return {key: (id(value), value._version if isinstance(value, torch.Tensor) else value) for key, value in own.items()}

    def take_back(self):
        for p, own, seen in self.made:
            if self.state.get(p) is own and self._seen(own) == seen:
                del self.state[p]


def prepare(function, optimizer, group, params, alike):
    """Lets an optimizer's _init_group make the state of parameters whose gradients the program has by then. None: it is
    there, or nobody knows what it would be. `alike`: each gradient has its parameter's dtype and strides."""
    state = optimizer.state
    if type(state) is not collections.defaultdict or state.default_factory is not dict or not params:
        return None
    if any(type(p) not in (torch.Tensor, torch.nn.Parameter) or p in state for p in params):
        return None
    own = of_gradients(optimizer)
    if own and not alike:
        return None
    make = make_momentum if isinstance(optimizer, torch.optim.SGD) else make_by_init_group
    try:
        if not make(function, optimizer, group, params, torch.empty_like if own else of_one_element):
            return None
    except Exception:
        for p in params:
            state.pop(p, None)
        return None
    return Prepared(state, [(p, state[p]) for p in params if p in state])


def of_gradients(optimizer):
    """Whether an optimizer makes its state after the gradients rather than after the parameters."""
    return isinstance(optimizer, tuple(getattr(torch.optim, name, ()) for name in ("SGD", "Rprop", "Muon", "Adafactor")))


def of_one_element(p):
    return torch.zeros((), dtype=p.dtype, device=p.device).expand(p.shape)


def make_by_init_group(function, optimizer, group, params, stand_in):
    before = [p.grad for p in params]
    lists = [[] for _ in range(len(inspect.signature(function).parameters) - 2)]
    try:
        for p in params:
            p.grad = stand_in(p)
        function(optimizer, {**group, "params": params}, *lists)
    finally:
        for p, grad in zip(params, before, strict=True):
            p.grad = grad
    return True


def make_momentum(_function, optimizer, group, params, _stand_in):
    """SGD begins with a copy of the gradient. That is what every later step makes of zeros, if these are negative ones
    and the gradient is not dampened: -0. + x is x, whatever its sign."""
    if not group["momentum"] or group["dampening"] or any(p.is_complex() for p in params):
        return False
    for p in params:
        optimizer.state[p]["momentum_buffer"] = torch.full_like(p, -0.0)
    return True
