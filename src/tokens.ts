/** Names and records that any part of the front end may use. No code that does something. */

export const PLUGIN_ID = 'jupyter-air:gpu';
export const PANEL_ID = 'jupyter-air-gpu';
export const RUNS_PLUGIN_ID = 'jupyter-air:runs';
export const EXPERIMENT_PANEL_ID = 'jupyter-air-experiment';
export const MLFLOW_TAB_ID = 'jupyter-air-mlflow';
/** What a kernel gives of a run, for its card. */
export const RUN_MIME_TYPE = 'application/vnd.jupyter-air.run+json';
export const TRANSLATION_DOMAIN = 'jupyter-air';

export const CommandIDs = {
  open: 'jupyter-air:gpu-open',
  refresh: 'jupyter-air:gpu-refresh',
  exportCsv: 'jupyter-air:gpu-export-csv',
  settings: 'jupyter-air:gpu-settings',
  toggleCompact: 'jupyter-air:gpu-toggle-compact',
  toggleKeepWhileBusy: 'jupyter-air:gpu-toggle-keep-while-busy',
  toggleStatusItem: 'jupyter-air:gpu-toggle-status-item',
  openMlflow: 'jupyter-air:mlflow-open',
  openMlflowInBrowser: 'jupyter-air:mlflow-open-in-browser',
  openExperiment: 'jupyter-air:experiment-open',
  interruptKernel: 'jupyter-air:gpu-interrupt-kernel',
  restartKernel: 'jupyter-air:gpu-restart-kernel',
  shutDown: 'jupyter-air:gpu-shut-down'
} as const;

export type NodeState = 'live' | 'stale' | 'no-driver' | 'no-gpu' | 'error';
export type GpuState = 'ok' | 'lost' | 'missing' | 'error';

/** A GPU or a MIG slice of one. */
export interface IGpu {
  /** Stable within its node; the UUID where there is one. */
  readonly key: string;
  readonly index: string;
  readonly name: string;
  /** The key of the GPU that a MIG slice is part of. */
  readonly parent: string | null;
  readonly migProfile: string | null;
  readonly state: GpuState;
  readonly reason: string | null;
  readonly memoryTotal: number | null;
  /** Bytes that one step of the wire's memory column stands for. */
  readonly memoryStep: number;
  readonly memoryNote: string | null;
  readonly powerLimit: number | null;
}

export interface IHost {
  readonly cpuCount: number | null;
  readonly memoryTotal: number | null;
  readonly memoryStep: number;
}

export interface INode {
  readonly id: string;
  readonly name: string;
  readonly source: string;
  readonly local: boolean;
  readonly simulated: boolean;
  readonly state: NodeState;
  readonly reason: string | null;
  readonly hint: string | null;
  readonly driver: string | null;
  readonly host: IHost | null;
  readonly gpus: readonly IGpu[];
}

/** How much of a node's history is fetched: all of it, or the utilization of each GPU. */
export type Detail = 'full' | 'strip';

/** The newest readings of a node's GPUs together; null where none tells. */
export interface IBrief {
  /** Mean, percent. */
  readonly utilization: number | null;
  readonly memoryUsed: number | null;
  readonly memoryTotal: number | null;
  /** Of the hottest GPU. */
  readonly temperature: number | null;
  readonly power: number | null;
  /** Every reason of any GPU. */
  readonly throttle: number | null;
}

export interface ILayout {
  /** Names of the bits of a throttle mask, the lowest first. */
  readonly throttleReasons: readonly string[];
  readonly nodes: readonly INode[];
}

export interface IMonitor {
  readonly state: 'live' | 'paused';
  /** Seconds until it pauses without activity; null when it will not. */
  readonly pausesInS: number | null;
  readonly pauseAfterS: number | null;
  readonly keepWhileBusy: boolean;
  readonly busy: boolean;
}

export const HOST_METRICS = ['cpu', 'memory'] as const;
export const GPU_METRICS = ['utilization', 'memory', 'temperature', 'power', 'clock', 'throttle'] as const;
export type HostMetric = (typeof HOST_METRICS)[number];
export type GpuMetric = (typeof GPU_METRICS)[number];

/** The key that stands for the host in place of a GPU's. */
export const HOST_KEY = '@host';

export type WindowName = '15m' | '1h' | '2h';
export type Density = 'comfortable' | 'compact';

/** What the nodes of a large fleet are sorted by. */
export type FleetOrder = 'name' | 'busiest' | 'idlest' | 'trouble';

export interface IGpuSettings {
  readonly window: WindowName;
  readonly temperatureWarn: number;
  readonly temperatureError: number;
  readonly memoryWarnPercent: number;
  readonly density: Density;
  readonly fleetOrder: FleetOrder;
  readonly keepWhileBusy: boolean;
  readonly statusBarItem: boolean;
}

export type TrackingState = 'none' | 'stopped' | 'starting' | 'ready' | 'failed';

/** How far the MLflow tracking server is, and where its pages are. */
export interface ITracking {
  readonly state: TrackingState;
  /** One sentence, or empty. */
  readonly message: string;
  readonly elapsedS: number | null;
  /** What whoever looks at the runs should know of the store; one sentence, or empty. */
  readonly note: string;
  /** Null until there is one; `outside` when it is not at Jupyter's own address. */
  readonly page: { readonly url: string; readonly outside: boolean } | null;
}
