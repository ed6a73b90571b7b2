"""Which notebook this is, whose it is, and the experiment that its runs go to unless another is named."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

#: Jupyter's server tells its kernels who started them.
USER_VARIABLE = "JUPYTER_AIR_USER"

_COLAB_S = 2.0
#: A variable that VS Code sets in each notebook.
_VS_CODE_FILE = "__vsc_ipynb_file__"
_LONGEST_NAME = 200


class Notebook(NamedTuple):
    """The notebook that a kernel runs for.

    Attributes:
        path: its file, as far as is known; ``None`` where only the working folder is.
        name: without folder and ``.ipynb``; the working folder's where there is no notebook.
    """

    path: str | None
    name: str


def find(environ: Mapping[str, str], variables: Mapping[str, Any], folder: Path) -> Notebook:
    """The notebook, as the front ends tell it.

    Args:
        environ: of the kernel.
        variables: of the notebook; VS Code puts the path there.
        folder: the working folder.
    """
    session = environ.get("JPY_SESSION_NAME", "").removeprefix("RTC:")
    for path in (variables.get(_VS_CODE_FILE), session, _colab(environ)):
        if isinstance(path, str) and path.endswith(".ipynb"):
            return Notebook(path, PurePath(path).stem)
    return Notebook(None, folder.name or "notebook")


def is_in_page(variables: Mapping[str, Any]) -> bool:
    """Whether outputs are shown by a page of Jupyter's server, as far as is known, rather than by VS Code."""
    return _VS_CODE_FILE not in variables


def user(environ: Mapping[str, str]) -> str:
    """``WORKSPACE_USER``, else who the Jupyter server says it is, else the operating system's user."""
    named = environ.get("WORKSPACE_USER") or environ.get(USER_VARIABLE) or environ.get("JUPYTERHUB_USER")
    if named:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # A container's user may have no name.
        return str(os.getuid())


def default_experiment(notebook: Notebook, user: str) -> str:
    """The name of the notebook's own experiment."""
    return f"/Users/{_part(user)}/{_part(notebook.name)}"


def _part(text: str) -> str:
    return "".join(" " if not letter.isprintable() or letter == "/" else letter for letter in text)[:_LONGEST_NAME]


def kernel_shell() -> Any | None:
    """The shell of the Jupyter kernel that this process is, or ``None`` when it is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


def kernel_id(shell: Any) -> str | None:
    """The id that Jupyter's server knows a kernel by, as its connection file has it."""
    file = getattr(getattr(shell.kernel, "parent", None), "connection_file", "")
    name = PurePath(file).stem if isinstance(file, str) else ""
    return name.removeprefix("kernel-") if name.startswith("kernel-") else None


def _colab(environ: Mapping[str, str]) -> str | None:
    """The notebook's name in Colab, whose own server knows it."""
    host, port = environ.get("COLAB_JUPYTER_IP"), environ.get("KMP_TARGET_PORT")
    if not host or not port:
        return None
    import urllib.request  # Loading it takes longer than all else here.

    try:
        with urllib.request.urlopen(f"http://{host}:{port}/api/sessions", timeout=_COLAB_S) as reply:
            return str(json.loads(reply.read(2**20))[0]["name"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
