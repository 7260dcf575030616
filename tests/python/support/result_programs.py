"""Small programs whose results are views, inputs, one another or of an unusual layout; x and y are n x 6."""

import torch
import torch.nn.functional as F

# One expression each.
EXPRESSIONS = {
    "fresh": lambda x, y: x * 2,
    "slice of fresh": lambda x, y: (x * 2)[1:],
    "row of fresh": lambda x, y: (x * 2)[0],
    "column of fresh": lambda x, y: (x * 2)[:, 1],
    "element of fresh": lambda x, y: (x * 2)[1, 2],
    "stepped fresh": lambda x, y: (x * 2)[:, ::2],
    "t of fresh": lambda x, y: (x * 2).t(),
    "T of fresh": lambda x, y: (x + y).T,
    "mT of fresh": lambda x, y: (x + y).mT,
    "view of fresh": lambda x, y: (x * 2).view(-1),
    "view of the same shape": lambda x, y: (x * 2).view(x.shape),
    "view_as of fresh": lambda x, y: (x * 2).view_as(x),
    "reshape of fresh": lambda x, y: (x * 2).reshape(3, -1),
    "reshape to the same": lambda x, y: (x * 2).reshape(x.shape),
    "reshape that copies": lambda x, y: (x * 2).t().reshape(-1),
    "flatten of fresh": lambda x, y: (x * 2).flatten(),
    "ravel of fresh": lambda x, y: (x * 2).ravel(),
    "unflatten of fresh": lambda x, y: (x * 2).unflatten(1, (2, 3)),
    "permute of fresh": lambda x, y: (x * 2).view(-1, 2, 3).permute(2, 0, 1),
    "transpose of sum": lambda x, y: (x + y).transpose(0, 1),
    "movedim": lambda x, y: (x + y).view(-1, 2, 3).movedim(0, -1),
    "unsqueeze of fresh": lambda x, y: (x * 2).unsqueeze(0),
    "squeeze of fresh": lambda x, y: x.sum(0, keepdim=True).squeeze(0),
    "squeeze of nothing": lambda x, y: (x * 2).squeeze(),
    "expand of fresh": lambda x, y: x.sum(1, keepdim=True).expand(-1, 4),
    "expand of the same": lambda x, y: (x * 2).expand(-1, 6),
    "broadcast_to": lambda x, y: x.sum().broadcast_to(3, 2),
    "diagonal of fresh": lambda x, y: (x * 2).diagonal(),
    "diag": lambda x, y: torch.diag(x @ y.t()),
    "unfold of fresh": lambda x, y: (x * 2).unfold(1, 2, 2),
    "unfold overlapping": lambda x, y: (x * 2).unfold(1, 3, 1),
    "as_strided of fresh": lambda x, y: (x * 2).as_strided((2, 2), (3, 1), 1),
    "narrow of fresh": lambda x, y: (x * 2).narrow(1, 2, 3),
    "select of fresh": lambda x, y: (x * 2).select(1, -1),
    "split, first": lambda x, y: (x * 2).split(2, 1)[0],
    "split, last": lambda x, y: (x * 2).split(2, 1)[-1],
    "split, all": lambda x, y: (x * 2).split(2, 1),
    "split of sizes": lambda x, y: (x * 2).split([1, 2, 3], 1)[1],
    "chunk, one": lambda x, y: (x * 2).chunk(3, 1)[1],
    "chunk, two": lambda x, y: (x * 2).chunk(3, 1)[:2],
    "chunk into one": lambda x, y: (x * 2).chunk(1, 1),
    "unbind, one": lambda x, y: (x * 2).unbind(1)[2],
    "unbind, all": lambda x, y: (x * 2).unbind(1),
    "tensor_split": lambda x, y: (x * 2).tensor_split(3, 1)[2],
    "hsplit": lambda x, y: torch.hsplit(x * 2, 2),
    "view_as_real": lambda x, y: torch.view_as_real(torch.complex(x, y)),
    "real": lambda x, y: torch.complex(x, y).real,
    "imag": lambda x, y: torch.complex(x, y).imag,
    "conj": lambda x, y: torch.complex(x, y).conj(),
    "view_as_complex": lambda x, y: torch.view_as_complex((x * 2).view(-1, 3, 2)),
    "view of dtype": lambda x, y: (x.detach() * 2).view(torch.int32),
    "detach of fresh": lambda x, y: (x * 2).detach(),
    "data of fresh": lambda x, y: (x * 2).data,
    "detached slice": lambda x, y: (x * 2).detach()[1:],
    "slice, detached": lambda x, y: (x * 2)[1:].detach(),
    "alias": lambda x, y: torch.ops.aten.alias.default(x * 2),
    "view of view": lambda x, y: (x * 2).view(-1, 2, 3)[1:].transpose(1, 2)[:, 0],
    "ellipsis": lambda x, y: (x * 2)[...],
    "None index": lambda x, y: (x * 2)[None],
    "full slice": lambda x, y: (x * 2)[:],
    "empty slice": lambda x, y: (x * 2)[:, 3:3],
    "taken by indices": lambda x, y: (x * 2)[[1, 0]],
    "masked": lambda x, y: (x * 2)[(y > 0).any(1)],
    "two slices": lambda x, y: ((x * 2)[1:], (y * 2)[:1]),
    "view and fresh": lambda x, y: ((x * 2)[1:], y * 3),
    "view and its base": lambda x, y: [(lambda z: (z[1:], z))(x * 2)],
    "two views of one": lambda x, y: [(lambda z: (z[1:], z.t()))(x * 2)],
    "same twice": lambda x, y: [(lambda z: (z, z))((x * 2)[1:])],
    "same fresh twice": lambda x, y: [(lambda z: (z, z))(x * 2)],
    "the input": lambda x, y: x,
    "both inputs": lambda x, y: (y, x),
    "view of input": lambda x, y: x[1:],
    "view of input of the same shape": lambda x, y: x.view(x.shape),
    "ellipsis of input": lambda x, y: x[...],
    "alias of input": lambda x, y: torch.ops.aten.alias.default(x),
    "t of input": lambda x, y: x.t(),
    "reshape of input": lambda x, y: x.reshape(-1),
    "reshape of input to the same": lambda x, y: x.reshape(x.shape),
    "contiguous input": lambda x, y: x.contiguous(),
    "to of the same": lambda x, y: x.to(torch.float32),
    "float of float": lambda x, y: x.float(),
    "cpu of cpu": lambda x, y: x.cpu(),
    "type_as": lambda x, y: x.type_as(y),
    "expand_as": lambda x, y: x.expand_as(y),
    "detach of input": lambda x, y: x.detach(),
    "data of input": lambda x, y: x.data,
    "data of a view": lambda x, y: x[1:].data,
    "view and other": lambda x, y: (x[1:], y * 2),
    "input and view": lambda x, y: (x, x[1:], x[1:][0]),
    "diagonal of input": lambda x, y: x.diagonal(),
    "unfold of input": lambda x, y: x.unfold(1, 2, 2),
    "as_strided of input": lambda x, y: x.as_strided((2, 2), (3, 1), 1),
    "unbind of input": lambda x, y: x.unbind(1),
    "chunks of input": lambda x, y: x.chunk(2, 1),
    "split of input, one": lambda x, y: x.split(2, 1)[1],
    "expand of input": lambda x, y: x[:, :1].expand(-1, 3),
    "expand of input, unsqueezed": lambda x, y: x.unsqueeze(0).expand(2, -1, -1),
    "squeeze of input": lambda x, y: x.squeeze(),
    "dropout of nothing": lambda x, y: F.dropout(x, 0.5, training=False),
    "dropout of probability 0": lambda x, y: F.dropout(x * 2, 0.0),
    "identity module": lambda x, y: torch.nn.Identity()(x),
    "max over a dim": lambda x, y: torch.max(x, 1),
    "min of": lambda x, y: (x * 2).min(0),
    "sorted": lambda x, y: torch.sort(x, 1),
    "topk": lambda x, y: torch.topk(x, 2),
    "median": lambda x, y: x.median(1),
    "mode": lambda x, y: x.mode(1),
    "kthvalue": lambda x, y: x.kthvalue(2, 1),
    "cummax": lambda x, y: x.cummax(1),
    "aminmax": lambda x, y: torch.aminmax(x, dim=1),
    "mask first": lambda x, y: (x > 0, x * 2),
    "indices first": lambda x, y: (lambda m: (m[1], m[0]))(x.max(1)),
    "only the mean": lambda x, y: torch.var_mean(x, 1)[1],
    "values of max": lambda x, y: x.max(1).values,
    "var_mean": lambda x, y: torch.var_mean(x, 1),
    "frexp": lambda x, y: torch.frexp(x.detach()),
    "qr": lambda x, y: torch.linalg.qr(x.t() @ x + torch.eye(6)),
    "meshgrid": lambda x, y: torch.meshgrid(x[0], y[1], indexing="ij"),
    "broadcast_tensors": lambda x, y: torch.broadcast_tensors(x, y[:1]),
    "atleast_3d": lambda x, y: torch.atleast_3d(x * 2),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "cat of one": lambda x, y: torch.cat([x]),
    "stack, unbound": lambda x, y: torch.stack([x, y]).unbind(),
    "matmul": lambda x, y: x @ y.t(),
    "matmul, transposed": lambda x, y: (x @ y.t()).t(),
    "mv": lambda x, y: x @ y[0],
    "batched": lambda x, y: x.unsqueeze(0) @ y.t(),
    "linear of three dims": lambda x, y: F.linear(x.unsqueeze(0), y),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "einsum that only turns": lambda x, y: torch.einsum("ij->ji", x * 2),
    "channels last": lambda x, y: (x * 2).view(-1, 2, 3, 1).to(memory_format=torch.channels_last),
    "contiguous in channels last": lambda x, y: (x * 2).view(1, -1, 2, 3).contiguous(memory_format=torch.channels_last),
    "permuted, plus": lambda x, y: x.t() + y.t(),
    "permuted, plus straight": lambda x, y: x.view(-1, 2, 3).permute(0, 2, 1) + y.view(-1, 3, 2),
    "clone of turned": lambda x, y: x.t().clone(),
    "contiguous of turned": lambda x, y: x.t().contiguous(),
    "zeros_like of turned": lambda x, y: torch.zeros_like(x.t()),
    "empty of size 0": lambda x, y: (x * 2).new_empty(0, 6),
    "sum of size 0": lambda x, y: x[:0].sum(0),
    "size 0 times": lambda x, y: x[:0] * 2,
    "size 1 turned": lambda x, y: (x[:1] * 2).t(),
    "size 1 sliced": lambda x, y: (x * 2)[:1],
    "new_zeros": lambda x, y: x.new_zeros(x.shape[0], 2),
    "softmax, sliced": lambda x, y: x.softmax(1)[:, 1:],
    "layer_norm, turned": lambda x, y: F.layer_norm(x, (6,)).t(),
    "conv, squeezed": lambda x, y: F.conv1d(x.unsqueeze(0), torch.ones(1, x.shape[0], 3)).squeeze(0),
    "conv by a turned weight": lambda x, y: F.conv1d(x.view(1, -1, 3), y.view(2, -1, 2 * x.shape[0])[:, :2].transpose(1, 2)),
    "conv by one channel": lambda x, y: F.conv1d(x[None], y.t()[:1, :, None]),
    "max_pool1d": lambda x, y: F.max_pool1d(x[None].transpose(1, 2), 2),
    "max_pool1d of rows": lambda x, y: F.max_pool1d(x, 3, stride=1, padding=1),
    "batch_norm in place": lambda x, y: torch._native_batch_norm_legit(x.detach(), None, None, y.detach()[0], y.detach()[1], True, 0.1, 1e-5)[0],
    "zeros, written as a view": lambda x, y: torch.zeros(x.shape[0], 6)[1:].add_(1),
    "numbers, written beside a view": lambda x, y: [z := torch.arange(6.0), z[2:].mul_(2).sin_(), z.detach()],
    "rrelu": lambda x, y: F.rrelu(x),
    "pixel_shuffle": lambda x, y: F.pixel_shuffle((x * 2).view(-1, 6, 1, 1)[:, :4], 2),
    "pad of nothing": lambda x, y: F.pad(x, (0, 0)),
    "roll": lambda x, y: x.roll(1, 0),
    "flip": lambda x, y: x.flip(1),
    "tile": lambda x, y: x.tile(2, 1),
    "repeat of one": lambda x, y: x.repeat(1, 1),
    "positive": lambda x, y: +x,
    "half and back": lambda x, y: x.half().float()[1:],
    "bool": lambda x, y: (x > 0)[:, 1:],
    "clone": lambda x, y: x.clone(),
    "Parameter": lambda x, y: torch.nn.Parameter(x.detach() * 2),
    "shape": lambda x, y: (x.shape, x.size(), x[1:].shape),
    "tolist": lambda x, y: ((x * 0)[0].tolist(), x.stride(), x.dtype),
    "attributes": lambda x, y: ((x * 2).is_leaf, (x * 2).requires_grad, x.is_contiguous(), x.t().is_contiguous()),
    "view asked": lambda x, y: ((x * 2)[1:]._is_view(), (x * 2)._is_view(), x[1:]._base is x),
    "outer": lambda x, y: torch.outer(x[0], y[0])[1:],
    "tril": lambda x, y: x.tril().t(),
    "embedding": lambda x, y: F.embedding(torch.tensor([1, 0]), x)[:, 1:],
    "index_select": lambda x, y: x.index_select(1, torch.tensor([0, 2])).t(),
    "gather": lambda x, y: x.gather(1, torch.zeros(2, 1, dtype=torch.long)),
    "cumsum": lambda x, y: x.cumsum(1)[:, -1],
    "sum, unsqueezed": lambda x, y: x.sum(1)[:, None],
    "mean, kept": lambda x, y: x.mean(1, keepdim=True),
    "sum of all": lambda x, y: x.sum(),
    "norm": lambda x, y: x.norm(dim=1),
    "constant": lambda x, y: torch.ones(3)[1:],
    "arange": lambda x, y: torch.arange(x.shape[0]).view(-1, 1),
    "tensor": lambda x, y: torch.tensor([1.0, 2.0]),
    "glu": lambda x, y: F.glu(x, 1),
    "lstm cell": lambda x, y: torch.lstm_cell(x, (y, y), torch.ones(24, 6), torch.ones(24, 6)),
    "cross_entropy": lambda x, y: F.cross_entropy(x, torch.zeros(x.shape[0], dtype=torch.long)),
    "gaussian_nll_loss": lambda x, y: F.gaussian_nll_loss(x, y, torch.full_like(x, 2.0).detach()),
    "gaussian_nll_loss, unreduced": lambda x, y: F.gaussian_nll_loss(x, y, torch.full_like(x, 0.5).detach(), reduction="none"),
    "batch_norm": lambda x, y: F.batch_norm(x, torch.zeros(6), torch.ones(6), training=True),
    "group_norm": lambda x, y: F.group_norm(x.view(-1, 6, 1), 2).squeeze(-1),
    "attention": lambda x, y: F.scaled_dot_product_attention(x.view(1, 1, -1, 6), y.view(1, 1, -1, 6), y.view(1, 1, -1, 6)),
    "attention, joined": lambda x, y: F.scaled_dot_product_attention(*[x.view(1, -1, 2, 3).transpose(1, 2)] * 3).transpose(1, 2).reshape(1, -1, 6),
}

PROGRAMS = dict(EXPRESSIONS)


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def writes_to_a_view_of_fresh(x, y):
    z = x * 2
    z[1:].add_(1)
    return z


@program
def gives_what_was_written(x, y):
    z = x * 2
    v = z[1:]
    v.mul_(2)
    return v


@program
def gives_what_a_write_gave(x, y):
    return (x * 2)[1:].mul_(3)


@program
def written_base_and_view(x, y):
    z = x * 2
    v = z[1:]
    z.add_(1)
    return z, v


@program
def written_base_behind_the_view(x, y):
    z = x * 2
    v = z[1:]
    z.add_(1)
    return v


@program
def writes_to_input(x, y):
    x.add_(1)
    return y * 2


@program
def gives_the_written_input(x, y):
    return x.add_(1)


@program
def writes_to_part_of_input(x, y):
    x[1:].mul_(2)
    return x[:1]


@program
def writes_to_column_of_input(x, y):
    x[:, 0] = 0
    return x, x[:, 0]


@program
def copies_into_input(x, y):
    x.copy_(y)
    return x


@program
def swaps_inputs(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)
    return t


@program
def zeroes(x, y):
    z = x * 2
    z.zero_()
    return z


@program
def fills_with_item(x, y):
    z = torch.empty_like(x)
    z[:] = y
    return z


@program
def out_given(x, y):
    z = torch.empty(x.shape)
    return torch.add(x.detach(), y.detach(), out=z), z


@program
def out_is_input(x, y):
    return torch.mul(x, y, out=y)


@program
def out_is_a_view(x, y):
    z = torch.zeros(x.shape[0], 12)
    torch.add(x.detach(), y.detach(), out=z[:, :6])
    return z


@program
def out_is_resized(x, y):
    z = torch.empty(0)
    torch.add(x.detach(), y.detach(), out=z)
    return z


@program
def turned_in_place(x, y):
    z = x * 2
    z.t_()
    return z


@program
def transposed_in_place(x, y):
    z = x * 2
    return z.transpose_(0, 1)


@program
def unsqueezed_in_place(x, y):
    z = x * 2
    z.unsqueeze_(0)
    return z


@program
def squeezed_in_place(x, y):
    z = x.sum(1, keepdim=True)
    z.squeeze_(1)
    return z


@program
def input_turned_in_place(x, y):
    x.t_()
    return x + 1


@program
def resized_in_place(x, y):
    z = x.detach() * 2
    z.resize_(3, 2)
    return z


@program
def set_to_another(x, y):
    z = x.detach() * 2
    z.set_(y.detach())
    return z


@program
def as_strided_in_place(x, y):
    z = x * 2
    z.as_strided_((2, 3), (3, 1))
    return z


@program
def detached_in_place(x, y):
    z = x * 2
    z.detach_()
    return z


@program
def detached_and_written(x, y):
    z = x * 2
    z.detach().add_(1)
    return z


@program
def data_written(x, y):
    z = x * 2
    z.data.add_(1)
    return z


@program
def data_of_input_written(x, y):
    x.data.mul_(2)
    return x + 1


@program
def data_set(x, y):
    z = x.detach() * 2
    z.data = y.detach() * 3
    return z


@program
def data_given_and_written(x, y):
    z = x * 2
    d = z.data
    z.data.add_(1)
    return d, z


@program
def requires_grad_inside(x, y):
    z = x.detach() * 2
    z.requires_grad_()
    return z


@program
def requires_grad_inside_and_used(x, y):
    z = (x.detach() * 2).requires_grad_()
    return z, z * 3


@program
def requires_no_grad(x, y):
    z = (x * 2).detach().requires_grad_(False)
    return z


@program
def retains_grad(x, y):
    z = x * 2
    if z.requires_grad:
        z.retain_grad()
    return z, z.sum()


@program
def without_gradients(x, y):
    with torch.no_grad():
        z = x * 2
        v = z[1:]
    return v


@program
def view_without_gradients(x, y):
    z = x * 2
    with torch.no_grad():
        v = z[1:]
    return z, v


@program
def view_of_input_without_gradients(x, y):
    with torch.no_grad():
        v = x[1:]
    return v, y * 2


@program
def lone_view_without_gradients(x, y):
    z = x * 2
    with torch.no_grad():
        v = z[1:]
    return v


@program
def gradients_of(x, y):
    if not x.requires_grad:
        return x * 2
    (g,) = torch.autograd.grad((x * x).sum(), x)
    return g


@program
def gradients_of_a_view(x, y):
    if not x.requires_grad:
        return x * 2
    return torch.autograd.grad((x[1:] * 3).sum(), x)


@program
def gradients_of_two(x, y):
    if not x.requires_grad:
        return x * 2
    return torch.autograd.grad((x * y).sum(), (x, y))


@program
def gradients_of_a_sum(x, y):
    if not x.requires_grad:
        return x * 2
    return torch.autograd.grad(x.sum(), x)


@program
def backward_inside(x, y):
    if not x.requires_grad or not x.is_leaf:
        return x * 2
    ((x * y).sum() + x.mean()).backward()
    return x.grad


@program
def attribute_set(x, y):
    z = x * 2
    z.tag = 3
    return z


@program
def aliases_chained(x, y):
    a = x * 2
    b = a.view(-1)
    c = b.view(-1, 3)
    return c, a


@program
def is_asked(x, y):
    a = x * 2
    return a.contiguous() is a, a.to(a.dtype) is a, a[...] is a, a.view(-1)._base is a, x.detach() is x


@program
def list_of_views(x, y):
    z = x + y
    return [z[i] for i in range(2)]


@program
def dict_of_views(x, y):
    z = x + y
    return {"first": z[0], "rest": z[1:], "sum": z.sum()}


@program
def index_put(x, y):
    z = x * 2
    z[torch.tensor([0, 1])] = y[:2]
    return z


@program
def masked_fill(x, y):
    z = x * 2
    return z.masked_fill_(y > 0, 0.0)


@program
def relu_in_place(x, y):
    return F.relu(x * 2, inplace=True)


@program
def relu_in_place_of_a_view(x, y):
    return F.relu((x * 2)[:, 1:], inplace=True)


@program
def written_in_a_loop(x, y):
    z = torch.zeros(3, 6)
    for i in range(3):
        z[i] = x[1] * i
    return z


@program
def views_of_a_written_input(x, y):
    v = x[1:]
    x.add_(1)
    return v, y + 1


@program
def split_and_written(x, y):
    a, b = (x * 2).split(3, 1)
    return a * 2, b


@program
def item_assigned_none(x, y):
    z = (x * 2).unsqueeze(-1)
    z[..., 0] = y
    return z


@program
def under_inference_mode(x, y):
    with torch.inference_mode():
        z = (x * 2)[1:]
    return z


@program
def under_enable_grad(x, y):
    with torch.enable_grad():
        return (x * 2)[1:]


@program
def set_grad_inside(x, y):
    with torch.no_grad():
        a = x[1:]
    return a * 2, a


@program
def broken_in_between(x, y):
    z = (x * 2)[1:]
    torch._dynamo.graph_break()
    return z, z + 1


@program
def buffer_and_parameter(x, y):
    return torch.nn.Parameter(torch.ones(2)), torch.nn.Buffer(torch.ones(2))


@program
def relu6_twice(x, y):
    a = F.relu6(x * 2)
    return a.t(), a.t()


@program
def expanded_and_written(x, y):
    z = (x * 2).expand(2, -1, -1)
    return z.clone(), z
