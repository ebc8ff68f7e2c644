import { describe, expect, it } from 'vitest';
import { T0 } from '../outageEvents.fixture';
import { incidentFixture } from './incident.fixture';
import {
  failedComponent,
  figureTexts,
  incidentTitle,
  MAX_TITLE,
  resyncSeconds,
  unservedText,
} from './incidentText';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const NOW = T0 + 120_000;
const [DATABASE] = incidentFixture().databases;

describe('incident text', () => {
  it('has a short title', () => {
    expect(plain(incidentTitle(incidentFixture(), NOW))).toBe('Node 2 was down for 41 s');
    const primary = incidentFixture({
      shard_uid: '5',
      returned_ms: undefined,
    } as object);
    expect(failedComponent(primary)).toBe('primary redis:5 of demo');
    expect(plain(incidentTitle(primary, T0 + 5_000))).toBe(
      'Primary redis:5 of demo has been down for 5 s',
    );
    if (!DATABASE) throw new Error('no database');
    const databases = [{ ...DATABASE, name: 'a name that is too long for the title of a page' }];
    const long = incidentTitle({ ...primary, databases }, NOW);
    expect(long).toHaveLength(MAX_TITLE);
    expect(plain(long)).toMatch(/^Primary redis:5 of a name .*… has been down for 2 min$/);
  });

  it('has four figures with the events that they are computed from', () => {
    const texts = (incident = incidentFixture()) =>
      figureTexts(incident, NOW).map(({ label, value, note, events }) =>
        plain([label, value ?? '–', note, events].join(' | ')),
      );
    expect(texts()).toEqual([
      'Down for | 41 s |  | 10',
      'Not served for | 0.63 s |  | 10',
      'Promoted after detection | 0.22 s | 2 of 3 | 11,12',
      'In sync after detection | 54 s |  | 14,15',
    ]);
    const [down] = texts(incidentFixture({ returned_ms: undefined } as object));
    expect(down).toBe('Down for | 2 min | so far | 10');
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
