import { describe, expect, it } from 'vitest';
import type { AuditLine } from '@/api/types';
import { proofWords, requestWords } from './words';

describe('words of the audit log', () => {
  it('return how the user was authenticated', () => {
    expect(proofWords('session', 'ada')).toBe('with browser session');
    expect(proofWords('service token', 'ci')).toBe('with service token');
    expect(proofWords('something new', 'ada')).toBe('with something new');
    expect(proofWords('', 'ada')).toBe('not authenticated');
    expect(proofWords('', 'system')).toBe('console');
  });

  it('return the request or the command', () => {
    const line = (method: string, path: string) => ({ method, path }) as AuditLine;
    expect(requestWords(line('PUT', '/v1/bdbs/1'))).toBe('PUT /v1/bdbs/1');
    expect(requestWords(line('', 'unlock'))).toBe('shardboard unlock');
    expect(requestWords(line('', ''))).toBe('');
  });
});
