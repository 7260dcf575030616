"""PyTorch's settings, changed inside of compiled functions, around them and between calls."""

import random
import warnings

import torch
from tests.python.programs.registry import program, scenario, vec
from torch import nn


@scenario
def default_dtype_inside(compile):
    @compile
    def work(x, dtype):
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        y = torch.ones(3) * 2
        z = torch.tensor([1.5]), torch.tensor(1j).dtype, torch.arange(3.0).dtype, torch.tensor([1, 2]) / 2
        torch.set_default_dtype(before)
        return y, z, torch.ones(2), x + 1

    return [work(torch.ones(3), d) for d in (torch.float64, torch.float32, torch.float16, torch.float64)], torch.get_default_dtype()


@scenario
def default_dtype_left_changed(compile):
    @compile
    def work(x):
        torch.set_default_dtype(torch.float64)
        return torch.ones(2) + x

    out = []
    for _ in range(3):
        out.append((work(torch.ones(2)), torch.ones(1).dtype))
        torch.set_default_dtype(torch.float32)
    return out


@scenario
def default_dtype_after_an_error(compile):
    @compile
    def work(x, n):
        torch.set_default_dtype(torch.float64)
        try:
            return torch.ones(2).view(n)
        finally:
            torch.set_default_dtype(torch.float32)

    out = []
    for n in (2, 3, 2):
        try:
            out.append(work(torch.ones(2), n))
        except RuntimeError as error:
            out.append(str(error))
        out.append(torch.get_default_dtype())
    return out


@scenario
def default_dtype_around(compile):
    work = compile(lambda x: (torch.ones(2) / 3 + x, torch.tensor(0.1), x * torch.tensor([2.0])))
    out = [work(torch.ones(2))]
    torch.set_default_dtype(torch.float64)
    try:
        out.append(work(torch.ones(2)))
    finally:
        torch.set_default_dtype(torch.float32)
    return [*out, work(torch.ones(2))]


@scenario
def grad_modes_by_hand(compile):
    @compile
    def work(x, on):
        a = x * 2
        torch.set_grad_enabled(on)
        b = x * 3
        torch.set_grad_enabled(True)
        with torch.set_grad_enabled(not on):
            c = x * 4
            state = torch.is_grad_enabled()
        torch.set_grad_enabled(on)
        return a.requires_grad, b.requires_grad, c.requires_grad, state

    out = []
    x = torch.ones(2, requires_grad=True)
    for on in (True, False, False, True):
        out.append((work(x, on), torch.is_grad_enabled()))
        torch.set_grad_enabled(True)
    return out


@scenario
def grad_mode_left_by_an_error(compile):
    @compile
    def work(x):
        torch.set_grad_enabled(False)
        y = x * 2
        raise ValueError("left")

    x = torch.ones(2, requires_grad=True)
    out = []
    for _ in range(3):
        try:
            work(x)
        except ValueError as error:
            out.append((str(error), torch.is_grad_enabled()))
        torch.set_grad_enabled(True)
    return out


@scenario
def decorated_with_grad_modes(compile):
    @torch.no_grad()
    def inner(x):
        return x * 2

    @torch.enable_grad()
    def other(x):
        return x * 3

    @torch.inference_mode()
    def third(x):
        return x * 4

    @torch.set_grad_enabled(False)
    def fourth(x):
        return x * 5

    @compile
    def work(x):
        a, b, c, d = inner(x), other(x), third(x), fourth(x)
        return a.requires_grad, b.requires_grad, c.is_inference(), d.requires_grad, a, b.detach(), d

    x = torch.ones(2, requires_grad=True)
    out = [work(x), work(x)]
    with torch.no_grad():
        out.append(work(x))
    return out


@scenario
def threads_set_inside(compile):
    before = torch.get_num_threads()

    @compile
    def work(x, n):
        torch.set_num_threads(n)
        return x.sum(), torch.get_num_threads()

    try:
        return [work(torch.ones(4), n) for n in (1, 2, 1)]
    finally:
        torch.set_num_threads(before)


@scenario
def deterministic_inside(compile):
    @compile
    def work(x, on):
        torch.use_deterministic_algorithms(on)
        y = torch.empty(2).fill_(1) + x
        state = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(False)
        return y, state, torch.are_deterministic_algorithms_enabled()

    return [work(torch.ones(2), on) for on in (True, False, True)]


@scenario
def deterministic_fill(compile):
    work = compile(lambda: torch.empty(3) * 1)
    out = [work().shape]
    torch.use_deterministic_algorithms(True)
    try:
        out += [work(), work()]
    finally:
        torch.use_deterministic_algorithms(False)
    return out


@scenario
def precision_inside(compile):
    before = torch.get_float32_matmul_precision()

    @compile
    def work(x, precision):
        torch.set_float32_matmul_precision(precision)
        return x @ x, torch.get_float32_matmul_precision()

    try:
        out = []
        for p in ("high", "highest", "medium", "wrong"):
            try:
                out.append(work(torch.eye(2), p))
            except RuntimeError as error:
                out.append(type(error).__name__)
            out.append(torch.get_float32_matmul_precision())
        return out
    finally:
        torch.set_float32_matmul_precision(before)


@scenario
def flags_of_backends(compile):
    @compile
    def work(x):
        with torch.backends.cudnn.flags(enabled=False, deterministic=True):
            y = x * 2
            inside = torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True
        z = x + 1, torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = before
        with torch.backends.mkldnn.flags(enabled=False):
            w = x @ x, torch.backends.mkldnn.enabled
        return y, inside, z, w, torch.backends.cudnn.enabled

    return [work(torch.eye(2)) for _ in range(3)]


@scenario
def random_state_forked(compile):
    @compile
    def work(x):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            a = torch.rand(2)
        b = torch.rand(2)
        state = torch.get_rng_state()
        c = torch.rand(2)
        torch.set_rng_state(state)
        return a + x, b, c, torch.rand(2), torch.initial_seed()

    torch.manual_seed(1)
    return [work(torch.zeros(2)) for _ in range(3)]


@scenario
def own_generators(compile):
    g = torch.Generator().manual_seed(3)

    @compile
    def work(x):
        y = torch.rand(2, generator=g) + x
        h = torch.Generator()
        h.manual_seed(9)
        z = torch.randn(2, generator=h)
        return y, z, torch.randperm(4, generator=g), h.initial_seed(), torch.empty(2).normal_(generator=g)

    return [work(torch.zeros(2)) for _ in range(3)], g.get_state()


@scenario
def randoms_of_python(compile):
    own = random.Random(4)

    @compile
    def work(x, items):
        random.seed(7)
        a = random.random(), random.randint(1, 9), random.uniform(0, 2), random.gauss(0, 1), random.choice(items)
        random.shuffle(items)
        return x * a[0], a, items, random.sample(range(20), 3), own.random(), own.choice("abc"), random.getrandbits(8)

    out = [work(torch.ones(2), [1, 2, 3, 4]) for _ in range(3)]
    return out, random.random(), own.random()


@scenario
def randoms_of_python_unseeded(compile):
    @compile
    def work(x):
        if random.random() < 0.5:
            return x * 2
        return x + random.randint(0, 3)

    random.seed(11)
    return [work(torch.ones(2)) for _ in range(8)], random.random(), random.getstate()[1][-1]


@scenario
def random_state_of_python_kept(compile):
    @compile
    def work(x):
        state = random.getstate()
        a = random.random()
        random.setstate(state)
        b = random.random()
        return x * a, a == b

    random.seed(2)
    return [work(torch.ones(2)) for _ in range(3)], random.random()


@scenario
def randoms_before_an_error(compile):
    @compile
    def work(x, n):
        a = random.random()
        b = torch.rand(2)
        return (x * a + b).view(n)

    random.seed(3)
    torch.manual_seed(3)
    out = []
    for n in (2, 3, 2):
        try:
            out.append(work(torch.ones(2), n))
        except RuntimeError as error:
            out.append(str(error))
        out.append((random.random(), torch.rand(1)))
    return out


@program(vec())
def warnings_inside(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("first", UserWarning)
        y = x + 1
        warnings.warn("second", DeprecationWarning, stacklevel=2)
    return y, [(str(w.message), w.category.__name__) for w in seen]


@scenario
def warnings_each_call(compile):
    @compile
    def work(x):
        warnings.warn("again and again", stacklevel=1)
        return x + 1

    out = []
    for action in ("once", "always", "error", "ignore"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.resetwarnings()
            warnings.simplefilter(action)
            for _ in range(3):
                try:
                    out.append(work(torch.ones(2)))
                except UserWarning as error:
                    out.append(str(error))
            out.append([(str(w.message), w.category.__name__) for w in seen if "again and again" in str(w.message)])
    return out


@scenario
def printing_options(compile):
    @compile
    def work(x):
        torch.set_printoptions(precision=2)
        text = str(x / 3)
        torch.set_printoptions(profile="default")
        return text, str(x / 3), f"{x}", f"{x.shape} {x.dtype}", repr(x[0]), format(x[1], ".2f")

    return [work(torch.arange(3.0)) for _ in range(3)]


@scenario
def anomaly_mode(compile):
    work = compile(lambda x: torch.sqrt(x).sum())
    out = []
    for on in (False, True, False):
        with torch.autograd.set_detect_anomaly(on, check_nan=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = torch.tensor([-1.0, 1.0], requires_grad=True)
            try:
                work(x).backward()
                out.append(x.grad)
            except RuntimeError as error:
                out.append(str(error)[:40])
    return out


@scenario
def anomaly_mode_inside(compile):
    @compile
    def work(x):
        with torch.autograd.detect_anomaly():
            y = torch.sqrt(x).sum()
            y.backward()
        return y

    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for v in (1.0, -1.0, 1.0):
            x = torch.tensor([v], requires_grad=True)
            try:
                out.append(work(x).detach())
            except RuntimeError as error:
                out.append(str(error)[:40])
            out.append((x.grad, torch.is_anomaly_enabled()))
    return out


@scenario
def autocast_state_asked(compile):
    @compile
    def work(x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=True):
            a = x @ x, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
            with torch.autocast("cpu", enabled=False):
                b = x @ x
            c = (x @ x).dtype
        return a, b, c, torch.is_autocast_enabled("cpu")

    out = [work(torch.eye(2)), work(torch.eye(2))]
    with torch.autocast("cpu", dtype=torch.float16):
        out.append(work(torch.eye(2)))
    return out


@scenario
def multithreading_of_backward(compile):
    @compile
    def work(x):
        with torch.autograd.set_multithreading_enabled(False):
            y = x * 2
        return y.sum(), torch._C._is_multithreading_enabled()

    x = torch.ones(2, requires_grad=True)
    out = [work(x)[1] for _ in range(3)]
    work(x)[0].backward()
    return out, x.grad


@scenario
def storage_changes(compile):
    @compile
    def work(x):
        x.resize_(2, 2)
        x.fill_(1)
        y = x.untyped_storage().size(), x.storage_offset()
        x.set_(torch.arange(3.0))
        return y, x * 2

    return [work(torch.arange(6.0)) for _ in range(3)]


@scenario
def fill_of_uninitialized(compile):
    from torch.utils import deterministic

    before = deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    try:
        work = compile(lambda x: (torch.empty_like(x), x.new_empty(2), torch.empty(2, dtype=torch.int64)))
        out = [work(torch.ones(2)) for _ in range(2)]
        deterministic.fill_uninitialized_memory = False
        work(torch.ones(2))
        deterministic.fill_uninitialized_memory = True
        return [*out, work(torch.ones(2))]
    finally:
        deterministic.fill_uninitialized_memory = before
        torch.use_deterministic_algorithms(False)


@scenario
def swapped_parameters(compile):
    model = nn.Linear(2, 2)
    run = compile(model)
    x = torch.ones(2)
    with torch.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.0)
    out = [run(x).detach()]
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model.double()
        out.append(run(x.double()).detach())
        model.float()
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    other = nn.Parameter(torch.zeros(2, 2))
    torch.utils.swap_tensors(model.weight, other)
    return [*out, run(x).detach()], other
