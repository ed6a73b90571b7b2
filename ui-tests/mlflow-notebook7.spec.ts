/** Notebook 7: MLflow opens in a browser tab; where it does not answer, a page says so, and cards as of when. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execute, expect, ROOT, test } from './jupyter';
import { tracked, violations } from './mlflow';
import { Pane } from './pane';

test.use({ jupyterOptions: { app: 'notebook', ...tracked('http://127.0.0.1:9') } });

test('a browser tab says that MLflow cannot be reached @oldest', async ({ page, jupyter }) => {
  await jupyter.open(page);
  const opened = page.context().waitForEvent('page');
  await execute(page, 'jupyter-air:mlflow-open');
  const other = await opened;
  await expect(other.getByRole('status')).toHaveText(
    'The tracking server at http://127.0.0.1:9 cannot be reached.'
  );
  await expect(other).toHaveURL(`${jupyter.url}jupyter-air/mlflow/`);
  await expect(other.getByRole('button', { name: 'Try again' })).toBeVisible();
  for (const colorScheme of ['light', 'dark'] as const) {
    await other.emulateMedia({ colorScheme });
    await new Pane(other).picture(`mlflow-unreachable-${colorScheme}`, other);
    expect(await violations(other, 'body')).toEqual([]);
  }
});

test('a saved card says as of when, and its page opens in a browser tab @oldest', async ({
  page,
  jupyter
}) => {
  const record = JSON.parse(readFileSync(join(ROOT, 'tests/wire/run-card.json'), 'utf8')) as object;
  const data = { 'application/vnd.jupyter-air.run+json': record, 'text/html': '<b>not this</b>' };
  const outputs = [{ output_type: 'display_data', data, metadata: {} }];
  const kernelspec = { name: 'python3', display_name: 'Python 3', language: 'python' };
  const cell = { cell_type: 'code', source: '%air_run', metadata: {}, outputs, execution_count: 1 };
  jupyter.write(
    'work/saved.ipynb',
    JSON.stringify({ cells: [cell], metadata: { kernelspec }, nbformat: 4, nbformat_minor: 4 })
  );
  await jupyter.open(page, 'notebooks/saved.ipynb');
  const card = page.getByRole('group', { name: 'Run baseline' });
  await expect(card).toContainText(/12 min 04 s · running as of .*2026/);
  await expect(card).toContainText('1.842');
  await expect(page.getByText('not this')).toHaveCount(0);
  await new Pane(page).picture('card-notebook7', page);
  expect(await violations(page, '.jp-air-Card')).toEqual([]);
  const opened = page.context().waitForEvent('page');
  await card.getByRole('link', { name: 'Open run' }).click();
  expect((await opened).url()).toContain('/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/');
});
