"""A module that was called often, and then changed anywhere: the next call gives what eager gives. By then a check
compares dicts' versions instead of walking the module."""

import copy
import gc
from collections import OrderedDict

import pytest
import torch
import vitrine


class Scale(torch.nn.Module):
    power = 1

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))
        self.register_buffer("shift", torch.randn(3))
        self.options = {"add": 1.0, "times": [1, 2]}

    def forward(self, x):
        y = x * self.weight + self.shift + self.options["add"] * self.options["times"][1]
        return y if self.training else y * self.power


class Net(torch.nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = torch.nn.ModuleList([Scale() for _ in range(n)])
        self.head = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        self.seen = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Other(Scale):
    def forward(self, x):
        return super().forward(x) * 2


def replaced_dict(net):
    new = dict(net.layers[2].__dict__)
    new["_parameters"] = {"weight": torch.nn.Parameter(torch.full((3,), 7.0))}
    net.layers[2].__dict__ = new


def reordered(net):
    """Other modules in another order under the same names."""
    net.layers._modules = OrderedDict(net.layers._modules)
    net.layers._modules.move_to_end("0")


def patched_class(net):
    forward = Scale.forward
    Scale.forward = lambda self, x: forward(self, x) - 3
    return lambda: setattr(Scale, "forward", forward)


def class_attribute(net):
    Scale.power = 5
    net.eval()
    return lambda: setattr(Scale, "power", 1)


def global_hook(net):
    return torch.nn.modules.module.register_module_forward_hook(lambda m, a, out: out + 1).remove


def data_of_another_dtype(net):
    net.double()


@torch.no_grad()
def other_memory(tensor, like):
    tensor.set_(like)


@torch.no_grad()
def in_place(tensor, change):
    change(tensor)


def of_another_class(tensor):
    class Kept(torch.Tensor):
        pass

    tensor.__class__ = Kept


CHANGES = {
    "weight in place": lambda net: net.layers[3].weight.data.add_(1),
    "weight's data": lambda net: setattr(net.layers[3].weight, "data", torch.ones(3)),
    "weight's data, other strides": lambda net: setattr(net.layers[3].weight, "data", torch.ones(6)[::2]),
    "weight replaced": lambda net: setattr(net.layers[1], "weight", torch.nn.Parameter(torch.ones(3))),
    "weight of other sizes": lambda net: setattr(net.layers[1], "weight", torch.nn.Parameter(torch.ones(1))),
    "weight wants gradients": lambda net: net.layers[0].weight.requires_grad_(False),
    "weight's data, another type": lambda net: setattr(net.layers[3].weight, "data", torch.ones(3).bfloat16()),
    "weight's data, an offset": lambda net: setattr(net.layers[3].weight, "data", torch.arange(6.0)[3:]),
    "weight's data, six dims": lambda net: setattr(net.layers[3].weight, "data", torch.ones(1, 1, 1, 1, 1, 3)),
    "weight's memory": lambda net: other_memory(net.layers[3].weight, torch.full((3,), 5.0)),
    "weight's memory, other strides": lambda net: other_memory(net.layers[3].weight, torch.arange(6.0)[::2]),
    "weight's sizes": lambda net: in_place(net.layers[3].weight, lambda t: t.unsqueeze_(0)),
    "weight expanded": lambda net: in_place(net.layers[3].weight, lambda t: t.as_strided_((3,), (0,))),
    "weight's gradient": lambda net: setattr(net.layers[0].weight, "grad", torch.ones(3)),
    "weight's hook": lambda net: net.layers[0].weight.requires_grad and net.layers[0].weight.register_hook(torch.neg),
    "buffer grows": lambda net: net.layers[0].shift.resize_(2, 3).fill_(2),
    "buffer's type": lambda net: setattr(net.layers[0].shift, "data", torch.ones(3).bfloat16()),
    "buffer wants gradients": lambda net: net.layers[0].shift.requires_grad_(),
    "buffer computed": lambda net: net.layers[0].shift.add_(torch.ones(3, requires_grad=True)),
    "buffer of another class": lambda net: of_another_class(net.layers[0].shift),
    "buffer marked": lambda net: torch._dynamo.mark_static(net.layers[0].shift),
    "tensors swapped": lambda net: torch.utils.swap_tensors(net.layers[0].shift, torch.full((2, 3), 4.0)),
    "buffer replaced": lambda net: setattr(net.layers[0], "shift", torch.zeros(3)),
    "buffer registered anew": lambda net: net.layers[0].register_buffer("shift", torch.zeros(2, 3)),
    "dict item": lambda net: net.layers[2].options.__setitem__("add", 5.0),
    "dict replaced": lambda net: setattr(net.layers[2], "options", {"add": 2.0, "times": [4, 5]}),
    "list item": lambda net: net.layers[2].options["times"].__setitem__(1, 9),
    "instance shadows class": lambda net: (net.eval(), setattr(net.layers[0], "power", 3)),
    "class attribute": class_attribute,
    "class patched": patched_class,
    "class of the object": lambda net: setattr(net.layers[1], "__class__", Other),
    "own forward": lambda net: setattr(net.layers[1], "forward", lambda x: x * 11),
    "dict of the object": replaced_dict,
    "module in a list": lambda net: net.layers.__setitem__(1, Other()),
    "module appended": lambda net: net.layers.append(Scale()),
    "module deleted": lambda net: net.layers.__delitem__(2),
    "modules in another order": reordered,
    "module in a sequence": lambda net: net.head.__setitem__(1, torch.nn.ReLU()),
    "hook": lambda net: net.layers[3].register_forward_hook(lambda m, a, out: out * 2),
    "hook before": lambda net: net.layers[3].register_forward_pre_hook(lambda m, a: (a[0] * 2,)),
    "hook of all modules": global_hook,
    "eval": lambda net: (setattr(Scale, "power", 1), net.eval())[1],
    "half": data_of_another_dtype,
    "nothing": lambda net: None,
}


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def same(compiled, module):
    dtype = next(module.parameters()).dtype
    x = torch.randn(2, 3, dtype=dtype)
    got, expected = compiled(x), module(x)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-4)
    assert got.requires_grad == expected.requires_grad


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_many_calls(change, grad):
    net = Net()
    with torch.set_grad_enabled(grad):
        compiled = vitrine.compile(net)
        for _ in range(8):
            same(compiled, net)
        undo = CHANGES[change](net)
        try:
            for _ in range(3):
                same(compiled, net)
        finally:
            if callable(undo) and not isinstance(undo, (torch.nn.Module, torch.Tensor)):
                undo()
        for _ in range(3):
            same(compiled, net)


# What a second change does not find as it was.
ONCE = {"module deleted", "half", "modules in another order", "weight's data, another type", "weight's sizes",
        "weight expanded",
        "weight's data, six dims", "buffer's type", "buffer wants gradients", "buffer computed", "buffer grows",
        "buffer of another class", "tensors swapped"}  # fmt: skip


class Many(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.all = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(3)) for _ in range(n)])
        self.few = [torch.ones(3), torch.ones(3)]

    def forward(self, x):
        for p in self.all:
            x = x * p
        for i, q in enumerate(self.few):
            x = x + i * q
        return x


OF_MANY = {
    "data": lambda m: setattr(m.all[17], "data", torch.full((3,), 3.0)),
    "data of other sizes": lambda m: setattr(m.all[17], "data", torch.ones(2, 1)),
    "memory": lambda m: other_memory(m.all[17], torch.full((3,), 3.0)),
    "gradients": lambda m: m.all[17].requires_grad_(False),
    "all gradients": lambda m: m.requires_grad_(False) and None,
    "replaced": lambda m: m.all.__setitem__(17, torch.nn.Parameter(torch.full((3,), 3.0))),
    "appended": lambda m: m.all.append(torch.nn.Parameter(torch.full((3,), 3.0))),
    "another list": lambda m: setattr(m, "all", torch.nn.ParameterList(list(m.all)[:20])),
    "sizes of one in a list": lambda m: m.few[1].resize_(2, 3).fill_(1),
    "one in a list replaced": lambda m: m.few.__setitem__(1, torch.zeros(3)),
    "one in a list marked": lambda m: torch._dynamo.mark_static(m.few[1]),
    "one in a list is no tensor": lambda m: m.few.__setitem__(1, 5.0),
    "double": lambda m: m.double() and None,
}


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("change", OF_MANY)
def test_one_of_many_parameters_changes(change, grad):
    many = Many(40)
    with torch.set_grad_enabled(grad):
        compiled = vitrine.compile(many)
        for _ in range(8):
            same(compiled, many)
        OF_MANY[change](many)
        for _ in range(3):
            same(compiled, many)


@torch.no_grad()
def test_changes_one_after_the_other():
    net = Net()
    compiled = vitrine.compile(net, recompile_limit=1000)
    names = [n for n in CHANGES if n not in ONCE]
    generator = torch.Generator().manual_seed(1)
    for _ in range(60):
        name = names[int(torch.randint(len(names), (1,), generator=generator))]
        undo = CHANGES[name](net)
        for _ in range(int(torch.randint(4, (1,), generator=generator))):
            same(compiled, net)
        if callable(undo) and not isinstance(undo, (torch.nn.Module, torch.Tensor)):
            undo()
        same(compiled, net)


@torch.no_grad()
def test_what_changes_at_each_call():
    """A counter in the module: its other attributes are looked at each time, the modules below are not."""

    class Counting(Net):
        def forward(self, x):
            self.seen += 1
            return super().forward(x) + self.seen % 3

    counting, plain = Counting(), Counting()
    plain.load_state_dict(counting.state_dict())
    compiled = vitrine.compile(counting)
    x = torch.randn(2, 3)
    for i in range(40):
        if i == 30:
            for net in (counting, plain):
                net.layers[2].options["add"] = 4.0
        torch.testing.assert_close(compiled(x), plain(x))
    assert counting.seen == plain.seen == 40


@torch.no_grad()
def test_another_object_where_one_was():
    """Objects made and dropped at each call: an address says nothing."""

    class Options:
        def __init__(self, add, sizes):
            self.add, self.sizes = add, sizes

    def f(x, options, pair, table):
        return x * pair[0] + options.add + options.sizes[0] + table["k"]

    compiled = vitrine.compile(f, recompile_limit=1000)
    x = torch.randn(3)
    for i in range(60):
        k = 1.0 + i // 7 % 2
        args = (Options(k, (k + 1, 2)), (k, 3), {"k": k * 2})
        torch.testing.assert_close(compiled(x, *args), f(x, *args))
        del args


@torch.no_grad()
def test_modules_made_and_dropped():
    def f(x, net):
        return net(x)

    compiled = vitrine.compile(f, recompile_limit=1000)
    x = torch.randn(2, 3)
    first = Net(2)
    for i in range(25):
        net = copy.deepcopy(first)
        net.layers[1].options["add"] = float(i // 6)
        torch.testing.assert_close(compiled(x, net), net(x))
        del net
        gc.collect()


def test_a_dropped_module_is_not_kept():
    import weakref

    net = Net()
    seen = [weakref.ref(net), weakref.ref(net.layers[1]), weakref.ref(net.layers[1].weight)]

    def f(x, net):
        return net(x)

    compiled = vitrine.compile(f)
    with torch.no_grad():
        for _ in range(6):
            compiled(torch.randn(2, 3), net)
    del net
    gc.collect()
    assert [r() for r in seen] == [None, None, None]
