import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act, fireEvent, getByRole, getByText, queryByRole, within } from '@testing-library/react';
import { Answer, full, next, wire } from '../../__tests__/wire';
import { AirError, decodePoll, IGpuPoll } from '../../api';
import { CellBands } from '../bands';
import { GpuModel } from '../model';
import { GpuPane } from '../panel';
import { Settings } from '../settings';
import { statusText } from '../status';

// Canvas and layout are a browser's affair: ui-tests look at them.
jest.mock('uplot', () => jest.fn());
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const trans = nullTranslator.load('jupyter-air');
const plain = (element: Element | null): string => (element?.textContent ?? '').replace(/\u00a0/g, ' ');

describe('GpuPane', () => {
  let pane: GpuPane;
  let model: GpuModel;
  let settings: Settings;
  let answer: () => Promise<IGpuPoll>;
  const refresh = jest.fn(() => Promise.resolve());
  const exportCsv = jest.fn();
  const openSettings = jest.fn();
  const holding = (): Promise<never> => new Promise(() => undefined);

  async function show(first: () => Promise<IGpuPoll>): Promise<HTMLElement> {
    answer = first;
    model = new GpuModel({ api: { poll: () => answer(), refresh }, hidden: () => false });
    settings = new Settings();
    pane = new GpuPane({ model, settings, bands: new CellBands(), trans, holding, exportCsv, openSettings });
    await act(async () => {
      Widget.attach(pane, document.body);
      MessageLoop.flush();
      model.isActive = true;
      await jest.advanceTimersByTimeAsync(5);
    });
    return pane.node;
  }

  const showWire = (name: string, change: (a: Answer) => void = () => undefined): Promise<HTMLElement> => {
    const content = wire(name);
    change(content);
    return show(() => Promise.resolve(decodePoll(content, full().layout)));
  };

  beforeEach(() => {
    jest.useFakeTimers();
    refresh.mockClear();
  });

  afterEach(() => {
    act(() => pane.dispose());
    model.dispose();
    jest.useRealTimers();
  });

  const row = (node: HTMLElement, name: RegExp): HTMLElement => getByRole(node, 'group', { name });
  const figures = (node: HTMLElement): string[] =>
    Array.from(node.querySelectorAll('.jp-air-Lines .jp-air-Figure'), plain);

  it('shows the nodes and GPUs with their figures', async () => {
    const node = await showWire('gpu-full');
    expect(plain(node.querySelector('.jp-air-Node-header'))).toBe('Livedgx-01live · 2 s ago');
    expect(plain(node.querySelector('.jp-air-Node-facts'))).toBe(
      '2 GPUs · 1 MIG slice · CPU 38 % · memory 121 / 503 GiB'
    );
    const first = row(node, /^GPU 0, NVIDIA H100 80GB HBM3$/);
    expect(figures(first)).toEqual(['87 %', '61.2 / 80 GiB', '54 °C']);
    expect(plain(first.querySelector('.jp-air-Gpu-header'))).toBe('0H100 80GB HBM3power cap·412 W');
    expect(plain(node.querySelector('.jp-air-Footer'))).toBe('10 s · pauses in 5 min when idle');
  });

  it('says n/a, and why, where a reading is missing', async () => {
    const node = await showWire('gpu-full');
    const [utilization] = row(node, /^GPU 1,/).querySelectorAll<HTMLElement>('.jp-air-Figure');
    expect(plain(utilization)).toMatch(/^n\/a/);
    expect(utilization.title).toMatch(/divided by MIG/);
  });

  it('shows a slice with the lines it has, and warns when its memory is nearly full', async () => {
    const node = await showWire('gpu-full', content => {
      const [{ gpus }] = content.columns as { gpus: (number | null)[][][] }[];
      gpus[2][1] = gpus[2][1].map(() => 9800);
    });
    const slice = row(node, /^MIG slice 1:0, NVIDIA H100 80GB HBM3, 1g.10gb$/);
    expect(figures(slice)).toEqual(['above 95 % of the memory9.6 / 9.8 GiB']);
    const mark = within(slice).getByRole('img', { name: 'above 95 % of the memory' });
    expect(mark.getAttribute('data-tone')).toBe('warn');
    expect(slice.querySelector('.jp-air-Gpu-power')).toBeNull();
  });

  it('follows the readings and the thresholds', async () => {
    const node = await showWire('gpu-full');
    answer = () => Promise.resolve(next());
    await act(() => jest.advanceTimersByTimeAsync(9000));
    const first = row(node, /^GPU 0,/);
    expect(figures(first)).toEqual(['90 %', '61.2 / 80 GiB', '56 °C']);
    act(() => settings.set('temperatureWarn', 50));
    expect(within(first).getByRole('img', { name: 'above 50 °C' })).toBeTruthy();
  });

  it('says what a chart shows as soon as its first reading is there', async () => {
    const silence = wire('gpu-full');
    const [{ gpus }] = silence.columns as { gpus: (number | null)[][][] }[];
    gpus[0][0] = gpus[0][0].map(() => null);
    silence.time_s = Math.floor(Number(silence.time_s) / 60) * 60 + 30;
    const node = await show(() => Promise.resolve(decodePoll(silence, null)));
    expect(within(row(node, /^GPU 0,/)).getByRole('img', { name: 'Utilization: no readings' })).toBeTruthy();
    answer = () => Promise.resolve({ ...full(), timeS: Number(silence.time_s) + 1 });
    await act(() => jest.advanceTimersByTimeAsync(15_000));
    expect(within(row(node, /^GPU 0,/)).getByRole('img', { name: /^Utilization: now 87/ })).toBeTruthy();
    const table = within(row(node, /^GPU 0,/)).getByRole('table');
    expect(plain(within(table).getByRole('row', { name: /^Now/ }))).toMatch(/^Now87 %/);
  });

  it('shows hostile names as text', async () => {
    const name = '<img src=x onerror="boom()">';
    const node = await showWire('gpu-full', content => {
      const [first] = (content.layout as { nodes: { name: string; gpus: { name: string }[] }[] }).nodes;
      first.name = name;
      first.gpus[0].name = name;
    });
    expect(node.querySelector('img')).toBeNull();
    expect(node.querySelector('.jp-air-Gpu-name')?.textContent).toBe(name);
  });

  it('shows why a GPU gives nothing, beside the others', async () => {
    const node = await showWire('gpu-full', content => {
      const [first] = (content.layout as { nodes: { gpus: object[] }[] }).nodes;
      Object.assign(first.gpus[0], { state: 'lost', reason: 'The GPU has fallen off the bus.' });
    });
    expect(getByText(row(node, /^GPU 0,/), 'The GPU has fallen off the bus.')).toBeTruthy();
    expect(row(node, /^GPU 1,/)).toBeTruthy();
  });

  it('offers to resume, and to go on while a kernel is busy', async () => {
    const node = await showWire('gpu-full', content => {
      content.monitor = {
        state: 'paused',
        pauses_in_s: null,
        pause_after_s: 300,
        keep_while_busy: false,
        busy: false
      };
    });
    const banner = getByRole(node, 'status');
    expect(plain(banner)).toContain('Paused after 5 min without activity.');
    expect(plain(node.querySelector('.jp-air-Node-age'))).toBe('paused · 2 s ago');
    fireEvent.click(within(banner).getByRole('checkbox', { name: 'Keep sampling while a kernel is busy' }));
    expect(settings.value.keepWhileBusy).toBe(true);
    await act(async () => {
      fireEvent.click(within(banner).getByRole('button', { name: 'Resume' }));
      await jest.advanceTimersByTimeAsync(5);
    });
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  it('explains a machine without a driver, and how to see the pane', async () => {
    const node = await showWire('gpu-no-driver');
    expect(getByText(node, /No NVIDIA driver was found/)).toBeTruthy();
    expect(getByText(node, 'jupyter lab --JupyterAir.simulate=2x8')).toBeTruthy();
    expect(figures(node)).toEqual(['12 %', '6.0 / 16 GiB']);
    expect(plain(node.querySelector('.jp-air-Footer'))).toBe('10 s · does not pause');
  });

  it.each([
    [new AirError('unreachable', 'Failed to fetch'), /does not answer; trying again/],
    [new AirError('http-404', 'Not Found', null, 404), /jupyter server extension enable jupyter_air/],
    [new AirError('http-403', 'Forbidden', null, 403), /do not have access/],
    [new AirError('x', 'The disk is full.', 'Make room.', 500), /The disk is full. Make room./]
  ])('says what is wrong: %s', async (problem, words) => {
    const node = await show(() => Promise.reject(problem));
    expect(plain(getByRole(node, 'status'))).toMatch(words);
    expect(getByRole(node, 'button', { name: 'Try again' })).toBeTruthy();
  });

  it('dims what it last knew while the server is gone', async () => {
    const node = await showWire('gpu-full');
    answer = () => Promise.reject(new AirError('unreachable', 'Failed to fetch'));
    await act(() => jest.advanceTimersByTimeAsync(9000));
    expect(node.querySelector('[data-outdated]')).not.toBeNull();
    expect(figures(row(node, /^GPU 0,/))[0]).toBe('87 %');
    expect(plain(node.querySelector('.jp-air-Node-header'))).toBe('Staledgx-0111 s ago');
  });

  it('switches the window', async () => {
    const node = await showWire('gpu-full');
    fireEvent.click(getByRole(node, 'button', { name: '15 m' }));
    expect(settings.value.window).toBe('15m');
    expect(getByRole(node, 'button', { name: '15 m', pressed: true })).toBeTruthy();
    expect(getByRole(node, 'button', { name: '2 h', pressed: false })).toBeTruthy();
  });

  it('folds a node of more than 16 GPUs, and unfolds it', async () => {
    const node = await showWire('gpu-full', content => {
      const [first] = (content.layout as { nodes: { gpus: object[] }[] }).nodes;
      const [columns] = content.columns as { gpus: object[] }[];
      first.gpus = Array.from({ length: 17 }, (_, i) => ({
        ...first.gpus[0],
        uuid: `u${i}`,
        index: String(i)
      }));
      columns.gpus = first.gpus.map(() => columns.gpus[0]);
    });
    expect(getByRole(node, 'img', { name: 'Utilization of 17 GPUs: mean 87 % now' })).toBeTruthy();
    expect(queryByRole(node, 'slider')).toBeNull();
    fireEvent.click(getByRole(node, 'button', { name: 'dgx-01', expanded: false }));
    expect(within(node).getAllByRole('slider')).toHaveLength(17);
  });

  it('moves the cursor with the keys and says what is there', async () => {
    const node = await showWire('gpu-full');
    const slider = within(row(node, /^GPU 0,/)).getByRole('slider');
    const press = (key: string, shiftKey = false): boolean => fireEvent.keyDown(slider, { key, shiftKey });
    press('ArrowLeft');
    press('ArrowLeft');
    expect(slider.getAttribute('aria-valuetext')).toMatch(
      /Utilization 0.%, Memory 600.MiB, Temperature 35.°C$/
    );
    // The readout is loaded when the cursor first moves.
    await act(() => jest.advanceTimersByTimeAsync(1));
    const readout = node.querySelector<HTMLElement>('.jp-air-Readout')!;
    expect(readout.hidden).toBe(false);
    expect(plain(readout)).toContain('Power71 WClock345 MHz');
    press('Escape');
    expect(readout.hidden).toBe(true);
    expect(slider.getAttribute('aria-valuetext')).toBe('now');
  });

  it('has the readings as a table of bounded length', async () => {
    const node = await showWire('gpu-full');
    const table = within(row(node, /^GPU 0,/)).getByRole('table', { name: 'Readings of GPU 0' });
    const lines = within(table).getAllByRole('row').map(plain);
    expect(lines).toHaveLength(17);
    expect(lines[1]).toBe('Now87 %61.2 GiB54 °C412 W');
    expect(lines[4]).toBe('Highest90 %61.2 GiB59 °C420 W');
  });

  it('has a line for the status bar', async () => {
    await showWire('gpu-full');
    expect(statusText(model, trans).replace(/\u00a0/g, ' ')).toBe('GPU 87 % · 61.6 GiB');
  });
});
