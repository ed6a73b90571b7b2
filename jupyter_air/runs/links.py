"""Pages of MLflow that a browser can open. Pure functions: from a tracking URI, no credentials in what comes out."""

from __future__ import annotations

import configparser
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from jupyter_air.errors import InputError
from jupyter_air.runs.configured import without_credentials

#: Jupyter's server tells its kernels where its browsers find MLflow's pages, and of which store they are.
PAGES_VARIABLE, STORE_VARIABLE = "JUPYTER_AIR_MLFLOW_BASE", "JUPYTER_AIR_MLFLOW_STORE"

#: The tabs of a run's page; empty is the overview.
Tab = Literal["", "model-metrics", "system-metrics", "artifacts"]


def run_page(
    tracking_uri: str,
    proxy_url: str | None,
    experiment_id: str,
    run_id: str,
    tab: Tab = "",
    *,
    workspace: str | None = None,
    databricks_host: str | None = None,
) -> str | None:
    """The page of a run.

    Args:
        tracking_uri: of the run; empty for the embedded store.
        proxy_url: base URL of the proxy in the Jupyter server, or ``None`` when the browser reaches none.
        experiment_id: of the run.
        run_id: of the run.
        tab: to open.
        workspace: MLflow's, where the server has them.
        databricks_host: of a ``databricks`` URI, as ``databricks_host()`` gives it.

    Returns:
        ``None`` when no page can be opened: whoever shows the run shows text.
    """
    path = f"/experiments/{_part(experiment_id)}/runs/{_part(run_id)}{f'/{tab}' if tab else ''}"
    return _page(tracking_uri, proxy_url, path, {}, workspace, databricks_host)


def experiment_page(
    tracking_uri: str,
    proxy_url: str | None,
    experiment_id: str,
    *,
    workspace: str | None = None,
    databricks_host: str | None = None,
) -> str | None:
    """The page of an experiment's runs; arguments as of ``run_page``."""
    # Without /runs MLflow opens an overview of traces instead.
    path = f"/experiments/{_part(experiment_id)}/runs"
    if _is_databricks(tracking_uri):
        path = path.removesuffix("/runs")
    return _page(tracking_uri, proxy_url, path, {}, workspace, databricks_host)


def compare_page(
    tracking_uri: str,
    proxy_url: str | None,
    experiment_ids: Iterable[str],
    run_ids: Iterable[str],
    *,
    workspace: str | None = None,
    databricks_host: str | None = None,
) -> str | None:
    """The page that compares runs; other arguments as of ``run_page``.

    Args:
        experiment_ids: all that the runs are in.
        run_ids: of the runs, two or more.
    """
    query = {"runs": _list(run_ids), "experiments": _list(experiment_ids)}
    return _page(tracking_uri, proxy_url, "/compare-runs", query, workspace, databricks_host)


def databricks_host(
    tracking_uri: str, environ: Mapping[str, str], config: Path = Path("~/.databrickscfg")
) -> str | None:
    """The workspace's address of a ``databricks`` or ``databricks://PROFILE`` URI, as Databricks' tools find it."""
    profile = tracking_uri.partition("://")[2].partition(":")[0]
    host = environ.get("DATABRICKS_HOST") if not profile else None
    if not host:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(Path(environ.get("DATABRICKS_CONFIG_FILE") or config).expanduser(), encoding="utf-8")
            host = parser[profile or environ.get("DATABRICKS_CONFIG_PROFILE") or "DEFAULT"].get("host")
        except (OSError, UnicodeDecodeError, KeyError, configparser.Error):
            return None
    try:
        return without_credentials(host if "://" in host else f"https://{host}") if host else None
    except InputError:
        return None


def _page(
    tracking_uri: str,
    proxy_url: str | None,
    path: str,
    query: Mapping[str, str],
    workspace: str | None,
    databricks: str | None,
) -> str | None:
    if _is_databricks(tracking_uri):
        return None if databricks is None else f"{databricks}/ml{path}{_query(query)}"
    base = proxy_url.rstrip("/") if proxy_url else _browsable(tracking_uri)
    if base is None:
        return None
    return f"{base}/#{path}{_query({**query, 'workspace': workspace} if workspace else query)}"


def _browsable(tracking_uri: str) -> str | None:
    try:
        return without_credentials(tracking_uri)
    except InputError:
        return None


def _is_databricks(tracking_uri: str) -> bool:
    return tracking_uri == "databricks" or tracking_uri.startswith("databricks://")


def _part(text: str) -> str:
    return quote(text, safe="")


def _list(ids: Iterable[str]) -> str:
    return json.dumps(list(ids), separators=(",", ":"))


def _query(query: Mapping[str, str]) -> str:
    return "?" + "&".join(f"{name}={_part(value)}" for name, value in query.items()) if query else ""
