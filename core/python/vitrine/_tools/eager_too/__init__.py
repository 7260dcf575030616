"""Of `vitrine run --eager-too`: a script is run once more, eagerly, and its steps are set beside the compiled ones."""
