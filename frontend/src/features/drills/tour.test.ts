import { describe, expect, it } from 'vitest';
import type { Incident } from '@/api/types';
import { incidentSince, tourSteps } from './tour';

const T0 = 1_700_000_000_000;
const incident = (part: Partial<Incident> = {}) =>
  ({
    uid: 10,
    kind: 'node_down',
    state: 'down',
    node_uid: 2,
    began_ms: T0,
    detected_ms: T0,
    primaries: 2,
    replicas: 1,
    failovers: [],
    resyncs: [],
    revived: 0,
    percent: null,
    databases: [],
    ...part,
  }) as unknown as Incident;
const demo = {
  uid: 1,
  name: 'demo',
  slots: '0-5460',
  unserved_ms: null,
  failed: 0,
  delayed: 0,
  lost: 0,
  promoted_after_ms: null,
};

const outcomes = (of: Incident | undefined) =>
  tourSteps(2, of).map(({ outcome }) => outcome?.replaceAll('\u00a0', ' '));

describe('tourSteps', () => {
  it('waits for each step', () => {
    expect(outcomes(undefined)).toEqual([undefined, undefined, undefined, undefined, undefined]);
    const waiting = { ...demo, unserved_since_ms: T0 };
    expect(outcomes(incident({ databases: [waiting] }))).toEqual([
      '2 primaries and 1 replica lost.',
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('describes the outcome of each step', () => {
    const served = { ...demo, unserved_ms: 630, promoted_after_ms: 220 };
    const over = incident({
      state: 'over',
      databases: [served],
      failovers: [11, 12],
      returned_ms: T0 + 20_000,
      revived: 3,
      percent: 100,
    });
    expect(outcomes(over)).toEqual([
      '2 primaries and 1 replica lost.',
      '2 replicas promoted, 0.22 s after detection.',
      'demo was not served for 0.63 s, measured at the endpoints.',
      'Recovered after 20 s.',
      '3 replicas in sync again.',
    ]);
  });

  it('reports no client impact if no requests were sent', () => {
    expect(outcomes(incident({ databases: [demo] }))[2]).toBeUndefined();
    expect(outcomes(incident({ databases: [demo], state: 'over' }))[2]).toBe(
      'No client impact was detected.',
    );
  });
});

describe('incidentSince', () => {
  it('returns the first incident of the node after the start', () => {
    const others = [
      incident({ uid: 1, began_ms: T0 - 60_000 }),
      incident({ uid: 2, node_uid: 3 }),
      incident({ uid: 4, began_ms: T0 + 50_000 }),
      incident({ uid: 3, began_ms: T0 + 900 }),
    ];
    expect(incidentSince(others, 2, T0)?.uid).toBe(3);
    expect(incidentSince(others.slice(0, 2), 2, T0)).toBeUndefined();
  });
});
