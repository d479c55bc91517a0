"""The servers of a Fleet: which there are, which are lost, and which come back."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import grpc

from axion.addresses import addresses_of, split_target
from axion.client import Client
from axion.errors import AxionError, UnavailableError

_PROBE_SECONDS = 2.0   # in which a server that is there answers
_FIRST_LOOK_SECONDS = 0.1
_LONGEST_LOOK_SECONDS = 1.0

_Found = TypeVar("_Found")
_One = TypeVar("_One")


@dataclasses.dataclass
class Member:
    """A server of the fleet. The client is another one once a new server has taken the place of one that was lost."""

    client: Client
    is_lost: bool = False


def at_once(act: Callable[[_One], _Found], of: Sequence[_One]) -> list[_Found | BaseException]:
    """What an act gives for each, all at the same time; what it raised in the place of what it gave."""
    if not of:
        return []
    with concurrent.futures.ThreadPoolExecutor(len(of), "axion-fleet-start") as threads:
        jobs = [threads.submit(act, one) for one in of]
        concurrent.futures.wait(jobs)
    return [error if (error := job.exception()) is not None else job.result() for job in jobs]


def _answers(client: Client) -> bool:
    try:
        client.server_info(timeout=_PROBE_SECONDS)
    except AxionError:
        return False
    return True


class Members:
    """The servers, and a thread that looks for lost ones.

    Parameters
    ----------
    targets : str or sequence of str
        A name that stands for all of them, or the address of each.
    connect : callable
        Makes the client of an address.
    look_every : float or None
        Seconds between two looks for lost servers and new addresses; None: there are none.
    """

    def __init__(self, targets: str | Sequence[str], connect: Callable[[str], Client], look_every: float | None) -> None:
        self._name = targets if isinstance(targets, str) else None
        self._connect = connect
        self._look_every = look_every
        self._lock = threading.Lock()
        self._turns = itertools.count()
        self._replaced: list[Client] = []  # batches may still be asked by them
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.all = [] if isinstance(targets, str) else [Member(connect(target)) for target in targets]

    @classmethod
    def of_clients(cls, clients: Iterable[Client]) -> Members:
        """Members that have connections already, and are not looked for once they are lost."""
        made = cls((), lambda target: Client(target), None)
        made.all = [Member(client) for client in clients]
        return made

    def alive(self) -> list[Member]:
        """The members that are not lost; UnavailableError where all are."""
        found = [member for member in self.all if not member.is_lost]
        if not found:
            servers = ", ".join(member.client.target for member in self.all)
            raise UnavailableError(grpc.StatusCode.UNAVAILABLE, f"every server of this fleet is lost: {servers}")
        return found

    def wait(self, least: int, seconds: float) -> None:
        """Waits until so many servers answer, and begins to look for what is lost. UnavailableError after so many seconds."""
        end, pause = time.monotonic() + seconds, _FIRST_LOOK_SECONDS
        for member in self.all:
            member.is_lost = least > 0  # until it answers
        while least > 0:
            why = self._look()
            there = sum(not member.is_lost for member in self.all)
            if there >= least:
                break
            if time.monotonic() + pause >= end:
                about = self._name or ", ".join(member.client.target for member in self.all)
                raise UnavailableError(grpc.StatusCode.UNAVAILABLE, f"targets: {there} of at least {least} servers answer at {about} "
                                       f"within {seconds:g} s{': ' + why if why else ''}")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK_SECONDS)
        if self._name is not None or any(member.is_lost for member in self.all):
            self._begin_to_look()

    def after_loss(self, member: Member, client: Client, error: AxionError) -> Member:
        """The server that goes on where this client of a member has failed; the error that was given where there is none."""
        with self._lock:
            if member.client is client and isinstance(error, UnavailableError):
                member.is_lost = True
                self._begin_to_look()
            left = [other for other in self.all if not other.is_lost]
            if not left:
                raise error
            return left[next(self._turns) % len(left)] if member.is_lost else member

    def close(self) -> None:
        """Ends the connections."""
        self._ended.set()
        for client in [*(member.client for member in self.all), *self._replaced]:
            client.close()
        if self._thread is not None:
            self._thread.join()

    def _begin_to_look(self) -> None:
        if self._look_every is not None and self._thread is None:
            self._thread = threading.Thread(target=self._go_on_looking, name="axion-fleet-look", daemon=True)
            self._thread.start()

    def _go_on_looking(self) -> None:
        while not self._ended.wait(self._look_every):
            self._look()

    def _look(self) -> str:
        """Asks lost servers and new addresses whether they are there; what kept the name from being resolved, if anything did."""
        known, listed, why = {member.client.target for member in self.all}, set[str](), ""
        if self._name is not None:
            try:
                listed = set(addresses_of(self._name))
            except OSError as error:
                why = f"{self._name!r} has no address: {error.strerror or error}"
        fresh = [self._connect(address) for address in sorted(listed - known)]
        lost = [member for member in self.all if member.is_lost]
        found = at_once(_answers, [*(member.client for member in lost), *fresh])
        for member, is_there in zip(lost, found):
            if is_there is True:
                member.is_lost = False
        for client, is_there in zip(fresh, found[len(lost):]):
            if is_there is True and not self._ended.is_set():
                self._add(client, listed)
            else:
                client.close()
        return why

    def _add(self, client: Client, listed: set[str]) -> None:
        """A server at a new address takes the place of a lost one whose address is gone, as a pod that was made anew does."""
        with self._lock:
            for member in self.all:
                if member.is_lost and member.client.target not in listed:
                    self._replaced.append(member.client)
                    member.client, member.is_lost = client, False
                    return
            self.all = [*self.all, Member(client)]


def client_choices_of(name: str, choices: dict[str, Any]) -> dict[str, Any]:
    """Choices of the clients of a name's addresses: certificates are for the name, unless another one is given."""
    found = split_target(name)
    if found is None or choices.get("tls_server_name") or os.environ.get("AXION_TLS_SERVER_NAME"):
        return choices
    return {**choices, "tls_server_name": found[0]}
