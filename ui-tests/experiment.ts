/** The Experiment panel, as a person finds it, and the runs in it. */
import { type Locator } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, type Jupyter, PYTHON, ROOT } from './jupyter';
import { Pane } from './pane';

const MLFLOW = 'jupyter-air/mlflow/api/2.0/mlflow/';

/** MLflow's REST through the proxy, as the token's owner. */
export class Runs {
  constructor(readonly jupyter: Jupyter) {}

  /** Starts the embedded store and waits until it answers. */
  async start(): Promise<void> {
    await this.jupyter.post('jupyter-air/tracking/start', {});
    await expect(async () => {
      const { state } = await this.jupyter.get<{ state: string }>('jupyter-air/tracking');
      expect(state).toBe('ready');
    }).toPass({ timeout: 180_000, intervals: [500] });
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.jupyter.post<T>(MLFLOW + path, body);
  }

  async experiment(name: string): Promise<string> {
    const { experiment_id } = await this.post<{ experiment_id: string }>('experiments/create', { name });
    return experiment_id;
  }

  /** Begins a run; it stays RUNNING. */
  async begin(experiment: string, name: string, tags: Record<string, string> = {}): Promise<string> {
    const { run } = await this.post<{ run: { info: { run_id: string } } }>('runs/create', {
      experiment_id: experiment,
      run_name: name,
      start_time: Date.now(),
      tags: Object.entries(tags).map(([key, value]) => ({ key, value }))
    });
    return run.info.run_id;
  }

  async log(run: string, key: string, value: number | string): Promise<void> {
    await this.post('runs/log-metric', { run_id: run, key, value, timestamp: Date.now(), step: 1 });
  }

  async end(run: string, status: string): Promise<void> {
    await this.post('runs/update', { run_id: run, status, end_time: Date.now() });
  }

  async status(run: string): Promise<string> {
    const { run: found } = await this.jupyter.get<{ run: { info: { status: string } } }>(
      `${MLFLOW}runs/get?run_id=${run}`
    );
    return found.info.status;
  }

  /** Writes so many ended runs into the store; see tests/runs/many_runs.py. */
  insert(experiment: string, count: number, notebook: string): void {
    const database = join(this.jupyter.folder, 'data/air/tracking/mlflow.db');
    const command = ['-m', 'tests.runs.many_runs', database, experiment, String(count), notebook];
    execFileSync(PYTHON, command, { cwd: ROOT });
  }
}

export class ExperimentPanel extends Pane {
  override get root(): Locator {
    return this.page.locator('#jupyter-air-experiment');
  }

  get grid(): Locator {
    return this.root.getByRole('treegrid', { name: 'Runs' });
  }

  /** The row of a run, by the beginning of its name. */
  row(name: string | RegExp): Locator {
    return this.grid
      .locator('.jp-air-Run')
      .filter({ has: this.page.locator('.jp-air-Run-name', { hasText: name }) });
  }

  get names(): Promise<string[]> {
    return this.grid.locator('.jp-air-Run-name > bdi:first-of-type').allTextContents();
  }

  get search(): Locator {
    return this.root.getByRole('combobox', { name: /^Search runs/ });
  }

  get footer(): Locator {
    return this.root.locator('.jp-air-Footer');
  }

  button(name: string | RegExp): Locator {
    return this.root.getByRole('button', { name });
  }

  override async open(): Promise<void> {
    await this.page.locator('.jp-SideBar.jp-mod-right [data-id="jupyter-air-experiment"]').click();
    await this.root.getByRole('heading', { name: 'Experiment' }).waitFor();
  }

  override async close(): Promise<void> {
    await this.page.locator('.jp-SideBar.jp-mod-right [data-id="jupyter-air-experiment"]').click();
    await this.root.waitFor({ state: 'hidden' });
  }

  /** Chooses from the menu of the chosen runs. */
  async menu(item: string): Promise<void> {
    await this.page.locator('.lm-Menu-item', { hasText: item }).click();
  }
}
