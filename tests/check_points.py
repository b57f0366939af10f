"""Ctrl-C wherever Python looks for it: after a call, at the start of a function, at a jump back."""

import dis
import gc
import re
import sys
import threading
from functools import partial

LOOKS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}
TOOL = 4  # of `sys.monitoring`, which names 0, 1, 2 and 5 for others


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
    before = {}

    def step(frame):
        nonlocal passed
        # Frames are known by their addresses: a frame that is kept would keep its generator from being closed.
        looked = frame.f_lasti > 0 and before.get(id(frame)) in LOOKS
        before[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if looked:
            passed += 1
            if passed == number:
                interrupt()

    gc.disable()  # what it finds is another's
    stop_watching = (_monitor if sys.version_info >= (3, 12) else _trace)(where, step)
    try:
        function()
    except Interrupted:
        return None
    finally:
        stop_watching()
        gc.enable()
    assert interrupt is not stop or not 0 < number <= passed, "an interrupt was swallowed"
    return passed


def _trace(where, step):
    """Call `step` with the frame before each instruction of the code in files like `where`, until the result is called.

    There is no `with` here: its own check points would be found too.
    """

    def started(frame, event, arg):
        if not re.search(where, frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return each

    def each(frame, event, arg):
        if event == "opcode":
            step(frame)
        return each

    others = sys.gettrace()
    sys.settrace(started)
    return partial(sys.settrace, others)


def _monitor(where, step):
    """The same, from Python 3.12 on: what `sys.settrace` shows of instructions there depends on what ran before."""
    tools, thread = sys.monitoring, threading.get_ident()

    def each(code, offset):
        if not re.search(where, code.co_filename):
            return tools.DISABLE
        if threading.get_ident() == thread:
            step(sys._getframe(1))
        return None

    tools.use_tool_id(TOOL, "check points")
    tools.register_callback(TOOL, tools.events.INSTRUCTION, each)
    tools.restart_events()  # those of files that another call did not look at
    tools.set_events(TOOL, tools.events.INSTRUCTION)

    def stop_watching():
        tools.set_events(TOOL, 0)
        tools.free_tool_id(TOOL)

    return stop_watching
