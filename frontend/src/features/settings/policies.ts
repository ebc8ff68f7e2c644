/** Labels and help texts of the cluster settings that have an effect. Ranges and defaults come from the console. */
import type { SettingSchema, SettingValue } from '@/api/cluster/policy';
import { conflictingFields, type Edit } from '@/lib/edits';
import { format } from '@/lib/format';
import { duration } from '@/lib/time';
import type { Conflict } from '@/ui/forms/Conflicts';

export type Unit = 'seconds' | 'minutes' | 'days' | 'bytes' | 'none';

export interface SettingDeclaration {
  name: string;
  /** Stored in the cluster settings (`/v1/cluster`) instead of the policy. */
  ofCluster?: true;
  label: string;
  /** Help text: the effect of the setting. */
  help: string;
  unit?: Unit;
  /** Labels of the allowed values of an enumeration. */
  choices?: Readonly<Record<string, string>>;
  /** Label of the value 0 if it has a special meaning. */
  zero?: string;
}

/** Groups of the Settings page that contain settings of the cluster. */
export type PolicyGroup =
  | 'cluster'
  | 'failover'
  | 'placement'
  | 'resharding'
  | 'security'
  | 'notifications'
  | 'retention'
  | 'drills'
  | 'backups';

export interface Section {
  group: PolicyGroup;
  title: string;
  rules: readonly SettingDeclaration[];
}

const PROXIES = {
  single: 'on one node',
  'all-master-shards': 'on every node with primaries',
  'all-nodes': 'on every node',
};

export const SECTIONS: readonly Section[] = [
  {
    group: 'cluster',
    title: 'New databases',
    rules: [
      {
        name: 'default_oss_cluster',
        label: 'Cluster API',
        help: 'If on, cluster-aware clients can discover which node serves which key of a sharded database.',
      },
    ],
  },
  {
    group: 'cluster',
    title: 'Endpoints',
    rules: [
      {
        name: 'default_sharded_proxy_policy',
        label: 'Proxies of sharded databases',
        help: 'Nodes on which the endpoint listens.',
        choices: PROXIES,
      },
      {
        name: 'default_non_sharded_proxy_policy',
        label: 'Proxies of databases with one shard',
        help: 'Nodes on which the endpoint listens.',
        choices: PROXIES,
      },
      {
        name: 'endpoint_rebind_propagation_grace_time',
        label: 'Grace period of old addresses',
        help: 'How long the old address still responds after the endpoint of a database has moved to another node.',
        unit: 'seconds',
        zero: 'none',
      },
    ],
  },
  {
    group: 'failover',
    title: 'Node failures',
    rules: [
      {
        name: 'failure_detection_sensitivity',
        label: 'Failure detection sensitivity',
        help: 'Choose low if machines or networks occasionally stall for a second.',
        choices: { high: 'high: suspect after 0.7 s', low: 'low: suspect after 3 s' },
      },
      {
        name: 'auto_recovery',
        label: 'Restart shards from disk',
        help: 'Applies when all shards of a replication pair are down and the database has persistence.',
      },
      {
        name: 'primaries_return',
        label: 'Return primaries to their node',
        help: 'If on, primaries return when the node is up again and in sync. If off, they stay where they were promoted until you move them.',
      },
      {
        name: 'canary_writes_per_second',
        label: 'Canary writes per second',
        help: 'Writes that change nothing, sent to each primary that receives no client writes, so that outages are measured without client traffic.',
        zero: 'none',
      },
      {
        name: 'replication_lag_alarm_bytes',
        label: 'Replication lag alarm',
        help: 'An alarm is raised when a replica is behind its primary by more than this for three seconds.',
        unit: 'bytes',
      },
    ],
  },
  {
    group: 'failover',
    title: 'Replicas of failed nodes',
    rules: [
      {
        name: 'slave_ha',
        label: 'Rebuild replicas on other nodes',
        help: 'Applies to databases with replica HA when the node of a replica stays unavailable.',
      },
      {
        name: 'slave_ha_grace_period',
        label: 'Grace period',
        help: 'How long a node can be unavailable before its replicas are rebuilt.',
        unit: 'seconds',
      },
      {
        name: 'slave_ha_cooldown_period',
        label: 'Cooldown between nodes',
        help: 'Minimum time between rebuilding the replicas of two nodes.',
        unit: 'seconds',
      },
      {
        name: 'slave_ha_bdb_cooldown_period',
        label: 'Cooldown per database',
        help: 'Minimum time between two replica rebuilds of the same database.',
        unit: 'seconds',
      },
      {
        name: 'max_slave_full_syncs',
        label: 'Concurrent full syncs',
        help: 'Maximum number of full syncs that a node sends or receives at the same time. You can set a different maximum for a node.',
        zero: 'unlimited',
      },
    ],
  },
  {
    group: 'placement',
    title: 'Shards and memory',
    rules: [
      {
        name: 'default_shards_placement',
        label: 'Shard placement',
        help: 'Dense fills one node after the other; sparse spreads the shards.',
        choices: { dense: 'dense', sparse: 'sparse' },
      },
      {
        name: 'shards_overbooking',
        label: 'Allow memory overbooking',
        help: 'If on, the memory limits of all databases together can exceed the memory of the nodes.',
      },
    ],
  },
  {
    group: 'placement',
    title: 'Zones',
    rules: [
      {
        name: 'rack_aware',
        label: 'Rack-zone awareness',
        help: 'If on, databases can keep primary and replica in different zones, and new nodes need a zone to join. Existing databases do not change.',
      },
    ],
  },
  {
    group: 'resharding',
    title: 'Moving slots',
    rules: [
      {
        name: 'resharding_pace',
        label: 'Resharding pace',
        help: 'Gentle gives priority to client requests. Fast moves slots at full speed while requests wait.',
        choices: { gentle: 'gentle', fast: 'fast' },
      },
    ],
  },
  {
    group: 'security',
    title: 'Sign-in',
    rules: [
      {
        name: 'login_lockout_threshold',
        label: 'Failed sign-ins before a delay',
        help: 'Counted per user and source address. The first delay is 1 s; it doubles with each further failure.',
        zero: 'never',
      },
      {
        name: 'login_lockout_duration',
        label: 'Maximum delay',
        help: 'To end a delay, run shardboard unlock on the console’s machine.',
        unit: 'seconds',
        zero: 'until unlocked',
      },
      {
        name: 'login_lockout_counter_reset_after',
        label: 'Reset failed sign-ins after',
        help: 'Time without another failed sign-in.',
        unit: 'seconds',
      },
      {
        name: 'second_factor_required',
        label: 'Require two-factor authentication',
        help: 'Applies to users with a password in Shardboard. Users without an authenticator app set one up at the next sign-in. Their sessions, and programs that use only a password, are rejected immediately.',
      },
      {
        name: 'cm_session_timeout_minutes',
        ofCluster: true,
        label: 'End idle sessions after',
        help: 'A session is idle if no page of the web UI is open. All sessions end after 12 hours.',
        unit: 'minutes',
      },
    ],
  },
  {
    group: 'security',
    title: 'Passwords',
    rules: [
      {
        name: 'password_min_length',
        ofCluster: true,
        label: 'Minimum password length',
        help: 'Number of characters; applies to new passwords of users.',
      },
      {
        name: 'password_complexity',
        ofCluster: true,
        label: 'Require complex passwords',
        help: 'A password needs lowercase and uppercase letters, digits, and other characters, and must not be the name of the user.',
      },
      {
        name: 'password_expiration_duration',
        ofCluster: true,
        label: 'Password lifetime',
        help: 'Counts from the day the password was set. Afterwards, signing in requires a new password, and programs that use the old one are rejected.',
        unit: 'days',
        zero: 'unlimited',
      },
    ],
  },
  {
    group: 'security',
    title: 'Network',
    rules: [
      {
        name: 'data_internode_encryption',
        label: 'Encryption between nodes',
        help: 'If on, shards and proxies of a database authenticate each other and encrypt their connections. If off, anyone who can reach the ports of shards can connect to them.',
      },
      {
        name: 'shard_firewall',
        label: 'Open the ports of shards to nodes only',
        help: 'If on, agents that are permitted to filter packets allow only nodes of the cluster to connect. The page of each node shows the state.',
      },
      {
        name: 'metrics_auth',
        label: 'Metrics for Prometheus require authentication',
        help: 'If off, anyone who can reach the console can read /metrics.',
      },
      {
        name: 'master_healthcheck_api_auth',
        label: 'Health check for load balancers requires authentication',
        help: 'Applies to /v1/local/node/master_healthcheck.',
      },
    ],
  },
  {
    group: 'notifications',
    title: 'Mail server',
    rules: [
      {
        name: 'smtp_host',
        ofCluster: true,
        label: 'Host',
        help: 'Host name or IP address; if empty, no email is sent.',
      },
      {
        name: 'smtp_port',
        ofCluster: true,
        label: 'Port',
        help: 'Usually 25, 465 with TLS, or 587 with STARTTLS.',
      },
      {
        name: 'smtp_tls_mode',
        ofCluster: true,
        label: 'Encryption',
        help: 'The console’s machine must trust the certificate of the mail server.',
        choices: { none: 'none', starttls: 'STARTTLS', tls: 'TLS' },
      },
      {
        name: 'smtp_username',
        ofCluster: true,
        label: 'User',
        help: 'The password is read from the file in SHARDBOARD_SMTP_PASSWORD_FILE on the console’s machine and is never stored.',
      },
      {
        name: 'email_from',
        ofCluster: true,
        label: 'Sender',
        help: 'Sender address of emails; if empty, shardboard@ followed by the cluster name.',
      },
    ],
  },
  {
    group: 'retention',
    title: 'Events, records, and actions',
    rules: [
      {
        name: 'events_keep_days',
        label: 'Events',
        help: 'Also applies to incidents, which are derived from events.',
        unit: 'days',
        zero: 'forever',
      },
      {
        name: 'max_saved_events_per_type',
        label: 'Events per type',
        help: 'The newest events are kept. Events of the last day are always kept.',
        zero: 'unlimited',
      },
      {
        name: 'audit_keep_days',
        label: 'Audit records',
        help: 'The audit log shows which records were removed.',
        unit: 'days',
        zero: 'forever',
      },
      {
        name: 'actions_keep_days',
        label: 'Finished actions',
        help: 'Also applies to the steps of actions, restores, and imports.',
        unit: 'days',
        zero: 'forever',
      },
    ],
  },
  {
    group: 'drills',
    title: 'Drills',
    rules: [
      {
        name: 'drills_enabled',
        label: 'Allow drills',
        help: 'Administrators can cause failures deliberately. Do not allow drills if databases serve production traffic.',
      },
    ],
  },
  {
    group: 'backups',
    title: 'Load of backups',
    rules: [
      {
        name: 'backup_pace',
        label: 'Backup pace',
        help: 'Gentle uses only CPU time that clients do not need, so backups of busy databases take longer. Fast backs up at full speed while requests wait.',
        choices: { gentle: 'gentle', fast: 'fast' },
      },
      {
        name: 'backup_max_bytes_per_second',
        label: 'Maximum rate of backups',
        help: 'Uncompressed data per second that all backups on a node read together. Set a limit if backups must not saturate the network.',
        unit: 'bytes',
        zero: 'unlimited',
      },
    ],
  },
];

/** Format a value for display. */
export function formatSetting(declaration: SettingDeclaration, value: SettingValue): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return declaration.choices?.[value] ?? (value || 'empty');
  if (value === 0 && declaration.zero) return declaration.zero;
  if (declaration.unit === 'seconds') return duration(value);
  if (declaration.unit === 'minutes') return duration(value * 60);
  if (declaration.unit === 'days') return `${value} days`;
  if (declaration.unit === 'bytes') return format('bytes', value);
  return String(value);
}

/** Return why a value is invalid, or undefined if it is valid. */
export function settingError(rule: SettingSchema, value: SettingValue): string | undefined {
  if (rule.type === 'string' && rule.pattern) {
    const fits = new RegExp(rule.pattern).test(String(value));
    return fits ? undefined : `Must be ${rule.description ?? 'a valid value'}`;
  }
  if (rule.type !== 'integer') return undefined;
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = rule;
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum)
    return undefined;
  return `Enter a whole number from ${minimum} to ${maximum}`;
}

export type SettingValues = Readonly<Record<string, SettingValue>>;

/** Return the settings that were changed both in the form and by another user, formatted for display. */
export function conflictsOf(edit: Edit<SettingValues>, now: SettingValues): Conflict[] {
  return conflictingFields(edit, now).map((name) => {
    const declaration = declarationOf(name);
    const format = (value: SettingValue | undefined) =>
      declaration && value !== undefined ? formatSetting(declaration, value) : String(value);
    return {
      label: declaration?.label ?? name,
      before: format(edit.seen[name]),
      now: format(now[name]),
      edited: format(edit.patch[name]),
    };
  });
}

const declarationOf = (name: string): SettingDeclaration | undefined =>
  SECTIONS.flatMap(({ rules }) => rules).find((declaration) => declaration.name === name);

/** Return whether a setting belongs to the cluster settings, which are saved with a separate request. */
export const isOfCluster = (name: string): boolean => declarationOf(name)?.ofCluster === true;
