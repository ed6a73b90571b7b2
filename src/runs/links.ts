/** Pages of MLflow that a browser can open. */
import type { IRun } from './mlflow';

/** Where pages are: the base, ending in a slash or not, and whether they are Databricks' own. */
export interface IPages {
  readonly base: string;
  readonly databricks: boolean;
}

function page({ base, databricks }: IPages, path: string): string {
  return `${base.replace(/\/+$/, '')}/${databricks ? 'ml' : '#'}/${path}`;
}

const part = encodeURIComponent;
const list = (ids: readonly string[]): string => part(JSON.stringify(ids));

/** Without `/runs` MLflow opens an overview of traces instead. */
export function experimentPage(pages: IPages, experimentId: string): string {
  return page(pages, `experiments/${part(experimentId)}${pages.databricks ? '' : '/runs'}`);
}

export function runPage(pages: IPages, run: IRun): string {
  return page(pages, `experiments/${part(run.experimentId)}/runs/${part(run.id)}`);
}

/** Of two runs or more. */
export function comparePage(pages: IPages, runs: readonly IRun[]): string {
  const experiments = [...new Set(runs.map(run => run.experimentId))];
  return page(pages, `compare-runs?runs=${list(runs.map(run => run.id))}&experiments=${list(experiments)}`);
}
