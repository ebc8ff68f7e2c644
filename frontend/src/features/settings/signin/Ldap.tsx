/** Sign-in with a directory (LDAP): the settings and the roles of its groups. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ldapQuery, removeLdap } from '@/api/access/ldap';
import { rolesQuery } from '@/api/access/roles';
import { messageOf } from '@/api/http';
import type { LdapSettings } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { Card } from '@/ui/Card';
import { Facts } from '@/ui/Facts';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import classes from '../settings.module.css';
import { LdapDialog } from './LdapDialog';
import { LdapGroups } from './LdapGroups';
import { groupSearchText, isUnencrypted, userSearchText } from './ldapText';

export function Ldap() {
  const { data, error } = useQuery(ldapQuery);
  const roles = useQuery(rolesQuery).data;
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const close = () => setDialog(undefined);
  const invalidateAfter = useInvalidateAfter(ldapQuery);
  const isSet = data !== undefined && data.uris.length > 0;
  return (
    <div className={classes.form}>
      <Card title="LDAP">
        <p className={classes.intro}>
          Users sign in to the web UI, and programs use HTTP Basic, with a password from a directory
          such as OpenLDAP or Active Directory. Groups in the directory determine their roles. Users
          with a password in Shardboard are never looked up in the directory.
        </p>
        {error && data === undefined && <Alert color="red">{messageOf(error)}</Alert>}
        {data === undefined && !error && <Skeleton height={80} />}
        {isSet && <DirectoryFacts settings={data} />}
        {isSet && roles && <LdapGroups roles={roles} />}
        <Group gap="xs" mt="sm">
          <Button variant="default" disabled={data === undefined} onClick={() => setDialog('set')}>
            {isSet ? 'Edit LDAP…' : 'Set up LDAP…'}
          </Button>
          {isSet && (
            <Button variant="default" onClick={() => setDialog('remove')}>
              Remove LDAP…
            </Button>
          )}
        </Group>
      </Card>
      {dialog === 'set' && data && <LdapDialog stored={data} onClose={close} />}
      {dialog === 'remove' && data && (
        <ConfirmByTyping
          title="Remove LDAP?"
          warning="All LDAP users are signed out and can no longer sign in. They stay in the list of users, and the roles of groups are kept."
          name="LDAP"
          action="Remove LDAP"
          onConfirm={() => invalidateAfter(removeLdap())}
          onClose={close}
        />
      )}
    </div>
  );
}

function DirectoryFacts({ settings }: { settings: LdapSettings }) {
  return (
    <>
      <Facts
        items={[
          ['State', settings.control_plane ? 'On' : 'Off: users cannot sign in with LDAP'],
          ['Servers', settings.uris.join(', ')],
          [
            'Searches',
            settings.bind_dn ? `As ${settings.bind_dn}` : 'Users anonymously, groups as the user',
          ],
          ['Users', userSearchText(settings)],
          ['Groups', groupSearchText(settings)],
        ]}
      />
      {isUnencrypted(settings) && (
        <Alert color="yellow" mt="sm">
          Passwords are sent to the directory unencrypted and can be read on the network. Use
          ldaps:// addresses or StartTLS.
        </Alert>
      )}
    </>
  );
}
