/** Signing in by a directory (LDAP): what is set, and which of its groups have which roles. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access';
import { messageOf } from '@/api/http';
import { ldapQuery, removeLdap } from '@/api/ldap';
import type { LdapSettings } from '@/api/types';
import { useThenAskAgain } from '@/api/useThenAskAgain';
import { Card } from '@/ui/Card';
import { ConfirmByTyping } from '@/ui/ConfirmByTyping';
import { Facts } from '@/ui/Facts';
import { LdapDialog } from './LdapDialog';
import { LdapGroups } from './LdapGroups';
import { groupWords, isInClear, personWords } from './ldapWords';
import classes from './settings.module.css';

export function Ldap() {
  const { data, error } = useQuery(ldapQuery);
  const roles = useQuery(rolesQuery).data;
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const close = () => setDialog(undefined);
  const then = useThenAskAgain(ldapQuery);
  const isSet = data !== undefined && data.uris.length > 0;
  return (
    <div className={classes.form}>
      <Card title="LDAP">
        <p className={classes.words}>
          People sign in here, and programs by HTTP Basic, with the password that a directory such
          as OpenLDAP or Active Directory knows, and their groups give them their roles. Users with
          a password of this console are never looked for there.
        </p>
        {error && data === undefined && <Alert color="red">{messageOf(error)}</Alert>}
        {data === undefined && !error && <Skeleton height={80} />}
        {isSet && <DirectoryFacts told={data} />}
        {isSet && roles && <LdapGroups roles={roles} />}
        <Group gap="xs" mt="sm">
          <Button variant="default" disabled={data === undefined} onClick={() => setDialog('set')}>
            {isSet ? 'Change…' : 'Set up LDAP…'}
          </Button>
          {isSet && (
            <Button variant="default" onClick={() => setDialog('remove')}>
              Remove…
            </Button>
          )}
        </Group>
      </Card>
      {dialog === 'set' && data && <LdapDialog before={data} then={then} onClose={close} />}
      {dialog === 'remove' && data && (
        <ConfirmByTyping
          title="Remove LDAP?"
          warning="All who signed in by it are signed out, and can no longer sign in. They stay in the list of users, and the roles of groups stay as well."
          name="LDAP"
          action="Remove LDAP"
          onConfirm={() => then(removeLdap())}
          onClose={close}
        />
      )}
    </div>
  );
}

function DirectoryFacts({ told }: { told: LdapSettings }) {
  return (
    <>
      <Facts
        items={[
          ['State', told.control_plane ? 'On' : 'Off: nobody can sign in by it'],
          ['Servers', told.uris.join(', ')],
          ['Searches', told.bind_dn ? `As ${told.bind_dn}` : 'As nobody, and as who signs in'],
          ['People', personWords(told)],
          ['Groups', groupWords(told)],
        ]}
      />
      {isInClear(told) && (
        <Alert color="yellow" mt="sm">
          Passwords go to the directory in clear: who is on the way can read them. Use addresses
          with ldaps:// or StartTLS.
        </Alert>
      )}
    </>
  );
}
