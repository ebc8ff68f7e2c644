/** Short names for the generated wire shapes. Nothing here is written by hand twice. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Session = Schemas['SessionInfo'];
export type Bdb = Schemas['Bdb'];
export type CreateBdb = Schemas['BdbCreate'];
export type UpdateBdb = Schemas['BdbUpdate'];
export type Tag = Schemas['Tag'];
export type Shard = Schemas['Shard'];
/** The slots that take most, as primaries said when they were asked. */
export type CommandUse = EndpointCommands['commands'][number];
export type EndpointCommands = Schemas['EndpointCommands'];
export type HotSlots = Schemas['HotSlots'];
export type HotSlot = Schemas['HotSlotRow'];
export type Node = Schemas['Node'];
export type LogEvent = Schemas['Event'];
export type User = Schemas['UserOut'];
export type Alerts = Record<string, Schemas['Alert']>;
export type Webhook = Schemas['Webhook'];
export type NewWebhook = Schemas['NewWebhook'];
export type WebhookUpdate = Schemas['WebhookUpdate'];
export type NewUser = Schemas['NewUser'];
export type UserChanges = Schemas['UserChanges'];
export type Incident = Schemas['Incident'];
export type IncidentInFull = Schemas['IncidentInFull'];
export type IncidentDatabase = Schemas['IncidentDatabase'];
export type Health = Schemas['Health'];
export type Action = Schemas['Action'];
export type Policy = Schemas['Policy'];
export type DrillOrder = Schemas['DrillOrder'];
export type DrillReply = Schemas['DrillReply'];
export type Endpoint = Schemas['EndpointState'];
export type EndpointProxy = Schemas['EndpointProxy'];
/** The proxy of a node, for all databases. */
export type NodeProxy = Schemas['Proxy'];
export type RestartOrder = Schemas['RestartOrder'];
export type RestartReply = Schemas['RestartReply'];
export type AddressChange = Schemas['AddressChange'];
export type MigrationReply = Schemas['MigrationReply'];
export type RebalanceReply = Schemas['RebalanceReply'];
export type RevampOrder = Schemas['RevampOrder'];
/** A pair as a plan leaves it; a rebalance and a change of shape answer in the same form. */
export type BlueprintPair = Schemas['BlueprintPair'];
export type ReshardPreview = Schemas['ReshardPreview'];
export type NodeQueued = Schemas['Queued'];
export type MaintenanceOn = Schemas['MaintenanceOn'];
export type MaintenanceOff = Schemas['MaintenanceOff'];
export type NodeSnapshot = Schemas['Snapshot'];
export type JoinToken = Schemas['JoinTokenOut'];
export type UpgradePlan = Schemas['UpgradePlan'];
export type NodeUpgrade = Schemas['NodeUpgrade'];
export type NodeUpgrades = Schemas['NodeUpgrades'];
export type Benchmark = Schemas['Benchmark'];
export type BenchmarkResult = Schemas['Result'];
export type BenchmarkPart = Schemas['Part'];
export type BenchmarkOrder = Schemas['BenchmarkCreate'];
export type SlowLog = Schemas['SlowLog'];
export type EngineInfo = Schemas['EngineInfo'];
export type RamCurve = Schemas['RamCurve'];
export type Percentile = Schemas['Percentile'];
export type BenchmarkComparison = Schemas['Comparison'];
export type Preflight = Schemas['Preflight'];
export type Understood = Schemas['Understood'];
export type Workload = NonNullable<BenchmarkOrder['workload']>;
