"""The door of IPython: ``%air_run`` and ``%%air_run``. The rules of runs are in ``runs.tracking``.

It is loaded as each kernel starts (``config/ipython/startup``), so all that takes time is imported when it is used.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from jupyter_air.errors import AirError, InputError, UnavailableError
from jupyter_air.runs import cell_form, options
from jupyter_air.runs.interrupts import Interrupts

if TYPE_CHECKING:
    from jupyter_air.runs.open_runs import OpenRun

_QUIET_VARIABLE = "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"

_loaded: AirRun | None = None


def load_ipython_extension(shell: Any) -> None:
    """Registers the magic; a second call does nothing (IPython's hook)."""
    global _loaded
    if _loaded is None or _loaded.shell is not shell:
        _loaded = AirRun(shell)
        _loaded.register()


def unload_ipython_extension(shell: Any) -> None:
    """Takes it away again; active runs stay active (IPython's hook)."""
    global _loaded
    if _loaded is not None and _loaded.shell is shell:
        _loaded.unregister()
        _loaded = None


@dataclass
class _Execution:
    """A cell that is being run, and the run that lasts as long as it."""

    info: Any
    run: OpenRun | None = None
    interrupts: Interrupts | None = None


class AirRun:
    """The magic in one shell.

    Args:
        shell: IPython's.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._here = threading.local()  # ipykernel's subshells run cells in threads of their own.
        self._shown: dict[str, OpenRun] = {}

    def register(self) -> None:
        """Makes the magic, its cell form and its completion known."""
        shell = self.shell
        shell.register_magic_function(self.air_run, "line_cell", "air_run")
        shell.input_transformers_cleanup.append(self._rewritten)
        shell.events.register("pre_run_cell", self._before_cell)
        shell.events.register("post_run_cell", self._after_cell)
        self._matcher = _matcher()
        if self._matcher is not None:
            shell.Completer.custom_matchers.append(self._matcher)

    def unregister(self) -> None:
        """Undoes it."""
        shell = self.shell
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("air_run", None)
        shell.input_transformers_cleanup.remove(self._rewritten)
        shell.events.unregister("pre_run_cell", self._before_cell)
        shell.events.unregister("post_run_cell", self._after_cell)
        if self._matcher is not None:
            shell.Completer.custom_matchers.remove(self._matcher)

    def air_run(self, line: str, cell: str | None = None) -> Any:
        """The magic; its help is the options' own."""
        whole_cell = line.startswith(cell_form.WHOLE_CELL)
        try:
            asked = options.parse(line.removeprefix(cell_form.WHOLE_CELL))
            if cell is not None:
                return self._run_with(asked, cell)
            if whole_cell:
                self._begin_for_cell(asked)
            else:
                self._line(asked)
        except UnavailableError as error:
            _notice(error)
        except InputError as error:
            _refuse(error)
        return None

    air_run.__doc__ = options.usage()

    # The line form

    def _line(self, asked: options.Options) -> None:
        from jupyter_air.runs import open_runs

        if asked.help:
            print(options.usage())
        elif asked.end is not None:
            self._end_active(asked)
        elif asked.status:
            run = open_runs.active()
            if run is not None:
                self._show(run)
            else:
                _say_where(open_runs.elsewhere())
        else:
            self._show(self._begin(asked))

    def _end_active(self, asked: options.Options) -> None:
        from jupyter_air.runs import open_runs, tracking

        assert asked.end is not None
        run = open_runs.active()
        if asked.run_id is not None and (run is None or run.run_id != asked.run_id):
            tracking.end_by_id(asked.run_id, asked.end)
        elif run is None:
            raise InputError("No run is active here.", "%air_run --end --run-id ID ends a run of another kernel.")
        else:
            tracking.end(run, asked.end, even_if_not_ours=True)
            self._update(run)

    def _begin(self, asked: options.Options, *, whole_cell: bool = False) -> OpenRun:
        from jupyter_air.runs import notebook, tracking
        from jupyter_air.runs.beginning import Surroundings
        from jupyter_air.runs.context import of_this_process

        # The card has the link; MLflow would print it again as the run ends, with a password that is in the URI.
        os.environ.setdefault(_QUIET_VARIABLE, "true")
        kernel = notebook.kernel_shell()
        around = Surroundings(
            notebook.default_experiment(of_this_process(self.shell), notebook.user(os.environ)),
            None if kernel is None else notebook.kernel_id(kernel),
        )
        run = tracking.begin(asked, around, whole_cell=whole_cell)
        for note in run.notes:
            print(f"Jupyter AIR: {note}", file=sys.stderr)
        return run

    # The cell form

    def _rewritten(self, lines: list[str]) -> list[str]:
        return cell_form.rewritten(lines)

    # IPython asks whether a cell in a terminal is complete: it is not while its head alone is there.
    _rewritten.has_side_effects = True  # type: ignore[attr-defined]

    def _begin_for_cell(self, asked: options.Options) -> None:
        _check_that_it_begins(asked)
        stack = self._executions()
        if not stack:
            raise InputError("%%air_run works in a cell of its own only.")
        if stack[-1].run is not None:
            raise InputError("This cell has a run of its own already.", "Give it one %%air_run.")
        run = stack[-1].run = self._begin(asked, whole_cell=True)
        stack[-1].interrupts = Interrupts()
        self._show(run)

    def _run_with(self, asked: options.Options, cell: str) -> Any:
        """The cell form called as a function, as a notebook that was exported to a script does."""
        from jupyter_air.runs.script_form import run_body

        _check_that_it_begins(asked)
        try:
            run: OpenRun | None = self._begin(asked, whole_cell=True)
        except UnavailableError as error:
            _notice(error)
            run = None
        if run is not None:
            self._show(run)
        interrupts = Interrupts()
        status = "FAILED"
        try:
            value = run_body(self.shell, cell)
            status = "FINISHED"
            return value
        except BaseException as error:
            status = _status(error, False)
            raise
        finally:
            if run is not None:
                self._end(run, "KILLED" if interrupts.stop() else status)

    def _before_cell(self, info: Any) -> None:
        self._executions().append(_Execution(info))

    def _after_cell(self, result: Any) -> None:
        execution = self._ended(result)
        if execution is not None and execution.run is not None:
            interrupted = execution.interrupts is not None and execution.interrupts.stop()
            self._end(execution.run, _status(_error(result), interrupted or result is None))
        self._look_for_ended()

    def _ended(self, result: Any) -> _Execution | None:
        """The execution whose end this is: a cell may run others, which end before it, and an empty one never began."""
        stack = self._executions()
        info = getattr(result, "info", None)
        for index in reversed(range(len(stack))):
            # An interrupt between two steps of IPython's leaves nothing but the code, or nothing at all.
            if info is None or stack[index].info is info or _same_code(stack[index].info, info):
                execution = stack[index]
                del stack[index:]
                return execution
        return None

    def _executions(self) -> list[_Execution]:
        if not hasattr(self._here, "executions"):
            self._here.executions = []
        executions: list[_Execution] = self._here.executions
        return executions

    def _end(self, run: OpenRun, status: str) -> None:
        """Ends the run with its cell; one that was active before stays so."""
        from jupyter_air.runs import tracking
        from jupyter_air.runs.managed import INTERRUPTED

        if run.is_new:
            try:
                tracking.end(run, status, reason=INTERRUPTED if status == "KILLED" else None)
            except AirError as error:
                _notice(error, f"The run {run.run_id} could not be ended and may stay RUNNING.")
                self._shown.pop(run.run_id, None)
                return
        self._update(run)

    # The card

    def _show(self, run: OpenRun) -> None:
        from IPython.display import display

        display(self._card(run), display_id=_display_id(run))
        self._shown[run.run_id] = run

    def _update(self, run: OpenRun) -> None:
        from IPython.display import update_display

        from jupyter_air.runs import tracking

        if run.run_id in self._shown:
            if tracking.has_ended(run):
                del self._shown[run.run_id]
            try:
                update_display(self._card(run), display_id=_display_id(run))
            except AirError as error:
                _notice(error)

    def _look_for_ended(self) -> None:
        """A person's own code ends runs too: their cards say so."""
        from jupyter_air.runs import tracking

        for run in list(self._shown.values()):
            if tracking.has_ended(run):
                self._update(run)

    def _card(self, run: OpenRun) -> Any:
        from jupyter_air.runs import notebook
        from jupyter_air.runs.context import of_this_process
        from jupyter_air.runs.seen import see

        path, is_in_page = of_this_process(self.shell).path, notebook.is_in_page(self.shell.user_ns)
        return see(run.uri, run.run_id, path, os.environ, is_in_page=is_in_page)


def _matcher() -> Callable[[Any], Any] | None:
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:  # IPython before 8.6
        return None

    @context_matcher()  # type: ignore[untyped-decorator]
    def air_run_matcher(context: Any) -> Any:
        from jupyter_air.runs.completion import completions

        found = completions(context.text_until_cursor)
        if found is None:
            return {"completions": [], "suppress": False}
        words = [SimpleCompletion(text=word, type="option") for word in found.words]
        return {"completions": words, "matched_fragment": found.fragment, "suppress": True, "ordered": True}

    matcher: Callable[[Any], Any] = air_run_matcher
    return matcher


def _check_that_it_begins(asked: options.Options) -> None:
    if asked.help or asked.status or asked.end is not None:
        raise InputError("%%air_run begins a run; --end, --status and --help are of %air_run.")


def _status(error: BaseException | None, interrupted: bool) -> str:
    if interrupted or isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return "KILLED"
    left = isinstance(error, SystemExit) and error.code in (None, 0)
    return "FINISHED" if error is None or left else "FAILED"


def _error(result: Any) -> BaseException | None:
    if result is None:
        return None
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


def _same_code(one: Any, other: Any) -> bool:
    return bool(one.raw_cell == other.raw_cell and not other.raw_cell.isspace() and other.raw_cell)


def _say_where(elsewhere: list[OpenRun]) -> None:
    if elsewhere:
        ids = ", ".join(run.run_id for run in elsewhere)
        print(f"No run is active in this thread; active in others: {ids}.")
    else:
        print("No run is active in this kernel.")


def _display_id(run: OpenRun) -> str:
    return f"jupyter-air-run-{run.run_id}"


def _notice(error: AirError, before: str = "") -> None:
    text = " ".join(part for part in (before, error.message, error.hint) if part)
    print(f"Jupyter AIR: not tracked. {text}" if not before else f"Jupyter AIR: {text}", file=sys.stderr)


def _refuse(error: AirError) -> NoReturn:
    from IPython.core.error import UsageError

    raise UsageError(" ".join(part for part in (error.message, error.hint) if part)) from None
