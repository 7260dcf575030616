"""vitrine.export and vitrine-run: a package computes what the compiled model does, says what it takes, and refuses what is damaged."""

import hashlib
import json
import random
import struct

import pytest
import torch
from torch import nn

import vitrine

from tests.python.support.packages import load, run_package, save, vitrine_run

GENERATED = {"products": "generated"}


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.second, self.head = nn.Conv2d(16, 32, 3, stride=2), nn.Linear(32, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        return self.head(torch.relu(self.second(x)).mean((2, 3)))


class Block(nn.Module):
    """Of a transformer; nn.TransformerEncoderLayer is one operator of PyTorch's when nothing is trained."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).eval()


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def close(ours: dict, model, *inputs):
    with torch.no_grad():
        (name, got), *rest = ours.items()
        assert name == "output" and not rest
        torch.testing.assert_close(got, model(*inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("products", ("generated", "library"))
def test_a_perceptron_computes_the_same(tmp_path, products):
    model, x, package = mlp(), torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.export(model, x, package, options={"products": products})
    close(run_package(package, {"input": x}), model, x)


@pytest.mark.parametrize("rows", (1, 64))
def test_layers_alike_keep_their_own_weights_from_call_to_call(tmp_path, rows):
    """What a kernel packs of a weight serves the next call; memory of the last one does, too."""
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(3)), nn.GELU()).eval()
    x, package = torch.randn(rows, 256), tmp_path / "m.vpkg"
    vitrine.export(model, x, package, options=GENERATED)
    close(run_package(package, {"input": x}), model, x)
    close(run_package(package, {"input": x}, "--repeat", 5), model, x)


def test_what_weights_alone_become_serves_the_next_call(tmp_path):
    """The next layers' memory is not that of the cast weights."""

    class Narrow(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(x.bfloat16() @ layer.weight.bfloat16().t() + layer.bias).float() @ (layer.weight * layer.bias)
            return x

    model, x, package = Narrow().eval(), torch.randn(40, 128), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    with torch.no_grad():
        wanted = vitrine.compile(model)(x)
    for calls in (1, 5):
        got = run_package(package, {"x": x}, "--repeat", calls)["output"]
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_convolutions_compute_the_same(tmp_path):
    model, x, package = Convolutions().eval(), torch.randn(2, 3, 16, 16), tmp_path / "m.vpkg"
    vitrine.export(model, (x,), package, options={"products": "library"})
    close(run_package(package, {"x": x}), model, x)


@pytest.mark.parametrize("options", (None, GENERATED), ids=("measured", "generated"))
def test_a_transformer_block_computes_the_same(tmp_path, options):
    model, x, package = Block().eval(), torch.randn(2, 10, 64), tmp_path / "m.vpkg"
    vitrine.export(model, x, package, options=options)
    close(run_package(package, {"x": x}), model, x)
    if options:
        assert " 0 calls of PyTorch" in vitrine_run(package).stdout, "attention is a kernel of ours, too"


def test_a_layer_that_pytorch_has_as_one_operator_is_one_call(tmp_path):
    model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    x, package = torch.randn(2, 10, 64), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    close(run_package(package, {"src": x}), model, x)


def test_no_pytorch_is_opened_where_none_is_called(tmp_path):
    model, x, package = mlp(), torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.export(model, x, package, options=GENERATED)
    assert "0 calls of PyTorch" in vitrine_run(package).stdout
    close(run_package(package, {"input": x}, torch_folder=None), model, x)


def test_a_package_that_calls_pytorch_says_so_where_there_is_none(tmp_path):
    x, package = torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.export(mlp(), x, package, options={"products": "library"})
    done = vitrine_run(package, save(tmp_path / "in", {"input": x}), torch_folder=tmp_path)
    assert done.returncode == 1 and "calls PyTorch" in done.stderr and "--torch DIR" in done.stderr


def test_names_of_several_inputs_and_results(tmp_path):
    def model(query, key, *, scale):
        return {"product": query @ key.T * scale, "parts": (query.sum(), key), "nothing": None}

    given, package = {"query": torch.randn(3, 4), "key": torch.randn(5, 4), "scale": torch.tensor(2.0)}, tmp_path / "m.vpkg"
    vitrine.export(model, given, package, options=GENERATED)
    ours, eager = run_package(package, given), model(**given)
    assert list(ours) == ["product", "parts.0", "parts.1"]
    torch.testing.assert_close(ours["product"], eager["product"])
    torch.testing.assert_close(ours["parts.0"], eager["parts"][0])
    torch.testing.assert_close(ours["parts.1"], given["key"])


def test_weights_may_lie_in_any_way_and_be_of_any_type(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 6).t())
            self.register_buffer("table", torch.randn(5, 3, dtype=torch.float64)[:, :2])
            self.register_buffer("low", torch.randn(8).to(torch.bfloat16))
            self.register_buffer("which", torch.tensor([3, 0, 3]))

        def forward(self, x):
            return (x @ self.weight + self.low).relu(), self.table[self.which].double() * 2

    model, x, package = Model().eval(), torch.randn(4, 6), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    with torch.no_grad():
        for ours, eager in zip(run_package(package, {"x": x}).values(), model(x), strict=True):
            torch.testing.assert_close(ours, eager)
    kept = load(package)
    torch.testing.assert_close(kept["weight"], model.weight.detach())
    assert kept["low"].dtype is torch.bfloat16, "any reader of safetensors finds the weights by their names"


def test_an_operator_without_a_kernel_is_called_through_pytorch(tmp_path):
    def model(x):
        values, places = torch.topk(x.sin(), 3, dim=1)
        return values * 2, places, torch.linalg.inv(x @ x.T + torch.eye(4))

    x, package = torch.randn(4, 9), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    for ours, eager in zip(run_package(package, {"x": x}).values(), model(x), strict=True):
        torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4)


def test_any_batch_that_was_left_open(tmp_path):
    model, x, package = mlp(), torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.mark_dynamic(x, 0)
    vitrine.export(model, x, package, options=GENERATED)
    for rows in (8, 2, 3, 100):
        x = torch.randn(rows, 64)
        close(run_package(package, {"input": x}), model, x)
    assert "takes  input: f32[s0,64]" in vitrine_run(package).stdout


def test_all_sizes_left_open(tmp_path):
    model, package = Block().eval(), tmp_path / "m.vpkg"
    vitrine.export(model, torch.randn(3, 10, 64), package, dynamic=True)
    for shape in ((3, 10, 64), (2, 17, 64), (5, 4, 64)):
        x = torch.randn(*shape)
        close(run_package(package, {"x": x}), model, x)


def test_a_branch_on_a_size_is_asked_of_each_call(tmp_path):
    def model(x):
        return x.sin() if x.shape[0] > 4 else x.cos()

    x, package = torch.randn(8, 3), tmp_path / "m.vpkg"
    vitrine.mark_dynamic(x, 0)
    vitrine.export(model, x, package)
    close(run_package(package, {"x": (six := torch.randn(6, 3))}), model, six)
    why = refused(package, tmp_path, x=torch.randn(3, 3))
    assert "does not serve these sizes" in why and "s0 >= 5 (test_packages.py:" in why, why


def test_what_is_no_tensor_is_a_constant_of_the_package(tmp_path):
    def model(x, power, *, unused=None):
        return x**power

    x, package = torch.randn(8, 3), tmp_path / "m.vpkg"
    vitrine.export(model, (x, 3), package)
    torch.testing.assert_close(run_package(package, {"x": x})["output"], x**3)


def test_a_model_may_run_many_times(tmp_path):
    model, x, package = mlp(), torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.export(model, x, package, options=GENERATED)
    done = vitrine_run(package, save(tmp_path / "in", {"input": x}), "--repeat", 3)
    assert done.returncode == 0 and "3 calls: " in done.stdout


def test_the_user_s_module_is_as_it_was(tmp_path):
    model, x = mlp(), torch.randn(8, 64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    vitrine.export(model, x, tmp_path / "m.vpkg", dynamic=True)
    assert not any(name.startswith("_dynamo") for name in vars(x)), "no mark is left on the example"
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


def refused(package, tmp_path, **tensors) -> str:
    done = vitrine_run(package, save(tmp_path / "in", tensors))
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_what_the_model_does_not_take_is_said(tmp_path):
    model, x, package = mlp(), torch.randn(8, 64), tmp_path / "m.vpkg"
    vitrine.mark_dynamic(x, 0)
    vitrine.export(model, x, package, options=GENERATED)
    assert "dimension 1 is 32 and must be 64" in refused(package, tmp_path, input=torch.randn(8, 32))
    assert "it has 1 dimensions" in refused(package, tmp_path, input=torch.randn(64))
    assert "elements are of another type" in refused(package, tmp_path, input=torch.randn(8, 64).double())
    assert "the model is not given input" in refused(package, tmp_path)
    assert "given more, which it does not take" in refused(package, tmp_path, input=x, more=x)
    assert "L['input']" in (low := refused(package, tmp_path, input=torch.randn(1, 64))) and "is 1" in low


@pytest.mark.parametrize(
    ("model", "why"),
    (
        (nn.Dropout(), "draws random numbers"),
        (nn.BatchNorm1d(4), "writes to its inputs or buffers"),
        (lambda x: (x + 1, 3), "is no tensor"),
        (lambda x: "text", "vitrine.export: the call computes nothing with tensors"),
    ),
    ids=("dropout", "batch norm", "a number", "a text"),
)
def test_what_cannot_be_a_package_is_refused(tmp_path, model, why):
    with pytest.raises(ValueError, match=why):
        vitrine.export(model, torch.randn(8, 4), tmp_path / "m.vpkg")
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_place_that_no_package_can_have_is_said_before_the_model_runs(tmp_path):
    def never(x):
        raise AssertionError("it ran")

    with pytest.raises(TypeError, match="a model, its inputs and the file to write, in this order; the file is a Tensor"):
        vitrine.export(never, str(tmp_path / "m.vpkg"), torch.randn(8, 4))
    with pytest.raises(FileNotFoundError, match="the folder .*nowhere does not exist"):
        vitrine.export(never, torch.randn(8, 4), tmp_path / "nowhere" / "m.vpkg")


@pytest.mark.parametrize(
    ("words", "says"),
    (
        ((), "which package?"),
        (("a", "b", "c"), "one package and one file of inputs are taken, not c, too"),
        (("a", "--repeat", "5x"), "--repeat takes a number from 1, not 5x"),
        (("a", "--threads", "0"), "--threads takes a number from 1 to 4096, not 0"),
        (("a", "--fast"), "there is no option --fast"),
        (("a", "--torch"), "--torch takes a value"),
    ),
    ids=lambda case: " ".join(case) if isinstance(case, tuple) else "",
)
def test_the_runner_says_what_it_does_not_take(words, says):
    done = vitrine_run(*words, torch_folder=None)
    assert done.returncode == 2 and done.stderr.startswith(f"vitrine-run: {says}\nvitrine-run PACKAGE"), done.stderr


def test_the_runner_helps():
    done = vitrine_run("--help")
    assert done.returncode == 0 and done.stdout.startswith("vitrine-run PACKAGE") and not done.stderr


def test_a_break_is_the_error_of_fullgraph(tmp_path):
    def model(x):
        print(x.sum().item())
        return x + 1

    with pytest.raises(vitrine.GraphBreakError):
        vitrine.export(model, torch.randn(3), tmp_path / "m.vpkg")


# Files of strangers.


def with_sum(data: bytearray) -> bytes:
    """As whoever damages a package on purpose writes it: its checksum fits."""
    at = data.index(b'"checksum":"') + len(b'"checksum":"')
    data[at : at + 64] = b"0" * 64
    data[at : at + 64] = hashlib.sha256(bytes(data)).hexdigest().encode()
    return bytes(data)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    x = torch.randn(8, 64)
    vitrine.mark_dynamic(x, 0)
    vitrine.export(mlp(), x, folder / "open.vpkg", options=GENERATED)
    vitrine.export(mlp(), torch.randn(8, 64), folder / "fixed.vpkg", options={"products": "library"})
    return [folder / "open.vpkg", folder / "fixed.vpkg"]


def test_damage_is_found(packages, tmp_path):
    whole = packages[0].read_bytes()
    for at in (len(whole) // 2, len(whole) - 1):
        broken = bytearray(whole)
        broken[at] ^= 1
        (tmp_path / "b.vpkg").write_bytes(broken)
        done = vitrine_run(tmp_path / "b.vpkg")
        assert done.returncode == 1 and "damaged: its checksum is another one" in done.stderr
    (tmp_path / "b.vpkg").write_bytes(whole[: len(whole) // 2])
    assert vitrine_run(tmp_path / "b.vpkg").returncode == 1
    (tmp_path / "b.vpkg").write_bytes(b"")
    assert "too short" in vitrine_run(tmp_path / "b.vpkg").stderr
    assert vitrine_run(tmp_path / "none.vpkg").returncode == 1
    weights = save(tmp_path / "weights", {"x": torch.randn(3)})
    assert "it holds tensors alone" in vitrine_run(weights).stderr


def header_of(data: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def written(path, header: dict, body: bytes):
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(with_sum(bytearray(struct.pack("<Q", len(text)) + text + body)))
    return path


@pytest.mark.parametrize(
    ("change", "why"),
    (
        (lambda h: h["__metadata__"].update(format="vitrine package 9"), 'this program reads "vitrine package 1"'),
        (lambda h: h["__metadata__"].pop("cpu"), "does not say its cpu"),
        (lambda h: h["__metadata__"].update(symbols="9 2 5 x"), "a size is not in its range"),
        (lambda h: h["__metadata__"].update(arguments="given input"), "takes another number of arguments"),
        (lambda h: h["__metadata__"].update(returned="result 7 y"), "it returns what is not there"),
        (lambda h: h.pop("vitrine/kernel/0"), "something stands behind the last tensor"),
        (lambda h: h["vitrine/plan"].update(data_offsets=[0, 1 << 60]), "lies outside of the file"),
        (lambda h: h["0.weight"].update(shape=[1 << 40, 1 << 40]), "too many elements"),
        (lambda h: h["0.weight"].update(dtype="F4"), "which are not known"),
        (lambda h: h["0.weight"].update(shape=[64, 128]), "is of another type than the plan takes"),
    ),
)
def test_a_header_that_lies_is_refused_with_its_reason(packages, tmp_path, change, why):
    header, body = header_of(packages[1].read_bytes())
    change(header)
    done = vitrine_run(written(tmp_path / "b.vpkg", header, body))
    assert done.returncode == 1 and why in done.stderr, done.stderr


def test_a_package_for_another_processor_is_refused_with_a_word(packages, tmp_path):
    header, body = header_of(packages[0].read_bytes())
    header["__metadata__"]["cpu"] = "x86-64-v9"
    done = vitrine_run(written(tmp_path / "b.vpkg", header, body), save(tmp_path / "in", {"input": torch.randn(8, 64)}))
    assert done.returncode == 1 and "for processors of x86-64-v9, and this one is none" in done.stderr
    assert 'processor="x86-64-v3"' in done.stderr
    assert vitrine_run(tmp_path / "b.vpkg").returncode == 0, "it is shown all the same"


@pytest.mark.parametrize("model", (mlp, lambda: Block().eval()), ids=("perceptron", "block"))
def test_a_package_may_be_for_an_older_processor(tmp_path, model):
    torch.manual_seed(0)
    model, package = model(), tmp_path / "m.vpkg"
    x, name = (torch.randn(2, 10, 64), "x") if isinstance(model, Block) else (torch.randn(8, 64), "input")
    vitrine.export(model, x, package, options=GENERATED, processor="x86-64-v3")
    assert "for x86-64-v3" in vitrine_run(package).stdout
    close(run_package(package, {name: x}), model, x)
    with pytest.raises(ValueError, match="processor takes"):
        vitrine.export(model, x, package, processor="pentium")


@pytest.mark.parametrize("which", (0, 1), ids=("open", "fixed"))
def test_a_changed_plan_never_ends_the_reader(packages, tmp_path, which):
    """Opening says what is wrong, or shows what the plan says now; it is never killed."""
    draw = random.Random(which)
    header, body = header_of(packages[which].read_bytes())
    begin, end = header["vitrine/plan"]["data_offsets"]
    refusals = 0
    for _ in range(60):
        changed = bytearray(body)
        for _ in range(draw.choice((1, 1, 3))):
            # Before the kernels' texts stand buffers, behind them steps and results.
            changed[draw.choice((draw.randrange(begin, begin + 400), draw.randrange(end - 800, end)))] = draw.randrange(256)
        done = vitrine_run(written(tmp_path / "b.vpkg", header, bytes(changed)))
        assert done.returncode in (0, 1), done
        refusals += done.returncode
    assert refusals


