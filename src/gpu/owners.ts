/** What can be done about who holds a GPU's memory, by JupyterLab's own means and after its own questions. */
import { Dialog, SessionContextDialogs, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { KernelAPI, ServiceManager } from '@jupyterlab/services';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import type { Menu } from '@lumino/widgets';
import { GpuApi, text } from '../api';
import { CommandIDs, TRANSLATION_DOMAIN } from '../tokens';
import { Holders, IHolder, IHolding, IOwnerActions, ISession } from './holders';
import { titleOf } from './holding';
import type { GpuModel } from './model';

export interface IOwnersOptions {
  readonly api: GpuApi;
  readonly model: GpuModel;
  readonly commands: Menu.IOptions['commands'];
  readonly serviceManager: ServiceManager.IManager;
  readonly notebooks: INotebookTracker | null;
  readonly registry: ISettingRegistry | null;
  readonly translator: ITranslator | null;
  readonly isSeen: () => boolean;
}

export class Owners implements IHolding, IOwnerActions {
  constructor(private readonly _options: IOwnersOptions) {
    this._translator = _options.translator ?? nullTranslator;
    this._trans = this._translator.load(TRANSLATION_DOMAIN);
    this.holders = new Holders(_options);
    this._addCommands();
  }

  readonly holders: Holders;

  get actions(): IOwnerActions {
    return this;
  }

  goTo({ type, path }: ISession): void {
    void this._try(this._trans.__('%1 could not be opened', path), () =>
      this._options.commands.execute(type === 'console' ? 'console:open' : 'docmanager:open', { path })
    );
  }

  goToTerminal(name: string): void {
    void this._try(this._trans.__('Terminal %1 could not be opened', name), () =>
      this._options.commands.execute('terminal:open', { name })
    );
  }

  shutDown(holder: IHolder): void {
    void this._options.commands.execute(CommandIDs.shutDown, this._args(holder));
  }

  openMenu(holder: IHolder, anchor: Element): void {
    const args = this._args(holder);
    const menu = new MenuSvg({ commands: this._options.commands });
    if (holder.kernelId !== null) {
      menu.addItem({ command: CommandIDs.interruptKernel, args });
      menu.addItem({ command: CommandIDs.restartKernel, args });
    }
    menu.addItem({ command: CommandIDs.shutDown, args });
    // Not at once: a command that is chosen is executed after its menu has closed.
    menu.aboutToClose.connect(() => setTimeout(() => menu.dispose()));
    const box = anchor.getBoundingClientRect();
    menu.open(box.left, box.bottom);
  }

  private _args({ kernelId, terminal, ...holder }: IHolder): Readonly<Record<string, string | null>> {
    return { kernelId, terminal, title: titleOf({ kernelId, terminal, ...holder }, this._trans) };
  }

  private _addCommands(): void {
    const { commands, serviceManager } = this._options;
    const trans = this._trans;
    commands.addCommand(CommandIDs.interruptKernel, {
      label: trans.__('Interrupt Kernel'),
      execute: args =>
        this._change(trans.__('The kernel could not be interrupted'), () =>
          KernelAPI.interruptKernel(text(args.kernelId), serviceManager.serverSettings)
        )
    });
    commands.addCommand(CommandIDs.restartKernel, {
      label: trans.__('Restart Kernel…'),
      execute: args =>
        this._change(trans.__('The kernel could not be restarted'), () =>
          this._restart(text(args.kernelId), text(args.title))
        )
    });
    commands.addCommand(CommandIDs.shutDown, {
      label: args => (args.kernelId ? trans.__('Shut Down Kernel…') : trans.__('Shut Down Terminal…')),
      execute: args =>
        this._change(trans.__('%1 could not be shut down', text(args.title)), () =>
          args.kernelId
            ? this._shutDownKernel(text(args.kernelId), text(args.title))
            : this._shutDownTerminal(text(args.terminal), text(args.title))
        )
    });
  }

  /** A notebook that is open here restarts its own session, so that it knows; any other kernel is asked to. */
  private async _restart(kernelId: string, title: string): Promise<void> {
    const { notebooks, registry, serviceManager } = this._options;
    const open = notebooks?.find(panel => panel.sessionContext.session?.kernel?.id === kernelId);
    if (open) {
      const dialogs = new SessionContextDialogs({ translator: this._translator, settingRegistry: registry });
      await dialogs.restart(open.sessionContext);
      return;
    }
    const lab = this._translator.load('jupyterlab');
    const sure = await this._confirm(
      lab.__('Restart Kernel?'),
      lab.__('Do you want to restart the kernel of %1? All variables will be lost.', title),
      lab.__('Restart')
    );
    if (sure) {
      await KernelAPI.restartKernel(kernelId, serviceManager.serverSettings);
    }
  }

  private async _shutDownKernel(kernelId: string, title: string): Promise<void> {
    const { sessions, kernels } = this._options.serviceManager;
    const sure = await this._confirm(
      this._trans.__('Shut Down Kernel?'),
      this._trans.__('Do you want to shut down the kernel of %1? All variables will be lost.', title),
      this._trans.__('Shut Down')
    );
    if (!sure) {
      return;
    }
    await sessions.refreshRunning();
    const session = [...sessions.running()].find(one => one.kernel?.id === kernelId);
    // The end of a session is the end of its kernel, and the notebook learns that it was meant.
    await (session ? sessions.shutdown(session.id) : kernels.shutdown(kernelId));
    await sessions.refreshRunning();
  }

  private async _shutDownTerminal(name: string, title: string): Promise<void> {
    const sure = await this._confirm(
      this._trans.__('Shut Down Terminal?'),
      this._trans.__('Do you want to shut down %1? What runs in it will end.', title),
      this._trans.__('Shut Down')
    );
    if (sure) {
      await this._options.serviceManager.terminals.shutdown(name);
    }
  }

  private async _confirm(title: string, body: string, label: string): Promise<boolean> {
    const { button } = await showDialog({
      title,
      body,
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label })]
    });
    return button.accept;
  }

  /** Does it, and shows what is so now. */
  private async _change(failed: string, act: () => Promise<unknown>): Promise<void> {
    await this._try(failed, act);
    await this._options.model.refresh();
  }

  /** Does it; says what went wrong if it did. */
  private async _try(failed: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (reason) {
      void showErrorMessage(failed, reason instanceof Error ? reason.message : String(reason));
    }
  }

  private readonly _translator: ITranslator;
  private readonly _trans: TranslationBundle;
}
