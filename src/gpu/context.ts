/** What the views of the pane are given, and how they follow signals. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ISignal, Signal } from '@lumino/signaling';
import React from 'react';
import { CellBands } from './bands';
import { Hub } from './hub';
import { GpuModel } from './model';
import { Settings } from './settings';
import type { IGpu, INode } from '../tokens';

export interface IPane {
  readonly model: GpuModel;
  readonly settings: Settings;
  readonly bands: CellBands;
  readonly hub: Hub;
  readonly ticker: Ticker;
  readonly trans: TranslationBundle;
  /** Who holds a GPU's memory; suspends until it is loaded. */
  readonly Holders: React.ComponentType<{ node: INode; gpu: IGpu }>;
  readonly exportCsv: () => void;
  /** Opens the menu of settings below what was clicked. */
  readonly openSettings: (anchor: Element) => void;
}

const PaneContext = React.createContext<IPane | null>(null);
export const PaneProvider = PaneContext.Provider;

export function usePane(): IPane {
  const pane = React.useContext(PaneContext);
  if (pane === null) {
    throw new Error('A view of the GPU pane is used outside of it.');
  }
  return pane;
}

/** Ages grow between two answers. A frame of the whole document costs more than a chart: more ticks would be felt. */
const TICK_MS = 5000;

/** A tick now and then while the pane is seen, and one at every answer. */
export class Ticker {
  constructor(model: GpuModel) {
    model.dataChanged.connect(this.tick, this);
    model.stateChanged.connect(this.tick, this);
  }

  get ticked(): ISignal<this, void> {
    return this._ticked;
  }

  set isRunning(run: boolean) {
    clearInterval(this._timer);
    if (run) {
      this._timer = setInterval(() => this.tick(), TICK_MS);
      this.tick();
    }
  }

  tick(): void {
    this._ticked.emit();
  }

  dispose(): void {
    this.isRunning = false;
    Signal.clearData(this);
  }

  private _timer: ReturnType<typeof setInterval> | undefined;
  private readonly _ticked = new Signal<this, void>(this);
}
