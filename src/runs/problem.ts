/** What went wrong on the way to MLflow, in a sentence. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { AirError } from '../api';

export function sentence(problem: AirError, trans: TranslationBundle): string {
  if (problem.code === 'unreachable') {
    return trans.__('The Jupyter server does not answer; trying again.');
  }
  switch (problem.code === 'not-found' ? null : problem.status) {
    case 404:
      return trans.__('The server extension of Jupyter AIR is not enabled or is of another version.');
    case 401:
    case 403:
      return trans.__('You do not have access to the runs of this server. Signing in again may help.');
    default:
      return [problem.message, problem.hint].filter(Boolean).join(' ');
  }
}
