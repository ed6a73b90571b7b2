/** Starts the Experiment panel when it is first seen: what it shows, what it hears of notebooks, what it keeps. */
import { INotebookTracker, Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { RUNS_PLUGIN_ID } from '../tokens';
import { RunActions } from './actions';
import { ExperimentModel } from './experiment';
import { ExperimentPanel } from './experimentPanel';
import type { IExperimentParts } from './experimentPlugin';
import { TrackingModel } from './model';
import { keyOf } from './place';
import type { IRest } from './rest';
import { Selection } from './selection';
import { ColumnSettings, readColumns } from './settings';

/** Tells the model of the notebook in front: which, its kernel, its name. */
function followNotebooks(tracker: INotebookTracker, model: ExperimentModel): void {
  let current: NotebookPanel | null = null;
  const tell = (): void =>
    model.show(
      current && !current.isDisposed
        ? { kernelId: current.sessionContext.session?.kernel?.id ?? null, path: current.context.path }
        : null
    );
  const follow = (): void => {
    current?.sessionContext.kernelChanged.disconnect(tell);
    current?.context.pathChanged.disconnect(tell);
    current = tracker.currentWidget;
    current?.sessionContext.kernelChanged.connect(tell);
    current?.context.pathChanged.connect(tell);
    tell();
  };
  tracker.currentChanged.connect(follow);
  follow();
}

/** Tells it of cells that begin and end: a notebook is busy while any of its cells is at work. */
function followCells(tracker: INotebookTracker, model: ExperimentModel): void {
  const working = new Map<Notebook, number>();
  const count = (notebook: Notebook, by: number): void => {
    const left = Math.max(0, (working.get(notebook) ?? 0) + by);
    working.delete(notebook);
    if (left > 0) {
      working.set(notebook, left);
    }
    const panel = tracker.find(one => one.content === notebook);
    if (panel) {
      model.cellRan(panel.context.path, left > 0);
    }
  };
  NotebookActions.executionScheduled.connect((_, { notebook }) => count(notebook, 1));
  NotebookActions.executed.connect((_, { notebook }) => count(notebook, -1));
}

async function keepColumns(columns: ColumnSettings, registry: ISettingRegistry): Promise<void> {
  const kept = await registry.load(RUNS_PLUGIN_ID);
  const read = (): void => columns.replace(readColumns(kept.composite.columns));
  columns.keepBy(chosen => kept.set('columns', chosen));
  kept.changed.connect(read);
  read();
}

export function startExperiment(
  { commands, serviceManager, notebooks, registry, trans }: IExperimentParts,
  { live, context, tracking, mlflow }: IRest
): { model: ExperimentModel; panel: ExperimentPanel } {
  const { baseUrl } = serviceManager.serverSettings;
  const model = new ExperimentModel({
    live,
    context,
    mlflow,
    // A store has to be started; a server is there or says that it is not.
    tracking: ({ kind, rest }) =>
      rest !== null && (kind === 'embedded' || kind === 'store')
        ? new TrackingModel(tracking(keyOf(baseUrl, rest) ?? ''))
        : null
  });
  document.addEventListener('visibilitychange', () => model.wake());
  if (notebooks) {
    followNotebooks(notebooks, model);
    followCells(notebooks, model);
  }
  const columns = new ColumnSettings();
  if (registry) {
    keepColumns(columns, registry).catch((reason: unknown) =>
      console.warn('The settings of the Experiment panel are not available; its defaults are used.', reason)
    );
  }
  const selection = new Selection();
  const { kernels } = serviceManager;
  const actions = new RunActions({ model, selection, commands, kernels, trans });
  return { model, panel: new ExperimentPanel({ model, selection, columns, actions, trans }) };
}
