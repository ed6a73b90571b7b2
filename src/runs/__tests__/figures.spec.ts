import { nullTranslator } from '@jupyterlab/translation';
import { gpuUse, ownMetrics, progressOf } from '../figures';
import { decodeRun, IRun } from '../mlflow';
import { duration, gibibytes, metricValue, shown, when } from '../words';

const trans = nullTranslator.load('jupyter-air');

function run(params: Record<string, unknown>, metrics: Record<string, [unknown, number]>): IRun {
  return decodeRun({
    info: { run_id: 'r', experiment_id: '1', status: 'RUNNING', lifecycle_stage: 'active' },
    data: {
      params: Object.entries(params).map(([key, value]) => ({ key, value })),
      metrics: Object.entries(metrics).map(([key, [value, step]]) => ({ key, value, step: String(step) }))
    }
  });
}

describe('how far a run is', () => {
  it.each([
    [{ epochs: '20' }, { epoch: [12.4, 900] }, { name: 'epoch', value: 12.4, total: 20 }],
    [
      { num_train_epochs: '3.0', max_steps: '-1' },
      { epoch: [0.5, 9] },
      { name: 'epoch', value: 0.5, total: 3 }
    ],
    [
      { num_train_epochs: '3', max_steps: '500' },
      { epoch: [0.5, 9] },
      { name: 'step', value: 9, total: 500 }
    ],
    [{ epochs: '20' }, { loss: [1, 3] }, null],
    [{ epochs: '20' }, { epoch: [21, 3] }, null],
    [{ epochs: '20' }, { epoch: ['NaN', 3] }, null],
    [{ epochs: 'many' }, { epoch: [1, 3] }, null],
    [{ epochs: '' }, { epoch: [0, 3] }, null],
    [{ max_steps: '500' }, { loss: [1, 3] }, null]
  ] as const)('with %j and %j is %j', (params, metrics, told) => {
    expect(progressOf(run(params, metrics as unknown as Record<string, [unknown, number]>))).toEqual(told);
  });
});

describe('the GPUs of a run', () => {
  it('are told together, over nodes, and only as far as they are known', () => {
    const metrics = new Map([
      ['system/a/gpu_0_utilization_percentage', 80],
      ['system/b/gpu_0_utilization_percentage', 100],
      ['system/a/gpu_0_memory_usage_megabytes', 32_000],
      ['system/b/gpu_0_memory_usage_megabytes', 33_500],
      ['system/a/gpu_0_memory_usage_percentage', 40],
      ['gpu_0_utilization_percentage', 1],
      ['system/cpu_utilization_percentage', 3]
    ]);
    expect(gpuUse(metrics)).toEqual({ gpus: 2, utilization: 90, memoryBytes: 65.5e9 });
    metrics.delete('system/b/gpu_0_memory_usage_megabytes');
    metrics.set('system/b/gpu_0_utilization_percentage', NaN);
    expect(gpuUse(metrics)).toEqual({ gpus: 1, utilization: 80, memoryBytes: 32e9 });
    expect(gpuUse(new Map([['system/gpu_0_memory_usage_megabytes', 1]]))).toBeNull();
    expect(ownMetrics(metrics)).toEqual([['gpu_0_utilization_percentage', 1]]);
  });
});

describe('runs in words', () => {
  it('have metrics with the digits that matter', () => {
    const values = [0, 0.5, 1.8421, 48000, 12345.67, 999.99, -0.00012, 3e-5, 1.23456e-7, 1e7, -2.5e30];
    const read = [
      '0',
      '0.5',
      '1.842',
      '48000',
      '12346',
      '1000',
      '-0.00012',
      '3e-5',
      '1.235e-7',
      '1e7',
      '-2.5e30'
    ];
    expect(values.map(metricValue)).toEqual(read);
    expect([NaN, Infinity, -Infinity].map(metricValue)).toEqual(['NaN', '∞', '−∞']);
    expect([65.5e9, 5e9, 0].map(gibibytes)).toEqual(['61\u00a0GiB', '4.7\u00a0GiB', '0\u00a0GiB']);
  });

  it('have durations as the kernel writes them', () => {
    const seconds = [0.4, 59.9, 60, 724, 3599, 3600, 3840, -5];
    const read = [
      '0 s',
      '59 s',
      '1 min 00 s',
      '12 min 04 s',
      '59 min 59 s',
      '1 h 00 min',
      '1 h 04 min',
      '0 s'
    ];
    expect(seconds.map(one => duration(one * 1000, trans))).toEqual(read);
  });

  it('keep names on a line, and harmless', () => {
    expect(shown('a\r\nb\u001b[2J\u202egnp\u0000')).toBe('a  b\ufffd[2J\ufffdgnp\ufffd');
    expect(shown('مدل\u200cها 👩\u200d🔬')).toBe('مدل\u200cها 👩\u200d🔬');
  });

  it('say the day only of another day', () => {
    const noon = new Date(2026, 10, 28, 14, 3).getTime();
    expect(when(noon, noon + 60_000)).toBe('14:03');
    expect(when(noon, noon + 3 * 24 * 3600 * 1000)).toMatch(/28.*2026.*14:03/);
  });
});
