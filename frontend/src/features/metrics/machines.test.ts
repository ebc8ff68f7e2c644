import { describe, expect, it } from 'vitest';
import { onePerMachine } from './machines';

describe('onePerMachine', () => {
  it('returns one node per machine, and every node without a machine id', () => {
    const nodes = [
      { uid: 3, machine_id: 'b' },
      { uid: 2, machine_id: 'a' },
      { uid: 1, machine_id: 'a' },
      { uid: 4, machine_id: '' },
    ];
    expect(onePerMachine(nodes)).toEqual(['1', '3', '4']);
  });
});
