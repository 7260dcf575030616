"""Packages of vitrine.export, run by vitrine-run as somebody without Python does."""

import json
import os
import struct
import subprocess
from pathlib import Path

import torch

from vitrine._graphs.packages import TYPES, _bytes

TORCH = Path(torch.__file__).parent / "lib"
BY_NAME = {name: dtype for dtype, name in TYPES.items()}


def save(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    header, at = {}, 0
    tensors = {name: t.detach().contiguous() for name, t in tensors.items()}
    for name, t in tensors.items():
        end = at + t.numel() * t.element_size()
        header[name] = {"dtype": TYPES[t.dtype], "shape": list(t.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(map(_bytes, tensors.values())))
    return path


def load(path: Path) -> dict[str, torch.Tensor]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(bytearray(body[begin:end]), dtype=BY_NAME[entry["dtype"]]) if end > begin else torch.empty(0, dtype=BY_NAME[entry["dtype"]])
        out[name] = flat.reshape(entry["shape"])
    return out


def vitrine_run(*words, torch_folder=TORCH) -> subprocess.CompletedProcess:
    """With an environment that knows nothing of Python."""
    program = Path(os.environ["VITRINE_BUILD_DIR"]) / "bin/vitrine-run" if "VITRINE_BUILD_DIR" in os.environ else "vitrine-run"
    env = {"PATH": os.environ["PATH"], **({"VITRINE_TORCH": str(torch_folder)} if torch_folder else {})}
    return subprocess.run([program, *map(str, words)], env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def run_package(package: Path, inputs: dict[str, torch.Tensor], *words, **more) -> dict[str, torch.Tensor]:
    out = package.with_suffix(".out")
    done = vitrine_run(package, save(package.with_suffix(".in"), inputs), "-o", out, "--threads", 2, *words, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return load(out)
