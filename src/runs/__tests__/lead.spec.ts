import { ServerConnection } from '@jupyterlab/services';
import { Answer, wire } from '../../__tests__/wire';
import { ITracking } from '../../tokens';
import { decodeTracking } from '../api';
import { decodeContext, INotebookPlace, IRunsContext } from '../context';
import { Leads } from '../lead';
import { decodeRecord, IRunRecord } from '../record';

const settings = ServerConnection.makeSettings({ baseUrl: `${window.location.origin}/user/ada@lab/` });
const PROXY = '/user/ada@lab/jupyter-air/mlflow/';
const PAGE = '#/experiments/7/runs/0af7651916cd43dd8448eb211c80319c';
const LAB = { kind: 'server', tracking_uri: 'http://mlflow.lab:5000', pages: 'http://mlflow.lab:5000/' };

describe('the way to the MLflow of a saved card', () => {
  const state = jest.fn<Promise<ITracking>, [string]>();
  const context = jest.fn<Promise<IRunsContext>, [INotebookPlace]>();
  const told = (change: Answer): IRunsContext => decodeContext({ ...wire('runs-context'), ...change });
  const record = (kind: string, base: string | null, page: string | null): IRunRecord =>
    decodeRecord({ ...wire('run-card'), tracking: { kind, base }, page });
  const leads = (): Leads =>
    new Leads({ context: { of: context }, tracking: key => ({ state: () => state(key) }) }, settings);
  const of = (...args: Parameters<typeof record>): ReturnType<Leads['of']> => leads().of(record(...args));

  beforeEach(() => {
    state.mockReset();
    context.mockReset();
  });

  it('is through this server for what its own kernels wrote, which starts nothing', async () => {
    state.mockImplementation(key =>
      Promise.resolve(decodeTracking(wire(key ? 'tracking-ready' : 'tracking-starting')))
    );
    const base = '/user/ada@lab/jupyter-air/mlflow';
    const page = `${base}/${PAGE}`;
    expect(await of('embedded', base, page)).toEqual({ rest: PROXY, isUp: false, page });
    const beside = '/user/ada@lab/jupyter-air/mlflow-beside/Zm9v';
    expect(await of('store', beside, null)).toEqual({ rest: `${beside}/`, isUp: true, page: null });
    expect(state.mock.calls).toEqual([[''], ['Zm9v']]);
  });

  it('is none where another server wrote it, and leads nowhere', async () => {
    const base = '/user/bob/jupyter-air/mlflow';
    const nowhere = { rest: null, isUp: false, page: null };
    expect(await of('embedded', base, `${base}/${PAGE}`)).toEqual(nowhere);
    expect(await of('embedded', null, null)).toEqual(nowhere);
    expect(await of('embedded', '/user/ada@lab/jupyter-air/mlflows', null)).toEqual(nowhere);
    expect(state).not.toHaveBeenCalled();
    state.mockResolvedValue(decodeTracking(wire('tracking-ready')));
    const out = '/user/ada@lab/jupyter-air/mlflow/../../api/contents';
    expect(await of('embedded', '/user/ada@lab/jupyter-air/mlflow', out)).toMatchObject({ page: null });
  });

  it('of a configured server is through the proxy only when that leads there', async () => {
    context.mockResolvedValue(told(LAB));
    const page = `http://mlflow.lab:5000/${PAGE}`;
    expect(await of('server', 'http://mlflow.lab:5000/', page)).toEqual({ rest: PROXY, isUp: true, page });
    const other = `http://other.lab:5000/${PAGE}`;
    const apart = { rest: null, isUp: false, page: other };
    expect(await of('server', 'http://other.lab:5000', other)).toEqual(apart);
    context.mockResolvedValue(told({ ...LAB, rest: null }));
    expect(await of('server', 'http://mlflow.lab:5000', page)).toEqual({ ...apart, page });
    expect(await of('databricks', 'https://lab.databricks.com', null)).toEqual({ ...apart, page: null });
  });

  it('is the same by the name that browsers know the server by', async () => {
    context.mockResolvedValue(told({ ...LAB, pages: 'https://mlflow.example.org/' }));
    const page = `https://mlflow.example.org/${PAGE}`;
    expect(await of('server', 'https://mlflow.example.org', page)).toEqual({ rest: PROXY, isUp: true, page });
  });

  it('shows the pages of a server on Jupyter’s own machine through Jupyter', async () => {
    context.mockResolvedValue(told({ ...LAB, tracking_uri: 'http://127.0.0.1:5000', pages: PROXY }));
    expect(await of('server', 'http://127.0.0.1:5000', `http://127.0.0.1:5000/${PAGE}`)).toEqual({
      rest: PROXY,
      isUp: true,
      page: `${PROXY}${PAGE}`
    });
  });

  it('is asked for once by many cards', async () => {
    context.mockResolvedValue(told(LAB));
    const shared = leads();
    const one = record('server', 'http://mlflow.lab:5000', null);
    await Promise.all([shared.of(one), shared.of(one), shared.of(one)]);
    expect(context.mock.calls).toEqual([[{ kernelId: null, path: null }]]);
  });
});
