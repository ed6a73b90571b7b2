/** 5,000 runs: the Experiment panel and MLflow's own page of them, in the same browser; and whether the panel scrolls. */
import { type Browser, type Page } from '@playwright/test';
import { ExperimentPanel, Runs } from '../../../ui-tests/experiment';
import { execute, expect, type Jupyter, test } from '../../../ui-tests/jupyter';
import { report, scroll, SCROLL_MS, Scripts } from './measure';

const RUNS = 5000;
const NEWEST = `run-${RUNS - 1}`;
const ROUNDS = 3;
const NOTEBOOK = JSON.stringify({
  cells: [],
  metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
  nbformat: 4,
  nbformat_minor: 4
});

test.use({ jupyterOptions: { env: { MLFLOW_DISABLE_TELEMETRY: 'true', WORKSPACE_USER: 'ada' } } });
test.setTimeout(600_000);

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Milliseconds until the newest run stands in the page, from what begins it on. */
async function until(page: Page, begin: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await begin();
  await page.waitForFunction(name => document.body.textContent.includes(name), NEWEST, { polling: 'raf' });
  return performance.now() - began;
}

/** A browser that has seen nothing of it yet, and then once more. */
async function measured(
  browser: Browser,
  show: (page: Page, again: boolean) => Promise<number>
): Promise<{ firstMs: number; againMs: number }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } });
  const page = await context.newPage();
  const firstMs = await show(page, false);
  const againMs = await show(page, true);
  await context.close();
  return { firstMs, againMs };
}

function showPanel(jupyter: Jupyter) {
  return async (page: Page): Promise<number> => {
    await jupyter.open(page);
    await execute(page, 'docmanager:open', { path: 'llm-finetune.ipynb', factory: 'Notebook' });
    await page.locator('.jp-NotebookPanel').waitFor();
    await expect(page.locator('#jp-main-statusbar')).toContainText('| Idle');
    await page.waitForTimeout(2000);
    return until(page, () => execute(page, 'jupyter-air:experiment-open'));
  };
}

function showMlflow(jupyter: Jupyter, experiment: string) {
  return async (page: Page): Promise<number> => {
    await page.goto(
      `${jupyter.url}login?token=a-token-for-tests&next=${encodeURIComponent('/user/ada@lab/api')}`
    );
    return until(page, () =>
      page.goto(`${jupyter.url}jupyter-air/mlflow/#/experiments/${experiment}/runs`, { waitUntil: 'commit' })
    );
  };
}

test('the first page of 5,000 runs', async ({ browser, page, jupyter }) => {
  jupyter.write('work/llm-finetune.ipynb', NOTEBOOK);
  const runs = new Runs(jupyter);
  await runs.start();
  const experiment = await runs.experiment('/Users/ada/llm-finetune');
  runs.insert(experiment, RUNS, `${jupyter.folder}/work/llm-finetune.ipynb`);

  const ours: { firstMs: number; againMs: number }[] = [];
  const theirs: typeof ours = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await measured(browser, showPanel(jupyter)));
    theirs.push(await measured(browser, showMlflow(jupyter, experiment)));
  }

  const scripts = new Scripts(page, 'jupyter-air');
  await page.setViewportSize({ width: 1280, height: 1000 });
  await jupyter.open(page);
  await page.waitForTimeout(3000);
  const start = await scripts.bytes();
  await execute(page, 'docmanager:open', { path: 'llm-finetune.ipynb', factory: 'Notebook' });
  const panel = new ExperimentPanel(page);
  await panel.open();
  await panel.row(NEWEST).click();
  const seen = await scripts.bytes();
  const began = performance.now();
  while ((await panel.grid.getAttribute('aria-rowcount')) === '-1') {
    await page.keyboard.press('End');
    await page.waitForTimeout(20);
  }
  const allMs = performance.now() - began;
  const { taskMs, frames } = await scroll(panel.grid);
  const of = (list: typeof ours, read: (one: { firstMs: number; againMs: number }) => number): number =>
    median(list.map(read));
  report({
    panel: { firstMs: of(ours, one => one.firstMs), againMs: of(ours, one => one.againMs) },
    mlflow: { firstMs: of(theirs, one => one.firstMs), againMs: of(theirs, one => one.againMs) },
    allMs,
    longestMs: Math.max(0, ...taskMs),
    frameMs: SCROLL_MS / frames,
    startCode: start.code,
    panelBytes: seen.code + seen.styles - start.code - start.styles
  });
});
