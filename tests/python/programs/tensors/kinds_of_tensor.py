"""Sparse, quantized, complex, named, nested and scripted tensors, and memory shared with NumPy and others."""

import copy
import io
import pickle
import warnings

import numpy as np
import torch
from tests.python.programs.registry import mat, program, scenario, vec
from torch import nn


def dense(t):
    return t.to_dense() if t.layout != torch.strided else t


@scenario
def sparse_arguments(compile):
    @compile
    def work(s, x):
        y = s @ x
        return dense(s * 2), y, s.is_sparse, str(s.layout), s.shape

    x = torch.eye(3) * 2
    out = []
    for s in (x.to_sparse(), x, x.to_sparse_csr(), x.to_sparse()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out.append(work(s, torch.ones(3, 2)))
    return out


@program(mat(3, 3))
def sparse_inside(x):
    s = x.relu().to_sparse()
    c = s.coalesce()
    t = torch.sparse_coo_tensor(c.indices(), c.values() * 2, (3, 3))
    return s._nnz(), c.indices(), c.values(), torch.sparse.mm(s, x), t.to_dense(), torch.sparse.sum(s), (s + s).to_dense()


@scenario
def sparse_gradients(compile):
    table = nn.Embedding(5, 2, sparse=True)
    with torch.no_grad():
        table.weight.copy_(torch.arange(10.0).view(5, 2))
    optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=0.1)

    @compile
    def work(i):
        loss = table(i).square().sum()
        return loss

    @compile
    def step(i):
        optimizer.zero_grad()
        loss = table(i).sin().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    out = []
    for i in range(3):
        table.zero_grad()
        work(torch.tensor([i, i, 1])).backward()
        out.append((table.weight.grad.is_sparse, table.weight.grad.to_dense()))
    return out, [step(torch.tensor([1, 3])) for _ in range(3)], table.weight.detach().clone()


@program(vec())
def quantized_tensors(x):
    q = torch.quantize_per_tensor(x, 0.5, 2, torch.quint8)
    return q.dequantize(), q.int_repr(), q.q_scale(), q.is_quantized, torch.nn.functional.relu(q).dequantize(), x + 1


@scenario
def quantized_arguments(compile):
    work = compile(lambda q: (q.dequantize() * 2, q.is_quantized, q.dtype))
    x = torch.arange(4.0)
    return [work(torch.quantize_per_tensor(x, s, 0, torch.qint8)) for s in (0.5, 0.25)]


@scenario
def dynamically_quantized_model(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    run = compile(small)
    with torch.no_grad():
        return [run(torch.ones(1, 4) * i) for i in range(3)]


@program(vec())
def complex_tensors(x):
    z = torch.complex(x, x + 1)
    w = z * (2 + 3j) + 1j
    return z.conj(), w.real, w.imag, z.abs(), torch.view_as_real(z), z.conj().is_conj(), (z @ z.conj()), w.angle(), x * 1j, z.mT if z.dim() > 1 else z


@program(vec())
def complex_views_written(x):
    z = torch.complex(x, x)
    z.real.mul_(2)
    z.imag[0] = 7
    c = z.conj()
    c[1] = 1j
    return z, c.resolve_conj(), torch._neg_view(x).resolve_neg(), c.imag.is_neg()


@scenario
def conjugates_as_arguments(compile):
    work = compile(lambda z: (z * 2, z.is_conj(), torch.view_as_real(z.resolve_conj()), z.real + 1, z.is_neg()))
    z = torch.tensor([1 + 2j, 3 - 1j])
    return [tuple(t.resolve_neg().resolve_conj() if isinstance(t, torch.Tensor) else t for t in work(a)) for a in (z, z.conj(), z, z.conj() * 2)]


@scenario
def complex_gradients(compile):
    work = compile(lambda z: (z * z.conj()).real.sum() + z.abs().sum())
    out = []
    for _ in range(3):
        z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        work(z).backward()
        out.append(z.grad)
    return out


@scenario
def named_dimensions(compile):
    @compile
    def work(x):
        y = x.sum("C") if x.names[0] else x.sum(0)
        return y.rename(None) * 2, x.names, x.rename(None)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = torch.ones(2, 3).refine_names("C", "N")
        out = [work(each) for each in (torch.ones(2, 3), named, torch.ones(2, 3))]

        @compile
        def inside(x):
            n = x.refine_names("A", "B")
            return n.names, n.align_to("B", "A").rename(None), (n + n).names

        return out, inside(torch.ones(2, 3)), inside(torch.ones(2, 3))


@scenario
def nested_tensors(compile):
    @compile
    def work(n):
        m = n * 2
        return [t.clone() for t in m.unbind()], n.is_nested, torch.nested.to_padded_tensor(m, 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [torch.ones(2, 3), torch.arange(3.0).view(1, 3)]
        out = [work(torch.nested.nested_tensor(parts)), work(torch.nested.nested_tensor(parts[::-1]))]
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
        out.append(work(jagged))

        @compile
        def inside(a, b):
            n = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
            return n.sin().values(), n.offsets(), n.dim()

        return out, inside(*parts), inside(*parts[::-1])


@scenario
def masked_tensors(compile):
    from torch.masked import masked_tensor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @compile
        def work(x, mask):
            m = masked_tensor(x, mask)
            return m.sum().get_data(), (m * 2).get_data(), type(m).__name__, m.get_mask()

        taken = compile(lambda m: (m + 1).get_data())
        x = torch.arange(4.0)
        return [work(x, x > k) for k in (0, 1, 0)], [taken(masked_tensor(x, x > 1)) for _ in range(2)]


@torch.jit.script
def scripted(x: torch.Tensor, n: int) -> torch.Tensor:
    if n > 2:
        x = x * n
    for i in range(n):
        x = x + i
    return x


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.value = start

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.value += 1
        return x + self.value


@program(vec())
def scripted_parts(x):
    c = Counter(3)
    y = c.step(x)
    return scripted(x, 1), scripted(x, 3), scripted(y, 3), c.value


@scenario
def scripted_modules(compile):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return self.linear(x) if x.sum() > 0 else x

    torch.manual_seed(0)
    model = torch.jit.script(Model())
    run = compile(lambda x: model(x))
    inside = compile(lambda x: model(x) * 2)
    traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
    also = compile(lambda x: traced(x) + 1)
    out = [(run(s * torch.ones(1, 2)).detach(), inside(s * torch.ones(1, 2)).detach(), also(torch.ones(1, 2)).detach()) for s in (1, -1, 1)]
    return out, model.calls


@scenario
def compiled_is_traced(compile):
    work = compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    out = [work(x)]
    traced = torch.jit.trace(work, x)
    return [*out, traced(x * 2), work(x), traced.graph_for(x) is not None]


@program(vec())
def memory_of_numpy(x):
    a = x.numpy()
    a[0] = 100
    y = torch.from_numpy(a)
    y[1] = 50
    b = np.asarray(x)
    return x, y * 2, a is b, a.base is not None, y.data_ptr() == x.data_ptr(), np.shares_memory(a, b), a.sum()


@scenario
def arrays_as_arguments(compile):
    @compile
    def work(a, x):
        t = torch.from_numpy(a)
        t.add_(1)
        return t * x, a.shape, a.dtype == np.float32, a + 1, float(a[0]), np.float32(a[1]) * x

    out = []
    for n in (3, 3, 4):
        a = np.arange(n, dtype=np.float32)
        out.append(work(a, torch.ones(n)))
        out.append(a)
    return [[o.tolist() if isinstance(o, np.ndarray) else o for o in (each if isinstance(each, tuple) else (each,))] for each in out]


@program(vec())
def arrays_made_of_results(x):
    y = x * 2
    a = y.numpy()
    y.add_(1)
    z = y + 1
    b = z.detach().cpu().numpy().copy()
    return a.tolist(), y, b.tolist(), np.array([1, 2]).sum(), torch.tensor(np.float64(2.5)), torch.as_tensor(np.arange(3)), x.numpy().dtype.name


@program(vec())
def numbers_of_numpy(x):
    k = np.float32(2.5)
    return x * k, k * x, x + np.int64(3), x[np.int64(1)], x[np.array([0, 2])], torch.full((2,), np.pi), np.sqrt(2.0) * x, x.view(np.int64(2), 3)


@program(vec())
def numpy_functions_of_tensors(x):
    return np.sin(x), np.add(x, 1), np.array(x).tolist(), np.mean(x.numpy()).item(), np.stack([x, x]).shape, np.max(np.asarray(x)).item()


@scenario
def array_that_requires_grad(compile):
    @compile
    def work(x):
        try:
            return (x * 2).numpy()
        except RuntimeError as error:
            return str(error)

    return work(torch.ones(2, requires_grad=True)), work(torch.ones(2)).tolist(), work(torch.ones(2, requires_grad=True))


@program(vec())
def exchanged_by_dlpack(x):
    y = torch.from_dlpack(x)
    y.mul_(2)
    z = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x + 1))
    w = np.from_dlpack(x)
    return x, y, z, y.data_ptr() == x.data_ptr(), w.tolist(), x.__dlpack_device__()[1]


@program(vec())
def memory_of_bytes(x):
    buffer = bytearray(8)
    t = torch.frombuffer(buffer, dtype=torch.float32)
    t.copy_(x[:2])
    view = memoryview(buffer)
    return t, bytes(buffer), len(view), torch.tensor(list(buffer[:4])), x.numpy().tobytes()[:4]


@program(vec())
def written_to_files(x):
    file = io.BytesIO()
    torch.save({"x": x * 2, "y": [x]}, file)
    file.seek(0)
    got = torch.load(file)
    return got["x"], got["y"][0], pickle.loads(pickle.dumps(x + 1)), copy.copy(x), copy.deepcopy({"a": x})["a"]


@program(mat(2, 3))
def storages_inside(x):
    s = x.untyped_storage()
    y = torch.empty(0).set_(s, 1, (2,), (1,))
    y.add_(10)
    z = torch.as_strided(x, (3,), (2,), 0)
    return x, y, z, s.nbytes(), x.storage_offset(), x.data.data_ptr() == x.data_ptr()


@program(mat(4, 4))
def channels_and_layouts(x):
    y = x.view(1, 1, 4, 4).to(memory_format=torch.channels_last)
    return y.is_contiguous(memory_format=torch.channels_last), y.stride(), (y * 2).stride(), x.t().contiguous().stride(), x.to_mkldnn().to_dense()


@program(vec())
def views_of_other_types(x):
    return x.view(torch.int32), x.view(torch.uint8)[:4], x.view(2, 3).mT, torch.real(x), x.to(torch.complex64).view(torch.float32)


@scenario
def zero_dim_and_empty(compile):
    work = compile(lambda x: (x.sum(), x * 2, x.numel(), x.mean() if x.numel() else None, torch.cat([x.flatten(), x.flatten()])))
    return [work(t) for t in (torch.tensor(3.0), torch.ones(0), torch.ones(2, 0), torch.ones(1), torch.tensor(2.0), torch.ones(0))]


@scenario
def meta_tensors_as_arguments(compile):
    work = compile(lambda x: (x @ x).relu())
    out = []
    for device in ("cpu", "meta", "cpu"):
        y = work(torch.ones(2, 2, device=device))
        out.append((y.device.type, y.shape))
    return out


@scenario
def tensors_in_shared_memory(compile):
    x = torch.arange(4.0).share_memory_()
    work = compile(lambda x: (x.add_(1), x.is_shared(), x * 2))
    return [work(x) for _ in range(3)], x


@scenario
def half_precisions_and_bits(compile):
    work = compile(lambda x: (x + 1, x.to(torch.float32), x.dtype.itemsize, torch.finfo(x.dtype).max if x.is_floating_point() else None))
    kinds = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.uint8, torch.int16, torch.float64)
    out = []
    for k in kinds:
        try:
            out.append(work(torch.ones(3).to(k)))
        except Exception as error:
            out.append(type(error).__name__ + str(error)[:40])
    return out
