from __future__ import annotations

import pytest

from jupyter_air.errors import InputError
from jupyter_air.runs import completion, options


def test_a_line_is_read_as_a_shell_reads_it() -> None:
    line = "base -e '/Users/ada/x y' -p lr=3e-4 -p eq=a=b -t t= --no-system-metrics --autolog sklearn --autolog all"
    assert options.parse(line) == options.Options(
        name="base",
        experiment="/Users/ada/x y",
        params={"lr": "3e-4", "eq": "a=b"},
        tags={"t": ""},
        system_metrics=False,
        autolog=("sklearn", "all"),
    )
    assert options.parse("") == options.Options()
    assert (options.parse("--end").end, options.parse("--end KILLED --run-id a").run_id) == ("FINISHED", "a")


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        ("-e 'x", "A quote is not closed.", "Quote"),
        ("--nestde", "no option '--nestde'", "Did you mean --nested?"),
        ("--qqqq", "no option '--qqqq'", "--help lists"),
        ("a b", "takes one name; got 'b' too", "Quote"),
        ("''", "name of the run is empty", ""),
        ("-e ''", "name of the experiment is empty", ""),
        ("--run-id ''", "run id is empty", ""),
        ("-p =1", "has the key ''", "letters"),
        ("-p 'a;b=1'", "has the key 'a;b'", "letters"),
        (f"-t {'k' * 251}=1", "has the key", "1 to 250"),
        (f"-p a={'1' * 6001}", "6,001 characters; MLflow keeps at most 6,000", ""),
        (f"-t a={'1' * 8001}", "8,001 characters; MLflow keeps at most 8,000", ""),
        ("-p", "expected one argument", ""),
        ("base --run-id a", "keeps its own name", "Leave out the name"),
        ("--end -p a=1", "--end takes a status", "Leave out"),
        ("--end --status", "--end takes a status", "Leave out"),
    ],
)
def test_a_mistake_is_one_sentence(line: str, said: str, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        options.parse(line)
    assert said in raised.value.message and hint in raised.value.hint
    assert len(raised.value.message) < 400 and "\n" not in raised.value.message


def test_the_help_names_every_option() -> None:
    text = options.usage()
    assert all(flag in text for flag in options.flags()) and "KILLED when it is interrupted" in text


@pytest.mark.parametrize(
    ("text", "fragment", "words"),
    [
        ("%air_run --st", "--st", ["--status"]),
        ("  %%air_run base --param a=1 --par", "--par", ["--param"]),
        ("%air_run --nested --nes", "--nes", []),
        ("%air_run --end K", "K", ["KILLED"]),
        ("%air_run -e --", "--", []),
        ("%air_run --autolog pyt", "pyt", ["pytorch"]),
    ],
)
def test_what_can_follow(text: str, fragment: str, words: list[str]) -> None:
    assert completion.completions(text) == (fragment, words)


@pytest.mark.parametrize("text", ["%air_run", "%air_runs --", "x = '%air_run --", "air_run --", ""])
def test_other_lines_are_left_to_ipython(text: str) -> None:
    assert completion.completions(text) is None
