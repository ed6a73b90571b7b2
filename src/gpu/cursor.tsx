/** The layer over the charts of a GPU that takes pointer and keys, and moves the one cursor of the pane. */
import React from 'react';
import { useSignal } from '../signal';
import { INode, HOST_KEY, IGpu } from '../tokens';
import { usePane } from './context';
import { textOf } from './figures';
import { clockSeconds } from './format';
import { ShownMetric } from './line';
import { gpuTitle, metricTitle } from './words';

interface ICursorLayerProps {
  readonly node: INode;
  readonly gpu: IGpu | null;
  readonly metrics: readonly ShownMetric[];
}

/** Keys to samples: how far each moves the cursor. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -Infinity,
  End: Infinity
};

export function CursorLayer({ node, gpu, metrics }: ICursorLayerProps): React.JSX.Element {
  const { hub, model, settings, trans } = usePane();
  const key = gpu?.key ?? HOST_KEY;
  const timeS = useSignal(hub.cursorChanged, () =>
    hub.cursor?.node === node.id && hub.cursor.gpu === key ? hub.cursor.timeS : null
  );
  const windowS = useSignal(settings.changed, () => settings.windowS);

  const moveTo = (anchor: Element, wanted: number): void => {
    const { fromS, toS } = hub.range;
    const inside = Math.min(toS, Math.max(fromS, wanted));
    const row = model.series.nearest(inside, model.pollIntervalS);
    const snapped = row < 0 ? inside : Math.max(fromS, model.series.time(row));
    const at = (snapped - fromS) / (toS - fromS);
    hub.moveCursor({ timeS: snapped, node: node.id, gpu: key, anchor, at });
  };

  const onPointer = (event: React.PointerEvent): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const { fromS, toS } = hub.range;
    moveTo(event.currentTarget, fromS + ((event.clientX - box.left) / box.width) * (toS - fromS));
  };

  const onKey = (event: React.KeyboardEvent): void => {
    const { toS } = hub.range;
    if (event.key === 'Escape' && hub.cursor) {
      hub.moveCursor(null);
    } else if (event.key in STEPS) {
      const step = STEPS[event.key] * (event.shiftKey ? 10 : 1);
      moveTo(event.currentTarget, (timeS ?? toS) + step * model.pollIntervalS);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const leave = (): void => {
    hub.moveCursor(null);
  };

  return (
    <div
      className="jp-air-CursorLayer"
      role="slider"
      tabIndex={0}
      aria-label={trans.__('Time on the charts of %1', gpu ? gpuTitle(gpu, trans) : node.name)}
      aria-valuemin={-windowS}
      aria-valuemax={0}
      aria-valuenow={timeS === null ? 0 : Math.round(timeS - model.timeS)}
      aria-valuetext={timeS === null ? trans.__('now') : describe(timeS)}
      onPointerMove={onPointer}
      onPointerDown={onPointer}
      onPointerLeave={leave}
      onBlur={leave}
      onKeyDown={onKey}
    />
  );

  function describe(at: number): string {
    const row = model.series.nearest(at, model.pollIntervalS);
    const readings = metrics.map(
      metric =>
        `${metricTitle(metric, trans)} ${textOf(metric, model.series.at(node.id, key, metric, row), trans)}`
    );
    return [clockSeconds(at), ...readings].join(', ');
  }
}
