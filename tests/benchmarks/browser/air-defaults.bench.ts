/** The pane as it comes: a sample each 10 s, two hours behind it. */
import { test } from '../../../ui-tests/jupyter';
import { Pane } from '../../../ui-tests/pane';
import { report, watch } from './measure';

test.use({ jupyterOptions: { args: ['--JupyterAir.simulate=1x8'] } });

test('the pane at its defaults', async ({ page, jupyter }) => {
  let answers = 0;
  page.on('response', response => {
    answers += Number(response.url().includes('jupyter-air/gpu?since'));
  });
  await page.setViewportSize({ width: 1280, height: 1000 });
  await jupyter.open(page);
  await new Pane(page).open();
  await page.waitForTimeout(5000);
  report({ defaults: await watch(page, () => answers, 40_000) });
});
