/** Opens MLflow from JupyterLab or Notebook 7. The only place that sees the application. */
import { ILabShell, ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, showErrorMessage, WidgetTracker } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ServerConnection } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import mlflowSvg from '../../style/icons/mlflow.svg';
import { showCards } from './cards';
import { addExperimentPanel } from './experimentPlugin';
import type { RunCard } from './output';
import type { IRest } from './rest';
import type { MlflowTabs } from './tabs';
import {
  CommandIDs,
  EXPERIMENT_PANEL_ID,
  MLFLOW_TAB_ID,
  RUNS_PLUGIN_ID,
  TRANSLATION_DOMAIN
} from '../tokens';

export const mlflowIcon = new LabIcon({ name: 'jupyter-air:mlflow', svgstr: mlflowSvg });

/** Loads what talks to MLflow when it is first needed; all who show runs share one. */
function connection(app: JupyterFrontEnd): () => Promise<IRest> {
  let rest: Promise<IRest> | null = null;
  const connected = async (): Promise<IRest> => {
    const { connect } = await import('./rest');
    return connect(ServerConnection.makeSettings(app.serviceManager.serverSettings));
  };
  return () => {
    // A chunk that did not arrive is asked for again.
    rest ??= connected().catch((reason: unknown) => {
      rest = null;
      throw reason;
    });
    return rest;
  };
}

async function newCard(
  rest: () => Promise<IRest>,
  trans: TranslationBundle,
  openInside: ((page: string) => void) | null
): Promise<RunCard> {
  const [connected, { newRunCard }] = await Promise.all([rest(), import('./output')]);
  return newRunCard(connected, { trans, openInside });
}

function activate(
  app: JupyterFrontEnd,
  translator: ITranslator | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  labShell: ILabShell | null,
  notebooks: INotebookTracker | null,
  rendermime: IRenderMimeRegistry | null,
  registry: ISettingRegistry | null
): void {
  const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
  const { commands } = app;
  const rest = connection(app);
  const tracker = new WidgetTracker({ namespace: MLFLOW_TAB_ID });
  const newTabs = async (): Promise<MlflowTabs> => {
    const [connected, { MlflowTabs }] = await Promise.all([rest(), import('./tabs')]);
    return new MlflowTabs({
      rest: connected,
      baseUrl: app.serviceManager.serverSettings.baseUrl,
      tracker,
      icon: mlflowIcon,
      trans,
      notebookInFront: () => {
        const notebook = notebooks?.currentWidget ?? null;
        return labShell && labShell.currentWidget !== notebook ? null : notebook;
      },
      add: tab => app.shell.add(tab, 'main'),
      activate: id => app.shell.activateById(id)
    });
  };
  let tabs: Promise<MlflowTabs> | null = null;
  const open = async (args: ReadonlyPartialJSONObject, page?: Window | null): Promise<void> => {
    try {
      const loaded = await (tabs ??= newTabs());
      await (page === undefined ? loaded.open(args) : loaded.openIn(page, args));
    } catch (reason) {
      tabs = null;
      page?.close();
      const message = reason instanceof Error ? reason.message : String(reason);
      void showErrorMessage(trans.__('MLflow could not be opened'), message);
    }
  };
  const openInBrowser = (args: ReadonlyPartialJSONObject): Promise<void> =>
    open(args, window.open('', '_blank'));

  commands.addCommand(CommandIDs.openMlflow, {
    label: args => (args.isPalette === true ? trans.__('Open MLflow') : trans.__('MLflow')),
    caption: trans.__('Show runs and experiments in MLflow'),
    icon: args => (args.isPalette === true ? undefined : mlflowIcon),
    // Notebook 7 has a page for each document, and so for MLflow.
    execute: args => (labShell ? open(args) : openInBrowser(args))
  });
  commands.addCommand(CommandIDs.openMlflowInBrowser, {
    label: trans.__('Open MLflow in a New Browser Tab'),
    execute: openInBrowser
  });
  const openInside = labShell && ((page: string) => void commands.execute(CommandIDs.openMlflow, { page }));
  if (rendermime) {
    showCards(rendermime, () => newCard(rest, trans, openInside), trans);
  }
  const category = trans.__('MLflow');
  palette?.addItem({ command: CommandIDs.openMlflow, category, args: { isPalette: true } });
  palette?.addItem({ command: CommandIDs.openMlflowInBrowser, category });
  // The launcher knows this category by JupyterLab's own word for it.
  const other = (translator ?? nullTranslator).load('jupyterlab').__('Other');
  launcher?.add({ command: CommandIDs.openMlflow, category: other, rank: 10, args: { beside: '' } });
  addExperimentPanel({
    commands,
    serviceManager: app.serviceManager,
    rest,
    trans,
    notebooks,
    registry,
    palette,
    add: sidebar => {
      app.shell.add(sidebar, 'right', { rank: 701 });
      restorer?.add(sidebar, EXPERIMENT_PANEL_ID);
    },
    activate: () => app.shell.activateById(EXPERIMENT_PANEL_ID)
  });
  const keyOf = ({ id }: Widget): string => id.slice(MLFLOW_TAB_ID.length + 1);
  void restorer?.restore(tracker, {
    command: CommandIDs.openMlflow,
    name: tab => `mlflow${keyOf(tab)}`,
    args: tab => ({ beside: keyOf(tab) })
  });
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: RUNS_PLUGIN_ID,
  description: 'Runs in MLflow, and MLflow beside the notebook.',
  autoStart: true,
  optional: [
    ITranslator,
    ILayoutRestorer,
    ICommandPalette,
    ILauncher,
    ILabShell,
    INotebookTracker,
    IRenderMimeRegistry,
    ISettingRegistry
  ],
  activate
};

export default plugin;
