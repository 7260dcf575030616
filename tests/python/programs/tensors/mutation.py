"""Mutation and aliasing."""

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, vec


@program(vec())
def in_place_argument(x):
    x.add_(1)
    return x * 2


@program(vec())
def returns_its_argument(x):
    return x


@program(vec())
def returns_same_twice(x):
    y = x + 1
    return y, y


@program(mat(3, 4))
def returns_view_of_argument(x):
    return x[1], x.t(), x.view(-1)


@program(mat(3, 4))
def write_through_view(x):
    row = x[1]
    row.mul_(10)
    return x.sum(), row


@program(mat(3, 4))
def slice_assignment(x):
    y = x.clone()
    y[0] = 7
    y[:, 1:3] = y[:, 1:3] * 2
    y[y > 5] = -1
    return y


@program(mat(3, 4))
def slice_assignment_on_argument(x):
    x[0, ::2] = 5
    return x + 0


@program(vec())
def view_then_base_changes(x):
    a = x * 1
    b = a[2:4]
    a += 10
    return b, a


@program(vec())
def swap_halves(x):
    y = x.clone()
    y[:3], y[3:] = y[3:].clone(), y[:3].clone()
    return y


@program(vec(), lambda: [])
def append_to_list_argument(x, log):
    log.append(x + 1)
    log.append(len(log))
    return x * len(log)


@program(vec(), lambda: {"a": 1})
def write_to_dict_argument(x, d):
    d["b"] = x * d["a"]
    d["a"] += 1
    return d["b"] + d["a"]


@program(vec())
def same_tensor_twice(x):
    def f(a, b):
        a.add_(1)
        return a * b

    return f(x, x)


@program(lambda: (lambda t: [t, t])(torch.ones(3)))
def list_with_alias(pair):
    pair[0].mul_(3)
    return pair[1] + 1


@program(mat(4, 4))
def fill_diagonal(x):
    y = x.clone()
    y.fill_diagonal_(0)
    return y @ y


@program(vec())
def relu_in_place(x):
    y = x - 1
    F.relu(y, inplace=True)
    return y, y.relu_()


@program(vec())
def out_argument(x):
    out = torch.empty_like(x)
    torch.add(x, 1, out=out)
    return out


@program(vec(), vec())
def copy_into_argument(x, y):
    x.copy_(y * 2)
    return x.sum()


@program(vec())
def resize_and_set(x):
    y = x + 1
    y = y.reshape(2, 3).contiguous().unsqueeze_(0)
    return y, y.stride()
