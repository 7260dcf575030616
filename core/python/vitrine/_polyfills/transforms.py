"""What torch.vmap, torch.func and flex_attention give, of functions of the program that are given in parts: what a graph
calls, and what capture reads in their place."""

import functools
import types

import torch
import torch.utils._pytree as pytree


def function_of(parts):
    """A function made of its parts: of a value as it is, or weakly referred to, of a method, of a partial, or of code with what
    it closes over."""
    kind, first, *rest = parts
    if kind == "value":
        return first
    if kind == "weak":
        return first()
    if kind == "method":
        return types.MethodType(function_of(first), function_of(*rest))
    if kind == "partial":
        arguments, keywords = rest
        return functools.partial(function_of(first), *arguments, **keywords)
    defaults, kwdefaults, closure = rest
    cells = tuple(types.CellType(function_of(each)) for each in closure)
    made = types.FunctionType(first.__code__, first.__globals__, first.__name__, defaults, cells)
    made.__kwdefaults__ = kwdefaults
    return made


class _FakeTensors(torch.overrides.TorchFunctionMode):
    """Gives PyTorch other tensors in the place of these."""

    def __init__(self, others):
        super().__init__()
        self.others = others

    def __torch_function__(self, func, types, args=(), kwargs=None):
        others = self.others
        given = pytree.tree_map_only(torch.Tensor, lambda each: others.get(each, each), (args, kwargs or {}))
        return func(*given[0], **given[1])


def among_fake_tensors(others, function, args, kwargs):
    """function(*args, **kwargs), where what it finds of real tensors outside its arguments is others[tensor]."""
    with _FakeTensors(others):
        return function(*args, **(kwargs or {}))


def _runs_program(function):
    """Marks what calls functions of the program when it is recorded."""
    function.runs_program = True
    return function


@_runs_program
def run_vmap(parts, in_dims, out_dims, args, kwargs):
    """torch.vmap of a function given in parts."""
    return torch.vmap(function_of(parts), in_dims, out_dims)(*args, **kwargs)


def item_at(tensor, indices):
    """tensor[indices], of 0-d tensors that are never asked for their value."""
    return torch.ops.aten.index.Tensor(tensor, indices)


def score_and_place(query):
    """A score of flex_attention, and the place of it: batch, head, query, key."""
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    return query.new_zeros((), dtype=dtype), *[query.new_zeros((), dtype=torch.int64) for _ in range(4)]


@_runs_program
def run_flex_attention(query, key, value, score_mod, mask_mod, scale):
    """What flex_attention's operator gives in eager, of functions given in parts."""
    others = torch.overrides._get_current_function_mode()

    def found(parts):
        function = function_of(parts)

        def among(*given):  # PyTorch reads at places by a mode of its own, which must not see real tensors
            if not isinstance(others, _FakeTensors):
                return function(*given)
            with _FakeTensors(others.others):
                return function(*given)

        return among

    from torch._higher_order_ops.flex_attention import sdpa_dense

    return sdpa_dense(query, key, value, found(score_mod), (found(mask_mod),), scale, {})


@_runs_program
def run_grad(parts, args, kwargs, argnums, has_aux):
    """torch.func.grad of a function given in parts, called."""
    return torch.func.grad(function_of(parts), argnums, has_aux)(*args, **kwargs)


@_runs_program
def run_grad_and_value(parts, args, kwargs, argnums, has_aux):
    """torch.func.grad_and_value of a function given in parts, called."""
    return torch.func.grad_and_value(function_of(parts), argnums, has_aux)(*args, **kwargs)


@_runs_program
def run_jvp(parts, primals, _, tangents, strict, has_aux):
    """torch.func.jvp of a function given in parts."""
    return torch.func.jvp(function_of(parts), primals, tangents, strict=strict, has_aux=has_aux)


def pull(func, primals):
    """The function that torch.func.vjp gives."""

    def vjp_function(cotangents, retain_graph=True, create_graph=None):
        return pulled_back(func, primals, cotangents, retain_graph and create_graph is None)

    return vjp_function


def pulled_back(func, primals, cotangents, plainly):
    """For the interpreter, which does not come here."""
    raise NotImplementedError(func, primals, cotangents, plainly)


@_runs_program
def run_vjp(parts, primals, _, cotangents):
    """What torch.func.vjp's function gives, of a function given in parts."""
    return torch.func.vjp(function_of(parts), *primals)[1](cotangents)


def jacrev(func, argnums=0, has_aux=False):
    """torch.func.jacrev, whose result is known when it is called."""

    @functools.wraps(func)
    def wrapper_fn(*args):
        return jacobian(True, func, argnums, has_aux, args)

    return wrapper_fn


def jacfwd(func, argnums=0, has_aux=False):
    """torch.func.jacfwd, whose result is known when it is called."""

    @functools.wraps(func)
    def wrapper_fn(*args):
        return jacobian(False, func, argnums, has_aux, args)

    return wrapper_fn


def jacobian(reverse, func, argnums, has_aux, args):
    """What torch.func.jacrev (or jacfwd) gives for a function and its arguments."""
    transform = torch.func.jacrev if reverse else torch.func.jacfwd
    return transform(func, argnums, has_aux=has_aux)(*args)


@_runs_program
def run_jacobian(parts, args, _, reverse, argnums, has_aux):
    """jacobian() of a function given in parts."""
    return jacobian(reverse, function_of(parts), argnums, has_aux, args)
