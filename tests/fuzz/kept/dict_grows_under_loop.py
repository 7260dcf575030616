import torch
import torch.nn.functional as F


class Box:
    scale = 2

    def __init__(self, t):
        self.t = t
        self.n = 0

    def bump(self, by=1):
        self.n += by
        return self

    @property
    def scaled(self):
        return self.t * self.scale


def make_args(call):
    base = (torch.arange(12.0) % 5 - 2).reshape(3, 4)
    n = 2 + call // 2 % 2
    items = [base[0].clone(), 3, base + 1]
    alias = base[1:] if call == 3 else base[1:].clone()
    return base, alias, n, items, {"k": base * 2, "n": n}, Box(base.t())


def f(a, b, n, items, table, box):
    try:
        for key in table:
            table[key + 'x'] = a
    except RuntimeError as e:
        m3 = str(e)
    return {k: v for k, v in sorted(locals().items()) if not callable(v)}
