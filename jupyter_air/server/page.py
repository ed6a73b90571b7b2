"""What a person sees at MLflow's address while MLflow is not there."""

from __future__ import annotations

import html
from importlib import resources
from string import Template

from tornado.web import HTTPError

from jupyter_air.server.base import ErrorsInWords


class PageHandler(ErrorsInWords):
    """A route that a person may open as a page, and a program may ask too."""

    def get_login_url(self) -> str:
        """A person is sent to log in, a program is refused."""
        if not self.is_navigation:
            raise HTTPError(403, "Log in to Jupyter, or send its token.")
        return str(super().get_login_url())

    def tell(self, code: str, message: str, hint: str) -> None:
        """Ends the answer: to a person with a page, to a program as everywhere."""
        if self.is_navigation:
            self.show_page(code, message, hint)
        else:
            super().tell(code, message, hint)

    def show_page(self, state: str, message: str, hint: str = "", asks: str = "") -> None:
        """Ends the answer with a page.

        Args:
            state: ``starting`` makes the page ask how far the start is, and show MLflow once it is there.
            message: one sentence.
            hint: another one, or empty.
            asks: address at which the page asks how far the start is.
        """
        page = resources.files("jupyter_air.server").joinpath("mlflow.html").read_text("utf-8")
        words = {"state": state, "message": message, "hint": hint, "asks": asks}
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(Template(page).substitute({name: html.escape(text) for name, text in words.items()}))

    @property
    def is_navigation(self) -> bool:
        """Whether a browser asks for a page to show, not a script for data."""
        if self.request.method != "GET":
            return False
        mode = self.request.headers.get("Sec-Fetch-Mode")
        return mode == "navigate" if mode else "text/html" in self.request.headers.get("Accept", "")
