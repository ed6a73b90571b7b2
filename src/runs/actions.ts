/** What can be done with runs, by JupyterLab's own means and after its own questions. */
import { Clipboard, Dialog, InputDialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { KernelManager } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import type { Menu } from '@lumino/widgets';
import { AirError } from '../api';
import { CommandIDs } from '../tokens';
import type { ExperimentModel } from './experiment';
import type { IRunActions } from './experimentContext';
import { comparePage, runPage } from './links';
import { isOpen } from './live';
import { END_REASON_TAG, type IRun, type MlflowApi } from './mlflow';
import type { Selection } from './selection';
import { shown } from './words';

const MAX_SHOWN = 100;

export interface IActionsOptions {
  readonly model: ExperimentModel;
  readonly selection: Selection;
  readonly commands: Menu.IOptions['commands'];
  readonly kernels: Pick<KernelManager, 'running'>;
  readonly trans: TranslationBundle;
}

const RUN = {
  open: 'jupyter-air:run-open',
  openInBrowser: 'jupyter-air:run-open-in-browser',
  compare: 'jupyter-air:run-compare',
  rename: 'jupyter-air:run-rename',
  end: 'jupyter-air:run-end',
  copyId: 'jupyter-air:run-copy-id',
  remove: 'jupyter-air:run-delete',
  restore: 'jupyter-air:run-restore'
} as const;

function nameOf(run: IRun): string {
  const name = shown(run.name);
  return name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN - 1)}…` : name;
}

export class RunActions implements IRunActions {
  constructor(private readonly _options: IActionsOptions) {
    this._trans = _options.trans;
    this._addCommands();
  }

  open(run: IRun): void {
    const { pages } = this._options.model.where;
    if (pages) {
      this.openPage(runPage(pages, run));
    }
  }

  openPage(page: string): void {
    void this._options.commands.execute(CommandIDs.openMlflow, { page });
  }

  compare(runs: readonly IRun[]): void {
    const { pages } = this._options.model.where;
    if (pages && runs.length > 1) {
      this.openPage(comparePage(pages, runs));
    }
  }

  copyId(runs: readonly IRun[]): void {
    this.copyText(runs.map(run => run.id).join('\n'));
  }

  copyText(text: string): void {
    Clipboard.copyToSystem(text);
  }

  rename(run: IRun): void {
    const trans = this._trans;
    void this._change(trans.__('The run could not be renamed'), [run], async api => {
      const { button, value } = await InputDialog.getText({
        title: trans.__('Rename Run'),
        text: run.name === run.id ? '' : run.name,
        label: trans.__('New name'),
        okLabel: trans.__('Rename')
      });
      const name = value?.trim() ?? '';
      if (!button.accept || name === '' || name === run.name) {
        return false;
      }
      await api.rename(run.id, name);
      return true;
    });
  }

  /** As MLflow does: they can be restored. */
  remove(runs: readonly IRun[]): void {
    const trans = this._trans;
    const there = runs.filter(run => !run.deleted);
    if (there.length === 0) {
      return;
    }
    const [first] = there;
    void this._change(trans.__('The runs could not be deleted'), there, async api => {
      const body = there.some(isOpen)
        ? trans.__('What still runs goes on, unseen. Deleted runs can be restored: see “Columns and view”.')
        : trans.__('They can be restored: see “Columns and view”.');
      const title =
        there.length === 1
          ? trans.__('Delete “%1”?', nameOf(first))
          : trans.__('Delete %1 runs?', there.length);
      if (!(await this._confirm(title, body, trans.__('Delete')))) {
        return false;
      }
      await this._each(there, run => api.delete(run.id));
      return true;
    });
  }

  openMenu(x: number, y: number): void {
    const menu = new MenuSvg({ commands: this._options.commands });
    const runs = this._chosen();
    const isDeleted = runs.some(run => run.deleted);
    menu.addItem({ command: RUN.open });
    menu.addItem({ command: RUN.openInBrowser });
    menu.addItem({ command: RUN.compare });
    menu.addItem({ type: 'separator' });
    menu.addItem({ command: RUN.copyId });
    if (!isDeleted) {
      menu.addItem({ command: RUN.rename });
      if (runs.some(isOpen)) {
        menu.addItem({ command: RUN.end });
      }
    }
    menu.addItem({ command: isDeleted ? RUN.restore : RUN.remove });
    // Not at once: a command that is chosen is executed after its menu has closed.
    menu.aboutToClose.connect(() => setTimeout(() => menu.dispose()));
    menu.open(x, y);
  }

  private _addCommands(): void {
    const { commands, model } = this._options;
    const trans = this._trans;
    const one = (): IRun | null => {
      const runs = this._chosen();
      return runs.length === 1 ? runs[0] : null;
    };
    const hasPage = (): boolean => model.where.pages !== null;
    const add = (id: string, label: string, isEnabled: () => boolean, execute: () => void): void => {
      commands.addCommand(id, { label, isEnabled, execute });
    };
    const onOne = (act: (run: IRun) => void) => (): void => {
      const run = one();
      if (run) {
        act(run);
      }
    };
    add(
      RUN.open,
      trans.__('Open Run'),
      () => one() !== null && hasPage(),
      onOne(run => this.open(run))
    );
    add(
      RUN.openInBrowser,
      trans.__('Open Run in a New Browser Tab'),
      () => one() !== null && hasPage(),
      onOne(run => this._openInBrowser(run))
    );
    add(
      RUN.compare,
      trans.__('Compare Runs'),
      () => this._chosen().length > 1 && hasPage(),
      () => this.compare(this._chosen())
    );
    add(
      RUN.copyId,
      trans.__('Copy Run ID'),
      () => this._chosen().length > 0,
      () => this.copyId(this._chosen())
    );
    add(
      RUN.rename,
      trans.__('Rename Run…'),
      () => one() !== null,
      onOne(run => this.rename(run))
    );
    add(
      RUN.end,
      trans.__('End Run…'),
      () => this._chosen().some(isOpen),
      () => this._end(this._chosen().filter(isOpen))
    );
    add(
      RUN.remove,
      trans.__('Delete Run…'),
      () => this._chosen().length > 0,
      () => this.remove(this._chosen())
    );
    add(
      RUN.restore,
      trans.__('Restore Run'),
      () => this._chosen().length > 0,
      () => this._restore(this._chosen())
    );
  }

  private _chosen(): IRun[] {
    const { model, selection } = this._options;
    return [...selection.ids].flatMap(id => model.list?.known.get(id) ?? []);
  }

  private _openInBrowser(run: IRun): void {
    const { pages } = this._options.model.where;
    if (pages) {
      void this._options.commands.execute(CommandIDs.openMlflowInBrowser, { page: runPage(pages, run) });
    }
  }

  private _end(runs: readonly IRun[]): void {
    const trans = this._trans;
    const living = new Set([...this._options.kernels.running()].map(kernel => kernel.id));
    const isAtWork = runs.some(run => living.has(run.tags.get('jupyter_air.kernel_id') ?? ''));
    void this._change(trans.__('The run could not be ended'), runs, async api => {
      const body = isAtWork
        ? trans.__(
            'Its kernel still runs: what the code logs from now on is still taken. The run will be marked as killed.'
          )
        : trans.__('It will be marked as killed. Nothing that may still log to it is stopped.');
      const title =
        runs.length === 1 ? trans.__('End “%1”?', nameOf(runs[0])) : trans.__('End %1 runs?', runs.length);
      if (!(await this._confirm(title, body, trans.__('End')))) {
        return false;
      }
      await this._each(runs, async run => {
        // The reason first: whoever sees the run ended sees why.
        await api.setTag(run.id, END_REASON_TAG, 'Ended by hand.');
        await api.end(run.id, 'KILLED');
      });
      return true;
    });
  }

  private _restore(runs: readonly IRun[]): void {
    void this._change(this._trans.__('The runs could not be restored'), runs, async api => {
      await this._each(runs, run => api.restore(run.id));
      return true;
    });
  }

  private async _confirm(title: string, body: string, label: string): Promise<boolean> {
    const { button } = await showDialog({
      title,
      body,
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label })]
    });
    return button.accept;
  }

  /** One after the other: MLflow's sqlite takes one change at a time. */
  private async _each(runs: readonly IRun[], act: (run: IRun) => Promise<void>): Promise<void> {
    for (const run of runs) {
      await act(run);
    }
  }

  /** Does it, and tells all who show these runs; says what went wrong if it did. */
  private async _change(
    failed: string,
    runs: readonly IRun[],
    act: (api: MlflowApi) => Promise<boolean>
  ): Promise<void> {
    const { model } = this._options;
    const { api } = model.where;
    if (api === null) {
      return;
    }
    try {
      if (!(await act(api))) {
        return;
      }
    } catch (reason) {
      void showErrorMessage(failed, this._words(reason));
    }
    await Promise.all(runs.map(run => model.tell(run.id).catch(() => undefined)));
  }

  private _words(reason: unknown): string {
    if (reason instanceof AirError && reason.status === 403) {
      return this._trans.__('You may look at these runs, but not change them.');
    }
    return reason instanceof AirError
      ? [reason.message, reason.hint].filter(Boolean).join(' ')
      : String(reason);
  }

  private readonly _trans: TranslationBundle;
}
