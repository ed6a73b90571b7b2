/** Stores beside notebooks: their runs are found from the notebook, its card and the tab, as those of the main one. */
import { type Page } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { execute, expect, type Jupyter, PYTHON, test } from './jupyter';
import { MlflowTab, violations } from './mlflow';
import { Pane } from './pane';

const CELL = '%%air_run conformer\nimport mlflow\nmlflow.log_metric("loss", 0.5)';
const LOG = 'import mlflow\nwith mlflow.start_run(run_name="before"): pass';
/** Chromium on a busy machine, and a start of MLflow. */
const SLOW = { timeout: 180_000 };

test.use({ jupyterOptions: { env: { MLFLOW_DISABLE_TELEMETRY: 'true' } } });
test.describe.configure({ mode: 'serial' });
test.setTimeout(400_000);

/** A folder with a store of its own, as MLflow makes it, and a notebook in it. */
function makeStore(jupyter: Jupyter, folder: string, env: Record<string, string>): void {
  const cells = [{ cell_type: 'code', source: CELL, metadata: {}, outputs: [], execution_count: null }];
  const notebook = JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 4 });
  const cwd = join(jupyter.folder, 'work', folder);
  mkdirSync(cwd, { recursive: true });
  jupyter.write(`work/${folder}/tune.ipynb`, notebook);
  execFileSync(PYTHON, ['-c', LOG], {
    cwd,
    env: { ...process.env, MLFLOW_DISABLE_TELEMETRY: 'true', ...env }
  });
}

async function openNotebook(page: Page, path: string): Promise<void> {
  await execute(page, 'docmanager:open', { path, factory: 'Notebook', kernel: { name: 'python3' } });
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle', SLOW);
}

test('a run of a notebook with a database beside it is found there', async ({ page, jupyter }) => {
  makeStore(jupyter, 'own', {});
  await jupyter.open(page);
  await openNotebook(page, 'own/tune.ipynb');
  await execute(page, 'notebook:run-all-cells');
  const card = page.locator('.jp-OutputArea-output', { hasText: 'conformer' });
  await expect(card).toContainText('finished', SLOW);
  const link = card.getByRole('link', { name: 'Open run' });
  const base = '/user/ada@lab/jupyter-air/mlflow-beside/L293bg/';
  await expect(link).toHaveAttribute('href', new RegExp(`^${base}#/experiments/1/runs/`));

  // As a browser tab of its own: the page that waits for the start asks for this store, not for the main one.
  const run = await page.context().newPage();
  await run.goto(new URL((await link.getAttribute('href'))!, jupyter.url).href);
  await expect(run.locator('#root')).toContainText('conformer', SLOW);
  await run.close();

  const tab = new MlflowTab(page, 'L293bg');
  await tab.openFromPalette();
  await expect(tab.content.locator('#root')).toContainText(/Experiments/, SLOW);
  await expect(page.locator('.lm-TabBar-tab', { hasText: 'MLflow: own' })).toHaveCount(1);
  await new Pane(page).picture('mlflow-beside', page);
  // With the tab itself in front no notebook is: what is meant is the main one.
  await execute(page, 'jupyter-air:mlflow-open');
  await new MlflowTab(page).root.waitFor();

  await page.waitForTimeout(1500); // JupyterLab saves its layout a second after the last change
  await page.goto(`${jupyter.url}lab`);
  await expect(page.locator('.lm-TabBar-tab', { hasText: 'MLflow: own' })).toHaveCount(1, SLOW);
  await expect(page.locator('.lm-TabBar-tab', { hasText: /^MLflow$/ })).toHaveCount(1);
});

test('a store of plain files is shown, with what to do about it', async ({ page, jupyter }) => {
  makeStore(jupyter, 'old', { MLFLOW_ALLOW_FILE_STORE: 'true', MLFLOW_TRACKING_URI: './mlruns' });
  await jupyter.open(page);
  await openNotebook(page, 'old/tune.ipynb');
  await execute(page, 'notebook:run-all-cells');
  const output = page.locator('.jp-OutputArea-output').first();
  await expect(output).toContainText(/logs no new runs to the file store .*\/old\/mlruns/, SLOW);

  const tab = new MlflowTab(page, 'L29sZA');
  await tab.openFromPalette();
  const note = tab.root.getByRole('note');
  await expect(note).toContainText('mlflow migrate-filestore --source');
  await expect(tab.content.locator('#root')).toContainText(/Experiments/, SLOW);
  for (const theme of ['JupyterLab Light', 'JupyterLab Dark'] as const) {
    await new Pane(page).theme(theme);
    await new Pane(page).picture(`mlflow-beside-files-${theme.split(' ')[1].toLowerCase()}`, page);
    expect(await violations(page, `#${tab.id} .jp-air-Frame-notes`)).toEqual([]);
  }
  await page.setViewportSize({ width: 620, height: 700 });
  await new Pane(page).picture('mlflow-beside-files-narrow', page);
  await note.getByRole('button', { name: 'Close' }).focus();
  await page.keyboard.press('Enter');
  await expect(note).toHaveCount(0);
});
