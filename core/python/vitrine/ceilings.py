"""The fastest that this machine copies memory and multiplies matrices: what kernels are measured against (roofline)."""

import time

import torch

REPETITIONS = 4
# (device type) -> bytes of a copy, far more than caches hold; n of an n x n product; element types of products.
SIZES = {
    "cuda": (1 << 28, 8192, (torch.float32, torch.float16, torch.bfloat16)),
    "cpu": (1 << 26, 768, (torch.float32,)),
}
NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def shortest(device: torch.device, work) -> float:
    """Seconds of the fastest of REPETITIONS, after one that does not count."""
    times = []
    for _ in range(REPETITIONS + 1):
        if device.type == "cuda":
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        else:
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
    return min(times[1:])


def measured(device: torch.device) -> list[dict]:
    """Rows of the session's table `ceiling`, but for their run: bytes a second of a copy (read and written), operations a
    second of products. Where there is no memory for it, what could be measured."""
    size, n, dtypes = SIZES[device.type]
    rows = []
    try:
        with torch.no_grad():
            source = torch.ones(size // 4, device=device)
            target = torch.empty_like(source)
            seconds = shortest(device, lambda: target.copy_(source))
            rows.append({"kind": "copy", "type": "f32", "rate": 2 * size / seconds, "note": f"{size >> 20} MiB"})
            del source, target
            for dtype in dtypes:
                a, b = (torch.ones(n, n, device=device, dtype=dtype) for _ in range(2))
                seconds = shortest(device, lambda a=a, b=b: torch.mm(a, b))
                note = f"{n} × {n} × {n}" + (", TF32" if device.type == "cuda" and dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32 else "")
                rows.append({"kind": "product", "type": NAMES[dtype], "rate": 2 * n**3 / seconds, "note": note})
    except RuntimeError:  # out of memory
        pass
    return rows
