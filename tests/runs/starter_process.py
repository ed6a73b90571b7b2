"""``python -m tests.runs.starter_process HOME IDLE_S``: wants the store's server, says where it is, and stays."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store


def starter(home: Path, idle_s: float = 900.0) -> subprocess.Popen[str]:
    """Another Jupyter server, as far as the store goes."""
    command = [sys.executable, "-m", "tests.runs.starter_process", str(home), str(idle_s)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/", env=environ)


def main() -> None:
    """Prints the socket, and whether MLflow was imported here."""
    home = Path(sys.argv[1])
    server = EmbeddedServer(embedded_store(home), home, idle_s=float(sys.argv[2]))
    upstream = asyncio.run(server.ready())
    print(json.dumps([upstream.socket, "mlflow" in sys.modules]), flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main()
