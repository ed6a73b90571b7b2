/** Who holds the memory of this machine's GPUs: asked after each answer of the monitor, while somebody sees it. */
import { ISignal, Signal } from '@lumino/signaling';
import { GpuApi, Json, list, numberOrNull, record, text, textOrNull } from '../api';
import { GpuModel } from './model';

const MAX_PATH = 4096;
const KINDS = ['notebook', 'console', 'kernel', 'terminal', 'process', 'host-process'] as const;
export type HolderKind = (typeof KINDS)[number];

/** A notebook, a console, or something else that runs on a kernel. */
export interface ISession {
  readonly type: string;
  readonly name: string;
  readonly path: string;
}

export interface IHolder {
  readonly kind: HolderKind;
  /** Bytes; null is unknown. */
  readonly memory: number | null;
  /** As the driver numbers them: the first ones. */
  readonly pids: readonly number[];
  readonly pidCount: number;
  readonly kernelId: string | null;
  readonly kernelName: string | null;
  readonly sessions: readonly ISession[];
  /** As Jupyter says it: `idle`, `busy`, `starting` and more. */
  readonly state: string | null;
  /** The server's clock; null unless idle. */
  readonly idleSinceS: number | null;
  readonly terminal: string | null;
  readonly user: string | null;
  readonly program: string | null;
  readonly own: boolean;
}

export interface IGpuHolders {
  /** The one that holds most first; null when the driver does not tell. */
  readonly holders: readonly IHolder[] | null;
  /** How many more there are than are listed. */
  readonly leftOut: number;
}

/** What can be done about a holder. */
export interface IOwnerActions {
  goTo(session: ISession): void;
  goToTerminal(name: string): void;
  /** Asks first. */
  shutDown(holder: IHolder): void;
  /** Opens a menu of all that can be done, below what was clicked. */
  openMenu(holder: IHolder, anchor: Element): void;
}

export interface IHolding {
  readonly holders: Holders;
  readonly actions: IOwnerActions;
}

function decodeHolder(value: unknown): IHolder {
  const holder = record(value, 'holder');
  const kind = text(holder.kind) as HolderKind;
  const pids = list(holder.pids, 'process numbers').filter(pid => typeof pid === 'number');
  return {
    kind: KINDS.includes(kind) ? kind : 'process',
    memory: numberOrNull(holder.memory_bytes),
    pids,
    pidCount: numberOrNull(holder.pid_count) ?? pids.length,
    kernelId: textOrNull(holder.kernel_id),
    kernelName: textOrNull(holder.kernel_name),
    sessions: list(holder.sessions, 'sessions').map(one => {
      const session = record(one, 'session');
      return { type: text(session.type), name: text(session.name), path: text(session.path, MAX_PATH) };
    }),
    state: textOrNull(holder.execution_state),
    idleSinceS: numberOrNull(holder.idle_since_s),
    terminal: textOrNull(holder.terminal),
    user: textOrNull(holder.user),
    program: textOrNull(holder.program),
    own: holder.own === true
  };
}

function decodeGpu(gpu: Json): IGpuHolders {
  return {
    holders: gpu.holders === null ? null : list(gpu.holders, 'holders').map(decodeHolder),
    leftOut: numberOrNull(gpu.left_out) ?? 0
  };
}

const keyOf = (node: string, gpu: string): string => `${node} ${gpu}`;

export interface IHoldersOptions {
  readonly api: Pick<GpuApi, 'holders'>;
  readonly model: GpuModel;
  /** Whether the pane can be seen. */
  readonly isSeen: () => boolean;
}

export class Holders {
  constructor(private readonly _options: IHoldersOptions) {
    _options.model.dataChanged.connect(() => void this.ask(), this);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The same object until something about it changes; null until the first answer. */
  of(node: string, gpu: string): IGpuHolders | null {
    return this._gpus.get(keyOf(node, gpu))?.holders ?? null;
  }

  /** Begins to ask, as long as somebody watches; returns what ends that. */
  watch(): () => void {
    this._watchers++;
    if (this._watchers === 1) {
      void this.ask();
    }
    return () => {
      this._watchers--;
    };
  }

  /** Asks, when anybody would see the answer: one question at a time. */
  async ask(): Promise<void> {
    const { api, model, isSeen } = this._options;
    if (this._asking || this._watchers === 0 || !isSeen() || document.hidden || model.problem) {
      return;
    }
    this._asking = true;
    try {
      this._take(await api.holders());
    } catch (reason) {
      // The readings go on without; what was known may not hold any more. The pane tells when the server is gone.
      console.warn('Who holds the GPUs could not be found out.', reason);
      this._gpus = new Map();
    }
    this._asking = false;
    this._changed.emit();
  }

  private _take(answer: unknown): void {
    const gpus = list(record(answer, 'content').gpus, 'GPUs').map(gpu => record(gpu, 'GPU'));
    this._gpus = new Map(
      gpus.map(gpu => {
        const key = keyOf(text(gpu.node), text(gpu.uuid));
        const wire = JSON.stringify(gpu);
        const known = this._gpus.get(key);
        return [key, known?.wire === wire ? known : { wire, holders: decodeGpu(gpu) }];
      })
    );
  }

  private readonly _changed = new Signal<this, void>(this);
  private _gpus: ReadonlyMap<string, { wire: string; holders: IGpuHolders }> = new Map();
  private _watchers = 0;
  private _asking = false;
}
