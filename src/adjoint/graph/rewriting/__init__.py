"""Rewrites of graphs: named rules, each a pattern and a result.

- What applies them until none fits: `driver`.
- The rules of programs: `rules`; those that make formulas short: `formula_rules`.
"""
