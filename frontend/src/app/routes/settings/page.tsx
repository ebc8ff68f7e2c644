/** Settings page: all settings of the cluster in groups. The groups depend on the role of the user. */
import { Link, useLocation } from '@tanstack/react-router';
import { useMemo } from 'react';
import { usePermission } from '@/api/access/session';
import { ClusterAlerts } from '@/features/alerts/ClusterAlerts';
import { Consoles } from '@/features/settings/Consoles';
import { ConsoleCa } from '@/features/settings/certificates/ConsoleCa';
import { ConsoleCertificate } from '@/features/settings/certificates/ConsoleCertificate';
import { ShardCertificates } from '@/features/settings/certificates/ShardCertificates';
import { SettingsGroups } from '@/features/settings/SettingsGroups';
import { SupportBundle } from '@/features/settings/SupportBundle';
import type { Block, SettingsGroup } from '@/features/settings/settingsSearch';
import { Ldap } from '@/features/settings/signin/Ldap';
import { SingleSignOn } from '@/features/settings/signin/SingleSignOn';
import { ServiceTokens } from '@/features/users/tokens/ServiceTokens';
import { Card } from '@/ui/Card';
import classes from '../pages.module.css';
import { Receivers } from './receivers';
import { AccessLists, Roles, Users } from './users';

export function SettingsPage() {
  const mayAdminister = usePermission('administer');
  const mayManageUsers = usePermission('manageUsers');
  const canSeeAll = usePermission('seeAll');
  const mayDebug = usePermission('debug');
  const { hash } = useLocation();
  const groups = useMemo((): SettingsGroup[] => {
    const blocksIf = (shown: boolean, blocks: readonly Block[]) => (shown ? blocks : []);
    return [
      { id: 'cluster', title: 'Cluster policy', policy: 'cluster' },
      { id: 'failover', title: 'Failover and recovery', policy: 'failover' },
      { id: 'placement', title: 'Placement', policy: 'placement' },
      { id: 'resharding', title: 'Resharding', policy: 'resharding' },
      {
        id: 'security',
        title: 'Security and sign-in',
        policy: 'security',
        blocks: blocksIf(mayAdminister, SIGN_IN),
      },
      { id: 'users', title: 'Users and roles', blocks: blocksIf(mayManageUsers, USERS) },
      {
        id: 'notifications',
        title: 'Notifications',
        policy: 'notifications',
        blocks: blocksIf(mayAdminister, NOTIFICATIONS),
      },
      {
        id: 'certificates',
        title: 'Certificates and CA',
        blocks: blocksIf(canSeeAll, certificates(mayAdminister)),
      },
      { id: 'retention', title: 'Retention', policy: 'retention' },
      { id: 'backups', title: 'Backups', policy: 'backups', blocks: BACKUPS },
      { id: 'drills', title: 'Drills', policy: 'drills' },
      {
        id: 'consoles',
        title: 'Consoles',
        blocks: blocksIf(canSeeAll, [
          {
            title: 'Consoles',
            words: 'leader high availability release',
            content: <Consoles may={mayAdminister} />,
          },
        ]),
      },
      {
        id: 'support',
        title: 'Support',
        blocks: [
          {
            title: 'Support bundle',
            words: 'logs diagnosis archive download',
            content: <SupportBundle may={mayDebug} />,
          },
        ],
      },
    ];
  }, [mayAdminister, mayManageUsers, canSeeAll, mayDebug]);
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Settings</h1>
      </div>
      <SettingsGroups groups={groups} anchor={hash} may={mayAdminister} />
    </div>
  );
}

const SIGN_IN: readonly Block[] = [
  {
    title: 'Single sign-on',
    words: 'sso openid connect oidc provider groups',
    content: <SingleSignOn />,
  },
  { title: 'LDAP', words: 'directory active directory groups', content: <Ldap /> },
];

const USERS: readonly Block[] = [
  { title: 'Users', words: 'password two-factor sessions', content: <Users /> },
  { title: 'Roles', words: 'permissions', content: <Roles /> },
  { title: 'Access lists', words: 'acl redis', content: <AccessLists /> },
  { title: 'Service tokens', words: 'api programs', content: <ServiceTokens /> },
];

const NOTIFICATIONS: readonly Block[] = [
  {
    title: 'Receivers',
    words: 'webhook email syslog alertmanager slack pagerduty',
    content: <Receivers />,
  },
  {
    title: 'Alert thresholds of nodes and the cluster',
    words: 'alarm cpu memory disk',
    content: <ClusterAlerts />,
  },
];

const certificates = (may: boolean): readonly Block[] => [
  {
    title: 'Console certificate',
    words: 'tls https install',
    content: <ConsoleCertificate may={may} />,
  },
  { title: 'Console CA', words: 'tls replace signing request', content: <ConsoleCa may={may} /> },
  {
    title: 'Certificates between nodes',
    words: 'tls encryption replace ca',
    content: <ShardCertificates may={may} />,
  },
];

const BACKUPS: readonly Block[] = [
  {
    title: 'Storage locations',
    words: 's3 sftp azure google directory schedule console',
    content: (
      <Card title="Storage locations">
        <p>
          Locations and backups of the console are on the page{' '}
          <Link to="/databases/backups">Backups</Link>.
        </p>
      </Card>
    ),
  },
];
