"""Small PyTorch programs: modules, hooks, autograd and optimisers, whose Python code has frames of its own kind."""

import torch
from torch import nn

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def plain_data(*tensors):
    return [t.detach().tolist() for t in tensors]


@program
def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval()
    return plain_data(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)(torch.randn(2, 3, 8)))


@program
def convolutions():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding="same"), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    out = net(torch.randn(2, 3, 6, 6))
    return plain_data(out, *net.state_dict().values()), str(net), [n for n, _ in net.named_modules()]


@program
def training():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 2)
    losses = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.tensor([0, 1, 0, 1, 1]))
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses, schedule.get_last_lr(), plain_data(*net.parameters())


@program
def hooks_and_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(("backward", ctx.saved_tensors[0].shape))
            return grad * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Identity()})
            self.register_buffer("scale", torch.full((2,), 3.0))

        def forward(self, x, *, times=1):
            for _ in range(times):
                for part in self.parts.values():
                    x = part(x) * self.scale
            return Double.apply(x)

    seen = []
    torch.manual_seed(0)
    net = Net()
    net.register_forward_pre_hook(lambda m, args: seen.append("pre"))
    net.parts["a"].register_forward_hook(lambda m, args, out: out + 1)
    x = torch.ones(3, 2, requires_grad=True)
    with torch.enable_grad():
        y = net(x, times=2)
    y.sum().backward()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        z = net(x)
    return seen, plain_data(y, z.float(), x.grad, net.parts["a"].weight.grad)


@program
def wrong_shape():
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))(torch.ones(1, 2))


@program
def missing_parameter():
    return nn.Linear(2, 2).wieght
