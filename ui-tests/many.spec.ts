/** Many GPUs: sixteen in full, more as a strip that unfolds; and the settings that change how they look. */
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from './jupyter';
import { Pane } from './pane';

test.use({ jupyterOptions: { args: ['--JupyterAir.simulate=1x24'] } });

let pane: Pane;
test.beforeEach(async ({ page, jupyter }) => {
  await jupyter.open(page);
  pane = new Pane(page);
  await pane.open();
});

test('above sixteen a node is a heat strip that unfolds', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 1100 });
  const node = pane.node('simulated-01');
  await expect(node.getByRole('img', { name: /Utilization of 24 GPUs: mean \d+ % now/ })).toBeVisible();
  await expect(node.getByRole('group')).toHaveCount(0);
  await pane.picture('strip');
  const fold = node.getByRole('button', { name: 'simulated-01' });
  await expect(fold).toHaveAttribute('aria-expanded', 'false');
  await fold.press('Enter');
  await expect(fold).toHaveAttribute('aria-expanded', 'true');
  await expect(node.getByRole('group', { name: /^GPU \d+/ })).toHaveCount(24);
  const drawn = await node.locator('canvas').count();
  expect(drawn, 'only what is in view is drawn').toBeLessThan(24 * 3);
  await pane.picture('unfolded');
  const found = await new AxeBuilder({ page }).include('#jupyter-air-gpu').analyze();
  expect(found.violations.map(one => one.id)).toEqual([]);
});

test('density is remembered over a reload', async ({ page, jupyter }) => {
  await pane.root.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitem', { name: 'Compact Rows' }).click();
  await expect(pane.root.locator('[data-density="compact"]')).toBeVisible();
  await expect
    .poll(async () => (await jupyter.get<{ raw: string }>('lab/api/settings/jupyter-air:gpu')).raw)
    .toContain('compact');
  await jupyter.open(page);
  await pane.open();
  await expect(pane.root.locator('[data-density="compact"]')).toBeVisible();
  await pane.node('simulated-01').getByRole('button', { name: 'simulated-01' }).click();
  await pane.picture('compact');
});

test('thresholds of the settings colour the figures', async ({ page, jupyter }) => {
  jupyter.write(
    'settings/jupyter-air/gpu.jupyterlab-settings',
    JSON.stringify({ temperatureWarn: 1, temperatureError: 2 })
  );
  await jupyter.open(page);
  await pane.open();
  await pane.node('simulated-01').getByRole('button', { name: 'simulated-01' }).click();
  const temperature = pane
    .gpu('simulated-01', /^GPU 0/)
    .locator('.jp-air-Figure')
    .nth(2);
  await expect(temperature).toHaveAttribute('data-tone', 'error');
  await expect(temperature.getByRole('img', { name: 'above 2 °C' })).toBeVisible();
});
