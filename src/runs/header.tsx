/** Above the list: the title, what can be done, and the experiment. Below it: how many there are. */
import { caretDownIcon, refreshIcon, settingsIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { useSignal } from '../signal';
import { usePanel } from './experimentContext';
import { experimentPage } from './links';
import type { IRun } from './mlflow';
import { shown } from './words';

/** The chosen runs that are still there, in the order of the list. */
export function useChosen(): readonly IRun[] {
  const { model, selection } = usePanel();
  const known = useSignal(model.changed, () => model.list?.known ?? null);
  const ids = useSignal(selection.changed, () => selection.ids);
  return React.useMemo(() => [...ids].flatMap(id => known?.get(id) ?? []), [known, ids]);
}

/** A link that JupyterLab follows; a browser's own ways of opening it stay. */
function PageLink(props: { page: string; title?: string; children: React.ReactNode }): React.JSX.Element {
  const { actions } = usePanel();
  return (
    <a
      className="jp-air-Link"
      href={props.page}
      target="_blank"
      rel="noopener noreferrer"
      title={props.title}
      onClick={event => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
          event.preventDefault();
          actions.openPage(props.page);
        }
      }}
    >
      {props.children}
    </a>
  );
}

function Compare(): React.JSX.Element | null {
  const { model, actions, trans } = usePanel();
  const chosen = useChosen();
  const pages = useSignal(model.changed, () => model.where.context?.pages ?? null);
  if (pages === null) {
    return null;
  }
  const isPossible = chosen.length > 1;
  return (
    <button
      type="button"
      className="jp-air-Link jp-air-Toolbar-link"
      aria-disabled={!isPossible}
      title={
        isPossible
          ? trans.__('Compare the %1 selected runs in MLflow', chosen.length)
          : trans.__('Select two or more runs to compare them')
      }
      onClick={() => isPossible && actions.compare(chosen)}
    >
      {trans.__('Compare')}
    </button>
  );
}

export function Toolbar(props: { isChoosing: boolean; onChoose: () => void }): React.JSX.Element {
  const { model, trans } = usePanel();
  const isBusy = useSignal(model.changed, () => model.isAsking);
  const hasList = useSignal(model.changed, () => model.experiment !== null);
  return (
    <div className="jp-air-Toolbar">
      <h2 className="jp-air-Toolbar-title">{trans.__('Experiment')}</h2>
      {hasList && <Compare />}
      <div className="jp-air-Toolbar-actions">
        <button
          type="button"
          className="jp-air-IconButton"
          title={trans.__('Refresh')}
          aria-label={trans.__('Refresh')}
          data-busy={isBusy || undefined}
          onClick={() => void model.refresh()}
        >
          <refreshIcon.react tag="span" aria-hidden="true" />
        </button>
        {hasList && (
          <button
            type="button"
            className="jp-air-IconButton"
            title={trans.__('Columns and view')}
            aria-label={trans.__('Columns and view')}
            aria-expanded={props.isChoosing}
            onClick={props.onChoose}
          >
            <settingsIcon.react tag="span" aria-hidden="true" />
          </button>
        )}
      </div>
    </div>
  );
}

/** Which experiment, as a link; and the way to others. */
export function ExperimentLine(props: { isPicking: boolean; onPick: () => void }): React.JSX.Element {
  const { model, trans } = usePanel();
  const experiment = useSignal(model.changed, () => model.experiment);
  const pages = useSignal(model.changed, () => model.where.pages?.base ?? null);
  const others = useSignal(model.changed, () => model.where.experiments?.others.length ?? 0);
  const name = experiment === null ? trans.__('No experiment') : shown(experiment.name);
  const text = <bdi>{name}</bdi>;
  const { pages: all } = model.where;
  return (
    <div className="jp-air-ExperimentLine">
      {experiment !== null && pages !== null && all ? (
        <PageLink page={experimentPage(all, experiment.id)} title={name}>
          {text}
        </PageLink>
      ) : (
        <span className={experiment === null ? 'jp-air-quiet' : undefined}>{text}</span>
      )}
      {others > 0 && experiment !== null && (
        <span className="jp-air-Tag" title={trans.__('The runs of this notebook are in several experiments')}>
          {trans._n('%1 more', '%1 more', others)}
        </span>
      )}
      <button
        type="button"
        className="jp-air-IconButton"
        title={trans.__('Choose another experiment')}
        aria-label={trans.__('Choose another experiment')}
        aria-expanded={props.isPicking}
        onClick={props.onPick}
      >
        <caretDownIcon.react tag="span" aria-hidden="true" />
      </button>
    </div>
  );
}

/** `214 runs`, `100+ runs`, `6 of 214 runs`, `6 runs found`. */
function useCount(): string {
  const { model, trans } = usePanel();
  return useSignal(model.changed, () => {
    const { list, total } = model;
    if (list === null) {
      return '';
    }
    const count = list.order.length;
    if (list.question.filter === '') {
      return list.hasMore ? trans.__('%1+ runs', count) : trans._n('%1 run', '%1 runs', count);
    }
    if (list.hasMore) {
      return trans.__('%1+ runs found', count);
    }
    return total === null
      ? trans._n('%1 run found', '%1 runs found', count)
      : trans.__('%1 of %2 runs', count, total);
  });
}

export function Footer(): React.JSX.Element | null {
  const { model, selection, actions, trans } = usePanel();
  const chosen = useChosen();
  const count = useCount();
  const experiment = useSignal(model.changed, () => model.experiment);
  const problem = useSignal(model.changed, () => model.list?.moreProblem ?? null);
  const isSlow = useSignal(
    model.changed,
    () => model.problem === null && (model.isSlow || model.where.tracking !== null)
  );
  const pages = model.where.pages;
  if (experiment === null) {
    return null;
  }
  const said =
    chosen.length > 1
      ? trans.__('%1 selected', chosen.length)
      : problem
        ? trans.__('More did not come.')
        : isSlow
          ? trans.__('Asking MLflow…')
          : count;
  return (
    <div className="jp-air-Footer">
      <span role="status">{said}</span>
      {chosen.length > 1 ? (
        <>
          <button
            type="button"
            className="jp-air-Link"
            aria-haspopup="menu"
            onClick={event => {
              const box = event.currentTarget.getBoundingClientRect();
              actions.openMenu(box.left, box.top);
            }}
          >
            {trans.__('Actions')}
          </button>
          <button type="button" className="jp-air-Link" onClick={() => selection.clear()}>
            {trans.__('Clear')}
          </button>
        </>
      ) : problem ? (
        <button type="button" className="jp-air-Link" onClick={() => void model.list?.more()}>
          {trans.__('Try again')}
        </button>
      ) : (
        pages && (
          <PageLink page={experimentPage(pages, experiment.id)}>{trans.__('Open experiment')}</PageLink>
        )
      )}
    </div>
  );
}
