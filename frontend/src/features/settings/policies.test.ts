import { describe, expect, it } from 'vitest';
import { editFields, emptyEdit } from '@/lib/edits';
import {
  conflictsOf,
  formatSetting,
  SECTIONS,
  type SettingDeclaration,
  type SettingValues,
  settingError,
} from './policies';

const declarationOf = (name: string): SettingDeclaration => {
  const found = SECTIONS.flatMap(({ rules }) => rules).find((each) => each.name === name);
  if (!found) throw new Error(`${name} is not in SECTIONS`);
  return found;
};

describe('formatSetting', () => {
  it.each([
    ['auto_recovery', true, 'on'],
    ['failure_detection_sensitivity', 'low', 'low: suspect after 3 s'],
    ['slave_ha_grace_period', 600, '10\u00a0min'],
    ['cm_session_timeout_minutes', 720, '12\u00a0h'],
    ['login_lockout_duration', 0, 'until unlocked'],
    ['events_keep_days', 90, '90 days'],
    ['events_keep_days', 0, 'forever'],
    ['replication_lag_alarm_bytes', 64 * 2 ** 20, '64\u00a0MiB'],
    ['login_lockout_threshold', 5, '5'],
  ])('%s %s', (name, value, expected) => {
    expect(formatSetting(declarationOf(name), value)).toBe(expected);
  });
});

describe('settingError', () => {
  const rule = { type: 'integer' as const, minimum: 1, maximum: 50, default: 10 };

  it('rejects values outside the range', () => {
    expect(settingError(rule, 1)).toBeUndefined();
    expect(settingError(rule, 50)).toBeUndefined();
    for (const value of [0, 51, 1.5, Number.NaN]) {
      expect(settingError(rule, value)).toBe('Enter a whole number from 1 to 50');
    }
  });

  it('accepts every value of a switch', () => {
    expect(settingError({ type: 'boolean', default: false }, true)).toBeUndefined();
  });
});

describe('SECTIONS', () => {
  it('lists each setting once', () => {
    const names = SECTIONS.flatMap(({ rules }) => rules.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('conflictsOf', () => {
  it('formats the values of conflicting changes', () => {
    const now = { events_keep_days: 30, auto_recovery: true };
    const edit = editFields(
      emptyEdit<SettingValues>(),
      { events_keep_days: 7, auto_recovery: false },
      now,
    );
    expect(conflictsOf(edit, { ...now, events_keep_days: 0 })).toEqual([
      { label: 'Events', before: '30 days', now: 'forever', edited: '7 days' },
    ]);
    expect(conflictsOf(edit, now)).toEqual([]);
  });
});
