/** MLflow as a person finds it in JupyterLab, and a real one behind it. */
import AxeBuilder from '@axe-core/playwright';
import { type FrameLocator, type Locator, type Page } from '@playwright/test';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IJupyterOptions, type Jupyter, PYTHON, ROOT } from './jupyter';

/** Where the extension that shows a given tracking server is found. */
const TRACKED = join(ROOT, 'tests/server');

/** A Jupyter server that shows the tracking server at this address. */
export function tracked(url: string, socket = ''): Partial<IJupyterOptions> {
  return {
    args: [
      "--ServerApp.jpserver_extensions={'jupyter_air': False, 'tracked': True}",
      `--Tracked.upstream=${url}`,
      `--Tracked.socket=${socket}`
    ],
    env: { PYTHONPATH: TRACKED }
  };
}

/** `mlflow server` on a unix socket; it is started when it is first needed, which takes half a minute. */
export class Mlflow {
  readonly folder = mkdtempSync(join(tmpdir(), 'air-mlflow-'));
  readonly socket = join(this.folder, 'm.sock');

  start(): void {
    if (this._process) {
      return;
    }
    const log = openSync(join(this.folder, 'mlflow.log'), 'a');
    const server = ['-m', 'mlflow', 'server', '--workers', '1', '--uvicorn-opts', `--uds ${this.socket}`];
    const store = ['--backend-store-uri', `sqlite:///${this.folder}/mlflow.db`];
    const artifacts = ['--artifacts-destination', join(this.folder, 'artifacts')];
    this._process = spawn(PYTHON, [...server, ...store, ...artifacts], {
      cwd: this.folder,
      stdio: ['ignore', log, log],
      detached: true, // a process group of its own, since a killed mlflow leaves its server running
      env: {
        ...process.env,
        MLFLOW_DISABLE_TELEMETRY: 'true',
        MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false'
      }
    });
  }

  stop(): void {
    if (this._process?.pid) {
      process.kill(-this._process.pid, 'SIGKILL');
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private _process: ChildProcess | null = null;
}

export interface IRun {
  readonly experiment: string;
  readonly run: string;
}

/** Makes an experiment with a run and its artifacts, through the proxy; waits until MLflow is there. */
export async function makeRun(
  jupyter: Jupyter,
  name: string,
  artifacts: Record<string, string>
): Promise<IRun> {
  const mlflow = 'jupyter-air/mlflow/api/2.0';
  const post = <T>(path: string, body: object): Promise<T> =>
    jupyter.ask<T>(`${mlflow}/mlflow/${path}`, { method: 'POST', body: JSON.stringify(body) });
  const { experiment_id: experiment } = await post<{ experiment_id: string }>('experiments/create', {
    name: `${name}-experiment`
  });
  const made = await post<{ run: { info: { run_id: string } } }>('runs/create', {
    experiment_id: experiment,
    run_name: `${name}-run`,
    start_time: Date.now()
  });
  const run = made.run.info.run_id;
  for (const [path, body] of Object.entries(artifacts)) {
    const place = `${mlflow}/mlflow-artifacts/artifacts/${experiment}/${run}/artifacts/${path}`;
    await jupyter.ask(place, { method: 'PUT', body });
  }
  return { experiment, run };
}

/** The tab. */
export class MlflowTab {
  /** With a key, that of the store in a folder. */
  constructor(
    readonly page: Page,
    key = ''
  ) {
    this.id = `jupyter-air-mlflow${key && '-'}${key}`;
  }

  readonly id: string;

  get root(): Locator {
    return this.page.locator(`#${this.id}`);
  }

  get progress(): Locator {
    return this.root.getByRole('status');
  }

  /** MLflow's own page. */
  get content(): FrameLocator {
    return this.root.frameLocator('iframe');
  }

  async openFromLauncher(): Promise<void> {
    await this.page.locator('.jp-LauncherCard[title="Show runs and experiments in MLflow"]').click();
    await this.root.waitFor();
  }

  async openFromPalette(command: 'mlflow-open' | 'mlflow-open-in-browser' = 'mlflow-open'): Promise<void> {
    await this.page.keyboard.press('Control+Shift+c');
    await this.page.locator('.lm-CommandPalette-input').fill('MLflow');
    await this.page.locator(`.lm-CommandPalette-item[data-command="jupyter-air:${command}"]`).click();
  }
}

/** What axe finds in a part of the page. */
export async function violations(page: Page, part: string): Promise<string[]> {
  const found = await new AxeBuilder({ page }).include(part).analyze();
  return found.violations.map(
    one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 160)).join(' | ')}`
  );
}
