/** Notebook 7: the same pane, beside a notebook. */
import { expect, test } from './jupyter';
import { ExperimentPanel } from './experiment';
import { violations } from './mlflow';
import { Pane } from './pane';

test.use({
  jupyterOptions: {
    app: 'notebook',
    args: ['--JupyterAir.simulate=1x2', '--JupyterAir.embedded_tracking=False'],
    env: { MLFLOW_TRACKING_URI: 'databricks://nowhere' }
  }
});

test('the pane opens beside a notebook @oldest', async ({ page, jupyter }) => {
  jupyter.write('work/a.ipynb', JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] }));
  await jupyter.open(page, 'notebooks/a.ipynb');
  const pane = new Pane(page);
  await page.evaluate(() => window.jupyterapp.commands.execute('jupyter-air:gpu-open'));
  await expect(pane.gpu('simulated-01', /GPU 1/)).toBeVisible();
  await expect(pane.node('simulated-01')).toContainText(/live · \d+ s ago/);
  await pane.picture('notebook7', page);
});

test('the Experiment panel says why it can show no runs @oldest', async ({ page, jupyter }) => {
  jupyter.write('work/a.ipynb', JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] }));
  await jupyter.open(page, 'notebooks/a.ipynb');
  const panel = new ExperimentPanel(page);
  await page.evaluate(() => window.jupyterapp.commands.execute('jupyter-air:experiment-open'));
  await expect(panel.root).toContainText('The runs go to Databricks: see them on its own pages.');
  await panel.picture('experiment-notebook7', page);
  expect(await violations(page, '#jupyter-air-experiment')).toEqual([]);
});
