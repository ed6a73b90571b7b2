import { full, GPU0, NODE, T0 } from '../../__tests__/wire';
import { fillBack, heatCells, lineHeight } from '../heat';
import { Series } from '../series';

function cells(count: number, fromS: number, toS: number): (number | null)[] {
  const series = new Series();
  series.update(full());
  const out = heatCells(series, series.column(NODE, GPU0, 'power'), fromS, toS, count);
  return Array.from(out, value => (Number.isNaN(value) ? null : value));
}

describe('heatCells', () => {
  it('takes the highest reading of a stretch', () => {
    expect(cells(3, T0, T0 + 60)).toEqual([72, 418, 420]);
    expect(cells(1, T0, T0 + 690)).toEqual([420]);
  });

  it('leaves a pause empty', () => {
    expect(cells(7, T0, T0 + 700)).toEqual([420, null, null, null, null, null, 412]);
  });

  it('puts the newest reading, at the edge, into the last cell', () => {
    expect(cells(2, T0 + 660, T0 + 680)[1]).toBe(412);
  });

  it('does not draw what lies beyond the edge', () => {
    expect(cells(1, T0, T0 + 15)).toEqual([72]);
  });

  it('is empty for a GPU without readings', () => {
    expect(heatCells(new Series(), new Float32Array(0), 0, 10, 2).every(Number.isNaN)).toBe(true);
  });
});

describe('fillBack', () => {
  it('fills the time since the reading before, no further than an interval', () => {
    const filled = fillBack(Float32Array.of(NaN, NaN, NaN, 5, NaN, 7), 3);
    expect(Array.from(filled)).toEqual([NaN, 5, 5, 5, 7, 7]);
  });
});

describe('lineHeight', () => {
  it('shrinks with the number of GPUs and stays visible', () => {
    expect([1, 24, 64, 1000].map(count => lineHeight(count, false))).toEqual([6, 6, 2, 2]);
    expect(lineHeight(24, true)).toBe(4);
  });
});
