import { describe, expect, it } from 'vitest';
import type { AuditLine } from '@/api/types';
import { proofWords, requestWords } from './words';

describe('words of the audit trail', () => {
  it('says how it was proven who it was', () => {
    expect(proofWords('session', 'ada')).toBe('in the browser');
    expect(proofWords('service token', 'ci')).toBe('by a service token');
    expect(proofWords('something new', 'ada')).toBe('by something new');
    expect(proofWords('', 'ada')).toBe('not proven');
    expect(proofWords('', 'system')).toBe('the console itself');
  });

  it('names the request or the command', () => {
    const line = (method: string, path: string) => ({ method, path }) as AuditLine;
    expect(requestWords(line('PUT', '/v1/bdbs/1'))).toBe('PUT /v1/bdbs/1');
    expect(requestWords(line('', 'unlock'))).toBe('shardboard unlock');
    expect(requestWords(line('', ''))).toBe('');
  });
});
