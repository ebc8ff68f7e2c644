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
  it('finds what the console says an event belongs to, the latest of two', () => {
    const later = incidentOf({ uid: 30, began_ms: T0 + 1_000, timeline: [30, 17] });
    expect(incidentWith(failover(11, 2, 8), [later, incidentOf()])?.uid).toBe(10);
    expect(incidentWith(event(17, 43), [incidentOf(), later])?.uid).toBe(30);
    expect(incidentWith(event(20, 20), [incidentOf()])).toBeUndefined();
  });
});

describe('related', () => {
  it('is the whole incident, without what shards only repeat', () => {
    const echo = event(18, 0.2, { type: 'shard_role_changed', node_uid: 2 });
    const own = related(failed(), [...STORY, echo], incidentOf({ timeline: [10, 11, 18] }));
    expect(own.map(({ uid }) => uid)).toEqual([10, 11]);
  });

  it('is else what shares the action or the shard', () => {
    const near = [event(1, 0, { shard_uid: '2' }), event(2, 5, { shard_uid: '2' }), event(3, 5)];
    expect(related(near[0] ?? event(1, 0), near, undefined).map(({ uid }) => uid)).toEqual([1, 2]);
  });
});

describe('reachOf', () => {
  it('takes in all that belongs to what the window touches', () => {
    const window = { from: T0 / 1000 + 50, to: T0 / 1000 + 52 };
    expect(reachOf([incidentOf()], window)).toEqual({
      from: T0 / 1000 - 60,
      to: T0 / 1000 + 53.5,
    });
    expect(reachOf([incidentOf()], { from: 1, to: 2 })).toEqual({ from: 1, to: 2 });
  });
});

describe('words', () => {
  it('tells how long it lasted, and what followed as the console says', () => {
    expect(plain(headline(incidentOf(), NOW))).toBe(
      'Node 2 was down for 41 s; demo was not served for 0.63 s; 2 shards failed over',
    );
    const primary = incidentOf({ shard_uid: '5', returned_ms: undefined, summary: [] } as object);
    expect(lostOf(primary)).toBe('primary redis:5 of demo');
    expect(plain(headline(primary, T0 + 5_000))).toBe(
      'Primary redis:5 of demo has been down for 5 s',
    );
  });

  it('claims nothing where no proxy saw a request', () => {
    if (!DATABASE) throw new Error('no database');
    const words = (part: object) => plain(unservedWords({ ...DATABASE, ...part }, NOW));
    expect(words({})).toBe('for 0.63 s');
    expect(words({ unserved_ms: null })).toBe('not known');
    expect(words({ unserved_ms: null, unserved_since_ms: NOW - 4_000 })).toBe('for 4 s by now');
  });

  it('counts resyncs from the first to the last', () => {
    expect(resyncSeconds(incidentOf())).toBe(10.5);
    const [first] = incidentOf().resyncs;
    const open = { ...first, in_sync: false, ended_ms: undefined } as object;
    expect(resyncSeconds(incidentOf({ resyncs: [open] } as object))).toBeNull();
    expect(resyncSeconds(incidentOf({ resyncs: [] }))).toBeNull();
  });
});

describe('factsOf', () => {
  it('tells what clients noticed apart from what the console did', () => {
    const facts = factsOf(failed({ detected_ms: 250 }), incidentOf(), NOW);
    expect(facts.map(([name, value]) => `${name}: ${plain(value)}`)).toEqual([
      'demo not served: for 0.63 s',
      'Promoted after detection: 0.22 s',
      'Resynced in: 11 s',
      'Received in resyncs: 2 MiB',
      'Behind when promoted: nothing that was last told of',
      'Detected after: 0.25 s',
      'Seen by: agents on nodes 1 and 3 reached none of its shards',
      'Shards lost: 2 primaries, 2 replicas',
      'Back after: 41 s',
    ]);
  });
});
