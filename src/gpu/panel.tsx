/** The pane, whole. Loaded when it is first seen. */
import { ReactWidget } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import React from 'react';
import { useSignal } from '../signal';
import { Banner, Footer } from './banner';
import { CellBands } from './bands';
import { IPane, PaneProvider, Ticker, usePane } from './context';
import { Hub } from './hub';
import type { IHolding } from './holders';
import { GpuModel } from './model';
import { NodeSection } from './node';
import { Settings } from './settings';
import { Toolbar } from './toolbar';

const Fleet = React.lazy(() => import('./nodes'));
const Readout = React.lazy(() => import('./readout'));

export interface IGpuPaneOptions {
  readonly model: GpuModel;
  readonly settings: Settings;
  readonly bands: CellBands;
  readonly trans: TranslationBundle;
  /** Finds out who holds the GPUs' memory; loaded after the pane is drawn. */
  readonly holding: () => Promise<IHolding>;
  readonly exportCsv: () => void;
  readonly openSettings: (anchor: Element) => void;
}

/** Nothing until somebody points at a chart. */
function ReadoutPlace(): React.JSX.Element | null {
  const { hub } = usePane();
  const [wanted, setWanted] = React.useState(false);
  React.useEffect(() => {
    const want = (): void => setWanted(true);
    hub.cursorChanged.connect(want);
    return () => void hub.cursorChanged.disconnect(want);
  }, [hub]);
  return wanted ? (
    <React.Suspense>
      <Readout />
    </React.Suspense>
  ) : null;
}

function Pane(): React.JSX.Element {
  const { model, settings, trans } = usePane();
  const nodes = useSignal(model.stateChanged, () => model.nodes);
  const isLarge = useSignal(model.stateChanged, () => model.isLarge);
  const outdated = useSignal(model.stateChanged, () => model.problem !== null);
  const density = useSignal(settings.changed, () => settings.value.density);
  return (
    <div className="jp-air-Pane" data-density={density} data-outdated={outdated || undefined}>
      <Toolbar />
      <Banner />
      {nodes.length > 1 && isLarge ? (
        <React.Suspense fallback={<div className="jp-air-Nodes" />}>
          <Fleet nodes={nodes} />
        </React.Suspense>
      ) : (
        <div className="jp-air-Nodes" role="region" aria-label={trans.__('Nodes')} tabIndex={0}>
          {nodes.map(node => (
            <NodeSection key={node.id} node={node} />
          ))}
        </div>
      )}
      <Footer />
      <ReadoutPlace />
    </div>
  );
}

/** A line that cannot be loaded is missing, and takes nothing with it. */
function lazyHolders(holding: () => Promise<IHolding>): IPane['Holders'] {
  return React.lazy(async () => {
    try {
      const [{ holderList }, given] = await Promise.all([import('./holderList'), holding()]);
      return { default: holderList(given) };
    } catch (reason) {
      console.error(reason);
      return { default: () => null };
    }
  });
}

export class GpuPane extends ReactWidget {
  constructor(options: IGpuPaneOptions) {
    super();
    this.addClass('jp-air-PaneHost');
    const { model, settings, bands } = options;
    this._pane = {
      ...options,
      Holders: lazyHolders(options.holding),
      hub: new Hub(this.node, model, settings, bands),
      ticker: new Ticker(model)
    };
  }

  /** The theme is another one: the canvases take its colours. */
  repaint(): void {
    this._pane.hub.repaint();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._pane.ticker.dispose();
      super.dispose();
      this._pane.hub.dispose();
    }
  }

  protected override render(): React.JSX.Element {
    return (
      <PaneProvider value={this._pane}>
        <Pane />
      </PaneProvider>
    );
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._pane.ticker.isRunning = true;
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._pane.ticker.isRunning = this.isVisible;
  }

  protected override onBeforeHide(msg: Message): void {
    this._pane.ticker.isRunning = false;
    super.onBeforeHide(msg);
  }

  private readonly _pane: IPane;
}
