/** How it looks and whether everybody can use it: pictures for review in every theme, and axe on each. */
import AxeBuilder from '@axe-core/playwright';
import { type Page } from '@playwright/test';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from './jupyter';
import { Driver, Pane } from './pane';

const driver = new Driver(mkdtempSync(join(tmpdir(), 'air-driver-')));
const GIB = 2 ** 30;

// A machine with trouble of every kind beside a fleet that has none.
const TROUBLED = [
  'gpu.0.name=NVIDIA A100-SXM4-80GB of an unreasonably long name that no sidebar can hold',
  'gpu.0.utilization.return=3',
  'gpu.0.mig.max=2',
  'gpu.0.mig.0.uuid=MIG-aaaa0000-0000-0000-0000-000000000000',
  'gpu.0.mig.0.name=NVIDIA A100 MIG 1g.10gb',
  `gpu.0.mig.0.memory.total=${10 * GIB}`,
  `gpu.0.mig.0.memory.used=${9.8 * GIB}`,
  'gpu.1.temperature=94',
  'gpu.1.throttle=72',
  'gpu.2.memory.return=3',
  'gpu.3.return=15'
];

test.use({
  jupyterOptions: {
    args: ['--JupyterAir.simulate=1x2', '--JupyterAir.poll_interval_s=10'],
    env: driver.begin(4, ...TROUBLED)
  }
});

const THEMES = ['JupyterLab Light', 'JupyterLab Dark', 'JupyterLab Dark High Contrast'] as const;

async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).include('#jupyter-air-gpu').analyze();
  return found.violations.map(
    one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 160)).join(' | ')}`
  );
}

let pane: Pane;
test.beforeEach(async ({ page, jupyter }) => {
  await page.setViewportSize({ width: 1280, height: 1400 });
  await jupyter.open(page);
  pane = new Pane(page);
  await pane.open();
  await expect(pane.root.getByText('shared with system memory')).toBeAttached();
});

for (const theme of THEMES) {
  const short = theme.replace('JupyterLab ', '').toLowerCase().replaceAll(' ', '-');
  test(`axe finds nothing, ${short}`, async ({ page }) => {
    await pane.theme(theme);
    for (const width of [280, 420]) {
      await pane.width(width);
      await pane.picture(`troubled-${short}-${width}`);
      expect(await violations(page)).toEqual([]);
    }
    await pane.gpu('simulated-01', /GPU 0/).getByRole('slider').press('ArrowLeft');
    expect(await violations(page)).toEqual([]);
  });
}

test('at 280 px and at 200 % nothing is cut off or scrolls sideways', async ({ page }) => {
  await pane.width(280);
  const sideways = (): Promise<string[]> =>
    pane.root.evaluate(root => {
      const box = root.getBoundingClientRect();
      return [...root.querySelectorAll('button, h2, h3, .jp-air-Figure, .jp-air-Gpu-power, canvas')]
        .filter(e => {
          const own = e.getBoundingClientRect();
          return own.width > 0 && (own.right > box.right + 1 || own.left < box.left - 1);
        })
        .map(e => e.outerHTML.slice(0, 120));
    });
  expect(await sideways()).toEqual([]);
  // What a browser does at 200 %: half the CSS pixels.
  await page.setViewportSize({ width: 640, height: 700 });
  await pane.settle();
  expect(await sideways()).toEqual([]);
  await pane.picture('zoom-200');
});

test('right to left', async ({ page }) => {
  await page.evaluate(() => {
    document.documentElement.dir = 'rtl';
  });
  await pane.picture('right-to-left');
  expect(await violations(page)).toEqual([]);
});

test('everything by keyboard', async ({ page }) => {
  await pane.root.getByRole('button', { name: '15 m', exact: true }).focus();
  const reached = new Set<string>();
  for (let step = 0; step < 40; step++) {
    const name = await page.evaluate(() => {
      const at = document.activeElement;
      return at?.closest('#jupyter-air-gpu')
        ? (at.getAttribute('aria-label') ?? at.textContent.trim())
        : null;
    });
    if (name === null) {
      break;
    }
    reached.add(name);
    await page.keyboard.press('Tab');
  }
  for (const name of ['15 m', '2 h', 'Refresh', 'Export as CSV', 'Settings', 'simulated-01']) {
    expect([...reached]).toContain(name);
  }
  expect(
    [...reached].filter(name => name.startsWith('Time on the charts of GPU')).length
  ).toBeGreaterThanOrEqual(3);
});
