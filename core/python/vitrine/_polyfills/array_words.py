"""Words of the modules of arrays that the interpreter reads in its own way: it comes into none of these."""


def refuse(reason):
    """Ends the segment."""
    raise NotImplementedError(reason)


def make(tensor, scalar):
    """An Array, or a Scalar."""
    raise NotImplementedError(tensor, scalar)


def is_array(value):
    """Whether it is an Array or a Scalar."""
    raise NotImplementedError(value)


def known(name, arguments, keywords):
    """A copy of made_for_real()."""
    raise NotImplementedError(name)
