/** Below the charts of a GPU: who holds its memory, and what can be done about it. Loaded after the pane is drawn. */
import { caretDownIcon, caretRightIcon, ellipsesIcon } from '@jupyterlab/ui-components';
import React from 'react';
import '../../style/holders.css';
import { useSignal } from '../signal';
import { IGpu, INode } from '../tokens';
import { usePane } from './context';
import { IHolder, IHolding, IOwnerActions, ISession } from './holders';
import {
  detailsOf,
  isForgotten,
  memoryOf,
  namedSessions,
  nameOf,
  processesOf,
  stateOf,
  titleOf
} from './holding';
import { gpuTitle } from './words';

interface IHolderProps {
  readonly holder: IHolder;
  readonly gpu: IGpu;
  readonly actions: IOwnerActions;
}

function Name(props: { text: string; go: (() => void) | null }): React.JSX.Element {
  return props.go ? (
    <button type="button" className="jp-air-Holder-name jp-air-Link" onClick={props.go}>
      <bdi>{props.text}</bdi>
    </button>
  ) : (
    <bdi className="jp-air-Holder-name">{props.text}</bdi>
  );
}

/** The notebooks or consoles, each a way there; or what it is called without. */
function Names({ holder, actions }: IHolderProps): React.JSX.Element {
  const { trans } = usePane();
  const { named, more } = namedSessions(holder);
  const way = ({ type }: ISession): boolean => type === 'notebook' || type === 'console';
  if (named.length === 0) {
    const { terminal } = holder;
    return (
      <Name
        text={nameOf(holder, trans)}
        go={terminal === null ? null : () => actions.goToTerminal(terminal)}
      />
    );
  }
  return (
    <>
      {named.map((session, i) => (
        <React.Fragment key={session.path}>
          {i > 0 && <span className="jp-air-Holder-mark">, </span>}
          <Name text={session.name} go={way(session) ? () => actions.goTo(session) : null} />
        </React.Fragment>
      ))}
      {more > 0 && <span className="jp-air-Holder-mark">{trans._n(', %1 more', ', %1 more', more)}</span>}
    </>
  );
}

/** `[14] running`, `idle for 3 h`, and the processes. */
function useDoing({ holder }: IHolderProps): string {
  const { model, bands, ticker, trans } = usePane();
  const count = useSignal(bands.changed, () =>
    holder.sessions.reduce<number | null>(
      (found, { path }) => found ?? bands.running(path)?.count ?? null,
      null
    )
  );
  const state = useSignal(ticker.ticked, () => stateOf(holder, model.serverNowS, count, trans));
  return [state, processesOf(holder, trans)].filter(Boolean).join(' · ');
}

function Actions({ holder, gpu, actions }: IHolderProps): React.JSX.Element | null {
  const { model, ticker, trans } = usePane();
  const forgotten = useSignal(ticker.ticked, () => isForgotten(holder, gpu.memoryTotal, model.serverNowS));
  if (holder.kernelId === null && holder.terminal === null) {
    return null;
  }
  const title = titleOf(holder, trans);
  const label = trans.__('Actions for %1', title);
  return (
    <span className="jp-air-Holder-actions">
      {forgotten && (
        <button
          type="button"
          className="jp-air-Link"
          aria-label={trans.__('Shut down %1', title)}
          onClick={() => actions.shutDown(holder)}
        >
          {trans.__('Shut down')}
        </button>
      )}
      <button
        type="button"
        className="jp-air-IconButton"
        title={label}
        aria-label={label}
        aria-haspopup="menu"
        onClick={event => actions.openMenu(holder, event.currentTarget)}
      >
        <ellipsesIcon.react tag="span" aria-hidden="true" />
      </button>
    </span>
  );
}

function Line(props: IHolderProps): React.JSX.Element {
  const { holder } = props;
  const { trans } = usePane();
  const doing = useDoing(props);
  return (
    <li className="jp-air-Holder" data-kind={holder.kind} title={detailsOf(holder, trans)}>
      <span className="jp-air-Holder-who">
        <bdi className="jp-air-Holder-memory">{memoryOf(holder, trans)}</bdi>
        <span className="jp-air-Holder-mark"> · </span>
        <Names {...props} />
        {doing && holder.state !== 'busy' && <span className="jp-air-Holder-mark">,</span>}
      </span>{' '}
      {doing && <span className="jp-air-Holder-doing">{doing}</span>} <Actions {...props} />
    </li>
  );
}

/** The list for one GPU: its largest holder always, the others when they are wanted. */
export function holderList({ holders, actions }: IHolding): React.ComponentType<{ node: INode; gpu: IGpu }> {
  return React.memo(function HolderList({ node, gpu }: { node: INode; gpu: IGpu }) {
    const { trans } = usePane();
    const [unfolded, setUnfolded] = React.useState(false);
    React.useEffect(() => holders.watch(), []);
    const found = useSignal(holders.changed, () => holders.of(node.id, gpu.key));
    const all = found?.holders ?? [];
    if (found === null || all.length === 0) {
      return null;
    }
    const more = all.length - 1;
    const Caret = unfolded ? caretDownIcon : caretRightIcon;
    return (
      <div className="jp-air-Holders">
        <ul aria-label={trans.__('Who holds the memory of %1', gpuTitle(gpu, trans))}>
          {all.slice(0, unfolded ? undefined : 1).map(holder => (
            <Line key={holder.kernelId ?? holder.terminal ?? holder.pids[0]} {...{ holder, gpu, actions }} />
          ))}
        </ul>
        {more > 0 && (
          <button
            type="button"
            className="jp-air-Holders-fold"
            aria-expanded={unfolded}
            onClick={() => setUnfolded(!unfolded)}
          >
            <Caret.react tag="span" aria-hidden="true" />
            {unfolded
              ? trans.__('Show the largest only')
              : trans._n('and %1 more', 'and %1 more', more + found.leftOut)}
          </button>
        )}
        {unfolded && found.leftOut > 0 && (
          <p className="jp-air-Holders-left">
            {trans._n('%1 more holds less than these.', '%1 more hold less than these.', found.leftOut)}
          </p>
        )}
      </div>
    );
  });
}
