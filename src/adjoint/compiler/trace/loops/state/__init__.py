"""What one turn of a loop leaves for the next.

`carried` has values, `elements` and `writing` the elements of arrays, `tails` lists that grow.
`standing` asks whether anything else changed: if not, the next turn does the same.
"""
