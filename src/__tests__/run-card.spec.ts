import { Sanitizer } from '@jupyterlab/apputils';
import { readFileSync } from 'fs';
import { join } from 'path';

/** What a notebook that is reopened untrusted makes of a kernel's run card. */
describe('the HTML of a run card', () => {
  const written = readFileSync(join(process.cwd(), 'tests', 'wire', 'run-card.html'), 'utf8');

  function parsed(html: string): HTMLElement {
    const node = document.createElement('div');
    node.innerHTML = html;
    return node;
  }

  it('keeps its words, its link, its styles and what unfolds', () => {
    const before = parsed(written);
    const after = parsed(new Sanitizer().sanitize(written));
    expect(after.textContent).toBe(before.textContent);
    expect(after.querySelector('a')?.getAttribute('href')).toBe(
      before.querySelector('a')?.getAttribute('href')
    );
    expect(after.querySelectorAll('details > summary')).toHaveLength(1);
    expect(after.querySelector('.jp-air-RunCard')?.getAttribute('style')).toContain('border-left:2px solid');
    expect(after.querySelectorAll('[style*=opacity]')).toHaveLength(
      before.querySelectorAll('[style*=opacity]').length
    );
  });
});
