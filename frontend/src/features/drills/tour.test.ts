import { describe, expect, it } from 'vitest';
import type { Incident } from '@/api/types';
import { type Conditions, incidentSince, tourSteps } from './tour';

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

const CONDITIONS: Conditions = { now: T0 + 500, drillSeconds: 20, busiest: () => undefined };
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

  it('explains each miss by the CPU at the time of its step', () => {
    const late = incident({
      state: 'over',
      databases: [{ ...demo, unserved_ms: 74_000 }],
      failovers: [11, 12],
      figures: promotedAfter(23_000),
      returned_ms: T0 + 90_000,
      ended_ms: T0 + 190_000,
    } as Partial<Incident>);
    const reasons = (busiest: Conditions['busiest']) =>
      tourSteps(2, late, { ...CONDITIONS, now: T0 + 200_000, busiest }).map(({ reason }) =>
        plain(reason),
      );
    // Busy until the node is back, idle during the resync.
    const busiest = (from: number) => ({ node: 1, share: from < T0 + 80_000 ? 1 : 0.3 });
    const busy = 'The CPU of node 1 was 100% busy at that time, so all processes were delayed.';
    const idle = 'The CPU was not the cause: it was at most 30% busy at that time.';
    expect(reasons(busiest)).toEqual([undefined, busy, busy, busy, idle]);
    expect(reasons(() => undefined)[4]).toBe('The CPU usage at that time is unknown.');
  });

  it('passes the time of each step', () => {
    const spans: [number, number][] = [];
    tourSteps(2, incident({ databases: [{ ...demo, unserved_since_ms: T0 + 100 }] }), {
      ...CONDITIONS,
      now: T0 + 60_000,
      busiest: (from, to) => {
        spans.push([from - T0, to - T0]);
        return undefined;
      },
    });
    expect(spans).toEqual([
      [0, 60_000],
      [0, 60_000],
      [0, 60_000],
    ]);
  });

  it('explains that a node without primaries has no failover', () => {
    const [first] = steps(incident({ state: 'over', primaries: 0 }));
    expect(first).toMatchObject({ isMissed: true, reason: 'The node had no primaries.' });
  });

  it('does not judge what was not measured', () => {
    const step = steps(incident({ state: 'over', failovers: [11, 12] }))[1];
    expect(step).toMatchObject({ isMissed: false, isUnmeasured: true });
    expect(plain(step?.outcome)).toBe('2 replicas promoted; the time was not measured.');
    const [, , quiet] = steps(incident({ databases: [demo], state: 'over' }));
    expect(quiet).toMatchObject({ isMissed: false, isUnmeasured: true });
  });

  it('reports that no requests were delayed if none were measured', () => {
    expect(outcomes(incident({ databases: [demo] }))[2]).toBeUndefined();
    expect(outcomes(incident({ databases: [demo], state: 'over' }))[2]).toBe(
      'No delayed requests were measured.',
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
