/** What all drawings of a pane share: the window of time, the colours, the cursor, and who is in view. */
import { ISignal, Signal } from '@lumino/signaling';
import { CellBands } from './bands';
import { GpuModel } from './model';
import { Settings } from './settings';

/** Colours as the canvas needs them; read from the theme at draw time. */
export interface IPalette {
  readonly line: string;
  readonly stale: string;
  readonly baseline: string;
  readonly band: string;
  readonly fill: string;
}

/** A stretch of time on the charts, and the edge of now. */
export interface IRange {
  readonly fromS: number;
  readonly toS: number;
}

/** Where the cursor is. */
export interface ICursor {
  readonly timeS: number;
  readonly node: string;
  readonly gpu: string;
  /** What it hangs on, and how far along (0 to 1). */
  readonly anchor: Element;
  readonly at: number;
}

export interface IDrawing {
  /** What has to be in view for it to be drawn. */
  readonly element: Element;
  draw(): void;
  /** Null takes the cursor away. */
  moveCursor(timeS: number | null): void;
  resize(): void;
}

/** `#rrggbb` (or `rgba()`) with another opacity. */
export function withAlpha(color: string, alpha: number): string {
  if (/^#[0-9a-f]{6}$/i.test(color)) {
    return `${color}${Math.round(alpha * 255)
      .toString(16)
      .padStart(2, '0')}`;
  }
  return color;
}

/** Draws what is in view and has changed, once a frame. */
export class Hub {
  constructor(
    readonly root: HTMLElement,
    readonly model: GpuModel,
    readonly settings: Settings,
    readonly bands: CellBands
  ) {
    // What is about to be scrolled into view is drawn before it is seen; the list that scrolls is not the page.
    this._views = new IntersectionObserver(entries => this._onView(entries), { scrollMargin: '200px 0px' });
    this._sizes = new ResizeObserver(entries => this._onResize(entries));
    const all = (): void => this.invalidate();
    model.dataChanged.connect(all, this);
    model.stateChanged.connect(all, this);
    settings.changed.connect(all, this);
    bands.changed.connect(all, this);
  }

  get cursorChanged(): ISignal<this, ICursor | null> {
    return this._cursorChanged;
  }

  get cursor(): ICursor | null {
    return this._cursor;
  }

  /** Moves the one cursor of the pane; null takes it away. */
  moveCursor(cursor: ICursor | null): void {
    this._cursor = cursor;
    for (const drawing of this._visible) {
      drawing.moveCursor(cursor?.timeS ?? null);
    }
    this._cursorChanged.emit(cursor);
  }

  get range(): IRange {
    const toS = this.model.timeS;
    return { fromS: toS - this.settings.windowS, toS };
  }

  get palette(): IPalette {
    this._palette ??= this._readPalette();
    return this._palette;
  }

  /** The theme is another one. */
  repaint(): void {
    this._palette = null;
    this.invalidate();
  }

  add(drawing: IDrawing): void {
    this._drawings.set(drawing.element, drawing);
    this._views.observe(drawing.element);
    this._sizes.observe(drawing.element);
  }

  remove(drawing: IDrawing): void {
    this._drawings.delete(drawing.element);
    this._visible.delete(drawing);
    this._dirty.delete(drawing);
    this._views.unobserve(drawing.element);
    this._sizes.unobserve(drawing.element);
  }

  /** Calls back when an element comes into view, and when it leaves it; gives the way to end this. */
  watch(element: Element, changed: (inView: boolean) => void): () => void {
    this._watched.set(element, changed);
    this._views.observe(element);
    return () => {
      this._watched.delete(element);
      this._views.unobserve(element);
    };
  }

  /** Draws one again, or all; those out of view when they come into it. */
  invalidate(drawing?: IDrawing): void {
    if (drawing) {
      this._dirty.add(drawing);
    } else {
      this._drawings.forEach(one => this._dirty.add(one));
    }
    if (this._frame === 0 && this._visible.size > 0) {
      this._frame = requestAnimationFrame(() => this._flush());
    }
  }

  dispose(): void {
    cancelAnimationFrame(this._frame);
    this._views.disconnect();
    this._sizes.disconnect();
    this._drawings.clear();
    this._watched.clear();
    this._visible.clear();
    Signal.clearData(this);
  }

  private _flush(): void {
    this._frame = 0;
    for (const drawing of this._visible) {
      if (this._dirty.delete(drawing)) {
        drawing.draw();
        drawing.moveCursor(this._cursor?.timeS ?? null);
      }
    }
  }

  private _onView(entries: IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      this._watched.get(entry.target)?.(entry.isIntersecting);
      const drawing = this._drawings.get(entry.target);
      if (drawing && entry.isIntersecting) {
        this._visible.add(drawing);
        this.invalidate(drawing);
      } else if (drawing) {
        this._visible.delete(drawing);
      }
    }
  }

  private _onResize(entries: ResizeObserverEntry[]): void {
    for (const entry of entries) {
      const drawing = this._drawings.get(entry.target);
      if (drawing && entry.contentRect.width > 0) {
        drawing.resize();
        this.invalidate(drawing);
      }
    }
  }

  private _readPalette(): IPalette {
    if (window.matchMedia('(forced-colors: active)').matches) {
      return { line: 'CanvasText', fill: 'Canvas', stale: 'GrayText', baseline: 'GrayText', band: 'Canvas' };
    }
    const style = getComputedStyle(this.root);
    const read = (name: string): string => style.getPropertyValue(name).trim();
    // A canvas answers with the colour in its shortest form, which can be made translucent.
    const context = document.createElement('canvas').getContext('2d');
    const plain = (color: string): string => {
      if (context) {
        context.fillStyle = color;
        return context.fillStyle;
      }
      return color;
    };
    const line = plain(read('--jp-brand-color1'));
    return {
      line,
      fill: withAlpha(line, 0.12),
      stale: plain(read('--jp-ui-font-color3')),
      baseline: plain(read('--jp-border-color2')),
      band: withAlpha(line, 0.13)
    };
  }

  private readonly _views: IntersectionObserver;
  private readonly _sizes: ResizeObserver;
  private readonly _drawings = new Map<Element, IDrawing>();
  private readonly _watched = new Map<Element, (inView: boolean) => void>();
  private readonly _visible = new Set<IDrawing>();
  private readonly _dirty = new Set<IDrawing>();
  private readonly _cursorChanged = new Signal<this, ICursor | null>(this);
  private _cursor: ICursor | null = null;
  private _palette: IPalette | null = null;
  private _frame = 0;
}
