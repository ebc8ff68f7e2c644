import { describe, expect, it } from 'vitest';
import { eventDetails } from './eventDetails';
import { incidentFixture } from './incidents/incident.fixture';
import { failed, T0 } from './outageEvents.fixture';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;

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
