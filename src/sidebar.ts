/** The place in the sidebar. The pane in it is loaded when it is first seen. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { ISignal, Signal } from '@lumino/signaling';
import type { LabIcon } from '@jupyterlab/ui-components';
import { PanelLayout, Widget } from '@lumino/widgets';

export interface ISidebarOptions {
  readonly id: string;
  /** Whether by its tab or by a screen reader, it goes by this. */
  readonly name: string;
  readonly icon: LabIcon;
  readonly load: () => Promise<Widget>;
  readonly trans: TranslationBundle;
}

export class Sidebar extends Widget {
  constructor(private readonly _options: ISidebarOptions) {
    super();
    const { id, name, icon } = _options;
    this.id = id;
    this.title.icon = icon;
    this.title.caption = name;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', name);
    this.addClass('jp-air-Sidebar');
    this.layout = new PanelLayout();
  }

  /** Whether it can be seen. */
  get shown(): ISignal<this, boolean> {
    return this._shown;
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._appear();
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    if (this.isVisible) {
      this._appear();
    }
  }

  protected override onBeforeHide(msg: Message): void {
    this._shown.emit(false);
    super.onBeforeHide(msg);
  }

  protected override onBeforeDetach(msg: Message): void {
    this._shown.emit(false);
    super.onBeforeDetach(msg);
  }

  private _appear(): void {
    this._shown.emit(true);
    if (this._loading) {
      return;
    }
    this._loading = true;
    const { load, trans } = this._options;
    load().then(
      pane => (this.layout as PanelLayout).addWidget(pane),
      (reason: unknown) => {
        this._loading = false;
        console.error(reason);
        this.node.textContent = trans.__('The pane could not be loaded. Reload the page to try again.');
      }
    );
  }

  private readonly _shown = new Signal<this, boolean>(this);
  private _loading = false;
}
