/** A machine without a GPU: the reason, the host, and the offer of a simulated fleet. */
import { expect, test } from './jupyter';
import { Pane } from './pane';

test('says why there is nothing, and shows the host @oldest', async ({ page, jupyter }) => {
  await jupyter.open(page);
  const pane = new Pane(page);
  await pane.open();
  await expect(pane.root).toContainText('There is no NVIDIA driver here: libnvidia-ml.so.1 is not found.');
  await expect(pane.root.getByRole('img', { name: /^CPU: now/ })).toBeVisible({ timeout: 30_000 });
  await expect(pane.root).toContainText('jupyter lab --JupyterAir.simulate=2x8');
  await pane.picture('no-gpu');
});
