/** The title, the window of time, and what one can do. */
import { downloadIcon, LabIcon, refreshIcon, settingsIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { useSignal } from '../signal';
import { WindowName } from '../tokens';
import { usePane } from './context';

function IconButton(props: {
  icon: LabIcon;
  label: string;
  onClick: (event: React.MouseEvent) => void;
  busy?: boolean;
  menu?: boolean;
}): React.JSX.Element {
  return (
    <button
      type="button"
      className="jp-air-IconButton"
      title={props.label}
      aria-label={props.label}
      aria-haspopup={props.menu ? 'menu' : undefined}
      data-busy={props.busy ? true : undefined}
      onClick={props.onClick}
    >
      <props.icon.react tag="span" aria-hidden="true" />
    </button>
  );
}

export function Toolbar(): React.JSX.Element {
  const { model, settings, trans, exportCsv, openSettings } = usePane();
  const current = useSignal(settings.changed, () => settings.value.window);
  const refreshing = useSignal(model.stateChanged, () => model.isRefreshing);
  const windows: readonly [WindowName, string, string][] = [
    ['15m', trans.__('15 m'), trans.__('The last 15 minutes')],
    ['1h', trans.__('1 h'), trans.__('The last hour')],
    ['2h', trans.__('2 h'), trans.__('The last 2 hours')]
  ];
  return (
    <div className="jp-air-Toolbar">
      <h2 className="jp-air-Toolbar-title">{trans.__('GPU resources')}</h2>
      <div className="jp-air-Windows" role="group" aria-label={trans.__('Time window')}>
        {windows.map(([name, text, title]) => (
          <button
            type="button"
            key={name}
            title={title}
            dir="auto"
            aria-pressed={name === current}
            onClick={() => settings.set('window', name)}
          >
            {text}
          </button>
        ))}
      </div>
      <div className="jp-air-Toolbar-actions">
        <IconButton
          icon={refreshIcon}
          label={trans.__('Refresh')}
          busy={refreshing}
          onClick={() => void model.refresh()}
        />
        <IconButton icon={downloadIcon} label={trans.__('Export as CSV')} onClick={exportCsv} />
        <IconButton
          icon={settingsIcon}
          label={trans.__('Settings')}
          menu
          onClick={event => openSettings(event.currentTarget)}
        />
      </div>
    </div>
  );
}
