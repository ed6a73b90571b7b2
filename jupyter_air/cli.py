"""``air``: the command line. Errors are one sentence on stderr; exit 1 is a failure, 2 is wrong input."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from jupyter_air.errors import AirError

_SHELLS = ("bash", "zsh", "fish")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="jupyter_air", prog_name="air")
def air() -> None:
    """GPU resources, tracked runs and distributed training from a terminal."""


@air.command()
@click.option(
    "--listen",
    default="127.0.0.1:9411",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the page is served; other machines reach it only when this says so (0.0.0.0:9411).",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of mode 0600 with the bearer token that a reader must show.",
)
def agent(listen: str, token_file: Path | None) -> None:
    """Serve this machine's GPUs as Prometheus text.

    Jupyter AIR on another machine (JupyterAir.targets) and any Prometheus read it.
    """
    # Loaded here: the program's other commands need no prometheus-client.
    from jupyter_air.gpu.agent import is_loopback, parse_listen, serve

    host, port = parse_listen(listen)
    if token_file is None and not is_loopback(host):
        click.echo(
            "air agent: whoever reaches this address can read the page; --token-file asks for a token.", err=True
        )

    def ready(url: str) -> None:
        click.echo(f"air agent: serving {url}", err=True)

    asyncio.run(serve(host, port, token_file, version=version("jupyter_air"), ready=ready))


@air.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes air's commands in a shell.

    For bash: air completion bash > ~/.local/share/bash-completion/completions/air
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click completes these shells"
    click.echo(kind(air, {}, "air", "_AIR_COMPLETE").source())


def main() -> None:
    """The program ``air``."""
    try:
        air(prog_name="air")
    except AirError as error:
        click.echo(f"air: {error.message}", err=True)
        if error.hint:
            click.echo(error.hint, err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
