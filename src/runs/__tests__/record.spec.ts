import { Answer, wire } from '../../__tests__/wire';
import { AirError } from '../../api';
import { decodeRecord } from '../record';

const sample = (change: Answer = {}): Answer => ({ ...wire('run-card'), ...change });

describe('the record of a run', () => {
  it('is what a kernel gives', () => {
    expect(decodeRecord(sample())).toEqual({
      id: '0af7651916cd43dd8448eb211c80319c',
      name: 'baseline',
      experiment: '/Users/ada/llm-finetune',
      status: 'RUNNING',
      endReason: null,
      startMs: 1796000000000,
      endMs: null,
      seenMs: 1796000724000,
      metrics: new Map([
        ['eval_acc', 0.713],
        ['train_loss', 1.8421]
      ]),
      metricCount: 2,
      place: { kind: 'embedded', base: '/user/ada@lab/jupyter-air/mlflow' },
      page: '/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/0af7651916cd43dd8448eb211c80319c'
    });
  });

  it('is bounded, and what is no run is refused', () => {
    const metrics = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`m${i}`, 'NaN']));
    const read = decodeRecord(sample({ name: 'x'.repeat(9999), status: '<b>', metrics, metric_count: 500 }));
    expect([read.name.length, read.status, read.metrics.size, read.metricCount]).toEqual([
      500,
      null,
      40,
      500
    ]);
    expect(read.metrics.get('m0')).toBeNaN();
    expect(decodeRecord(sample({ name: '' })).name).toBe(read.id);
    const broken = [
      null,
      'run',
      [],
      sample({ run_id: {} }),
      sample({ tracking: null }),
      sample({ tracking: { kind: 'x' } }),
      sample({ metrics: [1] }),
      sample({ version: 'a' })
    ];
    for (const one of broken) {
      expect(() => decodeRecord(one)).toThrow(AirError);
    }
    expect(() => decodeRecord(sample({ version: 2 }))).toThrow('newer Jupyter AIR');
  });

  it.each([
    ['embedded', '/user/ada@lab/jupyter-air/mlflow/#/', true],
    ['server', 'https://mlflow.lab/#/experiments/1/runs/2', true],
    ['databricks', 'https://lab.cloud.databricks.com/ml/experiments/1/runs/2', true],
    ['server', 'https://ada:secret@mlflow.lab/', false],
    ['server', '/user/ada@lab/jupyter-air/mlflow/', false],
    ['embedded', 'https://evil.example/', false],
    ['embedded', '//evil.example/', false],
    ['embedded', '/\\evil.example/', false],
    ['embedded', 'jupyter-air/mlflow/', false],
    ['server', 'javascript:alert(1)//https://', false],
    ['server', 'https://', false]
  ])('of kind %s at %s: an address or not (%s)', (kind, address, isOne) => {
    const read = decodeRecord(sample({ tracking: { kind, base: address }, page: address }));
    expect([read.place.base, read.page]).toEqual(isOne ? [address, address] : [null, null]);
  });
});
