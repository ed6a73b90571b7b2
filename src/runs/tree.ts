/** Runs as a tree: children under their parents. */
import type { IRun } from './mlflow';

export const PARENT_TAG = 'mlflow.parentRunId';
/** A tree that is deeper than this was made by no person; it may even be a circle. */
const MAX_DEPTH = 12;
/** So many children are shown without being asked for. */
const FEW = 10;

export interface IRow {
  readonly run: IRun;
  /** 1 at the top, as `aria-level` counts. */
  readonly level: number;
  readonly parentId: string | null;
  /** How many children are known. */
  readonly children: number;
  readonly unfolded: boolean;
  /** Whether it was not asked for itself, but is here for its children. */
  readonly isContext: boolean;
  /** Among its siblings, from 1 on. */
  readonly position: number;
  readonly siblings: number;
}

export function parentId(run: IRun): string | null {
  const id = run.tags.get(PARENT_TAG) ?? '';
  return id === '' ? null : id;
}

/** The parents of runs that are not among them. */
export function missingParents(runs: ReadonlyMap<string, IRun>): string[] {
  const missing = new Set<string>();
  for (const run of runs.values()) {
    const parent = parentId(run);
    if (parent !== null && !runs.has(parent)) {
      missing.add(parent);
    }
  }
  return [...missing];
}

/** The run and its ancestors, the root last; a circle ends where it closes. */
function lineage(run: IRun, known: ReadonlyMap<string, IRun>): IRun[] {
  const chain = [run];
  for (let one = run; chain.length < MAX_DEPTH;) {
    const parent = known.get(parentId(one) ?? '');
    if (!parent || chain.includes(parent)) {
      break;
    }
    chain.push(parent);
    one = parent;
  }
  return chain;
}

/** Which runs a person has folded or unfolded; what nobody has decided stays as it was first shown. */
export class Folding {
  isUnfolded(id: string, children: number): boolean {
    let unfolded = this._decided.get(id);
    if (unfolded === undefined) {
      unfolded = this.unfoldsAll || children <= FEW;
      this._decided.set(id, unfolded);
    }
    return unfolded;
  }

  set(id: string, unfolded: boolean): void {
    this._decided.set(id, unfolded);
  }

  /** What is looked for may be a child: then all are shown. */
  unfoldsAll = false;

  private readonly _decided = new Map<string, boolean>();
}

/**
 * The rows in view of the folding.
 *
 * @param order The runs as MLflow sorted them: a family stands where its first member does.
 * @param known These, and parents that were asked for besides.
 */
export function rowsOf(order: readonly IRun[], known: ReadonlyMap<string, IRun>, folding: Folding): IRow[] {
  const roots: IRun[] = [];
  const children = new Map<string, IRun[]>();
  const placed = new Set<string>();
  for (const run of order) {
    const chain = lineage(run, known);
    for (let i = chain.length - 1; i >= 0; i--) {
      const one = chain[i];
      if (placed.has(one.id)) {
        continue;
      }
      placed.add(one.id);
      if (i === chain.length - 1) {
        roots.push(one);
      } else {
        const siblings = children.get(chain[i + 1].id);
        if (siblings) {
          siblings.push(one);
        } else {
          children.set(chain[i + 1].id, [one]);
        }
      }
    }
  }
  const asked = new Set(order.map(run => run.id));
  const rows: IRow[] = [];
  const add = (runs: readonly IRun[], level: number, parent: string | null): void => {
    runs.forEach((run, i) => {
      const own = children.get(run.id) ?? [];
      const unfolded = own.length > 0 && folding.isUnfolded(run.id, own.length);
      rows.push({
        run,
        level,
        parentId: parent,
        children: own.length,
        unfolded,
        isContext: !asked.has(run.id),
        position: i + 1,
        siblings: runs.length
      });
      if (unfolded) {
        add(own, level + 1, run.id);
      }
    });
  };
  add(roots, 1, null);
  return rows;
}
