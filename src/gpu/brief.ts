/** A node in a few figures, from what the server says of it, or from its readings. */
import { IBrief, INode } from '../tokens';
import { Metric, Series } from './series';

function known(values: readonly (number | null)[]): number[] {
  return values.filter(value => value !== null);
}

function sum(values: readonly number[]): number | null {
  return values.length ? values.reduce((a, b) => a + b, 0) : null;
}

/** The newest readings of a node's GPUs together; null for a node without a GPU. The twin of brief.py. */
export function briefOf(series: Series, node: INode): IBrief | null {
  if (node.gpus.length === 0) {
    return null;
  }
  const whole = node.gpus.filter(gpu => gpu.parent === null);
  const read = (gpus: typeof whole, metric: Metric): number[] =>
    known(gpus.map(gpu => series.last(node.id, gpu.key, metric)));
  const utilization = read([...node.gpus], 'utilization');
  const temperature = read(whole, 'temperature');
  const throttle = read(whole, 'throttle');
  const busy = sum(utilization);
  return {
    utilization: busy === null ? null : busy / utilization.length,
    memoryUsed: sum(read(whole, 'memory')),
    memoryTotal: sum(known(whole.map(gpu => gpu.memoryTotal))),
    temperature: temperature.length ? Math.max(...temperature) : null,
    power: sum(read(whole, 'power')),
    throttle: throttle.length ? throttle.reduce((a, b) => a | b, 0) : null
  };
}

export interface ITotals extends Pick<IBrief, 'utilization' | 'memoryUsed' | 'memoryTotal' | 'power'> {
  readonly nodes: number;
  readonly gpus: number;
}

/** How many GPUs a node has, slices not counted. */
export function gpuCount(node: INode): number {
  return node.gpus.reduce((count, gpu) => count + (gpu.parent === null ? 1 : 0), 0);
}

/** Nodes together: utilization is the mean over their GPUs, the rest are sums of what is told. */
export function totals(nodes: readonly INode[], brief: (node: INode) => IBrief | null): ITotals {
  let gpus = 0;
  let told = 0;
  let busy = 0;
  const add = (to: number | null, value: number | null): number | null =>
    value === null ? to : (to ?? 0) + value;
  let memoryUsed: number | null = null;
  let memoryTotal: number | null = null;
  let power: number | null = null;
  for (const node of nodes) {
    const one = brief(node);
    const count = gpuCount(node);
    gpus += count;
    if (one) {
      if (one.utilization !== null) {
        told += count;
        busy += one.utilization * count;
      }
      memoryUsed = add(memoryUsed, one.memoryUsed);
      memoryTotal = add(memoryTotal, one.memoryTotal);
      power = add(power, one.power);
    }
  }
  return {
    nodes: nodes.length,
    gpus,
    utilization: told ? busy / told : null,
    memoryUsed,
    memoryTotal,
    power
  };
}
