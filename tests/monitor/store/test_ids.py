from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.store.ids import new_id, uuid7
from tests.monitor.store.material import AT

times = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(times)
def test_it_is_a_version_7_uuid_of_its_millisecond(at: datetime) -> None:
    made = uuid.UUID(int=uuid7(at))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == int(at.timestamp() * 1000)


@given(times.filter(lambda at: at.year < 9000), st.integers(min_value=1, max_value=10**9))
def test_text_order_is_time_order(at: datetime, milliseconds: int) -> None:
    assert new_id("run", at) < new_id("run", at + timedelta(milliseconds=milliseconds))


def test_it_says_what_is_named() -> None:
    assert re.fullmatch(r"run_[0-9A-HJKMNP-TV-Z]{26}", new_id("run", AT))


def test_ids_of_one_moment_differ() -> None:
    assert len({new_id("ep", AT) for _ in range(1000)}) == 1000
