/** Which experiments a notebook's runs are in, and how others are found. */
import type { INotebookPlace, IRunsContext } from './context';
import { quotedName } from './columns';
import { equals } from './filter';
import type { IExperiment, MlflowApi } from './mlflow';

/** On a server of many these are the ones that were changed last. */
const MOST_EXPERIMENTS = 200;
/** Of one notebook. */
const MOST_FOUND = 8;
const RUNS_AT_ONCE = 20;
const PICKED_AT_ONCE = 50;

export interface INotebookExperiments {
  /** Its default one; null when no run has made it yet. */
  readonly own: IExperiment | null;
  /** Others that its runs went to, the one of the newest run first. */
  readonly others: readonly IExperiment[];
}

/** The notebook's own experiment. */
export async function ownExperiment(api: MlflowApi, context: IRunsContext): Promise<IExperiment | null> {
  const own = context.experiment === '' ? null : await api.experimentByName(context.experiment);
  return own?.deleted ? null : own;
}

/** The experiments that have runs with one of these tags, the one of the newest run first. */
async function holding(
  api: MlflowApi,
  experiments: readonly IExperiment[],
  filter: string
): Promise<IExperiment[]> {
  let left = experiments;
  const found: IExperiment[] = [];
  while (left.length > 0 && found.length < MOST_FOUND) {
    const { items } = await api.runs({
      experimentIds: left.map(one => one.id),
      filter,
      orderBy: ['attributes.start_time DESC'],
      limit: RUNS_AT_ONCE
    });
    const ids = [...new Set(items.map(run => run.experimentId))];
    found.push(...ids.flatMap(id => left.find(one => one.id === id) ?? []));
    left = left.filter(one => !ids.includes(one.id));
    if (items.length < RUNS_AT_ONCE) {
      break;
    }
  }
  return found;
}

/** Where the notebook's runs went besides its own experiment: by its path, and by its kernel, which a new name does not change. */
export async function otherExperiments(
  api: MlflowApi,
  context: IRunsContext,
  { kernelId }: INotebookPlace
): Promise<readonly IExperiment[]> {
  const filters = [
    context.notebook === null ? '' : equals(quotedName('tags.', 'jupyter_air.notebook'), context.notebook),
    kernelId === null ? '' : equals(quotedName('tags.', 'jupyter_air.kernel_id'), kernelId)
  ].filter(Boolean);
  if (filters.length === 0) {
    return [];
  }
  const { items } = await api.experiments(MOST_EXPERIMENTS);
  const candidates = items.filter(one => one.name !== context.experiment);
  const lists = await Promise.all(filters.map(filter => holding(api, candidates, filter)));
  return [...new Map(lists.flat().map(one => [one.id, one])).values()];
}

/** Experiments whose name has the words; the ones changed last for none. */
export async function findExperiments(api: MlflowApi, words: string): Promise<readonly IExperiment[]> {
  const looked = words.trim().replace(/[^\p{L}\p{M}\p{N} .:/@+-]/gu, '_');
  const filter = looked === '' ? '' : `name ILIKE '%${looked}%'`;
  return (await api.experiments(PICKED_AT_ONCE, filter)).items;
}
