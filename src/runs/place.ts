/** Addresses of MLflow through Jupyter: the main one's, and those of stores beside notebooks. */
import { URLExt } from '@jupyterlab/coreutils';

/** Stands in an address for the folder that a store is in; empty for the main one. */
export type Key = string;

/** Root-relative, with the slash that MLflow's relative paths need. */
export function addressOf(baseUrl: string, key: Key): string {
  const place = key === '' ? 'mlflow' : `mlflow-beside/${key}`;
  return `${URLExt.join(URLExt.parse(baseUrl).pathname, 'jupyter-air', place)}/`;
}

/** The key in the address of a page; null for a page that is not MLflow's through this Jupyter. */
export function keyOf(baseUrl: string, page: string): Key | null {
  const before = addressOf(baseUrl, '').slice(0, -1);
  const found = page.startsWith(before) ? /^(?:-beside\/([\w-]+))?\//.exec(page.slice(before.length)) : null;
  return found === null ? null : (found.at(1) ?? '');
}

/** The folder of a key, as JupyterLab's contents have it, after a slash. */
export function folderOf(key: Key): string {
  try {
    const bytes = Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), letter =>
      letter.charCodeAt(0)
    );
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return key;
  }
}
