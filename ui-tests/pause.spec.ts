/** Without activity the pane pauses; a person resumes it. */
import { expect, test } from './jupyter';
import { Pane } from './pane';

test.use({
  jupyterOptions: {
    args: ['--JupyterAir.simulate=1x1', '--JupyterAir.poll_interval_s=1', '--JupyterAir.pause_after_s=4']
  }
});

test('pause, resume, and reopening', async ({ page, jupyter }) => {
  await jupyter.open(page);
  const pane = new Pane(page);
  await pane.open();
  await expect(pane.status).toContainText('Paused after 4 s without activity.');
  await expect(pane.root.getByText(/1 s · paused/)).toBeVisible();
  await pane.picture('paused');
  await pane.status.getByRole('button', { name: 'Resume' }).click();
  await expect(pane.status).not.toContainText('Paused');
  await expect(pane.status).toContainText('Paused', { timeout: 30_000 });
  await pane.close();
  await pane.open();
  await expect(pane.status).not.toContainText('Paused');
});

test('keeping on while a kernel is busy is offered where the pause is shown', async ({ page, jupyter }) => {
  await jupyter.open(page);
  const pane = new Pane(page);
  await pane.open();
  await expect(pane.status).toContainText('Paused');
  await pane.status.getByRole('checkbox', { name: 'Keep sampling while a kernel is busy' }).check();
  await expect
    .poll(async () => {
      const answer = await jupyter.get<{ monitor: { keep_while_busy: boolean } }>('jupyter-air/gpu');
      return answer.monitor.keep_while_busy;
    })
    .toBe(true);
});
