import { describe, expect, it } from 'vitest';
import { onePerMachine } from './machines';

describe('onePerMachine', () => {
  it('counts a machine once, and a node that does not say as one of its own', () => {
    const nodes = [
      { uid: 3, machine_id: 'b' },
      { uid: 2, machine_id: 'a' },
      { uid: 1, machine_id: 'a' },
      { uid: 4, machine_id: '' },
    ];
    expect(onePerMachine(nodes)).toEqual(['1', '3', '4']);
  });
});
