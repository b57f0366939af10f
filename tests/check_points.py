"""Ctrl-C wherever Python looks for it: after a call, at the start of a function, at a jump back."""

import dis
import gc
import re
import sys

LOOKS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


class Interrupted(BaseException):
    """Ctrl-C."""


def interrupted(function, number, where=""):
    """Call `function`, and interrupt it at check point `number` of the code in files like `where`. Whether it came."""
    return points(function, where, number) is None


def stop():
    raise Interrupted


def points(function, where="", number=0, interrupt=stop):
    """How many check points a call of `function` has; None, if `interrupt` stopped it at check point `number`."""
    passed = 0

    def started(frame, event, arg):
        if not re.search(where, frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, before = frame.f_code.co_code, None

        def step(frame, event, arg):
            nonlocal passed, before
            if event == "opcode":
                looked, before = before in LOOKS, dis.opname[code[frame.f_lasti]]
                if looked:
                    passed += 1
                    if passed == number:
                        interrupt()
            return step

        return step

    others = sys.gettrace()
    gc.disable()  # what it finds is another's
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks before it traces whether any frame wants opcodes
    sys.settrace(started)
    try:
        function()
    except Interrupted:
        return None
    finally:
        sys.settrace(others)
        gc.enable()
    assert interrupt is not stop or not 0 < number <= passed, "an interrupt was swallowed"
    return passed
