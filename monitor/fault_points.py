"""Places at which a process can be made to die, so that tests can show what a crash there costs.

`MONITOR_FAULT=NAME` ends the process at the point of that name as `kill -9` would. Nothing happens without it.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Final

# What a shell reports for a process that SIGKILL ended.
EXIT_CODE: Final = 137
VARIABLE: Final = "MONITOR_FAULT"


class FaultPoint(StrEnum):
    """In the order in which a check comes by them."""

    AFTER_ENQUEUE = "after_enqueue"
    AFTER_CLAIM = "after_claim"
    AFTER_BEGIN_RUN = "after_begin_run"
    AFTER_SAMPLE = "after_sample"
    AFTER_ASKING = "after_asking"
    AFTER_FINISH_RUN = "after_finish_run"
    BEFORE_CONCLUDE = "before_conclude"
    IN_CONCLUDE = "in_conclude"
    AFTER_COMMIT_BEFORE_PUBLISH = "after_commit_before_publish"
    AFTER_FAN_OUT = "after_fan_out"


def fault_point(point: FaultPoint) -> None:
    """Die here if this is the chosen point."""
    if os.environ.get(VARIABLE) == point:
        os._exit(EXIT_CODE)
