/** A fleet of 128 nodes of 8 GPUs: what an answer costs, and whether it scrolls. */
import { expect, test } from '../../../ui-tests/jupyter';
import { Pane } from '../../../ui-tests/pane';
import { CADENCE_MS, POINTS, report, scroll, SCROLL_MS, watch } from './measure';

const NODES = 128;

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
  const { taskMs, frames } = await scroll(page.locator('.jp-air-Nodes'));
  report({
    closed,
    shown,
    longestTaskMs: Math.max(0, ...taskMs),
    longTasks: taskMs.length,
    frameMs: SCROLL_MS / frames
  });
});
