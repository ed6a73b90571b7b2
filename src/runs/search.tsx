/** The search: plain words at once, MLflow's language with Enter, and what can follow in it. */
import { closeIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { useSignal } from '../signal';
import { Combobox, IOption } from './combobox';
import { complete, ICompletions } from './completion';
import { usePanel } from './experimentContext';
import { isFilter, refusal } from './filter';

/** After the last letter. */
const PAUSE_MS = 300;
const NONE: ICompletions = { from: 0, to: 0, items: [] };

function useSearch(): [string, (text: string) => void, (text: string) => void] {
  const { model } = usePanel();
  const applied = useSignal(model.changed, () => model.view.search);
  const [draft, setDraft] = React.useState<string | null>(null);
  const timer = React.useRef<ReturnType<typeof setTimeout>>(undefined);
  React.useEffect(() => () => clearTimeout(timer.current), []);
  // A search that somebody else has set takes the place of what was being written.
  const [last, setLast] = React.useState(applied);
  if (last !== applied) {
    setLast(applied);
    if (draft?.trim() !== applied) {
      setDraft(null);
    }
  }
  const apply = (text: string): void => {
    clearTimeout(timer.current);
    if (text.trim() !== model.view.search.trim() || model.refused) {
      model.search(text.trim());
    }
  };
  const write = (text: string): void => {
    clearTimeout(timer.current);
    setDraft(text);
    if (text.trim() === '') {
      apply(text);
    } else if (!isFilter(text)) {
      timer.current = setTimeout(() => apply(text), PAUSE_MS);
    }
  };
  return [draft ?? applied, write, apply];
}

/** What is wrong with the filter, or how it is sent. */
function Note({ id, text }: { id: string; text: string }): React.JSX.Element {
  const { model, trans } = usePanel();
  const refused = useSignal(model.changed, () => model.refused);
  const applied = useSignal(model.changed, () => model.view.search);
  const isPending = isFilter(text) && text.trim() !== applied.trim();
  const words = isPending ? trans.__('Enter filters by this.') : refused ? refusal(refused, trans) : '';
  return (
    <p
      id={id}
      role="status"
      className="jp-air-Search-note"
      data-tone={refused && !isPending ? 'error' : undefined}
    >
      {words}
    </p>
  );
}

export function Search(): React.JSX.Element {
  const { model, trans } = usePanel();
  const noteId = React.useId();
  const [field, setField] = React.useState<HTMLInputElement | null>(null);
  const [text, write, apply] = useSearch();
  const [found, setFound] = React.useState(NONE);
  const refused = useSignal(model.changed, () => model.refused !== null);
  const options: IOption[] = found.items.map(({ text, hint }) => ({ key: text, text, hint }));
  const look = (value: string, cursor: number, wanted = false): void =>
    setFound(complete(value, cursor, model.seen, wanted));
  const pick = (option: IOption): void => {
    const filled = `${option.text}${option.text.endsWith(' ') ? '' : ' '}`;
    const next = text.slice(0, found.from) + filled + text.slice(found.to).trimStart();
    const cursor = found.from + filled.length;
    write(next);
    look(next, cursor);
    requestAnimationFrame(() => field?.setSelectionRange(cursor, cursor));
  };
  return (
    <div className="jp-air-SearchBox">
      <Combobox
        onElement={setField}
        label={trans.__(
          'Search runs: words of the name or status, or a filter of MLflow such as metrics.loss < 0.5'
        )}
        listLabel={trans.__('What can follow')}
        placeholder={trans.__('Words, or metrics.loss < 0.5')}
        value={text}
        options={options}
        isOpen={true}
        describedBy={noteId}
        invalid={refused}
        onChange={(value, cursor) => {
          write(value);
          look(value, cursor);
        }}
        onPick={pick}
        onEnter={() => {
          setFound(NONE);
          apply(text);
        }}
        onAsk={cursor => look(text, cursor, true)}
        onClose={byKey => {
          if (byKey && options.length === 0 && text !== '') {
            write('');
          }
          setFound(NONE);
        }}
      />
      {text !== '' && (
        <button
          type="button"
          className="jp-air-IconButton jp-air-SearchBox-clear"
          title={trans.__('Clear the search')}
          aria-label={trans.__('Clear the search')}
          onClick={() => {
            write('');
            setFound(NONE);
            field?.focus();
          }}
        >
          <closeIcon.react tag="span" aria-hidden="true" />
        </button>
      )}
      <Note id={noteId} text={text} />
    </div>
  );
}
