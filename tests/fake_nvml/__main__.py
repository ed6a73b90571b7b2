"""``python -m tests.fake_nvml FOLDER [--gpus N] [--remove KEY] [KEY=VALUE ...]``: for tests that are not Python."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.fake_nvml import FakeNvml, healthy


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_nvml", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the state and the log lie")
    parser.add_argument("--gpus", type=int, help="begin again with so many GPUs that are well")
    parser.add_argument("--remove", action="append", default=[], metavar="KEY", help="take away a key and all below it")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_intermixed_args()
    fake = FakeNvml(options.folder.resolve())
    if options.gpus is not None:
        fake.write(healthy(options.gpus))
    fake.update(dict(change.split("=", 1) for change in options.changes), remove=options.remove)
    print(json.dumps(fake.environment))


if __name__ == "__main__":
    main()
