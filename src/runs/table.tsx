/** The runs in a tree: as many rows as are in view, however many there are. */
import React from 'react';
import { useSignal } from '../signal';
import { useColumns } from './chooser';
import { columnName, IColumn, isSame, ISort, SortKey } from './columns';
import { ROW_PX, useNow, usePanel } from './experimentContext';
import { IGridKeys, useKeys } from './keys';
import type { IRun } from './mlflow';
import { IFit, RunRow } from './tableRow';
import { IRow, rowsOf } from './tree';
import { shown } from './words';

const OVERSCAN = 8;
/** So many rows before the end the next page is asked for. */
const AHEAD = 40;
const AGE_MS = 20_000;
const DURATION_MS = 1000;
const NOTHING: readonly IRun[] = [];
const NO_RUNS: ReadonlyMap<string, IRun> = new Map();

interface IBox {
  readonly top: number;
  readonly height: number;
  readonly width: number;
}

/** What fits into so many pixels; style/experiment.css has the widths. */
export function fitting(columns: readonly IColumn[], widthPx: number): IFit {
  const state = widthPx >= 520;
  const duration = widthPx >= 400;
  const left = widthPx - (state ? 92 : 26) - (duration ? 96 : 0) - 56 - 104;
  return { columns: columns.slice(0, Math.max(1, Math.floor(left / 76))), duration, state };
}

/** The part of the list that is in view, of an element that scrolls. */
function useBox(element: React.RefObject<HTMLElement>): IBox {
  const [box, setBox] = React.useState<IBox>({ top: 0, height: 600, width: 300 });
  React.useLayoutEffect(() => {
    const list = element.current;
    if (!list) {
      return;
    }
    const read = (): void => {
      // A hidden list has no size: what is known of it stays.
      if (list.clientHeight > 0) {
        setBox({ top: list.scrollTop, height: list.clientHeight, width: list.clientWidth });
      }
    };
    const sizes = new ResizeObserver(read);
    sizes.observe(list);
    list.addEventListener('scroll', read, { passive: true });
    read();
    return () => {
      sizes.disconnect();
      list.removeEventListener('scroll', read);
    };
  }, [element]);
  return box;
}

/** Keeps the rows where they are when others come before them. */
function useAnchor(element: React.RefObject<HTMLElement>, rows: readonly IRow[], box: IBox): void {
  const anchor = React.useRef<{ id: string; above: number } | null>(null);
  React.useLayoutEffect(() => {
    const list = element.current;
    if (list && anchor.current && list.scrollTop > 0) {
      const { id, above } = anchor.current;
      const at = rows.findIndex(row => row.run.id === id);
      const top = at * ROW_PX + above;
      if (at >= 0 && Math.abs(top - list.scrollTop) >= 1) {
        list.scrollTo({ top });
      }
    }
    // Only new rows move it; where it is scrolled to is noted below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [rows]);
  React.useLayoutEffect(() => {
    const first = rows.at(Math.floor(box.top / ROW_PX));
    anchor.current = first ? { id: first.run.id, above: box.top % ROW_PX } : null;
  }, [rows, box.top]);
}

function Head({ fit, sort }: { fit: IFit; sort: ISort }): React.JSX.Element {
  const { model, trans } = usePanel();
  const title = (by: SortKey, text: string, className: string): React.JSX.Element => {
    const isSorted = isSame(by, sort.by);
    return (
      <span
        key={typeof by === 'string' ? by : columnName(by)}
        role="columnheader"
        className={className}
        aria-sort={isSorted ? (sort.descending ? 'descending' : 'ascending') : undefined}
      >
        <button type="button" title={trans.__('Sort by %1', text)} onClick={() => model.sort(by)}>
          <bdi>{text}</bdi>
          {isSorted && <span aria-hidden="true">{sort.descending ? '↓' : '↑'}</span>}
        </button>
      </span>
    );
  };
  return (
    <div role="rowgroup" className="jp-air-Runs-head">
      <div role="row" aria-rowindex={1}>
        <span role="columnheader" className="jp-air-Run-state">
          <span className={fit.state ? undefined : 'jp-air-sr'}>{trans.__('Status')}</span>
        </span>
        {title('name', trans.__('Run'), 'jp-air-Run-name')}
        {fit.columns.map(column => title(column, shown(column.key), 'jp-air-Run-figure'))}
        {fit.duration && (
          <span role="columnheader" className="jp-air-Run-figure">
            {trans.__('Duration')}
          </span>
        )}
        {title('start', trans.__('Age'), 'jp-air-Run-figure')}
      </div>
    </div>
  );
}

/** The rows in the order of the list, anew when it or the folding changes. */
function useRows(): { rows: readonly IRow[]; fold: (row: IRow) => void } {
  const { model } = usePanel();
  const order = useSignal(model.changed, () => model.list?.order ?? NOTHING);
  const known = useSignal(model.changed, () => model.list?.known ?? NO_RUNS);
  const { folding } = model;
  const [folded, setFolded] = React.useState(0);
  const rows = React.useMemo(
    () => rowsOf(order, known, folding),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the count stands for the folding
    [order, known, folding, folded]
  );
  const fold = React.useCallback(
    (row: IRow): void => {
      folding.set(row.run.id, !row.unfolded);
      setFolded(count => count + 1);
      if (!row.unfolded) {
        // Some may be on pages that are not here yet.
        model.list?.children(row.run.id).catch(() => undefined);
      }
    },
    [model, folding]
  );
  return { rows, fold };
}

/** Which rows are drawn: those in view, those about to be, and the one that has the focus. */
function drawn(rows: readonly IRow[], box: IBox, active: number): number[] {
  const first = Math.max(0, Math.floor(box.top / ROW_PX) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((box.top + box.height) / ROW_PX) + OVERSCAN);
  const indices = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return active >= 0 && (active < first || active >= last) ? [...indices, active] : indices;
}

export function RunTable(): React.JSX.Element {
  const { model, selection, trans } = usePanel();
  const scroller = React.useRef<HTMLDivElement>(null);
  const box = useBox(scroller);
  const { rows, fold } = useRows();
  useAnchor(scroller, rows, box);
  const fit = fitting(useColumns(), box.width);
  const sort = useSignal(model.changed, () => model.view.sort);
  const hasMore = useSignal(model.changed, () => model.list?.hasMore ?? false);
  const isBusy = useSignal(model.changed, () => model.isAsking || (model.list?.isAsking ?? false));
  const ids = useSignal(selection.changed, () => selection.ids);
  const activeId = useSignal(selection.changed, () => selection.active);
  const active = React.useMemo(() => rows.findIndex(row => row.run.id === activeId), [rows, activeId]);
  const indices = drawn(rows, box, active);
  const ticks = fit.duration && indices.some(i => rows[i].run.status === 'RUNNING');
  const nowMs = useNow(ticks ? DURATION_MS : AGE_MS);
  const keys: IGridKeys = useKeys({ scroller, rows, active, fold });

  const [first, last] = [indices.at(0) ?? 0, indices.at(-1) ?? 0];
  React.useEffect(() => {
    model.look(rows.slice(first, last + 1).map(row => row.run));
  }, [model, rows, first, last]);
  React.useEffect(() => {
    const list = model.list;
    if (
      list &&
      hasMore &&
      !isBusy &&
      !list.moreProblem &&
      box.top + box.height > (rows.length - AHEAD) * ROW_PX
    ) {
      void list.more();
    }
  }, [model, rows, box, hasMore, isBusy]);

  return (
    <div
      ref={scroller}
      className="jp-air-Runs"
      role="treegrid"
      aria-label={trans.__('Runs')}
      aria-multiselectable="true"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      aria-busy={isBusy}
      style={{ '--air-metrics': fit.columns.length } as React.CSSProperties}
      data-duration={fit.duration || undefined}
      data-state={fit.state || undefined}
      {...keys}
    >
      <Head fit={fit} sort={sort} />
      <div role="rowgroup" className="jp-air-Runs-body" style={{ height: rows.length * ROW_PX }}>
        {indices.map(i => (
          <RunRow
            key={rows[i].run.id}
            row={rows[i]}
            index={i}
            fit={fit}
            nowMs={nowMs}
            isActive={active < 0 ? i === 0 : i === active}
            isSelected={ids.has(rows[i].run.id)}
            onFold={fold}
          />
        ))}
      </div>
    </div>
  );
}
