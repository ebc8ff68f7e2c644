import { describe, expect, it } from 'vitest';
import { SECTIONS } from './policies';
import { findSettings, type SettingsGroup } from './settingsSearch';

const GROUPS: SettingsGroup[] = [
  {
    id: 'security',
    title: 'Security and sign-in',
    policy: 'security',
    blocks: [{ title: 'LDAP', words: 'directory', content: null }],
  },
  { id: 'retention', title: 'Retention', policy: 'retention' },
  { id: 'users', title: 'Users and roles' },
];

const found = (text: string) =>
  findSettings(GROUPS, text).map(({ id, sections, blocks }) => [
    id,
    sections.flatMap(({ rules }) => rules.map(({ name }) => name)),
    blocks.map(({ title }) => title),
  ]);

describe('findSettings', () => {
  it('returns all groups with content without a text', () => {
    expect(findSettings(GROUPS, ' ').map(({ id }) => id)).toEqual(['security', 'retention']);
  });

  it('finds settings by label, help text, and name', () => {
    expect(found('audit records')).toEqual([['retention', ['audit_keep_days'], []]]);
    expect(found('LOAD balancers')).toEqual([['security', ['master_healthcheck_api_auth'], []]]);
    expect(found('cm_session_timeout')).toEqual([['security', ['cm_session_timeout_minutes'], []]]);
  });

  it('shows a group completely if its title matches', () => {
    const rules = SECTIONS.filter(({ group }) => group === 'retention').flatMap(
      (each) => each.rules,
    );
    expect(found('retention')).toEqual([['retention', rules.map(({ name }) => name), []]]);
  });

  it('finds other parts by their title and words', () => {
    expect(found('ldap')).toEqual([['security', [], ['LDAP']]]);
    expect(found('directory')).toEqual([['security', [], ['LDAP']]]);
  });

  it('returns nothing if no part contains all words', () => {
    expect(found('ldap zebra')).toEqual([]);
  });
});
