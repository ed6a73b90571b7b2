/** How a person wants to see the runs of an experiment. */
import { ISort, NEWEST_FIRST } from './columns';
import { filterOf } from './filter';
import type { IRunListQuestion } from './runList';

export interface IView {
  readonly search: string;
  readonly sort: ISort;
  /** The deleted runs in place of the others. */
  readonly deleted: boolean;
}

export const PLAIN_VIEW: IView = { search: '', sort: NEWEST_FIRST, deleted: false };

export function questionOf({ search, sort, deleted }: IView, experimentId: string): IRunListQuestion {
  return { experimentId, filter: filterOf(search), sort, deleted };
}
