/** What concerns the whole pane, in a sentence with one action; and the line at its foot. */
import React from 'react';
import { useSignal } from '../signal';
import { AirError } from '../api';
import { usePane } from './context';
import { duration } from './format';

function explain(
  problem: AirError,
  trans: ReturnType<typeof usePane>['trans']
): { text: string; code?: string } {
  if (problem.code === 'unreachable') {
    return { text: trans.__('The Jupyter server does not answer; trying again.') };
  }
  switch (problem.status) {
    case 404:
      return {
        text: trans.__('The server extension of Jupyter AIR is not enabled. Run this and restart Jupyter:'),
        code: 'jupyter server extension enable jupyter_air'
      };
    case 401:
    case 403:
      return {
        text: trans.__(
          'You do not have access to the GPU resources of this server. Signing in again may help.'
        )
      };
    default:
      return { text: [problem.message, problem.hint].filter(Boolean).join(' ') };
  }
}

function Problem({ problem }: { problem: AirError }): React.JSX.Element {
  const { model, trans } = usePane();
  const { text, code } = explain(problem, trans);
  return (
    <div className="jp-air-Banner" data-tone="error">
      <p>
        {text}
        {code && <code className="jp-air-Command">{code}</code>}
      </p>
      <button type="button" className="jp-air-Button" onClick={() => void model.refresh()}>
        {trans.__('Try again')}
      </button>
    </div>
  );
}

function Paused(): React.JSX.Element {
  const { model, settings, trans } = usePane();
  const afterS = useSignal(model.stateChanged, () => model.monitor?.pauseAfterS ?? null);
  const keep = useSignal(settings.changed, () => settings.value.keepWhileBusy);
  const busy = useSignal(model.stateChanged, () => model.isRefreshing);
  return (
    <div className="jp-air-Banner" data-tone="none">
      <p>
        {afterS === null
          ? trans.__('Paused.')
          : trans.__('Paused after %1 without activity.', duration(afterS, trans))}
      </p>
      <button type="button" className="jp-air-Button" disabled={busy} onClick={() => void model.refresh()}>
        {trans.__('Resume')}
      </button>
      <label className="jp-air-Check">
        <input
          type="checkbox"
          checked={keep}
          onChange={event => settings.set('keepWhileBusy', event.target.checked)}
        />
        {trans.__('Keep sampling while a kernel is busy')}
      </label>
    </div>
  );
}

export function Banner(): React.JSX.Element {
  const { model, trans } = usePane();
  const problem = useSignal(model.stateChanged, () => model.problem);
  const state = useSignal(model.stateChanged, () => model.monitor?.state ?? null);
  return (
    <div role="status" className="jp-air-BannerPlace">
      {problem ? (
        <Problem problem={problem} />
      ) : state === 'paused' ? (
        <Paused />
      ) : state === null ? (
        <p className="jp-air-Waiting">{trans.__('Asking the server…')}</p>
      ) : null}
    </div>
  );
}

/** `10 s · pauses in 4 min when idle`. */
export function Footer(): React.JSX.Element | null {
  const { model, ticker, trans } = usePane();
  const text = useSignal(ticker.ticked, () => {
    const { monitor } = model;
    if (monitor === null || model.problem !== null) {
      return '';
    }
    const interval = duration(model.pollIntervalS, trans);
    if (monitor.state === 'paused') {
      return trans.__('%1 · paused', interval);
    }
    if (monitor.pauseAfterS === null) {
      return trans.__('%1 · does not pause', interval);
    }
    if (monitor.keepWhileBusy && monitor.busy) {
      return trans.__('%1 · goes on while a kernel is busy', interval);
    }
    const left = model.pausesInS;
    if (left === null) {
      return interval;
    }
    // Whole minutes, rounded up as the last one is counted in seconds: a figure that changes each second would distract.
    const coarse = left >= 60 ? Math.round(left / 60) * 60 : Math.ceil(left / 10) * 10;
    return trans.__('%1 · pauses in %2 when idle', interval, duration(coarse, trans));
  });
  return text ? (
    <div className="jp-air-Footer" dir="auto">
      {text}
    </div>
  ) : null;
}
