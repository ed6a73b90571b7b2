/** The pane on a simulated fleet: what a newcomer sees and can do. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { execute, expect, test } from './jupyter';
import { Pane } from './pane';

test.use({ jupyterOptions: { args: ['--JupyterAir.simulate=2x2'] } });

function notebook(source: string): string {
  const cell = { cell_type: 'code', id: 'one', source, metadata: {}, outputs: [], execution_count: null };
  const kernelspec = { name: 'python3', display_name: 'Python 3', language: 'python' };
  return JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells: [cell] });
}

let pane: Pane;
test.beforeEach(async ({ page, jupyter }) => {
  await jupyter.open(page);
  pane = new Pane(page);
});

test('a click in the sidebar shows every node, labelled, with two hours behind @oldest', async () => {
  await pane.open();
  const first = pane.node('simulated-01');
  await expect(first.getByText('Simulated', { exact: true })).toBeVisible();
  await expect(first.getByText(/live · \d+ s ago/)).toBeVisible();
  await expect(first.getByText(/CPU\s\d+\s%/)).toBeVisible();
  await expect(pane.gpu('simulated-02', /GPU 1/)).toBeVisible();
  const chart = pane.gpu('simulated-01', /GPU 0/).getByRole('img', { name: /^Utilization/ });
  await expect(chart).toHaveAccessibleName(/now \d+\s%; lowest 0\s%, mean [1-9]\d*\s%, highest \d\d+\s%/);
  await expect(chart.locator('canvas')).toBeVisible();
  await expect(pane.root.getByText(/10 s · pauses in \d+ min when idle/)).toBeVisible();
});

test('the window of time is remembered over a reload, and so is the open pane', async ({ page, jupyter }) => {
  await pane.open();
  await pane.root.getByRole('button', { name: '15 m', exact: true }).click();
  await expect(pane.root.getByRole('button', { name: '15 m', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true'
  );
  await expect
    .poll(async () => (await jupyter.get<{ raw: string }>('lab/api/settings/jupyter-air:gpu')).raw)
    .toContain('15m');
  await page.waitForTimeout(1500); // JupyterLab saves its layout a second after the last change
  await jupyter.open(page, 'lab');
  await expect(pane.root.getByRole('button', { name: '15 m', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true'
  );
  await pane.root.getByRole('button', { name: '2 h', exact: true }).click();
});

test('one cursor over all charts tells time and figures', async ({ page }) => {
  await pane.open();
  const layer = pane.gpu('simulated-01', /GPU 0/).getByRole('slider');
  await layer.hover({ position: { x: 60, y: 20 } });
  const readout = pane.root.locator('.jp-air-Readout');
  await expect(readout).toContainText('GPU 0');
  await expect(readout).toContainText(/\d\d:\d\d:\d\d/);
  for (const metric of ['Utilization', 'Memory', 'Temperature', 'Power', 'Clock']) {
    await expect(readout).toContainText(metric);
  }
  const shown = await pane.root
    .locator('.u-cursor-x')
    .evaluateAll(
      lines => lines.filter(line => !(line as HTMLElement).style.transform.includes('-10px')).length
    );
  expect(shown).toBeGreaterThanOrEqual(6);
  await pane.picture('cursor');
  await layer.press('Escape');
  await expect(readout).toBeHidden();
  await layer.focus();
  await page.keyboard.press('ArrowLeft');
  await expect(layer).toHaveAttribute('aria-valuetext', /\d\d:\d\d:\d\d, Utilization \d+\s%/);
});

test('refresh takes a sample now', async ({ page }) => {
  await pane.open();
  await expect(pane.node('simulated-01').getByText(/live · [4-9] s ago/)).toBeVisible();
  const asked = page.waitForResponse(answer => answer.url().includes('/gpu/refresh'));
  await pane.root.getByRole('button', { name: 'Refresh' }).click();
  expect((await asked).status()).toBe(204);
  await expect(pane.node('simulated-01').getByText(/live · [0-2] s ago/)).toBeVisible();
});

test('the history leaves as CSV', async ({ page }) => {
  await pane.open();
  const download = page.waitForEvent('download');
  await pane.root.getByRole('button', { name: 'Export as CSV' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^gpu-history-.*Z\.csv$/);
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\r\n');
  expect(lines[0]).toContain('utilization_percent');
  expect(lines.length).toBeGreaterThan(4 * 700);
});

test('a hidden pane asks nothing, and says nothing of activity', async ({ page }) => {
  await pane.open();
  await pane.settle();
  await pane.close();
  const asked: string[] = [];
  page.on('request', request => {
    if (request.url().includes('jupyter-air/')) {
      asked.push(request.url());
    }
  });
  await page.mouse.move(300, 300);
  await page.mouse.move(400, 400);
  await page.waitForTimeout(12_000);
  expect(asked).toEqual([]);
});

test('palette, settings and the item in the status bar', async ({ page }) => {
  await page.keyboard.press('Control+Shift+C');
  await page.locator('.lm-CommandPalette-input').fill('GPU');
  for (const label of ['Open GPU Resources', 'Refresh GPU Resources', 'Export GPU History as CSV']) {
    await expect(page.locator('.lm-CommandPalette-itemLabel', { hasText: label })).toBeVisible();
  }
  await page.locator('.lm-CommandPalette-itemLabel', { hasText: 'Open GPU Resources' }).click();
  await expect(pane.root.getByRole('heading', { name: 'GPU resources' })).toBeVisible();
  await pane.root.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitem', { name: 'Show GPUs in the Status Bar' }).click();
  await expect(page.locator('#jp-main-statusbar').getByText(/GPU \d+\s%/)).toBeVisible();
  await pane.root.getByRole('button', { name: 'Settings' }).click();
  const toggled = page.getByRole('menuitemcheckbox', { name: 'Show GPUs in the Status Bar' });
  await expect(toggled).toHaveAttribute('aria-checked', 'true');
  await toggled.click();
  await expect(page.locator('#jp-main-statusbar').getByText(/GPU \d+\s%/)).toHaveCount(0);
});

test('cells are bands that know what they cost', async ({ page, jupyter }) => {
  jupyter.write('work/train.ipynb', notebook('import time; time.sleep(25); "trained"'));
  await pane.open();
  await execute(page, 'docmanager:open', {
    path: 'train.ipynb',
    factory: 'Notebook',
    kernel: { name: 'python3' }
  });
  const open = page.locator('.jp-NotebookPanel:visible');
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');
  await execute(page, 'notebook:run-all-cells');
  await expect(open.getByText("'trained'")).toBeVisible({ timeout: 60_000 });
  await pane.root.getByRole('button', { name: '15 m', exact: true }).click();
  const local = pane.node(hostname()).getByRole('slider');
  const box = (await local.boundingBox())!;
  await local.hover({ position: { x: box.width * (1 - 14 / 900), y: 10 } });
  await expect(pane.root.locator('.jp-air-Readout')).toContainText('train.ipynb [1]');
  await pane.picture('band');
});

test('the pictures of the README', async ({ page, jupyter }) => {
  const source = [
    'import torch, torch.nn.functional as F',
    'from model import Conformer, batches',
    '',
    'model = Conformer(layers=12).cuda()',
    'optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)',
    '',
    'for audio, text in batches("/data/speech", size=64):',
    '    loss = F.ctc_loss(*model(audio.cuda(), text.cuda()))',
    '    loss.backward()',
    '    optimizer.step()',
    '    optimizer.zero_grad()'
  ].join('\n');
  jupyter.write('work/speech.ipynb', notebook(source));
  await page.setViewportSize({ width: 1100, height: 620 });
  await execute(page, 'docmanager:open', {
    path: 'speech.ipynb',
    factory: 'Notebook',
    kernel: { name: 'python3' }
  });
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');
  await execute(page, 'application:toggle-left-area');
  await pane.open();
  await pane.root.getByRole('button', { name: '2 h', exact: true }).click();
  for (const theme of ['JupyterLab Dark', 'JupyterLab Light'] as const) {
    await pane.theme(theme);
    await pane.width(360);
    await pane.picture(`readme-pane-${theme.endsWith('Dark') ? 'dark' : 'light'}`, page);
  }
});
