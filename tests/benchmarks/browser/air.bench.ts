/** The pane in a real JupyterLab, beside a page that only draws. */
import { type Page } from '@playwright/test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '../../../ui-tests/jupyter';
import { Pane } from '../../../ui-tests/pane';
import { CADENCE_MS, type ICost, POINTS, report, Scripts, together, watch } from './measure';

const GPUS = 8;
const CHARTS = 3 * GPUS;
const ROUNDS = 2;

test.use({
  jupyterOptions: {
    args: [
      `--JupyterAir.simulate=1x${GPUS}`,
      `--JupyterAir.poll_interval_s=${CADENCE_MS / 1000}`,
      `--JupyterAir.history_window_s=${(CADENCE_MS / 1000) * POINTS}`,
      '--JupyterAir.pause_after_s=0'
    ]
  }
});

/** Makes the browser so high that the GPUs of the fleet are in view and the host below them is not. */
async function showGpusOnly(page: Page, pane: Pane): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 2000 });
  const list = (await pane.root.locator('.jp-air-Nodes').boundingBox())!;
  const last = (await pane.root
    .locator('.jp-air-Gpu')
    .nth(GPUS - 1)
    .boundingBox())!;
  await page.setViewportSize({
    width: 1280,
    height: 2000 - Math.floor(list.y + list.height - last.y - last.height - 4)
  });
  await pane.settle();
}

/** The pane draws those that its list of nodes does not cut off. */
function chartsInView(pane: Pane): Promise<number> {
  return pane.root.locator('.jp-air-Nodes').evaluate(list => {
    const { bottom } = list.getBoundingClientRect();
    const charts = [...list.querySelectorAll('.jp-air-Chart:has(canvas)')];
    return charts.filter(chart => chart.getBoundingClientRect().top < bottom).length;
  });
}

/** A page of as many charts of the same size: lines of a pixel and no more, or the pane's own picture. */
async function canvasPage(page: Page, look: 'lines' | 'picture'): Promise<Page> {
  const chart = await page
    .locator('.jp-air-Chart')
    .first()
    .evaluate(({ clientWidth, clientHeight }) => ({
      width: clientWidth,
      height: clientHeight
    }));
  const size = Object.entries({ charts: CHARTS, ...chart, points: POINTS, cadence: CADENCE_MS, [look]: 1 });
  const url = pathToFileURL(join(__dirname, 'canvas.html'));
  url.search = new URLSearchParams(size.map(([name, value]) => [name, String(value)])).toString();
  const canvas = await page.context().newPage();
  await canvas.setViewportSize(page.viewportSize()!);
  await canvas.goto(url.href);
  return canvas;
}

function drawn(canvas: Page): Promise<number> {
  return canvas.evaluate(() => (window as unknown as { updates: number }).updates);
}

test('an update of 24 charts', async ({ page, jupyter }) => {
  let answers = 0;
  page.on('response', response => {
    answers += Number(response.url().includes('jupyter-air/gpu?since'));
  });
  const scripts = new Scripts(page, 'jupyter-air');
  await jupyter.open(page);
  await page.waitForTimeout(5000); // JupyterLab is not at rest when it says that it is restored
  const start = await scripts.bytes();
  const closed = await watch(page, () => answers);
  expect(closed.updates).toBe(0);

  const pane = new Pane(page);
  await pane.open();
  await pane.root.getByRole('button', { name: '15 m', exact: true }).click();
  await showGpusOnly(page, pane);
  expect(await chartsInView(pane)).toBe(CHARTS);
  const all = await scripts.bytes();

  const lines = await canvasPage(page, 'lines');
  const picture = await canvasPage(page, 'picture');
  const costs = { pane: [], lines: [], picture: [] } as Record<'pane' | 'lines' | 'picture', ICost[]>;
  for (let round = 0; round < ROUNDS; round++) {
    costs.lines.push(await watch(lines, () => drawn(lines)));
    costs.picture.push(await watch(picture, () => drawn(picture)));
    costs.pane.push(await watch(page, () => answers));
  }
  report({
    start,
    all,
    closed,
    pane: together(costs.pane),
    lines: together(costs.lines),
    picture: together(costs.picture)
  });
});
