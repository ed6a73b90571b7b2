/** A folded node's GPUs as a strip of heat. Loaded when a node is first folded. */
import React from 'react';
import '../../style/heatstrip.css';
import { useSignal } from '../signal';
import { INode } from '../tokens';
import { usePane } from './context';
import { Strip } from './strip';

export default function HeatStrip({ node }: { node: INode }): React.JSX.Element {
  const { hub, model, trans } = usePane();
  const host = React.useRef<HTMLDivElement>(null);
  const strip = React.useRef<Strip | null>(null);
  const mean = useSignal(model.dataChanged, () => {
    const utilization = model.brief(node)?.utilization ?? null;
    return utilization === null ? null : Math.round(utilization);
  });
  React.useEffect(() => {
    if (!host.current) {
      return undefined;
    }
    const made = new Strip(host.current, hub, node);
    strip.current = made;
    return () => made.dispose();
    // A node that changed is handed to the same strip below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [hub, node.id]);
  React.useEffect(() => {
    if (strip.current) {
      strip.current.node = node;
    }
  }, [node]);
  const onPointer = (event: React.PointerEvent): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const { fromS, toS } = hub.range;
    const at = (event.clientX - box.left) / box.width;
    const row = Math.floor(((event.clientY - box.top) / box.height) * node.gpus.length);
    const gpu = node.gpus[Math.min(node.gpus.length - 1, Math.max(0, row))];
    const timeS = fromS + at * (toS - fromS);
    hub.moveCursor({ timeS, node: node.id, gpu: gpu.key, anchor: event.currentTarget, at });
  };
  const label =
    mean === null
      ? trans.__('Utilization of %1 GPUs: no readings', node.gpus.length)
      : trans.__('Utilization of %1 GPUs: mean %2 % now', node.gpus.length, mean);
  return (
    <div
      ref={host}
      className="jp-air-Strip"
      role="img"
      aria-label={label}
      dir="ltr"
      onPointerMove={onPointer}
      onPointerLeave={() => hub.moveCursor(null)}
    />
  );
}
