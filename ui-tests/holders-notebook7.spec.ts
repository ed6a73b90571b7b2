/** Notebook 7: whose memory it is, and the way there in a tab of its own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from './jupyter';
import { Driver, Pane } from './pane';

const driver = new Driver(mkdtempSync(join(tmpdir(), 'air-driver-')));

test.use({
  jupyterOptions: { app: 'notebook', args: ['--JupyterAir.poll_interval_s=1'], env: driver.begin(1) }
});

test('another notebook holds the memory, and its name leads there', async ({ page, jupyter }) => {
  const kernelspec = { name: 'python3', display_name: 'Python 3 (ipykernel)' };
  const empty = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells: [] });
  jupyter.write('work/here.ipynb', empty);
  jupyter.write('work/there.ipynb', empty);
  const { kernel } = await jupyter.post<{ kernel: { id: string } }>('api/sessions', {
    path: 'there.ipynb',
    name: 'there.ipynb',
    type: 'notebook',
    kernel: { name: 'python3' }
  });
  const pid = execFileSync('pgrep', ['-f', `kernel-${kernel.id}.json`], { encoding: 'utf8' }).trim();
  driver.set(`gpu.0.processes.compute=${pid}:${2 ** 30}`);
  await jupyter.open(page, 'notebooks/here.ipynb');
  const pane = new Pane(page);
  await page.evaluate(() => window.jupyterapp.commands.execute('jupyter-air:gpu-open'));
  const line = pane.root.getByRole('listitem').filter({ hasText: 'there.ipynb' });
  await expect(line).toHaveText(/^1\.0\sGiB · there\.ipynb/);
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    line.getByRole('button', { name: 'there.ipynb', exact: true }).click()
  ]);
  await expect(tab).toHaveURL(/notebooks\/there\.ipynb/);
  await line.getByRole('button', { name: 'Actions for there.ipynb' }).click();
  await page.getByRole('menuitem', { name: 'Shut Down Kernel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Shut Down' }).click();
  await expect(line).toHaveCount(0);
  expect(() => process.kill(Number(pid), 0)).toThrow();
});
