/** Fields of the LDAP dialog: how users and their groups are found in the directory. */
import { NativeSelect, TextInput } from '@mantine/core';
import { FieldGroup } from '@/ui/forms/FieldGroup';
import type { Form } from '@/ui/forms/useForm';
import classes from '../settings.module.css';
import type { LdapValues, Query } from './ldapForm';
import { SCOPES } from './ldapText';

interface Props {
  form: Form<LdapValues>;
}

export function LdapUserFields({ form }: Props) {
  return (
    <FieldGroup legend="Users">
      <NativeSelect
        label="Find users"
        data={[
          { value: 'search', label: 'By a search' },
          { value: 'template', label: 'By a DN template' },
        ]}
        {...form.text('userLookup')}
      />
      {form.values.userLookup === 'search' ? (
        <QueryFields
          of="users"
          description="%u is the entered name; for Active Directory: (sAMAccountName=%u)"
          {...form.value('user_dn_query')}
        />
      ) : (
        <TextInput
          className={classes.fullWidth ?? ''}
          label="DN template"
          description="%u is the entered name"
          placeholder="uid=%u,ou=users,dc=example,dc=org"
          maxLength={1000}
          spellCheck={false}
          {...form.text('user_dn_template')}
        />
      )}
    </FieldGroup>
  );
}

export function LdapGroupFields({ form }: Props) {
  return (
    <FieldGroup legend="Groups of a user">
      <NativeSelect
        label="Find groups"
        data={[
          { value: 'search', label: 'By a search' },
          { value: 'attribute', label: 'By an attribute of the user' },
        ]}
        {...form.text('groupLookup')}
      />
      {form.values.groupLookup === 'search' ? (
        <QueryFields
          of="groups"
          description="%D is the DN of the user; for Active Directory with nested groups: (member:1.2.840.113556.1.4.1941:=%D)"
          {...form.value('dn_group_query')}
        />
      ) : (
        <TextInput
          label="Attribute"
          placeholder="memberOf"
          maxLength={100}
          spellCheck={false}
          {...form.text('dn_group_attr')}
        />
      )}
    </FieldGroup>
  );
}

interface QueryProps {
  of: string;
  description: string;
  value: Query;
  onChange: (query: Query) => void;
}

function QueryFields({ of, description, value: query, onChange }: QueryProps) {
  return (
    <>
      <TextInput
        className={classes.fullWidth ?? ''}
        label={`Search base for ${of}`}
        placeholder={`ou=${of},dc=example,dc=org`}
        maxLength={1000}
        spellCheck={false}
        value={query.base}
        onChange={(event) => onChange({ ...query, base: event.currentTarget.value })}
      />
      <NativeSelect
        label={`Search scope for ${of}`}
        data={[...SCOPES]}
        value={query.scope ?? 'subtree'}
        onChange={(event) =>
          onChange({ ...query, scope: event.currentTarget.value as NonNullable<Query['scope']> })
        }
      />
      <TextInput
        className={classes.fullWidth ?? ''}
        label={`Filter for ${of}`}
        description={description}
        maxLength={1000}
        spellCheck={false}
        value={query.filter}
        onChange={(event) => onChange({ ...query, filter: event.currentTarget.value })}
      />
    </>
  );
}
