import { CellBands, IBandStore, notebookName } from '../bands';

class Store implements IBandStore {
  kept: unknown = undefined;
  fetch(): Promise<unknown> {
    return Promise.resolve(this.kept);
  }
  save(_: string, value: object): Promise<void> {
    this.kept = JSON.parse(JSON.stringify(value));
    return Promise.resolve();
  }
}

describe('CellBands', () => {
  let now = 0;
  let store: Store;
  let bands: CellBands;

  beforeEach(() => {
    now = 1_000_000_000_000;
    store = new Store();
    bands = new CellBands(store, () => now);
  });

  it('records when a cell ran', () => {
    bands.scheduled('a/train.ipynb', 'c1');
    expect(bands.bands[0].endMs).toBeNull();
    now += 5000;
    bands.executed('a/train.ipynb', 'c1', 14);
    expect(bands.bands).toEqual([
      { cell: 'c1', path: 'a/train.ipynb', startMs: now - 5000, endMs: now, count: 14 }
    ]);
    expect(notebookName('a/train.ipynb')).toBe('train.ipynb');
  });

  it('knows which cell of a notebook runs, and its number once the kernel tells', () => {
    bands.scheduled('n', 'c1');
    bands.scheduled('m', 'c1');
    expect(bands.running('n')?.count).toBeNull();
    bands.counted('n', 7);
    expect(bands.running('n')).toMatchObject({ cell: 'c1', count: 7, endMs: null });
    expect(bands.running('m')?.count).toBeNull();
    now += 5000;
    bands.executed('n', 'c1', 7);
    bands.counted('n', 8);
    expect(bands.running('n')).toBeNull();
    expect(bands.bands.map(band => band.count)).toEqual([7, null]);
  });

  it('gives a queued cell the number that the kernel told before the page heard of the end', () => {
    bands.scheduled('n', 'c1');
    bands.counted('n', 7);
    bands.scheduled('n', 'c2');
    bands.scheduled('n', 'c3');
    now += 5000;
    bands.counted('n', 8);
    bands.executed('n', 'c1', 7);
    expect(bands.running('n')).toMatchObject({ cell: 'c2', count: 8 });
    now += 5000;
    bands.executed('n', 'c2', 8);
    expect(bands.running('n')).toMatchObject({ cell: 'c3', count: null });
    bands.counted('n', 9);
    expect(bands.bands.map(band => band.count)).toEqual([7, 8, 9]);
  });

  it('starts a queued cell when the one before it is done', () => {
    bands.scheduled('n', 'c1');
    bands.scheduled('n', 'c2');
    expect(bands.bands).toHaveLength(1);
    now += 3000;
    bands.executed('n', 'c1', 1);
    now += 4000;
    bands.executed('n', 'c2', 2);
    expect(bands.bands.map(band => (band.endMs ?? 0) - band.startMs)).toEqual([3000, 4000]);
  });

  it('runs the cells of two notebooks at once', () => {
    bands.scheduled('n', 'c1');
    bands.scheduled('m', 'c1');
    now += 2000;
    bands.executed('m', 'c1', 1);
    expect(bands.bands.map(band => band.endMs)).toEqual([null, now]);
  });

  it('has no band for a cell that was dropped from the queue, nor for a short one', () => {
    bands.scheduled('n', 'c1');
    bands.scheduled('n', 'c2');
    bands.executed('n', 'c2', null);
    now += 999;
    bands.executed('n', 'c1', 1);
    expect(bands.bands).toEqual([]);
  });

  it('survives a reload, save what was running then', async () => {
    bands.scheduled('n', 'c1');
    now += 2000;
    bands.executed('n', 'c1', 7);
    bands.scheduled('n', 'c2');
    const again = new CellBands(store, () => now);
    await again.restore();
    expect(again.bands.map(band => band.count)).toEqual([7]);
  });

  it('takes no nonsense from the store', async () => {
    store.kept = { bands: [{ cell: 'c1' }, 3, null] };
    await bands.restore();
    expect(bands.bands).toEqual([]);
  });

  it('forgets after two hours and is bounded', () => {
    for (let i = 0; i < 500; i++) {
      bands.scheduled('n', `c${i}`);
      now += 1000;
      bands.executed('n', `c${i}`, i);
    }
    expect(bands.bands).toHaveLength(400);
    expect(bands.bands[0].cell).toBe('c100');
    now += 2 * 3600 * 1000 + 1;
    bands.scheduled('n', 'last');
    expect(bands.bands.map(band => band.cell)).toEqual(['last']);
  });

  it('finds the band at a time, the shortest of several', () => {
    bands.scheduled('n', 'long');
    now += 5000;
    bands.scheduled('m', 'short');
    now += 2000;
    bands.executed('m', 'short', 1);
    now += 5000;
    bands.executed('n', 'long', 2);
    expect(bands.at(now - 6000)?.cell).toBe('short');
    expect(bands.at(now - 1000)?.cell).toBe('long');
    expect(bands.at(now + 1)).toBeNull();
  });
});
