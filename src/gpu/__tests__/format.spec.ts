import { nullTranslator } from '@jupyterlab/translation';
import { bytes, bytesOf, celsius, clock, duration, energy, join, percent, watts } from '../format';

const trans = nullTranslator.load('jupyter-air');
const GiB = 2 ** 30;
const plain = (text: string): string => text.replace(/\u00a0/g, ' ');

describe('figures', () => {
  it.each([
    [join(percent(87.4)), '87 %'],
    [join(percent(0.4)), '0 %'],
    [join(celsius(70.6)), '71 °C'],
    [watts(412.3), '412 W'],
    [join(bytesOf(61.2 * GiB, 79.6 * GiB)), '61.2 / 80 GiB'],
    [join(bytesOf(137.4 * GiB, 141 * GiB)), '137 / 141 GiB'],
    [join(bytesOf(0, 80 * GiB)), '0 / 80 GiB'],
    [join(bytesOf(99.97 * GiB, 141 * GiB)), '100 / 141 GiB'],
    [join(bytesOf(1.5 * GiB, 9.75 * GiB)), '1.5 / 9.8 GiB'],
    [join(bytesOf(121 * GiB, 2 * 1024 * GiB)), '0.1 / 2 TiB'],
    [bytes(61.23 * GiB), '61.2 GiB'],
    [bytes(512), '512 B'],
    [energy(120), '120 J'],
    [energy(48_200), '13.4 Wh'],
    [energy(3.6e6 * 1.25), '1.3 kWh']
  ])('says %s as %s', (text, wanted) => {
    expect(plain(text)).toBe(wanted);
  });
});

describe('times', () => {
  it.each([
    [4.9, '4 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [125, '2 min'],
    [3599, '59 min'],
    [3840, '1 h 04 min'],
    [-1, '0 s']
  ])('says %d seconds as %s', (seconds, wanted) => {
    expect(duration(seconds, trans)).toBe(wanted);
  });

  it('tells the time in 24 hours', () => {
    expect(clock(new Date(2026, 10, 29, 0, 5).getTime() / 1000)).toBe('00:05');
    expect(clock(new Date(2026, 10, 29, 14, 20).getTime() / 1000)).toBe('14:20');
  });
});
