"""The scheduler's rules, one by one."""

from __future__ import annotations

import pytest

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import PAGE
from reference_engine.sched.limits import Limits
from reference_engine.sched.pace import Pace
from reference_engine.sched.plan import Outcome, Plan, Reason, batch_of
from reference_engine.sched.request import Request, State
from reference_engine.sched.scheduler import Scheduler
from tests.reference_engine.sched.readable_memory import ArenaMemory
from tests.reference_engine.sched.toy_engine import ToyEngine, drafter
from tests.reference_engine.sched.toy_memory import ToyMemory

LIMITS = Limits(token_budget=8, max_running=4)


def prompt(length: int, seed: int = 0) -> list[int]:
    return [(seed * 5 + at * at) % 8 for at in range(length)]


def engine(pages: int = 50, limits: Limits = LIMITS, *, overlap: bool = False) -> ToyEngine:
    return ToyEngine(ToyMemory(pages), limits, overlap=overlap)


def shares(plan: Plan | None) -> dict[str, int]:
    return {entry.request.id: entry.count for entry in plan.entries} if plan else {}


def answer(plan: Plan, token: int = 1) -> dict[str, Outcome]:
    return {entry.request.id: Outcome([token]) if entry.samples else Outcome() for entry in plan.entries}


def turn(scheduler: Scheduler) -> Plan:
    plan = scheduler.plan()
    assert plan is not None
    scheduler.commit(plan, answer(plan))
    return plan


class TestBudget:
    def test_a_long_prompt_is_cut_into_chunks(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(9))
        scheduler.add(Request("a", prompt(20)))

        assert [shares(turn(scheduler)) for _ in range(3)] == [{"a": 8}, {"a": 8}, {"a": 4}]
        assert scheduler.idle

    def test_who_lacks_one_row_comes_first_though_less_urgent(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(50))
        scheduler.add(Request("answering", prompt(1), max_tokens=9))
        turn(scheduler)
        scheduler.add(Request("urgent", prompt(10, 1), priority=1))

        assert [list(shares(turn(scheduler)).items()) for _ in range(2)] == [
            [("answering", 1), ("urgent", 7)],
            [("answering", 1), ("urgent", 3)],
        ]

    def test_chunks_share_what_is_left_by_urgency(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(50))
        scheduler.add(Request("one", prompt(10, 1)))
        turn(scheduler)
        scheduler.add(Request("two", prompt(9, 2)))

        assert [shares(turn(scheduler)) for _ in range(2)] == [{"one": 2, "two": 6}, {"two": 3}]

    def test_no_more_requests_run_than_allowed(self) -> None:
        scheduler = Scheduler(Limits(token_budget=100, max_running=2), ToyMemory(50))
        for name in "abc":
            scheduler.add(Request(name, prompt(3), max_tokens=5))

        assert shares(scheduler.plan()) == {"a": 3, "b": 3}
        assert scheduler.counts.waiting == 1

    def test_an_old_prompt_gets_through_a_stream_of_short_requests(self) -> None:
        served = engine(limits=Limits(token_budget=4, max_running=4))
        old = served.add(Request("old", prompt(40), max_tokens=3))
        for number in range(100):
            served.add(Request(f"short {number}", prompt(2, number), max_tokens=3))
            served.step()
            if old.state is State.FINISHED:
                break

        assert number < 60
        served.drain(2_000)
        served.check_answers()

    @pytest.mark.parametrize("wrong", [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
    def test_limits_that_allow_nothing_are_refused(self, wrong: tuple[int, int, int]) -> None:
        with pytest.raises(EngineRequestError, match="not possible"):
            Limits(*wrong)


class TestAdmission:
    def test_a_request_that_could_never_have_enough_pages_is_refused_with_numbers_and_remedy(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(2))
        scheduler.add(Request("fits", prompt(30), max_tokens=3))

        with pytest.raises(EngineRequestError, match=r"30 tokens and 4 to generate need 3 pages.*--kv-bytes"):
            scheduler.add(Request("does not", prompt(30), max_tokens=4))
        assert scheduler.counts.waiting == 1

    def test_an_id_is_taken_while_its_request_lives(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(2))
        scheduler.add(Request("a", prompt(3)))

        with pytest.raises(ValueError, match="request a already"):
            scheduler.add(Request("a", prompt(3)))
        turn(scheduler)
        scheduler.add(Request("a", prompt(3)))

    def test_the_urgent_come_first_and_then_the_old(self) -> None:
        scheduler = Scheduler(Limits(token_budget=6, max_running=9), ToyMemory(50))
        for name, priority in [("a", 0), ("b", 1), ("c", 0), ("d", 1)]:
            scheduler.add(Request(name, prompt(2), priority=priority))

        assert list(shares(scheduler.plan())) == ["b", "d", "a"]

    def test_nobody_passes_the_first_who_waits_for_pages(self) -> None:
        scheduler = Scheduler(Limits(token_budget=100, max_running=9), ToyMemory(3))
        for seed, (name, length) in enumerate([("a", 2 * PAGE), ("large", 2 * PAGE), ("small", 1)]):
            scheduler.add(Request(name, prompt(length, seed)))

        assert list(shares(turn(scheduler))) == ["a"]
        assert list(shares(turn(scheduler))) == ["large", "small"]

    def test_nobody_is_admitted_while_a_running_request_lacks_a_page(self) -> None:
        scheduler = Scheduler(Limits(token_budget=100, max_running=9), ToyMemory(3))
        for name in "ab":
            scheduler.add(Request(name, prompt(PAGE), max_tokens=9))
        turn(scheduler)
        scheduler.add(Request("c", prompt(1), priority=1))

        assert shares(turn(scheduler)) == {"a": 1}
        assert scheduler.counts.preemptions == 0


class TestPreemption:
    LIMITS = Limits(token_budget=100, max_running=9)

    def test_the_least_urgent_give_all_pages_back_keep_their_tokens_and_wait_before_the_young(self) -> None:
        scheduler = Scheduler(self.LIMITS, ToyMemory(4))
        low = Request("low", prompt(12, 5), max_tokens=9, priority=-1)
        a, b, c = (Request(name, prompt(14, seed), max_tokens=40) for seed, name in enumerate("abc"))
        for request in (low, a, b, c):
            scheduler.add(request)
        for _ in range(3):
            turn(scheduler)

        assert shares(turn(scheduler)) == {"a": 1, "b": 1}
        assert scheduler.counts.preemptions == 2
        assert [(gone.state, gone.pages, gone.computed, gone.generated) for gone in (low, c)] == (
            [(State.WAITING, [], 0, 3)] * 2
        )

        scheduler.add(Request("late", prompt(2), max_tokens=2))
        scheduler.abort("a")
        scheduler.abort("b")
        assert list(shares(scheduler.plan())) == ["c", "late", "low"]

    def test_who_finds_nobody_less_urgent_waits_with_its_pages(self) -> None:
        scheduler = Scheduler(self.LIMITS, ToyMemory(3))
        first, second = (Request(name, prompt(PAGE, seed), max_tokens=9) for seed, name in enumerate("ab"))
        scheduler.add(first)
        scheduler.add(second)
        turn(scheduler)

        for _ in range(3):
            assert shares(turn(scheduler)) == {"a": 1}
        scheduler.abort("a")
        assert shares(turn(scheduler)) == {"b": 1}
        assert scheduler.counts.preemptions == 0

    @pytest.mark.parametrize("overlap", [False, True])
    def test_preempted_requests_answer_as_if_nothing_had_happened(self, overlap: bool) -> None:
        served = engine(4, self.LIMITS, overlap=overlap)
        for seed in range(8):
            served.add(Request(str(seed), prompt(14, seed), max_tokens=40))

        served.drain(1_000)

        assert served.scheduler.counts.preemptions > 1
        served.check_answers()

    def test_a_preempted_request_finds_what_the_prefix_cache_still_holds(self) -> None:
        scheduler = Scheduler(self.LIMITS, ArenaMemory(4))
        scheduler.add(Request("a", prompt(PAGE), max_tokens=9))
        scheduler.add(Request("b", prompt(2 * PAGE + 1, 1), max_tokens=9))
        turn(scheduler)
        assert shares(turn(scheduler)) == {"a": 1}

        scheduler.abort("a")

        plan = turn(scheduler)
        assert [(entry.request.id, entry.start, entry.count) for entry in plan.entries] == [("b", 2 * PAGE, 2)]

    def test_the_least_urgent_gives_way_to_others_that_share_the_memory(self) -> None:
        scheduler = Scheduler(self.LIMITS, memory := ToyMemory(4))
        for name in "ab":
            scheduler.add(Request(name, prompt(PAGE), max_tokens=9))
        turn(scheduler)

        assert scheduler.give_way()

        assert (scheduler.counts.waiting, scheduler.counts.running, len(memory.free)) == (1, 1, 3)
        assert scheduler.give_way()
        assert not scheduler.give_way()

    def test_who_gave_way_is_not_admitted_before_its_rows_have_landed(self) -> None:
        scheduler = Scheduler(self.LIMITS, ToyMemory(4))
        scheduler.add(request := Request("a", prompt(PAGE), max_tokens=9))
        plan = scheduler.plan()
        assert plan is not None
        scheduler.give_way()

        assert scheduler.plan() is None
        scheduler.commit(plan, answer(plan))
        assert (request.pages, request.generated) == ([], 1)
        assert shares(scheduler.plan()) == {"a": 1}

    def test_pages_of_rows_in_flight_change_hands_only_after_their_pass(self) -> None:
        scheduler = Scheduler(self.LIMITS, memory := ToyMemory(4))
        a, b, young = (Request(f"{length}", prompt(length, 1), max_tokens=9) for length in (15, 14, 17))
        for request in (a, b, young):
            scheduler.add(request)
        first, second = scheduler.plan(), scheduler.plan()
        assert first is not None
        assert second is not None
        scheduler.commit(first, answer(first))

        third = scheduler.plan()
        assert shares(third) == {"14": 1}
        assert (young.state, len(young.pages), memory.free) == (State.WAITING, 2, [])

        scheduler.commit(second, answer(second))
        assert (young.pages, young.generated) == ([], 2)
        assert shares(scheduler.plan())["15"] == 1


class TestAbort:
    LIMITS = Limits(token_budget=100, max_running=9)

    def test_a_waiting_request_is_gone_at_once(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(2))
        scheduler.add(Request("a", prompt(3)))

        scheduler.abort("a")

        assert scheduler.idle
        assert scheduler.plan() is None

    def test_pages_of_a_request_in_flight_stay_until_its_pass_has_ended(self) -> None:
        memory = ToyMemory(4)
        scheduler = Scheduler(LIMITS, memory)
        request = Request("a", prompt(8), max_tokens=3)
        scheduler.add(request)
        plan = scheduler.plan()
        assert plan is not None

        scheduler.abort("a")

        assert len(memory.free) == 3
        assert not scheduler.idle
        scheduler.commit(plan, answer(plan))
        assert scheduler.idle
        assert request.known == prompt(8)
        memory.check(())

    def test_a_row_that_ran_for_a_token_nobody_knows_is_not_remembered(self) -> None:
        scheduler = Scheduler(self.LIMITS, memory := ToyMemory(4))
        scheduler.add(Request("a", prompt(PAGE), max_tokens=3))
        running, ahead = scheduler.plan(), scheduler.plan()
        assert running is not None
        assert ahead is not None

        scheduler.abort("a")
        scheduler.commit(running, answer(running))
        scheduler.commit(ahead, answer(ahead))

        assert [(kept.ids, len(kept.pages)) for kept in memory.kept] == [(tuple(prompt(PAGE)), 1)]

    @pytest.mark.parametrize("times", [1, 2])
    def test_aborting_what_has_ended_or_never_was_changes_nothing(self, times: int) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(2))
        scheduler.add(Request("a", prompt(3)))
        turn(scheduler)

        for _ in range(times):
            scheduler.abort("a")

        assert scheduler.idle


class TestOverlap:
    def test_the_next_pass_is_planned_from_lengths_and_launched_with_the_token(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(4))
        scheduler.add(Request("a", [3, 4], max_tokens=5))
        running = scheduler.plan()
        ahead = scheduler.plan()
        assert running is not None
        assert ahead is not None

        scheduler.commit(running, {"a": Outcome([7])})

        batch = batch_of(scheduler.settled(ahead))
        assert (ahead.ahead, batch.ids.tolist(), batch.positions.tolist()) == (True, [7], [2])

    def test_no_row_follows_the_last_token(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(4))
        scheduler.add(Request("a", [3, 4], max_tokens=1))
        scheduler.plan()

        assert scheduler.plan() is None

    def test_under_load_nine_of_ten_passes_are_planned_while_another_runs(self) -> None:
        served = engine(limits=Limits(token_budget=16, max_running=4), overlap=True)
        for number in range(10):
            served.add(Request(str(number), prompt(9 + number, number), max_tokens=20))

        served.drain(1_000)

        assert sum(plan.ahead for plan in served.plans) >= 0.9 * len(served.plans)
        served.check_answers()

    def test_a_request_that_ends_may_stand_in_the_next_plan_and_its_row_there_counts_for_nothing(self) -> None:
        scheduler = Scheduler(LIMITS, ToyMemory(4))
        ended, goes_on = Request("a", [3, 4], max_tokens=5), Request("b", [5], max_tokens=5)
        scheduler.add(ended)
        scheduler.add(goes_on)
        running, ahead = scheduler.plan(), scheduler.plan()
        assert running is not None
        assert ahead is not None

        scheduler.commit(running, {"a": Outcome([7], finished=True), "b": Outcome([6])})
        assert shares(ahead) == {"a": 1, "b": 1}
        scheduler.commit(ahead, {"b": Outcome([2])})

        assert (ended.known, ended.pages, ended.state) == ([3, 4, 7], [], State.FINISHED)
        assert goes_on.known == [5, 6, 2]

    def test_two_plans_may_be_in_flight_and_are_committed_in_order(self) -> None:
        scheduler = Scheduler(Limits(token_budget=1, max_running=1), ToyMemory(4))
        scheduler.add(Request("a", prompt(9)))
        first, second = scheduler.plan(), scheduler.plan()
        assert first is not None
        assert second is not None

        with pytest.raises(ValueError, match="Two plans"):
            scheduler.plan()
        with pytest.raises(ValueError, match="in the order"):
            scheduler.commit(second, {})
        scheduler.commit(first, {})
        with pytest.raises(ValueError, match="once each"):
            scheduler.commit(first, {})


class TestDrafts:
    LIMITS = Limits(token_budget=8, max_running=4, max_drafted=3)

    def verifying(self, **more: int) -> tuple[Scheduler, Request, Plan]:
        """A request whose first pass goes on from one token."""
        scheduler = Scheduler(self.LIMITS, ToyMemory(9))
        scheduler.add(request := Request("a", [3], **{"max_tokens": 9, **more}))
        request.pace = Pace(3)
        plan = scheduler.plan()
        assert plan is not None
        return scheduler, request, plan

    def test_the_last_known_row_and_those_of_the_drafts_are_read(self) -> None:
        _, _, plan = self.verifying()

        verified = plan.with_drafts({"a": [5, 6, 7]})

        (entry,), batch = verified.entries, batch_of(verified)
        assert batch.ids.tolist() == [3, 5, 6, 7]
        assert [entry.reason(row) for row in entry.reads] == [Reason.SAMPLE] + [Reason.VERIFY] * 3
        assert list(entry.reads) == batch.read.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("tokens", [[8], [5, 8], [5, 6, 8], [5, 6, 7, 8]])
    def test_accepted_tokens_count_as_computed_but_for_the_last(self, tokens: list[int]) -> None:
        scheduler, request, plan = self.verifying()

        scheduler.commit(plan, {"a": Outcome(tokens, drafted=3)})

        assert request.known == [3, *tokens]
        assert request.computed == len(request.known) - 1
        assert request.remaining == 1
        assert (scheduler.counts.drafted_tokens, scheduler.counts.accepted_tokens) == (3, len(tokens) - 1)

    @pytest.mark.parametrize(
        "outcome",
        [Outcome(), Outcome([5, 6], drafted=0), Outcome([5, 6, 7, 8, 1], drafted=4)],
        ids=["none", "more than drafted", "more than there was room for"],
    )
    def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing(self, outcome: Outcome) -> None:
        scheduler, request, plan = self.verifying()

        with pytest.raises(ValueError, match="Request a got"):
            scheduler.commit(plan, {"a": outcome})
        scheduler.commit(plan, {"a": Outcome([5])})
        assert request.known == [3, 5]

    def test_drafts_get_what_the_budget_leaves_and_one_row_less_than_may_follow(self) -> None:
        scheduler = Scheduler(self.LIMITS, ToyMemory(9))
        for name, most in [("a", 4), ("b", 9), ("c", 9)]:
            scheduler.add(request := Request(name, [3], max_tokens=most))
            request.pace = Pace(99)

        plan = scheduler.plan()

        assert plan is not None
        assert [entry.drafts for entry in plan.entries] == [2, 3, 0]

    def test_drafts_take_no_pages_from_others(self) -> None:
        scheduler = Scheduler(Limits(token_budget=60, max_running=2, max_drafted=9), ToyMemory(2))
        scheduler.add(long := Request("a", prompt(PAGE - 3), max_tokens=12))
        scheduler.add(short := Request("b", prompt(3), max_tokens=12))
        turn(scheduler)
        long.pace = short.pace = Pace(99)

        plan = scheduler.plan()

        assert plan is not None
        assert [entry.drafts for entry in plan.entries] == [2, 9]
        assert scheduler.counts.preemptions == 0

    def test_a_request_may_ask_for_none_and_none_follow_a_chunk_or_a_score(self) -> None:
        scheduler = Scheduler(Limits(token_budget=9, max_running=4, max_drafted=9), ToyMemory(9))
        scheduler.add(Request("none", [3], max_tokens=9, drafts=False))
        scheduler.add(Request("chunk", [3, 4], max_tokens=9))
        scheduler.add(Request("score", [3]))

        plan = scheduler.plan()

        assert plan is not None
        assert [entry.drafts for entry in plan.entries] == [0, 0, 0]

    @pytest.mark.parametrize(("tokens", "start"), [([8], 1), ([5, 8], 2), ([5, 6, 7, 8], 4)])
    def test_the_next_pass_is_planned_while_drafts_are_verified(self, tokens: list[int], start: int) -> None:
        scheduler, request, plan = self.verifying()
        ahead = scheduler.plan()
        assert ahead is not None
        assert request.broken_rules() == []

        scheduler.commit(plan, {"a": Outcome(tokens, drafted=3)})
        settled = scheduler.settled(ahead)

        assert (ahead.ahead, settled.entries[0].start, settled.entries[0].ids()) == (True, start, [8])
        scheduler.commit(settled, {"a": Outcome([1])})
        assert (request.known, request.computed) == ([3, *tokens, 1], start + 1)

    def test_a_plan_is_settled_when_it_alone_is_in_flight_and_before_it_is_committed(self) -> None:
        scheduler, _, plan = self.verifying()
        ahead = scheduler.plan()
        assert ahead is not None

        with pytest.raises(ValueError, match="alone"):
            scheduler.settled(ahead)
        scheduler.commit(plan, {"a": Outcome([8], drafted=3)})
        with pytest.raises(ValueError, match="not settled"):
            scheduler.commit(ahead, {"a": Outcome([1])})

    def test_a_request_that_ends_while_the_next_pass_is_planned_leaves_nothing_behind(self) -> None:
        scheduler, request, plan = self.verifying()
        ahead = scheduler.plan()
        assert ahead is not None

        scheduler.commit(plan, {"a": Outcome([5, 8], finished=True, drafted=3)})
        scheduler.commit(scheduler.settled(ahead), {})

        assert (request.known, request.pages, scheduler.idle) == ([3, 5, 8], [], True)

    def test_the_fewer_drafts_prove_right_the_fewer_there_are(self) -> None:
        scheduler, request, plan = self.verifying(max_tokens=99)
        drafts = []
        for _ in range(14):
            drafts.append(plan.entries[0].drafts)
            scheduler.commit(plan, {"a": Outcome([8], drafted=drafts[-1])})
            plan = scheduler.plan()  # type: ignore[assignment]

        assert drafts == [3, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]
        assert request.generated == 14

    @pytest.mark.parametrize("skill", [0, 1])
    def test_a_drafter_changes_only_how_many_passes_there_are(self, skill: float) -> None:
        served = ToyEngine(ToyMemory(9), self.LIMITS, drafts=drafter(skill, seed=2))
        served.add(Request("a", prompt(8, 1), max_tokens=24))

        served.drain(100)

        served.check_answers()
        tokens = served.requests["a"].generated
        assert (len(served.plans) < tokens / 2) == (skill == 1)

    @pytest.mark.parametrize("skill", [0, 0.7, 1])
    def test_under_load_nine_of_ten_passes_are_planned_while_drafts_are_verified(self, skill: float) -> None:
        limits = Limits(token_budget=32, max_running=4, max_drafted=5)
        served = ToyEngine(ToyMemory(50), limits, overlap=True, drafts=drafter(skill, seed=2))
        for number in range(10):
            served.add(Request(str(number), prompt(9 + number, number), max_tokens=30))

        served.drain(1_000)

        assert sum(plan.ahead for plan in served.plans) >= 0.9 * len(served.plans)
        served.check_answers()


class TestPrefixCache:
    def test_a_scoring_request_runs_every_row_that_it_wants_read(self) -> None:
        served = engine(limits=Limits(token_budget=99, max_running=4))
        for name, start in [("all", 0), ("from 30", 30), ("last", 40)]:
            served.add(Request(name, prompt(40), start=start))
            served.drain(9)

        assert [plan.entries[0].start for plan in served.plans] == [0, 29, 39]
        served.check_answers()

    def test_the_last_token_is_always_run(self) -> None:
        served = engine(limits=Limits(token_budget=99, max_running=4))
        for name in "ab":
            served.add(Request(name, prompt(2 * PAGE), max_tokens=2))
            served.drain(9)

        assert shares(served.plans[2]) == {"b": 1}
        served.check_answers()

    def test_a_running_request_shares_its_prompt(self) -> None:
        served = engine(limits=Limits(token_budget=99, max_running=4))
        served.add(Request("a", prompt(2 * PAGE), max_tokens=40))
        served.step()
        served.step()
        served.add(Request("b", [*prompt(2 * PAGE), 1], max_tokens=2))
        served.step()

        assert shares(served.plans[-1]) == {"a": 1, "b": 1}
        served.drain(99)
        served.check_answers()

    def test_a_hit_that_ends_inside_a_page_is_continued_in_a_copy(self) -> None:
        served = engine(limits=Limits(token_budget=99, max_running=4))
        served.add(Request("a", prompt(20)))
        served.drain(9)
        served.add(Request("b", [*prompt(20)[:18], 7, 7]))
        served.step()

        (source, target), pages = served.plans[-1].copies[0], served.plans[-1].entries[0].pages
        assert (pages[1], served.plans[-1].borrowed) == (target, (source,))
        assert served.memory.kept[0].pages == (pages[0], source)  # type: ignore[attr-defined]
        served.drain(9)
        served.check_answers()

    def test_a_hit_whose_copy_has_no_room_ends_with_its_last_whole_page(self) -> None:
        served = engine(2, Limits(token_budget=99, max_running=4))
        served.add(Request("a", prompt(32)))
        served.drain(9)
        served.add(Request("b", [*prompt(32)[:28], 7, 7, 7, 7]))
        served.step()

        assert (served.plans[-1].copies, served.plans[-1].entries[0].start) == ((), PAGE)
        served.drain(9)
        served.check_answers()


class TestDeferral:
    LIMITS = Limits(token_budget=40, max_running=9)

    def test_prompts_that_come_together_and_are_one_are_computed_once(self) -> None:
        served = engine(limits=self.LIMITS)
        for number in range(5):
            served.add(Request(str(number), prompt(120), max_tokens=9))

        served.drain(99)

        served.check_answers()
        together = dict.fromkeys("01234", 1)
        assert [shares(plan) for plan in served.plans[:4]] == [{"0": 40}, {"0": 40}, {"0": 40}, together]

    def test_who_has_another_prompt_does_not_wait(self) -> None:
        scheduler = Scheduler(Limits(token_budget=99, max_running=9), ToyMemory(50))
        for name, seed in [("a", 0), ("same", 0), ("other", 1)]:
            scheduler.add(Request(name, prompt(40, seed), max_tokens=2))

        assert shares(turn(scheduler)) == {"a": 40, "other": 40}
        assert shares(turn(scheduler)) == {"a": 1, "other": 1, "same": 1}

    def test_a_common_beginning_is_shared_before_the_whole_prompt_is_computed(self) -> None:
        scheduler = Scheduler(self.LIMITS, ToyMemory(50))
        scheduler.add(Request("a", [*prompt(80), *[1] * 50], max_tokens=2))
        scheduler.add(Request("b", [*prompt(80), *[2] * 9], max_tokens=2))

        assert [shares(turn(scheduler)) for _ in range(4)] == [{"a": 40}] * 3 + [{"a": 10, "b": 9}]

    def test_nobody_waits_for_one_that_runs_no_longer(self) -> None:
        for gone in (lambda scheduler: scheduler.abort("a"), lambda scheduler: scheduler.give_way()):
            scheduler = Scheduler(self.LIMITS, ToyMemory(50))
            for name in "ab":
                scheduler.add(Request(name, prompt(90), max_tokens=2))
            assert shares(turn(scheduler)) == {"a": 40}

            gone(scheduler)

            assert list(shares(scheduler.plan()).values()) == [40]

    @pytest.mark.parametrize(
        "other",
        [
            Request("b", prompt(60), priority=1),
            Request("b", prompt(60), start=0),
            Request("b", prompt(20)),
            Request("b", [*prompt(20), *[1] * 40]),
        ],
        ids=["more urgent", "wants all rows", "short", "soon another"],
    )
    def test_nobody_waits_in_vain(self, other: Request) -> None:
        scheduler = Scheduler(Limits(token_budget=40, max_running=9), ToyMemory(50))
        scheduler.add(Request("a", prompt(60)))
        turn(scheduler)
        other.state, other.arrival = State.WAITING, -1

        scheduler.add(other)

        assert "b" in shares(scheduler.plan())


class TestFailure:
    def test_requests_of_a_pass_that_broke_off_end_and_leave_nothing_behind(self) -> None:
        memory = ToyMemory(9)
        scheduler = Scheduler(Limits(token_budget=8, max_running=4), memory)
        broken, waits = Request("a", prompt(12), max_tokens=3), Request("b", prompt(5, 1), max_tokens=3)
        scheduler.add(broken)
        scheduler.add(waits)
        running, ahead = scheduler.plan(), scheduler.plan()
        assert running is not None
        assert ahead is not None
        assert shares(ahead) == {"a": 4, "b": 4}

        assert scheduler.fail(running) == [broken]
        scheduler.commit(ahead, {})

        assert broken.state is State.FINISHED
        assert shares(scheduler.plan()) == {"b": 1}
        assert [kept.ids for kept in memory.kept] == [tuple(prompt(4, 1))]
        memory.check(waits.pages)

    def test_a_page_that_was_not_copied_is_not_remembered(self) -> None:
        scheduler = Scheduler(Limits(token_budget=99, max_running=4), memory := ToyMemory(3))
        scheduler.add(Request("a", prompt(20)))
        turn(scheduler)
        scheduler.add(Request("b", [*prompt(20)[:18], 7, 7]))
        scheduler.add(Request("too much", prompt(1, 1)))
        plan = scheduler.plan()
        assert plan is not None
        assert plan.copies
        assert not memory.kept

        scheduler.fail(plan)

        assert not memory.kept


def test_the_same_requests_give_the_same_plans() -> None:
    def plans() -> list[list[tuple[str, int, int]]]:
        served = engine(6, Limits(token_budget=12, max_running=3), overlap=True)
        for number in range(9):
            served.add(Request(f"{number}", prompt(4 + number, number), max_tokens=20, priority=number % 2))
        served.drain(999)
        return [[(entry.request.id, entry.start, entry.count) for entry in plan.entries] for plan in served.plans]

    assert plans() == plans()
