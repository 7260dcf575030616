"""What capture has, while it reads a program, in the place of objects that are made for real only where they leave it."""


def a_number_that_only_the_call_knows(*_):
    """An address is used as what it is: this runs for real, and so does the program from here on."""


def a_compiled_function_itself(*_):
    """More is asked of a compiled function than to be called."""


# Capture ends in front of a function that is marked so.
a_number_that_only_the_call_knows.__vitrine_disabled__ = a_compiled_function_itself.__vitrine_disabled__ = True


class Identity:
    """id(of): known to be equal to another one, or not, but not as a number."""

    def __init__(self, of):
        self.of = of

    def __eq__(self, other):
        if other.__class__ is Identity:
            return self.of is other.of
        return a_number_that_only_the_call_knows() if isinstance(other, (int, float, complex)) else NotImplemented

    def __hash__(self):
        return 0x1DE57178  # of all of them: as keys they are told apart by __eq__

    def __getattr__(self, name):
        return a_number_that_only_the_call_knows(name)


_BINARY = "add sub mul truediv floordiv mod divmod pow lshift rshift and xor or".split()
_OTHER = "lt le gt ge neg pos abs invert int float complex index bool round str repr format".split()
for _name in (*_BINARY, *["r" + each for each in _BINARY], *_OTHER):
    setattr(Identity, f"__{_name}__", a_number_that_only_the_call_knows)


class Compiled:
    """What a compiler of PyTorch programs makes of a function or a module: captured where it is called."""

    def __init__(self, compiler, function, how):
        self.parts = compiler, function, how

    def __call__(self, *args, **kwargs):
        return self.parts[1](*args, **kwargs)

    def __getattr__(self, name):
        return a_compiled_function_itself(name)

    def __setattr__(self, name, value):
        if name != "parts":
            a_compiled_function_itself(name)
        object.__setattr__(self, name, value)


def compiled(compiler, model, how):
    """What compiler(model, **how) gives; without a model: what it makes of one."""
    return Compiled(compiler, model, how) if model is not None else lambda model: Compiled(compiler, model, how)


def compiled_for_real(parts):
    """The same where it leaves the segment."""
    compiler, function, how = parts
    return compiler(function, **how)
