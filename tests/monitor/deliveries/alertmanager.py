"""A receiver's reading of Alertmanager's webhook payload, as strict as its documentation allows.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Labels = dict[str, str]
Time = Annotated[datetime, Field(strict=False)]


class Alert(Strict):
    status: Literal["firing", "resolved"]
    labels: Labels
    annotations: Labels
    startsAt: Time  # noqa: N815 - the names are Alertmanager's
    endsAt: Time  # noqa: N815
    generatorURL: str  # noqa: N815
    fingerprint: Annotated[str, Field(min_length=1)]


class Payload(Strict):
    version: Literal["4"]
    groupKey: Annotated[str, Field(min_length=1)]  # noqa: N815
    truncatedAlerts: Annotated[int, Field(ge=0)]  # noqa: N815
    status: Literal["firing", "resolved"]
    receiver: str
    groupLabels: Labels  # noqa: N815
    commonLabels: Labels  # noqa: N815
    commonAnnotations: Labels  # noqa: N815
    externalURL: str  # noqa: N815
    notification_reason: str
    alerts: Annotated[list[Alert], Field(min_length=1)]
