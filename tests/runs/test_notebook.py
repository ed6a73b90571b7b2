from __future__ import annotations

import getpass
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_air.runs.notebook import Notebook, default_experiment, find, user

_FOLDER = Path("/home/ada/work")


@pytest.mark.parametrize(
    ("environ", "variables", "found"),
    [
        ({"JPY_SESSION_NAME": "/w/a b.ipynb"}, {}, Notebook("/w/a b.ipynb", "a b")),
        ({"JPY_SESSION_NAME": "RTC:a.ipynb"}, {}, Notebook("a.ipynb", "a")),
        ({"JPY_SESSION_NAME": "/w/a.ipynb"}, {"__vsc_ipynb_file__": "/v/b.ipynb"}, Notebook("/v/b.ipynb", "b")),
        ({"JPY_SESSION_NAME": "/w/Console 1"}, {"__vsc_ipynb_file__": 7}, Notebook(None, "work")),
        ({"COLAB_JUPYTER_IP": "127.0.0.1", "KMP_TARGET_PORT": "9"}, {}, Notebook(None, "work")),
        ({}, {}, Notebook(None, "work")),
    ],
)
def test_which_notebook(environ: dict[str, str], variables: dict[str, object], found: Notebook) -> None:
    assert find(environ, variables, _FOLDER) == found


def test_whose_it_is() -> None:
    assert user({"WORKSPACE_USER": "w", "JUPYTER_AIR_USER": "j"}) == "w"
    assert user({"JUPYTER_AIR_USER": "j", "JUPYTERHUB_USER": "h"}) == "j"
    assert user({"JUPYTERHUB_USER": "h"}) == "h"
    assert user({}) == getpass.getuser()


def test_its_experiment() -> None:
    assert default_experiment(Notebook("/w/llm.ipynb", "llm"), "ada@lab") == "/Users/ada@lab/llm"
    assert default_experiment(Notebook(None, "a\nb"), "x/../y") == "/Users/x .. y/a b"
    assert len(default_experiment(Notebook(None, "n" * 999), "u" * 999)) < 500


def test_kernels_start_without_what_takes_time() -> None:
    code = (
        "import sys, jupyter_air, jupyter_air.magics, jupyter_air.runs.context\n"
        "print([name for name in ('mlflow', 'IPython', 'tornado', 'urllib.request') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "[]"
