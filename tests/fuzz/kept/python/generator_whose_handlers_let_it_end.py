import torch


def make_args(call):
    return torch.ones(3), [1, 2, 3], []


def f(a, numbers, said):
    def items(xs, log):
        i = 0
        try:
            try:
                while True:
                    yield xs[i]
                    i += 1
            except IndexError:
                return
            except (KeyError, ValueError):
                log.append("no")
        except BaseException as error:
            log.append(type(error).__name__)
            raise

    for n in items(numbers, said):
        if n == 2:
            break
    said.append("behind")
    return a * n
