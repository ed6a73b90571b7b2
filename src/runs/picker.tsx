/** Chooses another experiment: the notebook's own ones first, then any other by its name. */
import React from 'react';
import { useSignal } from '../signal';
import { Combobox, IOption } from './combobox';
import { usePanel } from './experimentContext';
import type { IExperiment } from './mlflow';
import { shown } from './words';

const PAUSE_MS = 250;

/** What MLflow finds for the words, after a moment; null until it has answered. */
function useFound(words: string): { found: readonly IExperiment[] | null; failed: boolean } {
  const { model } = usePanel();
  const [found, setFound] = React.useState<readonly IExperiment[] | null>(null);
  const [failed, setFailed] = React.useState(false);
  React.useEffect(() => {
    let isOld = false;
    const ask = async (): Promise<void> => {
      try {
        const experiments = await model.find(words);
        if (!isOld) {
          setFound(experiments);
          setFailed(false);
        }
      } catch {
        if (!isOld) {
          setFailed(true);
        }
      }
    };
    const timer = setTimeout(() => void ask(), words === '' ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [model, words]);
  return { found, failed };
}

export function Picker({ close }: { close: () => void }): React.JSX.Element {
  const { model, trans } = usePanel();
  const [words, setWords] = React.useState('');
  const experiments = useSignal(model.changed, () => model.where.experiments);
  const { found, failed } = useFound(words);
  const own = [experiments?.own ?? null, ...(experiments?.others ?? [])].filter(one => one !== null);
  const looked = words.trim().toLowerCase();
  const mine = own.filter(one => one.name.toLowerCase().includes(looked));
  const rest = (found ?? []).filter(one => !mine.some(({ id }) => id === one.id));
  const all = new Map([...mine, ...rest].map(one => [one.id, one]));
  const option = (group: string) => (one: IExperiment) => ({ key: one.id, text: shown(one.name), group });
  const options: IOption[] = [
    ...mine.map(option(trans.__('Of this notebook'))),
    ...rest.map(option(trans.__('All experiments')))
  ];
  const note = failed
    ? trans.__('MLflow does not answer.')
    : found !== null && options.length === 0
      ? trans.__('No experiment has such a name.')
      : '';
  return (
    <div className="jp-air-Picker">
      <Combobox
        autoFocus
        label={trans.__('Experiment to show, by name')}
        listLabel={trans.__('Experiments')}
        placeholder={trans.__('Find an experiment')}
        value={words}
        options={options}
        isOpen={true}
        onChange={setWords}
        onPick={({ key }) => {
          // The notebook's own one is followed again, not kept.
          const picked = all.get(key) ?? null;
          model.choose(picked?.id === experiments?.own?.id ? null : picked);
          close();
        }}
        onClose={close}
      />
      <p role="status" className="jp-air-Search-note">
        {note}
      </p>
    </div>
  );
}
