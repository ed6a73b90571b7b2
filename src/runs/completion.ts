/** What can follow in MLflow's filter language, from the names that were seen. */
import { quotedName, SeenNames } from './columns';

export interface ICompletion {
  /** What is shown and inserted. */
  readonly text: string;
  /** What it is, such as an example of what may follow. */
  readonly hint: string;
}

export interface ICompletions {
  /** The part of the text that a completion replaces. */
  readonly from: number;
  readonly to: number;
  readonly items: readonly ICompletion[];
}

const MOST = 50;
const ATTRIBUTES: readonly [string, string][] = [
  ['attributes.run_name', "ILIKE '%tune%'"],
  ['attributes.status', "= 'FAILED'"],
  ['attributes.start_time', '> 1767225600000'],
  ['attributes.end_time', '> 1767225600000'],
  ['attributes.user_id', "= 'ada'"],
  ['attributes.run_id', "= '…'"]
];
const STATUSES = ["'RUNNING'", "'FINISHED'", "'FAILED'", "'KILLED'", "'SCHEDULED'"];
/** What is before the cursor and belongs to one name: letters of it, or anything within backticks. */
const NAME = /(?:[\w]+\.(?:`[^`]*`?|[^\s=<>!'"`(),]*)|[\w]*)$/;
const AFTER_STATUS = /(?:attributes?|attr|run)\.status\s*(?:=|!=)\s*('?\w*)$/i;
/** A condition is complete before: a value, then a blank. */
const AFTER_VALUE = /(?:'[^']*'|"[^"]*"|[\d.]+(?:e[-+]?\d+)?|\)|null)\s+(\w*)$/i;

function names(seen: SeenNames): ICompletion[] {
  const byCount = (counts: ReadonlyMap<string, number>): string[] =>
    [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key);
  const of = (prefix: string, counts: ReadonlyMap<string, number>, hint: string): ICompletion[] =>
    byCount(counts).map(key => ({ text: quotedName(prefix, key), hint }));
  const own = (key: string): boolean => !key.startsWith('mlflow.');
  return [
    ...of('metrics.', seen.metrics, '< 0.5'),
    ...of('params.', seen.params, "= 'adam'"),
    ...ATTRIBUTES.map(([text, hint]) => ({ text, hint })),
    ...of('tags.', new Map([...seen.tags].filter(([key]) => own(key))), "= '…'"),
    ...of('tags.', new Map([...seen.tags].filter(([key]) => !own(key))), "= '…'")
  ];
}

/** Whether the place is inside a text of quotes. */
function isQuoted(before: string): boolean {
  return (
    /^(?:[^'"`]|'[^']*'|"[^"]*"|`[^`]*`)*['"]/.test(before) && !/^(?:[^'"]|'[^']*'|"[^"]*")*$/.test(before)
  );
}

const plain = (text: string): string => text.replace(/`/g, '').toLowerCase();

/** What fits at the cursor; nothing where nothing was begun, unless the person asks for all (`wanted`). */
export function complete(text: string, cursor: number, seen: SeenNames, wanted = false): ICompletions {
  const before = text.slice(0, cursor);
  const replacing = (begun: string, items: readonly ICompletion[]): ICompletions => ({
    from: cursor - begun.length,
    to: cursor,
    items: items.slice(0, MOST)
  });
  const status = AFTER_STATUS.exec(before);
  if (status) {
    const begun = status[1];
    const fits = STATUSES.filter(one => one.toLowerCase().startsWith(begun.toLowerCase()) && one !== begun);
    return replacing(
      begun,
      fits.map(one => ({ text: one, hint: '' }))
    );
  }
  if (isQuoted(before)) {
    return replacing('', []);
  }
  const joined = AFTER_VALUE.exec(before);
  if (joined) {
    const begun = joined[1];
    return replacing(
      begun,
      'and'.startsWith(begun.toLowerCase()) && begun.length < 3 ? [{ text: 'AND ', hint: '' }] : []
    );
  }
  const begun = NAME.exec(before)?.[0] ?? '';
  if (begun === '' && !wanted) {
    return replacing('', []);
  }
  const looked = plain(begun);
  const dot = looked.indexOf('.');
  const [entity, part] = [looked.slice(0, dot + 1), looked.slice(dot + 1)];
  // A word finds the names that begin with it, then those that have it anywhere.
  const rank = ({ text }: ICompletion): number => {
    const whole = plain(text);
    const key = whole.slice(whole.indexOf('.') + 1);
    if (whole.startsWith(looked)) {
      return 0;
    }
    return whole.startsWith(entity) && key.includes(part) ? (key.startsWith(part) ? 1 : 2) : 3;
  };
  const fits = names(seen).filter(one => rank(one) < 3 && one.text !== begun);
  return replacing(
    begun,
    fits
      .map((one, i) => ({ one, i, at: rank(one) }))
      .sort((a, b) => a.at - b.at || a.i - b.i)
      .map(({ one }) => one)
  );
}
