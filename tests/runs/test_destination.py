from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_air.errors import InputError
from jupyter_air.runs.destination import absolute, kind_of, pages
from jupyter_air.runs.links import PAGES_VARIABLE, STORE_VARIABLE
from jupyter_air.runs.store import embedded_store

_STORE = embedded_store().uri


@pytest.mark.parametrize(
    ("uri", "environ", "base"),
    [
        (
            "sqlite:////a/mlflow.db",
            {PAGES_VARIABLE: "/x/mlflow", STORE_VARIABLE: "sqlite:////a/mlflow.db"},
            "/x/mlflow",
        ),
        ("sqlite:////b/mlflow.db", {PAGES_VARIABLE: "/x/mlflow", STORE_VARIABLE: _STORE}, None),
        (_STORE, {}, None),
        ("http://ada:s3cret@m.lab:5000/", {}, "http://m.lab:5000"),
        ("http://m:5000", {"MLFLOW_NOTEBOOK_TRACE_RENDERER_BASE_URL": "https://public.lab/"}, "https://public.lab"),
        ("databricks", {"DATABRICKS_HOST": "https://dbc.lab"}, "https://dbc.lab"),
    ],
)
def test_where_its_pages_are(uri: str, environ: dict[str, str], base: str | None) -> None:
    assert pages(uri, environ) == base


@pytest.mark.parametrize(
    ("uri", "plain", "kind"),
    [
        (_STORE, _STORE, "embedded"),
        ("http://ada:s3cret@m.lab:5000/at/", "http://m.lab:5000/at", "server"),
        ("databricks://team", "databricks://team", "databricks"),
        ("sqlite:///mine.db?timeout=3", "sqlite:////lab/mine.db", "store"),
        ("mlruns", "file:///lab/mlruns", "store"),
        ("mysql+x://ada:s3/cr@s3cret?@db.lab/runs?password=s3cret", "mysql+x://db.lab/runs", "store"),
        ("postgresql://db.lab/runs", "postgresql://db.lab/runs", "store"),
    ],
)
def test_a_tracking_uri_that_can_be_told(uri: str, plain: str, kind: str) -> None:
    assert absolute(uri, Path("/lab")) == plain
    assert kind_of(plain) == kind
    with pytest.raises(InputError) as refused:
        absolute("http://ada:s3cret@:80", Path("/"))
    assert "s3cret" not in str(refused.value)
