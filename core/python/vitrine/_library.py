"""Functions of the standard library that CPython has in C, written in Python, so that capture reads them like any
other code. Each does what its C namesake does: https://docs.python.org/3/library/itertools.html, operator.html."""

import functools
import importlib.util
import sys
import types

import torch
import torch.utils._pytree as pytree

from vitrine._walked_backward import note_hook

_NOTHING = object()
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


def without_numpy_warnings(function, args, kwargs):
    """What a function gives; raises FloatingPointError where NumPy would warn."""
    import numpy

    with numpy.errstate(all="raise"):
        return function(*args, **kwargs)


def leave_exit_stack(stack):
    """contextlib.ExitStack.__exit__ after a body that raised nothing."""
    while stack._exit_callbacks:
        _, leave = stack._exit_callbacks.pop()
        try:
            leave(None, None, None)
        except BaseException:
            sys.exc_info()  # is not traced: the others see the exception, each with its own context
            raise
    return False


def is_enabled_for(logger, level):
    """logging.Logger.isEnabledFor, which remembers its answers under a lock."""
    if logger.disabled:
        return False
    if level in logger._cache:
        return logger._cache[level]
    return False if logger.manager.disable >= level else level >= logger.getEffectiveLevel()


def _does_nothing():
    pass


def function_like(code, name, defaults, keyword_defaults, positional, keywords):
    """Calls what has the signature of this code and does nothing, with so many positional arguments and these names."""
    empty = _does_nothing.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    like = empty.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_flags=empty.co_flags | code.co_flags & 12,
        co_nlocals=count,
        co_varnames=code.co_varnames[:count],
        co_name=code.co_name,
        co_qualname=name,
    )
    function = types.FunctionType(like, {}, code.co_name, (None,) * defaults)
    function.__kwdefaults__ = dict.fromkeys(keyword_defaults)
    function.__qualname__ = name
    function(*[None] * positional, **dict.fromkeys(keywords))


def joined(parts):
    """The texts of an f-string."""
    return "".join(parts)


def call_again(function, args, kwargs):
    """A call whose result is known: it counts."""
    function(*args, **kwargs)


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


def _add(a, b):
    return a + b


def accumulate(iterable, func=None, *, initial=None):
    """itertools.accumulate."""
    step = _add if func is None else func
    source = iter(iterable)
    total = initial
    if initial is None:
        for total in source:
            break
        else:
            return
    yield total
    for item in source:
        total = step(total, item)
        yield total


def starmap(function, iterable):
    """itertools.starmap."""
    for arguments in iterable:
        yield function(*arguments)


def pairwise(iterable):
    """itertools.pairwise."""
    source = iter(iterable)
    last = _NOTHING
    for item in source:
        if last is not _NOTHING:
            yield last, item
        last = item


def zip_longest(*iterables, fillvalue=None):
    """itertools.zip_longest."""
    sources = [iter(each) for each in iterables]
    left = len(sources)
    while left:
        row = []
        for i, source in enumerate(sources):
            item = fillvalue if source is None else next(source, _NOTHING)
            if item is _NOTHING:
                left -= 1
                if not left:
                    return
                sources[i] = None
                item = fillvalue
            row.append(item)
        yield tuple(row)


def takewhile(predicate, iterable):
    """itertools.takewhile."""
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate, iterable):
    """itertools.dropwhile."""
    source = iter(iterable)
    for item in source:
        if not predicate(item):
            yield item
            break
    for item in source:
        yield item


def filterfalse(predicate, iterable):
    """itertools.filterfalse."""
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data, selectors):
    """itertools.compress."""
    for item, chosen in zip(data, selectors):
        if chosen:
            yield item


def cycle(iterable):
    """itertools.cycle."""
    seen = []
    for item in iterable:
        yield item
        seen.append(item)
    while seen:
        for item in seen:
            yield item


def permutations(iterable, r=None):
    """itertools.permutations."""
    pool = tuple(iterable)
    yield from _arranged(pool, len(pool) if r is None else r, ())


def _arranged(pool, r, used):
    if len(used) == r:
        yield tuple(pool[i] for i in used)
        return
    for i in range(len(pool)):
        if i not in used:
            yield from _arranged(pool, r, used + (i,))


def combinations(iterable, r):
    """itertools.combinations."""
    pool = tuple(iterable)
    yield from _chosen(pool, r, (), 0, 1)


def combinations_with_replacement(iterable, r):
    """itertools.combinations_with_replacement."""
    pool = tuple(iterable)
    yield from _chosen(pool, r, (), 0, 0)


def _chosen(pool, r, used, first, step):
    if len(used) == r:
        yield tuple(pool[i] for i in used)
        return
    for i in range(first, len(pool)):
        yield from _chosen(pool, r, used + (i,), i + step, step)


def tee(iterable, n=2):
    """itertools.tee."""
    if n < 0:
        raise ValueError("n must be >= 0")
    source, seen = iter(iterable), []
    return tuple(_branch(source, seen) for _ in range(n))


def _branch(source, seen):
    at = 0
    while True:
        if at == len(seen):
            try:
                seen.append(next(source))
            except StopIteration:
                return
        yield seen[at]
        at += 1


def groupby(iterable, key=None):
    """itertools.groupby: the groups take from one source, each only until the next one is asked for."""
    source = iter(iterable)
    now = [_NOTHING, _NOTHING, 0]  # an item that no group has taken, its key, which group may take it
    target = _NOTHING
    while True:
        now[2] += 1  # the group before is over, even if there is none after it
        while now[1] is _NOTHING or (target is not _NOTHING and target == now[1]):
            for item in source:
                now[0], now[1] = item, item if key is None else key(item)
                break
            else:
                return
        target = now[1]
        yield target, _group(source, key, now, target, now[2])


def _group(source, key, now, target, number):
    while now[2] == number:
        if now[1] is _NOTHING:
            for item in source:
                now[0], now[1] = item, item if key is None else key(item)
                break
            else:
                return
        if not target == now[1]:
            return
        item = now[0]
        now[0] = now[1] = _NOTHING
        yield item


def _written_in_python(name, accelerator):
    """A module of the standard library as it is where its C half is missing."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    there = sys.modules.get(accelerator)
    sys.modules[accelerator] = None
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules[accelerator] = there
        if there is None:
            del sys.modules[accelerator]
    return module


_heap = _written_in_python("heapq", "_heapq")
heapify, heappush, heappop = _heap.heapify, _heap.heappush, _heap.heappop
heapreplace, heappushpop = _heap.heapreplace, _heap.heappushpop


def items_of(sequence):
    """What iter() walks through where a class has no __iter__: sequence[0], sequence[1], ..."""
    i = 0
    while True:
        try:
            item = sequence[i]
        except (IndexError, StopIteration):
            return
        yield item
        i += 1


def one_hot(tensor, num_classes):
    """torch.nn.functional.one_hot of a known number of classes: a class that is none of them is no place to write."""
    zeros = torch.zeros((*tensor.shape, num_classes), dtype=torch.int64, device=tensor.device)
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """torch.nn.functional.max_pool1d of what is not differentiated, without indices."""
    if not input.is_floating_point():
        raise NotImplementedError
    alone = input.dim() == 2
    pooled = torch.max_pool1d_with_indices(input[None] if alone else input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)[0]
    own = pooled.clone(memory_format=torch.contiguous_format)
    return own.squeeze_(0) if alone else own


def itemgetter(item, *items):
    """operator.itemgetter."""
    if not items:
        return lambda of: of[item]
    return lambda of: tuple([of[each] for each in (item, *items)])


def attrgetter(attr, *attrs):
    """operator.attrgetter."""
    if not attrs:
        return lambda of: _attribute(of, attr)
    return lambda of: tuple([_attribute(of, each) for each in (attr, *attrs)])


def _attribute(of, path):
    for name in path.split("."):
        of = getattr(of, name)
    return of


def methodcaller(name, /, *args, **kwargs):
    """operator.methodcaller."""
    return lambda of: getattr(of, name)(*args, **kwargs)


class _Key:
    """What functools.cmp_to_key makes of an item."""

    __slots__ = ("function", "obj")
    __hash__ = None

    def __init__(self, function, obj):
        self.function = function
        self.obj = obj

    def __lt__(self, other):
        return self.function(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.function(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.function(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.function(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.function(self.obj, other.obj) >= 0


def cmp_to_key(mycmp):
    """functools.cmp_to_key."""
    return lambda obj: _Key(mycmp, obj)


def partial_of(function, arguments, keywords):
    """functools.partial of its parts."""
    return functools.partial(function, *arguments, **keywords)


def count_elements(mapping, iterable):
    """collections._count_elements."""
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1


def enter(context):
    """Enters a context that somebody else will leave."""
    context.__enter__()


def as_inference(tensor):
    """The same memory as a tensor made in inference mode."""
    if tensor.is_inference():
        return tensor
    with torch.inference_mode():
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return made.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """torch.nn.functional.batch_norm, whose momentum need not be known."""
    if not training or running_mean is None:
        return torch.nn.functional.batch_norm(input, running_mean, running_var, weight, bias, training, 0.1, eps)
    mean, var = torch.zeros_like(running_mean), torch.zeros_like(running_var)
    out = torch.nn.functional.batch_norm(input, mean, var, weight, bias, True, 1.0, eps)
    running_mean.data.copy_(mean * momentum + running_mean * (1 - momentum))  # a write that PyTorch does not count
    running_var.data.copy_(var * momentum + running_var * (1 - momentum))
    return out


def leaky_relu(input, negative_slope):
    """torch.nn.functional.leaky_relu, whose slope need not be known."""
    return torch.where(input > 0, input, input * negative_slope)


def data_of(tensor):
    """tensor.data: the same memory, with a count of writes of its own. A recording knows it as detach()."""
    if torch._C._len_torch_dispatch_stack():
        return tensor.detach().data
    return tensor.data


def set_data(tensor, value):
    """tensor.data = value."""
    tensor.data = value
    return tensor


def set_version(tensor, before, writes):
    """So often was the tensor written to since then."""
    torch._C._autograd._unsafe_set_version_counter((tensor,), (before + writes,))


def bound(descriptor, owner):
    """The method that was found, of its owner. Its name may say something else: super() passes over what an attribute of a
    class gives."""
    return getattr(owner, descriptor.__name__) if owner is None else descriptor.__get__(owner)


def as_parameter(tensor):
    """The tensor itself, of class Parameter from now on."""
    tensor.__class__ = torch.nn.Parameter
    return tensor


def set_of(changes):
    """A set to which these methods, each with its argument, are done."""
    made = set()
    for method, argument in changes:
        getattr(made, method)(argument)
    return made


def function_of(parts):
    """A function made of its parts: of a value as it is, of a method, of a partial, or of code with what it closes over."""
    kind, first, *rest = parts
    if kind == "value":
        return first
    if kind == "method":
        return types.MethodType(function_of(first), *rest)
    if kind == "partial":
        arguments, keywords = rest
        return functools.partial(function_of(first), *arguments, **keywords)
    defaults, kwdefaults, closure = rest
    cells = tuple(types.CellType(function_of(each)) for each in closure)
    made = types.FunctionType(first.__code__, first.__globals__, first.__name__, defaults, cells)
    made.__kwdefaults__ = kwdefaults
    return made


def register_hook(tensor, parts):
    """Registers a hook that is given in parts. Gives the tensor."""
    hook = function_of(parts)
    tensor.register_hook(hook)
    note_hook(tensor, hook)
    return tensor


class _StandIns(torch.overrides.TorchFunctionMode):
    """Gives PyTorch other tensors in the place of these."""

    def __init__(self, others):
        super().__init__()
        self.others = others

    def __torch_function__(self, func, types, args=(), kwargs=None):
        others = self.others
        given = pytree.tree_map_only(torch.Tensor, lambda each: others.get(each, each), (args, kwargs or {}))
        return func(*given[0], **given[1])


def among_stand_ins(others, function, args, kwargs):
    """function(*args, **kwargs), where what it finds of real tensors outside its arguments is others[tensor]."""
    with _StandIns(others):
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
            if not isinstance(others, _StandIns):
                return function(*given)
            with _StandIns(others.others):
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
