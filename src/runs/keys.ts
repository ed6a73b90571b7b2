/** Keys and pointer on the list of runs, as lists of files have them. */
import React from 'react';
import { ROW_PX, usePanel } from './experimentContext';
import type { IRun } from './mlflow';
import type { IRow } from './tree';

interface IGrid {
  readonly scroller: React.RefObject<HTMLElement>;
  readonly rows: readonly IRow[];
  /** Index of the row that keys act on; -1 for none. */
  readonly active: number;
  readonly fold: (row: IRow) => void;
}

export type IGridKeys = Pick<
  React.HTMLAttributes<HTMLElement>,
  'onKeyDown' | 'onClick' | 'onDoubleClick' | 'onContextMenu' | 'onFocus'
>;

/** The runs that an action is for: the chosen ones when this one is among them, else this one. */
function targets(rows: readonly IRow[], ids: ReadonlySet<string>, run: IRun): IRun[] {
  return ids.has(run.id) ? rows.filter(row => ids.has(row.run.id)).map(row => row.run) : [run];
}

function idAt(target: EventTarget): string | null {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-run]') : null;
  return row?.dataset.run ?? null;
}

/** Brings the row into view, below the head, and gives it the focus once it is drawn. */
function useReveal({ scroller, rows }: IGrid): (index: number) => void {
  const wanted = React.useRef<string | null>(null);
  React.useLayoutEffect(() => {
    if (wanted.current !== null) {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(wanted.current)}"]`);
      row?.focus({ preventScroll: true });
      wanted.current = null;
    }
  });
  return index => {
    const list = scroller.current;
    if (!list || rows.length === 0) {
      return;
    }
    const head = list.querySelector<HTMLElement>('.jp-air-Runs-head')?.offsetHeight ?? 0;
    const [top, bottom] = [index * ROW_PX, (index + 1) * ROW_PX - (list.clientHeight - head)];
    list.scrollTo({ top: Math.min(top, Math.max(bottom, list.scrollTop)) });
    wanted.current = rows[index].run.id;
  };
}

/** Where a key leads; null for one that leads nowhere. */
function destination(key: string, { rows, active, scroller }: IGrid): number | null {
  const last = rows.length - 1;
  const at = Math.max(active, 0);
  const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW_PX) - 2);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: active < 0 ? 0 : at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: last
  };
  return Object.hasOwn(steps, key) ? Math.min(Math.max(steps[key], 0), last) : null;
}

export function useKeys(grid: IGrid): IGridKeys {
  const { rows, active, fold } = grid;
  const { actions, selection } = usePanel();
  const reveal = useReveal(grid);
  const order = (): string[] => rows.map(row => row.run.id);

  const go = (index: number, event: React.KeyboardEvent): void => {
    const { id } = rows[index].run;
    if (event.shiftKey) {
      selection.extend(id, order());
    } else if (event.ctrlKey || event.metaKey) {
      selection.move(id);
    } else {
      selection.only(id);
    }
    reveal(index);
  };

  /** Into the tree or out of it; whether there was a way. */
  const turn = (key: string, event: React.KeyboardEvent): boolean => {
    const row = rows[active];
    const isForward =
      key === (getComputedStyle(event.currentTarget).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight');
    if (row.children > 0 && row.unfolded !== isForward) {
      fold(row);
    } else if (isForward && row.children > 0) {
      go(active + 1, event);
    } else if (!isForward && row.parentId !== null) {
      go(
        rows.findIndex(({ run }) => run.id === row.parentId),
        event
      );
    }
    return true;
  };

  const act = (event: React.KeyboardEvent, run: IRun): boolean => {
    const isCommand = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case 'Enter':
        actions.open(run);
        return true;
      case ' ':
        selection.toggle(run.id);
        return true;
      case 'F2':
        actions.rename(run);
        return true;
      case 'Delete':
        actions.remove(targets(rows, selection.ids, run));
        return true;
      case 'c':
        if (isCommand && getSelection()?.isCollapsed !== false) {
          actions.copyId(targets(rows, selection.ids, run));
          return true;
        }
        return false;
      case 'a':
        if (isCommand) {
          selection.all(order());
        }
        return isCommand;
      case 'Escape':
        selection.clear();
        return true;
      case 'ArrowLeft':
      case 'ArrowRight':
        return turn(event.key, event);
      case 'ContextMenu':
      case 'F10': {
        if (event.key === 'F10' && !event.shiftKey) {
          return false;
        }
        const box = (event.target as Element).getBoundingClientRect();
        openMenu(run, box.left + 24, box.bottom);
        return true;
      }
      default:
        return false;
    }
  };

  const openMenu = (run: IRun, x: number, y: number): void => {
    if (!selection.ids.has(run.id)) {
      selection.only(run.id);
    }
    actions.openMenu(x, y);
  };

  return {
    onKeyDown: event => {
      const isInHead = event.target instanceof Element && event.target.closest('.jp-air-Runs-head') !== null;
      if (rows.length === 0 || isInHead) {
        return;
      }
      const to = destination(event.key, grid);
      if (to !== null) {
        go(to, event);
      } else if (active < 0 || !act(event, rows[active].run)) {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    },
    onClick: event => {
      const id = idAt(event.target);
      if (id === null) {
        return;
      }
      if (event.shiftKey) {
        selection.extend(id, order());
      } else if (event.ctrlKey || event.metaKey) {
        selection.toggle(id);
      } else {
        selection.only(id);
      }
    },
    onDoubleClick: event => {
      const id = idAt(event.target);
      const row = rows.find(({ run }) => run.id === id);
      if (row) {
        actions.open(row.run);
      }
    },
    onContextMenu: event => {
      const id = idAt(event.target);
      const row = rows.find(({ run }) => run.id === id);
      // With Shift the browser's own menu opens, as everywhere in JupyterLab.
      if (row && !event.shiftKey) {
        event.preventDefault();
        event.stopPropagation();
        openMenu(row.run, event.clientX, event.clientY);
      }
    },
    onFocus: event => {
      const id = idAt(event.target);
      if (id !== null && id !== selection.active) {
        selection.move(id);
      }
    }
  };
}
