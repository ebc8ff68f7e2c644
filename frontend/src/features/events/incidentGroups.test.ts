import { describe, expect, it } from 'vitest';
import type { Incident, LogEvent } from '@/api/types';
import { eventRowKey, groupByIncident } from './incidentGroups';

const event = (uid: number) =>
  ({ uid, time: `at ${uid}`, time_ms: uid, description: `${uid}` }) as LogEvent;
const incident = (uid: number, timeline: number[]) =>
  ({ uid, event_uid: timeline[1], timeline }) as Incident;
const NEWEST_FIRST = [9, 8, 7, 6, 5, 4, 3].map(event);
const shown = (incidents: Incident[], open: number[] = []) =>
  groupByIncident(NEWEST_FIRST, incidents, new Set(open)).map(eventRowKey);

describe('groupByIncident', () => {
  it('shows an outage as one row at the position of its newest event', () => {
    const rows = groupByIncident(NEWEST_FIRST, [incident(4, [4, 5, 7])], new Set());
    expect(rows.map(eventRowKey)).toEqual([9, 8, 'incident-4', 6, 3]);
    expect(rows[2]?.event).toMatchObject({ description: '5', time: 'at 7' });
    expect(rows[2]?.group).toMatchObject({ count: 3, since: 'at 4' });
  });

  it('lists the events of an expanded outage', () => {
    const rows = groupByIncident(NEWEST_FIRST, [incident(4, [4, 5, 7])], new Set([4]));
    expect(rows.map(eventRowKey)).toEqual([9, 8, 'incident-4', 7, 5, 4, 6, 3]);
    expect(rows.filter(({ isGroupMember }) => isGroupMember)).toHaveLength(3);
  });

  it('does not group outages with few events or without loaded events', () => {
    expect(shown([incident(4, [4, 5])])).toEqual([9, 8, 7, 6, 5, 4, 3]);
    expect(shown([incident(1, [1, 2, 3])])).toEqual([9, 8, 7, 6, 5, 4, 3]);
  });

  it('separates two outages', () => {
    expect(shown([incident(3, [3, 5, 7]), incident(4, [4, 6, 8])])).toEqual([
      9,
      'incident-4',
      'incident-3',
    ]);
  });
});
