import { expect, it } from 'vitest';
import { csvCell } from './csv';

it.each([
  ['=1+1', "'=1+1"],
  ['=HYPERLINK("http://example.org")', '"\'=HYPERLINK(""http://example.org"")"'],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  [-1.5, '-1.5'],
  ['a,b', '"a,b"'],
  ['a=b', 'a=b'],
  ['', ''],
])('returns %o as a cell that is not a formula', (value, expected) =>
  expect(csvCell(value)).toBe(expected),
);
