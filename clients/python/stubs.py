"""Types of the generated service for type checkers: protoc writes them for messages alone."""

_HEAD = '''"""Generated from proto/axion/v1."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import grpc

{imports}

_Request = TypeVar("_Request", contravariant=True)
_Response = TypeVar("_Response", covariant=True)
_Metadata = Sequence[tuple[str, str | bytes]] | None


class _Unary(Generic[_Request, _Response]):
    """grpc.UnaryUnaryMultiCallable of these messages."""

    def __call__(self, request: _Request, timeout: float | None = ..., metadata: _Metadata = ...,
                 credentials: grpc.CallCredentials | None = ..., wait_for_ready: bool | None = ...,
                 compression: grpc.Compression | None = ...) -> _Response: ...
    def with_call(self, request: _Request, timeout: float | None = ..., metadata: _Metadata = ...,
                  credentials: grpc.CallCredentials | None = ..., wait_for_ready: bool | None = ...,
                  compression: grpc.Compression | None = ...) -> tuple[_Response, Any]: ...
    def future(self, request: _Request, timeout: float | None = ..., metadata: _Metadata = ...,
               credentials: grpc.CallCredentials | None = ..., wait_for_ready: bool | None = ...,
               compression: grpc.Compression | None = ...) -> Any: ...


class _Call(Iterator[_Response]):
    """What a stream returns: its answers, and the call."""

    def __next__(self) -> _Response: ...
    def cancel(self) -> bool: ...
    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str: ...


class _Answers(Generic[_Request, _Response]):
    """grpc.UnaryStreamMultiCallable of these messages."""

    def __call__(self, request: _Request, timeout: float | None = ..., metadata: _Metadata = ...,
                 credentials: grpc.CallCredentials | None = ..., wait_for_ready: bool | None = ...,
                 compression: grpc.Compression | None = ...) -> _Call[_Response]: ...


class _Stream(Generic[_Request, _Response]):
    """grpc.StreamStreamMultiCallable of these messages."""

    def __call__(self, request_iterator: Iterator[_Request], timeout: float | None = ..., metadata: _Metadata = ...,
                 credentials: grpc.CallCredentials | None = ..., wait_for_ready: bool | None = ...,
                 compression: grpc.Compression | None = ...) -> _Call[_Response]: ...

'''


def service_stub(proto_file, module_of):
    """The text of *_pb2_grpc.pyi. proto_file: a FileDescriptorProto; module_of: message type to the module it is in."""
    messages = {name for service in proto_file.service for method in service.method
                for name in (method.input_type, method.output_type)}
    imports = sorted({f"from {package} import {module}"
                      for package, module in (module_of[name].rsplit(".", 1) for name in messages)})
    lines = [_HEAD.format(imports="\n".join(imports))]

    def python_name(message):
        return f"{module_of[message].rsplit('.', 1)[1]}.{message.rsplit('.', 1)[1]}"

    for service in proto_file.service:
        lines.append(f"\nclass {service.name}Stub:\n    def __init__(self, channel: grpc.Channel) -> None: ...\n")
        for method in service.method:
            kind = "_Stream" if method.client_streaming else "_Answers" if method.server_streaming else "_Unary"
            lines.append(f"    {method.name}: {kind}[{python_name(method.input_type)}, {python_name(method.output_type)}]\n")
        lines.append(f"\n\nclass {service.name}Servicer:\n")
        for method in service.method:
            taken, given = python_name(method.input_type), python_name(method.output_type)
            if method.client_streaming:
                taken = f"Iterator[{taken}]"
            if method.server_streaming:
                given = f"Iterator[{given}]"
            name = "request_iterator" if method.client_streaming else "request"
            lines.append(f"    def {method.name}(self, {name}: {taken}, context: grpc.ServicerContext) -> {given}: ...\n")
        lines.append(f"\n\ndef add_{service.name}Servicer_to_server(servicer: {service.name}Servicer, "
                     "server: grpc.Server) -> None: ...\n")
    return "".join(lines)
