"""What each rank of a torchrun does: checks by name, as many as are asked for in one start of the processes, which takes seconds.

    torchrun --nproc-per-node 2 checks.py BACKEND FOLDER NAME...

writes FOLDER/RANK.json: by name "" or what went wrong. A check that fails on one rank may leave others waiting, so that no
check comes behind a failed one.
"""

import json
import os
import sys
import traceback
import warnings
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._functional_collectives import all_reduce
from torch.nn.parallel import DistributedDataParallel

import vitrine

CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.up, self.down = nn.Linear(8, width), nn.Linear(width, 8)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def device() -> str:
    """Where the backend of the processes has its tensors."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


def net() -> Net:
    torch.manual_seed(0)
    return Net().to(device())


def batch() -> torch.Tensor:
    """Each rank its own."""
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(dist.get_rank())).to(device())


def whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def trained(model, steps=2) -> tuple[list, list]:
    """(losses, parameters afterwards) of some steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, [whole(p.detach()).clone() for p in model.parameters()]


def same(ours, theirs) -> None:
    for a, b in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True):
        torch.testing.assert_close(whole(a), whole(b))


def one_graph(function, *args) -> str:
    """The graph's text; what breaks is an error."""
    explained = vitrine.explain(function)(*args)
    assert not explained.graph_break_reasons, str(explained)
    return str(explained)


def has_graph_of(function, *args, operators) -> None:
    explained = vitrine.explain(function)(*args)
    assert explained.op_count >= operators, str(explained)


@check
def compile_then_ddp():
    same(trained(DistributedDataParallel(vitrine.compile(net()))), trained(DistributedDataParallel(net())))


@check
def ddp_then_compile():
    compiled = vitrine.compile(DistributedDataParallel(net()))
    has_graph_of(DistributedDataParallel(net()), batch(), operators=3)
    same(trained(compiled), trained(DistributedDataParallel(net())))


@check
def gradients_of_ddp_are_means_over_ranks():
    model = DistributedDataParallel(vitrine.compile(net()))
    model(batch()).square().mean().backward()
    alone = net()
    alone(batch()).square().mean().backward()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        mean = theirs.grad.clone()
        dist.all_reduce(mean)
        torch.testing.assert_close(ours.grad, mean / dist.get_world_size())


@check
def buckets_of_ddp_are_as_eager_has_them():
    """Each bucket is reduced as soon as its gradients are there: a hook sees as many, in the same order."""

    def buckets_of(model):
        seen = []

        def hook(_, bucket):
            seen.append([tuple(g.shape) for g in bucket.gradients()])
            return torch.futures.collect_all([]).then(lambda _: bucket.buffer())

        ddp = DistributedDataParallel(model, bucket_cap_mb=0.0002)
        ddp.register_comm_hook(None, hook)
        for _ in range(2):
            ddp(batch()).square().mean().backward()
        return seen

    assert buckets_of(vitrine.compile(net())) == buckets_of(net())


@check
def fully_sharded():
    from torch.distributed.fsdp import fully_shard

    graphs = []

    def counted(module, inputs):
        graphs.append(module)
        return module.forward

    def sharded(compiled):
        model = net()
        for layer in (model.up, model.down):
            if compiled:
                layer.forward = vitrine.compile(layer.forward, backend=compiled if callable(compiled) else None)
            fully_shard(layer)
        return fully_shard(model)

    same(trained(sharded(True)), trained(sharded(False)))
    same(trained(sharded(counted)), trained(sharded(False)))
    assert len(graphs) == 2, "each layer is a graph of plain tensors: its parameters are whole while it runs"


@check
def fully_sharded_then_compiled():
    from torch.distributed.fsdp import fully_shard

    eager, ours = net(), net()
    for model in (eager, ours):
        fully_shard(model.up)
        fully_shard(model.down)
        fully_shard(model)
    same(trained(vitrine.compile(ours)), trained(eager))


@check
def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    def parallel():
        mesh = init_device_mesh(device(), (dist.get_world_size(),))
        return parallelize_module(net(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})

    torch.manual_seed(1)
    x = torch.randn(4, 8).to(device())  # of all ranks
    results = []
    for model in (vitrine.compile(parallel()), parallel(), net()):
        y = model(x)
        y.square().mean().backward()
        results.append([y.detach(), *(whole(p.grad) for p in model.parameters())])
    for ours, eager, alone in zip(*results, strict=True):
        torch.testing.assert_close(ours, eager)
        torch.testing.assert_close(ours, alone)


def sums(x):
    y = all_reduce(x * 2, "sum", dist.group.WORLD)
    return y + 1


@check
def a_sum_over_ranks_is_part_of_the_graph():
    x = batch()
    text = one_graph(sums, x)
    assert "_c10d_functional.all_reduce" in text and "wait_tensor" in text, text
    torch.testing.assert_close(vitrine.compile(sums, fullgraph=True)(x), sums(x) + 0)


@check
def gathers_and_scatters_are_part_of_the_graph():
    from torch.distributed._functional_collectives import all_gather_tensor, reduce_scatter_tensor

    def both(x):
        rows = all_gather_tensor(x.sin(), 0, dist.group.WORLD)
        return reduce_scatter_tensor(rows * rows, "sum", 0, dist.group.WORLD).relu()

    x = batch()
    text = one_graph(both, x)
    assert "all_gather_into_tensor" in text and "reduce_scatter_tensor" in text, text
    torch.testing.assert_close(vitrine.compile(both, fullgraph=True)(x), both(x) + 0)


@check
def gathered_columns_are_eager_s():
    from torch.distributed._functional_collectives import all_gather_tensor

    def columns(x):
        return all_gather_tensor(x, 1, dist.group.WORLD) * 2

    x = batch()
    torch.testing.assert_close(vitrine.compile(columns)(x), columns(x) + 0)


@check
def collectives_keep_their_order():
    """Nothing is moved before a collective, merged with another or left out: all ranks meet in the same one."""

    def many(x):
        unused = all_reduce(x + 1, "max", dist.group.WORLD)  # noqa: F841 (other ranks take part in it)
        first, second = all_reduce(x, "sum", dist.group.WORLD), all_reduce(x, "sum", dist.group.WORLD)
        third = all_reduce(first * second, "max", dist.group.WORLD)
        return first + second, third

    x = batch()
    one_graph(many, x)
    optimised = vitrine.graph(many, x, stage="optimised").graph
    assert [n.args[1] for n in optimised.nodes if "all_reduce" in str(n.target)] == ["max", "sum", "sum", "max"], str(optimised)
    for ours, theirs in zip(vitrine.compile(many, fullgraph=True)(x), many(x), strict=True):
        torch.testing.assert_close(ours, theirs + 0)


@check
def gradients_go_through_a_sum_over_ranks():
    def loss(x, w):
        return all_reduce((x @ w).sin(), "sum", dist.group.WORLD).square().sum()

    results = []
    for function in (vitrine.compile(loss), loss):
        w = torch.ones(8, 3, device=device(), requires_grad=True)
        function(batch(), w).backward()
        results.append(w.grad)
    torch.testing.assert_close(*results)


@check
def gradients_go_through_gathers():
    from torch.distributed._functional_collectives import all_gather_tensor, reduce_scatter_tensor

    def loss(x, w):
        rows = all_gather_tensor((x @ w).sin(), 0, dist.group.WORLD)
        return reduce_scatter_tensor(rows * rows, "sum", 0, dist.group.WORLD).sum()

    results = []
    for function in (vitrine.compile(loss), loss):
        w = torch.ones(8, 3, device=device(), requires_grad=True)
        function(batch(), w).backward()
        results.append(w.grad)
    torch.testing.assert_close(*results)


def whole_and_as_eagerly(function, *args, operators=()) -> None:
    """One graph with these operators; results, arguments and whether a write is counted are eager's, at each call. How many are
    counted is the backend's: gloo writes a part a rank."""
    text = one_graph(function, *[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
    for name in operators:
        assert f"_c10d_functional.{name}" in text, text
    compiled = vitrine.compile(function, fullgraph=True)
    for _ in range(2):
        given = [[a.clone() if isinstance(a, torch.Tensor) else a for a in args] for _ in range(2)]
        ours, theirs = compiled(*given[0]), function(*given[1])
        torch.testing.assert_close(ours, theirs)
        for a, b in zip(*given, strict=True):
            if isinstance(a, torch.Tensor):
                torch.testing.assert_close(a, b)
                assert bool(a._version) == bool(b._version), f"{a._version} writes, eager counts {b._version}"


@check
def sums_in_place_are_part_of_the_graph():
    def total(x):
        y = x * 2
        dist.all_reduce(y)
        return y.sin()

    def of_argument(x):
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
        return x + 1

    def of_a_view(x):
        y = x.exp()
        dist.all_reduce(y[1], dist.ReduceOp.PRODUCT, group=dist.group.WORLD)
        return y, y.sum()

    for function in (total, of_argument, of_a_view):
        whole_and_as_eagerly(function, batch(), operators=("all_reduce",))


@check
def a_broadcast_is_part_of_the_graph():
    last = dist.get_world_size() - 1

    def from_last(x):
        y = x + 1
        dist.broadcast(y, last)
        dist.broadcast(x, group_src=0)
        return x * y

    whole_and_as_eagerly(from_last, batch(), operators=("broadcast",))


@check
def gathers_into_a_tensor_are_part_of_the_graph():
    ranks = dist.get_world_size()
    gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)

    def in_a_row(x):
        rows = torch.empty(ranks * 4, 8, device=x.device)
        gather(rows, x.sin())
        return rows * 2

    def into_argument(x, rows):
        gather(rows, x)
        return rows.sum(0)

    def by_list(x):
        parts = [torch.empty_like(x) for _ in range(ranks)]
        dist.all_gather(parts, x)
        return sum(parts), parts[0]

    whole_and_as_eagerly(in_a_row, batch(), operators=("all_gather_into_tensor",))
    whole_and_as_eagerly(into_argument, batch(), torch.zeros(ranks * 4, 8, device=device()), operators=("all_gather_into_tensor",))
    whole_and_as_eagerly(by_list, batch(), operators=("all_gather_into_tensor",))


@check
def scatters_into_a_tensor_are_part_of_the_graph():
    ranks = dist.get_world_size()
    scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)

    def summed(x):
        out = torch.empty(x.shape[0] // ranks, 8, device=x.device)
        scatter(out, x.sin())
        return out

    def exchanged(x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x)
        return out + x

    whole_and_as_eagerly(summed, batch(), operators=("reduce_scatter_tensor",))
    whole_and_as_eagerly(exchanged, batch(), operators=("all_to_all_single",))


@check
def a_collective_in_a_training_step_is_part_of_it():
    """Gradients that a program sums itself, and a loss that it reports."""

    def step(model, x):
        loss = model(x).square().mean()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        told = loss.detach().clone()
        dist.all_reduce(told, dist.ReduceOp.AVG if dist.get_backend() == "nccl" else dist.ReduceOp.SUM)
        return told

    results = []
    for function in (vitrine.compile(step), step):
        model = net()
        told = function(model, batch())
        results.append([told, *(p.grad for p in model.parameters())])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@check
def collectives_that_are_not_waited_for_run_as_they_are():
    def total(x):
        y = x * 2
        work = dist.all_reduce(y, async_op=True)
        work.wait()
        return y.sin()

    def of_what_needs_a_gradient(x, w):
        y = x * w
        dist.all_reduce(y)
        return y.sin()

    x, w = batch(), torch.ones(8, device=device(), requires_grad=True)
    assert vitrine.explain(total)(x).graph_break_count >= 1
    torch.testing.assert_close(vitrine.compile(total)(x), total(x))
    assert vitrine.explain(of_what_needs_a_gradient)(x, w).graph_break_count >= 1
    torch.testing.assert_close(vitrine.compile(of_what_needs_a_gradient)(x, w), of_what_needs_a_gradient(x, w))


@check
def what_is_wrong_with_a_collective_is_told_as_eagerly():
    def told(function, *args):
        try:
            function(*args)
        except Exception as error:
            return type(error), str(error)
        return None

    def of_no_tensor(x):
        dist.all_reduce([x])

    def of_no_rank(x):
        dist.broadcast(x, 99)

    for function in (of_no_tensor, of_no_rank):
        assert told(vitrine.compile(function), torch.ones(3, device=device())) == told(function, torch.ones(3, device=device())) is not None


@check
def a_part_of_the_ranks_meets_alone():
    """Ranks that are not in the group go on; the source is a rank of all, or of the group."""
    ranks = list(range(1, dist.get_world_size()))
    group = dist.new_group(ranks)

    def total(x):
        y = x + 1
        dist.all_reduce(y, group=group)
        dist.broadcast(y, ranks[-1], group=group)
        return y * 2

    x = batch()
    torch.testing.assert_close(vitrine.compile(total)(x), total(x))


@check
def another_group_is_another_program():
    """The group is guarded: a graph that was made for one serves no other."""
    alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())][dist.get_rank()]

    def total(x, group):
        return all_reduce(x, "sum", group) + 0

    compiled, x = vitrine.compile(total), torch.ones(3, device=device())
    torch.testing.assert_close(compiled(x, dist.group.WORLD), x * dist.get_world_size())
    torch.testing.assert_close(compiled(x, alone), x)
    torch.testing.assert_close(compiled(x, dist.group.WORLD), x * dist.get_world_size())


def run(name: str) -> str:
    vitrine.reset()
    try:
        CHECKS[name]()
    except Exception:
        return traceback.format_exc()
    return ""


def main(backend: str, folder: str, names: list[str]) -> None:
    warnings.simplefilter("ignore", FutureWarning)
    torch.set_num_threads(1)
    dist.init_process_group(backend, timeout=timedelta(seconds=40))
    told = {}
    for name in names:
        told[name] = run(name)
        if told[name]:
            break
        dist.barrier()
    Path(folder, f"{dist.get_rank()}.json").write_text(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)  # whoever waits for a rank that failed need not end in order


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
