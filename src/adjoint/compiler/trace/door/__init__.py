"""What the door of a trace does with each kind of expression and statement.

In: what a twin reads, calls, computes, asks and writes.
Out: the value that the twin goes on with. Guards, inputs and effects go to the trace.
"""
