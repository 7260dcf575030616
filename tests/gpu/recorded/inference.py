"""A transformer block in half precision on the GPU."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "samples"))
from transformer_block import Block  # noqa: E402

torch.manual_seed(0)
model = Block().cuda().half().eval().requires_grad_(False)
inputs = (torch.randn(16, 512, 768, device="cuda", dtype=torch.float16),)
