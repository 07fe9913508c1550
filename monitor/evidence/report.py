"""The first page of a bundle, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.evidence.choice import Choice
from monitor.evidence.subject import Subject
from monitor.redaction import safe_text


def report(subject: Subject, choice: Choice, places: Mapping[int, str], left_out: Sequence[str]) -> bytes:
    run, endpoint = subject.run, subject.endpoint
    lines = [
        f"Evidence of run {run.id}",
        "",
        f"endpoint   {endpoint.provider} / {endpoint.model}, served as {endpoint.served_name} at {endpoint.base_url}",
        f"probe      {run.probe.value}, suite {run.suite_version}; {run.status.value}",
        f"time       {run.started_at:%Y-%m-%d %H:%M:%S} UTC to {run.finished_at or run.started_at:%H:%M:%S} UTC",
        f"requests   {run.planned} planned, {choice.samples} made, {choice.failed} failed",
        "",
        *_classes(choice, places),
        *_checks(subject),
    ]
    if left_out:
        lines += ["Left out", "", *(f"- {line}" for line in left_out), ""]
    lines += [
        "Each sample's folder holds the request as it was sent (request.json), a command that sends it again",
        "(curl.sh), each answer as it came (answer-1.raw), the last one as it was understood (answer.json), what the",
        "reference answers (reference.json), and what is wrong (sample.json). manifest.json binds every file to one",
        "root: `monitor evidence verify FILE --root ROOT` checks it.",
        "",
    ]
    return safe_text("\n".join(lines)).encode()


def _classes(choice: Choice, places: Mapping[int, str]) -> list[str]:
    if not choice.classes:
        return ["No request failed.", ""]
    lines = ["What failed", ""]
    for chosen in choice.classes:
        shown = ", ".join(places[sample_id] for sample_id in chosen.ids) or "none: bodies are deleted by now"
        lines += [
            f"- {chosen.failing.name} ({chosen.count} of {choice.samples}): {chosen.failing.words}",
            f"  see {shown}",
        ]
    return [*lines, ""]


def _checks(subject: Subject) -> list[str]:
    if not subject.evidence:
        return []
    told = [
        f"- {found.metric}: {found.verdict.value}" + (f" ({found.reason})" if found.reason else "")
        for found in subject.evidence
    ]
    return ["What the run was found to be (numbers: stats.json)", "", *told, ""]
