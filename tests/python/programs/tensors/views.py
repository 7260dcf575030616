"""Views of views, overlapping memory, in-place through slices, out= arguments, raw storage."""

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, scenario, vec


@program(mat(4, 6))
def view_of_view_of_view(x):
    y = x + 0
    z = y.t()[1:5].view(2, 2, 4)[1]
    z.add_(100)
    z[0, ::2].zero_()
    return y, z, z.stride(), z.storage_offset()


@program(mat(3, 1))
def write_to_expanded_raises(x):
    y = x.expand(3, 4)
    y.add_(1)
    return y


@program(mat(3, 1))
def expanded_input_read(x):
    y = x.expand(3, 4)
    x.add_(1)
    return y * 2, y.sum(0), y


@program(mat(3, 4))
def transpose_in_place(x):
    y = x.clone()
    y.t_()
    y.transpose_(0, 1)
    y.unsqueeze_(0).squeeze_(0)
    y.swapaxes_(0, 1)
    return y, y.stride()


@program(vec(8))
def overlapping_as_strided(x):
    y = x * 1
    z = y.as_strided((3, 4), (2, 1))
    w = z + 1
    y.mul_(2)
    return z, w, z.sum()


@program(vec(8))
def shifted_copy_in_place(x):
    y = x.clone()
    y[1:] = y[:-1].clone()
    y[2:].copy_(y[1:-1].clone())
    return y


@program(vec(8))
def overlapping_in_place(x):
    y = x.clone()
    y[::2] += y[1::2]
    y[1::2] -= y[::2]
    y[:4] *= y[4:]
    return y


@program(mat(4, 4))
def add_own_transpose(x):
    y = x.clone()
    z = y + y.t()
    y += z.t()
    y.add_(y)
    y.mul_(y.t().contiguous())
    return y, z


@program(mat(4, 4))
def in_place_on_argument_view(x):
    x[1:3, 1:3] = 0
    x.t()[0] += 5
    x.diagonal().fill_(9)
    x.view(-1)[-1] = -1
    return x.sum()


@program(lambda: (lambda t: (t, t[1:3], t.t()))(torch.arange(16.0).reshape(4, 4)))
def arguments_share_storage(three):
    a, b, c = three
    b.mul_(10)
    c[0].add_(1)
    return a + 0, b.sum(), c


@scenario
def two_arguments_then_overlapping(compile):
    def f(a, b):
        a.mul_(2)
        return a + b

    g = compile(f)
    base = torch.arange(10.0)
    out = [g(torch.ones(4), torch.ones(4)), g(base[:4], base[4:8]), g(base[:4], base[2:6]), g(base[:4], base[:4])]
    same = torch.ones(4)
    return out + [g(same, same), g(base[2:6], base[:4]), base, g(torch.ones(4), torch.ones(4))]


@scenario
def disjoint_then_same_base(compile):
    def f(a, b):
        a += 1
        c = b * 2
        a += c
        return c, b.sum()

    g = compile(f)
    base = torch.zeros(3, 4)
    return [g(torch.zeros(4), torch.zeros(4)), g(base[0], base[1]), g(base[1], base[1]), g(base[1], base.view(-1)[6:10]), base]


@program(mat(3, 4))
def out_arguments(x):
    a = torch.empty(0)
    torch.mul(x, 2, out=a)
    b = torch.zeros(3, 4)
    torch.sin(x, out=b)
    c = torch.zeros(4, 3)
    torch.cos(x, out=c.t())
    torch.add(b, 1, out=b)
    values, indices = torch.empty(3), torch.empty(3, dtype=torch.long)
    torch.max(x, 1, out=(values, indices))
    return a, b, c, values, indices


@program(mat(3, 4), lambda: torch.zeros(3, 4))
def out_is_argument(x, out):
    r = torch.add(x, x, out=out)
    return r is out, r


@program(mat(3, 4), lambda: torch.zeros(3, 4, dtype=torch.float64))
def out_of_other_dtype(x, out):
    return torch.exp(x, out=out)


@program(mat(3, 4), lambda: torch.zeros(3, 4, dtype=torch.int64))
def out_cannot_be_cast(x, out):
    return torch.exp(x, out=out)


@program(mat(3, 4), lambda: torch.zeros(8)[::2])
def out_wrong_shape(x, out):
    return torch.sum(x, 0, out=out), torch.cat([x[0]], out=out)


@program(mat(2, 3))
def set_item_forms(x):
    y = x.clone()
    y[...] = 1
    y[None, 0] = 2
    y[0, 1] = torch.tensor(5)
    y[1] = torch.tensor([7, 8, 9])
    y[[0, 1], [1, 2]] = torch.tensor([1.5, 2.5])
    y[torch.tensor([True, False])] += 1
    y[-1:, ::2] = x[:1, ::2]
    y[:, [True, False, True]] *= 3
    return y


@program(mat(2, 3))
def set_item_wrong_shape(x):
    x[0] = torch.ones(2)
    return x


@program(vec())
def index_put_accumulate(x):
    y = x.clone()
    i = torch.tensor([0, 0, 1])
    y.index_put_((i,), torch.ones(3), accumulate=True)
    y.index_add_(0, i, torch.ones(3), alpha=2)
    y.scatter_(0, torch.tensor([5, 4]), torch.tensor([9.0, 8.0]))
    y.scatter_add_(0, i, torch.ones(3))
    y.index_fill_(0, torch.tensor([2]), -7)
    y.masked_fill_(y > 8, 0)
    y.masked_scatter_(y == 0, torch.full((6,), 3.0))
    return y


@program(vec())
def data_attribute_write(x):
    y = x.clone()
    y.data.mul_(3)
    y.data = torch.ones(2, 2)
    return y, y.shape


@program(vec())
def set_storage(x):
    y = torch.zeros(3)
    z = x + 1
    y.set_(z)
    z.add_(1)
    return y


@program(vec())
def resize_in_place(x):
    y = x + 1
    y.resize_(2, 2)
    z = y.clone()
    z.resize_as_(torch.zeros(4))
    return y, z, y.shape


@program(vec())
def version_counter(x):
    y = x + 1
    v = y._version
    y.add_(1).mul_(2)
    return y._version - v


@program(vec())
def identity_of_in_place_results(x):
    y = x + 1
    return y.add_(1) is y, y.view(-1) is y, y.contiguous() is y, y.to(torch.float32) is y, y.float() is y, y.expand(6) is y, y.cpu() is y


@program(mat(2, 3))
def chunks_written(x):
    y = x.clone()
    a, b = y.unbind(0)
    a += b
    for piece in y.split(1, dim=1):
        piece *= 2
    l, r = torch.tensor_split(y, 2, dim=1)
    r.zero_()
    return y, a, b


@program(lambda: torch.arange(6).reshape(2, 3))
def view_as_other_dtype(x):
    y = x.clone()
    z = y.view(torch.int32)
    z[0, 0] = 77
    f = torch.ones(4).view(torch.uint8)
    return y, z, f, torch.ones(2, dtype=torch.complex64).view(torch.float32)


@program(lambda: torch.tensor([1 + 2j, 3 - 4j]))
def complex_views(c):
    y = c.clone()
    torch.view_as_real(y)[0, 1] = 9
    y.imag.mul_(2)
    y.real += 1
    k = y.conj()
    y[1] = 0
    return y, k.resolve_conj(), k.is_conj(), k.imag + 0, (k * 2).is_conj(), y.conj().t()


@program(mat(2, 3))
def movements(x):
    return (
        x.movedim(0, 1), x.unfold(1, 2, 1) * 2, x.rot90(), x.roll(1, 0), x.narrow(1, 1, 2), x.select(1, -1), x.diag(), x.T, x.mT,
        x.unflatten(1, (3, 1)), x.flatten(), x.ravel(), x.repeat(2, 1), x.repeat_interleave(2, 0), x.tile(2), x.fliplr(), x.swapdims(0, 1),
    )  # fmt: skip


@program(lambda: torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last))
def channels_last_kept(x):
    return x + 1, x.relu(), F.max_pool2d(x, 2, 1), x.clone(), torch.empty_like(x).stride(), x.contiguous().stride(), x.sum(1), x * x.t() if x.dim() < 3 else x.mT


@program(lambda: torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1))
def permuted_kept(x):
    return x + 1, x.exp(), torch.zeros_like(x).stride(), x + x.contiguous(), x[0] * 2, x.double(), x.clone(), x.softmax(1), x.sum(2), torch.where(x > 3, x, 0)


@program(vec())
def input_returned_in_containers(x):
    y = x[2:]
    return {"a": x, "b": [x, (y, y)]}, x.detach(), x.view(6) is x


@program(vec(), vec())
def swapped_arguments_mutated(x, y):
    x, y = y, x
    x += 1
    y *= 2
    return x, y


@program(vec())
def detached_shares(x):
    y = x * 1
    d = y.detach()
    d.add_(1)
    c = y.detach().clone()
    c.add_(1)
    return y, d, c


@program(mat(3, 3))
def triangular_in_place(x):
    y = x.clone()
    y.tril_(-1)
    z = y.triu(0)
    y.sub_(1).div_(2).pow_(2).clamp_(0, 1).neg_().abs_().sqrt_()
    return y, z


@program(vec())
def input_mutated_then_error(x):
    x[0] = 99
    y = x.view(2, 3)
    y.mul_(2)
    return y.view(5)


@program(vec())
def dead_writes(x):
    y = x.clone()
    y.fill_(3)
    y.copy_(x)
    z = y
    y = y * 2
    z.zero_()
    return y


@program(vec())
def scalar_views(x):
    y = x.clone()
    a = y[2]
    a.fill_(50)
    b = y.sum()
    b += a
    return y, a, b, a.shape


@program(mat(2, 3))
def in_place_in_loop_through_views(x):
    y = torch.zeros(3, 3)
    for i in range(3):
        for j in range(2):
            y[i, j] += x[j, i]
            y.t()[j, i] *= 2
    return y


@program(vec())
def augmented_on_attribute_of_list(x):
    box = [x.clone(), x]
    box[0] += 1
    box[1] = box[1] + 1
    a = b = box[0]
    a -= 3
    b = b - 3
    return box, a, b, a is box[0]


@program(mat(2, 2))
def fill_from_scalar_tensor(x):
    y = x.clone()
    y[0] = x[1, 1]
    y.fill_(y[0, 0])
    y[1, 1] = 2 + 0.5
    return y


@program(vec(4))
def lift_from_list(x):
    t = torch.tensor([1.0, 2.0])
    t += 1
    u = torch.tensor([1.0, 2.0])
    return t, u, torch.as_tensor([3, 4]), torch.tensor([[x[0].item(), 2.0]]), torch.tensor(3), torch.scalar_tensor(2)


@program(vec(4))
def tensors_of_tensors(x):
    return torch.tensor([x[0], x[1]]), torch.tensor(x.sum()), torch.stack([*x]), torch.tensor([[1, True], [2.5, 0]])


@scenario
def views_of_everything(compile):
    """A view that shows all of what it views is one nevertheless."""
    out = []
    for view in (
        lambda x: x[...],
        lambda x: x[:9],
        lambda x: x.view(3),
        lambda x: x.squeeze(),
        lambda x: x.detach(),
    ):
        f = compile(lambda x: (view(x), x + 1))  # noqa: B023
        for grad in (False, True, True):
            with torch.set_grad_enabled(grad):
                x = torch.ones(3)
                y = f(x)[0]
                out.append((y._is_view(), y._base is x, y is x))
    f = compile(lambda x: ((y := x + 1)[:], y))
    z, y = f(torch.ones(3))
    return out, z._is_view(), z._base is y, y._is_view()
