/** Run cards in outputs: the place of one, where its text stands until the card has been loaded. */
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { PanelLayout, Widget } from '@lumino/widgets';
import { RUN_MIME_TYPE } from '../tokens';
import type { RunCard } from './output';

/** Before HTML, which is what others than us show. */
const RANK = 40;
const MAX_TEXT = 2000;

type MakeCard = () => Promise<RunCard>;

class CardOutput extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly _make: MakeCard,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-air-Output');
    this.layout = new PanelLayout();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const { data } = model;
    if (!this._card) {
      const text = data['text/plain'];
      this._text.textContent = typeof text === 'string' ? text.slice(0, MAX_TEXT) : '';
      this.node.append(this._text);
    }
    try {
      const card = await (this._loading ??= this._make());
      if (this.isDisposed) {
        card.dispose();
        return;
      }
      if (!this._card) {
        this._card = card;
        this._text.remove();
        (this.layout as PanelLayout).addWidget(card);
      }
      card.take(data[RUN_MIME_TYPE]);
    } catch (reason) {
      this._loading = null;
      console.error(reason);
      this._text.title = this._trans.__('The card could not be loaded. Reload the page to try again.');
    }
  }

  private readonly _text = document.createElement('pre');
  private _loading: Promise<RunCard> | null = null;
  private _card: RunCard | null = null;
}

/** Shows runs in outputs as cards, in an untrusted notebook too. */
export function showCards(registry: IRenderMimeRegistry, make: MakeCard, trans: TranslationBundle): void {
  registry.addFactory(
    { safe: true, mimeTypes: [RUN_MIME_TYPE], createRenderer: () => new CardOutput(make, trans) },
    RANK
  );
}
