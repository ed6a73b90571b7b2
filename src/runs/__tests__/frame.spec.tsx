import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act, fireEvent, getByRole, queryByRole } from '@testing-library/react';
import { wire } from '../../__tests__/wire';
import { AirError } from '../../api';
import { ITracking } from '../../tokens';
import { decodeTracking } from '../api';
import { MlflowFrame } from '../frame';
import { TrackingModel } from '../model';

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const trans = nullTranslator.load('jupyter-air');
const told = (name: string): ITracking => decodeTracking(wire(`tracking-${name}`));

describe('MlflowFrame', () => {
  let frame: MlflowFrame;
  const start = jest.fn<Promise<ITracking>, []>();
  const state = jest.fn<Promise<ITracking>, []>();

  async function open(): Promise<HTMLElement> {
    frame = new MlflowFrame({ model: new TrackingModel({ start, state }), trans });
    await act(async () => {
      Widget.attach(frame, document.body);
      MessageLoop.flush();
      await jest.advanceTimersByTimeAsync(5);
    });
    return frame.node;
  }

  const later = (ms: number): Promise<void> =>
    act(() => jest.advanceTimersByTimeAsync(ms).then(() => undefined));

  beforeEach(() => {
    jest.useFakeTimers();
    start.mockReset();
    state.mockReset();
  });

  afterEach(() => {
    act(() => frame.dispose());
    jest.useRealTimers();
  });

  it('tells how far the start is, then shows the page', async () => {
    start.mockResolvedValue(told('starting'));
    state.mockResolvedValue({ ...told('starting'), elapsedS: 13.6 });
    const node = await open();
    const status = getByRole(node, 'status');
    expect(status.textContent).toBe('MLflow is starting.12 s');
    await later(1100);
    expect(status.textContent).toBe('MLflow is starting.14 s');
    state.mockResolvedValue(told('ready'));
    await later(1100);
    const page = node.querySelector('iframe');
    expect(page?.getAttribute('src')).toBe('/user/ada@lab/jupyter-air/mlflow/');
    expect(page?.title).toBe('MLflow');
    expect(page?.getAttribute('sandbox')).not.toContain('allow-top-navigation');
    expect(queryByRole(node, 'status')).toBeNull();
    const asked = state.mock.calls.length;
    await later(10_000);
    expect(state).toHaveBeenCalledTimes(asked);
    expect(start).toHaveBeenCalledTimes(1);
  });

  it('says why it failed, stops asking, and starts again on request', async () => {
    start.mockResolvedValue(told('failed'));
    const node = await open();
    expect(getByRole(node, 'status').textContent).toMatch(/^MLflow is not installed beside JupyterLab\./);
    await later(10_000);
    expect(state).not.toHaveBeenCalled();
    start.mockResolvedValue(told('starting'));
    fireEvent.click(getByRole(node, 'button', { name: 'Try again' }));
    await later(5);
    expect(start).toHaveBeenCalledTimes(2);
    expect(getByRole(node, 'status').textContent).toBe('MLflow is starting.12 s');
  });

  it('links to the page of a server elsewhere', async () => {
    start.mockResolvedValue(told('outside'));
    const node = await open();
    const link = getByRole(node, 'link', { name: 'http://mlflow.lab:5000/' });
    expect(link.getAttribute('href')).toBe('http://mlflow.lab:5000/');
    expect(link.getAttribute('rel')).toContain('noopener');
    expect(node.querySelector('iframe')).toBeNull();
  });

  it('says that there is nothing to show', async () => {
    start.mockResolvedValue(told('none'));
    const node = await open();
    expect(getByRole(node, 'status').textContent).toMatch(/no MLflow server/);
    expect(queryByRole(node, 'button')).toBeNull();
  });

  it('says what there is to know of a store, above its page too, until that is put away', async () => {
    const note = 'MLflow logs no new runs to the file store <b>mlruns</b>.';
    start.mockResolvedValue({ ...told('starting'), note });
    state.mockResolvedValue({ ...told('ready'), note });
    const node = await open();
    expect(getByRole(node, 'note').querySelector('p')?.textContent).toBe(note);
    expect(getByRole(node, 'status').textContent).not.toContain(note);
    await later(1100);
    expect(node.querySelector('iframe')).not.toBeNull();
    expect(getByRole(node, 'note').querySelector('p')?.textContent).toBe(note);
    fireEvent.click(getByRole(node, 'button', { name: 'Close' }));
    expect(queryByRole(node, 'note')).toBeNull();
    expect(node.querySelector('iframe')).not.toBeNull();
  });

  it('says that a folder has no store', async () => {
    start.mockRejectedValue(new AirError('not-found', "The folder 'a' has no store.", 'It was moved.', 404));
    const node = await open();
    expect(getByRole(node, 'status').textContent).toMatch(/^The folder 'a' has no store\. It was moved\./);
  });

  it('goes on asking a Jupyter server that does not answer, and no other', async () => {
    start.mockRejectedValue(new AirError('unreachable', 'Failed to fetch'));
    const node = await open();
    expect(getByRole(node, 'status').textContent).toMatch(/does not answer; trying again/);
    start.mockRejectedValue(new AirError('http-404', 'Not Found', null, 404));
    await later(30_000);
    expect(getByRole(node, 'status').textContent).toMatch(/not enabled/);
    const asked = start.mock.calls.length;
    await later(60_000);
    expect(start).toHaveBeenCalledTimes(asked);
  });

  it('shows hostile sentences as text', async () => {
    start.mockResolvedValue({ ...told('failed'), message: '<img src=x onerror="boom()">' });
    const node = await open();
    expect(node.querySelector('img')).toBeNull();
    expect(getByRole(node, 'status').textContent).toContain('<img');
  });
});

describe('decodeTracking', () => {
  it.each([
    ['//evil.example/', false],
    ['/\\evil.example/', false],
    ['javascript:alert(1)', false],
    ['http://evil.example/', false],
    ['javascript:alert(1)', true],
    ['/local', true]
  ])('refuses %s as a page, outside: %s', (url, outside) => {
    expect(() => decodeTracking({ ...wire('tracking-ready'), page: { url, outside } })).toThrow(
      /address of MLflow/
    );
  });

  it('takes an unknown state for a failure', () => {
    expect(decodeTracking({ ...wire('tracking-none'), state: 'odd' }).state).toBe('failed');
  });
});
