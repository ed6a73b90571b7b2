/** Small signs. Each has a shape of its own, since colour alone says nothing. */
import React from 'react';
import { Tone } from './words';

export type DotState = 'live' | 'paused' | 'stale' | 'off' | 'error';

const DOTS: Readonly<Record<DotState, React.JSX.Element>> = {
  live: <circle cx="5" cy="5" r="4" />,
  paused: <path d="M1.5 1h2.5v8H1.5zM6 1h2.5v8H6z" />,
  stale: <circle cx="5" cy="5" r="3.25" className="jp-mod-hollow" />,
  off: <path d="M1 4.25h8v1.5H1z" />,
  error: <path d="M5 .25 9.75 5 5 9.75 .25 5z" />
};

/** The state of a node. */
export function StateDot(props: { state: DotState; label: string }): React.JSX.Element {
  return (
    <svg
      className="jp-air-Dot"
      data-state={props.state}
      viewBox="0 0 10 10"
      role="img"
      aria-label={props.label}
      focusable="false"
    >
      <title>{props.label}</title>
      {DOTS[props.state]}
    </svg>
  );
}

/** Beside a figure that is past its threshold: a triangle, or an octagon for the worse. */
export function ToneMark(props: { tone: Tone; label: string }): React.JSX.Element | null {
  if (props.tone === 'none') {
    return null;
  }
  return (
    <svg
      className="jp-air-ToneMark"
      data-tone={props.tone}
      viewBox="0 0 10 10"
      role="img"
      aria-label={props.label}
      focusable="false"
    >
      <title>{props.label}</title>
      {props.tone === 'warn' ? (
        <path fillRule="evenodd" d="M5 .8 9.8 9.3H.2zM4.45 3.7v2.7h1.1V3.7zm0 3.4v1.1h1.1V7.1z" />
      ) : (
        <path
          fillRule="evenodd"
          d="M3.1 .4h3.8l2.7 2.7v3.8L6.9 9.6H3.1L.4 6.9V3.1zM4.45 2.2v3.4h1.1V2.2zm0 4.3v1.2h1.1V6.5z"
        />
      )}
    </svg>
  );
}
