/**
 * A real JupyterLab for the tests: its own process and folders, token and XSRF on, under a base URL as behind JupyterHub.
 */
import { test as base, expect, type Page } from '@playwright/test';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const TOKEN = 'a-token-for-tests';
const BASE_URL = '/user/ada@lab/';
export const ROOT = resolve(__dirname, '..');
export const PYTHON = process.env.AIR_PYTHON ?? join(ROOT, '.venv/bin/python');

export interface IJupyterOptions {
  /** Further command line arguments. */
  args: string[];
  /** Further environment variables. */
  env: Record<string, string>;
  /** The server's application: JupyterLab, or Notebook 7. */
  app: 'lab' | 'notebook';
}

const SETTINGS = {
  '@jupyterlab/apputils-extension/notification.jupyterlab-settings': {
    fetchNews: 'false',
    checkForUpdates: false
  }
};

function freePort(): Promise<number> {
  return new Promise(done => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => done(port));
    });
  });
}

/** A running Jupyter server. */
export class Jupyter {
  readonly folder = mkdtempSync(join(tmpdir(), 'air-ui-'));
  private _process: ChildProcess | null = null;
  private _port = 0;

  constructor(private readonly _options: IJupyterOptions) {
    for (const [file, content] of Object.entries(SETTINGS)) {
      this.write(`settings/${file}`, JSON.stringify(content));
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this._port}${BASE_URL}`;
  }

  get log(): string {
    return readFileSync(join(this.folder, 'server.log'), 'utf8');
  }

  /** Writes a file below the server's folder; notebooks belong into `work/`. */
  write(name: string, text: string): void {
    const path = join(this.folder, name);
    mkdirSync(resolve(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }

  /** Starts it; on the port it had, when it ran before. */
  async start(): Promise<void> {
    this._port ||= await freePort();
    mkdirSync(join(this.folder, 'work'), { recursive: true });
    const log = openSync(join(this.folder, 'server.log'), 'a');
    const own = (name: string) => join(this.folder, name);
    this._process = spawn(
      PYTHON,
      [
        ...[
          '-m',
          `jupyter${this._options.app === 'lab' ? 'lab' : '_server'}`,
          '--no-browser',
          '--allow-root'
        ],
        `--ServerApp.port=${this._port}`,
        '--ServerApp.port_retries=0',
        `--ServerApp.base_url=${BASE_URL}`,
        `--ServerApp.root_dir=${own('work')}`,
        `--IdentityProvider.token=${TOKEN}`,
        '--LabApp.expose_app_in_browser=True',
        '--JupyterNotebookApp.expose_app_in_browser=True',
        '--LabApp.extension_manager=readonly',
        '--LabApp.news_url=None',
        `--LabServerApp.user_settings_dir=${own('settings')}`,
        `--LabServerApp.workspaces_dir=${own('workspaces')}`,
        ...this._options.args
      ],
      {
        cwd: own('work'),
        stdio: ['ignore', log, log],
        env: {
          ...process.env,
          JUPYTER_CONFIG_DIR: own('config'),
          JUPYTER_DATA_DIR: own('data'),
          JUPYTER_RUNTIME_DIR: own('runtime'),
          IPYTHONDIR: own('ipython'),
          ...this._options.env
        }
      }
    );
    await expect(async () => {
      if (this._process?.exitCode !== null) {
        throw new Error(`the server ended:\n${this.log}`);
      }
      expect((await fetch(`${this.url}api`)).status).toBe(200);
    }).toPass({ timeout: 60_000 });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const running = this._process;
    if (running?.exitCode === null) {
      const ended = new Promise(done => running.once('exit', done));
      running.kill(signal);
      // Jupyter's own end waits for ever for a thread that was at work on a file when the signal came.
      const late = setTimeout(() => running.kill('SIGKILL'), 30_000);
      await ended;
      clearTimeout(late);
    }
  }

  /** What a route of the server answers the token's owner. */
  get<T>(path: string): Promise<T> {
    return this.ask(path);
  }

  /** The same for any request. */
  async ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    const headers = { Authorization: `token ${TOKEN}`, 'Content-Type': 'application/json' };
    const answer = await fetch(this.url + path, { ...init, headers });
    expect(answer.ok).toBe(true);
    const text = await answer.text();
    return (text && JSON.parse(text)) as T;
  }

  /** What it answers to a body. */
  post<T>(path: string, body: object): Promise<T> {
    return this.ask(path, { method: 'POST', body: JSON.stringify(body) });
  }

  get pid(): number {
    return this._process?.pid ?? 0;
  }

  /** Logs the page's browser in and opens JupyterLab, or a page of Notebook 7. */
  async open(page: Page, path = this._options.app === 'lab' ? 'lab?reset' : 'tree'): Promise<void> {
    await page.goto(`${this.url}login?token=${TOKEN}&next=${encodeURIComponent(BASE_URL + 'api')}`);
    await page.goto(this.url + path);
    await page.waitForFunction(() => 'jupyterapp' in window);
    await page.evaluate(() => window.jupyterapp.restored);
    // What opens last takes the focus: a test that types before would lose it.
    await page.locator('.jp-Launcher-body, .jp-NotebookPanel, .jp-DirListing-content').last().waitFor();
    await page.evaluate(() => new Promise(done => requestIdleCallback(done, { timeout: 5000 })));
    await page.waitForTimeout(500);
  }

  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

declare global {
  // eslint-disable-next-line @typescript-eslint/naming-convention -- the browser's name
  interface Window {
    jupyterapp: {
      restored: Promise<void>;
      commands: { execute(id: string, args?: object): Promise<unknown> };
    };
  }
}

/** Runs one of JupyterLab's commands in the page. */
export function execute(page: Page, id: string, args: object = {}): Promise<unknown> {
  return page.evaluate(
    ([command, given]) => window.jupyterapp.commands.execute(command, given).then(() => null),
    [id, args] as const
  );
}

/** `test` with a JupyterLab of the file's own: `test.use({ jupyterOptions: { args: [...] } })`. */
export const test = base.extend<object, { jupyter: Jupyter; jupyterOptions: Partial<IJupyterOptions> }>({
  jupyterOptions: [{}, { scope: 'worker', option: true }],
  jupyter: [
    async ({ jupyterOptions }, use) => {
      const jupyter = new Jupyter({ args: [], env: {}, app: 'lab', ...jupyterOptions });
      await jupyter.start();
      await use(jupyter);
      await jupyter.dispose();
    },
    { scope: 'worker' }
  ]
});

export { expect };
