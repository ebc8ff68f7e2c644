import { describe, expect, it } from 'vitest';
import { event, failed, failover, OUTAGE_EVENTS, T0 } from '../outageEvents.fixture';
import { incidentFixture } from './incident.fixture';
import { incidentWith, relatedEvents, windowWithIncidents } from './incidentEvents';

describe('incidentWith', () => {
  it('finds the incident of an event, the latest one if there are several', () => {
    const later = incidentFixture({ uid: 30, began_ms: T0 + 1_000, timeline: [30, 17] });
    expect(incidentWith(failover(11, 2, 8), [later, incidentFixture()])?.uid).toBe(10);
    expect(incidentWith(event(17, 43), [incidentFixture(), later])?.uid).toBe(30);
    expect(incidentWith(event(20, 20), [incidentFixture()])).toBeUndefined();
  });
});

describe('relatedEvents', () => {
  it('returns the events of the incident without shard events that repeat others', () => {
    const echo = event(18, 0.2, { type: 'shard_role_changed', node_uid: 2 });
    const own = relatedEvents(
      failed(),
      [...OUTAGE_EVENTS, echo],
      incidentFixture({ timeline: [10, 11, 18] }),
    );
    expect(own.map(({ uid }) => uid)).toEqual([10, 11]);
  });

  it('returns events with the same action or shard if the event has no incident', () => {
    const near = [event(1, 0, { shard_uid: '2' }), event(2, 5, { shard_uid: '2' }), event(3, 5)];
    expect(relatedEvents(near[0] ?? event(1, 0), near, undefined).map(({ uid }) => uid)).toEqual([
      1, 2,
    ]);
  });
});

describe('windowWithIncidents', () => {
  it('extends the window to all events of its incidents', () => {
    const window = { from: T0 / 1000 + 50, to: T0 / 1000 + 52 };
    expect(windowWithIncidents([incidentFixture()], window)).toEqual({
      from: T0 / 1000 - 60,
      to: T0 / 1000 + 53.5,
    });
    expect(windowWithIncidents([incidentFixture()], { from: 1, to: 2 })).toEqual({
      from: 1,
      to: 2,
    });
  });
});
