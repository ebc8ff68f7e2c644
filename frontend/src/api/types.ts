/** Wire shapes of the console: the objects of the REST reference and what we add to them. */

export interface Session {
  username: string;
  role: string;
  cluster_name: string;
  version: string;
}

export type BdbStatus =
  | 'pending'
  | 'active'
  | 'active-change-pending'
  | 'delete-pending'
  | 'import-pending'
  | 'creation-failed'
  | 'recovery';

export interface Endpoint {
  uid: string;
  addr: string[];
  addr_type?: string;
  dns_name: string;
  port: number;
  proxy_policy?: string;
}

export interface Tag {
  key: string;
  value: string;
}

export interface Bdb {
  uid: number;
  name: string;
  status: BdbStatus;
  status_detail?: string;
  progress?: number;
  action_uid?: string;
  memory_size: number;
  port: number;
  endpoints: Endpoint[];
  sharding: boolean;
  shards_count: number;
  shard_list: number[];
  shards_in_sync?: number;
  shards_total?: number;
  replication: boolean;
  oss_cluster: boolean;
  shards_placement: string;
  proxy_policy: string;
  data_persistence: string;
  aof_policy?: string;
  snapshot_policy?: { secs: number; writes: number }[];
  eviction_policy: string;
  authentication_redis_pass?: string;
  tags?: Tag[];
  redis_version?: string;
  version?: string;
  created_time?: string;
  last_changed_time?: string;
  [field: string]: unknown;
}

export interface Shard {
  uid: string;
  bdb_uid: number;
  node_uid: string;
  role: 'master' | 'slave';
  actual_role?: string;
  status: string;
  detailed_status: string;
  detail?: string;
  assigned_slots: string;
  pair?: number;
  address?: string;
  port?: number;
  pid?: number;
  started_at?: string;
  used_memory?: number;
  loading?: { status: string; progress?: number };
  sync?: { status: string; progress?: number };
  report_timestamp?: string;
}

export interface Node {
  uid: number;
  addr: string;
  status: string;
  agent_status?: string;
  agent_version?: string;
  last_seen?: string;
  hostname?: string;
  free_ram?: number;
  machine_id?: string;
  engine_version?: string;
  accept_servers?: boolean;
  architecture?: string;
  cores?: number;
  os_name?: string;
  os_version?: string;
  software_version?: string;
  total_memory?: number;
  persistent_storage_size?: number;
  shard_count?: number;
  shard_list?: number[];
  uptime?: number;
  rack_id?: string;
}

export type Severity = 'INFO' | 'WARNING' | 'ERROR';

export interface LogEvent {
  uid: number;
  time: string;
  type: string;
  severity?: string;
  description?: string;
  originator?: string;
  source?: string;
  bdb_uid?: number;
  bdb_name?: string;
  node_uid?: number;
  shard_uid?: string | number;
  action_uid?: string;
}

export interface Action {
  action_uid: string;
  action_type: string;
  name: string;
  status: 'queued' | 'running' | 'completed' | 'failed' | string;
  progress: number;
  creation_time: number;
  additional_info?: {
    description?: string;
    error?: string;
    object_type?: string;
    object_uid?: string | number;
    steps?: { name: string; status: string }[];
  };
}

export interface Cluster {
  name: string;
  created_time?: string;
  [field: string]: unknown;
}

export interface JoinToken {
  token: string;
  expires_at: string;
  command: string;
}

export interface CreateBdb {
  name: string;
  port?: number;
  memory_size: number;
  eviction_policy: string;
  replication: boolean;
  sharding: boolean;
  shards_count: number;
  shard_key_regex?: { regex: string }[];
  shards_placement: string;
  oss_cluster: boolean;
  proxy_policy: string;
  data_persistence: string;
  aof_policy?: string;
  snapshot_policy?: { secs: number; writes: number }[];
  authentication_redis_pass?: string;
  tags?: Tag[];
}
