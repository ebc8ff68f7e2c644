import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import {
  backupFields,
  NO_RETENTION,
  type ScheduleValues,
  scheduleErrors,
  scheduleRequest,
  scheduleValues,
} from './scheduleForm';
import { retentionText, scheduleText } from './scheduleText';

const OFF = backupFields({} as Bdb);
const DAILY = { ...OFF, backup: true, backup_location_uid: 3 };
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

/** Return the request for changed values. */
const change = (part: Partial<ScheduleValues>, stored = DAILY) =>
  scheduleRequest({ ...scheduleValues(stored), ...part }, stored);

describe('the request for a schedule', () => {
  it('is empty if no value differs', () => {
    expect(change({})).toBeUndefined();
    expect(scheduleRequest(scheduleValues(OFF), OFF)).toBeUndefined();
  });

  it('contains only changed fields', () => {
    expect(change({ every: 6, unit: 'hours', offset: 30 })).toEqual({
      backup_interval: 21_600,
      backup_interval_offset: 1_800,
    });
    expect(change({ location: '4' })).toEqual({ backup_location_uid: 4 });
    expect(change({ enabled: false })).toEqual({ backup: false });
  });

  it('keeps the interval if a cron expression replaces it', () => {
    expect(change({ kind: 'cron', cron: ' 30 2 * * * ', time_zone: 'Europe/Berlin' })).toEqual({
      backup_schedule: {
        cron: '30 2 * * *',
        time_zone: 'Europe/Berlin',
        window_minutes: 60,
        verify: false,
        record_changes: false,
        record_segment_seconds: 30,
      },
    });
  });

  it('turns on the recording of changes', () => {
    expect(change({ record_changes: true, record_segment_seconds: '10' })).toEqual({
      backup_schedule: {
        ...DAILY.backup_schedule,
        record_changes: true,
        record_segment_seconds: 10,
      },
    });
    const values = scheduleValues(DAILY);
    expect(scheduleErrors({ ...values, record_segment_seconds: 4 })).toHaveProperty(
      'record_segment_seconds',
    );
    expect(scheduleErrors({ ...values, record_segment_seconds: 600 })).toEqual({});
  });

  it('removes the cron expression if an interval replaces it', () => {
    const stored = { ...DAILY, backup_schedule: { ...DAILY.backup_schedule, cron: '0 1 * * *' } };
    expect(scheduleValues(stored).kind).toBe('cron');
    expect(change({ kind: 'interval' }, stored)).toEqual({
      backup_schedule: { ...DAILY.backup_schedule, cron: '' },
    });
  });

  it('replaces a location that was set with the API', () => {
    const stored = {
      ...DAILY,
      backup_location_uid: 0,
      backup_location: { type: 'mount_point', path: '/a' },
    };
    expect(change({}, stored), 'no location is chosen').toBeUndefined();
    expect(change({ location: '3' }, stored)).toEqual({
      backup_location_uid: 3,
      backup_location: {},
    });
  });

  it('replaces the number of backups of the Redis Enterprise field, which is the same rule', () => {
    const stored = { ...DAILY, backup_history: 5 };
    expect(scheduleValues(stored).retention.count).toBe(5);
    const values = scheduleValues(stored);
    expect(change({ retention: { ...values.retention, count: 7 } }, stored)).toEqual({
      backup_history: 0,
      backup_retention: { ...NO_RETENTION, count: 7 },
    });
  });

  it('turns rules off whose field is empty', () => {
    const stored = { ...DAILY, backup_retention: { ...NO_RETENTION, daily: 7 } };
    const { retention } = scheduleValues(stored);
    expect(change({ retention: { ...retention, daily: '' } }, stored)).toEqual({
      backup_retention: NO_RETENTION,
    });
  });
});

describe('errors of a schedule', () => {
  const errors = (part: Partial<ScheduleValues>) =>
    Object.keys(scheduleErrors({ ...scheduleValues(DAILY), ...part }));

  it.each([
    [{}, []],
    [{ location: '' }, ['location']],
    [{ every: 0 }, ['every']],
    [{ every: '' }, ['every']],
    [{ every: 367 }, ['every']],
    [{ every: 1, unit: 'hours', offset: 60 }, ['offset']],
    [{ offset: -1 }, ['offset']],
    [{ window_minutes: 0 }, ['window_minutes']],
    [{ window_minutes: 1_441 }, ['window_minutes']],
    [{ kind: 'cron', cron: '30 2 * *' }, ['cron']],
    [{ kind: 'cron', cron: '30 2 * * *', every: 0 }, []],
    [{ enabled: false, location: '', every: 0 }, []],
  ] as const)('of %o are at %o', (part, fields) => {
    expect(errors(part as Partial<ScheduleValues>)).toEqual(fields);
  });
});

describe('the values of a stored interval', () => {
  it.each([
    [86_400, 1, 'days'],
    [90_000, 25, 'hours'],
    [5_400, 90, 'minutes'],
  ])('%d s is %d %s', (backup_interval, every, unit) => {
    expect(scheduleValues({ ...DAILY, backup_interval })).toMatchObject({ every, unit });
  });
});

describe('the text of', () => {
  it('a schedule is an interval or an expression', () => {
    expect(scheduleText(OFF)).toBe('Off');
    expect(plain(scheduleText(DAILY))).toBe('Every 1 d, UTC');
    expect(plain(scheduleText({ ...DAILY, backup_interval_offset: 7_200 }))).toBe(
      'Every 1 d, offset by 2 h, UTC',
    );
    const cron = { ...DAILY.backup_schedule, cron: '0 1 * * *' };
    expect(scheduleText({ ...DAILY, backup_schedule: cron })).toBe('0 1 * * * (UTC)');
  });

  it('the retention lists the rules that are on', () => {
    expect(retentionText(DAILY)).toBe('All backups');
    expect(retentionText({ ...DAILY, backup_history: 5 })).toBe('5 newest, and all manual ones');
    const rules = { ...NO_RETENTION, days: 14, weekly: 4, include_manual: true };
    expect(retentionText({ ...DAILY, backup_retention: rules })).toBe(
      'all of the last 14 days, 4 weekly',
    );
  });
});
