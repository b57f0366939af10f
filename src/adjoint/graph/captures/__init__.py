"""What a captured program is besides nodes.

- What it takes and gives: `signature`. What it reads and writes besides: `state`. Random draws: `drawing`.
- What a capture notes on the way: `record`. The capture of a function of its arguments alone: `on_symbols`.
"""
