/** What the pane's toolbar offers: the menu of its settings, and the history as a file. Loaded when it is needed. */
import { showErrorMessage } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import type { Menu } from '@lumino/widgets';
import { CommandIDs } from '../tokens';

export function settingsMenu(commands: Menu.IOptions['commands']): (anchor: Element) => void {
  const menu = new MenuSvg({ commands });
  menu.addItem({ command: CommandIDs.toggleCompact });
  menu.addItem({ command: CommandIDs.toggleKeepWhileBusy });
  menu.addItem({ command: CommandIDs.toggleStatusItem });
  menu.addItem({ type: 'separator' });
  menu.addItem({ command: CommandIDs.settings });
  return anchor => {
    const box = anchor.getBoundingClientRect();
    menu.open(box.left, box.bottom);
  };
}

export async function saveCsv(read: () => Promise<Blob>, trans: TranslationBundle): Promise<void> {
  try {
    const url = URL.createObjectURL(await read());
    const link = document.createElement('a');
    link.href = url;
    link.download = `gpu-history-${new Date().toISOString().slice(0, 16).replace(':', '')}Z.csv`;
    link.click();
    // The browser has to have begun reading before the address ends.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (reason) {
    const message = reason instanceof Error ? reason.message : String(reason);
    void showErrorMessage(trans.__('The history could not be exported'), message);
  }
}
