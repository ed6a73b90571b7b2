/** What a page costs: the CPU time of its main thread, and the scripts it loads. */
import { type Locator, type Page } from '@playwright/test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The cadence at which charts are compared, and the points each holds: a sidebar's window of 15 minutes. */
export const CADENCE_MS = 1250;
export const POINTS = 720;

/** How long a page is watched at a time. */
export const WATCH_MS = 15_000;

/** How long a list is scrolled from its top to its end. */
export const SCROLL_MS = 8000;

/** How css-loader's output looks once it is minified. */
const CSS_MODULE = /\.push\(\[\w+\.id,\s*[`"]/;

export interface ICost {
  /** CPU milliseconds of the main thread. */
  readonly cpuMs: number;
  readonly updates: number;
  readonly seconds: number;
}

/**
 * Watches a page do what it does by itself. CPU time, not wall: other programs share the cores.
 *
 * @param updates counts the page's updates since it was opened.
 */
export async function watch(
  page: Page,
  updates: () => number | Promise<number>,
  ms = WATCH_MS
): Promise<ICost> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const cpuS = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(metric => metric.name === 'ThreadTime')!.value;
  };
  const before = { cpuS: await cpuS(), updates: await updates(), ms: performance.now() };
  await page.waitForTimeout(ms);
  const cost = {
    cpuMs: ((await cpuS()) - before.cpuS) * 1000,
    updates: (await updates()) - before.updates,
    seconds: (performance.now() - before.ms) / 1000
  };
  await session.detach();
  return cost;
}

/** Scrolls a list from its top to its end, evenly; gives the milliseconds that the long tasks of the page took. */
export function scroll(list: Locator): Promise<{ taskMs: number[]; frames: number }> {
  return list.evaluate(async (element, duration) => {
    const taskMs: number[] = [];
    const observer = new PerformanceObserver(entries => {
      taskMs.push(...entries.getEntries().map(entry => entry.duration));
    });
    observer.observe({ entryTypes: ['longtask'] });
    let frames = 0;
    const began = performance.now();
    await new Promise<void>(done => {
      const step = (): void => {
        const part = (performance.now() - began) / duration;
        element.scrollTop = part * (element.scrollHeight - element.clientHeight);
        frames++;
        if (part < 1) {
          requestAnimationFrame(step);
        } else {
          done();
        }
      };
      requestAnimationFrame(step);
    });
    await new Promise(done => setTimeout(done, 500));
    observer.disconnect();
    return { taskMs, frames };
  }, SCROLL_MS);
}

/** The costs of several stretches as those of one. */
export function together(costs: readonly ICost[]): ICost {
  const sum = (read: (cost: ICost) => number): number => costs.reduce((all, cost) => all + read(cost), 0);
  return { cpuMs: sum(c => c.cpuMs), updates: sum(c => c.updates), seconds: sum(c => c.seconds) };
}

/** The scripts of a JupyterLab extension, as a page loads them; a chunk that only carries CSS is told apart. */
export class Scripts {
  constructor(page: Page, extension: string) {
    page.on('response', response => {
      if (response.url().includes(`/extensions/${extension}/static/`) && response.ok()) {
        this._loaded.push(response.text());
      }
    });
  }

  /** Bytes until now. */
  async bytes(): Promise<{ code: number; styles: number }> {
    const sum = { code: 0, styles: 0 };
    for (const text of await Promise.all(this._loaded)) {
      sum[CSS_MODULE.test(text) ? 'styles' : 'code'] += Buffer.byteLength(text);
    }
    return sum;
  }

  private readonly _loaded: Promise<string>[] = [];
}

/** Hands the figures to whoever started the benchmark. */
export function report(figures: Readonly<Record<string, unknown>>): void {
  const path = process.env.AIR_BENCH_RESULTS;
  if (!path) {
    throw new Error('AIR_BENCH_RESULTS names the file for the figures; `make bench` sets it.');
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(figures));
}
