/** A fleet of 128 nodes of 8 GPUs: what an answer costs, and whether it scrolls. */
import { type Page } from '@playwright/test';
import { expect, test } from '../../../ui-tests/jupyter';
import { Pane } from '../../../ui-tests/pane';
import { CADENCE_MS, POINTS, report, watch } from './measure';

const NODES = 128;
const SCROLL_MS = 8000;

test.use({
  jupyterOptions: {
    args: [
      `--JupyterAir.simulate=${NODES}x8`,
      `--JupyterAir.poll_interval_s=${CADENCE_MS / 1000}`,
      `--JupyterAir.history_window_s=${(CADENCE_MS / 1000) * POINTS}`,
      '--JupyterAir.pause_after_s=0'
    ]
  }
});

/** Scrolls the list from its top to its end, evenly; gives the milliseconds that the tasks of the page took. */
function scroll(page: Page): Promise<{ taskMs: number[]; frames: number }> {
  return page.locator('.jp-air-Nodes').evaluate(async (list, duration) => {
    const taskMs: number[] = [];
    const observer = new PerformanceObserver(entries => {
      taskMs.push(...entries.getEntries().map(entry => entry.duration));
    });
    observer.observe({ entryTypes: ['longtask'] });
    let frames = 0;
    const began = performance.now();
    await new Promise<void>(done => {
      const step = (): void => {
        const part = (performance.now() - began) / duration;
        list.scrollTop = part * (list.scrollHeight - list.clientHeight);
        frames++;
        if (part < 1) {
          requestAnimationFrame(step);
        } else {
          done();
        }
      };
      requestAnimationFrame(step);
    });
    await new Promise(done => setTimeout(done, 500));
    observer.disconnect();
    return { taskMs, frames };
  }, SCROLL_MS);
}

test('a fleet at rest and scrolled', async ({ page, jupyter }) => {
  let answers = 0;
  page.on('response', response => {
    answers += Number(
      response.url().includes('jupyter-air/gpu?since') && !response.url().includes('whole=1')
    );
  });
  await page.setViewportSize({ width: 1280, height: 1000 });
  await jupyter.open(page);
  const closed = await watch(page, () => answers);
  const pane = new Pane(page);
  await pane.open();
  await expect
    .poll(async () => (await jupyter.get<{ times_s: number[] }>('jupyter-air/gpu')).times_s.length, {
      timeout: 60_000
    })
    .toBeGreaterThan(POINTS * 0.9);
  await page.waitForTimeout(5000);
  const shown = await watch(page, () => answers);
  const { taskMs, frames } = await scroll(page);
  report({
    closed,
    shown,
    longestTaskMs: Math.max(0, ...taskMs),
    longTasks: taskMs.length,
    frameMs: SCROLL_MS / frames
  });
});
