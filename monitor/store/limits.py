"""Rates and budgets that all workers share: what one was granted no other is."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from monitor.store.once import insert_once
from monitor.store.session import Sessions
from monitor.store.tables import EndpointCheck, Reservation, Spending, TokenBucket

# Hosts' clocks differ by less; a bucket that is further ahead was used before the clock was set back.
_MOST_CLOCK_SKEW = timedelta(minutes=1)
_ROUNDING = 1e-9


def take_tokens(session: Session, name: str, wanted: float, *, per_minute: float, burst: float, at: datetime) -> float:
    """0.0 where the bucket gave the tokens, else the seconds to wait before asking again.

    The bucket holds `burst` tokens at most and fills by `per_minute`. Raises ValueError for more than it can ever hold.
    """
    if not 0 < wanted <= burst or not per_minute > 0:
        raise ValueError(f"{wanted} tokens of a bucket of {burst}, {per_minute} a minute")
    insert_once(session, TokenBucket, name=name, tokens=burst, at=at)
    bucket = session.scalars(select(TokenBucket).where(TokenBucket.name == name).with_for_update()).one()
    ahead = bucket.at - at
    elapsed = max(timedelta(0), -ahead)
    tokens = min(burst, bucket.tokens + elapsed.total_seconds() * per_minute / 60)
    granted = tokens + _ROUNDING >= wanted
    session.execute(
        update(TokenBucket)
        .where(TokenBucket.name == name)
        .values(
            tokens=max(0.0, tokens - wanted) if granted else tokens,
            at=bucket.at if timedelta(0) < ahead <= _MOST_CLOCK_SKEW else at,
        )
    )
    return 0.0 if granted else (wanted - tokens) * 60 / per_minute


def give_back(session: Session, name: str, tokens: float, *, burst: float) -> None:
    """Return tokens that were taken from a bucket and not used."""
    bucket = session.scalars(select(TokenBucket).where(TokenBucket.name == name).with_for_update()).one_or_none()
    if bucket is not None:
        bucket.tokens = min(burst, bucket.tokens + tokens)


def reserve(
    session: Session, check_id: str, provider: str, day: date, microusd: int, budget_microusd: int | None
) -> int | None:
    """What a check may spend of its provider's day: `microusd`, or what is left of the budget; None where nothing is.

    A check that has a reservation, from an attempt before, keeps that one. The caller holds the check's lease.
    """
    spending = _begun(session, provider, day)
    kept = session.scalars(select(Reservation.microusd).where(Reservation.check_id == check_id)).one_or_none()
    if kept is not None:
        return kept
    spent = spending.settled_microusd + spending.reserved_microusd
    granted = microusd if budget_microusd is None else min(microusd, budget_microusd - spent)
    if granted <= 0:
        return None
    session.add(Reservation(check_id=check_id, provider=provider, day=day, microusd=granted))
    spending.reserved_microusd += granted
    session.flush()
    return granted


def settle(session: Session, check_id: str, spent_microusd: int) -> None:
    """Replace a check's reservation by what it spent; nothing where it has none."""
    where = session.execute(
        select(Reservation.provider, Reservation.day).where(Reservation.check_id == check_id)
    ).one_or_none()
    if where is None:
        return
    spending = _locked(session, where.provider, where.day)
    reserved = session.scalars(
        delete(Reservation).where(Reservation.check_id == check_id).returning(Reservation.microusd)
    ).one_or_none()
    if reserved is None:  # settled by another process since
        return
    spending.reserved_microusd -= reserved
    spending.settled_microusd += spent_microusd
    session.flush()


def spend(session: Session, provider: str, day: date, microusd: int) -> None:
    """Count what was spent without a reservation."""
    _begun(session, provider, day).settled_microusd += microusd
    session.flush()


def draw(session: Session, provider: str, day: date, microusd: int, budget_microusd: int) -> int:
    """Count as spent `microusd`, or what is left of the budget; how much it was. Who draws gives back by `spend` what
    it did not spend; of whoever dies it stays counted."""
    spending = _begun(session, provider, day)
    left = budget_microusd - spending.settled_microusd - spending.reserved_microusd
    granted = max(0, min(microusd, left))
    spending.settled_microusd += granted
    session.flush()
    return granted


def charge_ended(session: Session, at: datetime) -> None:
    """Count as spent what was reserved by checks that have ended and did not say what they spent: nobody will."""
    ended = (
        select(Reservation.check_id, Reservation.microusd)
        .join(EndpointCheck, EndpointCheck.id == Reservation.check_id)
        .where(EndpointCheck.finished_at <= at)
        .order_by(Reservation.provider, Reservation.day)
    )
    for check_id, microusd in session.execute(ended).all():
        settle(session, check_id, microusd)


def _begun(session: Session, provider: str, day: date) -> Spending:
    insert_once(session, Spending, provider=provider, day=day, settled_microusd=0, reserved_microusd=0)
    return _locked(session, provider, day)


def _locked(session: Session, provider: str, day: date) -> Spending:
    return session.scalars(
        select(Spending)
        .where(Spending.provider == provider, Spending.day == day)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one()


class Limits:
    """The rates of one database. Every method is the function of its name in one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def take_tokens(self, name: str, wanted: float, *, per_minute: float, burst: float, at: datetime) -> float:
        with self._sessions.write() as session:
            return take_tokens(session, name, wanted, per_minute=per_minute, burst=burst, at=at)

    def give_back(self, name: str, tokens: float, *, burst: float) -> None:
        with self._sessions.write() as session:
            give_back(session, name, tokens, burst=burst)
