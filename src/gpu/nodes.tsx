/** The nodes of a large fleet: what they are together, a search, an order. Loaded when there is one. */
import React from 'react';
import '../../style/fleet.css';
import { useSignal } from '../signal';
import { FleetOrder, INode } from '../tokens';
import { totals } from './brief';
import { usePane } from './context';
import { Arrangement, found } from './fleet';
import { bytesOf, IFigure, percent, power } from './format';
import { NodeSection } from './node';
import { FLEET_ORDERS } from './settings';

const NONE: IFigure = { value: '', unit: '' };

/** Utilization, memory and power of the nodes together, as `value\nunit` a line: what is shown decides about rendering. */
function useTotals(nodes: readonly INode[]): IFigure[] {
  const { model } = usePane();
  const shown = useSignal(model.dataChanged, () => {
    const all = totals(nodes, node => model.brief(node));
    const figures = [
      all.utilization === null ? NONE : percent(all.utilization),
      all.memoryUsed === null || all.memoryTotal === null ? NONE : bytesOf(all.memoryUsed, all.memoryTotal),
      all.power === null ? NONE : power(all.power)
    ];
    return figures.map(({ value, unit }) => `${value}\n${unit}`).join('\n');
  });
  const parts = shown.split('\n');
  return [0, 2, 4].map(i => ({ value: parts[i], unit: parts[i + 1] }));
}

function Totals({ nodes }: { nodes: readonly INode[] }): React.JSX.Element {
  const { trans } = usePane();
  const figures = useTotals(nodes);
  const names = [trans.__('Utilization'), trans.__('Memory'), trans.__('Power')];
  return (
    <dl className="jp-air-Totals">
      {figures.map(({ value, unit }, i) => (
        <div key={names[i]}>
          <dt>{names[i]}</dt>
          <dd className="jp-air-Figure" dir="ltr">
            {value ? (
              <>
                <span className="jp-air-Figure-value">{value}</span>
                <span className="jp-air-Figure-unit">{` ${unit}`}</span>
              </>
            ) : (
              <span className="jp-air-Figure-none">{trans.__('n/a')}</span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** `128 nodes · 1024 GPUs · 2 without readings`, of those that match. */
function Count({ nodes, all }: { nodes: readonly INode[]; all: number }): React.JSX.Element {
  const { trans } = usePane();
  const gpus = totals(nodes, () => null).gpus;
  const silent = nodes.filter(node => node.state === 'error' || node.state === 'stale').length;
  const facts = [
    nodes.length === all
      ? trans._n('%1 node', '%1 nodes', all)
      : trans.__('%1 of %2 nodes', nodes.length, all),
    trans._n('%1 GPU', '%1 GPUs', gpus),
    silent > 0 ? trans.__('%1 without readings', silent) : ''
  ];
  return (
    <p className="jp-air-Fleet-count" role="status">
      {facts
        .filter(Boolean)
        .map(fact => fact.replace(/ /g, '\u00a0'))
        .join(' · ')}
    </p>
  );
}

function Order(): React.JSX.Element {
  const { settings, trans } = usePane();
  const order = useSignal(settings.changed, () => settings.value.fleetOrder);
  const names: Record<FleetOrder, string> = {
    name: trans.__('By name'),
    busiest: trans.__('Busiest first'),
    idlest: trans.__('Idlest first'),
    trouble: trans.__('Trouble first')
  };
  return (
    <select
      className="jp-air-Select"
      aria-label={trans.__('Order of the nodes')}
      value={order}
      onChange={event => settings.set('fleetOrder', event.target.value as FleetOrder)}
    >
      {FLEET_ORDERS.map(name => (
        <option key={name} value={name}>
          {names[name]}
        </option>
      ))}
    </select>
  );
}

/** The nodes in the order chosen, as the arrangement has it. */
function useOrdered(nodes: readonly INode[], arrangement: Arrangement): readonly INode[] {
  const { model, settings } = usePane();
  const chosen = useSignal(settings.changed, () => settings.value);
  const ids = useSignal(model.dataChanged, () =>
    arrangement
      .arrange(nodes, chosen.fleetOrder, node => model.brief(node), chosen)
      .map(node => node.id)
      .join('\n')
  );
  return React.useMemo(() => {
    const known = new Map(nodes.map(node => [node.id, node]));
    return ids.split('\n').flatMap(id => known.get(id) ?? []);
  }, [nodes, ids]);
}

export default function Fleet({ nodes }: { nodes: readonly INode[] }): React.JSX.Element {
  const { trans } = usePane();
  const [search, setSearch] = React.useState('');
  const [arrangement] = React.useState(() => new Arrangement());
  const matching = React.useMemo(() => found(nodes, search), [nodes, search]);
  const ordered = useOrdered(matching, arrangement);
  const hold = (): void => arrangement.hold(true);
  const release = (): void => arrangement.hold(false);
  return (
    <>
      <div className="jp-air-Fleet">
        <Count nodes={matching} all={nodes.length} />
        <Totals nodes={matching} />
        <div className="jp-air-Fleet-tools">
          <input
            type="search"
            className="jp-air-Search"
            placeholder={trans.__('Filter nodes')}
            aria-label={trans.__('Filter nodes by name, model or state')}
            maxLength={200}
            value={search}
            onChange={event => setSearch(event.target.value)}
          />
          <Order />
        </div>
      </div>
      <div
        className="jp-air-Nodes"
        role="region"
        aria-label={trans.__('Nodes')}
        tabIndex={0}
        onPointerEnter={hold}
        onPointerLeave={release}
        onFocus={hold}
        onBlur={release}
      >
        {ordered.map(node => (
          <NodeSection key={node.id} node={node} />
        ))}
        {matching.length === 0 && (
          <div className="jp-air-Fleet-none">
            <p>{trans.__('No node matches “%1”.', search.trim())}</p>
            <button type="button" className="jp-air-Button" onClick={() => setSearch('')}>
              {trans.__('Show all nodes')}
            </button>
          </div>
        )}
      </div>
    </>
  );
}
