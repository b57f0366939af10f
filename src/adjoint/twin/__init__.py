"""The twin of a function: its own source, rewritten once, so that what it calls can be something else."""
