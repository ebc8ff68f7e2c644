import { describe, expect, it } from 'vitest';
import { figureHint, figureNote, figureState, MAX_LATE_AGE } from './figureState';

const ALL = { reporting: 3, expected: 3 };
const SOME = { reporting: 2, expected: 3 };
const current = { lostFor: null, nodes: ALL };
const found = (age: number) => ({ value: 12, age });

describe('figureState', () => {
  it('is fresh for a few seconds, then late with its age, then unknown', () => {
    expect(figureState({ ...current, found: found(3) })).toEqual({ kind: 'fresh', value: 12 });
    const late = figureState({ ...current, found: found(6) });
    expect(late).toEqual({ kind: 'late', value: 12, age: 6 });
    expect(figureNote(late)).toBe('6\u00a0s ago');
    const unknown = figureState({ ...current, found: found(MAX_LATE_AGE + 1) });
    expect(unknown).toEqual({ kind: 'unknown', reason: 'No samples in the last minute' });
    expect(figureState({ ...current, found: null }).kind).toBe('unknown');
  });

  it('names the nodes that report if some do not', () => {
    const partial = figureState({ found: found(6), lostFor: null, nodes: SOME });
    expect(partial.kind).toBe('partial');
    expect(figureNote(partial)).toBe('2 of 3 nodes');
    expect(figureHint(partial)).toContain('6\u00a0s old');
    const none = figureState({ found: null, lostFor: null, nodes: SOME });
    expect(figureHint(none)).toContain('2 of 3 nodes');
    const all = { reporting: 0, expected: 3 };
    expect(figureState({ found: found(6), lostFor: null, nodes: all }).kind).toBe('late');
    // The figure of another node is not affected.
    expect(figureState({ found: found(0), lostFor: null, nodes: SOME }).kind).toBe('fresh');
  });

  it('is stale since the connection was lost, whatever the age of the value', () => {
    const stale = figureState({ found: found(0), lostFor: 22, nodes: SOME });
    expect(stale).toEqual({ kind: 'stale', value: 12, age: 22 });
    expect(figureHint(stale)).toContain('Disconnected for 22\u00a0s');
    const unknown = figureState({ found: null, lostFor: 22, nodes: ALL, emptyReason: 'Idle' });
    expect(figureHint(unknown)).toBe('Disconnected for 22\u00a0s');
  });

  it('is unknown with the reason if nothing was measured', () => {
    const state = figureState({ ...current, found: found(9), emptyReason: 'No requests' });
    expect(state).toEqual({ kind: 'unknown', reason: 'No requests' });
    expect([figureNote(state), figureHint(state)]).toEqual(['', 'No requests']);
  });
});
