/** MLflow in a tab: how far it is, then its own page. Loaded when the tab is opened. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { IFrame, ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';
import React from 'react';
import { TrackingModel } from './model';
import { sentence } from './problem';

/** MLflow's page is one of ours; all it may not do is to take JupyterLab's place in the window. */
const SANDBOX = [
  'allow-downloads',
  'allow-forms',
  'allow-modals',
  'allow-popups',
  'allow-popups-to-escape-sandbox',
  'allow-same-origin',
  'allow-scripts'
].join(' ');

/** MLflow's note to itself that its assistant has shown itself once: the proxy refuses it, since it has a shell. */
const ASSISTANT_SEEN = 'mlflow.assistant.fab.autoOpenedOnFirstLoad_v1';

export interface IMlflowFrameOptions {
  readonly model: TrackingModel;
  readonly trans: TranslationBundle;
}

function Again({ model, trans }: IMlflowFrameOptions): React.JSX.Element {
  return (
    <button type="button" className="jp-air-Button" onClick={() => void model.start()}>
      {trans.__('Try again')}
    </button>
  );
}

function Starting({ model, trans }: IMlflowFrameOptions): React.JSX.Element {
  const message = model.tracking?.message ?? '';
  const elapsedS = model.tracking?.elapsedS ?? null;
  return (
    <>
      <div className="jp-air-Frame-spinner" aria-hidden="true" />
      <p>{message === '' ? trans.__('Starting MLflow…') : message}</p>
      {/* Seen, not read out each second. */}
      <p className="jp-air-Frame-quiet" aria-hidden="true">
        {elapsedS === null ? '\u00a0' : trans.__('%1 s', Math.round(elapsedS))}
      </p>
    </>
  );
}

function Progress(props: IMlflowFrameOptions): React.JSX.Element {
  const { model, trans } = props;
  const { problem, tracking } = model;
  if (problem) {
    return (
      <>
        <p>{sentence(problem, trans)}</p>
        {problem.code !== 'unreachable' && <Again {...props} />}
      </>
    );
  }
  if (tracking?.state === 'none') {
    return <p>{trans.__('Runs go to no MLflow server that can be shown here.')}</p>;
  }
  if (tracking?.page) {
    return (
      <>
        <p>{trans.__('Runs are tracked on another server, which opens in a browser tab of its own.')}</p>
        <a className="jp-air-Frame-link" href={tracking.page.url} target="_blank" rel="noopener noreferrer">
          {tracking.page.url}
        </a>
      </>
    );
  }
  if (tracking?.state === 'failed') {
    return (
      <>
        <p>{tracking.message === '' ? trans.__('MLflow could not be started.') : tracking.message}</p>
        <Again {...props} />
      </>
    );
  }
  return <Starting {...props} />;
}

/** What there is to know of the store, above all else; it can be put away. */
function Note({ model, trans }: IMlflowFrameOptions): React.JSX.Element | null {
  const [isAway, putAway] = React.useState(false);
  const note = model.tracking?.note ?? '';
  return note === '' || isAway ? null : (
    <div role="note" className="jp-air-Frame-note">
      <p>{note}</p>
      <button type="button" className="jp-air-Button" onClick={() => putAway(true)}>
        {trans.__('Close')}
      </button>
    </div>
  );
}

export class MlflowFrame extends Widget {
  constructor(private readonly _options: IMlflowFrameOptions) {
    super();
    this.addClass('jp-air-Frame');
    this.node.tabIndex = -1;
    const { model } = _options;
    const progress = ReactWidget.create(
      <div role="status" className="jp-air-Frame-progress">
        <UseSignal signal={model.changed}>{() => <Progress {..._options} />}</UseSignal>
      </div>
    );
    const note = ReactWidget.create(
      <UseSignal signal={model.changed}>{() => <Note {..._options} />}</UseSignal>
    );
    note.addClass('jp-air-Frame-notes');
    const layout = new PanelLayout();
    layout.addWidget(note);
    layout.addWidget(progress);
    this.layout = layout;
    model.changed.connect(this._follow, this);
    void model.start().catch(() => undefined);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._options.model.dispose();
      super.dispose();
    }
  }

  /** Shows a page of MLflow, once it is there. */
  goTo(page: string): void {
    this._page = page;
    if (this._frame) {
      this._frame.url = page;
    }
  }

  protected override onActivateRequest(msg: Message): void {
    super.onActivateRequest(msg);
    (this.node.querySelector('iframe') ?? this.node).focus();
  }

  /** Puts MLflow's page in the place of its progress, once. */
  private _follow(): void {
    const page = this._options.model.tracking?.page;
    if (!page || page.outside) {
      return;
    }
    this._options.model.changed.disconnect(this._follow, this);
    const frame = new IFrame();
    const iframe = frame.node.querySelector('iframe');
    iframe?.setAttribute('title', 'MLflow');
    iframe?.setAttribute('sandbox', SANDBOX);
    localStorage.setItem(ASSISTANT_SEEN, 'true');
    frame.url = this._page ?? page.url;
    this._frame = frame;
    const layout = this.layout as PanelLayout;
    const [, progress] = layout.widgets;
    const hasFocus = this.node.contains(document.activeElement);
    layout.addWidget(frame);
    progress.dispose();
    if (hasFocus) {
      iframe?.focus();
    }
  }

  private _frame: IFrame | null = null;
  private _page: string | null = null;
}
