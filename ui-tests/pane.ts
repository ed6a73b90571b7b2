/** The GPU resources pane, as a person finds it. */
import { type Locator, type Page } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { execute, PYTHON, ROOT } from './jupyter';

/** Pictures for review; those that the README shows are written where it looks when AIR_PICTURES is set. */
const REVIEW = join(ROOT, 'ui-tests/results/pictures');
const DOCS = join(ROOT, 'docs/pictures');

export class Pane {
  constructor(readonly page: Page) {}

  get root(): Locator {
    return this.page.locator('#jupyter-air-gpu');
  }

  node(name: string | RegExp): Locator {
    return this.root.getByRole('region', { name });
  }

  gpu(node: string | RegExp, title: string | RegExp): Locator {
    return this.node(node).getByRole('group', { name: title });
  }

  get status(): Locator {
    return this.root.getByRole('status');
  }

  /** Clicks the chip in the right sidebar. */
  async open(): Promise<void> {
    await this.page.locator('.jp-SideBar.jp-mod-right [data-id="jupyter-air-gpu"]').click();
    await this.root.getByRole('heading', { name: 'GPU resources' }).waitFor();
  }

  async close(): Promise<void> {
    await this.page.locator('.jp-SideBar.jp-mod-right [data-id="jupyter-air-gpu"]').click();
    await this.root.waitFor({ state: 'hidden' });
  }

  /** Makes the sidebar so wide (CSS pixels). */
  async width(pixels: number): Promise<void> {
    const box = (await this.root.boundingBox())!;
    const handles = this.page.locator('#jp-main-split-panel > .lm-SplitPanel-handle:visible');
    const handle = (await handles.last().boundingBox())!;
    await this.page.mouse.move(handle.x + handle.width / 2, handle.y + 300);
    await this.page.mouse.down();
    await this.page.mouse.move(handle.x + handle.width / 2 + box.width - pixels, handle.y + 300, {
      steps: 4
    });
    await this.page.mouse.up();
  }

  async theme(name: 'JupyterLab Light' | 'JupyterLab Dark' | 'JupyterLab Dark High Contrast'): Promise<void> {
    await execute(this.page, 'apputils:change-theme', { theme: name });
    await this.page.locator(`body[data-jp-theme-name="${name}"]`).waitFor({ state: 'attached' });
    await this.settle();
  }

  /** Waits until the charts have been drawn and nothing is on its way in. */
  async settle(): Promise<void> {
    await this.page.evaluate(
      () =>
        new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 150))))
    );
  }

  /** Keeps a picture of the pane. */
  async picture(name: string, of: Locator | Page = this.root): Promise<void> {
    await this.settle();
    const folder = process.env.AIR_PICTURES && name.startsWith('readme-') ? DOCS : REVIEW;
    mkdirSync(folder, { recursive: true });
    await of.screenshot({ path: join(folder, `${name.replace('readme-', '')}.png`) });
  }
}

/** The stand-in for NVIDIA's driver; see tests/fake_nvml. */
export class Driver {
  constructor(readonly folder: string) {}

  /** Begins anew with so many GPUs that are well; gives the environment for a server. */
  begin(gpus: number, ...changes: string[]): Record<string, string> {
    return this._run('--gpus', String(gpus), ...changes);
  }

  /** Changes what the driver says: `gpu.1.temperature=80`. */
  set(...changes: string[]): void {
    this._run(...changes);
  }

  private _run(...args: string[]): Record<string, string> {
    const command = ['-m', 'tests.fake_nvml', this.folder, ...args];
    return JSON.parse(execFileSync(PYTHON, command, { cwd: ROOT, encoding: 'utf8' })) as Record<
      string,
      string
    >;
  }
}
