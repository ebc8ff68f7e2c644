import { describe, expect, it } from 'vitest';
import type { Incident } from '../types';
import { mergeIncidents } from './incidents';

const incident = (uid: number, state: Incident['state'], part: Partial<Incident> = {}) =>
  ({ uid, state, began_ms: uid, ...part }) as Incident;

describe('mergeIncidents', () => {
  it('lists open incidents first, then the newest, each with its latest version', () => {
    const older = [incident(3, 'down'), incident(2, 'over'), incident(1, 'resyncing')];
    const latest = [incident(4, 'over'), incident(3, 'over', { revived: 2 })];
    const found = mergeIncidents(older, latest);
    expect(found.map(({ uid }) => uid)).toEqual([1, 4, 3, 2]);
    expect(found[2]?.revived).toBe(2);
  });
});
