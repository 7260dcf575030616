"""Python that capture reads in the place of functions that it cannot read, and what it makes of them."""
