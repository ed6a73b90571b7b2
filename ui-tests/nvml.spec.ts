/** From the driver's library to the tooltip: nvidia-ml-py in the real child of a real server, read in a real browser. */
import { mkdtempSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, Jupyter, test } from './jupyter';
import { Driver, Pane } from './pane';

const driver = new Driver(mkdtempSync(join(tmpdir(), 'air-driver-')));
const GIB = 2 ** 30;

test.use({
  jupyterOptions: {
    args: ['--JupyterAir.poll_interval_s=1', '--JupyterAir.history_window_s=7200'],
    env: driver.begin(
      2,
      'gpu.0.utilization=87',
      `gpu.0.memory.used=${Math.round(61.2 * GIB)}`,
      'gpu.0.temperature=71',
      'gpu.0.power_mw=412345',
      'gpu.0.clock.sm=1755',
      'gpu.1.utilization=0',
      `gpu.1.memory.used=${Math.round(78.1 * GIB)}`,
      'gpu.1.temperature=41',
      'gpu.1.power_mw=71000'
    )
  }
});

let pane: Pane;
test.beforeEach(async ({ page, jupyter }) => {
  await jupyter.open(page);
  pane = new Pane(page);
  await pane.open();
});

const local = new RegExp(`^${hostname()}$`);

test('what the library says is what the pane shows @oldest', async () => {
  const gpu = pane.gpu(local, /^GPU 0/);
  await expect(gpu.getByText('H100 80GB HBM3')).toBeVisible();
  await expect(gpu.locator('.jp-air-Gpu-power')).toHaveText(/412\sW/);
  const figures = gpu.locator('.jp-air-Figure');
  await expect(figures.nth(0)).toHaveText(/^87\s*%$/);
  await expect(figures.nth(1)).toHaveText(/^61\.2\s*\/\s*80\s*GiB$/);
  await expect(figures.nth(2)).toHaveText(/^71\s*°C$/);
  const readout = pane.root.locator('.jp-air-Readout');
  const shown = [
    /Utilization87\s*%/,
    /Memory61\.2\s*\/\s*80\s*GiB/,
    /Temperature71\s*°C/,
    /Power412\s*W/,
    /Clock1755\s*MHz/
  ];
  await gpu.getByRole('slider').press('End');
  for (const text of shown) {
    await expect(readout).toContainText(text);
  }
  await expect(
    pane
      .gpu(local, /^GPU 1/)
      .locator('.jp-air-Figure')
      .nth(1)
  ).toHaveAttribute('data-tone', 'warn');
  await pane.picture('two-gpus');
});

test('what the driver says next is shown without a touch', async () => {
  driver.set('gpu.1.utilization=33', 'gpu.1.throttle=64');
  const gpu = pane.gpu(local, /^GPU 1/);
  await expect(gpu.locator('.jp-air-Figure').nth(0)).toHaveText(/^33\s*%$/);
  await expect(gpu).toContainText(/thermal/);
  await pane.picture('throttled');
  driver.set('gpu.1.throttle=0');
});

test('a lost GPU says so and hides no other', async () => {
  driver.set('gpu.1.return=15');
  await expect(pane.gpu(local, /^GPU 1/)).toContainText('fallen off the bus');
  await expect(
    pane
      .gpu(local, /^GPU 0/)
      .locator('.jp-air-Figure')
      .nth(0)
  ).toHaveText(/^87\s*%$/);
  await pane.picture('lost');
  driver.set('gpu.1.return=0');
  await expect(
    pane
      .gpu(local, /^GPU 1/)
      .locator('.jp-air-Figure')
      .nth(0)
  ).toHaveText(/^33\s*%$/);
});

test('a field that is not supported is n/a with its reason', async () => {
  driver.set('gpu.0.temperature.return=3');
  const figure = pane
    .gpu(local, /^GPU 0/)
    .locator('.jp-air-Figure')
    .nth(2);
  await expect(figure).toContainText('n/a');
  await expect(figure).toHaveAttribute('title', /.+/);
  driver.set('gpu.0.temperature.return=0');
  await expect(figure).toHaveText(/^71\s*°C$/);
});

test('a driver that hangs is said to be stale, and picks up again', async () => {
  driver.set('gpu.0.utilization.delay_ms=600000');
  await expect(pane.node(local)).toContainText(/not answered for \d+ s/);
  await expect(pane.node(local)).toContainText(/no answer for/);
  await pane.picture('hangs');
  driver.set('gpu.0.utilization.delay_ms=0');
  await expect(pane.node(local)).toContainText(/live · \d+ s ago/, { timeout: 30_000 });
});

test('hostile names are text', async () => {
  driver.set('gpu.0.name=<img src=x onerror=document.title="owned"> ' + 'W'.repeat(60));
  await expect(pane.gpu(local, /^GPU 0/)).toContainText('<img src=x');
  await pane.width(280);
  await pane.picture('long-name-280');
  const overflow = await pane.root.evaluate(root =>
    [root, ...root.querySelectorAll('*')].some(
      e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'auto'
    )
  );
  expect(overflow).toBe(false);
  expect(await pane.page.title()).not.toContain('owned');
});

test('a server that is gone is said to be gone, and comes back', async ({ browser }) => {
  const own = new Jupyter({ args: ['--JupyterAir.poll_interval_s=1'], env: driver.begin(1), app: 'lab' });
  await own.start();
  const page = await browser.newPage();
  try {
    await own.open(page);
    const there = new Pane(page);
    await there.open();
    await expect(there.gpu(local, /^GPU 0/)).toContainText(/40\s%/);
    await own.stop('SIGKILL');
    await expect(there.status).toContainText('The Jupyter server does not answer; trying again.');
    await expect(there.gpu(local, /^GPU 0/)).toContainText(/40\s%/);
    await there.picture('server-gone');
    await own.start();
    await expect(there.status).not.toContainText('does not answer', { timeout: 90_000 });
    await expect(there.node(local)).toContainText(/live/);
  } finally {
    await page.close();
    await own.dispose();
  }
});
