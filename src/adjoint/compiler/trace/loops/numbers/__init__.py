"""Whole numbers in the turns of a loop: what they are in each turn, known before the loop runs.

`moving` has multiples of the counter, `spans` ranges whose ends depend on outer counters, `reaches` bounds.
`by_number` is what turns compute of a counter alone, and `kinds` tells Python's numbers from NumPy's.
"""
