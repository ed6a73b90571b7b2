/** A large fleet: what it is together, search, order, and the history of what is in view. */
import AxeBuilder from '@axe-core/playwright';
import { type Page } from '@playwright/test';
import { expect, execute, test } from './jupyter';
import { Pane } from './pane';

test.use({ jupyterOptions: { args: ['--JupyterAir.simulate=128x8'] } });

let pane: Pane;
test.beforeEach(async ({ page, jupyter }) => {
  await page.setViewportSize({ width: 1280, height: 1000 });
  await jupyter.open(page);
  pane = new Pane(page);
  await pane.open();
  await expect(pane.root.locator('.jp-air-Fleet-count')).toHaveText(/^129.nodes · 1024.GPUs/);
});

/** The names of the nodes, from the top. */
const names = (): Promise<string[]> => pane.root.locator('.jp-air-Node-nameText').allTextContents();

/** Every node whose history the page asked for. */
function askedFor(page: Page): Set<string> {
  const asked = new Set<string>();
  page.on('request', request => {
    const query = new URL(request.url()).searchParams;
    [...query.getAll('strip'), ...query.getAll('full')].forEach(node => asked.add(node));
  });
  return asked;
}

const strip = (node: string) =>
  pane.node(node).getByRole('img', { name: /^Utilization of 8 GPUs: mean \d+ % now/ });

test('shows what the nodes are together, and a strip for each that is in view', async ({ page, jupyter }) => {
  const slots = async (): Promise<number> =>
    (await jupyter.get<{ times_s: number[] }>('jupyter-air/gpu')).times_s.length;
  await expect.poll(slots, { timeout: 60_000 }).toBeGreaterThan(700);
  await pane.root.getByRole('button', { name: 'Refresh' }).click();
  await pane.width(320);
  await expect(pane.root.locator('.jp-air-Totals')).toHaveText(
    /^Utilization\d+ %Memory[\d.]+ \/.80.TiBPower[\d.]+ kW$/
  );
  await expect(strip('simulated-01')).toBeVisible();
  await expect(strip('simulated-04')).toBeVisible();
  await expect(strip('simulated-100')).toHaveCount(0);
  await pane.picture('readme-fleet');
  await pane.theme('JupyterLab Dark');
  await pane.width(280);
  await pane.picture('fleet-280-dark');
  for (const theme of ['JupyterLab Dark', 'JupyterLab Light', 'JupyterLab Dark High Contrast'] as const) {
    await pane.theme(theme);
    const found = await new AxeBuilder({ page }).include('#jupyter-air-gpu').analyze();
    expect(found.violations.map(one => one.id)).toEqual([]);
  }
});

test('fetches the history of what is in view only', async ({ page }) => {
  const asked = askedFor(page);
  const last = pane.node('simulated-128');
  await expect(strip('simulated-01')).toBeVisible();
  await last.scrollIntoViewIfNeeded();
  await expect(strip('simulated-128')).toBeVisible();
  await expect.poll(() => asked.has('simulated-128')).toBe(true);
  expect(asked.size).toBeLessThan(40);
  expect(asked.has('simulated-64')).toBe(false);
  // Something of the line is drawn: the strip is not one colour.
  const colours = await last.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  expect(colours).toBeGreaterThan(5);
});

test('unfolds a node in full, by the keyboard', async () => {
  const node = pane.node('simulated-02');
  const fold = node.getByRole('button', { name: 'simulated-02' });
  await fold.press('Enter');
  await expect(fold).toHaveAttribute('aria-expanded', 'true');
  const gpu = pane.gpu('simulated-02', /^GPU 3/);
  // A simulated GPU rests now and then, by the clock: it has less than a GiB then.
  await expect(gpu.getByRole('img', { name: /^Memory: now [\d.]+.[MG]iB; lowest/ })).toBeVisible();
  await expect(gpu.locator('.jp-air-Figure').nth(2)).toHaveText(/^\d+ °C$/);
  await pane.picture('fleet-unfolded');
});

test('searches, and says what the nodes found are together', async () => {
  const search = pane.root.getByRole('searchbox', { name: /Filter nodes/ });
  await search.fill('simulated-12 h100');
  await expect(pane.root.locator('.jp-air-Fleet-count')).toHaveText(/^10.of.129.nodes · 80.GPUs$/);
  expect(await names()).toEqual([
    'simulated-12',
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(n => `simulated-12${n}`)
  ]);
  await expect(strip('simulated-128')).toBeVisible();
  await search.fill('<b>nobody</b>');
  await expect(pane.root.getByText('No node matches “<b>nobody</b>”.')).toBeVisible();
  await pane.picture('fleet-none');
  await pane.root.getByRole('button', { name: 'Show all nodes' }).click();
  await expect(pane.root.locator('.jp-air-Fleet-count')).toHaveText(/^129.nodes/);
  await expect(search).toHaveValue('');
});

test('sorts, and remembers by what', async ({ page, jupyter }) => {
  const order = pane.root.getByRole('combobox', { name: 'Order of the nodes' });
  const loads = async (): Promise<number[]> => {
    const texts = await pane.root.locator('.jp-air-Node-age').allTextContents();
    return texts.map(text => Number(/(\d+).%/.exec(text)?.[1])).filter(load => !Number.isNaN(load));
  };
  expect((await names()).slice(0, 3)).toEqual(['simulated-01', 'simulated-02', 'simulated-03']);
  expect((await names()).at(-1), 'this machine, which has no GPU').not.toContain('simulated');
  await order.selectOption({ label: 'Busiest first' });
  await expect
    .poll(async () => {
      const now = await loads();
      return now.length > 3 && now.every((load, i) => i === 0 || load <= now[i - 1]);
    })
    .toBe(true);
  await order.selectOption({ label: 'Idlest first' });
  await expect.poll(async () => (await loads())[0]).toBeLessThan(40);
  await expect
    .poll(async () => (await jupyter.get<{ raw: string }>('lab/api/settings/jupyter-air:gpu')).raw)
    .toContain('idlest');
  await jupyter.open(page);
  await pane.open();
  await expect(order).toHaveValue('idlest');
});

test('says in the status bar what all nodes do', async ({ page }) => {
  await execute(page, 'jupyter-air:gpu-toggle-status-item');
  await expect(page.getByRole('button', { name: /^GPU \d+ % · [\d.]+.TiB$/ })).toBeVisible();
});
