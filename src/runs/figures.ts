/** What the metrics of a run say beyond their values. */
import type { IRun } from './mlflow';

/** Metrics of the machine, which are many and have a tab of their own in MLflow. */
const SYSTEM = 'system/';
/** MLflow's names, with or without the node; its megabytes are of 1,000,000 bytes. */
const GPU = /^system\/(?:.*\/)?gpu_\d+_(utilization_percentage|memory_usage_megabytes)$/;
const EPOCHS = ['num_train_epochs', 'max_epochs', 'epochs', 'num_epochs'];

/** How far a run is, where the run itself says how far it goes. */
export interface IProgress {
  readonly name: string;
  readonly value: number;
  readonly total: number;
}

/** The GPUs that a run's system metrics are of, together. */
export interface IGpuUse {
  readonly gpus: number;
  /** Mean, percent. */
  readonly utilization: number;
  readonly memoryBytes: number | null;
}

/** The metrics that the run's own code logged, by name. */
export function ownMetrics(metrics: ReadonlyMap<string, number>): [string, number][] {
  return [...metrics]
    .filter(([name]) => !name.startsWith(SYSTEM))
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function total(run: IRun, param: string): number | null {
  const given = run.params.get(param)?.trim() ?? '';
  const value = given === '' ? NaN : Number(given);
  return Number.isFinite(value) && value > 0 ? value : null;
}

function within(name: string, value: number | null | undefined, total: number | null): IProgress | null {
  const isCertain = total !== null && typeof value === 'number' && value >= 0 && value <= total;
  return isCertain ? { name, value, total } : null;
}

/** Null where it is not certain: parameters are the run's own words. */
export function progressOf(run: IRun): IProgress | null {
  // Transformers: its limit of steps, where there is one, goes before that of epochs, and it logs by step.
  if (run.params.has('num_train_epochs')) {
    const steps = total(run, 'max_steps');
    if (steps !== null) {
      return within('step', run.steps.get('epoch'), steps);
    }
  }
  const epochs = EPOCHS.map(param => total(run, param)).find(value => value !== null) ?? null;
  return within('epoch', run.metrics.get('epoch'), epochs);
}

/** From the newest system metrics; null where no GPU tells its utilization. */
export function gpuUse(metrics: ReadonlyMap<string, number>): IGpuUse | null {
  const found: Record<string, number[]> = { utilization_percentage: [], memory_usage_megabytes: [] };
  for (const [name, value] of metrics) {
    const figure = name.startsWith(SYSTEM) ? GPU.exec(name)?.[1] : undefined;
    if (figure !== undefined && Number.isFinite(value)) {
      found[figure].push(value);
    }
  }
  const sum = (values: readonly number[]): number => values.reduce((whole, value) => whole + value, 0);
  const { utilization_percentage: utilization, memory_usage_megabytes: megabytes } = found;
  if (utilization.length === 0) {
    return null;
  }
  return {
    gpus: utilization.length,
    utilization: sum(utilization) / utilization.length,
    // A sum that lacks a GPU would be less than what is used.
    memoryBytes: megabytes.length === utilization.length ? sum(megabytes) * 1e6 : null
  };
}
