import torch


def make_args(call):
    return torch.ones(3), []


def f(a, items):
    def numbers(p):
        try:
            yield p
        finally:
            items.append("end")

    b = next(numbers(a)) + 1
    items.append("after")
    kept = numbers(b)
    return next(kept) * 2
