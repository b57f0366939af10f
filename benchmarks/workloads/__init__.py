"""One file a workload. Each has `TITLE`, `ABOUT` and `cases(small)`: programs that every peer runs alike."""
