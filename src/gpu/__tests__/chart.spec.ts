import { lonely } from '../chart';
import { withAlpha } from '../hub';

describe('lonely', () => {
  it('finds readings that no line shows', () => {
    expect(lonely([1, null, 2, 3, null, 4])).toEqual([0, 5]);
    expect(lonely([null, 1, null])).toEqual([1]);
    expect(lonely([1, 2, 3])).toEqual([]);
    expect(lonely([])).toEqual([]);
  });
});

describe('withAlpha', () => {
  it('makes a canvas colour translucent and leaves others as they are', () => {
    expect(withAlpha('#1976d2', 0.5)).toBe('#1976d280');
    expect(withAlpha('CanvasText', 0.5)).toBe('CanvasText');
  });
});
