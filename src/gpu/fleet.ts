/** Many nodes: which of them are wanted, and in what order. */
import { FleetOrder, IBrief, IGpuSettings, INode } from '../tokens';
import { isAlarm, temperatureTone } from './words';

const BY_NAME = new Intl.Collator(undefined, { numeric: true });

const texts = new WeakMap<INode, string>();

/** What a node is found by: its name, its models, where it comes from, and what is wrong with it. */
function textOf(node: INode): string {
  let text = texts.get(node);
  if (text === undefined) {
    const models = new Set(node.gpus.map(gpu => gpu.name));
    const reasons = new Set(node.gpus.map(gpu => gpu.reason ?? ''));
    text = [node.name, node.source, node.state, node.reason, node.driver, ...models, ...reasons]
      .join('\n')
      .toLowerCase();
    texts.set(node, text);
  }
  return text;
}

/** The nodes in which every word of the search occurs. */
export function found(nodes: readonly INode[], search: string): readonly INode[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? nodes.filter(node => words.every(word => textOf(node).includes(word))) : nodes;
}

/** How bad it is: 4 a node without readings, 3 a GPU without, 2 critical, 1 a warning, 0 nothing. */
export function troubleOf(node: INode, brief: IBrief | null, settings: IGpuSettings): number {
  if (node.state === 'error' || node.state === 'stale') {
    return 4;
  }
  if (node.gpus.some(gpu => gpu.state !== 'ok')) {
    return 3;
  }
  const tone = temperatureTone(brief?.temperature ?? null, settings);
  if (tone === 'error') {
    return 2;
  }
  return tone === 'warn' || isAlarm(brief?.throttle ?? null) ? 1 : 0;
}

/** This machine comes first when it has GPUs, and last when it only serves Jupyter. */
function place(node: INode): number {
  return node.local ? (node.gpus.length > 0 ? 0 : 2) : 1;
}

/** Sorted; nodes that are alike, and those of which nothing is known, by name. */
export function sorted(
  nodes: readonly INode[],
  order: FleetOrder,
  brief: (node: INode) => IBrief | null,
  settings: IGpuSettings
): INode[] {
  const byName = (a: INode, b: INode): number => place(a) - place(b) || BY_NAME.compare(a.name, b.name);
  if (order === 'name') {
    return [...nodes].sort(byName);
  }
  const rank = (node: INode): number => {
    const one = brief(node);
    switch (order) {
      case 'trouble':
        return -troubleOf(node, one, settings);
      case 'busiest':
        return one?.utilization == null ? Infinity : -one.utilization;
      case 'idlest':
        return one?.utilization ?? Infinity;
    }
  };
  const ranks = new Map(nodes.map(node => [node, rank(node)]));
  const by = (node: INode): number => ranks.get(node) ?? 0;
  // Two infinite ranks have no difference that is a number.
  return [...nodes].sort((a, b) => (by(a) === by(b) ? byName(a, b) : by(a) - by(b)));
}

/** The order on the screen. While a person is among the nodes nothing moves: new ones come last. */
export class Arrangement {
  /** Whether a person is among the nodes. */
  hold(isHeld: boolean): void {
    this._isHeld = isHeld;
  }

  arrange(
    nodes: readonly INode[],
    order: FleetOrder,
    brief: (node: INode) => IBrief | null,
    settings: IGpuSettings
  ): INode[] {
    const stays = this._isHeld && this._order === order;
    const arranged = stays ? this._kept(nodes) : sorted(nodes, order, brief, settings);
    this._order = order;
    this._places = new Map(arranged.map((node, place) => [node.id, place]));
    return arranged;
  }

  private _kept(nodes: readonly INode[]): INode[] {
    const place = (node: INode): number => this._places.get(node.id) ?? this._places.size;
    return [...nodes].sort((a, b) => place(a) - place(b));
  }

  private _isHeld = false;
  private _order: FleetOrder | null = null;
  private _places: ReadonlyMap<string, number> = new Map();
}
