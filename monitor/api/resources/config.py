"""The configuration as a whole: what is in effect, whether a document would be valid, and applying one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from monitor import clock
from monitor.api.needs import READS, REPEATABLE, WRITES_CONFIG, Sender, State, problems
from monitor.api.shapes import Shape
from monitor.config.document import DocumentError, parse_document
from monitor.config.load import Inspected, inspect_document
from monitor.config.objects import Change, document_data, objects_of
from monitor.config.problems import Problem
from monitor.errors import ConfigError, Finding, RequestError
from monitor.redaction import redact_known

router = APIRouter(prefix="/config", tags=["configuration"])

# Where the objects of a document that was sent here say that they come from.
SENT = Path("/api/v1/config:apply")

_DOCUMENT = {
    "requestBody": {
        "required": True,
        "description": "The document of docs/configuration.md",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/yaml": {"schema": {"type": "string"}},
        },
    }
}


class EffectiveConfig(Shape):
    """`document` is what all enabled objects say together; secrets are references."""

    document: dict[str, Any]


class ProblemOfConfig(Shape):
    line: int | None
    key: str
    message: str


class Validation(Shape):
    valid: bool
    problems: list[ProblemOfConfig]


class ChangedObject(Shape):
    kind: str
    slug: str
    keys: list[str] = Field(description="the keys that differ")


class RenamedObject(ChangedObject):
    renamed_from: str


class ConfigPlan(Shape):
    dry_run: bool
    create: list[ChangedObject]
    rename: list[RenamedObject]
    update: list[ChangedObject]
    disable: list[ChangedObject]
    unchanged: int


@router.get("", dependencies=[READS], responses=problems())
def show_config(state: State) -> EffectiveConfig:
    """What is in effect now."""
    return EffectiveConfig(document=_redacted(document_data(state.config.all())))


@router.post(":validate", dependencies=[WRITES_CONFIG], responses=problems(400, 413), openapi_extra=_DOCUMENT)
async def validate_config(request: Request) -> Validation:
    """Check a document by itself; nothing is changed."""
    inspected = await _inspected(request)
    found = [ProblemOfConfig.model_validate(problem) for problem in inspected.problems]
    return Validation(valid=inspected.config is not None, problems=found)


@router.post(
    ":apply", dependencies=[WRITES_CONFIG, REPEATABLE], responses=problems(400, 409, 413), openapi_extra=_DOCUMENT
)
async def apply_config(
    request: Request,
    state: State,
    sender: Sender,
    dry_run: Annotated[bool, Query(description="say what would be done, and do nothing")] = False,
) -> ConfigPlan:
    """Make a document's objects the ones that count, in one transaction, as `monitor config apply` does with a file:
    objects that an earlier document named and this one does not are disabled."""
    inspected = await _inspected(request)
    if inspected.config is None:
        raise _refused(inspected.problems)
    wanted = objects_of(inspected.config)
    do = state.config.rehearse if dry_run else state.config.apply
    made = await run_in_threadpool(do, wanted, actor=sender.name, at=clock.now())
    return ConfigPlan(
        dry_run=dry_run,
        create=_changed(made.create),
        rename=[
            RenamedObject(
                kind=each.kind.value, slug=each.slug, keys=list(each.keys), renamed_from=each.renamed_from or ""
            )
            for each in made.rename
        ],
        update=_changed(made.update),
        disable=_changed(made.disable),
        unchanged=len(made.unchanged),
    )


async def _inspected(request: Request) -> Inspected:
    raw = await request.body()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RequestError(
            "The document is not UTF-8 text.", findings=[Finding("/body", "encoding", "is not UTF-8")]
        ) from None
    return await run_in_threadpool(_inspect, text)


def _inspect(text: str) -> Inspected:
    try:
        document = parse_document(text)
    except DocumentError as error:
        return Inspected(None, error.problems)
    return inspect_document(document, SENT)


def _refused(found: tuple[Problem, ...]) -> ConfigError:
    lines = [problem.located(Path("document")) for problem in found[:50]]
    return ConfigError("\n".join([f"The document has {len(found)} problems:", *lines]))


def _changed(changes: tuple[Change, ...]) -> list[ChangedObject]:
    return [ChangedObject(kind=each.kind.value, slug=each.slug, keys=list(each.keys)) for each in changes]


def _redacted(value: Any) -> Any:
    match value:
        case str():
            return redact_known(value)
        case dict():
            return {key: _redacted(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_redacted(inner) for inner in value]
    return value
