/** The card of a run in a cell's output. Loaded when the first one is shown. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, caretRightIcon, ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import React from 'react';
import { AirError } from '../api';
import { CardModel, type ICard } from './card';
import { gpuUse, ownMetrics, progressOf } from './figures';
import type { IRest } from './rest';
import { decodeRecord } from './record';
import { duration, gibibytes, mark, metricValue, shown, statusWord, when } from './words';

const TICK_MS = 1000;
const IN_GRID = 4;
const MOST_METRICS = 40;

export interface IRunCardOptions {
  readonly model: CardModel;
  readonly trans: TranslationBundle;
  /** Opens a page that Jupyter leads to in place of a browser tab; null where there is no place for it. */
  readonly openInside: ((page: string) => void) | null;
}

interface IPart {
  readonly card: ICard;
  readonly trans: TranslationBundle;
}

/** How long it runs, each second while it does. */
function useDuration({ card, trans }: IPart): string | null {
  const { startMs, endMs, asOfMs, isTicking } = card;
  const [nowMs, setNowMs] = React.useState(Date.now);
  React.useEffect(() => {
    const timer = isTicking ? setInterval(() => setNowMs(Date.now()), TICK_MS) : undefined;
    return () => clearInterval(timer);
  }, [isTicking]);
  const untilMs = isTicking ? Math.max(nowMs, startMs ?? 0) : (endMs ?? asOfMs);
  if (startMs === null || untilMs === null || untilMs < startMs) {
    return null;
  }
  return duration(untilMs - startMs, trans);
}

function state({ card, trans }: IPart): string {
  const word = statusWord(card.status, trans);
  const isBad = card.status === 'KILLED' || card.status === 'FAILED';
  const why = isBad && card.endReason !== null ? `${word}: ${shown(card.endReason)}` : word;
  const said = card.asOfMs === null ? why : trans.__('%1 as of %2', why, when(card.asOfMs, Date.now()));
  switch (card.gone) {
    case 'deleted':
      return trans.__('%1 · deleted', said);
    case 'missing':
      return trans.__('%1 · not in this MLflow', said);
    case null:
      return said;
  }
}

interface IHead extends IPart, Pick<IRunCardOptions, 'openInside'> {
  /** Folds and unfolds what stands below the head; null where nothing does. */
  readonly fold: React.JSX.Element | null;
}

function Head(props: IHead): React.JSX.Element {
  const { card, trans, openInside, fold } = props;
  const { page } = card;
  const name = shown(card.name);
  const experiment = shown(card.experiment);
  const said = state(props);
  const time = useDuration(props);
  const open = (event: React.MouseEvent): void => {
    const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (page?.startsWith('/') && isPlain && openInside) {
      event.preventDefault();
      openInside(page);
    }
  };
  return (
    <div className="jp-air-Card-head">
      <span className="jp-air-Card-mark" data-status={card.status ?? 'UNKNOWN'} aria-hidden="true">
        {mark(card.status)}
      </span>
      <strong className="jp-air-Card-name" title={name}>
        <bdi>{name}</bdi>
      </strong>
      <span className="jp-air-Card-about" title={`${experiment} · ${said}`}>
        <bdi className="jp-air-Card-experiment">{experiment}</bdi>
        <span className="jp-air-Card-state">
          {time !== null && ` · ${time}`} · <bdi>{said}</bdi>
        </span>
      </span>
      {page !== null && (
        <a
          className="jp-air-Card-link"
          href={page}
          target="_blank"
          rel="noopener noreferrer"
          aria-label={trans.__('Open run %1', name)}
          onClick={open}
        >
          {trans.__('Open run')}
        </a>
      )}
      {fold}
    </div>
  );
}

interface IFigure {
  readonly name: string;
  readonly value: string;
  readonly title: string;
}

function Figures({ figures }: { readonly figures: readonly IFigure[] }): React.JSX.Element {
  return (
    <dl className="jp-air-Card-figures">
      {figures.map(({ name, value, title }, i) => (
        <div key={i} title={title}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface IFigures {
  readonly first: readonly IFigure[];
  readonly more: readonly IFigure[];
  readonly left: number;
}

interface IBody extends IPart {
  readonly id: string;
  readonly figures: IFigures;
}

function figuresOf({ card, trans }: IPart): IFigures {
  const progress = card.run && progressOf(card.run);
  const own = ownMetrics(card.metrics);
  const all: IFigure[] = own
    .filter(([name]) => name !== progress?.name)
    .map(([name, value]) => ({
      name: shown(name),
      value: metricValue(value),
      title: `${shown(name)}: ${value}`
    }));
  if (progress) {
    const value = `${metricValue(progress.value)} / ${metricValue(progress.total)}`;
    all.unshift({ name: progress.name, value, title: `${progress.name}: ${value}` });
  }
  const first = all.slice(0, IN_GRID);
  const gpu = gpuUse(card.metrics);
  if (gpu) {
    const percent = `${Math.round(gpu.utilization)}\u00a0%`;
    first.push({
      name: trans.__('GPU'),
      value: gpu.memoryBytes === null ? percent : `${percent} · ${gibibytes(gpu.memoryBytes)}`,
      title: trans._n(
        'Utilization and memory of %1 GPU, as last logged',
        'Mean utilization and memory of %1 GPUs together, as last logged',
        gpu.gpus
      )
    });
  }
  const more = all.slice(IN_GRID, MOST_METRICS);
  return { first, more, left: Math.max(all.length, card.metricCount) - Math.min(all.length, MOST_METRICS) };
}

function Body({ id, card, trans, figures }: IBody): React.JSX.Element {
  const { first, more, left } = figures;
  const progress = card.isTicking && card.run ? progressOf(card.run) : null;
  return (
    <div id={id} className="jp-air-Card-body">
      {progress && (
        <div
          className="jp-air-Card-progress"
          role="progressbar"
          aria-label={progress.name}
          aria-valuenow={progress.value}
          aria-valuemin={0}
          aria-valuemax={progress.total}
        >
          <div style={{ inlineSize: `${(100 * progress.value) / progress.total}%` }} />
        </div>
      )}
      <Figures figures={first} />
      {more.length + left > 0 && (
        <details>
          <summary>{trans._n('%1 more metric', '%1 more metrics', more.length + left)}</summary>
          <Figures figures={more} />
          {left > 0 && <p className="jp-air-Card-left">{trans.__('and %1 more', left)}</p>}
        </details>
      )}
    </div>
  );
}

function Card(props: IPart & Pick<IRunCardOptions, 'openInside'>): React.JSX.Element {
  const { card, trans } = props;
  const id = React.useId();
  const [isFolded, setIsFolded] = React.useState(false);
  const figures = figuresOf(props);
  const label = isFolded ? trans.__('Show metrics') : trans.__('Hide metrics');
  const Caret = isFolded ? caretRightIcon : caretDownIcon;
  const fold = figures.first.length > 0 && (
    <button
      type="button"
      className="jp-air-IconButton"
      title={label}
      aria-label={label}
      aria-expanded={!isFolded}
      aria-controls={isFolded ? undefined : id}
      onClick={() => setIsFolded(!isFolded)}
    >
      <Caret.react tag="span" aria-hidden="true" />
    </button>
  );
  return (
    <div className="jp-air-Card" role="group" aria-label={trans.__('Run %1', shown(card.name))}>
      <Head {...props} fold={fold || null} />
      {fold && !isFolded && <Body id={id} card={card} trans={trans} figures={figures} />}
    </div>
  );
}

export class RunCard extends ReactWidget {
  constructor(private readonly _options: IRunCardOptions) {
    super();
    this._observer = new IntersectionObserver(entries => {
      _options.model.isShown = entries.at(-1)?.isIntersecting === true;
    });
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._observer.disconnect();
      this._options.model.dispose();
      super.dispose();
    }
  }

  /** Shows what stands in the output, whatever that is. */
  take(data: unknown): void {
    const { model, trans } = this._options;
    try {
      model.tell(decodeRecord(data));
      this._problem = null;
    } catch (reason) {
      const isNewer = reason instanceof AirError && reason.code === 'version';
      this._problem = isNewer
        ? trans.__('This run card was written by a newer Jupyter AIR: update jupyter_air to see it.')
        : trans.__(
            'This output says that it is a run of Jupyter AIR, but it cannot be read: run the cell again.'
          );
    }
    this.update();
  }

  protected override render(): React.JSX.Element {
    if (this._problem !== null) {
      return <p className="jp-air-Card-left">{this._problem}</p>;
    }
    const { model, trans, openInside } = this._options;
    return (
      <UseSignal signal={model.changed}>
        {() => model.card && <Card card={model.card} trans={trans} openInside={openInside} />}
      </UseSignal>
    );
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._observer.observe(this.node);
  }

  protected override onBeforeDetach(msg: Message): void {
    this._observer.disconnect();
    this._options.model.isShown = false;
    super.onBeforeDetach(msg);
  }

  private readonly _observer: IntersectionObserver;
  private _problem: string | null = null;
}

/** A card that knows of runs what all others know. */
export function newRunCard(
  { live, leads }: IRest,
  options: Pick<IRunCardOptions, 'trans' | 'openInside'>
): RunCard {
  return new RunCard({ ...options, model: new CardModel({ live, lead: record => leads.of(record) }) });
}
