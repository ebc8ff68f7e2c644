/** The rules of the cluster in words, those that have an effect; their ranges and defaults come from the console. */
import type { Rule, Value } from '@/api/policy';
import { conflicting, type Edit } from '@/lib/edits';
import { format } from '@/lib/format';
import { duration } from '@/lib/time';
import type { Conflict } from '@/ui/Conflicts';

export type Unit = 'seconds' | 'minutes' | 'days' | 'bytes' | 'none';

export interface Known {
  name: string;
  /** Of the settings of the cluster, not of its policy. */
  ofCluster?: true;
  label: string;
  /** What it does, and what the other choice means. */
  help: string;
  unit?: Unit;
  /** Of rules with choices. */
  choices?: Readonly<Record<string, string>>;
  /** What 0 means where it means something else than nothing. */
  zero?: string;
}

export interface Section {
  title: string;
  rules: readonly Known[];
}

const PROXIES = {
  single: 'on one node',
  'all-master-shards': 'on every node with primaries',
  'all-nodes': 'on every node',
};

export const SECTIONS: readonly Section[] = [
  {
    title: 'When a node goes down',
    rules: [
      {
        name: 'failure_detection_sensitivity',
        label: 'How soon a node counts as down',
        help: 'Low where machines or networks stall for a second now and then.',
        choices: { high: 'high: suspect after 0.7 s', low: 'low: suspect after 3 s' },
      },
      {
        name: 'auto_recovery',
        label: 'Start shards again from disk',
        help: 'When every copy of a pair is dead and the database has persistence.',
      },
      {
        name: 'primaries_return',
        label: 'Primaries return to their node',
        help: 'Once it is back and in sync. Otherwise they stay where they were promoted until somebody moves them.',
      },
      {
        name: 'canary_writes_per_second',
        label: 'Canary writes per second',
        help: 'Small writes without effect to each primary where no client writes, so that an outage is timed although nobody asks.',
        zero: 'none',
      },
      {
        name: 'replication_lag_alarm_bytes',
        label: 'A replica is too far behind',
        help: 'An alarm is raised when more than this has not reached it for three seconds.',
        unit: 'bytes',
      },
    ],
  },
  {
    title: 'Replicas that were lost with a node',
    rules: [
      {
        name: 'slave_ha',
        label: 'Build them anew on other nodes',
        help: 'Of databases that ask for it (replica HA), when their node stays away.',
      },
      {
        name: 'slave_ha_grace_period',
        label: 'Wait for the node',
        help: 'How long a node may be away before that begins.',
        unit: 'seconds',
      },
      {
        name: 'slave_ha_cooldown_period',
        label: 'Rest between two nodes',
        help: 'After replicas of one node were built anew, before those of another one are.',
        unit: 'seconds',
      },
      {
        name: 'slave_ha_bdb_cooldown_period',
        label: 'Rest of a database',
        help: 'After its replicas were built anew, before they are again.',
        unit: 'seconds',
      },
      {
        name: 'max_slave_full_syncs',
        label: 'Full copies at a time',
        help: 'That one node sends or receives. A node can have a number of its own.',
        zero: 'any number',
      },
    ],
  },
  {
    title: 'New databases',
    rules: [
      {
        name: 'default_shards_placement',
        label: 'Placement of shards',
        help: 'Dense fills one node after the other, sparse spreads them.',
        choices: { dense: 'dense', sparse: 'sparse' },
      },
      {
        name: 'default_sharded_proxy_policy',
        label: 'Proxies of sharded databases',
        help: 'Where their endpoint listens.',
        choices: PROXIES,
      },
      {
        name: 'default_non_sharded_proxy_policy',
        label: 'Proxies of databases with one shard',
        help: 'Where their endpoint listens.',
        choices: PROXIES,
      },
      {
        name: 'default_oss_cluster',
        label: 'Cluster API',
        help: 'Sharded databases tell clients that are aware of the cluster which node serves which key.',
      },
      {
        name: 'data_internode_encryption',
        label: 'Encrypted between nodes',
        help: 'Shards and proxies of a database prove to each other that they are of it, and encrypt what they say. Otherwise whoever reaches the ports of shards may speak to them.',
      },
      {
        name: 'shards_overbooking',
        label: 'Promise more memory than there is',
        help: 'The limits of all databases together may be above the memory of the nodes.',
      },
    ],
  },
  {
    title: 'Moving data and addresses',
    rules: [
      {
        name: 'resharding_pace',
        label: 'Pace of resharding',
        help: 'Gentle gives way to clients; fast moves slots as fast as they go, and requests wait meanwhile.',
        choices: { gentle: 'gentle', fast: 'fast' },
      },
      {
        name: 'endpoint_rebind_propagation_grace_time',
        label: 'An old address still answers',
        help: 'After the endpoint of a database has moved to another node.',
        unit: 'seconds',
        zero: 'not at all',
      },
    ],
  },
  {
    title: 'Signing in',
    rules: [
      {
        name: 'login_lockout_threshold',
        label: 'Wrong passwords until attempts have to wait',
        help: 'Counted for each user and address they come from: 1 s first, then twice as long after each.',
        zero: 'never',
      },
      {
        name: 'login_lockout_duration',
        label: 'Longest wait',
        help: 'Who may log in on the console’s machine ends all waiting by: shardboard unlock.',
        unit: 'seconds',
        zero: 'until unlocked',
      },
      {
        name: 'login_lockout_counter_reset_after',
        label: 'Wrong passwords are forgotten after',
        help: 'Without another wrong one.',
        unit: 'seconds',
      },
      {
        name: 'password_min_length',
        ofCluster: true,
        label: 'Shortest password',
        help: 'Characters of new passwords of users.',
      },
      {
        name: 'password_complexity',
        ofCluster: true,
        label: 'Complex passwords only',
        help: 'Lower and upper case, digits, other characters; not the name of the user.',
      },
      {
        name: 'password_expiration_duration',
        ofCluster: true,
        label: 'A password is good for',
        help: 'From the day it was set; then signing in asks for a new one, and programs that use it are refused.',
        unit: 'days',
        zero: 'for ever',
      },
      {
        name: 'second_factor_required',
        label: 'Everybody needs a second factor',
        help: 'Of users with a password here. Who has none sets an app up with the next sign-in; sessions and programs with the password alone are refused at once.',
      },
      {
        name: 'cm_session_timeout_minutes',
        ofCluster: true,
        label: 'An unused session ends after',
        help: 'That is, without a page open. A session ends after 12 hours in any case.',
        unit: 'minutes',
      },
      {
        name: 'metrics_auth',
        label: 'Metrics for Prometheus require a login',
        help: 'If off, anyone who can reach the console can read /metrics.',
      },
      {
        name: 'master_healthcheck_api_auth',
        label: 'Health check for load balancers needs a user',
        help: 'Of /v1/local/node/master_healthcheck.',
      },
    ],
  },
  {
    title: 'What is kept',
    rules: [
      {
        name: 'events_keep_days',
        label: 'Events',
        help: 'And incidents, which are made of them.',
        unit: 'days',
        zero: 'for ever',
      },
      {
        name: 'audit_keep_days',
        label: 'Lines of the audit trail',
        help: 'The trail says which were removed.',
        unit: 'days',
        zero: 'for ever',
      },
      {
        name: 'max_saved_events_per_type',
        label: 'Events of one type',
        help: 'The newest; those of the last day are always kept.',
        zero: 'any number',
      },
      {
        name: 'actions_keep_days',
        label: 'Finished actions',
        help: 'With their steps.',
        unit: 'days',
        zero: 'for ever',
      },
    ],
  },
  {
    title: 'Mail server for notifications',
    rules: [
      {
        name: 'smtp_host',
        ofCluster: true,
        label: 'Host',
        help: 'A name or an address; without one no mail is sent.',
      },
      {
        name: 'smtp_port',
        ofCluster: true,
        label: 'Port',
        help: 'Mostly 25, 465 with TLS, or 587 with STARTTLS.',
      },
      {
        name: 'smtp_tls_mode',
        ofCluster: true,
        label: 'Encryption',
        help: 'The certificate must be one that the machine of the console trusts.',
        choices: { none: 'none', starttls: 'STARTTLS', tls: 'TLS' },
      },
      {
        name: 'smtp_username',
        ofCluster: true,
        label: 'User',
        help: 'Its password is in the file that SHARDBOARD_SMTP_PASSWORD_FILE names on the machine of the console; it is never stored.',
      },
      {
        name: 'email_from',
        ofCluster: true,
        label: 'Sender',
        help: 'The mail address that mails come from; shardboard at the name of the cluster when empty.',
      },
    ],
  },
  {
    title: 'Drills',
    rules: [
      {
        name: 'drills_enabled',
        label: 'Allow drills',
        help: 'Faults on purpose, ordered by administrators. Not where databases serve anybody in earnest.',
      },
    ],
  },
];

/** A value as people say it. */
export function valueWords(known: Known, value: Value): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return known.choices?.[value] ?? (value || 'empty');
  if (value === 0 && known.zero) return known.zero;
  if (known.unit === 'seconds') return duration(value);
  if (known.unit === 'minutes') return duration(value * 60);
  if (known.unit === 'days') return `${value} days`;
  if (known.unit === 'bytes') return format('bytes', value);
  return String(value);
}

/** Why a value cannot be saved. */
export function faultOf(rule: Rule, value: Value): string | undefined {
  if (rule.type === 'string' && rule.pattern) {
    const fits = new RegExp(rule.pattern).test(String(value));
    return fits ? undefined : `Must be ${rule.description ?? 'other text'}`;
  }
  if (rule.type !== 'integer') return undefined;
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = rule;
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum)
    return undefined;
  return `A whole number from ${minimum} to ${maximum}`;
}

export type Values = Readonly<Record<string, Value>>;

/** What was changed here and elsewhere, in words. */
export function conflictsOf(edit: Edit<Values>, now: Values): Conflict[] {
  return conflicting(edit, now).map((name) => {
    const known = knownOf(name);
    const words = (value: Value | undefined) =>
      known && value !== undefined ? valueWords(known, value) : String(value);
    return {
      label: known?.label ?? name,
      before: words(edit.seen[name]),
      now: words(now[name]),
      mine: words(edit.patch[name]),
    };
  });
}

const knownOf = (name: string): Known | undefined =>
  SECTIONS.flatMap(({ rules }) => rules).find((known) => known.name === name);

/** Whether a change is one of the cluster's settings, which are saved by another call. */
export const isOfCluster = (name: string): boolean => knownOf(name)?.ofCluster === true;
