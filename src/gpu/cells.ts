/** Follows the execution of notebook cells. */
import { INotebookTracker, Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { KernelMessage } from '@jupyterlab/services';
import { CellBands } from './bands';

const counted = new WeakSet<NotebookPanel>();

/** Hears from the kernel which execution it begins, when it is one of this page's. */
function followCounts(panel: NotebookPanel | undefined, bands: CellBands): void {
  if (!panel || counted.has(panel)) {
    return;
  }
  counted.add(panel);
  panel.sessionContext.iopubMessage.connect((context, { header, parent_header, content }) => {
    const own = 'session' in parent_header && parent_header.session === context.session?.kernel?.clientId;
    if (header.msg_type === 'execute_input' && own) {
      bands.counted(
        panel.context.path,
        (content as KernelMessage.IExecuteInputMsg['content']).execution_count
      );
    }
  });
}

/** Records when cells run; `ran` hears of each, as running a cell is activity. */
export function followCells(tracker: INotebookTracker, bands: CellBands, ran: () => void): void {
  const panelOf = (notebook: Notebook): NotebookPanel | undefined =>
    tracker.find(panel => panel.content === notebook);
  const pathOf = (notebook: Notebook): string | null => panelOf(notebook)?.context.path ?? null;

  NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
    const path = pathOf(notebook);
    ran();
    if (path !== null && cell.model.type === 'code') {
      followCounts(panelOf(notebook), bands);
      bands.scheduled(path, cell.model.id);
    }
  });
  NotebookActions.executed.connect((_, { notebook, cell }) => {
    const path = pathOf(notebook);
    ran();
    if (path !== null && cell.model.type === 'code') {
      const { executionCount } = cell.model as { executionCount?: number | null };
      bands.executed(path, cell.model.id, executionCount ?? null);
    }
  });
}
