"""What is copied only to be changed is changed where it lies: rows added to a gradient, indexed writes and sums."""

import pytest
import torch
import torch.nn.functional as F

import vitrine

WORDS = torch.tensor([[1, 4, 4], [0, 2, 4]])


def tied(weight, words, padding=None):
    h = F.embedding(words, weight, padding)
    return F.cross_entropy((h.tanh() @ weight.t()).flatten(0, 1), words.flatten())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("padding", [None, 4])
def test_gradients_of_a_shared_weight(dtype, padding):
    torch.manual_seed(0)
    weight = torch.randn(9, 6, dtype=dtype, requires_grad=True)
    compiled = vitrine.compile(tied)
    for _ in range(2):
        loss = compiled(weight, WORDS, padding)
        found = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for _ in range(2)]
        wanted = torch.autograd.grad(tied(weight, WORDS, padding), weight)[0]
        for each in found:
            torch.testing.assert_close(each, wanted)


def added_rows(x, index, rows):
    made = x * 2
    return made.index_add(0, index, rows), made.sum()


def added_last(x, index, rows):
    return (x * 2).index_add(0, index, rows)


def added_to_itself(x, index, rows):
    made = x * 2
    return made.index_add(0, index, made[:3] + rows)


def put_and_read(x, index, rows):
    made = x.exp()
    put = made.index_put((index,), rows, accumulate=True)
    return put.scatter(0, index[:, None].expand(3, 4), rows).scatter_add(1, index[:, None], rows), put.mean()


def put_in_an_argument(x, index, rows):
    return x.index_put((index,), rows), x.index_add(0, index, rows)


@pytest.mark.parametrize("program", [added_rows, added_last, added_to_itself, put_and_read, put_in_an_argument])
def test_indexed_writes(program):
    torch.manual_seed(0)
    x, index, rows = torch.randn(5, 4), torch.tensor([3, 0, 3]), torch.randn(3, 4)
    before = x.clone()
    compiled = vitrine.compile(program)
    for _ in range(2):
        found, wanted = compiled(x, index, rows), program(x, index, rows)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(x, before, rtol=0, atol=0)


def test_an_index_out_of_range_raises_as_in_eager():
    x, rows = torch.randn(5, 4), torch.randn(1, 4)
    compiled = vitrine.compile(added_last)
    compiled(x, torch.tensor([1]), rows)
    said = []
    for function in (added_last, compiled):
        with pytest.raises((IndexError, RuntimeError)) as raised:
            function(x, torch.tensor([7]), rows)
        said.append((raised.type, str(raised.value)))
    assert said[0] == said[1]
    torch.testing.assert_close(compiled(x, torch.tensor([2]), rows), added_last(x, torch.tensor([2]), rows))


def cached(cache, places, rows):
    """A cache as a model of text has it: written in place, then read."""
    cache.index_copy_(1, places, rows * 2)
    return (cache * 3).sum(1)


def cached_by_index(cache, places, rows):
    cache[:, places] = rows * 2
    return (cache * 3).sum(1)


def read_before(cache, places, rows):
    before = cache.sum(1)
    cache.index_copy_(1, places, rows)
    return before, cache.sum(1)


def read_afterwards_as_it_was(cache, places, rows):
    changed = cache.index_copy(1, places, rows)
    before = cache.sum(1)
    cache.copy_(changed)
    return before


def written_with_itself(cache, places, rows):
    cache.index_copy_(1, places, cache[:, :2] + rows)
    return cache.sum(1)


CACHES = [cached, cached_by_index, read_before, read_afterwards_as_it_was, written_with_itself]


@pytest.mark.parametrize("program", CACHES)
def test_an_argument_is_changed_where_it_lies(program):
    torch.manual_seed(0)
    vitrine.reset()
    compiled = vitrine.compile(program)
    for k in range(4):
        cache, places, rows = torch.randn(3, 9, 4), torch.tensor([k, 8]), torch.randn(3, 2, 4)
        same, at = cache.clone(), cache.data_ptr()
        version = cache._version
        torch.testing.assert_close(compiled(cache, places, rows), program(same, places, rows))
        torch.testing.assert_close(cache, same)
        assert cache.data_ptr() == at and cache._version == version + same._version


def test_a_place_behind_the_end_is_the_users_error():
    vitrine.reset()
    compiled = vitrine.compile(cached)
    for place in (0, 1):
        compiled(torch.zeros(3, 9, 4), torch.tensor([place, 8]), torch.zeros(3, 2, 4))
    for place in (9, -1):
        with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
            cached(torch.zeros(3, 9, 4), torch.tensor([place, 8]), torch.zeros(3, 2, 4))
        with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
            compiled(torch.zeros(3, 9, 4), torch.tensor([place, 8]), torch.zeros(3, 2, 4))
