"""The path of one check: plan, ask, compare with the reference, judge, record. One value in and out of every step."""

from __future__ import annotations

from monitor.check.options import CheckOptions, Progress, Silent
from monitor.check.reference import OpenReference, open_reference
from monitor.check.run import check_against, run_check

__all__ = ["CheckOptions", "OpenReference", "Progress", "Silent", "check_against", "open_reference", "run_check"]
