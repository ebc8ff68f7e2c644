import { describe, expect, it } from 'vitest';
import { factsOf } from './facts';
import { beginOf, incidentOf, incidentWith, ongoing, related } from './incident';
import { markdownReport } from './report';
import { event, failed, failover, resync, STORY, T0 } from './story.fixture';
import { headline } from './words';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;

function incident(events = STORY, now = NOW) {
  const found = incidentOf(events.find(({ uid }) => uid === 10) ?? failed(), events, now);
  if (!found) throw new Error('no incident');
  return found;
}

describe('incidentOf', () => {
  it('gathers what the outage brought about, and nothing else', () => {
    const found = incident();
    expect(found.events.map(({ uid }) => uid)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17]);
    expect(found).toMatchObject({ state: 'over', percent: 100, bytesBehind: 0 });
    expect(found.end).toBe(T0 + 53_500);
    expect(found.drill?.uid).toBe(9);
  });

  it('leaves out what is done to the node once it is back', () => {
    const later = { ...failover(31, 8, 2), time_ms: T0 + 90_000, method: 'graceful' };
    expect(incident([...STORY, later]).failovers.map(({ heir }) => heir)).toEqual(['8', '11']);
  });

  it('ends where the next outage of the node begins', () => {
    const again = failed({ uid: 30, time_ms: T0 + 43_000 });
    const found = incident([...STORY, again]);
    expect(found.resyncs.map(({ shard }) => shard)).toEqual(['2', '5']);
  });

  it('counts replicas that wait for their turn, so that the percent never falls', () => {
    const running = { open: true, ended_ms: undefined, phase: 'transfer', percent: 40 };
    const events = [failed(), resync(14, 2, 42), resync(15, 5, 43, running)];
    const found = incident(events);
    expect(found).toMatchObject({ state: 'resyncing', end: null, percent: 35 });
  });

  it('waits a little for the first resync before it calls the incident over', () => {
    expect(incident([failed()], T0 + 45_000).state).toBe('resyncing');
    expect(incident([failed()], T0 + 60_000).state).toBe('over');
  });

  it('takes no resync for recovery that only noticed the loss', () => {
    const echo = resync(9, 8, -0.1, { outcome: 'lost', percent: 0, ended_ms: T0 });
    const found = incident([
      echo,
      failed(),
      event(14, 42, { type: 'replica_revived', node_uid: 2 }),
    ]);
    expect(found).toMatchObject({ resyncs: [], percent: null, revived: 1 });
    expect(plain(headline(found, NOW))).toContain('1 replica back in sync');
  });

  it('does not know the loss when one failover does not', () => {
    expect(incident([failed(), failover(11, 2, 8, 4), failover(12, 5, 11, null)]).bytesBehind).toBe(
      null,
    );
  });
});

describe('ongoing', () => {
  it('finds outages that are not over', () => {
    expect(ongoing(STORY, NOW)).toEqual([]);
    const down = failed({ ended_ms: undefined, open: true });
    expect(ongoing([down], NOW).map(({ state }) => state)).toEqual(['down']);
  });
});

describe('related', () => {
  it('tells the whole incident for any part of it', () => {
    const [, , , takeover] = STORY;
    const found = related(takeover ?? failed(), STORY, NOW);
    expect(found.map(({ uid }) => uid)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17]);
  });

  it('else what has the same action', () => {
    const begun = event(40, 200, { type: 'bdb_created', action_uid: 'a' });
    const done = event(41, 210, { type: 'bdb_activated', action_uid: 'a' });
    expect(incidentWith(begun, [...STORY, begun, done], NOW)).toBeNull();
    expect(related(begun, [...STORY, begun, done], NOW)).toEqual([begun, done]);
  });
});

describe('headline', () => {
  const said = (events = STORY, now = NOW) => plain(headline(incident(events, now), now));

  it('tells the whole story when it is over', () => {
    expect(said()).toBe(
      'Node 2 was down for 41 s; 2 shards failed over; promoted 0.4 s after detection; 4 replicas resynced in 12 s; ' +
        "no known data loss (replicas had reached the primaries' last reported offset)",
    );
  });

  it('tells of the loss, not only of its detection', () => {
    const told = said([
      failed({ detected_ms: 250 }),
      ...STORY.filter(({ type }) => type !== 'node_failed'),
    ]);
    expect(told).toContain('2 shards failed over 0.65 s after the last sign of life');
  });

  it('looks as far back as an outage that goes on', () => {
    const later = T0 / 1000 + 5 * 3_600;
    const open = failed({ ended_ms: undefined, open: true } as object);
    expect(beginOf([open], later)).toBeLessThan(T0 / 1000);
    expect(beginOf([failed()], later)).toBe(later);
  });

  it('tells how far it is while it goes on', () => {
    const down = failed({ ended_ms: undefined, open: true });
    expect(said([down], T0 + 5_000)).toBe('Node 2 has been down for 5 s; 2 primaries lost');
    const running = { open: true, ended_ms: undefined, phase: 'load', percent: 60 };
    expect(said([failed({ primaries: 1, replicas: 0 }), resync(14, 2, 42, running)])).toBe(
      'Node 2 was down for 41 s; 1 primary lost; 1 replica resyncing, 60 %',
    );
  });

  it('does not promise what nobody knows', () => {
    expect(said([failed(), failover(11, 2, 8, null)])).toContain('is not known');
    expect(said([failed(), failover(11, 2, 8, 2048)])).toContain(
      '2 KiB that the primaries last told of are lost',
    );
  });
});

describe('factsOf', () => {
  it('tells durations of an outage', () => {
    const facts = factsOf(failed({ detected_ms: 250 }), incident(), NOW);
    expect(facts.map(([name, value]) => `${name}: ${plain(value)}`)).toEqual([
      'Detected after: 0.25 s',
      'Seen by: agents on nodes 1 and 3 reached none of its shards',
      'Shards lost: 2 primaries, 2 replicas',
      'Promoted after detection: 0.4 s',
      'Promoted after last sign of life: 0.65 s',
      'Back after: 41 s',
      'Resynced in: 12 s',
      'Behind when promoted: nothing that was last told of',
    ]);
  });
});

describe('markdownReport', () => {
  const report = markdownReport(incident(), {
    cluster: 'lab',
    names: new Map([[1, 'demo']]),
    url: 'http://x/timeline/incident/10',
    now: NOW,
  });

  it('has the headline, all figures and times in UTC', () => {
    expect(report).toContain('# Node 2 down, 2026-03-01 04:00:00.000 UTC');
    expect(report).toContain('| Cause | drill ordered by ann |');
    expect(report).toContain(
      '| 2026-03-01 04:00:00.400 UTC | demo | redis:2 → redis:8 | 0.4 s | 0.25 s | nothing that was last told of | FORCE |',
    );
    expect(report).toContain('| redis:2 | redis:8 | 2026-03-01 04:00:42.000 UTC |');
    expect(report).not.toContain('\u00a0');
  });

  it('keeps its tables whole whatever the log says', () => {
    const odd = failed({ description: 'a | b\nc' });
    const text = markdownReport(incident([odd]), {
      cluster: '',
      names: new Map(),
      url: '',
      now: NOW,
    });
    expect(text).toContain('| a \\| b c |');
    expect(text).toContain('No shard failed over.');
  });
});
