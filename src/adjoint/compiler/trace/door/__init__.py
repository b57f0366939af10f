"""What the door of a trace does with each kind of expression and statement.

In: what a twin reads, calls, computes, asks and writes.
Out: the value that the twin goes on with. Guards, inputs and effects go to the trace.

- All together: `door`.
- What is read: `reads`, `attributes`, `instances`, `containers`, `keys`, `copies`, `trees`, `objects`.
- What is gone through: `walking`, `iterators`.
- What is called: `calls`, `pythons`, `libraries`, `library_calls`, `tools`, `sourceless`, `histories`.
- What known code gets and gives: `values`, `forms`.
- What is computed: `operators`, `comparing`, `matching`. What is written: `writes`, `fitting`.
"""
