"""The body of ``%%air_run`` where the magic is called as a function: notebooks exported to scripts do."""

from __future__ import annotations

import ast
import inspect
from typing import Any


def run_body(shell: Any, cell: str) -> Any:
    """Runs code in the shell's name space, as IPython reads it; gives the value of a last expression.

    Exceptions pass, so that a script stops and tells once. ``await`` works where no event loop runs yet.

    Args:
        shell: IPython's.
        cell: code of the cell, magics too.
    """
    code = shell.transform_cell(cell)
    name = shell.compile.cache(code)
    tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        _run(shell, shell.compile(tree, name, "exec"))
        return None if last is None else _run(shell, shell.compile(ast.Expression(last.value), name, "eval"))


def _run(shell: Any, code: Any) -> Any:
    value = eval(code, shell.user_global_ns, shell.user_ns)
    return shell.loop_runner(value) if inspect.iscoroutine(value) and code.co_flags & inspect.CO_COROUTINE else value
