/** What the views of the Experiment panel are given. */
import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import type { ExperimentModel } from './experiment';
import type { IRun } from './mlflow';
import type { Selection } from './selection';
import type { ColumnSettings } from './settings';

/** Height of a row; style/experiment.css has it too. */
export const ROW_PX = 26;

/** What can be done; by JupyterLab's own means. */
export interface IRunActions {
  open(run: IRun): void;
  /** A page of MLflow, in JupyterLab where it is one of ours. */
  openPage(page: string): void;
  compare(runs: readonly IRun[]): void;
  rename(run: IRun): void;
  /** After a question. */
  remove(runs: readonly IRun[]): void;
  copyId(runs: readonly IRun[]): void;
  /** The menu for what is chosen. */
  openMenu(x: number, y: number): void;
  copyText(text: string): void;
}

export interface IExperimentPanel {
  readonly model: ExperimentModel;
  readonly selection: Selection;
  readonly columns: ColumnSettings;
  readonly actions: IRunActions;
  readonly trans: TranslationBundle;
}

const PanelContext = React.createContext<IExperimentPanel | null>(null);
export const PanelProvider = PanelContext.Provider;

export function usePanel(): IExperimentPanel {
  const panel = React.useContext(PanelContext);
  if (panel === null) {
    throw new Error('A view of the Experiment panel is used outside of it.');
  }
  return panel;
}

/** The time, again and again while it is looked at. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = React.useState(Date.now);
  React.useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) {
        setNow(Date.now());
      }
    }, intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}
