"""Writing in place: views, the mutation log, and copies of saved arrays that other code may write.

In: a write to a tensor, or a saved value that a rule asks for. Out: the new history, and the value as it was saved.
"""
