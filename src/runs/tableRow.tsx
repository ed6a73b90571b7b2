/** One run in the list. */
import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { columnName, IColumn } from './columns';
import { IExperimentPanel, usePanel } from './experimentContext';
import { age, endReason, moment, stateWord, took } from './format';
import type { IRun } from './mlflow';
import { mark, metricValue, shown } from './words';
import type { IRow } from './tree';

/** More would be under other rows than its own. */
const MAX_INDENT = 5;
const MAX_TITLE = 500;

/** What there is room for. */
export interface IFit {
  readonly columns: readonly IColumn[];
  readonly duration: boolean;
  /** Whether the state is a word beside its shape. */
  readonly state: boolean;
}

interface IRunRowProps {
  readonly row: IRow;
  /** Among all rows, from 0 on. */
  readonly index: number;
  readonly fit: IFit;
  readonly nowMs: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly onFold: (row: IRow) => void;
}

function State({ run, isWord }: { run: IRun; isWord: boolean }): React.JSX.Element {
  const { trans } = usePanel();
  const word = stateWord(run, trans);
  return (
    <span role="gridcell" className="jp-air-Run-state" title={word}>
      <span
        className="jp-air-Run-mark"
        data-status={run.deleted ? 'DELETED' : (run.status ?? 'UNKNOWN')}
        aria-hidden="true"
      >
        {mark(run.status)}
      </span>
      <span className={isWord ? undefined : 'jp-air-sr'}>{word}</span>
    </span>
  );
}

function Name({ row, onFold }: Pick<IRunRowProps, 'row' | 'onFold'>): React.JSX.Element {
  const { run, level, children, unfolded } = row;
  const name = shown(run.name);
  const reason = endReason(run);
  const Caret = unfolded ? caretDownIcon : caretRightIcon;
  const indent = Math.min(level - 1, MAX_INDENT);
  return (
    <span
      role="gridcell"
      className="jp-air-Run-name"
      style={{ paddingInlineStart: `${indent * 1.1}em` }}
      title={[name, reason].filter(Boolean).join(' · ').slice(0, MAX_TITLE)}
    >
      {children > 0 && (
        // Keys fold by the row: a button each would be one more stop on the way through the list.
        <span
          className="jp-air-Run-caret"
          aria-hidden="true"
          onClick={event => {
            event.stopPropagation();
            onFold(row);
          }}
          onDoubleClick={event => event.stopPropagation()}
        >
          <Caret.react tag="span" />
        </span>
      )}
      <bdi>{name}</bdi>
      {reason !== '' && (
        <span className="jp-air-quiet">
          {'\u00a0· '}
          <bdi>{reason}</bdi>
        </span>
      )}
    </span>
  );
}

function valueOf(run: IRun, { kind, key }: IColumn): { text: string; title: string } {
  if (kind === 'metric') {
    const value = run.metrics.get(key);
    return value === undefined
      ? { text: '', title: '' }
      : { text: metricValue(value), title: `${shown(key)}: ${value}` };
  }
  const value = shown(run.params.get(key) ?? '');
  return { text: value, title: value && `${shown(key)}: ${value}`.slice(0, MAX_TITLE) };
}

function Times({
  run,
  fit,
  nowMs,
  trans
}: { run: IRun; fit: IFit; nowMs: number } & Pick<IExperimentPanel, 'trans'>): React.JSX.Element {
  const { startMs } = run;
  const lasted = took(run, nowMs, trans);
  return (
    <>
      {fit.duration && (
        <span role="gridcell" className="jp-air-Run-figure">
          <bdi>{lasted}</bdi>
        </span>
      )}
      <span
        role="gridcell"
        className="jp-air-Run-figure jp-air-Run-age"
        title={
          startMs === null
            ? ''
            : [trans.__('Started %1', moment(startMs)), lasted && trans.__('took %1', lasted)]
                .filter(Boolean)
                .join(', ')
        }
      >
        <bdi>{age(startMs, nowMs, trans)}</bdi>
      </span>
    </>
  );
}

export const RunRow = React.memo(function RunRow(props: IRunRowProps): React.JSX.Element {
  const { row, index, fit, nowMs, isActive, isSelected, onFold } = props;
  const { trans } = usePanel();
  const { run } = row;
  return (
    <div
      role="row"
      className="jp-air-Run"
      data-run={run.id}
      data-deleted={run.deleted || undefined}
      data-context={row.isContext || undefined}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-rowindex={index + 2}
      aria-expanded={row.children > 0 ? row.unfolded : undefined}
      aria-selected={isSelected}
      tabIndex={isActive ? 0 : -1}
      style={{ top: `calc(${index} * var(--air-row))` }}
    >
      <State run={run} isWord={fit.state} />
      <Name row={row} onFold={onFold} />
      {fit.columns.map(column => {
        const { text, title } = valueOf(run, column);
        return (
          <span role="gridcell" className="jp-air-Run-figure" key={columnName(column)} title={title}>
            <bdi>{text}</bdi>
          </span>
        );
      })}
      <Times run={run} fit={fit} nowMs={nowMs} trans={trans} />
    </div>
  );
});
