"""Whole programs on a GPU, run twice from the same seed: compiled, they give eager's results, gradients, random numbers and
generator state, call after call, with and without CUDA Graphs."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu


def layers(*sizes):
    pairs = [module for a, b in zip(sizes, sizes[1:]) for module in (nn.Linear(a, b), nn.GELU())]
    return nn.Sequential(*pairs[:-1]).cuda()


def randn(*size):
    return torch.randn(*size, device="cuda")


def taken(values):
    return [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values]


def sizes_that_come_back(compiled):
    body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5)).cuda().eval()
    run = compiled(body)
    with torch.no_grad():
        return [run(randn(n, 3, s, s)).clone() for n, s in ((2, 16), (2, 16), (2, 16), (3, 16), (3, 20), (2, 16), (3, 20), (3, 20), (1, 16))]


def inputs_that_are_written(compiled):
    def step(x, y):
        x.mul_(2).add_(y)
        y[0] = x.sum(0)
        z = x.relu() @ y.t()
        x[:, 0].zero_()
        return z, x.view(-1)[3:5]

    run, out = compiled(step), []
    for n in (4, 4, 4, 4, 6, 4):
        x, y = randn(n, 8), randn(n, 8)
        out += [*taken(run(x, y)), x, y]
    x, y = randn(4, 8), randn(4, 8)
    for _ in range(4):
        out += [*taken(run(x, y)), x.clone(), y.clone()]
        x.clamp_(-9, 9), y.clamp_(-9, 9)
    return out


def results_fed_back(compiled):
    model, out = layers(8, 32, 8), []
    run, state = compiled(lambda x, h: (torch.tanh(model(x) + h), (x * h).sum())), torch.zeros(4, 8, device="cuda")
    for i in range(7):
        with torch.set_grad_enabled(i % 2 == 0):
            state, total = run(randn(4, 8), state)
        out += taken((state, total))
    state.sum().backward()
    return [*out, *(p.grad for p in model.parameters())]


def results_that_stay(compiled):
    model = layers(8, 32, 8)
    run = compiled(lambda x: (model(x), model(x).softmax(-1), x * 2))
    results = [run(randn(4, 8)) for _ in range(6)]
    out = [v for each in results for v in taken(each)]
    results[0][0].sum().backward()
    results[3][1].square().sum().backward()
    return out + [v for each in results for v in taken(each)] + [p.grad for p in model.parameters()]


def two_models_and_a_teacher(compiled):
    a, b, teacher, out = layers(16, 64, 16), layers(16, 64, 16), layers(16, 64, 16), []
    run_a, run_b, run_teacher = compiled(a), compiled(b), compiled(lambda x: teacher(x) * 2)
    optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], 0.05)
    for _ in range(6):
        x = randn(8, 16)
        y = run_a(x)
        z = run_b(y)
        with torch.no_grad():
            wanted = run_teacher(x)
        loss = (z - wanted).square().mean() + y.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out += taken((loss, wanted, y))
    return out


def two_streams(compiled):
    model, streams, out = layers(32, 64, 32), [torch.cuda.Stream(), torch.cuda.Stream()], []
    run = compiled(lambda x: torch.softmax(model(x), -1) * 3)
    for i in range(8):
        x, stream = randn(64, 32), streams[i % 2]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = run(x).square().sum()
            loss.backward()
        torch.cuda.current_stream().wait_stream(stream)
        out += taken((loss,))
    return [*out, *(p.grad for p in model.parameters())]


def events_and_streams_inside(compiled):
    event, stream = torch.cuda.Event(), torch.cuda.Stream()

    def step(x):
        y = x * 2
        event.record()
        stream.wait_event(event)
        with torch.cuda.stream(stream):
            z = y.relu().sum(0)
        torch.cuda.current_stream().wait_stream(stream)
        return y + z

    run = compiled(step)
    return [run(randn(16, 16)).clone() for _ in range(4)]


def both_devices(compiled):
    weight, model = nn.Parameter(torch.randn(8, 8)), layers(8, 8)

    def step(x):
        y = model(x.to("cuda", non_blocking=True))
        z = y.cpu() @ weight
        return z.to("cuda", torch.float64) + y, z.to(y), y.to("cpu", copy=True).sum()

    run, out = compiled(step), []
    for n in (4, 6, 4):
        got = run(torch.randn(n, 8).pin_memory())
        got[0].sum().backward()
        out += taken(got)
    return [*out, weight.grad]


def scaled_steps(compiled):
    """Losses that overflow are left out, the scale changes, gradients of two calls are added."""
    model, scaler, out = layers(8, 32, 4), torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2), []
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)

    def micro(x):
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), torch.arange(8, device="cuda") % 4) / 2
        scaler.scale(loss).backward()
        return loss.detach()

    run = compiled(micro)
    for i, size in enumerate((1, 1, 1, 1, float("inf"), 1, 1, 1)):
        out.append(run(randn(8, 8) * size).nan_to_num())
        if i % 2:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            out.append(torch.tensor(scaler.get_scale()))
    return out


def recurrent_layers_under_autocast(compiled):
    """cuDNN gives halves where the head reads bfloat16: its gradient is converted back."""
    out = []
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        model, head = kind(16, 24, 2, batch_first=True, bidirectional=True).cuda(), nn.Linear(48, 4).cuda()
        run = compiled(lambda x, model=model, head=head: head(model(x)[0]))
        for steps in (7, 7, 9):
            with torch.autocast("cuda", torch.bfloat16):
                y = run(randn(4, steps, 16))
            y.float().square().mean().backward()
        out += taken([y, *(p.grad / p.grad.norm() for p in model.parameters())])
    return out


def segments_of_rows(compiled):
    def step(x, lengths):
        owner = torch.repeat_interleave(torch.arange(len(lengths), device="cuda"), lengths, output_size=len(x))
        top = x.new_full((len(lengths), x.shape[1]), -9.0).scatter_reduce(0, owner[:, None].expand_as(x), x, "amax")
        power = torch.exp(x - top[owner])
        return top, power / torch.zeros_like(top).index_add(0, owner, power)[owner]

    run = compiled(step)
    return [v for lengths in ((3, 4, 5), (6, 1, 5), (2, 2, 8)) for v in taken(run(randn(12, 4), torch.tensor(lengths, device="cuda")))]


def numbers_that_are_drawn(compiled):
    def step(x):
        p = x.softmax(-1)
        return torch.multinomial(p, 3), F.dropout(x, 0.3), torch.bernoulli(p), torch.rand_like(x, dtype=torch.float64), torch.randint(0, 99, x.shape, device="cuda"), F.dropout(x.half(), 0.5), x.clone().normal_(2, 0.5)  # fmt: skip

    run = compiled(step)
    return [v for size in ((4, 10), (4, 10), (4, 10), (300, 1001), (4, 10)) for v in taken(run(randn(*size)))]


PROGRAMS = [sizes_that_come_back, inputs_that_are_written, results_fed_back, results_that_stay, two_models_and_a_teacher, two_streams, events_and_streams_inside, both_devices, scaled_steps, recurrent_layers_under_autocast, segments_of_rows, numbers_that_are_drawn]  # fmt: skip


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_eagers(program, mode):
    vitrine.reset()
    found = []
    for compiled in (lambda f: f, lambda f: vitrine.compile(f, mode=mode)):
        torch.manual_seed(3)
        found.append((program(compiled), torch.cuda.get_rng_state()))
    (expected, state), (got, its) = found
    assert torch.equal(state, its)
    for g, e in zip(got, expected, strict=True):
        assert g.dtype == e.dtype and g.stride() == e.stride() and g.device == e.device
        right = 2e-2 if e.dtype == torch.float16 or program in (scaled_steps, recurrent_layers_under_autocast) else 1e-3
        torch.testing.assert_close(g, e, rtol=right, atol=right)
    vitrine.reset()


def test_a_graph_of_the_programs_own():
    """Compiled calls are recorded by torch.cuda.graph as eager ones are."""
    vitrine.reset()
    model = layers(16, 32, 4).eval()
    run, x = vitrine.compile(model), randn(8, 16)
    with torch.no_grad():
        for _ in range(3):
            run(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = run(x)
        for _ in range(3):
            x.copy_(randn(8, 16))
            graph.replay()
            torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-4)
