"""A real Jupyter server as its own process: token and XSRF on, own folders, a base URL as behind JupyterHub."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

TOKEN = "a-token-for-tests"
BASE_URL = "/user/ada@lab/"
#: What the browser's tests are for: most of a server's start is theirs.
_FRONT_ENDS = ("jupyterlab", "notebook", "notebook_shim", "jupyter_lsp")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


#: As Jupyter's server logs one; or one through our code, whoever prints it.
_TRACEBACK = re.compile(r'^    Traceback|File "[^"]*/jupyter_air/', re.MULTILINE)


class LiveServer:
    """``jupyter server`` on a free port of loopback.

    Args:
        folder: for its notebooks, configuration, runtime files and log.
        args: further command line arguments.
        env: further environment variables.
        inside: a command that starts it, such as ``unshare`` with its arguments.
    """

    def __init__(
        self,
        folder: Path,
        *args: str,
        env: Mapping[str, str] | None = None,
        base_url: str = BASE_URL,
        inside: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._inside = bool(inside)
        self.log_path = folder / "server.log"
        self.base_url = base_url
        self.port = free_port()
        # The address of a socket file has room for 107 bytes.
        self.runtime_folder = Path(tempfile.mkdtemp(prefix="air-"))
        folders = {
            "CONFIG_DIR": folder / "config_dir",
            "DATA_DIR": folder / "data_dir",
            "RUNTIME_DIR": self.runtime_folder,
        }
        self._configure(folders["CONFIG_DIR"] / "jupyter_server_config.d")
        command = [
            *inside,
            *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"),
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.base_url={base_url}",
            f"--ServerApp.root_dir={folder}",
            f"--IdentityProvider.token={TOKEN}",
            *args,
        ]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={
                    **os.environ,
                    **{f"JUPYTER_{name}": str(path) for name, path in folders.items()},
                    "IPYTHONDIR": str(folder / "ipython"),
                    **(env or {}),
                },
            )
        self.url = f"http://127.0.0.1:{self.port}{base_url}"
        self.client = httpx.Client(
            base_url=self.url, headers={"Authorization": f"token {TOKEN}"}, timeout=30, trust_env=False
        )

    def _configure(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "ServerApp": {"jpserver_extensions": dict.fromkeys(_FRONT_ENDS, False)},
            # Where several servers start kernels, a port that one has found free is another's by the time of its use.
            "KernelManager": {"transport": "ipc"},
        }
        (folder / "tests.json").write_text(json.dumps(settings))

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def has_traceback(self) -> bool:
        """Whether its log has one; those of IPython's kernels, which print into the same log, are theirs."""
        return _TRACEBACK.search(self.log) is not None

    def wait_until_up(self) -> None:
        for _ in range(2400):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log}")
            try:
                if self.client.get("api/status").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not come up:\n{self.log}")

    def gpu(self, since: str | None = None) -> Any:
        """The answer to ``GET gpu``."""
        reply = self.client.get("jupyter-air/gpu", params={"since": since} if since else {})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def refresh(self) -> None:
        assert self.client.post("jupyter-air/gpu/refresh").status_code == 204

    def stop(self) -> float:
        """Ends it as a terminal's second Ctrl-C would; gives how long that took, seconds."""
        began_s = time.monotonic()
        if self.process.poll() is None:
            if self._inside:
                # The signal would reach the command that it was started by, which keeps it to itself.
                self.client.post("api/shutdown")
            else:
                self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.client.close()
        shutil.rmtree(self.runtime_folder, ignore_errors=True)
        return time.monotonic() - began_s


@contextmanager
def live_server(
    folder: Path, *args: str, env: Mapping[str, str] | None = None, inside: Sequence[str] = ()
) -> Iterator[LiveServer]:
    server = LiveServer(folder, *args, env=env, inside=inside)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()
