/** Incident of the events in `outageEvents.fixture.ts`: a node that went down and recovered. For tests. */
import type { Incident, IncidentWithEvents } from '@/api/types';
import { OUTAGE_EVENTS, T0 } from '../outageEvents.fixture';

const EVENT_UIDS = [9, 10, 11, 12, 13, 14, 15, 16, 17];

export const incidentFixture = (part: Partial<Incident> = {}): Incident => ({
  uid: 10,
  event_uid: 10,
  kind: 'node_down',
  state: 'over',
  node_uid: 2,
  began: new Date(T0).toISOString(),
  began_ms: T0,
  detected_ms: T0,
  returned_ms: T0 + 41_000,
  ended: new Date(T0 + 53_500).toISOString(),
  ended_ms: T0 + 53_500,
  cause: { kind: 'drill', event_uid: 9, description: 'drill ordered by ann' },
  databases: [
    {
      uid: 1,
      name: 'demo',
      slots: '0-5460',
      unserved_ms: 630,
      served_again_ms: T0 + 640,
      failed: 2,
      delayed: 1_234,
      lost: 1,
      promoted_after_ms: 220,
    },
  ],
  primaries: 2,
  replicas: 2,
  failovers: [11, 12],
  resyncs: [14, 15].map((uid, index) => ({
    event_uid: uid,
    bdb_uid: 1,
    shard_uid: String([2, 5][index]),
    began_ms: T0 + 42_000 + index * 500,
    ended_ms: T0 + 52_000 + index * 500,
    percent: 100,
    in_sync: true,
  })),
  revived: 2,
  percent: 100,
  bytes_behind: 0,
  bytes_resynced: 2_097_152,
  figures: [
    { name: 'down', ms: 41_000, events: [10] },
    { name: 'unserved', ms: 630, events: [10] },
    { name: 'promoted', ms: 220, count: 2, total: 3, events: [11, 12] },
    { name: 'in_sync', ms: 53_500, events: [14, 15] },
  ],
  summary: ['demo was not served for 0.63 s', '2 shards failed over'],
  timeline: EVENT_UIDS,
  ...part,
});

export const incidentWithEventsFixture = (part: Partial<Incident> = {}): IncidentWithEvents => ({
  ...incidentFixture(part),
  events: OUTAGE_EVENTS.filter(({ uid }) => EVENT_UIDS.includes(uid)),
});
