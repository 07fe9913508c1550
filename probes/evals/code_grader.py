"""Grades code by running it with tests, in the sandbox."""

from __future__ import annotations

import re
import secrets
from typing import Any

from probes.evals.grade import Grade, Reason, right_if, ungradable, wrong
from probes.evals.sandbox import Ending, Limits, run_isolated

_BLOCK = re.compile(r"^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_PYTHON = frozenset({"", "python", "py", "python3"})


def grade_code(
    answer: str,
    expected: Any,
    *,
    before: str = "",
    cpu_s: int = 5,
    wall_s: float = 10.0,
    memory_mb: int = 256,
) -> Grade:
    """`expected` are Python statements that raise where the code is wrong; `before` stands in front of the code.

    Raises IsolationError where the code cannot be isolated; it is not run then.
    """
    if not isinstance(expected, str) or not expected.strip():
        return ungradable(Reason.NO_EXPECTED)
    code = code_in(answer)
    if not code.strip():
        return wrong(Reason.NOTHING_FOUND)
    # Only who came to the end of the tests prints it: code that exits early with 0 does not.
    passed = secrets.token_hex(16)
    program = f"{before}\n{code}\n{expected}\n__import__('sys').stdout.write('\\n{passed}')\n"
    ran = run_isolated(program, Limits(cpu_s=cpu_s, wall_s=wall_s, memory_bytes=memory_mb * 1024 * 1024))
    if ran.ending is Ending.TIMED_OUT:
        return ungradable(Reason.TIMED_OUT)
    if ran.ending is not Ending.EXITED:
        return wrong(Reason.OVER_LIMITS)
    return right_if(ran.code == 0 and ran.output.endswith(f"\n{passed}".encode()), Reason.TESTS_FAILED)


def code_in(answer: str) -> str:
    """The last block of Python, or of no language; the whole answer where it has no block at all."""
    blocks = _BLOCK.findall(answer)
    if not blocks:
        return answer
    found = [code for language, code in blocks if language.lower() in _PYTHON]
    return found[-1] if found else ""
