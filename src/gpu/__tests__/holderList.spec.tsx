import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act, fireEvent, getByRole, queryByRole, within } from '@testing-library/react';
import { Answer, full, wire } from '../../__tests__/wire';
import { CellBands } from '../bands';
import { Holders, IOwnerActions } from '../holders';
import { GpuModel } from '../model';
import { GpuPane } from '../panel';
import { Settings } from '../settings';

jest.mock('uplot', () => jest.fn());
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const trans = nullTranslator.load('jupyter-air');
const plain = (element: Element): string => element.textContent.replace(/\s+/g, ' ').trim();

describe('the holders of a GPU', () => {
  let pane: GpuPane;
  let model: GpuModel;
  let bands: CellBands;
  const actions: jest.Mocked<IOwnerActions> = {
    goTo: jest.fn(),
    goToTerminal: jest.fn(),
    shutDown: jest.fn(),
    openMenu: jest.fn()
  };

  async function show(change: (answer: Answer) => void = () => undefined): Promise<HTMLElement> {
    const answer = wire('holders');
    change(answer);
    const poll = (): Promise<ReturnType<typeof full>> => Promise.resolve(full());
    model = new GpuModel({ api: { poll, refresh: () => Promise.resolve() }, hidden: () => false });
    bands = new CellBands();
    pane = new GpuPane({
      model,
      settings: new Settings(),
      bands,
      trans,
      holding: () => {
        const api = { holders: () => Promise.resolve(answer) };
        return Promise.resolve({ holders: new Holders({ api, model, isSeen: () => true }), actions });
      },
      exportCsv: jest.fn(),
      openSettings: jest.fn()
    });
    await act(async () => {
      Widget.attach(pane, document.body);
      MessageLoop.flush();
      model.isActive = true;
      await Promise.all([import('../holderList'), new Promise(done => setTimeout(done, 20))]);
      await new Promise(done => setTimeout(done, 20));
    });
    return getByRole(pane.node, 'group', { name: /^GPU 0/ });
  }

  afterEach(() => {
    act(() => pane.dispose());
    model.dispose();
    jest.clearAllMocks();
  });

  const lines = (row: HTMLElement): HTMLElement[] => within(row).getAllByRole('listitem');

  it('shows the largest, and the others when they are wanted', async () => {
    const row = await show();
    expect(lines(row).map(plain)).toEqual(['60.8 GiB · train.ipynb running · 4 processes']);
    const fold = within(row).getByRole('button', { name: 'and 9 more', expanded: false });
    act(() => void fireEvent.click(fold));
    expect(lines(row).map(plain)).toEqual([
      '60.8 GiB · train.ipynb running · 4 processes',
      '307 MiB · a.ipynb, b.ipynb, Console 1, idle for 1 min',
      '220 MiB · Console 2, idle for 3 h Shut down',
      '64.0 MiB · Terminal 1',
      '32.0 MiB · ollama of bob, PID 5100',
      'n/a · Python 3 (ipykernel)',
      'n/a · a process, PID 5300'
    ]);
    expect(plain(row)).toContain('3 more hold less than these.');
    act(() => void fireEvent.click(within(row).getByRole('button', { expanded: true })));
    expect(lines(row)).toHaveLength(1);
  });

  it('says which cell runs as soon as the kernel tells', async () => {
    const row = await show();
    act(() => bands.scheduled('speech/train.ipynb', 'c1'));
    expect(plain(lines(row)[0])).toContain('train.ipynb running');
    act(() => bands.counted('speech/train.ipynb', 14));
    expect(plain(lines(row)[0])).toContain('train.ipynb [14] running');
  });

  it('leads to notebooks, consoles and terminals', async () => {
    const row = await show();
    act(() => void fireEvent.click(within(row).getByRole('button', { name: 'and 9 more' })));
    for (const name of ['b.ipynb', 'Console 2', 'Terminal 1']) {
      fireEvent.click(within(row).getByRole('button', { name }));
    }
    expect(actions.goTo.mock.calls.map(([session]) => session.path)).toEqual(['b.ipynb', 'console-2-77aa']);
    expect(actions.goToTerminal).toHaveBeenCalledWith('1');
  });

  it('offers to shut down what was forgotten, a menu for what is ours, nothing for the rest', async () => {
    const row = await show();
    act(() => void fireEvent.click(within(row).getByRole('button', { name: 'and 9 more' })));
    fireEvent.click(within(row).getByRole('button', { name: 'Shut down Console 2' }));
    expect(actions.shutDown.mock.calls[0][0].kernelId).toBe('k-console');
    const menus = within(row).getAllByRole('button', { name: /^Actions for/ });
    expect(menus.map(one => one.getAttribute('aria-label'))).toEqual([
      'Actions for train.ipynb',
      'Actions for a.ipynb and 2 more',
      'Actions for Console 2',
      'Actions for Terminal 1',
      'Actions for Python 3 (ipykernel)'
    ]);
    fireEvent.click(menus[0]);
    expect(actions.openMenu).toHaveBeenCalledWith(expect.objectContaining({ kernelId: 'k-train' }), menus[0]);
    expect(within(lines(row)[4]).queryByRole('button')).toBeNull();
  });

  it('says host PID, and nothing where the driver does not tell or nobody holds any', async () => {
    await show(answer => {
      (answer.gpus as { holders: unknown[] }[])[0].holders = [];
    });
    const slice = getByRole(pane.node, 'group', { name: /^MIG slice/ });
    expect(lines(slice).map(plain)).toEqual(['5.0 GiB · host PID 99123']);
    for (const name of [/^GPU 0/, /^GPU 1/]) {
      expect(queryByRole(getByRole(pane.node, 'group', { name }), 'list')).toBeNull();
    }
  });

  it('shows hostile names as text', async () => {
    const name = '<img src=x onerror="boom()">';
    const row = await show(answer => {
      (answer.gpus as { holders: { sessions: { name: string }[] }[] }[])[0].holders[0].sessions[0].name =
        name;
    });
    expect(row.querySelector('img')).toBeNull();
    expect(within(row).getByRole('button', { name })).toBeTruthy();
  });
});
