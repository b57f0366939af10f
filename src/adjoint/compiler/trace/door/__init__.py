"""What the door of a trace does with each kind of expression and statement.

In: what a twin reads, calls, computes, asks and writes.
Out: the value that the twin goes on with. Guards, inputs and effects go to the trace.

`door` has it all together. What is read: `reads`, `attributes`, `instances`, `objects`, and the folder `items`.
What is called: `calls`, and the folder `known`. What is computed: `operators`, `comparing`, `matching`.
What is written: `writes`.
"""
