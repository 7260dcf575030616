"""Programs of libraries that people use with PyTorch, two of each: models of a few layers with random weights.

A program makes a pair: what is compiled, and the arguments of its call. It is made anew, from the same seed, for eager and for
Vitrine. Nothing is loaded from a hub.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn


class Program(NamedTuple):
    library: str  # as it is imported
    what: str
    make: Callable  # () -> (callable, arguments)
    trains: bool  # its result is differentiated, too
    tolerance: float


PROGRAMS: list[Program] = []


def program(library: str, what: str, trains: bool = False, tolerance: float = 2e-4):
    def note(make):
        PROGRAMS.append(Program(library, what, make, trains, tolerance))
        return make

    return note


def images(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@program("timm", "a vision transformer")
def vision_transformer():
    import timm

    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=64, depth=3, num_classes=10)
    return model.eval(), (images(2, 3, 64, 64),)


@program("timm", "a ConvNeXt in training", trains=True)
def convnext():
    import timm

    model = timm.create_model("convnext_atto", pretrained=False, num_classes=10, depths=(1, 1, 2, 1), drop_path_rate=0.0)
    return model.train(), (images(2, 3, 64, 64),)


@program("torchvision", "ResNet-18 in training", trains=True, tolerance=2e-3)
def resnet():
    import torchvision

    return torchvision.models.resnet18(num_classes=10).train(), (images(4, 3, 64, 64),)


@program("torchvision", "boxes that overlap least")
def boxes():
    import torchvision

    def kept(boxes, scores):
        left = torchvision.ops.box_convert(boxes, "cxcywh", "xyxy")
        return left[torchvision.ops.nms(left, scores, 0.5)], torchvision.ops.generalized_box_iou(left, left)

    return kept, (images(20, 4).abs() + 1, images(20).sigmoid())


@program("lightning", "a module's training step", trains=True)
def lightning_step():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, batch_idx):
            x, y = batch
            return nn.functional.cross_entropy(self(x), y)

    model = Classifier()
    return model.training_step, ((images(8, 16), torch.arange(8) % 4), 0)


@program("lightning", "a trainer's epoch of a compiled module")
def lightning_trainer():
    import logging

    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Regressor(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

        def training_step(self, batch, batch_idx):
            x, y = batch
            return nn.functional.mse_loss(self.net(x), y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    model = Regressor()
    rows = torch.utils.data.TensorDataset(images(32, 8), images(32, 1))

    def epoch(compiled):
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
        trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", devices=1, **quiet)
        trainer.fit(compiled, torch.utils.data.DataLoader(rows, batch_size=8))
        return [p.detach().clone() for p in model.parameters()]

    return Whole(model, epoch), ()


class Whole:
    """A program that is given the compiled module: the library calls it."""

    def __init__(self, module: nn.Module, run: Callable):
        self.module, self.run = module, run


@program("accelerate", "a prepared model's steps")
def accelerate_steps():
    import accelerate

    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))

    def steps(compiled):
        accelerator = accelerate.Accelerator(cpu=True)
        prepared, optimizer = accelerator.prepare(compiled, torch.optim.AdamW(compiled.parameters(), lr=0.01))
        for i in range(3):
            optimizer.zero_grad()
            accelerator.backward(prepared(images(4, 8) + i).square().mean())
            accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
            optimizer.step()
        return [p.detach().clone() for p in model.parameters()]

    return Whole(model, steps), ()


@program("accelerate", "weights that are fetched when a layer runs")
def accelerate_offload():
    import accelerate

    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    return accelerate.cpu_offload(model, execution_device=torch.device("cpu")), (images(4, 8),)


def tiny_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    return LlamaForCausalLM(config)


@program("peft", "LoRA of a Llama in training", trains=True)
def lora():
    import peft

    model = peft.get_peft_model(tiny_llama(), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.0, init_lora_weights=False))
    tokens = torch.arange(24).reshape(2, 12) % 97

    def loss(tokens):
        return model(input_ids=tokens, labels=tokens).loss

    return loss, (tokens,)


@program("peft", "an adapter of IA3 on linear layers")
def ia3():
    import peft

    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    config = peft.IA3Config(target_modules=["0", "2"], feedforward_modules=["2"], init_ia3_weights=False)
    return peft.get_peft_model(model, config).eval(), (images(4, 16),)


@program("torchmetrics", "accuracy and F1 of several classes")
def metrics():
    import torchmetrics.functional as metrics

    def measured(logits, target):
        return (
            metrics.classification.multiclass_accuracy(logits, target, num_classes=5, validate_args=False),
            metrics.classification.multiclass_f1_score(logits, target, num_classes=5, validate_args=False),
        )

    return measured, (images(32, 5), torch.arange(32) % 5)


@program("torchmetrics", "a metric object that keeps its sums")
def metric_object():
    import torchmetrics

    metric = torchmetrics.MeanSquaredError()

    def step(x, y):
        for _ in range(3):
            metric.update(x, y)
        return metric.compute()

    return step, (images(16), images(16).sin())


@program("torch_geometric", "a graph convolution in training", trains=True)
def graph_convolution():
    from torch_geometric.nn import GCNConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GCNConv(8, 16), GCNConv(16, 4)

        def forward(self, x, edges):
            return self.second(self.first(x, edges).relu(), edges)

    edges = torch.stack([torch.arange(30) % 10, (torch.arange(30) * 7 + 3) % 10])
    return Net(), (images(10, 8), edges)


@program("torch_geometric", "attention over neighbours, and pooling")
def graph_attention():
    from torch_geometric.nn import GATv2Conv, global_mean_pool

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = GATv2Conv(8, 8, heads=2)

        def forward(self, x, edges, batch):
            return global_mean_pool(self.conv(x, edges), batch, size=2)

    edges = torch.stack([torch.arange(30) % 10, (torch.arange(30) * 7 + 3) % 10])
    return Net().eval(), (images(10, 8), edges, torch.arange(10) // 5)


@program("diffusers", "a U-Net of one denoising step")
def unet():
    import diffusers

    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    model = diffusers.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64), attention_head_dim=8, norm_num_groups=8, **blocks)

    def denoise(x, t):
        return model.eval()(x, t).sample

    return denoise, (images(1, 3, 16, 16), torch.tensor([3]))


@program("diffusers", "a scheduler's steps")
def scheduler():
    import diffusers

    scheduler = diffusers.DDIMScheduler(num_train_timesteps=100)
    scheduler.set_timesteps(5)

    def steps(noise):
        x = noise
        for t in scheduler.timesteps:
            x = scheduler.step(x.tanh(), t, x).prev_sample
        return x

    return steps, (images(1, 3, 8, 8),)


@program("sentence_transformers", "pooled and normalised embeddings")
def sentences():
    from sentence_transformers.models import Normalize, Pooling
    from transformers import BertConfig, BertModel

    bert = BertModel(BertConfig(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)).eval()
    pooling, normalize = Pooling(32, pooling_mode="mean"), Normalize()

    def embed(tokens, mask):
        features = {"token_embeddings": bert(input_ids=tokens, attention_mask=mask).last_hidden_state, "attention_mask": mask}
        return normalize(pooling(features))["sentence_embedding"]

    mask = torch.ones(3, 10, dtype=torch.int64)
    mask[1, 6:] = 0
    return embed, (torch.arange(30).reshape(3, 10) % 97, mask)


@program("sentence_transformers", "a loss of pairs", trains=True)
def sentence_loss():
    from sentence_transformers import util

    head = nn.Linear(16, 8)

    def loss(a, b):
        scores = util.cos_sim(head(a), head(b)) * 20
        return nn.functional.cross_entropy(scores, torch.arange(len(a)))

    return loss, (images(6, 16), images(6, 16) + 1)


@program("botorch", "the posterior of a Gaussian process", tolerance=1e-6)
def posterior():
    import botorch

    x = torch.linspace(0, 1, 8, dtype=torch.float64).unsqueeze(-1)
    model = botorch.models.SingleTaskGP(x, x.mul(6).sin()).eval()

    def mean(at):
        found = model.posterior(at)
        return found.mean, found.variance

    return mean, (torch.linspace(0.1, 0.9, 5, dtype=torch.float64).unsqueeze(-1),)


@program("botorch", "expected improvement", tolerance=1e-6)
def improvement():
    import botorch

    x = torch.linspace(0, 1, 8, dtype=torch.float64).unsqueeze(-1)
    model = botorch.models.SingleTaskGP(x, x.mul(6).sin()).eval()
    return botorch.acquisition.LogExpectedImprovement(model, best_f=0.5), (torch.linspace(0.1, 0.9, 5, dtype=torch.float64).reshape(5, 1, 1),)


@program("pyro", "a model's log density", trains=True)
def density():
    import pyro.distributions as dist

    scale = nn.Parameter(torch.tensor(1.5))

    def log_density(x):
        prior = dist.Normal(0.0, scale).expand([4]).to_event(1)
        return prior.log_prob(x).sum() + dist.StudentT(4.0, x.mean(-1), scale).log_prob(x[:, 0]).sum()

    return WithParameters(log_density, [scale]), (images(6, 4),)


class WithParameters:
    """A function, and the parameters that it reads from around it."""

    def __init__(self, function: Callable, parameters: list):
        self.function, self.own = function, parameters

    def __call__(self, *args):
        return self.function(*args)

    def parameters(self):
        return iter(self.own)


@program("pyro", "the evidence bound of a guide", trains=True)
def evidence():
    import pyro
    import pyro.distributions as dist
    from pyro import poutine

    mean = nn.Parameter(torch.tensor(0.3))

    def model(data):
        z = pyro.sample("z", dist.Normal(0.0, 1.0))
        with pyro.plate("data", len(data)):
            pyro.sample("x", dist.Normal(z, 1.0), obs=data)

    def guide(data):
        pyro.sample("z", dist.Normal(mean, 0.5))

    def bound(data):
        torch.manual_seed(3)
        told = poutine.trace(guide).get_trace(data)
        joint = poutine.trace(poutine.replay(model, trace=told)).get_trace(data)
        return joint.log_prob_sum() - told.log_prob_sum()

    return WithParameters(bound, [mean]), (images(12),)
