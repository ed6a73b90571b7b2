"""What ``%air_run`` can be asked: its options, read from a line; its help and completion come from here."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from jupyter_air.errors import InputError

#: How a run can end.
STATUSES = ("FINISHED", "FAILED", "KILLED")

# MLflow's own limits: what it would refuse or cut after the run has begun is refused before.
_KEY = re.compile(r"[/\w.\- :]{1,250}")
_LONGEST_PARAM, _LONGEST_TAG = 6000, 8000


class Options(NamedTuple):
    """A line of ``%air_run``, understood.

    Attributes:
        name: of a new run.
        experiment: its name, for a new run; it is made when it is missing.
        run_id: of the run to go on with.
        nested: whether the run is a child of the active one.
        params, tags: to log at once.
        description: shown on the run's page.
        autolog: flavours of MLflow, such as ``sklearn``, or ``all``.
        system_metrics: whether they are logged; ``None``: they are, unless MLflow's own switch is off.
        end: the status to end the active run with.
        status, help: only show something.
    """

    name: str | None = None
    experiment: str | None = None
    run_id: str | None = None
    nested: bool = False
    params: dict[str, str] = {}
    tags: dict[str, str] = {}
    description: str | None = None
    autolog: tuple[str, ...] = ()
    system_metrics: bool | None = None
    end: str | None = None
    status: bool = False
    help: bool = False


def parse(line: str) -> Options:
    """The options of a line.

    Raises:
        InputError: it has a mistake; the message says which.
    """
    try:
        words = shlex.split(line)
    except ValueError:
        raise InputError("A quote is not closed.", "Quote values with spaces, such as -p 'note=two words'.") from None
    given = _parser().parse_args(words)
    options = Options(
        name=given.name,
        experiment=given.experiment,
        run_id=given.run_id,
        nested=given.nested,
        params=_pairs("--param", given.param, _LONGEST_PARAM),
        tags=_pairs("--tag", given.tag, _LONGEST_TAG),
        description=given.description,
        autolog=tuple(given.autolog),
        system_metrics=given.system_metrics,
        end=given.end,
        status=given.status,
        help=given.help,
    )
    _check(options)
    return options


def usage() -> str:
    """The help text."""
    return _parser().format_help()


def flags() -> list[str]:
    """All options, long ones first."""
    found = [flag for action in _parser()._actions for flag in action.option_strings]
    return sorted(found, key=lambda flag: (not flag.startswith("--"), flag))


def takes_value(flag: str) -> bool:
    """Whether a value follows the option."""
    return any(flag in action.option_strings and action.nargs is None for action in _parser()._actions)


def _check(options: Options) -> None:
    if options.name is not None and not options.name.strip():
        raise InputError("The name of the run is empty.")
    if options.name is not None and options.run_id is not None:
        raise InputError("A run that --run-id goes on with keeps its own name.", "Leave out the name.")
    if options.end is not None and options._replace(end=None, run_id=None) != Options():
        raise InputError("--end takes a status and --run-id, and nothing else.", "Leave out the rest.")
    if options.experiment is not None and not options.experiment.strip():
        raise InputError("The name of the experiment is empty.")
    if options.run_id is not None and not options.run_id.strip():
        raise InputError("The run id is empty.")


def _pairs(flag: str, texts: Iterable[str], longest: int) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag} wants KEY=VALUE; got {text!r:.80}.")
        if not _KEY.fullmatch(key):
            raise InputError(
                f"{flag} has the key {key!r:.80}.",
                "MLflow takes 1 to 250 letters, digits, spaces and any of / _ - . :",
            )
        if key in pairs:
            raise InputError(f"{flag} names {key} twice.")
        if len(value) > longest:
            raise InputError(f"{flag} {key} has {len(value):,} characters; MLflow keeps at most {longest:,}.")
        pairs[key] = value
    return pairs


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown and unknown[1].startswith("-"):
            near = difflib.get_close_matches(unknown[1].partition("=")[0], flags(), 1)
            meant = f"Did you mean {near[0]}?" if near else "%air_run --help lists the options."
            raise InputError(f"%air_run has no option {unknown[1]!r:.80}.", meant)
        if unknown:
            raise InputError(
                f"%air_run takes one name; got {unknown[1]!r:.80} too.", "Quote a name that has spaces in it."
            )
        raise InputError(f"{message[:1].upper()}{message[1:]:.300}.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="%air_run",
        add_help=False,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Begin a run that MLflow tracks, or show the active one.\n\n"
            "%air_run       begins a run, or goes on with the one that MLFLOW_RUN_ID names;\n"
            "               shows the active run where there is one\n"
            "%%air_run      the run lasts as long as the cell: FINISHED, FAILED when it raises,\n"
            "               KILLED when it is interrupted; a child where a run is active"
        ),
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="of the new run; MLflow invents one without")
    add = parser.add_argument
    add("-e", "--experiment", metavar="NAME", help="where a new run goes; made when it is missing")
    add("--run-id", metavar="ID", help="go on with this run")
    add("--nested", action="store_true", help="begin a child of the active run")
    add("-p", "--param", metavar="KEY=VALUE", action="append", default=[], help="log a parameter; may be repeated")
    add("-t", "--tag", metavar="KEY=VALUE", action="append", default=[], help="set a tag; may be repeated")
    add("-d", "--description", metavar="TEXT", help="shown on the run's page; Markdown")
    add("--autolog", metavar="FLAVOUR", action="append", default=[], help="let MLflow log sklearn, pytorch, ... or all")
    add(
        "--system-metrics",
        action=argparse.BooleanOptionalAction,
        help="log CPU, memory and GPUs (on)",
    )
    add("--end", metavar="STATUS", nargs="?", const="FINISHED", choices=STATUSES, help="end the active run (FINISHED)")
    add("--status", action="store_true", help="show the active run as it is now")
    add("-h", "--help", action="store_true", help="show this")
    return parser
