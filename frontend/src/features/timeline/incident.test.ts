import { describe, expect, it } from 'vitest';
import { factsOf } from './facts';
import { incidentWith, reachOf, related } from './incident';
import { incidentOf } from './incident.fixture';
import { event, failed, failover, STORY, T0 } from './story.fixture';
import { headline, lostOf, resyncSeconds, unservedWords } from './words';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;
const [DATABASE] = incidentOf().databases;

describe('incidentWith', () => {
  it('finds the incident of an event, the latest one if there are several', () => {
    const later = incidentOf({ uid: 30, began_ms: T0 + 1_000, timeline: [30, 17] });
    expect(incidentWith(failover(11, 2, 8), [later, incidentOf()])?.uid).toBe(10);
    expect(incidentWith(event(17, 43), [incidentOf(), later])?.uid).toBe(30);
    expect(incidentWith(event(20, 20), [incidentOf()])).toBeUndefined();
  });
});

describe('related', () => {
  it('returns the events of the incident without shard events that repeat others', () => {
    const echo = event(18, 0.2, { type: 'shard_role_changed', node_uid: 2 });
    const own = related(failed(), [...STORY, echo], incidentOf({ timeline: [10, 11, 18] }));
    expect(own.map(({ uid }) => uid)).toEqual([10, 11]);
  });

  it('returns events with the same action or shard if the event has no incident', () => {
    const near = [event(1, 0, { shard_uid: '2' }), event(2, 5, { shard_uid: '2' }), event(3, 5)];
    expect(related(near[0] ?? event(1, 0), near, undefined).map(({ uid }) => uid)).toEqual([1, 2]);
  });
});

describe('reachOf', () => {
  it('extends the window to all events of its incidents', () => {
    const window = { from: T0 / 1000 + 50, to: T0 / 1000 + 52 };
    expect(reachOf([incidentOf()], window)).toEqual({
      from: T0 / 1000 - 60,
      to: T0 / 1000 + 53.5,
    });
    expect(reachOf([incidentOf()], { from: 1, to: 2 })).toEqual({ from: 1, to: 2 });
  });
});

describe('words', () => {
  it('states the duration, followed by the summary of the console', () => {
    expect(plain(headline(incidentOf(), NOW))).toBe(
      'Node 2 was down for 41 s; demo was not served for 0.63 s; 2 shards failed over',
    );
    const primary = incidentOf({ shard_uid: '5', returned_ms: undefined, summary: [] } as object);
    expect(lostOf(primary)).toBe('primary redis:5 of demo');
    expect(plain(headline(primary, T0 + 5_000))).toBe(
      'Primary redis:5 of demo has been down for 5 s',
    );
  });

  it('shows the duration as unknown if no proxy measured one', () => {
    if (!DATABASE) throw new Error('no database');
    const words = (part: object) => plain(unservedWords({ ...DATABASE, ...part }, NOW));
    expect(words({})).toBe('for 0.63 s');
    expect(words({ unserved_ms: null })).toBe('unknown');
    expect(words({ unserved_ms: null, unserved_since_ms: NOW - 4_000 })).toBe('for 4 s so far');
  });

  it('measures resyncs from the start of the first to the end of the last', () => {
    expect(resyncSeconds(incidentOf())).toBe(10.5);
    const [first] = incidentOf().resyncs;
    const open = { ...first, in_sync: false, ended_ms: undefined } as object;
    expect(resyncSeconds(incidentOf({ resyncs: [open] } as object))).toBeNull();
    expect(resyncSeconds(incidentOf({ resyncs: [] }))).toBeNull();
  });
});

describe('factsOf', () => {
  it('lists the client impact before the reaction of the console', () => {
    const facts = factsOf(failed({ detected_ms: 250 }), incidentOf(), NOW);
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
