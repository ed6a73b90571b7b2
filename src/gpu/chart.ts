/** One small chart; the only place that knows uPlot. */
import uPlot from 'uplot';
import { Hub, IDrawing } from './hub';
import { IPoints, Metric } from './series';

export interface IChartSource {
  readonly node: string;
  readonly gpu: string;
  readonly metric: Metric;
  /** The top of the axis. */
  readonly max: () => number;
  /** Grey, since what it shows is old. */
  readonly stale: () => boolean;
  /** Whether cells ran on this node. */
  readonly bands: boolean;
}

/** Readings with nothing on either side; a line does not show them. */
export function lonely(values: IPoints['values']): number[] {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null) {
      found.push(i);
    }
  }
  return found;
}

export class Chart implements IDrawing {
  constructor(
    readonly element: HTMLElement,
    private readonly _hub: Hub,
    private readonly _source: IChartSource
  ) {
    _hub.add(this);
  }

  draw(): void {
    const { node, gpu, metric } = this._source;
    const points = this._hub.model.series.points(node, gpu, metric, this._hub.range.fromS);
    const data: uPlot.AlignedData = [points.times, points.values];
    if (this._plot) {
      this._plot.setData(data);
    } else if (this.element.clientWidth > 0) {
      this._plot = new uPlot(this._options(), data, this.element);
    }
  }

  moveCursor(timeS: number | null): void {
    const plot = this._plot;
    if (!plot) {
      return;
    }
    const { fromS, toS } = this._hub.range;
    const shown = timeS !== null && timeS >= fromS && timeS <= toS;
    plot.setCursor(shown ? { left: plot.valToPos(timeS, 'x'), top: 0 } : { left: -10, top: -10 }, false);
  }

  resize(): void {
    this._plot?.setSize({ width: this.element.clientWidth, height: this.element.clientHeight });
  }

  dispose(): void {
    this._hub.remove(this);
    this._plot?.destroy();
    this._plot = null;
  }

  private _options(): uPlot.Options {
    const none = (): null => null;
    const color = (): string => (this._source.stale() ? this._hub.palette.stale : this._hub.palette.line);
    return {
      width: this.element.clientWidth,
      height: this.element.clientHeight,
      padding: [1, 0, 1, 0],
      legend: { show: false },
      axes: [{ show: false }, { show: false }],
      scales: {
        x: { time: false, range: () => [this._hub.range.fromS, this._hub.range.toS] },
        y: { range: () => [0, this._source.max()] }
      },
      series: [
        {},
        {
          stroke: color,
          width: 1.25,
          fill: () => (this._source.stale() ? 'transparent' : this._hub.palette.fill),
          points: {
            show: true,
            size: 3,
            width: 0,
            fill: color,
            filter: plot => lonely(plot.data[1] as IPoints['values'])
          }
        }
      ],
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { size: 5, width: 0, fill: color },
        // The layer above the charts of a GPU takes pointer and keys for all of them.
        bind: {
          mousedown: none,
          mouseup: none,
          click: none,
          dblclick: none,
          mousemove: none,
          mouseleave: none,
          mouseenter: none
        }
      },
      hooks: { drawClear: [plot => this._drawGround(plot)] }
    };
  }

  /** What lies behind the line: the baseline, and when cells ran. */
  private _drawGround(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const { palette, bands, model, range } = this._hub;
    const pixel = Math.max(1, Math.round(window.devicePixelRatio));
    ctx.save();
    if (this._source.bands) {
      ctx.fillStyle = palette.band;
      const offset = model.clockOffsetS;
      for (const band of bands.bands) {
        const start = Math.max(range.fromS, band.startMs / 1000 + offset);
        const end = Math.min(range.toS, band.endMs === null ? range.toS : band.endMs / 1000 + offset);
        if (end > start) {
          const left = Math.round(plot.valToPos(start, 'x', true));
          const right = Math.round(plot.valToPos(end, 'x', true));
          ctx.fillRect(left, bbox.top, Math.max(pixel, right - left), bbox.height);
        }
      }
    }
    ctx.fillStyle = palette.baseline;
    ctx.fillRect(bbox.left, bbox.top + bbox.height, bbox.width, pixel);
    ctx.restore();
  }

  private _plot: uPlot | null = null;
}
