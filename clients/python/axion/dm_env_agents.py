"""Who may speak to the dm_env_rpc endpoint, and how many at a time."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import grpc

from axion.credentials import is_loopback

_HASH = "sha256:"


def hashes_of_tokens(path: str | os.PathLike[str]) -> frozenset[str]:
    """Hashes, in hexadecimal, of a file of tokens as axiond has them.

    Each line is `TENANT sha256:HASH`, and what follows `#` a comment; quotas are the server's. ValueError for a line that is none and for a
    file without any, OSError for one that cannot be read.
    """
    hashes = set()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            digest = words[1].removeprefix(_HASH).lower() if len(words) > 1 and words[1].startswith(_HASH) else ""
            if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
                raise ValueError(f"token_file: line {number} of {os.fspath(path)!r} is not TENANT sha256:HASH")
            hashes.add(digest)
    if not hashes:
        raise ValueError(f"token_file: {os.fspath(path)!r} has no token, so that no agent could connect")
    return frozenset(hashes)


def check_listen(listen: str, has_tls: bool, has_tokens: bool, insecure: bool) -> None:
    """Refuses by ValueError what axiond refuses: to be open to the network without TLS and tokens, unless told to."""
    if not (insecure or is_loopback(listen) or has_tls and has_tokens):
        raise ValueError(f"listen: {listen} is open to other machines: give tls_cert, tls_key and token_file, or insecure")


class Agent:
    """One connection of an agent: silent until it has asked for something."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context
        self.is_silent = True

    def heard(self) -> None:
        """It has asked for something."""
        self.is_silent = False

    def send_away(self) -> None:
        """Ends its connection, since another one needs the place."""
        self._context.cancel()


class Agents:
    """The agents that are connected, so many at a time. One that has asked for nothing yet makes room for others. `tokens` are hashes of
    the tokens of which an agent sends one; None lets in any agent."""

    def __init__(self, places: int, tokens: frozenset[str] | None = None) -> None:
        self._places, self._tokens = places, tokens
        self._lock = threading.Lock()
        self._agents: list[Agent] = []

    def enter(self, context: grpc.ServicerContext) -> Place:
        """Lets an agent in, for as long as the context lasts, or ends its call: UNAUTHENTICATED, or RESOURCE_EXHAUSTED where all places are
        taken."""
        if self._tokens is not None:
            sent = next((str(value) for name, value in context.invocation_metadata() if name == "authorization"), "")
            scheme, _, token = sent.partition(" ")
            digest = hashlib.sha256(token.encode()).hexdigest()
            if scheme.lower() != "bearer" or not any([hmac.compare_digest(digest, known) for known in self._tokens]):
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "authorization: this endpoint wants the metadata `authorization: "
                              "Bearer TOKEN` with a token of its token_file")
        agent = Agent(context)
        with self._lock:
            silent = [other for other in self._agents if other.is_silent]
            is_full = len(self._agents) >= self._places
            if not is_full or silent:
                self._agents.append(agent)
        if is_full and not silent:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"connections: all {self._places} places of agents are taken")
        if is_full:
            self._leave(silent[0])  # at once, so that of those who come now each sends another one away
            silent[0].send_away()
        return Place(self, agent)

    def _leave(self, agent: Agent) -> None:
        with self._lock:
            if agent in self._agents:
                self._agents.remove(agent)


class Place:
    """An agent for as long as it is connected."""

    def __init__(self, agents: Agents, agent: Agent) -> None:
        self._agents, self._agent = agents, agent

    def __enter__(self) -> Agent:
        return self._agent

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._agents._leave(self._agent)


def requests_of(agent: Agent, request_iterator: Iterator[Any]) -> Iterator[Any]:
    """The requests of an agent, of which the first says that it is not silent."""
    for request in request_iterator:
        agent.heard()
        yield request
