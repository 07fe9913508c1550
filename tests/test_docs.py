"""The documentation names everything there is, and nothing that is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel
from typer.main import get_command

from monitor import streams_document, verdict
from monitor.alerts.events import EventKind
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.states import AlertState
from monitor.cli import app as monitor_app
from monitor.config import inspect_config
from monitor.config.schema import ConfigFile
from monitor.deliveries.notice import NoticeType, Reason
from monitor.settings import PREFIX, Settings
from probes.quirks import Quirk
from reference_engine import PROFILES
from reference_engine.cli import app as engine_app

DOCS = Path(__file__).parent.parent / "docs"
CODE = re.compile(r"`([^`]+)`")
# How the page marks a section that may be there several times.
COLLECTIONS: dict[Any, str] = {tuple: "[]", dict: ".SLUG"}


def sections(page: str) -> dict[str, str]:
    """The text under each heading, up to the next heading of any level."""
    found = {}
    for part in re.split(r"^#+ ", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE):
        heading, _, text = part.partition("\n")
        found[heading.strip("`")] = text
    return found


def rows(text: str) -> list[list[str]]:
    """The cells of each table row that begins with code."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def named(text: str) -> list[str]:
    """What the first column of a section's tables names."""
    return [word for first, *_ in rows(text) for word in CODE.findall(first)]


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]


def config_sections(section: type[BaseModel], place: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Each section of the configuration with its place as the page writes it: `models.SLUG.reference`."""
    yield place or "Top level", section
    for key, field in section.model_fields.items():
        inner = f"{place}.{key}".lstrip(".") + COLLECTIONS.get(get_origin(field.annotation), "")
        for found in models_in(field.annotation):
            yield from config_sections(found, inner)


# A section that may stand in two places is described once, where it comes first.
CONFIG_SECTIONS = {section: place for place, section in reversed(list(config_sections(ConfigFile)))}


@pytest.mark.parametrize("section", CONFIG_SECTIONS, ids=CONFIG_SECTIONS.values())
def test_every_key_of_the_configuration_is_described_with_its_default(section: type[BaseModel]) -> None:
    text = sections("configuration.md")[CONFIG_SECTIONS[section]]
    described = {key.strip("`"): default.strip("`") for key, _, default, _ in rows(text)}

    assert list(described) == list(section.model_fields)
    for key, field in section.model_fields.items():
        if field.is_required():
            assert described[key] == "required"
        else:
            assert yaml.safe_load(described[key]) == in_yaml(field.get_default(call_default_factory=True))


def in_yaml(default: Any) -> Any:
    if isinstance(default, BaseModel):
        return default.model_dump(exclude_defaults=True)
    return list(default) if isinstance(default, tuple) else default


def test_every_environment_variable_is_described() -> None:
    described = named(sections("configuration.md")["Environment"])
    assert described == [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]


def test_the_example_with_everything_is_valid_and_has_every_key(tmp_path: Path) -> None:
    example = sections("configuration.md")["An example with everything"].split("```yaml\n")[1].split("```")[0]
    file = tmp_path / "providers.yaml"
    file.write_text(example)

    assert inspect_config(file).problems == ()
    keys = {key for section in CONFIG_SECTIONS for key in section.model_fields}
    assert {key for key in keys if f"{key}:" not in example} == set()


def options_of(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the options and arguments that its help shows."""
    entries = getattr(command, "entries", ())
    within = {entry.name: entry.load() for entry in entries} or dict(getattr(command, "commands", {}))
    for inner, found in within.items():
        yield from options_of(found, f"{name} {inner}")
    if not within:
        yield name, [word for parameter in command.params for word in shown(parameter)]


def shown(parameter: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [parameter.name.upper()]
    return [*parameter.opts, *parameter.secondary_opts]


MONITOR_COMMANDS = dict(options_of(get_command(monitor_app), "monitor"))
ENGINE_COMMANDS = dict(options_of(get_command(engine_app), "reference-engine"))


@pytest.mark.parametrize("command", MONITOR_COMMANDS)
def test_every_option_of_monitor_is_described(command: str) -> None:
    assert named(sections("commands.md")[command]) == MONITOR_COMMANDS[command]


@pytest.mark.parametrize("command", ENGINE_COMMANDS)
def test_every_option_of_the_reference_engine_is_described(command: str) -> None:
    text = sections("reference-engine.md")[command]
    described = [word for word in named(text) if word.startswith("--")]
    assert described == [word for word in ENGINE_COMMANDS[command] if word.startswith("--")]
    assert [word for word in ENGINE_COMMANDS[command] if f"`{word}`" not in text] == []


def test_every_heading_of_a_command_names_one() -> None:
    headings = [heading for page in ("commands.md", "reference-engine.md") for heading in sections(page)]
    commands = {heading for heading in headings if heading.startswith(("monitor ", "reference-engine "))}
    assert commands == {*MONITOR_COMMANDS, *ENGINE_COMMANDS}


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("The document", verdict.VerdictDocument),
        ("checks[]", verdict.Check),
        ("checks[].telling[]", verdict.Telling),
        ("latency[]", verdict.LatencyValue),
        ("latency_moves[]", verdict.LatencyMoveValue),
        ("load", verdict.LoadStatement),
        ("rates[]", verdict.RateValue),
        ("variants[]", verdict.VariantRates),
        ("loops[]", verdict.LoopValue),
        ("parameters[]", verdict.ParameterValue),
        ("protocol", verdict.ProtocolStatement),
        ("fidelity", verdict.FidelityStatement),
        ("cost", verdict.Cost),
    ],
)
def test_every_field_of_the_verdict_is_described(heading: str, model: type[BaseModel]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert set(named(sections("commands.md")[heading])) == fields


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("A document of streams", streams_document.StreamsDocument),
        ("epoch", streams_document.EpochStatement),
        ("promise", streams_document.PromiseStatement),
        ("streams[]", streams_document.StreamStatement),
        ("levels", streams_document.LevelsStatement),
        ("last", streams_document.LastEvidence),
        ("onset", streams_document.OnsetStatement),
        ("escalation", streams_document.EscalationStatement),
        ("events[]", streams_document.EventStatement),
    ],
)
def test_every_field_of_the_streams_is_described(heading: str, model: type[BaseModel]) -> None:
    assert set(named(sections("commands.md")[heading])) == set(model.model_fields)


def test_every_state_and_event_of_an_alert_and_every_built_in_rule_is_described() -> None:
    text = sections("alerts.md")
    assert set(named(text["States"])) == set(AlertState)
    assert set(named(text["Events"])) == set(EventKind)
    assert named(text["Rules"]) == [rule.id for rule in BUILT_IN]


def test_every_type_of_message_is_described() -> None:
    headings = sections("webhooks.md")
    types = [kind.value for kind in NoticeType]
    assert [heading for heading in headings if heading in types] == types
    reasons = headings[NoticeType.FIRING.value]
    of_alerts = set(Reason) - {Reason.EVENT, Reason.TEST}
    assert {reason for reason in of_alerts if f"`{reason}`" not in reasons} == set()


def test_every_profile_is_described() -> None:
    assert named(sections("reference-engine.md")["Profiles"]) == list(PROFILES)


def test_every_quirk_is_described_with_its_standing() -> None:
    tables = [row for heading, text in sections("quirks.md").items() if heading != "Quirks" for row in rows(text)]
    described = {name.strip("`"): standing for name, standing, _ in tables}
    assert described == {quirk.value: quirk.disposition.value for quirk in Quirk}


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_link_within_the_documentation_leads_somewhere(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (DOCS / target.partition("#")[0]).exists()] == []
