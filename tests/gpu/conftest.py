from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_nvml import FakeNvml, healthy
from tests.gpu.reader_process import ReaderProcess


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """A driver with two GPUs that are well, for every process that a test starts."""
    fake = FakeNvml(tmp_path / "nvml")
    fake.write(healthy(2))
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake


@pytest.fixture
def reader(fake: FakeNvml) -> Iterator[ReaderProcess]:
    """The reader in a process of its own, on that driver."""
    with ReaderProcess() as process:
        yield process
