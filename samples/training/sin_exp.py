"""exp(sin(x)) and its gradient: backward needs x and the result, so that nothing else is kept for it."""

import torch

import vitrine


def sin_exp(x):
    return torch.exp(torch.sin(x))


def make(size=1000):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    x = torch.randn(size, requires_grad=True)

    def run(function):
        x.grad = None
        loss = function(x).sum()
        loss.backward()
        return loss

    return run, sin_exp, [x]


if __name__ == "__main__":
    run, function, (x,) = make()
    print(run(vitrine.compile(function)).item(), x.grad[:4])
