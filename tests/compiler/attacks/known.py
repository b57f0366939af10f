"""Attacks of the table that succeed, by what is missing; a test that passes again has to be taken out of here."""

SLOW = "an error of ours escapes, after half a minute: not run"
KNOWN: dict[str, list[str]] = {
    "a write does not come back, or leaves something of ours": ["training: vars of an object with a compiled method"]
}

SEEDS: set[int] = set()  # random programs of the sample that differ
