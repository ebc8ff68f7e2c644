import { describe, expect, it } from 'vitest';
import { TopicRing } from './ring';
import { ringCombiner } from './ringCombiner';

function ringOf(seconds: number): TopicRing {
  const ring = new TopicRing(60);
  ring.setMetrics(['ops']);
  for (let t = 1; t <= seconds; t += 1) add(ring, t);
  return ring;
}

function add(ring: TopicRing, t: number): void {
  ring.write(t, '1', [t]);
  ring.write(t, '2', [10 * t]);
}

const highest = () => ringCombiner({ uids: ['1', '2'], metric: 'ops', rule: 'max' });

describe('ringCombiner', () => {
  it('follows a moving window', () => {
    const ring = ringOf(20);
    const read = highest();
    expect([...read(ring, 1, 20)]).toEqual([...highest()(ring, 1, 20)]);
    add(ring, 21);
    add(ring, 22);
    expect([...read(ring, 3, 22)]).toEqual([...highest()(ring, 3, 22)]);
    expect(read(ring, 3, 22).at(-1)).toBe(220);
  });

  it('includes samples that arrive slightly or very late', () => {
    const ring = ringOf(20);
    const read = highest();
    read(ring, 1, 20);
    ring.write(18, '1', [999]);
    add(ring, 21);
    expect(read(ring, 2, 21).at(-4)).toBe(999);
    ring.write(5, '1', [777]);
    add(ring, 22);
    expect(read(ring, 3, 22)[2]).toBe(777);
  });

  it('does not reuse values for an older window or another ring buffer', () => {
    const ring = ringOf(20);
    const read = highest();
    read(ring, 10, 20);
    expect(read(ring, 1, 20)[0]).toBe(10);
    expect(read(ringOf(0), 1, 20)[0]).toBeNaN();
  });
});
