"""What must hold when several threads, a fork or an interrupt meet: locks, tasks, switches, weak references.

In: work to do beside the program, or state that must not be left half changed. Out: results and state as if nothing
had interrupted.
"""
