"""Says why no answer came back: from what httpcore raises to a `Failure` that names the host and the remedy."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore

from probes.errors import ProbeError
from probes.failure import Failure, FailureKind


class TransportError(ProbeError):
    """No answer came back, or it stopped coming. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, remedy=failure.remedy)
        self.failure = failure


@contextmanager
def translated(place: str, connect_timeout_s: float) -> Iterator[None]:
    try:
        yield
    except httpcore.LocalProtocolError:
        # Its text quotes the header it could not write, which may be the one with the key.
        raise TransportError(_unwritable(place)) from None
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise TransportError(_failure(error, place, connect_timeout_s)) from error


def _unwritable(place: str) -> Failure:
    message = f"The request to {place} cannot be written as HTTP."
    remedy = "Check the provider's `headers` and `api_key` for line breaks and control characters."
    return Failure(FailureKind.PROTOCOL, message, remedy)


def _failure(error: Exception, place: str, connect_timeout_s: float) -> Failure:
    if isinstance(error, httpcore.TimeoutException):
        message = f"{place} did not accept a connection within {connect_timeout_s:g} s."
        return Failure(FailureKind.TIMEOUT, message, "Check that the server runs and that no firewall drops packets.")
    if isinstance(error, httpcore.ConnectError):
        return _connect_failure(error, place)
    text = str(error).lower()
    if isinstance(error, httpcore.NetworkError) or "disconnected" in text or "closed connection" in text:
        return Failure(
            FailureKind.RESET,
            f"{place} closed the connection before its answer was complete.",
            "If it happens again, the server or a proxy before it is failing; see its log.",
        )
    return Failure(FailureKind.PROTOCOL, f"{place} does not answer in HTTP.", "Check the port and http or https.")


def _connect_failure(error: Exception, place: str) -> Failure:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            message = f"The TLS certificate of {place} is not valid: {cause.verify_message}."
            return Failure(FailureKind.TLS, message, "Use the host name the certificate is for; checks cannot be off.")
        if isinstance(cause, ssl.SSLError):
            reason = (cause.reason or "handshake failed").replace("_", " ").lower()
            remedy = "If the port speaks plain http, write http:// (this needs `allow_private: true`)."
            return Failure(FailureKind.TLS, f"TLS with {place} failed: {reason}.", remedy)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        message = f"{place} refused the connection: nothing listens there."
        return Failure(FailureKind.REFUSED, message, "Start the server, or correct host and port in base_url.")
    reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    message = f"{place} cannot be reached{': ' + reasons[-1] if reasons else ''}."
    return Failure(FailureKind.UNREACHABLE, message, "Check base_url and this machine's network.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
