/** What stands in place of the list, and above it when something is wrong: what is so, and what can be done. */
import { copyIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { useSignal } from '../signal';
import { useNow, usePanel } from './experimentContext';
import { sentence } from './problem';
import { when } from './words';

const MINUTE_MS = 60_000;

function Code({ text }: { text: string }): React.JSX.Element {
  const { actions, trans } = usePanel();
  const [copied, setCopied] = React.useState(false);
  const label = copied ? trans.__('Copied') : trans.__('Copy %1', text);
  return (
    <span className="jp-air-Snippet">
      <code>{text}</code>
      <button
        type="button"
        className="jp-air-IconButton"
        title={label}
        aria-label={label}
        onClick={() => {
          actions.copyText(text);
          setCopied(true);
        }}
      >
        <copyIcon.react tag="span" aria-hidden="true" />
      </button>
    </span>
  );
}

function PickButton({ onPick }: { onPick: () => void }): React.JSX.Element {
  const { trans } = usePanel();
  return (
    <button type="button" className="jp-air-Button" onClick={onPick}>
      {trans.__('Choose an experiment')}
    </button>
  );
}

function Again({ act }: { act: () => void }): React.JSX.Element {
  const { trans } = usePanel();
  return (
    <button type="button" className="jp-air-Button" onClick={act}>
      {trans.__('Try again')}
    </button>
  );
}

/** How far the tracking server is. */
function Starting(): React.JSX.Element {
  const { model, trans } = usePanel();
  // Its model is one, its state is read at each change.
  const said = useSignal(model.changed, () => {
    const { tracking, problem } = model.where.tracking ?? {};
    return JSON.stringify([
      tracking?.state ?? '',
      tracking?.message ?? '',
      tracking?.elapsedS ?? null,
      problem ? sentence(problem, trans) : ''
    ]);
  });
  const [state, message, elapsedS, problem] = JSON.parse(said) as [string, string, number | null, string];
  if (problem !== '' || state === 'failed' || state === 'none') {
    return (
      <>
        <p>{problem || message || trans.__('MLflow could not be started.')}</p>
        <Again act={() => void model.where.tracking?.start()} />
      </>
    );
  }
  return (
    <>
      <div className="jp-air-Frame-spinner" aria-hidden="true" />
      <p>{message === '' || state === 'ready' ? trans.__('Looking for the runs…') : message}</p>
      <p className="jp-air-quiet" aria-hidden="true">
        {elapsedS === null ? '\u00a0' : trans.__('%1 s', Math.round(elapsedS))}
      </p>
    </>
  );
}

function NoRuns({ onPick }: { onPick: () => void }): React.JSX.Element {
  const { trans } = usePanel();
  return (
    <>
      <p>{trans.__('This notebook has no runs yet. Begin one in a cell:')}</p>
      <Code text="%%air_run baseline" />
      <p className="jp-air-quiet">{trans.__('as its first line, or')}</p>
      <Code text="mlflow.start_run()" />
      <PickButton onPick={onPick} />
    </>
  );
}

type Kind =
  | 'list'
  | 'asking'
  | 'starting'
  | 'unreachable'
  | 'problem'
  | 'no-notebook'
  | 'no-runs'
  | 'empty'
  | 'nothing-found'
  | 'none-deleted';

/** What there is to show. */
export function useKind(): Kind {
  const { model } = usePanel();
  return useSignal(model.changed, () => {
    const { where, list, problem } = model;
    if (list !== null && list.order.length > 0) {
      return 'list';
    }
    if (where.tracking !== null) {
      return 'starting';
    }
    if (problem !== null) {
      return 'problem';
    }
    if (where.context?.rest === null) {
      return 'unreachable';
    }
    if (list !== null) {
      return list.question.filter !== '' ? 'nothing-found' : list.question.deleted ? 'none-deleted' : 'empty';
    }
    if (model.heardMs === null || model.isAsking) {
      return 'asking';
    }
    return where.place.path === null ? 'no-notebook' : 'no-runs';
  });
}

export function Empty({ kind, onPick }: { kind: Kind; onPick: () => void }): React.JSX.Element {
  const { model, trans } = usePanel();
  const message = useSignal(model.changed, () => model.where.context?.message ?? '');
  const problem = useSignal(model.changed, () => model.problem);
  const isSlow = useSignal(model.changed, () => model.isSlow);
  const isOwn = useSignal(model.changed, () => model.where.experiments?.own?.id === model.experiment?.id);
  switch (kind) {
    case 'starting':
      return <Starting />;
    case 'problem':
      return (
        <>
          <p>{problem ? sentence(problem, trans) : ''}</p>
          <Again act={() => void model.refresh()} />
        </>
      );
    case 'unreachable':
      return (
        <>
          <p>{message || trans.__('The runs of this notebook cannot be shown here.')}</p>
          <Again act={() => void model.refresh()} />
        </>
      );
    case 'no-notebook':
      return (
        <>
          <p>{trans.__('Open a notebook to see its runs.')}</p>
          <PickButton onPick={onPick} />
        </>
      );
    case 'empty':
      return isOwn ? <NoRuns onPick={onPick} /> : <p>{trans.__('This experiment has no runs.')}</p>;
    case 'no-runs':
      return <NoRuns onPick={onPick} />;
    case 'nothing-found':
      return (
        <>
          <p>{trans.__('No run matches the search.')}</p>
          <button type="button" className="jp-air-Button" onClick={() => model.search('')}>
            {trans.__('Show all runs')}
          </button>
        </>
      );
    case 'none-deleted':
      return (
        <>
          <p>{trans.__('No run of this experiment is deleted.')}</p>
          <button type="button" className="jp-air-Button" onClick={() => model.showDeleted(false)}>
            {trans.__('Show the runs')}
          </button>
        </>
      );
    default:
      return <p className="jp-air-quiet">{isSlow ? trans.__('Asking MLflow…') : '\u00a0'}</p>;
  }
}

/** Above a list that is not, or not yet, what is so now. */
export function Banner(): React.JSX.Element {
  const { model, trans } = usePanel();
  const problem = useSignal(model.changed, () => model.problem);
  const heardMs = useSignal(model.changed, () => model.heardMs);
  const deleted = useSignal(model.changed, () => model.list?.question.deleted ?? false);
  const nowMs = useNow(MINUTE_MS);
  return (
    <div role="status">
      {problem !== null ? (
        <div className="jp-air-Banner" data-tone="error">
          <p>
            {sentence(problem, trans)}{' '}
            {heardMs !== null && trans.__('The list is as of %1.', when(heardMs, nowMs))}
          </p>
          <Again act={() => void model.refresh()} />
        </div>
      ) : deleted ? (
        <div className="jp-air-Banner">
          <p>{trans.__('These runs are deleted; their menu restores them.')}</p>
          <button type="button" className="jp-air-Button" onClick={() => model.showDeleted(false)}>
            {trans.__('Back')}
          </button>
        </div>
      ) : null}
    </div>
  );
}
