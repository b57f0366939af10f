"""Attacks of the table that succeed, by what is missing; a test that passes again has to be taken out of here."""

SLOW = "an error of ours escapes, after half a minute: not run"
KNOWN: dict[str, list[str]] = {}

SEEDS: set[int] = set()  # random programs of the sample that differ
