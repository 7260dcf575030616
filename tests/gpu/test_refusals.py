"""A driver or a CUPTI that refuses: one clear message, the same results, and the next call works."""

import shutil
import sqlite3
import subprocess
import sys

import pytest
import torch
import vitrine

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not here")]

# Answers for the library that REFUSE names, or for the function, when the engine looks it up; PyTorch gets the real one.
SHIM = r"""
#include <dlfcn.h>
#include <cstdlib>
#include <cstring>
static bool refused(const char* name, void* caller) {
  const char* which = getenv("REFUSE");
  Dl_info info;
  return which && name && !strcmp(name, which) && dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "_engine");
}
static int answer() { return atoi(getenv("REFUSE_WITH")); }
extern "C" void* dlsym(void* library, const char* name) noexcept {
  using Lookup = void* (*)(void*, const char*);
  static Lookup real = nullptr;
  if (!real) real = (Lookup)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!real) real = (Lookup)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (refused(name, __builtin_return_address(0))) return (void*)answer;
  return real(library, name);
}
extern "C" void* dlopen(const char* name, int flags) noexcept {
  using Open = void* (*)(const char*, int);
  static Open real = nullptr;
  if (!real) real = (Open)dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
  if (!real) real = (Open)dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.2.5");
  if (refused(name, __builtin_return_address(0))) return nullptr;
  return real(name, flags);
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.cpp").write_text(SHIM)
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-w", "shim.cpp", "-o", "shim.so"], cwd=folder, check=True)
    return folder / "shim.so"


def refusing(shim, monkeypatch, what, code):
    for name, value in {"LD_PRELOAD": str(shim), "REFUSE": what, "REFUSE_WITH": str(code)}.items():
        monkeypatch.setenv(name, value)


CALLS = """
import warnings, torch, vitrine
def program(x):
    return torch.softmax(torch.relu(x) * 2 + 1, -1)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for mode in ("default", "reduce-overhead", "max-autotune"):
        run = vitrine.compile(program, mode=mode)
        for device in ("cuda", "cpu"):
            x = torch.randn(64, 64, device=device)
            for _ in range(4):
                torch.testing.assert_close(run(x), program(x))
print(*(w.message for w in said), sep="\\n")
"""
# What the engine does not get, what it is answered, what it says.
DRIVERS = [
    ("libcuda.so.1", 0, "no CUDA driver was found"),
    ("cuInit", 3, "no CUDA driver was found"),
    ("cuModuleLoadData", 222, "A driver older than NVRTC refuses its code: update the driver"),
    ("cuModuleGetFunction", 500, "did not load a kernel"),
    ("cuDevicePrimaryCtxRetain", 2, "the driver has no GPU 0"),
]


@pytest.mark.parametrize("what, code, text", DRIVERS)
def test_a_driver_that_refuses(shim, monkeypatch, what, code, text):
    refusing(shim, monkeypatch, what, code)
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout, done.stdout


MODEL = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Softmax(-1)).eval().cuda()
inputs = (torch.randn(64, 64, device="cuda"),)
"""


@pytest.mark.parametrize(
    "what, code, text",
    [
        ("cuptiActivityEnable", 35, "does not allow this user to profile the GPU"),
        ("cuptiActivityRegisterCallbacks", 1, "CUPTI does not record"),
        ("cuptiGetVersion", 1, "is not one of CUDA 12 or 13"),
        ("cuptiProfilerGetCounterAvailability", 35, "The GPU's counters were not read: the system does not allow this user"),
        ("cuptiRangeProfilerEnable", 26, "The GPU's counters were not read: another program reads the GPU's counters"),
        ("cuptiPCSamplingEnable", 35, "Where the kernels wait was not sampled: the system does not allow this user"),
    ],
)
def test_a_profiler_that_is_refused(shim, monkeypatch, tmp_path, what, code, text):
    refusing(shim, monkeypatch, what, code)
    file, path = tmp_path / "model.py", tmp_path / "s.vitrine"
    file.write_text(MODEL)
    done = subprocess.run([sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    db = sqlite3.connect(path)
    said = [f"{text} {hint}" for text, hint in db.execute("SELECT text, hint FROM message")]
    assert any(text in message for message in said), said
    assert db.execute("SELECT count(*) FROM gpu_kernel").fetchone()[0] >= 1
    assert db.execute("SELECT count(*) FROM timing").fetchone()[0] >= 1


# Ways of a product are tried in memory of their own; where that is short the library's own way is taken.
@torch.no_grad()
def test_too_little_memory_to_try_ways():
    def program(x, w):
        return torch.relu(x @ w) * 2

    vitrine.reset()
    run = vitrine.compile(program, mode="max-autotune-no-cudagraphs")
    x, w = torch.randn(1 << 16, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")  # 1 GB
    torch.nn.functional.relu(x[:8] @ w)  # cuBLAS takes its room
    torch.cuda.empty_cache()
    room = torch.cuda.memory_reserved() + (5 << 29)  # for two results and some
    torch.cuda.set_per_process_memory_fraction(room / torch.cuda.get_device_properties(0).total_memory)
    try:
        got = [run(x, w)[::99].clone() for _ in range(2)]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    for g in got:
        torch.testing.assert_close(g, program(x, w)[::99], rtol=1e-3, atol=1e-2)
    vitrine.reset()
