"""Runs the text form of an ATen graph through PyTorch, operator by operator: the reference that every pass must
keep to."""

import re

import torch

from tests.python.support.graph_text import SHORT

DTYPES = {short: dtype for dtype, short in SHORT.items()}
NODE = re.compile(r"  %(\w+) = ([\w.:]+)\((.*)\)(?: \[source=.*\])? : (.*)$")
TOKEN = re.compile(r"""\s*(%[\w.]+|"(?:[^"\\]|\\.)*"|[\[\],=]|[^\s\[\],="]+)""")
WORDS = {"None": None, "True": True, "False": False, "nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}


def convolution_relu(x, w, bias, *how):
    return torch.relu(torch.conv2d(x, w, bias, *how))


def convolution_add_relu(x, w, z, alpha, bias, *how):
    return torch.relu(torch.conv2d(x, w, bias, *how) + alpha * z)


# What PyTorch has for a GPU alone.
ELSEWHERE = {"aten.cudnn_convolution_relu.default": convolution_relu, "aten.cudnn_convolution_add_relu.default": convolution_add_relu}


def overload(name):
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    namespace, packet, variant = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), variant)


def constant(token):
    if token in WORDS:
        return WORDS[token]
    if token.startswith('"'):
        return token[1:-1]
    if token in DTYPES:
        return DTYPES[token]
    if token.startswith("torch."):
        return getattr(torch, token[6:])
    if re.fullmatch(r"-?\d+", token):
        return int(token)
    try:
        return float(token)
    except ValueError:
        return torch.device(token)


class Values:
    def __init__(self):
        self.by_name = {}

    def read(self, text):
        """(positional, keyword) values of an argument list."""
        tokens = TOKEN.findall(text)
        args, kwargs, at = [], {}, 0
        while at < len(tokens):
            key = None
            if at + 1 < len(tokens) and tokens[at + 1] == "=":
                key, at = tokens[at], at + 2
            value, at = self.value(tokens, at)
            at += 1  # the comma
            if key is None:
                args.append(value)
            else:
                kwargs[key] = value
        return args, kwargs

    def value(self, tokens, at):
        if tokens[at] != "[":
            token = tokens[at]
            return (self.ref(token[1:]) if token[0] == "%" else constant(token)), at + 1
        out, at = [], at + 1
        while tokens[at] != "]":
            value, at = self.value(tokens, at)
            out.append(value)
            at += tokens[at] == ","
        return out, at + 1

    def ref(self, name):
        name, _, output = name.partition(".")
        return self.by_name[name][int(output or 0)]


def run(text, inputs):
    """Results of the graph on these inputs (one an input node, in order)."""
    values, waiting = Values(), list(inputs)
    for line in text.splitlines()[1:-1]:
        if line.startswith("  return"):
            return values.read(line[len("  return"):])[0]
        name, op, args, _ = NODE.match(line).groups()
        if op in ("placeholder", "parameter", "buffer", "constant"):
            values.by_name[name] = (waiting.pop(0),)
            continue
        args, kwargs = values.read(args)
        out = overload(op)(*args, **kwargs)
        values.by_name[name] = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    raise AssertionError("no return")
