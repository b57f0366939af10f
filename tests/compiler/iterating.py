"""Programs that go through iterators of `itertools`."""

import itertools

PROGRAMS = {
    "accumulate": lambda x: sum(itertools.accumulate(x, lambda a, b: a * b)),
    "accumulate from a number": lambda x: sum(itertools.accumulate(x, initial=x[1])),
    "chain": lambda x: sum(a * a for a in itertools.chain(x, [1.0], x[:1])),
    "chain.from_iterable": lambda x: sum(a * a for a in itertools.chain.from_iterable([x, x[1:]])),
    "combinations": lambda x: sum(a * b for a, b in itertools.combinations(x, 2)),
    "combinations of numbers": lambda x: sum(x[i] * x[j] ** 2 for i, j in itertools.combinations(range(len(x)), 2)),
    "combinations_with_replacement": lambda x: sum(a * b for a, b in itertools.combinations_with_replacement(x, 2)),
    "compress": lambda x: sum(itertools.compress(x, [1, 0, 1])) * x[0],
    "compress by values": lambda x: sum(itertools.compress(x * x, x > 1.2), 0.0),
    "count": lambda x: sum(a * b for a, b in zip(x, itertools.count(0.5, x[0]), strict=False)),
    "cycle": lambda x: sum(a * b for a, b in zip(x, itertools.cycle([1.0, 2.0]), strict=False)),
    "dropwhile": lambda x: sum(itertools.dropwhile(lambda a: a < 1.2, x), 0.0) ** 2,
    "filterfalse": lambda x: sum(itertools.filterfalse(lambda a: a < 1.2, x), 0.0) ** 2,
    "groupby": lambda x: sum((1 + k) * sum(g) for k, g in itertools.groupby(x * x, lambda a: bool(a > 2.0))),
    "islice": lambda x: sum(itertools.islice(x, 1, None, 1)) * x[0],
    "pairwise": lambda x: sum((b - a) ** 2 for a, b in itertools.pairwise(x)),
    "permutations": lambda x: sum(a * b**2 for a, b in itertools.permutations(x, 2)),
    "product": lambda x: sum(x[i] * x[j] for i, j in itertools.product(range(3), repeat=2)),
    "product of arrays": lambda x: sum(a * b for a, b in itertools.product(x, x[1:])),
    "repeat": lambda x: sum(a * b for a, b in zip(x, itertools.repeat(x[0], 2), strict=False)),
    "starmap": lambda x: sum(itertools.starmap(lambda a, b: a * b, zip(x, x[::-1], strict=True))),
    "takewhile": lambda x: sum(itertools.takewhile(lambda a: a < 2.2, x), 0.0) ** 2,
    "tee": lambda x: sum(a * b for a, b in zip(*itertools.tee(x), strict=True)),
    "zip_longest": lambda x: sum(a * b for a, b in itertools.zip_longest(x, [1.0, 3.0], fillvalue=2.0)),
}
