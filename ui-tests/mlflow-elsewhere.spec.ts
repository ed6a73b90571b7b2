/** A configured tracking server on another machine: its pages open where they are. */
import { expect, test } from './jupyter';
import { MlflowTab, tracked, violations } from './mlflow';
import { Pane } from './pane';

test.use({ jupyterOptions: tracked('http://mlflow.invalid:5000') });

test('the tab links to it @oldest', async ({ page, jupyter }) => {
  await jupyter.open(page);
  const tab = new MlflowTab(page);
  await tab.openFromLauncher();
  const link = tab.root.getByRole('link', { name: 'http://mlflow.invalid:5000/' });
  await expect(link).toHaveAttribute('href', 'http://mlflow.invalid:5000/');
  await page.keyboard.press('Tab');
  await expect(link).toBeFocused();
  for (const theme of ['JupyterLab Light', 'JupyterLab Dark'] as const) {
    await new Pane(page).theme(theme);
    await new Pane(page).picture(`mlflow-elsewhere-${theme.split(' ')[1].toLowerCase()}`, page);
    expect(await violations(page, '#jupyter-air-mlflow')).toEqual([]);
  }
});
