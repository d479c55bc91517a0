"""What a call raises when the server refuses it or cannot be reached."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped, unused-ignore]

from axion.credentials import hint


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """A field of the request that is wrong.

    Parameters
    ----------
    field : str
        Its path, for example "scene.bodies[3].mass".
    description : str
        Why it is wrong.
    """

    field: str
    description: str


class AxionError(Exception):
    """A call failed; one that was refused has changed nothing on the server.

    Each parameter is an attribute of the same name.

    Parameters
    ----------
    code : grpc.StatusCode
        Status of the call.
    message : str
        A sentence for people.
    reason : str, default ''
        Word for programs, of google.rpc.ErrorInfo.
    domain : str, default ''
        Whose word that is.
    metadata : Mapping[str, str], optional
        Further words for programs.
    field_violations : Iterable[FieldViolation], optional
        What is wrong with the request, field by field.
    quota_violations : Iterable[str], optional
        The limits that were reached.
    retry_delay : float, optional
        Seconds after which to try again, where the server says.
    missing : Iterable[str], optional
        Digests of files that the server lacks, some of them where there are many.
    """

    def __init__(self, code: grpc.StatusCode, message: str, *, reason: str = "", domain: str = "",
                 metadata: Mapping[str, str] | None = None, field_violations: Iterable[FieldViolation] = (),
                 quota_violations: Iterable[str] = (), retry_delay: float | None = None, missing: Iterable[str] = ()) -> None:
        self.code = code
        self.message = message
        self.reason = reason
        self.domain = domain
        self.metadata = dict(metadata or {})
        self.field_violations = tuple(field_violations)
        self.quota_violations = tuple(quota_violations)
        self.retry_delay = retry_delay
        self.missing = tuple(missing)
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors go from process to process as they are, with all that they say."""
        return functools.partial(type(self), **{name: getattr(self, name) for name in _DETAILS}), (self.code, self.message)

    def __str__(self) -> str:
        lines = [f"{self.code.name}: {self.message}"]
        lines += [f"  {violation.field}: {violation.description}" for violation in self.field_violations
                  if violation.description not in self.message]
        lines += [f"  limit: {text}" for text in self.quota_violations if text not in self.message]
        if self.retry_delay is not None:
            lines.append(f"  try again in {self.retry_delay:g} s")
        return "\n".join(lines)


class InvalidArgumentError(AxionError):
    """The request is wrong whatever the state of the server; `field_violations` names the fields."""


class NotFoundError(AxionError):
    """A model, batch or keyframe that does not exist (or whose lease ran out)."""


class ResourceExhaustedError(AxionError):
    """A limit is reached; `retry_delay` says when to try again, if that can help."""


class AbortedError(AxionError):
    """`expected_step` is not the step that the worlds are at."""


class FailedPreconditionError(AxionError):
    """The request is right but not in this state, for example deleting a model that a batch uses."""


class UnauthenticatedError(AxionError):
    """The server wants credentials."""


class PermissionDeniedError(AxionError):
    """These credentials may not do this."""


class UnavailableError(AxionError):
    """No server at this address, or it is shutting down. `code` is UNAVAILABLE, or CANCELLED for a call that came in the moment of
    the shutdown."""


class DeadlineExceededError(AxionError):
    """The call took longer than its timeout."""


class UnimplementedError(AxionError):
    """The server does not offer this."""


class InternalError(AxionError):
    """The server or its device failed."""


_CLASSES: dict[grpc.StatusCode, type[AxionError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgumentError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    grpc.StatusCode.ABORTED: AbortedError,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPreconditionError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDeniedError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.CANCELLED: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.UNIMPLEMENTED: UnimplementedError,
    grpc.StatusCode.INTERNAL: InternalError,
}

# What of an AxionError may be left out.
_DETAILS = ("reason", "domain", "metadata", "field_violations", "quota_violations", "retry_delay", "missing")
_DETAILS_KEY = "grpc-status-details-bin"


def _unpack(message: Any, any_message: Any) -> Any:
    return message if any_message.Is(message.DESCRIPTOR) and any_message.Unpack(message) else None


def _details(trailing_metadata: Any) -> dict[str, Any]:
    """Keyword arguments of AxionError from the details that came with a status."""
    found: dict[str, Any] = {}
    for key, value in trailing_metadata or ():
        if key != _DETAILS_KEY:
            continue
        for detail in status_pb2.Status.FromString(value).details:
            if info := _unpack(error_details_pb2.ErrorInfo(), detail):
                found.update(reason=info.reason, domain=info.domain, metadata=info.metadata)
            elif bad := _unpack(error_details_pb2.BadRequest(), detail):
                found["field_violations"] = [FieldViolation(v.field, v.description) for v in bad.field_violations]
            elif quota := _unpack(error_details_pb2.QuotaFailure(), detail):
                found["quota_violations"] = [f"{v.subject}: {v.description}" for v in quota.violations]
            elif failure := _unpack(error_details_pb2.PreconditionFailure(), detail):
                found["missing"] = [v.subject for v in failure.violations if v.type == "MISSING"]
            elif retry := _unpack(error_details_pb2.RetryInfo(), detail):
                found["retry_delay"] = retry.retry_delay.seconds + retry.retry_delay.nanos * 1e-9
    return found


def from_rpc_error(error: grpc.RpcError) -> AxionError:
    """The AxionError of a grpc.RpcError."""
    call: Any = error  # raised by a call, it is the call too
    code = call.code() or grpc.StatusCode.UNKNOWN
    try:
        details = _details(call.trailing_metadata())
    except Exception:  # Details that cannot be read must not hide the error that they belong to.
        details = {}
    message = call.details() or "no message"
    if code is grpc.StatusCode.UNAVAILABLE and (why := hint(message)):
        message = f"{message}\n  {why}"
    return _CLASSES.get(code, AxionError)(code, message, **details)
