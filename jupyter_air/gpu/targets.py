"""Which nodes there are: addresses in the configuration, file_sd files, a running Ray; they come and go at run time.

The file format is Prometheus' file_sd: a list of ``{"targets": ["host:port"], "labels": {...}}``, JSON or YAML; the
labels ``__scheme__`` and ``__metrics_path__`` count.
"""

from __future__ import annotations

import asyncio
import glob
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from jupyter_air.errors import AirError, InputError
from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.fetch import MIB, Endpoint, FetchError

MOST_TARGETS = 4096
_LARGEST_FILE_BYTES = 4 * MIB
_RAY_FILE = "prom_metrics_service_discovery.json"
_RAY_TIMEOUT_S = 2.0

_HINT = 'Write [{"targets": ["gpu-a:9400"]}], as for file_sd_configs of Prometheus.'


class Target(NamedTuple):
    """A page to read.

    Attributes:
        url: where it is; its identity.
        name: of a node that the page does not name.
        is_offer: a page without GPU metrics is no fault: Ray lists its own servers beside its nodes.
    """

    url: str
    name: str
    is_offer: bool = False


class Trouble(NamedTuple):
    """A list of targets that cannot be read now; what it named before stays.

    Attributes:
        name: of the list.
        reason: one sentence.
        hint: one sentence, or empty.
    """

    name: str
    reason: str
    hint: str


def parse_target(url: str) -> Target:
    """A target by its address.

    Raises:
        InputError: it is no http or https address, or has a password in it.
    """
    shown = url[:80]
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError(f"A target is an address such as 'http://gpu-a:9400/metrics'; got {shown!r}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r"[!-~]{1,2048}", url):
        raise InputError(f"A target is an address such as 'http://gpu-a:9400/metrics'; got {shown!r}.")
    if "@" in parts.netloc or parts.fragment:
        raise InputError(
            f"A target has no user, password or #part in its address: {parts.hostname}.",
            "Name a file with them in JupyterAir.basic_auth_files.",
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port is None else f"{host}:{port}"
    path = parts.path or "/metrics"
    query = f"?{parts.query}" if parts.query else ""
    return Target(f"{parts.scheme}://{netloc}{path}{query}", netloc + (path + query if path != "/metrics" else ""))


def read_groups(text: str, *, is_offer: bool = False) -> list[Target]:
    """The targets of file_sd content, JSON or YAML.

    Raises:
        InputError: it is something else.
    """
    try:
        groups = json.loads(text)
    except ValueError:
        try:
            groups = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (yaml.YAMLError, RecursionError, ValueError):
            raise InputError("It is neither JSON nor YAML.", _HINT) from None
    except RecursionError:
        raise InputError("It is neither JSON nor YAML.", _HINT) from None
    if not isinstance(groups or [], list):
        raise InputError("It is no list of target groups.", _HINT)
    found: list[Target] = []
    for group in groups or []:
        for target in _group(group, is_offer):
            if len(found) >= MOST_TARGETS:
                raise InputError(f"It names more than {MOST_TARGETS:,} targets.")
            found.append(target)
    return found


def _group(group: Any, is_offer: bool) -> Iterable[Target]:
    targets = group.get("targets") if isinstance(group, dict) else None
    labels = (group.get("labels") or {}) if isinstance(group, dict) else None
    if not isinstance(targets, list) or not isinstance(labels, dict):
        raise InputError("A target group has no list of targets.", _HINT)
    scheme, path = str(labels.get("__scheme__", "http")), str(labels.get("__metrics_path__", "/metrics"))
    for address in targets:
        if not isinstance(address, str) or "/" in address:
            raise InputError(f"A target of a file is 'host:port'; got {str(address)[:80]!r}.", _HINT)
        yield parse_target(f"{scheme}://{address}{path}")._replace(is_offer=is_offer)


class _WatchedFile:
    """A file_sd file, read again when it changes."""

    def __init__(self, path: Path, *, is_offer: bool = False) -> None:
        self.path = path
        self.targets: list[Target] = []
        self.trouble: Trouble | None = None
        self._is_offer = is_offer
        self._read_as: tuple[int, ...] | None = None

    def look(self) -> None:
        """Takes over what changed; blocks for the file system."""
        try:
            status = self.path.stat()
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            if state == self._read_as:
                return
            with self.path.open("rb") as file:
                content = file.read(_LARGEST_FILE_BYTES + 1)
            if len(content) > _LARGEST_FILE_BYTES:
                raise InputError(f"It is larger than {_LARGEST_FILE_BYTES / MIB:g} MiB.")
            self.targets = read_groups(content.decode("utf-8", "replace"), is_offer=self._is_offer)
            self.trouble = None
            self._read_as = state
        except OSError as error:
            self._read_as = None
            self._complain(f"It cannot be read: {error.strerror or error}.", "")
        except InputError as error:
            self._read_as = state
            self._complain(error.message, error.hint)

    def _complain(self, reason: str, hint: str) -> None:
        self.trouble = Trouble(str(self.path), f"The targets file is not used as it is now. {reason}", hint)


class Targets:
    """Every target there is now.

    Args:
        urls: addresses.
        files: paths of file_sd files; the last part may be a pattern (``*.json``).
        ray_address: of Ray's dashboard (``http://head:8265``), or ``auto`` for a Ray that runs on this machine; empty
            for none.
        credentials: for Ray's dashboard.

    Raises:
        InputError: an address is none.
    """

    def __init__(
        self,
        urls: Sequence[str] = (),
        files: Sequence[str] = (),
        ray_address: str = "",
        credentials: Credentials | None = None,
    ) -> None:
        self.known: list[Target] = []
        self.troubles: list[Trouble] = []
        self._fixed = [parse_target(url) for url in urls]
        self._patterns = list(files)
        self._files: dict[str, _WatchedFile] = {}
        self._credentials = credentials or Credentials()
        self._ray_url, self._ray_file = parse_ray_address(ray_address)
        self._ray: Endpoint | None = None
        self._ray_targets: list[Target] = []

    async def look(self) -> None:
        """Brings ``known`` and ``troubles`` up to date; never raises for a list that cannot be read."""
        loop = asyncio.get_running_loop()
        files = await loop.run_in_executor(None, self._look_at_files)
        troubles = [file.trouble for file in files if file.trouble is not None]
        if self._ray_url:
            try:
                await self._ask_ray()
            except AirError as error:
                troubles.append(Trouble(f"Ray at {self._ray_url}", f"Ray's nodes: {error.message}", error.hint))
        found = [*self._fixed, *(target for file in files for target in file.targets), *self._ray_targets]
        unique = {target.url: target for target in reversed(found)}
        ordered = list(dict.fromkeys(target.url for target in found))
        if len(ordered) > MOST_TARGETS:
            troubles.append(Trouble("Targets", f"Only the first {MOST_TARGETS:,} targets are read.", ""))
        self.known, self.troubles = [unique[url] for url in ordered[:MOST_TARGETS]], troubles

    def _look_at_files(self) -> list[_WatchedFile]:
        paths = [path for pattern in self._patterns for path in _matching(pattern)]
        watched: dict[str, _WatchedFile] = {}
        for path in paths[:MOST_TARGETS]:
            if not glob.has_magic(path):  # a pattern that matches nothing yet is no fault
                watched[path] = self._files.get(path) or _WatchedFile(Path(path))
        if self._ray_file is not None:
            name = str(self._ray_file)
            watched[name] = self._files.get(name) or _WatchedFile(self._ray_file, is_offer=True)
        self._files = watched
        for file in watched.values():
            file.look()
        return list(watched.values())

    async def _ask_ray(self) -> None:
        if self._ray is None:
            self._ray = Endpoint(f"{self._ray_url}/api/prometheus/sd", self._credentials, what="Ray dashboard")
        reply = await self._ray.get(_RAY_TIMEOUT_S, _LARGEST_FILE_BYTES)
        text = reply.content(_LARGEST_FILE_BYTES).decode("utf-8", "replace")
        try:
            self._ray_targets = read_groups(text, is_offer=True)
        except InputError:
            raise FetchError("The answer is no list of targets.", "Is it the address of Ray's dashboard?") from None

    async def rest(self) -> None:
        """Closes what is open, until the next look."""
        if self._ray is not None:
            await self._ray.close()
            self._ray = None


def _matching(pattern: str) -> list[str]:
    path = Path(pattern)
    return sorted(str(found) for found in path.parent.glob(path.name)) or [pattern]


def parse_ray_address(address: str) -> tuple[str, Path | None]:
    """Where Ray tells of its nodes: its dashboard's address, or the file of one that runs on this machine.

    Raises:
        InputError: it is neither ``auto`` nor an address.
    """
    if address == "auto":
        return "", Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", _RAY_FILE)
    if not address:
        return "", None
    try:
        target = parse_target(address)
    except InputError:
        raise InputError(
            f"JupyterAir.ray_address is 'auto' or an address such as 'http://head:8265'; got {address[:80]!r}."
        ) from None
    return target.url.removesuffix("/metrics").rstrip("/"), None
