"""How long a Jupyter server takes to answer the simplest question, however long the answers before it took."""

from __future__ import annotations

import asyncio
import statistics
import time

import httpx

_EVERY_S = 0.05
_LAST_WAIT_S = 60.0


async def status_latencies_s(url: str, token: str, for_s: float) -> list[float]:
    """Asks ``/api/status`` twenty times a second, on a clock that does not wait for answers.

    Args:
        url: of the server, with its base URL.
        token: of its user.
        for_s: how long to go on asking.

    Returns:
        Seconds from each question to its answer.
    """
    headers = {"Authorization": f"token {token}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=_LAST_WAIT_S, limits=limits, trust_env=False
    ) as client:
        began_s = time.monotonic()
        questions = [asyncio.create_task(_ask(client, began_s + n * _EVERY_S)) for n in range(int(for_s / _EVERY_S))]
        return list(await asyncio.gather(*questions))


async def _ask(client: httpx.AsyncClient, due_s: float) -> float:
    await asyncio.sleep(due_s - time.monotonic())
    reply = await client.get("api/status")
    reply.raise_for_status()
    return time.monotonic() - due_s


def summary_ms(latencies_s: list[float]) -> dict[str, float]:
    """Median, 99th percentile and worst, in milliseconds."""
    hundredths = statistics.quantiles(latencies_s, n=100, method="inclusive")
    return {"p50": 1000 * hundredths[49], "p99": 1000 * hundredths[98], "max": 1000 * max(latencies_s)}
