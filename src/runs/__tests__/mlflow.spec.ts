import { ServerConnection } from '@jupyterlab/services';
import { AirError } from '../../api';
import { decodeRun, isProxied, MlflowApi } from '../mlflow';

const settings = ServerConnection.makeSettings({ baseUrl: `${window.location.origin}/user/ada@lab/` });

describe('MLflow runs', () => {
  it('are read whatever stands in them', () => {
    const run = decodeRun({
      info: { run_id: 'r', experiment_id: '1', status: 'EATEN', start_time: '1796000000000', end_time: 0 },
      data: {
        metrics: [
          { key: 'loss', value: 'NaN' },
          { key: 'best', value: '-Infinity' },
          { key: 'acc', value: 0.5 }
        ],
        params: [{ key: 'p'.repeat(300), value: 'v'.repeat(5000) }],
        tags: [{ key: 'mlflow.runName', value: '<b>\n' }]
      }
    });
    expect(run).toMatchObject({ name: '<b>\n', status: null, startMs: 1796000000000, endMs: null });
    expect([...run.metrics]).toEqual([
      ['loss', NaN],
      ['best', -Infinity],
      ['acc', 0.5]
    ]);
    const [[key, value]] = run.params;
    expect([key.length, value.length]).toEqual([250, 1000]);
    expect(() => decodeRun({ info: [] })).toThrow(AirError);
  });

  it('are searched for in JSON, which is all that MLflow takes', async () => {
    const asked: Request[] = [];
    const fetch = (request: Request): Promise<Response> => {
      asked.push(request);
      return Promise.resolve(Response.json({ runs: [], next_page_token: 'more' }));
    };
    const api = new MlflowApi('/user/ada@lab/jupyter-air/mlflow/', {
      ...settings,
      fetch: fetch as typeof settings.fetch
    });
    expect(await api.runs({ experimentIds: ['7'], limit: 5 })).toEqual({ items: [], nextPageToken: 'more' });
    const [{ method, url, headers }] = asked;
    expect([method, headers.get('Content-Type')]).toEqual(['POST', 'application/json']);
    expect(new URL(url).pathname).toBe('/user/ada@lab/jupyter-air/mlflow/api/2.0/mlflow/runs/search');
    expect(await asked[0].json()).toMatchObject({ experiment_ids: ['7'], max_results: 5 });
  });

  it.each([
    ['/user/ada@lab/jupyter-air/mlflow/', true],
    ['/user/ada@lab/jupyter-air/mlflow-beside/Zm9v/', true],
    ['/user/eve/jupyter-air/mlflow/', false],
    ['/user/ada@lab/jupyter-air/mlflow/../../api/contents/', false],
    ['/user/ada@lab/api/', false],
    ['//evil.example/user/ada@lab/jupyter-air/mlflow/', false],
    ['https://evil.example/user/ada@lab/jupyter-air/mlflow/', false],
    ['javascript:alert(1)', false]
  ])('are asked for at %s: %s', (rest, asked) => {
    expect(isProxied(rest, settings)).toBe(asked);
    if (!asked) {
      expect(() => new MlflowApi(rest, settings)).toThrow(AirError);
    }
  });
});
