"""The path of one check: plan, ask, compare with the reference, judge, record. One value in and out of every step."""

from __future__ import annotations

from monitor.check.options import CheckOptions, Progress, Silent
from monitor.check.run import run_check

__all__ = ["CheckOptions", "Progress", "Silent", "run_check"]
