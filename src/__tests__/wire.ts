/** The server's answers in `tests/wire/`, and polls made from them. */
import { readFileSync } from 'fs';
import { join } from 'path';
import { Column, decodePoll, IGpuPoll } from '../api';
import { GpuMetric, HostMetric } from '../tokens';

export type Answer = Record<string, unknown>;

export function wire(name: string): Answer {
  return JSON.parse(readFileSync(join(process.cwd(), 'tests', 'wire', `${name}.json`), 'utf8')) as Answer;
}

/** The start of the recorded history. */
export const T0 = 1795970000;
export const NODE = 'local';
export const GPU0 = '6f0c4e0e-1a56-4d1c-9a35-7b0d0f1c2a01';
export const GPU1 = '6f0c4e0e-1a56-4d1c-9a35-7b0d0f1c2a02';
export const SLICE = 'a1b2c3d4-0000-5000-8000-000000000001';

export function full(): IGpuPoll {
  return decodePoll(wire('gpu-full'), null);
}

export function next(): IGpuPoll {
  return decodePoll(wire('gpu-poll'), full().layout);
}

/** Three nodes of eight GPUs: the first is here in full, the second as a strip, the third in brief. */
export function fleet(): IGpuPoll {
  return decodePoll(wire('gpu-fleet'), null);
}

/** The column of a GPU in an answer. */
export function gpuColumn({ columns }: IGpuPoll, gpu: number, metric: GpuMetric, node = 0): Column {
  return columns[node]!.gpus[gpu][metric]!;
}

export function hostColumn({ columns }: IGpuPoll, metric: HostMetric): Column {
  return columns[0]!.host[metric]!;
}
