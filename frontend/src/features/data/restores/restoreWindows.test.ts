import { describe, expect, it } from 'vitest';
import { barParts, momentError, periods, periodText, windowRows } from './restoreWindows';

const window = (from: string, to: string, backup_uid = 1) => ({
  from: `2026-11-30T${from}Z`,
  to: `2026-11-30T${to}Z`,
  backup_uid,
  bdb_uid: 1,
});
const at = (time: string) => Date.parse(`2026-11-30T${time}Z`);

describe('restore windows', () => {
  it('of successive backups are one period', () => {
    expect(
      periods([
        window('10:00:00', '11:00:00'),
        window('11:00:01', '12:00:00', 2),
        window('13:00:00', '14:00:00', 3),
      ]),
    ).toEqual([
      { from: at('10:00:00'), to: at('12:00:00') },
      { from: at('13:00:00'), to: at('14:00:00') },
    ]);
    expect(periods([])).toEqual([]);
  });

  it('have gaps if no recording continues the previous one', () => {
    const rows = windowRows([
      window('10:00:00', '11:00:00'),
      window('11:00:01', '12:00:00', 2),
      window('13:00:00', '14:00:00', 3),
    ]);
    expect(rows.map(({ backup_uid, gap }) => [backup_uid, gap])).toEqual([
      [3, 3_600_000],
      [2, 0],
      [1, 0],
    ]);
  });

  it('are named with their time zone', () => {
    expect(periodText({ from: at('10:00:00'), to: at('12:00:00') }, 'utc')).toBe(
      'Any second from 2026-11-30 10:00:00 UTC to 2026-11-30 12:00:00 UTC',
    );
  });

  it('fill a bar', () => {
    expect(
      barParts(periods([window('10:00:00', '11:00:00'), window('13:00:00', '14:00:00')])),
    ).toEqual([
      { left: 0, width: 25 },
      { left: 75, width: 25 },
    ]);
    expect(barParts([{ from: 5, to: 5 }])).toEqual([{ left: 0, width: 0.5 }]);
  });

  it('reject moments between them and name the nearest', () => {
    const list = periods([window('10:00:00', '11:00:00'), window('13:00:00', '14:00:00')]);
    expect(momentError(at('10:30:00'), list, 'utc')).toBeUndefined();
    expect(momentError(at('11:00:00'), list, 'utc')).toBeUndefined();
    expect(momentError(at('12:00:00'), list, 'utc')).toBe(
      'Not recorded. Nearest: 2026-11-30 11:00:00 UTC or 2026-11-30 13:00:00 UTC',
    );
    expect(momentError(at('15:00:00'), list, 'utc')).toContain('14:00:00 UTC');
    expect(momentError(null, list, 'utc')).toBe('Enter a date and a time');
    expect(momentError(Number.NaN, list, 'utc')).toBe('Enter a date and a time');
  });
});
