"""How to send a request again: address, headers and a curl command, with placeholders where keys stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.config import EndpointConfig
from monitor.evidence.reading import path_of
from monitor.redaction import REDACTED
from monitor.secrets import HeaderValue, SecretRef, is_secret_name
from probes.target import Target

BODY = "request.json"
_KEY = "API_KEY"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """`headers` are shown without secrets; `script` is a shell script beside the body's file."""

    url: str
    headers: Mapping[str, str]
    script: str


def reproduction(base_url: str, config: EndpointConfig | None, request: Mapping[str, Any]) -> Reproduction:
    """Without a configuration, a key in the usual header is taken for granted."""
    url = Target(base_url=base_url, served_name="").url(path_of(request))
    headers = _headers(config)
    shown = {name: _shown(name, value) for name, value in headers.items()}
    variables = {name: _variable(name) for name, value in headers.items() if _is_secret(name, value)}
    return Reproduction(url, shown, _script(url, headers, variables))


def _headers(config: EndpointConfig | None) -> dict[str, HeaderValue]:
    kind = {"Content-Type": HeaderValue("application/json")}
    if config is None:
        return {**kind, "Authorization": HeaderValue("Bearer", SecretRef("env", _KEY))}
    configured = {name.lower() for name in config.headers}
    key = {} if config.api_key is None else {"Authorization": HeaderValue("Bearer", config.api_key)}
    ours = {name: value for name, value in {**kind, **key}.items() if name.lower() not in configured}
    return {**ours, **config.headers}


def _is_secret(name: str, value: HeaderValue) -> bool:
    return value.reference is not None or is_secret_name(name)


def _shown(name: str, value: HeaderValue) -> str:
    if not _is_secret(name, value):
        return value.literal
    return REDACTED if value.reference is None else f"{value.literal} {REDACTED}".strip()


def _variable(header: str) -> str:
    """Neither the name of our variable nor the path of our file is anybody's business."""
    return _KEY if header.lower() == "authorization" else re.sub(r"\W", "_", header).upper()


def _script(url: str, headers: Mapping[str, HeaderValue], variables: Mapping[str, str]) -> str:
    named = [f"# {variable} stands for the secret in the header {name}." for name, variable in variables.items()]
    words = [f"curl -sS -i -N {shlex.quote(url)}"]
    for name, value in headers.items():
        if name in variables:
            scheme = f"{value.literal} " if value.reference is not None and value.literal else ""
            words.append(f'-H {shlex.quote(f"{name}: {scheme}")}"${variables[name]}"')
        else:
            words.append(f"-H {shlex.quote(f'{name}: {value.literal}')}")
    words.append(f"--data-binary @{BODY}")
    return "\n".join(["#!/bin/sh", *named, " \\\n  ".join(words)]) + "\n"
