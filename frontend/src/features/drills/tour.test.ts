import { describe, expect, it } from 'vitest';
import type { Incident } from '@/api/types';
import { incidentSince, missReason, tourSteps } from './tour';

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
    figures: [],
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

const CONDITIONS = { now: T0 + 500, drillSeconds: 20 };
const plain = (text: string | undefined) => text?.replaceAll('\u00a0', ' ');
const steps = (of: Incident | undefined, now = CONDITIONS.now) =>
  tourSteps(2, of, { ...CONDITIONS, now });
const outcomes = (of: Incident | undefined) => steps(of).map(({ outcome }) => plain(outcome));
const missed = (of: Incident | undefined, now?: number) =>
  steps(of, now).map(({ isMissed }) => isMissed);
const promotedAfter = (ms: number) => [{ name: 'promoted', ms, count: 2, total: 2, events: [] }];

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
      figures: promotedAfter(220),
      returned_ms: T0 + 20_000,
      ended_ms: T0 + 32_000,
      revived: 3,
      percent: 100,
    } as Partial<Incident>);
    expect(missed(over)).toEqual([false, false, false, false, false]);
    expect(outcomes(over)).toEqual([
      '2 primaries and 1 replica lost.',
      '2 replicas promoted, 0.22 s after detection.',
      'demo was not served for 0.63 s, measured at the endpoints.',
      'Recovered after 20 s.',
      '3 replicas in sync again, 12 s after the node was back.',
    ]);
  });

  it('judges each step by its promise', () => {
    const over = incident({
      state: 'over',
      primaries: 3,
      databases: [{ ...demo, unserved_ms: 74_000, promoted_after_ms: 23_000 }],
      failovers: [11, 12],
      figures: promotedAfter(23_000),
      returned_ms: T0 + 90_000,
      ended_ms: T0 + 190_000,
      revived: 3,
      percent: 100,
    } as Partial<Incident>);
    expect(missed(over, T0 + 200_000)).toEqual([false, true, true, true, true]);
    expect(outcomes(over).slice(1, 3)).toEqual([
      '2 of 3 lost primaries replaced, 23 s after detection.',
      'demo was not served for 74 s, measured at the endpoints.'.replace('74 s', '1 min 14 s'),
    ]);
    expect(missed(incident({ state: 'over', primaries: 0 }))[0]).toBe(true);
  });

  it('reports a miss as soon as a promise cannot be kept', () => {
    const waiting = incident({ databases: [{ ...demo, unserved_since_ms: T0 }] });
    expect(missed(waiting, T0 + 900)).toEqual([false, false, false, false, false]);
    expect(missed(waiting, T0 + 1_900)).toEqual([false, true, false, false, false]);
    expect(missed(waiting, T0 + 2_100)).toEqual([false, true, true, false, false]);
    expect(missed(waiting, T0 + 60_000)).toEqual([false, true, true, true, false]);
    expect(missed(undefined, T0 + 60_000)).toEqual([false, false, false, false, false]);
  });

  it('explains a miss by a busy CPU, and only by it if the CPU was busy', () => {
    const busy = missReason({ ...CONDITIONS, busiest: { node: 1, share: 1 } });
    expect(plain(busy)).toContain('The CPU of node 1 was 100% busy');
    const idle = missReason({ ...CONDITIONS, busiest: { node: 1, share: 0.3 } });
    expect(plain(idle)).toContain('The CPU was not the cause: 30% at most');
    expect(missReason(CONDITIONS)).not.toContain('CPU');
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
