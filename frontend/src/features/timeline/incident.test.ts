import { describe, expect, it } from 'vitest';
import { eventDetails } from './facts';
import { incidentWith, relatedEvents, windowWithIncidents } from './incident';
import { incidentFixture } from './incident.fixture';
import { event, failed, failover, OUTAGE_EVENTS, T0 } from './story.fixture';
import { failedComponent, headline, resyncSeconds, unservedText } from './words';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;
const [DATABASE] = incidentFixture().databases;

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

describe('words', () => {
  it('states the duration, followed by the summary of the console', () => {
    expect(plain(headline(incidentFixture(), NOW))).toBe(
      'Node 2 was down for 41 s; demo was not served for 0.63 s; 2 shards failed over',
    );
    const primary = incidentFixture({
      shard_uid: '5',
      returned_ms: undefined,
      summary: [],
    } as object);
    expect(failedComponent(primary)).toBe('primary redis:5 of demo');
    expect(plain(headline(primary, T0 + 5_000))).toBe(
      'Primary redis:5 of demo has been down for 5 s',
    );
  });

  it('shows the duration as unknown if no proxy measured one', () => {
    if (!DATABASE) throw new Error('no database');
    const words = (part: object) => plain(unservedText({ ...DATABASE, ...part }, NOW));
    expect(words({})).toBe('for 0.63 s');
    expect(words({ unserved_ms: null })).toBe('unknown');
    expect(words({ unserved_ms: null, unserved_since_ms: NOW - 4_000 })).toBe('for 4 s so far');
  });

  it('measures resyncs from the start of the first to the end of the last', () => {
    expect(resyncSeconds(incidentFixture())).toBe(10.5);
    const [first] = incidentFixture().resyncs;
    const open = { ...first, in_sync: false, ended_ms: undefined } as object;
    expect(resyncSeconds(incidentFixture({ resyncs: [open] } as object))).toBeNull();
    expect(resyncSeconds(incidentFixture({ resyncs: [] }))).toBeNull();
  });
});

describe('eventDetails', () => {
  it('lists the client impact before the reaction of the console', () => {
    const facts = eventDetails(failed({ detected_ms: 250 }), incidentFixture(), NOW);
    expect(facts.map(([name, value]) => `${name}: ${plain(value)}`)).toEqual([
      'demo not served: for 0.63 s',
      'Promoted after detection: 0.22 s',
      'Resynced in: 11 s',
      'Received in resyncs: 2 MiB',
      'Replication lag at promotion: 0 B at the last report',
      'Detected after: 0.25 s',
      'Detected by: agents on nodes 1 and 3 (no shard reachable)',
      'Shards lost: 2 primaries, 2 replicas',
      'Recovered after: 41 s',
    ]);
  });
});
