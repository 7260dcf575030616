"""One process over NCCL: what PyTorch shares out among GPUs computes on one what it computes eagerly."""

import pytest
import torch.distributed as dist

from tests.python.distributed.test_ranks import COLLECTIVES, WRAPPED, checked

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not dist.is_available() or not dist.is_nccl_available(), reason="this PyTorch has no NCCL"),
]

# A group of all ranks but the first is empty here.
NAMES = [name for name in (*WRAPPED, *COLLECTIVES) if name != "a_part_of_the_ranks_meets_alone"]


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory):
    (told,) = checked(1, tmp_path_factory.mktemp("nccl"), NAMES, backend="nccl")
    return told


@pytest.mark.parametrize("name", NAMES)
def test_one_rank_computes_as_eagerly(one_rank, name):
    assert name in one_rank, "it did not come to that: another check failed"
    assert not one_rank[name], one_rank[name]
