/** Opens MLflow: the main one, or that of a store beside notebooks, each in one tab. Loaded when it is first opened. */
import type { WidgetTracker } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import { AirError } from '../api';
import { MLFLOW_TAB_ID } from '../tokens';
import { MlflowFrame } from './frame';
import { TrackingModel } from './model';
import { addressOf, folderOf, Key, keyOf } from './place';
import type { IRest } from './rest';

export interface IMlflowTabsOptions {
  readonly rest: IRest;
  readonly baseUrl: string;
  readonly tracker: WidgetTracker;
  readonly icon: LabIcon;
  readonly trans: TranslationBundle;
  /** The notebook that is seen; null when something else is. */
  readonly notebookInFront: () => INotebookTracker['currentWidget'];
  readonly add: (tab: Widget) => void;
  readonly activate: (id: string) => void;
}

/** The page that is asked for, perhaps by an output's link: http(s) or at Jupyter's own address, else none. */
function pageOf({ page }: ReadonlyPartialJSONObject): string | null {
  return typeof page === 'string' && /^(https?:\/\/|\/(?![/\\]))/i.test(page) ? page : null;
}

export class MlflowTabs {
  constructor(private readonly _options: IMlflowTabsOptions) {}

  /** Shows the tab, a new one when there is none; a page of another MLflow than Jupyter's goes to the browser. */
  async open(args: ReadonlyPartialJSONObject): Promise<void> {
    const page = pageOf(args);
    const key = page === null ? await this._key(args) : keyOf(this._options.baseUrl, page);
    if (key === null) {
      window.open(page ?? '', '_blank', 'noopener');
      return;
    }
    const id = key === '' ? MLFLOW_TAB_ID : `${MLFLOW_TAB_ID}-${key}`;
    const { tracker, add, activate } = this._options;
    if (!tracker.find(tab => tab.id === id)) {
      const tab = this._newTab(id, key);
      add(tab);
      await tracker.add(tab);
    }
    const tab = tracker.find(one => one.id === id);
    if (page !== null && tab instanceof MlflowFrame) {
      tab.goTo(page);
    }
    activate(id);
  }

  /** Shows it in a page of the browser that is open already: one that opens later is taken for a pop-up. */
  async openIn(page: Window | null, args: ReadonlyPartialJSONObject): Promise<void> {
    const { baseUrl } = this._options;
    const wanted = pageOf(args) ?? addressOf(baseUrl, await this._key(args));
    const address = new URL(wanted, new URL(baseUrl, location.href));
    if (page) {
      page.opener = null;
      page.location.replace(address);
    }
  }

  /** Which MLflow is meant: that of the notebook in front, unless it is said. */
  private async _key({ beside }: ReadonlyPartialJSONObject): Promise<Key> {
    if (typeof beside === 'string' && /^[\w-]*$/.test(beside)) {
      return beside;
    }
    const { baseUrl, notebookInFront, rest } = this._options;
    const notebook = notebookInFront();
    if (!notebook) {
      return '';
    }
    const kernelId = notebook.sessionContext.session?.kernel?.id ?? null;
    try {
      const { rest: address } = await rest.context.of({ kernelId, path: notebook.context.path });
      return address === null ? '' : (keyOf(baseUrl, address) ?? '');
    } catch (reason) {
      // A server that does not answer is asked by the tab again, which tells what is wrong.
      if (reason instanceof AirError) {
        return '';
      }
      throw reason;
    }
  }

  private _newTab(id: string, key: Key): MlflowFrame {
    const { icon, rest, trans } = this._options;
    const tab = new MlflowFrame({ model: new TrackingModel(rest.tracking(key)), trans });
    tab.id = id;
    tab.title.label = trans.__('MLflow');
    if (key !== '') {
      const folder = folderOf(key);
      tab.title.label = trans.__('MLflow: %1', folder.slice(folder.lastIndexOf('/') + 1) || '/');
      tab.title.caption = trans.__('The MLflow store in the folder %1', folder);
    }
    tab.title.icon = icon;
    tab.title.closable = true;
    return tab;
  }
}
