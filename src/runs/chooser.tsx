/** Chooses the columns, and whether the deleted runs are shown. */
import React from 'react';
import { useSignal } from '../signal';
import { columnName, IColumn, isSame } from './columns';
import { usePanel } from './experimentContext';
import { shown } from './words';

/** A list that is longer has a search. */
const MANY = 12;
/** More are found by the search. */
const MOST = 200;

/** The columns that are shown, as chosen or as they come. */
export function useColumns(): readonly IColumn[] {
  const { model, columns } = usePanel();
  const experiment = useSignal(model.changed, () => model.experiment);
  const defaults = useSignal(model.changed, () => model.defaultColumns);
  // Read anew at each change of the settings, which replace what they give.
  const revision = useSignal(columns.changed, () => columns.revision);
  return React.useMemo(
    () => (experiment && columns.of(experiment.name)) ?? defaults,
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the revision stands for the settings
    [columns, experiment, defaults, revision]
  );
}

function Check(props: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}): React.JSX.Element {
  return (
    <label className="jp-air-Check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={event => props.onChange(event.target.checked)}
      />
      <bdi title={props.label}>{props.label}</bdi>
    </label>
  );
}

function Group(props: {
  title: string;
  columns: readonly IColumn[];
  chosen: readonly IColumn[];
}): React.JSX.Element | null {
  const { model, columns: settings } = usePanel();
  const { title, columns, chosen } = props;
  const experiment = model.experiment?.name;
  if (columns.length === 0 || experiment === undefined) {
    return null;
  }
  const change = (column: IColumn, wanted: boolean): void => {
    const others = chosen.filter(one => !isSame(one, column));
    settings.choose(experiment, wanted ? [...others, column] : others);
  };
  return (
    <fieldset>
      <legend>{title}</legend>
      {columns.map(column => (
        <Check
          key={columnName(column)}
          label={shown(column.key)}
          checked={chosen.some(one => isSame(one, column))}
          onChange={checked => change(column, checked)}
        />
      ))}
    </fieldset>
  );
}

export function Chooser({ fitting }: { fitting: number }): React.JSX.Element {
  const { model, columns: settings, trans } = usePanel();
  const [words, setWords] = React.useState('');
  const chosen = useColumns();
  const deleted = useSignal(model.changed, () => model.view.deleted);
  const known = useSignal(model.changed, () => model.list?.known ?? null);
  const all = React.useMemo(() => (known ? model.seen.columns : []), [model, known]);
  // A chosen one that no run has is offered too, so that it can be taken away.
  const unseen = chosen.filter(one => !all.some(other => isSame(one, other)));
  const looked = words.trim().toLowerCase();
  const found = [...unseen, ...all].filter(({ key }) => key.toLowerCase().includes(looked)).slice(0, MOST);
  const of = (kind: IColumn['kind'], system: boolean): IColumn[] =>
    found.filter(one => one.kind === kind && one.key.startsWith('system/') === system);
  const experiment = model.experiment?.name;
  return (
    <div className="jp-air-Chooser" role="group" aria-label={trans.__('Columns and view')}>
      {all.length > MANY && (
        <input
          type="search"
          className="jp-air-Search"
          aria-label={trans.__('Find a column')}
          placeholder={trans.__('Find a column')}
          maxLength={200}
          value={words}
          onChange={event => setWords(event.target.value)}
        />
      )}
      <div className="jp-air-Chooser-list" tabIndex={0} role="group" aria-label={trans.__('Columns')}>
        <Group title={trans.__('Metrics')} columns={of('metric', false)} chosen={chosen} />
        <Group title={trans.__('Parameters')} columns={of('param', false)} chosen={chosen} />
        <Group title={trans.__('System metrics')} columns={of('metric', true)} chosen={chosen} />
        {found.length === 0 && (
          <p className="jp-air-quiet">
            {looked === ''
              ? trans.__('The runs have no metrics and parameters yet.')
              : trans.__('No column has such a name.')}
          </p>
        )}
      </div>
      {chosen.length > fitting && (
        <p className="jp-air-quiet" role="status">
          {trans.__('%1 of %2 columns fit: a wider panel shows more.', fitting, chosen.length)}
        </p>
      )}
      <div className="jp-air-Chooser-foot">
        <Check
          label={trans.__('Deleted runs')}
          checked={deleted}
          onChange={checked => model.showDeleted(checked)}
        />
        {experiment !== undefined && settings.of(experiment) !== null && (
          <button type="button" className="jp-air-Link" onClick={() => settings.choose(experiment, null)}>
            {trans.__('Reset columns')}
          </button>
        )}
      </div>
    </div>
  );
}
