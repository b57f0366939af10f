"""The shortest world in which something still differs: statements, blocks and parts of expressions are left out."""

import ast
import copy

from .worlds import HEADER

TRIES = 600


def shortest(text, differs, tries=TRIES):
    """`text` without what `differs(text)` does not need."""
    module, _, script = text.partition("\n---\n")
    module, script = ast.parse(module), ast.parse(script)
    left = tries
    changed = True
    while changed and left > 0:
        changed = False
        for tree in (script, module):
            k = 0
            while left > 0:
                kept = copy.deepcopy(tree.body)
                found = leave_out(tree, k)
                if found is None:
                    break
                left -= 1
                if found and differs(joined(module, script)):
                    changed = True
                else:
                    tree.body = kept
                    k += 1
    return joined(module, script)


def joined(module, script):
    return f"{ast.unparse(module)}\n---\n{ast.unparse(script)}\n"


def leave_out(tree, k):
    """Make the k-th simplification in place; whether it changed anything, None if there are no more."""
    for change in changes(tree):
        if k == 0:
            return change()
        k -= 1
    return None


def changes(tree):
    """All simplifications of a tree, large ones first, as functions that make them."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for at in reversed(range(len(block))):
                    yield lambda node=node, field=field, at=at: drop(node, field, at)
                    if getattr(block[at], "body", None) and isinstance(block[at].body, list):
                        yield lambda block=block, at=at: unwrap(block, at)
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            for at, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store | ast.Del):
                    for smaller in parts_of(part):
                        yield lambda node=node, field=field, at=at, new=smaller: put(node, field, at, new)


def drop(node, field, at):
    block = getattr(node, field)
    if len(block) == 1 and field == "body" and not isinstance(node, ast.Module):
        if isinstance(block[0], ast.Pass):
            return False
        block[0] = ast.Pass()
    else:
        del block[at]
    return True


def unwrap(block, at):
    if isinstance(block[at], ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
        return False
    block[at : at + 1] = block[at].body
    return True


def parts_of(expression):
    """Smaller expressions that could stand in place of one."""
    if not isinstance(expression, ast.Name | ast.Constant | ast.Attribute | ast.Lambda | ast.JoinedStr):
        for child in ast.iter_child_nodes(expression):
            if isinstance(child, ast.expr):
                yield child
        yield ast.Constant(1.0)


def put(node, field, at, new):
    if at is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[at] = new
    return True


def as_test(text, name, seed):
    """An entry of the table of attacks."""
    return f"### {name} (seed {seed})\n{text}".replace(HEADER, "")
