/** Where a notebook's runs are, as the Jupyter server knows it. */
import { ServerConnection } from '@jupyterlab/services';
import { malformed, record, request, text, textOrNull } from '../api';

const KINDS = ['embedded', 'store', 'server', 'databricks', 'none'] as const;
const MAX_PATH = 5000;
const MAX_SENTENCE = 1000;

/** What takes the runs: our own store, one beside the notebook, a server, Databricks, or nothing that can be shown. */
export type StoreKind = (typeof KINDS)[number];

export interface IRunsContext {
  /** The notebook's file, absolute, as the runs' tag has it; null where it is unknown. */
  readonly notebook: string | null;
  /** Name of its default experiment, which need not exist. */
  readonly experiment: string;
  readonly kind: StoreKind;
  /** Without credentials; null where it is unknown. */
  readonly trackingUri: string | null;
  /** Root-relative address under which MLflow's REST is asked; null when it cannot be. */
  readonly rest: string | null;
  /** Base of the pages that a browser can open; null when there is none. */
  readonly pages: string | null;
  /** One sentence when `rest` is null: why, and what to do. */
  readonly message: string;
}

/** A notebook; both are null where no notebook is in front. */
export interface INotebookPlace {
  readonly kernelId: string | null;
  /** As JupyterLab's contents have it. */
  readonly path: string | null;
}

/** Only what a browser may follow: a place at this very address, or a page of the web. */
function pagesOf(value: unknown): string | null {
  const pages = textOrNull(value, MAX_PATH);
  return pages !== null && /^(\/(?![/\\])|https?:\/\/)/i.test(pages) ? pages : null;
}

/** Reads an answer of `GET runs/context`. */
export function decodeContext(answer: unknown): IRunsContext {
  const wire = record(answer, 'content');
  const rest = textOrNull(wire.rest, MAX_PATH);
  return {
    notebook: textOrNull(wire.notebook, MAX_PATH),
    experiment: text(wire.experiment, MAX_SENTENCE),
    kind: KINDS.find(kind => kind === wire.kind) ?? 'none',
    trackingUri: textOrNull(wire.tracking_uri, MAX_PATH),
    rest,
    pages: pagesOf(wire.pages),
    message: text(wire.message, MAX_SENTENCE)
  };
}

export class ContextApi {
  constructor(private readonly _settings: ServerConnection.ISettings = ServerConnection.makeSettings()) {}

  /** Where the runs of a notebook are; without one, where those of a new notebook would be. */
  async of({ kernelId, path }: INotebookPlace): Promise<IRunsContext> {
    const query = new URLSearchParams();
    if (kernelId !== null) {
      query.set('kernel', kernelId);
    }
    if (path !== null) {
      query.set('path', path);
    }
    const response = await request(this._settings, query.size ? `runs/context?${query}` : 'runs/context');
    let answer: unknown;
    try {
      answer = await response.json();
    } catch {
      throw malformed('JSON');
    }
    return decodeContext(answer);
  }
}
