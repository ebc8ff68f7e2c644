import { describe, expect, it } from 'vitest';
import { scheduleErrors, scheduleRequest, scheduleValues } from './consoleSchedule';

const stored = {
  location_uid: 3,
  cron: '0 4 * * 1',
  time_zone: 'Europe/Berlin',
  keep: 8,
  next_at: null,
};

describe('schedule of backups of the console', () => {
  it('has defaults, which need a location', () => {
    const values = { ...scheduleValues(null), enabled: true };
    expect(scheduleRequest(values, null)).toBeUndefined();
    expect(scheduleRequest({ ...values, location: '2' }, null)).toEqual({
      settings: { location_uid: 2, cron: '30 2 * * *', time_zone: 'UTC', keep: 30 },
    });
  });

  it('is only sent if it differs', () => {
    expect(scheduleRequest(scheduleValues(stored), stored)).toBeUndefined();
    expect(
      scheduleRequest({ ...scheduleValues(stored), cron: ' 0  4 * * 1 ' }, stored),
    ).toBeUndefined();
    expect(scheduleRequest({ ...scheduleValues(stored), keep: 9 }, stored)?.settings?.keep).toBe(9);
  });

  it('is removed if it is switched off', () => {
    expect(scheduleRequest({ ...scheduleValues(stored), enabled: false }, stored)).toEqual({});
    expect(scheduleRequest(scheduleValues(null), null)).toBeUndefined();
  });

  it.each([
    [{ cron: '1 2 3' }, 'cron'],
    [{ keep: 0 }, 'keep'],
    [{ keep: '' }, 'keep'],
    [{ keep: 1001 }, 'keep'],
    [{ keep: 1.5 }, 'keep'],
  ])('rejects %j', (change, field) => {
    const values = { ...scheduleValues(stored), ...change };
    expect(Object.keys(scheduleErrors(values))).toEqual([field]);
    expect(scheduleRequest(values, stored)).toBeUndefined();
  });
});
