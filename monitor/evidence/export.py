"""Packs what a run can prove into one bundle: the smallest failing samples of each class, and how to see them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from monitor.check.reference import OpenReference, open_reference
from monitor.errors import UsageError
from monitor.evidence.archive import written
from monitor.evidence.choice import Choice, choose, request_bytes
from monitor.evidence.classes import Classify, failing_classes
from monitor.evidence.documents import (
    answer_document,
    answer_file,
    run_document,
    sample_document,
    stats_document,
    to_json,
)
from monitor.evidence.reference import ask_reference
from monitor.evidence.report import report
from monitor.evidence.reproduction import BODY, reproduction
from monitor.evidence.subject import Subject, scrubber
from monitor.store.whole_samples import WholeSample, WholeSamples
from reference_engine.errors import CodedError

Add = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much of a run goes into a bundle."""

    per_class: int = 3
    reference: bool = True
    reveal_private: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """`files` without the manifest; `left_out` says in words what is not there, and why."""

    root: str
    files: int
    choice: Choice
    left_out: tuple[str, ...]


def export(
    subject: Subject, samples: WholeSamples, target: Path, wanted: Wanted, classify: Classify = failing_classes
) -> Exported:
    """Write the bundle of a run to `target`. The same run makes the same bytes. Raises UsageError where there is
    something at `target`, or nothing can be."""
    scrub = scrubber(subject)
    with written(target) as writer, ExitStack() as stack:
        choice = choose(samples.of_run(subject.run.id), wanted.per_class, classify)
        packing = _Packing(subject, wanted, choice, classify, lambda path, content: writer.add(path, scrub(content)))
        reference, reason = _reference(subject, wanted) if packing.holds_requests else (None, "")
        if reference is not None:
            stack.enter_context(reference)
        for sample in samples.of_ids(choice.ids):
            packing.add_sample(sample, reference)
        left_out = packing.finish(reason)
    return Exported(writer.root, writer.files, choice, left_out)


class _Packing:
    """Adds the files of one bundle, sample by sample, and remembers what is not there."""

    def __init__(self, subject: Subject, wanted: Wanted, choice: Choice, classify: Classify, add: Add) -> None:
        self._subject = subject
        self._wanted = wanted
        self._choice = choice
        self._classify = classify
        self._add = add
        self._places = {sample_id: f"samples/{place:03}" for place, sample_id in enumerate(choice.ids, start=1)}
        self._cut = 0

    @property
    def private(self) -> bool:
        return self._subject.private and not self._wanted.reveal_private

    @property
    def holds_requests(self) -> bool:
        return bool(self._choice.ids) and not self.private

    def add_sample(self, sample: WholeSample, reference: OpenReference | None) -> None:
        exchange = sample.exchange
        if exchange is None:
            raise UsageError("Requests and answers of the run were deleted meanwhile.", remedy="Run the command again.")
        folder = self._places[sample.facts.id]
        asked = reproduction(self._subject.endpoint.base_url, self._subject.config, exchange.request)
        document = sample_document(sample.facts, self._classify(sample.facts), exchange, asked, private=self.private)
        self._add(f"{folder}/sample.json", to_json(document))
        if self.private:
            return
        self._add(f"{folder}/{BODY}", request_bytes(exchange))
        self._add(f"{folder}/curl.sh", asked.script.encode())
        for place, answer in enumerate(exchange.answers, start=1):
            if answer.body:
                self._add(f"{folder}/{answer_file(place)}", answer.body)
            self._cut += not answer.whole
        understood = answer_document(exchange)
        if understood is not None:
            self._add(f"{folder}/answer.json", to_json(understood))
        if reference is not None:
            self._add(f"{folder}/reference.json", to_json(ask_reference(reference, exchange.request)))

    def finish(self, without_reference: str) -> tuple[str, ...]:
        """Add what tells of the whole; what was left out, the reference for the reason given."""
        left_out = tuple(self._left_out(without_reference))
        about = (self._subject, self._choice, self._places, left_out)
        self._add("run.json", to_json(run_document(self._subject)))
        self._add("stats.json", to_json(stats_document(*about)))
        self._add("report.txt", report(*about))
        return left_out

    def _left_out(self, without_reference: str) -> Iterator[str]:
        if self._choice.gone:
            yield f"{self._choice.gone} failing samples whose requests and answers are deleted by now"
        if self.private and self._choice.ids:
            yield (
                f"requests and answers of {len(self._choice.ids)} samples, whose items are private "
                "(--reveal-private puts them in)"
            )
        if self._cut:
            yield f"the ends of {self._cut} answers, which were too long to be kept"
        if without_reference:
            yield f"the reference's answers: {without_reference}"


def _reference(subject: Subject, wanted: Wanted) -> tuple[OpenReference | None, str]:
    """The endpoint's reference, or why there is none to be asked."""
    config = None if subject.config is None else subject.config.reference
    if not wanted.reference:
        return None, "not wanted (--no-reference)"
    if config is None:
        return None, "none is configured"
    if config.endpoint is not None:
        return None, "it is another endpoint, which only a check asks"
    try:
        return open_reference(config), ""
    except CodedError as error:
        # The message names files of this machine.
        return None, f"it cannot be opened ({error.code})"
