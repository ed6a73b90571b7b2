/** What somebody typed into the search, as MLflow's filter language; and what MLflow says of it, in words. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { AirError } from '../api';
import type { RunStatus } from './mlflow';

/** A comparison somewhere outside of quotes, or a name of the language at the beginning. */
const COMPARISON = /(=|!=|<|>)|\b(not\s+)?i?like\b\s*['"]|\b(not\s+)?in\s*\(|\bis\s+(not\s+)?null\b/i;
const ENTITY = /^\s*(attributes?|attr|run|metrics?|params?|parameters?|tags?|datasets?)\s*\.\s*\S/i;
const QUOTED = /'[^']*'|"[^"]*"|`[^`]*`/g;

const STATUS_WORDS: Readonly<Record<string, RunStatus>> = {
  running: 'RUNNING',
  scheduled: 'SCHEDULED',
  finished: 'FINISHED',
  failed: 'FAILED',
  killed: 'KILLED'
};

/** Whether it is MLflow's language rather than plain words. */
export function isFilter(text: string): boolean {
  return ENTITY.test(text) || COMPARISON.test(text.replace(QUOTED, "''"));
}

/**
 * Words as a value that nothing can break out of: whatever is neither letter nor number stands for any one character. MLflow's language has
 * no way to escape.
 */
function pattern(words: string): string {
  return words.replace(/[^\p{L}\p{M}\p{N} .:/@+-]/gu, '_');
}

/** That a text is exactly this; as nearly as the language can say it. */
export function equals(name: string, value: string): string {
  if (/['"\\%_`\r\n]/.test(value.replace(/_/g, ''))) {
    return `${name} LIKE '${pattern(value)}'`;
  }
  return `${name} = '${value}'`;
}

/** All of these conditions. */
export function allOf(...filters: readonly string[]): string {
  return filters.filter(Boolean).join(' AND ');
}

function word(one: string): string {
  const status = Object.hasOwn(STATUS_WORDS, one.toLowerCase()) ? STATUS_WORDS[one.toLowerCase()] : null;
  if (status !== null) {
    return `attributes.status = '${status}'`;
  }
  const name = one.replace(/^["']|["']$/g, '');
  return name === '' ? '' : `attributes.run_name ILIKE '%${pattern(name)}%'`;
}

/** The filter for what was typed: itself, or runs whose name has all the words and whose status is the one named. */
export function filterOf(typed: string): string {
  const text = typed.trim();
  if (isFilter(text)) {
    return text;
  }
  return allOf(...(text.match(/"[^"]*"?|'[^']*'?|\S+/g) ?? []).map(word));
}

/** Whether MLflow did not understand the filter, rather than being in trouble. */
export function isRefused(reason: AirError): boolean {
  return reason.status === 400 && reason.code === 'INVALID_PARAMETER_VALUE';
}

/** Why MLflow does not understand a filter, and what it expects. MLflow's words are those of its parser (3.7 to 3.17). */
export function refusal(reason: AirError, trans: TranslationBundle): string {
  const said = reason.message;
  const found = (expression: RegExp): string | null => expression.exec(said)?.[1] ?? null;
  const clause = found(/Invalid clause\(s\) in filter string: '([\s\S]*)'$/);
  if (clause !== null && /\bor\b/i.test(clause)) {
    return trans.__('MLflow joins conditions by AND only, not by OR.');
  }
  const entity = found(/Invalid entity type '([\s\S]*?)'/);
  if (entity !== null) {
    return trans.__('“%1” is none of metrics, params, tags, attributes and datasets.', entity);
  }
  const attribute = found(/Invalid attribute key '([\s\S]*?)'/);
  if (attribute !== null) {
    return trans.__(
      'There is no attribute “%1”. Write metrics.%1, params.%1 or tags.%1; attributes are run_name, status, start_time and others.',
      attribute
    );
  }
  const bare = found(/Expected 'Identifier' found '([a-z]+\.[\s\S]*)'$/);
  if (bare !== null) {
    return trans.__(
      'A name with other than letters and numbers stands in backticks: %1.',
      bare.replace(/\.(.*)$/s, '.`$1`')
    );
  }
  if (/not quoted|Expected a quoted string/.test(said)) {
    return trans.__("The value must stand in quotes, such as params.optimizer = 'adam'.");
  }
  if (said.includes('Expected numeric value')) {
    return trans.__('This is compared with a number, such as metrics.loss < 0.5.');
  }
  if (said.includes('Invalid comparator')) {
    return trans.__(
      'This comparison is not possible here: metrics take = != < <= > >=, texts take = != LIKE ILIKE.'
    );
  }
  if (
    clause !== null ||
    /Invalid (comparison clause|filter)|Error on parsing|multiple expression/.test(said)
  ) {
    return trans.__(
      "MLflow does not understand this. A condition is name, comparison, value: metrics.loss < 0.5 AND params.optimizer = 'adam'."
    );
  }
  return trans.__('MLflow refuses this: %1', said.length > 300 ? `${said.slice(0, 299)}…` : said);
}
