/** The Experiment panel on real runs: what there is, what can be found, what can be done, and what is said in trouble. */
import { type Page } from '@playwright/test';
import { ExperimentPanel, Runs } from './experiment';
import { execute, expect, test } from './jupyter';
import { violations } from './mlflow';

test.use({ jupyterOptions: { env: { MLFLOW_DISABLE_TELEMETRY: 'true', WORKSPACE_USER: 'ada' } } });
test.setTimeout(240_000);
test.use({ actionTimeout: 30_000 });

const PANEL = '#jupyter-air-experiment';
const NAME = '/Users/ada/llm-finetune';
const INSERTED = 300;
const HOSTILE = '<img src=x onerror="window.hacked = 1">\nsecond line \u202edesrever';
const CELL = `%%air_run live --param lr=0.1
import mlflow, pathlib, time
mlflow.log_metric("loss", 0.5)
while not pathlib.Path("go-on").exists():
    time.sleep(0.1)
mlflow.log_metric("loss", 0.25)
while not pathlib.Path("done").exists():
    time.sleep(0.1)`;

function notebook(source = ''): string {
  const cells = source
    ? [{ cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null }]
    : [];
  const metadata = { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } };
  return JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 4 });
}

let panel: ExperimentPanel;
let runs: Runs;
let experiment = '';

/** Opens JupyterLab with a notebook in front, and the panel; its runs are there. */
async function openOn(page: Page, path: string): Promise<void> {
  await prepare();
  await runs.jupyter.open(page);
  await openNotebook(page, path);
  await panel.open();
}

async function openNotebook(page: Page, path: string): Promise<void> {
  await execute(page, 'docmanager:open', { path, factory: 'Notebook' });
  await page.locator('.jp-NotebookPanel:visible').waitFor();
}

/** Makes the experiments and their runs, once. */
async function prepare(): Promise<void> {
  if (experiment !== '') {
    return;
  }
  await runs.start();
  const file = `${runs.jupyter.folder}/work/llm-finetune.ipynb`;
  experiment = await runs.experiment(NAME);
  runs.insert(experiment, INSERTED, file);
  await runs.begin(await runs.experiment('speech'), 'elsewhere', { 'jupyter_air.notebook': file });
}

test.beforeAll(({ jupyter }) => {
  runs = new Runs(jupyter);
  jupyter.write('work/llm-finetune.ipynb', notebook());
  jupyter.write('work/empty.ipynb', notebook());
  jupyter.write('work/at-work.ipynb', notebook(CELL));
});

test.beforeEach(({ page }) => {
  panel = new ExperimentPanel(page);
});

test('it tells how far MLflow is, and teaches where there is nothing to show', async ({ page, jupyter }) => {
  await jupyter.open(page);
  await panel.open();
  await expect(panel.root).toContainText('MLflow is starting');
  await panel.picture('experiment-starting', page);
  await expect(panel.root).toContainText('Open a notebook to see its runs.', { timeout: 180_000 });
  await panel.picture('experiment-no-notebook', page);
  expect(await violations(page, PANEL)).toEqual([]);

  await prepare();
  await openNotebook(page, 'empty.ipynb');
  await expect(panel.root).toContainText('This notebook has no runs yet.');
  await panel.picture('experiment-no-runs', page);
  await panel.button('Copy %%air_run baseline').click();
  await expect(panel.button('Copied')).toBeVisible();

  // Another notebook in front is followed; what it has is found by its name and by its runs' tag.
  await openNotebook(page, 'llm-finetune.ipynb');
  await expect(panel.row('run-299')).toBeVisible();
  await expect(panel.root.getByRole('link', { name: NAME })).toHaveAttribute(
    'href',
    `/user/ada@lab/jupyter-air/mlflow/#/experiments/${experiment}/runs`
  );
  await expect(panel.root.getByText('1 more')).toBeVisible();
  await panel.button('Choose another experiment').click();
  await expect(panel.root.getByRole('option')).toHaveText([NAME, 'speech', 'Default']);
  await panel.picture('experiment-picker');
  expect(await violations(page, PANEL)).toEqual([]);
  await panel.root.getByRole('combobox', { name: /^Experiment to show/ }).fill('spee');
  await expect(panel.root.getByRole('option')).toHaveText(['speech']);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(panel.row('elsewhere')).toContainText('running');
  await expect(panel.footer).toContainText('1 run');
});

test('many runs: pages, a tree, orders, columns; words and the language of MLflow', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', request => {
    if (request.url().includes('runs/search')) {
      asked.push(request.postData() ?? '');
    }
  });
  await page.setViewportSize({ width: 1280, height: 600 });
  await openOn(page, 'llm-finetune.ipynb');
  await expect(panel.row('run-299')).toBeVisible();
  await expect(panel.footer).toContainText('100+ runs');
  await expect(panel.row('run-299')).toContainText('kernel died');
  expect(await panel.grid.locator('.jp-air-Run').count()).toBeLessThan(60);

  // To the end, a page at a time.
  await panel.row('run-299').click();
  while ((await panel.grid.getAttribute('aria-rowcount')) === '-1') {
    await page.keyboard.press('End');
    await page.waitForFunction(
      () => document.querySelector('.jp-air-Runs')?.getAttribute('aria-busy') === 'false'
    );
  }
  await page.keyboard.press('End');
  await expect(panel.footer).toContainText(`${INSERTED} runs`);
  await expect(panel.row('trial-1').first()).toBeVisible();
  const pages = asked.filter(body => body.includes(`"${experiment}"`) && body.includes('page_token'));
  expect(pages.length).toBe(2);

  // The tree: children below their parent, folded and unfolded by keys.
  const sweep = panel.row(/^sweep-0$/);
  await sweep.click();
  await expect(sweep).toHaveAttribute('aria-expanded', 'true');
  await expect(panel.row(/^trial-4$/)).toHaveAttribute('aria-level', '2');
  await page.keyboard.press('ArrowLeft');
  await expect(sweep).toHaveAttribute('aria-expanded', 'false');
  await expect(panel.row(/^trial-4$/)).toHaveCount(0);
  await page.keyboard.press('ArrowRight');
  await expect(panel.row(/^trial-4$/)).toBeVisible();
  await panel.picture('experiment-tree', page);

  // MLflow sorts, so the best of all is the first; a family stands where its best stands.
  await page.keyboard.press('Home');
  await panel.root.getByRole('columnheader', { name: 'loss' }).getByRole('button').click();
  await expect(panel.root.getByRole('columnheader', { name: 'loss' })).toHaveAttribute(
    'aria-sort',
    'ascending'
  );
  const best = await runs.post<{ runs: { info: { run_name: string } }[] }>('runs/search', {
    experiment_ids: [experiment],
    order_by: ['metrics.loss ASC'],
    max_results: 1
  });
  await expect(async () => {
    const [first, second] = await panel.names;
    expect([first, second]).toContain(best.runs[0].info.run_name);
  }).toPass();

  // Columns are chosen, and kept.
  await panel.button('Columns and view').click();
  await panel.root.getByRole('checkbox', { name: 'optimizer' }).check();
  await panel.picture('experiment-columns');
  expect(await violations(page, PANEL)).toEqual([]);
  await page.keyboard.press('Escape');
  await panel.width(700);
  await expect(panel.root.getByRole('columnheader', { name: 'optimizer' })).toBeVisible();
  await expect(panel.root.getByRole('columnheader', { name: 'Duration' })).toBeVisible();
  await panel.picture('readme-experiment', page);
  await panel.root.getByRole('columnheader', { name: 'Age' }).getByRole('button').click();
  await expect(panel.row('run-299')).toBeVisible();
  await panel.width(280);

  // Plain words, at once.
  await panel.search.fill('failed sweep');
  await expect(panel.footer).toContainText(/^\d+ runs? found/);
  for (const name of await panel.names) {
    expect(name).toMatch(/^sweep-/);
  }
  await panel.search.fill('it\'s 100% "nothing"');
  await expect(panel.root).toContainText('No run matches the search.');
  await panel.picture('experiment-nothing-found');
  await panel.button('Show all runs').click();
  await expect(panel.row('run-299')).toBeVisible();

  // Completed from what was seen; sent by Enter.
  await panel.search.pressSequentially('metrics.eval');
  await expect(panel.root.getByRole('option')).toHaveCount(2);
  await panel.picture('experiment-completion');
  expect(await violations(page, PANEL)).toEqual([]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await expect(panel.search).toHaveValue('metrics.eval_acc ');
  await panel.search.pressSequentially("< 0.1 AND params.optimizer = 'adam'");
  await expect(panel.root).toContainText('Enter filters by this.');
  await page.keyboard.press('Enter');
  await expect(panel.footer).toContainText(/^\d+ runs? found/);
  const found = (await panel.names).slice(0, 10);

  // What MLflow does not understand is explained, and the list stays.
  await panel.search.fill('metrics.eval_acc < 0.1 OR metrics.loss < 1');
  await page.keyboard.press('Enter');
  await expect(panel.root).toContainText('MLflow joins conditions by AND only, not by OR.');
  await expect(panel.search).toHaveAttribute('aria-invalid', 'true');
  expect((await panel.names).slice(0, 10)).toEqual(found);
  await panel.picture('experiment-refused');
  expect(await violations(page, PANEL)).toEqual([]);
  for (const [filter, words] of [
    ['params.lr = 0.001', "The value must stand in quotes, such as params.optimizer = 'adam'."],
    ['loss < 1', 'There is no attribute “loss”. Write metrics.loss'],
    ['metrics.eval-acc < 1', 'stands in backticks: metrics.`eval-acc`.'],
    ['metrics.loss <', 'A condition is name, comparison, value']
  ]) {
    await panel.search.fill(filter);
    await page.keyboard.press('Enter');
    await expect(panel.root).toContainText(words);
  }
  await panel.button('Clear the search').click();
  await expect(panel.footer).toContainText('100+ runs');
});

test('runs are renamed, ended, compared, deleted and restored; in every theme', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await prepare();
  const open = await runs.begin(experiment, 'left-open');
  await runs.log(open, 'loss', 0.123);
  const hostile = await runs.begin(experiment, HOSTILE);
  await runs.end(hostile, 'FINISHED');
  const nan = await runs.begin(experiment, 'x'.repeat(10_000).slice(0, 250));
  await runs.log(nan, 'loss', 'NaN');
  await runs.end(nan, 'FAILED');
  await openOn(page, 'llm-finetune.ipynb');
  const row = panel.row('left-open');
  await expect(row).toContainText('running');
  await expect(panel.row('xxx')).toContainText('NaN');
  await expect(panel.row('second line')).toContainText('<img src=x');
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);

  // What is logged to a run in view is seen; nothing else is asked for.
  await runs.log(open, 'loss', 0.077);
  await expect(row).toContainText('0.077');

  await row.click();
  await page.keyboard.press('F2');
  await page.locator('.jp-Dialog input').fill('renamed');
  await page.keyboard.press('Enter');
  await expect(panel.row('renamed')).toBeVisible();
  await panel.row('renamed').click();
  await page.keyboard.press('Control+c');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(open);
  await page.keyboard.press('Shift+F10');
  await panel.picture('experiment-menu', page);
  await panel.menu('End Run');
  await expect(page.locator('.jp-Dialog')).toContainText('End “renamed”?');
  await panel.picture('experiment-end', page);
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await expect(panel.row('renamed')).toContainText('killed');
  await expect(panel.row('renamed')).toContainText('ended by hand');
  expect(await runs.status(open)).toBe('KILLED');

  await page.keyboard.down('Control');
  await panel.row('second line').click();
  await page.keyboard.up('Control');
  await expect(panel.footer).toContainText('2 selected');
  await panel.picture('experiment-selected');
  await panel.button('Compare').click();
  const frame = page.frameLocator('#jupyter-air-mlflow iframe');
  await expect(frame.locator('#root')).toContainText('Comparing 2 Runs', { timeout: 60_000 });
  await panel.picture('experiment-compare', page);

  await panel.row('second line').focus();
  await page.keyboard.press('Delete');
  await expect(page.locator('.jp-Dialog')).toContainText('Delete 2 runs?');
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await expect(panel.row('renamed')).toHaveCount(0);
  await panel.button('Columns and view').click();
  await panel.root.getByRole('checkbox', { name: 'Deleted runs' }).check();
  await expect(panel.row('renamed')).toContainText('deleted');
  await page.keyboard.press('Escape');
  await panel.picture('experiment-deleted');
  await panel.row('renamed').click({ button: 'right' });
  await panel.menu('Restore Run');
  await expect(panel.row('renamed')).toHaveCount(0);
  await panel.button('Back').click();
  await expect(panel.row('renamed')).toBeVisible();
  await panel.row('renamed').dblclick();
  await expect(frame.getByText(open).first()).toBeVisible({ timeout: 60_000 });

  for (const theme of ['JupyterLab Dark High Contrast', 'JupyterLab Dark', 'JupyterLab Light'] as const) {
    const short = theme.replace('JupyterLab ', '').toLowerCase().replaceAll(' ', '-');
    await panel.theme(theme);
    for (const width of [280, 640]) {
      await panel.width(width);
      await panel.picture(`experiment-${short}-${width}`);
      expect(await violations(page, PANEL)).toEqual([]);
    }
  }
  await page.evaluate(() => (document.documentElement.dir = 'rtl'));
  await panel.picture('experiment-right-to-left');
});

test('a run of a cell is there at once, card and panel agree, and what is lost is said', async ({
  page,
  jupyter
}) => {
  await openOn(page, 'at-work.ipynb');
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');
  await expect(panel.root).toContainText('This notebook has no runs yet.');
  // Not awaited: it ends with the cell.
  await page.evaluate(() => void window.jupyterapp.commands.execute('notebook:run-all-cells'));
  const row = panel.row('live');
  await expect(row).toContainText('0.5', { timeout: 90_000 });
  const card = page.locator('.jp-OutputArea-output', { hasText: 'live' });
  await expect(card).toContainText('0.5');
  jupyter.write('work/go-on', '');
  await expect(row).toContainText('0.25');
  await expect(card).toContainText('0.25');
  await panel.picture('experiment-live', page);
  await row.click({ button: 'right' });
  await panel.menu('End Run');
  await expect(page.locator('.jp-Dialog')).toContainText('Its kernel still runs');
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await expect(row).toContainText('killed');
  await expect(card).toContainText('killed');
  jupyter.write('work/done', '');
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');

  await jupyter.stop();
  await expect(panel.root).toContainText('The Jupyter server does not answer; trying again.', {
    timeout: 60_000
  });
  await expect(panel.root).toContainText(/The list is as of \d\d:\d\d\./);
  await expect(row).toBeVisible();
  await panel.picture('experiment-unreachable', page);
  expect(await violations(page, PANEL)).toEqual([]);
  await jupyter.start();
  await page.addLocatorHandler(page.locator('.jp-Dialog'), dialog => dialog.getByRole('button').click());
  await panel.button('Try again').click();
  await expect(panel.root).not.toContainText('does not answer', { timeout: 60_000 });
});
