/** MLflow in JupyterLab: opened while it is not there, seen below the prefix, and kept apart from what somebody logged. */
import { expect, test } from './jupyter';
import { makeRun, Mlflow, MlflowTab, tracked, violations } from './mlflow';
import { Pane } from './pane';

const mlflow = new Mlflow();

test.use({ jupyterOptions: tracked('http://localhost', mlflow.socket) });
test.setTimeout(240_000);
test.afterAll(() => mlflow.stop());

/** Tries to reach Jupyter, and writes what came of it. */
const CURIOUS = `<!doctype html><p id="out">waiting</p><script>
  const found = [];
  const attempt = (name, what) => {
    try {
      found.push(name + ' ' + (what() ? 'reached' : 'empty'));
    } catch {
      found.push(name + ' refused');
    }
  };
  attempt('cookie', () => document.cookie);
  attempt('storage', () => localStorage);
  attempt('parent', () => window.parent === window || window.parent.document);
  fetch('/user/ada@lab/api/contents', { credentials: 'include' })
    .then(answer => found.push('contents ' + answer.status), () => found.push('contents refused'))
    .then(() => (document.getElementById('out').textContent = found.join(', ')));
</script>`;

let tab: MlflowTab;
test.beforeEach(({ page }) => {
  tab = new MlflowTab(page);
});

test('the tab tells how far the start is, in every theme, and then shows MLflow', async ({
  page,
  jupyter
}) => {
  await jupyter.open(page);
  await new Pane(page).picture('mlflow-launcher', page);
  await tab.openFromLauncher();
  await expect(tab.progress).toContainText('MLflow is starting.');
  await expect(tab.progress).toContainText(/\d+ s$/);
  for (const theme of ['JupyterLab Light', 'JupyterLab Dark', 'JupyterLab Dark High Contrast'] as const) {
    await new Pane(page).theme(theme);
    await new Pane(page).picture(
      `mlflow-starting-${theme.replace('JupyterLab ', '').replaceAll(' ', '-').toLowerCase()}`,
      page
    );
    expect(await violations(page, '#jupyter-air-mlflow')).toEqual([]);
  }
  await new Pane(page).theme('JupyterLab Light');

  // The same, for whoever opens the address itself.
  const other = await page.context().newPage();
  await other.goto(`${jupyter.url}jupyter-air/mlflow/`);
  await expect(other.getByRole('status')).toHaveText('MLflow is starting.');
  expect(await violations(other, 'body')).toEqual([]);
  await new Pane(other).picture('mlflow-starting-page', other);

  mlflow.start();
  const frame = tab.content;
  await expect(frame.locator('#root')).toContainText(/Experiments/, { timeout: 180_000 });
  await expect(tab.progress).toHaveCount(0);
  await expect(other.locator('#root')).toContainText(/Experiments/);
  await new Pane(page).picture('mlflow-tab', page);
});

test('an experiment and its run are found in the tab, which a reload brings back', async ({
  page,
  jupyter
}) => {
  mlflow.start();
  const { experiment, run } = await makeRun(jupyter, 'speech', {});
  await jupyter.open(page);
  await tab.openFromPalette();
  const frame = tab.content;
  await frame.getByRole('link', { name: 'Experiments' }).first().click();
  await expect(frame.getByText('speech-experiment').first()).toBeVisible();
  await frame
    .locator('body')
    .evaluate((_, hash) => (location.hash = hash), `#/experiments/${experiment}/runs`);
  await expect(frame.getByText('speech-run').first()).toBeVisible();
  await new Pane(page).picture('mlflow-runs', page);
  await frame
    .locator('body')
    .evaluate((_, hash) => (location.hash = hash), `#/experiments/${experiment}/runs/${run}`);
  await expect(frame.getByText(run).first()).toBeVisible();

  await page.waitForTimeout(1500); // JupyterLab saves its layout a second after the last change
  await page.goto(`${jupyter.url}lab`);
  await expect(tab.content.locator('#root')).toContainText(/Experiments/);
  await expect(page.locator('.lm-TabBar-tab', { hasText: 'MLflow' })).toHaveCount(1);
});

test('a page that somebody logged runs, and reaches nothing of Jupyter', async ({ page, jupyter }) => {
  mlflow.start();
  const { experiment, run } = await makeRun(jupyter, 'hostile', { 'report.html': CURIOUS });
  await jupyter.open(page);

  // In MLflow's own view of it.
  await page.goto(
    `${jupyter.url}jupyter-air/mlflow/#/experiments/${experiment}/runs/${run}/artifacts/report.html`
  );
  const view = page.frameLocator('iframe').locator('#out');
  await expect(view).toHaveText('cookie refused, storage refused, parent refused, contents refused');
  await new Pane(page).picture('mlflow-artifact', page);

  // As a page of its own, where MLflow would not say that it is to be saved.
  await page.route('**/get-artifact*', async route => {
    const response = await route.fetch();
    const headers = Object.entries(response.headers()).filter(([name]) => name !== 'content-disposition');
    await route.fulfill({ response, headers: Object.fromEntries(headers) });
  });
  await page.goto(`${jupyter.url}jupyter-air/mlflow/get-artifact?path=report.html&run_uuid=${run}`);
  await expect(page.locator('#out')).toHaveText(
    'cookie refused, storage refused, parent reached, contents refused'
  );
});

test('a browser tab of its own opens from the palette', async ({ page, jupyter }) => {
  mlflow.start();
  await jupyter.open(page);
  const opened = page.context().waitForEvent('page');
  await tab.openFromPalette('mlflow-open-in-browser');
  const other = await opened;
  await expect(other).toHaveURL(`${jupyter.url}jupyter-air/mlflow/`);
  await expect(other.locator('#root')).toContainText(/Experiments/, { timeout: 180_000 });
});
