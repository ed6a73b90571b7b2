/** Puts the GPU pane into JupyterLab or Notebook 7. The only place that sees the application. */
import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, IThemeManager } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import type { Widget } from '@lumino/widgets';
import gpuSvg from '../../style/icons/gpu.svg';
import type { GpuApi } from '../api';
import { Sidebar } from '../sidebar';
import { CommandIDs, PANEL_ID, PLUGIN_ID, TRANSLATION_DOMAIN } from '../tokens';
import { Activity } from './activity';
import { CellBands } from './bands';
import { followCells } from './cells';
import type { GpuModel } from './model';
import { readSettings, Settings } from './settings';

export const gpuIcon = new LabIcon({ name: 'jupyter-air:gpu', svgstr: gpuSvg });

/** What talks to the server. */
interface ILive {
  readonly api: GpuApi;
  readonly model: GpuModel;
}

/** Loads it when somebody first looks: JupyterLab's start does not wait for what may never be seen. */
function whenFirstSeen(app: JupyterFrontEnd): () => Promise<ILive> {
  let live: Promise<ILive> | null = null;
  const load = async (): Promise<ILive> => {
    const { GpuApi, GpuModel } = await import('./live');
    const api = new GpuApi(ServerConnection.makeSettings(app.serviceManager.serverSettings));
    const model = new GpuModel({ api });
    document.addEventListener('visibilitychange', () => model.wake());
    return { api, model };
  };
  return () => {
    live ??= load().catch((reason: unknown) => {
      live = null;
      throw reason;
    });
    return live;
  };
}

/** What the parts of the plugin share. */
interface IParts {
  readonly app: JupyterFrontEnd;
  readonly live: () => Promise<ILive>;
  readonly settings: Settings;
  readonly trans: TranslationBundle;
}

async function exportCsv({ live, trans }: IParts): Promise<void> {
  const { saveCsv } = await import('./offers');
  await saveCsv(async () => (await live()).api.csv(), trans);
}

function addCommands(parts: IParts, palette: ICommandPalette | null): void {
  const { app, live, settings, trans } = parts;
  const { commands } = app;
  commands.addCommand(CommandIDs.open, {
    label: trans.__('Open GPU Resources'),
    icon: gpuIcon,
    execute: () => app.shell.activateById(PANEL_ID)
  });
  commands.addCommand(CommandIDs.refresh, {
    label: trans.__('Refresh GPU Resources'),
    execute: async () => (await live()).model.refresh()
  });
  commands.addCommand(CommandIDs.exportCsv, {
    label: trans.__('Export GPU History as CSV'),
    execute: () => exportCsv(parts)
  });
  commands.addCommand(CommandIDs.settings, {
    label: trans.__('All Settings…'),
    isVisible: () => commands.hasCommand('settingeditor:open'),
    execute: () => commands.execute('settingeditor:open', { query: 'GPU resources' })
  });
  commands.addCommand(CommandIDs.toggleCompact, {
    label: trans.__('Compact Rows'),
    isToggled: () => settings.value.density === 'compact',
    execute: () => settings.set('density', settings.value.density === 'compact' ? 'comfortable' : 'compact')
  });
  commands.addCommand(CommandIDs.toggleKeepWhileBusy, {
    label: trans.__('Keep Sampling While a Kernel Is Busy'),
    isToggled: () => settings.value.keepWhileBusy,
    execute: () => settings.set('keepWhileBusy', !settings.value.keepWhileBusy)
  });
  commands.addCommand(CommandIDs.toggleStatusItem, {
    label: trans.__('Show GPUs in the Status Bar'),
    isToggled: () => settings.value.statusBarItem,
    execute: () => settings.set('statusBarItem', !settings.value.statusBarItem)
  });
  settings.changed.connect(() => {
    const { toggleCompact, toggleKeepWhileBusy, toggleStatusItem } = CommandIDs;
    [toggleCompact, toggleKeepWhileBusy, toggleStatusItem].forEach(id => commands.notifyCommandChanged(id));
  });
  const category = trans.__('GPU Resources');
  for (const command of [
    CommandIDs.open,
    CommandIDs.refresh,
    CommandIDs.exportCsv,
    CommandIDs.toggleStatusItem
  ]) {
    palette?.addItem({ command, category });
  }
}

function addStatusItem({ app, live, settings, trans }: IParts, statusBar: IStatusBar): void {
  let shown: { dispose(): void } | null = null;
  const isWanted = (): boolean => settings.value.statusBarItem;
  const update = async (): Promise<void> => {
    if (isWanted() && !shown) {
      const [{ model }, { StatusItem }] = await Promise.all([live(), import('./status')]);
      if (isWanted()) {
        const item = new StatusItem(model, trans, () => void app.commands.execute(CommandIDs.open));
        shown ??= statusBar.registerStatusItem(PLUGIN_ID, { item, align: 'left', rank: 100 });
      }
    } else if (!isWanted() && shown) {
      shown.dispose();
      shown = null;
    }
  };
  settings.changed.connect(() => void update());
  void update();
}

/** Settings come from the registry and go back to it; without one they last as long as the page. */
async function connectSettings(settings: Settings, registry: ISettingRegistry): Promise<void> {
  const kept = await registry.load(PLUGIN_ID);
  const read = (): void => settings.replace(readSettings(kept.composite));
  settings.keepBy((key, value) => kept.set(key, value));
  kept.changed.connect(read);
  read();
}

function activate(
  app: JupyterFrontEnd,
  translator: ITranslator | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  registry: ISettingRegistry | null,
  state: IStateDB | null,
  notebooks: INotebookTracker | null,
  themes: IThemeManager | null,
  statusBar: IStatusBar | null
): void {
  const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
  const settings = new Settings();
  const live = whenFirstSeen(app);
  const bands = new CellBands(state);
  const parts: IParts = { app, live, settings, trans };

  const load = async (): Promise<Widget> => {
    const [{ model }, { GpuPane }, { settingsMenu }] = await Promise.all([
      live(),
      import('./panel'),
      import('./offers')
    ]);
    const pane = new GpuPane({
      model,
      settings,
      bands,
      trans,
      holding: async () => {
        const [{ api }, { Owners }] = await Promise.all([live(), import('./owners')]);
        const { commands, serviceManager } = app;
        return new Owners({
          api,
          model,
          commands,
          serviceManager,
          notebooks,
          registry,
          translator,
          isSeen: () => seen
        });
      },
      exportCsv: () => void app.commands.execute(CommandIDs.exportCsv),
      openSettings: settingsMenu(app.commands)
    });
    themes?.themeChanged.connect(() => pane.repaint());
    return pane;
  };
  const name = trans.__('GPU resources');
  const sidebar = new Sidebar({ id: PANEL_ID, name, icon: gpuIcon, load, trans });

  // Somebody looks: ask, and tell the server when a person is at work.
  let seen = false;
  const isWanted = (): boolean => seen || (settings.value.statusBarItem && statusBar !== null);
  const activity = new Activity({
    isWanted,
    send: async () => (await live()).api.activity(settings.value.keepWhileBusy)
  });
  activity.listen(document);
  const follow = async (opened: boolean): Promise<void> => {
    const { model } = await live();
    model.isActive = isWanted();
    if (opened && seen) {
      await model.refresh();
    }
  };
  let looked = false;
  sidebar.shown.connect((_, shown) => {
    const opened = shown && !seen;
    seen = shown;
    looked ||= shown;
    if (looked) {
      void follow(opened);
    }
  });
  let keeps = settings.value.keepWhileBusy;
  settings.changed.connect(() => {
    if (looked || isWanted()) {
      void follow(false);
    }
    if (keeps !== settings.value.keepWhileBusy) {
      keeps = settings.value.keepWhileBusy;
      if (isWanted()) {
        activity.tell();
      }
    }
  });

  addCommands(parts, palette);
  if (registry) {
    connectSettings(settings, registry).catch((reason: unknown) =>
      console.warn('The settings of the GPU pane are not available; its defaults are used.', reason)
    );
  }
  if (notebooks) {
    bands.restore().catch(() => undefined);
    followCells(notebooks, bands, () => activity.note());
  }
  if (statusBar) {
    addStatusItem(parts, statusBar);
  }
  app.shell.add(sidebar, 'right', { rank: 700 });
  restorer?.add(sidebar, PANEL_ID);
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'GPU resources beside the notebook.',
  autoStart: true,
  optional: [
    ITranslator,
    ILayoutRestorer,
    ICommandPalette,
    ISettingRegistry,
    IStateDB,
    INotebookTracker,
    IThemeManager,
    IStatusBar
  ],
  activate
};

export default plugin;
