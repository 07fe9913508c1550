"""A private suite out of the database, for the commands that need its items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from monitor.check.eval_suite import MOST_REPS, EvalSuite
from monitor.cli.recorded import opened_store
from monitor.errors import UsageError
from monitor.settings import load_settings
from monitor.suites.key import key_to_open
from monitor.suites.suites import OpenSuite, Suites

# What `monitor probe --suite` calls its own.
BUILT_IN = ("quick", "full")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@contextmanager
def opened_suite(name: str) -> Iterator[tuple[Suites, OpenSuite]]:
    """The version in use, with the suites that it is one of. Raises UsageError, or SuiteUnreadableError."""
    settings = load_settings()
    with opened_store() as store:
        if store is None:
            raise no_suite(name)
        suites = Suites(store.sessions)
        suites.versions(name)
        yield suites, suites.open(name, key_to_open(settings, settings.data))


def eval_suite(name: str, reps: int) -> EvalSuite:
    """A suite as a check takes it, its items in memory."""
    if not 1 <= reps <= MOST_REPS:
        raise UsageError(f"--reps {reps} is not between 1 and {MOST_REPS}.", remedy="The default is 1.")
    with opened_suite(name) as (_, suite):
        record = suite.record
        return EvalSuite(record.name, record.version, record.sha256, tuple(suite.items()), reps)


def checked_name(name: str) -> str:
    """The name of a suite that is to be. Raises UsageError for what is none."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"'{name}' is neither a file nor a name for a suite.",
            remedy="A name has up to 64 lower-case letters, digits, dots, dashes and underscores. Choose with --name.",
        )
    if name in BUILT_IN:
        raise UsageError(
            f"A suite cannot be named {name}: `monitor probe --suite {name}` is built in.",
            remedy="Choose another name with --name.",
        )
    return name


def no_suite(name: str) -> UsageError:
    return UsageError(f"There is no suite {name}.", remedy="`monitor suites list` shows them.")
