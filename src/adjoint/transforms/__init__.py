"""Functions that turn a function into its derivative."""
