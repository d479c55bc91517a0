"""Files of a scene that go to a server by their content: named by their digests, and sent where the server lacks them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from axion.errors import AxionError, UnavailableError
from axion.retry import checked_timeout
from axion.v1 import asset_pb2, visual_pb2

# Of the files of one request that go with it, the smallest first; the others go by their digests.
INLINE_BYTES = 512 << 10
PIECE_BYTES = 512 << 10
# How often a server is sent one file for one model: it may have gone for want of memory before the model was made.
_MOST_UPLOADS = 3


def digest_of(content: bytes) -> str:
    """What names these bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Assets:
    """Contents of files by their digests."""

    def __init__(self, contents: Iterable[bytes] = ()) -> None:
        self._contents = {digest_of(content): content for content in contents}

    def __contains__(self, digest: str) -> bool:
        return digest in self._contents

    def pieces(self, digests: Iterable[str]) -> Iterator[asset_pb2.UploadAssetsRequest]:
        """Requests of an UploadAssets that sends these."""
        for digest in digests:
            content = self._contents[digest]
            yield asset_pb2.UploadAssetsRequest(digest=digest, size_bytes=len(content), data=content[:PIECE_BYTES])
            for start in range(PIECE_BYTES, len(content), PIECE_BYTES):
                yield asset_pb2.UploadAssetsRequest(data=content[start:start + PIECE_BYTES])


def attach(files: Mapping[str, bytes], request: Any) -> Assets:
    """Puts files into a CreateModelRequest, by content or by digest; what is named by digest is returned."""
    inline, others = 0, dict[str, bytes]()
    for name, content in sorted(files.items(), key=lambda item: (len(item[1]), item[0])):
        inline += len(content)
        if inline <= INLINE_BYTES:
            request.assets[name] = content
        else:
            others[name] = content
    assets = Assets(others.values())
    for name, content in others.items():
        request.asset_digests[name] = digest_of(content)
    return assets


class VisualFiles:
    """Meshes for the eye, by digest: of scenes that this process has read, and else the server's.

    Parameters
    ----------
    download : callable, optional
        What fetches one from the server, raising AxionError where it has none; None: nothing is fetched.
    """

    def __init__(self, download: Callable[[str], bytes] | None = None) -> None:
        self._download, self._known = download, dict[str, bytes | None]()

    def __reduce__(self) -> tuple[type[VisualFiles], tuple[()]]:
        """A model goes to another process without them: it is drawn there as it collides."""
        return VisualFiles, ()

    def remember(self, visuals: visual_pb2.VisualsSpec, files: Mapping[str, bytes]) -> None:
        """Keeps of the files of a scene, by name, what is drawn of it."""
        drawn = {visual.file for visual in visuals.visuals}
        self._known.update({digest_of(content): content for name, content in files.items()
                            if name.replace("\\", "/").rpartition("/")[2] in drawn})

    def get(self, digest: str) -> bytes | None:
        """The content; None where it cannot be had."""
        if self._known.get(digest) is None and self._download is not None:
            try:
                self._known[digest] = self._download(digest)
            except AxionError:
                return None
        return self._known.get(digest)


class Uploads:
    """What one call has sent, and how long it may yet take."""

    def __init__(self, assets: Assets | None, timeout: float | None) -> None:
        limit = checked_timeout(timeout)
        self._assets, self._end = assets, None if limit is None else time.monotonic() + limit
        self._sent: dict[str, int] = {}
        self._failures = 0

    def left(self) -> float | None:
        """Seconds for the next attempt."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.001)

    def wanted(self, error: AxionError) -> Iterator[asset_pb2.UploadAssetsRequest] | None:
        """What to send to a server that has refused a request so; None where that would not help."""
        digests = [digest for digest in error.missing if self._assets is not None and digest in self._assets]
        if self._assets is None or not digests or any(self._sent.get(digest) == _MOST_UPLOADS for digest in digests):
            return None
        self._sent.update({digest: self._sent.get(digest, 0) + 1 for digest in digests})
        return self._assets.pieces(digests)

    def goes_on(self, error: AxionError) -> bool:
        """Whether the request is to be made again after an upload failed so: it finds out whether the server comes back."""
        self._failures += 1
        return isinstance(error, UnavailableError) and self._failures < _MOST_UPLOADS
