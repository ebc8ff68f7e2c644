import { describe, expect, it } from 'vitest';
import type { AuditLine } from '@/api/types';
import { authenticationText, requestText } from './auditText';

describe('words of the audit log', () => {
  it('return how the user was authenticated', () => {
    expect(authenticationText('session', 'ada')).toBe('with browser session');
    expect(authenticationText('service token', 'ci')).toBe('with service token');
    expect(authenticationText('something new', 'ada')).toBe('with something new');
    expect(authenticationText('', 'ada')).toBe('not authenticated');
    expect(authenticationText('', 'system')).toBe('console');
  });

  it('return the request or the command', () => {
    const line = (method: string, path: string) => ({ method, path }) as AuditLine;
    expect(requestText(line('PUT', '/v1/bdbs/1'))).toBe('PUT /v1/bdbs/1');
    expect(requestText(line('', 'unlock'))).toBe('shardboard unlock');
    expect(requestText(line('', ''))).toBe('');
  });
});
