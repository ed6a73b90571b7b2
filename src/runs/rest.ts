/** What talks to MLflow, in one piece: loaded apart, a card and the panel would each bring the client with it. */
import { ServerConnection } from '@jupyterlab/services';
import { TrackingApi } from './api';
import { ContextApi } from './context';
import { Leads } from './lead';
import { LiveRuns } from './live';
import { MlflowApi } from './mlflow';
import type { Key } from './place';

export interface IRest {
  readonly context: ContextApi;
  /** Of the main server, or of the store that a key stands for. */
  tracking(key?: Key): TrackingApi;
  readonly leads: Leads;
  /** Shared by all who show runs. */
  readonly live: LiveRuns;
  /** @throws AirError for an address that is not the proxy of this Jupyter server. */
  mlflow(rest: string): MlflowApi;
}

export function connect(settings: ServerConnection.ISettings): IRest {
  const mlflow = (rest: string): MlflowApi => new MlflowApi(rest, settings);
  const context = new ContextApi(settings);
  const tracking = (key?: Key): TrackingApi => new TrackingApi(settings, key);
  return {
    context,
    tracking,
    leads: new Leads({ context, tracking }, settings),
    live: new LiveRuns(mlflow),
    mlflow
  };
}
