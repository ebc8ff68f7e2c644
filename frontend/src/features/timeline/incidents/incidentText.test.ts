import { describe, expect, it } from 'vitest';
import { T0 } from '../outageEvents.fixture';
import { incidentFixture } from './incident.fixture';
import { failedComponent, headline, resyncSeconds, unservedText } from './incidentText';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;
const [DATABASE] = incidentFixture().databases;

describe('incident text', () => {
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
