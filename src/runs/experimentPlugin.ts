/** The Experiment panel's place in the sidebar; the panel is loaded when it is first seen. */
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { ServiceManager } from '@jupyterlab/services';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import type { Menu, Widget } from '@lumino/widgets';
import experimentSvg from '../../style/icons/experiment.svg';
import { Sidebar } from '../sidebar';
import { CommandIDs, EXPERIMENT_PANEL_ID } from '../tokens';
import type { ExperimentModel } from './experiment';
import type { IRest } from './rest';

export interface IExperimentParts {
  readonly commands: Menu.IOptions['commands'];
  readonly serviceManager: ServiceManager.IManager;
  readonly rest: () => Promise<IRest>;
  readonly trans: TranslationBundle;
  readonly notebooks: INotebookTracker | null;
  readonly registry: ISettingRegistry | null;
  readonly palette: ICommandPalette | null;
  /** Puts it into the sidebar. */
  readonly add: (sidebar: Widget) => void;
  readonly activate: () => void;
}

export function addExperimentPanel(parts: IExperimentParts): void {
  const { commands, palette, rest, trans } = parts;
  const icon = new LabIcon({ name: 'jupyter-air:experiment', svgstr: experimentSvg });
  let model: ExperimentModel | null = null;
  let seen = false;
  const load = async (): Promise<Widget> => {
    const [connected, { startExperiment }] = await Promise.all([rest(), import('./experimentStart')]);
    const started = startExperiment(parts, connected);
    model = started.model;
    model.isActive = seen;
    return started.panel;
  };
  const name = trans.__('Experiment');
  const sidebar = new Sidebar({ id: EXPERIMENT_PANEL_ID, name, icon, load, trans });
  sidebar.shown.connect((_, shown) => {
    seen = shown;
    if (model) {
      model.isActive = shown;
    }
  });
  commands.addCommand(CommandIDs.openExperiment, {
    label: trans.__('Open Experiment'),
    icon,
    execute: parts.activate
  });
  palette?.addItem({ command: CommandIDs.openExperiment, category: trans.__('MLflow') });
  parts.add(sidebar);
}
