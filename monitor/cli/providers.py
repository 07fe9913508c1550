"""`monitor providers`: which providers are configured, with which settings, and whether they answer."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from monitor.cli.output import describe_error, print_error, print_json, print_table, stdout_console
from monitor.config import load_config
from monitor.config.presence import secret_problem, secrets_of
from monitor.redaction import redact_known, safe_text
from monitor.settings import load_settings

if TYPE_CHECKING:
    from monitor.config import Config, EndpointConfig, Provider
    from monitor.provider_check import EndpointCheck

LIST_SCHEMA = "monitor.providers/1"
CHECK_SCHEMA = "monitor.provider_check/1"
SHOW_SCHEMA = "monitor.provider/1"

app = typer.Typer(no_args_is_help=True, help="List, show and check the configured providers.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Slug = Annotated[str, typer.Argument(help="The provider's slug in the configuration file.")]


@app.command("list")
def list_providers(as_json: AsJson = False) -> None:
    """List the configured providers and whether their keys are there."""
    found = load_config(load_settings().config).file.providers
    if as_json:
        print_json({"schema": LIST_SCHEMA, "providers": [_overview(provider) for provider in found]})
        return
    rows = [(p.slug, p.base_url, ", ".join(_models(p)), _keys(p)) for p in found]
    print_table(("provider", "base_url", "models", "key"), rows)


@app.command()
def show(slug: Slug, as_json: AsJson = False) -> None:
    """Show a provider's settings as they take effect, defaults filled in; keys only by their references."""
    document = _redacted(_settings(load_config(load_settings().config), slug))
    if as_json:
        print_json({"schema": SHOW_SCHEMA, "provider": document})
        return
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    stdout_console().out(safe_text(text), end="")


@app.command()
def check(slug: Slug, as_json: AsJson = False) -> None:
    """Send each of a provider's endpoints one request of one token: reachable, key accepted, model served?"""
    endpoints = load_config(load_settings().config).endpoints(slug)
    # The HTTP client is for this command only; listing and showing do without it.
    from monitor.provider_check import check_endpoints

    checks = asyncio.run(check_endpoints(endpoints))
    if as_json:
        print_json({"schema": CHECK_SCHEMA, "provider": slug, "endpoints": [_checked(check) for check in checks]})
    else:
        columns = ("model", "served as", "answers", "in /models", "seconds", "logprobs")
        print_table(columns, [_check_row(check) for check in checks])
    errors = [check.error for check in checks if check.error is not None]
    if errors and not as_json:
        for error in errors[1:]:
            print_error(describe_error(error))
        raise errors[0]
    raise typer.Exit(errors[0].exit_code if errors else 0)


def _overview(provider: Provider) -> dict[str, Any]:
    return {
        "slug": provider.slug,
        "name": provider.name,
        "base_url": provider.base_url,
        "models": _models(provider),
        "secrets": _secrets(provider),
    }


def _models(provider: Provider) -> list[str]:
    return list(dict.fromkeys(entry.model for entry in provider.models))


def _secrets(provider: Provider) -> list[dict[str, Any]]:
    return [
        {"key": ".".join(map(str, key)), "reference": str(reference), "present": secret_problem(reference) is None}
        for key, reference in secrets_of(provider).items()
    ]


def _keys(provider: Provider) -> str:
    found = [f"{secret['reference']} {'present' if secret['present'] else 'MISSING'}" for secret in _secrets(provider)]
    return ", ".join(found) or "none"


def _settings(config: Config, slug: str) -> dict[str, Any]:
    provider = config.provider(slug)
    return {
        **_overview(provider),
        "api": provider.api,
        "allow_private": provider.allow_private,
        "headers": {name: str(value) for name, value in provider.headers.items()},
        "endpoints": [_endpoint(endpoint) for endpoint in config.endpoints(slug)],
    }


def _endpoint(endpoint: EndpointConfig) -> dict[str, Any]:
    reference = endpoint.reference
    return {
        "model": endpoint.model,
        "name": endpoint.name,
        "hf": endpoint.hf,
        "reference": None
        if reference is None
        else {
            "weights": None if reference.weights is None else str(reference.weights),
            "tokenizer": None if reference.tokenizer is None else str(reference.tokenizer),
            "endpoint": None if reference.endpoint is None else reference.endpoint.slug,
            "allowed_profiles": list(reference.allowed_profiles),
        },
        "extra_body": dict(endpoint.extra_body),
        "timeout_s": endpoint.timeout,
        "idle_timeout_s": endpoint.idle_timeout,
        "max_concurrency": endpoint.max_concurrency,
        "rpm": endpoint.rpm,
        "prices": None if endpoint.prices is None else endpoint.prices.model_dump(),
        "labels": dict(endpoint.labels),
    }


def _redacted(value: Any) -> Any:
    match value:
        case str():
            return redact_known(value)
        case dict():
            return {key: _redacted(inner) for key, inner in value.items()}
        case list():
            return [_redacted(inner) for inner in value]
    return value


def _checked(check: EndpointCheck) -> dict[str, Any]:
    return {
        "model": check.endpoint.model,
        "name": check.endpoint.name,
        "ok": check.error is None,
        "listed": check.listed,
        "seconds": check.seconds,
        "logprobs": check.logprobs,
        "error": None if check.error is None else asdict(describe_error(check.error)),
    }


def _check_row(check: EndpointCheck) -> tuple[str, ...]:
    answers = "yes" if check.error is None else f"NO ({check.error.code})"
    seconds = "" if check.seconds is None else f"{check.seconds:.3f}"
    return (
        check.endpoint.model,
        check.endpoint.name,
        answers,
        _yes_no(check.listed),
        seconds,
        _yes_no(check.logprobs),
    )


def _yes_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[value]
