"""Traits: the defaults of the specification, and bad values refused in a sentence at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_air.server.app import JupyterAir
from tests.live_server import LiveServer, live_server


def test_the_defaults() -> None:
    defaults = {name: trait.default() for name, trait in JupyterAir.class_traits(config=True).items()}
    assert (defaults["poll_interval_s"], defaults["history_window_s"], defaults["pause_after_s"]) == (10, 7200, 300)
    assert defaults["simulate"] == ""
    assert (defaults["tracking_uri"], defaults["embedded_tracking"], defaults["tracking_idle_s"]) == ("", True, 900)


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("poll_interval_s=0", "JupyterAir.poll_interval_s must be 1 to 3600 seconds; got 0."),
        ("poll_interval_s=nan", "JupyterAir.poll_interval_s must be 1 to 3600 seconds; got nan."),
        ("pause_after_s=-5", "JupyterAir.pause_after_s must be 0 (never) or 1 to 604800 seconds; got -5."),
        ("history_window_s=1", "JupyterAir.history_window_s must hold 1 to 100,000 intervals of 10 s; got 1 s."),
        ("simulate=lots", "JupyterAir.simulate is NODESxGPUS, 1x1 to 1024x72, such as '2x8'; got 'lots'."),
        ("poll_interval_s=often", "poll_interval_s"),
        ("tracking_idle_s=1", "JupyterAir.tracking_idle_s must be 10 to 604800 seconds; got 1."),
        ("tracking_uri=http://:5000", "JupyterAir.tracking_uri: The MLflow tracking URI is no address of a server."),
    ],
)
def test_a_bad_value_is_refused_in_a_sentence(tmp_path: Path, argument: str, sentence: str) -> None:
    server = LiveServer(tmp_path, f"--JupyterAir.{argument}")
    try:
        assert server.process.wait(120) == 1
        assert sentence in server.log
        assert not server.has_traceback
    finally:
        server.stop()


def test_configured_values_are_used(tmp_path: Path) -> None:
    args = ("--JupyterAir.poll_interval_s=2", "--JupyterAir.history_window_s=600", "--JupyterAir.pause_after_s=0")
    with live_server(tmp_path, *args) as server:
        answer = server.gpu()
        assert (answer["poll_interval_s"], answer["window_s"]) == (2, 600)
        assert answer["monitor"]["pause_after_s"] is None and answer["monitor"]["pauses_in_s"] is None
