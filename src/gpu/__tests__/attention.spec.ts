import { Detail } from '../../tokens';
import { Attention } from '../attention';

describe('Attention', () => {
  const strip = (...nodes: string[]): Map<string, Detail> => new Map(nodes.map(node => [node, 'strip']));

  it('misses what is looked at and not followed, or not so closely', () => {
    const attention = new Attention();
    attention.look('a', 'strip');
    attention.look('b', 'full');
    expect([...attention.missing]).toEqual([
      ['a', 'strip'],
      ['b', 'full']
    ]);
    attention.follow(new Map(attention.missing));
    expect(attention.missing.size).toBe(0);
    attention.look('a', 'full');
    expect([...attention.missing]).toEqual([['a', 'full']]);
    attention.look('b', 'strip');
    expect([...attention.missing.keys()]).toEqual(['a']);
  });

  it('goes on with what was seen lately, and lets the longest unseen go', () => {
    const attention = new Attention();
    const nodes = Array.from({ length: 30 }, (_, i) => `n${i}`);
    nodes.forEach(node => attention.look(node, 'strip'));
    expect(attention.follow(strip(...nodes))).toEqual([]);
    nodes.slice(1).forEach(node => attention.look(node, null));
    const dropped = attention.follow(strip());
    expect(dropped).toEqual(['n1', 'n2', 'n3', 'n4', 'n5']);
    expect(attention.followed.size).toBe(25);
    expect(attention.followed.has('n0')).toBe(true);
  });
});
