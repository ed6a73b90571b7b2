"""Jupyter AIR: GPU resources, tracked runs and distributed training beside the notebook."""

from __future__ import annotations

__version__ = "0.1.0"


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """Where Jupyter Server finds the extension; imported only when a server asks."""
    from jupyter_air.server.app import JupyterAir

    return [{"module": "jupyter_air", "app": JupyterAir}]
