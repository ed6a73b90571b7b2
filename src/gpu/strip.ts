/** The heat strip of a node: a line for each GPU, the fuller the busier. */
import { fillBack, heatCells } from './heat';
import { Hub, IDrawing } from './hub';
import { INode } from '../tokens';

export class Strip implements IDrawing {
  constructor(
    readonly element: HTMLElement,
    private readonly _hub: Hub,
    private _node: INode
  ) {
    this._canvas = document.createElement('canvas');
    this._mark = document.createElement('div');
    this._mark.className = 'jp-air-Strip-cursor';
    this._mark.hidden = true;
    element.append(this._canvas, this._mark);
    _hub.add(this);
  }

  /** The same node, with what the server says of it now. */
  set node(node: INode) {
    this._node = node;
    this._hub.invalidate(this);
  }

  draw(): void {
    const { gpus } = this._node;
    const { clientWidth: width, clientHeight: height } = this.element;
    const context = this._canvas.getContext('2d');
    if (!context || width === 0 || gpus.length === 0) {
      return;
    }
    const ratio = window.devicePixelRatio || 1;
    this._canvas.width = Math.round(width * ratio);
    this._canvas.height = Math.round(height * ratio);
    const rowHeight = this._canvas.height / gpus.length;
    const gap = rowHeight >= 4 ? Math.max(1, Math.round(ratio)) : 0;
    const cells = this._drawCells(width);
    context.imageSmoothingEnabled = false;
    gpus.forEach((_, row) => {
      const top = Math.round(row * rowHeight);
      const high = Math.max(1, Math.round((row + 1) * rowHeight) - top - gap);
      context.drawImage(cells, 0, row, width, 1, 0, top, this._canvas.width, high);
    });
    // The cells are shades; here they take their colour.
    const { line, stale } = this._hub.palette;
    context.globalCompositeOperation = 'source-in';
    context.fillStyle = this._node.state === 'live' || this._node.state === 'error' ? line : stale;
    context.fillRect(0, 0, this._canvas.width, this._canvas.height);
  }

  /** A pixel for each cell, a row for each GPU: the busier, the more opaque; nothing where nothing is known. */
  private _drawCells(width: number): HTMLCanvasElement {
    const { gpus, id } = this._node;
    const { fromS, toS } = this._hub.range;
    const { series, pollIntervalS } = this._hub.model;
    const reach = Math.ceil((pollIntervalS / (toS - fromS)) * width);
    const image = new ImageData(width, gpus.length);
    gpus.forEach((gpu, row) => {
      const column = series.column(id, gpu.key, 'utilization');
      fillBack(heatCells(series, column, fromS, toS, width), reach).forEach((percent, cell) => {
        if (!Number.isNaN(percent)) {
          image.data[(row * width + cell) * 4 + 3] = 255 * (0.08 + (0.92 * Math.min(100, percent)) / 100);
        }
      });
    });
    this._cells.width = width;
    this._cells.height = gpus.length;
    this._cells.getContext('2d')?.putImageData(image, 0, 0);
    return this._cells;
  }

  moveCursor(timeS: number | null): void {
    const { fromS, toS } = this._hub.range;
    this._mark.hidden = timeS === null || timeS < fromS || timeS > toS;
    if (timeS !== null) {
      this._mark.style.transform = `translateX(${((timeS - fromS) / (toS - fromS)) * this.element.clientWidth}px)`;
    }
  }

  resize(): void {
    // Drawn at its new size by the hub.
  }

  dispose(): void {
    this._hub.remove(this);
    this._canvas.remove();
    this._mark.remove();
  }

  private readonly _canvas: HTMLCanvasElement;
  private readonly _cells = document.createElement('canvas');
  private readonly _mark: HTMLElement;
}
