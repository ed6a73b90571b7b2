/** The item in the status bar: this machine's GPUs in a line. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { totals } from './brief';
import { bytes, join, percent } from './format';
import { GpuModel } from './model';

/** `GPU 87 % · 61.2 GiB`: mean utilization, memory together; of the local node, else of all. */
export function statusText(model: GpuModel, trans: TranslationBundle): string {
  const local = model.nodes.filter(node => node.local && node.gpus.length > 0);
  const { utilization, memoryUsed } = totals(local.length ? local : model.nodes, node => model.brief(node));
  if (model.problem) {
    return trans.__('GPU: no answer');
  }
  if (model.monitor?.state === 'paused') {
    return trans.__('GPU: paused');
  }
  const figures = [
    utilization === null ? '' : join(percent(utilization)),
    memoryUsed === null ? '' : bytes(memoryUsed)
  ].filter(Boolean);
  return figures.length ? trans.__('GPU %1', figures.join(' · ')) : trans.__('GPU: n/a');
}

export class StatusItem extends Widget {
  constructor(
    private readonly _model: GpuModel,
    private readonly _trans: TranslationBundle,
    open: () => void
  ) {
    super();
    this.addClass('jp-air-StatusItem');
    this._button.type = 'button';
    this._button.title = _trans.__('Open GPU resources');
    this._button.addEventListener('click', open);
    this.node.append(this._button);
    _model.dataChanged.connect(this._update, this);
    _model.stateChanged.connect(this._update, this);
    this._update();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dataChanged.disconnect(this._update, this);
      this._model.stateChanged.disconnect(this._update, this);
      super.dispose();
    }
  }

  private _update(): void {
    this._button.textContent = statusText(this._model, this._trans);
  }

  private readonly _button = document.createElement('button');
}
