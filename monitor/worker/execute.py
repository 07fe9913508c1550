"""Makes one check of the queue: claim, budget, ask, judge, and the end of it in one transaction."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from celery.exceptions import SoftTimeLimitExceeded

from monitor import clock
from monitor.check.ask import Limits as AskLimits
from monitor.check.ask import Manner, Stop
from monitor.check.brake import Brake
from monitor.check.budget import Budget
from monitor.check.ledger import Ledger
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, Estimate, Planned, affordable_plans, ensure_prices, switch_of
from monitor.check.reference import OpenReference
from monitor.check.run import BesideManner, Done, Work, asked_and_judged
from monitor.config.asking import LONGEST_ASKING_S
from monitor.errors import BudgetError, ConfigError, LeaseLostError, OfflineError, StorageError
from monitor.fault_points import FaultPoint, fault_point
from monitor.store import Claimed, RunStatus, limits, queue
from monitor.store.conclusion import Bearings, Ended, ServiceNews, conclude
from monitor.store.process import this_process
from monitor.store.queue_news import tell_finished
from monitor.store.runs import close_runs
from monitor.worker.canary import is_offline
from monitor.worker.configured import Configured, KnownEndpoint
from monitor.worker.context import Context
from monitor.worker.heartbeat import Heartbeat, WorkerStoppingError
from monitor.worker.names import EXECUTE, FAN_OUT
from monitor.worker.pace import SharedPace
from probes.errors import ProbeError
from probes.plan import ProbeKind
from reference_engine.errors import CodedError, EngineError

if TYPE_CHECKING:
    from datetime import date, datetime

    from monitor.check.border import Asked as Border
    from probes.tools.families.suite import Instance

# Without a tokenizer an estimate is a guess: what is reserved is what may be spent at most.
_RESERVED_OF_ESTIMATE = 2.0
# Of the two minutes that are left to judge a check.
_ANSWERING_S = 60.0
_CONFIRMED_PROBES = (
    ProbeKind.LOGPROBS,
    ProbeKind.ACCOUNTING,
    ProbeKind.TOOL_CALLS,
    ProbeKind.PROTOCOL,
    ProbeKind.AGENT_LOOPS,
    ProbeKind.SAMPLING,
    ProbeKind.GREEDY,
    ProbeKind.BORDER,
)

_log = logging.getLogger(__name__)


def execute(context: Context, check_id: str) -> bool:
    """Make a check unless it is another's, or done: a message that comes twice, or late, changes nothing. Whether there
    was one to make."""
    if context.stop.is_up:
        return False
    configured = context.configured()
    claimed = context.queue.claim(check_id, this_process(), clock.now(), context.lease)
    if claimed is None:
        return False
    fault_point(FaultPoint.AFTER_CLAIM)
    endpoint = configured.endpoints.get(claimed.entry.endpoint_id)
    if endpoint is None:
        _end_unknown(context, claimed)
    else:
        _Attempt(context, configured, endpoint, claimed).make()
    return True


def _end_unknown(context: Context, claimed: Claimed) -> None:
    why = "The configuration no longer has this endpoint."
    at, check_id = clock.now(), claimed.entry.id
    with context.store.sessions.write() as session:
        queue.finish(session, claimed.lease, status=RunStatus.CANCELLED, error_code=ConfigError.code, error=why, at=at)
        close_runs(session, [check_id], RunStatus.CANCELLED, ConfigError.code, at)
        tell_finished(session, [check_id], at)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What an attempt came to, before it is written down."""

    ended: Ended
    news: tuple[ServiceNews, ...] = ()


class _Attempt:
    """One attempt at a check that this process holds the lease of."""

    def __init__(self, context: Context, configured: Configured, endpoint: KnownEndpoint, claimed: Claimed) -> None:
        self._context = context
        self._configured = configured
        self._endpoint = endpoint
        self._claimed = claimed
        self._ledger = Ledger.leased(context.store, endpoint.record, claimed)
        self._brake = Brake()

    def make(self) -> None:
        check_id = self._claimed.entry.id
        try:
            with self._heartbeat():
                outcome = self._outcome()
            self._conclude(outcome)
        except WorkerStoppingError:
            self._give_back()
        except (LeaseLostError, StorageError) as error:
            # Another attempt goes on from what is stored.
            _log.warning("Check %s was left at attempt %d: %s", check_id, self._claimed.lease.attempt, error.message)
        except SoftTimeLimitExceeded:
            # So does it here: the answers are paid for, and are judged the next time.
            _log.warning("Check %s took too long at attempt %d.", check_id, self._claimed.lease.attempt)

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(
            self._context.queue,
            self._claimed.lease,
            self._context.lease,
            progress=self._progress,
            brake=self._brake,
            stop=self._context.stop,
        )

    def _outcome(self) -> _Outcome:
        try:
            return self._succeeded(self._checked())
        except (LeaseLostError, StorageError, WorkerStoppingError, SoftTimeLimitExceeded):
            raise
        except BudgetError as error:
            return self._failed(error, news=(self._budget_news(),), ours=True)
        except ProbeError as error:
            if is_offline(self._context, error):
                return self._failed(OfflineError("No host that should answer does."), ours=True)
            return self._failed(error)
        except EngineError as error:
            return self._failed(error, news=(self._reference_news(error),), ours=True)
        except CodedError as error:
            return self._failed(error, ours=True)
        except Exception:  # noqa: BLE001 - an error of ours must not leave the check to be tried for ever
            _log.exception("Check %s failed.", self._claimed.entry.id)
            return self._failed(CodedError("An error of the monitor itself; its log has it."), ours=True)

    def _checked(self) -> Done:
        self._brake.check()
        options = replace(
            CheckOptions.from_json(self._claimed.entry.options), confirms=self._claimed.entry.confirms is not None
        )
        reference = self._context.references.of(self._endpoint.config.reference)
        planned, estimate, budget = self._affordable(options, reference)
        beside = self._beside(reference, estimate, options)
        config = self._endpoint.config
        timeout = min(options.timeout or LONGEST_ASKING_S, LONGEST_ASKING_S)
        asking = AskLimits(timeout, budget, config.prices, estimate.sizes)
        pace = None if config.rpm is None else SharedPace(self._context.limits, config.provider, config.rpm)
        manner, rounds = Manner(asking, pace, self._brake), self._rounds_a_day()
        work = Work(config, options.probes, planned, manner, _ANSWERING_S, rounds, beside)
        return asked_and_judged(work, reference, self._ledger, Silent())

    def _rounds_a_day(self) -> int:
        return max(1, round(timedelta(days=1) / self._endpoint.every(clock.now())))

    def _affordable(self, options: CheckOptions, reference: OpenReference) -> tuple[Planned, Estimate, Budget]:
        """The plans, and what they may use, once that is reserved of the provider's day. Raises BudgetError."""
        config, entry = self._endpoint.config, self._claimed.entry
        # What is asked again are the cases of the check that is to be confirmed.
        about = entry if entry.confirms is None else self._context.queue.entry(entry.confirms)
        drawn = Drawn(
            self._context.seed,
            bytes.fromhex(entry.nonce),
            about.slot_at,
            self._ledger.capabilities,
            self._ledger.screened,
            pool=self._pool(options, reference, about.slot_at),
            border=self._border(options, reference),
            rpm=config.rpm,
            switch=switch_of(config),
        )

        remote = reference.beside
        if remote is not None:
            ensure_prices(options.budget, remote.prices, f"{remote.slug}, the reference")

        def plans_of(options: CheckOptions) -> tuple[Planned, Estimate]:
            with reference.turn:
                return affordable_plans(
                    options,
                    drawn,
                    tokenizer=reference.tokenizer,
                    has_reference=reference.answers,
                    prices=config.prices,
                    beside=remote,
                )

        planned, estimate = plans_of(options)
        ours, _ = estimate.parts(options.budget)
        if estimate.usd is None:
            return planned, estimate, ours
        of_day = self._configured.config.daily_budget_microusd(config.provider)
        granted = self._reserved(math.ceil(estimate.usd * _RESERVED_OF_ESTIMATE * 1e6), of_day)
        if granted is None:
            raise BudgetError(
                f"Provider {config.provider} has spent its budget of today.",
                remedy="Raise its daily_budget_usd, or wait until midnight UTC.",
            )
        if granted < estimate.usd * 1e6:
            # What is left is of this provider's day, beside which the reference's part is as much as it was.
            usd = granted / 1e6 * estimate.whole.usd / estimate.usd
            planned, estimate = plans_of(replace(options, budget=replace(options.budget, usd=usd)))
        return planned, estimate, ours if of_day is None else replace(ours, usd=granted / 1e6)

    def _beside(self, reference: OpenReference, estimate: Estimate, options: CheckOptions) -> BesideManner:
        """How a reference that is another endpoint is asked: at its provider's rate, and of what is left of its day,
        which counts as spent until the check says what it was."""
        remote, theirs = reference.remote, estimate.beside
        if remote is None or theirs is None or not theirs.requests:
            return BesideManner()
        config, day = remote.config, clock.now().date()
        _, budget = estimate.parts(options.budget)
        drawn, of_day = 0, self._configured.config.daily_budget_microusd(config.provider)
        if of_day is not None and theirs.usd is not None:
            wanted = max(1, math.ceil(theirs.usd * _RESERVED_OF_ESTIMATE * 1e6))
            drawn = self._drawn(config.provider, day, wanted, of_day)
            if not drawn:
                return BesideManner(why_not="its provider has spent its budget of today")
            budget = replace(budget, usd=min(drawn / 1e6, budget.usd or math.inf))
        pace = None if config.rpm is None else SharedPace(self._context.limits, config.provider, config.rpm)
        asking = AskLimits(None, budget, config.prices, theirs.sizes)
        return BesideManner(Manner(asking, pace), counted=drawn, day=day)

    def _drawn(self, provider: str, day: date, microusd: int, budget: int) -> int:
        with self._context.store.sessions.write() as session:
            queue.hold(session, self._claimed.lease)
            return limits.draw(session, provider, day, microusd, budget)

    def _pool(self, options: CheckOptions, reference: OpenReference, at: datetime) -> Sequence[Instance] | None:
        if ProbeKind.TOOL_CALLS not in options.probes or reference.engine is None:
            return None
        # Here: a worker that is asked for no tool calls has no use for their families.
        from monitor.check.calibrated import calibrated_pool

        sessions = self._context.store.sessions
        return calibrated_pool(reference, self._context.seed, at, sessions)

    def _border(self, options: CheckOptions, reference: OpenReference) -> Border | None:
        if ProbeKind.BORDER not in options.probes:
            return None
        from monitor.check.border import Pool, asked_of

        pool = Pool(reference, self._context.seed, self._context.store.sessions)
        return asked_of(pool, self._endpoint.record.id, clock.now())

    def _reserved(self, microusd: int, budget: int | None) -> int | None:
        entry, provider = self._claimed.entry, self._endpoint.config.provider
        with self._context.store.sessions.write() as session:
            # Nobody would settle what the owner before reserves for a check that has ended.
            queue.hold(session, self._claimed.lease)
            return limits.reserve(session, entry.id, provider, clock.now().date(), max(1, microusd), budget)

    def _succeeded(self, done: Done) -> _Outcome:
        document = done.document
        requests, planned = self._progress()
        ended = Ended(
            done.status,
            verdict=document.verdict,
            enrolled=document.enrolled,
            error_code=done.error_code,
            spent=self._ledger.spent_microusd(self._endpoint.config.prices),
            done=requests,
            planned=planned,
        )
        return _Outcome(ended, (self._budget_news(),) if done.stop is Stop.BUDGET else ())

    def _failed(self, error: CodedError, *, news: tuple[ServiceNews, ...] = (), ours: bool = False) -> _Outcome:
        done, planned = self._progress()
        ended = Ended(
            RunStatus.FAILED,
            error_code=error.code,
            error=error.message,
            unfinished=self._ledger.unfinished(RunStatus.FAILED, error.code),
            ours=ours,
            spent=self._ledger.spent_microusd(self._endpoint.config.prices),
            done=done,
            planned=planned,
        )
        return _Outcome(ended, news)

    def _progress(self) -> tuple[int, int]:
        ledger, before = self._ledger, self._claimed.entry
        # Where no run was gone on with yet, what earlier attempts did still stands.
        return (ledger.done, ledger.planned) if ledger.planned else (before.done, before.planned)

    def _budget_news(self) -> ServiceNews:
        provider, day = self._endpoint.config.provider, clock.now().date().isoformat()
        return ServiceNews("budget.exhausted", f"budget:{provider}:{day}", {"provider": provider, "day": day})

    def _reference_news(self, error: CodedError) -> ServiceNews:
        model, day = self._endpoint.config.model, clock.now().date().isoformat()
        data = {"model": model, "error": error.code, "reason": f"The reference of {model} cannot be used."}
        return ServiceNews("monitor.degraded", f"reference:{model}:{error.code}:{day}", data)

    def _conclude(self, outcome: _Outcome) -> None:
        fault_point(FaultPoint.BEFORE_CONCLUDE)
        at = clock.now()
        with self._context.store.sessions.write() as session:
            next_id = conclude(session, self._claimed, outcome.ended, self._bearings(), outcome.news, at)
        fault_point(FaultPoint.AFTER_COMMIT_BEFORE_PUBLISH)
        if next_id is not None:
            self._context.bell.ring(EXECUTE, next_id)
        self._context.bell.ring(FAN_OUT)

    def _bearings(self) -> Bearings:
        at = clock.now()
        options = CheckOptions.from_json(self._claimed.entry.options)
        probes = tuple(kind for kind in _CONFIRMED_PROBES if kind in options.probes)
        return Bearings(
            labels=self._endpoint.labels,
            rules=self._configured.rules(self._endpoint, at),
            maintenance=self._configured.in_maintenance(self._endpoint, at),
            confirm_within=self._endpoint.every(at),
            confirm_options=replace(options, probes=probes).to_json(),
        )

    def _give_back(self) -> None:
        """Let the next worker go on at once, and ring the bell for it."""
        lease = self._claimed.lease
        done, planned = self._progress()
        self._context.queue.give_back(lease, clock.now(), done=done, planned=planned)
        self._context.bell.ring(EXECUTE, lease.check_id)
