/** Of a large fleet: which nodes somebody looks at, how closely, and of which the past is here. */
import { Detail } from '../tokens';

/** So many nodes that were looked at before are still followed: scrolling back shows them at once. */
const MOST_KEPT = 24;

export class Attention {
  /** Says how closely a node is looked at; null when it no longer is. */
  look(node: string, detail: Detail | null): void {
    if (detail === null) {
      this._seen.delete(node);
    } else {
      this._seen.set(node, detail);
    }
  }

  /** The nodes that are followed: every answer brings what is new of them. */
  get followed(): ReadonlyMap<string, Detail> {
    return this._followed;
  }

  /** The nodes that are looked at and not, or not so closely, followed yet. */
  get missing(): ReadonlyMap<string, Detail> {
    const missing = new Map<string, Detail>();
    this._seen.forEach((detail, node) => {
      const held = this._followed.get(node);
      if (held !== 'full' && held !== detail) {
        missing.set(node, detail);
      }
    });
    return missing;
  }

  /** From now on these are followed; gives those that are let go for them, longest unseen first. */
  follow(nodes: ReadonlyMap<string, Detail>): string[] {
    nodes.forEach((detail, node) => this._followed.set(node, detail));
    // Those that are seen move to the end.
    this._seen.forEach((_, node) => {
      const detail = this._followed.get(node);
      if (detail) {
        this._followed.delete(node);
        this._followed.set(node, detail);
      }
    });
    const unseen = [...this._followed.keys()].filter(node => !this._seen.has(node));
    const dropped = unseen.slice(0, Math.max(0, unseen.length - MOST_KEPT));
    dropped.forEach(node => this._followed.delete(node));
    return dropped;
  }

  /** Nothing is followed any more. */
  forget(): void {
    this._followed.clear();
  }

  private readonly _seen = new Map<string, Detail>();
  private readonly _followed = new Map<string, Detail>();
}
