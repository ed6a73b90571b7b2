import { RenderMimeRegistry, standardRendererFactories } from '@jupyterlab/rendermime';
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act, fireEvent, getByRole, queryByRole, within } from '@testing-library/react';
import { Answer, wire } from '../../__tests__/wire';
import { RUN_MIME_TYPE } from '../../tokens';
import { CardModel } from '../card';
import { showCards } from '../cards';
import { ILead } from '../lead';
import { LiveRuns } from '../live';
import { decodeRun, MlflowApi } from '../mlflow';
import { RunCard } from '../output';

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const REST = '/jupyter-air/mlflow/';
const trans = nullTranslator.load('jupyter-air');

describe('the card in an output', () => {
  const openInside = jest.fn<undefined, [string]>();
  let live: LiveRuns;
  let lead: ILead;
  let card: RunCard;

  const api = { run: () => new Promise(() => undefined) } as unknown as MlflowApi;

  function make(): RunCard {
    return new RunCard({
      model: new CardModel({ live, lead: () => Promise.resolve(lead) }),
      trans,
      openInside
    });
  }

  async function settle(): Promise<void> {
    await act(async () => {
      MessageLoop.flush();
      await jest.advanceTimersByTimeAsync(5);
    });
  }

  async function show(data: unknown): Promise<HTMLElement> {
    card.take(data);
    act(() => Widget.attach(card, document.body));
    await settle();
    return card.node;
  }

  const saved = (change: Answer = {}): Answer => ({ ...wire('run-card'), ...change });

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_796_000_724_000 });
    openInside.mockReset();
    globalThis.IntersectionObserver = class {
      constructor(private readonly _tell: (entries: { isIntersecting: boolean }[]) => void) {}
      observe(): void {
        this._tell([{ isIntersecting: true }]);
      }
      disconnect(): void {
        // nothing to observe
      }
    } as unknown as typeof IntersectionObserver;
    live = new LiveRuns(() => api);
    lead = { rest: REST, isUp: true, page: '/page' };
    card = make();
  });

  afterEach(() => {
    act(() => card.dispose());
    live.dispose();
    jest.useRealTimers();
  });

  it('has name, state, duration that goes on, metrics and a link', async () => {
    const node = await show(saved());
    const group = getByRole(node, 'group', { name: 'Run baseline' });
    expect(group.textContent).toContain('/Users/ada/llm-finetune · 12 min 04 s · running');
    expect(
      within(group)
        .getAllByRole('term')
        .map(one => one.textContent)
    ).toEqual(['eval_acc', 'train_loss']);
    expect(
      within(group)
        .getAllByRole('definition')
        .map(one => one.textContent)
    ).toEqual(['0.713', '1.842']);
    await act(() => jest.advanceTimersByTimeAsync(2000));
    expect(group.textContent).toContain('12 min 06 s');
    const link = within(group).getByRole('link', { name: 'Open run baseline' });
    expect(link.getAttribute('href')).toBe('/page');
    expect([link.getAttribute('target'), link.getAttribute('rel')]).toEqual([
      '_blank',
      'noopener noreferrer'
    ]);
    expect(fireEvent.click(link)).toBe(false);
    expect(openInside).toHaveBeenCalledWith('/page');
    expect(fireEvent.click(link, { ctrlKey: true })).toBe(true);
    expect(openInside).toHaveBeenCalledTimes(1);
  });

  it('shows what MLflow says: progress, GPUs, and of many metrics the first', async () => {
    const node = await show(saved());
    const metrics = [
      { key: 'epoch', value: 12.4, step: '1' },
      ...Array.from({ length: 100 }, (_, i) => ({
        key: `m${String(i).padStart(3, '0')}`,
        value: i,
        step: '1'
      })),
      { key: 'system/gpu_0_utilization_percentage', value: 87, step: '1' },
      { key: 'system/gpu_0_memory_usage_megabytes', value: 65_500, step: '1' }
    ];
    const info = { run_id: saved().run_id, experiment_id: '7', status: 'RUNNING', lifecycle_stage: 'active' };
    const params = [{ key: 'epochs', value: '20' }];
    act(() => live.tell(REST, [decodeRun({ info, data: { metrics, params } })]));
    await settle();
    const first = node.querySelector('dl')!;
    expect([...first.children].map(one => one.textContent)).toEqual([
      'epoch12.4 / 20',
      'm0000',
      'm0011',
      'm0022',
      'GPU87\u00a0% · 61\u00a0GiB'
    ]);
    expect(getByRole(node, 'progressbar').getAttribute('aria-valuenow')).toBe('12.4');
    expect(node.querySelector('summary')?.textContent).toBe('97 more metrics');
    expect(node.querySelectorAll('details dt')).toHaveLength(36);
    expect(node.querySelector('details p')?.textContent).toBe('and 61 more');
    act(() =>
      live.tell(REST, [decodeRun({ info: { ...info, status: 'FINISHED' }, data: { metrics, params } })])
    );
    await settle();
    expect(queryByRole(node, 'progressbar')).toBeNull();
    expect(node.textContent).toContain('finished');
  });

  it('folds its metrics away, and stays folded while its run goes on', async () => {
    const node = await show(saved());
    fireEvent.click(getByRole(node, 'button', { name: 'Hide metrics', expanded: true }));
    expect(node.querySelector('dl')).toBeNull();
    card.take(saved({ metrics: { train_loss: 0.5 } }));
    await settle();
    expect(node.querySelector('dl')).toBeNull();
    fireEvent.click(getByRole(node, 'button', { name: 'Show metrics', expanded: false }));
    expect(node.querySelector('dl')?.textContent).toBe('train_loss0.5');
    card.take(saved({ metrics: {}, metric_count: 0 }));
    await settle();
    expect(queryByRole(node, 'button')).toBeNull();
  });

  it('shows hostile names as text', async () => {
    lead = { rest: null, isUp: false, page: null };
    const name = '<img src=x onerror=alert(1)>\u202e\n';
    const node = await show(saved({ name, experiment: name, metrics: { [name]: 'NaN' }, end_reason: name }));
    expect(node.querySelectorAll('img, a')).toHaveLength(0);
    expect(node.querySelectorAll('bdi')).not.toHaveLength(0);
    expect(node.textContent).toContain('<img src=x onerror=alert(1)>\ufffd ');
    expect(node.textContent).not.toMatch(/[\u202e\n]/);
  });

  it('says in a sentence what it cannot read', async () => {
    const node = await show({ version: 1, run_id: 7 });
    expect(node.textContent).toContain('it cannot be read');
    card.take({ version: 2 });
    await settle();
    expect(node.textContent).toContain('a newer Jupyter AIR');
    card.take(saved());
    await settle();
    expect(node.textContent).toContain('baseline');
  });

  it('comes before HTML in an untrusted notebook, and its text stands until it is loaded', async () => {
    const registry = new RenderMimeRegistry({ initialFactories: standardRendererFactories });
    let load: (card: RunCard) => void = () => undefined;
    showCards(registry, () => new Promise(done => (load = done)), trans);
    const data = { [RUN_MIME_TYPE]: saved(), 'text/html': '<b>x</b>', 'text/plain': '● baseline' };
    expect(registry.preferredMimeType(data as never, 'ensure')).toBe(RUN_MIME_TYPE);
    const renderer = registry.createRenderer(RUN_MIME_TYPE);
    const model = registry.createModel({ data: data as never });
    const rendered = renderer.renderModel(model);
    expect(renderer.node.textContent).toBe('● baseline');
    load(card);
    await rendered;
    act(() => Widget.attach(renderer, document.body));
    await settle();
    expect(renderer.node.textContent).toContain('12 min 04 s · running');
    act(() => renderer.dispose());
    expect(card.isDisposed).toBe(true);
  });

  it('leaves the text where the card cannot be loaded, and tries again with the next', async () => {
    jest.spyOn(console, 'error').mockImplementation();
    const registry = new RenderMimeRegistry();
    const load = jest.fn<Promise<RunCard>, []>().mockRejectedValueOnce(new Error('no chunk'));
    load.mockResolvedValue(card);
    showCards(registry, load, trans);
    const renderer = registry.createRenderer(RUN_MIME_TYPE);
    const model = registry.createModel({
      data: { [RUN_MIME_TYPE]: saved(), 'text/plain': '● baseline' } as never
    });
    await renderer.renderModel(model);
    expect(renderer.node.textContent).toBe('● baseline');
    await renderer.renderModel(model);
    expect(renderer.node.contains(card.node)).toBe(true);
    renderer.dispose();
  });
});
