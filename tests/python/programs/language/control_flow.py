"""Control flow."""

from tests.python.programs.registry import program, vec


@program(vec())
def while_on_tensor(x):
    n = 0
    while x.sum() < 100:
        x = x * 2 + 1
        n += 1
    return x, n


@program(vec())
def early_return_in_loop(x):
    for i in range(10):
        x = x + i
        if x.max() > 20:
            return x, i
    return x


@program(vec())
def for_else(x):
    for i in range(3):
        if i == 5:
            break
        x = x * (i + 1)
    else:
        x = -x
    return x


@program(vec())
def nested_breaks(x):
    for i in range(3):
        for j in range(3):
            if x.sum() > 10 * j:
                continue
            if i == 2:
                break
            x = x + j
        print("row", i, x.sum().item())
    return x


@program(vec(), True)
@program(vec(), False)
def chained_comparison(x, flag):
    a = 1 < x.shape[0] <= 6 < 10
    return x if a and flag or not a else -x


@program(vec())
def tensor_and_or(x):
    y = x.sum() > 0 and x.max() > 1
    z = x.sum() > 1000 or x.min()
    return y, z, not x.sum()


@program(vec(), 3)
def match_statement(x, n):
    match n:
        case 0:
            return x
        case int() if n > 2:
            return x * n
        case [a, b]:
            return x + a + b
    return -x


@program(vec())
def walrus(x):
    if (n := x.numel()) > 4:
        x = x * n
    return [y for k in range(3) if (y := k * 2) > 0], x


@program(vec())
def ternary_on_tensor(x):
    return (x + 1 if x.sum() > 0 else x - 1) * 2


@program(vec(), 5)
def recursion(x, depth):
    if depth == 0:
        return x
    return recursion_step(x, depth) * 1.5


def recursion_step(x, depth):
    return x if depth == 0 else recursion_step(x + depth, depth - 1)
