/** Single sign-on by OpenID Connect: the provider, and which groups have which roles. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access';
import { messageOf } from '@/api/http';
import { offerQuery, oidcQuery, removeOidc } from '@/api/sso';
import type { OidcSettings, Role } from '@/api/types';
import { useThenAskAgain } from '@/api/useThenAskAgain';
import { Card } from '@/ui/Card';
import { ConfirmByTyping } from '@/ui/ConfirmByTyping';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';
import { ProviderDialog } from './ProviderDialog';
import classes from './settings.module.css';

export function SingleSignOn() {
  const { data, error } = useQuery(oidcQuery);
  const roles = useQuery(rolesQuery).data;
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const close = () => setDialog(undefined);
  const then = useThenAskAgain(oidcQuery, offerQuery);
  return (
    <div className={classes.form}>
      <Card title="Single sign-on">
        <p className={classes.words}>
          People sign in with the account that they have anyway, by OpenID Connect, and their groups
          give them their roles. Users with a password stay, and one of them an administrator: for
          the day on which the provider does not answer.
        </p>
        {error && data === undefined && <Alert color="red">{messageOf(error)}</Alert>}
        {data === undefined && !error && <Skeleton height={80} />}
        {data && <ProviderFacts told={data} roles={roles ?? []} />}
        <Group gap="xs" mt="sm">
          <Button variant="default" disabled={data === undefined} onClick={() => setDialog('set')}>
            {data ? 'Change…' : 'Set up single sign-on…'}
          </Button>
          {data && (
            <Button variant="default" onClick={() => setDialog('remove')}>
              Remove…
            </Button>
          )}
        </Group>
      </Card>
      {dialog === 'set' && roles && (
        <ProviderDialog before={data ?? null} roles={roles} then={then} onClose={close} />
      )}
      {dialog === 'remove' && data && (
        <ConfirmByTyping
          title="Remove single sign-on?"
          warning="All who signed in by it are signed out, and can no longer sign in. They stay in the list of users."
          name={data.name ?? ''}
          action="Remove single sign-on"
          onConfirm={() => then(removeOidc())}
          onClose={close}
        />
      )}
    </div>
  );
}

function ProviderFacts({ told, roles }: { told: OidcSettings; roles: readonly Role[] }) {
  const nameOf = (uid: number) => roles.find((role) => role.uid === uid)?.name ?? `role ${uid}`;
  const given = told.roles?.map(({ group, role_uid }) => `${group}: ${nameOf(role_uid)}`) ?? [];
  const other = told.default_role_uid;
  return (
    <Facts
      items={[
        ['State', told.enabled ? 'On' : 'Off: nobody can sign in by it'],
        ['Button', `Sign in with ${told.name}`],
        ['Issuer', told.issuer],
        ['Client', told.client_id],
        [
          'Back to',
          <CopyInline key="back" text={told.redirect_uri} label="Copy the redirect URI" />,
        ],
        [
          'Roles',
          given.length || other
            ? [...given, `others: ${other ? nameOf(other) : 'refused'}`].join('; ')
            : 'Given here, to users who are added before they sign in',
        ],
      ]}
    />
  );
}
