"""What an exception carries, where it is caught, and what its name means afterwards."""

import torch
from tests.python.programs.registry import program, vec


@program(vec())
def exc_args(x):
    try:
        raise ValueError('a', 1)
    except ValueError as e:
        return (e.args, str(e), repr(e), f'{e}', x + 1)


class MyErr(Exception):

    def __init__(self, code):
        super().__init__(f'code {code}')
        self.code = code


class MyErr2(Exception):

    def __str__(self):
        return 'custom'


@program(vec())
def exc_custom(x):
    try:
        raise MyErr(3)
    except MyErr as e:
        a = (e.code, str(e), e.args)
    try:
        raise MyErr2(3)
    except MyErr2 as e:
        b = (str(e), e.args)
    return (a, b, x)


@program(vec())
def exc_key(x):
    try:
        {}['q']
    except KeyError as e:
        return (str(e), e.args, x)


@program(vec())
def exc_index(x):
    try:
        [][3]
    except IndexError as e:
        return (str(e), x)


@program(vec())
def exc_attr(x):
    try:
        x.nope
    except AttributeError as e:
        return (str(e), x)


@program(vec())
def exc_type(x):
    try:
        len(5)
    except TypeError as e:
        a = str(e)
    try:
        'a' + 1
    except TypeError as e:
        b = str(e)

    def f(q):
        pass
    try:
        f()
    except TypeError as e:
        c = str(e)
    try:
        int('z')
    except ValueError as e:
        d = str(e)
    try:
        1 / 0
    except ZeroDivisionError as e:
        g = str(e)
    return (a, b, c, d, g, x)


@program(vec())
def exc_notes_cause(x):
    try:
        try:
            raise KeyError(1)
        except KeyError as k:
            raise ValueError(2) from k
    except ValueError as e:
        return (type(e.__cause__), e.__suppress_context__, x)


@program(vec())
def exc_else_finally(x):
    log = []
    for n in (0, 1):
        try:
            1 / n
        except ZeroDivisionError:
            log.append('z')
        else:
            log.append('ok')
        finally:
            log.append('f')
    return (log, x * 2)


@program(vec())
def exc_reraise(x):
    try:
        try:
            raise ValueError('v')
        except ValueError:
            raise
    except ValueError as e:
        return (str(e), x)


@program(vec())
def exc_in_loop_break(x):
    for i in range(5):
        try:
            if i == 3:
                raise StopIteration
            x = x + i
        except StopIteration:
            break
    return x


@program(vec())
def try_torch(x):
    try:
        y = torch.mm(x, x)
    except RuntimeError:
        y = x * 3
    return y


@program(vec())
def causes_and_contexts(x):
    out = []

    def seen(e):
        out.append((repr(e.__cause__), repr(e.__context__), e.__suppress_context__))

    for from_what in (0, 1, 2):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                if from_what == 0:
                    raise KeyError("b")  # noqa: B904
                raise KeyError("b") from (e if from_what == 1 else None)
        except KeyError as e:
            seen(e)
    try:
        try:
            raise ValueError(1)
        except ValueError as first:
            try:
                raise TypeError(2)
            except TypeError:
                raise first  # noqa: B904
    except ValueError as e:
        seen(e)
        seen(e.__context__)
        e.__cause__ = None
        e.__context__ = IndexError(3)
        seen(e)
    return out, x + 1


@program(vec())
def stop_iteration_in_a_generator(x):
    def gives():
        yield 1
        raise StopIteration(7)

    try:
        list(gives())
    except RuntimeError as e:
        return str(e), repr(e.__cause__), e.__cause__ is e.__context__, x + 1


@program(vec())
def exceptions_with_rules_of_their_own(x):
    out = []
    for make in (
        lambda: ImportError("a", nothing=1),
        lambda: ImportError("a", name="m").name,
        lambda: ValueError(a=1),
        lambda: UnicodeDecodeError("a"),
        lambda: type(BaseExceptionGroup("g", [ValueError(1)])).__name__,  # noqa: F821 (CPython 3.11)
        lambda: setattr(ValueError(), "__traceback__", 5),
    ):
        try:
            out.append(make())
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out, x + 1
