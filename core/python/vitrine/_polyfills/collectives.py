"""Collectives of torch.distributed that write to a tensor, as functional ones and a write: both are steps of a graph. Each gives
NotImplemented where it is not sure to do what PyTorch's does, before it has done anything.

Capture reads these in the place of PyTorch's (core/capture/interpreter/library/collectives.cpp). ``members_of`` and its like are
asked once, of the objects themselves, which are guarded.
"""

import inspect

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

_ops = torch.ops._c10d_functional

_REDUCTIONS = (
    (dist.ReduceOp.SUM, "sum"), (dist.ReduceOp.AVG, "avg"), (dist.ReduceOp.PRODUCT, "product"), (dist.ReduceOp.MIN, "min"),
    (dist.ReduceOp.MAX, "max"), (dist.ReduceOp.BAND, "band"), (dist.ReduceOp.BOR, "bor"), (dist.ReduceOp.BXOR, "bxor"),
)  # fmt: skip


def reduction_of(op):
    """The name that functional collectives have for it, or None: one with a factor, say."""
    return next((name for known, name in _REDUCTIONS if type(op) is type(known) and op == known), None)


def members_of(group):
    """(name, ranks, whether NCCL has its GPUs) of a process group, or None: this rank is no member."""
    if not isinstance(group, dist.ProcessGroup) or distributed_c10d._rank_not_in_group(group):
        return None
    return group.group_name, group.size(), "cuda:nccl" in distributed_c10d.get_backend_config(group)


def source_of(group, src, group_src):
    """The rank in the group that a broadcast comes from, or None: the program is told what is wrong with it."""
    if (src is None) == (group_src is None):
        return None
    ranks = dist.get_process_group_ranks(group)
    if group_src is None:
        return ranks.index(src) if src in ranks else None
    return group_src if 0 <= group_src < len(ranks) else None


def _members(group, async_op, *tensors):
    """As ``members_of``; None also where the call is not to wait, of tensors that a functional collective takes otherwise, and for
    a GPU without NCCL: which writes are counted is the backend's."""
    if async_op or distributed_c10d._world.pg_coalesce_state:
        return None
    for tensor in tensors:
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            return None
        if tensor.is_complex() or not tensor.is_contiguous() or (tensor.requires_grad and torch.is_grad_enabled()):
            return None
    members = members_of(distributed_c10d._get_default_group() if group is None else group)
    return None if members is None or (tensors[0].is_cuda and not members[2]) else members


def _fill(tensor, made):
    """NCCL writes memory, of which PyTorch knows nothing; gloo copies tensors."""
    (tensor.data if tensor.is_cuda else tensor.detach()).copy_(made)


def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
    members, reduction = _members(group, async_op, tensor), reduction_of(op)
    if members is None or reduction is None:
        return NotImplemented
    made = _ops.wait_tensor(_ops.all_reduce(tensor, reduction, members[0]))
    tensor.data.copy_(made)  # a write that PyTorch does not count


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    members = _members(group, async_op, tensor)
    if members is None:
        return NotImplemented
    source = source_of(distributed_c10d._get_default_group() if group is None else group, src, group_src)
    if source is None:
        return NotImplemented
    made = _ops.wait_tensor(_ops.broadcast(tensor, source, members[0]))
    tensor.data.copy_(made)


def _has_rows(whole, part, times):
    """Whether a tensor is so many of another one below each other. Backends differ in which other shapes they take."""
    if whole.dtype != part.dtype or whole.dim() != part.dim() or not part.dim():
        return False
    return whole.shape[0] == part.shape[0] * times and whole.shape[1:] == part.shape[1:]


def all_gather_single(output_tensor, input_tensor, group=None, async_op=False):
    members = _members(group, async_op, output_tensor, input_tensor)
    if members is None or not _has_rows(output_tensor, input_tensor, members[1]):
        return NotImplemented
    made = _ops.wait_tensor(_ops.all_gather_into_tensor(input_tensor, members[1], members[0]))
    _fill(output_tensor, made)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    members = _members(group, async_op, tensor, *tensor_list) if type(tensor_list) is list else None
    if members is None or len(tensor_list) != members[1]:
        return NotImplemented
    for part in tensor_list:
        if part.dtype != tensor.dtype or part.shape != tensor.shape:
            return NotImplemented
    made = _ops.wait_tensor(_ops.all_gather_into_tensor(tensor.reshape(-1), members[1], members[0]))
    for part, row in zip(tensor_list, made.view(members[1], tensor.numel())):
        part.detach().copy_(row.view(part.shape))


def reduce_scatter_single(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
    members, reduction = _members(group, async_op, output, input), reduction_of(op)
    if members is None or reduction is None or not _has_rows(input, output, members[1]):
        return NotImplemented
    made = _ops.wait_tensor(_ops.reduce_scatter_tensor(input, reduction, members[1], members[0]))
    _fill(output, made)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    members = _members(group, async_op, output, input)
    if members is None or output_split_sizes or input_split_sizes or output.dtype != input.dtype or not output.dim() or not input.dim():
        return NotImplemented
    if input.shape != output.shape or input.shape[0] % members[1]:
        return NotImplemented
    parts = [input.shape[0] // members[1]] * members[1]
    made = _ops.wait_tensor(_ops.all_to_all_single(input, parts, parts, members[0]))
    output.data.copy_(made)


# By the names that versions of PyTorch have for them.
_POLYFILLS = {
    "all_reduce": all_reduce,
    "broadcast": broadcast,
    "all_gather": all_gather,
    "all_gather_single": all_gather_single,
    "all_gather_into_tensor": all_gather_single,
    "reduce_scatter_single": reduce_scatter_single,
    "reduce_scatter_tensor": reduce_scatter_single,
    "all_to_all_single": all_to_all_single,
}


def polyfill_of(function):
    """What stands for one of torch.distributed's functions, or None. One that is deprecated says so itself and calls another."""
    name = getattr(function, "__name__", "")
    polyfill = _POLYFILLS.get(name)
    if polyfill is None or getattr(distributed_c10d, name, None) is not function or hasattr(function, "__deprecated__"):
        return None
    theirs, ours = (tuple(inspect.signature(f).parameters) for f in (function, polyfill))
    return polyfill if len(theirs) == len(ours) and theirs[2:] == ours[2:] else None
