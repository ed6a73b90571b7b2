/** What a kernel says of a run in a cell's output. It stands in anybody's notebook: text, and bounded. */
import { AirError, malformed, numberOrNull, record, text, textOrNull } from '../api';
import { metricValue, RunStatus, runStatus } from './mlflow';

const MAX_ID = 250;
const MAX_NAME = 500;
const MAX_ADDRESS = 4000;
const MAX_METRICS = 40;
const VERSION = 1;
const KINDS = ['embedded', 'store', 'server', 'databricks'] as const;

/** Where a run is. */
export interface IPlace {
  readonly kind: (typeof KINDS)[number];
  /** Of MLflow's pages: root-relative, or http(s); null where there are none. */
  readonly base: string | null;
}

export interface IRunRecord {
  readonly id: string;
  readonly name: string;
  readonly experiment: string;
  /** Null for a status that is not MLflow's. */
  readonly status: RunStatus | null;
  readonly endReason: string | null;
  /** Milliseconds since the epoch; null is unknown. */
  readonly startMs: number | null;
  readonly endMs: number | null;
  /** When all this was so. */
  readonly seenMs: number | null;
  readonly metrics: ReadonlyMap<string, number>;
  /** How many metrics of its own the run had. */
  readonly metricCount: number;
  readonly place: IPlace;
  /** The run's own page, root-relative or http(s); null where there is none. */
  readonly page: string | null;
}

/** An address that may become a link: http(s) without credentials, or root-relative; null for all else. */
function address(value: unknown): string | null {
  const given = typeof value === 'string' && value.length <= MAX_ADDRESS ? value : '';
  if (/^\/(?![/\\])/.test(given)) {
    return given;
  }
  const url = /^https?:\/\//i.test(given) && URL.canParse(given) ? new URL(given) : null;
  return url && !url.username && !url.password ? given : null;
}

/** A root-relative address is Jupyter's, which serves what is on its machine; all else is a server's own. */
function ofKind(kind: IPlace['kind'], given: string | null): string | null {
  const isRelative = kind === 'embedded' || kind === 'store';
  return given !== null && given.startsWith('/') === isRelative ? given : null;
}

/**
 * Reads the output of `%air_run`.
 *
 * @throws AirError with the code `version` for one of a newer Jupyter AIR, `malformed` for what is none.
 */
export function decodeRecord(value: unknown): IRunRecord {
  const wire = record(value, 'run');
  if (wire.version !== VERSION) {
    const isNewer = typeof wire.version === 'number' && wire.version > VERSION;
    throw isNewer ? new AirError('version', 'The run card is of a newer Jupyter AIR.') : malformed('version');
  }
  const id = text(wire.run_id, MAX_ID);
  if (id === '') {
    throw malformed('id of a run');
  }
  const tracking = record(wire.tracking, 'place of a run');
  const kind = KINDS.find(one => one === tracking.kind);
  if (kind === undefined) {
    throw malformed('kind of place');
  }
  const metrics = Object.entries(record(wire.metrics ?? {}, 'metrics')).slice(0, MAX_METRICS);
  return {
    id,
    name: text(wire.name, MAX_NAME) || id,
    experiment: text(wire.experiment, MAX_NAME),
    status: runStatus(wire.status),
    endReason: textOrNull(wire.end_reason, MAX_NAME),
    startMs: numberOrNull(wire.started_ms),
    endMs: numberOrNull(wire.ended_ms),
    seenMs: numberOrNull(wire.seen_ms),
    metrics: new Map(metrics.map(([name, value]) => [text(name, MAX_ID), metricValue(value)])),
    metricCount: Math.max(metrics.length, numberOrNull(wire.metric_count) ?? 0),
    place: { kind, base: ofKind(kind, address(tracking.base)) },
    page: ofKind(kind, address(wire.page))
  };
}
