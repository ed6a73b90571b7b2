/**
 * jupyterlab-nvdashboard's "GPU Resources": utilization and memory of each GPU and of all 20 lines in 4 charts.
 * It keeps 1000 records and draws the newest ten.
 */
import { type Page } from '@playwright/test';
import { execute, expect, test } from '../../../ui-tests/jupyter';
import { CADENCE_MS, POINTS, report, Scripts, WATCH_MS, watch } from './measure';

const PLUGIN = 'jupyterlab-nvdashboard:config';
const FILL_MS = 20;
const DEFAULT_MS = 100;

/** Counts what the server sends to the dashboard. */
function countFrames(page: Page): () => number {
  let count = 0;
  page.on('websocket', socket => {
    if (socket.url().endsWith('/gpu_resource')) {
      socket.on('framereceived', () => count++);
    }
  });
  return () => count;
}

/** Changes a setting in JupyterLab's settings, as a person does: the dashboard hears of no other change. */
async function setFrequency(page: Page, ms: number): Promise<void> {
  await execute(page, 'settingeditor:open', { query: 'NVDashboard' });
  const field = page.locator('.jp-SettingsForm').getByRole('spinbutton').first();
  await field.fill(String(ms));
  await field.blur();
  await page.waitForTimeout(2000); // the editor saves a while after the last change
  await page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: 'GPU Resources' }).click();
}

test.beforeEach(({ jupyter }) => {
  jupyter.write(
    `settings/${PLUGIN.replace(':', '/')}.jupyterlab-settings`,
    JSON.stringify({ updateFrequency: FILL_MS })
  );
});

test('an update of the dashboard of 8 GPUs', async ({ page, jupyter }) => {
  const frames = countFrames(page);
  await page.setViewportSize({ width: 1280, height: 1000 });
  const scripts = new Scripts(page, 'jupyterlab-nvdashboard');
  await jupyter.open(page);
  await page.waitForTimeout(5000); // JupyterLab is not at rest when it says that it is restored
  const start = await scripts.bytes();
  const closed = await watch(page, frames);

  await execute(page, 'gpu-dashboard-widget:open', { id: 'gpu-resource-widget', title: 'GPU Resources' });
  await expect.poll(frames, { timeout: 120_000 }).toBeGreaterThan(POINTS);
  const all = await scripts.bytes();

  await setFrequency(page, DEFAULT_MS);
  const defaults = await watch(page, frames);

  await setFrequency(page, CADENCE_MS);
  const opened = await watch(page, frames, 2 * WATCH_MS);
  report({ start, all, closed, defaults, opened });
});
