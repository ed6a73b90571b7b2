/** Whose memory it is: real notebooks, consoles, terminals and processes, which the driver names, and letting it go. */
import AxeBuilder from '@axe-core/playwright';
import { type Locator, type Page } from '@playwright/test';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute, expect, type Jupyter, test } from './jupyter';
import { Driver, Pane } from './pane';

const driver = new Driver(mkdtempSync(join(tmpdir(), 'air-driver-')));
const GIB = 2 ** 30;
const local = new RegExp(`^${hostname()}$`);

test.use({
  jupyterOptions: {
    args: ['--JupyterAir.poll_interval_s=1'],
    env: driver.begin(
      2,
      `gpu.0.memory.used=${Math.round(61.2 * GIB)}`,
      'gpu.0.utilization=87',
      `gpu.1.memory.used=${Math.round(78.1 * GIB)}`,
      'gpu.1.utilization=0'
    )
  }
});

interface ISession {
  readonly path: string;
  readonly kernel: { readonly id: string; readonly execution_state: string };
}

function write(jupyter: Jupyter, path: string, ...cells: string[]): void {
  const code = cells.map((source, i) => ({
    cell_type: 'code',
    id: `c${i}`,
    metadata: {},
    source,
    outputs: [],
    execution_count: null
  }));
  const kernelspec = { name: 'python3', display_name: 'Python 3 (ipykernel)' };
  jupyter.write(
    `work/${path}`,
    JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells: code })
  );
}

async function session(jupyter: Jupyter, path: string): Promise<ISession> {
  const all = await jupyter.get<ISession[]>('api/sessions');
  return all.find(one => one.path === path)!;
}

/** Opens a notebook and runs it; gives the kernel's process once it is so far. */
async function run(jupyter: Jupyter, page: Page, path: string, until: 'idle' | 'busy'): Promise<number> {
  await execute(page, 'docmanager:open', { path });
  await expect(async () => expect(await session(jupyter, path)).toBeTruthy()).toPass();
  await page
    .locator('.jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status="idle"]')
    .waitFor();
  // Not awaited in the page: the command ends with the last cell.
  await page.evaluate(() => void window.jupyterapp.commands.execute('notebook:run-all-cells'));
  await expect(async () => {
    expect(readFileSync(join(jupyter.folder, 'work', `${path}.ran`), 'utf8')).toBe('ran');
    expect((await session(jupyter, path)).kernel.execution_state).toBe(until);
  }).toPass();
  return kernelPid((await session(jupyter, path)).kernel.id);
}

/** The last line of a cell that `run` waits for. */
const ran = (path: string): string => `open('${path}.ran', 'w').write('ran')`;

const pids = (...args: string[]): number[] =>
  execFileSync('pgrep', args, { encoding: 'utf8' }).trim().split('\n').map(Number);

const kernelPid = (id: string): number => pids('-f', `kernel-${id}.json`)[0];

/** Of the server's children the terminals' shells alone have a terminal. */
function hasTerminal(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`).startsWith('/dev/pts/');
  } catch {
    return false; // it has ended
  }
}

/** Lets so many hours pass at once: the server's answer, with its idle times put back. */
async function hoursLater(page: Page, hours: number): Promise<void> {
  await page.route(/gpu\/holders/, async route => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { gpus: { holders: { idle_since_s: number | null }[] }[] };
    for (const holder of body.gpus.flatMap(gpu => gpu.holders)) {
      holder.idle_since_s = holder.idle_since_s && holder.idle_since_s - hours * 3600;
    }
    await route.fulfill({ json: body });
  });
}

async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).include('#jupyter-air-gpu').analyze();
  return found.violations.map(
    one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 160)).join(' | ')}`
  );
}

let pane: Pane;
const line = (gpu: number, text: string | RegExp): Locator =>
  pane
    .gpu(local, new RegExp(`^GPU ${gpu}`))
    .getByRole('listitem')
    .filter({ hasText: text });
const menu = (text: string): Locator => pane.page.getByRole('menuitem', { name: text });
const dialog = (): Locator => pane.page.getByRole('dialog');

test.beforeEach(async ({ page, jupyter }) => {
  await jupyter.open(page);
  pane = new Pane(page);
});

test.afterEach(() => driver.set('gpu.0.processes.compute=', 'gpu.1.processes.compute='));

test('a notebook that runs, and one that was forgotten and is let go @oldest', async ({ page, jupyter }) => {
  write(jupyter, 'tune.ipynb', ran('tune.ipynb'));
  write(jupyter, 'train.ipynb', '1', `${ran('train.ipynb')}\nimport time\ntime.sleep(600)`);
  const tune = await run(jupyter, page, 'tune.ipynb', 'idle');
  const train = await run(jupyter, page, 'train.ipynb', 'busy');
  driver.set(
    `gpu.0.processes.compute=${train}:${Math.round(60.8 * GIB)}`,
    `gpu.1.processes.compute=${tune}:${Math.round(77.9 * GIB)}`
  );
  await pane.open();
  await expect(line(0, 'train.ipynb')).toHaveText(/^60\.8\sGiB · train\.ipynb \[2\] running ?$/);
  await expect(line(1, 'tune.ipynb')).toHaveText(/^77\.9\sGiB · tune\.ipynb, idle for \d+ (s|min) ?$/);
  await expect(line(1, 'tune.ipynb').getByText('Shut down')).toHaveCount(0);
  await pane.width(320);
  await pane.picture('holders');

  await hoursLater(page, 3);
  await expect(line(1, 'tune.ipynb')).toHaveText(/tune\.ipynb, idle for 3 h Shut down$/);
  await pane.picture('holders-forgotten');
  await pane.theme('JupyterLab Dark');
  await pane.picture('holders-forgotten-dark');
  await pane.theme('JupyterLab Light');

  // The name leads to the notebook.
  await line(1, 'tune.ipynb').getByRole('button', { name: 'tune.ipynb', exact: true }).click();
  await expect(page.locator('.jp-mod-current[role="tab"]', { hasText: 'tune.ipynb' })).toBeVisible();

  // Cancel means no.
  const letGo = line(1, 'tune.ipynb').getByRole('button', { name: 'Shut down tune.ipynb' });
  await letGo.click();
  await expect(dialog()).toContainText('Do you want to shut down the kernel of tune.ipynb?');
  await pane.picture('holders-shut-down', page);
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  expect((await session(jupyter, 'tune.ipynb')).kernel.execution_state).toBe('idle');

  await letGo.click();
  await dialog().getByRole('button', { name: 'Shut Down' }).click();
  await expect(line(1, 'tune.ipynb')).toHaveCount(0);
  expect(await session(jupyter, 'tune.ipynb')).toBeUndefined();
  expect(() => process.kill(tune, 0)).toThrow();

  // Interrupted by keyboard, then restarted.
  await line(0, 'train.ipynb').getByRole('button', { name: 'Actions for train.ipynb' }).press('Enter');
  await expect(menu('Restart Kernel…')).toBeVisible();
  await pane.picture('holders-menu', page);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(line(0, 'train.ipynb')).toHaveText(/train\.ipynb, idle for/);
  await line(0, 'train.ipynb').getByRole('button', { name: 'Actions for train.ipynb' }).click();
  await menu('Restart Kernel…').click();
  await expect(dialog()).toContainText('Do you want to restart the kernel of train.ipynb?');
  await dialog().getByRole('button', { name: 'Confirm Kernel Restart' }).click();
  await expect(line(0, 'train.ipynb')).toHaveCount(0);
  await expect(async () => {
    expect(kernelPid((await session(jupyter, 'train.ipynb')).kernel.id)).not.toBe(train);
  }).toPass();
});

test.describe('everybody else', () => {
  const others: ChildProcess[] = [];
  test.afterEach(() => others.forEach(one => one.kill()));

  test('two notebooks on a kernel, a console, a terminal, processes', async ({ page, jupyter }) => {
    const long = 'an-experiment-whose-name-no-sidebar-can-hold-however-wide-it-is-made.ipynb';
    write(jupyter, long, ran(long));
    const shared = await run(jupyter, page, long, 'idle');
    const { id } = (await session(jupyter, long)).kernel;
    const open = (path: string, name: string, type: string, kernel: object): Promise<ISession> =>
      jupyter.post('api/sessions', { path, name, type, kernel });
    await open('second.ipynb', 'second.ipynb', 'notebook', { id });
    const bare = await open('console-7-abc', 'Console 7', 'console', { name: 'python3' });
    const { name } = await jupyter.post<{ name: string }>('api/terminals', {});
    const shell = pids('-P', String(jupyter.pid)).find(hasTerminal)!;
    others.push(
      spawn('sleep', ['600']),
      spawn('sleep', ['600'], process.getuid?.() === 0 ? { uid: 65534 } : {})
    );
    const held = [shared, kernelPid(bare.kernel.id), shell, ...others.map(one => one.pid!)];
    const amounts = [40, 20, 10, 5, 2];
    driver.set(`gpu.0.processes.compute=${held.map((pid, i) => `${pid}:${amounts[i] * GIB}`).join(' ')}`);
    await hoursLater(page, 50);
    await pane.open();

    await expect(line(0, long)).toHaveText(/40\.0\sGiB · an-exp.*, second\.ipynb, idle for 2 days/);
    await expect(pane.gpu(local, /^GPU 0/).getByRole('listitem')).toHaveCount(1);
    const fold = pane.gpu(local, /^GPU 0/).getByRole('button', { name: 'and 4 more' });
    await fold.press('Enter');
    await expect(pane.gpu(local, /^GPU 0/).getByRole('listitem')).toHaveCount(5);
    await expect(line(0, 'Console 7')).toHaveText(/^20\.0\sGiB · Console 7/);
    await expect(line(0, `Terminal ${name}`)).toHaveText(/^10\.0\sGiB · Terminal/);
    await expect(line(0, `PID ${others[0].pid}`)).toHaveText(/^5\.0\sGiB · sleep, PID \d+ ?$/);
    await expect(line(0, `PID ${others[1].pid}`)).toHaveText(
      process.getuid?.() === 0 ? /^2\.0\sGiB · sleep of nobody, PID \d+ ?$/ : /sleep, PID/
    );
    await expect(line(0, `PID ${others[0].pid}`).getByRole('button')).toHaveCount(0);

    for (const theme of ['JupyterLab Light', 'JupyterLab Dark'] as const) {
      await pane.theme(theme);
      for (const width of [280, 420]) {
        await pane.width(width);
        await pane.picture(`holders-all-${theme.slice(11).toLowerCase()}-${width}`);
        expect(await violations(page)).toEqual([]);
        await expect(line(0, long).getByRole('button', { name: /^Shut down/ })).toBeInViewport({ ratio: 1 });
      }
    }
    await pane.theme('JupyterLab Light');

    await line(0, 'Console 7').getByRole('button', { name: 'Console 7', exact: true }).click();
    await expect(page.locator('.jp-CodeConsole')).toBeVisible();
    await line(0, 'Terminal')
      .getByRole('button', { name: `Terminal ${name}`, exact: true })
      .click();
    await expect(page.locator('.jp-Terminal')).toBeVisible();
    await line(0, 'Terminal').getByRole('button', { name: 'Actions for Terminal' }).click();
    await menu('Shut Down Terminal…').click();
    await dialog().getByRole('button', { name: 'Shut Down' }).click();
    await expect(line(0, 'Terminal')).toHaveCount(0);
    expect(() => process.kill(shell, 0)).toThrow();
  });
});

test('while nobody looks nobody is asked', async ({ page }) => {
  await pane.open();
  const asked: string[] = [];
  page.on('request', request => asked.push(new URL(request.url()).pathname.split('/').pop()!));
  await expect.poll(() => asked.filter(name => name === 'holders').length).toBeGreaterThan(1);
  await pane.close();
  await page.waitForTimeout(300);
  asked.length = 0;
  await execute(page, 'jupyter-air:gpu-toggle-status-item');
  await expect.poll(() => asked.filter(name => name === 'gpu').length).toBeGreaterThan(2);
  expect(asked).not.toContain('holders');
});
