/** How views follow signals. */
import type { ISignal } from '@lumino/signaling';
import React from 'react';

/**
 * Follows a signal. The view is rendered again only when what is read differs (`Object.is`): read numbers and texts, or
 * objects that are replaced when they change.
 */
export function useSignal<T>(signal: ISignal<unknown, unknown>, read: () => T): T {
  const subscribe = React.useCallback(
    (changed: () => void) => {
      signal.connect(changed);
      return () => {
        signal.disconnect(changed);
      };
    },
    [signal]
  );
  return React.useSyncExternalStore(subscribe, read);
}
