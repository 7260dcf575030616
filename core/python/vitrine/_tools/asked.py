"""What a run is asked for besides the entry itself: the device it works on, a step of training, how it is compiled."""

import functools
import sys
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

import vitrine
from vitrine._tools.loading import Entry, UsageError

DYNAMIC = {None: None, "auto": None, "yes": True, "no": False}  # as vitrine.compile takes them
MOST_WATCHED = 400
MOST_NAMES = 30_000  # bytes: what a pipe that nobody reads yet holds besides what else is told


class TrainingStep(torch.nn.Module):
    """Forward, and the gradients of the sum of all that it gives: of parameters, and no optimizer."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *args, **kwargs):
        result = self.model(*args, **kwargs)
        sums = [t.sum() for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad and t.is_floating_point()]
        if not sums:
            raise RuntimeError("nothing that the model returns has a gradient")
        named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]
        grads = torch.autograd.grad(sum(sums[1:], sums[0]), [p for _, p in named], allow_unused=True)
        given = {name.removeprefix("_orig_mod."): grad for (name, _), grad in zip(named, grads) if grad is not None}
        return pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, result), given


def owner_of(entry: Entry):
    return getattr(entry.function, "__self__", entry.function)


def moved(entry: Entry, name: str) -> None:
    """Puts the entry's model and inputs on a device. Raises UsageError."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"There is no device {name!r}.", "Devices: cpu, cuda, cuda:1.") from error
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"Vitrine compiles for cpu and cuda, not for {device.type}.", "Devices: cpu, cuda, cuda:1.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"There is no GPU for --device {name} here.", "--target sm_90, say, compiles for one that need not be here.")
    if isinstance(owner_of(entry), torch.nn.Module):
        owner_of(entry).to(device)
    entry.calls, entry.kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), (entry.calls, entry.kwargs))


def prepare(entry: Entry, options) -> None:
    """Makes of an entry what the options ask for. Raises UsageError."""
    if options.device:
        moved(entry, options.device)
    if not options.train:
        return
    if not isinstance(entry.function, torch.nn.Module):
        raise UsageError("--train needs a module: the entry is a function.", "Name a class that is an nn.Module, or define model and inputs.")
    if not any(p.requires_grad for p in entry.function.parameters()):
        raise UsageError("--train needs parameters with gradients: the model has none.", "Leave out --train.")
    entry.function = TrainingStep(entry.function.train())


def compiled(entry: Entry, options):
    """The entry's function, compiled; of a step of training its model."""
    how = {"freezing": True} if options.freezing else {}
    if options.pin:
        how["partition"] = dict(pin.rsplit("=", 1) for pin in options.pin)
    mode = None if how and options.mode == "default" else options.mode  # either of both, as torch.compile has it
    compile = functools.partial(vitrine.compile, mode=mode, fullgraph=options.fullgraph, dynamic=DYNAMIC[options.dynamic], options=how or None)
    if isinstance(entry.function, TrainingStep):
        return TrainingStep(compile(entry.function.model))
    return compile(entry.function)


def own_files(path: str, failed: bool) -> list[str]:
    """The file and what it imported from its folder: what another run would read anew. Of a run that failed every Python file
    beside it, as an import that failed has left nothing."""
    file = Path(path).resolve()
    folder, found = file.parent, [file]
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and name.endswith(".py"):
            found.append(Path(name))
    if failed:
        found += sorted(folder.glob("*.py"))
    out, room = [], MOST_NAMES
    for one in dict.fromkeys(found):
        inside = one.is_relative_to(folder) and not {"site-packages", "dist-packages"} & set(one.parts)
        room -= len(str(one)) + 8 if inside else 0
        if inside and room > 0 and len(out) < MOST_WATCHED:
            out.append(str(one))
    return out
