import { expect, it } from 'vitest';
import { memoryText, typesText } from './importReportText';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

it('the needed memory is compared with the limit', () => {
  expect(plain(memoryText({ needed_bytes: 2 ** 31, memory_limit: 2 ** 32 }))).toBe(
    'About 2 GiB of 4 GiB',
  );
  expect(memoryText({ needed_bytes: 2 ** 31, memory_limit: 0 })).toMatch(/no limit$/);
});

it('the types are listed by name', () => {
  expect(typesText({ string: 12, hash: 3 })).toBe('hash 3, string 12');
});
