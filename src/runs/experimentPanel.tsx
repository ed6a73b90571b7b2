/** The Experiment panel, whole. Loaded when it is first seen. */
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';
import '../../style/experiment.css';
import { useSignal } from '../signal';
import { Chooser, useColumns } from './chooser';
import { IExperimentPanel, PanelProvider, usePanel } from './experimentContext';
import { ExperimentLine, Footer, Toolbar } from './header';
import { Picker } from './picker';
import { Search } from './search';
import { Banner, Empty, useKind } from './states';
import { fitting, RunTable } from './table';

type Drawer = 'picker' | 'chooser' | null;

function ChooserDrawer({ close }: { close: () => void }): React.JSX.Element {
  const columns = useColumns();
  const place = React.useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = React.useState(300);
  React.useLayoutEffect(() => {
    const sizes = new ResizeObserver(() => setWidthPx(place.current?.clientWidth ?? 300));
    if (place.current) {
      sizes.observe(place.current);
    }
    return () => sizes.disconnect();
  }, []);
  return (
    <div
      ref={place}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }}
    >
      <Chooser fitting={fitting(columns, widthPx).columns.length} />
    </div>
  );
}

function Panel(): React.JSX.Element {
  const { model } = usePanel();
  const [drawer, setDrawer] = React.useState<Drawer>(null);
  const kind = useKind();
  const experiment = useSignal(model.changed, () => model.experiment?.id ?? null);
  const canPick = useSignal(
    model.changed,
    () => model.experiment !== null || (model.where.api !== null && model.where.tracking === null)
  );
  const outdated = useSignal(model.changed, () => model.problem !== null);
  const toggle = (which: Drawer): void => setDrawer(drawer === which ? null : which);
  const close = (): void => setDrawer(null);
  return (
    <div className="jp-air-Pane jp-air-Experiment" data-outdated={outdated || undefined}>
      <Toolbar isChoosing={drawer === 'chooser'} onChoose={() => toggle('chooser')} />
      {canPick && <ExperimentLine isPicking={drawer === 'picker'} onPick={() => toggle('picker')} />}
      {drawer === 'picker' && canPick && <Picker close={close} />}
      {experiment !== null && <Search key={`search ${experiment}`} />}
      {drawer === 'chooser' && experiment !== null && <ChooserDrawer close={close} />}
      {(kind === 'list' || experiment !== null) && <Banner />}
      {kind === 'list' ? (
        <RunTable key={`runs ${experiment}`} />
      ) : (
        <div className="jp-air-Experiment-empty" role="status">
          <Empty kind={kind} onPick={() => setDrawer('picker')} />
        </div>
      )}
      <Footer />
    </div>
  );
}

export class ExperimentPanel extends ReactWidget {
  constructor(private readonly _panel: IExperimentPanel) {
    super();
    this.addClass('jp-air-PaneHost');
  }

  override dispose(): void {
    if (!this.isDisposed) {
      super.dispose();
      this._panel.model.dispose();
    }
  }

  protected override render(): React.JSX.Element {
    return (
      <PanelProvider value={this._panel}>
        <Panel />
      </PanelProvider>
    );
  }
}
