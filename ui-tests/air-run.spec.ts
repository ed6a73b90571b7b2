/** `%air_run` as a person meets it: in a new notebook, with nothing set up; then what its cards say later. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Locator, type Page } from '@playwright/test';
import { expect, execute, type Jupyter, test } from './jupyter';
import { violations } from './mlflow';
import { Pane } from './pane';

/** A run that goes on as far as the test says, by files. */
const LIVE = `%%air_run first-try --param epochs=4
import mlflow, pathlib, time
def wait_for(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.05)
mlflow.log_metrics({"loss": 2.5, "epoch": 1, "nan": float("nan")}, step=1)
wait_for("go-1")
mlflow.log_metrics({"loss": 1.25, "epoch": 2}, step=2)
wait_for("go-2")`;
const ENDED_ELSEWHERE = `%%air_run second
wait_for("go-3")`;

/** Chromium on a busy machine, and the first start of MLflow behind the card. */
const SLOW = { timeout: 120_000 };

interface ICell {
  readonly cell_type: 'code';
  readonly source: string;
  readonly outputs: readonly { readonly data?: Readonly<Record<string, unknown>> }[];
}

const cell = (source: string, outputs: ICell['outputs'] = []): ICell => ({
  cell_type: 'code',
  source,
  outputs
});

const output = (data: Readonly<Record<string, unknown>>): object => ({
  output_type: 'display_data',
  data,
  metadata: {}
});

function write(jupyter: Jupyter, name: string, cells: readonly object[]): void {
  const whole = cells.map(one => ({ execution_count: null, metadata: {}, ...one }));
  jupyter.write(
    `work/${name}`,
    JSON.stringify({ cells: whole, metadata: {}, nbformat: 4, nbformat_minor: 4 })
  );
}

async function openNotebook(page: Page, path: string): Promise<void> {
  await execute(page, 'docmanager:open', { path, factory: 'Notebook', kernel: { name: 'python3' } });
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle', SLOW);
}

const cardOf = (page: Page, name: string): Locator => page.getByRole('group', { name: `Run ${name}` });

test.use({ jupyterOptions: { env: { MLFLOW_DISABLE_TELEMETRY: 'true' } } });
test.describe.configure({ mode: 'serial' });

test('the card is live while its cell runs, and leads to the run', async ({ page, jupyter }) => {
  test.setTimeout(400_000);
  write(jupyter, 'tune.ipynb', [cell(LIVE), cell(ENDED_ELSEWHERE)]);
  await jupyter.open(page);
  await openNotebook(page, 'tune.ipynb');
  // The command ends with the last cell, which waits for this test.
  await page.evaluate(() => void window.jupyterapp.commands.execute('notebook:run-all-cells'));
  const card = cardOf(page, 'first-try');
  await expect(card).toContainText('running', SLOW);
  // MLflow is asked: the card that the kernel gave had no metric yet.
  await expect(card).toContainText('2.5', SLOW);
  const bar = card.getByRole('progressbar', { name: 'epoch' });
  await expect(bar).toHaveAttribute('aria-valuenow', '1');
  await expect(card).toContainText('1 / 4');
  await expect(card).toContainText('NaN');
  jupyter.write('work/go-1', '');
  await expect(card).toContainText('1.25');
  await expect(bar).toHaveAttribute('aria-valuenow', '2');
  const pane = new Pane(page);
  await pane.picture('card-running', page);
  expect(await violations(page, '.jp-air-Card')).toEqual([]);
  jupyter.write('work/go-2', '');
  await expect(card).toContainText('finished');
  await expect(card).toContainText('tune');
  await expect(bar).toHaveCount(0);
  // Someone else ends the next one, and says why.
  const second = cardOf(page, 'second');
  await expect(second).toContainText('running');
  const href = await second.getByRole('link').getAttribute('href');
  const runId = /\/runs\/(\w+)$/.exec(href ?? '')![1];
  const api = 'jupyter-air/mlflow/api/2.0/mlflow/runs';
  const tag = { key: 'jupyter_air.end_reason', value: 'The kernel died.' };
  await jupyter.post(`${api}/set-tag`, { run_id: runId, ...tag });
  await jupyter.post(`${api}/update`, { run_id: runId, status: 'KILLED', end_time: Date.now() });
  await expect(second).toContainText('killed: The kernel died.');
  jupyter.write('work/go-3', '');
  await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');
  await expect(second).toContainText('killed: The kernel died.');
  // MLflow's own printed lines do not double the card.
  await expect(page.locator('.jp-OutputArea-output')).toHaveCount(2);
  await execute(page, 'docmanager:save');
  await pane.picture('card', page);
  await pane.theme('JupyterLab Dark');
  await pane.picture('card-dark', page);
  expect(await violations(page, '.jp-air-Card')).toEqual([]);
  const link = card.getByRole('link', { name: 'Open run' });
  await expect(link).toHaveAttribute(
    'href',
    /^\/user\/ada@lab\/jupyter-air\/mlflow\/#\/experiments\/\d+\/runs\//
  );
  const pageOfRun = new URL((await link.getAttribute('href'))!, jupyter.url).href;
  await link.click();
  await page.locator('#jupyter-air-mlflow iframe').waitFor(SLOW);
  await expect.poll(() => page.frames().map(frame => frame.url())).toContain(pageOfRun);
  // The companion has logged the machine that the run was on, and MLflow's own page has a place for it.
  const metrics = await page.context().newPage();
  await metrics.goto(`${pageOfRun}/system-metrics`);
  await expect(metrics.getByText(/system\/.*\/cpu_utilization_percentage/).first()).toBeVisible(SLOW);
  await pane.picture('air-run-system-metrics', metrics);
});

test('a reopened card says what became of its run, in an untrusted notebook too', async ({
  page,
  jupyter
}) => {
  test.setTimeout(400_000);
  const saved = JSON.parse(readFileSync(join(jupyter.folder, 'work/tune.ipynb'), 'utf8')) as {
    cells: ICell[];
  };
  const [first, second] = saved.cells.map(one => one.outputs[0].data!);
  const mime = 'application/vnd.jupyter-air.run+json';
  const runOf = (data: typeof first): Record<string, unknown> => data[mime] as Record<string, unknown>;
  const api = 'jupyter-air/mlflow/api/2.0/mlflow/runs';
  await jupyter.post(`${api}/delete`, { run_id: runOf(second).run_id });
  const html = { 'text/html': first['text/html'], 'text/plain': first['text/plain'] };
  const foreign = {
    ...runOf(first),
    name: 'of-bob',
    status: 'RUNNING',
    tracking: { kind: 'embedded', base: '/user/bob/jupyter-air/mlflow' },
    page: '/user/bob/jupyter-air/mlflow/#/experiments/1/runs/2'
  };
  const hostile = {
    ...foreign,
    name: `<img src=x onerror="document.title='pwned'">\u202eמודל ${'x'.repeat(10_000)}`,
    page: "javascript:document.title='pwned'",
    metrics: { '<b>loss</b>': 'NaN', ['m'.repeat(300)]: 1e30 }
  };
  // Nobody's signature is on this file: it is not trusted.
  const bundles = [first, second, html, { [mime]: foreign }, { [mime]: hostile }, { [mime]: { version: 1 } }];
  write(
    jupyter,
    'reopened.ipynb',
    bundles.map((data, i) => ({ ...cell(`# ${i}`), outputs: [output(data)] }))
  );
  await jupyter.open(page);
  await openNotebook(page, 'reopened.ipynb');
  const card = cardOf(page, 'first-try');
  await expect(card).toContainText('finished');
  await expect(card.getByRole('link')).toHaveAttribute('href', runOf(first).page as string);
  await expect(cardOf(page, 'second')).toContainText('killed: The kernel died. · deleted', SLOW);
  const plain = page.locator('.jp-RenderedHTML', { hasText: 'first-try' });
  await expect(plain).toContainText('finished');
  await expect(plain.getByRole('link', { name: 'Open run' })).toHaveAttribute(
    'href',
    runOf(first).page as string
  );
  await expect(cardOf(page, 'of-bob')).toContainText('running as of');
  await expect(cardOf(page, 'of-bob').getByRole('link')).toHaveCount(0);
  await expect(page.getByText('it cannot be read: run the cell again')).toBeVisible();
  expect(await page.title()).not.toBe('pwned');
  const pane = new Pane(page);
  await pane.picture('card-reopened', page);
  expect(await violations(page, '.jp-OutputArea')).toEqual([]);
  await page.setViewportSize({ width: 640, height: 1100 });
  await pane.picture('card-narrow', page);
  await pane.theme('JupyterLab Dark High Contrast');
  await pane.picture('card-high-contrast', page);
  expect(await violations(page, '.jp-OutputArea')).toEqual([]);
});
