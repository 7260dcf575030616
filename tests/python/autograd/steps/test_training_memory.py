"""Memory of training steps: what eager has given back by then is not held."""

import gc
import itertools
import weakref

import pytest
import torch
import transformers as T
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional as F

import vitrine

A_PAGE = 4096  # bytes: a scalar more or less than eager holds, as the order of its kernels wants, is no memory

watched, seen = [], []


@torch.library.custom_op("vitrine_tests::look", mutates_args=())
def look(x: torch.Tensor) -> torch.Tensor:
    """Whether the gradients of the last step are gone, while this one is computed."""
    seen.append([ref.expired() for ref in watched])
    return x.clone()


@look.register_fake
def _(x):
    return torch.empty_like(x)


def gradients_gone(compile):
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        with torch.no_grad():
            noted = look(loss.detach())
        loss.backward()
        optimizer.step()
        return noted

    run, out = compile(step), []
    seen.clear()
    for _ in range(3):
        watched[:] = [StorageWeakRef(p.grad.untyped_storage()) for p in model.parameters() if p.grad is not None]
        out.append(run(torch.randn(8, 6), torch.randint(0, 4, (8,))))
    return [gone for gone in seen if gone], torch.stack(out), [p.detach() for p in model.parameters()]


def test_gradients_of_the_last_step_go_before_this_one_computes():
    eager, ours = gradients_gone(lambda f: f), gradients_gone(vitrine.compile)
    assert eager[0][-1] == ours[0][-1] == [True, True]
    torch.testing.assert_close(ours[1:], eager[1:])


def test_a_gradient_that_is_still_read_stays():
    def step(p, x):
        old, p.grad = p.grad, None
        (p * x).sum().backward()
        return old * 2 + p.grad

    found = []
    for run in (step, vitrine.compile(step)):
        p = torch.ones(3, requires_grad=True)
        p.grad = torch.full((3,), 5.0)
        found.append([run(p, torch.arange(3.0)).detach() for _ in range(3)] + [p.grad])
    torch.testing.assert_close(found[1], found[0])


def test_a_step_that_fails_is_eagers():
    model = nn.Linear(6, 4)

    def step(x, y):
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    run = vitrine.compile(step)
    for _ in range(2):
        run(torch.randn(3, 6), torch.tensor([0, 1, 2]))
    try:
        run(torch.randn(3, 6), torch.tensor([0, 1, 4]))
    except IndexError as error:
        assert "out of bounds" in str(error)
    assert model.weight.grad is None  # zero_grad() came before the error


def test_nothing_of_a_call_is_held_behind_it():
    p = torch.ones(3, requires_grad=True)

    @vitrine.compile
    def read(flag):
        return p.grad + 1 if flag else p.grad - 1

    held = []
    for flag in (True, True, False, False):  # of the last call of the code that is compiled for True, too
        p.grad = torch.full((3,), 5.0)
        read(flag)
        held.append(StorageWeakRef(p.grad.untyped_storage()))
        p.grad = None
    assert [ref.expired() for ref in held] == [True] * 4


class Peak:
    """Bytes that PyTorch's allocator holds at most while the block runs, beyond what it held before."""

    def __enter__(self):
        self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
        self.profiler.__enter__()
        return self

    def __exit__(self, *error):
        self.profiler.__exit__(*error)
        events = [e for e in self.profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
        self.bytes = max(itertools.accumulate(e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())))


class Layers(nn.Module):
    """What a language model returns: the loss, and beside it the logits, from which nobody goes back."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 64)) for _ in range(5)])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x.square().mean(), x


def peak_of_step(run, model, x, keep):
    for _ in range(3):
        with Peak() as peak:
            loss, logits = run(x)
            if not keep:
                del logits
            loss.backward()
        model.zero_grad()
    return peak.bytes


@pytest.mark.parametrize("keep", [True, False])
def test_what_was_saved_goes_while_backward_reads_it(keep):
    model, x = Layers(), torch.randn(256, 64)
    assert peak_of_step(vitrine.compile(model), model, x, keep) <= 1.05 * peak_of_step(model, model, x, keep)


def test_a_result_whose_gradient_comes_in_the_same_pass_finds_what_was_saved():
    model, x = Layers(), torch.randn(8, 64, requires_grad=True)
    run, found = vitrine.compile(model), []
    for function in (model, run, run):
        model.zero_grad()
        loss, logits = function(x)
        (loss + (logits.exp() * x).sum() + x.sum()).backward()
        found.append([x.grad, *(p.grad for p in model.parameters())])
        x.grad = None
    for again in found[1:]:  # eager itself is up to 1e-5 off float64
        torch.testing.assert_close(again, found[0], rtol=1e-5, atol=5e-5)


def test_random_masks_go_when_they_were_read():
    """They are written in place; what the call made itself needs no copy against a failure."""

    def forward(x):
        for _ in range(6):
            x = F.dropout(x, 0.5, training=True) * 2
        return x

    run, x, peaks = vitrine.compile(forward), torch.randn(256, 512), []
    with torch.no_grad():
        for function in (forward, run, run):
            with Peak() as peak:
                function(x)
            peaks.append(peak.bytes)
    assert peaks[-1] <= 1.02 * peaks[0]


SIZES = dict(hidden_size=128, num_attention_heads=4, num_hidden_layers=2, intermediate_size=512)
WORDS, PICTURES = torch.arange(512).reshape(8, 64) * 7 % 1000, torch.randn(8, 3, 64, 64, generator=torch.Generator().manual_seed(0))
WHOLE = {
    "bert": lambda: (T.BertForMaskedLM(T.BertConfig(vocab_size=1000, **SIZES)), WORDS, WORDS),
    "vit": lambda: (T.ViTForImageClassification(T.ViTConfig(image_size=64, patch_size=8, num_labels=10, **SIZES)), PICTURES, torch.arange(8)),
    "llama": lambda: (T.LlamaForCausalLM(T.LlamaConfig(vocab_size=1000, num_key_value_heads=2, use_cache=False, **SIZES)), WORDS, WORDS),
    "t5": lambda: (T.T5ForConditionalGeneration(T.T5Config(vocab_size=1000, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4,
                                                           decoder_start_token_id=0)), WORDS, WORDS),
}  # fmt: skip


def peak_of_whole_step(compile, model, x, labels, kind=torch.optim.SGD):
    optimizer = kind(model.parameters(), lr=1e-3)

    def step():
        loss = model(x, labels=labels).loss
        loss.backward()
        optimizer.step()

    run = compile(step)
    for _ in range(3):
        model.zero_grad()
        with Peak() as peak:
            run()
    return peak.bytes


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_step_takes_no_more_than_eager(name):
    torch.manual_seed(0)
    model, x, labels = WHOLE[name]()
    assert peak_of_whole_step(vitrine.compile, model, x, labels) <= A_PAGE + peak_of_whole_step(lambda f: f, model, x, labels)


def test_what_a_weights_update_reads_does_not_wait_for_the_step_counts():
    """AdamW counts steps behind the backward pass; the update of a bias sums up what goes through the layer."""
    torch.manual_seed(0)
    model, x, labels = WHOLE["vit"]()
    ours, eagers = (peak_of_whole_step(how, model, x[:2], labels[:2], torch.optim.AdamW) for how in (vitrine.compile, lambda f: f))
    assert ours <= eagers + A_PAGE


def test_what_backward_can_compute_again_from_what_is_held_is_not_held():
    """The gate's activation and the rows of norms: eager holds them."""
    torch.manual_seed(0)
    model, x, labels = WHOLE["llama"]()
    eagers = peak_of_whole_step(lambda f: f, model, x, labels, torch.optim.AdamW)
    assert peak_of_whole_step(vitrine.compile, model, x, labels, torch.optim.AdamW) <= 0.9 * eagers


class Reshaped(nn.Module):
    """Residual sums that the next layers read by another shape, and a weight of the first layer that is the last one's too."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(256, 64)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.Dropout(0.1)) for _ in range(8))

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = (x.flatten(0, 1) + layer(x.flatten(0, 1))).view(x.shape)
        logits = F.linear(x, self.words.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids.flatten()), logits


def test_a_step_of_tied_weights_and_reshaped_sums_takes_no_more_than_eager():
    model, ids = Reshaped(), torch.arange(512).reshape(8, 64) % 256
    assert peak_of_step(vitrine.compile(model), model, ids, False) <= A_PAGE + peak_of_step(model, model, ids, False)


def test_a_gradient_that_nobody_gives_takes_no_memory():
    def forward(x, w):
        y = (x @ w).relu()
        return (y @ w).sum(), y.repeat(1, 64).exp()

    x, w, peaks = torch.randn(512, 64), torch.randn(64, 64, requires_grad=True), []
    run = vitrine.compile(forward)
    for function in (forward, run, run):
        w.grad = None
        loss, other = function(x, w)
        with Peak() as peak:
            loss.backward()
        peaks.append(peak.bytes)
    assert peaks[-1] <= peaks[0] + A_PAGE


def test_experts_weights_are_updated_without_copies():
    """They are read by a library's operator, of whose result its schema says that it is new."""
    torch.manual_seed(0)
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2, num_local_experts=4)
    model = T.MixtralForCausalLM(T.MixtralConfig(vocab_size=256, num_key_value_heads=1, use_cache=False, **sizes))
    ours, eagers = (
        peak_of_whole_step(how, model, WORDS % 256, WORDS % 256, torch.optim.AdamW) for how in (vitrine.compile, lambda f: f)
    )
    assert ours <= eagers + A_PAGE


library = torch.library.Library("vitrine_tests_raw", "DEF")
library.define("keep_positive(Tensor x) -> Tensor")
library.impl("keep_positive", lambda x: x if x.sum() > 0 else x.clone(), "CPU")
torch.library.register_fake("vitrine_tests_raw::keep_positive", torch.empty_like, lib=library)


def test_an_operator_that_hands_back_its_argument_against_its_schema():
    def step(x, p):
        y = (x * 3).sin() + 2
        z = torch.ops.vitrine_tests_raw.keep_positive(y)
        w = (y * 2).exp()  # which may take the memory that z is said not to have
        (w @ p).square().mean().backward()
        return z

    run, x, p = vitrine.compile(step), torch.rand(64, 64), torch.rand(64, 64, requires_grad=True)
    for _ in range(3):
        torch.testing.assert_close(run(x, p), step(x, p))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("make", [torch.optim.AdamW, torch.optim.Adagrad])
def test_what_is_compiled_for_an_optimizer_keeps_no_parameter(make, scaled):
    """Functions made anew share their code, and what is compiled for it outlives them."""
    def trained(compile):
        torch.manual_seed(0)
        model, x = nn.Linear(6, 4), torch.randn(2, 6)
        optimizer = make(model.parameters())
        scaler = torch.amp.GradScaler("cpu", enabled=scaled)  # knows optimizers by their id()

        @compile
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        losses = torch.stack([step(x) for _ in range(3)])
        return losses, [weakref.ref(o) for o in (model, model.weight, model.bias, optimizer)]

    expected, _ = trained(lambda f: f)
    for _ in range(2):  # the second time beside what was compiled for the first
        losses, kept = trained(vitrine.compile)
        gc.collect()
        torch.testing.assert_close(losses, expected)
        assert [ref() for ref in kept] == [None] * 4


MAPPED = {
    "module": lambda model: lambda x: torch.vmap(model)(x),
    "closed over": lambda model: lambda x: torch.vmap(lambda each: model(each) * 2)(x),
    "method": lambda model: lambda x: torch.vmap(model.forward)(x),
    "differentiated": lambda model: lambda x: torch.func.grad(lambda x: torch.vmap(model)(x).sum())(x),
}


@pytest.mark.parametrize("how", MAPPED)
def test_a_module_that_is_mapped_is_let_go(how):
    model, x = nn.Linear(4, 4), torch.randn(3, 4)
    program = MAPPED[how](model)
    compiled = vitrine.compile(program)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), program(x))
    kept = weakref.ref(model)
    del model, program, compiled
    gc.collect()
    assert kept() is None
