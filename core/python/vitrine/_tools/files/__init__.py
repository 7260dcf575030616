"""Files that a run takes besides Python's: notebooks, exported programs."""
